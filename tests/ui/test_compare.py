"""The compare screen: every strategy and the plan on one session."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from inspector.cli import main
from inspector.replay.analysis.best_plan import compared, plans_to_compare, replays_of
from inspector.replay.analysis.hazards import HazardKind
from inspector.replay.engine.replay import replay
from inspector.report.numbers import MINUS
from inspector.safe_text import cut_middle
from inspector.session.model import Session
from inspector.strategies.plan import Plan
from inspector.strategies.registry import STRATEGIES
from inspector.ui.compare import screen as compare_screen
from inspector.ui.compare.rows import NEVER_APPLIED, CompareRow, PlanPurpose, compare_table
from inspector.ui.figure_table.table import Table
from tests.conftest import ROOT
from tests.hostile import DISTURBING, hostile_copy
from tests.ui.studies import BASELINE, CURRENT, Compare

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"
ALWAYS = {"keep-recent", "tiered-stale", "hermes-proactive-prune"}
"""The last is the best tried plan of the sample."""

few_plans = pytest.mark.usefixtures("every_third_plan")


@pytest.fixture
def every_third_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    def some(session: Session) -> tuple[Plan, ...]:
        plans = plans_to_compare(session)
        return tuple(plan for place, plan in enumerate(plans) if place % 3 == 0 or plan.name in ALWAYS)

    monkeypatch.setattr(compare_screen, "plans_to_compare", some)


async def test_every_strategy_and_the_plan_have_a_row_with_the_figures_of_their_replay(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("1")
        compare = await Compare.opened(run, "underscore")
        replays = replays_of(run.inputs, plans_to_compare(run.session))
        expected = {each.plan.name: compared(run.baseline, each) for each in replays}

        rows = compare.table.row_of
        assert set(rows) - set(PlanPurpose) == {BASELINE, NEVER_APPLIED, *expected}
        # The current plan has only one row, marked as current.
        assert [name for name in expected if rows[name].cells["kind"].order == "current"] == ["tiered-stale"]
        for name, found in expected.items():
            assert compare.found(name) == found
            assert rows[name].cells["tokens"].order == found.figures.prompt_tokens.value
        assert compare.found(CURRENT).figures == run.replay.figures
        assert rows[BASELINE].cells["cost"].order == run.baseline.figures.cost_usd.value


async def test_the_screen_and_the_command_agree_to_the_token_and_with_none_recommended_the_key_of_it_says_so(
    running, session_file, capsys
) -> None:
    assert main(["compare", str(session_file.path), "--format", "json"]) == 0
    printed = {plan["name"]: plan for plan in json.loads(capsys.readouterr().out)["plans"]}
    async with running(session_file.path) as run:
        compare = await Compare.opened(run)
        for name in printed:
            found = compare.found(name)
            assert found.figures.prompt_tokens.value == printed[name]["figures"]["prompt_tokens"]
            assert found.edits == printed[name]["edits"]
            assert found.figures.cache_breaks.value == printed[name]["figures"]["cache_breaks"]

        before = run.plan
        assert all(row.mark != "★" for row in compare.table.rows)
        await run.tap("asterisk")
        await run.until(lambda: "nothing worth changing here" in compare.notice)
        assert run.plan == before


async def test_groups_fold_and_put_what_saves_most_net_first_and_what_the_agent_can_apply_of_a_plan_is_stated(
    running,
) -> None:
    async with running(SAMPLE, size=(160, 60)) as run:
        compare = await Compare.opened(run)
        few = len(compare.table.rows)
        compare.table.go_to(PlanPurpose.LIMITS)
        await run.tap("enter")
        await run.until(lambda: len(compare.table.rows) > few)
        assert run.on_top == "compare"
        await run.tap("enter")
        await run.until(lambda: len(compare.table.rows) == few)

        await run.tap("underscore")
        await run.until(lambda: len(compare.table.rows) > few)
        rows = [row for row in compare.table.rows if row.group % 4 == 1 and compare.is_plan(row.key)]
        assert len(rows) > 3
        for group in {row.group for row in rows}:
            net = [row.cells["net"].order for row in rows if row.group == group]
            assert net == sorted(net, reverse=True)
        losing = next(row for row in rows if row.cells["net"].order < 0)
        compare.table.go_to(losing.key)
        assert f"{MINUS}$" in next(line for line in run.lines() if "▶" in line)

        plans = [row for row in compare.table.rows if compare.is_plan(row.key)]
        untested = [row for row in plans if row.mark == "?"]
        assert untested
        assert all(compare.is_untested(row.key) and row.group % 4 == 3 for row in untested)
        assert not any(compare.is_untested(row.key) for row in plans if row.group % 4 < 3)
        compare.table.go_to("vercel-prune")
        await run.until(lambda: compare.facts[0][0] == "excluded")
        assert compare.facts[0][1] == (
            "saves more net, but it is untested: cuts tool calls and reasoning after 0 calls; tried: "
            "5 calls, 10 turns, or the newest 40,000 tokens"
        )
        await run.until_shown("? untested")

        compare.table.go_to("aggressive")
        await run.pause()
        said = dict(compare.facts)["use it"]
        assert said.startswith("Claude Code can apply part of it: trim-at-insertion; net about $")
        part = compare.plan("part of aggressive")
        assert [strategy.name for strategy in part.strategies] == ["trim-at-insertion"]
        alone = replay(run.inputs, part)
        saved = run.baseline.figures.cost_usd.value - alone.figures.cost_usd.value
        assert f"(saves ${saved:,.2f})" in said
        compare.table.go_to("tiered-stale")
        await run.pause()
        assert dict(compare.facts)["use it"] == "Claude Code cannot apply it; your own code can (w e)"


@few_plans
async def test_arrows_and_titles_sort_help_names_the_keys_and_what_is_no_other_plan_is_not_taken(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        compare = await Compare.opened(run)
        await run.tap("down", "down")
        key = compare.table.row_here
        await run.tap("right")
        assert compare.table.sorting.column == "needed"
        await run.tap("left", "left", "left", "left", "left", "s")
        assert (compare.table.sorting.column, compare.table.sorting.falls) == ("cost", True)
        plans = [row for row in compare.table.rows if compare.is_plan(row.key) and row.group]
        assert plans
        for group in {row.group for row in plans}:
            costs = [row.cells["cost"].order for row in plans if row.group == group]
            assert costs == sorted(costs, reverse=True)
        assert compare.table.row_here == key

        await compare.table.click(4, 0)
        assert (compare.table.sorting.column, compare.table.sorting.falls) == ("name", False)
        await compare.table.click(4, 0)
        assert compare.table.sorting.falls
        assert compare.table.row_here == key

        plan = run.plan
        for row in (BASELINE, CURRENT):
            compare.table.go_to(row)
            await run.tap("enter", "plus")
            await run.pause()
            assert compare.is_on_top
        assert run.plan == plan
        await run.tap("question_mark")
        await run.pause()
        assert run.on_top == "help"
        assert {"compare.take", "table.sort-left", "study.close"} <= run.help_names
        await run.tap("escape")
        await run.pause()
        assert "use it" in run.text()
        await run.tap("escape")
        await run.until_open("session")


@few_plans
async def test_enter_makes_a_plan_the_current_one_but_none_that_is_on_and_its_key_and_undo_say_what_they_change(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        await run.press("1")
        before = run.plan
        compare = await Compare.opened(run, "underscore")
        compare.table.go_to("tiered-stale")
        await run.tap("enter")
        await run.pause()
        assert compare.is_on_top
        assert compare.notice.startswith("already on: tiered-stale")

        compare.table.go_to("keep-recent")
        await run.tap("enter")
        await run.until_open("session")
        await run.until_shown("now on: keep-recent; ctrl+z undoes it; Claude Code cannot apply it (w e)")
        await run.settled()
        assert [strategy.name for strategy in run.plan.strategies] == ["keep-recent"]
        assert run.replay.plan == run.plan

        await run.press("1")
        await run.until_shown("keep-recent off; ctrl+z undoes it")
        assert "now on: keep-recent" not in run.text()
        await run.press("1")
        await run.until_shown("keep-recent on")
        await run.press("ctrl+z", "ctrl+z", "ctrl+z")
        assert run.plan == before


@few_plans
async def test_a_strategy_is_added_to_the_plan_which_is_replayed_in_its_row(running, session_file) -> None:
    async with running(session_file.path) as run:
        compare = await Compare.opened(run, "underscore")
        assert compare.found(CURRENT).first_firing is None
        compare.table.go_to("keep-recent")
        await run.tap("plus")
        await run.until(lambda: len(compare.plan(CURRENT).entries) == 2 and compare.is_done)
        assert run.plan == compare.plan(CURRENT)
        assert "keep-recent" in compare.title(CURRENT)

        await run.tap("ctrl+z")
        await run.until(lambda: compare.plan(CURRENT) == run.plan and compare.is_done)
        assert len(run.plan.entries) == 1


@few_plans
async def test_a_small_screen_shows_all_that_is_stated_of_the_best_plan_and_what_never_applied_in_one_row(
    running,
) -> None:
    async with running(SAMPLE, size=(80, 24)) as run:
        compare = await Compare.opened(run)
        titles = next(line for line in run.lines() if " plan " in line and "saved" in line)
        assert "kind" in titles
        assert "needed" in titles

        first = dict(compare.facts)["result"]
        await run.until_shown(first)
        assert "↓" in run.lines()[-2]
        seen = ""
        while "↓" in run.lines()[-2]:
            seen += run.text()
            above = run.lines()[-2]
            await run.tap("tab")
            await run.until(lambda above=above: run.lines()[-2] != above)
        seen += run.text()
        assert all(f"│ {label} " in seen for label, _ in compare.facts)
        assert compare.facts[-1][1].split()[-1] in seen
        await run.tap("tab")
        await run.until_shown(first)

        best = str(compare.table.row_here)
        found = compare.found(best)
        assert "★ best" in run.text()
        assert "▶★hermes" in run.text()
        assert compare.facts[0][0] == "best"
        least = {row.key: row.cells["net"].order for row in compare.table.rows if "net" in row.cells}
        assert least[best] <= found.savings.usd.value
        rejected = {
            key
            for key in least
            if compare.is_untested(key)
            or compare.found(key).drops_text
            or any(hazard.kind is HazardKind.ORPHANED_PAIR for hazard in compare.found(key).hazards)
        }
        assert least[best] == max(usd for key, usd in least.items() if key not in rejected)

        await run.tap("right")
        assert (compare.table.sorting.column, compare.table.sorting.falls) == ("needed", False)
        assert compare.table.row_here == best

        shown = set(compare.table.row_of)
        idle = compare.idle_keys() - {BASELINE}
        assert idle
        assert shown.isdisjoint(idle)
        await run.tap("end", "enter")
        assert idle <= set(compare.table.row_of)
        assert compare.table.row_here == NEVER_APPLIED
        assert all(compare.title(name) in dict(compare.facts)["plans"] for name in idle)


@few_plans
async def test_the_front_is_shown_by_a_key_says_why_and_enter_takes_any_plan_of_it(running) -> None:
    async with running(SAMPLE, size=(120, 36)) as run:
        compare = await Compare.opened(run, "F")
        await run.until_shown("Pareto front, saving vs. needed later")
        # Before the tokens are counted, estimates may leave no plan to recommend.
        await run.until(lambda: [row.mark for row in compare.table.rows].count("★") == 1)
        rows = compare.table.rows
        needed = [row.cells["needed"].order for row in rows]
        assert needed == sorted(needed)
        assert compare.facts[0][0] == "best"
        compare.table.go_to_line(0)
        key = str(compare.table.row_here)
        plan = compare.plan(key)
        await run.tap("F")
        await run.until_shown("Compare ")
        assert len(compare.table.rows) > len(rows)
        assert compare.table.row_here == key
        await run.tap("F", "enter")
        await run.until_open("session")
        await run.settled()
        assert run.plan.strategies == plan.strategies


@few_plans
async def test_the_key_of_the_best_plan_uses_it_as_on_the_main_screen_and_undo_takes_it_back(running) -> None:
    async with running(SAMPLE, size=(120, 36)) as run:
        await run.until(lambda: run.best is not None)
        before = run.plan
        await run.press("asterisk")
        await run.until_shown("ctrl+z")
        on_main, notice = run.plan, run.line_with("ctrl+z")
        await run.press("ctrl+z")
        assert run.plan == before

        await Compare.opened(run)
        await run.tap("asterisk")
        await run.until_open("session")
        await run.until_shown("ctrl+z")
        assert run.plan.strategies == on_main.strategies
        assert run.line_with("ctrl+z") == notice
        await Compare.opened(run)
        await run.tap("asterisk")
        await run.until_shown(", the best plan; ctrl+z undoes it")
        await run.tap("escape")
        await run.until_open("session")
        await run.press("ctrl+z")
        assert run.plan == before


@few_plans
async def test_until_a_plan_is_recommended_its_key_says_how_many_were_tried_and_rows_are_filled_seldom(
    running, held, monkeypatch
) -> None:
    filled: list[int] = []

    def counted(contenders: Sequence[CompareRow], *given: Any, **named: Any) -> Table:
        filled.append(sum(each.found is not None for each in contenders))
        return compare_table(contenders, *given, **named)

    monkeypatch.setattr(compare_screen, "compare_table", counted)
    monkeypatch.setattr(compare_screen, "SECONDS_BETWEEN_FILLS", 60)
    async with running(SAMPLE) as run:
        await run.tap("c")
        await run.until_open("compare")
        await run.tap("asterisk")
        await run.until_shown("still searching for the best plan, ")
        held.set()
        compare = Compare(run)
        await compare.shown()
        assert filled == [0, len(compare.every_key())]


async def test_of_an_agent_that_nothing_is_known_of_no_plan_is_marked_as_one_it_can_apply(running) -> None:
    async with running(ROOT / "sample_sessions" / "local-agent.json", size=(120, 36)) as run:
        compare = await Compare.opened(run)
        assert all(row.mark != "✓" for row in compare.table.rows)
        assert "can apply" not in run.text().replace("unknown if this agent can apply it", "")


@few_plans
async def test_a_session_that_grows_is_compared_again(running, session_file) -> None:
    async with running(session_file.path) as run:
        compare = await Compare.opened(run)
        calls = compare.found(BASELINE).figures.calls.value
        session_file.turn()
        await run.until(lambda: compare.found(BASELINE).figures.calls.value == calls + 1)
        await run.until(lambda: compare.is_done)
        assert {each.figures.calls.value for each in compare.all_found()} == {calls + 1}


@few_plans
async def test_a_strategy_that_fails_says_so_and_the_others_are_compared(running, session_file, monkeypatch) -> None:
    def broken(self: object, history: object) -> None:
        raise ValueError("[/b] out of luck")

    async with running(session_file.path) as run:
        monkeypatch.setattr(STRATEGIES["keep-recent"], "schedule", broken)
        compare = await Compare.opened(run)
        failed = compare.failed()
        assert failed == ["keep-recent"]
        compare.table.go_to("keep-recent")
        await run.pause()
        assert ("failed", "ValueError: [/b] out of luck") in compare.facts


@few_plans
async def test_without_a_price_tokens_are_compared(running, session_file) -> None:
    from tests.ui.recordings import recording

    path = recording(session_file.path.with_name("house.jsonl"), model="house-model-9").path
    async with running(path, size=(160, 60)) as run:
        compare = await Compare.opened(run)
        rows = compare.table.row_of
        assert rows["tiered-stale"].cells["cost"].text == "unknown"
        assert rows["tiered-stale"].cells["share"].order > 0


@few_plans
async def test_hostile_text_reaches_no_strip_at_any_size_of_the_terminal(running, session_file, tmp_path: Path) -> None:
    path = hostile_copy(session_file.path, tmp_path / "hostile.jsonl")
    plan = Plan.from_toml(
        'name = "[/b] \\u001b[31m"\n[[strategies]]\nname = "tiered-stale"\nmarker = "[@click=x]\\u009b"\n'
    )
    async with running(path, plan=plan, size=(20, 6)) as run:
        compare = await Compare.opened(run)
        compare.table.go_to(CURRENT)
        for width, height in ((20, 6), (40, 10), (80, 24), (120, 36), (200, 60), (20, 6)):
            await run.resize(width, height)
            assert len(run.lines()) == height
            assert DISTURBING.search(run.text().replace("\n", "")) is None
            assert "[/b]" in run.text() or width < 80


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Plans are replayed from the moment on at which this is set."""
    may_replay = Event()

    def waiting(*given: Any) -> Any:
        may_replay.wait(60)
        return replay(*given)

    monkeypatch.setattr(compare_screen, "replay", waiting)
    yield may_replay
    may_replay.set()


