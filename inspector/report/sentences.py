"""Sentences about figures, shared by reports and the screen."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from inspector.hook.records import TRIMS, Trim, trims
from inspector.recall.originals import has_original, state_folder
from inspector.replay.analysis.compactions import CompactionTotals
from inspector.replay.analysis.forecast import MASKING, TURNS_OF_A_MODEL, widened
from inspector.replay.assumptions import RunsPerDay
from inspector.replay.figure import Band, HowKnown
from inspector.replay.quantity import DOLLAR_DIGITS, PERCENT_DIGITS, quantity
from inspector.report.catalogue import ProjectionFacts, UncertainSaving
from inspector.report.numbers import ABOUT, IN_TEXT, ON_SCREEN, NumberFormat, rounded, with_minus_sign
from inspector.report.secret_redaction import shown_name, shown_path
from inspector.session.model import LinkKind, Session
from inspector.tokens.counter import estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inspector.replay.explain.explanation import Explanation
    from inspector.replay.sessions import StartedTotals, SubagentCost, SubagentCosts


def compactions_words(found: CompactionTotals, numbers: NumberFormat) -> str:
    """Return one sentence without its period; unknown figures are left out."""
    parts = []
    if found.removed_tokens is not None:
        how = found.known["removed_tokens"]
        fitted = " (calibrated)" if how == HowKnown.CALIBRATED.value else ""
        removed = numbers.qualified(numbers.whole(found.removed_tokens), how)
        parts.append(f"{_which(found, numbers)} removed {removed} tokens{fitted}")
    if found.misses:
        tokens, usd = (quantity(CompactionTotals, name).label for name in ("recached_tokens", "recached_usd"))
        cost = "" if found.recached_usd is None else f", {usd} {_dollars(found, 'recached_usd', numbers)}"
        after = "it" if found.compactions == 1 else "them"
        parts.append(f"cache misses after {after}: {numbers.whole(found.recached_tokens)} {tokens}{cost}")
    if found.summaries_usd is not None:
        requests = numbers.plural(found.summaries, "request")
        parts.append(f"{requests} for summaries cost {_dollars(found, 'summaries_usd', numbers)}")
    return "; ".join(parts)


def compactions_in_short(found: CompactionTotals, numbers: NumberFormat) -> tuple[str, ...]:
    """Return short phrases, most important first: `all 6 removed 620k tokens`."""
    which = "removed" if found.compactions == 1 else f"all {numbers.whole(found.compactions)} removed"
    if found.measured < found.compactions:
        which = f"{numbers.whole(found.measured)} of {numbers.whole(found.compactions)} removed"
    phrases = []
    if found.removed_tokens is not None:
        removed = numbers.qualified(numbers.short(found.removed_tokens), found.known["removed_tokens"])
        phrases.append(f"{which} {removed} tokens")
    if found.misses and found.recached_usd is not None:
        phrases.append(f"cache rewrites {_dollars(found, 'recached_usd', numbers)}")
    if found.summaries_usd is not None:
        phrases.append(f"summaries {_dollars(found, 'summaries_usd', numbers)}")
    return tuple(phrases)


def _which(found: CompactionTotals, numbers: NumberFormat) -> str:
    """Count the compactions, and those with a measured removal: they need calls on both sides."""
    if found.measured < found.compactions:
        return f"{numbers.whole(found.measured)} of {numbers.plural(found.compactions, 'compaction')}"
    return "the only compaction" if found.compactions == 1 else f"all {numbers.plural(found.compactions, 'compaction')}"


def _dollars(found: CompactionTotals, name: str, numbers: NumberFormat) -> str:
    return numbers.qualified(numbers.dollars(getattr(found, name)), found.known[name])


NOT_INCLUDED = "not included above"


def costliest_first(found: SubagentCosts) -> list[SubagentCost]:
    return sorted(found.sessions, key=lambda each: (-(each.cost_usd or 0.0), -each.prompt_tokens))


def count_words(found: SubagentCosts, numbers: NumberFormat) -> str:
    """Return the number of calls and subagents: `3 calls of 1 subagent`."""
    calls = numbers.plural(found.calls, "call")
    return f"{calls} of {numbers.plural(len(found.sessions), 'subagent')}"


def cost_words(found: SubagentCosts, numbers: NumberFormat) -> str:
    """Return the cost, or without a price the number of prompt tokens."""
    text = f"{numbers.short(found.prompt_tokens)} tokens" if found.cost_usd is None else numbers.dollars(found.cost_usd)
    is_lower_bound = found.is_lower_bound and found.cost_usd is not None
    return numbers.qualified(text, found.known, is_lower_bound=is_lower_bound)


def unread_words(found: SubagentCosts, numbers: NumberFormat) -> str:
    """Return the number of subagents that could not be read, and the first of them; empty if there are none."""
    if not found.unread:
        return ""
    first, count = found.unread[0], numbers.plural(len(found.unread), "subagent")
    example = "" if len(found.unread) == 1 else "for example "
    return f"{count} could not be read, {example}{shown_name(first.id)}: {shown_name(first.problem)}"


def started_words(found: StartedTotals, numbers: NumberFormat) -> str:
    """Return `12 calls of 2 subagents cost $0.34 more, not included above` for several sessions; empty for none."""
    parts = []
    if found.sessions:
        counted = f"{numbers.plural(found.calls, 'call')} of {numbers.plural(found.sessions, 'subagent')}"
        amount = numbers.qualified(numbers.dollars(found.cost_usd), found.known, is_lower_bound=found.is_lower_bound)
        cost = "have no price" if found.cost_usd is None else f"cost {amount} more"
        parts.append(f"{counted} {cost}, {NOT_INCLUDED}")
    if found.unread:
        parts.append(f"{numbers.plural(found.unread, 'subagent')} could not be read")
    return "; ".join(parts)


def subagents_text(found: SubagentCosts, numbers: NumberFormat, together: float | None = None) -> str:
    """Return a sentence without its period: `2 calls of 1 subagent cost $0.010 more, not included above`."""
    parts = []
    if found.sessions:
        verb = "sent" if found.cost_usd is None else "cost"
        parts.append(f"{count_words(found, numbers)} {verb} {cost_words(found, numbers)} more, {NOT_INCLUDED}")
    if together is not None and found.sessions:
        total = numbers.qualified(numbers.dollars(together), found.known, is_lower_bound=found.is_lower_bound)
        parts.append(f"{total} with them")
    return "; ".join(filter(None, [*parts, unread_words(found, numbers)]))


def without_texts(found: SubagentCosts, title: Callable[[str], str]) -> SubagentCosts:
    """Return the costs for a report: paths, names and titles masked, dollars rounded."""
    sessions = tuple(
        replace(
            each,
            path=shown_path(Path(each.path)),
            id=shown_name(each.id),
            title=title(each.title),
            cost_usd=rounded(each.cost_usd, DOLLAR_DIGITS),
            side_requests_usd=rounded(each.side_requests_usd, DOLLAR_DIGITS),
        )
        for each in found.sessions
    )
    unread = tuple(replace(each, id=shown_name(each.id), problem=shown_name(each.problem)) for each in found.unread)
    return replace(found, sessions=sessions, unread=unread, cost_usd=rounded(found.cost_usd, DOLLAR_DIGITS))


def _signed(share: float, decimals: int = 0) -> str:
    return with_minus_sign(f"{100 * share:+.{decimals}f} %")


def describe_turn_range() -> str:
    """Return the range by which a model's turns may change, in percent with signs."""
    return f"{_signed(TURNS_OF_A_MODEL.low)} to {_signed(TURNS_OF_A_MODEL.high)}"


