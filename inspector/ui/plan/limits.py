"""Limits of a plan as text: ranges, tracks, histograms, effects, risks and help, fitted into cells."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.sweep import LARGEST_LIMIT_OF_ONE, LimitSizes, sizes_for, tunable_limits
from inspector.report.numbers import ON_SCREEN
from inspector.strategies.core.batching import GROUP as BATCHING
from inspector.strategies.core.parameters import CHARACTERS, TOKENS, Parameter, ValueScale
from inspector.strategies.core.strategy import ScheduledStrategy
from inspector.strategies.registry import with_values
from inspector.ui.part_names import NEEDED_PHRASES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.replay.engine.replay import GroupEffect, Replay
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan


LEVELS = " ▁▂▃▄▅▆▇█"

LimitName = tuple[int, str]
"""Index of the strategy in the plan, and name of the limit."""

ROOM_ABOVE = 1.05
"""A slider ends at this factor times the largest size, rounded up."""


@dataclass(frozen=True, eq=False)
class PlanSizes:
    """Sizes for every limit of a plan; compared by identity.

    Attributes:
        history: State of the session they were taken from.
        shape: The plan with every limit at its default, on which the sizes depend.
        of: Sizes per limit; limits not compared with sizes are left out.
        largest: Per limit, the largest size or the count of its unit: larger values have no effect. Limits without a
            known maximum are left out.
    """

    history: History
    shape: Plan
    of: Mapping[LimitName, LimitSizes]
    largest: Mapping[LimitName, int]

    def serves(self, history: History, plan: Plan) -> bool:
        """Return True if the sizes also apply to another plan or state."""
        return self.history is history and self.shape == shape_of(plan)


def shape_of(plan: Plan) -> Plan:
    """Enable all strategies and reset the limits. The other parameters decide which results belong to a tier."""
    for index, entry in enumerate(plan.entries):
        limits = {axis.parameter.name: axis.parameter.default for axis in tunable_limits(plan) if axis.entry == index}
        plan = plan.with_strategy(index, with_values(entry.strategy, limits))
        if not entry.enabled:
            plan = plan.toggled(index)
    return plan


def sizes_of(baseline: Replay, plan: Plan) -> PlanSizes:
    """Collect the sizes for a plan's limits.

    Args:
        baseline: The session with nothing cut.
        plan: The plan; strategies that are off are included.
    """
    found, largest = {}, {}
    for axis in tunable_limits(plan):
        name, strategy = (axis.entry, axis.parameter.name), plan.entries[axis.entry].strategy
        count = _count_of(baseline.history, axis.parameter)
        if count:
            largest[name] = count
        sizes = sizes_for(baseline, strategy, axis.parameter)
        if sizes is None:
            continue
        is_of_tier = sizes.group == axis.parameter.group or not isinstance(strategy, ScheduledStrategy)
        if is_of_tier or sizes.noun == "prompt":
            found[name] = sizes
            if len(sizes.values):
                largest[name] = int(sizes.values.max())
    return PlanSizes(baseline.history, shape_of(plan), found, largest)


def _count_of(history: History, parameter: Parameter) -> int:
    """Return the number of items that a limit counts; 0 if it does not count results, messages or calls."""
    if parameter.group == BATCHING:
        return 0
    match parameter.unit:
        case "results" | "tool uses" | "observations":
            return len(history.results)
        case "messages":
            return len(history.session.messages)
        case "calls":
            return history.call_count
    return 0


def counts_sizes(parameter: Parameter) -> bool:
    """Return True if a limit can be compared with sizes in any session, so its slider reserves a line for them."""
    reach = parameter.maximum or 0
    if parameter.group == BATCHING:
        return False
    return (parameter.unit == CHARACTERS and reach <= LARGEST_LIMIT_OF_ONE) or (
        parameter.unit == TOKENS and reach > LARGEST_LIMIT_OF_ONE
    )


def range_of(parameter: Parameter, value: float, largest: int | None) -> ValueScale:
    """Return the range of a slider, from the minimum to a little above the largest value with an effect.

    Args:
        parameter: The limit.
        value: Its value, which may exceed the range.
        largest: The largest size, as in `PlanSizes`; None for the full range.
    """
    whole = ValueScale.of(parameter, value)
    if largest is None or largest <= whole.minimum:
        return whole
    end = rounded_up(max(largest * ROOM_ABOVE, largest + 1))
    return replace(whole, maximum=end) if end < whole.maximum else whole


def rounded_up(value: float) -> float:
    """Round up to two significant digits, or to a whole number below 100."""
    unit = 10 ** max(math.floor(math.log10(max(value, 1))) - 1, 0)
    return float(math.ceil(value / unit) * unit)


def histogram(sizes: LimitSizes, track: LimitTrack) -> str:
    """Draw one glyph per cell of a limit's track, scaled to the number of sizes in it. A nonzero count always shows.

    Args:
        sizes: Sizes to count; a size beyond the range counts in the last cell.
        track: The limit's track.
    """
    values, times = np.unique(sizes.values, return_counts=True)
    counts = np.zeros(track.cells, dtype=np.int64)
    np.add.at(counts, np.array([track.cell(value) for value in values.tolist()], dtype=np.int64), times)
    most = int(counts.max(initial=0))
    steps = len(LEVELS) - 1
    return "".join(LEVELS[0 if not count else max(1, count * steps // most)] for count in counts.tolist())


@dataclass(frozen=True, slots=True)
class LimitTrack:
    """Range of values on a number of cells.

    Attributes:
        scale: The range.
        cells: Number of cells, at least two.
    """

    scale: ValueScale
    cells: int

    def cell(self, value: float) -> int:
        """Return the cell of a value; the last one if it is beyond the range."""
        return round(self.scale.fraction(value) * (self.cells - 1))

    def value(self, cell: int) -> float:
        """Return the value of a cell, clamped to the ends of the range."""
        return self.scale.value(cell / (self.cells - 1))

    def is_beyond(self, value: float) -> bool:
        """Return True if a value is above the range."""
        return value > self.scale.maximum

    def stepped(self, value: float, steps: int, *, coarse: bool = False) -> float:
        """Return the value after `steps` steps; negative steps go down.

        Steps up stop at the end of the range. A step down from beyond the range goes to its end.
        """
        if self.is_beyond(value):
            return value if steps > 0 else self.scale.maximum
        return self.scale.stepped(value, steps, coarse=coarse)


@dataclass(frozen=True, slots=True)
class KnobHold:
    """Knob held by the mouse. Its range is frozen, even if the session grows.

    Attributes:
        track: The track.
        cell: Cell with a known exact value, so that pressing the knob changes nothing.
        exact: Value of that cell.
    """

    track: LimitTrack
    cell: int
    exact: float

    @classmethod
    def taken(cls, track: LimitTrack, value: float, cell: int) -> KnobHold:
        """Hold the knob after a press on a cell, which moves it there if it was elsewhere.

        Args:
            track: The track.
            value: Value before the press.
            cell: Pressed cell.
        """
        return cls(track, cell, value if cell == track.cell(value) else track.value(cell))

    def value(self, cell: int) -> float:
        """Return the value at the mouse, clamped to the track."""
        cell = min(max(cell, 0), self.track.cells - 1)
        return self.exact if cell == self.cell else self.track.value(cell)

    def resting(self, cell: int, value: float) -> KnobHold:
        """Return the hold after another input changed the value while the mouse rests on a cell."""
        return KnobHold(self.track, min(max(cell, 0), self.track.cells - 1), value)


LEAST_LABEL: Final = 8
"""Minimum width of a useful text, in cells."""

NEEDED_WORD: Final = "needed"
RISK: Final = "! "
KEY_OF_RISKS: Final = " · g r"


def risk_lines(risks: Sequence[str], width: int, rows: int) -> list[str]:
    """Fit the risks into the available rows, the worst first. The last row counts the risks left out.

    A free row is used for the definition of text needed later, if it fits completely.

    Args:
        risks: One line each.
        width: Cells of a row.
        rows: Available rows.
    """
    shown = [RISK + risk for risk in risks[: max(rows, 0)]]
    if not shown:
        return []
    more, last = len(risks) - len(shown), shown.pop()
    # Without the sign, `7 calls needed cut text, 3 more` reads as three more calls.
    counts = (f" · {RISK}{more} more", f", {more} more") if more else ("",)
    ends = [counts[0] + KEY_OF_RISKS, *counts]
    end = next((end for end in ends if len(last + end) <= width), ends[-1])
    lines = [*(clipped(line, width) for line in shown), clipped(last, width - len(end)) + end]
    if len(lines) < rows and any(NEEDED_WORD in risk for risk in risks):
        lines += [phrase for phrase in NEEDED_PHRASES if len(phrase) <= width][:1]
    return lines


def hint_lines(text: Sequence[str], width: int, rows: int) -> list[str]:
    """Wrap the help for a control into the available rows. A sign marks omitted text."""
    if width < LEAST_LABEL or rows < 1:
        return []
    return textwrap.wrap(" ".join(text), width, max_lines=rows, placeholder=" …")


def clipped(text: str, width: int) -> str:
    """Truncate a text to a width in cells. A sign marks omitted text."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…" * (width > 0)


