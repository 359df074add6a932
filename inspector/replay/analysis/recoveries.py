"""Find cuts of a plan that were needed later, and price their recovery.

A *need* is the first use of a result (`reuse`) after the plan removed the used text from the prompt; later calls find
the result recovered. A *recovery* is the additional request a model would then make. It costs

- one more call: its prompt, with the same cache usage as the needing call's, and an output of typical length,
- the result written again after it,
- and read in every later prompt of its conversation that contained it in the recording.

Several results needed at one call are requested together, so a recovery is a call. The plan's savings are in [saved -
cost of all recoveries, saved], and it is ranked by the lower bound. All figures are estimates: a text that was used
again may still have been dispensable.

A repeated read or command is no need if its earlier result was still in the recorded prompt: it happened with the
result available, and would happen under the plan too. It counts as a repeat.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, isnan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.analysis.plan_outcome import NOTHING, savings_of
from inspector.replay.analysis.reuse import NeedKind
from inspector.replay.engine.plan_edits import recorded_clearing
from inspector.replay.pricing.rates import RateColumn
from inspector.session.model import BlockKind
from inspector.strategies.core.rendition import Action, Slice
from inspector.strategies.history.history import NEVER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.replay.analysis.plan_outcome import Savings
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
        needs: The first need of every needed result, in call order.
        needed: Number of calls with a need, which is the number of recoveries.
        repeats_anyway: Repeated reads and commands after the plan cut their result, while it was still in the recorded
            prompt.
        saved: Dollars the plan saves without recoveries, negative if it costs more; None without a price.
        cost: Dollars of all recoveries, 0.0 if there are none; None without a price.
        cost_each: Average dollars per recovery; None if there are none, or without a price.
        band_low: `saved` minus `cost`: savings if everything was recovered; None without a price.
        break_even: Number of recoveries at average cost that use up the savings; None if there are none, if it saves
            nothing, or without a price.
        cost_at: Dollars of the recovery at every call with a need; empty without a price.
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
    cost_at = recovery_costs(planned, needs)
    cost = float(sum(cost_at.values()))
    if saved is None or isnan(cost):
        return Recoveries(needs, needed, repeats_anyway, saved, None, None, None, None)
    each = cost / needed if needed else None
    break_even = recoveries_to_break_even(float(saved), each)
    return Recoveries(needs, needed, repeats_anyway, float(saved), cost, each, float(saved) - cost, break_even, cost_at)


def net_share(savings: Savings, found: Recoveries) -> float | None:
    """Return the savings after recovering everything needed, as a share of `savings.share_of`.

    Without a price, these are the plain savings if nothing was needed, and None otherwise.
    """
    share, usd = savings.share.value, savings.usd.value
    if share is None or not found.needed:
        return share
    if not usd or found.band_low is None:
        return None
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
    """Return the first call from which on these characters of a change's block are not sent."""
    edits = replay.edits
    while change > 0 and edits.block[change - 1] == edits.block[change] and _is_cut(replay, change - 1, start, stop):
        change -= 1
    return int(edits.call[change])


def recovery_costs(replay: Replay, needs: Sequence[Need]) -> dict[int, float]:
    """Return dollars of the recovery at every call with a need, NaN if the call has no price.

    Args:
        replay: The session under the plan.
        needs: Needs to recover.
    """
    history, ledger, ratio = replay.history, replay.ledger, replay.inputs.sizes.ratio
    if not needs:
        return {}
    read, other = replay.inputs.rates.read_and_other(replay.ledger)
    rate = replay.inputs.rates.of_prompts(ledger.prompt_tokens)
    is_cached = (ledger.cache_read + ledger.cache_write) > 0
    output = usual_output(replay)
    again = ledger.prompt_tokens * np.where(is_cached, read, other)
    extra_call = again + output * rate[:, RateColumn.OUTPUT] + rate[:, RateColumn.PER_CALL]
    carrying = np.where(ledger.cache_read > 0, read, other) * ratio[: history.call_count]
    costs: dict[int, float] = {}
    in_thread = {
        thread: np.cumsum(np.where(history.call_thread[: history.call_count] == thread, carrying, 0.0))
        for thread in {int(history.call_thread[need.call]) for need in needs}
    }
    for need in needs:
        call, tokens = need.call, float(replay.table.tokens[need.block])
        carried = in_thread[int(history.call_thread[call])]
        last = _end_of_stay(history, need) - 1
        result = tokens * (ratio[call] * other[call] + carried[last] - carried[call])
        costs[call] = costs.get(call, float(extra_call[call])) + float(result)
    return costs


def _end_of_stay(history: History, need: Need) -> int:
    """Return the first call after a need with a prompt that would drop the recovered result, or the number of calls."""
    leaves, call = int(history.leaves[need.block]), need.call
    if leaves <= call:
        # If the recorded prompt lost it before, the recovered result stays as long as other blocks of the call.
        contexts, threads = history.call_context, history.call_thread
        others = (contexts != contexts[call]) & (threads == threads[call])
        later = np.flatnonzero(others[call : history.call_count])
        leaves = call + int(later[0]) if len(later) else NEVER
    return min(leaves, history.call_count)


def usual_output(replay: Replay) -> float:
    """Return the median tokens of the session's responses that call a tool; 0.0 if there are none."""
    history = replay.history
    asking = np.zeros(len(history.session.messages), dtype=bool)
    asking[history.message[history.kind == BlockKind.TOOL_CALL]] = True
    responses = np.array([call.response for call in history.session.calls], dtype=np.int64)
    outputs = replay.inputs.output[asking[responses]] if len(responses) else replay.inputs.output
    return float(np.median(outputs)) if len(outputs) else 0.0
