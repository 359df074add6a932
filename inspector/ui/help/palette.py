"""The command palette: a line a command, its key first, found by its words and by what people call it."""

from __future__ import annotations

from inspect import unwrap
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from rich.text import Text
from textual import on, work
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Provider
from textual.events import Click

from inspector.ui.help.commands import found
from inspector.ui.toolkit.answered_screen import AnsweredScreen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.command import Hits
    from textual.events import Mount
    from textual.screen import Screen

    from inspector.ui.help.commands import PaletteCommand

KEY_CELLS: Final = 10
"""Cells of the column of keys."""
EDGE_CELLS: Final = 6
"""Cells beside a line."""

GATHERING: Final = "--textual-command-palette-gather-commands"
"""The group of the worker that fills the list, by which Textual ends it."""


@runtime_checkable
class OffersCommands(Protocol):
    """The application: what it offers on a screen."""

    def palette_commands(self, screen: Screen[object]) -> Iterable[PaletteCommand]:
        """Every command by name, those that apply now."""


class CommandProvider(Provider):
    """Offers what applies now, on the screen below the palette and in what has the focus there."""

    async def discover(self) -> Hits:
        """All commands, by their titles."""
        for command in found(self._commands(), ""):
            yield DiscoveryHit(self._line(command), command.run, text=command.title)

    async def search(self, query: str) -> Hits:
        """Those that answer what was typed, the best first.

        Args:
            query: What was typed.
        """
        answers = found(self._commands(), query)
        for place, command in enumerate(answers):
            yield Hit(1 - place / (len(answers) + 1), self._line(command), command.run, text=command.title)

    def _commands(self) -> list[PaletteCommand]:
        return list(self.app.palette_commands(self.screen)) if isinstance(self.app, OffersCommands) else []

    def _line(self, command: PaletteCommand) -> Text:
        line = Text.assemble((f"{command.keys:{KEY_CELLS}}", "bold"), command.title, no_wrap=True)
        if command.text:
            line.append(f"  {command.text}", "dim")
        line.truncate(max(self.app.size.width - EDGE_CELLS, KEY_CELLS), overflow="ellipsis")
        return line


class CommandFinder(CommandPalette, AnsweredScreen[None]):
    """Finds a command by its name; runs one and goes."""

    def _on_mount(self, event: Mount) -> None:
        # The application is closing, and the screen whose commands these are has gone first.
        if len(self.app.screen_stack) < 2:
            event.prevent_default()

    @work(exclusive=True, group=GATHERING)
    async def _gather_commands(self, search_value: str) -> None:
        # A worker begins a moment after it was asked for; what it fills may have been closed meanwhile.
        if self.query(CommandList):
            await unwrap(CommandPalette._gather_commands)(self, search_value)  # noqa: SLF001  the worker itself

    @on(Click)
    def _drop_outside(self, event: Click) -> None:
        # The terminal has become smaller since: where the click was there is nothing, which Textual takes for a fault.
        if not self.region.contains(int(event.screen_x), int(event.screen_y)):
            event.prevent_default()

    def _action_command_list(self, action: str) -> None:
        # Where there is no room for the list it has no lines, which Textual looks up all the same.
        if self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)
