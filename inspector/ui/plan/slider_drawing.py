"""Draw a limit's slider as text: its name and effect, its track, and the histogram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from inspector.report.numbers import ON_SCREEN
from inspector.ui.plan.hint_drawing import LEAST_LABEL, clipped

if TYPE_CHECKING:
    from inspector.replay.engine.replay import GroupEffect
    from inspector.ui.plan.track import LimitTrack

Piece = tuple[str, str]
"""A text and its component class."""

KNOB: Final = "●"
KNOB_BEYOND: Final = "▶"
"""Shown at the end of the track if the value is beyond it."""
FILLED, REST, DEFAULT = "━", "─", "┼"
MARK: Final = "│"
"""Marks the limit in the histogram."""

TOKENS: Final = " tokens"
"""Unit of the omitted text. Narrow rows leave it out, because the frame below also shows it."""

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
        """Return the longest form that fits: `49 of 102 +3.9k tokens`, `49/102 +3.9k`, `+3.9k`, or an empty string."""
        short, amount = self.brief.replace(" of ", "/"), self.tokens.removesuffix(TOKENS)
        forms = (
            f"{self.brief} {self.tokens}",
            f"{short} {self.tokens}",
            f"{self.brief} {amount}",
            f"{short} {amount}",
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
    return Effect(touched, f"{sign}{ON_SCREEN.short(-outcome.tokens_cut)}{TOKENS}", brief)


def number_text(number: float) -> str:
    """Format a value: `24,000`, `0.7`."""
    return f"{number:,.0f}" if number == int(number) else f"{number:,.4g}"


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
