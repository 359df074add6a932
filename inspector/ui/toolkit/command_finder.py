"""The list of every command by its name."""

from __future__ import annotations

from textual.command import CommandPalette

from inspector.ui.toolkit.answered_screen import AnsweredScreen


class CommandFinder(CommandPalette, AnsweredScreen[None]):
    """Finds a command by its name; runs one and goes."""
