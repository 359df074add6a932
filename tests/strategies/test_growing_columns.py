import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.strategies.history.history import GrowingColumns

entries = st.lists(st.integers(0, 3), max_size=6)


def column(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int32)


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 10_000), entries), max_size=8))
def test_every_state_stays_what_it_was_whichever_it_is_grown_from(steps):
    growing, wanted = GrowingColumns(), [[]]
    states = [column([])]
    for source, kept, new in steps:
        source %= len(states)
        kept %= len(wanted[source]) + 1
        states.append(growing.grown("numbers", states[source], kept, column(new)))
        wanted.append(wanted[source][:kept] + new)

    assert [state.tolist() for state in states] == wanted


def test_what_follows_the_newest_state_is_put_behind_it():
    growing = GrowingColumns()
    first = growing.grown("numbers", column([]), 0, column([1, 2]))
    again = growing.grown("numbers", first, 1, column([2, 3]))

    assert again.base is first.base
    assert again.tolist() == [1, 2, 3]


def test_a_column_cannot_be_written_to():
    grown = GrowingColumns().grown("numbers", column([]), 0, column([1]))

    with pytest.raises(ValueError, match="read-only"):
        grown[0] = 2


def test_columns_of_different_names_do_not_share_room():
    growing = GrowingColumns()
    one, other = (growing.grown(name, column([]), 0, column([1])) for name in ("one", "other"))

    assert one.base is not other.base
