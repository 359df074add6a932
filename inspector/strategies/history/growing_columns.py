"""Columns that grow with their session: what the next state adds is put behind what is there, not copied with it."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from inspector.session.snapshot_list import unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

Entry = TypeVar("Entry")
Scalar = TypeVar("Scalar", bound=np.generic)

SHARE_KEPT_FREE: Final = 8
LEAST_KEPT_FREE: Final = 256


class GrowingColumns:
    """The room behind columns, shared by the states of one session.

    An earlier state never sees what a later one added: its column ends before it. Where a later state has another
    entry than the one there, it gets a copy.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, NDArray[np.generic]] = {}
        self._filled: dict[str, int] = {}
        self._said: dict[str, tuple[Sequence[object], NDArray[Any]]] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._lock = Lock()

    def grown(self, name: str, before: NDArray[Scalar], kept: int, new: NDArray[Scalar]) -> NDArray[Scalar]:
        """The first `kept` entries of a column, then `new` ones; not to be written to.

        Args:
            name: What the column is called here.
            before: The column of an earlier state.
            kept: How many of its entries stay.
            new: What follows them, of the same type.
        """
        count = kept + len(new)
        with self._lock:
            if not self._fits(name, before, kept, new):
                room = count + max(count // SHARE_KEPT_FREE, LEAST_KEPT_FREE)
                buffer = np.empty((room, *new.shape[1:]), dtype=new.dtype)
                buffer[:kept] = before[:kept]
                buffer[kept:count] = new
                self._buffers[name] = buffer
            else:
                self._buffers[name][len(before) : count] = new[len(before) - kept :]
            self._filled[name] = count
            column: NDArray[Scalar] = self._buffers[name][:count]  # type: ignore[assignment]  # of the type of `new`
        column.flags.writeable = False
        return column

    def over(
        self, name: str, entries: Sequence[Entry], column_of: Callable[[Sequence[Entry]], NDArray[Scalar]]
    ) -> NDArray[Scalar]:
        """What is said of every entry by itself; of those that were there the last time, it is known.

        Args:
            name: What the column is called here.
            entries: Of the session as it is now: its calls, say.
            column_of: Gives the column of some of them, in order.
        """
        seen, before = self._said.get(name, ((), None))
        kept = unchanged(entries, seen)
        new = column_of(entries[kept:])
        column = self.grown(name, new if before is None else before, kept, new)
        self._said[name] = (entries, column)
        return column

    def numbers(self, name: str) -> dict[str, int]:
        """The numbers that words of some kind were given, in all states; for whoever gives them to add to."""
        return self._numbers.setdefault(name, {})

    def _fits(self, name: str, before: NDArray[Scalar], kept: int, new: NDArray[Scalar]) -> bool:
        """Whether the column is the newest in its room, ends as `new` begins, and has room for the rest."""
        buffer = self._buffers.get(name)
        again = len(before) - kept
        if buffer is None:
            return False
        return (
            buffer.dtype == new.dtype
            and kept + len(new) <= len(buffer)
            and before.base is buffer
            and self._filled[name] == len(before)
            and again <= len(new)
            and bool(np.array_equal(before[kept:], new[:again]))
        )
