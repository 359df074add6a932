"""Plans to try: every strategy and built-in plan, its limits on a ladder of values, and its kinds of trigger.

A ladder multiplies and divides a plan's value, because the defaults of deployed strategies have the right order of
magnitude, and the best value may be anywhere between a sixteenth and sixteen times of it. The kind of trigger is a
dimension as well: edits are made at once or in batches (every n calls, above a number of tokens or a share of the
prompt, or once the cache is cold). It often matters more than the limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

from inspector.replay.analysis.sweep import TunableLimit, coarse_first, tunable_limits
from inspector.strategies.core.batching import GROUP as BATCHING
from inspector.strategies.core.batching import Batching
from inspector.strategies.core.parameters import TOKENS, ParameterError, ParameterKind, ToolList
from inspector.strategies.plan import Plan
from inspector.strategies.registry import value_of, with_value, with_values

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from inspector.strategies.core.parameters import Parameter, ParameterValue
    from inspector.strategies.core.strategy import Strategy

RATIOS: Final = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16)
"""Ratios of a ladder's values to its starting value."""

FEW: Final = 2
"""Maximum number of dimensions for a full grid."""

PAIRED: Final = 4
"""Maximum number of limits to try in pairs."""

ASSUMED: Final = frozenset({"summary-tokens", "characters-per-token", "allowance", "minimum-progress"})
"""Numeric parameters that are assumptions rather than limits."""

FROM_NOTHING: Final = {TOKENS: (2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 150_000)}
"""Ladder of a limit that is off, by unit."""
_FROM_NOTHING = (5, 10, 20, 40, 80)
_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)

_AT_ONCE: Final[Mapping[str, ParameterValue]] = {
    "batch-calls": 1,
    "batch-tokens": 0,
    "batch-share": 0,
    "batch-idle": 0,
    "batch-before": 100,
}

TRIGGERS: Final[tuple[Mapping[str, ParameterValue], ...]] = (
    {},
    {"batch-calls": 5},
    {"batch-calls": 20},
    {"batch-tokens": 5_000},
    {"batch-tokens": 20_000},
    {"batch-tokens": 60_000},
    {"batch-share": 10},
    {"batch-share": 30},
    {"batch-idle": 300},
    {"batch-before": 50},
)
"""When edits of text already sent are made, in addition to at once."""

_INFORMATIVE: Final[tuple[Mapping[str, ParameterValue], ...]] = ({"batch-calls": 20}, {"batch-tokens": 20_000})

_KINDS: Final[tuple[Mapping[str, ParameterValue], ...]] = (
    *_INFORMATIVE,
    {"batch-share": 30},
    {"batch-idle": 300},
    {"batch-before": 50},
)
"""One trigger of every kind, in addition to at once."""

_TIGHT, _WIDE = 0.25, 0.75
"""Positions of tight and wide limits on a ladder."""

