"""Databases and files as Goose writes them, made for tests."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.session.databases import Statement, created, insert

TABLES = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
    user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    extension_data TEXT DEFAULT '{}', total_tokens INTEGER, input_tokens INTEGER, output_tokens INTEGER,
    accumulated_total_tokens INTEGER, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,
    schedule_id TEXT, recipe_json TEXT, user_recipe_values_json TEXT, provider_name TEXT, model_config_json TEXT
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
    content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    tokens INTEGER, metadata_json TEXT
);
"""

LEDGER = """
ALTER TABLE messages ADD COLUMN message_id TEXT;
ALTER TABLE sessions ADD COLUMN accumulated_cost REAL;
ALTER TABLE sessions ADD COLUMN parent_session_id TEXT;
CREATE TABLE usage_ledger (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    created_timestamp INTEGER NOT NULL, model TEXT, input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER,
    cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL, cost_source TEXT, is_compaction INTEGER DEFAULT 0
);
"""

LEDGER_TABLES = TABLES + LEDGER
"""The tables since schema 15."""

FIRST_TABLES = (
    TABLES.replace(", metadata_json TEXT", "")
    .replace("name TEXT NOT NULL DEFAULT '', ", "")
    .replace(", provider_name TEXT, model_config_json TEXT", "")
)

CONTINUE_PREFIX = "Your context was compacted. The previous message contains a summary of the conversation so far."

Message = dict[str, Any]


def request(call: str, name: str = "developer__shell", **arguments: Any) -> Message:
    return {
        "type": "toolRequest",
        "id": call,
        "toolCall": {"status": "success", "value": {"name": name, "arguments": arguments or {"command": "ls"}}},
    }


def response(call: str, *items: Any, **value: Any) -> Message:
    content = [item if isinstance(item, dict) else {"type": "text", "text": item} for item in items]
    return {
        "type": "toolResponse",
        "id": call,
        "toolResult": {"status": "success", "value": {"content": content, "isError": False, **value}},
    }


def used(tokens: tuple[int, int, int, int], **more: Any) -> Message:
    names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    return {**dict(zip(names, tokens, strict=True)), "totalTokens": tokens[0] + tokens[3], **more}


def ledger(
    session: str, time: int, tokens: tuple[int, int, int, int], model: str | None = "m1", **more: Any
) -> Statement:
    """A row of the ledger; tokens as in `used`."""
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    columns = {**dict(zip(names, tokens, strict=True)), "total_tokens": tokens[0] + tokens[3], **more}
    return insert("usage_ledger", {"session_id": session, "created_timestamp": time, "model": model, **columns})


@dataclass
class GooseScript:
    """A conversation being held, message by message."""

    messages: list[Message] = field(default_factory=list)

    def add(self, role: str, *parts: Any, visible: tuple[bool, bool] = (True, True), **about: Any) -> Message:
        content = [part if isinstance(part, dict) else {"type": "text", "text": part} for part in parts]
        metadata = {"userVisible": visible[0], "agentVisible": visible[1], **about}
        made = {"role": role, "created": 1_772_359_200 + len(self.messages), "content": content, "metadata": metadata}
        self.messages.append(made)
        return made

    def user(self, *parts: Any, **fields: Any) -> Message:
        return self.add("user", *parts, **fields)

    def answer(self, *parts: Any, **fields: Any) -> Message:
        return self.add("assistant", *parts, **fields)

    def compact(self, summary: str, preserved: str = "") -> None:
        for message in self.messages:
            message["metadata"] = {**message["metadata"], "agentVisible": False}
        self.user(summary, visible=(False, True))
        self.answer(CONTINUE_PREFIX, visible=(False, True))
        if preserved:
            self.user(preserved)

    def statements(self, session: str, start: int = 0) -> list[Statement]:
        query = "INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json) "
        return [
            (
                query + "VALUES (?, ?, ?, ?, ?)",
                (
                    session,
                    message["role"],
                    json.dumps(message["content"]),
                    message["created"],
                    json.dumps(message["metadata"]),
                ),
            )
            for message in self.messages[start:]
        ]

    def replaced(self, session: str) -> list[Statement]:
        return [("DELETE FROM messages WHERE session_id = ?", (session,)), *self.statements(session)]

    def lines(self, **metadata: Any) -> bytes:
        about = {"working_dir": "/project", "description": "A title", "message_count": len(self.messages)}
        return b"".join(json.dumps(line).encode() + b"\n" for line in [{**about, **metadata}, *self.messages])


def session(identifier: str, **columns: Any) -> Statement:
    return insert("sessions", {"id": identifier, "working_dir": "/project", **columns})


def create(path: Path, *statements: Statement, tables: str = TABLES) -> Path:
    return created(path, tables, *statements)
