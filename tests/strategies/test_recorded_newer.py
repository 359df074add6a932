"""Outputs of deepagents 0.7.32, SWE-agent at 3ea751c0 and ai 7.0.173 for given lists, run for these tests."""

import json
from typing import Any

import pytest

from inspector.strategies.core.parameters import ParameterError
from inspector.strategies.registry import strategy
from tests.strategies.plain_lists import anthropic_list, openai_list
from tests.strategies.recorded import plan_of, replayed

TOOLS = ("write_file", "edit_file", "execute")
WRITTEN: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
for number in range(6):
    arguments = {"file_path": f"/a{number}", "content": "x" * (1990 + 5 * number), "n": number}
    WRITTEN.append(
        {
            "role": "assistant",
            "content": "",
            "calls": [{"id": f"c{number}", "name": TOOLS[number % 3], "args": arguments}],
        }
    )
    WRITTEN.append({"role": "tool", "id": f"c{number}", "name": TOOLS[number % 3], "content": "ok"})

UNCUT = [1990, 1995, 2000, 2005, 2010, 2015]


# `SummarizationMiddleware(truncate_args_settings=…)._truncate_args`; its estimate of the list is 3,251 tokens.
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"trigger_messages": 5, "keep_fraction": 0.0, "keep_messages": 3}, [1990, 1995, 2000, 43, 43, 2015]),
        ({"trigger_tokens": 2_000, "window": 10_000, "keep_fraction": 0.12}, [1990, 1995, 2000, 43, 2010, 2015]),
        ({"trigger_tokens": 3_251, "window": 10_000, "keep_fraction": 0.12}, [1990, 1995, 2000, 43, 2010, 2015]),
        ({"trigger_tokens": 3_252, "window": 10_000, "keep_fraction": 0.12}, UNCUT),
        ({"trigger_messages": 5, "window": 10_000, "keep_fraction": 0.03}, [1990, 1995, 2000, 43, 43, 2015]),
        (
            {
                "trigger_messages": 1,
                "keep_fraction": 0.0,
                "keep_messages": 2,
                "max_length": 10,
                "truncation_text": "<cut>",
            },
            [25, 25, 2000, 25, 25, 2015],
        ),
        ({"trigger_messages": 1, "window": 10, "keep_fraction": 0.1}, UNCUT),
        ({"window": 1_000_000}, UNCUT),
    ],
)
def test_arguments_are_cut_as_deepagents_cuts_them(settings: dict[str, Any], expected: list[int]) -> None:
    sent = replayed(openai_list(WRITTEN), plan_of("deepagents-truncate-arguments", **settings))
    calls = [call for message in sent for call in message.get("tool_calls", ())]
    given = [json.loads(call["function"]["arguments"]) for call in calls]
    assert [len(each["content"]) for each in given] == expected
    marker = settings.get("truncation_text", "...(argument truncated)")
    assert {each["content"] for each in given if len(each["content"]) < 100} <= {"x" * 20 + marker}
    assert [(each["file_path"], each["n"]) for each in given] == [(f"/a{at}", at) for at in range(6)]


HISTORY = [
    ("system", "S <diff>a</diff>"),
    ("user", "U <diff>\n1\n</diff> rest <diff>2</diff> end"),
    ("assistant", "A<diff>x</diff>"),
    ("user", "T <diff>r</diff>"),
    ("assistant", "<diff>only</diff>"),
    ("user", "plain"),
]


# `RemoveRegex(remove=…, keep_last=…)` over the same history.
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ["S ", "U  end", "A", "T ", "", "plain"]),
        ({"keep_last": 2}, ["S ", "U  end", "A", "T ", "<diff>only</diff>", "plain"]),
        ({"pattern": "<diff>.*?</diff>"}, ["S ", "U  rest  end", "A", "T ", "", "plain"]),
        (
            {"pattern": "<diff>.*?</diff>", "keep_last": 4},
            ["S ", "U  rest  end", "A<diff>x</diff>", "T <diff>r</diff>", "<diff>only</diff>", "plain"],
        ),
        (
            {"pattern": r"\d|rest "},
            [
                "S <diff>a</diff>",
                "U <diff>\n\n</diff> <diff></diff> end",
                "A<diff>x</diff>",
                "T <diff>r</diff>",
                "<diff>only</diff>",
                "plain",
            ],
        ),
    ],
)
def test_matches_go_as_in_swe_agent(values: dict[str, Any], expected: list[str]) -> None:
    given = [{"role": role, "content": text} for role, text in HISTORY]
    sent = replayed(given, plan_of("remove-regex", **values))
    assert [message["content"] for message in sent] == expected


