"""Command palette: one line per command, with its key first. Search covers titles and synonyms."""

from __future__ import annotations

from inspect import unwrap
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from rich.text import Text
from textual import on, work
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Provider
from textual.events import Click

from inspector.ui.help.commands import found
from inspector.ui.toolkit.single_result_screen import SingleResultScreen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.command import Hits
    from textual.events import Mount
    from textual.screen import Screen

    from inspector.ui.help.commands import PaletteCommand

KEY_CELLS: Final = 10
"""Width of the key column in cells."""
EDGE_CELLS: Final = 6
"""Cells of a line outside its content."""

GATHERING: Final = "--textual-command-palette-gather-commands"
"""Worker group that fills the list. Textual cancels it by this name."""


@runtime_checkable
class OffersCommands(Protocol):
    """App that offers commands."""

    def palette_commands(self, screen: Screen[object]) -> Iterable[PaletteCommand]:
        """Yield every command that applies now."""


class CommandProvider(Provider):
    """Provides the commands of the screen below the palette and of its focused widget."""

    async def discover(self) -> Hits:
        """Yield all commands, ordered by title."""
        for command in found(self._commands(), ""):
            yield DiscoveryHit(self._line(command), command.run, text=command.title)

    async def search(self, query: str) -> Hits:
        """Yield the matching commands, the best first.

        Args:
            query: The typed text.
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


class CommandFinder(CommandPalette, SingleResultScreen[None]):
    """Palette that runs one command and closes."""

    def _on_mount(self, event: Mount) -> None:
        # The app is exiting, and the screen that owns the commands is already gone.
        if len(self.app.screen_stack) < 2:
            event.prevent_default()

    @work(exclusive=True, group=GATHERING)
    async def _gather_commands(self, search_value: str) -> None:
        # Workers start with a delay, so the palette may be closed by now.
        if self.query(CommandList):
            await unwrap(CommandPalette._gather_commands)(self, search_value)  # noqa: SLF001  the worker itself

    @on(Click)
    def _drop_outside(self, event: Click) -> None:
        # The terminal has shrunk since, and Textual fails on a click outside of it.
        if not self.region.contains(int(event.screen_x), int(event.screen_y)):
            event.prevent_default()

    def _action_command_list(self, action: str) -> None:
        # A list without room has no lines, and Textual fails when it looks one up.
        if self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)
