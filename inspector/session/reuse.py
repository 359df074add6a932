"""Keeping what did not change, for sessions that are put together anew at every change."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

Item = TypeVar("Item")


def reused(items: Sequence[Item], before: Sequence[Item]) -> list[Item]:
    """What there is now, as the same objects where it is equal to what stood in the same place before."""
    kept = [old if old is new or old == new else new for old, new in zip(before, items, strict=False)]
    return [*kept, *items[len(kept) :]]
