"""Which of the compared plans is the best, and the line that says so above their rows."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.replay.analysis.best_plan import WORTHWHILE
from inspector.replay.analysis.hazards import HazardKind
from inspector.replay.figure import HowKnown
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.ui.compare.rows import BEST_MARK, PlanKind, needed_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inspector.replay.figure import Figure
    from inspector.ui.compare.rows import Contender

KEY_OF_BEST: Final = "*"

_LAST: Final = (PlanKind.YOURS, PlanKind.CURRENT)
"""Of plans that save the same, one that comes with the program is the best, and not its copy."""


class Headline(NamedTuple):
    """What the line above the rows says.

    Attributes:
        said: Which plan is the best, and what it saves.
        short: The same in fewer words.
        key: What a key does about it; empty for none.
        is_good: There is a plan to recommend.
    """

    said: str
    short: str
    key: str = ""
    is_good: bool = False


def best_of(contenders: Iterable[Contender]) -> Contender | None:
    """The plan that saves most of those that cut nothing a later call needed, as `BestPlanSearch` chooses it."""
    return _most(each for each in contenders if each.needed == 0 and not _is_rejected(each))


def _most(contenders: Iterable[Contender]) -> Contender | None:
    saving = [each for each in contenders if not each.is_baseline and each.saved_share >= WORTHWHILE]
    saving.sort(key=lambda each: each.kind in _LAST)
    return max(saving, key=attrgetter("saved_share"), default=None)


def _is_rejected(each: Contender) -> bool:
    """Whether a provider would reject one of its prompts."""
    hazards = () if each.found is None else each.found.hazards
    return any(hazard.kind is HazardKind.ORPHANED_PAIR for hazard in hazards)


def headline(contenders: Sequence[Contender], best: Contender | None, waiting: int) -> Headline:
    """The line above the rows.

    Args:
        contenders: The plans.
        best: The best of them so far.
        waiting: How many are not replayed yet.
    """
    if best is not None:
        of = "best so far" if waiting else "best plan"
        name = one_line(best.name)
        return Headline(
            f"{BEST_MARK} {of} without needed cuts: {name} saves {_saving(best)}",
            f"{BEST_MARK} saves most{' so far' if waiting else ''} without needed cuts: {name}, {_amount(best)}",
            f"{KEY_OF_BEST} goes there",
            is_good=True,
        )
    if waiting:
        return Headline("looking for the best plan without needed cuts …", "looking for the best plan …")
    most = _most(contenders)
    if most is None:
        return Headline("no plan saves anything on this session", "no plan saves anything")
    risk = needed_words(most.needed) if most.needed else "a provider would reject it"
    name, saving = one_line(most.name), _saving(most)
    return Headline(
        f"no plan saves without cutting needed text: {name} saves most, {saving}, but {risk}",
        f"no plan saves without needed cuts; {name} {saving}, {most.needed or 0} needed",
    )


def _saving(each: Contender) -> str:
    priced = each.found is not None and each.found.savings.usd.value is not None
    return f"{_amount(each)} ({ON_SCREEN.share(each.saved_share)})" if priced else _amount(each)


def _amount(each: Contender) -> str:
    if each.found is None:
        return ""
    usd, share = each.found.savings.usd, each.found.savings.share
    if usd.value is None:
        return f"{_about(share)}{ON_SCREEN.share(share.value)} of the tokens"
    return f"{_about(usd)}{ON_SCREEN.dollars(usd.value)}"


def _about(figure: Figure) -> str:
    return "~" if figure.known in (HowKnown.ESTIMATED, HowKnown.PROJECTED) else ""
