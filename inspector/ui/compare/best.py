"""Which of the compared plans is the best, and the line that says so above their rows."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.replay.analysis.best_plan import WORTHWHILE
from inspector.replay.analysis.hazards import HazardKind
from inspector.replay.figure import HowKnown
from inspector.report.numbers import ON_SCREEN
from inspector.report.recovery_words import needed_words
from inspector.safe_text import one_line
from inspector.ui.compare.rows import BEST_MARK, PlanKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from inspector.replay.figure import Figure
    from inspector.ui.compare.rows import Contender

KEY_OF_BEST: Final = "*"
KEY_OF_FRONT: Final = "F"
LEAVES_OUT_WORDS: Final = "it leaves out what was said"
IS_REJECTED: Final = "a provider would reject it"

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
    """The plan that saves most if all it cut and was needed is fetched again, as `BestPlanSearch` chooses it."""
    return _most(filter(could_be_best, contenders), lambda each: each.share_at_least or 0.0)


def could_be_best(each: Contender) -> bool:
    """Whether a plan can be recommended, if it saves: it was replayed, is not rejected and leaves out no words."""
    return not (each.is_baseline or each.found is None or _is_rejected(each) or _leaves_out_words(each))


def _most(contenders: Iterable[Contender], share: Callable[[Contender], float]) -> Contender | None:
    saving = [each for each in contenders if not each.is_baseline and share(each) >= WORTHWHILE]
    saving.sort(key=lambda each: each.kind in _LAST)
    return max(saving, key=share, default=None)


def why_passed_over(each: Contender, best: Contender | None) -> str:
    """Why a plan is not the best one although it saves more at least; empty where it does not."""
    if each is best or each.is_baseline or (each.share_at_least or 0.0) < WORTHWHILE:
        return ""
    if best is not None and (each.share_at_least or 0.0) <= (best.share_at_least or 0.0):
        return ""
    if _leaves_out_words(each):
        return LEAVES_OUT_WORDS
    return IS_REJECTED if _is_rejected(each) else ""


def _is_rejected(each: Contender) -> bool:
    """Whether a provider would reject one of its prompts."""
    hazards = () if each.found is None else each.found.hazards
    return any(hazard.kind is HazardKind.ORPHANED_PAIR for hazard in hazards)


def _leaves_out_words(each: Contender) -> bool:
    return each.found is not None and each.found.leaves_out_words


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
        risk, short_risk = _risk(best)
        return Headline(
            f"{BEST_MARK} {of}: {name} saves {_saving(best)}; {risk}",
            f"{BEST_MARK} {of}: {name}, {_amount(best)}{short_risk}",
            f"{KEY_OF_BEST} goes there, {KEY_OF_FRONT} shows the front",
            is_good=True,
        )
    if waiting:
        return Headline("looking for the plan that saves most …", "looking for the best plan …")
    most = _most(contenders, attrgetter("saved_share"))
    if most is None:
        return Headline("no plan saves anything on this session", "no plan saves anything")
    needed = 0 if most.recoveries is None else most.recoveries.needed
    why = LEAVES_OUT_WORDS if _leaves_out_words(most) else IS_REJECTED
    risk = _risk(most)[0] if needed else why
    name, saving = one_line(most.name), _saving(most)
    return Headline(
        f"no plan saves for sure: {name} saves most, {saving}, but {risk}",
        f"no plan saves for sure; {name} {saving}, {needed} needed",
    )


def _risk(each: Contender) -> tuple[str, str]:
    """How many later calls needed what it cut and what that leaves of the saving, in full and as an addition."""
    found = each.recoveries
    if found is None or not found.needed:
        return needed_words(0, ON_SCREEN), ""
    said = needed_words(found.needed, ON_SCREEN)
    if found.band_low is None:
        return said, f", {ON_SCREEN.whole(found.needed)} needed"
    low = ON_SCREEN.marked(ON_SCREEN.dollars(found.band_low), HowKnown.ESTIMATED.value)
    return f"{said}, {low} if all is fetched again", f", at least {low}"


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
