"""Subagents with a separate file unfold below the call that started them, outside every prompt there."""

import json
from pathlib import Path

import numpy as np
import pytest

from inspector.safe_text import cell_width
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.tokens.token_table import TokenTable
from inspector.ui.timeline.columns import Space, columns_for, row_pieces
from inspector.ui.timeline.rows import Rows, Subagent, opened_within, started_at, unfolded
from inspector.ui.timeline.view import TimelineView
from tests.session.claude_lines import SESSION, Script
from tests.session.test_related import claude_child, claude_parent


@pytest.fixture
def family(tmp_path: Path) -> tuple[Path, Path]:
    return claude_parent(tmp_path), claude_child(tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl")


def subagent_of(path: Path) -> Subagent:
    session = open_session(path)
    return Subagent(session, Rows.of(History.of(session)), TokenTable.estimated(session))


def rows_of(path: Path) -> Rows:
    return Rows.of(History.of(open_session(path)))


def test_a_row_below_the_call_represents_the_subagent(family) -> None:
    rows = rows_of(family[0])
    row = int(np.flatnonzero(rows.is_subagent)[0])

    assert rows.row(row - 1).tool == "Task"
    assert rows.row(row).heading == "subagent: Look for it · → unfolds"
    assert [int(rows.index_of(block)) for block in range(len(rows.history.kind))] == rows.own.tolist()
    assert rows.block[rows.own].tolist() == list(range(len(rows.history.kind)))


def test_unfolded_rows_are_below_it_and_leave_those_of_the_session_as_they_were(family) -> None:
    rows, subagent = rows_of(family[0]), subagent_of(family[1])
    key = rows.subagent_rows[0].key
    shown = unfolded(rows, {key: subagent}, {})
    row = int(np.flatnonzero(shown.is_subagent)[0])

    assert len(shown) == len(rows) + len(subagent.rows)
    assert [shown.preview(index) for index in shown.own] == [rows.preview(index) for index in rows.own]
    inner = [shown.row(row + 1 + index) for index in range(len(subagent.rows))]
    assert [each.is_inner for each in inner] == [True] * len(inner)
    assert [shown.preview(each.index) for each in inner] == [
        subagent.rows.preview(index) for index in range(len(subagent.rows))
    ]
    assert not shown.row(row + 1 + len(inner)).is_inner
    assert [shown.index_at(rows.place_of(index)) for index in rows.own] == shown.own.tolist()
    assert rows.index_at(shown.place_of(row + 2)) == row


def test_a_subagent_that_is_gone_says_why_in_its_row(family) -> None:
    rows = rows_of(family[0])

    shown = unfolded(rows, {}, {rows.subagent_rows[0].key: "file not found"})

    heading = shown.row(int(np.flatnonzero(shown.is_subagent)[0])).heading
    assert heading == "subagent: Look for it · file not found"


def test_what_keeps_a_subagent_from_being_shown_is_made_safe(family) -> None:
    rows = rows_of(family[0])
    assert "\x1b" not in rows.subagent_rows[0].label(None, "\x1b]0;title\x07: no such file")


def test_every_strip_of_an_unfolded_subagent_has_the_rows_width(tmp_path: Path) -> None:
    script = Script()
    for text in (
        "日本語のテキスト" * 20,
        "e\u0301" * 90,
        "👩\u200d👩\u200d👧🇫🇷❤\ufe0f" * 30,
        "\x1b[31mred\x1b]52;c;x\x07",
        "[/b] [@click=quit]",
    ):
        script.prompt(text, isSidechain=True, agentId="a1b2")
    child = script.write(tmp_path / "agent-a1b2.jsonl")
    rows, subagent = rows_of(claude_parent(tmp_path)), subagent_of(child)
    shown = unfolded(rows, {rows.subagent_rows[0].key: subagent}, {})
    view = TimelineView(shown, np.ones(len(shown.history.kind), dtype=np.int32))
    for width in (40, 78, 81, 118, 198):
        columns = columns_for(Space(width, shown.largest_message, view.largest))
        for row in range(len(shown)):
            pieces = row_pieces(view, row, columns, width, selected=row % 2 == 0, logarithmic=False)
            text = "".join(text for text, _ in pieces)
            assert cell_width(text) <= width
            assert text.isprintable()


async def test_right_unfolds_and_left_folds_the_subagent_and_no_figure_of_the_session_changes(running, family) -> None:
    async with running(family[0]) as run:
        await run.press("home", "g", "a")
        timeline = run.timeline
        await run.settled()
        own, costs, series = timeline.count, run.costs, str(run.chart.series)
        await run.press("right")
        await run.until(lambda: timeline.count > own)
        await run.until_shown("2 messages")
        assert "2 messages · " in run.text()
        await run.press("down")
        assert timeline.rows.inner_of(timeline.cursor_row) is not None
        await run.until(lambda: run.detail.recorded == "find it")
        assert (run.costs, str(run.chart.series)) == (costs, series)
        assert timeline.new_rows == 0
        await run.press("z", "p")
        assert not run.pins
        await run.press("left")
        assert timeline.count == own
        assert timeline.row.heading


async def test_an_unfolded_subagent_grows_as_its_file_does_and_is_searched(running, family) -> None:
    async with running(family[0]) as run:
        await run.press("home", "g", "a", "right")
        await run.until_shown("2 messages")
        records = [json.loads(line) for line in family[1].read_text().splitlines()]
        said = {**records[0], "uuid": "00000000-0000-4000-8000-000000009999", "parentUuid": records[-1]["uuid"]}
        said["message"] = {"role": "user", "content": "a needle said later"}
        with family[1].open("a") as file:
            file.write(json.dumps(said) + "\n")
        await run.until_shown("a needle said later")
        await run.press("slash", *"needle", "enter")
        await run.until(lambda: run.found is not None and len(run.found) == 1)
        timeline = run.timeline
        await run.until(lambda: timeline.rows.inner_of(timeline.cursor_row) is not None)
        await run.press("g", "a", "g", "A")
        await run.press("left")
        await run.until(lambda: run.found is not None and not len(run.found))


async def test_a_subagent_whose_file_is_gone_stays_folded_and_says_so(running, family) -> None:
    family[1].unlink()
    async with running(family[0]) as run:
        await run.press("home", "g", "a", "right")
        await run.until_shown("file not found")
        timeline = run.timeline
        assert not timeline.rows.opened


async def test_a_click_on_its_mark_unfolds_a_subagent(running, family) -> None:
    async with running(family[0]) as run:
        timeline = run.timeline
        await run.press("home")
        line = next(y for y in range(1, 10) if "▸ subagent" in timeline.lines()[y])
        await timeline.click(timeline.lines()[line].index("▸"), line)
        await run.until(lambda: timeline.rows.opened)


@pytest.fixture
def generations(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A session, the subagent it started, and the one that started in turn."""
    folder = tmp_path / SESSION / "subagents"
    of_it = {"isSidechain": True, "agentId": "a1b2"}
    script = Script()
    script.prompt("find it", **of_it)
    given = {"description": "Read the logs", "prompt": "read them all", "subagent_type": "Explore"}
    script.block("m5", {"type": "tool_use", "id": "toolu_5", "name": "Task", "input": given}, **of_it)
    script.result("toolu_5", "nothing there", toolUseResult={"agentId": "c3d4", "content": []}, **of_it)
    script.text("m6", **of_it)
    folder.mkdir(parents=True)
    child = script.write(folder / "agent-a1b2.jsonl")
    return claude_parent(tmp_path), child, claude_child(folder / "agent-c3d4.jsonl", "c3d4")


def test_a_subagents_subagent_unfolds_below_the_call_that_started_it(generations) -> None:
    rows, child, grandchild = rows_of(generations[0]), subagent_of(generations[1]), subagent_of(generations[2])
    first = rows.subagent_rows[0].key
    second = first + child.rows.subagent_rows[0].key
    shown = unfolded(rows, {first: child, second: grandchild}, {})

    depths = [shown.row(row).depth for row in range(len(shown))]
    assert depths.count(1) == len(child.rows)
    assert depths.count(2) == len(grandchild.rows)
    innermost = [row for row, depth in enumerate(depths) if depth == 2]
    assert [shown.preview(row) for row in innermost] == [grandchild.rows.preview(row) for row in grandchild.rows.own]
    heading = shown.row(innermost[0] - 1)
    assert (heading.depth, heading.is_unfolded) == (1, True)
    assert heading.heading.startswith("subagent: Read the logs")
    assert shown.is_subagent.sum() == 2
    assert [shown.inner_of(row)[0].session.path for row in innermost] == [generations[2]] * len(innermost)
    assert all(started_at(shown, row).key == second for row in [*innermost, heading.index])
    assert started_at(shown, heading.index - 1).key == first
    assert dict(opened_within(shown)).keys() == {first, second}


def test_the_cursor_stays_on_its_row_while_what_is_above_it_unfolds(generations) -> None:
    rows, child, grandchild = rows_of(generations[0]), subagent_of(generations[1]), subagent_of(generations[2])
    first = rows.subagent_rows[0].key
    outer = unfolded(rows, {first: child}, {})
    both = unfolded(rows, {first: child, first + child.rows.subagent_rows[0].key: grandchild}, {})

    for index in range(len(outer)):
        moved = both.row(both.index_at(outer.place_of(index)))
        assert (moved.depth, both.preview(moved.index)) == (outer.row(index).depth, outer.preview(index))
        assert outer.index_at(both.place_of(moved.index)) == index
    inside = [index for index in range(len(both)) if both.row(index).depth == 2]
    assert all(outer.row(outer.index_at(both.place_of(index))).heading for index in inside)


async def test_a_subagents_subagent_is_unfolded_searched_and_folded_in_place(running, generations) -> None:
    async with running(generations[0]) as run:
        timeline = run.timeline
        await run.press("home", "g", "a", "right")
        await run.until(lambda: any("subagent: Read the logs" in line for line in timeline.all_lines()))
        outer = timeline.count
        await run.press("g", "a", "right")
        await run.until(lambda: timeline.count > outer)
        await run.press("down")
        row = timeline.row
        assert row.depth == 2
        await run.until(lambda: run.detail.recorded == "find it")
        assert run.subagent[1].identifier == "c3d4"
        await run.press("slash", *"find", "enter")
        await run.until(lambda: run.found is not None and len(run.found) >= 2)
        found = {timeline.rows.row(int(index)).depth for index in run.found}
        assert found >= {1, 2}
        await run.press("escape")
        timeline.focus()
        await run.press("home", "g", "a", "g", "a", "left")
        assert timeline.count == outer
        await run.press("right")
        assert timeline.count > outer
        await run.press("g", "A", "left")
        assert not timeline.rows.opened


async def test_a_subagents_subagent_opens_in_a_tab_and_leads_back_to_the_one_that_started_it(
    running, generations
) -> None:
    async with running(generations[0]) as run:
        timeline = run.timeline
        await run.press("home", "g", "a", "right")
        await run.until(lambda: any("subagent: Read the logs" in line for line in timeline.all_lines()))
        await run.press("g", "a", "g", "s")
        await run.until(lambda: run.path == generations[2])


async def test_a_subagents_subagent_that_is_gone_says_so_in_its_row(running, generations) -> None:
    generations[2].unlink()
    async with running(generations[0], size=(80, 24)) as run:
        timeline = run.timeline
        await run.press("home", "g", "a", "right")
        await run.until(lambda: any("subagent: Read the logs" in line for line in timeline.all_lines()))
        await run.press("g", "a", "right")
        await run.until_shown("subagent: Read the logs · file not found")
