"""Comparison of two sets of real sessions as data: `inspector compare --before A --after B --format json`.

`docs/before-after-report.schema.json` is generated from these types.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import isfinite, isnan
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

import inspector
from inspector.replay.analysis.before_after import LEAST_SESSIONS, ChangeVerdict, SetDifference, Statistic, difference
from inspector.replay.analysis.cache_misses import cache_misses
from inspector.replay.analysis.compactions import compaction_aftermaths, rereads_of_calls
from inspector.replay.figure import HowKnown, lowest_confidence
from inspector.replay.quantity import (
    DOLLAR_DIGITS,
    PERCENT_DIGITS,
    SHARE_DIGITS,
    Count,
    Known,
    Unit,
    about,
    figure,
    quantities,
    utc_time,
)
from inspector.replay.sessions import StartedTotals, SubagentCosts
from inspector.report.build_report import figure_set
from inspector.report.catalogue import FigureSet  # noqa: TC001  needed at run time for the schema
from inspector.report.folder import UnreadSession, summed
from inspector.report.numbers import IN_TEXT, NOTHING, rounded, with_minus_sign
from inspector.report.secret_redaction import shown_path, without_secrets
from inspector.report.sentences import started_words
from inspector.session.model import LinkKind
from inspector.session.registry import format_named

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay


def written(value: float | None, unit: str) -> str:
    """Format a figure of `MeasureFacts`, or a difference of two; a difference of shares is in points."""
    match unit:
        case "$":
            return IN_TEXT.dollars(value)
        case "share":
            return IN_TEXT.share(value)
        case "tokens":
            return IN_TEXT.whole(value)
        case _:
            if value is None:
                return NOTHING
            return with_minus_sign(f"{value:,.{2 if abs(value) < 9.995 else 1}f}")


def answer(found: SetDifference, unit: str, effect: float) -> str:
    """Describe a difference: `18.3 % less (8.0 to 27.1 %)`; `effect` is the share of before to detect."""
    wanted = f"{100 * effect:g} {'points' if unit == 'share' else '%'}"
    before, after = found.sessions
    match found.verdict:
        case ChangeVerdict.TOO_FEW if min(before, after) >= LEAST_SESSIONS:
            return "nothing to compare: one of the sets has none"
        case ChangeVerdict.TOO_FEW:
            kind = "sessions with a price" if unit == "$" else "sessions"
            return (
                f"too few {kind} to compare, {before:,} before and {after:,} after: with fewer than {LEAST_SESSIONS} "
                f"in each set, chance dominates; {_more_of_each(before, after)}"
            )
        case ChangeVerdict.LESS | ChangeVerdict.MORE:
            low, middle, high = _sizes(found, unit)
            if found.verdict is ChangeVerdict.LESS:
                low, high = high, low
            size = _size(middle, unit, found)
            return f"{size} {found.verdict.value} ({_size(low, unit, found, bare=True)} to {_size(high, unit, found)})"
        case _:
            low, _, high = _sizes(found, unit)
            if low == high:
                return "equal in both sets"
            between = f"{_signed(low, unit, found)} to {_signed(high, unit, found)}"
            if found.verdict is ChangeVerdict.SMALL:
                return f"no difference of {wanted} or more: {between}"
            return f"no significant difference, {between}: {_needed(found, wanted)}"


def _more_of_each(before: int, after: int) -> str:
    lacks = ((LEAST_SESSIONS - before, "before"), (LEAST_SESSIONS - after, "after"))
    return " and ".join(f"{count:,} more {name}" for count, name in lacks if count > 0) + " needed"


def _needed(found: SetDifference, wanted: str) -> str:
    """Describe how many more sessions would detect a difference of a given size."""
    if not isfinite(found.more):
        return f"no number of sessions would detect a difference of {wanted}"
    if not found.more:
        return f"these sessions would detect a difference of {wanted} four times in five"
    alone = f" (or {found.more_after:,.0f} more after only)" if isfinite(found.more_after) else ""
    return f"about {found.more:,.0f} more sessions per set{alone} are needed to detect a difference of {wanted}"


def _sizes(found: SetDifference, unit: str) -> tuple[float, float, float]:
    """Return lower end, middle and upper end: in percent of before, or in the unit if percentages make no sense."""
    if unit == "share" or isnan(found.share_low):
        return found.low, found.change, found.high
    return 100 * found.share_low, 100 * found.share, 100 * found.share_high


def _size(value: float, unit: str, found: SetDifference, *, bare: bool = False) -> str:
    """Format the size of a difference without its sign; `bare` omits the unit if another one follows."""
    if unit == "share":
        return f"{100 * abs(value):,.1f}{'' if bare else ' points'}"
    if isnan(found.share_low):
        return written(abs(value), unit)
    return f"{abs(value):,.1f}{'' if bare else ' %'}"


def _signed(value: float, unit: str, found: SetDifference) -> str:
    return f"{_size(value, unit, found)} {'less' if value < 0 else 'more'}"


def headline(verdict: str, text: str, per: str) -> str:
    """Describe the difference in cost: `after costs 18.3 % less per call (8.0 to 27.1 %)`, per call or other unit."""
    if verdict not in (ChangeVerdict.LESS, ChangeVerdict.MORE):
        return f"cost per {per}: {text}"
    size, bracket, interval = text.partition(" (")
    return f"after costs {size} per {per}{bracket}{interval}"


SetName = Literal["before", "after"]


class SetSession(Struct, frozen=True, kw_only=True):
    """One session of a set. A call in several sessions is counted for one of them."""

    path: Annotated[str, about("File of the session, with the home folder as `~`.")]
    set: Annotated[SetName, about("The set it is in.")]
    agent: Annotated[str, about("The agent.")]
    version: Annotated[str, about("The program that recorded it, with its version; empty if unknown.")]
    began: Annotated[str, about("Start, ISO 8601 in UTC; empty if unknown.")]
    subagents: Annotated[Count, about("Other sessions that it started; their calls are not counted here.")]
    started: Annotated[StartedTotals, about("Calls and cost of those sessions.")] = field(default_factory=StartedTotals)
    figures: Annotated[FigureSet, about("Figures as in its own report.")]
    parts: Annotated[list[SessionPart], about("Calls of the session by model.")]


class SessionPart(Struct, frozen=True, kw_only=True):
    """The calls of one model in a session."""

    model: Annotated[str, about("As recorded; empty if unknown.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Number of calls.")]
    cost_usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Dollars; null without a price.")]
    prompt_tokens: Annotated[Count, figure("prompt tokens", Unit.TOKENS, "Tokens of the prompts.")]
    cache_read_tokens: Annotated[
        Count, figure("cache reads", Unit.TOKENS, "The part of them read from the prompt cache.")
    ]
    output_tokens: Annotated[Count, figure("output", Unit.TOKENS, "Response tokens.")]
    misses: Annotated[
        Count, figure("cache misses", Unit.CALLS, "Calls that read clearly less from the cache than they could have.")
    ]
    compactions: Annotated[Count, figure("compactions", Unit.COUNT, "Compactions followed by one of these calls.")]
    rereads: Annotated[Count, figure("re-reads", Unit.COUNT, "Reads of files that were read or written before.")]


def set_session(
    path: Path,
    baseline: Replay,
    whole: Replay,
    subagents: SubagentCosts | None = None,
    name: SetName = "before",
) -> SetSession:
    """Collect a session's compared figures, from its counted calls with nothing cut and the whole session."""
    session = baseline.history.session
    known = format_named(session.format)
    started = [link for link in session.links if link.kind is LinkKind.SUBAGENT]
    return SetSession(
        path=shown_path(path),
        set=name,
        agent=known.title if known is not None else session.format,
        version=session.agent,
        began=utc_time(began(baseline, whole)),
        subagents=len(started),
        started=StartedTotals.of(subagents),
        figures=figure_set(baseline.figures),
        parts=_parts(baseline, whole),
    )


