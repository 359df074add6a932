"""Frozen model of one recorded session, independent of the file format.

A session is a tuple of messages, in file order; a message is a tuple of blocks, in the order the provider receives
them. Everything here is immutable and independent of tokens, strategies and prices. Texts are not part of the model: a
block has the length, preview and origin of its text, and `Session.text` reads it again on demand.

Indices: a *block index* counts the blocks of all messages in order (`Session.blocks`); a *message index* and a *call
index* count `Session.messages` and `Session.calls`. Other packages refer to these objects by index.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from inspector.errors import InspectorError
from inspector.session.snapshot_list import map_chunks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class BlockKind(IntEnum):
    """Kind of a block. Integers, so that a column of kinds is a column of bytes."""

    SYSTEM_TEXT = 0
    USER_TEXT = 1
    ASSISTANT_TEXT = 2
    THINKING = 3
    TOOL_CALL = 4
    TOOL_RESULT = 5
    IMAGE = 6
    DOCUMENT = 7
    OTHER = 8
    """A record or block of unknown type: shown, never sent."""

    @property
    def label(self) -> str:
        """Display name: `tool result`."""
        return self.name.lower().replace("_", " ")

    @property
    def short_label(self) -> str:
        """One-word display name, used next to a tool's name or a text: `result`, `assistant`."""
        return self.label.removeprefix("tool ").removesuffix(" text")


