"""Cache breakpoints recorded outside messages: SWE-agent's queries, Inspect's requests as sent."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from inspector.replay.cache.agent_breakpoints import NOWHERE
from inspector.replay.sessions import replay_session
from inspector.session.model import BlockKind, RecordedBreakpoint, Session
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.session import run_files
from tests.session.run_files import Record, encoded
from tests.session.soundness import assert_sound

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def opened(path: Path, document: Record) -> Session:
    path.write_bytes(encoded(document))
    session = open_session(path)
    assert_sound(session)
    return session


def marks(session: Session) -> list[list[int] | None]:
    return [None if call.marks is None else [mark.blocks for mark in call.marks] for call in session.calls]


def placed(session: Session) -> list[list[int]]:
    """Breakpoints that the replay of a session reads and writes by."""
    found = replay_session(session, Plan()).inputs.breakpoints
    assert found is not None
    return [[blocks for blocks in row if blocks != NOWHERE] for row in found.blocks[:-1].tolist()]


def swe_run(turns: int, *, is_calling: bool = False) -> Record:
    run = run_files.swe_run(turns)
    run["replay_config"] = '{"agent": {"model": {"name": "claude-sonnet-4-5"}}}'
    history = run["history"]
    if is_calling:
        for number, entry in enumerate(history):
            if entry["role"] == "assistant":
                call = {"id": f"c{number}", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
                entry.update(content="look", tool_calls=[call])
                history[number + 1].update(role="tool", tool_call_ids=[f"c{number}"])
    answers = [place for place, entry in enumerate(history) if entry["role"] == "assistant"]
    for step, place in zip(run["trajectory"], answers, strict=True):
        query = copy.deepcopy(history[:place])
        tagged = [entry for entry in query if entry["role"] in ("user", "tool")][-2:]
        for entry in tagged:
            entry["content"] = [{"type": "text", "text": entry["content"], "cache_control": MARK}]
            if entry["role"] == "tool":
                entry["cache_control"] = entry["content"][0].pop("cache_control")
        step["query"] = query
    return run


@pytest.mark.parametrize("is_calling", [False, True], ids=["commands between fences", "tools"])
def test_marks_in_the_query_of_a_step_are_those_of_its_call(tmp_path: Path, is_calling: bool) -> None:
    """The system prompt, a demonstration, which is not shown, the issue, then blocks for an answer and its result."""
    session = opened(tmp_path / "r.traj", swe_run(3, is_calling=is_calling))

    # The first call marks the demonstration, which follows the system prompt, and the issue.
    answer = 2 if is_calling else len(session.messages[session.calls[0].response].blocks)
    assert marks(session) == [[1, 2], [2, 3 + answer], [3 + answer, 4 + 2 * answer]]
    kinds = [session.blocks[blocks - 1].kind for blocks in (3 + answer, 4 + 2 * answer)]
    assert kinds == [BlockKind.TOOL_RESULT] * 2
    assert placed(session) == marks(session)


@pytest.mark.parametrize("is_text", [False, True], ids=["document", "text of one"])
def test_the_model_is_that_of_the_configuration_in_either_form(tmp_path: Path, is_text: bool) -> None:
    run = run_files.swe_run(1)
    configuration = {"agent": {"model": {"name": "claude-sonnet-4-5"}}}
    run["replay_config"] = json.dumps(configuration) if is_text else configuration
    assert opened(tmp_path / "r.traj", run).models == ("claude-sonnet-4-5",)


def test_observations_that_had_a_mark_once_are_results(tmp_path: Path) -> None:
    run = swe_run(2)
    for entry in run["history"]:
        if entry["content"].startswith("file"):
            entry["content"] = [{"type": "text", "text": entry["content"]}]
    session = opened(tmp_path / "r.traj", run)

    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [session.text(block) for block in results] == ["file0", "file1"]


def test_a_step_without_a_query_or_with_that_of_another_call_says_nothing_of_marks(tmp_path: Path) -> None:
    run = swe_run(4)
    first, second, third, fourth = run["trajectory"]
    del first["query"]
    second["query"] = second["query"][:-1]
    third["messages"] = third.pop("query")
    for entry in fourth["query"]:
        entry.pop("cache_control", None)
        if isinstance(entry["content"], list):
            entry["content"] = entry["content"][0]["text"]
    session = opened(tmp_path / "r.traj", run)

    assert marks(session) == [None, None, None, []]


def test_lifetimes_of_marks_in_a_query_are_kept(tmp_path: Path) -> None:
    run = swe_run(1)
    run["trajectory"][0]["query"][-1]["content"][0]["cache_control"] = HOUR
    session = opened(tmp_path / "r.traj", run)

    assert session.calls[0].marks == (RecordedBreakpoint(1), RecordedBreakpoint(2, "1h"))


def inspect_sample(turns: int) -> Record:
    sample = run_files.inspect_sample(turns)
    tool = {"name": "bash", "description": "runs", "parameters": {"type": "object", "properties": {}}}
    for event in sample["events"]:
        if event["event"] != "model":
            continue
        event["model"] = event["output"]["model"] = "anthropic/claude-sonnet-4-5"
        event["tools"] = [tool]
        event["input"] = [{"id": "s", "role": "system", "content": "You look."}, *event["input"]]
        sent: list[Record] = []
        for message in event["input"][1:]:
            if message["role"] == "tool":
                result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": [text("file")]}
                sent.append({"role": "user", "content": [result]})
            elif message["role"] == "assistant":
                call = message["tool_calls"][0]
                use = {"type": "tool_use", "id": call["id"], "name": "bash", "input": {}}
                sent.append({"role": "assistant", "content": [text(message["content"]), use]})
            else:
                sent.append({"role": "user", "content": [text("attachment://asked")]})
        for message in [message for message in sent if message["role"] == "user"][-2:]:
            message["content"][-1]["cache_control"] = MARK
        system = [{**text("You look."), "cache_control": MARK}]
        tools = [{"name": "bash", "input_schema": {}, "cache_control": MARK}]
        event["call"] = {"request": {"system": system, "tools": tools, "messages": sent}, "response": {}}
    return sample


def text(said: str) -> Record:
    return {"type": "text", "text": said}


def log(sample: Record) -> Record:
    return run_files.inspect_log([sample])


def requests_in(sample: Record) -> list[dict[str, Any]]:
    return [event["call"] for event in sample["events"] if event["event"] == "model"]


def test_marks_in_a_recorded_request_of_inspect_are_those_of_its_call(tmp_path: Path) -> None:
    """Tools, the system prompt and the question; then a text, a call and a result for every turn."""
    session = opened(tmp_path / "l.json", log(inspect_sample(3)))

    assert marks(session) == [[1, 2, 3], [1, 2, 3, 6], [1, 2, 6, 9]]
    assert placed(session) == marks(session)


def test_marks_of_requests_that_are_kept_once_are_found(tmp_path: Path) -> None:
    sample = inspect_sample(3)
    pool: list[Record] = []
    for call in requests_in(sample):
        indices = []
        for message in call["request"].pop("messages"):
            if message not in pool:
                pool.append(message)
            indices.append(pool.index(message))
        call.update(call_refs=[[index, index + 1] for index in indices], call_key="messages")
    expected = [[1, 2, 3], [1, 2, 3, 6], [1, 2, 6, 9]]
    sample["events_data"] = {"messages": [], "calls": pool}
    assert marks(opened(tmp_path / "l.json", log(sample))) == expected
    del sample["events_data"]
    sample["call_pool"] = pool
    assert marks(opened(tmp_path / "p.json", log(sample))) == expected
    sample["call_pool"] = pool[:1]
    assert marks(opened(tmp_path / "d.json", log(sample)))[2] is None


def test_texts_that_are_joined_in_a_request_do_not_move_the_marks_behind_them(tmp_path: Path) -> None:
    sample = inspect_sample(2)
    for event in sample["events"]:
        if event["event"] == "model":
            event["input"].insert(1, {"id": "p", "role": "user", "content": "before"})
    assert marks(opened(tmp_path / "l.json", log(sample))) == [[1, 2, 4], [1, 2, 4, 7]]


def test_what_represents_an_empty_answer_is_not_looked_at(tmp_path: Path) -> None:
    sample = inspect_sample(2)
    for event in sample["events"]:
        for message in event.get("input", []):
            if message["role"] == "assistant":
                message["content"] = ""
    for call in requests_in(sample):
        for message in call["request"]["messages"]:
            if message["role"] == "assistant":
                message["content"][0]["text"] = "(no content)"
    assert marks(opened(tmp_path / "l.json", log(sample))) == [[1, 2, 3], [1, 2, 3, 5]]


def test_a_request_that_is_not_the_prompt_or_is_not_recorded_says_nothing_of_marks(tmp_path: Path) -> None:
    sample = inspect_sample(4)
    first, second, third, fourth = requests_in(sample)
    first["request"]["messages"] = [{"role": "assistant", "content": [{**text("else"), "cache_control": MARK}]}]
    del second["request"]
    third["request"] = {"messages": [{"role": "user", "content": "whatever"}]}
    fourth["request"] = {"cache_control": HOUR, "messages": fourth["request"]["messages"][:1]}
    del fourth["request"]["messages"][0]["content"][0]
    session = opened(tmp_path / "l.json", log(sample))

    assert marks(session) == [None, None, [], [12]]
    assert session.calls[3].marks == (RecordedBreakpoint(12, "1h"),)
