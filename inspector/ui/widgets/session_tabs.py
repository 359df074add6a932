"""The open sessions in one row, shown where there are several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from inspector.safe_text import cell_width, clip_cells, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

LEAST_CELLS, MOST_CELLS = 6, 28
LIVE, NEWS = "●", "+"
CLOSE = "× "  # noqa: RUF001  a cross is meant
"""Ends the tab of the session shown."""


class TabTitle(NamedTuple):
    """What a tab says.

    Attributes:
        mode: Which one it is.
        title: The session's title; session text.
        is_shown: It is the one on the screen.
        is_live: Its file is being written.
    """

    mode: str
    title: str
    is_shown: bool = False
    is_live: bool = False


class SessionTabs(Widget):
    """One row of tabs. Set `titles` to show some; with fewer than two there is nothing to see."""

    DEFAULT_CSS = """
    SessionTabs { height: 1; width: 1fr; display: none; background: $surface; }
    SessionTabs.-several { display: block; }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tabs--tab", "tabs--shown", "tabs--live"}

    titles: reactive[tuple[TabTitle, ...]] = reactive(())
    """The tabs, in order."""

    @dataclass
    class Picked(Message):
        """A tab was clicked."""

        mode: str

    class CloseAsked(Message):
        """The session shown should be closed."""

    def watch_titles(self) -> None:
        """Take no room where there is nothing to choose."""
        self.set_class(len(self.titles) > 1, "-several")

    def render(self) -> Content:
        """The row."""
        parts: list[Content] = []
        for tab, text in zip(self.titles, self._texts(), strict=True):
            style = self.get_visual_style("tabs--shown" if tab.is_shown else "tabs--tab")
            live = Content.styled(LIVE, self.get_visual_style("tabs--live")) if tab.is_live else Content(" ")
            close = Content.styled(CLOSE, style) if tab.is_shown else Content("")
            parts.append(Content.assemble(live, Content.styled(text, style), close))
        return Content(" ").join(parts)

    def on_click(self, event: events.Click) -> None:
        """Show the tab under the mouse, or close the one shown, where its cross was clicked."""
        offset = event.get_content_offset(self)
        left = 0
        for tab, text in zip(self.titles, self._texts(), strict=True):
            right = left + 1 + cell_width(text)
            end = right + cell_width(CLOSE) if tab.is_shown else right
            if offset is not None and left <= offset.x < end:
                self.post_message(self.CloseAsked() if offset.x >= right else self.Picked(tab.mode))
            left = end + 1

    def _texts(self) -> Sequence[str]:
        """The tabs' texts, each as long as leaves room for the others."""
        count = len(self.titles)
        room = ((self.size.width or 80) - cell_width(CLOSE)) // max(count, 1) - 2
        most = min(max(room, LEAST_CELLS), MOST_CELLS)
        return [f" {clip_cells(one_line(tab.title), most - 2)} " for tab in self.titles]
