"""Figures of a running session from its newest records.

`LiveFigures` keeps what each call cost, so that an appended record costs the same time in a long session as in a short
one. Prompts are the reported ones plus an estimate of what was appended since; sessions without reported usage are
estimated from the number of characters.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import islice, pairwise, takewhile
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.live.away import PauseAdvice, PausePrices, pause_advice, pauses_of
from inspector.live.status import UNKNOWN, Activity, CacheState, CacheStatus, Forecast, HourlyRate, LiveSession, Loop
from inspector.replay.cache.cache_models import cache_model_for, with_lifetime_of
from inspector.replay.cache.miss_causes import MISS_SHARE, MISS_TOKENS
from inspector.replay.figure import Band, Figure, HowKnown
from inspector.replay.pricing.context_window import SUMMARY_TOKENS, compaction_size, context_window
from inspector.session.files import last_written
from inspector.session.model import BlockKind, Call, ContextCause, Message, Role, Session, Usage
from inspector.session.registry import format_named
from inspector.tokens.model_names import typical_coefficients

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from inspector.live.reading import LiveReader
    from inspector.replay.pricing.prices import Pricing


CALLS_OF_GROWTH: Final = 60
"""Number of calls whose growth counts."""

TYPICAL_STEPS: Final = (150, 200, 300, 400, 550, 700, 950, 1_400, 2_100, 5_700)
"""Growth of the prompts of recorded coding agents in tokens: the middles of ten equal parts."""

LEAST_CALLS: Final = 3
"""Number of steps needed for a forecast."""

PATHS: Final = 64
"""Number of continuations drawn."""

NEAR_CALLS: Final = 60
"""Continuations are drawn up to this expected number of calls; beyond it, the range is proportional."""

LATER: Final = 1.8
"""Factor on the 95th percentile of the continuations: a session may slow down."""

FAR_SOONER, FAR_LATER = 0.4, 1.5
"""Factors on the expected number of calls where no continuations are drawn."""

PAUSE_SECONDS: Final = 300.0
"""Longer gaps between calls are pauses of the user, not the agent's cadence."""


def forecast(prompt: float, size: float, growth: Sequence[float], gaps: Sequence[float]) -> Forecast | None:
    """Forecast the calls and minutes until a prompt reaches a size; None if too few calls were made.

    Growth is heavy-tailed: one large result may fill the rest of the window. Recent steps of the session, with a few
    typical ones, are drawn until the size is reached; the range is widened so that it held in eight of ten forecasts on
    recorded sessions (docs/development/live-forecast.md).

    Args:
        prompt: Tokens of the next prompt.
        size: Size at which the agent compacts, tokens.
        growth: Tokens by which each recent prompt exceeded the previous one; compactions and rewinds are left out.
        gaps: Seconds between recent calls.
    """
    steps = [step for step in growth if step > 0][-CALLS_OF_GROWTH:]
    if len(steps) < LEAST_CALLS:
        return None
    steps += TYPICAL_STEPS
    room = max(size - prompt, 0.0)
    expected = room * len(steps) / sum(steps)
    calls = _drawn(room, steps) if expected <= NEAR_CALLS else _proportional(expected)
    active = [gap for gap in gaps if 0 < gap <= PAUSE_SECONDS][-CALLS_OF_GROWTH:]
    return Forecast(calls, calls.times(_cadence(active) / 60) if active else None)


