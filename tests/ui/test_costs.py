"""The cost screen and the explain key, run as users run them."""

import re
import shutil
from pathlib import Path

import pytest

from inspector.replay.assumptions import Assumptions
from inspector.replay.explain.cost_sheet import NET
from inspector.replay.explain.explanation import Explanation, Input
from inspector.replay.figure import HowKnown
from inspector.report.numbers import ON_SCREEN
from inspector.ui.actions.screens import SECTION_LETTERS
from inspector.ui.cost.assumptions import TERMS, TermError
from inspector.ui.cost.rows import CostSection
from inspector.ui.explain import explanation_content
from tests.conftest import ROOT
from tests.ui.recordings import Recording, recording
from tests.ui.studies import Costs, table_on_top


async def test_every_figure_of_every_section_has_an_explanation(running, session_file: Recording):
    async with running(session_file.path, size=(80, 24)) as run:
        await run.press("1")
        costs = await Costs.opened(run)
        seen = set()
        for letter, section in zip(SECTION_LETTERS, CostSection, strict=True):
            await run.press("g", letter)
            await costs.shown()
            for row in costs.table.rows:
                key = ("next", "calls") if row.key == ("next", "prompt") else row.key
                is_term = isinstance(key, tuple) and key[0] in ("term", "source")
                unchanged = isinstance(key, tuple) and key[0] == "tier" and "usd" not in row.cells
                assert key in costs.explained or is_term or unchanged, (section, key)
                seen.add(section)
        assert seen >= set(CostSection) - {CostSection.COMPACTIONS}


async def test_figures_are_as_recorded_without_a_strategy_lead_to_rows_and_with_one_are_those_of_the_replay(
    running, session_file: Recording
):
    async with running(session_file.path, size=(120, 36)) as run:
        await run.until(lambda: run.has_answers)
        costs = await Costs.opened(run)
        assert costs.table.row_of["cache_read_share"].cells["before"].text.endswith("%")
        for letter, section in zip(SECTION_LETTERS, CostSection, strict=True):
            await run.press("g", letter)
            await costs.shown()
            table, _, _ = run.text().partition("Calculation")
            if section in (CostSection.TOTALS, CostSection.PARTS, CostSection.FORECAST):
                assert "nothing cut" in table
                assert not [said for said in ("with the plan", "under the plan", "without") if said in table]
        for row in ("usd_per_day", "usd_per_month", ("next", "calls")):
            explained = costs.explained[row]
            assert explained.value > 0
            assert not [given.label for given in explained.inputs if "plan" in given.label or "saved" in given.label]
        await run.press("g", SECTION_LETTERS[list(CostSection).index(CostSection.FORECAST)])
        await run.until_shown("a day, 1 assumed")
        assert re.search(r"a month, 30 days +~\$[\d,.]+ +\$[\d,.]+ to \$[\d,.]+", run.text())

        await run.press("g", "r")
        await costs.shown()
        _, block = costs.table.row_here
        await run.press("enter")
        assert run.on_top == "session"
        assert run.timeline.cursor_block == block

        await run.press("1")
        costs = await Costs.opened(run)
        await run.press("g", "t")
        await costs.shown()
        assert costs.table.text("prompt_tokens", "before") == f"{run.baseline.figures.prompt_tokens.value:,}"
        assert costs.table.text("prompt_tokens", "after") == f"{run.totals.figures.prompt_tokens.value:,}"
        assert f"{run.totals.figures.prompt_tokens.value:,}" in run.text()
        table = {key: row.cells["after"].text for key, row in costs.table.row_of.items() if key in costs.explained}
        await run.press("E")
        await run.until_open("explain")
        assert [row.cells["value"].text for row in table_on_top(run).rows] == list(table.values())


