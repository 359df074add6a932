"""Results of a plan: its differences from the other plan, and its risks."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.analysis.recoveries import Exclusion, Need, Recoveries
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.session.model import Session, TextUnavailableError
from inspector.strategies.registry import unit_of, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from inspector.replay.analysis.alternatives import BreakpointPrices
    from inspector.replay.analysis.hazards import Hazard
    from inspector.replay.analysis.plan_outcome import PlanOutcome
    from inspector.replay.figure import Figure
    from inspector.strategies.plan import Plan, PlanEntry
    from inspector.ui.plan.plans import LimitMove
    from inspector.ui.timeline.view import TimelineView


ABSENT = "·"


@dataclass(frozen=True, eq=False)
class OtherPlan:
    """The other plan, replayed on the same session; compared by identity.

    Attributes:
        letter: `A` or `B`.
        plan: The plan.
        totals: Totals of its replay.
        first_change: First call it changes; None if it changes none.
    """

    letter: str
    plan: Plan
    totals: PlanOutcome
    first_change: int | None


class DifferenceRow(NamedTuple):
    """A difference between two plans.

    Attributes:
        name: Name of the setting or figure.
        here: Value in the plan on the screen.
        there: Value in the other plan.
        change: Change from switching to the other plan; empty if it is not a number.
    """

    name: str
    here: str
    there: str
    change: str = ""


def figure_rows(here: PlanOutcome, there: PlanOutcome) -> list[DifferenceRow]:
    """Compare the figures of two plans on one session. Changes are from the first to the second."""
    shown_figures: list[tuple[str, Callable[[PlanOutcome], Figure], Callable[[float], str]]] = [
        ("cost", lambda each: each.figures.cost_usd, ON_SCREEN.dollars),
        ("saved", lambda each: each.savings.usd, ON_SCREEN.dollars),
        ("prompt tokens", lambda each: each.figures.prompt_tokens, ON_SCREEN.short),
        ("largest prompt", lambda each: each.figures.peak_prompt_tokens, ON_SCREEN.short),
        ("prompts changed by the plan", lambda each: each.cache.figure("plan_breaks"), ON_SCREEN.whole),
        ("cost of changes", lambda each: each.cache.figure("break_usd"), ON_SCREEN.dollars),
        ("breaks even at call", lambda each: each.break_even_call, ON_SCREEN.whole),
    ]
    rows = []
    for name, read, shown in shown_figures:
        first, second = read(here), read(there)
        change = ""
        if first.value is not None and second.value is not None:
            change = ON_SCREEN.qualified(_signed(second.value - first.value, shown), second.known.value)
        ours, theirs = (
            ABSENT
            if each.value is None
            else ON_SCREEN.qualified(shown(each.value), each.known.value, is_lower_bound=each.is_lower_bound)
            for each in (first, second)
        )
        rows.append(DifferenceRow(name, ours, theirs, change))
    return rows


def brief(here: PlanOutcome, other_result: OtherPlan) -> str:
    """Return two short lines about the effect of switching to the other plan."""
    cost, _, tokens, _, changed, *_ = figure_rows(here, other_result.totals)
    first = cost.change or f"{tokens.there} tokens"
    return f"switch to {other_result.letter}: {first}\n  {tokens.change} tokens, {changed.change} changed prompts"


def setting_rows(here: Plan, there: Plan) -> list[DifferenceRow]:
    """Compare the settings of two plans. Strategies are matched by name and order."""
    ours, theirs = here.entries, there.entries
    matcher = SequenceMatcher(None, [e.strategy.name for e in ours], [e.strategy.name for e in theirs], autojunk=False)
    rows: list[DifferenceRow] = []
    for kind, first, last, other_first, other_last in matcher.get_opcodes():
        if kind == "equal":
            for ours_entry, theirs_entry in zip(ours[first:last], theirs[other_first:other_last], strict=True):
                rows += _entry_rows(ours_entry, theirs_entry)
        else:
            rows += [DifferenceRow(each.strategy.name, _state(each), ABSENT) for each in ours[first:last]]
            rows += [DifferenceRow(each.strategy.name, ABSENT, _state(each)) for each in theirs[other_first:other_last]]
    return rows


def change_words(here: Plan, there: Plan) -> str:
    """Describe the first of the settings that differ, and the number of others; empty if none does."""
    rows = setting_rows(here, there)
    if not rows:
        return "" if here == there else "order of the strategies"
    more = "" if len(rows) == 1 else f" and {ON_SCREEN.plural(len(rows) - 1, 'more change')}"
    name, was, becomes = rows[0].name, rows[0].here, rows[0].there
    if ABSENT in (was, becomes):
        return f"{name} {'added' if was == ABSENT else 'removed'}{more}"
    return f"{name} {was} → {becomes}{more}"


def moved_words(move: LimitMove, plan: Plan, totals: PlanOutcome) -> str:
    """Describe a moved limit: `data 400 → 150 tokens: -12k prompt tokens in all calls, cost -$0.31`."""
    entry, name = move.limit
    here, there = move.plan.entries[entry], plan.entries[entry]
    rows = [row for row in _entry_rows(here, there) if row.name.endswith(f": {name}")]
    if not rows:
        return f"{name.replace('-', ' ')}: as before"
    cost, _, tokens, *_ = figure_rows(move.totals, totals)
    was = rows[0].here.partition(" ")[0] if here.enabled else "off"
    parts = (f"{tokens.change} prompt tokens in all calls", cost.change and f"cost {cost.change}")
    effect = ", ".join(filter(None, parts))
    return f"{name.replace('-', ' ')} {was} → {rows[0].there}: {effect}"


def _entry_rows(here: PlanEntry, there: PlanEntry) -> list[DifferenceRow]:
    name = here.strategy.name
    rows = []
    if here.enabled != there.enabled:
        rows.append(DifferenceRow(name, _state(here), _state(there)))
    for parameter in here.strategy.parameters:
        ours, theirs = value_of(here.strategy, parameter), value_of(there.strategy, parameter)
        if ours != theirs:
            shown = (
                shown_value(ours, unit_of(here.strategy, parameter)),
                shown_value(theirs, unit_of(there.strategy, parameter)),
            )
            rows.append(DifferenceRow(f"{name}: {parameter.name}", *shown))
    return rows


def _state(entry: PlanEntry) -> str:
    return "on" if entry.enabled else "off"


def shown_value(value: object, unit: str) -> str:
    """Format a parameter's value in one line: `24,000 characters`, `Bash, Read`, `on`."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return one_line(", ".join(value)) or "none"
    if isinstance(value, int | float):
        return f"{value:,} {unit}".rstrip()
    return one_line(str(value)) or "empty"


