"""Cost pane without a strategy: spending, possible savings, and the next step."""

import re
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest

from inspector.replay.analysis.best_plan import BestPlan, BestPlanSearch
from inspector.replay.analysis.cache_misses import CacheMisses, cache_misses
from inspector.replay.analysis.reuse import ReuseScan
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.engine.replay import Replay
from inspector.replay.explain.spending import Spending, spending_of
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.sessions import replay_session
from inspector.report.export import part_of
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from inspector.ui.cost.unplanned_lines import EXPLAINING, SEARCHING, answer_lines
from tests.conftest import ROOT
from tests.sample_figures import OUTPUT, READ, SAMPLE, UNCACHED, WRITE, bill, cost_of, dollars, missed, percent, saving
from tests.session.claude_lines import SESSION
from tests.session.test_claude_code_copies import resumed

UNPRICED = ROOT / "sample_sessions" / "local-agent.json"
BEST = "hermes-proactive-prune"


@cache
def plain(path: Path) -> Replay:
    return replay_session(open_session(path), Plan(), precise=False)


@cache
def spending(path: Path = SAMPLE) -> Spending:
    return spending_of(plain(path))


@cache
def misses(path: Path = SAMPLE) -> CacheMisses:
    return cache_misses(plain(path))


@cache
def best(path: Path = SAMPLE) -> BestPlan | None:
    part = partial(part_of, plain(path).history.session.format)
    return BestPlanSearch(plain(path), ReuseScan(plain(path).history), part_of=part).run(lambda: False, lambda _: None)


def cost() -> str:
    return dollars(sum(bill()))


def saved_by_best() -> str:
    return f"{dollars(saving(BEST).saved)} ({percent(saving(BEST).saved)})"


def net_of_best() -> str:
    return f"net {dollars(saving(BEST).worst)} to {dollars(saving(BEST).best)}"


def said(
    found: BestPlan | None, lines: int = 4, width: int = 116, *, is_searching: bool = False, path: Path = SAMPLE
) -> list[str]:
    told = answer_lines(spending(path), misses(path), found, (lines, width), is_searching=is_searching)
    return ["   ".join("".join(text for text, _ in piece.text) for piece in line) for line in told]


def test_the_cost_is_reported_by_kind_of_token_the_most_first() -> None:
    money, costs = said(None)[0], bill()

    # 51.84, 36.53 and 11.59 %: the second is rounded down so that they add up to 100.
    written, output = (f"{dollars(usd)} {percent(usd, 0)}" for usd in (costs.written, costs.output))
    rest = sum(round(100 * usd / sum(costs)) for usd in (costs.written, costs.output))
    read = f"{dollars(costs.read)} {100 - rest} %"
    assert money.startswith(f"cost {cost()}   cache writes {written}   cache reads {read}   output {output}")


def test_where_nothing_shows_how_long_responses_were_the_cost_is_at_least_what_is_known() -> None:
    least = replace(spending(), total=replace(spending().total, is_lower_bound=True))

    money = answer_lines(least, misses(), None, (4, 116), is_searching=False)[0]

    assert "".join(text for text, _ in money[0].text) == f"cost ≥ {cost()}"


def applicable() -> BestPlan:
    """The result, with a plan of the same saving that the session's agent can apply."""
    known = best()
    assert known is not None
    assert known.best is not None
    return replace(known, applicable=replace(known.best, plan=Plan.from_specs(["trim-at-insertion"])))


def test_the_best_plan_is_looked_for_then_reported_with_what_it_saves() -> None:
    assert said(None, is_searching=True)[1] == SEARCHING
    told = f"best plan saves {saved_by_best()}, {net_of_best()}: {BEST} · * uses it, c explains   "
    assert said(best())[1] == f"{told}Claude Code can apply no plan that saves"


