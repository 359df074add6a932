"""The list of every command by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.command import CommandPalette

from inspector.ui.toolkit.answered_screen import AnsweredScreen

if TYPE_CHECKING:
    from textual.events import Mount


class CommandFinder(CommandPalette, AnsweredScreen[None]):
    """Finds a command by its name; runs one and goes."""

    def _on_mount(self, event: Mount) -> None:
        # The application is closing, and the screen whose commands these are has gone first.
        if len(self.app.screen_stack) < 2:
            event.prevent_default()
