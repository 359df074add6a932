"""Sessions as OpenCode 2 stores them, made for tests: a row per session and a row per message, in one database."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

START = 1_791_000_000_000

SCHEMA = """
CREATE TABLE IF NOT EXISTS session_v2 (
    id text PRIMARY KEY, project_id text NOT NULL, parent_id text, fork_session_id text, fork_boundary text,
    slug text NOT NULL, directory text NOT NULL, title text, version text NOT NULL, cost real DEFAULT 0 NOT NULL,
    tokens_input integer DEFAULT 0 NOT NULL, tokens_output integer DEFAULT 0 NOT NULL,
    tokens_reasoning integer DEFAULT 0 NOT NULL, tokens_cache_read integer DEFAULT 0 NOT NULL,
    tokens_cache_write integer DEFAULT 0 NOT NULL, revert text, time_created integer NOT NULL,
    time_updated integer NOT NULL);
CREATE TABLE IF NOT EXISTS session_message (
    id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS session_message_session_seq_idx ON session_message (session_id, seq);
"""

MODEL = {"id": "claude-sonnet-4-5", "providerID": "anthropic"}


def tokens(prompt: int, output: int, reasoning: int = 0, read: int = 0, write: int = 0) -> dict[str, Any]:
    return {"input": prompt, "output": output, "reasoning": reasoning, "cache": {"read": read, "write": write}}


class Database:
    """A database in write-ahead mode, written row by row; every row is a second later than the one before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = START
        self.seq: dict[str, int] = {}
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(SCHEMA)

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            return connection.execute(statement, values).fetchall()

    def session(self, identifier: str = "ses_1", /, **columns: Any) -> str:
        self.clock += 1000
        known = {"project_id": "p", "slug": "a-b", "directory": "/project", "title": "A title", "version": "2.0.12"}
        row = {"id": identifier, **known, "time_created": self.clock, "time_updated": self.clock, **columns}
        places = ", ".join("?" * len(row))
        self.run(f"INSERT INTO session_v2 ({', '.join(row)}) VALUES ({places})", *row.values())  # noqa: S608
        return identifier

    def row(self, kind: str, session: str = "ses_1", identifier: str = "", **data: Any) -> str:
        self.clock += 1000
        seq = self.seq[session] = self.seq.get(session, -1) + 1
        identifier = identifier or f"msg_{session}_{seq}"
        data = {"time": {"created": self.clock, "completed": self.clock + 500}, **data}
        values = (identifier, session, kind, seq, self.clock, self.clock, json.dumps(data))
        self.run("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", *values)
        return identifier

    def change(self, identifier: str, **data: Any) -> None:
        """Change a row in place, as the program does while a response streams."""
        self.clock += 10
        ((text,),) = self.run("SELECT data FROM session_message WHERE id = ?", identifier)
        changed = json.dumps({**json.loads(text), **data})
        self.run("UPDATE session_message SET data = ?, time_updated = ? WHERE id = ?", changed, self.clock, identifier)

    def prompt(self, text: str, session: str = "ses_1", **data: Any) -> str:
        return self.row("user", session, text=text, **data)

    def answer(self, *content: dict[str, Any], session: str = "ses_1", **data: Any) -> str:
        known = {"agent": "build", "model": MODEL, "content": list(content), "finish": "stop", "cost": 0.0}
        return self.row("assistant", session, **{**known, "tokens": tokens(0, 0), **data})

    def fork(self, origin: str, identifier: str, boundary: str, *, before: bool = False, **columns: Any) -> str:
        """Copy the rows of a session up to a message, under new ids and with their times."""
        ((last,),) = self.run("SELECT seq FROM session_message WHERE id = ?", boundary)
        about = json.dumps({"type": "before" if before else "through", "messageID": boundary})
        self.session(identifier, **{"fork_session_id": origin, "fork_boundary": about, **columns})
        self.run(
            "INSERT INTO session_message SELECT 'msg_' || ? || '_copy_' || seq, ?, type, seq, time_created,"
            " time_updated, data FROM session_message WHERE session_id = ? AND seq <= ?",
            *(identifier, identifier, origin, last - before),
        )
        self.seq[identifier] = last - before
        return identifier


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def tool(call: str, output: str = "done", name: str = "read", **fields: Any) -> dict[str, Any]:
    state = {"status": "completed", "input": {"path": call}, "content": [text(output)]}
    return {"type": "tool", "id": call, "name": name, "state": state, "time": {"created": START}, **fields}