def test_what_the_agent_can_apply_is_the_headline_and_the_best_plan_for_other_code_comes_second() -> None:
    assert said(applicable())[1] == (
        f"Claude Code can apply trim-at-insertion: {net_of_best()} · * uses it, c explains   "
        f"best plan for your own code {BEST}: {net_of_best()}"
    )
    own = applicable().applicable
    assert own is not None
    assert applicable().recommended == own
    alone = BestPlan(None, own, 69, is_complete=True, applicable=own)
    assert said(alone)[1] == f"Claude Code can apply trim-at-insertion: {net_of_best()} · * uses it, c explains"
    assert alone.recommended is own
    whole = BestPlan(own, own, 69, is_complete=True, applicable=own)
    assert said(whole)[1].startswith(f"best plan saves {saved_by_best()}, {net_of_best()}: trim-at-insertion · * uses")


def test_that_the_agent_can_apply_nothing_that_saves_is_reported_once_all_was_tried() -> None:
    known = applicable()
    none = replace(known, applicable=None)
    assert "Claude Code can apply no plan that saves" in said(none)[1]
    assert "Claude Code" not in said(replace(none, is_complete=False), is_searching=True)[1]
    assert known.applicable is not None
    assert "Claude Code" not in said(replace(known, best=known.applicable))[1]


def test_where_nothing_is_saved_that_is_stated() -> None:
    nothing = said(BestPlan(None, None, 69, is_complete=True))[1]
    assert nothing.startswith("nothing worth changing here: no plan saves anything ")
    assert said(BestPlan(None, None, 12, is_complete=False))[1].startswith("session too long to try every plan")


def test_where_no_tried_plan_saves_the_most_there_is_to_save_is_shown_as_untested() -> None:
    known = best()
    assert known is not None
    line = said(BestPlan(None, known.most, 69, is_complete=True))[1]

    assert line.startswith("nothing worth changing here   ")
    most = saving("vercel-prune").saved
    assert f"vercel-prune {dollars(most)} ({percent(most, 0)}), untested: cuts tool calls and reasoning " in line
    assert " after 0 calls; tried: 5 calls" in line


def test_cache_misses_are_reported_with_their_cost_and_their_causes_the_costliest_first() -> None:
    extra = f"{dollars(missed())} extra"
    assert said(None)[1] == f"1 cache miss, expired (5 min) {extra}   52k tokens rewritten   M cost drivers"

    dear, cheap = (Figure(dollars, HowKnown.EXACT) for dollars in (0.5, 0.1))
    other = replace(misses().misses[0], cause=MissCause.MODEL_CHANGED, usd=dear, read_usd=cheap)
    both = replace(misses(), all=(*misses().all, other))
    told = answer_lines(spending(), both, None, (4, 116), is_searching=False)[1]
    line = "   ".join("".join(text for text, _ in piece.text) for piece in told)
    assert line.startswith(
        "2 cache misses $0.70 extra   model changed $0.40   expired (5 min) $0.30   105k tokens rewritten"
    )


def test_until_cache_misses_are_explained_their_line_is_kept_for_them() -> None:
    told = answer_lines(spending(), None, None, (4, 116), is_searching=False)

    assert told[1][0].text[0][0] == EXPLAINING


def test_a_session_without_a_cache_is_reported_nothing_of_misses() -> None:
    uncached = ROOT / "sample_sessions" / "mail-and-jobs.jsonl"

    assert not any("miss" in line for line in said(None, path=uncached))


def test_what_cost_most_to_carry_is_reported_with_the_key_that_goes_there() -> None:
    line = said(best())[3]

    assert line.startswith("largest resends: Bash results $0.63 36 % of the cost ")
    assert line.endswith("v e lists all, g $ the largest result")


@pytest.mark.parametrize("lines", [1, 2, 3, 4])
def test_no_more_lines_are_stated_than_there_is_room_for(lines: int) -> None:
    for width in (40, 78, 116, 196):
        assert len(said(best(), lines, width)) == lines


