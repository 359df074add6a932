"""Formats of one record a line are followed while another process writes them, at moments of its choosing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from inspector.session.follow import Follower
from inspector.session.open import open_session
from tests.session.claude_lines import Script
from tests.session.other_process import append, quiet_moments
from tests.session.soundness import assert_sound
from tests.session.test_plain import ANTHROPIC, OPENAI

if TYPE_CHECKING:
    from pathlib import Path


def claude() -> list[bytes]:
    script = Script()
    for turn in range(15):
        script.prompt(f"prompt {turn}")
        script.call(f"m{turn}", f"t{turn}")
        script.call(f"m{turn}", f"u{turn}")
        script.result(f"t{turn}", f"result {turn} " + "é" * 40)
        script.result(f"u{turn}", "other")
    return script.encoded()


def transcripts() -> list[bytes]:
    said = "user: order {0}\nassistant: None\ntool: {{}}\nassistant: done {0} é\n"
    return [json.dumps({"messages_display": said.format(number)}).encode() + b"\n" for number in range(12)]


def openai() -> list[bytes]:
    return [json.dumps(message, ensure_ascii=False).encode() + b"\n" for message in OPENAI * 3]


def anthropic() -> list[bytes]:
    return [json.dumps(message, ensure_ascii=False).encode() + b"\n" for message in ANTHROPIC * 3]


def responses() -> list[bytes]:
    items = []
    for number in range(12):
        call = f"c{number}"
        items += [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"prompt {number}"}]},
            {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": call},
            {"type": "function_call_output", "call_id": call, "output": f"found {number}"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
        ]
    return [json.dumps(item).encode() + b"\n" for item in items]


LINES = {
    "claude-code": claude,
    "transcripts": transcripts,
    "openai": openai,
    "anthropic": anthropic,
    "openai-responses": responses,
}


@pytest.mark.parametrize("name", LINES)
def test_lines_that_another_process_writes_are_followed(tmp_path: Path, name: str) -> None:
    lines = LINES[name]()
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines[:3]))
    follower = Follower(path)
    assert follower.session.format.startswith(name)
    for _ in quiet_moments(path, [append(line) for line in lines[3:]], follower.poll, seed=len(name), most=9):
        follower.poll()
        assert follower.session == open_session(path)
    assert_sound(follower.session)
    assert sum(follower.session.record_counts.values()) == len(lines)
