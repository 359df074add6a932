"""`compact` sends every tool call with its one result, and says what it left out."""

import json
from pathlib import Path

import pytest

from tests.program import run_here


def claude(folder: Path) -> Path:
    """Write a session whose first result has no call, and whose second response was interrupted after a thought."""

    def line(number: int, kind: str, content, **message) -> dict:
        return {
            "type": kind,
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": "s",
            "version": "2.1.280",
            "timestamp": f"2026-10-01T10:00:{number:02}.000Z",
            "message": {"role": kind, "content": content, **message},
        }

    def answer(number: int, *content) -> dict:
        usage = {"input_tokens": 100, "output_tokens": 20}
        return line(number, "assistant", list(content), id=f"m{number}", model="claude-opus-4-8", usage=usage)

    def use(identifier: str) -> dict:
        return {"type": "tool_use", "id": identifier, "name": "Bash", "input": {"command": "ls"}}

    def result(identifier: str) -> dict:
        return {"type": "tool_result", "tool_use_id": identifier, "content": f"files of {identifier}"}

    records = [
        line(0, "user", "list the files"),
        line(1, "user", [result("gone")]),
        answer(2, {"type": "text", "text": "again"}, use("a"), use("b")),
        line(3, "user", [result("a"), result("b"), result("a")]),
        answer(4, {"type": "thinking", "thinking": "one more", "signature": "c2ln"}, use("c")),
        line(5, "user", "stop"),
    ]
    path = folder / "s.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def codex(folder: Path) -> Path:
    """Write a rollout with a call that was cut off, and an output of a call from before the file."""

    def item(kind: str, **fields) -> dict:
        return {"timestamp": "2026-10-01T10:00:00.000Z", "type": "response_item", "payload": {"type": kind, **fields}}

    def call(identifier: str) -> dict:
        return item("function_call", name="shell", arguments='{"command": ["ls"]}', call_id=identifier)

    def said(role: str, text: str) -> dict:
        kind = "output_text" if role == "assistant" else "input_text"
        return item("message", role=role, content=[{"type": kind, "text": text}])

    records = [
        {"timestamp": "2026-10-01T10:00:00.000Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/work"}},
        said("user", "list the files"),
        item("function_call_output", call_id="gone", output="from before"),
        call("a"),
        item("function_call_output", call_id="a", output="README"),
        said("assistant", "one more"),
        call("c"),
        said("user", "stop"),
    ]
    path = folder / "rollout-2026-10-01T10-00-00-x.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def chat(folder: Path) -> Path:
    """Write a plain message list with a call that has no result, and a result that has no call."""
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "list the files"},
        {"role": "tool", "tool_call_id": "gone", "content": "from before"},
        {"role": "assistant", "content": "yes", "tool_calls": [{**call, "id": "a"}, call]},
        {"role": "tool", "tool_call_id": "a", "content": "README"},
        {"role": "user", "content": "stop"},
    ]
    path = folder / "chat.json"
    path.write_text(json.dumps(messages))
    return path


def ids(messages: list[dict]) -> tuple[list[str], list[str]]:
    calls, results = [], []
    for message in messages:
        parts = message["content"] if isinstance(message["content"], list) else []
        calls += [call["id"] for call in message.get("tool_calls", ())]
        calls += [part["id"] for part in parts if part["type"] == "tool_use"]
        results += [message["tool_call_id"]] if message["role"] == "tool" else []
        results += [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
    return calls, results


@pytest.mark.parametrize("form", ["anthropic", "openai"])
@pytest.mark.parametrize(("write", "kept"), [(claude, ["a", "b"]), (codex, ["a"]), (chat, ["a"])])
def test_calls_and_results_without_the_other_are_left_out(write, kept, form, tmp_path: Path, capsys):
    outcome = run_here(capsys, "compact", write(tmp_path), "--format", form)

    assert outcome.code == 0
    messages = json.loads(outcome.out)
    assert ids(messages) == (kept, kept)
    assert all(message["content"] or message.get("tool_calls") for message in messages)
    assert "inspector: tool results without a call left out: 1\n" in outcome.err
    assert "inspector: tool calls without a result left out: 1\n" in outcome.err


def test_a_second_result_and_reasoning_that_leads_to_no_call_are_left_out(tmp_path: Path, capsys):
    outcome = run_here(capsys, "compact", claude(tmp_path))

    assert outcome.err.splitlines() == [
        "inspector: tool results without a call left out: 1",
        "inspector: further results of a tool call left out: 1",
        "inspector: tool calls without a result left out: 1",
        "inspector: reasoning before such calls left out: 1",
    ]
    assert [message["role"] for message in json.loads(outcome.out)] == ["user", "assistant", "user", "user"]


def test_before_a_result_is_there_its_call_is_not_sent(tmp_path: Path, capsys):
    outcome = run_here(capsys, "compact", claude(tmp_path), "--call", "2")

    assert ids(json.loads(outcome.out)) == (["a", "b"], ["a", "b"])
    assert "without a result" not in outcome.err


def test_a_session_with_pairs_only_loses_nothing(tmp_path: Path, capsys):
    path = chat(tmp_path)
    messages = json.loads(path.read_text())
    del messages[1], messages[1]["tool_calls"][1]
    path.write_text(json.dumps(messages))
    outcome = run_here(capsys, "compact", path, "--format", "openai")

    assert json.loads(outcome.out) == messages
    assert outcome.err == ""
