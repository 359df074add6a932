from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from inspector.strategies.core.operations import Action
from inspector.tokens.counter import estimated_tokens
from inspector.tokens.token_table import TokenTable
from inspector.ui.timeline.columns import Space, columns_for, row_pieces
from inspector.ui.timeline.rows import row_tokens
from inspector.ui.timeline.view import TimelineView
from tests.ui import synthetic

VIEW = synthetic.view_of(synthetic.session(130, compact_every=50))


def test_before_a_replay_every_block_is_whole() -> None:
    view = replace(VIEW, state=None)

    assert view.amount(3).recorded == view.amount(3).sent == view.tokens[3]
    assert view.amount(3).in_prompt
    assert not len(view.changed_positions)


def test_blocks_newer_than_the_replay_are_shown_whole_and_newer_than_the_counts_as_nothing() -> None:
    assert VIEW.state is not None
    shorter = synthetic.State(*(column[:20] for column in vars(VIEW.state).values()))
    view = replace(VIEW, state=shorter, tokens=VIEW.tokens[:25])

    assert view.amount(22) == (VIEW.tokens[22], VIEW.tokens[22], True, Action.WHOLE, False)
    assert view.amount(30).recorded == 0
    assert view.changed_positions.max(initial=-1) < len(view.rows)


def test_a_change_is_what_the_plan_took_away() -> None:
    row = int(VIEW.changed_positions[0])
    amount = VIEW.amount(int(VIEW.rows.block[row]))

    assert amount.change == 300 - amount.recorded < 0


def test_outside_the_prompt_nothing_is_sent_and_nothing_changed() -> None:
    amount = VIEW.amount(0)

    assert (amount.in_prompt, amount.sent, amount.change) == (False, 0, 0)


def test_hidden_rows_are_counted_and_positions_lead_to_rows_and_back() -> None:
    visible = np.array([2, 5, 60, 61], dtype=np.int32)
    view = replace(VIEW, visible=visible)

    assert (view.count, view.hidden) == (4, len(view.rows) - 4)
    assert [view.position_of(view.row_at(position)) for position in range(4)] == [0, 1, 2, 3]
    assert [view.position_of(row) for row in (0, 3, 4, 40, 59, 1000)] == [0, 0, 1, 2, 2, 3]
    assert replace(VIEW, visible=visible[:0]).position_of(7) == -1


def test_what_can_be_jumped_to_is_among_the_rows_shown() -> None:
    everything = VIEW.boundary_positions
    view = replace(VIEW, visible=everything)

    assert view.boundary_positions.tolist() == [0, 1]
    assert VIEW.rows.is_error[VIEW.error_positions].all()


def test_bars_keep_their_scale_while_a_plan_changes() -> None:
    assert VIEW.full_bar == replace(VIEW, state=None).full_bar == VIEW.tokens[VIEW.rows.history.results].max()


def test_an_empty_session_has_a_scale_too() -> None:
    recorded = replace(synthetic.session(1), messages=(), calls=(), contexts=())
    view = synthetic.view_of(recorded)

    assert isinstance(view, TimelineView)
    assert (view.full_bar, view.largest, view.count) == (1, 0, 0)


@pytest.mark.parametrize("width", range(40, 241, 5))
def test_columns_fill_the_width_exactly(width: int) -> None:
    columns = columns_for(Space(width, 12_345, 1_234_567, changes=True)).widths

    used = sum(columns.values())

    assert used <= width
    assert used >= width - 1 or "what" not in columns
    assert columns["bar"] >= 5


def test_narrow_screens_lose_free_text_first_and_the_bar_last() -> None:
    for width in range(12, 200):
        columns = columns_for(Space(width, 612, 20_000, changes=True)).widths
        for narrow, wide in pairwise(("bar", "tokens", "tool", "change", "what")):
            assert narrow in columns or wide not in columns


def test_rows_not_counted_yet_show_an_estimate_that_says_so() -> None:
    history = VIEW.rows.history
    table = TokenTable.estimated(history.session)
    earlier = replace(table, tokens=table.tokens[:20])
    tokens, uncounted = row_tokens(earlier, history.characters)

    assert tokens[20:].tolist() == [estimated_tokens(length) for length in history.characters[20:].tolist()]
    view = replace(VIEW, state=None, tokens=tokens, uncounted=uncounted)
    row = int(np.flatnonzero(~view.rows.is_boundary)[-1])
    pieces = row_pieces(view, row, columns_for(Space(120, 130, 9_999)), 120, selected=False, logarithmic=False)
    assert f"~{tokens[-1]:,}" in "".join(text for text, _ in pieces)
    assert not replace(view, uncounted=None).amount_at(row).is_estimated
