"""Read sessions in inspector's own format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from inspector.session.formats.chat import ChatMessage, ChatThread, blocks_of_chat, notice
from inspector.session.formats.native.records import (
    KINDS,
    OwnCompaction,
    OwnLine,
    OwnMessage,
    OwnNotice,
    OwnSession,
    OwnSideCall,
    OwnUsage,
)
from inspector.session.json.codec import clean_text, compact_json, unquoted
from inspector.session.json.lines import object_of
from inspector.session.json.values import mapping, seconds_of_any, string
from inspector.session.model import Compaction, Role, SideCall, Usage
from inspector.session.reader import Record, RecordInterpreter
from inspector.session.usage_fields import NATIVE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Origin


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
