"""Tokens in the context at every call, and the same brought to as many columns as a screen has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ChartSeries:
    """What the context chart shows; equal only to itself.

    Attributes:
        recorded: Prompt tokens of every call as recorded, int64.
        planned: The same under the plan, or None where there is no plan.
        window: Tokens the model's window holds, or None where unknown.
        compactions: Calls that are the first after a recorded compaction.
        breaks: Calls at which the plan loses cached tokens.
        cursor: The call looked at; None or the number of calls for the next one, not yet made.
    """

    recorded: NDArray[np.int64]
    planned: NDArray[np.int64] | None = None
    window: int | None = None
    compactions: tuple[int, ...] = ()
    breaks: NDArray[np.int32] | tuple[int, ...] = ()
    cursor: int | None = None

    @property
    def call_count(self) -> int:
        """Calls there are."""
        return len(self.recorded)

    @property
    def peak(self) -> int:
        """The most tokens any call sends."""
        peak = int(self.recorded.max(initial=0))
        return peak if self.planned is None else max(peak, int(self.planned.max(initial=0)))


@dataclass(frozen=True, eq=False)
class ChartColumns:
    """A series as columns of a screen.

    Attributes:
        recorded: Per column, the most tokens of any of its calls, int64.
        planned: The same under the plan, or None.
        compaction: Per column, whether a context begins there.
        is_break: Per column, whether cached tokens are lost there.
        call: Per column, the last of its calls, int64.
        cursor: The column of the call looked at, or None.
    """

    recorded: NDArray[np.int64]
    planned: NDArray[np.int64] | None
    compaction: NDArray[np.bool_]
    is_break: NDArray[np.bool_]
    call: NDArray[np.int64]
    cursor: int | None


def columns_of(series: ChartSeries, width: int) -> ChartColumns:
    """Bring a series to `width` columns: a call takes several, or a column shows the largest of several calls."""
    count, width = series.call_count, max(width, 0)
    if not count or not width:
        none = np.zeros(width, dtype=np.int64)
        return ChartColumns(none, None, none.astype(np.bool_), none.astype(np.bool_), none - 1, None)
    column = np.arange(width, dtype=np.int64)
    if count <= width:
        first = last = column * count // width
    else:
        first = -(-column * count // width)
        last = -(-(column + 1) * count // width) - 1
    cursor = series.cursor if series.cursor is not None and 0 <= series.cursor < count else None
    planned = series.planned[:count] if series.planned is not None and len(series.planned) >= count else None
    return ChartColumns(
        recorded=_largest(series.recorded, first),
        planned=None if planned is None else _largest(planned, first),
        compaction=_marked(series.compactions, count, width),
        is_break=_marked(series.breaks, count, width),
        call=last,
        cursor=None if cursor is None else int(_column_of(np.array([cursor]), count, width)[0]),
    )


def _column_of(calls: NDArray[np.int64], count: int, width: int) -> NDArray[np.int64]:
    """The first column of each call."""
    return calls * width // count if count > width else -(-calls * width // count)


def _largest(values: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """The largest value from each first index up to the next column's; where they are equal, the value there."""
    return np.maximum.reduceat(values, first)


def _marked(calls: NDArray[np.int32] | tuple[int, ...], count: int, width: int) -> NDArray[np.bool_]:
    marked = np.zeros(width, dtype=np.bool_)
    indices = np.asarray(calls, dtype=np.int64)
    indices = indices[(indices >= 0) & (indices < count)]
    marked[_column_of(indices, count, width)] = True
    return marked
