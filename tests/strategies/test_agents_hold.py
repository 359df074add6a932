"""Strategies of agents on texts nobody expects, at insertion, and on long sessions."""

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from inspector.replay.apply import apply_once
from inspector.replay.compact import compact
from inspector.replay.inputs import ReplayInputs
from inspector.replay.replay import replay
from inspector.strategies.history import History
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy
from inspector.tokens.table import TokenTable
from tests.strategies.conversations import session_of, steps
from tests.strategies.plain_lists import results_in

EAGER = (
    strategy("anthropic-clear-tool-uses", trigger=0, keep=1, clear_tool_inputs=True),
    strategy("anthropic-clear-thinking"),
    strategy("langchain-clear-tool-uses", trigger=0, keep=1, clear_tool_inputs=True, clear_at_least=1),
    strategy("langchain-summarization", trigger_messages=4, keep_messages=2, summary_tokens=50),
    strategy("langchain-summarization", trigger_tokens=10, keep_tokens=5, summary_tokens=50),
    strategy("deepagents-evict", limit=1, message_limit=1, head=1, tail=1),
    strategy("opencode-prune", protect=0, minimum=0, turns=0),
    strategy("opencode-truncate", max_lines=1, max_bytes=3),
    strategy("opencode-truncate", max_lines=2, max_bytes=5, direction="tail"),
    strategy("dcp-dedupe", protected_tools=("w*",), protected_files=("**/x", "?")),
    strategy("dcp-purge-errors", turns=1, protected_tools=("[",)),
    strategy("codex-truncate", budget=1),
    strategy("codex-truncate", budget=3, unit="bytes", announced="all"),
    strategy("gemini-mask", protect=0, minimum=0, shell_tools=("bash",)),
    strategy("gemini-truncate", limit=1, applies_to="all"),
    strategy("gemini-compress", window=1, result_budget=0, limit=1, summary_tokens=50),
    strategy("cline-truncate", window=1),
    strategy("roo-truncate", window=1, reserved=0),
)
AT_INSERTION = [
    each
    for each in EAGER
    if each.name in {"deepagents-evict", "opencode-truncate", "codex-truncate", "gemini-truncate"}
]

ODD = some.sampled_from(
    (
        "\ud83d",
        "\udc00\ud800",
        "e\u0301" * 20,
        "😀" * 9,
        "a\r\nb\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029c",
        "\x1b[2J\x1b]0;t\x07",
        "<tool_output_masked>",
        "[cleared]",
        "Output: a\nError: b\nExit Code: 1",
        '<file_content path="a">b</file_content>',
        "{0} {braces} %s \\",
        "\n" * 30,
        "\u202e\ufeff\u200b",
    )
)
TEXTS = some.text(max_size=30) | ODD
ARGUMENTS = some.sampled_from(("{}", "", "null", "[]", "{", '{"path": "a"}', '{"filePath": 3}', '{"a": "\\ud800"}')) | (
    some.dictionaries(some.text(max_size=4), TEXTS, max_size=2).map(json.dumps)
)


@some.composite
def lists(draw):
    messages = [{"role": "user", "content": draw(TEXTS)}]
    for step in range(draw(some.integers(0, 5))):
        names = draw(some.lists(some.sampled_from(("bash", "read_file", "", "mcp__x__y", "question")), max_size=2))
        calls = [
            {
                "id": draw(some.sampled_from((f"{step}.{at}", "same", ""))),
                "type": "function",
                "function": {"name": name, "arguments": draw(ARGUMENTS)},
            }
            for at, name in enumerate(names)
        ]
        answer = {"role": "assistant", "content": draw(TEXTS), "reasoning_content": draw(TEXTS)}
        messages.append({**answer, "tool_calls": calls} if calls else answer)
        for call in calls:
            kept = draw(some.integers(0, 5)) > 0
            name = call["id"] if kept else "unknown"
            failed = draw(some.booleans())
            messages.append({"role": "tool", "tool_call_id": name, "content": draw(TEXTS), "is_error": failed})
        if draw(some.booleans()):
            messages.append({"role": "user", "content": draw(TEXTS)})
    return messages


@pytest.mark.parametrize("made", EAGER, ids=lambda made: made.name)
@given(lists())
@settings(max_examples=16)
def test_no_text_is_too_odd(made, messages):
    before = json.dumps(messages)
    for sent in (apply_once(messages, Plan.of(made), input_tokens=1_000), compact(messages, Plan.of(made))):
        assert json.loads(json.dumps(sent)) == sent
        assert len(sent) <= len(messages)
    assert json.dumps(messages) == before


@pytest.mark.parametrize("made", AT_INSERTION, ids=lambda made: made.name)
@given(lists(), some.data())
@settings(max_examples=10)
def test_what_was_sent_once_is_sent_again_the_same(made, messages, data):
    length = data.draw(some.integers(1, len(messages)))
    now, later = compact(messages[:length], Plan.of(made)), compact(messages, Plan.of(made))
    assert later[: len(now)] == now


@pytest.mark.parametrize("made", AT_INSERTION, ids=lambda made: made.name)
@given(lists())
@settings(max_examples=10)
def test_results_shortened_at_insertion_are_shortened_whenever_they_are_looked_at(made, messages):
    assert compact(messages, Plan.of(made)) == apply_once(messages, Plan.of(made))


def work(made, count):
    """Python functions called while a session of so many steps is replayed under a strategy."""
    entries = steps(count, size=400)
    for at, entry in enumerate(entries):
        for call in entry.get("calls", ()):
            call["args"] = {"path": f"f{at % 7}.py"}
        if at % 9 == 0 and entry["role"] == "tool":
            entry["error"] = True
    session = session_of(entries)
    inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session))
    called = 0

    def count_calls(frame, event, argument):
        nonlocal called
        called += event in ("call", "c_call")

    sys.setprofile(count_calls)
    try:
        replay(inputs, Plan.of(made))
    finally:
        sys.setprofile(None)
    return called


BUSY = (
    *(each for each in EAGER if each.name != "opencode-prune"),
    strategy("anthropic-clear-tool-uses", trigger=2_000, clear_at_least=500),
    strategy("anthropic-clear-tool-uses", trigger=0, keep=2, sticky=False, clear_at_least=1_000_000),
    strategy("langchain-clear-tool-uses", trigger=1_000_000),
    strategy("langchain-summarization", trigger_tokens=5_000, keep_messages=10),
    strategy("langchain-summarization", trigger_tokens=1, keep_messages=100_000),
    strategy("opencode-prune", protect=1_000_000),
    strategy("gemini-mask", protect=2_000, minimum=1_000),
    strategy("gemini-mask", protect=100, minimum=1_000_000),
    strategy("gemini-compress", window=5_000),
    strategy("cline-truncate", window=5_000),
    strategy("roo-truncate", window=5_000, reserved=100),
)


@pytest.mark.parametrize("made", BUSY, ids=lambda made: made.name)
def test_twice_the_session_is_about_twice_the_work(made):
    work(made, 10)
    once, twice, four_times = (work(made, count) for count in (80, 160, 320))
    assert four_times - twice < 2.5 * max(twice - once, 500)


def test_a_text_of_megabytes_is_shortened_in_one_piece():
    line = "0123456789abcdef" * 4 + "é\n"
    given_list = [
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "", "tool_calls": [_call("bash")]},
        {"role": "tool", "tool_call_id": "c", "content": line * 40_000},
    ]
    for made in AT_INSERTION:
        (sent,) = results_in(apply_once(given_list, Plan.of(strategy(made.name))))
        assert len(sent) < 60_000


def _call(name):
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
