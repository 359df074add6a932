"""Databases of spans as Copilot writes them in VS Code."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tests.session import databases

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    Record = dict[str, Any]

TABLES = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
CREATE TABLE spans (
    span_id TEXT PRIMARY KEY, trace_id TEXT NOT NULL, parent_span_id TEXT, name TEXT NOT NULL,
    start_time_ms INTEGER NOT NULL, end_time_ms INTEGER NOT NULL, status_code INTEGER NOT NULL DEFAULT 0,
    status_message TEXT, operation_name TEXT, provider_name TEXT, agent_name TEXT, conversation_id TEXT,
    request_model TEXT, response_model TEXT, input_tokens INTEGER, output_tokens INTEGER, cached_tokens INTEGER,
    reasoning_tokens INTEGER, tool_name TEXT, tool_call_id TEXT, tool_type TEXT, chat_session_id TEXT,
    turn_index INTEGER, ttft_ms REAL
);
CREATE TABLE span_attributes (
    span_id TEXT NOT NULL REFERENCES spans(span_id) ON DELETE CASCADE, key TEXT NOT NULL, value TEXT,
    PRIMARY KEY (span_id, key)
);
CREATE TABLE span_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, span_id TEXT NOT NULL REFERENCES spans(span_id) ON DELETE CASCADE,
    name TEXT NOT NULL, timestamp_ms INTEGER NOT NULL, attributes TEXT
);
"""

START = 1_772_359_200_000

COLUMN_OF = {
    "operation_name": "gen_ai.operation.name",
    "conversation_id": "gen_ai.conversation.id",
    "request_model": "gen_ai.request.model",
    "response_model": "gen_ai.response.model",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "tool_call_id": "gen_ai.tool.call.id",
    "chat_session_id": "copilot_chat.chat_session_id",
}


def cut(text: str, most: int = 64_000) -> str:
    note = f"...[truncated, original {len(text)} chars]"
    return text if len(text) <= most else text[: most - len(note)] + note


def span(number: int, name: str, attributes: Record, time: float | None = None) -> list[databases.Statement]:
    """A span, which began at a time in seconds: its row, and a row an attribute."""
    began = START + 1_000 * number if time is None else round(time * 1_000)
    row: Record = {"span_id": f"s{number}", "trace_id": "t1", "name": name}
    row |= {"start_time_ms": began, "end_time_ms": began + 900}
    row |= {column: attributes.get(attribute) for column, attribute in COLUMN_OF.items()}
    made = [databases.insert("spans", row)]
    for key, value in attributes.items():
        written = json.dumps(value) if isinstance(value, list) else str(value)
        made.append(databases.insert("span_attributes", {"span_id": f"s{number}", "key": key, "value": written}))
    return made


def request(
    number: int,
    messages: Sequence[Record],
    answer: Record,
    tokens: tuple[int, int, int] = (1_000, 400, 20),
    most: int = 64_000,
    session: str = "chat-1",
    time: float | None = None,
    model: str = "gpt-5.1",
    **rest: Any,
) -> list[databases.Statement]:
    """The span of a request; its tokens are prompt, those of them that were read from the cache, and output."""
    prompt, read, output = tokens
    attributes: Record = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": f"request-{number}",
        "gen_ai.request.model": model,
        "gen_ai.response.model": model,
        "copilot_chat.chat_session_id": session,
        "gen_ai.input.messages": cut(json.dumps(list(messages)), most),
        "gen_ai.output.messages": cut(json.dumps([answer])),
        "gen_ai.usage.input_tokens": prompt,
        "gen_ai.usage.cache_read.input_tokens": read,
        "gen_ai.usage.output_tokens": output,
    }
    attributes |= {name.replace("__", "."): value for name, value in rest.items()}
    return span(number, f"chat {model}", attributes, time)


def tool(number: int, identifier: str, result: str) -> list[databases.Statement]:
    """The span of a tool."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "read_file",
        "gen_ai.tool.call.id": identifier,
        "gen_ai.tool.call.result": result,
    }
    return span(number, "execute_tool read_file", attributes)


def said(text: str, role: str = "user") -> Record:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def called(text: str, identifier: str) -> Record:
    call = {"type": "tool_call", "id": identifier, "name": "read_file", "arguments": {"filePath": "/work/a.py"}}
    return {"role": "assistant", "parts": [{"type": "text", "content": text}, call]}


def found(identifier: str, text: str) -> Record:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": identifier, "content": text}]}


def conversation(turns: int, most: int = 64_000) -> list[databases.Statement]:
    messages = [said("You help.", "system"), said("go")]
    made: list[databases.Statement] = []
    for turn in range(turns):
        answer = called(f"turn {turn}", f"c{turn}")
        made += request(2 * turn, messages, answer, (1_000 + 10 * turn, 900, 20), most)
        made += tool(2 * turn + 1, f"c{turn}", f"result {turn}")
        messages += [answer, found(f"c{turn}", f"result {turn}")]
    return made


def create(path: Path, *statements: databases.Statement) -> Path:
    return databases.created(path, TABLES, *statements)


def write(path: Path, turns: int) -> None:
    """Bring a database, perhaps none yet, to so many requests."""
    if not path.exists():
        create(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM spans").fetchone()
        (more,) = connection.execute("SELECT count(*) FROM span_attributes").fetchone()
        databases.run(connection, *conversation(turns, 2_000)[rows + more :])
