"""Messages as Hermes keeps them: OpenAI's form, in files as it is and in the database column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from inspector.session.blocks import TextBlock
from inspector.session.formats.plain.blocks import blocks_of_entry, role_of
from inspector.session.json.codec import lenient_json
from inspector.session.json.lines import object_of
from inspector.session.json.values import seconds_of_any, string
from inspector.session.model import BlockKind, Message, Origin, Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.model import Block

SUMMARIES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")
"""How the text begins that stands for a compacted conversation (`agent/context_compressor.py`)."""

STRUCTURED = "\x00json:"
"""Stands in the database before content that is a list of parts."""

NO_NAMES: dict[str, str] = {}

SESSION, MESSAGE = "session ", "message "
"""What the names of rows begin with."""


class HermesMessage(Struct, frozen=True, gc=False):
    """One message, read.

    Attributes:
        identifier: Its name in the file; empty where it has none.
        role: Who it speaks for.
        blocks: Its parts.
        time: Seconds since the epoch, or None.
        is_summary: It stands for a compacted conversation.
        is_meta: It was injected by the program.
        is_active: It is part of the conversation as it stands.
        is_compacted: It was, until a compaction.
    """

    identifier: str
    role: Role
    blocks: tuple[Block, ...]
    time: float | None
    is_summary: bool = False
    is_meta: bool = False
    is_active: bool = True
    is_compacted: bool = False

    @property
    def key(self) -> tuple[Any, ...]:
        """What a copy of it has in common with it."""
        return (self.role, *((block.kind, block.digest, block.tool_call_id) for block in self.blocks))

    def message(self, **flags: bool) -> Message:
        """The entry as a message."""
        return Message(
            role=self.role,
            blocks=self.blocks,
            time=self.time,
            identifier=self.identifier,
            is_meta=self.is_meta,
            is_summary=self.is_summary,
            **flags,
        )


def entry_of(value: Mapping[str, Any], blocks: list[TextBlock], identifier: str = "") -> HermesMessage:
    """An entry of a file, or a row of the database.

    Args:
        value: Its fields.
        blocks: Its blocks.
        identifier: Its name.
    """
    is_archived = value.get("active") == 0
    return HermesMessage(
        identifier=identifier,
        role=role_of(value),
        blocks=tuple(made.block for made in blocks),
        time=seconds_of_any(value.get("timestamp")),
        is_summary=bool(value.get("_compressed_summary")) or _begins_like_a_summary(blocks),
        is_meta=string(value.get("display_kind")) not in ("", "visible"),
        is_active=not is_archived,
        is_compacted=is_archived and bool(value.get("compacted")),
    )


def blocks_of_row(row: Mapping[str, Any], name: str) -> list[TextBlock]:
    """The blocks of a message's row. What the model was sent stands in a column of its own where it differs."""
    value: dict[str, Any] = {
        "role": row.get("role"),
        "content": _content(row.get("api_content") if isinstance(row.get("api_content"), str) else row.get("content")),
        "tool_call_id": row.get("tool_call_id"),
        "name": row.get("tool_name"),
        "reasoning": string(row.get("reasoning_content")) or row.get("reasoning"),
    }
    calls = row.get("tool_calls")
    if isinstance(calls, str) and calls:
        value["tool_calls"] = lenient_json(calls.encode(errors="replace"))[0]
    return [
        TextBlock(structs.replace(made.block, origin=Origin(0, 0, part, 0, name)), made.text)
        for part, made in enumerate(blocks_of_entry(value, 0, 0, NO_NAMES))
    ]


def blocks_of_session(row: Mapping[str, Any], name: str) -> list[TextBlock]:
    """The system text of a session's row."""
    text = row.get("system_prompt")
    if not isinstance(text, str) or not text:
        return []
    made = blocks_of_entry({"role": "system", "content": text}, 0, 0, NO_NAMES)
    return [TextBlock(structs.replace(one.block, origin=Origin(0, 0, 0, 0, name)), one.text) for one in made]


def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
    """The blocks of a row that is read again."""
    row, _ = object_of(record)
    if row is None:
        return []
    make = blocks_of_session if origin.locator.startswith(SESSION) else blocks_of_row
    return make(row, origin.locator)


def _content(value: object) -> object:
    if isinstance(value, str) and value.startswith(STRUCTURED):
        parts = lenient_json(value[len(STRUCTURED) :].encode(errors="replace"))[0]
        return value if parts is None else parts
    return value if value is None or isinstance(value, str) else str(value)


def _begins_like_a_summary(blocks: list[TextBlock]) -> bool:
    texts = (BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT, BlockKind.SYSTEM_TEXT)
    return any(made.block.kind in texts and made.block.preview.lstrip().startswith(SUMMARIES) for made in blocks)
