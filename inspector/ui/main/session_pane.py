"""A framed part of the main screen that shows something of the open session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.ui.toolkit.answered_screen import run_dialog
from inspector.ui.toolkit.pane import Pane

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from textual.widget import Widget

    from inspector.ui.controller.session import SessionController


class SessionPane(Pane):
    """Owns what can be done there. Its widgets need numpy, so they are made when there is something to show."""

    def __init__(self, title: str, *children: Widget, id: str, controller: SessionController) -> None:  # noqa: A002  Textual's own name
        """Make a frame.

        Args:
            title: What is in it.
            children: What is in it at first.
            id: Widget id.
            controller: The open session.
        """
        super().__init__(title, *children, id=id)
        self.controller = controller

    def tell(self, notice: str, *, is_problem: bool = False) -> None:
        """Say something in the last line for a while; may hold session text."""
        self.controller.host.tell(notice, is_problem=is_problem)

    def run_dialog(self, dialog: Coroutine[Any, Any, None], description: str) -> None:
        """Run what asks the user for something: one at a time, on the screen, which tells of failures.

        Args:
            dialog: Opens a dialog and does what is answered.
            description: What it is about, as an infinitive.
        """
        run_dialog(self.screen, dialog, description)