async def test_a_calculation_without_room_says_how_to_see_it_and_a_section_without_figures_that_there_are_none(
    running, session_file: Recording
):
    more = "E explains in full"
    async with running(session_file.path, size=(80, 24)) as run:
        await run.until(lambda: run.has_answers)
        costs = await Costs.opened(run)
        await run.until_shown(more)
        assert "Source: genai-prices" not in run.text()
        await run.press("down", "down", "down")
        await run.until_shown("Uncached input: tokens times their rate")
        await run.until(lambda: more not in run.text())
        await run.press("up", "up", "up")
        await run.until_shown(more)
        await run.resize(120, 36)
        await run.until(lambda: more not in run.text())
        assert "Source: genai-prices" in run.text()

        said = {"i": "the plan changes nothing yet", "c": "no compaction was recorded"}
        for size in ((120, 36), (80, 24)):
            await run.resize(*size)
            for letter in SECTION_LETTERS:
                await run.press("g", letter)
                await costs.shown()
                table, _, below = run.text().partition("Calculation")
                assert (not costs.table.rows) == (letter in said)
                assert said.get(letter, "") in table
                assert ("no figure to explain here" in below) == (letter in said)
            await run.press("g", "t")
            await costs.shown()
            await run.tap("down")
            await run.pause()
            assert costs.table.row_here == costs.table.rows[1].key


async def test_a_month_of_a_plan_is_its_net_saving_which_has_a_row_of_its_own(running):
    async with running(ROOT / "sample_sessions" / "coding-agent.jsonl", size=(120, 36)) as run:
        await run.press("1")
        await run.until(lambda: run.costs.recoveries is not None and run.costs.is_settled)
        recoveries = run.costs.recoveries
        assert recoveries.cost > 0
        costs = await Costs.opened(run)
        await run.press("g", SECTION_LETTERS[list(CostSection).index(CostSection.FORECAST)])
        await run.until_shown("net of re-fetches")
        assert costs.explained[NET].value == pytest.approx(recoveries.saved - recoveries.cost)
        assert (
            costs.table.row_of[NET].cells["saved"].text == f"~{ON_SCREEN.dollars(recoveries.saved - recoveries.cost)}"
        )


async def test_a_tier_the_plan_leaves_alone_says_so_where_others_are_explained(running, session_file: Recording):
    async with running(session_file.path) as run:
        await run.press("1", "p", "down", "end", "escape")
        costs = await Costs.opened(run)
        await run.press("g", "i")
        await costs.shown()
        left_alone = [place for place, row in enumerate(costs.table.rows) if "usd" not in row.cells]
        assert left_alone
        costs.table.go_to_line(left_alone[0])
        await run.until_shown("The plan changed none of these.")


async def test_terms_change_what_is_ahead_without_a_replay_and_a_typed_factor_and_another_cache_all_costs(
    running, session_file: Recording
):
    async with running(session_file.path) as run:
        await run.press("1")
        costs = await Costs.opened(run)
        await run.press("g", "f")
        replay = run.replay
        run.set_terms(days_per_month=10, next_calls=7)
        costs.show_again()
        await costs.shown()
        assert run.replay is replay
        assert "a month, 10 days" in run.text()
        assert "next 7 calls" in run.text()

        before = run.baseline.figures.cost_usd.value
        await run.press("g", "a")
        costs.table.go_to(("term", "factor"))
        await run.tap("enter")
        await run.until(lambda: not costs.is_on_top)
        run.line = "0.5"
        await run.tap("enter")
        await run.until(lambda: costs.is_on_top)
        await run.until(lambda: run.baseline.figures.cost_usd.value != before)
        await costs.shown()
        assert run.baseline.figures.cost_usd.value == pytest.approx(before / 2)
        assert costs.table.text(("term", "factor"), "value") == "0.5"
        assert run.costs.recorded.value == pytest.approx(before / 2)

        run.set_terms(cache="none")
        await run.until(lambda: run.baseline.figures.cost_usd.known.value == "projected")
        assert run.baseline.figures.cache_read_tokens.value == 0