def began(baseline: Replay, whole: Replay) -> float | None:
    """Return the time a session began, seconds since the epoch; calls copied from another session do not count."""
    mine, session = baseline.history.session.calls, whole.history.session
    if len(mine) == len(session.calls):
        times = [message.time for message in session.messages if not message.is_inherited]
    else:
        times = [call.time for call in mine]
    return min((time for time in times if time is not None), default=None)


def _parts(baseline: Replay, whole: Replay) -> list[SessionPart]:
    ledger, calls = baseline.ledger, baseline.history.session.calls
    models = [call.model for call in calls]
    counted = {call.response for call in calls}
    every = whole.history.session.calls

    def by_model(found: Iterable[int]) -> Counter[str]:
        return Counter(every[call].model for call in found if every[call].response in counted)

    misses = by_model(miss.call for miss in cache_misses(whole).misses)
    compactions = by_model(each.call - 1 for each in compaction_aftermaths(whole))
    again = rereads_of_calls(whole)
    rereads = by_model(call for call in np.flatnonzero(again).tolist() for _ in range(int(again[call])))
    parts = []
    for model in sorted(set(models)):
        mine = np.array([name == model for name in models], dtype=np.bool_)
        cost = float(ledger.cost[mine].sum())
        parts.append(
            SessionPart(
                model=model,
                calls=int(mine.sum()),
                cost_usd=None if isnan(cost) else round(cost, DOLLAR_DIGITS),
                prompt_tokens=int(ledger.prompt_tokens[mine].sum()),
                cache_read_tokens=int(ledger.cache_read[mine].sum()),
                output_tokens=int(ledger.output[mine].sum()),
                misses=misses[model],
                compactions=compactions[model],
                rereads=rereads[model],
            )
        )
    return parts


