"""Compaction thresholds as data: `inspector tune --compaction --format json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, cast

import numpy as np
from msgspec import Struct

from inspector.replay.analysis.forecast import widened
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.context_window import (
    AFTER_SECONDS,
    CODEX_SHOWN,
    FIRST_VERSION,
    MIN_TOKENS,
    MIN_TOKENS_VARIABLE,
    SETTING,
)
from inspector.replay.quantity import DOLLAR_DIGITS, PERCENT_DIGITS, Count, How, Known, Unit, about, figure
from inspector.replay.tuning.compaction_costs import LEAST_COMPACTIONS, EffectiveThreshold
from inspector.replay.tuning.search import LEAST_CALLS, LEAST_SESSIONS, FleetGroup, Verdict
from inspector.report.cache_document import CLAUDE_SETTINGS
from inspector.report.export import COMPACTION_SETTINGS, Exported, ExportError, default_threshold, export_compaction
from inspector.report.numbers import IN_TEXT
from inspector.report.secret_redaction import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.tuning.compaction_costs import CompactedSession, IdleOutcome, ThresholdChoice, ThresholdTable

LATE = 1.1
"""Compactions that fire at this multiple of the configured threshold, or above, are reported as late."""

WHOLE_WINDOWS = 1_000
"""Model windows are multiples of this number of tokens."""

PROJECTED: Final[How] = HowKnown.PROJECTED.value


ThresholdVerdictName = Literal["recommended", "unsure", "nothing saves", "too few", "untried"]


class Configuration(Struct, frozen=True, kw_only=True):
    """A plan, or a threshold, in another system's configuration format."""

    target: Annotated[str, about("The system, by its name in `inspector export`.")]
    text: Annotated[str, about("The configuration; empty if unsupported.")]
    language: Annotated[str, about("Language of the configuration.")]
    notes: Annotated[list[str], about("Destination, and unsupported parts.")]

    @classmethod
    def of(cls, target: str, exported: Exported, *, left_out: str = "") -> Configuration:
        """Convert an export; each note on an omission starts with `left_out`."""
        notes = [exported.where, *(f"{left_out}{each}" for each in exported.left_out)]
        return cls(target=target, text=exported.text, language=exported.language, notes=notes)


class CompactionGroup(Struct, frozen=True, kw_only=True):
    """The best compaction threshold for one agent and model, or for several models with few sessions each."""

    name: Annotated[str, about("Description of the sessions.")]
    agent: Annotated[str, about("The agent.")]
    models: Annotated[list[str], about("Models of the sessions.")]
    sessions: Annotated[Count, figure("sessions", Unit.COUNT, "Sessions of the group.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Calls of the sessions.")]
    cost_usd: Annotated[float, figure("cost", Unit.DOLLARS, "Dollars of these calls as recorded.")]
    verdict: Annotated[ThresholdVerdictName, about("Verdict on these sessions.")]
    answer: Annotated[str, about("Verdict in a sentence.")]
    window: Annotated[int | None, about("Context window of most sessions in tokens; null if unknown.")]
    configured: Annotated[int | None, about("Configured threshold in tokens; null if unknown.")]
    configured_from: Annotated[str, about("Origin of that number; empty if unknown.")]
    effective: Annotated[
        EffectiveFacts | None, about("Sizes at which compactions fired; null if none fired automatically.")
    ]
    compaction: Annotated[CompactionTermsFacts | None, about("Effect of a compaction; null if none was recorded.")]
    threshold: Annotated[ThresholdFacts | None, about("The best threshold; null with too little data.")]
    curve: Annotated[list[ThresholdPoint], about("Every threshold that was tried, ascending.")]
    rows: Annotated[list[CompactedRow], about("The sessions, by path.")]
    known: Known
    idle: Annotated[
        IdleFacts | None, about("Effect of compacting idle sessions; null if the agent cannot, or it never would.")
    ] = None


class IdleFacts(Struct, frozen=True, kw_only=True):
    """Projected effect of the agent's idle compaction, compared with never compacting an idle session."""

    compactions: Annotated[Count, figure("idle compactions", Unit.COUNT, "Projected number of idle compactions.")]
    unused: Annotated[Count, figure("unused", Unit.COUNT, "Those that no call followed.")]
    saved_usd: Annotated[float, figure("saved", Unit.DOLLARS, "Dollars saved against no idle compaction.", saves=True)]
    sessions_on: Annotated[
        Count, figure("sessions with it", Unit.COUNT, "Sessions of a version that compacts by default when idle.")
    ]
    answer: Annotated[str, about("The effect and the setting in a sentence.")]
    known: Known


