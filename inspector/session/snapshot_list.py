"""Lists with cheap immutable snapshots.

A snapshot consists of chunks and shares all unchanged chunks with the next one. The difference between two snapshots is
found without comparing shared chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, compress, count
from operator import is_not
from typing import Any, Final, Self, SupportsIndex, TypeVar, overload

Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)
Result = TypeVar("Result")

CHUNK: Final = 512


class ListSnapshot(Sequence[Item_co]):
    """Immutable state of a list, equal to any tuple with equal items; slower to index, not to iterate."""

    __slots__ = ("_chunk_results", "_chunks", "_count")

    def __init__(self, items: Iterable[Item_co]) -> None:
        entries = tuple(items)
        self._chunks = tuple(entries[start : start + CHUNK] for start in range(0, len(entries), CHUNK))
        self._count = len(entries)
        self._chunk_results: dict[tuple[str, int], tuple[object, Any]] = {}

    @classmethod
    def of_chunks(
        cls, chunks: Iterable[tuple[Item_co, ...]], count: int, results: dict[tuple[str, int], tuple[object, Any]]
    ) -> ListSnapshot[Item_co]:
        """Build a snapshot from full chunks, with a shorter last one, and cached results per chunk."""
        made = cls(())
        made._chunks, made._count, made._chunk_results = tuple(chunks), count, results
        return made

    def map_own_chunks(self, cache_key: str, compute: Callable[[tuple[Item_co, ...]], Result]) -> Iterator[Result]:
        """Yield the result of `compute` for every chunk, in order; see `map_chunks`."""
        for place, chunk in enumerate(self._chunks):
            of, reported = self._chunk_results.get((cache_key, place), (None, None))
            if of is not chunk:
                reported = compute(chunk)
                self._chunk_results[cache_key, place] = chunk, reported
            yield reported

    def common_prefix_length(self, other: ListSnapshot[object]) -> int:
        """Return the number of leading items that are the same objects in another snapshot."""
        alike = 0
        for one, another in zip(self._chunks, other._chunks, strict=False):
            same = len(one) if one is another else _same_until(one, another)
            alike += same
            if same < CHUNK:
                break
        return alike

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Item_co: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Item_co, ...]: ...

    def __getitem__(self, index: int | slice) -> Item_co | tuple[Item_co, ...]:
        if isinstance(index, slice):
            return self._part(*index.indices(self._count))
        place = index + self._count if index < 0 else index
        if not 0 <= place < self._count:
            raise IndexError(index)
        return self._chunks[place // CHUNK][place % CHUNK]

    def _part(self, start: int, stop: int, step: int) -> tuple[Item_co, ...]:
        if step < 0 or stop <= start:
            return tuple(map(self.__getitem__, range(start, stop, step)))
        first = start // CHUNK
        begun = tuple(chain.from_iterable(self._chunks[first : (stop - 1) // CHUNK + 1]))
        return begun[start - first * CHUNK : stop - first * CHUNK : step]

    def __iter__(self) -> Iterator[Item_co]:
        return chain.from_iterable(self._chunks)

    def __reversed__(self) -> Iterator[Item_co]:
        return chain.from_iterable(map(reversed, reversed(self._chunks)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ListSnapshot):
            return self._chunks == other._chunks
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class SnapshotList(list[Item]):
    """A list that creates snapshots."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        super().__init__(items)
        self._chunks: list[tuple[Item, ...]] = []
        self._state: ListSnapshot[Item] = ListSnapshot(())
        self._chunk_results: dict[tuple[str, int], tuple[object, Any]] = {}
        self._unchanged = 0

    @property
    def unchanged(self) -> int:
        """Number of leading items not modified since the last snapshot."""
        return self._unchanged

    def snapshot(self) -> ListSnapshot[Item]:
        """Return the current items as a snapshot; the same object while the list is unchanged.

        An item equal to the one at its position in the previous snapshot is replaced by that object, so a change that
        was reverted, such as leaving and rejoining a branch, leaves no trace.
        """
        if not self._unchanged == len(self) == len(self._state):
            changed = zip(self[self._unchanged :], self._state[self._unchanged :], strict=False)
            for place, (new, old) in enumerate(changed, start=self._unchanged):
                if new is not old and new == old:
                    super().__setitem__(place, old)
            first = self._unchanged // CHUNK
            starts = range(first * CHUNK, len(self), CHUNK)
            self._chunks[first:] = [tuple(self[start : start + CHUNK]) for start in starts]
            self._state, self._unchanged = (
                ListSnapshot.of_chunks(self._chunks, len(self), self._chunk_results),
                len(self),
            )
        return self._state

    def _touch(self, place: SupportsIndex | slice) -> None:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            first = start if step > 0 else max(min(start, stop + 1), 0)
        else:
            first = place.__index__()
            first = max(first + len(self), 0) if first < 0 else first
        self._unchanged = min(self._unchanged, first)

    def __setitem__(self, place: Any, items: Any) -> None:  # overloaded in `list`
        self._touch(place)
        super().__setitem__(place, items)

    def __delitem__(self, place: SupportsIndex | slice) -> None:
        self._touch(place)
        super().__delitem__(place)

    def __imul__(self, times: SupportsIndex) -> Self:
        self._touch(0)
        return super().__imul__(times)

    def insert(self, place: SupportsIndex, item: Item) -> None:
        self._touch(place)
        super().insert(place, item)

    def pop(self, place: SupportsIndex = -1) -> Item:
        self._touch(place)
        return super().pop(place)

    def remove(self, item: Item) -> None:
        del self[self.index(item)]

    def clear(self) -> None:
        del self[:]

    def reverse(self) -> None:
        self[:] = self[::-1]

    def sort(self, **how: Any) -> None:
        self[:] = sorted(self, **how)


def map_chunks(
    entries: Sequence[Item], cache_key: str, compute: Callable[[tuple[Item, ...]], Result]
) -> Iterator[Result]:
    """Yield results per chunk of a list, in order; results of chunks shared with other snapshots are cached.

    Args:
        entries: A snapshot, or any sequence, which is treated as one chunk.
        cache_key: Cache key; one key must always belong to the same function.
    """
    return (
        entries.map_own_chunks(cache_key, compute)
        if isinstance(entries, ListSnapshot)
        else iter((compute(tuple(entries)),))
    )


def unchanged(after: Sequence[object], before: Sequence[object]) -> int:
    """Return the number of leading items that are the same objects."""
    if isinstance(after, ListSnapshot) and isinstance(before, ListSnapshot):
        return after.common_prefix_length(before)
    return _same_until(after, before)


def _same_until(one: Sequence[object], another: Sequence[object]) -> int:
    return next(compress(count(), map(is_not, one, another)), min(len(one), len(another)))