class Role(StrEnum):
    """Role of a message. Tool results have the role their format gives them: `user` or `tool`."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    OTHER = "other"
    """A record outside the conversation: shown as a row, never sent."""


class Origin(Struct, frozen=True, gc=False):
    """Source of a block, to show its raw record and read its text again.

    Attributes:
        offset: Byte offset of the record in its file, also for an entry of a JSON document; for a conversation given in
            memory, the entry's index (-1 for system text and tools, which are not entries).
        length: Length of the record in bytes, without its line end; 0 if records have no separate bytes.
        part: Position of the block inside its record.
        file: Index into `Session.files`.
        locator: Identifies the record if a byte offset cannot: a database row's id. Otherwise empty.
    """

    offset: int
    length: int
    part: int = 0
    file: int = 0
    locator: str = ""

    def at(self, part: int, locator: str | None = None) -> Origin:
        """Return the origin of another block in the same record, with the same locator unless another is given."""
        return Origin(self.offset, self.length, part, self.file, self.locator if locator is None else locator)


class Media(Struct, frozen=True, gc=False):
    """An image or document inside a block.

    Attributes:
        media_type: For example `image/png` or `application/pdf`; empty if not recorded.
        size_bytes: Decoded size.
        width: Pixels, 0 if unknown.
        height: Pixels, 0 if unknown.
        pages: Pages of a PDF, 0 if unknown.
        detail: Detail level requested from OpenAI's models: `low`, `high`, `original`, `auto`; empty if not recorded.
    """

    media_type: str
    size_bytes: int
    width: int = 0
    height: int = 0
    pages: int = 0
    detail: str = ""


class Block(Struct, frozen=True, gc=False):
    """The smallest part of a context.

    Attributes:
        characters: Length of its text in Python characters; for a tool call, of the JSON of its input.
        digest: 16 bytes that identify the text (BLAKE2b of its UTF-8 form); equal texts have equal digests.
        preview: The beginning of the text as recorded, at most `PREVIEW_CHARACTERS`, not yet made safe for display.
        tool_call_id: Joins a tool call and its result; empty for other kinds.
        tool_name: Name of the tool, on the call and on the result of a recorded call.
        signature_characters: Length of a thinking block's signature or encrypted content.
        media: Images and documents in this block (a tool result may have several).
        plain_text: True if the text was one plain string in the record, not a list of parts. Some strategies cut only
            those.
    """

    kind: BlockKind
    characters: int
    digest: bytes
    preview: str
    origin: Origin
    tool_call_id: str = ""
    tool_name: str = ""
    is_error: bool = False
    signature_characters: int = 0
    media: tuple[Media, ...] = ()
    plain_text: bool = True


PREVIEW_CHARACTERS = 240


class Message(Struct, frozen=True, gc=False):
    """One entry of the conversation, as the provider receives it.

    If a format splits one message into several records (Claude Code writes one block per line, and parallel tool
    results on separate lines), the records are joined: the blocks of one response are one message, and all user-side
    blocks between two responses are one message.

    Attributes:
        time: Seconds since the epoch, or None if not recorded.
        identifier: Its id from the provider or the file; may be empty.
        thread: 0 for the main conversation; every inline subagent conversation has a separate number.
        is_synthetic: Written by the agent, not by a model (an error notice): shown, never sent or counted.
        is_meta: Injected by the agent, not typed by the user.
        is_inherited: Copied from another session by a resume or a fork: part of the context, counted in that session.
        is_abandoned: On a branch the conversation left: shown, not in the current context.
    """

    role: Role
    blocks: tuple[Block, ...]
    time: float | None = None
    identifier: str = ""
    thread: int = 0
    is_synthetic: bool = False
    is_meta: bool = False
    is_summary: bool = False
    is_inherited: bool = False
    is_abandoned: bool = False


class Usage(Struct, frozen=True, gc=False):
    """Token usage of one call as the provider reported it. Each prompt token is in exactly one of the first four.

    No prompt is empty: if the first four are 0, only the output was reported and the prompt's size is unknown.

    Attributes:
        uncached: Prompt tokens without any cache read or write.
        cache_write_5m: Prompt tokens written to a cache with a lifetime of five minutes (or the provider's only kind).
        cache_write_1h: Prompt tokens written to a cache with the longer lifetime: one hour, OpenAI 12 hours.
        output: Response tokens, including reasoning.
        reasoning: Reasoning tokens within `output`, if reported.
        output_is_placeholder: True if `output` is a streaming placeholder, not the size of the response.
        ignored: Fields of the report with a number that none of these counts include.
    """

    uncached: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0
    output_is_placeholder: bool = False
    ignored: tuple[str, ...] = ()

    @classmethod
    def of_prompt(cls, prompt: int, read: int, written: int, output: int, reasoning: int = 0) -> Usage:
        """Split a prompt that includes its cached tokens, or excludes them if it is smaller than their sum."""
        uncached = prompt - read - written if prompt >= read + written else prompt
        return cls(uncached, read, written, output=output, reasoning=min(reasoning, output))

    @property
    def prompt(self) -> int:
        return self.uncached + self.cache_read + self.cache_write_5m + self.cache_write_1h

    def unless_zero(self) -> Usage | None:
        """Return the usage, or None if all counts are 0, as for aborted requests and servers that do not count."""
        return self if self.prompt or self.output else None


class ReportedMiss(Struct, frozen=True, gc=False):
    """A cache miss in the provider's terms (`model_changed`, `unavailable`), and its tokens or None."""

    reason: str
    tokens: int | None = None


class RecordedBreakpoint(Struct, frozen=True, gc=False):
    """A cache breakpoint set by a request (`cache_control` of Anthropic's API).

    Attributes:
        blocks: Number of prompt blocks before it; the last of them has the breakpoint.
        lifetime: Requested lifetime of the entry: `5m`, `1h`; empty for the provider's default.
    """

    blocks: int
    lifetime: str = ""


class Call(Struct, frozen=True, gc=False):
    """One request to the model.

    The prompt is the first `prompt_messages` members of context `context`; the response is message `response`.

    Attributes:
        response: Index of the message this call produced.
        context: Index into `Session.contexts`.
        prompt_messages: Number of the context's members that were sent.
        model: Name of the model as recorded; empty if unknown.
        time: Seconds since the epoch of the first record of the response, or None.
        thinking: Requested thinking as recorded: a level, an effort, a budget; empty if not recorded.
        betas: Requested beta features of the API, sorted and comma-separated; None if not recorded.
        terms: Billing terms other than model and tokens, in the form of `BillingTerms.code`; empty for the defaults.
        marks: Cache breakpoints of the request, in ascending order; None if the request itself is not recorded.
        copied_as: Key shared with copies of the call in files with other times; empty if id and time identify it.
    """

    response: int
    context: int
    prompt_messages: int
    model: str = ""
    time: float | None = None
    usage: Usage | None = None
    identifier: str = ""
    miss: ReportedMiss | None = None
    thinking: str = ""
    betas: str | None = None
    terms: str = ""
    marks: tuple[RecordedBreakpoint, ...] | None = None
    copied_as: str = ""


class SideCall(Struct, frozen=True, gc=False):
    """A billed request to the model that is not part of the conversation.

    Attributes:
        purpose: Its purpose in a word or two: `condenser`, `title`, `summary`, `side question`.
        response: Index of the message with the record that reports it; -1 if it has its own record.
        requests: Number of requests in its usage, 0 if unknown: only recorded totals report several in one.
    """

    purpose: str
    model: str = ""
    time: float | None = None
    usage: Usage | None = None
    identifier: str = ""
    terms: str = ""
    response: int = -1
    requests: int = 1


class RecordedTotals(Struct, frozen=True, gc=False):
    """Totals that the agent recorded for a session or for a range of its calls.

    Attributes:
        source: The record: `result`, `cost-state`, `session.shutdown`, `message cost`.
        usages: Model names and their summed usage; empty if only the cost is recorded.
        cost_usd: Cost as computed by the agent, or None.
        first_call: Index of the first call of the range.
        end_call: Index after its last call.
        includes_subagents: True if requests in the files of subagents are included.
        side_usages: Model names and usage of the included requests that are in `Session.side_calls`.
    """

    source: str
    usages: tuple[tuple[str, Usage], ...] = ()
    cost_usd: float | None = None
    requests: int | None = None
    first_call: int = 0
    end_call: int = 0
    includes_subagents: bool = False
    side_usages: tuple[tuple[str, Usage], ...] = ()


NO_MESSAGE = "request without a message"
"""Purpose of side calls without a message in the file, and without another known purpose."""


class ContextCause(StrEnum):
    """Reason why a context began."""

    START = "start"
    COMPACTION = "compaction"
    REWIND = "rewind"


class Context(Struct, frozen=True, gc=False):
    """A run of calls in which each prompt extends the previous one.

    A session that was never compacted, rewound or branched has one per thread.

    Attributes:
        members: Message indices in the order they are sent: first those carried over, then later additions.
        retained: Number of leading `members` that were kept from an earlier context, including a summary sent before
            them. 0 if none were kept.
    """

    members: Sequence[int]
    retained: int = 0
    cause: ContextCause = ContextCause.START
    thread: int = 0


class Compaction(Struct, frozen=True, gc=False):
    """A compaction that the agent performed and recorded.

    Attributes:
        message: Index of the first message after it (the summary, if there is one).
        trigger: `auto`, `manual`, or the recorded value.
        tokens_before: Prompt tokens before it as reported by the agent, or None.
        tokens_after: Prompt tokens after it as reported by the agent, or None.
        cleared_tool_call_ids: For a partial compaction: the calls with blanked results; empty for a full one.
        tokens_saved: Saved tokens as reported by the agent, or None.
    """

    message: int
    trigger: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    cleared_tool_call_ids: tuple[str, ...] = ()
    tokens_saved: int | None = None
    time: float | None = None

    @property
    def is_partial(self) -> bool:
        """True if only some tool results were blanked and the conversation continued."""
        return bool(self.cleared_tool_call_ids)


class Diagnostic(Struct, frozen=True, gc=False):
    """A problem while reading the file.

    Attributes:
        reason: The problem in one line, without any session content.
        line: 1-based line number, 0 if the file has no lines.
        skipped: True if the record was left out; False if it was read in part.
        loses_usage: True if the unreadable part may report usage, so that totals are lower bounds.
    """

    reason: str
    line: int = 0
    offset: int = 0
    skipped: bool = True
    loses_usage: bool = False


class LinkKind(StrEnum):
    """Relation of another session to this one."""

    PARENT = "parent"
    """It started this session as its subagent."""
    SUBAGENT = "subagent"
    """A tool call of this session started it."""
    CONTINUED = "continued"
    """This session continues it: a fork, a resume, a compaction that began a new session."""


class SessionLink(Struct, frozen=True, gc=False):
    """A related session. Each is counted separately: the calls of one are not in the other.

    Attributes:
        path: Path that opens it. It may no longer exist; None if the record does not lead to a file.
        tool_call_id: The tool call that started the subagent; empty if not recorded.
        title: The task of the subagent or its type; empty if unknown.
    """

    kind: LinkKind
    identifier: str
    path: Path | None = None
    tool_call_id: str = ""
    title: str = ""


MAIN_MODEL_CALLS = 3
"""Number of calls that decide which model a conversation uses."""


class TextSource(Protocol):
    """Reads texts again from where they were recorded."""

    def text(self, block: Block) -> str:
        """Return the block's full text. Raises `TextUnavailableError` if it is no longer in the file."""
        ...

    def record(self, block: Block) -> bytes:
        """Return the raw bytes of the block's record. Raises `TextUnavailableError` if it is no longer in the file."""
        ...


class TextUnavailableError(InspectorError):
    """A text cannot be read again: its file was replaced or deleted."""

    advice = "open the session again: its file was replaced or deleted"


@dataclass(frozen=True)
class Session:
    """One recorded conversation. Equality ignores `texts`.

    Attributes:
        identifier: The agent's id of the session, or the file's stem.
        messages: Messages in file order.
        calls: Calls in order; one per response of a model, excluding synthetic ones.
        contexts: Contexts in order of their first message.
        diagnostics: The first hundred read problems.
        skipped_records: Total number of skipped records.
        record_counts: Number of records by kind, as named in the format, including those skipped on purpose.
        title: Title of the session in the agent; may be empty.
        agent: The program that recorded it, for example `Claude Code 2.1.62`; empty if unknown.
        working_directory: The agent's working directory; empty if unknown.
        window: Size of the model's context window in tokens, or None if not recorded.
        files: The files it was read from, indexed by a block's `origin.file`.
        links: Related sessions: its parent, its subagents, the one it continues.
        side_calls: Billed requests outside the conversation, without duplicates: included in the totals, not in any
            prompt.
        side_files: Files and folders, existing or not, checked for such requests or for billing data.
        recorded_totals: Totals recorded by the agent, of ranges that do not overlap, in order.
    """

    format: str
    path: Path
    identifier: str
    messages: Sequence[Message]
    calls: Sequence[Call]
    contexts: tuple[Context, ...]
    texts: TextSource = field(compare=False, repr=False)
    compactions: tuple[Compaction, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    skipped_records: int = 0
    record_counts: Mapping[str, int] = field(default_factory=dict)
    title: str = ""
    agent: str = ""
    working_directory: str = ""
    window: int | None = None
    files: tuple[Path, ...] = ()
    links: tuple[SessionLink, ...] = ()
    side_calls: tuple[SideCall, ...] = ()
    side_files: tuple[Path, ...] = ()
    recorded_totals: tuple[RecordedTotals, ...] = ()

    @cached_property
    def all_blocks(self) -> Sequence[Block]:
        """All blocks of all messages, in block index order. For callers that access only a few of them."""
        return tuple(block for message in self.messages for block in message.blocks)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks as a tuple: faster for callers that access many, once it is built."""
        return tuple(self.all_blocks)

    @cached_property
    def first_blocks(self) -> tuple[int, ...]:
        """Block index of every message's first block, followed by the number of blocks."""
        starts = [0]
        for message in self.messages:
            starts.append(starts[-1] + len(message.blocks))
        return tuple(starts)

    @cached_property
    def repeated_call_ids(self) -> frozenset[str]:
        """Ids shared by several tool calls, which therefore do not identify one."""
        once: set[str] = set()
        again: set[str] = set()
        for block in self.all_blocks:
            if block.kind is BlockKind.TOOL_CALL:
                (again if block.tool_call_id in once else once).add(block.tool_call_id)
        return frozenset(again)

    @cached_property
    def own_calls(self) -> tuple[Call, ...]:
        """Calls made in this session, without those copied from an earlier one that was billed for them."""
        return tuple(call for call in self.calls if not self.messages[call.response].is_inherited)

    @property
    def own_side_calls(self) -> tuple[SideCall, ...]:
        """Side requests without those that records of copied calls report."""
        return tuple(
            each for each in self.side_calls if each.response < 0 or not self.messages[each.response].is_inherited
        )

    @cached_property
    def copied_calls(self) -> int:
        """Number of calls copied from an earlier session that was billed for them."""
        inherits = map_chunks(self.messages, "inherits", lambda some: any(each.is_inherited for each in some))
        return len(self.calls) - len(self.own_calls) if any(inherits) else 0

    @cached_property
    def models(self) -> tuple[str, ...]:
        """All models that answered a call, in order of first use."""
        return tuple(dict.fromkeys(chain.from_iterable(map_chunks(self.calls, "models", _models_of))))

    @cached_property
    def main_model(self) -> str:
        """Model of the conversation: of most of the last named calls outside subagents; the newest of equally many.

        One call of another model, such as a last `hello`, does not change it. Empty if no call names a model.
        """
        named = [call for call in reversed(self.calls) if call.model]
        main = [call for call in named if not self.contexts[call.context].thread]
        newest = [call.model for call in (main or named)[:MAIN_MODEL_CALLS]]
        return max(newest, key=newest.count, default="")

    @cached_property
    def ignored_usage(self) -> Mapping[str, int]:
        """Number of usage reports by uncounted field; empty if the whole bill is counted."""
        return ignored_usage(self.calls, self.side_calls)

    @property
    def last_recorded(self) -> float | None:
        """Time of the newest record with a time, seconds since the epoch, or None."""
        return next((message.time for message in reversed(self.messages) if message.time is not None), None)

    def text(self, block: Block) -> str:
        """Read a block's full text. Raises `TextUnavailableError` if it is no longer in the file."""
        return self.texts.text(block)

    def quick_text(self, block: Block) -> str:
        """Return a block's full text, a short one without reading. Raises `TextUnavailableError` if gone."""
        return block.preview if block.characters <= PREVIEW_CHARACTERS else self.texts.text(block)


def ignored_usage(calls: Sequence[Call], side_calls: Sequence[SideCall]) -> Mapping[str, int]:
    """Count the usage reports with each ignored field, in order of first use."""
    names = chain(chain.from_iterable(map_chunks(calls, "ignored", _ignored_by)), _ignored_by(side_calls))
    return Counter(names)


def _ignored_by(calls: Sequence[Call] | Sequence[SideCall]) -> tuple[str, ...]:
    return tuple(chain.from_iterable(call.usage.ignored for call in calls if call.usage is not None))


def _models_of(calls: Sequence[Call]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.model for call in calls if call.model))


_SLASH_COMMAND = re.compile(
    r"<command-name>\s*(?P<name>[^<]*?)\s*</command-name>(?:.*?<command-args>\s*(?P<arguments>[^<]*))?", re.DOTALL
)
"""A slash command as Claude Code records it instead of the typed text."""

_ENVELOPE = re.compile(r"\A(?:\s*<(?P<tag>[a-z]+[_-][a-z_-]+)>(?:(?!</?(?P=tag)>).){0,4000}</(?P=tag)>)+\s*", re.DOTALL)
"""Text that an agent puts before a typed prompt: `<current_datetime>…</current_datetime>`."""


def session_name(session: Session) -> str:
    """Return the name of a session that was read; empty without a title and a prompt. May contain any characters."""
    return first_name(session.title) or first_name(first_prompt(session))


def first_name(*candidates: str) -> str:
    """Return the first non-empty name on one line; pass a title before the first prompt."""
    return next((" ".join(_as_typed(each).split()) for each in candidates if each.strip()), "")


def _as_typed(text: str) -> str:
    command = _SLASH_COMMAND.search(text)
    if command is None or not text.lstrip().startswith("<command-"):
        return _ENVELOPE.sub("", text) or text
    return " ".join(filter(None, (command["name"], command["arguments"])))


def first_prompt(session: Session) -> str:
    """Return the first prompt made in this session, or the first inherited one if there are none."""
    inherited = ""
    for message in session.messages:
        if message.role is Role.USER and not (message.is_meta or message.is_summary):
            for block in message.blocks:
                if block.kind is BlockKind.USER_TEXT and block.preview.strip():
                    if not message.is_inherited:
                        return block.preview
                    inherited = inherited or block.preview
    return inherited
