import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.session.grown import Grown

numbers = st.lists(st.integers(0, 5), max_size=8)
bounds = st.none() | st.integers(-10, 10)


@given(numbers, numbers, bounds, bounds, st.sampled_from([None, 1, 2, -1, -3]))
def test_it_is_the_tuple_of_what_was_there_whatever_is_added(before, after, start, stop, step):
    items = list(before)
    grown = Grown(items)
    items += after

    assert tuple(grown) == tuple(before) == grown
    assert len(grown) == len(before)
    assert grown[start:stop:step] == tuple(before)[start:stop:step]
    assert [grown[place] for place in range(-len(before), len(before))] == before + before
    assert (3 in grown) is (3 in before)
    assert hash(grown) == hash(tuple(before))


@given(numbers)
def test_no_entry_is_found_beyond_the_end(before):
    items = list(before)
    grown = Grown(items)
    items.append(7)

    for place in (len(before), -len(before) - 1):
        with pytest.raises(IndexError):
            grown[place]


def test_a_later_state_of_the_same_list_extends_an_earlier_one():
    items = [1, 2]
    earlier = Grown(items)
    items.append(3)
    later = Grown(items)

    assert later.extends(earlier)
    assert not earlier.extends(later)
    assert not Grown([1, 2, 3]).extends(earlier)
    assert not later.extends((1, 2))