def test_every_result_is_an_entry_and_arguments_are_no_text_of_one() -> None:
    entries = [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "two",
            "calls": [{"id": name, "name": "bash", "args": {"command": "<diff>1</diff>"}} for name in "ab"],
        },
        {"role": "tool", "id": "a", "name": "bash", "content": "first <diff>1</diff>"},
        {"role": "tool", "id": "b", "name": "bash", "content": "second <diff>2</diff>"},
    ]
    sent = replayed(openai_list(entries), plan_of("remove-regex", keep_last=1))
    assert [message["content"] for message in sent[2:]] == ["first ", "second <diff>2</diff>"]
    assert "<diff>1</diff>" in sent[1]["tool_calls"][0]["function"]["arguments"]


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(ParameterError, match="not a regular expression"):
        strategy("remove-regex", pattern="<diff>(")


PRUNED = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": "", "calls": [{"id": "a", "name": "bash", "args": {"c": 1}}]},
    {"role": "tool", "id": "a", "name": "bash", "content": "one"},
    {"role": "assistant", "content": "then", "calls": [{"id": "b", "name": "bash", "args": {"c": 2}}]},
    {"role": "tool", "id": "b", "name": "bash", "content": "two"},
    {"role": "assistant", "content": "done"},
]


@pytest.mark.parametrize(
    ("form", "empty", "assistants"),
    [
        (openai_list, "remove", ["then", "done"]),
        (anthropic_list, "remove", ["then", "done"]),
        (openai_list, "keep", ["", "then", "done"]),
        # An empty message is none that Anthropic's API takes.
        (anthropic_list, "keep", ["then", "done"]),
    ],
)
def test_messages_that_become_empty_stay_as_in_the_ai_sdk_when_asked(
    form: Any, empty: str, assistants: list[str]
) -> None:
    """`pruneMessages` with `emptyMessages`: the message of the model stays, without a part."""
    plan = plan_of("vercel-prune", tool_calls="before-last-message", reasoning="none", empty_messages=empty)
    sent = replayed(form(PRUNED), plan)
    assert [_text(message) for message in sent if message["role"] == "assistant"] == assistants
    assert not any(message.get("tool_calls") for message in sent)
    # So does one message for the results of each batch, without a part.
    emptied = [message for message in sent if message["role"] == "tool"]
    assert emptied == ([{"role": "tool", "content": []}] * 2 if len(assistants) == 3 else [])


def test_a_batch_that_keeps_a_result_leaves_no_empty_message() -> None:
    calls = [{"id": name, "name": tool, "args": {}} for name, tool in (("a", "bash"), ("b", "ls"))]
    given = openai_list(
        [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "look", "calls": calls},
            {"role": "tool", "id": "a", "name": "bash", "content": "one"},
            {"role": "tool", "id": "b", "name": "ls", "content": "two"},
            {"role": "assistant", "content": "done"},
        ]
    )
    plan = plan_of("vercel-prune", tool_calls="all", reasoning="none", empty_messages="keep", tools=("bash",))
    sent = replayed(given, plan)
    assert [message["content"] for message in sent] == ["go", "look", "two", "done"]
    both = plan_of("vercel-prune", tool_calls="all", reasoning="none", empty_messages="keep")
    assert [message["content"] for message in replayed(given, both)] == ["go", "look", [], "done"]


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, list):
        return "".join(part["text"] for part in content)
    return content or ""


def test_recent_events_send_the_first_twice_while_the_log_is_short_as_openhands_does() -> None:
    """`RecentEventsCondenser` 0.62: `view[:keep_first] + view[-(max_events - keep_first):]`."""
    plan = plan_of("recent-events", keep_first=1, max_events=4, twice=True)
    for count in range(1, 8):
        events = [f"m{at} " for at in range(count)]
        expected = events[:1] + events[-3:]
        given = [{"role": "user", "content": text} for text in events]
        sent = [message["content"] for message in replayed(given, plan)]
        assert "".join(sent) == "".join(expected)
    once = plan_of("recent-events", keep_first=1, max_events=4)
    assert [message["content"] for message in replayed(given[:2], once)] == ["m0 ", "m1 "]


def test_texts_that_follow_each_other_are_one_as_in_odincode() -> None:
    """`FrameStack.add_assistant`: `existing.push_str(chunk)` where the last frame is the assistant's."""
    given = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "I look"},
        {"role": "assistant", "content": " and"},
        {"role": "assistant", "content": " find."},
        {"role": "user", "content": "[Tool ls]: OK\nResult: a"},
        {"role": "assistant", "content": "One file."},
    ]
    sent = replayed(given, plan_of("clear-old", merge_texts=True))
    assert [message["content"] for message in sent] == [
        "go",
        "I look and find.",
        "[Tool ls]: OK\nResult: a",
        "One file.",
    ]
    assert replayed(given, plan_of("clear-old")) == given