def _signed(change: float, shown: Callable[[float], str]) -> str:
    text = shown(change)
    return f"+{text}" if change > 0 else text


@dataclass(frozen=True, eq=False)
class Risks:
    """Risks of one plan.

    Attributes:
        session: The replayed session.
        hazards: Risks by kind.
        needed: Cut text that later calls needed; None until computed.
        prices: Cost by cache breakpoints; None until computed, or if no provider of the session uses them.
    """

    session: Session
    hazards: tuple[Hazard, ...]
    needed: Recoveries | None = None
    prices: BreakpointPrices | None = None

    @property
    def exclusion(self) -> Exclusion | None:
        """Why the plan is never recommended; None if it may be, and until computed."""
        found = self.needed
        return None if found is None else Exclusion.of(found, self.hazards, drops_text=found.drops_text)

    def lines(self) -> tuple[str, ...]:
        """Return one line per risk, the worst first."""
        lines = []
        if self.needed is not None and self.needed.calls:
            lines.append(f"{ON_SCREEN.plural(self.needed.needed, 'call')} needed cut text")
        lines += [
            f"{hazard.kind.brief}: {ON_SCREEN.whole(hazard.count)}" if hazard.count > 1 else hazard.kind.brief
            for hazard in self.hazards
        ]
        if self.prices is not None and self.prices.is_relevant:
            low, high = ON_SCREEN.dollars(self.prices.low), ON_SCREEN.dollars(self.prices.high)
            lines.append(f"cache breakpoints: {low} to {high}")
        return tuple(lines)

    @cached_property
    def blocks(self) -> NDArray[np.int32]:
        """Blocks with a risk, ascending."""
        blocks = {block for hazard in self.hazards for block in hazard.blocks}
        blocks |= set(self.needed.by_block if self.needed is not None else ())
        return np.array(sorted(blocks), dtype=np.int32)

    def need_at(self, block: int) -> Need | None:
        """Return the need of a cut block, or the first need that a block shows."""
        if self.needed is None:
            return None
        return self.needed.by_block.get(block) or self._needs_by_use.get(block)

    @cached_property
    def _needs_by_use(self) -> dict[int, Need]:
        needs = () if self.needed is None else self.needed.needs
        return {need.use: need for need in reversed(needs)}

    def positions(self, view: TimelineView) -> NDArray[np.int32]:
        """Return the rows of these blocks, ascending."""
        return view.positions_of_blocks(self.blocks)

    def sentence(self, block: int) -> str:
        """Describe the risks of a block."""
        kinds = [hazard.kind.label for hazard in self.hazards if block in hazard.blocks]
        if self.needed is not None and block in self.needed.by_block:
            kinds.insert(0, self._needed_again(block))
        return ", ".join(kinds) or "no risk here"

    def _needed_again(self, block: int) -> str:
        """Describe the first call that needed cut text of a block, and the needed text."""
        use = None if self.needed is None else self.needed.by_block.get(block)
        if use is None:
            return "cut and needed later"
        session = self.session
        at = f"at call {ON_SCREEN.whole(use.call + 1)}"
        try:
            text = session.text(session.all_blocks[block])
        except (TextUnavailableError, OSError):
            return f"cut and needed {at}"
        if (use.start, use.stop) == (0, len(text)):
            return f"cut and requested again {at}"
        return f"cut and needed {at}: {one_line(text[use.start : use.stop])} ({use.kind.label})"
