"""Events that `codex exec --json` prints: what each is, and its blocks, whenever it is read.

A stream has another schema than a rollout (`codex-rs/exec/src/exec_events.rs` of openai/codex): items are for programs
that watch, a command and what it printed are one item, and neither prompts, models nor times are printed. Items are
turned into those of the Responses API, and read like these from there on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.blocks import text_block
from inspector.session.decoding import clean_text
from inspector.session.formats.codex.kinds import ITEM_ENDS, ITEMS
from inspector.session.formats.responses.items import Side, blocks_of_item, side_of
from inspector.session.model import BlockKind, Origin
from inspector.session.objects import object_of
from inspector.session.values import mapping, string

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.blocks import TextBlock

ARGUMENTS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "web_search": ("query", "action"),
    "collab_tool_call": ("prompt", "receiver_thread_ids"),
}
"""Items of tools, with the fields that hold what a tool was called with."""

MCP = "mcp_tool_call"

PLAN = "todo_list"
"""Printed whenever the model changes its plan, and once more at the turn's end."""

Made = tuple[Side, "TextBlock"]


def is_tool(item: Mapping[str, Any]) -> bool:
    """Whether an item is the call of a tool that runs for a while."""
    return item.get("type") in (MCP, *ARGUMENTS)


def is_plan(item: Mapping[str, Any]) -> bool:
    """Whether an item is the model's plan, which changes over a turn."""
    return item.get("type") == PLAN


def count_name(value: Mapping[str, Any]) -> str:
    """The name an event is counted under: its type, and for items theirs."""
    kind = string(value.get("type")) or "(no type)"
    inner = string(mapping(value.get("item")).get("type"))
    return f"{kind}:{inner}" if inner else kind


def blocks_of_event(value: Mapping[str, Any], data: bytes, origin: Origin) -> list[Made]:
    """All blocks of an event, numbered in order, each with who adds it.

    Args:
        value: The event.
        data: Its bytes.
        origin: Where they stand.
    """
    item = mapping(value.get("item"))
    made: list[Made] = []
    for one in _items(item, is_ended=value.get("type") == ITEM_ENDS) if value.get("type") in ITEMS else ():
        place = Origin(origin.offset, origin.length, len(made))
        made += [(side_of(one), block) for block in blocks_of_item(one, place, {})]
    return made or [(Side.OTHER, text_block(BlockKind.OTHER, data.decode(errors="replace"), origin))]


def blocks_again(data: bytes, origin: Origin, /) -> Sequence[TextBlock]:
    """The blocks of an event that is read again."""
    value, _ = object_of(data)
    first = Origin(origin.offset, origin.length)
    return [] if value is None else [block for _, block in blocks_of_event(value, data, first)]


def _items(item: Mapping[str, Any], *, is_ended: bool) -> list[dict[str, Any]]:
    """An item as items of the Responses API; none for what is of no tool and no model."""
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
    text = clean_text(string(item.get("text")))
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
    """What a tool returned, as far as a stream has it."""
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
