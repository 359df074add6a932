"""The tree of entries, and what of it is sent: the path from the root to the leaf, which is the last entry."""

from __future__ import annotations

from array import array
from typing import NamedTuple

NONE = -1


class Compaction(NamedTuple):
    """A compaction as the tree sees it.

    Attributes:
        summary: Index of the message with its summary.
        first_kept: The entry from which on earlier ones are kept, -1 for none.
    """

    summary: int
    first_kept: int


class Tree:
    """Entries by number, in file order. A parent always has a smaller number, so that no path has an end missing."""

    def __init__(self) -> None:
        self.leaf = NONE
        self._parents = array("i")
        self._numbers: dict[str, int] = {}
        self._sent = array("i")
        self._compactions: dict[int, Compaction] = {}
        self._resets: set[int] = set()
        self._system: list[int] = []

    def __len__(self) -> int:
        return len(self._parents)

    def number(self, identifier: str) -> int:
        """An entry's number, -1 where there is no such entry."""
        return self._numbers.get(identifier, NONE)

    def add(self, identifier: str, parent: int) -> int:
        """Add an entry, which becomes the leaf; its number."""
        number = len(self._parents)
        self._parents.append(parent)
        self._sent.append(NONE)
        if identifier:
            self._numbers[identifier] = number
        self.leaf = number
        return number

    def send(self, number: int, message: int, *, is_system: bool = False) -> None:
        """Say which message an entry is, where that is sent."""
        self._sent[number] = message
        if is_system:
            self._system.append(number)

    def compact(self, number: int, compaction: Compaction) -> None:
        """Say that an entry is a compaction."""
        self._compactions[number] = compaction

    def reset(self, number: int) -> None:
        """Say that the conversation begins anew after an entry."""
        self._resets.add(number)

    def path(self, number: int) -> list[int]:
        """The entries from the root to one of them."""
        path = []
        while number != NONE:
            path.append(number)
            number = self._parents[number]
        path.reverse()
        return path

    def system(self, path: list[int]) -> list[int]:
        """The messages on a path that come first whatever is compacted."""
        on_path = set(path)
        return [self._sent[number] for number in self._system if number in on_path]

    def kept(self, path: list[int], first_kept: int) -> list[int]:
        """The messages on a path from an entry on; none where the entry is not on it."""
        if first_kept not in path:
            return []
        return self._messages(path[path.index(first_kept) :])

    def members(self, path: list[int]) -> list[int]:
        """The messages that are sent when the last entry of a path is the leaf (pi's `buildSessionContext`)."""
        for place in range(len(path) - 1, NONE, -1):
            number = path[place]
            if number in self._resets:
                return [*self.system(path), *self._messages(path[place + 1 :])]
            if number in self._compactions:
                summary, first_kept = self._compactions[number]
                kept = self.kept(path[:place], first_kept)
                return [*self.system(path), summary, *kept, *self._messages(path[place + 1 :])]
        return [*self.system(path), *self._messages(path)]

    def _messages(self, numbers: list[int]) -> list[int]:
        system = set(self._system)
        return [self._sent[number] for number in numbers if self._sent[number] != NONE and number not in system]
