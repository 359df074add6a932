"""Claude Code session files made up for tests of the application: written as the agent writes them."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TOOLS = ("Bash", "Read", "Edit", "Grep", "TodoWrite")


@dataclass
class Recording:
    """A session file under construction.

    Attributes:
        path: The file.
        model: The model that answers.
        turns: Turns written so far.
        hour: In which it is recorded, UTC.
    """

    path: Path
    model: str = "claude-opus-4-8"
    turns: int = 0
    hour: str = "2026-05-01T10"
    last: str | None = field(default=None, repr=False)

    def say(self, text: str) -> None:
        self._append("user", {"role": "user", "content": text})

    def turn(self, result: str = "", tool: str = "", thinking: str = "The guard is missing.") -> None:
        """Append a tool call, its usage, and its result."""
        number = self.turns
        self.turns += 1
        tool = tool or TOOLS[number % len(TOOLS)]
        identifier = f"toolu_{number:04}"
        usage = {
            "input_tokens": 4,
            "cache_creation_input_tokens": 900,
            "cache_read_input_tokens": 12_000 + 900 * number,
            "output_tokens": 120,
        }
        answer = {
            "id": f"msg_{number:04}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [
                {"type": "text", "text": thinking},
                {"type": "tool_use", "id": identifier, "name": tool, "input": {"path": f"src/app/{number}.py"}},
            ],
            "stop_reason": "tool_use",
            "usage": usage,
        }
        self._append("assistant", answer, requestId=f"req_{number:04}")
        text = result or f"src/app/{number}.py:88: def resolve(self, path):\n" * (5 + number * 7 % 60)
        content = [{"type": "tool_result", "tool_use_id": identifier, "content": text}]
        self._append("user", {"role": "user", "content": content})

    def _append(self, kind: str, message: dict[str, Any], **more: str) -> None:
        number = sum(1 for _ in self.path.open("rb")) if self.path.exists() else 0
        uuid = f"00000000-0000-4000-8000-{number:012}"
        record = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": self.last,
            "sessionId": "11111111-2222-4333-8444-555555555555",
            "cwd": "/home/user/project",
            "version": "2.1.0",
            "isSidechain": False,
            "userType": "external",
            "timestamp": f"{self.hour}:{number // 60 % 60:02}:{number % 60:02}.000Z",
            "message": message,
            **more,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        self.last = uuid


def this_hour() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H")


def recording(path: Path, turns: int = 30, **fields: Any) -> Recording:
    """A session of a question and `turns` tool calls."""
    made = Recording(path, **fields)
    made.say("Find out why the router drops the last segment, and fix it.")
    for _ in range(turns):
        made.turn()
    return made