class EffectiveFacts(Struct, frozen=True, kw_only=True):
    """Prompt sizes right before automatic compactions."""

    count: Annotated[Count, figure("compactions", Unit.COUNT, "Number of these compactions.")]
    median: Annotated[int, figure("median", Unit.TOKENS, "Median prompt size.")]
    least: Annotated[int, figure("fewest", Unit.TOKENS, "Smallest prompt size.")]
    most: Annotated[int, figure("most", Unit.TOKENS, "Largest prompt size.")]


class CompactionTermsFacts(Struct, frozen=True, kw_only=True):
    """Assumed effect of a compaction, taken from recorded ones."""

    kept: Annotated[int, figure("kept", Unit.TOKENS, "Median tokens left beyond a conversation's first prompt.")]
    cached: Annotated[
        int, figure("still cached", Unit.TOKENS, "Median tokens of the next prompt that are still cached.")
    ]
    summary: Annotated[int, figure("summary", Unit.TOKENS, "Median tokens of the summary.")]
    rereads: Annotated[
        float, figure("files read again", Unit.FREE, "Average number of additional reads of known files.")
    ]


class ThresholdFacts(Struct, frozen=True, kw_only=True):
    """The best threshold of a group."""

    tokens: Annotated[int, figure("compact at", Unit.TOKENS, "Threshold in tokens.")]
    compactions: Annotated[Count, figure("compactions", Unit.COUNT, "Projected number of compactions.")]
    against_usd: Annotated[
        float,
        figure("recorded cost", Unit.DOLLARS, "Dollars with the recorded compactions, including summary requests."),
    ]
    saved_usd: Annotated[float, figure("saved", Unit.DOLLARS, "Dollars saved against the recorded cost.", saves=True)]
    saved_percent: Annotated[float, figure("of the cost", Unit.PERCENT, "Saving in percent of the cost.", saves=True)]
    low_percent: Annotated[
        float, figure("5th percentile", Unit.PERCENT, "The 5th percentile over resampled sessions.", saves=True)
    ]
    high_percent: Annotated[
        float, figure("95th percentile", Unit.PERCENT, "The 95th percentile over resampled sessions.", saves=True)
    ]
    left_out_usd: Annotated[
        float,
        figure(
            "cross-validated",
            Unit.DOLLARS,
            "Dollars saved on each session by the threshold that the others chose.",
            saves=True,
        ),
    ]
    targets: Annotated[list[str], about("Agents with a setting for it.")]
    configuration: Annotated[Configuration | None, about("The agent's own configuration; null if it has none.")]
    known: Known


class ThresholdPoint(Struct, frozen=True, kw_only=True):
    """All sessions of a group at one threshold."""

    tokens: Annotated[int, figure("compact at", Unit.TOKENS, "The threshold.")]
    cost_usd: Annotated[
        float | None,
        figure("cost", Unit.DOLLARS, "Dollars over all sessions; null if the remaining context does not fit."),
    ]
    per_session_usd: Annotated[float | None, figure("per session", Unit.DOLLARS, "Average dollars per session.")]
    compactions: Annotated[Count, figure("compactions", Unit.COUNT, "Projected number of compactions.")]
    summaries_usd: Annotated[float, figure("summaries", Unit.DOLLARS, "The part of it for summary requests.")]
    recovery_usd: Annotated[
        float, figure("re-reads", Unit.DOLLARS, "The part of it for repeated file reads, relative to the recording.")
    ]
    is_chosen: Annotated[bool, about("True for the best threshold.")]
    is_effective: Annotated[bool, about("True for the threshold at which compactions fired.")]
    known: Known


class CompactedRow(Struct, frozen=True, kw_only=True):
    """One session."""

    path: Annotated[str, about("File of the session, with the home folder as `~`.")]
    model: Annotated[str, about("Model of most of its calls.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Calls of the session.")]
    cost_usd: Annotated[float, figure("cost", Unit.DOLLARS, "Dollars of its calls as recorded.")]
    saved_usd: Annotated[
        float | None, figure("saved", Unit.DOLLARS, "Saving against the recorded compactions.", saves=True)
    ]
    compactions: Annotated[Count, figure("compactions", Unit.COUNT, "Recorded compactions, including requested ones.")]
    configured: Annotated[int | None, figure("configured", Unit.TOKENS, "Configured threshold in tokens.")]
    effective: Annotated[EffectiveFacts | None, about("Sizes at which automatic compactions fired.")]
    is_late: Annotated[bool, about("True if they fired well above the configured threshold.")]
    known: Known


