from hypothesis import given
from hypothesis import strategies as st

from inspector.strategies.plan import Plan
from inspector.ui.plan.plans import PlanHistory

plans = st.integers(0, 5).map(lambda number: Plan(name=str(number)))


@given(st.lists(plans, max_size=20))
def test_undoing_everything_comes_back_to_the_first_plan_and_redoing_to_the_last(changes: list[Plan]) -> None:
    first = history = PlanHistory(Plan())
    for plan in changes:
        history = history.changed(plan)
    last = history

    while history.past:
        history = history.undone()
    assert history.plan == first.plan
    while history.future:
        history = history.redone()
    assert history.plan == last.plan


def test_pieces_of_one_change_are_taken_back_together() -> None:
    history = PlanHistory(Plan(name="before"))
    for value in range(10):
        history = history.changed(Plan(name=str(value)), merge="slider")

    assert history.undone().plan.name == "before"
    assert history.undone().redone().plan.name == "9"


def test_a_settled_change_and_the_next_one_are_two() -> None:
    history = PlanHistory(Plan(name="before")).changed(Plan(name="one"), merge="slider").settled()
    history = history.changed(Plan(name="two"), merge="slider")

    assert history.undone().plan.name == "one"


def test_a_new_change_forgets_what_was_taken_back() -> None:
    history = PlanHistory(Plan(name="a")).changed(Plan(name="b")).undone().changed(Plan(name="c"))

    assert history.redone().plan.name == "c"
