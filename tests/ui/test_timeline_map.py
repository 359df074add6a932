from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.ui.timeline.arrangement import Arrangement, Folds, Order, arrange
from inspector.ui.timeline.jumps import BOUNDARY, CHANGED, ERROR, HIT, PIN, cells_of, scroll_ticks
from tests.ui import synthetic

VIEW = synthetic.view_of(synthetic.session(300, compact_every=100))


@given(st.lists(st.integers(0, 999), max_size=50), st.integers(1000, 5000), st.integers(1, 60))
def test_every_line_has_its_cell(lines: list[int], count: int, height: int) -> None:
    cells = cells_of(np.array(lines, dtype=np.int32), count, height)

    assert set(cells.tolist()) == {line * height // count for line in lines}


def test_what_the_user_asked_for_covers_what_else_is_there() -> None:
    errors = VIEW.error_positions
    assert ERROR in scroll_ticks(VIEW, 30, 1)

    hits = replace(VIEW, hits=errors[3:4])
    assert [mark for mark in scroll_ticks(hits, 30, 1) if mark == HIT] == [HIT]
    pinned = replace(hits, pins=frozenset({int(VIEW.rows.block[errors[3]])}))
    assert PIN in scroll_ticks(pinned, 30, 1)
    assert HIT not in scroll_ticks(pinned, 30, 1)


def test_where_all_rows_fit_a_mark_is_next_to_its_row() -> None:
    view = synthetic.view_of(synthetic.session(6), planned=False)
    view = replace(view, pins=frozenset({2}))

    assert [place for place, mark in enumerate(scroll_ticks(view, 40, 1)) if mark == PIN] == [3]


def test_a_pin_in_a_folded_message_is_at_the_row_for_it() -> None:
    several = next(index for index, entry in enumerate(VIEW.rows.history.session.messages) if len(entry.blocks) > 1)
    last = int(VIEW.rows.history.message_first_block[several + 1]) - 1
    shown, folded = arrange(VIEW.rows, Arrangement(folds=Folds(True)), VIEW.tokens)
    view = replace(VIEW, visible=shown, folded=folded, pins=frozenset({last}))

    (place,) = view.pin_positions.tolist()
    row = view.rows.row(view.row_at(place))
    assert row.message == several + 1
    assert row.starts_message
    assert view.position_of(view.rows.index_of(last)) == place


def test_sorted_rows_are_found_again() -> None:
    shown, folded = arrange(VIEW.rows, Arrangement(Order.SIZE), VIEW.tokens)
    view = replace(VIEW, visible=shown, folded=folded, order=Order.SIZE)

    assert all(view.position_of(int(row)) == place for place, row in enumerate(shown[:50]))


def test_a_compaction_covers_cuts_and_failures_of_its_cell() -> None:
    marks = scroll_ticks(VIEW, 30, 1)

    boundary = int(VIEW.boundary_positions[1]) + 1
    assert marks[boundary * 30 // (VIEW.count + 1)] == BOUNDARY
    assert CHANGED in scroll_ticks(VIEW, 200, 1)


def test_where_failures_are_nearly_everywhere_only_where_they_are_most_is_marked() -> None:
    view = synthetic.view_of(synthetic.session(300), planned=False)
    few = scroll_ticks(view, 3, 1)
    counts = np.bincount((view.error_positions.astype(np.int64) + 1) * 3 // (view.count + 1), minlength=3)

    assert [mark == ERROR for mark in few] == (counts > counts.mean()).tolist()
