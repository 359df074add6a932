"""Sessions as OpenCode stores them, made for tests: as a database, as a tree of files, and as an export."""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

START = 1_780_000_000_000

SCHEMA = """
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, time_created integer NOT NULL);
CREATE TABLE account (id text PRIMARY KEY, email text, access_token text NOT NULL);
CREATE TABLE session (
    id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL,
    title text NOT NULL, version text NOT NULL, share_url text, summary_additions integer, revert text, permission text,
    time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer);
CREATE TABLE message (
    id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
    data text NOT NULL);
CREATE TABLE part (
    id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_idx ON message (session_id);
CREATE INDEX part_session_idx ON part (session_id);
CREATE INDEX part_message_idx ON part (message_id);
"""

SESSION_ROW = """INSERT INTO session VALUES (?, 'prj', ?, 'a-b', ?, ?, ?, NULL, 0, ?, NULL, ?, ?, NULL, NULL)
    ON CONFLICT (id) DO UPDATE
    SET title = excluded.title, revert = excluded.revert, time_updated = excluded.time_updated"""

MESSAGE_ROW = """INSERT INTO message VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET data = excluded.data, time_updated = excluded.time_updated
    WHERE data <> excluded.data"""

PART_ROW = """INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET data = excluded.data, time_updated = excluded.time_updated
    WHERE data <> excluded.data"""

Statement = tuple[str, tuple[Any, ...]]


def tokens(
    prompt: int, output: int, reasoning: int = 0, read: int = 0, write: int = 0, *, total: bool = True
) -> dict[str, Any]:
    counts = {"input": prompt, "output": output, "reasoning": reasoning, "cache": {"read": read, "write": write}}
    return {"total": prompt + output + reasoning + read + write, **counts} if total else counts


@dataclass
class Store:
    """A session being written. Every message and part is later than the one before."""

    identifier: str = "ses_2200"
    parent: str | None = None
    title: str = "A title"
    messages: list[dict[str, Any]] = field(default_factory=list)
    revert: dict[str, str] | None = None
    created: int = START
    clock: int = START
    number: int = 0

    def _next(self, prefix: str) -> str:
        self.number += 1
        self.clock += 1000
        return f"{prefix}_{self.clock:x}{self.number:04d}"

    def message(self, role: str, **info: Any) -> str:
        identifier = self._next("msg")
        known = {"role": role, "time": {"created": self.clock}, "id": identifier, "sessionID": self.identifier}
        self.messages.append({"info": {**known, **info}, "parts": []})
        return identifier

    def part(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Add a part to the last message."""
        holder = self.messages[-1]
        beside = {"sessionID": self.identifier, "messageID": holder["info"]["id"]}
        holder["parts"].append({"type": kind, **fields, "id": self._next("prt"), **beside})
        made: dict[str, Any] = holder["parts"][-1]
        return made

    def prompt(self, text: str = "go", **info: Any) -> str:
        identifier = self.message("user", agent="build", model={"providerID": "p", "modelID": "m"}, **info)
        self.part("text", text=text)
        return identifier

    def answer(self, parent: str = "", **info: Any) -> str:
        about = {"parentID": parent, "modelID": "claude-sonnet-4.6", "providerID": "anthropic", "mode": "build"}
        known = {"tokens": tokens(0, 0), "path": {"cwd": "/project"}, "cost": 0}
        return self.message("assistant", **{**about, **known, **info})

    def tool(
        self, call: str, output: str = "done", name: str = "read", status: str = "completed", **state: Any
    ) -> dict[str, Any]:
        known = {
            "status": status,
            "input": {"path": call},
            "output": output,
            "title": "",
            "time": {"start": self.clock},
        }
        return self.part("tool", tool=name, callID=call, state={**known, **state})

    def step(self, *calls: str, text: str = "", usage: dict[str, Any] | None = None) -> None:
        """A step of the response under way."""
        self.part("step-start", snapshot="abc")
        self.part("reasoning", text="hm", metadata={"anthropic": {"signature": "x" * 40}})
        if text:
            self.part("text", text=text)
        for call in calls:
            self.tool(call)
        usage = usage if usage is not None else tokens(100, 10)
        self.part("step-finish", reason="tool-calls" if calls else "stop", tokens=usage, cost=0)
        self.messages[-1]["info"] |= {"tokens": usage, "finish": "tool-calls" if calls else "stop"}

    def response(self, *calls: str, text: str = "", usage: dict[str, Any] | None = None, **info: Any) -> str:
        identifier = self.answer(**info)
        self.step(*calls, text=text, usage=usage)
        return identifier

    def info(self) -> dict[str, Any]:
        known = {"id": self.identifier, "slug": "a-b", "projectID": "prj", "directory": "/project", "title": self.title}
        time = {"created": self.created, "updated": self.clock}
        more = {"parentID": self.parent} if self.parent else {}
        return {**known, **more, "version": "1.4.3", "time": time, **({"revert": self.revert} if self.revert else {})}

    def fork(self, identifier: str) -> Store:
        later = self.clock + 60_000
        made = Store(identifier, title=f"{self.title} (fork #1)", created=later, clock=later)
        for message in copy.deepcopy(self.messages):
            info = message["info"] | {"id": made._next("msg"), "sessionID": identifier}
            beside = {"sessionID": identifier, "messageID": info["id"]}
            parts = [part | beside | {"id": made._next("prt")} for part in message["parts"]]
            made.messages.append({"info": info, "parts": parts})
        return made

    def export(self, path: Path, indent: int | None = 2) -> Path:
        path.write_text(json.dumps({"info": self.info(), "messages": self.messages}, indent=indent))
        return path

    def tree(self, storage: Path) -> Path:
        """The session's own file."""
        for name, value in self.files():
            (storage / name).parent.mkdir(parents=True, exist_ok=True)
            (storage / name).write_text(json.dumps(value))
        (storage / "part").mkdir(exist_ok=True)
        (storage / "message").mkdir(exist_ok=True)
        return storage / "session" / "prj" / f"{self.identifier}.json"

    def files(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield f"session/prj/{self.identifier}.json", self.info()
        for message in self.messages:
            info = message["info"]
            yield f"message/{self.identifier}/{info['id']}.json", info
            for part in message["parts"]:
                yield f"part/{info['id']}/{part['id']}.json", part

    def rows(self) -> list[Statement]:
        info = self.info()
        revert = json.dumps(self.revert) if self.revert else None
        about = (info["directory"], self.title, info["version"], revert, self.created, self.clock)
        made: list[Statement] = [(SESSION_ROW, (self.identifier, self.parent, *about))]
        for message in self.messages:
            fields = copy.deepcopy(message["info"])
            identifier, created = fields.pop("id"), fields.get("time", {}).get("created", START)
            fields.pop("sessionID", None)
            made.append((MESSAGE_ROW, (identifier, self.identifier, created, self.clock, json.dumps(fields))))
            for part in message["parts"]:
                fields = {name: value for name, value in part.items() if name not in ("id", "sessionID", "messageID")}
                place = (part["id"], identifier, self.identifier, self.clock, self.clock)
                made.append((PART_ROW, (*place, json.dumps(fields))))
        return made

    def database(self, path: Path) -> Path:
        """The database, made where there is none."""
        is_new = not path.exists()
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            if is_new:
                connection.executescript(SCHEMA)
            connection.execute("BEGIN")
            for statement, values in self.rows():
                connection.execute(statement, values)
            connection.execute("COMMIT")
        return path
