"""Which sessions are open at once, each followed on a screen of its own, and the row of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from inspector.safe_text import cell_width, clip_cells, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from textual import events


HOME = "home"
"""The mode the application begins in: its screen is the first session's, or the list of sessions."""


class Tab(NamedTuple):
    """One open session.

    Attributes:
        mode: Name of the application's mode that shows it.
        path: What it was opened with.
    """

    mode: str
    path: Path


class Tabs(NamedTuple):
    """The open sessions, in the order they were opened.

    Attributes:
        all: The tabs.
        made: How many there ever were, so that no two modes have one name.
    """

    all: tuple[Tab, ...] = ()
    made: int = 0

    def added(self, path: Path, mode: str = "") -> Tabs:
        """With one more tab at the end, in a mode of its own unless one is given."""
        number = self.made + 1
        return Tabs((*self.all, Tab(mode or f"session-{number}", path)), number)

    def without(self, mode: str) -> Tabs:
        """With one tab less."""
        return Tabs(tuple(tab for tab in self.all if tab.mode != mode), self.made)

    def of(self, mode: str) -> Tab | None:
        """The tab of a mode; None for a mode that shows no session."""
        return next((tab for tab in self.all if tab.mode == mode), None)

    def at(self, path: Path) -> Tab | None:
        """The tab of a session; None where it is not open."""
        return next((tab for tab in self.all if tab.path == path), None)

    def moved(self, mode: str, path: Path) -> Tabs:
        """With another session in a tab."""
        return Tabs(tuple(Tab(mode, path) if tab.mode == mode else tab for tab in self.all), self.made)

    def beside(self, mode: str, step: int) -> Tab | None:
        """The tab so many places on from a mode's, round the end; the first one where that mode shows no session."""
        if not self.all:
            return None
        here = next((place for place, tab in enumerate(self.all) if tab.mode == mode), -1 if step > 0 else 0)
        return self.all[(here + step) % len(self.all)]


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

    class Picked(Message):
        """A tab was clicked."""

        def __init__(self, mode: str) -> None:
            super().__init__()
            self.mode = mode

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
