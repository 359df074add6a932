"""Compactions as Claude Code records them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.model import Compaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.session.formats.claude_code.records import CompactMetadata, Record


def compaction_of(record: Record, message: int, time: float | None) -> Compaction:
    """What a boundary, full or partial, says.

    Args:
        record: The boundary.
        message: Index of the message that will follow it.
        time: When it happened.
    """
    metadata = record.compact_metadata or record.microcompact_metadata
    if metadata is None:
        return Compaction(message, time=time)
    return Compaction(
        message,
        trigger=metadata.trigger or "",
        tokens_before=metadata.tokens_before,
        tokens_after=metadata.tokens_after,
        cleared_tool_call_ids=tuple(metadata.cleared or ()),
        tokens_saved=metadata.tokens_saved,
        time=time,
    )


def kept_messages(metadata: CompactMetadata | None, message_of: Callable[[str], int | None]) -> tuple[list[int], bool]:
    """The messages a full compaction kept, in order, and whether all that it names are in this file.

    A resumed session may begin with the boundary and name messages that stand in another file.

    Args:
        metadata: What the boundary says.
        message_of: Message index of a line by its uuid: -1 for a line that is no message, None for an unknown one.
    """
    if metadata is None:
        return [], True
    if metadata.preserved_messages is not None:
        uuids = metadata.preserved_messages.uuids or metadata.preserved_messages.all_uuids or []
        found = [message_of(uuid) for uuid in uuids]
        indices = {index for index in found if index is not None and index >= 0}
        return sorted(indices), None not in found
    segment = metadata.preserved_segment
    if segment is None or not segment.head or not segment.tail:
        return [], True
    first, last = message_of(segment.head), message_of(segment.tail)
    if first is None or last is None or first < 0 or last < 0:
        return [], False
    return list(range(first, last + 1)), True


def sends_kept_first(record: Record) -> bool:
    """Whether the kept messages are sent before the summary: they are anchored at the boundary itself then."""
    metadata = record.compact_metadata
    if metadata is None:
        return False
    kept = (metadata.preserved_messages, metadata.preserved_segment)
    return any(part is not None and part.anchor is not None and part.anchor == record.uuid for part in kept)
