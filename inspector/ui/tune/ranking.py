"""Find the limit of the plan with the largest effect on this session, in a thread, and describe it."""

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
"""Minimum width of a range relative to its amount; a smaller one counts as no effect."""

SEARCHING: Final = "finding the limit with the largest effect …"


class Ranked(NamedTuple):
    """Ranking of a plan's limits.

    Attributes:
        plan: The plan.
        spreads: Its limits, the largest effect first.
    """

    plan: Plan
    spreads: tuple[LimitSpread, ...]


class LimitRanking:
    """Finds the limit with the largest effect.

    Attributes:
        spreads: Limits of the plan, the largest effect first; empty until computed.
        is_searching: True while the search runs.
    """

    def __init__(self, jobs: Jobs, found: Callable[[], None]) -> None:
        """Create the ranking without starting a search.

        Args:
            jobs: Runs replays.
            found: Called when the search ends.
        """
        self._jobs = jobs
        self._found = found
        self._plan: Plan | None = None
        self.spreads: tuple[LimitSpread, ...] = ()
        self.is_searching = False

    def search(self, limits: Limits, outcome: Outcome) -> None:
        """Try a few values of every limit of the plan, unless that is done or running."""
        plan = limits.plan
        if self._plan == plan or not limits.axes:
            return
        self._plan, self.is_searching = plan, True
        axes = weighed(limits)
        inputs = outcome.inputs

        def work(post: Post[Ranked], is_cancelled: IsCancelled) -> None:
            post(Ranked(plan, _spreads(inputs.isolated(is_cancelled), plan, axes)))

        self._jobs.run(work, self._take, group="ranking", description="rank the limits", failed=self._stop)

    def _stop(self) -> None:
        self.is_searching = False
        self._found()

    def _take(self, ranked: Ranked) -> None:
        if ranked.plan == self._plan:
            self.spreads = ranked.spreads
            self._stop()

    @property
    def most(self) -> LimitSpread | None:
        """The limit with the largest effect; None if unknown, or if no limit has an effect."""
        first = self.spreads[0] if self.spreads else None
        return first if first is not None and first.width > NOTICEABLE * first.most else None

    def words(self, limits: Limits) -> str:
        """Describe the limit with the largest effect; empty if unknown."""
        if self.is_searching and not self.spreads:
            return SEARCHING
        most = self.most
        if most is None:
            return "no limit of the plan has an effect on this session" if self.spreads else ""
        range_of = f"{_amount(most, most.least)} to {_amount(most, most.most)}"
        what = "cost" if most.is_cost else "tokens"
        there = "" if key_of(most.axis) == key_of(limits.axis) else f" · {KEY_OF_MOST} goes there"
        if limits.axis.parameter.is_assumed:
            there = f"{there} · {_name(limits.axis, limits)} is an assumption, not a limit"
        return f"{_name(most.axis, limits)} has the largest effect: {what} {range_of} over its range{there}"


def _spreads(inputs: ReplayInputs, plan: Plan, axes: tuple[TunableLimit, ...]) -> tuple[LimitSpread, ...]:
    spreads: tuple[LimitSpread, ...] = ()
    with suppress(ReplayCancelledError):
        for spreads in limit_spreads(inputs, plan, axes):  # noqa: B007  keeps the last result before a cancellation
            pass
    return spreads


def weighed(limits: Limits) -> tuple[TunableLimit, ...]:
    """Return the limits to rank: of enabled strategies, or of all if none is enabled, without assumptions and batching.

    An assumption, such as the size of the model's window, is not a limit to choose. Parameters that delay edits
    range from the full saving to none in any plan, so their effect means nothing.
    """
    on = tuple(axis for axis in limits.axes if limits.plan.entries[axis.entry].enabled) or limits.axes
    chosen = tuple(axis for axis in on if not axis.parameter.is_assumed) or on
    return tuple(axis for axis in chosen if axis.parameter.group != GROUP) or chosen


def _amount(spread: LimitSpread, amount: float) -> str:
    return ON_SCREEN.dollars(amount) if spread.is_cost else ON_SCREEN.short(amount)


def _name(axis: TunableLimit, limits: Limits) -> str:
    """Name a limit, with its strategy if the plan has several."""
    name = axis.parameter.name.replace("-", " ")
    return name if len({each.entry for each in limits.axes}) == 1 else f"{axis.strategy} {name}"
