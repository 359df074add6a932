"""Going from one place that matters to the next: around the ends, in any order of rows, and behind a filter."""

import re
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.strategies.plan import Plan
from inspector.ui.timeline.arrangement import Arrangement, Folds, Order, arrange
from inspector.ui.timeline.jumps import JumpResult, find_jump
from tests.conftest import ROOT
from tests.ui import synthetic

VIEW = synthetic.view_of(synthetic.session(300, compact_every=100))
ALL = np.arange(len(VIEW.rows))
STALE = Plan.from_specs(["tiered-stale"])


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int32)


def shown_as(arrangement: Arrangement, only: np.ndarray | None = None):
    shown, folded = arrange(VIEW.rows, arrangement, VIEW.tokens, only)
    return replace(VIEW, visible=shown, folded=folded, order=arrangement.order)


def round_trip(view, wanted: np.ndarray, step: int, start: int = 0) -> list[JumpResult]:
    """Jump once more often than there are places to go to."""
    found = [find_jump(view, wanted, step, start)]
    for _ in range(found[0].total):
        found.append(find_jump(view, wanted, step, found[-1].position, found[-1]))
    return found


def test_it_says_where_one_is_and_goes_around_the_ends() -> None:
    wanted = rows(10, 20, 30)

    down = [each.sentence("failure") for each in round_trip(VIEW, wanted, 1)]
    assert down == ["failure 1/3", "failure 2/3", "failure 3/3", "failure 1/3, wrapped to the top"]
    up = [each.position for each in round_trip(VIEW, wanted, -1, 15)]
    assert up == [10, 30, 20, 10]


def test_the_first_jump_from_below_all_places_says_nothing_of_going_around_and_may_go_to_the_nearest() -> None:
    wanted = rows(10, 20, 30)

    assert find_jump(VIEW, wanted, 1, 40).sentence("failure") == "failure 1/3"
    nearest = find_jump(VIEW, wanted, 1, 40, is_nearest_first=True)
    assert (nearest.position, nearest.sentence("compaction")) == (30, "compaction 3/3")
    again = find_jump(VIEW, wanted, 1, 30, nearest, is_nearest_first=True)
    assert again.sentence("compaction") == "compaction 1/3, wrapped to the top"


def test_there_is_nowhere_to_go_without_places_or_rows() -> None:
    assert find_jump(VIEW, rows(), 1, 0) is None
    assert find_jump(replace(VIEW, visible=rows()), rows(3), 1, -1) is None


@given(st.sets(st.integers(0, len(ALL) - 1), min_size=1, max_size=30), st.sampled_from([1, -1]), st.booleans())
def test_every_place_is_come_to_once_in_every_order_and_filter(wanted: set[int], step: int, is_filtered: bool) -> None:
    only = ALL[::3].astype(np.int32) if is_filtered else None
    places = rows(*sorted(wanted))
    for order in (Order.RECORDED, Order.SIZE):
        view = shown_as(Arrangement(order), only)
        seen = round_trip(view, places, step)[:-1]
        shown = set(view.visible.tolist() if view.visible is not None else ALL.tolist())
        reachable = wanted & shown or wanted
        assert {each.row for each in seen} == reachable
        assert len(seen) == len(reachable)
        assert all(each.total == len(reachable) for each in seen)
        assert all(each.is_near is not bool(wanted & shown) for each in seen)
        if wanted & shown:
            assert all(view.row_at(each.position) == each.row for each in seen)


def test_what_is_filtered_out_is_reported_and_still_gone_to() -> None:
    view = shown_as(Arrangement(), rows(0, 5, 50))

    assert find_jump(view, rows(5, 7, 9), 1, 0).sentence("failure") == "failure 1/1, 2 more hidden"
    first, second, _ = round_trip(view, rows(6, 45), 1)
    assert (first.position, second.position) == (1, 2)
    assert second.sentence("failure") == "failure 2/2, its row is hidden, this is the nearest one"


def test_places_of_a_folded_message_are_at_the_row_that_represents_it() -> None:
    view = shown_as(Arrangement(folds=Folds(True)))
    history = view.rows.history
    message = next(index for index, entry in enumerate(history.session.messages) if len(entry.blocks) > 1)
    first, end = history.message_first_block[message : message + 2].tolist()

    found = find_jump(view, view.rows.own[first:end], 1, 0)
    assert found.total == 1
    assert view.row_at(found.position) == view.rows.own[first]
    assert not found.hidden


async def test_cuts_are_gone_through_where_rows_are_ordered_by_size(running, session_file) -> None:
    async with running(session_file.path, plan=STALE) as run:
        await run.press("z", "s", "g", "x")
        cuts = len(run.view.changed_positions)
        assert re.fullmatch(rf"cut [12]/{cuts} \(n next, N previous\)", run.notice)
        places, said = [run.timeline.cursor], []
        for _ in range(cuts):
            await run.press("g", "x")
            places.append(run.timeline.cursor)
            said += [run.notice]
        assert places[-1] == places[0]
        assert len(set(places)) == cuts
        assert f"cut 1/{cuts}, wrapped to the top" in said


async def test_misses_the_chart_marks_are_gone_to_behind_a_filter(running) -> None:
    async with running(ROOT / "sample_sessions" / "coding-agent.jsonl", plan=STALE) as run:
        await run.until(lambda: run.explains_newest)
        misses = len(run.chart.series.misses)
        assert misses
        before = run.timeline.count
        await run.press("f", *"who:user", "enter")
        await run.until(lambda: 0 < run.timeline.count < before)
        await run.press("g", "m")
        assert f"miss 1/{misses}" in run.notice
        assert "its row is hidden" in run.notice
        for _ in range(misses):
            await run.press("g", "m")
        assert f"miss 1/{misses}" in run.notice


async def test_the_scrubber_takes_the_rows_along(running, session_file) -> None:
    async with running(session_file.path) as run:
        history = run.history
        await run.press("home")
        await run.press("shift+left", "left_square_bracket")
        assert run.call == history.call_count - 11
        assert run.timeline.cursor_block == history.message_first_block[history.call_last_message[run.call] + 1] - 1
        await run.press("shift+right", "right_square_bracket")
        assert run.call is None
        assert run.timeline.cursor_block == len(history.kind) - 1
