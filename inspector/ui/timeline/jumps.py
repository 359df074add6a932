"""Jump targets, the search for the next one, and marks next to the scrollbar."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from inspector.report.numbers import ON_SCREEN
from inspector.ui.miss_glyphs import costs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.replay.analysis.cache_misses import CacheMiss
    from inspector.strategies.history.history import History
    from inspector.ui.outcome import Outcome
    from inspector.ui.timeline.view import TimelineView


MOST_RISES = 20


class Jump(NamedTuple):
    """A jump target.

    Attributes:
        block: Block to move to.
        text: Description of the event.
    """

    block: int
    text: str


class JumpResult(NamedTuple):
    """Result of a jump.

    Attributes:
        position: Position among the visible rows.
        row: The target row.
        place: Number of the target, from 1, in display order.
        total: Number of targets.
        hidden: Number of further targets in hidden rows.
        is_near: All targets are hidden; the position is the nearest visible row.
        is_around: The jump wrapped around, after an earlier one of its kind.
    """

    position: int
    row: int
    place: int
    total: int
    hidden: int = 0
    is_near: bool = False
    is_around: bool = False

    def sentence(self, noun: str) -> str:
        """Describe the position in a few words: `failure 3/17`."""
        parts = [f"{noun} {ON_SCREEN.whole(self.place)}/{ON_SCREEN.whole(self.total)}"]
        if self.is_around and self.total > 1:
            parts.append("wrapped to the top" if self.place == 1 else "wrapped to the bottom")
        if self.is_near:
            parts.append("its row is hidden, this is the nearest one")
        elif self.hidden:
            parts.append(f"{ON_SCREEN.whole(self.hidden)} more hidden")
        return ", ".join(parts)


def find_jump(
    view: TimelineView,
    wanted: NDArray[np.integer[Any]],
    step: int,
    cursor: int,
    before: JumpResult | None = None,
    *,
    is_nearest_first: bool = False,
) -> JumpResult | None:
    """Find the next visible target from the cursor, wrapping around.

    If all targets are hidden, visits each of them at the nearest visible row.

    Args:
        view: The view shown, in any order.
        wanted: The target rows, ascending.
        step: 1 for the next one below, -1 for the one above, 0 for the first from the cursor on.
        cursor: Position of the cursor.
        before: Result of the previous jump; distinguishes hidden targets that share a nearest row.
        is_nearest_first: If no target is left in that direction, the first such jump goes to the nearest in the other
            one.

    Returns:
        The target; None without targets or visible rows.
    """
    if not len(wanted) or not view.count or cursor < 0:
        return None
    places = view.places_of(wanted)
    positions = np.unique(places[places >= 0])
    if len(positions):
        found, is_around = _next_of(positions, cursor, step)
        if is_around and before is None:
            is_around = False
            found = len(positions) - 1 - found if is_nearest_first else found
        position = int(positions[found])
        row = int(wanted[np.flatnonzero(places == position)[0]])
        hidden = int((places < 0).sum())
        return JumpResult(position, row, found + 1, len(positions), hidden, is_around=is_around)
    here = before.row if before is not None and before.position == cursor else view.row_at(cursor)
    found, is_around = _next_of(wanted, here, step)
    is_around = is_around and before is not None
    row = int(wanted[found])
    return JumpResult(
        view.position_of(row), row, found + 1, len(wanted), len(wanted), is_near=True, is_around=is_around
    )


def _next_of(values: NDArray[np.integer[Any]], here: int, step: int) -> tuple[int, bool]:
    """Return the index of the next of some ascending values, and True if it wraps around."""
    found = int(np.searchsorted(values, here, side="right" if step > 0 else "left")) - (step < 0)
    return found % len(values), not 0 <= found < len(values)


def rises_of(outcome: Outcome) -> tuple[Jump, ...]:
    """Return the largest new block of each call with the most growth of the recorded prompt, in block order."""
    history = outcome.replay.history
    prompts = outcome.baseline.ledger.prompt_tokens
    grown = prompts - prompts_before(history, prompts)
    largest = np.argsort(-grown, kind="stable")[:MOST_RISES]
    jumps = []
    for rank, call in enumerate(largest.tolist()):
        block = _largest_new(outcome, call)
        if grown[call] > 0 and block >= 0:
            more = f"{ON_SCREEN.short(grown[call])} more tokens than the previous one"
            jumps.append(Jump(block, f"call {ON_SCREEN.whole(call + 1)} sent {more} (#{rank + 1} by size)"))
    return tuple(sorted(jumps))


def misses_of(misses: Mapping[int, CacheMiss]) -> tuple[Jump, ...]:
    """Return avoidable cache misses as jump targets, in block order."""
    return tuple(
        Jump(block, f"{miss.cause.label}, {costs(miss)}") for block, miss in sorted(misses.items(), key=itemgetter(0))
    )


def place_of_call(history: History, call: int) -> int:
    """Return the first block of a call's response, or the last block it sent if the response is empty."""
    response = history.session.calls[call].response
    first, end = (int(history.message_first_block[message]) for message in (response, response + 1))
    prompt = history.prompt(call)
    return first if end > first or not len(prompt) else int(prompt[-1])


