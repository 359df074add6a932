"""Forecast when recorded compactions would happen under a plan, if at all, and the savings.

A session's ledger keeps the recorded compactions. A plan that keeps the context small might have avoided one: its
prompt would have reached the trigger size later, or never. This is computed separately from the ledger: the session is
replayed under the plan as if that compaction, and the ones after it, had not happened (`without_compaction`). The calls
after it are assumed unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.idle_compaction import AFTER_SECONDS, IdleRule, idle_rule, is_idle_compaction
from inspector.replay.analysis.without_compaction import MANUAL, first_call_after, without_compaction
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.prompt_layout import PromptLayout
from inspector.replay.engine.replay import replay as replay_plan
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.pricing.rates import RateColumn
from inspector.strategies.history.history import History

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from inspector.replay.analysis.without_compaction import WithoutCompaction
    from inspector.replay.engine.replay import Replay
    from inspector.replay.engine.token_scale import TokenScale

_UNKNOWN = Figure(None, HowKnown.PROJECTED)


@dataclass(frozen=True, slots=True)
class CompactionForecast:
    """Forecast of one recorded compaction under a plan.

    Attributes:
        compaction: Index into the session's compactions.
        call: The first call after it.
        trigger_tokens: Trigger size: reported by the agent, or the last prompt before it.
        is_agent_count: True if the agent reported that size.
        asked_for: True if the user requested it, so that it is independent of the size. The other fields are then None.
        prompt_tokens: Size of that call's prompt under the plan without the compaction.
        reached_at: The first call from `call` on with a prompt of the trigger size under the plan; `call` itself if the
            plan changes nothing about it, None if there is none before `until`.
        until: The first call after the next compaction requested by the user, or after a rewind; None if the forecast
            covers the rest of the session.
        avoided: Number of recorded compactions before that, including this one.
        calls_usd: Dollars saved on the prompts of the calls before that; negative if the longer prompts cost more. None
            without a price.
        requests_usd: Dollars of the unrecorded summary requests: the prompt read from the cache, the summary written.
            None without a price.
        saved_tokens: Prompt tokens saved over these calls; negative if the longer prompts have more.
    """

    compaction: int
    call: int
    trigger_tokens: Figure
    is_agent_count: bool
    asked_for: bool
    prompt_tokens: Figure = _UNKNOWN
    reached_at: int | None = None
    until: int | None = None
    avoided: int = 0
    calls_usd: Figure = _UNKNOWN
    requests_usd: Figure = _UNKNOWN
    saved_tokens: Figure = _UNKNOWN

    @property
    def is_avoided(self) -> bool:
        """True if the plan would have prevented it at this point."""
        return not self.asked_for and self.reached_at != self.call

    @property
    def saved_usd(self) -> Figure:
        """Total dollars saved; negative if it costs more."""
        calls, requests = self.calls_usd.value, self.requests_usd.value
        return Figure(None if calls is None or requests is None else calls + requests, HowKnown.PROJECTED)


def compaction_forecasts(planned: Replay, *, asked_for: bool = False) -> Iterator[CompactionForecast]:
    """Yield the forecast of every recorded compaction under a replay's plan.

    Each one is independent: earlier compactions are taken as recorded.

    Args:
        planned: The replay.
        asked_for: Also forecast compactions requested by the user, as if automatic.
    """
    session = planned.history.session
    for index, compaction in enumerate(session.compactions):
        call = None if compaction.is_partial else first_call_after(session, index)
        if call is None:
            continue
        trigger = _trigger(planned, index, call)
        if trigger.value is None:
            continue
        if compaction.trigger == MANUAL and not asked_for:
            is_agent_count = bool(compaction.tokens_before)
            yield CompactionForecast(index, call, trigger, is_agent_count=is_agent_count, asked_for=True)
            continue
        without = without_compaction(session, index)
        if without is not None:
            yield _forecast(planned, without, index, call, trigger)


def _trigger(planned: Replay, index: int, call: int) -> Figure:
    """Return the size that a prompt needs for a compaction; for an idle one, the agent's minimum."""
    if is_idle_compaction(planned.history.session, index):
        rule = idle_rule(planned) or IdleRule()
        return Figure(rule.min_tokens, HowKnown.EXACT)
    return _size_before(planned, index, call)


def _size_before(planned: Replay, index: int, call: int) -> Figure:
    reported = planned.history.session.compactions[index].tokens_before
    if reported:
        return Figure(reported, HowKnown.EXACT)
    inputs = planned.inputs
    before = int(inputs.previous_call[call])
    if before < 0:
        return Figure(None, HowKnown.EXACT)
    return Figure(round(float(inputs.sizes.whole[before])), inputs.prompt_known(before))