async def test_pricing_as_another_model_is_in_header_and_cost_and_undo_takes_back_the_newest_change_first(running):
    async with running(ROOT / "sample_sessions" / "coding-agent.jsonl", size=(120, 36)) as run:
        before = run.baseline.figures.cost_usd.value
        await run.press("z", "m")
        await run.until_shown("Price as another model")
        run.line = "claude-opus-9"
        await run.until_shown("no price for this model; closest known: claude-opus-")
        run.line = "claude-opus-5-5"
        await run.until_shown("$4 in, $20 out, cache reads 0.05 x")
        await run.tap("enter")
        await run.until_shown("priced as claude-opus-5-5   ")
        # 1,279,612 tokens read, 145,300 written, 138 uncached and 8,120 of output.
        cost = (1_279_612 * 0.2 + 145_300 * 5 + 138 * 4 + 8_120 * 20) / 1e6
        assert run.baseline.figures.cost_usd.value == pytest.approx(cost)
        await run.until_shown("Cost ~$1.15   as claude-opus-5-5, $1.75 as recorded")

        await run.press("ctrl+z")
        await run.until(lambda: run.baseline.figures.cost_usd.value == pytest.approx(before))
        await run.until(lambda: "priced as" not in run.text().splitlines()[0])
        await run.press("ctrl+y")
        await run.until(lambda: run.baseline.figures.cost_usd.value == pytest.approx(cost))
        await run.press("1")
        assert run.plan.strategies
        await run.press("ctrl+z")
        assert not run.plan.strategies
        assert run.inputs.other_model == "claude-opus-5-5"
        await run.press("ctrl+z")
        await run.until(lambda: not run.inputs.other_model)


async def test_the_explain_key_explains_the_row_under_the_cursor_as_wide_as_its_own_screen_says(
    running, session_file: Recording
):
    async with running(session_file.path, size=(160, 40)) as run:
        await run.press("E")
        await run.until_open("explain")
        await run.until_shown("tokens of this row, calibrated to reported usage")
        await run.until_shown("as sent in the prompt")
        await run.until_shown("local count, whole")
        await run.until_shown("o200k_base")
        frame = run.line_with("╭─ Calculation")
        left = frame.index("╭─ Calculation")
        assert frame.index("╮", left) - left + 1 == 110
        await run.press("down", "down")
        assert "cost of this block's tokens" in run.explanation.lower()
        await run.press("escape")
        assert run.on_top == "session"


def test_dollars_that_make_up_a_cost_are_explained_as_the_table_writes_them_and_add_up_to_it():
    dollars = {"uncached input": 0.0071, "cache reads": 7.9190, "cache writes": 6.3846, "output": 1.3346}
    parts = tuple(Input(label, value, "$", is_part=True) for label, value in dollars.items())
    rate = Input("input", 5.0, "$ per million tokens")
    explained = Explanation(sum(dollars.values()), "$", HowKnown.EXACT, "added up", (*parts, rate), "prices")

    said = explanation_content(explained, in_lines=False).plain

    written = [float(each) for each in re.findall(r"\$(\d+\.\d+)", said)]
    assert written == [0.01, 7.93, 6.38, 1.33]
    assert sum(written) == pytest.approx(float(ON_SCREEN.dollars(explained.value)[1:]))
    assert "input $5 per million tokens" in said


async def test_of_a_row_not_replayed_yet_the_explain_key_explains_what_the_session_costs(
    running, session_file: Recording, monkeypatch: pytest.MonkeyPatch
):
    async with running(session_file.path) as run:
        run.hold_replays(monkeypatch)
        rows = len(run.rows)
        session_file.turn()
        await run.until(lambda: len(run.rows) > rows)
        await run.tap("end", "E")
        await run.until_open("explain")
        assert run.timeline.cursor_block >= rows
        await run.until_shown("Tokens of each kind times their rate")


async def test_a_session_without_a_price_says_what_is_missing(running, tmp_path: Path):
    file = recording(tmp_path / "priceless.jsonl", turns=12, model="house-model-9")
    async with running(file.path) as run:
        await run.press("1")
        costs = await Costs.opened(run)
        assert costs.table.text("cost_usd", "after") == "unknown"
        await run.press("g", "f")
        await costs.shown()
        assert "no projection without a price" in run.text()
        await run.press("g", "a")
        assert "no price" in run.text()


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("next", "120", "0"),
        ("days", "22", "40"),
        ("factor", "0.9", "-1"),
        ("rates", "3/15", "cheap"),
        ("cache", "openai", "antropic"),
        ("window", "200,000", "1.5"),
    ],
)
def test_terms_take_what_they_show_and_refuse_the_rest(name: str, good: str, bad: str):
    term = next(term for term in TERMS if term.name == name)
    changed = term.taken(Assumptions(), good)
    assert changed != Assumptions()
    assert term.taken(Assumptions(), term.shown(changed)) == changed
    with pytest.raises(TermError):
        term.taken(changed, bad)


