"""A file is told and read by its content, however it begins and whatever it is called."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from inspector.session.model import Role
from inspector.session.open import open_session
from tests.session import run_files
from tests.session.soundness import assert_sound

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.model import Session

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
    "openai-chat": {"model": "m", "messages": CHAT},
    "anthropic-messages": {"model": "claude-x", "system": "s", "messages": PARTS},
    "openai-responses": {"model": "m", "input": ITEMS},
}

LINES: dict[str, list[Any]] = {
    "openhands": run_files.openhands_events(2),
    "openhands-v0": [{"instance_id": "i", "history": run_files.openhands_0_history(2)}],
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
    """The sessions in texts that say the same, by the names of their files."""
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
def test_lines_are_the_same_behind_blanks_a_mark_and_records_nobody_knows(tmp_path: Path, name: str) -> None:
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
