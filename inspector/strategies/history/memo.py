"""What was found in a recorded text, remembered by the text's digest.

Rules that look into texts would read the file again for every limit that is dragged. What they look for does not
depend on the limit, so it is found once.
"""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar, cast

from inspector.session.model import TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.session.model import Block, Session
    from inspector.strategies.history.history import History


Found = TypeVar("Found")

_MOST = 200_000


class Remembered(Generic[Found]):
    """A function of a block's recorded text that is worked out once for every text."""

    def __init__(self, find: Callable[[str], Found], missing: Found) -> None:
        """Begin with nothing.

        Args:
            find: The function.
            missing: The answer for a text that cannot be read any more; it is not kept.
        """
        self._find = find
        self._missing = missing
        self._known: dict[bytes, Found] = {}

    def __call__(self, session: Session, block: Block) -> Found:
        """What the function says of the block's text."""
        known = self._known
        if block.digest not in known:
            try:
                text = session.text(block)
            except TextUnavailableError:
                return self._missing
            if len(known) >= _MOST:
                known.clear()
            known[block.digest] = self._find(text)
        return known[block.digest]


Settings = ParamSpec("Settings")


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
