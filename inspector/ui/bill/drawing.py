"""The bill over calls as text: a column a call, one kind of token upon the other, and the cache misses below.

Kinds are told by glyph before hue. A column of several calls is their sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.replay.analysis.side_calls import side_spending
from inspector.report.ledger_facts import call_dollars
from inspector.report.numbers import ON_SCREEN
from inspector.ui.chart.view import first_calls_after_compactions
from inspector.ui.miss_marks import COMPACTED, MARKS, dollars, mark_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.replay.analysis.cache_misses import CacheMiss, CacheMisses


class BillKind(NamedTuple):
    """A kind of token of the bill.

    Attributes:
        field: Its name among the dollars of a call.
        glyph: What its cells are drawn with.
        style: Their component class.
        label: What it is called in the legend.
    """

    field: str
    glyph: str
    style: str
    label: str


KINDS: Final = (
    BillKind("cache_read_usd", "░", "bill--reads", "reads"),
    BillKind("cache_write_usd", "▓", "bill--writes", "writes"),
    BillKind("uncached_usd", "▒", "bill--uncached", "uncached"),
    BillKind("output_usd", "█", "bill--output", "output"),
)
"""From the lowest to the highest."""

AXIS: Final = "─"
BESIDE: Final = "+"
"""Stands under calls before which other requests were made."""
HERE: Final = "◆"
"""Stands under the call that is looked at."""

NAMED: Final = 3
"""So many misses are named above the columns."""


SEEN: Final = 0.002
"""The share of the bill from which on a kind is in the legend."""


class BillRun(NamedTuple):
    """A piece of a row and the component class it is drawn in."""

    text: str
    style: str


@dataclass(frozen=True, eq=False)
class BillSeries:
    """What every call cost; equal only to itself.

    Attributes:
        dollars: Per kind of `KINDS` and call, float64.
        misses: The misses that did not have to be, the costliest first.
        compactions: Calls that are the first after a recorded compaction.
        call: The call that is looked at; None for none.
        beside: Calls before which requests were made that are not the conversation's.
        beside_usd: What these cost.
    """

    dollars: NDArray[np.float64]
    misses: tuple[CacheMiss, ...]
    compactions: tuple[int, ...] = ()
    call: int | None = None
    beside: tuple[int, ...] = ()
    beside_usd: float = 0.0

    @property
    def call_count(self) -> int:
        """Calls there are."""
        return len(self.dollars[0])


def bill_of(found: CacheMisses) -> BillSeries | None:
    """The bill of a replay; None where no call has a price."""
    by_kind = call_dollars(found.replay)
    table = np.nan_to_num(np.array([by_kind[kind.field] for kind in KINDS], dtype=np.float64))
    compactions = first_calls_after_compactions(found.replay.history)
    session = found.replay.inputs.history.session
    requests = [each for row in side_spending(session, found.replay.inputs.pricing) for each in row.requests]
    places = {min(each.before, table.shape[1] - 1) for each in requests if each.before is not None}
    beside, usd = tuple(sorted(places)), sum(each.cost or 0.0 for each in requests)
    return BillSeries(table, found.dearest, compactions, None, beside, usd) if table.sum() > 0 else None


def told_of_call(series: BillSeries) -> str:
    """What the call that is looked at cost, by kind: `call 132: $2.48, writes $2.31, output $0.12`."""
    call = series.call
    if call is None or not 0 <= call < series.call_count:
        return ""
    mine = series.dollars[:, call].tolist()
    parts = [f"{kind.label} {ON_SCREEN.dollars(each)}" for kind, each in zip(KINDS, mine, strict=True) if each]
    return ", ".join([f"call {ON_SCREEN.whole(call + 1)}: {ON_SCREEN.dollars(sum(mine))}", *parts])


def draw_bill(series: BillSeries, width: int, height: int) -> tuple[tuple[BillRun, ...], ...]:
    """The bill, `height` rows from the top, each exactly `width` cells: names, columns, axis, legend.

    Args:
        series: What it shows.
        width: Cells of a row.
        height: Rows.
    """
    rows = max(height - 3, 0)
    if not rows or width <= 0:
        return tuple((BillRun(" " * width, ""),) for _ in range(height))
    labels = _label_width(series, width)
    places, costs = _columns(series, width - labels)
    top = float(costs.sum(axis=0).max(initial=0.0)) or 1.0
    label = ON_SCREEN.dollars(top)[: max(labels - 1, 0)]
    heights = np.cumsum(costs, axis=0) * (rows / top)
    blank = " " * labels
    drawn: list[list[tuple[str, str]]] = [_cells(blank, "bill--label") + _names(series, places, width - labels)]
    for row in range(rows):
        said = label.rjust(labels - 1) + " " if labels and not row else blank
        drawn.append(_cells(said, "bill--label") + _row(heights, rows - 1 - row))
    zero = "$0".rjust(labels - 1) + " " if labels else ""
    drawn.append(_cells(zero, "bill--label") + _axis(series, places, width - labels))
    drawn.append(_legend(series, width))
    return tuple(_runs(cells) for cells in drawn)


def call_at(series: BillSeries, x: int, width: int) -> int | None:
    """The costliest call drawn at a column of the widget; None beside the columns."""
    labels = _label_width(series, width)
    if not labels <= x < width:
        return None
    places, _ = _columns(series, width - labels)
    first = int(places[places <= x - labels].max(initial=0))
    calls = np.flatnonzero(places == first)
    return int(calls[series.dollars[:, calls].sum(axis=0).argmax()])


def _label_width(series: BillSeries, width: int) -> int:
    """Cells of the labels at the left, the blank after them included."""
    _, costs = _columns(series, max(width, 1))
    longest = len(ON_SCREEN.dollars(float(costs.sum(axis=0).max(initial=0.0)))) + 2
    return longest if width >= 4 * longest else 0


def _columns(series: BillSeries, width: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The first column of every call, and per kind and column what its costliest call cost.

    As many calls share a column as the width leaves no room for: added up they would make columns of two calls look
    dearer than those of one, and the same call cost more on a small screen.
    """
    count = series.call_count
    calls = np.arange(count, dtype=np.int64)
    places = calls * width // count if count > width else -(-calls * width // count)
    by_cost = np.lexsort((series.dollars.sum(axis=0), places))
    costliest = by_cost[np.flatnonzero(np.diff(places, append=width))]
    shown = np.maximum(np.searchsorted(places[costliest], np.arange(width), side="right") - 1, 0)
    return places, series.dollars[:, costliest[shown]]


