"""Recorded totals of several calls: exact in sum, shared out among the calls."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.cli.reading import replay_inputs
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.engine.token_scale import apportion
from inspector.replay.figure import HowKnown
from inspector.session.open import open_session
from inspector.session.related import call_keys, without_calls
from inspector.strategies.plan import Plan
from tests.session.copilot_lines import CopilotScript
from tests.session.test_copilot_totals import MODEL, answered, metrics, shutdown


def baseline(path: Path) -> Replay:
    return replay(replay_inputs(open_session(path)), Plan())


def test_the_totals_of_a_session_with_recorded_totals_are_exact(shared: Path) -> None:
    found = baseline(next((shared / "cases" / "86-copilot-shutdown").iterdir()))
    figures = found.figures
    assert figures.prompt_tokens.value == 40_000 + 21_000
    assert figures.cache_read_tokens.value == 19_000
    assert figures.cache_write_tokens.value == 20_000 + 21_000
    assert figures.output_tokens.value == 300 + 50
    # Per million: 3 uncached, 0.30 read, 3.75 written, 15 output.
    # (1,000 x 3 + 19,000 x 0.30 + 41,000 x 3.75 + 350 x 15) / 1e6 = 0.0030 + 0.0057 + 0.15375 + 0.00525
    assert figures.cost_usd.value == pytest.approx(0.1677)
    assert {figures.prompt_tokens.known, figures.cost_usd.known} == {HowKnown.EXACT}
    assert figures.peak_prompt_tokens.known is not HowKnown.EXACT


def test_a_call_has_its_texts_and_an_equal_part_of_what_the_file_does_not_record(shared: Path) -> None:
    found = baseline(next((shared / "cases" / "86-copilot-shutdown").iterdir()))
    first, second, third = found.ledger.prompt_tokens.tolist()
    assert first + second == 40_000
    # The second prompt holds the first response and a tool result of 500 tokens more.
    assert 500 <= second - first <= 700
    assert third == 21_000
    # The first request of a process has nothing to read.
    assert found.ledger.cache_read.tolist() == [0, 19_000, 0]


@pytest.mark.parametrize(("copied", "stretches", "last"), [(1, [(1, 2)], 21_000), (2, [(0, 1)], 21_000)])
def test_where_calls_are_counted_in_another_session_totals_stay_with_theirs(
    shared: Path, copied: int, stretches: list[tuple[int, int]], last: int
) -> None:
    session = open_session(next((shared / "cases" / "86-copilot-shutdown").iterdir()))
    own = without_calls(session, call_keys(session)[:copied])
    assert len(own.calls) == 3 - copied
    assert [(each.first_call, each.end_call) for each in own.recorded_totals] == stretches
    assert replay(replay_inputs(own), Plan()).ledger.prompt_tokens.tolist()[-1] == last


@pytest.mark.parametrize(("total", "known"), [(200_000, HowKnown.EXACT), (200_001, HowKnown.CALIBRATED)])
def test_the_cost_of_a_total_is_an_estimate_if_one_of_its_prompts_could_be_a_long_one(
    tmp_path: Path, total: int, known: HowKnown
) -> None:
    script = CopilotScript()
    script.start()
    answered(script, 100, 100)
    shutdown(script, metrics(total, 200, requests=2))
    figures = baseline(script.write(tmp_path / "s1" / "events.jsonl")).figures
    # Two prompts of 100,000 tokens cost $3 per million; a prompt of more than 200,000 tokens would cost $6.
    assert (figures.prompt_tokens.known, figures.cost_usd.known) == (HowKnown.EXACT, known)


def test_calls_after_the_last_total_are_estimates_and_so_is_the_sum(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    answered(script, 100)
    shutdown(script, metrics(20_000, 100))
    script.add("session.resume")
    answered(script, 50)
    found = baseline(script.write(tmp_path / "s1" / "events.jsonl"))
    assert found.ledger.prompt_tokens[0] == 20_000
    assert found.inputs.apportioned.tolist() == [True, False]
    assert found.figures.prompt_tokens.known is not HowKnown.EXACT


def test_output_that_only_the_total_holds_is_added_to_the_calls(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    answered(script, 100, 300)
    shutdown(script, metrics(50_000, 480, requests=2))
    found = baseline(script.write(tmp_path / "s1" / "events.jsonl"))
    # 80 more in proportion to 100 and 300.
    assert found.ledger.output.tolist() == [120, 360]


def test_requests_outside_the_conversation_are_taken_out_of_the_total(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start(selectedModel=MODEL)
    answered(script, 100)
    used = {"inputTokens": 9_000, "outputTokens": 400, "cacheReadTokens": 8_000, "model": MODEL}
    script.add("session.compaction_complete", success=True, summaryContent="all", compactionTokensUsed=used)
    shutdown(script, metrics(29_000, 500, read=8_000, requests=2))
    found = baseline(script.write(tmp_path / "s1" / "events.jsonl"))
    # 29,000 - 9,000 for the compaction, of which 8,000 - 8,000 are read.
    assert found.ledger.prompt_tokens.tolist() == [20_000]
    assert found.ledger.cache_read.tolist() == [0]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 1_000)), min_size=1, max_size=12), st.floats(0, 1))
def test_parts_sum_up_and_stay_within_their_limits(parts: list[tuple[int, int]], share: float) -> None:
    weights, most = (np.array(column) for column in zip(*parts, strict=True))
    total = int(share * most.sum())
    found = apportion(total, weights.astype(np.float64), most)
    assert found.sum() == total
    assert (found >= 0).all()
    assert (found <= most).all()
