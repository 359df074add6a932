"""Claude Code's idle compaction: in the price of the next call, in projections and in the choice of a threshold."""

from dataclasses import replace

import numpy as np
import pytest

from inspector.replay.analysis.alternatives import IdleRule, idle_rule, is_idle_compaction, next_call_cost
from inspector.replay.analysis.cache_misses import cache_misses
from inspector.replay.analysis.compaction_forecast import compaction_forecasts
from inspector.replay.analysis.forecast import IdlePauses, project_next_calls
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.pricing.prices import Pricing
from inspector.replay.pricing.rates import RateRow, Rates
from inspector.replay.tuning.compaction_costs import EffectiveThreshold, compacted_session
from inspector.report.build_report import cache_misses_facts
from inspector.report.text import next_call_text
from inspector.session.model import BlockKind, Compaction, Role, Usage
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from tests.replay.synthetic import CharacterTable, SessionBuilder

READ, WRITE, WRITE_1H, OUTPUT = 0.5, 6.25, 10.0, 25.0
RATES = Rates("given", "", (RateRow(0, 5.0, READ, WRITE, WRITE_1H, OUTPUT),))
MINUTE, HOUR = 60.0, 3_600.0
FRESH = 20_000


def ran(
    *calls: tuple[float, int],
    agent: str = "Claude Code 2.1.299",
    compaction: tuple[int, float] | None = None,
    hours: bool = True,
) -> Replay:
    """Replay calls at these minutes with prompts of these sizes, each with the previous one in the cache for an hour.

    `compaction` is the index of the call after a compaction, and its minute.
    """
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "u" * 100), time=0.0)
    before, last = 0, 0.0
    for number, (minute, size) in enumerate(calls):
        if compaction is not None and number == compaction[0]:
            builder.compact(0, "auto", before)
            builder.compactions[-1] = Compaction(
                builder.compactions[-1].message, "auto", before, time=compaction[1] * MINUTE
            )
            builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "s" * 500), is_summary=True)
            before = 0
        cached = before if minute - last <= 60 else 0
        written = {"cache_write_1h" if hours else "cache_write_5m": size - cached}
        usage = Usage(cache_read=cached, **written, output=100)
        text = builder.block(BlockKind.ASSISTANT_TEXT, f"{number:0100}")
        builder.respond(text, usage=usage, model="claude-opus-4-8", time=minute * MINUTE)
        builder.messages[-1] = type(builder.messages[-1])(
            Role.ASSISTANT, builder.messages[-1].blocks, time=minute * MINUTE
        )
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"{number:0100}u"), time=minute * MINUTE + 1)
        before, last = size, minute
    session = replace(builder.session(), format="claude-code", agent=agent)
    inputs = ReplayInputs.of(
        History.of(session), CharacterTable(session), pricing=Pricing.load(rates=RATES), window=1_000_000
    )
    return replay(inputs, Plan())


GROWN = ((0, FRESH), (1, 150_000), (2, 300_000))


def test_it_is_on_from_its_version_for_large_sessions_with_an_hours_cache() -> None:
    assert idle_rule(ran(*GROWN)) == IdleRule(200_000, 3_240.0)
    assert idle_rule(ran(*GROWN, agent="Claude Code 2.1.298")) is None
    assert idle_rule(ran(*GROWN, agent="Claude Code 2.2.0")) is not None
    assert idle_rule(ran(*GROWN, hours=False)) is None


def test_a_pause_without_a_compaction_shows_that_it_is_turned_off() -> None:
    assert idle_rule(ran(*GROWN, (90, 301_000))) is None
    assert idle_rule(ran((0, FRESH), (90, 150_000), (91, 300_000))) is not None, "too small before the pause"


def test_a_compaction_54_minutes_after_a_reply_is_an_idle_one() -> None:
    idle = ran(*GROWN, (120, 40_000), compaction=(3, 56.5))
    assert is_idle_compaction(idle.history.session, 0)
    assert idle_rule(idle) is not None
    assert not is_idle_compaction(ran(*GROWN, (5, 40_000), compaction=(3, 4)).history.session, 0)