HOLDS: Final = "savings hold on average, not always"

REPLAY_CAVEAT: Final = f"Assumes unchanged answers: {HOLDS}"
"""One line of 80 columns with a left margin of two."""

EXPERIMENTS: Final = (
    f"In public experiments with {MASKING.pairs:,} pairs of the same task, with and without masked tool results, "
    f"turns changed by {_signed(MASKING.turns.middle, 1)} ({_signed(MASKING.turns.low, 1)} to "
    f"{_signed(MASKING.turns.high, 1)}); "
    f"{MASKING.lost} tasks were lost and {MASKING.won} won. With a model outside these experiments, turns may change "
    f"by {describe_turn_range()}: inspector help evidence."
)
"""Evidence for the line, for places with more room."""

UNCERTAIN_ANSWERS: Final = "different answers"
"""Name of the range of a saving if the model answers differently from the recording."""


def uncertain_saving(saved: float | None, planned: float | None) -> UncertainSaving | None:
    """Estimate a plan's saving if the model takes more or fewer turns with it; None without a price."""
    if saved is None or planned is None:
        return None
    found = widened(Band(saved, saved, saved), planned)
    return UncertainSaving(
        turns_low_percent=round(100 * TURNS_OF_A_MODEL.low, PERCENT_DIGITS),
        turns_high_percent=round(100 * TURNS_OF_A_MODEL.high, PERCENT_DIGITS),
        low_usd=round(found.low, DOLLAR_DIGITS),
        high_usd=round(found.high, DOLLAR_DIGITS),
        known=dict.fromkeys(("low_usd", "high_usd"), HowKnown.PROJECTED.value),
    )