SETS: tuple[SetName, SetName] = ("before", "after")

NOT_NAMED = "an unnamed model"


class BeforeAfterReport(Struct, frozen=True, kw_only=True):
    """Cost per call and per session of two sets of sessions, and the confidence that they differ."""

    schema: Annotated[Literal[1], about("Version of this contract.")]
    inspector: Annotated[str, about("Version of the program that wrote it.")]
    at: Annotated[str, about("The time that divides the sets, ISO 8601 in UTC; empty if they were given by path.")]
    effect_percent: Annotated[float, about("Size of difference to detect, in percent of before.")]
    answer: Annotated[str, about("Conclusion on the cost per call, in a sentence.")]
    before: Annotated[SessionSetFacts, about("The first set.")]
    after: Annotated[SessionSetFacts, about("The second set.")]
    overall: Annotated[ComparedGroupFacts, about("All calls.")]
    models: Annotated[list[ComparedGroupFacts], about("Calls of the models that both sets have, costliest first.")]
    other_models: Annotated[list[OtherModelFacts], about("Models that only one set has, costliest first.")]
    mixes: Annotated[list[MixFacts], about("Composition of the sets.")]
    differs: Annotated[list[str], about("Other differences between the sets, one sentence each.")]
    sessions: Annotated[list[SetSession], about("The sessions, by set and path.")]
    left_out: Annotated[list[UnreadSession], about("Sessions in neither set, by path, with the reason.")]
    unread: Annotated[list[UnreadSession], about("Unreadable files, by path; not part of any figure.")]
    warnings: Annotated[list[str], about("Caveats on the figures, one sentence each.")]


class SessionSetFacts(Struct, frozen=True, kw_only=True):
    """One set of sessions."""

    name: Annotated[SetName, about("Name of the set.")]
    paths: Annotated[list[str], about("Paths as given, with the home folder as `~`.")]
    sessions: Annotated[Count, figure("sessions", Unit.COUNT, "Sessions with a call to a model that is counted here.")]
    first: Annotated[str, about("Start of the first session, ISO 8601 in UTC; empty if unknown.")]
    last: Annotated[str, about("Start of the last session.")]
    figures: Annotated[FigureSet, about("Sums over the sessions, as in the report on a folder of them.")]
    misses: Annotated[
        Count, figure("cache misses", Unit.CALLS, "Calls that read clearly less from the cache than they could have.")
    ]
    compactions: Annotated[Count, figure("compactions", Unit.COUNT, "Compactions followed by a call.")]
    rereads: Annotated[Count, figure("re-reads", Unit.COUNT, "Reads of files that were read or written before.")]
    started: Annotated[StartedTotals, about("Subagents of the sessions, in no figure above.")]
    with_subagents_usd: Annotated[float | None, about("Dollars with these subagents; null without a price.")]


class ComparedGroupFacts(Struct, frozen=True, kw_only=True):
    """All calls of both sets, or only the calls of one model."""

    model: Annotated[str, about("The model as recorded; empty for all calls.")]
    before_sessions: Annotated[
        Count, figure("sessions before", Unit.COUNT, "Sessions of the first set with such calls.")
    ]
    after_sessions: Annotated[
        Count, figure("sessions after", Unit.COUNT, "Sessions of the second set with such calls.")
    ]
    before_calls: Annotated[Count, figure("calls before", Unit.CALLS, "Such calls of the first set.")]
    after_calls: Annotated[Count, figure("calls after", Unit.CALLS, "Such calls of the second set.")]
    measures: Annotated[list[MeasureFacts], about("The compared figures.")]