Piece = tuple[str, str]
"""A text and its component class."""

KNOB: Final = "●"
KNOB_BEYOND: Final = "▶"
"""Shown at the end of the track if the value is beyond it."""
FILLED, REST, DEFAULT = "━", "─", "┼"
MARK: Final = "│"
"""Marks the limit in the histogram."""

UNIT_OF_TOKENS: Final = " tokens"
"""Unit of the omitted text; narrow rows shorten it."""

VALUE_WIDTH = 8
"""Minimum width of a value including the blank before it."""
KEPT_LABEL = 16
"""Cells reserved for the name next to the effect."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of a limit or a strategy on the session.

    Attributes:
        touched: Number of changed results or blocks, in words; empty while unknown.
        tokens: Signed change in tokens, with the unit.
        brief: Short form of `touched`: `49 of 102`.
    """

    touched: str = ""
    tokens: str = ""
    brief: str = ""

    @property
    def is_known(self) -> bool:
        return bool(self.touched or self.tokens)

    def line(self, width: int) -> str:
        """Format one line: changed results on the left, tokens on the right."""
        room = max(width - 4 - len(self.tokens), 0)
        return f"    {self.touched[:room]:<{room}}{self.tokens}"

    def within(self, width: int) -> str:
        """Return the longest form that fits: `49 of 102 +3.9k tokens`, `49/102 +3.9k tok`, `+3.9k`, or an empty string.

        The unit stays as long as possible, because a limit's value follows.
        """
        short, amount = self.brief.replace(" of ", "/"), self.tokens.removesuffix(UNIT_OF_TOKENS)
        brief_tokens = f"{amount} tok" if amount else ""
        forms = (
            f"{self.brief} {self.tokens}",
            f"{short} {self.tokens}",
            f"{self.brief} {brief_tokens}",
            f"{short} {brief_tokens}",
            self.tokens or short,
            brief_tokens or short,
            amount or short,
        )
        return next((text for form in forms if len(text := form.strip()) <= width), "")


