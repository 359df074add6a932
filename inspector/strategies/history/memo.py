"""Memoization for strategies: per text, by its digest, and per history, for the history's lifetime.

Rules that inspect texts would otherwise read the file again for every dragged limit. Their findings do not depend on
the limit, so each is computed once.
"""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from inspector.session.model import Block, Session, TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from inspector.strategies.history.history import History

Key = TypeVar("Key")
Found = TypeVar("Found")
Settings = ParamSpec("Settings")

_MOST = 200_000


class Memo(dict[Key, Found]):
    """A dictionary of results that clears itself once it exceeds a size limit."""

    def __init__(self, most: int = _MOST) -> None:
        """Create an empty cache. `most`: maximum total size: number of results, or sum of their `takes`."""
        super().__init__()
        self._most = most
        self._taken = 0

    def keep(self, key: Key, found: Found, takes: int = 1) -> Found:
        """Store and return a result. `takes`: its share of the maximum size."""
        self._taken += takes
        if self._taken > self._most:
            self.clear()
            self._taken = takes
        self[key] = found
        return found


class TextMemo(Generic[Found]):
    """A function of a block's recorded text, computed once per text."""

    def __init__(
        self,
        find: Callable[[str], Found],
        missing: Found,
        read: Callable[[Session, Block], str] = lambda session, block: session.text(block),
    ) -> None:
        """Create an empty cache. `missing` replaces a text that `read` cannot return any more; it is not cached."""
        self._find = find
        self._missing = missing
        self._read = read
        self._known: Memo[bytes, Found] = Memo()

    def __call__(self, session: Session, block: Block) -> Found:
        if block.digest in self._known:
            return self._known[block.digest]
        try:
            text = self._read(session, block)
        except TextUnavailableError:
            return self._missing
        return self._known.keep(block.digest, self._find(text))

    def each(self, session: Session, blocks: Iterable[Block]) -> list[Found]:
        known = self._known
        return [known[block.digest] if block.digest in known else self(session, block) for block in blocks]

    def of_text(self, text: str) -> Found:
        return self._find(text)


def cached_per_history(
    function: Callable[Concatenate[History, Settings], Found],
) -> Callable[Concatenate[History, Settings], Found]:
    """Cache a function of a history and hashable settings for its lifetime. Do not change its results."""

    def remembering(history: History, /, *settings: Settings.args, **named: Settings.kwargs) -> Found:
        key = (function, settings, tuple(named.items()))
        if key not in history.findings:
            history.findings[key] = function(history, *settings, **named)
        return cast("Found", history.findings[key])

    update_wrapper(remembering, function)
    return remembering


def cache_for(history: History, owner: object) -> dict[Any, Any]:
    """Return a dictionary with the history's lifetime, in which `owner` caches its results."""
    return cast("dict[Any, Any]", history.findings.setdefault(owner, {}))
