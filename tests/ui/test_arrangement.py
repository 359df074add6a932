import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.session.model import BlockKind, Role
from inspector.strategies.history.history import History
from inspector.ui.timeline.arrangement import Arrangement, Folds, Order, arrange
from inspector.ui.timeline.rows import Rows
from tests.examples import examples
from tests.ui import synthetic
from tests.ui.synthetic import block, message

RECORDED = synthetic.session(60, compact_every=25)
ROWS = Rows.of(History.of(RECORDED))
TOKENS = synthetic.tokens_of(ROWS.history)
MESSAGES = len(RECORDED.messages)


def messages_of(rows: np.ndarray) -> list[int]:
    return ROWS.history.message[ROWS.block[rows]].tolist()


def test_without_a_wish_every_row_is_shown_as_recorded() -> None:
    assert arrange(ROWS, Arrangement(), TOKENS) == (None, None)


def test_a_folded_message_is_one_row() -> None:
    several = [index for index, entry in enumerate(RECORDED.messages) if len(entry.blocks) > 1]
    shown, folded = arrange(ROWS, Arrangement(folds=Folds(all_messages=True)), TOKENS)

    blocks = shown[~ROWS.is_boundary[shown]]
    assert messages_of(blocks) == list(range(MESSAGES))
    assert np.flatnonzero(folded).tolist() == several
    assert ROWS.is_boundary.sum() == ROWS.is_boundary[shown].sum()


def test_one_message_can_be_folded_or_be_the_only_one_that_is_not() -> None:
    message_index = next(index for index, entry in enumerate(RECORDED.messages) if len(entry.blocks) > 1)
    count = len(RECORDED.messages[message_index].blocks)

    shown, _ = arrange(ROWS, Arrangement(folds=Folds().with_message(message_index, folded=True)), TOKENS)
    assert len(shown) == len(ROWS) - count + 1
    shown, _ = arrange(ROWS, Arrangement(folds=Folds(True).with_message(message_index, folded=False)), TOKENS)
    assert messages_of(shown[~ROWS.is_boundary[shown]]).count(message_index) == count


@given(st.sets(st.integers(0, MESSAGES - 1)), st.booleans(), st.integers(0, MESSAGES - 1), st.booleans())
def test_a_fold_is_what_was_last_set_for_it(others: set[int], most: bool, one: int, folded: bool) -> None:
    folds = Folds(most, frozenset(others)).with_message(one, folded=folded)

    assert folds.is_folded(one) is folded
    assert all(folds.is_folded(other) is ((other in others) != most) for other in range(MESSAGES) if other != one)


def test_a_subagent_folds_to_the_row_it_begins_at() -> None:
    own = [message(Role.ASSISTANT, block(BlockKind.ASSISTANT_TEXT, f"done {number}"), thread=1) for number in range(3)]
    rows = Rows.of(History.of(synthetic.grown(RECORDED, *own)))
    tokens = synthetic.tokens_of(rows.history)

    shown, _ = arrange(rows, Arrangement(folds=Folds().with_thread(1, folded=True)), tokens)

    assert len(shown) == len(rows) - 3
    assert not (rows.thread[shown] == 1).any()


@pytest.mark.parametrize("order", [Order.SIZE, Order.TOKEN_CALLS])
@settings(max_examples=examples(20))
@given(st.booleans(), st.data())
def test_the_heaviest_come_first_and_nothing_but_boundaries_is_lost(
    order: Order, folds: bool, data: st.DataObject
) -> None:
    weight = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(TOKENS), max_size=len(TOKENS))))
    shown, folded = arrange(ROWS, Arrangement(order, Folds(folds)), weight)

    history = ROWS.history
    sums = [int(weight[history.message == index].sum()) for index in range(MESSAGES)]
    weights = [
        sums[history.message[number]] if folds and folded[history.message[number]] else int(weight[number])
        for number in ROWS.block[shown].tolist()
    ]
    assert weights == sorted(weights, reverse=True)
    assert len(set(shown.tolist())) == len(shown) == (MESSAGES if folds else len(ROWS) - ROWS.is_boundary.sum())
    ties = [
        (first, second) for first, second, a, b in zip(shown, shown[1:], weights, weights[1:], strict=False) if a == b
    ]
    assert all(first < second for first, second in ties)


@settings(max_examples=examples(40))
@given(st.sets(st.integers(0, len(ROWS) - 1)), st.sampled_from(Order), st.booleans())
def test_nothing_that_was_not_found_is_shown(found: set[int], order: Order, folds: bool) -> None:
    rows = np.array(sorted(found), dtype=np.int32)

    shown, _ = arrange(ROWS, Arrangement(order, Folds(folds)), TOKENS, rows)

    assert shown is not None
    assert set(shown.tolist()) <= found
    blocks = rows[~ROWS.is_boundary[rows]]
    assert set(messages_of(shown[~ROWS.is_boundary[shown]])) == set(messages_of(blocks))
