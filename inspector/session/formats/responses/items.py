"""Convert items of OpenAI's Responses API to blocks.

An item is a message, reasoning, a tool call or a tool output. Types and fields follow the API reference, with the ones
added by Codex (`codex-rs/protocol/src/models.rs` of openai/codex).
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from inspector.session.blocks import TextBlock, argument_text, text_block
from inspector.session.builder import Thread
from inspector.session.call_matching import ToolNames
from inspector.session.formats.chat import ROLE_OF, blocks_of_message, result_block
from inspector.session.formats.responses.records import CALL, CALLS, OUTPUT, OUTPUTS, SUMMARIES
from inspector.session.json.codec import clean_text, compact_json, lenient_json
from inspector.session.json.values import sequence, string
from inspector.session.media import media_of_base64
from inspector.session.model import BlockKind, Message, Origin, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inspector.session.builder import SessionBuilder
    from inspector.session.model import Block, Usage


EXIT_CODE = re.compile(r"\A(?:Chunk ID: .*\n|Wall time: .*\n)*(?:Exit code:|Process exited with code) (-?\d+)")
"""Start of command output in Codex 0.72 and later."""

JSON_OUTPUT = re.compile(r'\A\s*\{\s*"output"\s*:')
"""Wrapper of command output in older versions: the model receives the JSON string."""

FAILURES = (
    "apply_patch verification failed",
    "aborted",
    "collab spawn failed",
    "err: ",
    "exec_command failed",
    "execution error",
    "failed in sandbox",
    "failed to parse function arguments",
    "Script failed",
    "unsupported call",
    "unsupported custom tool call",
    "write_stdin failed",
)
"""Prefixes of outputs that report a failure without an exit code."""


def reports_failure(output: Any) -> bool:
    """Return True if a tool's output reports a failure: by a non-zero exit code or a known prefix."""
    if isinstance(output, dict):
        return output.get("success") is False or reports_failure(output.get("content"))
    if isinstance(output, list):
        if any(_exit_code(item) for item in output):
            return True
        texts = (item.get("text") for item in output if isinstance(item, dict))
        return reports_failure(next((text for text in texts if isinstance(text, str)), None))
    if not isinstance(output, str):
        return False
    if (match := EXIT_CODE.match(output)) is not None:
        return int(match[1]) != 0
    if JSON_OUTPUT.match(output):
        return _recorded_code(output) not in (None, 0)
    return output.startswith(FAILURES)


def content_of_output(output: Any) -> Any:
    """Return the content of an output: a string, or a list of parts."""
    return output["content"] if isinstance(output, dict) and "content" in output else output


def _exit_code(item: Any) -> Any:
    """Return the exit code of a command in `shell_call_output`, None if it has none."""
    outcome = item.get("outcome") if isinstance(item, dict) else None
    return outcome.get("exit_code") if isinstance(outcome, dict) else None


def _recorded_code(output: str) -> Any:
    value, _ = lenient_json(output.encode(errors="replace"))
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return metadata.get("exit_code") if isinstance(metadata, dict) else None


NOT_SENT = frozenset({"compaction_trigger", "configuration_update", "ghost_snapshot", "item_reference"})
"""Types that are not part of a prompt."""

SERVER_CALL_RESULTS = ("output", "outputs", "result", "results", "error")
"""Fields with the result or error of a server-side call."""

CALL_ARGUMENTS = (
    *("arguments", "input", "action", "actions", "query", "queries", "code", "operation", "tools", "revised_prompt"),
)

IMAGE_CALL = "image_generation_call"


class ItemSide(Enum):
    """The side that adds an item to the conversation."""

    RESPONSE = auto()
    """The model."""
    USER = auto()
    SYSTEM = auto()
    TOOL = auto()
    SUMMARY = auto()
    """A compaction."""
    OTHER = auto()
    """Shown and not sent."""


def is_known_item(kind: str) -> bool:
    """Return True for a type of item that a prompt or a response can have; empty for messages."""
    return (
        kind in ("", "agent_message", "message")
        or kind in NOT_SENT
        or kind in SIDE_OF_TYPE
        or kind in SUMMARIES
        or kind in CALLS
        or kind in OUTPUTS
    )


