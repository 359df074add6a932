"""Join the events of a `codex exec --json` stream into messages and calls.

Responses are not marked. A new one begins with the first model output after a tool result, unless an earlier tool call
is still running: the next request waits for all results.

The usage printed at the end of a turn is the thread's running total (`last_total_token_usage` in
`codex-rs/exec/src/event_processor_with_jsonl_output.rs`). The increase is the usage of the turn's call if it has just
one; the usage of several calls cannot be separated and is shown as printed. A stream does not show that it resumes a
thread, in which case the first total includes earlier turns. This is detected if the output tokens exceed the
characters of the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.blocks import text_block
from inspector.session.formats.codex.records import ENDS_OF_TURNS, ITEM_ENDS, ITEMS, ONLY_MARKERS, THREAD, TURN_ENDS
from inspector.session.formats.codex.usage import usage_of
from inspector.session.formats.responses.reader import NONE, ItemSide, ItemThread, blocks_of_item, side_of
from inspector.session.json.lines import ObjectDecoder, object_of
from inspector.session.json.values import clean_string, count, mapping, sequence, string
from inspector.session.model import BlockKind, LinkKind, Origin, SessionLink
from inspector.session.reader import Record, RecordInterpreter
from inspector.session.usage_fields import CODEX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.blocks import TextBlock


ARGUMENTS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "web_search": ("query", "action"),
    "collab_tool_call": ("prompt", "receiver_thread_ids"),
}
"""Tool items, with the fields that hold the call's arguments."""

MCP = "mcp_tool_call"

PLAN = "todo_list"
"""Printed whenever the model changes its plan, and again at the end of the turn."""

Made = tuple[ItemSide, "TextBlock"]


def is_tool(item: Mapping[str, Any]) -> bool:
    """Return True for a tool call, which has a start and an end event."""
    return item.get("type") in (MCP, *ARGUMENTS)


def is_plan(item: Mapping[str, Any]) -> bool:
    return item.get("type") == PLAN


def count_name(value: Mapping[str, Any]) -> str:
    """Return the name for counting: the event's type, plus the type of its item."""
    kind = string(value.get("type")) or "(no type)"
    inner = string(mapping(value.get("item")).get("type"))
    return f"{kind}:{inner}" if inner else kind


def blocks_of_event(value: Mapping[str, Any], data: bytes, origin: Origin) -> list[Made]:
    """Return all blocks of an event, numbered in order, each with the side that adds it."""
    item = mapping(value.get("item"))
    made: list[Made] = []
    for one in _items(item, is_ended=value.get("type") == ITEM_ENDS) if value.get("type") in ITEMS else ():
        place = Origin(origin.offset, origin.length, len(made))
        made += [(side_of(one), block) for block in blocks_of_item(one, place, {})]
    return made or [(ItemSide.OTHER, text_block(BlockKind.OTHER, data.decode(errors="replace"), origin))]


def blocks_again(data: bytes, origin: Origin, /) -> Sequence[TextBlock]:
    value, _ = object_of(data)
    first = Origin(origin.offset, origin.length)
    return [] if value is None else [block for _, block in blocks_of_event(value, data, first)]