OTHER_TRIGGERS: Final = (
    "anthropic-clear-tool-uses:trigger-type=tool-uses,trigger=40",
    "langchain-summarization:trigger-tokens=0,trigger-messages=80",
    "langchain-summarization:trigger-tokens=0,trigger-fraction=0.5",
    "summarize:trigger=prompt",
    "maf-truncation:unit=tokens,limit=100000,target=50000",
    "openhands-condenser:max-tokens=100000",
)
"""Strategies with several kinds of trigger, set to a kind other than the default."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A tunable dimension of a plan.

    Attributes:
        entry: Index of the strategy among the plan's entries.
        settings: Parameters to set at each step: one value of a limit, ascending, or those of a kind of trigger.
        limit: The limit; None for the kind of trigger.
    """

    entry: int
    settings: tuple[Mapping[str, ParameterValue], ...]
    limit: TunableLimit | None = None

    @classmethod
    def of_limit(cls, limit: TunableLimit, values: Iterable[float]) -> Dimension:
        name = limit.parameter.name
        return cls(limit.entry, tuple({name: limit.proper(value)} for value in values), limit)

    def __len__(self) -> int:
        return len(self.settings)

    @property
    def values(self) -> tuple[float, ...]:
        """Values of a limit, ascending; empty for a kind of trigger."""
        name = self.limit.parameter.name if self.limit is not None else ""
        found = (setting.get(name) for setting in self.settings)
        return tuple(float(value) for value in found if isinstance(value, int | float))

    def put(self, plan: Plan, step: int) -> Plan | None:
        """Return the plan at one step; None if the strategy rejects the value in combination with its others."""
        try:
            strategy = with_values(plan.entries[self.entry].strategy, self.settings[step])
        except ParameterError:
            return None
        return plan.with_strategy(self.entry, strategy)


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """One plan with all of its tunable dimensions, from its initial values."""

    plan: Plan
    limits: tuple[Dimension, ...]
    triggers: tuple[Dimension, ...]

    @classmethod
    def of(cls, plan: Plan) -> SearchSpace:
        """Return the tunable dimensions of a plan, from its enabled strategies."""
        limits = []
        for limit in tunable_limits(plan):
            strategy = plan.entries[limit.entry].strategy
            if plan.entries[limit.entry].enabled and is_limit(limit.parameter, strategy):
                limits.append(Dimension.of_limit(limit, ladder_of(limit, limit.value_in(plan))))
        triggers = [
            Dimension(index, tuple({**_AT_ONCE, **trigger} for trigger in TRIGGERS))
            for index, entry in enumerate(plan.entries)
            if entry.enabled and isinstance(entry.strategy, Batching)
        ]
        return cls(plan, tuple(limits), tuple(triggers))

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Limits, then kinds of trigger."""
        return (*self.limits, *self.triggers)

    @property
    def has_grid(self) -> bool:
        """True if it has few enough limits for a full grid."""
        return len(self.limits) <= FEW and len(self.triggers) <= 1

    def grid(self) -> Iterator[Plan]:
        """Yield every combination of limit values and kinds of trigger, a coarse grid first."""
        for trigger in self._triggered(self.plan):
            match self.limits:
                case ():
                    yield trigger
                case (one,):
                    yield from _put_all(trigger, ((one, step) for step in range(len(one))))
                case (down, across, *_):
                    for row, column in coarse_first(len(down), len(across)):
                        moved = down.put(trigger, row)
                        yield from _put_all(moved, [(across, column)]) if moved is not None else ()

    def _triggered(self, plan: Plan) -> Iterator[Plan]:
        for steps in product(*(range(len(each)) for each in self.triggers)):
            moved: Plan | None = plan
            for dimension, step in zip(self.triggers, steps, strict=True):
                moved = None if moved is None else dimension.put(moved, step)
            if moved is not None:
                yield moved

    def lines(self, plan: Plan) -> Iterator[Plan]:
        """Yield variants of a plan of the space with one change, over all steps of each dimension."""
        yield from _put_all(plan, ((each, step) for each in self.dimensions for step in range(len(each))))

    def pairs(self, plan: Plan) -> Iterator[Plan]:
        """Yield variants of a plan with two limits changed, over all their values; none if it has many limits."""
        for one, other in combinations(self.limits, 2) if len(self.limits) <= PAIRED else ():
            for step in range(len(one)):
                moved = one.put(plan, step)
                if moved is not None:
                    yield from _put_all(moved, ((other, value) for value in range(len(other))))

    def sketch(self) -> Iterator[Plan]:
        """Yield the plan and its most informative variants: each limit tight and wide, all widest, edits in batches."""
        yield self.plan
        for each in self.limits:
            yield from self._ends(each)
        yield from self._all_at(1.0)
        for each in self.triggers:
            yield from _put_all(self.plan, ((each, TRIGGERS.index(trigger)) for trigger in _INFORMATIVE))

    def _ends(self, limit: Dimension) -> Iterator[Plan]:
        """Yield the plan with one limit tight, and wide."""
        yield from _put_all(self.plan, ((limit, round(at * (len(limit) - 1))) for at in (_TIGHT, _WIDE)))

    def _all_at(self, position: float) -> Iterator[Plan]:
        """Yield the plan with all limits at one position on their ladders, except values that are rejected."""
        moved: Plan | None = self.plan
        for dimension in self.limits:
            put = dimension.put(moved, round(position * (len(dimension) - 1))) if moved is not None else None
            moved = put if put is not None else moved
        if moved is not None:
            yield moved

    def without(self, tells_nothing: Callable[[Plan, Collection[Plan]], bool]) -> SearchSpace:
        """Return the space without limits that make no difference, tight or wide, by a predicate."""
        limits = (each for each in self.limits if not tells_nothing(self.plan, tuple(self._ends(each))))
        return replace(self, limits=tuple(limits))

    def starts(self) -> tuple[Plan, ...]:
        """Return the starts of coordinate search: the plan, and all limits tight, wide or widest, by trigger."""
        found = [self.plan, *(plan for at in (_TIGHT, _WIDE, 1.0) for plan in self._all_at(at))]
        at_once = tuple(found)
        kinds = [(each, TRIGGERS.index(trigger)) for each in self.triggers for trigger in _KINDS]
        found += [triggered for start in at_once for triggered in _put_all(start, kinds)]
        return tuple(dict.fromkeys(found))


def _put_all(plan: Plan, places: Iterable[tuple[Dimension, int]]) -> Iterator[Plan]:
    for dimension, step in places:
        moved = dimension.put(plan, step)
        if moved is not None:
            yield moved


def is_limit(parameter: Parameter, strategy: Strategy) -> bool:
    """Return True if a numeric parameter is a limit in use with the strategy's other values."""
    if parameter.group == BATCHING:
        return value_of(strategy, parameter) != parameter.default
    if parameter.name in ASSUMED:
        return False
    if parameter.name == "window" and parameter.unit == TOKENS:
        return False
    per_tool = getattr(strategy, "per_tool", None)
    adaptive = getattr(strategy, "adaptive", None)
    if parameter.group == "adaptive":
        return adaptive != "off"
    return per_tool is not False or parameter.group in ("", "default")


