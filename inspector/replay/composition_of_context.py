"""Where a window goes: one call's prompt by role, tool, file, tier or age, with what each part cost to carry."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.context_blocks import context_at
from inspector.replay.context_groups import Grouping, codes_of
from inspector.replay.repeats import repeats_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.carriage import Carriage
    from inspector.replay.context_blocks import ContextBlocks
    from inspector.replay.repeats import Repeat
    from inspector.replay.replay import ContextState, Replay


class Scope(StrEnum):
    """Which blocks are looked at."""

    WINDOW = "window"
    """Those of one call's prompt."""
    SESSION = "session"
    """Those of any call's prompt."""


NOT_SHOWN = "not in the file"
"""What is sent and no block holds."""


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a prompt; equal only to itself.

    Attributes:
        name: What it is; may hold session text.
        blocks: Its block indices, int32; none for what no block holds.
        tokens: Tokens sent of it in the call's prompt, on the provider's scale.
        recorded: The same with every block whole.
        carried: Tokens sent of it in all recorded calls together.
        cost: Dollars of those; NaN without a price.
    """

    name: str
    blocks: NDArray[np.int32]
    tokens: float
    recorded: float
    carried: float
    cost: float


@dataclass(frozen=True, eq=False)
class Composition:
    """What a prompt, or a session's prompts, are made of; equal only to itself.

    Attributes:
        grouping: What it is divided by.
        scope: Which blocks are looked at.
        context: The call's prompt.
        everything: All of it as one part, what no block holds included.
        parts: The largest first, ages from the newest on.
        repeats: By block index, why something later stands for it; only where it is divided by that.
    """

    grouping: Grouping
    scope: Scope
    context: ContextBlocks
    everything: Part
    parts: tuple[Part, ...]
    repeats: dict[int, Repeat]


def composition_of(
    replay: Replay,
    state: ContextState,
    carriage: Carriage,
    grouping: Grouping,
    scope: Scope = Scope.WINDOW,
) -> Composition:
    """Divide a prompt, or everything that was ever sent.

    Args:
        replay: The plan on the session.
        state: How every block stands at the call, of `replay.state`.
        carriage: What each block cost to carry, of `carriage_of`.
        grouping: What to divide by.
        scope: Which blocks to look at.
    """
    history, context = replay.history, context_at(replay, state)
    count = len(history.kind)
    sent, recorded = np.zeros(count), np.zeros(count)
    sent[context.blocks], recorded[context.blocks] = context.sent, context.recorded
    blocks = context.blocks if scope is Scope.WINDOW else _ever_sent(context, carriage)
    repeats = repeats_in(history, context) if grouping is Grouping.REPEATS else ()
    codes, names = codes_of(replay, grouping, blocks, context.call, repeats)

    def part(name: str, members: NDArray[np.int32]) -> Part:
        columns = (sent, recorded, carriage.tokens, carriage.cost)
        return Part(name, members, *(float(column[members].sum()) for column in columns))

    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
    parts = [part(name, blocks[order[bounds[at] : bounds[at + 1]]]) for at, name in enumerate(names)]
    parts = [each for each in parts if len(each.blocks)]
    everything, rest = _totals(replay, context, part("", blocks), scope)
    if grouping is not Grouping.REPEATS:
        parts.append(rest)
    if grouping is not Grouping.AGE:
        parts.sort(key=lambda each: -(each.tokens if scope is Scope.WINDOW else each.carried))
    return Composition(grouping, scope, context, everything, tuple(parts), {repeat.block: repeat for repeat in repeats})


def _ever_sent(context: ContextBlocks, carriage: Carriage) -> NDArray[np.int32]:
    was_sent = carriage.calls > 0
    was_sent[context.blocks] = True
    return np.flatnonzero(was_sent).astype(np.int32)


def _totals(replay: Replay, context: ContextBlocks, shown: Part, scope: Scope) -> tuple[Part, Part]:
    """Everything, and what of it no block holds."""
    ledger = replay.ledger
    nothing = np.zeros_like(ledger.output)
    prompts = replay.inputs.rates.cost(
        ledger.uncached, ledger.cache_read, ledger.cache_write_5m, ledger.cache_write_1h, nothing
    )
    carried, cost = float(ledger.prompt_tokens.sum()), float(prompts.sum())
    prompt = float(context.prompt.value or 0)
    whole = prompt + shown.recorded - shown.tokens
    none = np.zeros(0, dtype=np.int32)
    if scope is Scope.WINDOW:
        # What the blocks of other prompts cost is no part of this one's.
        own = Part(NOT_SHOWN, none, context.rest, context.rest, np.nan, np.nan)
        return Part("everything", shown.blocks, prompt, whole, shown.carried, shown.cost), own
    rest = Part(NOT_SHOWN, none, context.rest, context.rest, carried - shown.carried, cost - shown.cost)
    return Part("everything", shown.blocks, prompt, whole, carried, cost), rest
