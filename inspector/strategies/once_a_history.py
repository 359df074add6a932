"""What follows from a session alone, or from it and a few settings: worked out once, however often a plan changes."""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.strategies.history import History

Settings = ParamSpec("Settings")
Found = TypeVar("Found")


def once_a_history(
    function: Callable[Concatenate[History, Settings], Found],
) -> Callable[Concatenate[History, Settings], Found]:
    """Keep what a function of a history and hashable settings returns for as long as the history is there.

    What it returns is handed out again, so nobody may change it.
    """

    def remembering(history: History, /, *settings: Settings.args, **named: Settings.kwargs) -> Found:
        key = (function, settings, tuple(named.items()))
        if key not in history.findings:
            history.findings[key] = function(history, *settings, **named)
        return cast("Found", history.findings[key])

    update_wrapper(remembering, function)
    return remembering
