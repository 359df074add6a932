"""Where the recorded session used again what an earlier tool result said.

The evidence is in the words. A word of some length that occurs in exactly one tool result, and nowhere else before, and
that the model later writes, was taken from there: an identifier, a path, a number. A second kind of evidence is a tool
call made again with the same arguments. Neither proves that the model could not have done without; both are proxies,
and are called so wherever they are shown. No plan changes the evidence, so it is gathered once for a session.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.strategies.core.rendition import Action, Slice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.replay.replay import Replay


@dataclass(frozen=True, eq=False)
class Uses:
    """Evidence of use, one row a word or repeated call, in call order.

    Attributes:
        block: The tool result that was used, block index, int32.
        start: Where the word begins in its text, characters; 0 for a repeated call, int64.
        stop: Where the word ends; the text's length for a repeated call, int64.
        call: The call whose response used it, int32.
    """

    block: NDArray[np.int32]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    call: NDArray[np.int32]


class Use(NamedTuple):
    """Something of a tool result that a later response used again.

    Attributes:
        call: The call whose response used it.
        block: The tool result, block index.
        start: Where it begins in the result's text, characters.
        stop: Where it ends.
    """

    call: int
    block: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class NeededLater:
    """What a plan had taken out of the prompt when the session used it again.

    Attributes:
        calls: Calls whose response used something the plan no longer sent, in order.
        blocks: The tool results it was in, in order.
        words: How many words were used so.
        first: Per block, the first such use of it.
    """

    calls: tuple[int, ...]
    blocks: tuple[int, ...]
    words: int
    first: Mapping[int, Use] = field(default_factory=dict)


def needed_later(replay: Replay, uses: Uses) -> NeededLater:
    """Which uses found their source cut away by a replay's plan.

    What the recorded session itself no longer had in its prompt does not count against the plan.
    """
    history, changes = replay.history, replay.changes
    touched = np.zeros(len(history.kind), dtype=bool)
    touched[changes.block[changes.action != Action.WHOLE]] = True
    suspects = np.flatnonzero(
        touched[uses.block] & (uses.call >= history.enters[uses.block]) & (uses.call < history.leaves[uses.block])
    )
    in_force = changes.rows(uses.block[suspects], uses.call[suspects])
    missing = [
        row
        for row, change in zip(suspects.tolist(), in_force.tolist(), strict=True)
        if change >= 0 and not _holds(replay, change, int(uses.start[row]), int(uses.stop[row]))
    ]
    first: dict[int, Use] = {}
    for row in missing:
        use = Use(int(uses.call[row]), int(uses.block[row]), int(uses.start[row]), int(uses.stop[row]))
        first.setdefault(use.block, use)
    return NeededLater(
        calls=tuple(sorted({int(uses.call[row]) for row in missing})),
        blocks=tuple(sorted({int(uses.block[row]) for row in missing})),
        words=len(missing),
        first=first,
    )


def _holds(replay: Replay, change: int, start: int, stop: int) -> bool:
    """Whether what a change makes of its block still holds these characters of the recorded text."""
    changes = replay.changes
    stack = changes.stacks[int(changes.stack[change])]
    pieces = replay.inputs.renderer.rendition(int(changes.block[change]), stack).pieces
    return any(isinstance(piece, Slice) and piece.start <= start and stop <= piece.stop for piece in pieces)
