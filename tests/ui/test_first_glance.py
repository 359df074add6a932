"""First glance at a session: its fill, its events in the background, and the changes a key made."""

from inspector.replay.analysis.context_blocks import prompt_at
from inspector.report.numbers import ON_SCREEN
from inspector.strategies.plan import Plan
from inspector.ui.chart.widget import large_figures
from inspector.ui.outcome import level_of
from inspector.ui.plan.results import change_words
from inspector.ui.sessions.tabs import Happened
from tests.conftest import ROOT

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"


def test_a_fill_is_amber_from_three_quarters_and_red_from_nine_tenths() -> None:
    assert [level_of(fill) for fill in (None, 0.749, 0.75, 0.899, 0.9, 1.2)] == [
        "calm",
        "calm",
        "warning",
        "warning",
        "alarm",
        "alarm",
    ]


def test_large_figures_have_three_rows_and_at_double_size_five() -> None:
    # Three glyphs of three pixels with two gaps: 11 cells, and 22 at double size.
    for scale, rows in ((1, 3), (2, 5)):
        drawn = large_figures("53%", scale)
        assert [len(row) for row in drawn] == [11 * scale] * rows


def test_a_compaction_a_miss_or_the_end_of_work_is_news_and_its_beginning_is_not() -> None:
    seen = Happened(1, 2, is_live=True)

    assert Happened(2, 2, is_live=True).is_news_since(seen)
    assert Happened(1, 3, is_live=True).is_news_since(seen)
    assert Happened(1, 2, is_live=False).is_news_since(seen)
    assert not seen.is_news_since(seen)
    assert not seen.is_news_since(Happened(1, 2, is_live=False))


def test_the_words_for_a_change_name_the_first_setting_and_count_the_others() -> None:
    here, there = (Plan.from_specs([f"tiered-stale:data={data},action={data}"]) for data in (40, 50))

    assert change_words(here, there) == "tiered-stale: action 40 characters → 50 characters and 1 more change"
    assert not change_words(here, here)


async def test_the_fill_is_the_next_prompts_share_of_the_size_at_which_the_agent_compacts(running) -> None:
    async with running(SAMPLE, size=(120, 36)) as run:
        # Claude Code 2: 200,000 tokens less 20,000 for the summary and 13,000 more: 167,000.
        prompt = prompt_at(run.baseline, run.history.call_count).value
        share = prompt / 167_000
        await run.until_shown("compacts at ≥ 167k")
        assert f"{share * 100:3.0f} %" in run.header_line
        assert " % now" not in run.header_line


async def test_the_fill_in_the_header_is_the_sessions_while_the_panes_show_a_plan_or_an_earlier_call(running) -> None:
    async with running(SAMPLE, size=(120, 36)) as run:
        fill = run.header_line.partition(" %")[0]
        await run.press("1")
        await run.until(lambda: " % now" in run.header_line)
        assert run.header_line.partition(" %")[0].split()[-1] == fill.split()[-1]
        await run.press("1")
        await run.until(lambda: " % now" not in run.header_line)
        await run.press("left_square_bracket")
        await run.until(lambda: " % now" in run.header_line)


async def test_the_low_frame_compares_the_prompt_with_the_size_that_the_header_uses(running) -> None:
    async with running(SAMPLE, size=(80, 24)) as run:
        prompt = ON_SCREEN.short(prompt_at(run.baseline, run.history.call_count).value)
        await run.until_shown(f"next prompt: {prompt}, compacts at ≥ 167k")
        await run.press("1", "p")
        await run.until_shown(" of ≥ 167k ")


def test_a_strategy_that_is_only_in_one_plan_was_added_or_removed() -> None:
    without, with_it = Plan(), Plan.from_specs(["clear-old"])
    assert change_words(without, with_it) == "clear-old added"
    assert change_words(with_it, without) == "clear-old removed"


async def test_undo_and_redo_say_what_they_changed_and_when_nothing_is_left(running) -> None:
    async with running(SAMPLE, size=(120, 36)) as run:
        await run.press("ctrl+z")
        assert run.notice == "nothing to undo"
        await run.press("1", "ctrl+z")
        assert run.notice == "undo: tiered-stale on → off; ctrl+y redoes it"
        await run.press("ctrl+y")
        assert run.notice == "redo: tiered-stale off → on; ctrl+z undoes it"


async def test_a_moved_limit_says_its_change_in_tokens_and_dollars(running) -> None:
    async with running(SAMPLE, size=(120, 36)) as run:
        await run.press("1", "p", "down", "down", "down", "home")
        await run.until_shown("data 400 → 0 characters")
        await run.until_shown(" tokens in all calls, cost ")
        await run.press("ctrl+z")
        await run.until(lambda: "→ 0 characters" not in run.text())


async def test_an_earlier_call_is_named_in_a_line_until_the_newest_is_back(running) -> None:
    async with running(SAMPLE, size=(80, 24)) as run:
        await run.press("end", "left_square_bracket")
        await run.until_shown("all panes show this prompt · end returns to the newest")
        await run.press("end")
        await run.until(lambda: "all panes show this prompt" not in run.text())