# 300,000 read at $0.50 and a summary of 2,000 at $25 per million: 0.15 + 0.05. Then 22,000 written at $10: 0.22.
# Without it, a cold cache: 300,000 at $10.
def test_the_next_call_after_a_pause_has_the_price_of_the_compacted_prompt() -> None:
    # The prompt after the last call: its own 300,000, the answer and the question.
    found = next_call_cost(ran(*GROWN))
    assert found is not None
    assert found.idle_at == "1970-01-01T00:56:00Z"
    assert found.idle_request_usd == pytest.approx(0.15 + 0.05, abs=0.005)
    assert found.idle_next_usd == pytest.approx(0.22)
    assert found.after_pause == found.figure("idle_next_usd")
    assert found.cold_usd == pytest.approx(3.0, abs=0.2)
    small = next_call_cost(ran((0, FRESH), (1, 150_000)))
    assert small is not None
    assert small.idle_at == ""
    assert small.after_pause == small.figure("cold_usd")


def test_the_report_shows_the_setting() -> None:
    facts = cache_misses_facts(cache_misses(ran(*GROWN)))
    assert facts.next_call is not None
    # Minute 2 and 54 more.
    assert facts.next_call.idle_at == "1970-01-01T00:56:00Z"
    assert facts.next_call.idle_request_usd == pytest.approx(0.15 + 0.05, abs=0.005)
    assert facts.next_call.idle_next_usd == pytest.approx(0.22)
    text = next_call_text(facts.next_call)
    assert "an idle session is compacted at 1970-01-01 00:56 UTC for ~$0.20, then ~$0.22 instead of" in text
    assert '("idleCompaction": false turns that off)' in text


def test_an_idle_compaction_says_nothing_about_the_threshold() -> None:
    idle = ran(*GROWN, (120, 40_000), compaction=(3, 56.5))
    assert EffectiveThreshold.of([compacted_session(idle)]) is None
    full = ran(*GROWN, (5, 40_000), compaction=(3, 4))
    assert EffectiveThreshold.of([compacted_session(full)]) is not None


# Two hours later the next prompt of 301,000 is cold: 3.01 written. With the compaction: 300,000 to 301,000 read at
# $0.50 (0.15), a summary of 2,000 (0.05), and 22,000 written (0.22).
def test_a_session_that_waited_would_have_been_cheaper() -> None:
    waited = ran(*GROWN, (122, 301_000), (123, 302_000), agent="Claude Code 2.1.250")
    found = compacted_session(waited).idle
    assert found is not None
    # After the pause, the last call leaves 22,000 + 1,000: too small for another one.
    assert (found.compactions, found.unused, found.is_on) == (1, 0, False)
    # The call after it reads 301,000 at $0.50 and writes 1,000; compacted, it reads 22,000: 0.1395 less.
    assert found.saved_usd == pytest.approx(3.01 - 0.15 - 0.05 - 0.22 + 0.1395, rel=0.02)


# 300,000 read at $0.50 and 2,000 out at $25 per million.
def test_a_session_that_is_never_used_again_pays_for_a_summary() -> None:
    found = compacted_session(ran(*GROWN)).idle
    assert found is not None
    assert (found.compactions, found.unused, found.is_on) == (1, 1, True)
    assert found.saved_usd == pytest.approx(-0.20)


def test_a_plan_with_small_prompts_avoids_an_idle_compaction() -> None:
    idle = ran(*GROWN, (120, 40_000), (121, 41_000), compaction=(3, 56.5))
    ((_, forecast),) = compaction_forecasts(idle)
    assert forecast.trigger_tokens == 200_000
    assert not forecast.is_avoided


def test_a_projection_draws_pauses_that_compact_a_large_prompt() -> None:
    base = ran((0, FRESH), (70, FRESH + 10_000), (71, FRESH + 20_000), (72, FRESH + 230_000))
    assert idle_rule(base) is not None
    pauses = IdlePauses.of(base)
    assert pauses is not None
    assert (pauses.left, pauses.summary) == (FRESH + 2_000, 2_000)
    previous = base.inputs.layout.previous_call[:-1]
    with_it, without = (
        project_next_calls(base.ledger, base.ledger, previous, RATES, 30, window=1_000_000, idle=each)
        for each in (pauses, None)
    )
    assert with_it is not None
    assert without is not None
    assert with_it.baseline_prompt_tokens.middle < 400_000 < without.baseline_prompt_tokens.middle
    assert with_it.cost.baseline.middle < without.cost.baseline.middle
    small = pauses._replace(rule=IdleRule(10_000_000))
    never = project_next_calls(base.ledger, base.ledger, previous, RATES, 30, window=1_000_000, idle=small)
    assert never == without
    assert np.isfinite(with_it.cost.baseline.middle)
