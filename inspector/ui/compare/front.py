"""Pareto front of the compared plans: saving against needed later.

A recommendable plan is on the front if no other saves more and is needed less often. Along the front both the saving
and the number of needed calls grow. The best plan is always included, because it is chosen by its saving net of
recoveries; so is the safest. Plans that are not recommended (they leave out user or assistant messages, or a provider
would reject them) are listed with a mark if they would be on the front otherwise, so that they are not overlooked.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.figure import HowKnown
from inspector.replay.tuning.trial_table import pareto_front
from inspector.report.catalogue import NeededLaterFacts, PlanFacts, quantity
from inspector.report.numbers import ON_SCREEN
from inspector.report.recovery_words import recovery_words
from inspector.safe_text import one_line
from inspector.ui.compare.best import KEEP_WORDS, is_recommendable, not_recommended_reason
from inspector.ui.compare.rows import (
    BEST_MARK,
    CURRENT_MARK,
    NOT_RECOMMENDED_MARK,
    NOTHING,
    PARTS,
    SAFEST_MARK,
    PlanKind,
    needed_cell,
    net_cell,
    saved_style,
)
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Length, Table, figure_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inspector.ui.compare.rows import CompareRow


def _title(path: str) -> str:
    return quantity(NeededLaterFacts, path).short_label


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
    known.sort(key=lambda each: each.kind in (PlanKind.YOURS, PlanKind.CURRENT))
    saved = np.array([_saved(each) for each in known], dtype=np.float64)
    needed = np.array([_needed(each) for each in known], dtype=np.int64)
    return [known[at] for at in pareto_front(saved, needed)]


def front_table(contenders: Sequence[CompareRow], best: CompareRow | None, safest: CompareRow | None = None) -> Table:
    """Build the table of the front: a row per plan, with a bar of its saving net and before re-fetches."""
    found = [*front_of(contenders, best, safest), *excluded_from_front(contenders)]
    found.sort(key=lambda each: (_needed(each), _saved(each)))
    marks = {each.key: NOT_RECOMMENDED_MARK for each in found if not_recommended_reason(each)}
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
    if each.key != best.key:
        return _compared_with_best(each, best)
    bolder = next((other for other in reversed(others) if _saved(other) > _saved(best)), None)
    if bolder is None:
        return f"largest saving, gross and net, of the plans that {KEEP_WORDS}"
    return (
        f"largest net saving of the plans that {KEEP_WORDS}; "
        f"{one_line(bolder.name)} saves more before re-fetches, but {_terms(bolder)}"
    )


def _compared_with_best(each: CompareRow, best: CompareRow) -> str:
    name, needs = one_line(best.name), _needed(each) - _needed(best)
    if needs < 0:
        return (
            f"{ON_SCREEN.plural(-needs, 'fewer call')} needed cut text than with {BEST_MARK} {name}, but it saves less"
        )
    if each.recoveries is None or each.recoveries.band_low is None:
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
        cells["each"] = _estimated(found.cost_each)
        even = found.break_even
        cells["used-up"] = (
            Cell(NOTHING, style="table--faint") if even is None else Cell(ON_SCREEN.whole(even), order=float(even))
        )
        if found.band_low is not None and found.saved is not None and most > 0:
            low = max(found.band_low, 0.0)
            length = Length(PARTS * low / most, PARTS * found.saved / most, PARTS)
            cells["band"] = Cell(order=found.band_low, length=length)
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
