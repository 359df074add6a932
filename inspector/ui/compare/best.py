"""Choose the best of the compared plans, and build the headlines above the rows."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.replay.analysis.best_plan import WORTHWHILE
from inspector.replay.analysis.recoveries import Exclusion, NeededLater
from inspector.replay.figure import HowKnown
from inspector.replay.quantity import quantity
from inspector.replay.tuning.trials import pareto_front
from inspector.report.catalogue import PlanFacts
from inspector.report.export import NONE_RECOMMENDED, answer_for, part_of
from inspector.report.numbers import ON_SCREEN
from inspector.report.recovery_words import (
    NOTHING_SAVES,
    NOTHING_WORTHWHILE,
    PlanSaving,
    plan_saving,
    recovery_words,
)
from inspector.safe_text import one_line
from inspector.strategies.presets import display_name
from inspector.ui.compare.rows import (
    APPLIES_MARK,
    BEST_MARK,
    CURRENT_MARK,
    NOT_RECOMMENDED_MARK,
    NOTHING,
    PARTS,
    SAFEST_MARK,
    UNTESTED_MARK,
    CompareRow,
    PlanKind,
    leaves_out,
    needed_cell,
    net_cell,
    saved_style,
)
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Length, Table, figure_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


KEY_OF_BEST: Final = "*"
KEY_OF_FRONT: Final = "F"
KEEP_WORDS: Final = "keep all user and assistant text"
_SHARE_OF_THE_BEST: Final = 0.5
_EXCLUDED_MARKS: Final = (NOT_RECOMMENDED_MARK, UNTESTED_MARK)


class Headline(NamedTuple):
    """Line above the rows.

    Attributes:
        text: The recommended plan and its saving.
        short: Shorter form of `text`.
        gone: Kinds of content it leaves out, as an addition; empty for none.
        gone_short: Shorter form of `gone`.
        key: Key hint; empty for none.
        is_good: True if a plan is recommended.
    """

    text: str
    short: str
    gone: str = ""
    gone_short: str = ""
    key: str = ""
    is_good: bool = False

    def wordings(self) -> Iterator[str]:
        """Yield the line in decreasing length."""
        for text, gone in (
            (self.text, self.gone),
            (self.short, self.gone),
            (self.short, self.gone_short),
            (self.short, ""),
        ):
            yield f"{text}; {gone}" if gone else text


def best_of(contenders: Iterable[CompareRow]) -> CompareRow | None:
    """Return the built-in plan with the largest net saving, as `BestPlanSearch` chooses it."""
    plans = (each for each in contenders if is_recommendable(each) and not (each.is_part or each.is_own))
    return _most(plans, lambda each: each.net_share or 0.0)


def parts_of(contenders: Sequence[CompareRow], format_name: str) -> list[CompareRow]:
    """Build the applicable parts of plans that the session's agent cannot apply as a whole, without duplicates.

    Args:
        contenders: The plans.
        format_name: Format of the session.
    """
    known = {each.plan.strategies for each in contenders}
    parts = []
    for each in contenders:
        named = each.plan if each.plan.name else replace(each.plan, name=each.name)
        plan = None if each.answer is None else part_of(format_name, named)
        if plan is None or plan.strategies in known:
            continue
        known.add(plan.strategies)
        name = display_name(plan.name)
        parts.append(CompareRow(plan.name, name, plan, PlanKind.PART, answer=answer_for(format_name, plan)))
    return parts


def applicable_part(contenders: Iterable[CompareRow], each: CompareRow) -> CompareRow | None:
    """Return the applicable part of a plan; None if the agent can apply all or nothing of it."""
    if each.answer is None or not each.answer.is_lacking or not each.answer.applied:
        return None
    return next((other for other in contenders if other.plan.strategies == each.answer.applied), None)


def applicable_of(contenders: Iterable[CompareRow]) -> CompareRow | None:
    """Return the best plan that the session's agent can apply, including parts of plans."""
    plans = [each for each in contenders if is_recommendable(each) and each.can_be_applied and not each.is_own]
    return _most(sorted(plans, key=attrgetter("is_part")), lambda each: each.net_share or 0.0)


