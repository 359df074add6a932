"""Which sessions are open at once, each on a screen of its own that goes on following it while another is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

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
