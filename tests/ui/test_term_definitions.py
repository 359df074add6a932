"""Definitions of terms appear next to their first use, whole or not at all; so do totals of compactions."""

import re

from inspector.replay.analysis.compactions import compaction_totals
from inspector.ui.part_names import APPLIED, NEEDED_PHRASES, TOKEN_CALLS
from tests.conftest import ROOT
from tests.ui import studies
from tests.ui.studies import Costs

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"


async def test_the_plan_s_pane_says_what_needed_means_where_there_is_room(running) -> None:
    async with running(SAMPLE, size=(240, 80)) as run:
        await run.press("1")
        await run.until(lambda: run.costs.recoveries is not None and run.costs.recoveries.needed)
        await run.until_shown("calls needed cut text")
        await run.until(lambda: any(each in run.text() for each in NEEDED_PHRASES))

        for width in (160, 120, 100, 80):
            await run.resize(width, 24)
            await run.pause()
            whole = sum(run.text().count(each) for each in (*NEEDED_PHRASES, APPLIED))
            assert len(re.findall(r"\b(?:needed|applied): (?:a later|first)\b", run.text())) == whole


async def test_rows_by_token_calls_and_the_window_of_all_prompts_say_what_these_are_once(running) -> None:
    async with running(SAMPLE, size=(80, 50)) as run:
        assert TOKEN_CALLS not in run.text()
        await run.tap("z", "s", "z", "s")
        await run.until_shown("most token-calls first")
        await run.until_shown(TOKEN_CALLS)
        await run.resize(200, 50)
        await run.until_shown(TOKEN_CALLS)
        await run.tap("z", "s")
        await run.until(lambda: TOKEN_CALLS not in run.text())
        await run.resize(120, 36)
        await studies.Composition.opened(run)
        await run.until_shown(TOKEN_CALLS)
        await run.tap("e")
        await run.until_shown("Everything sent in")
        assert run.text().count(TOKEN_CALLS) == 1


async def test_the_frame_of_a_compaction_s_row_and_the_section_of_compactions_show_the_total_of_all(running) -> None:
    async with running(SAMPLE, size=(80, 24)) as run:
        total = " · removed 55k tokens · cache rewrites $0.013"
        await run.tap("g", "c", "enter")
        for size in ((80, 24), (120, 36)):
            await run.resize(*size)
            await run.until_shown(total)
        assert "The only compaction removed 54,918 tokens (calibrated); cache misses" in "".join(
            run.detail.content.lead
        )
        await run.tap("escape", "down", "enter")
        await run.until(lambda: "cache rewrites $" not in run.text() and "Detail" in run.text())

        await run.resize(80, 24)
        costs = await Costs.opened(run)
        await run.press("g", "c")
        await costs.shown()
        await run.until_shown(total.removeprefix(" · "))
        await run.tap("end")
        await run.until_shown("the only compaction removed 54,918 tokens (calibrated)")
        found = compaction_totals(run.baseline)
        assert found is not None
        await run.until_shown(f"{found.recached_tokens:,} tokens rewritten, cost of rewrites $0.013")
