"""The list of every command by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.command import CommandList, CommandPalette
from textual.events import Click

from inspector.ui.toolkit.answered_screen import AnsweredScreen

if TYPE_CHECKING:
    from textual.events import Mount


class CommandFinder(CommandPalette, AnsweredScreen[None]):
    """Finds a command by its name; runs one and goes."""

    def _on_mount(self, event: Mount) -> None:
        # The application is closing, and the screen whose commands these are has gone first.
        if len(self.app.screen_stack) < 2:
            event.prevent_default()

    @on(Click)
    def _drop_outside(self, event: Click) -> None:
        # The terminal has become smaller since: where the click was there is nothing, which Textual takes for a fault.
        if not self.region.contains(int(event.screen_x), int(event.screen_y)):
            event.prevent_default()

    def _action_command_list(self, action: str) -> None:
        # Where there is no room for the list it has no lines, which Textual looks up all the same.
        if self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)
