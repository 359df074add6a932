"""Notice about a tool result that the hook trimmed on arrival."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inspector.report.hook_trims import trim_in_words
from inspector.safe_text import one_line
from inspector.session.model import BlockKind
from inspector.strategies.core.recall_command import recall_command

if TYPE_CHECKING:
    from inspector.report.hook_trims import SessionTrims
    from inspector.session.model import Session
    from inspector.ui.detail.content import DetailContent


def detail_of_trim(content: DetailContent, trims: SessionTrims | None, session: Session, block: int) -> DetailContent:
    """Add a line above a result that the hook trimmed."""
    found = session.all_blocks[block]
    identifier = found.tool_call_id
    if trims is None or found.kind is not BlockKind.TOOL_RESULT or identifier in session.repeated_call_ids:
        return content
    kept = trims.by_call.get(identifier)
    if kept is None:
        return content
    return replace(content, lead=(*content.lead, one_line(trim_in_words(kept, recall_command(session, block)))))
