"""Find later uses of cut text, and price the re-fetches that a plan is expected to cause.

A *need* is the first use of a result (`reuse`) after the plan removed the used text from the prompt. Needs point to
text worth checking. They are found by matching text and are not priced: about one in four appears equally for results
that are already gone, and many re-reads are found by no detector (docs/evidence.md).

The price of a plan's risk is that of its expected re-fetches (`refetches`), measured on real cuts. Net savings are a
range, [saved - upper end, saved - lower end], and plans are ranked by the lower end. All figures are projections.

A repeated read or command does not count as a need if its earlier result was still in the recorded prompt: it happened
with the result available, and would happen under the plan too. It counts as a repeat.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.replay.analysis.envelope import TRIED, Envelope, envelope
from inspector.replay.analysis.hazards import drops_text
from inspector.replay.analysis.plan_cuts import PlanCuts
from inspector.replay.analysis.plan_outcome import NOTHING, savings_of
from inspector.replay.analysis.refetches import NO_REFETCHES, Refetches, expected_refetches
from inspector.replay.analysis.reuse import NeedKind
from inspector.replay.engine.simulation import recorded_clearing
from inspector.strategies.core.rendition import Action, Slice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.replay.analysis.plan_outcome import Savings
    from inspector.replay.analysis.refetches import Rate
    from inspector.replay.analysis.reuse import ReuseEvidence
    from inspector.replay.engine.replay import Replay
    from inspector.strategies.history.history import History


class Need(NamedTuple):
    """The first use of a tool result after a plan removed the used text from the prompt.

    Attributes:
        kind: Detector of the use.
        block: Block index of the result.
        removed_at: First call without the used text under the plan.
        call: The call with a response that used it.
        use: Block index of the use in that response.
        start: Start of the used text in the result, in characters.
        stop: End of the used text.
        use_start: Start of the use in that block's text, in characters; for a tool call, in the JSON of its input.
        use_stop: End of the use.
    """

    kind: NeedKind
    block: int
    removed_at: int
    call: int
    use: int
    start: int
    stop: int
    use_start: int
    use_stop: int


@dataclass(frozen=True)
class Recoveries:
    """Recoveries that a plan would need on a session, with prices. All figures are estimates.

    Attributes:
        needs: The first need of every needed result, in call order. They point to text worth checking; the price comes
            from `expected`.
        needed: Number of calls with a need.
        repeats_anyway: Repeated reads and commands after the plan cut their result, while it was still in the recorded
            prompt.
        saved: Dollars the plan saves without recoveries, negative if it costs more; None without a price.
        cost: Dollars of the expected re-fetches, 0.0 if there are none; None without a price.
        cost_each: Average dollars per re-fetch; None if none is expected, or without a price.
        band_low: `saved` minus the upper end of their cost; None without a price.
        break_even: Number of re-fetches at average cost that use up the savings; None if none is expected, if it saves
            nothing, or without a price.
        cost_at: Dollars of the re-fetches expected at each call; empty without a price.
        band_high: `saved` minus the lower end of their cost; None without a price.
        expected: Expected re-fetches.
        envelope: Distance from settings that have been tried in public.
        drops_text: The plan drops user or assistant text, and no rate of re-fetches covers that.
    """

    needs: tuple[Need, ...]
    needed: int
    repeats_anyway: int
    saved: float | None
    cost: float | None
    cost_each: float | None
    band_low: float | None
    break_even: int | None
    cost_at: Mapping[int, float] = field(default_factory=dict)
    band_high: float | None = None
    expected: Refetches = NO_REFETCHES
    envelope: Envelope = TRIED
    drops_text: bool = False

    @property
    def net(self) -> tuple[float | None, float | None]:
        """Net savings in dollars at the worst and the best end; None without a price."""
        return self.band_low, self.band_high

    @property
    def cost_at_worst(self) -> float:
        """Dollars of the expected re-fetches at the upper end; 0.0 without a price."""
        cost = self.expected.cost
        return 0.0 if self.cost is None or cost is None else cost.high

    @property
    def refetched(self) -> Rate | None:
        """Expected re-fetched results; None if the plan cuts no tool result, so that nothing is measured."""
        return self.expected.count if self.expected.is_measured else None

    @property
    def is_sure(self) -> bool:
        """True if the plan saves over its whole net range, which is known (`is_net_sure`)."""
        return is_net_sure(self.band_low, self.expected, drops_text=self.drops_text)

    @property
    def is_recommendable(self) -> bool:
        """True if the plan can be recommended: tried, and of low risk."""
        return self.envelope.is_tried and self.is_low_risk

    @property
    def is_low_risk(self) -> bool:
        """True if few re-fetches are expected, and the plan saves at twice as many."""
        saves = self.saved is None or self.cost is None or self.saved - 2 * self.cost > 0
        return self.expected.is_few and saves

    @cached_property
    def calls(self) -> tuple[int, ...]:
        """Calls with a need, in order."""
        return tuple(dict.fromkeys(need.call for need in self.needs))

    @cached_property
    def by_block(self) -> Mapping[int, Need]:
        """Needs by the needed result."""
        return {need.block: need for need in self.needs}

    @cached_property
    def kinds(self) -> Mapping[NeedKind, int]:
        """Number of needed results by detector, with every kind in the order of `NeedKind`."""
        return {kind: sum(need.kind is kind for need in self.needs) for kind in NeedKind}


NO_RECOVERIES: Final = Recoveries((), 0, 0, None, 0.0, None, None, None)
"""Placeholder where later uses were not searched."""


def is_net_sure(low: float | None, expected: Refetches, *, drops_text: bool) -> bool:
    """Return True if the whole net range of a saving is known and positive, so that it can be green.

    Args:
        low: Lower end of the net savings in dollars; None without a price.
        expected: Expected re-fetches of the plan; without a rate for its cuts, the range is unknown.
        drops_text: The plan drops user or assistant text, for which there is no rate.
    """
    return low is not None and low > 0 and expected.is_measured and not drops_text


def recoveries_to_break_even(saved: float | None, each: float | None) -> int | None:
    """Return the number of recoveries that cost as much as is saved; None without savings or a price.

    Args:
        saved: Dollars saved without recoveries; None without a price.
        each: Dollars per recovery; None if there are none.
    """
    return ceil(saved / each - NOTHING) if each and saved is not None and saved > NOTHING else None


def recoveries(baseline: Replay, planned: Replay, uses: ReuseEvidence) -> Recoveries:
    """Find and price the recoveries of a plan on a session.

    Args:
        baseline: The session with nothing cut.
        planned: The same session under the plan.
        uses: Later uses of its tool results (`ReuseScan`).
    """
    needs, repeats_anyway = _needs(planned, uses)
    needed = len({need.call for need in needs})
    saved = savings_of(baseline.figures, planned.figures).usd.value
    cuts = PlanCuts.of(planned)
    expected, tried = expected_refetches(planned, cuts), envelope(planned, cuts)
    unpriced = Recoveries(
        needs,
        needed,
        repeats_anyway,
        saved,
        None,
        None,
        None,
        None,
        expected=expected,
        envelope=tried,
        drops_text=drops_text(planned),
    )
    net = expected.net_range(saved)
    if saved is None or expected.cost is None or net is None:
        return unpriced
    cost = expected.cost.rate
    each = cost / expected.count.rate if expected.count.rate else None
    return replace(
        unpriced,
        cost=cost,
        cost_each=each,
        band_low=net[0],
        break_even=recoveries_to_break_even(float(saved), each),
        cost_at=expected.cost_at,
        band_high=net[1],
    )


def net_share(savings: Savings, found: Recoveries) -> float | None:
    """Return the savings after recovering everything needed, as a share of `savings.share_of`.

    Without a price, these are the plain savings if few re-fetches are expected, and None otherwise.
    """
    share, usd = savings.share.value, savings.usd.value
    if share is None:
        return None
    if not usd or found.band_low is None:
        return share if found.expected.is_few else None
    return share * found.band_low / usd


def _needs(replay: Replay, uses: ReuseEvidence) -> tuple[tuple[Need, ...], int]:
    """Return the needs in call order, and the number of repeats with the result still in the recorded prompt."""
    history, edits = replay.history, replay.edits
    touched = np.zeros(len(history.kind), dtype=bool)
    touched[edits.block[edits.by_plan & (edits.action != Action.WHOLE)]] = True
    known = uses.call < history.call_count
    blocks, calls = uses.block[known], uses.call[known]
    gone = _recorded_end(history)[blocks]
    same_thread = history.call_thread[calls] == history.message_thread[history.message[blocks]]
    there, is_fault = calls < gone, uses.kind[known] == NeedKind.FAULT
    suspects = np.flatnonzero(touched[blocks] & (calls >= history.enters[blocks]) & same_thread & (there | is_fault))
    in_force = edits.rows(blocks[suspects], np.minimum(calls, gone - 1)[suspects].astype(np.int32))
    needs: dict[int, Need] = {}
    repeats_anyway = 0
    for row, change in zip(suspects.tolist(), in_force.tolist(), strict=True):
        block, start, stop = int(blocks[row]), int(uses.start[row]), int(uses.stop[row])
        is_anyway = bool(is_fault[row] and there[row])
        if change < 0 or (block in needs and not is_anyway) or not _is_cut(replay, change, start, stop):
            continue
        if is_anyway:
            repeats_anyway += 1
            continue
        needs[block] = Need(
            NeedKind(uses.kind[row]),
            block,
            _removed_at(replay, change, start, stop),
            int(calls[row]),
            int(uses.use[row]),
            start,
            stop,
            int(uses.use_start[row]),
            int(uses.use_stop[row]),
        )
    return tuple(sorted(needs.values(), key=lambda need: (need.call, need.block))), repeats_anyway


def _recorded_end(history: History) -> NDArray[np.int32]:
    """Return, per block, the first call with a recorded prompt that no longer contains it; int32."""
    end = history.leaves.copy()
    for call, choice in recorded_clearing(history):
        end[choice.block] = min(int(end[choice.block]), call)
    return end


def _is_cut(replay: Replay, change: int, start: int, stop: int) -> bool:
    """Return True if the plan made a change that removes some of these characters of its block's text."""
    edits = replay.edits
    if not edits.by_plan[change]:
        return False
    stack = edits.stacks[int(edits.stack[change])]
    pieces = replay.inputs.renderer.rendition(int(edits.block[change]), stack).pieces
    return not any(isinstance(piece, Slice) and piece.start <= start and stop <= piece.stop for piece in pieces)


def _removed_at(replay: Replay, change: int, start: int, stop: int) -> int:
    """Return the call that first leaves out these characters of a changed block."""
    edits = replay.edits
    while change > 0 and edits.block[change - 1] == edits.block[change] and _is_cut(replay, change - 1, start, stop):
        change -= 1
    return int(edits.call[change])
