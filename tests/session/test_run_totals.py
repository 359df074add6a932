"""Totals that runs record: usage by model of an Inspect sample without events, and the cost of SWE-agent's runs."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspector.cli.reading import replay_inputs
from inspector.replay.analysis.costs import recorded_costs
from inspector.replay.engine.replay import replay
from inspector.replay.figure import HowKnown
from inspector.session.model import NO_MESSAGE, Session, Usage
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.session.run_files import encoded, inspect_log, inspect_sample, mini_run, swe_run

MODEL = "anthropic/claude-sonnet-4-5"


def opened(path: Path, document: Any) -> Session:
    path.write_bytes(encoded(document))
    return open_session(path)


def sample_without_events(model_usage: Any) -> dict[str, Any]:
    sample = {**inspect_sample(3), "model_usage": model_usage}
    del sample["events"]
    log = inspect_log([sample])
    log["eval"]["model"] = MODEL
    return log


def test_the_usage_of_a_sample_without_events_is_exact_in_sum(tmp_path: Path) -> None:
    tokens = {
        "input_tokens": 1_000,
        "output_tokens": 300,
        "input_tokens_cache_read": 19_000,
        "input_tokens_cache_write": 20_000,
        "total_tokens": 40_300,
    }
    session = opened(tmp_path / "log.json", sample_without_events({MODEL: {**tokens, "total_cost": 0.0882}}))
    (totals,) = session.recorded_totals
    assert totals.usages == ((MODEL, Usage(uncached=1_000, cache_read=19_000, cache_write_5m=20_000, output=300)),)
    assert (totals.first_call, totals.end_call, totals.cost_usd) == (0, 3, 0.0882)
    figures = replay(replay_inputs(session), Plan()).figures
    assert (figures.prompt_tokens.value, figures.prompt_tokens.known) == (40_000, HowKnown.EXACT)
    assert (figures.cache_read_tokens.value, figures.cache_write_tokens.value) == (19_000, 20_000)
    assert (figures.output_tokens.value, figures.output_tokens.known) == (300, HowKnown.EXACT)
    # Per million: 3 uncached, 0.30 read, 3.75 written, 15 output.
    # (1,000 x 3 + 19,000 x 0.30 + 20,000 x 3.75 + 300 x 15) / 1e6 = 0.0030 + 0.0057 + 0.0750 + 0.0045
    assert figures.cost_usd.value == pytest.approx(0.0882)


def test_a_model_that_graded_is_billed_as_a_side_request(tmp_path: Path) -> None:
    usage = {"input_tokens": 900, "output_tokens": 60, "total_tokens": 960}
    grading = {"input_tokens": 500, "output_tokens": 10, "total_tokens": 510}
    session = opened(tmp_path / "log.json", sample_without_events({MODEL: usage, "openai/gpt-5.4": grading}))
    (side,) = session.side_calls
    assert (side.purpose, side.model, side.usage) == (NO_MESSAGE, "openai/gpt-5.4", Usage(uncached=500, output=10))
    assert replay(replay_inputs(session), Plan()).figures.prompt_tokens.value == 900


def test_totals_next_to_events_add_nothing(tmp_path: Path) -> None:
    usage = {"input_tokens": 27, "output_tokens": 9, "input_tokens_cache_read": 90, "total_tokens": 126}
    sample = {**inspect_sample(3), "model_usage": {"provider/model-x": usage}}
    session = opened(tmp_path / "log.json", inspect_log([sample]))
    assert session.recorded_totals == ()
    assert sum(call.usage.prompt for call in session.calls if call.usage) == 3 * 39


@pytest.mark.parametrize("wrong", [None, [], {MODEL: None}, {MODEL: {"input_tokens": "x"}}, {MODEL: {}}])
def test_a_damaged_total_is_ignored(tmp_path: Path, wrong: Any) -> None:
    session = opened(tmp_path / "log.json", sample_without_events(wrong))
    assert (len(session.calls), session.recorded_totals) == (3, ())


@pytest.mark.parametrize(("write", "name"), [(swe_run, "r.traj"), (mini_run, "r.traj.json")])
def test_the_cost_of_a_run_is_next_to_the_computed_one(
    tmp_path: Path, write: Callable[[int], dict[str, Any]], name: str
) -> None:
    document = write(3)
    document["info"]["model_stats"] = {"instance_cost": 1.25, "api_calls": 4, "tokens_sent": 90, "tokens_received": 9}
    session = opened(tmp_path / name, document)
    (totals,) = session.recorded_totals
    assert (totals.source, totals.cost_usd, totals.requests) == ("model_stats", 1.25, 4)
    assert (totals.usages, totals.first_call, totals.end_call) == ((), 0, 3)
    (cost,) = recorded_costs(replay(replay_inputs(session), Plan()))
    assert (cost.recorded_usd, cost.computed_usd, cost.differs) == (1.25, None, True)


def test_every_attempt_has_its_own_cost(tmp_path: Path) -> None:
    attempts = [swe_run(2), swe_run(3)]
    for number, attempt in enumerate(attempts):
        attempt["info"]["model_stats"] = {"instance_cost": 0.5 + number}
    path = tmp_path / "r.traj"
    path.write_bytes(encoded({"attempts": attempts, "info": {"model_stats": {"instance_cost": 2.0}}}))
    found = [open_session(tmp_path / f"r.traj#attempt_{number}").recorded_totals for number in range(2)]
    assert [[each.cost_usd for each in totals] for totals in found] == [[0.5], [1.5]]


def test_a_cost_in_quotes_is_a_number(tmp_path: Path) -> None:
    document = swe_run(2)
    document["info"]["model_stats"] = {"instance_cost": "1.25"}
    (totals,) = opened(tmp_path / "r.traj", document).recorded_totals
    assert totals.cost_usd == 1.25


@pytest.mark.parametrize("cost", [0, -1.0, True, "free", None, math.nan, math.inf])
def test_a_run_without_a_cost_has_no_totals(tmp_path: Path, cost: Any) -> None:
    document = swe_run(2)
    document["info"]["model_stats"] = {"instance_cost": cost}
    assert opened(tmp_path / "r.traj", document).recorded_totals == ()