def _items(item: Mapping[str, Any], *, is_ended: bool) -> list[dict[str, Any]]:
    """Convert a model or tool item to Responses API items; empty for other items."""
    kind, identifier = string(item.get("type")), string(item.get("id"))
    if is_tool(item):
        name = f"mcp__{string(item.get('server'))}__{string(item.get('tool'))}" if kind == MCP else kind
        if kind == "collab_tool_call":
            name = string(item.get("tool")) or kind
        call = {"type": "function_call", "name": name, "call_id": identifier, "arguments": _arguments(item)}
        if not is_ended:
            return [call]
        output = {"type": "function_call_output", "call_id": identifier, "name": name, "output": _output(item)}
        return [call, {**output, "status": "failed"} if _failed(item) else output]
    if kind == PLAN:
        call = {"type": "function_call", "name": kind, "call_id": identifier, "arguments": {"items": item.get("items")}}
        return [call, {"type": "function_call_output", "call_id": identifier, "name": kind, "output": ""}]
    text = clean_string(item.get("text"))
    if kind in ("agent_message", "assistant_message"):
        return [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
    if kind == "reasoning":
        return [{"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}]
    return []


def _arguments(item: Mapping[str, Any]) -> Any:
    if item.get("type") == MCP:
        return item.get("arguments")
    return {name: item[name] for name in ARGUMENTS[string(item.get("type"))] if item.get(name) is not None}


def _output(item: Mapping[str, Any]) -> Any:
    error = mapping(item.get("error"))
    if error:
        return string(error.get("message"))
    if item.get("type") == MCP:
        result = item.get("result")
        content = mapping(result).get("content")
        return content if isinstance(content, (str, list)) else result
    if item.get("type") == "collab_tool_call":
        return mapping(item.get("agents_states")) or ""
    return string(item.get("aggregated_output"))


def _failed(item: Mapping[str, Any]) -> bool:
    code = item.get("exit_code")
    return item.get("status") in ("failed", "declined") or (isinstance(code, int) and code != 0)


SPARE_TOKENS = 64
"""Tokens a response may have in excess of its characters, for the delimiters of its parts."""

COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens")


class StreamInterpreter(RecordInterpreter):
    """Builds a session from the lines of a stream."""

    decoder = ObjectDecoder("item")

    def __init__(self) -> None:
        super().__init__()
        self.builder.agent = "Codex"
        self._thread = ItemThread(self.builder)
        self._running: set[str] = set()
        self._response = NONE
        self._first_call = 0
        self._characters = 0
        self._is_first_report = True
        self._total = dict.fromkeys(COUNTS, 0)
        self._totals: set[tuple[int, ...]] = set()

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
        return blocks_again(record, origin)

    def add(self, record: Record) -> None:
        self._add(record.value, record.data, record.origin)

    def _add(self, value: Mapping[str, Any], data: bytes, origin: Origin) -> None:
        kind, item = string(value.get("type")), mapping(value.get("item"))
        self.builder.record_counts[count_name(value)] += 1
        if kind == THREAD:
            self._begin_thread(string(value.get("thread_id")))
        if is_tool(item):
            self._tool(item, blocks_of_event(value, data, origin), is_ended=kind == ITEM_ENDS)
        elif kind == TURN_ENDS:
            self._report(mapping(value.get("usage")), blocks_of_event(value, data, origin))
        elif kind not in ONLY_MARKERS and (kind not in ITEMS or (kind == ITEM_ENDS) is not is_plan(item)):
            self._add_messages(blocks_of_event(value, data, origin))
        if kind in ENDS_OF_TURNS:
            self._thread.close()
            self._running.clear()
            self._response, self._first_call, self._characters = NONE, len(self.builder.calls), 0

    def _begin_thread(self, identifier: str) -> None:
        if self.builder.identifier and identifier != self.builder.identifier:
            self._total, self._is_first_report = dict.fromkeys(COUNTS, 0), True
            self._totals.clear()
        self.builder.identifier = self.builder.identifier or identifier

    def _tool(self, item: Mapping[str, Any], made: Sequence[Made], *, is_ended: bool) -> None:
        identifier = string(item.get("id"))
        is_known = identifier in self._running
        self._add_messages([(side, block) for side, block in made if side is ItemSide.TOOL or not is_known])
        if is_ended:
            self._running.discard(identifier)
            for thread in sequence(item.get("receiver_thread_ids")):
                if item.get("tool") == "spawn_agent" and isinstance(thread, str):
                    self.builder.link(SessionLink(LinkKind.SUBAGENT, thread, None, identifier))
        else:
            self._running.add(identifier)

    def _add_messages(self, made: Sequence[Made]) -> None:
        for side, (block, _) in made:
            if side is ItemSide.RESPONSE and block.kind is not BlockKind.THINKING:
                self._characters += block.characters
            if side is ItemSide.RESPONSE and self._running and self._response != NONE:
                self.builder.add_blocks(self._response, [block])
            elif side is ItemSide.RESPONSE:
                self._response = self._thread.join(side, [block])
            else:
                self._thread.join(side, [block])

    def _report(self, total: Mapping[str, Any], shown: Sequence[Made]) -> None:
        """Assign the increase of a thread's running total to the current turn."""
        now = {name: count(total.get(name)) for name in COUNTS}
        if tuple(now.values()) in self._totals:  # printed once more, possibly after newer ones
            return
        self._totals.add(tuple(now.values()))
        is_continued = all(now[name] >= self._total[name] for name in COUNTS)
        usage = usage_of({name: now[name] - self._total[name] for name in COUNTS} if is_continued else now)
        usage = CODEX.check(usage, total)
        self._total = now
        calls = self.builder.calls
        is_of_turn = not (self._is_first_report and self._holds_more(total, now))
        self._is_first_report = False
        if usage is not None and is_of_turn and len(calls) == self._first_call + 1:
            calls[-1] = structs.replace(calls[-1], usage=usage)
        elif usage is not None:
            self._add_messages(shown)

    def _holds_more(self, total: Mapping[str, Any], now: Mapping[str, int]) -> bool:
        """Return True if a first report exceeds the output of its turn; it must report reasoning tokens separately."""
        written = now["output_tokens"] - now["reasoning_output_tokens"]
        return "reasoning_output_tokens" in total and written > self._characters + SPARE_TOKENS
