from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from inspector.session import snapshot_list
from inspector.session.snapshot_list import CHUNK, ListSnapshot, SnapshotList, map_chunks, unchanged

numbers = st.lists(st.integers(0, 5), max_size=8)
bounds = st.none() | st.integers(-10, 10)
places = st.integers(-12, 12)


@pytest.fixture(autouse=True, scope="module")
def small_chunks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot_list, "CHUNK", 3)
        yield


@given(numbers, numbers, bounds, bounds, st.sampled_from([None, 1, 2, -1, -3]))
def test_a_state_is_the_tuple_of_what_was_there_whatever_is_added(before, after, start, stop, step):
    items = SnapshotList(before)
    state = items.snapshot()
    items += after

    assert tuple(state) == tuple(before) == state
    assert len(state) == len(before)
    assert state[start:stop:step] == tuple(before)[start:stop:step]
    assert [state[place] for place in range(-len(before), len(before))] == before + before
    assert [*reversed(state)] == before[::-1]
    assert (3 in state) is (3 in before)
    assert hash(state) == hash(tuple(before))
    for place in (len(before), -len(before) - 1):
        with pytest.raises(IndexError):
            state[place]


@given(numbers, numbers)
def test_states_are_equal_where_their_entries_are(one, other):
    assert (ListSnapshot(one) == ListSnapshot(other)) is (one == other)
    assert (ListSnapshot(one) == tuple(other)) is (one == other)
    assert ListSnapshot(one) != one


class Changes(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.list, self.like = SnapshotList(), []
        self.states: list[tuple[ListSnapshot, list]] = []

    def do(self, change):
        outcomes = []
        for items in (self.list, self.like):
            try:
                outcomes.append(change(items))
            except (IndexError, ValueError) as error:
                outcomes.append(type(error))
        assert outcomes[0] == outcomes[1] or outcomes[0] is self.list

    @rule(items=numbers)
    def extend(self, items):
        self.do(lambda one: one.extend(items))

    @rule(place=places, item=st.integers(0, 5))
    def insert(self, place, item):
        self.do(lambda one: one.insert(place, item))

    @rule(place=places, item=st.integers(0, 5))
    def put(self, place, item):
        self.do(lambda one: one.__setitem__(place, item))

    @rule(start=bounds, stop=bounds, items=numbers)
    def put_many(self, start, stop, items):
        self.do(lambda one: one.__setitem__(slice(start, stop), items))

    @rule(start=bounds, stop=bounds, step=st.sampled_from([1, 2, -1, -2]))
    def delete(self, start, stop, step):
        self.do(lambda one: one.__delitem__(slice(start, stop, step)))

    @rule(place=places)
    def pop(self, place):
        self.do(lambda one: one.pop(place))

    @rule(item=st.integers(0, 5))
    def remove(self, item):
        self.do(lambda one: one.remove(item))

    @rule(name=st.sampled_from(["clear", "reverse", "sort"]))
    def call(self, name):
        self.do(lambda one: getattr(one, name)())

    @rule(times=st.integers(0, 2))
    def repeat(self, times):
        if len(self.like) < 20:
            self.do(lambda one: one.__imul__(times))

    @rule()
    def look(self):
        state = self.list.snapshot()
        assert self.list.snapshot() is state
        self.states.append((state, list(self.like)))

    @invariant()
    def states_stay_what_they_were(self):
        assert self.list == self.like
        for state, wanted in self.states:
            assert list(state) == wanted
            assert [*chain.from_iterable(map_chunks(state, "itself", tuple))] == wanted
        if self.states:
            before = self.states[-1][1]
            kept = self.list.unchanged
            assert self.like[:kept] == before[:kept]


TestChanges = Changes.TestCase


def test_two_states_share_what_is_the_same_object_in_both():
    items = SnapshotList([object() for _ in range(7)])
    before = items.snapshot()
    items[4] = object()
    items.append(object())
    after = items.snapshot()

    assert unchanged(after, before) == unchanged(before, after) == unchanged(tuple(after), before) == 4
    assert unchanged(after, after) == 8
    assert unchanged(before[:2], before) == 2


def test_a_state_after_a_change_near_the_end_is_made_of_the_chunks_before_it():
    items = SnapshotList(range(100))
    before = items.snapshot()
    items[98] = -1
    items.append(100)

    assert [one is other for one, other in zip(before._chunks, items.snapshot()._chunks, strict=False)].count(
        False
    ) == 2


def test_chunks_are_large_where_none_are_tried():
    assert CHUNK >= 64


def test_of_parts_that_another_state_shares_it_is_stated_once():
    looked_at = []

    def largest(items):
        looked_at.append(len(items))
        return max(items)

    items = SnapshotList(range(8))
    assert list(map_chunks(items.snapshot(), "largest", largest)) == [2, 5, 7]
    items.append(8)
    assert list(map_chunks(items.snapshot(), "largest", largest)) == [2, 5, 8]
    items[0] = 9
    assert list(map_chunks(items.snapshot(), "largest", largest)) == [9, 5, 8]
    assert list(map_chunks((3, 1), "largest", largest)) == [3]
    assert looked_at[:4] == [3, 3, 2, 3]
