import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from inspector import apply_once
from inspector.strategies.core.operations import Action
from inspector.strategies.library.adk import AdkFilter
from inspector.strategies.library.smart_retention import DedupeReads, KeepRecent, SmartRetention
from inspector.strategies.plan import Plan, PlanEntry
from tests.strategies.conversations import Sent, blocks_of_entries, call_blocks, matches, session_of, steps


def reads(paths, *, size=100):
    entries = [{"role": "user", "content": "task"}]
    for step, path in enumerate(paths):
        call = {"id": f"r{step}", "name": "read_file", "args": {"path": path}}
        entries.append({"role": "assistant", "content": f"r{step}", "calls": [call]})
        entries.append({"role": "tool", "id": f"r{step}", "name": "read_file", "content": chr(97 + step % 26) * size})
    return entries


def pointed_at(sent, call=None):
    results = sent.history.results.tolist()
    return [at for at, index in enumerate(results) if index in sent.changed(call)]


def assert_projection_as(vector, sent):
    expected, blocks = vector["expected"], blocks_of_entries(vector["input"])
    removed = {index for index in sent.changed() if sent.rendition(index).action is Action.REMOVED}
    changed = {index: text for index, text in sent.changed().items() if index not in removed}
    calls = call_blocks(vector["input"])
    gone_calls = {calls[entry["id"]] for at in expected["removed_indices"] for entry in [vector["input"][at]]}
    assert removed == {blocks[at] for at in expected["removed_indices"]} | gone_calls
    assert changed.keys() == {blocks[int(at)] for at in expected["changed"]}
    for at, text in expected["changed"].items():
        assert matches(changed[blocks[int(at)]], text)
    for at, left in expected["calls_left"].items():
        asked = {call["id"]: calls[call["id"]] for call in vector["input"][int(at)]["calls"]}
        assert [name for name, index in asked.items() if index not in removed] == left


def test_the_agent_s_own_smart_retention_is_reproduced_byte_for_byte(vectors):
    assert vectors["smart_tool_retention"]
    for vector in vectors["smart_tool_retention"]:
        params = vector["params"]
        strategy = SmartRetention(
            max_reads=params["max_file_reads"], output_limit=params["bash_truncate"], variant="shipped"
        )
        assert_projection_as(vector, Sent(session_of(vector["input"]), strategy))
        assert_projection_as(vector, Sent(session_of(vector["input"], calls=False), strategy))


def test_keeping_recent_results_is_reproduced_with_calls_gone_and_words_kept(vectors):
    assert vectors["keep_recent_tool_results"]
    for vector in vectors["keep_recent_tool_results"]:
        assert_projection_as(vector, Sent(session_of(vector["input"]), KeepRecent(keep=vector["params"]["n"])))


@pytest.mark.parametrize(
    ("count", "pointers"),
    [
        (1, []),
        (2, []),
        (3, [1]),
        (5, [1, 2, 3]),
        (6, [4]),
        (12, [2, 3, 5, 6, 8, 9, 10]),
    ],
)
def test_the_document_keeps_first_last_and_up_to_three_reads_between(count, pointers):
    sent = Sent(session_of(reads(["src/config.py"] * count)), SmartRetention())
    assert pointed_at(sent) == pointers
    for at in pointers:
        assert sent.text(sent.history.results[at]) == "[Re-read of src/config.py - see earlier read for content]"


def test_reads_of_different_files_do_not_count_together():
    sent = Sent(session_of(reads(["a.py", "b.py", "a.py", "b.py"])), SmartRetention())
    assert pointed_at(sent) == []


def test_a_read_can_come_back_when_the_samples_between_move():
    session = session_of(reads(["a.py"] * 13))
    sent = Sent(session, SmartRetention(variant="shipped"))
    states = {at: [at in pointed_at(sent, call) for call in range(at + 1, 14)] for at in range(12)}
    assert any(before and not after for seen in states.values() for before, after in pairwise(seen))


@given(
    some.lists(some.tuples(some.sampled_from("abc"), some.booleans()), max_size=30),
    some.integers(2, 8),
    some.sampled_from(["document", "shipped"]),
)
def test_at_every_call_the_pointers_are_those_of_the_rule_applied_to_that_prompt(made, maximum, variant):
    entries = [{"role": "user", "content": "task"}]
    files = []
    for step, (path, joins) in enumerate(made):
        call = {"id": f"r{step}", "name": "read_file", "args": {"path": path}}
        result = {"role": "tool", "id": f"r{step}", "name": "read_file", "content": "x" * 100}
        if joins and files:
            last = max(at for at, entry in enumerate(entries) if entry["role"] == "assistant")
            entries[last]["calls"].append(call)
        else:
            entries.append({"role": "assistant", "content": "go", "calls": [call]})
        entries.append(result)
        files.append(path)
    sent = Sent(session_of(entries), SmartRetention(max_reads=maximum, variant=variant))
    results = sent.history.results
    for call in range(sent.history.call_count + 1):
        prompt = set(sent.history.prompt(call).tolist())
        present = [at for at, index in enumerate(results.tolist()) if index in prompt]
        expected = []
        for path in set(files):
            own = [at for at in present if files[at] == path]
            expected += [own[place] for place in range(len(own)) if place not in rule(len(own), maximum, variant)]
        assert [at for at in pointed_at(sent, call) if at in present] == sorted(expected)


