"""How a limit's slider is written in cells: its name and what it does, its line, and the sizes below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from inspector.report.numbers import ON_SCREEN
from inspector.ui.plan.hint_drawing import LEAST_LABEL, clipped

if TYPE_CHECKING:
    from inspector.replay.engine.replay import GroupEffect
    from inspector.ui.plan.track import LimitTrack

Piece = tuple[str, str]
"""A text and the component class it is drawn in."""

KNOB: Final = "●"
KNOB_BEYOND: Final = "▶"
"""Stands at the end of the line where the value lies beyond it."""
FILLED, REST, DEFAULT = "━", "─", "┼"
MARK: Final = "│"
"""Where the limit is among the sizes."""

TOKENS: Final = " tokens"
"""The unit of what is left out: the frame below says it, too, where there is no room for it in a line."""

VALUE_WIDTH = 8
"""Cells kept for a value and the blank before it; a longer one takes what it needs."""
KEPT_LABEL = 16
"""Cells a name keeps beside what the limit does."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a limit or a strategy does to the session.

    Attributes:
        touched: How many results it changed, or blocks of any kind, in words; empty while unknown.
        tokens: What that leaves out, signed, with their unit.
        brief: What is touched in few letters: `49 of 102`.
    """

    touched: str = ""
    tokens: str = ""
    brief: str = ""

    @property
    def is_known(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.touched or self.tokens)

    def line(self, width: int) -> str:
        """One line: what is touched on the left, tokens on the right."""
        room = max(width - 4 - len(self.tokens), 0)
        return f"    {self.touched[:room]:<{room}}{self.tokens}"

    def within(self, width: int) -> str:
        """As much as so many cells hold: `49 of 102 +3.9k tokens`, `49/102 +3.9k`, `+3.9k`, or nothing."""
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
    """An outcome in words."""
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
    """A value as shown: `24,000`, `0.7`."""
    return f"{number:,.0f}" if number == int(number) else f"{number:,.4g}"


def name_row(label: str, effect: Effect, value: tuple[str, str], width: int) -> tuple[Piece, Piece, Piece]:
    """A limit's name, what it does and its value, in so many cells; values line up, and what limits do.

    A long name is cut before nothing is left of what the limit does.

    Args:
        label: The name.
        effect: What the limit does.
        value: The value as shown, and the class it is drawn in.
        width: Cells there are.
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
    """A limit's line with its knob; while it is moved, with the value beside it.

    A value beyond the line's end is shown at the end, which says where that is.

    Args:
        track: The line.
        value: The limit's value.
        default: Its default, which is marked; None for none.
        is_moving: It is being dragged.
    """
    knob, cells = track.cell(value), track.cells
    is_beyond = track.is_beyond(value)
    origin = -1 if default is None or track.is_beyond(default) else track.cell(default)
    row: list[Piece] = [(FILLED, "parameter--filled")] * knob
    row.append((KNOB_BEYOND if is_beyond else KNOB, "parameter--thumb"))
    row += [(DEFAULT if cell == origin else REST, "parameter--track") for cell in range(knob + 1, cells)]
    beside, style = f" {number_text(value)} " if is_moving else "", "parameter--typed"
    if is_beyond:
        beside, style = f" beyond {number_text(track.scale.maximum)} ", "parameter--effect"
    at = knob + 1 if knob + 1 + len(beside) <= cells else knob - len(beside)
    if beside and at >= 0:
        row[at : at + len(beside)] = [(letter, style) for letter in beside]
    return _joined(row)


def sizes_row(bars: str, knob: int) -> list[Piece]:
    """Sizes below a limit's line: those left of the mark are whole, those right of it over the limit.

    Args:
        bars: A glyph for every cell of the line.
        knob: The cell the limit is on.
    """
    return [(bars[:knob], "parameter--kept"), (MARK, "parameter--thumb"), (bars[knob + 1 :], "parameter--over")]


def _joined(cells: list[Piece]) -> list[Piece]:
    """Neighbours of one class as one piece."""
    joined: list[Piece] = []
    for text, style in cells:
        if joined and joined[-1][1] == style:
            joined[-1] = joined[-1][0] + text, style
        else:
            joined.append((text, style))
    return joined
