"""A framed part of the screen, and what stands in it while there is nothing else to show."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import safe_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from inspector.ui.toolkit.line_view import LineView

BAR_CELLS = 40
BETWEEN = " · "
CELLS_OF_FRAME = 6
"""Cells of a frame's edge in which nothing can be said: two corners, and what stands around the text."""
DOUBLE = 2
"""Clicks at once."""


class Pane(Vertical):
    """A frame with its title in the border."""

    def __init__(self, title: str, *children: Widget, id: str) -> None:  # noqa: A002  Textual's own name
        """Make a frame.

        Args:
            title: What is in it.
            children: What is in it at first.
            id: Widget id.
        """
        super().__init__(*children, id=id, classes="section")
        self.border_title = Content(title)
        self._foot: tuple[str, ...] | None = None
        self._out_of_sight = ""

    def say_below(self, *phrases: str) -> None:
        """Say something at the end of the frame, beside how many rows of the table in it are out of sight.

        Args:
            phrases: What to say, what matters most first: those at the end are left out where there is no room.
        """
        self._foot = phrases
        told = [each for each in (self._out_of_sight, *phrases) if each]
        subtitle(self, fitting(told, self.size.width) or next(iter(told), ""))

    def on_resize(self) -> None:
        """There is room for more, or for less."""
        if self._foot is not None:
            self.say_below(*self._foot)

    def on_line_view_cut(self, event: LineView.Cut) -> None:
        """Say how many rows are out of sight, where the frame says anything below."""
        above, below = (
            f"{arrow} {ON_SCREEN.whole(count)}" if count else ""
            for arrow, count in (("↑", event.above), ("↓", event.below))
        )
        counts = " ".join(filter(None, (above, below)))
        self._out_of_sight = f"{counts} more" if counts else ""
        if self._foot is not None:
            self.say_below(*self._foot)

    class TitleClicked(Message):
        """The frame was clicked twice at its top.

        Attributes:
            pane: Which one.
        """

        def __init__(self, pane: Pane) -> None:
            super().__init__()
            self.pane = pane

    def on_click(self, event: events.Click) -> None:
        """Tell of two clicks at the top of the frame."""
        if event.widget is self and event.chain == DOUBLE and event.y == 0:
            self.post_message(self.TitleClicked(self))


def fitting(phrases: Sequence[str], width: int) -> str:
    """As many of some phrases as the edge of a frame has room for, each of them whole; empty for none.

    Args:
        phrases: What to say, what matters most first.
        width: Cells of the frame; 0 while they are not known: then there is room for all.
    """
    told = list(phrases)
    while told and 0 < width < cell_len(BETWEEN.join(told)) + CELLS_OF_FRAME:
        told.pop()
    return BETWEEN.join(told)


def entitle(widget: Widget, title: str) -> None:
    """Give a frame another title. One it has already would have everything in the frame drawn again."""
    if str(widget.border_title or "") != title:
        widget.border_title = Content(title)


def subtitle(widget: Widget, text: str) -> None:
    """Say something else at the end of a frame; see `entitle`."""
    if str(widget.border_subtitle or "") != text:
        widget.border_subtitle = Content(text)


class Word(NamedTuple):
    """What is said in place of a session.

    Attributes:
        headline: In a few words.
        lines: What it means and what to do; may hold session text.
        fraction: Progress, or None.
        is_problem: Something is wrong.
    """

    headline: str
    lines: tuple[str, ...] = ()
    fraction: float | None = None
    is_problem: bool = False


class Placeholder(Widget):
    """Says why there are no rows: loading, empty, unreadable."""

    DEFAULT_CSS = """
    Placeholder {
        height: 1fr;
        width: 1fr;
        padding: 1 2;
        content-align: center middle;
        text-align: center;
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "placeholder--headline",
        "placeholder--line",
        "placeholder--problem",
        "placeholder--done",
        "placeholder--rest",
    }

    word: reactive[Word] = reactive(Word(""))
    """What is said."""

    def render(self) -> Content:
        """The headline, the bar, the lines."""
        word = self.word
        style = "placeholder--problem" if word.is_problem else "placeholder--headline"
        lines = [Content.styled(word.headline, self.get_visual_style(style))]
        if word.fraction is not None:
            cells = min(BAR_CELLS, max(self.content_size.width - 8, 4))
            done = round(min(max(word.fraction, 0), 1) * cells)
            lines.append(
                Content.assemble(
                    ("━" * done, self.get_visual_style("placeholder--done")),
                    ("─" * (cells - done), self.get_visual_style("placeholder--rest")),
                    f" {word.fraction * 100:3.0f} %",
                )
            )
        lines += [Content.styled(safe_text(line), self.get_visual_style("placeholder--line")) for line in word.lines]
        return Content("\n").join(lines)