class MeasureFacts(Struct, frozen=True, kw_only=True):
    """One figure of both sets."""

    name: Annotated[str, about("Name of the figure.")]
    label: Annotated[str, about("Label of the figure.")]
    per: Annotated[Literal["call", "session"], about("Subject of the figure.")]
    unit: Annotated[Literal["$", "tokens", "share", "number"], about("Unit; `share` is a part of 1.")]
    statistic: Annotated[
        Literal["ratio", "mean", "median"],
        about("Ratio of two sums over all calls, or the mean or median over sessions."),
    ]
    before_sessions: Annotated[Count, about("Sessions of the first set that have the figure.")]
    after_sessions: Annotated[Count, about("Sessions of the second set that have it.")]
    before: Annotated[float | None, about("Value of the first set; null if it has none.")]
    after: Annotated[float | None, about("Value of the second set.")]
    change: Annotated[float | None, about("After minus before; null with too few sessions.")]
    change_low: Annotated[float | None, about("Lower end of the 95 % interval of the change.")]
    change_high: Annotated[float | None, about("Upper end of that interval.")]
    percent: Annotated[float | None, about("The change in percent of before; null for shares.")]
    percent_low: Annotated[float | None, about("Lower end of the 95 % interval in percent.")]
    percent_high: Annotated[float | None, about("Upper end of that interval.")]
    told: Annotated[
        Literal["less", "more", "small", "not told", "too few"],
        about("Verdict: `small` is a difference smaller than requested."),
    ]
    more_sessions: Annotated[
        Count | None,
        about("Additional sessions per set that detect such a difference four times in five; null if no number would."),
    ]
    more_after: Annotated[Count | None, about("The same with additional sessions in the second set only.")]
    answer: Annotated[str, about("Verdict in words.")]
    known: Known
    at_least: Annotated[list[str], about("Fields above that are lower bounds.")]


class OtherModelFacts(Struct, frozen=True, kw_only=True):
    """A model that only one set has."""

    model: Annotated[str, about("As recorded; empty if unknown.")]
    set: Annotated[SetName, about("The set that has it.")]
    sessions: Annotated[Count, figure("sessions", Unit.COUNT, "Sessions with calls to the model.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Calls to the model.")]
    cost_usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Dollars of these calls; null without a price.")]
    known: Known


class MixFacts(Struct, frozen=True, kw_only=True):
    """Composition of both sets in one respect."""

    what: Annotated[Literal["models", "agents", "versions", "subagents"], about("Compared property.")]
    of: Annotated[Literal["calls", "sessions"], about("Base of the shares.")]
    rows: Annotated[list[MixShare], about("Kinds, largest difference of shares first.")]
    differs: Annotated[float, figure("differs", Unit.SHARE, "Share that would have to change to make the sets alike.")]


class MixShare(Struct, frozen=True, kw_only=True):
    """The share of one kind in both sets."""

    name: Annotated[str, about("Name of the kind.")]
    before: Annotated[float, figure("before", Unit.SHARE, "Share in the first set.")]
    after: Annotated[float, figure("after", Unit.SHARE, "Share in the second set.")]


class ComparedFigure(NamedTuple):
    """A figure to compare.

    Attributes:
        name: JSON name.
        column: Figure of `SessionPart` to sum (the numerator).
        by: Figure of the denominator; empty for a figure of the whole session.
        statistic: How sessions are combined.
        times: Factor, such as 100 for "in 100 calls".
    """

    name: str
    label: str
    column: str
    by: str = ""
    statistic: Statistic = Statistic.RATIO
    unit: Literal["$", "tokens", "share", "number"] = "number"
    times: int = 1


