"""Which limit of the plan matters most for this session: worked out in a thread, and said in a line."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.replay.analysis.limit_spread import limit_spreads
from inspector.replay.engine.renderer import ReplayCancelledError
from inspector.report.numbers import ON_SCREEN
from inspector.strategies.core.batching import GROUP
from inspector.ui.tune.limits import key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.analysis.limit_spread import LimitSpread
    from inspector.replay.analysis.tunable_limits import TunableLimit
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.strategies.plan import Plan
    from inspector.ui.controller.host_protocols import IsCancelled, Jobs, Post
    from inspector.ui.outcome import Outcome
    from inspector.ui.tune.limits import Limits

KEY_OF_MOST: Final = "*"

NOTICEABLE: Final = 0.001
"""Of the amount itself; a range that changes less changes nothing."""

SEARCHING: Final = "finding the limit that matters most …"


class Ranked(NamedTuple):
    """What is known of the limits of a plan.

    Attributes:
        plan: The plan.
        spreads: Its limits, the one that matters most first.
    """

    plan: Plan
    spreads: tuple[LimitSpread, ...]


class LimitRanking:
    """Finds the limit that matters most.

    Attributes:
        spreads: The limits of the plan, the one that matters most first; empty while that is not known.
        is_searching: More will be known.
    """

    def __init__(self, jobs: Jobs, found: Callable[[], None]) -> None:
        """Know nothing yet.

        Args:
            jobs: Runs replays.
            found: Called when the search is over.
        """
        self._jobs = jobs
        self._found = found
        self._plan: Plan | None = None
        self.spreads: tuple[LimitSpread, ...] = ()
        self.is_searching = False

    def search(self, limits: Limits, outcome: Outcome) -> None:
        """Try a few values of every limit of the plan, unless that has been done or is being done."""
        plan = limits.plan
        if self._plan == plan or not limits.axes:
            return
        self._plan, self.is_searching = plan, True
        axes = weighed(limits)
        inputs = outcome.inputs

        def work(post: Post[Ranked], is_cancelled: IsCancelled) -> None:
            post(Ranked(plan, _spreads(inputs.isolated(is_cancelled), plan, axes)))

        self._jobs.run(work, self._take, group="ranking", description="weigh the limits", failed=self._stop)

    def _stop(self) -> None:
        self.is_searching = False
        self._found()

    def _take(self, ranked: Ranked) -> None:
        if ranked.plan == self._plan:
            self.spreads = ranked.spreads
            self._stop()

    @property
    def most(self) -> LimitSpread | None:
        """The limit that matters most; None where that is not known, or none changes anything."""
        first = self.spreads[0] if self.spreads else None
        return first if first is not None and first.width > NOTICEABLE * first.most else None

    def words(self, limits: Limits) -> str:
        """Which limit matters most and why; empty where it is not known."""
        if self.is_searching and not self.spreads:
            return SEARCHING
        most = self.most
        if most is None:
            return "no limit of the plan changes what this session comes to" if self.spreads else ""
        range_of = f"{_amount(most, most.least)} to {_amount(most, most.most)}"
        what = "cost" if most.is_cost else "tokens"
        there = "" if key_of(most.axis) == key_of(limits.axis) else f" · {KEY_OF_MOST} goes there"
        if limits.axis.parameter.is_assumed:
            there = f"{there} · {_name(limits.axis, limits)} is assumed, not a limit"
        return f"{_name(most.axis, limits)} matters most here: {what} {range_of} over its range{there}"


def _spreads(inputs: ReplayInputs, plan: Plan, axes: tuple[TunableLimit, ...]) -> tuple[LimitSpread, ...]:
    spreads: tuple[LimitSpread, ...] = ()
    with suppress(ReplayCancelledError):
        for spreads in limit_spreads(inputs, plan, axes):  # noqa: B007  the last that was known in time
            pass
    return spreads


def weighed(limits: Limits) -> tuple[TunableLimit, ...]:
    """The limits that are weighed: of strategies that are on, or of all where none is, those that say what is cut.

    What is only assumed, as the size of the model's window, is no limit anyone could choose. When edits are held back
    says how much of the strategy there is at all: its whole saving lies in that range, which tells nothing about the
    plan.
    """
    on = tuple(axis for axis in limits.axes if limits.plan.entries[axis.entry].enabled) or limits.axes
    chosen = tuple(axis for axis in on if not axis.parameter.is_assumed) or on
    return tuple(axis for axis in chosen if axis.parameter.group != GROUP) or chosen


def _amount(spread: LimitSpread, amount: float) -> str:
    return ON_SCREEN.dollars(amount) if spread.is_cost else ON_SCREEN.short(amount)


def _name(axis: TunableLimit, limits: Limits) -> str:
    """The limit's name, with its strategy's where the plan has several."""
    name = axis.parameter.name.replace("-", " ")
    return name if len({each.entry for each in limits.axes}) == 1 else f"{axis.strategy} {name}"