def describe_uncertain_saving(found: UncertainSaving) -> str:
    """Format the range in a few words: `~$1.20 to ~$8.30 saved, if turns change by` so many percent."""
    low, high = (IN_TEXT.qualified(IN_TEXT.dollars(each), "projected") for each in (found.low_usd, found.high_usd))
    return f"{low} to {high} saved, if turns change by {describe_turn_range()}"


CENTS_FROM = 0.1
"""Amounts of this many dollars or more have no digits below a cent."""

FINER_BELOW = 5
"""A spread with a lower leading digit gets one more digit: 4,900 rounds to hundreds, and so does 600."""


def about(band: Band, numbers: NumberFormat) -> str:
    """Format the middle of a band, rounded to its spread: `$1,400`."""
    return rounded_to(band.middle, band, numbers)


def between(band: Band, numbers: NumberFormat) -> str:
    """Format the ends of a band: `$1,000 to $1,600`; a single amount if both are equal."""
    least, most = rounded_to(band.low, band, numbers, math.floor), rounded_to(band.high, band, numbers, math.ceil)
    return least if least == most else f"{least} to {most}"


def rounded_to(value: float, band: Band, numbers: NumberFormat, towards: Callable[[float], float] = round) -> str:
    """Format dollars, rounded to the precision of a spread; ends of a range are never rounded optimistically."""
    step = _step(band)
    return numbers.short_dollars(value) if step is None else _written(value, step, numbers, towards)


def adding_up(before: Band, saved: Band, numbers: NumberFormat) -> tuple[str, str, str]:
    """Format cost without a plan, cost with it, and saving (negative for a loss), adding up as written."""
    step = min((each for each in (_step(before), _step(saved)) if each is not None), default=None)
    if step is None:
        after = before.middle - saved.middle
        return numbers.dollars(before.middle), numbers.dollars(after), numbers.dollars(saved.middle)
    if before.middle >= CENTS_FROM:
        step = max(step, 0.01)
    first, less = (round(round(each.middle / step, 6)) for each in (before, saved))
    one, two, three = (_written(count * step, step, numbers, round) for count in (first, first - less, less))
    return one, two, three


def _step(band: Band) -> float | None:
    """Return the unit to round a band to, according to its spread; None for a certain amount."""
    spread = band.high - band.low
    if not math.isfinite(spread) or spread <= 0:
        return None
    step = 10.0 ** math.floor(math.log10(spread))
    return step / 10 if spread < FINER_BELOW * step else step


def _written(value: float, step: float, numbers: NumberFormat, towards: Callable[[float], float]) -> str:
    return (numbers.whole_dollars if step >= 1 else numbers.dollars)(towards(round(value / step, 6)) * step)


def daily_saving(day: Band, numbers: NumberFormat, *, is_most: bool = False) -> str:
    """Describe the saving per day: `costs about $45 more a day`; before recoveries, `saves up to $45 a day`."""
    dollars = about(_positive(day), numbers)
    if day.middle < 0:
        return f"costs about {dollars} more a day"
    return f"saves {_nearness(is_most=is_most)} {dollars} a day"


def monthly_saving(month: Band, numbers: NumberFormat, *, is_most: bool = False) -> str:
    """Describe the saving per month with its range: `about $1,400 a month, $1,000 to $1,600`."""
    more = " more" if month.middle < 0 else ""
    shown = _positive(month)
    spread = between(shown, numbers)
    if month.middle < 0 < month.high:
        # A negative amount of extra cost would be hard to read.
        worst, best = (rounded_to(end, shown, numbers, math.ceil) for end in (-month.low, month.high))
        spread = f"between {worst} more and {best} less"
    middle = about(shown, numbers)
    nearness = _nearness(is_most=is_most and not more)
    return f"{nearness} {middle}{more} a month{'' if spread == middle else f', {spread}'}"


def _nearness(*, is_most: bool) -> str:
    return "up to" if is_most else "about"


def at_best(month: Band, numbers: NumberFormat) -> str:
    """Format the best end of the range as in the text: `$1,600`, or `$140 more` if it is still an extra cost."""
    if month.high < 0:
        return f"{rounded_to(-month.high, month, numbers, math.floor)} more"
    return rounded_to(month.high, month, numbers, math.ceil) + (" less" if month.middle < 0 else "")