def rule(count, maximum, variant):
    """Positions kept of `count` reads, as the document and the program write it."""
    if count <= 2 or (variant == "shipped" and count <= maximum):
        return set(range(count))
    kept = {0, count - 1}
    if count > maximum > 2:
        middle = list(range(1, count - 1))
        step = len(middle) / (maximum - 2)
        kept |= {middle[int(i * step)] for i in range(maximum - 2)}
    return kept


def test_long_output_keeps_two_thousand_characters_at_each_end_and_says_what_it_was():
    text = "\n".join(f"line {number:05d}" for number in range(1, 1201))
    entries = steps(1, tool="bash")
    entries[2]["content"] = text
    sent = Sent(session_of(entries), SmartRetention())
    assert (
        sent.text(3, 1) == text[:2000] + "\n\n... [truncated: 13,199 chars total, 1,200 lines] ...\n\n" + text[-2000:]
    )


def test_output_at_the_limit_and_edits_stay_whole():
    assert Sent(session_of(steps(1, tool="bash", size=10_000)), SmartRetention()).changed() == {}
    assert Sent(session_of(steps(40, tool="edit_file", size=10_000)), SmartRetention()).changed() == {}


def test_only_the_newest_listings_stay_in_the_document_s_rules():
    session = session_of(steps(5, tool="ls"))
    assert pointed_at(Sent(session, SmartRetention(light_keep=2))) == [0, 1, 2]
    assert pointed_at(Sent(session, SmartRetention(light_keep=2, variant="shipped"))) == []


def test_a_repeated_read_removes_the_earlier_one_and_its_call():
    session = session_of(reads(["a.py", "b.py", "a.py"]))
    sent = Sent(session, DedupeReads())
    assert sent.changed(2) == {}
    assert sent.changed(3).keys() == {2, 3}
    assert {sent.rendition(index).action for index in (2, 3)} == {Action.REMOVED}


def test_tools_can_be_named_to_read_run_commands_or_list():
    session = session_of(steps(4, tool="frobnicate"))
    assert pointed_at(Sent(session, SmartRetention(light_keep=1, light_tools=("frobnicate",)))) == [0, 1, 2]
    same = [
        entry | {"calls": [entry["calls"][0] | {"args": {"path": "x"}}]} if "calls" in entry else entry
        for entry in steps(4, tool="frobnicate")
    ]
    assert pointed_at(Sent(session_of(same), DedupeReads(read_tools=("frobnicate",)))) == [0, 1, 2]


def test_the_file_is_found_in_arguments_too_long_for_a_preview():
    entries = reads(["a.py", "a.py"])
    for entry in entries:
        for call in entry.get("calls", ()):
            call["args"] = {"note": "n" * 5000, "file_path": "a.py"}
    assert pointed_at(Sent(session_of(entries), DedupeReads())) == [0]


@pytest.mark.parametrize("plan", ["keep-recent:keep=1", "dedupe-reads", "smart-retention:light-keep=1"])
@pytest.mark.parametrize(("said", "left"), [("looking", "looking"), ("", ""), (None, "")])
def test_a_message_whose_calls_went_stays_with_its_words_or_empty(plan, said, left):
    tool, path = ("ls", ".") if plan.startswith("smart") else ("read_file", "a.py")
    messages = [{"role": "user", "content": "task"}]
    for identifier in ("c1", "c2"):
        function = {"name": tool, "arguments": json.dumps({"path": path})}
        call = {"id": identifier, "type": "function", "function": function}
        messages.append({"role": "assistant", "content": said, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": identifier, "content": f"text of {identifier}"})
    emptied = {"role": "assistant", "content": left}
    assert apply_once(messages, plan) == [messages[0], emptied, *messages[3:]]


def test_a_message_that_another_strategy_removed_does_not_come_back_empty():
    messages = [{"role": "user", "content": "task"}]
    for identifier in ("c1", "c2"):
        call = {"id": identifier, "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": identifier, "content": f"text of {identifier}"})
        messages.append({"role": "user", "content": f"question after {identifier}"})
    both = Plan((PlanEntry(AdkFilter(keep=1, remove_amount=1)), PlanEntry(KeepRecent(keep=1))))

    assert apply_once(messages, both) == messages[-1:]


def test_of_a_message_in_the_anthropic_form_nothing_is_left_without_its_call():
    messages = [{"role": "user", "content": "task"}]
    for identifier in ("c1", "c2"):
        call = {"type": "tool_use", "id": identifier, "name": "read_file", "input": {"path": "a.py"}}
        result = {"type": "tool_result", "tool_use_id": identifier, "content": "text"}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    assert apply_once(messages, "keep-recent:keep=1") == [messages[0], *messages[3:]]
