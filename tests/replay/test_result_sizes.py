"""Sizes of single results by the provider's own count, and explanations of parts."""

from inspector.replay.analysis.breakdown import results_by_difference
from inspector.replay.analysis.plan_outcome import plan_outcome
from inspector.replay.assumptions import ASSUMED_RUNS, Assumptions
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.explain.cost_sheet import cost_sheet
from inspector.replay.explain.explanation import block_explanation, prompt_explanation
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, Role, Usage
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.counter import load_counter
from tests.replay.synthetic import CharacterTable, SessionBuilder

MODEL = "claude-opus-4-8"


class CountedTable(CharacterTable):
    counter = load_counter()


def inputs_of(builder: SessionBuilder) -> ReplayInputs:
    session = builder.session()
    return ReplayInputs.of(History.of(session), CountedTable(session), pricing=Pricing())


def one_result_a_call(*, placeholder: bool = False, results: int = 1) -> SessionBuilder:
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "question"))
    prompt = 1_000
    for turn in range(3):
        calls = [builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}.{at}") for at in range(results)]
        usage = Usage(prompt, 0, 0, 0, output=50, output_is_placeholder=placeholder)
        builder.respond(*calls, model=MODEL, usage=usage)
        texts = [builder.block(BlockKind.TOOL_RESULT, "r" * 40, "Read", f"c{turn}.{at}") for at in range(results)]
        builder.add(Role.USER, *texts)
        prompt += 50 + 77 + turn
    return builder


def test_a_result_measures_what_the_prompt_grew_next_to_the_response():
    inputs = inputs_of(one_result_a_call())
    results = inputs.history.results.tolist()
    assert results_by_difference(inputs) == {results[0]: 77, results[1]: 78}


def test_nothing_is_stated_of_results_that_came_together_or_after_a_placeholder():
    assert results_by_difference(inputs_of(one_result_a_call(results=2))) == {}
    assert results_by_difference(inputs_of(one_result_a_call(placeholder=True))) == {}


def test_explanations_of_parts_hold_the_figures_that_are_shown():
    inputs = inputs_of(one_result_a_call())
    baseline = replay(inputs, Plan())
    planned = replay(inputs, Plan.from_specs(["keep-recent:keep=1"]))
    sheet = cost_sheet(baseline, planned, plan_outcome(baseline, planned), Assumptions(next_calls=5), ASSUMED_RUNS)

    for place, row in enumerate(sheet.kinds):
        assert sheet.explained["kind", place].value == row.sent_tokens
    for block, row in sheet.results.items():
        assert sheet.explained["result", block].value == row.usd
    assert sheet.explained["next", "calls"].value == sheet.next_calls.cost.saving.middle
    for call in range(3):
        found = prompt_explanation(planned, call)
        assert found.value == planned.ledger.prompt_tokens[call]
        whole = prompt_explanation(baseline, call)
        assert (whole.value, whole.known) == (inputs.recorded.prompt[call], HowKnown.EXACT)
    state = planned.state(3)
    first, last = inputs.history.results.tolist()[0], inputs.history.results.tolist()[-1]
    shown = [block_explanation(planned, state, block, {}) for block in (first, last)]
    ratio = float(inputs.sizes.ratio[3])
    assert [each.value for each in shown] == [round(ratio * int(state.sent[block])) for block in (first, last)]
    assert any("keep-recent" in str(given.value) for given in shown[0].inputs)
