"""Agent framework strategies with incremental sums and queues match a full recomputation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.session.model import BlockKind, Call, Role
from inspector.strategies.core.operations import Action, ReplaceText
from inspector.strategies.core.strategy import Decision
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan, PlanEntry
from inspector.strategies.registry import strategy
from tests.examples import examples
from tests.replay.synthetic import CharacterTable, SessionBuilder, Told
from tests.strategies.plain_groups import GONE, PlainFramework

IDENTIFIERS = some.sampled_from(("a", "b", "c", "d", ""))
WORDS = some.text('ab \n"é', max_size=12)


@some.composite
def conversations(draw):
    builder = SessionBuilder()
    for turn in range(draw(some.integers(1, 9))):
        what = draw(some.sampled_from(("ask", "think", "say", "call", "call", "answer", "answer")))
        name = draw(some.sampled_from(("", f"id-{turn}")))
        number = f"{turn}"
        if what == "ask":
            builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, number + draw(WORDS)), identifier=name)
            continue
        if what == "answer":
            answers = draw(some.lists(IDENTIFIERS, min_size=1, max_size=3))
            results = [
                builder.block(BlockKind.TOOL_RESULT, f"{number}.{at} {draw(WORDS)}", "tool", identifier)
                for at, identifier in enumerate(answers)
            ]
            if draw(some.booleans()):
                results.append(builder.block(BlockKind.USER_TEXT, number + "and"))
            builder.add(Role.USER, *results, identifier=name)
            continue
        blocks = []
        if what == "think" or draw(some.integers(0, 3)) == 0:
            blocks.append(builder.block(BlockKind.THINKING, number + draw(WORDS)))
        if what == "say" or draw(some.integers(0, 3)) == 0:
            blocks.append(builder.block(BlockKind.ASSISTANT_TEXT, draw(WORDS)))
        if what == "call":
            for at, identifier in enumerate(draw(some.lists(IDENTIFIERS, min_size=1, max_size=3))):
                text = draw(some.sampled_from(("", "{}", f'{{"n": {turn}, "at": {at}}}', "{broken")))
                blocks.append(builder.block(BlockKind.TOOL_CALL, text, f"tool{at}", identifier))
        builder.calls.append(Call(len(builder.messages), 0, len(builder.members)))
        builder.add(Role.ASSISTANT, *blocks, identifier=name)
    return builder.session()


CASES = (
    (strategy("maf-tool-results", keep=0), lambda plain: plain.list_results(0)),
    (strategy("maf-tool-results", keep=2), lambda plain: plain.list_results(2)),
    (strategy("maf-tool-calls", keep=1), lambda plain: plain.leave_out_calls(1)),
    (strategy("maf-window", keep=2), lambda plain: plain.leave_out_groups(2)),
    (
        strategy("maf-truncation", unit="tokens", limit=120, target=60, keep_first_user=True),
        lambda plain: plain.truncate("tokens", 120, 60, keep_first_user=True),
    ),
    (
        strategy("maf-truncation", unit="messages", limit=4, target=2),
        lambda plain: plain.truncate("messages", 4, 2, keep_first_user=False),
    ),
    (
        strategy("maf-context-window", window=200, max_output=0, evict=0.4, truncate=0.6, keep=1),
        lambda plain: (
            (plain.tokens() > 80 and plain.list_results(1)) or plain.truncate("tokens", 120, 80, keep_first_user=False)
        ),
    ),
)


@pytest.mark.parametrize("is_cut_before", [False, True], ids=["alone", "after another"])
@given(conversations(), some.data())
@settings(max_examples=examples(120))
def test_every_call_sends_what_working_everything_out_again_sends(is_cut_before, session, data):
    texts = {}
    before = ()
    if is_cut_before:
        cut = data.draw(some.lists(some.integers(0, len(session.blocks) - 1), max_size=4, unique=True))
        texts = dict.fromkeys(cut, 'cut "short"')
        before = (PlanEntry(Told(tuple((block, 0, Decision(ReplaceText(text), "")) for block, text in texts.items()))),)
    inputs = ReplayInputs.of(History.of(session), CharacterTable(session))
    for made, compact in CASES:
        done = replay(inputs, Plan((*before, PlanEntry(made))))
        plain = PlainFramework(session, texts)
        taken = 0
        for call in range(len(session.calls) + 1):
            prompt = done.history.prompt_messages(call).tolist()
            for message in prompt[taken:]:
                plain.take(message)
            taken = len(prompt)
            compact(plain)
            expected = plain.sent()
            for block in done.history.prompt(call).tolist():
                now = done.rendition(block, call)
                text = GONE if now.action is Action.REMOVED else done.text(block, call)
                assert text == expected[block], (made, call, block)
