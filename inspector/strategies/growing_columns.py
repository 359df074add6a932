"""Columns that grow with their session: what the next state adds is put behind what is there, not copied with it."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
                buffer = np.empty(count + max(count // SHARE_KEPT_FREE, LEAST_KEPT_FREE), dtype=new.dtype)
                buffer[:kept] = before[:kept]
                buffer[kept:count] = new
                self._buffers[name] = buffer
            else:
                self._buffers[name][len(before) : count] = new[len(before) - kept :]
            self._filled[name] = count
            column: NDArray[Scalar] = self._buffers[name][:count]  # type: ignore[assignment]  # of the type of `new`
        column.flags.writeable = False
        return column

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
