"""Entries as pi writes them, made for tests."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CURRENT = object()


@dataclass
class PiScript:
    version: int | None = 3
    lines: list[dict[str, Any]] = field(default_factory=list)
    leaf: str | None = None

    def header(self, **fields: Any) -> None:
        """The first line."""
        version = {} if self.version is None else {"version": self.version}
        self.lines.append(
            {"type": "session", **version, "id": "0c9d", "timestamp": self._time(), "cwd": "/project", **fields}
        )

    def add(self, kind: str, parent: Any = CURRENT, **fields: Any) -> str:
        """Add an entry; its id."""
        identifier = f"{len(self.lines):08x}"
        entry: dict[str, Any] = {"type": kind}
        if self.version is not None:
            entry |= {"id": identifier, "parentId": self.leaf if parent is CURRENT else parent}
        self.lines.append({**entry, "timestamp": self._time(), **fields})
        self.leaf = identifier
        return identifier

    def message(self, role: str, content: Any, parent: Any = CURRENT, **fields: Any) -> str:
        return self.add("message", parent, message={"role": role, "content": content, **fields})

    def user(self, text: str, parent: Any = CURRENT) -> str:
        return self.message("user", [{"type": "text", "text": text}], parent)

    def assistant(self, *parts: dict[str, Any], parent: Any = CURRENT, **fields: Any) -> str:
        usage = {"input": 10, "output": 5, "cacheRead": 100, "cacheWrite": 20, "totalTokens": 135}
        about = {"provider": "anthropic", "model": "claude-opus-4-8", "usage": usage, "stopReason": "stop"}
        return self.message("assistant", list(parts), parent, **{**about, **fields})

    def answer(self, text: str = "An answer.", parent: Any = CURRENT, **fields: Any) -> str:
        return self.assistant({"type": "text", "text": text}, parent=parent, **fields)

    def call(self, call: str, name: str = "read", **arguments: Any) -> str:
        part = {"type": "toolCall", "id": call, "name": name, "arguments": arguments}
        return self.assistant(part, stopReason="toolUse")

    def result(self, call: str, text: str = "done", **fields: Any) -> str:
        content = [{"type": "text", "text": text}]
        return self.message("toolResult", content, toolCallId=call, toolName="read", **{"isError": False, **fields})

    def compaction(self, first_kept: str | None, summary: str = "A summary.", **fields: Any) -> str:
        kept = {} if first_kept is None else {"firstKeptEntryId": first_kept}
        return self.add("compaction", summary=summary, tokensBefore=100_000, **{**kept, **fields})

    def encoded(self) -> list[bytes]:
        return [json.dumps(line).encode() + b"\n" for line in self.lines]

    def write(self, path: Path) -> Path:
        path.write_bytes(b"".join(self.encoded()))
        return path

    def _time(self) -> str:
        return f"2026-03-01T10:{len(self.lines) // 60 % 60:02d}:{len(self.lines) % 60:02d}.000Z"
