"""How long the summaries are that a session's own compactions left: what a strategy's summaries are taken to be."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind
from inspector.tokens.counter import estimated_tokens

if TYPE_CHECKING:
    from inspector.session.model import Session

_TEXTS = (BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT, BlockKind.SYSTEM_TEXT)


def recorded_summary_tokens(session: Session) -> int | None:
    """The median length of the summaries recorded after a session's compactions, estimated from their characters.

    None where it recorded none: compactions that only cleared results leave no summary.
    """
    sizes = [
        sum(estimated_tokens(block.characters) for block in session.messages[at].blocks if block.kind in _TEXTS)
        for at in sorted({compaction.message for compaction in session.compactions if not compaction.is_partial})
        if at < len(session.messages) and session.messages[at].is_summary
    ]
    sizes = [size for size in sizes if size]
    return round(median(sizes)) if sizes else None