def side_of(item: Mapping[str, Any]) -> ItemSide:
    kind = item.get("type")
    if kind == "message" or (kind is None and "role" in item):
        role = ROLE_OF.get(string(item.get("role")), Role.OTHER)
        return SIDE_OF_ROLE.get(role, ItemSide.OTHER)
    if not isinstance(kind, str) or kind in NOT_SENT:
        return ItemSide.OTHER
    if kind in SIDE_OF_TYPE:
        return SIDE_OF_TYPE[kind]
    if kind in SUMMARIES:
        return ItemSide.SUMMARY
    if kind.endswith(CALL):
        return ItemSide.RESPONSE
    return ItemSide.TOOL if kind.endswith(OUTPUT) else ItemSide.OTHER


SIDE_OF_ROLE = {
    Role.SYSTEM: ItemSide.SYSTEM,
    Role.USER: ItemSide.USER,
    Role.ASSISTANT: ItemSide.RESPONSE,
    Role.TOOL: ItemSide.TOOL,
}

SIDE_OF_TYPE = {
    "additional_tools": ItemSide.SYSTEM,
    "agent_message": ItemSide.USER,
    "mcp_approval_request": ItemSide.RESPONSE,
    "mcp_approval_response": ItemSide.USER,
    "mcp_list_tools": ItemSide.SYSTEM,
    "reasoning": ItemSide.RESPONSE,
}


def blocks_of_item(item: Mapping[str, Any], origin: Origin, names: Mapping[str, str]) -> list[TextBlock]:
    """Return the blocks of an item, numbered from `origin.part`."""
    side, kind = side_of(item), string(item.get("type"))
    if side is ItemSide.OTHER:
        return [text_block(BlockKind.OTHER, clean_text(compact_json(dict(item))), origin)]
    if kind in ("message", "agent_message", ""):
        spoken = item if "role" in item else {**item, "role": "user"}
        made = blocks_of_message(spoken, origin.offset, origin.length, names)
        return [one.moved(origin.at(origin.part + number)) for number, one in enumerate(made)]
    if kind == "reasoning":
        return [_reasoning(item, origin)]
    if side is ItemSide.SUMMARY:
        encrypted = len(string(item.get("encrypted_content")))
        return [text_block(BlockKind.THINKING, "", origin, signature_characters=encrypted)]
    if side is ItemSide.TOOL:
        return [_output(item, origin, names)]
    if side is ItemSide.RESPONSE and kind.endswith(CALL):
        return _call(item, kind, origin)
    text = clean_text(compact_json(item.get("tools", dict(item))))
    return [text_block(BlockKind.SYSTEM_TEXT if side is ItemSide.SYSTEM else BlockKind.OTHER, text, origin)]


def name_of_call(item: Mapping[str, Any]) -> str:
    """Return the tool name of a call, with its namespace if any, or a name derived from the item type."""
    name = string(item.get("name"))
    if not name:
        return string(item.get("type")).removesuffix(CALL)
    namespace = string(item.get("namespace")) or string(item.get("server_label"))
    if not namespace or name.startswith(namespace):
        return name
    return f"{namespace}{name}" if namespace.endswith("_") else f"{namespace}__{name}"


def call_id_of(item: Mapping[str, Any]) -> str:
    """Return the id shared by a call and its output, or the item's own id for server-side tools."""
    return string(item.get("call_id")) or string(item.get("id"))


def _reasoning(item: Mapping[str, Any], origin: Origin) -> TextBlock:
    parts = sequence(item.get("content")) or sequence(item.get("summary"))
    texts = [string(part.get("text")) if isinstance(part, dict) else string(part) for part in parts]
    text = "\n\n".join(text for text in texts if text)
    encrypted = len(string(item.get("encrypted_content")))
    return text_block(BlockKind.THINKING, clean_text(text), origin, signature_characters=encrypted)


