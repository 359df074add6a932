"""Read inspector's own format: JSON lines that any program can write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from inspector.session.format import Format
from inspector.session.formats.chat import ChatMessage, ChatThread, blocks_of_chat, notice
from inspector.session.json import clean_text, compact_json, mapping, object_of, seconds_of_any, string, unquoted
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import Compaction, Origin, Role, SideCall, Usage
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.usage_fields import NATIVE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.sniff import Sample


class NativeFormat(Format):
    """Sessions in inspector's own format."""

    name = "inspector-lines"
    title = "Inspector's own format, for any program to write"
    exact = "tokens of every response with usage"

    def knows_record(self, count_name: str) -> bool:
        return count_name in KINDS

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        # `Sample` treats a single line as a document, but it may be a session that just began.
        if any(record.get("type") == "session" and record.get("inspector") == 1 for record in sample.records):
            return "one of the first lines declares inspector's own format"
        return ""

    def reader(self, path: Path) -> Reader:
        return JsonlReader(path, self.name, NativeInterpreter())


Tokens = Annotated[int, Meta(ge=0, lt=1 << 53)]
Time = Annotated[
    str | float | None, Meta(description="ISO 8601 (UTC without a zone), or seconds or milliseconds since the epoch.")
]
Agent = Annotated[
    str,
    Meta(description="The conversation it belongs to: empty for the main one, otherwise any name for a subagent's."),
]


class OwnUsage(Struct, frozen=True, kw_only=True):
    """Usage reported for one request. The first four counts add up to the prompt."""

    uncached: Annotated[Tokens, Meta(description="Prompt tokens not read from or written to a cache.")] = 0
    cache_read: Annotated[Tokens, Meta(description="Prompt tokens read from a cache.")] = 0
    cache_write_5m: Annotated[
        Tokens, Meta(description="Prompt tokens written to a 5-minute cache, or to the provider's only kind of cache.")
    ] = 0
    cache_write_1h: Annotated[Tokens, Meta(description="Prompt tokens written to a 1-hour cache.")] = 0
    output: Annotated[Tokens, Meta(description="Response tokens, including reasoning.")] = 0
    reasoning: Annotated[Tokens, Meta(description="The reasoning part of `output`.")] = 0


class OwnSession(Struct, frozen=True, kw_only=True, tag_field="type", tag="session"):
    """The first line of a session: the format's version and metadata. A later one replaces earlier values."""

    inspector: Annotated[Literal[1], Meta(description="Version of the format.")]
    id: Annotated[str, Meta(description="The session's id.")] = ""
    title: Annotated[str, Meta(description="Title of the session.")] = ""
    agent: Annotated[str, Meta(description="The agent program with its version.")] = ""
    working_directory: Annotated[str, Meta(description="Working directory of the agent.")] = ""
    window: Annotated[Tokens | None, Meta(description="The model's context window in tokens.")] = None