def _row(heights: NDArray[np.float64], row: int) -> list[tuple[str, str]]:
    """A row of columns, counted from below: the kind with most of each cell, and at least a cell of what costs."""
    lower = np.vstack([np.zeros(heights.shape[1]), heights[:-1]])
    most = (np.minimum(heights, row + 1) - np.maximum(lower, row)).argmax(axis=0).tolist()
    is_there = (heights[-1] > row + 0.5) | ((row == 0) & (heights[-1] > 0))
    return [
        (KINDS[kind].glyph, KINDS[kind].style) if there else (" ", "")
        for kind, there in zip(most, is_there.tolist(), strict=True)
    ]


def _names(series: BillSeries, places: NDArray[np.int64], width: int) -> list[tuple[str, str]]:
    """The costliest misses by call and extra cost, where they stand or end there; those without room are left out."""
    cells = [(" ", "")] * width
    for miss in series.misses[:NAMED]:
        glyph = mark_of(miss.cause).glyph
        said = " ".join(filter(None, (glyph, ON_SCREEN.whole(miss.call + 1), dollars(miss.extra_usd))))
        column = int(places[miss.call])
        first = min(column, width - len(said))
        # Beside a name that stands there already, as long as the miss is below the name.
        for start in range(first, max(column - len(said), -1), -1):
            room = cells[max(start - 1, 0) : start + len(said) + 1]
            if all(letter == " " for letter, _ in room):
                cells[start : start + len(said)] = _cells(said, "bill--miss")
                break
    return cells


def _axis(series: BillSeries, places: NDArray[np.int64], width: int) -> list[tuple[str, str]]:
    cells = [(AXIS, "bill--axis")] * width
    for call in series.beside:
        cells[int(places[call])] = (BESIDE, "bill--label")
    for call in series.compactions:
        cells[int(places[call])] = (COMPACTED.glyph, "bill--compaction")
    for miss in reversed(series.misses):
        cells[int(places[miss.call])] = (mark_of(miss.cause).glyph, "bill--miss")
    if series.call is not None and 0 <= series.call < series.call_count:
        # Over any other mark: what the call is, its row and its name above the column say.
        cells[int(places[series.call])] = (HERE, "bill--here")
    return cells


def _legend(series: BillSeries, width: int) -> list[tuple[str, str]]:
    """What the glyphs stand for: kinds of tokens that cost something, then the marks of misses that there are."""
    totals = series.dollars.sum(axis=1).tolist()
    least = SEEN * sum(totals)
    entries = [(kind.glyph, kind.style, kind.label) for kind, total in zip(KINDS, totals, strict=True) if total > least]
    for mark in MARKS:
        causes = {miss.cause for miss in series.misses if mark_of(miss.cause) is mark}
        if causes:
            entries.append((mark.glyph, "bill--miss", causes.pop().short if len(causes) == 1 else mark.label))
    if series.compactions:
        entries.append((COMPACTED.glyph, "bill--compaction", COMPACTED.label))
    if series.beside_usd:
        entries.append((BESIDE, "bill--label", f"{ON_SCREEN.dollars(series.beside_usd)} beside"))
    if series.call is not None:
        entries.append((HERE, "bill--here", f"call {ON_SCREEN.whole(series.call + 1)}"))
    cells: list[tuple[str, str]] = []
    for glyph, style, label in entries:
        if len(cells) + len(label) + 4 > width:
            break
        cells += [(glyph, style), *_cells(f" {label}  ", "bill--label")]
    return cells + [(" ", "")] * (width - len(cells))


def _cells(text: str, style: str) -> list[tuple[str, str]]:
    return [(letter, style) for letter in text]


def _runs(cells: Iterable[tuple[str, str]]) -> tuple[BillRun, ...]:
    return tuple(
        BillRun("".join(map(itemgetter(0), group)), style) for style, group in groupby(cells, key=itemgetter(1))
    )
