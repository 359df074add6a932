"""Open sessions, each followed on its own screen, and the row of tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from inspector.safe_text import cell_width, clip_cells, one_line
from inspector.ui.outcome import level_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from textual import events


HOME = "home"
"""Initial mode of the app. Its screen is the first session's or the session list."""


class Tab(NamedTuple):
    """An open session.

    Attributes:
        mode: Mode of the app that shows it.
        path: Path it was opened with.
    """

    mode: str
    path: Path


class Tabs(NamedTuple):
    """Open sessions in the order they were opened.

    Attributes:
        all: The tabs.
        made: Number of tabs ever created, for unique mode names.
    """

    all: tuple[Tab, ...] = ()
    made: int = 0

    def added(self, path: Path, mode: str = "") -> Tabs:
        """Append a tab, by default in a new mode."""
        number = self.made + 1
        return Tabs((*self.all, Tab(mode or f"session-{number}", path)), number)

    def without(self, mode: str) -> Tabs:
        return Tabs(tuple(tab for tab in self.all if tab.mode != mode), self.made)

    def of(self, mode: str) -> Tab | None:
        """Return the tab of a mode; None if the mode shows no session."""
        return next((tab for tab in self.all if tab.mode == mode), None)

    def at(self, path: Path) -> Tab | None:
        """Return the tab of a session; None if it is not open."""
        return next((tab for tab in self.all if tab.path == path), None)

    def moved(self, mode: str, path: Path) -> Tabs:
        """Replace the session of a tab."""
        return Tabs(tuple(Tab(mode, path) if tab.mode == mode else tab for tab in self.all), self.made)

    def next_tab(self, mode: str, step: int) -> Tab | None:
        """Return the tab `step` places after a mode's, wrapping around; the first one if the mode has no session."""
        if not self.all:
            return None
        here = next((place for place, tab in enumerate(self.all) if tab.mode == mode), -1 if step > 0 else 0)
        return self.all[(here + step) % len(self.all)]


LEAST_CELLS, MOST_CELLS = 6, 28
LIVE, NEWS = "●", "◆"
"""A file that is being written; an event in the background."""
CLOSE = "× "  # noqa: RUF001  a cross is meant
"""Close button on the tab of the current session."""


class TabTitle(NamedTuple):
    """Content of a tab.

    Attributes:
        mode: Mode of the tab.
        title: Title of the session; session text.
        is_shown: True for the current tab.
        is_live: True if its file is being written.
        fill: The next prompt's share of the size at which the agent compacts; None if unknown.
        has_news: A compaction, a cache miss or the end of the work happened since the tab was shown last.
    """

    mode: str
    title: str
    is_shown: bool = False
    is_live: bool = False
    fill: float | None = None
    has_news: bool = False


class Happened(NamedTuple):
    """Events of a session so far, to notice those in the background.

    Attributes:
        compactions: Number of compactions.
        misses: Number of avoidable cache misses.
        is_live: True if its file is being written.
    """

    compactions: int = 0
    misses: int = 0
    is_live: bool = False

    def is_news_since(self, seen: Happened) -> bool:
        """Return True if there was a compaction or a miss, or the work ended."""
        ended = seen.is_live and not self.is_live
        return self.compactions > seen.compactions or self.misses > seen.misses or ended


class SessionTabs(Widget):
    """Row of tabs. Set `titles` to show them; with fewer than two it is hidden."""

    DEFAULT_CSS = """
    SessionTabs { height: 1; width: 1fr; display: none; background: $surface; }
    SessionTabs.-several { display: block; }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tabs--tab",
        "tabs--shown",
        "tabs--live",
        "tabs--news",
        *(f"tabs--{level}" for level in ("calm", "warning", "alarm")),
    }

    titles: reactive[tuple[TabTitle, ...]] = reactive(())
    """The tabs in order."""

    class Picked(Message):
        """Posted when a tab is clicked."""

        def __init__(self, mode: str) -> None:
            super().__init__()
            self.mode = mode

    class CloseAsked(Message):
        """Posted to close the current session."""

    def watch_titles(self) -> None:
        """Hide the row if there are fewer than two tabs."""
        self.set_class(len(self.titles) > 1, "-several")

    def render(self) -> Content:
        parts: list[Content] = []
        for tab, text in zip(self.titles, self._texts(), strict=True):
            style = self.get_visual_style("tabs--shown" if tab.is_shown else "tabs--tab")
            glyph, name = (NEWS, "tabs--news") if tab.has_news else (LIVE if tab.is_live else " ", "tabs--live")
            fill = Content.styled(_fill(tab), style if tab.is_shown else self.get_visual_style(_style_of(tab)))
            close = Content.styled(CLOSE, style) if tab.is_shown else Content("")
            dot = Content.styled(glyph, self.get_visual_style(name))
            parts.append(Content.assemble(dot, Content.styled(text, style), fill, close))
        return Content(" ").join(parts)

    def on_click(self, event: events.Click) -> None:
        """Show the clicked tab, or close the current one if its cross was clicked."""
        offset = event.get_content_offset(self)
        left = 0
        for tab, text in zip(self.titles, self._texts(), strict=True):
            right = left + 1 + cell_width(text) + cell_width(_fill(tab))
            end = right + cell_width(CLOSE) if tab.is_shown else right
            if offset is not None and left <= offset.x < end:
                self.post_message(self.CloseAsked() if offset.x >= right else self.Picked(tab.mode))
            left = end + 1

    def _texts(self) -> Sequence[str]:
        """Truncate the titles so that all tabs fit."""
        count = len(self.titles)
        fills = sum(cell_width(_fill(tab)) for tab in self.titles)
        room = ((self.size.width or 80) - cell_width(CLOSE) - fills) // max(count, 1) - 2
        most = min(max(room, LEAST_CELLS), MOST_CELLS)
        return [f" {clip_cells(one_line(tab.title), most - 2)} " for tab in self.titles]


def _fill(tab: TabTitle) -> str:
    return "" if tab.fill is None else f"{tab.fill * 100:.0f} % "


def _style_of(tab: TabTitle) -> str:
    return f"tabs--{level_of(tab.fill)}"