@pytest.mark.parametrize("name", ["model", "rates", "cache", "window"])
def test_nothing_typed_means_as_recorded(name: str):
    term = next(term for term in TERMS if term.name == name)
    assert term.taken(Assumptions(), "") == Assumptions()
    assert term.shown(Assumptions()) == ""


async def test_the_explain_key_explains_costs_with_the_cursor_in_the_cost_bar_and_on_every_analysis_screen(
    running, session_file: Recording
):
    async with running(session_file.path) as run:
        await run.press("1")
        run.focus_costs()
        await run.press("E")
        await run.until_open("explain")
        await run.until_shown("cost without the plan")
        for name in ("saved", "breaks even at call", "saved per month"):
            assert name in run.text()
        await run.tap("escape")
        for key, said in {"c": "cost without the plan", "t": "saved per month", "v": "the next prompt"}.items():
            await run.until_open("session")
            await run.press(key)
            await run.until(lambda: run.on_top != "session")
            if key == "c":
                # Where the best plan is found the cursor goes to it, unless keys have put it elsewhere.
                await run.press("end", "home", "down")
            await run.until(lambda: run.has_explanation)
            await run.tap("E")
            await run.until_open("explain")
            await run.until_shown(said)
            await run.tap("escape")
            await run.until(lambda: run.on_top != "explain")
            await run.tap("escape")


async def test_where_responses_were_longer_than_the_file_says_the_cost_is_an_estimate_and_marked(running, corpus: Path):
    (path,) = (corpus / "claude-code").glob("70d782f7*.jsonl")
    async with running(path) as run:
        await run.until_shown("Cost ~$")
        assert "recorded $" not in run.text()


async def test_a_compaction_says_what_it_removed_enter_goes_to_its_row_and_its_prompts_are_explained(running, tmp_path):
    path = shutil.copy(ROOT / "sample_sessions" / "coding-agent.jsonl", tmp_path / "compacted.jsonl")
    async with running(Path(path), size=(120, 36)) as run:
        costs = await Costs.opened(run)
        await run.press("g", "c")
        await costs.shown()
        row = costs.table.rows[0]
        assert row.cells["removed"].text == "132 blocks"
        assert row.cells["trigger"].text == "logged 77,010"
        await run.until_shown("removed 132 blocks, 54,9")
        await run.until_shown("prompt 76,938 + ")
        await run.tap("enter")
        await run.until(lambda: run.on_top != "costs")
        await run.until_shown("▶── compaction, prompt 76,938 → 19,880 tokens, removed 132 blocks")
        await run.tap("E")
        await run.until_open("explain")
        await run.until_shown("prompt before it, call 25")
        before, after, *_ = (row.cells["value"].text for row in table_on_top(run).rows)
        assert (before, after) == ("76,938 tokens", "19,880 tokens")


async def test_totals_say_what_each_of_several_models_cost(running, corpus: Path, tmp_path: Path):
    path = tmp_path / "two-models.jsonl"
    shutil.copy(corpus / "claude-code" / "e92f5a0b-1b9e-4913-98b3-c319b4d5e90b.jsonl", path)
    async with running(path, size=(80, 24)) as run:
        await run.until(lambda: run.has_answers)
        costs = await Costs.opened(run)
        assert "claude-opus-4-8 and 1 more" in run.header_line
        await run.until_shown("claude-opus-4-8, 133 calls")
        written = {row.key: row.cells["before"].text for row in costs.table.rows if "before" in row.cells}
        assert (written["model", "claude-opus-4-8"], written["model", "claude-fable-5"]) == ("$29.55", "$5.97")
        assert costs.explained["model", "claude-fable-5"].value < costs.explained["cost_usd"].value