def _drawn(room: float, steps: Sequence[float]) -> Band:
    """Return the calls after which the room is used up, over continuations with drawn steps."""
    draw = random.Random(1).choice  # noqa: S311  not security relevant
    found = []
    for _ in range(PATHS):
        left, calls = room, 0
        while left > 0:
            left -= draw(steps)
            calls += 1
        found.append(calls)
    found.sort()
    return Band(found[PATHS // 20], median(found), LATER * found[-1 - PATHS // 20])


def _proportional(expected: float) -> Band:
    return Band(FAR_SOONER * expected, expected, FAR_LATER * expected)


def _cadence(gaps: Sequence[float]) -> float:
    """Return the seconds per call: the mean, with gaps above four medians cut to that."""
    most = 4 * median(gaps)
    return sum(min(gap, most) for gap in gaps) / len(gaps)


RECENT_SECONDS: Final = 900.0
"""Period of the recent rate."""

STREAMING_SECONDS: Final = 3.0
"""A response without a tool call is complete once nothing follows for this long."""

IDLE_SECONDS: Final = 600.0
"""A session without records for this long is idle."""

ENDED_SECONDS: Final = 7200.0
"""A session without records for this long has ended."""

SUBAGENT_SECONDS: Final = 120.0
"""A subagent without records for this long has ended."""

CHARACTERS_PER_TOKEN: Final = 3.5
"""Typical characters per token of `o200k_base` on code and tool output."""

RECENT_CALLS: Final = 80
"""Number of calls of the main conversation that decide growth, cadence and character ratio."""

LEAST_CHARACTERS: Final = 4_000
"""Characters needed to derive a session's own ratio."""

IDLE_COMPACTION_SECONDS: Final = 2_900.0
"""A compaction this long after the last call was made because the session was idle."""

_UNSETTLED = 8
"""Number of newest calls whose usage may still change while a response streams."""


class Spent(NamedTuple):
    """Tokens and dollars of a call. `is_whole` is False if its report has uncounted numbers or a placeholder."""

    time: float | None
    tokens: int
    usd: float | None
    is_whole: bool = True


@dataclass(slots=True)
class CallSpending:
    """Calls and their sums; `usd` leaves out the unpriced calls, and is a lower bound if some are `incomplete`."""

    calls: list[Spent] = field(default_factory=list)
    tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0
    incomplete: int = 0

    def add(self, calls: Iterable[Spent]) -> None:
        for each in calls:
            self.calls.append(each)
            self.tokens += each.tokens
            self.unpriced += each.usd is None
            self.incomplete += each.usd is None or not each.is_whole
            self.usd += each.usd or 0.0

    def since(self, time: float) -> CallSpending:
        found = CallSpending()
        found.add(takewhile(lambda each: each.time is None or each.time > time, reversed(self.calls)))
        return found

    @property
    def started(self) -> float | None:
        """Time of the first call, seconds since the epoch; None if not recorded."""
        return next((each.time for each in self.calls if each.time is not None), None)


class _Step(NamedTuple):
    """A call of the main conversation: its prompt, and the growth since the previous call of the same context."""

    call: Call
    prompt: int
    growth: int
    characters: int
    gap: float


class LiveFigures:
    """Figures of one session, updated with every state of it.

    Attributes:
        longest: Tokens of its longest recent prompt.
        settled: Calls whose usage does not change any more.
        newest: The other calls, and side requests.
    """

    def __init__(
        self, pricing: Pricing, reader: LiveReader, longest_elsewhere: Callable[[str], int] = lambda _: 0
    ) -> None:
        """Prepare the figures; a model's longest prompt in other sessions shows the size of its window."""
        self._pricing, self._reader, self._longest_elsewhere = pricing, reader, longest_elsewhere
        self._begin(reader.session)
        self.take()

    def _begin(self, session: Session) -> None:
        self._session = session
        self._pauses: list[float] = []
        self._pauses_until = 0
        self.settled, self.newest = CallSpending(), CallSpending()
        self._misses = self._missed_until = 0

    def take(self) -> None:
        """Update the figures with the reader's current session."""
        session, before = self._reader.session, self._session
        if len(session.calls) < len(before.calls) or session.copied_calls != before.copied_calls:
            self._begin(session)
        self._session = session
        calls, at = session.calls, len(self.settled.calls)
        self.settled.add(map(self._spent, calls[at : max(len(calls) - _UNSETTLED, 0)]))
        sides = (each for each in session.own_side_calls if each.usage is not None)
        self.newest = CallSpending()
        self.newest.add(map(self._spent, calls[len(self.settled.calls) :]))
        self.newest.add(
            Spent(each.time, *self._billed(each.model, each.time, each.terms, each.usage)) for each in sides
        )
        self._main = _main_steps(session, RECENT_CALLS)
        # The first time, all calls are looked at.
        self._count_misses(self._main if self._missed_until else _main_steps(session, len(calls)))
        self._measure()

    def _spent(self, call: Call) -> Spent:
        if self._session.messages[call.response].is_inherited:
            return Spent(None, 0, 0.0)
        return Spent(call.time, *self._billed(call.model, call.time, call.terms, call.usage))

    def _billed(
        self, model: str, time: float | None, terms: str, usage: Usage | None
    ) -> tuple[int, float | None, bool]:
        if usage is None or not usage.prompt:
            return 0 if usage is None else usage.output, None, False
        rates = self._pricing.rates(model or self._reader.beginning.model, time, terms)
        usd = None if rates is None else rates.call_cost(usage) * self._pricing.factor
        return usage.prompt + usage.output, usd, not (usage.ignored or usage.output_is_placeholder)

    def _count_misses(self, steps: Sequence[_Step]) -> None:
        """Count the calls that read clearly less from the cache than the previous prompt."""
        self._missed_until = max(self._missed_until, 1)
        for before, step in pairwise(steps):
            now, then = step.call.usage, before.call.usage
            if step.call.response < self._missed_until or now is None or then is None or not step.growth:
                continue
            self._missed_until = step.call.response + 1
            could = min(then.prompt, now.prompt)
            is_cached = then.cache_read or then.cache_write_5m or then.cache_write_1h
            self._misses += bool(is_cached) and could - now.cache_read >= max(MISS_TOKENS, MISS_SHARE * could)

    def _measure(self) -> None:
        """Compute the figures that do not depend on the time."""
        session, main = self._session, self._main
        model = session.main_model or self._reader.beginning.model
        self.model = model
        ratio = _tokens_per_character(main, model)
        self._prompt = _next_prompt(session, main, ratio)
        self.longest = max((step.prompt for step in main), default=0)
        window = context_window(session, self._pricing, max(self.longest, self._longest_elsewhere(model)))
        self._window = window.tokens
        agent = session.agent or self._reader.beginning.agent
        self._compacts_at = compaction_size(session.format, agent, window, _compacted_at(session, main))
        self._forecast = None
        if self._compacts_at.value is not None and self._prompt.value is not None:
            growth, gaps = [step.growth for step in main], [step.gap for step in main]
            self._forecast = forecast(self._prompt.value, self._compacts_at.value, growth, gaps)
        self._pause_prices: PausePrices | None = None
        self._cache = self._cache_status()
        self._newest = _newest_message(session)
        self._loop = _loop(session)

    def _cache_status(self) -> CacheStatus:
        reported = (step.call for step in reversed(self._main) if step.call.usage is not None)
        last = next(reported, None)
        if last is None or last.usage is None or not last.usage.prompt or self._prompt.value is None:
            return CacheStatus()
        usage, model = last.usage, last.model or self.model
        rates = self._pricing.rates(model, last.time, last.terms)
        cache = with_lifetime_of(cache_model_for(model, rates=rates), usage)
        held = usage.prompt - (usage.uncached if cache.writes else 0)
        if cache.lifetime <= 0 or held < cache.minimum_prefix:
            return CacheStatus()
        prompt = self._prompt.value
        warm = cold = UNKNOWN
        if rates is not None:
            row, factor = rates.at(prompt), self._pricing.factor / 1e6
            hour = usage.cache_write_1h > usage.cache_write_5m
            other = (row.cache_write_1h if hour else row.cache_write_5m) if cache.writes else row.input
            cached = min(held, prompt)
            dollars = (cached * row.cache_read + (prompt - cached) * other) * factor
            warm = Figure(dollars, HowKnown.PROJECTED)
            cold = Figure(prompt * other * factor, HowKnown.PROJECTED)
            read, written, output = row.cache_read * factor, other * factor, row.output * factor
            fresh, compacted = self._other_prompts()
            self._pause_prices = PausePrices(
                prompt, dollars, prompt * written, read, written, output, cache.lifetime, fresh, compacted
            )
        expires = None if last.time is None else last.time + cache.lifetime
        return CacheStatus(CacheState.UNKNOWN, expires, cache.lifetime, warm, cold)

    def _other_prompts(self) -> tuple[float | None, float | None]:
        """Return the tokens of a new session's first prompt and of the prompt after a compaction; None if unknown."""
        session, fresh = self._session, float(self._reader.beginning.first_prompt) or None
        sizes = [each.tokens_after for each in session.compactions if not each.is_partial and each.tokens_after]
        compacted = float(sizes[-1]) if sizes else None if fresh is None else fresh + SUMMARY_TOKENS
        return fresh, compacted

    @property
    def pauses(self) -> list[float]:
        """Seconds before each of the user's messages that ended a pause."""
        messages = self._session.messages
        if len(messages) > self._pauses_until:
            # One message earlier: the pause begins with it.
            self._pauses += pauses_of(messages[max(self._pauses_until - 1, 0) :])
            self._pauses_until = len(messages)
        return self._pauses

    def pause_advice(self, pauses: Sequence[float], now: float) -> PauseAdvice | None:
        """Return the costs of a pause from the user's pauses in all sessions; None without a price."""
        if self._pause_prices is None:
            return None
        session = self._session
        agent = session.agent or self._reader.beginning.agent
        last = self.last_activity
        return pause_advice(self._pause_prices, pauses, format_name=session.format, agent=agent, last=last, now=now)

    @property
    def last_activity(self) -> float:
        """Time of the newest record or change, seconds since the epoch."""
        recorded = self._session.last_recorded
        is_shared = self._reader.path != self._reader.file
        if is_shared and recorded is not None:
            return recorded
        return last_written(self._reader.modified, recorded)

    @property
    def own_start(self) -> float:
        """Time of the first message that was not copied from another session, seconds since the epoch."""
        own = (each.time for each in self._session.messages if each.time is not None and not each.is_inherited)
        return next(own, self.last_activity)

    def row(
        self, now: float, subagents: Sequence[LiveFigures] = (), pauses: Sequence[float] | None = None
    ) -> LiveSession:
        """Return the status at a time, with the figures of subagents and the user's pauses in all sessions."""
        session, reader = self._session, self._reader
        own_pauses = self.pauses if pauses is None else pauses
        running = sum(now - each.last_activity <= SUBAGENT_SECONDS for each in subagents)
        running += _inline_subagents(session, now)
        last = max(self.last_activity, *(each.last_activity for each in subagents), 0.0)
        state = Activity.ENDED if reader.is_gone else self._state(now, last, running)
        spending = [part for each in (self, *subagents) for part in (each.settled, each.newest)]
        is_partial = any(each.is_partial for each in (self, *subagents))
        is_least = is_partial or any(each.has_unreadable for each in (self, *subagents))
        started = min((each.started for each in spending if each.started is not None), default=last)
        begin, format_ = reader.beginning, format_named(session.format)
        folder = session.working_directory or begin.working_directory
        title = format_.title if format_ is not None else session.format
        return LiveSession(
            path=reader.path,
            identifier=session.identifier,
            format=session.format,
            agent=session.agent or begin.agent or title,
            project=folder.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or reader.file.parent.name,
            title=session.title or begin.name,
            model=self.model,
            state=state,
            prompt=self._prompt,
            compacts_at=self._compacts_at,
            window=self._window,
            last_activity=last,
            forecast=self._forecast,
            recent=_rate([each.since(now - RECENT_SECONDS) for each in spending], RECENT_SECONDS),
            overall=_rate(spending, last - started),
            spent=_total(spending, is_least=is_least),
            cache=self._cache_at(now),
            calls=len(session.calls),
            misses=self._misses,
            compactions=sum(not each.is_partial for each in session.compactions),
            loop=self._loop,
            subagents=running if state is not Activity.ENDED else 0,
            working_directory=folder,
            away=None if state is Activity.WORKING else self.pause_advice(own_pauses, now),
            started=begin.started,
            is_partial=is_partial,
            problems=session.skipped_records,
        )

    @property
    def is_partial(self) -> bool:
        return self._reader.skipped_bytes > 0

    @property
    def has_unreadable(self) -> bool:
        """True if records, and perhaps usage, could not be read."""
        return self._session.skipped_records > 0

    def _cache_at(self, now: float) -> CacheStatus:
        found = self._cache
        if found.expires_at is None:
            return found
        state = CacheState.WARM if now < found.expires_at else CacheState.COLD
        return CacheStatus(state, found.expires_at, found.lifetime, found.warm_usd, found.cold_usd)

    def _state(self, now: float, last: float, running: int) -> Activity:
        silence = now - last
        if silence >= ENDED_SECONDS:
            return Activity.ENDED
        if silence >= IDLE_SECONDS:
            return Activity.IDLE
        newest = self._newest
        if newest is None or running:
            return Activity.WORKING
        is_done = newest.role is Role.ASSISTANT and all(
            block.kind is not BlockKind.TOOL_CALL for block in newest.blocks
        )
        return Activity.WAITING if is_done and silence >= STREAMING_SECONDS else Activity.WORKING

    def next_change(self, now: float) -> float:
        """Return the time at which the state or the cache changes without a new record."""
        last = self.last_activity
        times = [last + STREAMING_SECONDS, last + SUBAGENT_SECONDS, last + IDLE_SECONDS, last + ENDED_SECONDS]
        if self._cache.expires_at is not None:
            times.append(self._cache.expires_at)
        return min((time for time in times if time > now), default=float("inf"))


def _main_steps(session: Session, most: int) -> list[_Step]:
    """Return the newest calls of the main conversation, oldest first, with growth within their context."""
    contexts, calls = session.contexts, session.calls
    newest = (call for call in reversed(calls) if not contexts[call.context].thread)
    found: list[_Step] = []
    before: Call | None = None
    reported: _Step | None = None
    for call in reversed(list(islice(newest, most))):
        prompt = 0 if call.usage is None else call.usage.prompt
        growth = characters = 0
        gap = 0.0 if before is None or before.time is None or call.time is None else call.time - before.time
        if reported is not None and reported.call.context == call.context and prompt:
            growth = prompt - reported.prompt
            members = contexts[call.context].members
            characters = _characters(session, members[reported.call.prompt_messages : call.prompt_messages])
        found.append(_Step(call, prompt, growth, characters, gap))
        before, reported = call, found[-1] if prompt else reported
    return found


def _characters(session: Session, members: Sequence[int]) -> int:
    messages = session.messages
    return sum(
        block.characters + block.signature_characters
        for member in members
        for block in messages[member].blocks
        if block.kind is not BlockKind.OTHER
    )


def _tokens_per_character(main: Sequence[_Step], model: str) -> float:
    """Return the session's own ratio, otherwise a typical one."""
    grown = [step for step in main if step.growth > 0 and step.characters]
    characters = sum(step.characters for step in grown)
    typical = typical_coefficients(model).ratio / CHARACTERS_PER_TOKEN
    if characters < LEAST_CHARACTERS:
        return typical
    own = sum(step.growth for step in grown) / characters
    return min(max(own, typical / 3), typical * 3)


def _next_prompt(session: Session, main: Sequence[_Step], ratio: float) -> Figure:
    """Return the size of the next prompt without the user's next message."""
    main_contexts = [context for context in session.contexts if not context.thread]
    if not main_contexts:
        return UNKNOWN
    context = main_contexts[-1]
    # The usage of a response is often reported at its end.
    last = next((step for step in reversed(main) if step.prompt), None)
    if last is not None and session.contexts[last.call.context] is context:
        appended = context.members[last.call.prompt_messages :]
        usage = last.call.usage
        is_reported = usage is not None and usage.output > 0 and not usage.output_is_placeholder
        if usage is not None and is_reported:
            tokens = usage.output + ratio * _characters(session, appended[1:])
        else:
            tokens = ratio * _characters(session, appended)
        is_exact = usage is not None and is_reported and len(appended) <= 1 and not usage.reasoning
        known = HowKnown.EXACT if is_exact else HowKnown.CALIBRATED
        return Figure(round(last.prompt + tokens), known)
    compaction = next((each for each in reversed(session.compactions) if not each.is_partial), None)
    is_compacted = context.cause is ContextCause.COMPACTION and compaction is not None
    if is_compacted and compaction is not None and compaction.tokens_after:
        return Figure(compaction.tokens_after, HowKnown.EXACT)
    return Figure(round(ratio * _characters(session, context.members)), HowKnown.ESTIMATED, is_lower_bound=True)


def _compacted_at(session: Session, main: Sequence[_Step]) -> list[int]:
    """Return the prompt sizes at which automatic compactions fired.

    A single compaction without a recorded trigger may have been requested by the user.
    """
    found = []
    for each in session.compactions:
        if each.is_partial or each.trigger == "manual":
            continue
        before = next((step for step in reversed(main) if step.call.response < each.message), None)
        is_idle = (
            before is not None
            and before.call.time is not None
            and each.time is not None
            and each.time - before.call.time >= IDLE_COMPACTION_SECONDS
        )
        size = each.tokens_before or (before.prompt if before is not None else 0)
        if size and not is_idle:
            found.append((size, each.trigger))
    return [size for size, trigger in found if trigger or len(found) > 1]


def _newest_message(session: Session) -> Message | None:
    sent = (each for each in reversed(session.messages) if not (each.thread or each.is_synthetic or each.is_abandoned))
    return next((each for each in sent if each.role in (Role.USER, Role.ASSISTANT, Role.TOOL)), None)


def _loop(session: Session) -> Loop | None:
    """Return the last tool call of the main conversation if the ones before it were the same."""
    calls = (
        block
        for message in reversed(session.messages)
        if not message.thread and message.role is Role.ASSISTANT
        for block in reversed(message.blocks)
        if block.kind is BlockKind.TOOL_CALL
    )
    last, times = next(calls, None), 1
    if last is None:
        return None
    for block in calls:
        if (block.tool_name, block.digest) != (last.tool_name, last.digest):
            break
        times += 1
    return Loop(last.tool_name, times) if times > 1 else None


def _inline_subagents(session: Session, now: float) -> int:
    """Return the number of subagents recorded in the same file that wrote a moment ago."""
    if not any(context.thread for context in session.contexts):
        return 0
    threads = set()
    for message in reversed(session.messages):
        if message.time is not None and now - message.time > SUBAGENT_SECONDS:
            break
        threads.add(message.thread)
    return len(threads - {0})


def _total(spending: Iterable[CallSpending], *, is_least: bool = False) -> Figure:
    """Return the dollars of some calls; None if none has a known cost."""
    parts = [part for part in spending if part.calls]
    if parts and all(part.unpriced == len(part.calls) for part in parts):
        return UNKNOWN
    incomplete = any(part.incomplete for part in parts)
    return Figure(sum(part.usd for part in parts), HowKnown.EXACT, is_least or incomplete)


def _rate(spending: Sequence[CallSpending], seconds: float) -> HourlyRate:
    """Return tokens and dollars per hour of some calls over a period."""
    if seconds <= 0:
        return HourlyRate()
    hours, total = seconds / 3600, _total(spending)
    tokens = Figure(sum(each.tokens for each in spending) / hours, HowKnown.EXACT)
    return HourlyRate(
        tokens, Figure(None if total.value is None else total.value / hours, total.known, total.is_lower_bound)
    )
