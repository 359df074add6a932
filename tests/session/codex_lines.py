"""Lines as Codex writes them, made for tests."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

START = 1_780_000_000.0


@dataclass
class Rollout:
    """A rollout being written line by line, a second apart unless `clock` is set.

    Attributes:
        counts_first: Usage is written before the items of its response, as until 2025.
    """

    counts_first: bool = False
    lines: list[dict[str, Any]] = field(default_factory=list)
    clock: float = START
    total: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, payload: dict[str, Any], *, step: float = 1.0) -> dict[str, Any]:
        stamp = datetime.fromtimestamp(self.clock, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.lines.append({"timestamp": stamp, "type": kind, "payload": payload})
        self.clock += step
        return self.lines[-1]

    def header(self, identifier: str = "own", **fields: Any) -> None:
        known = {"id": identifier, "cwd": "/project", "originator": "codex_cli_rs", "cli_version": "0.140.0"}
        self.add("session_meta", {**known, **fields})

    def item(self, kind: str, **fields: Any) -> None:
        self.add("response_item", {"type": kind, **fields})

    def event(self, kind: str, **fields: Any) -> None:
        self.add("event_msg", {"type": kind, **fields})

    def turn(self, model: str = "gpt-5.5", **fields: Any) -> None:
        self.add("turn_context", {"model": model, "cwd": "/project", **fields})

    def message(self, role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        self.item("message", role=role, content=[{"type": kind, "text": text}])

    def prompt(self, text: str) -> None:
        self.message("user", text)
        self.event("user_message", message=text)

    def reasoning(self, encrypted: str = "gAAAA", summary: str = "") -> None:
        parts = [{"type": "summary_text", "text": summary}] if summary else []
        self.item("reasoning", summary=parts, content=None, encrypted_content=encrypted)

    def call(self, call: str, name: str = "exec_command", arguments: str = '{"cmd":"ls"}') -> None:
        self.item("function_call", name=name, arguments=arguments, call_id=call)

    def output(self, call: str, output: Any = "Process exited with code 0\nOutput:\nok\n") -> None:
        self.item("function_call_output", call_id=call, output=output)

    def usage(self, prompt: int, output: int, cached: int = 0, reasoning: int = 0, written: int = 0) -> None:
        """A report of a new call."""
        last = {
            "input_tokens": prompt,
            "cached_input_tokens": cached,
            "output_tokens": output,
            "reasoning_output_tokens": reasoning,
            "total_tokens": prompt + output,
        } | ({"cache_write_input_tokens": written} if written else {})
        self.total = {name: self.total.get(name, 0) + count for name, count in last.items()}
        self.report(last)

    def report(self, last: dict[str, int]) -> None:
        info = {"total_token_usage": dict(self.total), "last_token_usage": last, "model_context_window": 258_400}
        self.event("token_count", info=info, rate_limits=None)

    def response(self, *calls: str, usage: tuple[int, int] | None = (100, 10), text: str = "") -> None:
        """A response with its usage where this version has it, and the outputs of its calls."""
        if self.counts_first and usage is not None:
            self.usage(*usage)
        self.reasoning()
        if text:
            self.message("assistant", text)
        for call in calls:
            self.call(call)
        if not self.counts_first and usage is not None:
            self.usage(*usage)
        for call in calls:
            self.output(call)
        if self.counts_first:
            self.turn()

    def encoded(self) -> list[bytes]:
        return [json.dumps(line).encode() + b"\n" for line in self.lines]

    def write(self, path: Path) -> Path:
        path.write_bytes(b"".join(self.encoded()))
        return path