def is_recommendable(each: CompareRow) -> bool:
    """Return True if a plan may be recommended: it is replayed, not rejected, and keeps user and assistant messages."""
    if each.is_baseline or each.found is None or each.exclusion is not None:
        return False
    return each.recoveries is None or each.recoveries.is_recommendable


def _most(contenders: Iterable[CompareRow], share: Callable[[CompareRow], float]) -> CompareRow | None:
    saving = [each for each in contenders if not each.is_baseline and share(each) >= WORTHWHILE]
    saving.sort(key=attrgetter("is_own"))
    return max(saving, key=share, default=None)


def safest_of(contenders: Iterable[CompareRow]) -> CompareRow | None:
    """Return the plan with the fewest expected re-fetches, among plans that may be best and save for sure.

    Plans that reach half of the best saving with fewer re-fetches than the best are preferred: a plan that has none
    because it changes almost nothing is not chosen, nor one without a known rate. Ties go to the larger net saving.
    """
    found = [
        each
        for each in contenders
        if is_recommendable(each) and not (each.is_part or each.is_own) and each.is_measured
        if (each.net_share or 0.0) >= WORTHWHILE
    ]
    best = max(found, key=lambda each: each.net_share or 0.0, default=None)
    if best is None:
        return None
    enough = _SHARE_OF_THE_BEST * (best.net_share or 0.0)
    safer = [each for each in found if _refetches(each) < _refetches(best) and (each.net_share or 0.0) >= enough]
    return min(safer or found, key=lambda each: (_refetches(each), -(each.net_share or 0.0)))


def _refetches(each: CompareRow) -> float:
    return 0.0 if each.recoveries is None else each.recoveries.expected.count.rate


def not_recommended_reason(each: CompareRow) -> str:
    """Return why a plan is never recommended; empty if it may be, or if it is not replayed yet."""
    evidence = "" if each.recoveries is None else each.recoveries.envelope.reason
    return "" if each.exclusion is None else each.exclusion.in_full(evidence)


def not_recommended_text(each: CompareRow, best: CompareRow | None) -> str:
    """Explain why a plan is not recommended, and whether it saves more than the best plan."""
    reason = not_recommended_reason(each)
    if not reason:
        return ""
    if (each.net_share or 0.0) > (0.0 if best is None else best.net_share or 0.0):
        return f"saves more net, but {reason}"
    return f"{reason}, and it is unknown whether that was needed" if each.exclusion is Exclusion.DROPS_TEXT else reason


def not_recommended_legend(contenders: Iterable[CompareRow]) -> str:
    """Return the legend of the marks for plans that are not recommended; empty if there are none."""
    marks = {each.exclusion: each.excluded_mark for each in contenders}
    reasons = {mark: [each.short for each in Exclusion if marks.get(each) == mark] for mark in _EXCLUDED_MARKS}
    return "  ".join(f"{mark} {' or '.join(words)}" for mark, words in reasons.items() if words)


def safest_line(best: CompareRow | None, safest: CompareRow | None, waiting: int) -> Headline | None:
    """Build the line about the safest plan; None if it is the best plan or there is none."""
    if safest is None or best is None or safest.key == best.key or not best.is_measured:
        return None
    of, saving = f"{SAFEST_MARK} safer{' so far' if waiting else ''}", _saving(safest)
    own = ON_SCREEN.plural(round(_refetches(safest)), "re-fetch")
    instead = ON_SCREEN.whole(round(_refetches(best)))
    return Headline(
        f"{of} {saving.in_short(ON_SCREEN)}{_less_net(safest, best)}; about {own}, {instead} with the best plan",
        f"{of}: {saving.named(ON_SCREEN)}; {own} (best: {instead})",
        *_gone(safest),
        is_good=True,
    )


