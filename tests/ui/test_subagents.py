"""Subagents with a file of their own unfold below the call that started them, and are no part of any prompt there."""

import json
from pathlib import Path

import numpy as np
import pytest

from inspector.safe_text import cell_width
from inspector.session.open import open_session
from inspector.strategies.history import History
from inspector.tokens.table import TokenTable
from inspector.ui.rows import Rows
from inspector.ui.subagents import Subagent, unfolded
from inspector.ui.timeline_columns import columns_for
from inspector.ui.timeline_strip import row_pieces
from inspector.ui.timeline_view import TimelineView
from tests.session.claude_lines import SESSION, Script
from tests.session.test_links import claude_child, claude_parent


@pytest.fixture
def family(tmp_path: Path) -> tuple[Path, Path]:
    return claude_parent(tmp_path), claude_child(tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl")


def subagent_of(path: Path) -> Subagent:
    session = open_session(path)
    return Subagent(session, Rows.of(History.of(session)), TokenTable.estimated(session))


def rows_of(path: Path) -> Rows:
    return Rows.of(History.of(open_session(path)))


def test_a_row_below_the_call_stands_for_the_subagent(family) -> None:
    rows = rows_of(family[0])
    row = int(np.flatnonzero(rows.is_subagent)[0])

    assert rows.row(row - 1).tool == "Task"
    assert rows.row(row).heading == "subagent: Look for it"
    assert [int(rows.index_of(block)) for block in range(len(rows.history.kind))] == rows.own.tolist()
    assert rows.block[rows.own].tolist() == list(range(len(rows.history.kind)))


def test_unfolded_rows_stand_below_it_and_leave_those_of_the_session_as_they_were(family) -> None:
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

    shown = unfolded(rows, {}, {rows.subagent_rows[0].key: "its file is not there"})

    heading = shown.row(int(np.flatnonzero(shown.is_subagent)[0])).heading
    assert heading == "subagent: Look for it · its file is not there"


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
        columns = columns_for(width, shown.largest_message, view.largest)
        for row in range(len(shown)):
            pieces = row_pieces(view, row, columns, width, selected=row % 2 == 0, logarithmic=False)
            text = "".join(text for text, _ in pieces)
            assert cell_width(text) <= width
            assert text.isprintable()


async def test_right_unfolds_and_left_folds_the_subagent_and_no_figure_of_the_session_changes(running, family) -> None:
    async with running(family[0]) as run:
        await run.press("home", "b")
        timeline = run.screen.parts.timeline
        own, costs, series = timeline.view.count, run.screen.cost.summary, run.screen.parts.chart.series
        await run.press("right")
        await run.until(lambda: timeline.view.count > own)
        await run.until(lambda: "2 messages" in run.text())
        assert "tokens, not in these prompts" in run.text()
        await run.press("down")
        assert timeline.view.rows.inner_of(timeline.cursor_row) is not None
        await run.until(lambda: run.screen.parts.detail.content.raw() == "find it")
        assert (run.screen.cost.summary, run.screen.parts.chart.series) == (costs, series)
        assert timeline.new_rows == 0
        await run.press("m")
        assert not run.screen.arrangement.pins
        await run.press("left")
        assert timeline.view.count == own
        assert timeline.view.rows.row(timeline.cursor_row).heading


async def test_an_unfolded_subagent_grows_as_its_file_does_and_is_searched(running, family) -> None:
    async with running(family[0]) as run:
        await run.press("home", "b", "enter")
        await run.until(lambda: "2 messages" in run.text())
        records = [json.loads(line) for line in family[1].read_text().splitlines()]
        said = {**records[0], "uuid": "00000000-0000-4000-8000-000000009999", "parentUuid": records[-1]["uuid"]}
        said["message"] = {"role": "user", "content": "a needle said later"}
        with family[1].open("a") as file:
            file.write(json.dumps(said) + "\n")
        await run.until(lambda: "a needle said later" in run.text())
        await run.press("slash", *"needle", "enter")
        await run.until(lambda: run.screen.found is not None and len(run.screen.found) == 1)
        timeline = run.screen.parts.timeline
        await run.until(lambda: timeline.view.rows.inner_of(timeline.cursor_row) is not None)
        await run.press("b", "B")
        await run.press("left")
        await run.until(lambda: run.screen.found is not None and not len(run.screen.found))


async def test_a_subagent_whose_file_is_gone_stays_folded_and_says_so(running, family) -> None:
    family[1].unlink()
    async with running(family[0]) as run:
        await run.press("home", "b", "right")
        await run.until(lambda: "its file is not there" in run.text())
        timeline = run.screen.parts.timeline
        assert not timeline.view.rows.opened


async def test_a_click_on_its_mark_unfolds_a_subagent(running, family) -> None:
    async with running(family[0]) as run:
        timeline = run.screen.parts.timeline
        await run.press("home")
        line = next(y for y in range(1, 10) if "▸ subagent" in timeline.render_line(y).text)
        await run.pilot.click(timeline, offset=(timeline.render_line(line).text.index("▸"), line))
        await run.until(lambda: timeline.view.rows.opened)
