"""Results after a compression of Hermes 0.21 and 0.22, compared with the output of its code, and by hand.

`hermes_compression.json` and `hermes_compression_0.22.json` hold generated lists and the texts that the code of 0.21.0
and 0.22.2 changed, by place. A text is written as its start, a filler, and a repeat count.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector import apply_once
from inspector.strategies.library.hermes import lean_tail
from inspector.strategies.library.hermes_tail import (
    MessageFacts,
    Speaker,
    demoted_line,
    old_results,
    rough_tokens,
    soft_ceiling,
)
from inspector.strategies.registry import strategy
from tests.strategies.conversations import Sent, session_of

Entry = dict[str, Any]
COMPRESSION = "hermes-prepass:version="


def recorded(name: str) -> list[Entry]:
    found: list[Entry] = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))["lists"]
    return found


RECORDED = {"0.21": recorded("hermes_compression.json"), "0.22": recorded("hermes_compression_0.22.json")}
CASES = [(version, case) for version, cases in RECORDED.items() for case in cases]


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


def compressed(given: list[Entry], window: int, version: str = "0.21", **values: int) -> dict[str, str]:
    spec = ",".join([COMPRESSION + version, f"window={window}", *(f"{name}={value}" for name, value in values.items())])
    sent = apply_once(given, spec, input_tokens=window, window=window)
    return {
        str(place): after["content"]
        for place, (before, after) in enumerate(zip(given, sent, strict=True))
        if before["content"] != after["content"]
    }


@pytest.mark.parametrize(("version", "case"), CASES, ids=range(len(CASES)))
def test_results_are_left_as_hermes_leaves_them(version: str, case: Entry) -> None:
    assert compressed(messages(case["rows"]), case["window"], version) == case["sent"]


def test_what_was_recorded_of_0_22_is_not_what_0_21_does() -> None:
    differs = [compressed(messages(case["rows"]), case["window"]) != case["sent"] for case in RECORDED["0.22"]]
    assert sum(differs) > 15


@pytest.mark.parametrize("version", RECORDED)
def test_the_recorded_lists_hold_demoted_results_and_lines(version: str) -> None:
    texts = [text for case in RECORDED[version] for text in case["sent"].values()]
    assert sum("output demoted at compaction" in text for text in texts) >= 16
    assert sum(text.startswith(("[terminal] ran `x", "[read_file] read /", "[memory] ")) for text in texts) > 10


def test_0_22_prunes_nothing_where_there_is_nothing_to_sum_up() -> None:
    unchanged = [messages(case["rows"]) for case in RECORDED["0.22"] if not case["sent"]]
    assert unchanged
    assert all(max(len(row["content"]) for row in rows) > 3_000 for rows in unchanged)


def test_0_22_spares_results_that_are_not_answered_yet_and_never_changes_a_call() -> None:
    given = rounds(*[4_000] * 12)
    given[1]["tool_calls"][0]["function"]["arguments"] = json.dumps({"content": "x" * 9_000})
    given[-1]["content"] = "a" * 130_000
    sent = {
        version: apply_once(given, f"{COMPRESSION}{version},window=200000", input_tokens=200_000, window=200_000)
        for version in ("0.21", "0.22")
    }
    assert [len(rows[-1]["content"]) < 1_000 for rows in sent.values()] == [True, False]
    assert [rows[1]["tool_calls"] == given[1]["tool_calls"] for rows in sent.values()] == [False, True]
    given[-1]["content"] = "a" * 170_000
    assert "24" in compressed(given, 200_000, "0.22")


def test_what_0_22_spares_keeps_within_a_fifth_of_the_window() -> None:
    assert [lean_tail(window, newest=True) for window in (2_000_000, 200_000, 40_000, 4)] == [25_000, 10_000, 8_000, 1]
    assert [soft_ceiling(10_000, window) for window in (200_000, 60_000, 40_000)] == [15_000, 12_000, 10_000]


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
    tool, answer = MessageFacts(Speaker.TOOL), MessageFacts(Speaker.ASSISTANT, makes_calls=True)
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


def test_an_early_pass_of_0_22_spares_results_that_are_not_answered_yet_and_is_made_at_once_over_the_threshold() -> (
    None
):
    given = rounds(*[40_000] * 30)
    spec = "hermes-proactive-prune:protect-last=0,version="
    for version, newest in (("0.21", "line"), ("0.22", "whole")):
        sent = apply_once(given, spec + version, input_tokens=60_000, window=1_000_000)
        assert ("whole" if sent[-1] == given[-1] else "line") == newest
        assert len(sent[2]["content"]) < 100
    entries: list[Entry] = [{"role": "user", "content": "go"}]
    for number in range(30):
        entries.append({"role": "assistant", "content": "", "calls": [{"id": f"c{number}", "name": "ls", "args": {}}]})
        entries.append({"role": "tool", "id": f"c{number}", "name": "ls", "content": f"{number:02}" + "r" * 40_000})
    passes = {}
    for version in ("0.21", "0.22"):
        made = strategy("hermes-proactive-prune", protect_last=4, protect_first=0, trigger=40_000, version=version)
        sent = Sent(session_of(entries), made, measured=dict.fromkeys(range(40), 190_000))
        counts = [len(sent.changed(call)) for call in range(20)]
        passes[version] = [call for call in range(1, 20) if counts[call] != counts[call - 1]]
    assert len(passes["0.22"]) > 2 * len(passes["0.21"])