def prompts_before(history: History, prompts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return per call the prompt of the previous call in the same context; the first call gets its own."""
    context = history.call_context[: len(prompts)]
    order = np.argsort(context, kind="stable")
    before = prompts.copy()
    same = context[order][1:] == context[order][:-1]
    before[order[1:][same]] = prompts[order[:-1][same]]
    return before


def _largest_new(outcome: Outcome, call: int) -> int:
    """Return the largest block that a call sends for the first time, -1 for none."""
    history = outcome.replay.history
    new = np.flatnonzero(history.enters == call)
    return int(new[np.argmax(outcome.inputs.block_tokens[new])]) if len(new) else -1


class ScrollTick(NamedTuple):
    """A glyph next to the scrollbar and its component class."""

    glyph: str
    style: str


BOUNDARY: Final = ScrollTick("─", "timeline--boundary")
PIN: Final = ScrollTick("•", "timeline--mark")
HIT: Final = ScrollTick("*", "timeline--hit")
ERROR: Final = ScrollTick("!", "timeline--error")
CHANGED: Final = ScrollTick("░", "timeline--cut")


Marks = tuple[ScrollTick | None, ...]


def scroll_ticks(view: TimelineView, height: int, header: int) -> Marks:
    """Return the most important mark per cell next to the scrollbar, which counts the header lines as rows."""
    lines = max(view.count + header, height)
    marks: list[ScrollTick | None] = [None] * height
    # Later marks replace earlier ones.
    for positions, mark in (
        (view.changed_positions, CHANGED),
        (_dense(view.error_positions, header, lines, height), ERROR),
        (view.boundary_positions, BOUNDARY),
        (view.hit_positions, HIT),
        (view.pin_positions, PIN),
    ):
        for cell in cells_of(positions + header, lines, height).tolist():
            marks[cell] = mark
    return tuple(marks)


def _dense(positions: NDArray[np.int32], header: int, line_count: int, height: int) -> NDArray[np.int32]:
    """Keep positions in cells with more than the average count, because marks in nearly every cell are useless."""
    if 2 * len(cells_of(positions + header, line_count, height)) <= height:
        return positions
    cells = (positions + header).astype(np.int64) * height // line_count
    counts = np.bincount(cells, minlength=height)
    kept: NDArray[np.int32] = positions[counts[cells] > counts.mean()]
    return kept


def cells_of(lines: NDArray[np.int32], line_count: int, height: int) -> NDArray[np.int64]:
    """Return the distinct cells covered by some of `line_count` lines, ascending."""
    if not height or not line_count:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.bincount(lines.astype(np.int64) * height // line_count, minlength=height))
