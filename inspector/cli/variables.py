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
    Variable("INSPECTOR_NO_INDEX", "Set to anything: `recall --search` keeps no index."),
    Variable("INSPECTOR_TRACEBACK", "Set to anything: a bug is told with its whole traceback."),
    Variable("INSPECTOR_WATCH", "Set to `stat`: files are looked at ten times a second, without file events."),
    Variable("NO_COLOR", "Set to anything: no colours, anywhere."),
    Variable("TERM", "What the terminal is; `dumb` is refused by the screen. `xterm-256color` has 256 colours."),
    Variable("COLORTERM", "`truecolor` where the terminal has all colours."),
    Variable("TEXTUAL_ANIMATIONS", "`none`: no movement on the screen."),
    Variable("PAGER", "What a text is shown with outside of the screen."),
    Variable("TIKTOKEN_CACHE_DIR", "A folder with vocabularies, looked into before the one that comes along."),
    Variable("DATA_GYM_CACHE_DIR", "The same, by its older name."),
    Variable("XDG_CONFIG_HOME", "Another place for settings and prices, on Linux."),
    Variable("XDG_DATA_HOME", "Another place for plans and pictures, on Linux."),
    Variable("XDG_STATE_HOME", "Another place for how sessions were left, on Linux."),
    Variable("XDG_CACHE_HOME", "Another place for what can be worked out again, on Linux."),
)
"""Variables in documentation order; a test checks that the list is complete."""