def compaction_group(
    group: FleetGroup,
    name: str,
    agent: str,
    sessions: Sequence[CompactedSession],
    choice: ThresholdChoice,
    *,
    configured: int | None = None,
    target: str = "",
    model_uncertainty: bool = False,
) -> CompactionGroup:
    """Report a group's best compaction threshold; by default, the agent's own threshold and configuration."""
    window = _usual([_window(group.agent, session) for session in sessions])
    default = default_threshold(group.agent, window)
    reported = configured if configured is not None else default
    effective, terms, table = choice.effective, choice.terms, choice.table
    return CompactionGroup(
        name=name,
        agent=agent,
        models=list(group.models),
        sessions=len(group.sessions),
        calls=sum(session.calls for session in group.sessions),
        cost_usd=round(sum(session.cost for session in group.sessions), DOLLAR_DIGITS),
        verdict=cast("ThresholdVerdictName", choice.verdict.value),
        answer=_answer(choice, group, table),
        window=window,
        configured=reported,
        configured_from="" if reported is None else "as given" if configured is not None else "by default",
        effective=None if effective is None else _effective(effective),
        compaction=None
        if terms is None
        else CompactionTermsFacts(
            kept=round(terms.kept),
            cached=round(terms.cached),
            summary=round(terms.summary),
            rereads=round(terms.rereads, 2),
        ),
        threshold=None
        if table is None
        else _threshold(choice, table, target or group.agent, window, widen=model_uncertainty),
        curve=[] if table is None else [_point(table, at) for at in range(len(table.thresholds))],
        rows=[_row(group, at, sessions[at], table, configured) for at in range(len(group.sessions))],
        known={"cost_usd": group.known.value},
        idle=_idle([session.idle for session in sessions if session.idle is not None]),
    )


def _idle(found: Sequence[IdleOutcome]) -> IdleFacts | None:
    if not found:
        return None
    compactions, unused = sum(each.compactions for each in found), sum(each.unused for each in found)
    saved = sum(each.saved_usd for each in found)
    times = IN_TEXT.plural(compactions, "time")
    verb, amount = ("saves", saved) if saved >= 0 else ("costs", -saved)
    advice = f"{SETTING} in {CLAUDE_SETTINGS} turns it off, {MIN_TOKENS_VARIABLE} changes the size"
    return IdleFacts(
        compactions=compactions,
        unused=unused,
        saved_usd=round(saved, DOLLAR_DIGITS),
        sessions_on=sum(each.is_on for each in found),
        answer=(
            f"idle compaction (since Claude Code {'.'.join(map(str, FIRST_VERSION))}, {AFTER_SECONDS / 60:.0f} minutes "
            f"after a reply, at {MIN_TOKENS:,} tokens or more) would fire {times}, {unused:,} of them unused, and "
            f"{verb} {IN_TEXT.qualified(IN_TEXT.dollars(amount), PROJECTED)}; {advice}"
        ),
        known=dict.fromkeys(("compactions", "unused", "saved_usd"), PROJECTED),
    )


def _window(agent: str, session: CompactedSession) -> int | None:
    """Return the model's full window."""
    window = session.window
    if window is None or agent != "codex" or not session.window_is_recorded:
        return window
    # Older versions record the full window.
    whole = round(window / CODEX_SHOWN)
    return window if whole % WHOLE_WINDOWS else whole


def _usual(windows: Sequence[int | None]) -> int | None:
    known = [window for window in windows if window is not None]
    return max(known, key=known.count) if known else None


def _effective(found: EffectiveThreshold) -> EffectiveFacts:
    return EffectiveFacts(
        count=found.count, median=round(found.median), least=round(found.least), most=round(found.most)
    )


