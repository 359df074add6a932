"""Lines as Claude Code writes them, made for tests."""

import base64
import json
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspector.session.model import Session

SESSION = "11111111-2222-4333-8444-555555555555"


@dataclass
class Script:
    lines: list[dict[str, Any]] = field(default_factory=list)
    version: str = "2.1.210"
    parent: str | None = None

    def add(self, **fields: Any) -> str:
        """Add a line; its uuid."""
        uuid = fields.get("uuid") or f"{len(self.lines):08x}-0000-4000-8000-000000000000"
        line = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "sessionId": SESSION,
            "version": self.version,
            "cwd": "/project",
            "timestamp": f"2026-03-01T10:{len(self.lines) // 60 % 60:02d}:{len(self.lines) % 60:02d}.000Z",
            **fields,
            "uuid": uuid,
        }
        self.lines.append(line)
        self.parent = uuid
        return uuid

    def prompt(self, text: str, **fields: Any) -> str:
        return self.add(type="user", message={"role": "user", "content": text}, **fields)

    def user(self, *parts: dict[str, Any], **fields: Any) -> str:
        return self.add(type="user", message={"role": "user", "content": list(parts)}, **fields)

    def result(self, call: str, content: Any = "done", **fields: Any) -> str:
        return self.user({"type": "tool_result", "tool_use_id": call, "content": content}, **fields)

    def block(self, identifier: str, part: dict[str, Any], usage: dict[str, Any] | None = None, **fields: Any) -> str:
        message = {"id": identifier, "role": "assistant", "model": "claude-opus-4-8", "content": [part]}
        if usage is not None:
            message["usage"] = usage
        return self.add(type="assistant", **{"requestId": f"req_{identifier}", "message": message, **fields})

    def text(self, identifier: str, text: str = "An answer.", **fields: Any) -> str:
        return self.block(identifier, {"type": "text", "text": text}, **fields)

    def call(self, identifier: str, call: str, name: str = "Bash", **fields: Any) -> str:
        part = {"type": "tool_use", "id": call, "name": name, "input": {"command": call}}
        return self.block(identifier, part, **fields)

    def attachment(self, kind: str, **fields: Any) -> str:
        return self.add(type="attachment", attachment={"type": kind, **fields})

    def boundary(self, **metadata: Any) -> str:
        before, self.parent = self.parent, None
        details = {"trigger": "auto", "preTokens": 160_000, **metadata}
        return self.add(type="system", subtype="compact_boundary", logicalParentUuid=before, compactMetadata=details)

    def summary(self, text: str = "This session is being continued from a previous conversation.") -> str:
        return self.prompt(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def encoded(self) -> list[bytes]:
        return [json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for line in self.lines]

    def write(self, path: Path) -> Path:
        path.write_bytes(b"".join(self.encoded()))
        return path


def texts(session: Session, message: int) -> list[str]:
    """The texts of a message's blocks."""
    return [session.text(block) for block in session.messages[message].blocks]


def outline(session: Session) -> list[tuple[str, list[str]]]:
    """Every message's role and the texts of its blocks."""
    return [(message.role.value, texts(session, index)) for index, message in enumerate(session.messages)]


def prompt_texts(session: Session, call: int) -> list[str]:
    """The texts of a call's prompt, in the order they are sent."""
    recorded = session.calls[call]
    members = session.contexts[recorded.context].members[: recorded.prompt_messages]
    return [text for member in members for text in texts(session, member)]


def session_at(path: Path, age: int = 0) -> Path:
    """A small session, written so many seconds before others."""
    path.parent.mkdir(parents=True, exist_ok=True)
    script = Script()
    script.prompt("go")
    script.text("m1")
    script.write(path)
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    return path


def png(width: int, height: int) -> str:
    """The beginning of a picture of so many pixels, in base64."""
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return base64.b64encode(header + b"\x08\x06\x00\x00\x00" + bytes(200)).decode()
