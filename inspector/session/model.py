"""What was recorded: the frozen model of one session, whatever file it came from.

A session is a tuple of messages, in file order; a message is a tuple of blocks, in the order the provider receives
them. Everything here is immutable and says nothing about tokens, strategies or prices. Texts are not part of the
model: a block knows how long its text is, how it begins, and where it stands in the file, and `Session.text` reads it
again when it is asked for.

Indices: a *block index* counts the blocks of all messages in order (`Session.blocks`), a *message index* and a *call
index* count `Session.messages` and `Session.calls`. They are what the other rooms use to speak of these things.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from inspector.errors import InspectorError
from inspector.session.snapshot_list import said_of_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class BlockKind(IntEnum):
    """What the smallest part of a context is. Integers, so that a column of kinds is a column of bytes."""

    SYSTEM_TEXT = 0
    USER_TEXT = 1
    ASSISTANT_TEXT = 2
    THINKING = 3
    TOOL_CALL = 4
    TOOL_RESULT = 5
    IMAGE = 6
    DOCUMENT = 7
    OTHER = 8
    """Kept and shown, never sent: a record or block of a type this version does not know."""

    @property
    def label(self) -> str:
        """The kind in words, as screens and reports show it: `tool result`."""
        return self.name.lower().replace("_", " ")

    @property
    def short_label(self) -> str:
        """The same in one word, where it stands beside a tool's name or a text: `result`, `assistant`."""
        return self.label.removeprefix("tool ").removesuffix(" text")


class Role(StrEnum):
    """Who a message speaks for. Tool results have the role their format gives them: `user` or `tool`."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    OTHER = "other"
    """A record that is not part of the conversation: kept as a row, never sent."""


class Origin(Struct, frozen=True, gc=False):
    """Where a block came from, so that its raw record can be shown and its text read again.

    Attributes:
        offset: Byte offset of the record in its file, of an entry of a JSON document too; the entry's index where a
            conversation was given in memory (-1 for what stands beside its entries: system text and tools).
        length: Length of the record in bytes, without its line end; 0 where records have no bytes of their own.
        part: Position of the block inside its record.
        file: Index into `Session.files`.
        locator: Names the record where a byte offset cannot: a database row's id. Empty otherwise.
    """

    offset: int
    length: int
    part: int = 0
    file: int = 0
    locator: str = ""

    def at(self, part: int, locator: str | None = None) -> Origin:
        """Another block's place in the same record, under the same locator where no other is given."""
        return Origin(self.offset, self.length, part, self.file, self.locator if locator is None else locator)