def applicable_line(contenders: Iterable[CompareRow], best: CompareRow | None, waiting: int) -> Headline | None:
    """Build the line about the best plan that the session's agent can apply.

    Returns None if the best plan is applicable, if no plan is recommended, or if the agent's
    abilities are unknown.
    """
    known = [each for each in contenders if each.answer is not None and each.answer.applied is not None]
    if (best is not None and best.can_be_applied) or not known or known[0].answer is None:
        return None
    answer, found = known[0].answer, applicable_of(known)
    so_far = " so far" if waiting else ""
    if found is None and best is None:
        return None
    if found is None:
        answered = f"{answer.can_apply(NONE_RECOMMENDED)}{so_far}"
        return Headline(f"{answered}; w e exports a plan as code", answered)
    saving = _saving(found)
    return Headline(
        f"{APPLIES_MARK} best plan {answer.can}{so_far} {saving.in_full(ON_SCREEN)}",
        f"{APPLIES_MARK} best plan for {answer.agent}{so_far} {saving.in_short(ON_SCREEN)}",
        *_gone(found),
        is_good=True,
    )


def _less_net(safest: CompareRow, best: CompareRow) -> str:
    """Describe by how much the net saving is smaller than the best plan's; empty without a price."""
    most, own = (None if each.recoveries is None else each.recoveries.net[0] for each in (best, safest))
    if most is None or own is None:
        return ""
    less = ON_SCREEN.qualified(ON_SCREEN.dollars(most - own), "estimated")
    return f", {less} less than the best"


def _gone(each: CompareRow) -> tuple[str, str]:
    gone = leaves_out(each)
    return (f"leaves out {gone}", f"cuts {gone.replace('tool ', '')}") if gone else ("", "")


def recommended_of(contenders: Sequence[CompareRow]) -> CompareRow | None:
    """Return the plan to use: the best that the session's agent can apply, otherwise the best; None for neither."""
    return applicable_of(contenders) or best_of(contenders)


def headlines(contenders: Sequence[CompareRow], waiting: int) -> tuple[Headline, ...]:
    """Build the lines above the rows: first what the session's agent can apply, then the best plan for other code.

    Args:
        contenders: The plans.
        waiting: Number of plans not replayed yet.
    """
    best, safest, applicable = best_of(contenders), safest_of(contenders), applicable_of(contenders)
    own = applicable_line(contenders, best, waiting)
    of_best, safer = headline(contenders, best, waiting, safest), safest_line(best, safest, waiting)
    found: tuple[Headline | None, ...]
    if own is None:
        found = (of_best, safer)
    elif applicable is None:
        found = (of_best, safer, own)
    else:
        found = (own, of_best if best is not None else None, safer)
    first, *others = (each for each in found if each is not None)
    marks = {BEST_MARK: best, SAFEST_MARK: safest, APPLIES_MARK: applicable}
    recommended = recommended_of(contenders)
    shown = next((mark for mark, each in marks.items() if recommended is not None and each is recommended), "")
    key = f"{KEY_OF_BEST} uses {shown}, {KEY_OF_FRONT} shows the front" if shown else ""
    return (first._replace(key=key), *others)


def headline(
    contenders: Sequence[CompareRow], best: CompareRow | None, waiting: int, safest: CompareRow | None = None
) -> Headline:
    """Build the line above the rows.

    Args:
        contenders: The plans.
        best: The best plan so far.
        waiting: Number of plans not replayed yet.
        safest: The safest plan so far.
    """
    if best is not None:
        also = ", also the safest," if safest is not None and safest.key == best.key else ""
        of, short_of = ("best so far",) * 2 if waiting else ("best plan", "best")
        saving = _saving(best)
        return Headline(
            f"{BEST_MARK} {of}{also} {saving.in_full(ON_SCREEN)}",
            f"{BEST_MARK} {short_of} {saving.in_short(ON_SCREEN)}",
            *_gone(best),
            is_good=True,
        )
    if waiting:
        return Headline("looking for the plan with the largest net saving …", "looking for the best plan …")
    most = _most(contenders, attrgetter("saved_share"))
    if most is None:
        return Headline(NOTHING_SAVES, NOTHING_WORTHWHILE)
    saving, in_short = _saving(most), "" if most.exclusion is None else most.exclusion.short
    in_full = not_recommended_reason(most)
    return Headline(saving.why_not(in_full, ON_SCREEN), saving.why_not(in_short, ON_SCREEN, is_short=True))


