"""Memoization of what strategies find: per text, by its digest, and per history, for as long as that is there.

Rules that look into texts would read the file again for every limit that is dragged. What they look for does not
depend on the limit, so it is found once.
"""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from inspector.session.model import TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from inspector.session.model import Block, Session
    from inspector.strategies.history.history import History

Key = TypeVar("Key")
Found = TypeVar("Found")
Settings = ParamSpec("Settings")

_MOST = 200_000


class Memo(dict[Key, Found]):
    """What was found, by what it was found of; begins anew when it is too much."""

    def __init__(self, most: int = _MOST) -> None:
        """Begin with nothing.

        Args:
            most: How much is kept at most: findings, or what they are said to take.
        """
        super().__init__()
        self._most = most
        self._taken = 0

    def keep(self, key: Key, found: Found, takes: int = 1) -> Found:
        """Keep what was found.

        Args:
            key: What it was found of.
            found: What was found, which is returned.
            takes: What it takes of the room there is.
        """
        self._taken += takes
        if self._taken > self._most:
            self.clear()
            self._taken = takes
        self[key] = found
        return found


class TextMemo(Generic[Found]):
    """A function of a block's recorded text that is worked out once for every text."""

    def __init__(
        self,
        find: Callable[[str], Found],
        missing: Found,
        read: Callable[[Session, Block], str] = lambda session, block: session.text(block),
    ) -> None:
        """Begin with nothing.

        Args:
            find: The function.
            missing: The answer for a text that cannot be read any more; it is not kept.
            read: Gives the text, or raises `TextUnavailableError`.
        """
        self._find = find
        self._missing = missing
        self._read = read
        self._known: Memo[bytes, Found] = Memo()

    def __call__(self, session: Session, block: Block) -> Found:
        """What the function says of the block's text."""
        if block.digest in self._known:
            return self._known[block.digest]
        try:
            text = self._read(session, block)
        except TextUnavailableError:
            return self._missing
        return self._known.keep(block.digest, self._find(text))

    def each(self, session: Session, blocks: Iterable[Block]) -> list[Found]:
        """What the function says of the texts of many blocks."""
        known = self._known
        return [known[block.digest] if block.digest in known else self(session, block) for block in blocks]

    def of_text(self, text: str) -> Found:
        """What the function says of a text that was not recorded."""
        return self._find(text)


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


def kept_with(history: History, owner: object) -> dict[Any, Any]:
    """A dictionary that stays for as long as the history is there, in which `owner` keeps what it finds bit by bit."""
    return cast("dict[Any, Any]", history.findings.setdefault(owner, {}))
