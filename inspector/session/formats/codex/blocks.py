"""The lines of a rollout: what each is, and its blocks, with their texts, whenever it is read.

Two envelopes exist. Since August 2025 (0.32) every line is `{timestamp, type, payload}`; before, lines were bare: a
header without a type, then items, with `{"record_type": "state"}` between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.blocks import TextBlock, text_block
from inspector.session.formats.codex.records import EVENT, ITEM, META, TURN, is_header
from inspector.session.formats.responses.blocks import blocks_of_item
from inspector.session.formats.responses.records import is_item
from inspector.session.json.codec import clean_text, compact_json
from inspector.session.json.lines import object_of
from inspector.session.json.values import mapping, objects, seconds_of_any, string
from inspector.session.model import BlockKind, Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inspector.session.formats.plain.blocks import Names

QUIET = frozenset({TURN, "inter_agent_communication_metadata", "rollout_reference", "state", "world_state"})
"""Lines that say nothing to anybody but the program."""

NOTICES = frozenset(
    {"error", "guardian_warning", "stream_error", "turn_aborted", "warning", "entered_review_mode"}
    | {"exited_review_mode", "model_reroute"}
)
"""Events that are recorded nowhere else and that a person would want to see."""

QUIET_EVENTS = frozenset(
    {"agent_message", "agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break"}
    | {"collab_agent_interaction_begin", "collab_agent_interaction_end", "collab_agent_spawn_begin"}
    | {"collab_agent_spawn_end", "collab_close_begin", "collab_close_end", "collab_resume_begin", "collab_resume_end"}
    | {"collab_waiting_begin", "collab_waiting_end", "context_compacted", "dynamic_tool_call_request"}
    | {"dynamic_tool_call_response", "exec_command_begin", "exec_command_end", "exec_command_output_delta"}
    | {"image_generation_end", "item_completed", "item_started", "mcp_tool_call_begin", "mcp_tool_call_end"}
    | {"patch_apply_begin", "patch_apply_end", "plan_update", "session_configured", "sub_agent_activity"}
    | {"task_complete", "task_started", "thread_goal_updated", "thread_name_updated", "thread_rolled_back"}
    | {"thread_settings_applied", "token_count", "turn_complete", "turn_diff", "turn_started", "user_message"}
    | {"view_image_tool_call", "web_search_begin", "web_search_end"}
)
"""Events that repeat what items say, or that are for the program's screen."""


class RolloutLine(NamedTuple):
    """One line, unwrapped.

    Attributes:
        kind: What the envelope says it is.
        payload: What it holds.
        time: Seconds since the epoch, None where the line has no time.
    """

    kind: str
    payload: Mapping[str, Any]
    time: float | None

    @property
    def count_name(self) -> str:
        """The name it is counted under: its kind, and for items and events their type."""
        inner = string(self.payload.get("type")) if self.kind in (ITEM, EVENT) else ""
        return f"{self.kind}:{inner}" if inner else self.kind


def unwrapped(value: Mapping[str, Any]) -> RolloutLine:
    """A line of either envelope."""
    kind, time = string(value.get("type")), seconds_of_any(value.get("timestamp"))
    if isinstance(value.get("payload"), dict):
        return RolloutLine(kind or "(no type)", value["payload"], time)
    if "record_type" in value:
        return RolloutLine(string(value["record_type"]) or "state", {}, time)
    if is_header(value):
        return RolloutLine(META, value, time)
    if is_item(value):
        return RolloutLine(ITEM, value, time)
    return RolloutLine(kind or "(no type)", mapping(value.get("payload")), time)


def blocks_of_line(data: bytes, origin: Origin, /) -> Sequence[TextBlock]:
    """The blocks of a line that is read again."""
    value, _ = object_of(data)
    return [] if value is None else blocks_of(unwrapped(value), data, origin, {})


def blocks_of(line: RolloutLine, data: bytes, origin: Origin, names: Names) -> Sequence[TextBlock]:
    """All blocks of a line, numbered in order.

    Args:
        line: The line.
        data: Its bytes.
        origin: Where they stand.
        names: Names of the tools of known call ids, for outputs.
    """
    first = Origin(origin.offset, origin.length)
    match line.kind:
        case "response_item" if line.payload:
            return blocks_of_item(line.payload, first, names)
        case "compacted":
            return [made for _, blocks in compacted_items(line.payload, first, names) for made in blocks]
        case "session_meta":
            return system_blocks(line.payload, first)
        case "inter_agent_communication":
            text = line.payload.get("content")
            plain = text if isinstance(text, str) else compact_json(dict(line.payload))
            return [text_block(BlockKind.USER_TEXT, clean_text(plain), first)]
    return [text_block(BlockKind.OTHER, data.decode(errors="replace"), first)]


def compacted_items(
    payload: Mapping[str, Any], origin: Origin, names: Names
) -> Iterator[tuple[Mapping[str, Any], Sequence[TextBlock]]]:
    """The items that a compaction leaves, each with its blocks; older versions recorded a summary alone."""
    items = objects(payload.get("replacement_history"))
    if not items:
        message = string(payload.get("message"))
        items = [{"type": "message", "role": "user", "content": message}] if message else []
    part = 0
    for item in items:
        blocks = blocks_of_item(item, Origin(origin.offset, origin.length, part), names)
        part += len(blocks)
        yield item, blocks


def system_blocks(payload: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    """What the header says that every prompt begins with: instructions, and tools added by whoever started it.

    Until about 0.80 a header has `instructions` alone, which a message of the user's side may repeat.
    """
    instructions = payload.get("base_instructions")
    text = string(mapping(instructions).get("text")) or string(instructions) or string(payload.get("instructions"))
    tools = payload.get("dynamic_tools")
    texts = [text, compact_json(tools) if tools else ""]
    return [
        text_block(BlockKind.SYSTEM_TEXT, clean_text(text), Origin(origin.offset, origin.length, part))
        for part, text in enumerate(texts)
        if text
    ]
