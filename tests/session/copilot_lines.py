"""Events as Copilot CLI writes them, made for tests."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class CopilotScript:
    """An event log being written, each event linked to the one before."""

    lines: list[dict[str, Any]] = field(default_factory=list)

    def add(self, kind: str, agent: str = "", /, **data: Any) -> str:
        """Add an event; its id."""
        number = len(self.lines)
        identifier = f"{number:08x}-0000-4000-8000-000000000000"
        event = {
            "type": kind,
            "data": data,
            "id": identifier,
            "timestamp": f"2026-03-01T10:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
            "parentId": self.lines[-1]["id"] if self.lines else None,
        }
        self.lines.append({**event, **({"agentId": agent} if agent else {})})
        return identifier

    def start(self, **data: Any) -> None:
        """The first event."""
        about = {"sessionId": "s1", "version": 1, "copilotVersion": "1.0.74", "context": {"cwd": "/project"}}
        self.add("session.start", **{**about, **data})

    def user(self, text: str, agent: str = "", **data: Any) -> str:
        return self.add("user.message", agent, content=text, **data)

    def answer(self, text: str, *calls: tuple[str, str], agent: str = "", **data: Any) -> str:
        requests = [
            {"toolCallId": call, "name": name, "arguments": {"path": "a"}, "type": "function"} for call, name in calls
        ]
        number = len(self.lines)
        about = {"messageId": f"m{number}", "apiCallId": f"api{number}", "model": "gpt-5.4", "outputTokens": 7}
        return self.add("assistant.message", agent, content=text, toolRequests=requests, **{**about, **data})

    def result(self, call: str, text: str = "done", agent: str = "", **data: Any) -> str:
        self.add("tool.execution_start", agent, toolCallId=call, toolName="view", arguments={"path": "a"})
        result = {"content": text, "detailedContent": f"{text} at length"}
        return self.add(
            "tool.execution_complete", agent, **{"toolCallId": call, "success": True, "result": result, **data}
        )

    def hook(self, text: str) -> None:
        self.add("hook.start", hookInvocationId="h", hookType="preToolUse", input={"toolArgs": text})
        self.add("hook.end", hookInvocationId="h", hookType="preToolUse", success=True)

    def encoded(self) -> list[bytes]:
        return [json.dumps(line).encode() + b"\n" for line in self.lines]

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(self.encoded()))
        return path
