"""The blocks that take or cost most of a part of a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.composition_of_context import Scope

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.carriage import Carriage
    from inspector.replay.composition_of_context import Composition


@dataclass(frozen=True, slots=True)
class Consumer:
    """One block, and what it takes.

    Attributes:
        block: Its index.
        tokens: Tokens sent of it in the call's prompt, on the provider's scale.
        recorded: The same with it whole; 0 where the prompt does not hold it.
        calls: Recorded calls whose prompt held it.
        carried: Tokens sent of it in all of them together.
        cost: Dollars of those; NaN without a price.
    """

    block: int
    tokens: float
    recorded: float
    calls: int
    carried: float
    cost: float


def consumers_of(
    composition: Composition, blocks: NDArray[np.int32], carriage: Carriage, most: int
) -> tuple[Consumer, ...]:
    """The blocks of a part that take most of the prompt, or cost most to carry over the whole session.

    Args:
        composition: What the part is of.
        blocks: The part's block indices.
        carriage: What each block cost to carry.
        most: How many at most.
    """
    count = len(carriage.calls)
    sent, recorded = np.zeros(count), np.zeros(count)
    context = composition.context
    sent[context.blocks], recorded[context.blocks] = context.sent, context.recorded
    if composition.scope is Scope.WINDOW:
        amounts = sent[blocks]
    else:
        cost = carriage.cost[blocks]
        amounts = carriage.tokens[blocks] if np.isnan(cost).any() else cost
    order = np.argsort(-amounts, kind="stable")[:most]
    columns = (sent, recorded, carriage.calls, carriage.tokens, carriage.cost)
    chosen = blocks[order]
    rows = zip(chosen.tolist(), *(column[chosen].tolist() for column in columns), strict=True)
    return tuple(Consumer(*row) for row in rows)