def _saving(each: CompareRow) -> PlanSaving:
    """Return the saving of a plan; nothing until replayed."""
    name = one_line(each.name)
    if each.found is None:
        return PlanSaving(name, None, None, "", (None, None), None)
    return plan_saving(name, each.found.savings, each.recoveries)


def _title(path: str) -> str:
    return quantity(NeededLater, path).short_label


COLUMNS: Final = (
    Column("name", "plan", 17, 34, is_text=True, falls=False, keeps_end=True),
    Column("kind", "kind", 8, is_text=True, falls=False, rank=3),
    Column("needed", "needed", 7, falls=False),
    Column("each", _title("cost_each_usd"), 7, 9, falls=False, rank=2),
    Column("band", "█ net ░ saved", 10, 40, is_bar=True, short="█ net ░", rank=5),
    Column("net", _title("saved_at_least_usd"), 9, 10),
    Column("saved", quantity(PlanFacts, "saved.usd").short_label, 9, 10),
    Column("share", quantity(PlanFacts, "saved.percent").short_label, 8, rank=1),
    Column("used-up", _title("break_even_recoveries"), 10, rank=4),
)


def front_of(
    contenders: Iterable[CompareRow], best: CompareRow | None, safest: CompareRow | None = None
) -> tuple[CompareRow, ...]:
    """Return the plans of the front, ordered from the most careful one.

    Args:
        contenders: Plans, replayed or not.
        best: The best plan; included even if another one saves more and is needed as often, at a higher cost.
        safest: The safest plan; always included.
    """
    found = _not_beaten([each for each in contenders if is_recommendable(each) and not each.is_part])
    for each in (best, safest):
        if each is not None and all(each.key != other.key for other in found):
            found.append(each)
    return tuple(sorted(found, key=lambda each: (_needed(each), _saved(each))))


def excluded_from_front(contenders: Iterable[CompareRow]) -> tuple[CompareRow, ...]:
    """Return plans that are not recommended but that no other plan dominates."""
    known = [each for each in contenders if not (each.is_baseline or each.is_part) and each.found is not None]
    return tuple(each for each in _not_beaten(known) if not_recommended_reason(each))


def _not_beaten(contenders: Iterable[CompareRow]) -> list[CompareRow]:
    known = [each for each in contenders if each.recoveries is not None]
    # In a tie, a built-in plan wins over its copy.
    known.sort(key=attrgetter("is_own"))
    saved = np.array([_saved(each) for each in known], dtype=np.float64)
    needed = np.array([_needed(each) for each in known], dtype=np.int64)
    return [known[at] for at in pareto_front(saved, needed)]


def front_table(contenders: Sequence[CompareRow], best: CompareRow | None, safest: CompareRow | None = None) -> Table:
    """Build the table of the front: a row per plan, with a bar of its saving net and before re-fetches."""
    found = [*front_of(contenders, best, safest), *excluded_from_front(contenders)]
    found.sort(key=lambda each: (_needed(each), _saved(each)))
    marks = {each.key: each.excluded_mark for each in found}
    marks |= {each.key: mark for each, mark in ((safest, SAFEST_MARK), (best, BEST_MARK)) if each is not None}
    most = max((each.found.savings.usd.value or 0.0 for each in found if each.found is not None), default=0.0)
    return Table(COLUMNS, tuple(_row(each, most, marks.get(each.key, "")) for each in found))


