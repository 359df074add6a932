"""A running session of Claude Code, with usage made for arithmetic by hand."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "claude-opus-4-5-20251101"
"""Per million tokens: input $5, output $25, reads $0.50, writes for 5 minutes $6.25."""

VERSION = "2.1.250"


def stamp(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + ".000Z"


def call_lines(number: int, at: float, read: int, written: int, output: int, **more: object) -> list[dict[str, object]]:
    """A prompt of the user, and the response to it."""
    common = {"isSidechain": False, "userType": "external", "version": VERSION, "type": "user", **more}
    usage = {
        "input_tokens": 0,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
    }
    answer = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": "Done."}],
        "stop_reason": "end_turn",
        "usage": usage,
    }
    before = f"a{number - 1}" if number else None
    return [
        {
            **common,
            "uuid": f"u{number}",
            "parentUuid": before,
            "timestamp": stamp(at - 2),
            "message": {"role": "user", "content": f"Task {number}"},
        },
        {
            **common,
            "type": "assistant",
            "uuid": f"a{number}",
            "parentUuid": f"u{number}",
            "timestamp": stamp(at),
            "requestId": f"req_{number}",
            "message": answer,
        },
    ]


def write_session(home: Path, folder: str, *, ended: float = 60, name: str = "one") -> Path:
    """Write a session of five calls, the last one `ended` seconds ago.

    The prompts are 94,000, 96,000, 98,000, 100,000 and 102,000 tokens, 2,000 written and the rest read; every response
    has 500 tokens.
    """
    path = home / ".claude" / "projects" / folder.replace("/", "-") / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    now = time.time()
    lines = [
        line
        for number in range(5)
        for line in call_lines(
            number,
            now - ended - 10 * (4 - number),
            92_000 + 2_000 * number,
            2_000,
            500,
            sessionId=name,
            cwd=folder,
        )
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, (now - ended, now - ended))
    return path