def _answer(choice: ThresholdChoice, group: FleetGroup, table: ThresholdTable | None) -> str:
    match choice.verdict:
        case Verdict.TOO_FEW:
            count = 0 if choice.effective is None else choice.effective.count
            calls = sum(session.calls for session in group.sessions)
            lacks = (
                (LEAST_SESSIONS - len(group.sessions), "session"),
                (LEAST_CALLS - calls, "call"),
                (LEAST_COMPACTIONS - count, "automatic compaction"),
            )
            more = " and ".join(IN_TEXT.plural(number, what) for number, what in lacks if number > 0)
            return f"not enough data to recommend a threshold: {more} more needed"
        case Verdict.UNTRIED:
            return "nothing was tried: compactions leave nearly as many tokens as the size at which they fire"
        case Verdict.NOTHING_SAVES:
            is_latest = table is not None and table.best == len(table.thresholds) - 1
            why = "compacting earlier does not pay off" if is_latest else "no other threshold saves 1 % of the cost"
            return f"{why}; leave it unchanged"
        case Verdict.UNSURE:
            return "another threshold saves on these sessions, but might cost more on others: not recommended"
        case Verdict.RECOMMENDED:
            return "another threshold saves, and probably will on the next session"


def _threshold(
    choice: ThresholdChoice, table: ThresholdTable, target: str, window: int | None, *, widen: bool
) -> ThresholdFacts:
    tokens, cost = round(table.thresholds[table.best]), float(table.recorded.sum())
    saved = widened(choice.saved, cost - choice.saved.middle) if widen else choice.saved
    percents = [
        round(100 * each / cost, PERCENT_DIGITS) if cost else 0.0 for each in (saved.low, saved.middle, saved.high)
    ]
    names = ("against_usd", "saved_usd", "saved_percent", "low_percent", "high_percent", "left_out_usd")
    return ThresholdFacts(
        tokens=tokens,
        compactions=int(table.compactions[table.best]),
        against_usd=round(cost, DOLLAR_DIGITS),
        saved_usd=round(saved.middle, DOLLAR_DIGITS),
        saved_percent=percents[1],
        low_percent=percents[0],
        high_percent=percents[2],
        left_out_usd=round(choice.left_out, DOLLAR_DIGITS),
        targets=list(COMPACTION_SETTINGS),
        configuration=_configuration(target, tokens, window) if choice.verdict is Verdict.RECOMMENDED else None,
        known=dict.fromkeys((*names, "compactions"), PROJECTED),
    )


def _configuration(target: str, tokens: int, window: int | None) -> Configuration:
    try:
        return Configuration.of(target, export_compaction(target, tokens, window))
    except ExportError as error:
        return Configuration(target=target, text="", language="", notes=[str(error)])


def _point(table: ThresholdTable, at: int) -> ThresholdPoint:
    cost, count = float(table.totals[at]), table.usd.shape[1]
    names = ("cost_usd", "per_session_usd", "compactions", "summaries_usd", "recovery_usd")
    return ThresholdPoint(
        tokens=round(table.thresholds[at]),
        cost_usd=None if np.isnan(cost) else round(cost, DOLLAR_DIGITS),
        per_session_usd=None if np.isnan(cost) else round(cost / max(count, 1), DOLLAR_DIGITS),
        compactions=int(table.compactions[at]),
        summaries_usd=round(float(table.summaries[at]), DOLLAR_DIGITS),
        recovery_usd=round(float(table.recovery[at]), DOLLAR_DIGITS),
        is_chosen=at == table.best,
        is_effective=at == table.effective,
        known=dict.fromkeys(names, PROJECTED),
    )


def _row(
    group: FleetGroup, at: int, session: CompactedSession, table: ThresholdTable | None, configured: int | None
) -> CompactedRow:
    of, found = group.sessions[at], EffectiveThreshold.of([session])
    reported = configured if configured is not None else default_threshold(group.agent, _window(group.agent, session))
    saved = None if table is None else float(table.recorded[at] - table.usd[table.best, at])
    return CompactedRow(
        path=shown_path(of.path),
        model=of.model,
        calls=of.calls,
        cost_usd=round(of.cost, DOLLAR_DIGITS),
        saved_usd=None if saved is None or np.isnan(saved) else round(saved, DOLLAR_DIGITS),
        compactions=len(session.compactions),
        configured=reported,
        effective=None if found is None else _effective(found),
        is_late=found is not None and reported is not None and found.median >= LATE * reported,
        known={"cost_usd": of.known.value, "saved_usd": PROJECTED},
    )