MEASURES = (
    ComparedFigure("cost_per_call", "cost", "cost_usd", "calls", unit="$"),
    ComparedFigure("prompt_tokens_per_call", "prompt tokens", "prompt_tokens", "calls", unit="tokens"),
    ComparedFigure("output_tokens_per_call", "output tokens", "output_tokens", "calls", unit="tokens"),
    ComparedFigure("cache_share", "cache reads, share", "cache_read_tokens", "prompt_tokens", unit="share"),
    ComparedFigure("misses_per_100_calls", "cache misses per 100", "misses", "calls", times=100),
    ComparedFigure("compactions_per_100_calls", "compactions per 100", "compactions", "calls", times=100),
    ComparedFigure("rereads_per_100_calls", "re-reads per 100", "rereads", "calls", times=100),
    ComparedFigure("cost_per_session", "cost, mean", "cost_usd", statistic=Statistic.MEAN, unit="$"),
    ComparedFigure("median_cost_of_session", "cost, median", "cost_usd", statistic=Statistic.MEDIAN, unit="$"),
    ComparedFigure("calls_per_session", "calls, mean", "calls", statistic=Statistic.MEAN),
    ComparedFigure("median_calls_of_session", "calls, median", "calls", statistic=Statistic.MEDIAN),
    ComparedFigure("misses_per_session", "cache misses, mean", "misses", statistic=Statistic.MEAN),
    ComparedFigure("compactions_per_session", "compactions, mean", "compactions", statistic=Statistic.MEAN),
    ComparedFigure("rereads_per_session", "re-reads, mean", "rereads", statistic=Statistic.MEAN),
)
"""Compared figures, in display order; the first one decides the answer."""

DIFFERS = 0.1
"""Relative difference at or above which compositions and session lengths count as different."""

MOST_NAMED = 3
"""Maximum number of kinds named in a sentence."""

NOT_NAMED_VERSION = "an unnamed version"

SUBAGENTS = {
    True: "sessions that started others (whose calls are not in these figures)",
    False: "sessions that started no others",
}

Summed = tuple[SetSession, Mapping[str, float]]
"""A session, and the sums over its compared calls."""

KNOWN_AS = {"misses": "cache_read_tokens"}
"""Figures that have the certainty of another figure; counts taken from the file are exact."""


def before_after_report(
    sessions: Sequence[SetSession],
    *,
    paths: tuple[Sequence[str], Sequence[str]],
    at: str,
    effect: float,
    left_out: Sequence[UnreadSession],
    unread: Sequence[UnreadSession],
    warnings: Sequence[str],
) -> BeforeAfterReport:
    """Compare two sets of sessions.

    Args:
        sessions: The sessions of both sets, each with the calls that are counted for it.
        paths: The paths given for each set.
        at: The time that divides the sets; empty when they were given by path.
        effect: The size of difference to detect, as a share of before.
        left_out: Sessions in neither set, with the reason.
        warnings: Further warnings, one sentence each.
    """
    sessions = sorted(sessions, key=lambda each: (SETS.index(each.set), each.path))
    before, after = ([each for each in sessions if each.set == name] for name in SETS)
    earlier, later = (frozenset(part.model for each in mine for part in each.parts) for mine in (before, after))
    overall = _group(before, after, None, effect)
    cost = overall.measures[0]
    mixes = [
        _mix(
            "models", "calls", before, after, lambda each: {part.model or NOT_NAMED: part.calls for part in each.parts}
        ),
        _mix("agents", "sessions", before, after, lambda each: {each.agent: 1}),
        _mix("versions", "sessions", before, after, lambda each: {each.version or NOT_NAMED_VERSION: 1}),
        _mix("subagents", "sessions", before, after, lambda each: {SUBAGENTS[each.subagents > 0]: 1}),
    ]
    unpriced = sum(each.figures.cost_usd is None for each in sessions)
    silent = sum("estimated" in each.figures.known.get("cache_read_tokens", "") for each in sessions)
    parts = (
        (unpriced, "without a price, not included in dollars"),
        (silent, "without reported usage: prompts are local estimates, and the prompt cache is simulated"),
    )
    sets = zip(SETS, (before, after), strict=True)
    report = BeforeAfterReport(
        schema=1,
        inspector=inspector.__version__,
        at=at,
        effect_percent=round(100 * effect, PERCENT_DIGITS),
        answer=headline(cost.told, cost.answer, cost.per),
        before=_set_facts("before", before, paths[0]),
        after=_set_facts("after", after, paths[1]),
        overall=overall,
        models=[_group(before, after, model, effect) for model in _dearest_first(sessions, earlier & later)],
        other_models=[
            _other_model(name, mine, model)
            for name, mine, models in zip(SETS, (before, after), (earlier - later, later - earlier), strict=True)
            for model in _dearest_first(mine, models)
        ],
        mixes=mixes,
        differs=_differs(mixes, overall),
        sessions=sessions,
        left_out=sorted(left_out, key=lambda each: each.path),
        unread=sorted(unread, key=lambda each: each.path),
        warnings=[
            *warnings,
            *(f"{IN_TEXT.plural(count, 'session')} {what}" for count, what in parts if count),
            *(f"{name}: {started_words(_started(mine), IN_TEXT)}" for name, mine in sets if _started(mine)),
        ],
    )
    return without_secrets(report)


