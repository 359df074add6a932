"""Databases as the Agents SDK writes them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.session import databases

TABLES = """
CREATE TABLE agent_sessions (
    session_id TEXT PRIMARY KEY,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE agent_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    message_data TEXT NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    FOREIGN KEY (session_id) REFERENCES agent_sessions (session_id) ON DELETE CASCADE
);
"""


def item(value: dict[str, Any], session: str = "s1", minute: int = 0) -> databases.Statement:
    time = f"2026-03-01 10:{minute % 60:02}:00"
    columns = {"session_id": session, "message_data": json.dumps(value), "created_at": time}
    return databases.insert("agent_messages", columns)


def turns(count: int, session: str = "s1") -> list[databases.Statement]:
    """The items of so many turns."""
    made = [item({"role": "user", "content": "go"}, session)]
    for turn in range(count):
        call = {"type": "function_call", "call_id": f"c{turn}", "name": "ls", "arguments": "{}", "id": f"f{turn}"}
        made.append(item(call, session, turn))
        made.append(item({"type": "function_call_output", "call_id": f"c{turn}", "output": f"result {turn}"}, session))
    return made


def write(path: Path, count: int) -> None:
    """Bring a database, perhaps none yet, to so many turns."""
    if not path.exists():
        databases.created(path, TABLES, databases.insert("agent_sessions", {"session_id": "s1"}))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (done,) = connection.execute("SELECT count(*) FROM agent_messages").fetchone()
        databases.run(connection, *turns(count)[done:])
