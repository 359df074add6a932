"""Framed panes and the placeholder shown before there is content."""

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
"""Cells of a frame's edge without text: two corners and the padding around the text."""
DOUBLE = 2
"""Number of clicks of a double click."""


class Pane(Vertical):
    """A frame with its title in the border."""

    def __init__(self, title: str, *children: Widget, id: str) -> None:  # noqa: A002  Textual's own name
        super().__init__(*children, id=id, classes="section")
        self.border_title = Content(title)
        self._foot: tuple[str, ...] | None = None
        self._hidden_rows = ""

    def set_subtitle(self, *phrases: str) -> None:
        """Set the subtitle: phrases by importance, after the number of rows out of sight."""
        self._foot = phrases
        parts = [each for each in (self._hidden_rows, *phrases) if each]
        set_subtitle(self, join_fitting(parts, self.size.width) or next(iter(parts), ""))

    def on_resize(self) -> None:
        if self._foot is not None:
            self.set_subtitle(*self._foot)

    def on_line_view_hidden_lines_changed(self, event: LineView.HiddenLinesChanged) -> None:
        """Show the number of rows out of sight, if the frame has a subtitle."""
        above, below = (
            f"{arrow} {ON_SCREEN.whole(count)}" if count else ""
            for arrow, count in (("↑", event.above), ("↓", event.below))
        )
        counts = " ".join(filter(None, (above, below)))
        self._hidden_rows = f"{counts} more" if counts else ""
        if self._foot is not None:
            self.set_subtitle(*self._foot)

    class TitleClicked(Message):
        """Posted on a double click at the top of the frame.

        Attributes:
            pane: The pane.
        """

        def __init__(self, pane: Pane) -> None:
            super().__init__()
            self.pane = pane

    def on_click(self, event: events.Click) -> None:
        if event.widget is self and event.chain == DOUBLE and event.y == 0:
            self.post_message(self.TitleClicked(self))


def join_fitting(phrases: Sequence[str], width: int) -> str:
    """Join as many phrases, ordered by importance, as fit in a frame's edge, uncut; all if `width` is 0 (unknown)."""
    parts = list(phrases)
    while parts and 0 < width < cell_len(BETWEEN.join(parts)) + CELLS_OF_FRAME:
        parts.pop()
    return BETWEEN.join(parts)


def set_title(widget: Widget, title: str) -> None:
    """Set a frame's title if it changed; setting it redraws everything in the frame."""
    if str(widget.border_title or "") != title:
        widget.border_title = Content(title)


def set_subtitle(widget: Widget, text: str) -> None:
    """Set a frame's subtitle if it changed; see `set_title`."""
    if str(widget.border_subtitle or "") != text:
        widget.border_subtitle = Content(text)


class PlaceholderText(NamedTuple):
    """Text shown in place of a session.

    Attributes:
        headline: A few words.
        lines: Explanation and advice; may contain session text.
        fraction: Progress, or None.
        is_problem: It reports a problem.
    """

    headline: str
    lines: tuple[str, ...] = ()
    fraction: float | None = None
    is_problem: bool = False


class Placeholder(Widget):
    """Shows why there are no rows: loading, empty, unreadable."""

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

    word: reactive[PlaceholderText] = reactive(PlaceholderText(""))

    def render(self) -> Content:
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
