import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from inspector.replay.cache.miss_causes import MissCause
from inspector.report.numbers import ON_SCREEN
from inspector.strategies.plan import Plan
from inspector.ui.timeline.arrangement import Order
from tests.conftest import ROOT

PLAN = Plan.from_specs(["tiered-stale"])


@pytest.fixture
def compacted(tmp_path: Path) -> Path:
    """A finished session that was compacted once."""
    return Path(shutil.copy(ROOT / "sample_sessions" / "coding-agent.jsonl", tmp_path / "compacted.jsonl"))


async def test_rows_are_ordered_by_size_by_token_calls_and_as_recorded_folded_by_a_click_and_completed_in_a_query(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        timeline = run.timeline
        # Nothing was removed yet.
        count = run.view.count
        await run.press("underscore")
        assert run.view.count == count
        assert "no rows were removed" in run.status_line

        before = timeline.count
        await run.press("z", "s")
        assert timeline.tokens() == sorted(timeline.tokens(), reverse=True)
        assert timeline.cursor == 0
        assert "largest first" in run.text()
        await run.press("z", "s")
        await run.until(lambda: timeline.view.token_calls is not None)
        token_calls = [timeline.view.token_calls_at(timeline.view.row_at(place)) for place in range(timeline.count)]
        assert token_calls == sorted(token_calls, reverse=True)
        assert token_calls[0] > 0
        await run.pause()
        assert "token-calls" in run.text()
        await run.press("z", "s")
        assert timeline.view.order is Order.RECORDED
        assert timeline.count == before
        assert "token-calls" not in run.text()

        await run.press("home")
        line = next(y for y in range(1, 10) if "▾" in timeline.lines()[y])
        await timeline.click(timeline.lines()[line].index("▾"), line)
        await run.until(lambda: "▸" in timeline.lines()[line])

        await run.press("slash", *"tool:gr", "right", "enter")
        assert run.search_line == "tool:grep"
        await run.until(lambda: run.found is not None and len(run.found))
        await run.press("n")
        assert "2 of " in run.text()


async def test_sorted_and_filtered_rows_follow_the_plan(running, session_file) -> None:
    async with running(session_file.path, plan=PLAN) as run:
        await run.press("z", "s", "z", "s")
        timeline = run.timeline
        await run.until(lambda: timeline.view.token_calls is not None)
        first = timeline.view.token_calls
        await run.press("1")
        await run.until(lambda: timeline.view.token_calls is not first)
        assert timeline.view.token_calls.sum() > first.sum()
        assert timeline.view.order is Order.TOKEN_CALLS

        await run.press("1")
        await run.press("f", *"is:cut", "enter")
        await run.until(lambda: timeline.view.visible is not None and timeline.count)
        assert (timeline.view.state.action[timeline.rows.block[timeline.view.visible]] == 1).all()
        await run.press("1")
        await run.until(lambda: timeline.count == 0)
        await run.press("1")
        await run.until(lambda: timeline.count > 0)


async def test_folded_and_filtered_rows_follow_the_plan(running, session_file) -> None:
    async with running(session_file.path, plan=PLAN) as run:
        timeline = run.timeline
        await run.press("end", "up", "up")
        assert timeline.view.can_fold(timeline.cursor_row)
        row, count = timeline.cursor_row, timeline.count
        message = timeline.rows.row(row).message
        whole = sum(
            timeline.view.amount(block).recorded
            for block in np.flatnonzero(timeline.rows.history.message == message - 1).tolist()
        )
        await run.press("left")
        assert timeline.count == count - 1
        assert timeline.row.message == message
        assert timeline.view.amount_at(timeline.cursor_row).recorded == whole
        assert "2 blocks · " in run.text()
        await run.press("right")
        assert timeline.count == count
        await run.press("left", "left")
        assert timeline.count == count - 1
        await run.press("z", "f")
        assert timeline.count == len(run.session.messages)
        await run.press("z", "f")
        assert timeline.count == count

        await run.press("f", *"tier:def by:tiered tool:read", "enter")
        await run.until(lambda: timeline.view.visible is not None and timeline.count)
        tools = {timeline.rows.row(row).tool for row in timeline.view.visible.tolist()}
        assert tools == {"Read"}
        assert timeline.count == 4
        await run.press("f", *"x", "backspace", *" tier:search", "enter")
        await run.until(lambda: timeline.count == 0)


async def test_left_on_a_block_of_the_last_message_folds_it_and_right_unfolds_it_again(running, session_file) -> None:
    lines = session_file.path.read_text().splitlines(keepends=True)
    while '"tool_use"' not in lines[-1]:
        del lines[-1]
    session_file.path.write_text("".join(lines))
    async with running(session_file.path) as run:
        timeline = run.timeline
        await run.press("end")
        assert timeline.view.can_fold(timeline.cursor_row)
        message, count = timeline.row.message, timeline.count
        await run.press("left")
        assert (timeline.count, timeline.row.message) == (count - 1, message)
        await run.press("right")
        assert (timeline.count, timeline.row.message) == (count, message)


async def test_a_compaction_s_row_opens_what_it_says_and_one_key_folds_away_what_is_no_longer_sent(
    running, compacted
) -> None:
    async with running(compacted, size=(120, 36)) as run:
        await run.press("home")
        all_rows = run.view.count
        gone = [row for row in range(all_rows) if run.rows.is_block[row] and not run.view.amount_at(row).in_prompt]
        assert gone

        await run.press("underscore")
        assert run.view.count == all_rows - len(gone)
        assert "no longer sent; _ shows all" in run.status_line
        assert all(
            run.view.amount_at(run.view.row_at(place)).in_prompt
            for place in range(run.view.count)
            if run.rows.is_block[run.view.row_at(place)]
        )
        await run.press("underscore")
        assert run.view.count == all_rows

        await run.press("g", "c")
        assert "compaction 1/" in run.status_line
        assert "⏎ details" in run.status_line
        await run.press("enter")
        await run.until(lambda: run.focus is not None and run.focus.kind == "detail")
        assert "compaction 1/" not in run.status_line
        assert "nothing to fold" not in run.status_line


async def test_what_was_reported_a_place_is_gone_with_the_next_key_and_under_the_palette(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("1", "home", "g", "x")
        assert "cut 1/" in run.status_line
        await run.press("end")
        assert "cut 1/" not in run.status_line
        await run.press("g", "x")
        assert "cut " in run.status_line
        await run.tap("ctrl+p")
        await run.until(lambda: "cut 1/" not in run.notice)


async def test_pins_are_found_again_and_filtered_for_and_jumps_follow_the_growth_of_the_context(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        timeline = run.timeline
        prompts = run.baseline.ledger.prompt_tokens
        await run.press("home")
        seen = []
        for _ in range(5):
            await run.press("g", "b")
            seen.append(timeline.cursor)
            call, more = re.search(r"call (\d+) sent ([\d.k]+) more tokens than the previous one", run.text()).groups()
            grown = int(prompts[int(call) - 1] - prompts[int(call) - 2])
            assert ON_SCREEN.short(grown) == more
            assert timeline.rows.history.enters[timeline.cursor_block] == int(call) - 1
        assert seen == sorted(set(seen))
        await run.press("g", "B")
        assert timeline.cursor == seen[-2]

        await run.press("home", "down", "down", "z", "p", "down", "down", "down", "z", "p", "home", "g", "p")
        assert timeline.cursor == 2
        await run.press("g", "p")
        assert timeline.cursor == 5
        await run.press("g", "P")
        assert timeline.cursor == 2
        await run.press("f", *"is:pinned", "enter")
        await run.until(lambda: timeline.count == 2)
        await run.press("z", "p")
        assert timeline.view.pins == {int(timeline.rows.block[5])}


async def test_a_miss_asked_for_before_misses_are_explained_is_gone_to_once_they_are(running, compacted: Path) -> None:
    async with running(compacted, plan=Plan.from_specs(["clear-old"])) as run:
        await run.press("1")
        await run.until(lambda: run.explains_newest)
        await run.press("home", "1")
        for key in ("g", "m"):
            run.send(key)
        await run.until(lambda: run.explains_newest and run.notice.startswith("miss 1/"))
        first = run.cache.misses.misses[0]
        assert first.cause is MissCause.PLAN_EDIT
        response = run.history.session.calls[first.call].response
        assert run.timeline.cursor_block == run.history.message_first_block[response]