NO_EFFECT: Final = Effect()


def effect_of(outcome: GroupEffect | None) -> Effect:
    """Format the effect of a part of the plan."""
    if outcome is None:
        return NO_EFFECT
    if not outcome.results:
        return Effect("no results", brief="no results")
    noun = "result" if outcome.are_results else "block"
    brief = f"{ON_SCREEN.whole(outcome.touched)} of {ON_SCREEN.whole(outcome.results)}"
    touched = f"{ON_SCREEN.whole(outcome.touched)} of {ON_SCREEN.plural(outcome.results, noun)}"
    sign = "+" if outcome.tokens_cut < 0 else ""
    return Effect(touched, f"{sign}{ON_SCREEN.short(-outcome.tokens_cut)}{UNIT_OF_TOKENS}", brief)


def number_text(number: float) -> str:
    """Format a value: `24,000`, `0.7`."""
    return f"{number:,.0f}" if number == int(number) else f"{number:,.4g}"


_SHORT_UNITS: Final = {"characters": "chars", "messages": "msgs", "observations": "obs.", "seconds": "s"}


def value_text(number: float, unit: str, name: str) -> str:
    """Format a limit's value with its unit, unless its name has it: `150 chars`, `20` for `keep-messages`."""
    shown = "" if unit in name.split("-") else _SHORT_UNITS.get(unit, unit)
    return f"{number_text(number)} {shown}".rstrip()


