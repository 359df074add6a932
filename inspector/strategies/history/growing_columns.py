"""Columns that grow with their session: new entries are appended in place instead of copying the column."""

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

SPARE_FRACTION: Final = 8
MIN_SPARE_ENTRIES: Final = 256


class GrowingColumns:
    """Buffers of columns, shared by the states of one session.

    An earlier state never sees entries added later, because its column ends before them. A later state that disagrees
    with an existing entry gets a copy.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, NDArray[np.generic]] = {}
        self._filled: dict[str, int] = {}
        self._entry_columns: dict[str, tuple[Sequence[object], NDArray[Any]]] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._lock = Lock()

    def grown(self, name: str, before: NDArray[Scalar], kept: int, new: NDArray[Scalar]) -> NDArray[Scalar]:
        """Return the first `kept` entries of a column followed by `new` ones, read-only.

        Args:
            name: Name of the column.
            before: The column of an earlier state.
            kept: Number of its entries that stay.
            new: Entries that follow them, of the same type.
        """
        count = kept + len(new)
        with self._lock:
            if not self._fits(name, before, kept, new):
                room = count + max(count // SPARE_FRACTION, MIN_SPARE_ENTRIES)
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
        """Compute a column with one value per entry, reusing the values of entries unchanged since the last call.

        Args:
            name: Name of the column.
            entries: Entries of the session's current state, e.g. its calls.
            column_of: Computes the column of a sequence of entries.
        """
        seen, before = self._entry_columns.get(name, ((), None))
        kept = unchanged(entries, seen)
        new = column_of(entries[kept:])
        column = self.grown(name, new if before is None else before, kept, new)
        self._entry_columns[name] = (entries, column)
        return column

    def numbers(self, name: str) -> dict[str, int]:
        """Return the numbers assigned to strings of one kind, in all states; callers add to it."""
        return self._numbers.setdefault(name, {})

    def _fits(self, name: str, before: NDArray[Scalar], kept: int, new: NDArray[Scalar]) -> bool:
        """Return True if the column is the newest in its buffer, ends as `new` begins, and has room for the rest."""
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
