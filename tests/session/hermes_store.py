"""Databases as Hermes writes them, made for tests."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.session.databases import Statement, created, insert

FIRST_TABLES = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT, system_prompt TEXT,
    parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,
    message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0,
    input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
    content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER,
    finish_reason TEXT
);
"""

LATER_COLUMNS = """
CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT NOT NULL);
CREATE TABLE state_meta (key TEXT PRIMARY KEY, value TEXT);
ALTER TABLE sessions ADD COLUMN system_prompt_hash TEXT;
ALTER TABLE sessions ADD COLUMN cwd TEXT;
ALTER TABLE sessions ADD COLUMN title TEXT;
ALTER TABLE sessions ADD COLUMN last_activity_at REAL;
ALTER TABLE messages ADD COLUMN reasoning TEXT;
ALTER TABLE messages ADD COLUMN reasoning_content TEXT;
ALTER TABLE messages ADD COLUMN _compressed_summary INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN active INTEGER NOT NULL DEFAULT 1;
ALTER TABLE messages ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN api_content TEXT;
ALTER TABLE messages ADD COLUMN display_kind TEXT;
ALTER TABLE messages ADD COLUMN display_identity BLOB;
ALTER TABLE messages ADD COLUMN message_uid TEXT;
"""

SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted into the summary below. "


@dataclass
class HermesStore:
    """Statements that write sessions, one after the other; every message a second after the one before."""

    time: float = 1_772_359_200.0
    messages: int = 0

    def session(self, identifier: str, **columns: Any) -> Statement:
        self.time += 1
        return insert(
            "sessions", {"id": identifier, "source": "cli", "model": "m1", "started_at": self.time, **columns}
        )

    def message(self, session: str, role: str, content: Any, **columns: Any) -> Statement:
        self.time += 1
        self.messages += 1
        values = {"id": self.messages, "session_id": session, "role": role, "content": content, "timestamp": self.time}
        return insert("messages", {**values, **columns})

    def user(self, session: str, text: str, **columns: Any) -> Statement:
        return self.message(session, "user", text, **columns)

    def answer(self, session: str, text: str, *calls: str, **columns: Any) -> Statement:
        function = {"name": "terminal", "arguments": '{"command": "ls"}'}
        made = [{"id": call, "call_id": call, "type": "function", "function": function} for call in calls]
        return self.message(session, "assistant", text, tool_calls=json.dumps(made) if made else None, **columns)

    def result(self, session: str, call: str, text: str, **columns: Any) -> Statement:
        return self.message(session, "tool", text, tool_call_id=call, tool_name="terminal", **columns)

    def end(self, session: str, reason: str) -> Statement:
        return "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ?", (self.time, reason, session)


def create(path: Path, *statements: Statement, is_first: bool = False, mode: str = "wal") -> Path:
    return created(path, FIRST_TABLES + ("" if is_first else LATER_COLUMNS), *statements, mode=mode)