def _set_facts(name: SetName, sessions: Sequence[SetSession], paths: Sequence[str]) -> SessionSetFacts:
    times = sorted(each.began for each in sessions if each.began)
    parts = [part for each in sessions for part in each.parts]
    figures, started = summed([each.figures for each in sessions]), _started(sessions)
    return SessionSetFacts(
        name=name,
        paths=list(paths),
        sessions=len(sessions),
        first=times[0] if times else "",
        last=times[-1] if times else "",
        figures=figures,
        misses=sum(part.misses for part in parts),
        compactions=sum(part.compactions for part in parts),
        rereads=sum(part.rereads for part in parts),
        started=started,
        with_subagents_usd=None
        if figures.cost_usd is None
        else round(figures.cost_usd + (started.cost_usd or 0.0), DOLLAR_DIGITS),
    )


def _started(sessions: Iterable[SetSession]) -> StartedTotals:
    total = StartedTotals.summed(each.started for each in sessions)
    return replace(total, cost_usd=rounded(total.cost_usd, DOLLAR_DIGITS))


def _dearest_first(sessions: Sequence[SetSession], models: Collection[str]) -> list[str]:
    cost: defaultdict[str, float] = defaultdict(float)
    calls: Counter[str] = Counter()
    for part in (part for each in sessions for part in each.parts):
        cost[part.model] += part.cost_usd or 0.0
        calls[part.model] += part.calls
    return sorted(models, key=lambda model: (-cost[model], -calls[model], model))


def _other_model(name: SetName, sessions: Sequence[SetSession], model: str) -> OtherModelFacts:
    found = [(each, part) for each in sessions for part in each.parts if part.model == model]
    costs = [part.cost_usd for _, part in found if part.cost_usd is not None]
    known = _known([each for each, _ in found], ("cost_usd",))
    return OtherModelFacts(
        model=model,
        set=name,
        sessions=len(found),
        calls=sum(part.calls for _, part in found),
        cost_usd=round(sum(costs), DOLLAR_DIGITS) if costs else None,
        known={"cost_usd": known.value} if costs else {},
    )


def _group(
    before: Sequence[SetSession], after: Sequence[SetSession], model: str | None, effect: float
) -> ComparedGroupFacts:
    sets = []
    for sessions in (before, after):
        found = [(each, [part for part in each.parts if model in (None, part.model)]) for each in sessions]
        sets.append([(each, _sums(parts)) for each, parts in found if parts])
    counts = [(len(mine), round(sum(sums["calls"] for _, sums in mine))) for mine in sets]
    return ComparedGroupFacts(
        model=model or "",
        before_sessions=counts[0][0],
        after_sessions=counts[1][0],
        before_calls=counts[0][1],
        after_calls=counts[1][1],
        measures=[_measure(each, sets, effect) for each in MEASURES],
    )


def _sums(parts: Sequence[SessionPart]) -> dict[str, float]:
    """Sum the figures of some of a session's calls; NaN for dollars without a price."""
    names = quantities(SessionPart)
    nan = float("nan")
    values = ({name: getattr(part, name) for name in names} for part in parts)
    rows = [{name: nan if value is None else float(value) for name, value in row.items()} for row in values]
    return {name: sum(row[name] for row in rows) for name in names}


