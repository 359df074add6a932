"""The columns of a replay against sending every prompt and comparing it with the one before."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.engine.prompt_edits import PromptEdits
from inspector.replay.engine.prompt_layout import PromptLayout
from inspector.replay.engine.renderer import Renderer
from inspector.replay.engine.simulation import PromptSizes, plan_edits
from inspector.session.model import BlockKind, Role, Session
from inspector.strategies.core.operations import CutText, RemoveBlock, Rendition, ReplaceText
from inspector.strategies.core.strategy import Decision
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan, PlanEntry
from tests.examples import examples
from tests.replay.synthetic import CharacterTable, SessionBuilder, Told, ToldStepByStep, orders_for, sessions


def sent_prompts(session: Session, layers) -> list[list[tuple[int, str | None]]]:
    firsts = session.first_blocks
    first_call: dict[int, int] = {}
    prompts = []
    pending = (len(session.contexts) - 1, len(session.contexts[-1].members))
    for call, (context, count) in enumerate([*((c.context, c.prompt_messages) for c in session.calls), pending]):
        prompt = []
        for message in session.contexts[context].members[:count]:
            for block in range(firsts[message], firsts[message + 1]):
                first_call.setdefault(block, call)
                rendition = Rendition.whole(session.blocks[block].characters)
                for orders in layers:
                    given_by_now = [
                        (max(at, first_call[block]), place, decision)
                        for place, (of, at, decision) in enumerate(orders)
                        if of == block and max(at, first_call[block]) <= call
                    ]
                    if given_by_now:
                        # Orders from before the block was there are given, in order, when it comes.
                        *_, (_, _, decision) = sorted(given_by_now, key=lambda given: (given[0], orders[given[1]][1]))
                        if decision.operation is not None:
                            rendition = decision.operation.apply(rendition, _Source(session, block))
                removed = rendition.action.label == "removed"
                prompt.append((block, None if removed else rendition.text(session.text(session.blocks[block]))))
        prompts.append(prompt)
    return prompts


class _Source:
    def __init__(self, session, block):
        self.tool_name = session.blocks[block].tool_name


def placed_under(session: Session, *strategies):
    history = History.of(session)
    table = CharacterTable(session)
    layout = PromptLayout.of(history, table.tokens)
    whole = layout.whole_tokens
    sizes = PromptSizes(whole.astype(float), np.ones(len(whole)))
    plan = Plan(tuple(PlanEntry(strategy) for strategy in strategies))
    changes = plan_edits(history, Renderer(history, table), plan, sizes)
    return layout, PromptEdits.of(layout, changes)


def check_against_sending(session, layers, layout, placed):
    prompts = sent_prompts(session, layers)
    reusable = placed.reusable(layout.previous_blocks)
    for call, prompt in enumerate(prompts):
        size = sum(len(text or "") for _, text in prompt)
        assert layout.whole_tokens[call] - placed.removed[call] == size
        previous = prompts[call - 1] if call else []
        shared_blocks = 0
        while (
            shared_blocks < min(len(previous), len(prompt)) and previous[shared_blocks][0] == prompt[shared_blocks][0]
        ):
            shared_blocks += 1
        same = 0
        while same < shared_blocks and previous[same] == prompt[same]:
            same += 1
        assert placed.first_changed[call] == (-1 if same == shared_blocks else previous[same][0])
        # Prompts share a prefix if the plan had already left out the part that a compaction drops.
        sent, sent_before = ([each for each in blocks if each[1] is not None] for blocks in (prompt, previous))
        alike = next((at for at, pair in enumerate(zip(sent, sent_before, strict=False)) if pair[0] != pair[1]), None)
        shared = sum(len(text) for _, text in sent[: min(len(sent), len(sent_before)) if alike is None else alike])
        assert reusable.whole[call] - reusable.removed[call] == shared


EMPTYING = {"cut": CutText(0, 0, 0, ""), "replaced": ReplaceText(""), "removed": RemoveBlock()}


@pytest.mark.parametrize("told", [Told, ToldStepByStep])
@pytest.mark.parametrize(("first", "second"), product(EMPTYING, repeat=2))
def test_a_block_of_which_nothing_is_left_is_neither_whole_nor_the_same_as_removed(told, first, second):
    builder = SessionBuilder()
    for step in range(4):
        builder.respond(builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{step}"))
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"result {step}", "Read", f"c{step}"))
    session = builder.session()
    orders = ((1, 1, Decision(EMPTYING[first], "stale")), (1, 3, Decision(EMPTYING[second], "older")))

    layout, placed = placed_under(session, told(orders))

    assert placed.removed[1] == len("result 0")
    check_against_sending(session, [orders], layout, placed)


def order_by_call(orders):
    return tuple(sorted(orders, key=lambda order: order[1]))


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_one_scheduled_strategy_equals_sending_every_prompt(data):
    session = data.draw(sessions())
    orders = order_by_call(data.draw(orders_for(session)))

    layout, placed = placed_under(session, Told(orders))

    check_against_sending(session, [orders], layout, placed)


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_strategies_in_a_row_equal_sending_every_prompt(data):
    session = data.draw(sessions())
    layers = [order_by_call(data.draw(orders_for(session))) for _ in range(3)]

    layout, placed = placed_under(session, Told(layers[0]), ToldStepByStep(layers[1]), Told(layers[2]))

    check_against_sending(session, layers, layout, placed)


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_decisions_given_at_once_equal_decisions_given_call_by_call(data):
    session = data.draw(sessions())
    orders = order_by_call(data.draw(orders_for(session)))

    _, at_once = placed_under(session, Told(orders))
    _, by_call = placed_under(session, ToldStepByStep(orders))

    for column in ("removed", "first_changed", "edited_blocks"):
        assert getattr(at_once, column).tolist() == getattr(by_call, column).tolist()
    prefixes = [placed.reusable(placed.layout.previous_blocks) for placed in (at_once, by_call)]
    for column in ("blocks", "whole", "removed", "shortened"):
        assert getattr(prefixes[0], column).tolist() == getattr(prefixes[1], column).tolist()
