"""Records as Gemini CLI writes them, made for tests."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ABOUT = {"sessionId": "s1", "projectHash": "40fc", "startTime": "2026-03-01T10:00:00.000Z"}

Record = dict[str, Any]


@dataclass
class GeminiScript:
    """A log being written, record by record."""

    lines: list[Record] = field(default_factory=list)

    def header(self, **fields: Any) -> None:
        self.lines.append({**ABOUT, "lastUpdated": "2026-03-01T10:00:00.000Z", "kind": "main", **fields})

    def record(self, kind: str, identifier: str, content: Any, **fields: Any) -> Record:
        """Write a record; it, to be changed and written again."""
        time = f"2026-03-01T10:{len(self.lines) // 60 % 60:02d}:{len(self.lines) % 60:02d}.000Z"
        made = {"id": identifier, "timestamp": time, "type": kind, "content": content, **fields}
        self.lines.append(made)
        return made

    def user(self, identifier: str, text: str) -> Record:
        return self.record("user", identifier, [{"text": text}])

    def answer(self, identifier: str, text: str = "An answer.", **fields: Any) -> Record:
        tokens = {"input": 100, "output": 5, "cached": 40, "thoughts": 3, "tool": 2, "total": 110}
        return self.record(
            "gemini", identifier, text, **{"thoughts": [], "tokens": tokens, "model": "gemini-3-pro", **fields}
        )

    def again(self, record: Record, **changes: Any) -> Record:
        self.lines.append({**record, **changes})
        return self.lines[-1]

    def set(self, **fields: Any) -> None:
        self.lines.append({"$set": fields})

    def rewind(self, identifier: str) -> None:
        self.lines.append({"$rewindTo": identifier})

    def encoded(self) -> list[bytes]:
        return [json.dumps(line).encode() + b"\n" for line in self.lines]

    def write(self, path: Path) -> Path:
        path.write_bytes(b"".join(self.encoded()))
        return path


def call(identifier: str, output: str | None = None, name: str = "read_file", **fields: Any) -> Record:
    """A tool call, with its result where there is one."""
    made: Record = {"id": identifier, "name": name, "args": {"path": "a"}, "status": "success"}
    if output is not None:
        made["result"] = [response(identifier, output, name)]
    return {**made, "resultDisplay": "for the screen", **fields}


def response(identifier: str, output: str, name: str = "read_file") -> Record:
    return {"functionResponse": {"id": identifier, "name": name, "response": {"output": output}}}