@few_plans
async def test_enter_before_the_plans_are_replayed_says_so_and_the_cursor_goes_to_the_best_then(running, held) -> None:
    async with running(SAMPLE) as run:
        await run.tap("c", "enter")
        await run.until_open("compare")
        compare = Compare(run)
        await run.until(lambda: "still replaying plans" in compare.notice)

        held.set()
        await compare.shown()
        assert compare.notice == ""
        assert compare.table.row_here == "hermes-proactive-prune"


@few_plans
@pytest.mark.parametrize("key", ["home", "s"])
async def test_the_cursor_goes_to_the_best_plan_by_itself_only_before_any_key(running, session_file, held, key) -> None:
    async with running(session_file.path) as run:
        await run.tap("c", key)
        await run.until_open("compare")
        compare = Compare(run)
        await run.until(lambda: compare.table.rows)
        here = compare.table.row_here
        held.set()
        await compare.shown()
        assert compare.table.row_here == here


async def test_at_the_smallest_usual_size_the_best_plan_is_first_and_what_the_agent_can_apply_is_marked(
    running,
) -> None:
    async with running(SAMPLE, size=(80, 24)) as run:
        compare = await Compare.opened(run)
        begun = compare.table.row_here
        lines = run.lines()
        place = next(at for at, line in enumerate(lines) if " plan " in line and "saved" in line)
        assert BASELINE in lines[place + 1]
        assert "▶★" in lines[place + 2]
        one, two = [row.key for row in compare.table.rows if compare.is_plan(row.key)][:2]
        best, second = compare.found(one), compare.found(two)
        needed = compare.table.text(two, "needed")
        assert best.savings.usd.value >= second.savings.usd.value or second.drops_text or needed != "0"
        assert "↓ " in run.text()
        assert " more" in run.text()
        facts = dict(compare.facts)
        assert all(words in run.text() for words in (facts["result"], facts["about"].split(".")[0]))

        await run.tap("end")
        await run.until(lambda: "↑ " in run.text())
        assert "↓ " not in run.lines()[14]

        await run.tap("underscore")
        rows = compare.table.row_of
        can = {key for key in rows if compare.is_plan(key) and compare.answer(key).is_whole}
        assert "trim-at-insertion" in can
        tried = {key for key in can if not compare.is_untested(key)}
        assert {key for key, row in rows.items() if row.mark == "✓"} == tried
        assert all(compare.answer(key).is_whole for key, row in rows.items() if row.mark == "✓")
        # Every plan that the agent can apply loses here, or goes beyond what has been tried.
        net = {key: rows[key].cells["net"].order for key in can if "net" in rows[key].cells}
        assert net
        assert all(usd < 0.01 * 1.75 or compare.is_untested(key) for key, usd in net.items())
        await run.until_shown("Claude Code can apply no recommended plan")
        assert rows[begun].mark == "★"


def test_names_that_begin_alike_are_distinguished_where_there_is_little_room() -> None:
    names = ["anthropic-clear-tool-uses", "anthropic-clear-thinking", "anthropic-clear-tool-inputs"]
    shown = [cut_middle(name, 17) for name in names]
    assert shown == ["anthropi…ool-uses", "anthropi…thinking", "anthropi…l-inputs"]
    assert {len(name) for name in shown} == {17}
    assert cut_middle("短い名前の計画", 9) in {"短い…計画", "短い…の計画"}