def _forecast(
    planned: Replay, without: WithoutCompaction, index: int, call: int, trigger: Figure
) -> CompactionForecast:
    calls = np.array(without.calls)
    inputs = _inputs_without(planned, without, calls)
    hypothetical = replay_plan(inputs, planned.plan).ledger
    prompts = hypothetical.prompt_tokens[calls]
    fires = prompts >= (trigger.value or 0)
    if is_idle_compaction(planned.history.session, index):
        # It needs a pause as well; the largest recorded size is the lower bound of the usual trigger.
        largest = int(planned.inputs.recorded.prompt.max(initial=0))
        fires = (fires & (inputs.gap_seconds[calls] >= AFTER_SECONDS)) | (prompts > largest)
    reached = np.flatnonzero(fires)
    end = int(reached[0]) if len(reached) else len(calls)
    spared = calls[:end]
    avoided = max(without.ends_with[:end], default=0)
    tokens = int((planned.ledger.prompt_tokens - hypothetical.prompt_tokens)[spared].sum())
    dollars = (planned.inputs.rates.cost(planned.ledger) - inputs.rates.cost(hypothetical))[spared].sum()
    return CompactionForecast(
        compaction=index,
        call=call,
        trigger_tokens=trigger,
        is_agent_count=bool(planned.history.session.compactions[index].tokens_before),
        asked_for=False,
        prompt_tokens=_projected(int(prompts[0])),
        reached_at=int(calls[end]) if len(reached) else None,
        until=without.until,
        avoided=avoided,
        calls_usd=_projected(float(dollars)),
        requests_usd=_projected(_request_cost(planned, index, avoided)),
        saved_tokens=_projected(tokens),
    )


def _inputs_without(planned: Replay, without: WithoutCompaction, calls: NDArray[np.int64]) -> ReplayInputs:
    """Return the replay inputs of the session without the compaction, on the scale of the session with it."""
    inputs = planned.inputs
    history = History.of(without.session)
    scale = _scale_without(inputs, history, calls)
    made = ReplayInputs.of(
        history,
        inputs.table,
        pricing=inputs.pricing,
        cache=inputs.cache,
        precise=inputs.renderer.precise,
        scale=scale,
    )
    whole = made.sizes.whole.copy()
    whole[calls] -= scale.ratio[calls] * made.recorded_removed[calls]
    return replace(made, sizes=replace(made.sizes, whole=whole))


def _scale_without(inputs: ReplayInputs, history: History, calls: NDArray[np.int64]) -> TokenScale:
    """Return the session's scale for the longer prompts: the size before the compaction plus the growth since."""
    scale = inputs.scale
    before = int(inputs.previous_call[calls[0]])
    layout = PromptLayout.of(history, inputs.layout.tokens).with_uncounted(scale.uncounted, scale.calibration.ratio)
    shown = scale.ratio * layout.whole_tokens + layout.uncounted_in_prompts
    unseen = float(inputs.sizes.whole[before] - shown[before]) + scale.ratio[before] * inputs.recorded_removed[before]
    prompt = scale.prompt.copy()
    prompt[calls] = shown[calls] + unseen
    return replace(scale, prompt=prompt)


def _request_cost(planned: Replay, first: int, count: int) -> float:
    """Return dollars of the summary requests of `count` full compactions from index `first` on."""
    session, inputs = planned.history.session, planned.inputs
    thread = _thread(planned, first)
    full = [
        at
        for at in range(first, len(session.compactions))
        if not session.compactions[at].is_partial and _thread(planned, at) == thread
    ]
    rates = inputs.rates.of_prompts(inputs.recorded.prompt)
    dollars = 0.0
    for at in full[:count]:
        call = first_call_after(session, at)
        if call is None:
            break
        rate = rates[call]
        message = session.compactions[at].message
        blocks = slice(*inputs.history.message_first_block[message : message + 2].tolist())
        is_summary = session.messages[message].is_summary
        summary = float(inputs.table.tokens[blocks].sum()) * inputs.sizes.ratio[call] if is_summary else 0.0
        read = _size_before(planned, at, call).value or 0
        dollars += read * rate[RateColumn.CACHE_READ] + summary * rate[RateColumn.OUTPUT]
    return float(dollars)


def _thread(planned: Replay, compaction: int) -> int:
    session = planned.history.session
    message = session.compactions[compaction].message
    return session.messages[message].thread if message < len(session.messages) else 0


def _projected(value: float) -> Figure:
    return Figure.of(value, HowKnown.PROJECTED)