def _measure(measure: ComparedFigure, sets: Sequence[Sequence[Summed]], effect: float) -> MeasureFacts:
    columns = (measure.column, measure.by) if measure.by else (measure.column,)
    is_part = measure.unit == "share"
    before, after = (_table(mine, columns, measure.times) for mine in sets)
    found = difference(before, after, measure.statistic, effect, is_part=is_part)
    digits = DOLLAR_DIGITS if measure.unit == "$" else SHARE_DIGITS
    hows = [_known([each for each, _ in mine], columns) for mine in sets]
    least = [any(measure.column in each.figures.at_least for each, _ in mine) for mine in sets]
    # The distance between a lower bound and the true value is unknown, so their difference is an estimate too.
    both = lowest_confidence(*hows, *([HowKnown.ESTIMATED] if any(least) else []))
    is_refused = found.verdict is ChangeVerdict.TOO_FEW
    values = {
        "before": _number(found.before, digits),
        "after": _number(found.after, digits),
        "change": None if is_refused else _number(found.change, digits),
        "percent": None if is_part or is_refused else _number(100 * found.share, PERCENT_DIGITS),
    }
    known = dict(zip(values, (*hows, both, both), strict=True))
    return MeasureFacts(
        name=measure.name,
        label=measure.label,
        per="call" if measure.by else "session",
        unit=measure.unit,
        statistic=measure.statistic.value,
        before_sessions=found.sessions[0],
        after_sessions=found.sessions[1],
        **values,
        change_low=_number(found.low, digits),
        change_high=_number(found.high, digits),
        percent_low=None if is_part else _number(100 * found.share_low, PERCENT_DIGITS),
        percent_high=None if is_part else _number(100 * found.share_high, PERCENT_DIGITS),
        told=found.verdict.value,
        more_sessions=_count(found.more),
        more_after=_count(found.more_after),
        answer=answer(found, measure.unit, effect),
        known={name: known[name].value for name, value in values.items() if value is not None},
        at_least=[
            name
            for name, is_lower_bound in zip(SETS, least, strict=True)
            if is_lower_bound and values[name] is not None
        ],
    )


def _table(found: Sequence[Summed], columns: Sequence[str], times: int) -> NDArray[np.float64]:
    """Build one row per session; the first column is multiplied by `times`."""
    table = np.array([[sums[name] for name in columns] for _, sums in found], dtype=np.float64)
    table = table.reshape(-1, len(columns))
    table[:, 0] *= times
    return table


def _number(value: float, digits: int) -> float | None:
    return None if isnan(value) else round(value, digits)


def _count(value: float) -> int | None:
    return int(value) if isfinite(value) else None


def _known(sessions: Sequence[SetSession], columns: Sequence[str]) -> HowKnown:
    """Return the weakest certainty of the sessions' figures; counts taken from the file are exact."""
    names = [KNOWN_AS.get(column, column) for column in columns]
    hows = [HowKnown(each.figures.known[name]) for each in sessions for name in names if name in each.figures.known]
    return lowest_confidence(HowKnown.EXACT, *hows)


def _mix(
    what: Literal["models", "agents", "versions", "subagents"],
    of: Literal["calls", "sessions"],
    before: Sequence[SetSession],
    after: Sequence[SetSession],
    counted: Callable[[SetSession], Mapping[str, int]],
) -> MixFacts:
    totals: list[Counter[str]] = [Counter(), Counter()]
    for total, sessions in zip(totals, (before, after), strict=True):
        for each in sessions:
            total.update(counted(each))
    whole = [max(sum(total.values()), 1) for total in totals]
    shares = {name: (totals[0][name] / whole[0], totals[1][name] / whole[1]) for name in totals[0] | totals[1]}
    order = sorted(shares, key=lambda name: (-abs(shares[name][1] - shares[name][0]), -sum(shares[name]), name))
    return MixFacts(
        what=what,
        of=of,
        rows=[
            MixShare(name=name, before=round(shares[name][0], SHARE_DIGITS), after=round(shares[name][1], SHARE_DIGITS))
            for name in order
        ],
        differs=round(sum(abs(after - before) for before, after in shares.values()) / 2, SHARE_DIGITS),
    )


def _differs(mixes: Sequence[MixFacts], overall: ComparedGroupFacts) -> list[str]:
    """Return differences between the sets other than the tested change, in sentences."""
    parts = []
    for mix in mixes:
        if mix.differs < DIFFERS:
            continue
        rows = [row for row in mix.rows if row.name != SUBAGENTS[False]][:MOST_NAMED]
        shares = "; ".join(
            f"{row.name}, {IN_TEXT.share(row.before)} before and {IN_TEXT.share(row.after)} after" for row in rows
        )
        more = len(mix.rows) - len(rows) if mix.what != "subagents" else 0
        parts.append(f"{mix.what} differ by share of {mix.of}: {shares}{f'; and {more:,} more' if more else ''}")
    length = next(each for each in overall.measures if each.name == "median_calls_of_session")
    if length.before and length.after and abs(length.after / length.before - 1) >= DIFFERS:
        word = "longer" if length.after > length.before else "shorter"
        medians = f"median {length.before:g} calls before, {length.after:g} after"
        parts.append(f"session lengths differ: they are {word} after, {medians}")
    return parts
