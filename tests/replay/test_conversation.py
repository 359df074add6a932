import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector import Conversation, Plan, compact
from inspector.cli.help import section
from inspector.strategies.registry import STRATEGIES
from tests.examples import examples
from tests.strategies.odd_lists import lists
from tests.strategies.test_every_strategy import EAGER

ROOT = Path(__file__).resolve().parent.parent.parent
PLANS = [
    "careful",
    "tiered-stale:default=20",
    "token-budget:budget=1000,keep=10",
    "clear-old:keep=1",
    "keep-recent:keep=1",
]


@st.composite
def conversations(draw):
    entries = [{"role": "user", "content": "the goal"}]
    for turn in range(draw(st.integers(0, 5))):
        parts = [
            {"type": "tool_use", "id": f"c{turn}.{at}", "name": draw(st.sampled_from(["Read", "Bash"])), "input": {}}
            for at in range(draw(st.integers(0, 2)))
        ]
        entries.append({"role": "assistant", "content": [{"type": "text", "text": f"turn {turn}"}, *parts]})
        results = [
            {"type": "tool_result", "tool_use_id": part["id"], "content": "x " * draw(st.integers(0, 400))}
            for part in parts
        ]
        entries.append({"role": "user", "content": results or f"question {turn}"})
    return entries


@pytest.mark.parametrize("made", EAGER, ids=lambda made: made.name)
@settings(max_examples=examples(3), deadline=None)
@given(messages=lists())
def test_every_strategy_fed_message_by_message_gives_what_it_gives_for_the_whole_list(made, messages):
    plan = Plan.of(made)
    held = Conversation(plan)
    for count, message in enumerate(messages, 1):
        held.add(message)
        if count % 3 == 0 or count == len(messages):
            assert held.to_send() == compact(messages[:count], plan)


@pytest.mark.parametrize("plan", PLANS)
@settings(max_examples=examples(15), deadline=None)
@given(entries=conversations())
def test_fed_one_by_one_it_gives_what_the_whole_list_gives(plan, entries):
    held = Conversation(plan)
    for count, entry in enumerate(entries, 1):
        held.add(entry)
        assert held.to_send() == compact(entries[:count], plan)
    assert list(held.messages) == entries


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_can_be_held(name):
    held = Conversation(name)
    assert held.to_send() == []
    held.add({"role": "user", "content": "go"})
    assert held.to_send() == [{"role": "user", "content": "go"}]


def test_the_examples_in_the_documents_run(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    scope: dict = {}
    page = section((ROOT / "docs" / "apply.md").read_text(encoding="utf-8"), "python")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, "docs/apply.md", "exec"), scope)  # noqa: S102  our own text
    assert "calibrated" in capsys.readouterr().out
