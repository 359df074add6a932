"""Focus and zoom of the main screen's panes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from inspector.ui.part_names import PLAN, TIMELINE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.screen import Screen

    from inspector.ui.main.session_pane import FailSafePane

OPEN_PLAN: Final = "-plan-open"
"""Screen class while the plan drawer is open on narrow screens."""
ZOOMS: Final[Mapping[str, str]] = {
    "chart-pane": "-zoom-chart",
    "timeline-pane": "-zoom-timeline",
    "detail-pane": "-zoom-detail",
}
"""Screen class that zooms a pane, by pane id."""


class PaneFocus:
    """Moves the focus between the panes of the main screen.

    Attributes:
        parts: Panes by name, in focus order starting with the timeline; empty before there is a session.
        last: Name of the pane that had the focus last.
    """

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self.parts: dict[str, FailSafePane] = {}
        self.last = ""

    def note(self) -> None:
        self.last = next((name for name in self.parts if self.is_in(name)), self.last)

    def is_in(self, name: str) -> bool:
        part, focused = self.parts.get(name), self._screen.focused
        return part is not None and focused is not None and part in focused.ancestors_with_self

    @property
    def is_in_rows_or_nowhere(self) -> bool:
        """True if the user has not moved the focus to another pane."""
        return self._screen.focused is None or self.is_in(TIMELINE)

    @property
    def is_plan_open(self) -> bool:
        return self._screen.has_class(OPEN_PLAN)

    @is_plan_open.setter
    def is_plan_open(self, is_open: bool) -> None:
        self._screen.set_class(is_open, OPEN_PLAN)

    def focus_pane(self, name: str) -> None:
        """Focus a pane, opening the plan drawer if needed."""
        part = self.parts.get(name)
        if part is None:
            return
        self.is_plan_open = name == PLAN
        part.take_focus()

    def give_to_next(self, step: int) -> None:
        """Focus the pane that is a number of steps away."""
        names = list(self.parts)
        if names:
            here = next((place for place, name in enumerate(names) if self.is_in(name)), -step)
            self.focus_pane(names[(here + step) % len(names)])

    def give_to_plan_or_back(self) -> None:
        """Toggle the focus between plan and rows; on narrow screens this opens and closes the plan drawer."""
        if not self.parts:
            return
        if self.is_in(PLAN):
            self.leave()
        else:
            self.focus_pane(PLAN)

    def leave(self) -> None:
        """Focus the rows and close the plan drawer."""
        self.is_plan_open = False
        if TIMELINE in self.parts:
            self.parts[TIMELINE].take_focus()

    @property
    def zooms(self) -> bool:
        return any(self._screen.has_class(name) for name in ZOOMS.values())

    def zoom(self, pane: str | None) -> bool:
        """Zoom a pane by widget id, or end the zoom; return False if the pane cannot be zoomed."""
        if self.zooms:
            self._screen.remove_class(*ZOOMS.values())
        elif pane is None or pane not in ZOOMS:
            return False
        else:
            self._screen.add_class(ZOOMS[pane])
        return True

    @property
    def pane(self) -> str | None:
        """Widget id of the zoomable pane that contains the focus; None if there is none."""
        focused = self._screen.focused
        return None if focused is None else next((node.id for node in focused.ancestors if node.id in ZOOMS), None)