class OwnMessage(Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A message, in the order sent. Every message of role `assistant` is the response to a request."""

    role: Literal["system", "user", "assistant", "tool"]
    content: Annotated[
        str | list[str | dict[str, Any]] | None,
        Meta(description="Text, or parts in the form of Anthropic's Messages API or OpenAI's Chat Completions."),
    ] = None
    tool_calls: Annotated[
        list[dict[str, Any]] | None, Meta(description="Tool calls in the form of OpenAI's Chat Completions.")
    ] = None
    tool_call_id: Annotated[str, Meta(description="For role `tool`: id of the call that this answers.")] = ""
    name: Annotated[str, Meta(description="For role `tool`: name of the tool, if the call does not include it.")] = ""
    is_error: Annotated[bool, Meta(description="For role `tool`: true if the tool failed.")] = False
    reasoning_content: Annotated[str | None, Meta(description="For role `assistant`: the reasoning text.")] = None
    id: Annotated[
        str, Meta(description="Any name, used by compactions to keep the message; for a response, the provider's id.")
    ] = ""
    time: Time = None
    agent: Agent = ""
    model: Annotated[str, Meta(description="For role `assistant`: the responding model.")] = ""
    usage: Annotated[OwnUsage | None, Meta(description="For role `assistant`: usage reported for the request.")] = None
    injected: Annotated[bool, Meta(description="True if the agent wrote the message in the user's place.")] = False
    inherited: Annotated[bool, Meta(description="True if copied from another session, which counts the request.")] = (
        False
    )


class OwnCompaction(Struct, frozen=True, kw_only=True, tag_field="type", tag="compaction"):
    """A compaction: later requests send the system messages, the summary and the kept messages."""

    summary: Annotated[
        str, Meta(description="Replaces the messages that are no longer sent; empty if nothing does.")
    ] = ""
    kept: Annotated[list[str], Meta(description="The `id` of every message that is still sent.")] = []
    trigger: Annotated[str, Meta(description="`auto`, `manual`, or any other word.")] = ""
    tokens_before: Annotated[Tokens | None, Meta(description="Prompt tokens before the compaction, if known.")] = None
    tokens_after: Annotated[Tokens | None, Meta(description="Prompt tokens after the compaction, if known.")] = None
    time: Time = None
    agent: Agent = ""


class OwnSideCall(Struct, frozen=True, kw_only=True, tag_field="type", tag="side_call"):
    """A request outside the conversation: billed, but in none of its prompts."""

    purpose: Annotated[
        str, Meta(description="Purpose of the request, such as a title, a summary or a side question.", min_length=1)
    ]
    model: Annotated[str, Meta(description="The responding model.")] = ""
    usage: Annotated[OwnUsage | None, Meta(description="Usage reported for the request.")] = None
    id: Annotated[
        str, Meta(description="The provider's id; a later line with the same id replaces the earlier one.")
    ] = ""
    time: Time = None


class OwnNotice(Struct, frozen=True, kw_only=True, tag_field="type", tag="notice"):
    """A text shown between the messages and never sent."""

    text: str
    time: Time = None
    agent: Agent = ""


OwnLine = OwnSession | OwnMessage | OwnCompaction | OwnSideCall | OwnNotice

KINDS = frozenset({"compaction", "message", "notice", "session", "side_call"})


def schema() -> dict[str, Any]:
    (found,), components = msgspec.json.schema_components([OwnLine], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a session in inspector's own format",
        **found,
        "$defs": components,
    }


class NativeInterpreter(RecordInterpreter):
    """Builds a session from lines. An invalid line is shown as is and reported."""

    def __init__(self) -> None:
        super().__init__()
        self._threads: dict[str, ChatThread] = {}
        self._indices: dict[tuple[str, str], int] = {}

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
        value, _ = object_of(record)
        return blocks_of_chat(_chat_messages(value), origin) if value is not None else ()

    def add(self, record: Record) -> None:
        value = record.value
        kind = string(value.get("type"))
        self.builder.record_counts[clean_text(kind) or "(no type)"] += 1
        line, problem = _line_of(value)
        if problem and kind in KINDS:
            self.builder.diagnose(f"not a valid {kind} line: {problem}", record.line, record.offset, skipped=False)
        if isinstance(line, OwnSession):
            self._note(line)
        elif isinstance(line, OwnSideCall):
            self._add_side_call(line, value)
        elif isinstance(line, OwnCompaction):
            self._compact(line, record)
        else:
            agent = line.agent if line is not None else ""
            indices = self._thread(agent).add_record(_chat_messages(value), record.origin)
            if isinstance(line, OwnMessage) and line.id and indices:
                self._indices[agent, line.id] = indices[0]

    def _note(self, line: OwnSession) -> None:
        builder = self.builder
        builder.identifier = clean_text(line.id) or builder.identifier
        builder.title = clean_text(line.title) or builder.title
        builder.agent = clean_text(line.agent) or builder.agent
        builder.working_directory = clean_text(line.working_directory) or builder.working_directory
        builder.window = line.window or builder.window

    def _add_side_call(self, line: OwnSideCall, value: Mapping[str, Any]) -> None:
        known = self.builder.side_calls
        known[line.id or f"line {len(known)}"] = SideCall(
            clean_text(line.purpose),
            clean_text(line.model),
            seconds_of_any(line.time),
            NATIVE.check(_usage(line.usage), value.get("usage")),
            clean_text(line.id),
        )

    def _compact(self, line: OwnCompaction, record: Record) -> None:
        thread = self._thread(line.agent)
        sent = thread.members
        named = [self._indices.get((line.agent, identifier)) for identifier in line.kept]
        kept = sorted({index for index in named if index is not None and index in sent})
        if len(kept) < len(set(line.kept)):
            reason = "a compaction keeps messages that were not sent"
            self.builder.diagnose(reason, record.line, record.offset, skipped=False)
        messages = self.builder.messages
        before = [index for index in sent if messages[index].role is Role.SYSTEM and index not in kept]
        reported = _chat_messages(record.value)
        summary = thread.messages(reported, record.origin)[0] if line.summary else None
        made = Compaction(
            0, clean_text(line.trigger), line.tokens_before, line.tokens_after, time=seconds_of_any(line.time)
        )
        thread.compact(made, summary, kept, before)

    def _thread(self, agent: str) -> ChatThread:
        thread = self._threads.get(agent)
        if thread is None:
            others = sum(bool(name) for name in self._threads)
            thread = self._threads[agent] = ChatThread(self.builder, others + 1 if agent else 0)
        return thread


def _line_of(value: Mapping[str, Any]) -> tuple[OwnLine | None, str]:
    """Parse a line; for an invalid one, return None and the problem without the line's content."""
    usage = value.get("usage")
    if isinstance(usage, dict):
        value = {**value, "usage": {name: unquoted(found) for name, found in usage.items()}}
    try:
        line: OwnLine = msgspec.convert(value, OwnLine)
    except msgspec.ValidationError as error:
        return None, clean_text(str(error)) if string(value.get("type")) in KINDS else ""
    return line, ""


def _chat_messages(value: Mapping[str, Any]) -> list[ChatMessage]:
    """Convert a line to a chat message; an invalid one becomes a notice."""
    line, _ = _line_of(value)
    if isinstance(line, OwnCompaction):
        text = {"role": "user", "content": line.summary}
        return [ChatMessage(text, seconds_of_any(line.time), is_summary=True, is_meta=True)]
    if isinstance(line, OwnNotice):
        return [ChatMessage(notice(line.text), seconds_of_any(line.time))]
    if not isinstance(line, OwnMessage):
        return [ChatMessage(notice(compact_json(dict(value))))]
    message = {name: value[name] for name in _SENT if value.get(name) is not None}
    is_call = line.role == "assistant" and not line.inherited
    return [
        ChatMessage(
            mapping(message),
            seconds_of_any(line.time),
            clean_text(line.id),
            is_call=is_call,
            model=clean_text(line.model) if is_call else "",
            usage=NATIVE.check(_usage(line.usage), value.get("usage")) if is_call else None,
            is_meta=line.injected,
            is_inherited=line.inherited,
        )
    ]


_SENT = ("role", "content", "tool_calls", "tool_call_id", "name", "is_error", "reasoning_content")


def _usage(line: OwnUsage | None) -> Usage | None:
    if line is None:
        return None
    return Usage(
        line.uncached,
        line.cache_read,
        line.cache_write_5m,
        line.cache_write_1h,
        line.output,
        min(line.reasoning, line.output),
    ).unless_zero()


FORMATS = (NativeFormat(),)