def name_row(label: str, effect: Effect, value: tuple[str, str], width: int) -> tuple[Piece, Piece, Piece]:
    """Format a limit's name, effect and value in `width` cells, with effects and values aligned.

    A long name is shortened before the effect is left out.

    Args:
        label: The name.
        effect: Effect of the limit.
        value: The formatted value and its component class.
        width: Available cells.
    """
    shown, value_class = value
    shown = f"{shown:>{VALUE_WIDTH - 1}}"
    left = max(width - len(shown) - 1, 0)
    doing = effect.within(left - min(len(label), KEPT_LABEL) - 1)
    room = left - len(doing) - (1 if doing else 0)
    if room < min(LEAST_LABEL, len(label)):
        doing, room = "", left
    name = f"{clipped(label, room):<{left - len(doing)}}"
    return (name, "parameter--label"), (doing, "parameter--effect"), (f" {shown}", value_class)


def track_row(track: LimitTrack, value: float, default: float | None, *, is_moving: bool) -> list[Piece]:
    """Draw a limit's track with its knob, and during a drag with the value next to it.

    A value beyond the end is shown at the end, together with the value of the end.

    Args:
        track: The track.
        value: The limit's value.
        default: Its default, which is marked; None if there is none.
        is_moving: True during a drag.
    """
    knob, cells = track.cell(value), track.cells
    is_beyond = track.is_beyond(value)
    origin = -1 if default is None or track.is_beyond(default) else track.cell(default)
    row: list[Piece] = [(FILLED, "parameter--filled")] * knob
    row.append((KNOB_BEYOND if is_beyond else KNOB, "parameter--thumb"))
    row += [(DEFAULT if cell == origin else REST, "parameter--track") for cell in range(knob + 1, cells)]
    text, style = f" {number_text(value)} " if is_moving else "", "parameter--typed"
    if is_beyond:
        text, style = f" beyond {number_text(track.scale.maximum)} ", "parameter--effect"
    at = knob + 1 if knob + 1 + len(text) <= cells else knob - len(text)
    if text and at >= 0:
        row[at : at + len(text)] = [(letter, style) for letter in text]
    return _joined(row)


def sizes_row(bars: str, knob: int) -> list[Piece]:
    """Draw the histogram below a track: sizes left of the mark are uncut, sizes right of it over the limit.

    Args:
        bars: A glyph for every cell of the track.
        knob: Cell of the limit.
    """
    return [(bars[:knob], "parameter--kept"), (MARK, "parameter--thumb"), (bars[knob + 1 :], "parameter--over")]


def _joined(cells: list[Piece]) -> list[Piece]:
    """Join neighbors with the same class."""
    joined: list[Piece] = []
    for text, style in cells:
        if joined and joined[-1][1] == style:
            joined[-1] = joined[-1][0] + text, style
        else:
            joined.append((text, style))
    return joined
