"""Rows for every call and every block, from the replays of a session."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.breakdown import resend_cost
from inspector.replay.analysis.recoveries import NO_RECOVERIES, recoveries
from inspector.replay.engine.edits import RECORDED
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.rates import RateColumn
from inspector.replay.quantity import DOLLAR_DIGITS
from inspector.report.document import (
    BaselineCall,
    BlockFacts,
    CallFacts,
    CallFigures,
    Ledger,
    PlannedBlock,
    PlannedCall,
)
from inspector.report.numbers import rounded
from inspector.session.model import ContextCause
from inspector.strategies.core.rendition import Action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.analysis.breakdown import ResendCost
    from inspector.replay.analysis.cache_misses import CacheMisses
    from inspector.replay.analysis.recoveries import Recoveries
    from inspector.replay.analysis.reuse import ReuseEvidence
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay


def ledger_facts(
    baseline: Replay, planned: Sequence[Replay], misses: CacheMisses, uses: ReuseEvidence | None
) -> Ledger:
    """Build the ledger: every call and every block, without a plan and under each.

    Args:
        baseline: The session replayed with an empty plan.
        planned: The session replayed under every plan.
        misses: Cache misses of the baseline.
        uses: Later uses of earlier results in the session; None without a plan.
    """
    return Ledger(
        window=baseline.inputs.window.size,
        calls=_calls(baseline, planned, misses, uses),
        blocks=_blocks(baseline, planned),
    )


def _calls(
    baseline: Replay, planned: Sequence[Replay], misses: CacheMisses, uses: ReuseEvidence | None
) -> list[CallFacts]:
    inputs, session = baseline.inputs, baseline.history.session
    reported = _reported(inputs)
    before = _baseline(baseline, misses)
    under = [_planned(each, NO_RECOVERIES if uses is None else recoveries(baseline, each, uses)) for each in planned]
    begun: set[int] = set()
    rows = []
    for index, call in enumerate(session.calls):
        cause = session.contexts[call.context].cause
        compacted = cause is ContextCause.COMPACTION and call.context not in begun
        begun.add(call.context)
        rows.append(
            CallFacts(
                call=index + 1,
                message=call.response + 1,
                time=utc_time(call.time),
                model=call.model,
                compacted=compacted,
                recorded=reported[index],
                baseline=before[index],
                plans=[each[index] for each in under],
            )
        )
    return rows


def utc_time(seconds: float | None) -> str:
    """Format a time as ISO 8601 in UTC; empty if it is missing or out of range."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):  # a file may contain any number
        return ""


def _reported(inputs: ReplayInputs) -> list[CallFigures | None]:
    usage, output = inputs.recorded, recorded_calls(inputs.history).output
    cost = inputs.rates.cost(usage, output)
    columns = (usage.prompt, usage.cache_read, usage.cache_write, usage.uncached, output)
    rows = zip(inputs.reported.tolist(), *(column.tolist() for column in columns), cost.tolist(), strict=True)
    return [
        CallFigures(
            prompt_tokens=prompt,
            cache_read_tokens=read,
            cache_write_tokens=written,
            uncached_tokens=uncached,
            output_tokens=output,
            cost_usd=_dollars(dollars),
            known=HowKnown.EXACT.value,
        )
        if mine
        else None
        for mine, prompt, read, written, uncached, output, dollars in rows
    ]


def _figures(replay: Replay, known: Sequence[HowKnown]) -> list[CallFigures]:
    ledger = replay.ledger
    columns = (ledger.prompt_tokens, ledger.cache_read, ledger.cache_write, ledger.uncached, ledger.output, ledger.cost)
    return [
        CallFigures(
            prompt_tokens=prompt,
            cache_read_tokens=read,
            cache_write_tokens=write,
            uncached_tokens=uncached,
            output_tokens=output,
            cost_usd=_dollars(dollars),
            known=how.value,
        )
        for how, prompt, read, write, uncached, output, dollars in zip(
            known, *(column.tolist() for column in columns), strict=True
        )
    ]


