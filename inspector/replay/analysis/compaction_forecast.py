"""Forecast when recorded compactions would happen under a plan, if at all, and the savings.

A session's ledger keeps the recorded compactions. A plan that keeps the context small might have avoided one: its
prompt would have reached the trigger size later, or never. This is computed separately from the ledger: the session is
replayed under the plan as if that compaction, and the ones after it, had not happened (`without_compaction`). The calls
after it are assumed unchanged.

Rebuild a session without one of its recorded compactions, and those after it.

The conversation continues in the context that the compaction ended. Summaries and resent text are removed, and new text
follows the earlier text. Results cleared at the same moment remain. Later calls were made with other prompts, so their
reported usage is dropped. Other threads are separate conversations and stay unchanged, and so does everything after a
rewind or a compaction requested by the user.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from msgspec import structs

from inspector.replay.analysis.alternatives import IdleRule, idle_rule, is_idle_compaction
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.prompt_layout import PromptLayout
from inspector.replay.engine.replay import Replay
from inspector.replay.engine.replay import replay as replay_plan
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.pricing.context_window import AFTER_SECONDS
from inspector.replay.pricing.rates import RateColumn
from inspector.replay.quantity import Count, FigureResult, Known, Unit, about, figure
from inspector.session.model import Call, ContextCause, Session
from inspector.strategies.history.history import History

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from inspector.replay.engine.token_scale import TokenScale


MANUAL = "manual"
"""The trigger of compactions requested by the user, which no plan prevents."""


class WithoutCompaction(NamedTuple):
    """A session without some compactions.

    Attributes:
        session: The session without them. Calls and messages keep their indices.
        calls: Calls with changed prompts, in order.
        ends_with: For each of these, the number of omitted compactions before it.
        until: The first call after these in the same conversation, None if there is none.
    """

    session: Session
    calls: tuple[int, ...]
    ends_with: tuple[int, ...]
    until: int | None


def without_compaction(session: Session, compaction: int) -> WithoutCompaction | None:
    """Remove a full compaction and later ones, up to a rewind or a requested one; None without calls around it."""
    chain = _chain(session, compaction)
    if len(chain) < 2:
        return None
    contexts = session.contexts
    members = list(contexts[chain[0]].members)
    seen = set(members)
    # End of each prompt in the joined context, for every context after the first.
    ends: dict[int, list[int]] = {}
    known = {_texts(session, message) for message in members}
    for index in chain[1:]:
        ends[index] = [len(members)]
        answers = (call.response for call in session.calls if call.context == index)
        first_response = min(answers, default=len(session.messages))
        for message in contexts[index].members:
            # Text that an agent repeats after a compaction is already present without it.
            repeated = message < first_response and _texts(session, message) in known
            if message not in seen and not repeated and not session.messages[message].is_summary:
                seen.add(message)
                known.add(_texts(session, message))
                members.append(message)
            ends[index].append(len(members))
    renumbered = {old: new for new, old in enumerate(at for at in range(len(contexts)) if at not in ends)}
    calls = tuple(_moved(call, renumbered, chain[0], ends) for call in session.calls)
    changed = [at for at, call in enumerate(session.calls) if call.context in ends]
    joined = tuple(
        structs.replace(context, members=tuple(members)) if index == chain[0] else context
        for index, context in enumerate(contexts)
        if index not in ends
    )
    place = {index: at for at, index in enumerate(chain)}
    begun = {session.compactions[at].message for at in _full_of(session, set(chain[1:]))}
    kept = tuple(each for each in session.compactions if each.message not in begun)
    return WithoutCompaction(
        replace(session, calls=calls, contexts=joined, compactions=kept, recorded_totals=()),
        tuple(changed),
        tuple(place[session.calls[at].context] for at in changed),
        _next_call(session, changed[-1]),
    )


def first_call_after(session: Session, compaction: int) -> int | None:
    """Return the first call of the compacted conversation after a compaction, or None."""
    message = session.compactions[compaction].message
    thread = session.messages[message].thread if message < len(session.messages) else 0
    first = bisect_left([call.response for call in session.calls], message)
    for at in range(first, len(session.calls)):
        if session.contexts[session.calls[at].context].thread == thread:
            return at
    return None


def _texts(session: Session, message: int) -> tuple[bytes, ...]:
    return tuple(block.digest for block in session.messages[message].blocks)


def _full_of(session: Session, contexts: set[int]) -> list[int]:
    """Return the full compactions that began any of these contexts."""
    found = []
    for at, compaction in enumerate(session.compactions):
        call = None if compaction.is_partial else first_call_after(session, at)
        if call is not None and session.calls[call].context in contexts:
            found.append(at)
    return found


def _chain(session: Session, compaction: int) -> list[int]:
    """Return the context a compaction ended, the one it began, and the contexts of later omitted compactions."""
    call = first_call_after(session, compaction)
    if call is None:
        return []
    after = session.calls[call].context
    thread = session.contexts[after].thread
    of_thread = [at for at, context in enumerate(session.contexts) if context.thread == thread]
    place = of_thread.index(after)
    if not place or session.contexts[after].cause is not ContextCause.COMPACTION:
        return []
    by_hand = _begun_by_hand(session)
    chain = of_thread[place - 1 : place + 1]
    for index in of_thread[place + 1 :]:
        if session.contexts[index].cause is not ContextCause.COMPACTION or index in by_hand:
            break
        chain.append(index)
    return chain


def _begun_by_hand(session: Session) -> set[int]:
    """Return the contexts that began with a compaction requested by the user."""
    asked = (at for at, compaction in enumerate(session.compactions) if compaction.trigger == MANUAL)
    calls = (first_call_after(session, at) for at in asked)
    return {session.calls[call].context for call in calls if call is not None}


def _next_call(session: Session, call: int) -> int | None:
    thread = session.contexts[session.calls[call].context].thread
    later = range(call + 1, len(session.calls))
    return next((at for at in later if session.contexts[session.calls[at].context].thread == thread), None)


def _moved(call: Call, renumbered: dict[int, int], joined: int, ends: dict[int, list[int]]) -> Call:
    if call.context not in ends:
        return structs.replace(call, context=renumbered[call.context])
    return structs.replace(
        call, context=renumbered[joined], prompt_messages=ends[call.context][call.prompt_messages], usage=None
    )


class CompactionForecast(FigureResult, frozen=True, kw_only=True):
    """A recorded compaction, and whether it would have happened under the plan. Not part of any total."""

    call: Annotated[Count, about("The first call after it, counted from 1.")]
    trigger_tokens: Annotated[
        int | None,
        figure(
            "triggered at",
            Unit.TOKENS,
            (
                "Size that triggered the compaction: the agent's own count if recorded, otherwise the last prompt "
                "before it. An agent may count more than its provider reported for that prompt."
            ),
        ),
    ]
    noted_by_agent: Annotated[bool, about("True if that size is the agent's own count and not the previous prompt.")]
    asked_for: Annotated[bool, about("True if the user requested it: it would have happened at any size.")]
    prompt_tokens: Annotated[
        int | None,
        figure(
            "with the plan",
            Unit.TOKENS,
            "Prompt of that call under the plan without the compaction.",
            short="with plan",
        ),
    ]
    reached_call: Annotated[
        int | None,
        figure(
            "reached at call",
            Unit.CALL,
            "Call, counted from 1, at which the prompt would reach that size under the plan; null if never.",
            short="reached",
        ),
    ]
    until_call: Annotated[
        int | None,
        about(
            "Call before which a rewind or a requested compaction ends the forecast; null for the end of the session."
        ),
    ]
    avoided: Annotated[
        Count, figure("avoided", Unit.COUNT, "Recorded compactions before that call, including this one.")
    ]
    saved_tokens: Annotated[
        int | None,
        figure(
            "saved tokens",
            Unit.TOKENS,
            "Prompt tokens saved until then; negative because prompts are longer.",
            saves=True,
        ),
    ]
    calls_usd: Annotated[
        float | None,
        figure(
            "saved on prompts",
            Unit.DOLLARS,
            "Dollars saved on prompts until then; negative if they cost more.",
            saves=True,
        ),
    ]
    requests_usd: Annotated[float | None, figure("saved on requests", Unit.DOLLARS, "Dollars of the summary requests.")]
    saved_usd: Annotated[
        float | None, figure("saves", Unit.DOLLARS, "Sum of both; negative if it costs more.", saves=True)
    ]
    known: Known

    @property
    def is_avoided(self) -> bool:
        """True if the plan would have prevented it at this point."""
        return not self.asked_for and self.reached_call != self.call


def compaction_forecasts(planned: Replay, *, asked_for: bool = False) -> Iterator[tuple[int, CompactionForecast]]:
    """Yield the index and the forecast of every recorded compaction under a replay's plan.

    Each one is independent: earlier compactions are taken as recorded.

    Args:
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
            names = ("prompt_tokens", "reached_call", "saved_tokens", "calls_usd", "requests_usd", "saved_usd")
            yield (
                index,
                CompactionForecast.of(
                    call=call + 1,
                    trigger_tokens=trigger,
                    noted_by_agent=bool(compaction.tokens_before),
                    asked_for=True,
                    until_call=None,
                    avoided=0,
                    **dict.fromkeys(names),
                ),
            )
            continue
        without = without_compaction(session, index)
        if without is not None:
            yield index, _forecast(planned, without, index, call, trigger)


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
    requests = _request_cost(planned, index, avoided)
    return CompactionForecast.of(
        call=call + 1,
        trigger_tokens=trigger,
        noted_by_agent=bool(planned.history.session.compactions[index].tokens_before),
        asked_for=False,
        prompt_tokens=_projected(int(prompts[0])),
        reached_call=Figure(int(calls[end]) + 1 if len(reached) else None, HowKnown.PROJECTED),
        until_call=None if without.until is None else without.until + 1,
        avoided=avoided,
        saved_tokens=_projected(tokens),
        calls_usd=_projected(float(dollars)),
        requests_usd=_projected(requests),
        saved_usd=_projected(float(dollars) + requests),
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
