"""Explanations hold the numbers their formulas speak of."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.forecast import project_runs
from inspector.replay.analysis.plan_outcome import plan_outcome
from inspector.replay.assumptions import RunsPerDay
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.ledger import Figures
from inspector.replay.engine.replay import replay
from inspector.replay.explain.cost_sheet import outcome_explanations
from inspector.replay.explain.explanation import Explanation, overhead_explanation, replay_explanations
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan, PlanEntry
from inspector.tokens.counter import load_counter
from inspector.tokens.token_table import count_session
from tests.examples import examples
from tests.replay.synthetic import CharacterTable, agent_sessions
from tests.strategies.test_every_strategy import EAGER

PRICING = Pricing()


def inputs_at(path: Path) -> ReplayInputs:
    session = open_session(path)
    *_, table = count_session(session, load_counter())
    return ReplayInputs.of(History.of(session), table, pricing=PRICING)


@pytest.fixture(scope="module", params=["70d782f7", "e92f5a0b", "8ecab05f"])
def inputs(request: pytest.FixtureRequest, corpus: Path) -> ReplayInputs:
    (path,) = (corpus / "claude-code").glob(f"{request.param}*.jsonl")
    return inputs_at(path)


class CountedTable(CharacterTable):
    counter = load_counter()


def numbers(explanation: Explanation, *labels: str) -> list[float]:
    found = {given.label: given.value for given in explanation.inputs}
    return [float(found[label]) for label in labels]


@given(agent_sessions(), st.sampled_from(EAGER))
@settings(max_examples=examples(40), deadline=None)
def test_every_figure_has_an_explanation_with_its_own_value(session, strategy):
    inputs = ReplayInputs.of(History.of(session), CountedTable(session), pricing=PRICING)
    baseline, planned = replay(inputs, Plan()), replay(inputs, Plan((PlanEntry(strategy),)))
    outcome = plan_outcome(baseline, planned)
    projection = project_runs(baseline.ledger.cost, planned.ledger.cost, RunsPerDay(24))

    explained = outcome_explanations(baseline, planned, outcome, projection)

    names = {field.name for field in dataclasses.fields(Figures)}
    assert names <= set(explained)
    assert set(replay_explanations(baseline)) == names
    for name in names:
        figure = getattr(planned.figures, name)
        assert (explained[name].value, explained[name].known) == (figure.value, figure.known)
    assert explained["usd_per_month"].value == pytest.approx(explained["usd_per_day"].value * 30)
    assert explained["usd_per_day"].value == pytest.approx(24 * (explained["saved_usd"].value or 0), abs=1e-12)
    for explanation in explained.values():
        assert explanation.formula
        assert explanation.source
        assert not explanation.formula.endswith(".")


@pytest.mark.parametrize("spec", ["tiered-stale", "keep-recent:keep=5", "summarize:threshold=40000"])
def test_what_goes_into_a_figure_makes_it(inputs: ReplayInputs, spec: str):
    session = inputs.history.session
    baseline, planned = replay(inputs, Plan()), replay(inputs, Plan.from_specs([spec], session=session))
    outcome = plan_outcome(baseline, planned)
    explained = outcome_explanations(baseline, planned, outcome, None)

    whole, left_out = numbers(explained["prompt_tokens"], "prompts with nothing cut", "removed by the plan")
    assert whole - left_out == explained["prompt_tokens"].value
    for replayed in (baseline, planned):
        cost = replay_explanations(replayed)["cost_usd"]
        assert sum(float(given.value) for given in cost.inputs if given.unit == "$") == pytest.approx(cost.value)
    for name, digits in (("saved_tokens", 0), ("saved_usd", 6)):
        before, after = numbers(explained[name], "without", "with the plan")
        assert round(before - after, digits) == round(explained[name].value, digits)
    part, of_all = numbers(explained["saved_share"], "saved", "without")
    assert part / of_all == pytest.approx(explained["saved_share"].value)
    read, prompts = numbers(explained["cache_read_share"], "cache reads", "prompt tokens")
    assert read / prompts == pytest.approx(explained["cache_read_share"].value)
    by_change, otherwise = numbers(
        explained["cache_breaks"], "by changes to text already sent", "by a compaction or a rewind"
    )
    assert by_change + otherwise == explained["cache_breaks"].value


def test_figures_as_reported_say_so_and_those_of_a_plan_say_how_they_were_fitted(inputs: ReplayInputs):
    baseline = replay(inputs, Plan())
    planned = replay(inputs, Plan.from_specs(["tiered-stale"], session=inputs.history.session))

    reported = replay_explanations(baseline)["prompt_tokens"]
    fitted = replay_explanations(planned)["prompt_tokens"]

    assert reported.known is HowKnown.EXACT
    assert "reported" in reported.source
    assert fitted.known is HowKnown.CALIBRATED
    assert "fitted" in fitted.source
    (ratio,) = numbers(fitted, "provider tokens per counted token")
    assert ratio == inputs.scale.calibration.ratio
    assert overhead_explanation(inputs).value == round(inputs.scale.calibration.overhead)


def test_responses_of_which_a_placeholder_was_recorded_are_measured_by_their_texts_and_thinking(corpus: Path):
    (path,) = (corpus / "claude-code").glob("70d782f7*.jsonl")
    inputs = inputs_at(path)
    calls = inputs.history.session.calls
    marked = [place for place, call in enumerate(calls) if call.usage.output_is_placeholder]

    measured = int(inputs.output[marked].sum())

    assert len(marked) == 168
    texts = [block for at in marked for block in inputs.history.session.messages[calls[at].response].blocks]
    characters = sum(block.characters + block.signature_characters for block in texts)
    # Limits are the densest and the sparsest text: one to six characters per token.
    assert characters / 6 < measured < characters
    assert all(inputs.output[at] >= calls[at].usage.output for at in marked)
    others = sorted(set(range(len(calls))) - set(marked))
    assert inputs.output[others].tolist() == [calls[at].usage.output for at in others]
    assert not inputs.lacks_output

    baseline = replay(inputs, Plan())
    rate = PRICING.rates("claude-opus-4-5", calls[0].time).output
    reported = sum(calls[at].usage.output for at in marked)
    as_reported = float(inputs.rates.cost(inputs.recorded, np.array([call.usage.output for call in calls])).sum())
    cost = baseline.figures.cost_usd
    assert cost.value == pytest.approx(as_reported + (measured - reported) * rate / 1e6)
    assert (cost.known, cost.is_lower_bound) == (HowKnown.ESTIMATED, False)
    explained = replay_explanations(baseline)["output_tokens"]
    assert explained.known is HowKnown.ESTIMATED
    assert numbers(explained, "responses with a placeholder count from the stream") == [168]
    assert numbers(explained, "  reported tokens") == [reported]
    assert numbers(explained, "  tokens measured from recorded texts and thinking") == [measured]


def test_a_session_without_placeholders_has_nothing_to_say_of_them(corpus: Path):
    (path,) = (corpus / "claude-code").glob("be2220da*.jsonl")

    explained = replay_explanations(replay(inputs_at(path), Plan()))["output_tokens"]

    assert explained.known is HowKnown.EXACT
    assert explained.inputs == ()
