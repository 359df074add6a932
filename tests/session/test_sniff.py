"""Formats are detected from file content, independent of the file's start and name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspector.session.model import Role, Session
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.session import run_files, tap_store
from tests.session.claude_lines import Script
from tests.session.codex_lines import Rollout
from tests.session.copilot_lines import CopilotScript
from tests.session.gemini_lines import GeminiScript, call
from tests.session.opencode_store import Store
from tests.session.pi_lines import PiScript
from tests.session.soundness import assert_sound

MARK = "\ufeff"

CHAT = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c", "content": "é"},
]

PARTS = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "é"}]},
]

ITEMS = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "é"},
]

DOCUMENTS: dict[str, Any] = {
    "atif": run_files.trajectory(2),
    "swe-agent": run_files.swe_run(2),
    "mini-swe-agent": run_files.mini_run(2),
    "openhands": run_files.openhands_events(2),
    "openhands-v0": run_files.openhands_0_history(2),
    "inspect": run_files.inspect_log([run_files.inspect_sample(2)]),
    "cline": run_files.cline_history(2),
    "claude-tap": tap_store.bundle(2, tools=[]),
    "har": tap_store.archive_of(2),
    "openai-chat": {"model": "m", "messages": CHAT},
    "anthropic-messages": {"model": "claude-x", "system": "s", "messages": PARTS},
    "openai-responses": {"model": "m", "input": ITEMS},
}

LINES: dict[str, list[Any]] = {
    "openhands": run_files.openhands_events(2),
    "openhands-v0": [{"instance_id": "i", "history": run_files.openhands_0_history(2)}],
    "claude-tap": tap_store.records(2),
    "claude-trace": run_files.log_of_requests(2),
    "openai-chat": CHAT,
    "anthropic-messages": PARTS,
    "openai-responses": ITEMS,
    "transcripts": [{"messages_display": "user: hi\nassistant: yes\ntool: é\n"}],
}


def said(session: Session) -> list[Any]:
    assert_sound(session)
    return [
        (message.role, [(block.kind, block.tool_name, session.text(block)) for block in message.blocks])
        for message in session.messages
        if message.role is not Role.OTHER
    ]


def in_every_form(folder: Path, forms: dict[str, str]) -> dict[str, Session]:
    sessions = {}
    for file, text in forms.items():
        (folder / file).write_bytes(text.encode())
        sessions[file] = open_session(folder / file)
    first = said(next(iter(sessions.values())))
    for file, session in sessions.items():
        assert said(session) == first, file
    return sessions


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_a_document_is_the_same_on_one_line_or_many_and_behind_blanks_or_a_mark(tmp_path: Path, name: str) -> None:
    on_one, on_many = json.dumps(DOCUMENTS[name], ensure_ascii=False), json.dumps(DOCUMENTS[name], indent=2)
    forms = {
        "one.json": on_one,
        "many.jsonl": on_many,
        "mark.txt": MARK + on_one,
        "mark-and-many": MARK + on_many,
        "windows.json": on_many.replace("\n", "\r\n"),
        "blank.jsonl": f"\n \r\n{on_one}\n\n",
    }
    sessions = in_every_form(tmp_path, forms)
    assert {session.format for session in sessions.values()} == {name}
    assert len(said(sessions["one.json"])) > 2


@pytest.mark.parametrize("name", sorted(LINES))
def test_lines_are_the_same_behind_blanks_a_mark_and_records_no_one_knows(tmp_path: Path, name: str) -> None:
    lines = [json.dumps(line, ensure_ascii=False) for line in LINES[name]]
    forms = {
        "plain.jsonl": "\n".join(lines) + "\n",
        "no-end.json": "\n".join(lines),
        "mark.txt": MARK + "\n".join(lines),
        "windows": "\r\n".join(lines) + "\r\n",
        "blank.jsonl": "\n\n" + "\n\n".join(lines) + "\n\n",
        "unknown.jsonl": "\n".join(['{"hello": 1}', *lines]),
        "broken.jsonl": "\n".join(['{"hello', *lines]),
    }
    sessions = in_every_form(tmp_path, forms)
    assert {session.format for session in sessions.values()} == {name}
    skipped = {file: session.skipped_records for file, session in sessions.items()}
    assert skipped == {**dict.fromkeys(forms, 0), "broken.jsonl": 1}


BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def claude() -> list[bytes]:
    script = Script()
    script.lines.append({"type": "summary", "summary": "A title", "leafUuid": "x"})
    script.lines.append({"type": "queue-operation", "operation": "enqueue", "content": "go", "sessionId": "s"})
    script.lines.append({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}, "isSnapshotUpdate": False})
    script.prompt("go")
    script.call("m1", "toolu_1")
    script.result("toolu_1")
    script.text("m2", "done")
    return script.encoded()


def codex() -> list[bytes]:
    rollout = Rollout()
    rollout.header()
    rollout.turn()
    rollout.prompt("go")
    rollout.response("c1")
    rollout.response(text="done")
    return rollout.encoded()


def codex_stream() -> list[bytes]:
    item = {"id": "item_0", "type": "command_execution", "command": "ls", "aggregated_output": "a", "exit_code": 0}
    events = [
        {"type": "thread.started", "thread_id": "0199b26c-737a-71a2-9939-52ce68c95cbe"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": item},
        {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "done"}},
        {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 0, "output_tokens": 2}},
    ]
    return [json.dumps(event).encode() + b"\n" for event in events]


def pi() -> list[bytes]:
    script = PiScript()
    script.lines.append({"type": "title", "title": "A title"})
    script.header()
    script.user("go")
    script.call("c1")
    script.result("c1", "a")
    script.answer("done")
    return script.encoded()


def copilot() -> list[bytes]:
    script = CopilotScript()
    script.hook("sessionStart")
    script.start()
    script.user("go")
    script.answer("", ("c1", "bash"))
    script.result("c1", "a")
    script.answer("done")
    return script.encoded()


def gemini() -> list[bytes]:
    script = GeminiScript()
    script.header()
    script.user("u1", "go")
    script.answer("a1", "", toolCalls=[call("c1", "a")])
    script.answer("a2", "done")
    return script.encoded()


def hermes() -> list[bytes]:
    function = {"name": "terminal", "arguments": "{}"}
    entries: list[dict[str, Any]] = [
        {"role": "session_meta", "tools": [], "model": "m", "platform": "cli"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
        {"role": "assistant", "content": "done"},
    ]
    return [json.dumps(entry).encode() + b"\n" for entry in entries]


FILES_OF_LINES: dict[str, tuple[str, Callable[[], list[bytes]]]] = {
    "claude-code": ("claude-code", claude),
    "codex": ("codex", codex),
    "codex stream": ("codex", codex_stream),
    "pi": ("pi", pi),
    "copilot-cli": ("copilot-cli", copilot),
    "gemini-cli": ("gemini-cli", gemini),
    "hermes": ("hermes", hermes),
}


def spoken(session: Session) -> list[tuple[str, list[str]]]:
    return [
        (message.role.value, [session.text(block) for block in message.blocks])
        for message in session.messages
        if message.role.value != "other"
    ]


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "a byte order mark": lambda data: BYTE_ORDER_MARK + data,
    "blank lines before and between": lambda data: b"\n \n" + data.replace(b"\n", b"\n\n"),
    "line ends of Windows": lambda data: data.replace(b"\n", b"\r\n"),
    "a mark and line ends of Windows": lambda data: BYTE_ORDER_MARK + data.replace(b"\n", b"\r\n"),
    "no last line end": lambda data: data.removesuffix(b"\n"),
    "zero bytes at the end": lambda data: data + bytes(64),
}


@pytest.mark.parametrize("change", sorted(CHANGES))
@pytest.mark.parametrize("name", sorted(FILES_OF_LINES))
def test_what_other_programs_do_to_lines_changes_nothing(tmp_path: Path, name: str, change: str) -> None:
    format_name, make = FILES_OF_LINES[name]
    data = b"".join(make())
    plain, changed = tmp_path / "plain.txt", tmp_path / "changed"
    plain.write_bytes(data)
    changed.write_bytes(CHANGES[change](data))
    session = open_session(changed)
    assert session.format == format_name
    assert spoken(session) == spoken(open_session(plain))
    assert [call.usage for call in session.calls] == [call.usage for call in open_session(plain).calls]


@pytest.mark.parametrize("name", sorted(FILES_OF_LINES))
def test_a_line_cut_off_at_the_end_is_counted_and_the_rest_is_read(tmp_path: Path, name: str) -> None:
    format_name, make = FILES_OF_LINES[name]
    lines = make()
    path = tmp_path / "cut.jsonl"
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
    session = open_session(path)
    assert (session.format, session.skipped_records) == (format_name, 1)
    assert session.diagnostics[-1].line == len(lines)
    assert session.diagnostics[-1].offset == sum(map(len, lines[:-1]))


@pytest.mark.parametrize("name", sorted(FILES_OF_LINES))
@pytest.mark.parametrize("size", [70_000, 9_000_000])
def test_a_first_line_of_any_length_and_kind_does_not_matter(tmp_path: Path, name: str, size: int) -> None:
    format_name, make = FILES_OF_LINES[name]
    path = tmp_path / "long.jsonl"
    path.write_bytes(json.dumps({"type": "unheard-of", "text": "x" * size}).encode() + b"\n" + b"".join(make()))
    assert detect(path).format.name == format_name


@pytest.mark.parametrize("name", sorted(FILES_OF_LINES))
def test_a_broken_first_line_does_not_matter(tmp_path: Path, name: str) -> None:
    format_name, make = FILES_OF_LINES[name]
    path = tmp_path / "broken.jsonl"
    path.write_bytes(b'{"type":"user","mess' + b"\n" + b"".join(make()))
    session = open_session(path)
    assert (session.format, session.skipped_records) == (format_name, 1)
    assert (session.diagnostics[0].line, session.diagnostics[0].offset) == (1, 0)


ALONE = {
    "claude-code": {"type": "user", "uuid": "a", "sessionId": "s", "message": {"role": "user", "content": "go"}},
    "claude-code summary": {"type": "summary", "summary": "A title", "leafUuid": "x"},
    "claude-code queue": {"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "content": "go"},
    "claude-code link": {"type": "pr-link", "sessionId": "s", "prNumber": 1, "prUrl": "https://example.org/1"},
    "claude-code state": {"type": "worktree-state", "sessionId": "s"},
    "codex before envelopes": {"id": "x", "timestamp": "2025-06-01T10:00:00Z", "instructions": None, "git": {}},
    "hermes document": {"session_id": "s", "model": "m", "base_url": "https://example.org", "messages": []},
    "codex": {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/"}},
    "pi": {"type": "session", "version": 3, "id": "x", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"},
    "copilot-cli": {"type": "session.start", "data": {}, "id": "x", "timestamp": "", "parentId": None},
    "gemini-cli": {"sessionId": "x", "projectHash": "y", "startTime": "", "lastUpdated": ""},
    "hermes": {"role": "session_meta", "tools": [], "model": "m", "platform": "cli"},
}


@pytest.mark.parametrize("name", sorted(ALONE))
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_session_of_which_one_record_is_there_opens(tmp_path: Path, name: str, end: str) -> None:
    path = tmp_path / "new"
    path.write_text(json.dumps(ALONE[name]) + end)
    session = open_session(path)
    assert session.format == name.partition(" ")[0]
    assert (session.calls, session.diagnostics) == ((), ())


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("codex", {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": None}),
        ("codex", {"timestamp": "2026-01-01T00:00:00Z", "type": "event_msg", "payload": [1]}),
        ("copilot-cli", {"type": "user.message", "data": 5, "id": "x", "timestamp": "", "parentId": None}),
        ("pi", {"type": "message", "id": "x", "parentId": None, "timestamp": "", "message": "text"}),
        ("codex stream", {"type": "item.completed", "item": None}),
    ],
)
def test_a_record_that_holds_nothing_to_read_is_named_with_its_place(
    tmp_path: Path, name: str, line: dict[str, Any]
) -> None:
    lines = FILES_OF_LINES[name][1]()
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines) + json.dumps(line).encode() + b"\n")
    (found,) = open_session(path).diagnostics
    assert found.reason.startswith("unexpected type of ")
    assert (found.line, found.offset, found.skipped) == (len(lines) + 1, sum(map(len, lines)), False)


def test_a_title_and_a_header_are_a_session_of_pi(tmp_path: Path) -> None:
    path = tmp_path / "new"
    path.write_text(json.dumps({"type": "title", "title": "A title"}) + "\n" + json.dumps(ALONE["pi"]))
    assert open_session(path).title == "A title"


def test_a_document_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    store = Store()
    store.prompt("go")
    store.response("c1")
    path = store.export(tmp_path / "export.json")
    plain = open_session(path)
    marked = tmp_path / "marked.jsonl"
    marked.write_bytes(BYTE_ORDER_MARK + path.read_bytes().replace(b"\n", b"\r\n"))
    session = open_session(marked)
    assert session.format == "opencode"
    assert spoken(session) == spoken(plain)
