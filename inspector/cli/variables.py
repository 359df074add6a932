"""Environment variables that the program reads, except the variables of agents."""

from __future__ import annotations

from typing import NamedTuple


class Variable(NamedTuple):
    """One variable.

    Attributes:
        name: Name.
        text: Effect, in a sentence.
    """

    name: str
    text: str


VARIABLES = (
    Variable(
        "INSPECTOR_LINE_MB", "Limit on a line of a session, in megabytes (64). Longer lines are skipped and listed."
    ),
    Variable("INSPECTOR_NO_INDEX", "Any value: `recall --search` stores no index."),
    Variable("INSPECTOR_TRACEBACK", "Any value: a bug prints its full traceback."),
    Variable("INSPECTOR_WATCH", "`stat`: poll files ten times a second instead of using file events."),
    Variable("NO_COLOR", "Any value: no colors."),
    Variable("TERM", "Type of the terminal; the screen rejects `dumb`. `xterm-256color` has 256 colors."),
    Variable("COLORTERM", "`truecolor` if the terminal has all colors."),
    Variable("TEXTUAL_ANIMATIONS", "`none`: no animations."),
    Variable("PAGER", "Pager for texts outside the screen."),
    Variable("TIKTOKEN_CACHE_DIR", "A folder with vocabularies, searched before the bundled one."),
    Variable("DATA_GYM_CACHE_DIR", "Older name of the same variable."),
    Variable("XDG_CONFIG_HOME", "Folder for settings and prices, on Linux."),
    Variable("XDG_DATA_HOME", "Folder for plans and pictures, on Linux."),
    Variable("XDG_STATE_HOME", "Folder for the view state of sessions, on Linux."),
    Variable("XDG_CACHE_HOME", "Folder for caches, on Linux."),
)
"""Variables in documentation order; a test checks that the list is complete."""
