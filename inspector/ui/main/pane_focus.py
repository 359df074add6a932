"""Which part of the main screen has the focus, or all of the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from inspector.ui.part_names import PLAN, TIMELINE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.screen import Screen

    from inspector.ui.main.session_pane import FailingPart

OPEN_PLAN: Final = "-plan-open"
"""Class of a screen on which the plan is open where it is a drawer."""
ZOOMS: Final[Mapping[str, str]] = {
    "chart-pane": "-zoom-chart",
    "timeline-pane": "-zoom-timeline",
    "detail-pane": "-zoom-detail",
}
"""Per part of the screen, the class under which it has all of it."""


class PaneFocus:
    """Gives the parts of a screen the focus; there are none before there is a session.

    Attributes:
        parts: By name, what takes the focus, in the order it is read from the rows on.
        last: The part that had it last.
    """

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self.parts: dict[str, FailingPart] = {}
        self.last = ""

    def note(self) -> None:
        """Another part may have the focus."""
        self.last = next((name for name in self.parts if self.is_in(name)), self.last)

    def is_in(self, name: str) -> bool:
        """Whether a part has the focus, or something in it."""
        part, focused = self.parts.get(name), self._screen.focused
        return part is not None and focused is not None and part in focused.ancestors_with_self

    @property
    def is_in_rows_or_nowhere(self) -> bool:
        """Whether nobody has asked for another part."""
        return self._screen.focused is None or self.is_in(TIMELINE)

    @property
    def is_plan_open(self) -> bool:
        """Whether the plan is shown where it is a drawer."""
        return self._screen.has_class(OPEN_PLAN)

    @is_plan_open.setter
    def is_plan_open(self, is_open: bool) -> None:
        self._screen.set_class(is_open, OPEN_PLAN)

    def give_to(self, name: str) -> None:
        """The focus to a part of the screen; the plan is opened where it is a drawer."""
        part = self.parts.get(name)
        if part is None:
            return
        self.is_plan_open = name == PLAN
        part.take_focus()

    def give_to_next(self, step: int) -> None:
        """The focus to another part of the screen."""
        names = list(self.parts)
        if names:
            here = next((place for place, name in enumerate(names) if self.is_in(name)), -step)
            self.give_to(names[(here + step) % len(names)])

    def give_to_plan_or_back(self) -> None:
        """To the plan and back; on narrow screens its drawer opens and closes."""
        if not self.parts:
            return
        if self.is_in(PLAN):
            self.leave()
        else:
            self.give_to(PLAN)

    def leave(self) -> None:
        """Back to the rows; the plan is closed where it is a drawer."""
        self.is_plan_open = False
        if TIMELINE in self.parts:
            self.parts[TIMELINE].take_focus()

    @property
    def zooms(self) -> bool:
        """Whether one part has the whole screen."""
        return any(self._screen.has_class(name) for name in ZOOMS.values())

    def zoom(self, pane: str | None) -> bool:
        """Give a part the whole screen, or give it back.

        Args:
            pane: Widget id of the part's frame; None for none.

        Returns:
            Whether anything was done: no other parts can have it.
        """
        if self.zooms:
            self._screen.remove_class(*ZOOMS.values())
        elif pane is None or pane not in ZOOMS:
            return False
        else:
            self._screen.add_class(ZOOMS[pane])
        return True

    @property
    def pane(self) -> str | None:
        """Widget id of the frame around the focus that can have the whole screen; None for none."""
        focused = self._screen.focused
        return None if focused is None else next((node.id for node in focused.ancestors if node.id in ZOOMS), None)
