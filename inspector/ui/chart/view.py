"""Data of the context chart, and texts about its prompts for the frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.analysis import context_blocks
from inspector.replay.cache.miss_causes import MissCause
from inspector.report.numbers import ON_SCREEN, size_words
from inspector.session.model import ContextCause
from inspector.strategies.core.operations import Action
from inspector.strategies.history.memo import cached_per_history
from inspector.ui.miss_glyphs import MARKS, mark_of
from inspector.ui.outcome import Outcome, level_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.analysis.cache_misses import CacheMisses
    from inspector.replay.engine.replay import Replay
    from inspector.replay.figure import Figure
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Trigger


class Level(NamedTuple):
    """A prompt size drawn as a horizontal line.

    Attributes:
        tokens: The size.
        name: Its label.
    """

    tokens: int
    name: str


class MarkedMiss(NamedTuple):
    """A call that missed the prompt cache.

    Attributes:
        call: The call.
        cause: Cause of the miss.
    """

    call: int
    cause: MissCause


@dataclass(frozen=True, eq=False)
class ChartSeries:
    """Data of the context chart; compared by identity.

    Attributes:
        recorded: Recorded prompt tokens per call, int64.
        planned: Prompt tokens per call under the plan, or None without a plan.
        window: Context window of the model in tokens, or None if unknown.
        compactions: First calls after a recorded compaction.
        misses: Calls with an avoidable cache miss, the most expensive last.
        cursor: The selected call; None or the number of calls for the next prompt.
        levels: Prompt sizes at which strategies of the plan act.
        firings: Calls at which those strategies act.
        seconds: Time of each call, ascending, float64; None for equal distances.
    """

    recorded: NDArray[np.int64]
    planned: NDArray[np.int64] | None = None
    window: int | None = None
    compactions: tuple[int, ...] = ()
    misses: tuple[MarkedMiss, ...] = ()
    cursor: int | None = None
    levels: tuple[Level, ...] = ()
    firings: NDArray[np.int32] | tuple[int, ...] = ()
    seconds: NDArray[np.float64] | None = None

    @property
    def call_count(self) -> int:
        return len(self.recorded)

    @property
    def peak(self) -> int:
        """Largest prompt of any call in tokens."""
        peak = int(self.recorded.max(initial=0))
        return peak if self.planned is None else max(peak, int(self.planned.max(initial=0)))

    @property
    def span(self) -> float:
        """Seconds from the first call to the last; 0 without times."""
        return float(self.seconds[-1]) if self.seconds is not None and len(self.seconds) else 0.0


@dataclass(frozen=True, eq=False)
class ChartColumns:
    """Chart data per screen column.

    Attributes:
        recorded: Largest recorded prompt of the column's calls, int64.
        planned: Largest prompt under the plan, or None.
        compaction: True if a context begins there.
        miss: Index into `MARKS` of the most expensive cache miss, -1 for none, int64.
        fires: True if a strategy that waits for a prompt size acts there.
        call: Last call of the column, int64.
        cursor: Column of the selected call, or None.
    """

    recorded: NDArray[np.int64]
    planned: NDArray[np.int64] | None
    compaction: NDArray[np.bool_]
    miss: NDArray[np.int64]
    fires: NDArray[np.bool_]
    call: NDArray[np.int64]
    cursor: int | None


def columns_of(series: ChartSeries, width: int) -> ChartColumns:
    """Resample a series to `width` columns: a call covers several, or a column shows the largest of several calls.

    With times, a column without a call repeats the previous call.
    """
    count, width = series.call_count, max(width, 0)
    if not count or not width:
        none = np.zeros(width, dtype=np.int64)
        no = none.astype(np.bool_)
        return ChartColumns(none, None, no, none - 1, no, none - 1, None)
    places = _places(series, width)
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    shown = np.maximum(np.searchsorted(places[starts], np.arange(width), side="right") - 1, 0)
    planned = series.planned[:count] if series.planned is not None and len(series.planned) >= count else None
    cursor = series.cursor if series.cursor is not None and 0 <= series.cursor < count else None
    last = np.append(starts[1:], count) - 1
    return ChartColumns(
        recorded=np.maximum.reduceat(series.recorded, starts)[shown],
        planned=None if planned is None else np.maximum.reduceat(planned, starts)[shown],
        compaction=_marked(series.compactions, places, width),
        miss=_missed(series.misses, places, width),
        fires=_marked(series.firings, places, width),
        call=last[shown],
        cursor=None if cursor is None else int(places[cursor]),
    )


def place_of(series: ChartSeries, call: int, width: int) -> int:
    """Return the first of `width` columns that shows a call."""
    return int(_places(series, width)[call]) if width else 0


def _places(series: ChartSeries, width: int) -> NDArray[np.int64]:
    """Return the first column of each call, ascending, from 0 to `width` - 1."""
    count = series.call_count
    if series.seconds is not None and len(series.seconds) == count and series.span > 0:
        share = series.seconds / series.span
        return np.minimum((share * width).astype(np.int64), width - 1)
    calls = np.arange(count, dtype=np.int64)
    return calls * width // count if count > width else -(-calls * width // count)


def _marked(calls: NDArray[np.int32] | tuple[int, ...], places: NDArray[np.int64], width: int) -> NDArray[np.bool_]:
    marked = np.zeros(width, dtype=np.bool_)
    indices = np.asarray(calls, dtype=np.int64)
    marked[places[indices[(indices >= 0) & (indices < len(places))]]] = True
    return marked


def _missed(misses: tuple[MarkedMiss, ...], places: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    marked = np.full(width, -1, dtype=np.int64)
    for call, cause in misses:
        if 0 <= call < len(places):
            marked[places[call]] = MARKS.index(mark_of(cause))
    return marked


def marked_misses(outcome: Outcome, known: CacheMisses | None) -> tuple[MarkedMiss, ...]:
    """Return the cache misses marked in the chart, the most expensive last.

    While a limit is dragged, misses caused by the plan's edits come from the replay, all others from the last known
    misses, which may be of an earlier replay.
    """
    found = () if known is None else tuple(MarkedMiss(miss.call, miss.cause) for miss in reversed(known.dearest))
    replay = outcome.replay
    if (known is not None and known.replay is replay) or replay is outcome.baseline:
        return tuple(miss for miss in found if miss.cause is not MissCause.PLAN_EDIT or replay is not outcome.baseline)
    others = tuple(miss for miss in found if miss.cause is not MissCause.PLAN_EDIT)
    return (*others, *(MarkedMiss(call, MissCause.PLAN_EDIT) for call in outcome.missed_by_edits))


def chart_of(
    outcome: Outcome, call: int | None, *, by_time: bool = False, known: CacheMisses | None = None
) -> ChartSeries:
    """Build the chart data of all prompts, recorded and under the plan; `by_time` places calls by time."""
    history, replay = outcome.replay.history, outcome.replay
    triggers = outcome.plan.triggers(outcome.inputs.window.size)
    return ChartSeries(
        recorded=outcome.baseline.ledger.prompt_tokens,
        planned=replay.ledger.prompt_tokens if replay is not outcome.baseline else None,
        window=outcome.inputs.window.size,
        compactions=first_calls_after_compactions(history),
        misses=marked_misses(outcome, known),
        cursor=call,
        levels=tuple(dict.fromkeys(Level(trigger.tokens, trigger.name) for trigger in triggers)),
        firings=firings(replay, triggers),
        seconds=seconds_of_calls(history) if by_time else None,
    )


def firings(replay: Replay, triggers: tuple[Trigger, ...]) -> NDArray[np.int32]:
    """Return the calls at which strategies with a size trigger act, ascending, without the next prompt."""
    changes = replay.edits
    entries = {trigger.entry for trigger in triggers}
    waited = np.array([reason.entry in entries for reason in changes.reasons], dtype=np.bool_)
    if not waited.any():
        return np.zeros(0, dtype=np.int32)
    is_made = changes.call < replay.history.call_count
    acting = waited[changes.reason] & (changes.action != Action.WHOLE) & is_made
    return np.unique(changes.call[acting]).astype(np.int32)


def seconds_of_calls(history: History) -> NDArray[np.float64] | None:
    """Return seconds since the first call, ascending; None if fewer than two calls have a time.

    A call without a time gets the time of the previous call.
    """
    times = history.call_time[: history.call_count]
    known = ~np.isnan(times)
    if known.sum() < 2:
        return None
    filled = np.where(known, times, -np.inf)
    seconds: NDArray[np.float64] = np.maximum(np.maximum.accumulate(filled) - times[known][0], 0.0)
    return seconds


@cached_per_history
def first_calls_after_compactions(history: History) -> tuple[int, ...]:
    compacted = [
        index for index, context in enumerate(history.session.contexts) if context.cause is ContextCause.COMPACTION
    ]
    contexts, first = np.unique(history.call_context[:-1], return_index=True)
    return tuple(int(call) for call in np.sort(first[np.isin(contexts, compacted)]))


def describe_call(outcome: Outcome, call: int | None) -> str:
    """Describe the selected call and its prompt, as recorded and under the plan."""
    replay = outcome.replay
    count = replay.history.call_count
    if call is None or call >= count:
        return ": ".join(filter(None, (f"next prompt after {ON_SCREEN.plural(count, 'call')}", _next_prompt(outcome))))
    recorded = int(outcome.baseline.ledger.prompt_tokens[call])
    parts = [
        f"call {ON_SCREEN.whole(call + 1)} of {ON_SCREEN.whole(count)}",
        f"{ON_SCREEN.short(recorded)} tokens",
    ]
    if replay is not outcome.baseline:
        parts[1] = f"recorded {ON_SCREEN.short(recorded)}"
        parts.append(f"with the plan {ON_SCREEN.short(int(replay.ledger.prompt_tokens[call]))}")
    return " · ".join(parts)


def _next_prompt(outcome: Outcome) -> str:
    """Describe the next prompt, as recorded and under the plan, compared with the window.

    Empty without calls.
    """
    replay, window = outcome.replay, outcome.inputs.window
    count = replay.history.call_count
    if not count:
        return ""
    prompt = _prompt(outcome, count)
    if not window.size:
        return prompt
    is_over = (context_blocks.prompt_at(replay, count).value or 0) > window.size
    return f"{prompt}, {'over the ' if is_over else ''}{size_words(window.tokens, is_window=True)}"


def _prompt(outcome: Outcome, place: int) -> str:
    """Return `106k`, or `106k → 77k` under a plan."""
    sent = _tokens(context_blocks.prompt_at(outcome.replay, place))
    return f"{_tokens(context_blocks.prompt_at(outcome.baseline, place))} → {sent}" if outcome.is_planned else sent


def prompt_at(outcome: Outcome, call: int | None) -> tuple[str, ...]:
    """Describe a call's prompt in short, the longest form first; empty without calls.

    The next prompt is compared with the size that its share in the header refers to.
    """
    count = outcome.replay.history.call_count
    if call is None or call >= count:
        fill = context_blocks.fill_at(outcome.replay, count)
        prompt = f"next prompt: {_prompt(outcome, count)}"
        if not count or not fill.size.value:
            return (prompt,) if count else ()
        return f"{prompt}, {size_words(fill.size, is_window=fill.is_window)}", f"{prompt} of {_tokens(fill.size)}"

    def size(replay: Replay) -> str:
        tokens = ON_SCREEN.whole(int(replay.ledger.prompt_tokens[call]))
        return ON_SCREEN.qualified(tokens, replay.figures.prompt_tokens.known.value)

    text = f"call {ON_SCREEN.whole(call + 1)}: {size(outcome.baseline)} tokens"
    return (f"{text} → {size(outcome.replay)}" if outcome.is_planned else text,)


class FillText(NamedTuple):
    """The fill as shown.

    Attributes:
        percent: Percentage; empty if unknown.
        level: `calm`, `warning` or `alarm`.
        lines: The sizes it compares.
    """

    percent: str
    level: str
    lines: tuple[str, ...]


def fill_text(outcome: Outcome, call: int | None) -> FillText:
    """Describe how full the selected call's prompt is under the plan, and recorded; None for the next prompt."""
    count = outcome.replay.history.call_count
    place = count if call is None else min(call, count)
    fill = context_blocks.fill_at(outcome.replay, place)
    prompt = _prompt(outcome, place)
    size = size_words(fill.size, is_window=fill.is_window) if fill.size.value else ""
    name = "next prompt" if place == count else f"call {ON_SCREEN.whole(place + 1)}"
    share = fill.share
    return FillText(
        "" if share is None else f"{share * 100:.0f}%", level_of(share), tuple(filter(None, (f"{name} {prompt}", size)))
    )


def _tokens(figure: Figure) -> str:
    tokens = ON_SCREEN.short(figure.value or 0)
    return ON_SCREEN.qualified(tokens, figure.known.value, is_lower_bound=figure.is_lower_bound)
