"""Conversations of unexpected texts, names, arguments and identifiers."""

import json
from typing import Any

from hypothesis import strategies as some

from inspector.replay.message_lists import apply_once, compact
from inspector.strategies.core.strategy import Strategy
from inspector.strategies.plan import Plan

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


def assert_holds_odd_texts(made: Strategy, messages: list[dict[str, Any]]) -> None:
    """A strategy sends a list of odd texts as JSON, no longer than it was, and leaves the list as it was."""
    before = json.dumps(messages)
    for sent in (apply_once(messages, Plan.of(made), input_tokens=1_000), compact(messages, Plan.of(made))):
        assert json.loads(json.dumps(sent)) == sent
        assert len(sent) <= len(messages)
    assert json.dumps(messages) == before
