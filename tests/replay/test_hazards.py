import numpy as np

from inspector.replay.analysis.hazards import HazardKind, hazard_label, hazards_of, preserves_thinking
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, Role
from inspector.strategies.core.operations import CutText, RemoveBlock, ReplaceText
from inspector.strategies.core.strategy import Decision
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan, PlanEntry
from inspector.strategies.registry import strategy
from tests.replay.synthetic import CharacterTable, SessionBuilder, Told
from tests.strategies.test_batching import ToldBatched


def steps(count: int, text="result", *, at_once: int = 1, model="claude-opus-4-6", thinking: bool = False):
    """A goal, then calls with so many tool results each."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "please repair the guard"))
    for step in range(count):
        names = [f"c{step}.{at}" for at in range(at_once)]
        calls = [builder.block(BlockKind.TOOL_CALL, f'{{"file_path": "{name}"}}', "Read", name) for name in names]
        if thinking:
            thought = builder.block(BlockKind.THINKING, f"thought {step}")
            calls.insert(0, type(thought)(**{**_fields(thought), "signature_characters": 400}))
        builder.respond(*calls, model=model, time=step * 10.0)
        made = (text if isinstance(text, str) else text(step)) + f" {step}"
        builder.add(
            Role.USER, *(builder.block(BlockKind.TOOL_RESULT, f"{made} {name}", "Read", name) for name in names)
        )
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "done"), model=model, time=count * 10.0)
    return builder.session()


def _fields(struct):
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def replayed(session, *strategies):
    inputs = ReplayInputs.of(History.of(session), CharacterTable(session), pricing=Pricing())
    return replay(inputs, Plan(tuple(PlanEntry(each) for each in strategies)))


def kinds(outcome):
    return {hazard.kind: hazard for hazard in hazards_of(outcome)}


def results(session):
    return [index for index, block in enumerate(session.blocks) if block.kind is BlockKind.TOOL_RESULT]


def told(orders):
    return ToldBatched(tuple(orders))


def test_a_plan_that_changes_nothing_only_never_fires():
    outcome = replayed(steps(3), told(()))
    assert set(kinds(outcome)) == {HazardKind.NEVER_FIRES}
    assert hazards_of(replayed(steps(3))) == ()


def test_a_sibling_cut_before_it_was_seen_is_found_with_its_call_and_block():
    session = steps(3, "x" * 50, at_once=2)
    block = results(session)[0]
    cut = Decision(CutText(10, 10, 0, "~"), "too early")
    outcome = replayed(session, told([(block, 1, cut)]))
    hazard = kinds(outcome)[HazardKind.UNSEEN_SIBLING]
    assert (hazard.calls, hazard.blocks, hazard.entry) == ((1,), (block,), 0)


def test_a_cut_at_insertion_by_a_strategy_made_for_it_is_no_unseen_sibling():
    session = steps(3, "x" * 50)
    cut = Decision(CutText(10, 10, 0, "~"), "trimmed")
    assert HazardKind.UNSEEN_SIBLING not in kinds(replayed(session, Told(((results(session)[0], 1, cut),))))


def test_a_result_with_words_before_it_was_seen_whole():
    session = steps(3, "x" * 50, at_once=2)
    worded = strategy("clear-old", **{"keep": 1_000, "whole-as": "program"})
    assert HazardKind.UNSEEN_SIBLING not in kinds(replayed(session, worded))
    at_once = strategy("clear-old", **{"keep": 1, "whole-as": "program"})
    hazard = kinds(replayed(session, at_once))[HazardKind.UNSEEN_SIBLING]
    assert hazard.blocks == tuple(results(session)[::2])


def test_a_marker_longer_than_what_it_replaces_is_found():
    session = steps(2, "x")
    block = results(session)[0]
    outcome = replayed(session, told([(block, 2, Decision(ReplaceText("[cleared, and more words than before]"), "r"))]))
    assert kinds(outcome)[HazardKind.LONGER_THAN_ORIGINAL].blocks == (block,)


def test_a_result_without_its_call_is_an_orphan_and_a_pair_removed_together_is_not():
    session = steps(3)
    result = results(session)[0]
    call_block = int(History.of(session).call_block[result])
    gone = Decision(RemoveBlock(), "old")
    parted = replayed(session, told([(call_block, 2, gone)]))
    together = replayed(session, told([(call_block, 2, gone), (result, 2, gone)]))
    assert kinds(parted)[HazardKind.ORPHANED_PAIR].blocks == (result,)
    assert HazardKind.ORPHANED_PAIR not in kinds(together)


def test_the_goal_is_lost_when_the_first_request_goes():
    session = steps(3)
    outcome = replayed(session, told([(0, 2, Decision(RemoveBlock(), "old"))]))
    assert kinds(outcome)[HazardKind.LOST_GOAL].calls == (2,)


def test_a_boundary_that_moves_with_every_call_slides_and_one_that_moves_in_batches_does_not():
    session = steps(40, "x" * 50)
    cut = Decision(CutText(10, 10, 0, "~"), "stale")
    enters = History.of(session).enters
    orders = [(block, int(enters[block]) + 1, cut) for block in results(session)]
    sliding = replayed(session, ToldBatched(tuple(orders)))
    batched = replayed(session, ToldBatched(tuple(orders), batch_calls=10))
    assert kinds(sliding)[HazardKind.SLIDING_BOUNDARY].calls == tuple(np.flatnonzero(sliding.ledger.is_break).tolist())
    assert HazardKind.SLIDING_BOUNDARY not in kinds(batched)


def test_a_pointer_to_a_read_that_said_something_else_dangles():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal"))
    for step, text in enumerate(["first state", "second state", "second state", "second state"]):
        call = builder.block(BlockKind.TOOL_CALL, '{"file_path": "a.py"}', "Read", f"c{step}")
        builder.respond(call, time=step * 10.0)
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, text, "Read", f"c{step}"))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "done"), time=90.0)
    session = builder.session()
    points = Decision(ReplaceText("[see earlier read]"), "re-read", points_to="earlier")
    second, third = results(session)[1:3]
    dangling = kinds(replayed(session, told([(second, 3, points)])))
    standing = kinds(replayed(session, told([(third, 4, points)])))
    both = kinds(replayed(session, told([(second, 4, points), (third, 4, points)])))
    assert dangling[HazardKind.DANGLING_POINTER].blocks == (second,)
    assert HazardKind.DANGLING_POINTER not in standing
    assert both[HazardKind.DANGLING_POINTER].blocks == (second, third)


def test_editing_before_bound_thinking_is_found_only_on_models_that_bind_it():
    cut = Decision(CutText(10, 10, 0, "~"), "stale")
    found = {}
    for model in ("claude-opus-5-5", "claude-opus-4-6"):
        session = steps(4, "x" * 50, model=model, thinking=True)
        block = results(session)[0]
        outcome = replayed(session, told([(block, 3, cut)]))
        found[model] = HazardKind.THINKING_INVALIDATED in kinds(outcome)
    assert found == {"claude-opus-5-5": True, "claude-opus-4-6": False}
    assert preserves_thinking("anthropic/claude-fable-5.2")
    assert not preserves_thinking("claude-fable-5")
    assert not preserves_thinking("gpt-5.5")


def test_a_summary_is_paid_for():
    session = steps(30, "x" * 4000)
    outcome = replayed(session, strategy("summarize", threshold=20_000))
    made = outcome.edits.model_calls
    assert made
    assert all(each.prompt_tokens > 0 and each.output_tokens == 1_500 for each in made)
    assert outcome.ledger.strategy_cost[made[0].call] > 0
    without = float(outcome.ledger.cost.sum() - outcome.ledger.strategy_cost.sum())
    assert outcome.figures.cost_usd.value > without


def test_every_kind_has_words_of_its_own_for_people_and_none_is_too_long_for_the_panel() -> None:
    labels = [kind.label for kind in HazardKind]
    assert len(set(labels)) == len(labels)
    assert all(len(kind.brief) <= 30 and kind.label.startswith(kind.brief) for kind in HazardKind)
    assert [hazard_label(kind.value) for kind in HazardKind] == labels