def _baseline(replay: Replay, misses: CacheMisses) -> list[BaselineCall]:
    inputs = replay.inputs
    known = [inputs.prompt_known(call) for call in range(len(inputs.reported))]
    dollars = call_dollars(replay)
    columns = (dollars[name].tolist() for name in ("cache_read_usd", "cache_write_usd", "uncached_usd", "output_usd"))
    missed = {miss.call: miss for miss in misses.all}
    found = []
    for call, (each, read, write, uncached, output) in enumerate(zip(_figures(replay, known), *columns, strict=True)):
        miss = missed.get(call)
        found.append(
            BaselineCall(
                **{name: getattr(each, name) for name in CallFigures.__struct_fields__},
                cache_read_usd=_dollars(read),
                cache_write_usd=_dollars(write),
                uncached_usd=_dollars(uncached),
                output_usd=_dollars(output),
                miss_cause="" if miss is None else miss.cause.value,
                recached_tokens=0 if miss is None else miss.tokens,
                extra_usd=0.0 if miss is None else rounded(miss.extra_usd.value, DOLLAR_DIGITS),
            )
        )
    return found


def call_dollars(replay: Replay) -> dict[str, NDArray[np.float64]]:
    """Return the dollars per call of each kind of token by its name in `CostParts`; NaN without a price."""
    ledger = replay.ledger
    rates = replay.inputs.rates.of_prompts(ledger.prompt_tokens)
    written = (
        ledger.cache_write_5m * rates[:, RateColumn.CACHE_WRITE_5M]
        + ledger.cache_write_1h * rates[:, RateColumn.CACHE_WRITE_1H]
    )
    return {
        "cache_read_usd": ledger.cache_read * rates[:, RateColumn.CACHE_READ],
        "cache_write_usd": written,
        "uncached_usd": ledger.uncached * rates[:, RateColumn.UNCACHED],
        "output_usd": ledger.output * rates[:, RateColumn.OUTPUT],
    }


def _planned(replay: Replay, found: Recoveries) -> list[PlannedCall]:
    ledger, needed, costs = replay.ledger, Counter(need.call for need in found.needs), found.cost_at
    figures = _figures(replay, [replay.figures.prompt_tokens.known] * len(ledger.cost))
    columns = (ledger.removed_tokens, ledger.edits, ledger.is_break)
    return [
        PlannedCall(
            **{name: getattr(each, name) for name in CallFigures.__struct_fields__},
            cut_tokens=cut,
            edits=edits,
            breaks=breaks,
            results_needed=needed[call],
            recoveries_usd=None if each.cost_usd is None else _dollars(costs.get(call, 0.0)),
        )
        for call, (each, cut, edits, breaks) in enumerate(
            zip(figures, *(column.tolist() for column in columns), strict=True)
        )
    ]


def _blocks(baseline: Replay, planned: Sequence[Replay]) -> list[BlockFacts]:
    inputs, history = baseline.inputs, baseline.history
    before = resend_cost(baseline)
    under = [_planned_blocks(each, before) for each in planned]
    tokens = np.rint(inputs.block_tokens).astype(np.int64).tolist()
    sent, calls, cost = np.rint(before.tokens).astype(np.int64).tolist(), before.calls.tolist(), before.cost.tolist()
    message = history.message.tolist()
    return [
        BlockFacts(
            block=index + 1,
            message=message[index] + 1,
            kind=block.kind.label,
            tool=block.tool_name,
            tokens=tokens[index],
            calls=calls[index],
            sent_tokens=sent[index],
            usd=_dollars(cost[index]),
            known=inputs.scale.known.value,
            plans=[each[index] for each in under],
        )
        for index, block in enumerate(history.session.blocks)
    ]


def _planned_blocks(replay: Replay, before: ResendCost) -> list[PlannedBlock]:
    after = resend_cost(replay)
    cut = np.rint(before.tokens - after.tokens).astype(np.int64).tolist()
    saved = (before.cost - after.cost).tolist()
    state = replay.state(replay.history.call_count)
    changes = replay.edits
    rows = []
    for index, row in enumerate(state.row.tolist()):
        reason = None if row < 0 else changes.reasons[int(changes.reason[row])]
        rows.append(
            PlannedBlock(
                action=Action(int(state.action[index])).label,
                strategy=_strategy(replay, None if reason is None else reason.entry),
                tier="" if reason is None else reason.decision.group,
                from_call=None if row < 0 else int(changes.call[row]) + 1,
                cut_tokens=cut[index],
                saved_usd=_dollars(saved[index]),
            )
        )
    return rows


def _strategy(replay: Replay, entry: int | None) -> str:
    if entry is None:
        return ""
    return "recorded" if entry == RECORDED else replay.plan.entries[entry].strategy.name


def _dollars(value: float) -> float | None:
    """Round to the digits of the totals; None without a price."""
    if math.isnan(value):  # no price
        return None
    return round(value, DOLLAR_DIGITS) + 0.0  # avoid negative zero
