"""Cost line: cost, avoidable cost, what the agent itself can save, and with a strategy on the result of the plan."""

import re
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from inspector.replay.analysis.best_plan import BestPlan, BestPlanSearch
from inspector.replay.analysis.cache_misses import CacheMisses, cache_misses
from inspector.replay.analysis.reuse import ReuseScan
from inspector.replay.engine.replay import Replay
from inspector.replay.explain.cost_sheet import spending_of
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.sessions import replay_session
from inspector.report.export import part_of
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from inspector.ui.cost.summary import (
    EXPLAINING,
    SEARCHING,
    UNSETTLED,
    CostSummary,
    CostUntil,
    Line,
    planned_line,
    recorded_line,
)
from tests.conftest import ROOT
from tests.sample_figures import OUTPUT, READ, SAMPLE, UNCACHED, WRITE, bill, cost_of, dollars, missed, saving
from tests.session.claude_lines import SESSION
from tests.session.test_claude_code_copies import resumed

UNPRICED = ROOT / "sample_sessions" / "local-agent.json"
BEST = "hermes-proactive-prune"


@cache
def plain(path: Path) -> Replay:
    return replay_session(open_session(path), Plan(), precise=False)


@cache
def misses(path: Path = SAMPLE) -> CacheMisses:
    return cache_misses(plain(path))


@cache
def best(path: Path = SAMPLE) -> BestPlan | None:
    part = partial(part_of, plain(path).history.session.format)
    return BestPlanSearch(plain(path), ReuseScan(plain(path).history), part_of=part).run(lambda: False, lambda _: None)


def cost() -> str:
    return dollars(sum(bill()))


def net_of_best() -> str:
    return f"net {dollars(saving(BEST).worst)} to {dollars(saving(BEST).best)}"


def summary(path: Path = SAMPLE, **changes: Any) -> CostSummary:
    whole, none = plain(path).figures.cost_usd, Figure(None, HowKnown.EXACT)
    return replace(CostSummary(whole, whole, none, None, none, None, None, is_idle=True), **changes)


def words(line: Line) -> str:
    return "   ".join("".join(text for text, _ in piece.text) for piece in line)


def said(found: BestPlan | None, *, is_searching: bool = False, path: Path = SAMPLE, **changes: Any) -> str:
    form = plain(path).history.session.format
    return words(recorded_line(summary(path, **changes), misses(path), found, form, is_searching=is_searching))


def test_the_line_is_cost_avoidable_cost_and_what_can_be_saved() -> None:
    assert said(best()) == (
        f"Cost {cost()}   avoidable {dollars(missed())} in 1 cache miss (M)   "
        f"best plan saves {net_of_best()} with {BEST} (* c)   "
        "Claude Code can apply no recommended plan   $ all figures"
    )


def test_where_nothing_shows_how_long_responses_were_the_cost_is_at_least_what_is_known() -> None:
    least = replace(plain(SAMPLE).figures.cost_usd, is_lower_bound=True)

    assert said(None, recorded=least).startswith(f"Cost ≥ {cost()}   ")


def applicable() -> BestPlan:
    """The result, with a plan of the same saving that the session's agent can apply."""
    known = best()
    assert known is not None
    assert known.best is not None
    return replace(known, applicable=replace(known.best, plan=Plan.from_specs(["trim-at-insertion"])))


def test_what_the_agent_can_apply_comes_before_a_better_plan_for_other_code() -> None:
    saves = f"best plan Claude Code can apply saves {net_of_best()} with trim-at-insertion (* c)"
    assert saves in said(applicable())
    assert said(applicable()).count("best plan") == 1


def test_while_plans_are_tried_the_line_says_so_and_then_whether_anything_is_left() -> None:
    assert SEARCHING in said(None, is_searching=True)
    assert f"best plan so far saves {net_of_best()} with {BEST}" in said(
        replace(best(), is_complete=False), is_searching=True
    )
    assert "nothing worth changing here (c)" in said(BestPlan(None, None, 69, is_complete=True))
    assert "session too long to try every plan (c)" in said(BestPlan(None, None, 12, is_complete=False))


def test_that_the_agent_can_apply_nothing_that_saves_is_reported_once_all_was_tried() -> None:
    none = replace(applicable(), applicable=None)
    assert "Claude Code can apply no recommended plan" in said(none)
    assert "Claude Code" not in said(replace(none, is_complete=False), is_searching=True)