class Media(Struct, frozen=True, gc=False):
    """An image or document inside a block.

    Attributes:
        media_type: For example `image/png` or `application/pdf`; empty when the record does not say.
        size_bytes: Decoded size.
        width: Pixels, 0 when unknown.
        height: Pixels, 0 when unknown.
        pages: Of a PDF, 0 when unknown.
        detail: How closely the request has OpenAI's models look: `low`, `high`, `original`, `auto`; empty where it does
            not say.
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
        kind: What it is.
        characters: Length of its text in Python characters; for a tool call, of the JSON of its input.
        digest: 16 bytes that identify the text (BLAKE2b of its UTF-8 form); equal texts have equal digests.
        preview: The beginning of the text as recorded, at most `PREVIEW_CHARACTERS`, not yet made safe for display.
        origin: Where it stands in the file.
        tool_call_id: Joins a tool call and its result; empty for other kinds.
        tool_name: The tool, on the call and, where the call is known, on the result.
        is_error: A tool result that reports failure.
        signature_characters: Length of a thinking block's signature or encrypted content.
        media: Images and documents carried by this block (a tool result may carry several).
        plain_text: The text was one plain string in the record, not a list of parts. Some strategies cut only those.
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

    Where a format spreads one message over several records (Claude Code writes one block a line, and parallel tool
    results on lines of their own), the records are joined: blocks of one response are one message, and everything the
    user side adds between two responses is one message.

    Attributes:
        role: Who it speaks for.
        blocks: Its parts, in order.
        time: Seconds since the epoch, or None where the record has no time.
        identifier: The provider's or the file's own id of it; empty where there is none.
        thread: 0 for the main conversation; every inline subagent conversation has a number of its own.
        is_synthetic: Written by the agent, not by a model (an error notice): shown, never sent or counted.
        is_meta: Injected by the agent, not typed by a person.
        is_summary: The summary that stands for a compacted conversation.
        is_inherited: Copied from another session by a resume or a fork: in the context, counted there.
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
    """What the provider reported for one call, in tokens, every prompt token in exactly one of the first four.

    No prompt is empty: where the first four are 0, only the output was reported and the prompt's size is unknown.

    Attributes:
        uncached: Prompt tokens neither read from nor written to a cache.
        cache_read: Prompt tokens read from a cache.
        cache_write_5m: Prompt tokens written to a cache that lives five minutes (or the provider's only kind).
        cache_write_1h: Prompt tokens written to a cache that lives an hour.
        output: Response tokens, reasoning included.
        reasoning: The part of `output` that was reasoning, where reported.
        output_is_placeholder: `output` is known to be a streaming placeholder and is not the response's size.
    """

    uncached: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0
    output_is_placeholder: bool = False

    @property
    def prompt(self) -> int:
        """All prompt tokens of the call: what filled the window."""
        return self.uncached + self.cache_read + self.cache_write_5m + self.cache_write_1h

    def unless_zero(self) -> Usage | None:
        """The same; None where nothing was counted, as aborted requests and servers that do not count report."""
        return self if self.prompt or self.output else None


class ReportedMiss(Struct, frozen=True, gc=False):
    """What the provider said of a cache it did not find as expected.

    Attributes:
        reason: In its own word: `model_changed`, `unavailable`.
        tokens: How many tokens were missed by its account; None where it does not say.
    """

    reason: str
    tokens: int | None = None


class RecordedMark(Struct, frozen=True, gc=False):
    """A place where a request asked for a cache entry (`cache_control` of Anthropic's API).

    Attributes:
        blocks: How many blocks of the prompt stand before it; the last of them is the one that was marked.
        lifetime: How long to keep the entry, in the request's word: `5m`, `1h`; empty where it names none, for the
            provider's usual.
    """

    blocks: int
    lifetime: str = ""


class Call(Struct, frozen=True, gc=False):
    """One request to the model.

    The prompt is the first `prompt_messages` members of context `context`; the response is message `response`.

    Attributes:
        response: Index of the message this call produced.
        context: Index into `Session.contexts`.
        prompt_messages: How many of the context's members were sent.
        model: The model's name as recorded; empty when unknown.
        time: Seconds since the epoch of the first record of the response, or None.
        usage: What the provider reported, or None.
        identifier: Request or response id.
        miss: Why the provider's cache missed, where it said so.
        thinking: How much the model was asked to think, in the file's words: a level, an effort, a budget; empty where
            it does not say.
        betas: The API's beta features that were asked for, sorted, with commas between; None where nothing says.
        terms: What it is billed by besides model and tokens, as `BillingTerms.code` has it; empty for the usual.
        marks: Where the request asked for cache entries, by rising place; None where it is not recorded as it was sent.
        copied_as: What a record of the same call in another file has in common with it besides its usage, where that
            has another time; empty where id and time tell.
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
    marks: tuple[RecordedMark, ...] | None = None
    copied_as: str = ""


class SideCall(Struct, frozen=True, gc=False):
    """One request to the model that is not the conversation's: it is billed, and no prompt of the conversation.

    Attributes:
        purpose: What it was for, in a word or two for people: `condenser`, `title`, `summary`, `side question`.
        model: The model's name as recorded; empty when unknown.
        time: Seconds since the epoch, or None.
        usage: What the provider reported, or None.
        identifier: Request or response id; empty where it has none.
        terms: As in `Call`.
    """

    purpose: str
    model: str = ""
    time: float | None = None
    usage: Usage | None = None
    identifier: str = ""
    terms: str = ""


class ContextCause(StrEnum):
    """Why a context began."""

    START = "start"
    COMPACTION = "compaction"
    REWIND = "rewind"


class Context(Struct, frozen=True, gc=False):
    """A run of calls whose prompts grow from one another.

    A session that was never compacted, rewound or branched has one per thread.

    Attributes:
        members: Message indices in the order they are sent: what was carried in, then everything added later.
        carried: How many of `members`, from the first, the context began with because messages were kept from an
            earlier one; a summary that is sent before them counts. 0 where nothing was kept.
        cause: Why it began.
        thread: The thread it belongs to.
    """

    members: Sequence[int]
    carried: int = 0
    cause: ContextCause = ContextCause.START
    thread: int = 0


class Compaction(Struct, frozen=True, gc=False):
    """A compaction the agent itself performed and recorded.

    Attributes:
        message: Index of the first message after it (the summary, where there is one).
        trigger: `auto`, `manual`, or what the record says.
        tokens_before: Prompt tokens the agent reported before it, or None.
        tokens_after: The same after it, or None.
        cleared_tool_call_ids: For a partial compaction: the calls whose results were blanked; empty for a full one.
        tokens_saved: What the agent reported to have saved, or None.
        time: Seconds since the epoch, or None.
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
        """True where only named tool results were blanked and the conversation went on."""
        return bool(self.cleared_tool_call_ids)


class Diagnostic(Struct, frozen=True, gc=False):
    """Something in the file that could not be read as it should.

    Attributes:
        reason: What is wrong, in one line that names no content.
        line: 1-based line number, 0 where lines mean nothing.
        offset: Byte offset of the record.
        skipped: True when the record was left out; False when it was read in part.
    """

    reason: str
    line: int = 0
    offset: int = 0
    skipped: bool = True


class LinkKind(StrEnum):
    """What another session is to this one."""

    PARENT = "parent"
    """It started this one as its subagent."""
    SUBAGENT = "subagent"
    """A tool call of this one started it."""
    CONTINUED = "continued"
    """This one goes on from it: a fork, a resume, a compaction that began a new session."""


class SessionLink(Struct, frozen=True, gc=False):
    """Another session that belongs to this one. Each is counted on its own: neither holds the other's calls.

    Attributes:
        kind: What it is to this one.
        identifier: Its id, or the agent's.
        path: What opens it. It need not be there (any more), and is None where the record does not lead to a file.
        tool_call_id: The tool call that started the subagent; empty where that is not recorded.
        title: What it was started for, or the kind of agent it is; empty when unknown.
    """

    kind: LinkKind
    identifier: str
    path: Path | None = None
    tool_call_id: str = ""
    title: str = ""


class TextSource(Protocol):
    """Reads texts again from where they were recorded."""

    def text(self, block: Block) -> str:
        """The block's whole text. Raises `TextUnavailableError` when the file no longer holds it."""
        ...

    def record(self, block: Block) -> bytes:
        """The raw bytes of the block's record. Raises `TextUnavailableError` when the file no longer holds it."""
        ...


class TextUnavailableError(InspectorError):
    """A text cannot be read again: its file was replaced or is gone."""

    advice = "open the session again: its file was replaced or is gone"


@dataclass(frozen=True)
class Session:
    """One recorded conversation. Two sessions are equal when everything but their `texts` is.

    Attributes:
        format: Name of the format it was read as.
        path: The file or folder it was read from.
        identifier: The agent's own id of the session, or the file's stem.
        messages: In file order.
        calls: In order; every response of a model, synthetic ones excluded.
        contexts: In order of their first message.
        compactions: What the agent itself compacted, in order.
        diagnostics: The first hundred things that could not be read as they should.
        skipped_records: How many records were left out, all told.
        record_counts: Records by kind as the format names them, those left out on purpose included.
        title: What the agent calls the session, if anything.
        agent: The program that recorded it, for example `Claude Code 2.1.62`; empty when unknown.
        working_directory: Where the agent worked; empty when unknown.
        window: Size of the model's context window in tokens where the file says so, or None.
        files: The files it was read from; a block's `origin.file` points here.
        links: Other sessions that belong to it: what started it, what it started, what it goes on from.
        side_calls: Requests that are not the conversation's, each once: in the totals, and in no prompt.
        beside: Where such requests, or what requests were billed for, have files of their own: folders and files that
            were looked for, whether they are there or not.
        texts: Reads texts again.
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
    beside: tuple[Path, ...] = ()

    @cached_property
    def all_blocks(self) -> Sequence[Block]:
        """All blocks of all messages, in order: what a block index counts. For whoever looks at few of them."""
        return tuple(block for message in self.messages for block in message.blocks)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The same for whoever looks at many, which is quicker in a tuple once that is made."""
        return tuple(self.all_blocks)

    @cached_property
    def first_blocks(self) -> tuple[int, ...]:
        """Block index of every message's first block, and at the end the number of blocks."""
        starts = [0]
        for message in self.messages:
            starts.append(starts[-1] + len(message.blocks))
        return tuple(starts)

    @cached_property
    def repeated_call_ids(self) -> frozenset[str]:
        """Ids that several tool calls have, so that one of them does not tell which is meant."""
        once: set[str] = set()
        again: set[str] = set()
        for block in self.all_blocks:
            if block.kind is BlockKind.TOOL_CALL:
                (again if block.tool_call_id in once else once).add(block.tool_call_id)
        return frozenset(again)

    @cached_property
    def own_calls(self) -> tuple[Call, ...]:
        """The calls made in this session: those copied from an earlier one, which was billed for them, left out."""
        return tuple(call for call in self.calls if not self.messages[call.response].is_inherited)

    @cached_property
    def copied_calls(self) -> int:
        """How many calls were copied from an earlier session, which was billed for them."""
        inherits = said_of_parts(self.messages, "inherits", lambda some: any(each.is_inherited for each in some))
        return len(self.calls) - len(self.own_calls) if any(inherits) else 0

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Every model that answered a call, in order of first use."""
        return tuple(dict.fromkeys(chain.from_iterable(said_of_parts(self.calls, "models", _models_of))))

    @property
    def last_recorded(self) -> float | None:
        """When its newest record that has a time was made, seconds since the epoch; None where none has one."""
        return next((message.time for message in reversed(self.messages) if message.time is not None), None)

    def text(self, block: Block) -> str:
        """The whole text of a block, read again from the file.

        Raises:
            TextUnavailableError: The file no longer holds it.
        """
        return self.texts.text(block)


def _models_of(calls: Sequence[Call]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.model for call in calls if call.model))
