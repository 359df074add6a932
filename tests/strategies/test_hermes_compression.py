"""What a compression of Hermes 0.21 leaves of results, against what its own code returned, and by hand.

`hermes_compression.json` holds lists made up for these tests and what the code of 0.21.0 left of them: the texts that
changed, by place. A text is written as how it starts, and what fills it so many times.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector import apply_once
from inspector.strategies.library.hermes_tail import HermesRow, Speaker, demoted_line, old_results, rough_tokens
from inspector.strategies.registry import strategy
from tests.strategies.conversations import Sent, session_of

RECORDED = json.loads(Path(__file__).with_name("hermes_compression.json").read_text(encoding="utf-8"))["lists"]
COMPRESSION = "hermes-prepass:version=0.21"
Entry = dict[str, Any]


def messages(rows: list[Entry]) -> list[Entry]:
    made: list[Entry] = []
    for row in rows:
        message = {"role": row["role"], "content": row["start"] + row.get("fill", "") * row.get("times", 0)}
        if "calls" in row:
            message["tool_calls"] = [
                {"id": call, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
                for call, name, given in row["calls"]
            ]
        if row.get("thinks"):
            message["reasoning_content"] = "h" * row["thinks"]
        if row["role"] == "tool":
            message |= {"tool_call_id": row["answers"], "name": row["name"]}
        made.append(message)
    return made


def compressed(given: list[Entry], window: int, **values: int) -> dict[str, str]:
    spec = ",".join([COMPRESSION, f"window={window}", *(f"{name}={value}" for name, value in values.items())])
    sent = apply_once(given, spec, input_tokens=window, window=window)
    return {
        str(place): after["content"]
        for place, (before, after) in enumerate(zip(given, sent, strict=True))
        if before["content"] != after["content"]
    }


@pytest.mark.parametrize("case", RECORDED, ids=range(len(RECORDED)))
def test_results_are_left_as_hermes_leaves_them(case: Entry) -> None:
    assert compressed(messages(case["rows"]), case["window"]) == case["sent"]


def test_the_recorded_lists_hold_demoted_results_and_lines() -> None:
    texts = [text for case in RECORDED for text in case["sent"].values()]
    assert sum("output demoted at compaction" in text for text in texts) >= 16
    assert sum(text.startswith(("[terminal] ran `x", "[read_file] read /", "[memory] ")) for text in texts) > 10


def demoted(number: int) -> str:
    return f"[terminal output demoted at compaction — {number:,} chars preserved in session history.]"


def rounds(*sizes: int) -> list[Entry]:
    made: list[Entry] = [{"role": "user", "content": "go"}]
    for number, size in enumerate(sizes):
        function = {"name": "terminal", "arguments": "{}"}
        made.append({"role": "assistant", "content": "", "tool_calls": [{"id": f"c{number}", "function": function}]})
        text = f"{number:02}" + "r" * (size - 2)
        made.append({"role": "tool", "tool_call_id": f"c{number}", "name": "terminal", "content": text})
    return made


def test_results_before_the_newest_six_rounds_of_the_tail_are_demoted_from_1500_characters_on() -> None:
    """Behind the first two rounds, of 2,000 tokens each, the others are the tail, of some 8,000 of 10,000 tokens."""
    given = rounds(*[8_000] * 2, 1_499, 1_500, *[4_000] * 7)
    old = {"2": "[terminal] ran `` -> exit ?, 1 lines output"}
    assert compressed(given, 200_000) == {**old, "8": demoted(1_500), "10": demoted(4_000)}
    assert compressed(given, 200_000, rounds=0) == old
    assert compressed(given, 200_000, rounds=7) == {**old, "8": demoted(1_500)}


def test_too_few_messages_are_not_compressed() -> None:
    given = rounds(*[200_000] * 3)
    assert len(given) == 7
    assert compressed(given, 200_000) == {}
    assert compressed(given, 200_000, **{"protect-first": 2}) != {}


def test_a_demoted_result_says_how_it_is_found_in_the_session() -> None:
    assert demoted_line("", 12_345, "20260901_1015") == (
        "[tool output demoted at compaction — 12,345 chars preserved in session history. "
        "Recover with session_search(query=..., session_id='20260901_1015')]"
    )
    entries: list[Entry] = [{"role": "user", "content": "go"}]
    for number, length in enumerate([8_000] * 2 + [4_000] * 8):
        entries.append({"role": "assistant", "content": "", "calls": [{"id": f"c{number}", "name": "ls", "args": {}}]})
        entries.append({"role": "tool", "id": f"c{number}", "name": "ls", "content": f"{number:02}" + "r" * length})
    session = replace(session_of(entries), identifier="s1")
    sent = Sent(session, strategy("hermes-prepass", version="0.21", window=200_000), measured={9: 190_000})
    demoted = [text for text in sent.changed(sent.history.call_count).values() if "demoted" in text]
    assert demoted
    assert all(text.endswith(" Recover with session_search(query=..., session_id='s1')]") for text in demoted)


def test_results_that_follow_one_another_are_one_round() -> None:
    tool, answer = HermesRow(Speaker.TOOL), HermesRow(Speaker.ASSISTANT, makes_calls=True)
    rows = [answer, tool, tool, answer, tool, answer, tool, tool, tool]
    assert [list(old_results(rows, 0, count)) for count in (0, 1, 2, 3)] == [
        [1, 2, 4, 6, 7, 8],
        [1, 2, 4],
        [1, 2],
        [],
    ]
    assert list(old_results(rows, 2, 2)) == [2]


@pytest.mark.parametrize(
    ("characters", "dense", "tokens"), [(0, 0, 0), (1, 0, 1), (4, 0, 1), (5, 0, 2), (5, 5, 5), (9, 4, 6)]
)
def test_a_quarter_of_the_characters_is_rounded_up_and_some_scripts_are_a_token_a_character(
    characters: int, dense: int, tokens: int
) -> None:
    assert rough_tokens(characters, dense) == tokens