def test_misses_are_explained_first_and_left_out_without_a_cache() -> None:
    uncached = ROOT / "sample_sessions" / "mail-and-jobs.jsonl"

    assert EXPLAINING in words(recorded_line(summary(), None, None, "claude-code", is_searching=False))
    assert "miss" not in said(None, path=uncached)


def test_the_cost_up_to_a_call_is_a_part_of_the_whole_cost() -> None:
    part = Figure(0.5, HowKnown.EXACT)

    assert said(None, until=CostUntil(7, part, part, part)).startswith(f"Cost up to call 7 $0.50 of {cost()}   ")


def test_without_a_price_the_line_says_what_to_do() -> None:
    assert said(best(UNPRICED), path=UNPRICED, advice="name a price") == "Cost unknown   name a price"


def test_a_plan_that_costs_more_is_never_green_and_its_net_has_a_place_until_it_is_known() -> None:
    # $1.50 recorded, $1.70 with the plan: costs $0.20 more, 13.3 %.
    figures = {"recorded": 1.5, "planned": 1.7, "saved": -0.2}
    told = {name: Figure(usd, HowKnown.EXACT) for name, usd in figures.items()}
    under = summary(is_idle=False, is_on=True, saved_share=-0.2 / 1.5, rewrite_usd=0.3, **told)

    line = planned_line(under, "plan A")

    assert words(line) == (
        f"Cost $1.50   with plan A $1.70   costs $0.20 more (13 %)   {UNSETTLED}   "
        "cache rewrites cost $0.30   never breaks even   $ all figures"
    )
    assert "cost--saved" not in {style for piece in line for _, style in piece.text}


async def test_the_line_answers_with_no_strategy_on_and_reports_the_plan_with_one(running, session_file) -> None:
    async with running(session_file.path, size=(120, 42)) as run:
        await run.until_shown("nothing worth changing here")
        await run.press("1")
        await run.until_shown("with plan A")
        assert "nothing worth changing" not in run.text()
        await run.press("1")
        await run.until_shown("nothing worth changing here")


async def test_the_key_goes_to_the_costliest_result_of_the_rows_shown_and_on_around_the_end(
    running, session_file
) -> None:
    async with running(session_file.path, size=(120, 36)) as run:
        heaviest = list(spending_of(run.replay).heaviest)
        gone_to = []
        for _ in range(len(heaviest) + 1):
            before = run.text()
            await run.press("g", "dollar_sign")
            await run.until(lambda before=before: "resend cost" in run.status_line and run.text() != before)
            gone_to.append(run.timeline.cursor_block)
        assert gone_to == [*heaviest, heaviest[0]]

        tools = [run.history.session.all_blocks[block].tool_name for block in heaviest]
        tool = next(name for name in tools if name != tools[0])
        await run.press("f", *f"tool:{tool}", "enter")
        await run.press("g", "dollar_sign")
        await run.until(lambda: run.timeline.cursor_block == heaviest[tools.index(tool)])


async def test_the_plan_says_what_it_is_paid_with(running, session_file) -> None:
    async with running(session_file.path, size=(150, 40)) as run:
        await run.press("1")
        await run.until_shown("with plan A")
        # Recorded: 30 calls read 12,000 tokens and 900 more each time, write 900, send 4 uncached and return 120.
        recorded = 30 * (900 * WRITE + 4 * UNCACHED + 120 * OUTPUT) + sum(12_000 + 900 * n for n in range(30)) * READ
        await run.settled()
        more = cost_of(run.replay) - recorded
        # Entries end at breakpoints, so every cut near them is paid for with rewrites.
        rewrites = (WRITE - READ) * float(run.replay.ledger.cache_write.sum() - 30 * 900)
        assert 0 < more < rewrites
        await run.until_shown(f"costs {dollars(more)} more")
        await run.until_shown(f"cache rewrites cost {dollars(rewrites)}")
        await run.until_shown("never breaks even")


def test_calls_that_were_billed_in_an_earlier_session_are_reported_next_to_the_cost() -> None:
    assert said(best(), copied="billed in an earlier session").startswith(
        f"Cost {cost()}   (billed in an earlier session)"
    )


async def test_it_is_still_reported_next_to_the_cost_with_a_strategy_on(running, tmp_path: Path) -> None:
    path = resumed().write(tmp_path / f"{SESSION}.jsonl")
    async with running(path, plan=Plan.from_specs(["tiered-stale"]), size=(160, 50)) as run:
        await run.settled()
        assert re.search(r"Cost \S+\s+\(1 call billed in an earlier session\)", run.text()), run.text()
