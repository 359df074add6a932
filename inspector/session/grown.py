"""What is added to and never changed: every state of it is there without a copy of what came before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Iterator

Item_co = TypeVar("Item_co", covariant=True)


class Grown(Sequence[Item_co], Generic[Item_co]):
    """The entries a list has now, whatever is added to it later: as a tuple would be, but made at once.

    Whoever makes one may add to the list from then on, and change nothing in it. Equal to every tuple and every other
    one with equal entries.
    """

    __slots__ = ("_count", "_items")

    def __init__(self, items: list[Item_co]) -> None:
        self._items = items
        self._count = len(items)

    def extends(self, earlier: Sequence[object]) -> bool:
        """Whether `earlier` is a state of the same list, so that its entries are the first ones here."""
        if not isinstance(earlier, Grown):
            return False
        return earlier._items is self._items and len(earlier) <= self._count  # noqa: SLF001  another one of these

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Item_co: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Item_co, ...]: ...

    def __getitem__(self, index: int | slice) -> Item_co | tuple[Item_co, ...]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._count)
            if step > 0:
                return tuple(self._items[start:stop:step])
            return tuple(self._items[place] for place in range(start, stop, step))
        place = index + self._count if index < 0 else index
        if not 0 <= place < self._count:
            raise IndexError(index)
        return self._items[place]

    def __iter__(self) -> Iterator[Item_co]:
        return islice(self._items, self._count)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grown | tuple):
            return NotImplemented
        return len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