def _positive(band: Band) -> Band:
    """Return a loss as an extra cost, a saving unchanged."""
    return band if band.middle >= 0 else as_loss(band)


def as_loss(band: Band) -> Band:
    return Band(-band.high, -band.middle, -band.low)


def bands_of(found: ProjectionFacts) -> tuple[Band, Band]:
    """Return a projected saving per day and per month."""
    month = Band(found.usd_per_month_low, found.usd_per_month, found.usd_per_month_high)
    if not found.days_per_month:
        return Band(found.usd_per_day, found.usd_per_day, found.usd_per_day), month
    day = Band(month.low / found.days_per_month, found.usd_per_day, month.high / found.days_per_month)
    return day, month


def saving_row(found: ProjectionFacts, numbers: NumberFormat, name: str = "") -> tuple[str, str]:
    """Return label and text of a line on a saving over many runs; `name` is the plan if not shown above."""
    day, month = bands_of(found)
    text = f"{daily_saving(day, numbers)}, {monthly_saving(month, numbers)}"
    return runs_a_day(runs_of(found)), f"{f'{name} ' if name else ''}{text}"


def runs_of(found: ProjectionFacts) -> RunsPerDay:
    return RunsPerDay(found.runs_per_day, found.runs_are_assumed)


def explained_value(explanation: Explanation, numbers: NumberFormat) -> str:
    """Format an explained figure with its mark, and a projection over many runs with its range."""
    band = explanation.band
    if band is not None:
        return f"about {about(band, numbers)}, {between(band, numbers)}"
    written = numbers.quantity(explanation.value, explanation.unit)
    return numbers.qualified(written, explanation.known.value, is_lower_bound=explanation.is_lower_bound)


def runs_a_day(runs: RunsPerDay) -> str:
    """Describe the number of runs and its origin: `1 run a day, assumed`."""
    return f"{runs.number:,.6g} {'run' if runs.number == 1 else 'runs'} a day, {runs.origin}"


StoreStamp = tuple[tuple[int, int], ...]


class KeptTrim(NamedTuple):
    """A trimmed result, and whether its original is stored for `inspector recall`."""

    trim: Trim
    is_kept: bool


@dataclass(frozen=True)
class SessionTrims:
    """A session's trims by the hook, newest by tool call id, and characters left out as in `inspector hook stats`."""

    by_call: Mapping[str, KeptTrim]
    count: int
    saved: int

    @property
    def in_words(self) -> str:
        """Summary in one line: `trimmed by the hook: 3 results, ~12,400 tokens saved`."""
        tokens = ON_SCREEN.whole(estimated_tokens(max(self.saved, 0)))
        return f"trimmed by the hook: {ON_SCREEN.plural(self.count, 'result')}, {ABOUT}{tokens} tokens saved"


def store_stamp() -> StoreStamp | None:
    """Return a stamp that changes when the hook trims another result; None if it has trimmed nothing."""
    folder, found = state_folder(), []
    for name in (f"{TRIMS}.1", TRIMS):
        try:
            status = os.stat(f"{folder}/{name}")  # noqa: PTH116  the folder is a string everywhere
        except OSError:
            continue
        found.append((status.st_mtime_ns, status.st_size))
    return tuple(found) or None


def session_trims(session: Session) -> SessionTrims | None:
    """Return a session's trims, including those of calls that it copied; None if there are none."""
    folder = state_folder()
    before = {link.identifier for link in session.links if link.kind is LinkKind.CONTINUED}
    of_it = {session.identifier, *before} - {""}
    recorded = [trim for trim in trims(folder) if trim.session in of_it]
    calls = {block.tool_call_id for block in session.all_blocks} if before and recorded else set()
    found = [trim for trim in recorded if trim.session == session.identifier or trim.identifier in calls]
    if not found:
        return None
    by_call = {trim.identifier: KeptTrim(trim, has_original(trim.identifier, trim.session, folder)) for trim in found}
    return SessionTrims(by_call, len(found), sum(trim.saved for trim in found))


def trim_in_words(kept: KeptTrim, recall: str) -> str:
    """Describe a trim: `trimmed by the hook: 12,400 → 2,000 tokens (est.), original: inspector recall ID`."""
    before, after = (ON_SCREEN.whole(estimated_tokens(each)) for each in (kept.trim.original, kept.trim.trimmed))
    original = f"original: {recall}" if kept.is_kept else "its original is no longer stored"
    return f"trimmed by the hook: {before} → {after} tokens (est.), {original}"
