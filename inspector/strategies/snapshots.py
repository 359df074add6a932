"""Dropping outdated state that an agent had put in front of a user's question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind, Role
from inspector.strategies.prompt_ends import Ageing, ageing, last_members
from inspector.strategies.rendition import Action, Rendition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.history import History
    from inspector.strategies.operations import BlockSource

TAGS = ("[Live State", "[Briefing", "[Update")
"""How a snapshot begins; each ends with its own end mark. From 12DDFF/Hynous `intelligence/agent.py`."""

END_MARKS = ("[End Live State]\n\n", "[End Briefing]\n\n", "[End Update]\n\n")


@dataclass(frozen=True, slots=True)
class StripSnapshots:
    """Drop a live state, a briefing and an update from the beginning of a text, in that order, if they are closed."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """What follows the last snapshot; the same rendition where there is none."""
        text = rendition.text(source.text())
        start = 0
        for tag, end_mark in zip(TAGS, END_MARKS, strict=True):
            if text.startswith(tag, start):
                end = text.find(end_mark, start)
                start = start if end < 0 else end + len(end_mark)
        return rendition if start == 0 else Rendition(rendition.between(start, len(text)), Action.CUT)


def stale_snapshots(history: History) -> tuple[NDArray[np.int32], Ageing]:
    """User texts that begin with a snapshot, and when they stop being the newest question of the prompt."""
    session = history.session
    texts = np.flatnonzero((history.kind == BlockKind.USER_TEXT) & history.plain_text).astype(np.int32)
    owners = history.message[texts]
    by_user = np.fromiter((session.messages[owner].role is Role.USER for owner in owners), np.bool_, len(owners))
    asks = np.zeros(len(history.message_enters), dtype=np.bool_)
    asks[owners[by_user]] = True
    blocks = session.blocks
    begins = np.fromiter((blocks[block].preview.startswith(TAGS) for block in texts), np.bool_, len(texts))
    candidates = texts[by_user & begins]
    return candidates, ageing(history, candidates, history.message[candidates], last_members(history, asks))
