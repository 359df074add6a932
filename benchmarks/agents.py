"""Agents that write sessions of five formats, one call at a time, for benchmarks and tests of running sessions.

Each call reports a prompt of `prompt_of(number)` tokens, so that a status shows which call it was made from.
"""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid5

if TYPE_CHECKING:
    from pathlib import Path

FIRST_PROMPT, GROWTH, OUTPUT = 20_000, 100, 50
"""Tokens of the first prompt, by which each grows, and of each response."""

CLAUDE, GPT = "claude-opus-4-5-20251101", "gpt-5.4"

_NAMES: Final = UUID("8d9c2ad0-0f5e-4d5c-9d0e-2f5b6a1c7e11")


def prompt_of(number: int) -> int:
    """Return the prompt tokens of a call; the first is number 0."""
    return FIRST_PROMPT + GROWTH * number


def _stamp(seconds: float | None = None) -> str:
    at = datetime.fromtimestamp(time.time() if seconds is None else seconds, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class Agent:
    """A session that grows.

    Attributes:
        path: Its file.
        calls: Number of calls so far.
        clock: Time of the next record in seconds since the epoch; None for the current time.
    """

    def __init__(self, path: Path, clock: float | None = None) -> None:
        self.path = path
        self.calls = 0
        self.clock = clock
        path.parent.mkdir(parents=True, exist_ok=True)
        self.begin()

    def begin(self) -> None:
        """Write the first records: the user's prompt."""
        raise NotImplementedError

    def call(self) -> int:
        """Write a response with a tool call, and its result; return the call's number."""
        raise NotImplementedError

    def _next(self) -> int:
        self.calls += 1
        return self.calls - 1

    def _append(self, *records: dict[str, Any]) -> None:
        with self.path.open("ab", buffering=0) as file:
            file.write(b"".join(json.dumps(record).encode() + b"\n" for record in records))


class ClaudeCode(Agent):
    """Writes a Claude Code session, one line per block."""

    def __init__(
        self, path: Path, clock: float | None = None, *, version: str = "2.1.219", model: str = CLAUDE
    ) -> None:
        self.session = path.stem
        self.version, self.model = version, model
        self._last: str | None = None
        super().__init__(path, clock)

    def _line(self, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
        uuid = str(uuid5(_NAMES, f"{self.session}{self._last}{kind}"))
        message = {"role": kind, "content": content, **fields.pop("message", {})}
        line = {"parentUuid": self._last, "isSidechain": False, "userType": "external", "cwd": "/work/api"}
        line |= {"sessionId": self.session, "version": self.version, "type": kind, "message": message, "uuid": uuid}
        self._last = uuid
        return line | {"timestamp": _stamp(self.clock)} | fields

    def begin(self) -> None:
        self._append(self._line("user", "Fix the failing test."))

    def call(self, *, tool: bool = True, same: bool = False) -> int:
        """Write a call.

        Args:
            tool: Call a tool; otherwise the turn ends.
            same: Repeat the arguments of the previous tool call.
        """
        number = self._next()
        usage = {"input_tokens": 10, "cache_read_input_tokens": prompt_of(number) - GROWTH - 10}
        usage |= {"cache_creation_input_tokens": GROWTH, "output_tokens": OUTPUT}
        message = {"id": f"msg_{self.session}_{number}", "model": self.model, "usage": usage}
        identifier = f"toolu_{number}"
        block: dict[str, Any] = {"type": "text", "text": "Done."}
        if tool:
            command = "pytest" if same else f"pytest -k test_{number}"
            block = {"type": "tool_use", "id": identifier, "name": "Bash", "input": {"command": command}}
        self._append(self._line("assistant", [block], message=message))
        if tool:
            self._append(
                self._line("user", [{"type": "tool_result", "tool_use_id": identifier, "content": "1 failed"}])
            )
        return number

    def compact(self, tokens: int) -> None:
        """Write an automatic compaction and the summary."""
        about = {"trigger": "auto", "preTokens": tokens}
        line = self._line("system", "Conversation compacted", subtype="compact_boundary", compactMetadata=about)
        line |= {"content": "Conversation compacted", "parentUuid": None, "logicalParentUuid": line["parentUuid"]}
        del line["message"]
        self._append(line, self._line("user", "The summary.", isCompactSummary=True))


class Codex(Agent):
    """Writes a rollout of Codex."""

    def _line(self, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": _stamp(self.clock), "type": kind, "payload": payload}

    def begin(self) -> None:
        prompt = [{"type": "input_text", "text": "Fix the failing test."}]
        meta = {
            "id": self.path.stem[-36:],
            "timestamp": _stamp(self.clock),
            "cwd": "/work/web",
            "cli_version": "0.140.0",
        }
        self._append(
            self._line("session_meta", originator="codex", source="cli", **meta),
            self._line("turn_context", turn_id="turn", cwd="/work/web", model=GPT),
            self._line("response_item", type="message", role="user", content=prompt),
        )

    def call(self) -> int:
        number = self._next()
        prompt, identifier = prompt_of(number), f"call_{number}"
        usage = {"input_tokens": prompt, "cached_input_tokens": prompt - GROWTH, "output_tokens": OUTPUT}
        usage |= {"reasoning_output_tokens": 0, "total_tokens": prompt + OUTPUT}
        info = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258_400}
        call = {"name": "shell", "arguments": json.dumps({"command": f"ls {number}"}), "call_id": identifier}
        self._append(
            self._line("response_item", type="function_call", **call),
            self._line("event_msg", type="token_count", info=info),
            self._line("response_item", type="function_call_output", call_id=identifier, output="a.py"),
        )
        return number


class Pi(Agent):
    """Writes a session of pi."""

    def _message(self, **message: Any) -> dict[str, Any]:
        return {"type": "message", "timestamp": _stamp(self.clock), "message": message}

    def begin(self) -> None:
        about = {"id": self.path.stem[-36:], "timestamp": _stamp(self.clock), "cwd": "/work/docs"}
        self._append(
            {"type": "session", **about, "provider": "anthropic", "modelId": CLAUDE, "thinkingLevel": "off"},
            self._message(role="user", content=[{"type": "text", "text": "Fix the failing test."}]),
        )

    def call(self) -> int:
        number = self._next()
        prompt, identifier = prompt_of(number), f"toolu_{number}"
        usage = {"input": 10, "output": OUTPUT, "cacheRead": prompt - GROWTH - 10, "cacheWrite": GROWTH}
        call = {"type": "toolCall", "id": identifier, "name": "bash", "arguments": {"command": f"ls {number}"}}
        about = {"api": "anthropic-messages", "provider": "anthropic", "model": CLAUDE, "stopReason": "toolUse"}
        result = {"toolCallId": identifier, "toolName": "bash", "content": [{"type": "text", "text": "a.py"}]}
        self._append(
            self._message(role="assistant", content=[call], usage=usage | {"totalTokens": prompt + OUTPUT}, **about),
            self._message(role="toolResult", isError=False, **result),
        )
        return number


class Gemini(Agent):
    """Writes a session of Gemini CLI: one document, replaced with every change."""

    def begin(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._add(type="user", content=[{"text": "Fix the failing test."}])

    def _add(self, **message: Any) -> None:
        self._messages.append({"id": str(len(self._messages)), "timestamp": _stamp(self.clock), **message})
        about = {"sessionId": self.path.stem, "projectHash": "0" * 64, "startTime": self._messages[0]["timestamp"]}
        document = {**about, "lastUpdated": _stamp(self.clock), "messages": self._messages}
        new = self.path.with_name(f".{self.path.name}.new")
        new.write_text(json.dumps(document, indent=2), encoding="utf-8")
        new.replace(self.path)

    def call(self) -> int:
        number = self._next()
        prompt = prompt_of(number)
        tokens = {"input": prompt, "output": OUTPUT, "cached": prompt - GROWTH, "thoughts": 0, "tool": 0}
        answer = {"id": f"c{number}", "name": "read_file", "response": {"output": "a.py"}}
        call = {"id": f"c{number}", "name": "read_file", "args": {"path": f"{number}.py"}, "status": "success"}
        call["result"] = [{"functionResponse": answer}]
        tokens["total"] = prompt + OUTPUT
        self._add(type="gemini", content="", toolCalls=[call], tokens=tokens, model="gemini-3-flash-preview")
        return number


SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS session_v2 (
    id text PRIMARY KEY, project_id text, parent_id text, fork_session_id text, fork_boundary text, slug text,
    directory text NOT NULL, title text NOT NULL, version text NOT NULL, cost real DEFAULT 0,
    tokens_input integer DEFAULT 0, tokens_output integer DEFAULT 0, tokens_reasoning integer DEFAULT 0,
    tokens_cache_read integer DEFAULT 0, tokens_cache_write integer DEFAULT 0, revert text,
    time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE IF NOT EXISTS session_message (
    id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
"""


class OpenCode(Agent):
    """Writes a session in a database of OpenCode 2; the path names the database and the session."""

    def begin(self) -> None:
        database, _, self.session = self.path.name.rpartition("#")
        self.database = self.path.with_name(database)
        now = round(time.time() * 1000)
        row = (self.session, "/work/db", "A title", "2.0.12", now, now)
        columns = "id, directory, title, version, time_created, time_updated"
        self._write(f"INSERT INTO session_v2 ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row)  # noqa: S608  constants
        self._rows = 0
        self._row("user", text="Fix the failing test.")

    def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        with closing(sqlite3.connect(self.database, timeout=30)) as connection, connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(SCHEMA)
            connection.execute(statement, values)
            connection.execute("UPDATE session_v2 SET time_updated = ? WHERE id = ?", (values[-2], self.session))

    def _row(self, kind: str, **data: Any) -> None:
        now = round(1000 * (time.time() if self.clock is None else self.clock))
        data = {"time": {"created": now, "completed": now}, **data}
        values = (f"msg_{self.session}_{self._rows}", self.session, kind, self._rows, now, now, json.dumps(data))
        self._write("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        self._rows += 1

    def call(self) -> int:
        number = self._next()
        state = {
            "status": "completed",
            "input": {"path": f"{number}.py"},
            "content": [{"type": "text", "text": "a.py"}],
        }
        part = {"type": "tool", "id": f"call_{number}", "name": "read", "state": state}
        cache = {"read": prompt_of(number) - GROWTH - 10, "write": GROWTH}
        tokens = {"input": 10, "output": OUTPUT, "reasoning": 0, "cache": cache}
        model = {"id": "claude-sonnet-4-5", "providerID": "anthropic"}
        about = {"agent": "build", "model": model, "finish": "tool-calls", "cost": 0.0}
        self._row("assistant", content=[part], tokens=tokens, **about)
        return number


def make_agent(kind: type[Agent], folder: Path, number: int) -> Agent:
    """Create an agent of a kind in a folder, with a file name as the agent gives it."""
    name = str(uuid5(_NAMES, f"{kind.__name__}{number}"))
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    paths = {
        ClaudeCode: folder / "claude" / f"{name}.jsonl",
        Codex: folder / "codex" / f"rollout-{stamp}-{name}.jsonl",
        Pi: folder / "pi" / f"{stamp}-000Z_{name}.jsonl",
        Gemini: folder / "gemini" / f"session-{stamp[:16]}-{name[:8]}.json",
        OpenCode: folder / "opencode" / f"opencode.db#ses_{number}",
    }
    return kind(paths[kind])


KINDS: Final = (ClaudeCode, Codex, Pi, Gemini, OpenCode)