def _call(item: Mapping[str, Any], kind: str, origin: Origin) -> list[TextBlock]:
    given = next((item[name] for name in CALL_ARGUMENTS if item.get(name) is not None), None)
    text = argument_text(given if given is not None else {})
    identifier, name = call_id_of(item), name_of_call(item)
    blocks = [text_block(BlockKind.TOOL_CALL, text, origin, tool_call_id=identifier, tool_name=name)]
    returned = next((item[field] for field in SERVER_CALL_RESULTS if item.get(field)), None)
    if returned is None:
        return blocks
    result = origin.at(origin.part + 1)
    if kind == IMAGE_CALL and isinstance(returned, str):
        data = returned.encode(errors="replace")
        media = (media_of_base64("image/png", data),)
        shown = text_block(
            BlockKind.TOOL_RESULT, "", result, tool_call_id=identifier, tool_name=name, media=media, media_data=(data,)
        )
    else:
        shown = result_block(returned, identifier, name, bool(item.get("error")), result)
    return [*blocks, shown]


def _output(item: Mapping[str, Any], origin: Origin, names: Mapping[str, str]) -> TextBlock:
    call = string(item.get("call_id")) or string(item.get("tool_call_id"))
    output = next((item[name] for name in ("output", "tools", "content") if name in item), None)
    if isinstance(output, dict) and not isinstance(output.get("content"), (str, list)):
        output = [output] if "type" in output else compact_json(output)
    elif item.get("type") == "tool_search_output":
        output = compact_json(output)
    is_error = reports_failure(output) or item.get("status") == "failed"
    return result_block(content_of_output(output), call, names.get(call, string(item.get("name"))), is_error, origin)


NONE = -1

ROLE_OF_SIDE = {
    ItemSide.RESPONSE: Role.ASSISTANT,
    ItemSide.USER: Role.USER,
    ItemSide.SYSTEM: Role.SYSTEM,
    ItemSide.TOOL: Role.TOOL,
    ItemSide.SUMMARY: Role.ASSISTANT,
    ItemSide.OTHER: Role.OTHER,
}


class ItemThread(Thread):
    """A thread of items. The items of a response form one message, as do the outputs that answer it.

    Attributes:
        response: The response message being extended, -1 if the next response item starts a new one.
        results: The message of tool outputs being extended, -1 likewise.
        tool_names: Tool names by call id.
    """

    def __init__(self, builder: SessionBuilder, number: int = 0) -> None:
        super().__init__(builder, number)
        self.response = NONE
        self.results = NONE
        self.tool_names = ToolNames()

    def join(
        self,
        side: ItemSide,
        blocks: Iterable[Block],
        *,
        time: float | None = None,
        identifier: str = "",
        is_call: bool = True,
        model: str = "",
        usage: Usage | None = None,
        thinking: str = "",
        terms: str = "",
        is_meta: bool = False,
        is_summary: bool = False,
        is_inherited: bool = False,
    ) -> int:
        """Add the blocks of an item and return the index of their message.

        The other arguments apply to a new message. `is_call` means that a new response makes a call.
        """
        blocks = list(blocks)
        self.tool_names.note(blocks)
        grows = self._growing(side)
        if grows != NONE:
            self._builder.add_blocks(grows, blocks)
            return grows
        message = Message(
            role=ROLE_OF_SIDE[side],
            blocks=tuple(blocks),
            time=time,
            identifier=identifier,
            thread=self.number,
            is_meta=is_meta,
            is_summary=is_summary or side is ItemSide.SUMMARY,
            is_inherited=is_inherited,
        )
        if side is ItemSide.OTHER:
            return self.add(message, is_sent=False)
        self.close()
        if side is ItemSide.RESPONSE and is_call:
            self.response = self.respond(
                message, model=model, usage=usage, identifier=identifier, thinking=thinking, terms=terms
            )
            return self.response
        index = self.add(message)
        if side is ItemSide.RESPONSE:
            self.response = index
        elif side is ItemSide.TOOL:
            self.results = index
        return index

    def close(self) -> None:
        """Close the open messages, so that the next item starts a new one."""
        self.response = self.results = NONE

    def _growing(self, side: ItemSide) -> int:
        if side is ItemSide.RESPONSE:
            return self.response
        return self.results if side is ItemSide.TOOL else NONE