def ladder_of(limit: TunableLimit, value: float) -> tuple[float, ...]:
    """Return the values to try for a limit, ascending, including its current one."""
    parameter = limit.parameter
    least, most = parameter.minimum or 0.0, parameter.maximum
    if value <= 0 or (value == 1 and parameter.kind is ParameterKind.WHOLE_NUMBER):
        steps: Sequence[float] = FROM_NOTHING.get(parameter.unit, _FROM_NOTHING)
        if parameter.kind is ParameterKind.NUMBER:
            steps = _SHARES
    else:
        steps = [ratio * value for ratio in RATIOS]
    tried = [value, *steps, *([least] if least <= 1 and value <= 100 else [])]
    return tuple(sorted({_within(limit, _typed(each)) for each in tried if most is None or each <= most}))


def between(limit: TunableLimit, value: float, ladder: Sequence[float], count: int) -> tuple[float, ...]:
    """Return values around one value of a limit, up to its neighbors on the ladder, in ratios if it is logarithmic."""
    below = max((each for each in ladder if each < value), default=value)
    above = min((each for each in ladder if each > value), default=value)
    low, high = limit.scale.fraction(below), limit.scale.fraction(above)
    values = {limit.scale.value(low + (high - low) * step / (count - 1)) for step in range(count)}
    return tuple(sorted({*values, value}))


def _within(limit: TunableLimit, value: float) -> float:
    proper = limit.proper(value)
    return float(proper) if isinstance(proper, int | float) else value


def _typed(value: float) -> float:
    """Round a number to two significant digits, like a typed value."""
    return float(f"{value:.2g}")


def keeping(plan: Plan, tools: Collection[str]) -> Plan:
    """Return the plan with tools exempted in every strategy that supports it."""
    for index, entry in enumerate(plan.entries):
        strategy = entry.strategy
        for parameter in strategy.parameters:
            if parameter.kind is ParameterKind.TOOLS and parameter.about is ToolList.LEFT_ALONE:
                known = value_of(strategy, parameter)
                names = known if isinstance(known, tuple) else ()
                more = tuple(tool for tool in tools if tool not in names)
                strategy = with_value(strategy, parameter.name, (*names, *more)) if more else strategy
        plan = plan.with_strategy(index, strategy)
    return plan


def spaces_of(bases: Iterable[Plan], keep: Collection[str] = ()) -> tuple[SearchSpace, ...]:
    """Return the search spaces of plans with other triggers; results of `keep` tools must not change."""
    plans = [plan for plan in bases if plan.strategies]
    alone = {plan.strategies[0].name for plan in plans if len(plan.strategies) == 1}
    others = [Plan.from_specs([spec]) for spec in OTHER_TRIGGERS if spec.partition(":")[0] in alone]
    # Without names, so that equal plans with different names are tried only once.
    nameless = dict.fromkeys(replace(keeping(plan, keep), name="") for plan in (*plans, *others))
    return tuple(SearchSpace.of(plan) for plan in nameless)