def why(each: CompareRow, best: CompareRow | None, others: Sequence[CompareRow]) -> str:
    """Explain in a sentence or two why a plan is the best, or how it compares with the best.

    Args:
        each: A plan.
        best: The best plan; None if no plan saves for sure.
        others: The plans of the front.
    """
    if best is None or each.found is None or each.recoveries is None:
        return ""
    if each.is_own and (each.net_share or 0.0) > (best.net_share or 0.0):
        return f"saves more net here; {BEST_MARK} is a built-in plan, since your own may fit this session only"
    if each.key != best.key:
        return _compared_with_best(each, best)
    bolder = next((other for other in reversed(others) if _saved(other) > _saved(best)), None)
    if bolder is None:
        gross = "" if each.recoveries.net[0] is None else ", gross and net,"
        return f"largest saving{gross} of the tested built-in plans that {KEEP_WORDS}"
    return (
        f"largest net saving of the tested built-in plans that {KEEP_WORDS}; "
        f"more is saved before re-fetches with {one_line(bolder.name)}, but {_terms(bolder)}"
    )


def _compared_with_best(each: CompareRow, best: CompareRow) -> str:
    name, needs = one_line(best.name), _needed(each) - _needed(best)
    if needs < 0:
        return (
            f"{ON_SCREEN.plural(-needs, 'fewer call')} needed cut text than with {BEST_MARK} {name}, but it saves less"
        )
    if each.recoveries is None or each.recoveries.net[0] is None:
        return f"{_terms(each)}; without a price the cost of re-fetches is unknown"
    return f"{_terms(each)}; its extra saving over {BEST_MARK} {name} is less than the cost of re-fetches"


def _terms(each: CompareRow) -> str:
    """Describe `12 later calls needed cut text, so that it saves $0.50, net ~$0.10`."""
    found = each.recoveries
    if found is None:
        return ""
    return recovery_words(found.refetched, found.needed, (found.saved, found.net), None, ON_SCREEN)


def _row(each: CompareRow, most: float, mark: str) -> FigureRow:
    cells = {
        "name": Cell(one_line(each.name), style="table--name" if mark == BEST_MARK else "", order=each.name),
        "kind": Cell(each.kind.value, order=each.kind.value),
        "needed": needed_cell(each),
        "net": net_cell(each),
    }
    if each.found is not None:
        savings = each.found.savings
        style = saved_style(each, savings)
        cells["saved"] = figure_cell(savings.usd, ON_SCREEN.dollars, style=style)
        cells["share"] = figure_cell(savings.share, ON_SCREEN.share, style=style)
    found = each.recoveries
    if found is not None:
        cells["each"] = _estimated(found.later.cost_each_usd)
        even, (low, _) = found.later.break_even_recoveries, found.net
        cells["used-up"] = (
            Cell(NOTHING, style="table--faint") if even is None else Cell(ON_SCREEN.whole(even), order=float(even))
        )
        if low is not None and found.saved is not None and most > 0:
            length = Length(PARTS * max(low, 0.0) / most, PARTS * found.saved / most, PARTS)
            cells["band"] = Cell(order=low, length=length)
    return FigureRow(each.key, cells, mark or (CURRENT_MARK if each.is_current else " "))


def _estimated(usd: float | None) -> Cell:
    if usd is None:
        return Cell(NOTHING, style="table--faint")
    known = HowKnown.ESTIMATED.value
    return Cell(ON_SCREEN.qualified(ON_SCREEN.dollars(usd), known), known=(known,), order=usd)


def _saved(each: CompareRow) -> float:
    """Return the saving before recoveries as a share of the cost, or of the prompt tokens; NaN if unknown."""
    share = None if each.found is None else each.found.savings.share.value
    return nan if share is None else share


def _needed(each: CompareRow) -> int:
    return 0 if each.recoveries is None else each.recoveries.needed