def test_three_short_lines_still_say_the_cost_the_saving_what_was_lost_and_what_cost_most_to_resend() -> None:
    first, second, third = said(best(), 3, 78)

    assert first.startswith(f"cost {cost()}")
    assert second.startswith(
        f"best plan saves {dollars(saving(BEST).saved)}, {net_of_best()} (* c)   "
        f"Claude Code can apply no plan that saves   1 miss {dollars(missed())} extra (M)"
    )
    assert third.startswith("largest resends (v e): Bash results $0.63 36 %")


def test_without_a_price_shares_of_tokens_are_reported_and_what_to_do() -> None:
    told = answer_lines(
        spending(UNPRICED), misses(UNPRICED), best(UNPRICED), (3, 116), is_searching=False, advice="name a price"
    )
    lines = ["   ".join("".join(text for text, _ in piece.text) for piece in line) for line in told]

    assert lines[0].startswith("cost unknown   largest resends: file_read results 42 % of the tokens")
    assert lines[1] == "name a price"
    assert lines[2].startswith("best plan saves 5.2 % of the tokens")


async def test_the_pane_answers_with_no_strategy_on_and_reports_the_plan_with_one(running, session_file) -> None:
    async with running(session_file.path, size=(120, 42)) as run:
        await run.until_shown("cache reads")
        await run.until_shown("nothing worth changing here")
        await run.press("1")
        await run.until_shown("with plan A")
        assert "cache reads" not in run.text()
        await run.press("1")
        await run.until_shown("cache reads")
        await run.until_shown("nothing worth changing here")


async def test_the_key_goes_to_the_costliest_result_and_on_around_the_end(running, session_file) -> None:
    async with running(session_file.path, size=(120, 36)) as run:
        heaviest = [each.block for each in spending_of(run.replay).heaviest]
        gone_to = []
        for _ in range(len(heaviest) + 1):
            before = run.text()
            await run.press("g", "dollar_sign")
            await run.until(lambda before=before: "resend cost" in run.status_line and run.text() != before)
            gone_to.append(run.timeline.cursor_block)

        assert gone_to == [*heaviest, heaviest[0]]


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_first_screen_says_what_cost_most_to_resend_and_the_plan_what_it_is_paid_with(
    running, session_file, size
) -> None:
    async with running(session_file.path, size=size) as run:
        for said in ("cache reads", "nothing worth changing here", "largest resends (v e): ", "cache miss"):
            await run.until_shown(said)
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


async def test_the_key_goes_to_the_costliest_of_the_rows_shown(running, session_file) -> None:
    async with running(session_file.path, size=(120, 36)) as run:
        heaviest = [each.block for each in spending_of(run.replay).heaviest]
        tools = [run.history.session.all_blocks[block].tool_name for block in heaviest]
        tool = next(name for name in tools if name != tools[0])
        await run.press("f", *f"tool:{tool}", "enter")
        await run.press("g", "dollar_sign")
        await run.until(lambda: "resend cost" in run.notice)
        assert run.timeline.cursor_block == heaviest[tools.index(tool)]


def test_calls_that_were_billed_in_an_earlier_session_are_reported_next_to_the_cost() -> None:
    for copied, told in ((34, f"cost {cost()} (billed in an earlier session)"), (12, "(12 calls billed in an earlier")):
        found = replace(spending(), copied_calls=copied)
        money = answer_lines(found, misses(), best(), (3, 116), is_searching=False)[0]
        assert told in "".join(text for text, _ in money[0].text)


async def test_it_is_still_reported_next_to_the_cost_with_a_strategy_on(running, tmp_path: Path) -> None:
    path = resumed().write(tmp_path / f"{SESSION}.jsonl")
    async with running(path, plan=Plan.from_specs(["tiered-stale"]), size=(160, 50)) as run:
        await run.settled()
        assert re.search(r"cost \S+\s+\(1 call billed in an earlier session\)", run.text()), run.text()
