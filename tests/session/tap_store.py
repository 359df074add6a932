"""Recordings of claude-tap as lines, bundles and databases, and the same requests as an HTTP archive."""

import base64
import gzip
import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.session import databases
from tests.session.run_files import STARTED, log_of_requests

Record = dict[str, Any]

TABLES = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, started_at TEXT NOT NULL, updated_at TEXT NOT NULL, date_key TEXT NOT NULL,
    client TEXT NOT NULL DEFAULT '', proxy_mode TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT 'active',
    record_count INTEGER NOT NULL DEFAULT 0, summary_json TEXT, legacy_source_key TEXT NOT NULL DEFAULT '',
    legacy_rel_path TEXT
);
CREATE TABLE records (
    session_id TEXT NOT NULL, record_index INTEGER NOT NULL, turn INTEGER, timestamp TEXT, payload_json TEXT NOT NULL,
    PRIMARY KEY (session_id, record_index)
);
CREATE TABLE record_blobs (
    session_id TEXT NOT NULL, hash TEXT NOT NULL, kind TEXT NOT NULL, payload_json TEXT NOT NULL,
    size_bytes INTEGER NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (session_id, hash)
);
PRAGMA user_version = 4;
"""

LEAST = 30


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(STARTED + seconds, UTC).isoformat()


def record(body: Any, answer: Any, turn: int = 1, path: str = "/v1/messages?beta=true", **response: Any) -> Record:
    return {
        "timestamp": stamp(turn),
        "request_id": f"req_{turn}",
        "turn": turn,
        "duration_ms": 900,
        "request": {"method": "POST", "path": path, "headers": {"authorization": "Bearer ***"}, "body": body},
        "response": {"status": 200, "headers": {}, "body": answer, **response},
        "upstream_base_url": "https://secret-host.example",
    }


def message(turn: int, text: str) -> Record:
    """An answer as claude-tap puts a stream together."""
    usage = {
        "input_tokens": turn + 1,
        "cache_read_input_tokens": 40,
        "cache_creation_input_tokens": 7,
        "output_tokens": 33,
        "cache_read_in_input": False,
    }
    call = {"type": "tool_use", "id": f"t-m{turn}", "name": "Bash", "input": {"command": "ls"}}
    content = [{"type": "text", "text": text}, call]
    return {"id": f"m{turn}", "role": "assistant", "model": "claude-x", "content": content, "usage": usage}


def records(turns: int, **asked: Any) -> list[Record]:
    """A conversation, every request of which repeats it."""
    bodies = [{**line["request"]["body"], **asked} for line in log_of_requests(turns)]
    return [record(body, message(turn, f"turn {turn}"), turn) for turn, body in enumerate(bodies)]


def compact(whole: Record, keep: Callable[[str, Any], None]) -> Record:
    made = json.loads(json.dumps(whole))
    body = made["request"]["body"]
    refs: list[Record] = []

    def kept(value: Any, path: str) -> Any:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        size = len(text.encode())
        if size < LEAST:
            return value
        name = "sha256:" + sha256(text.encode()).hexdigest()
        keep(name, value)
        refs.append({"path": path, "hash": name, "bytes": size})
        return {"__claude_tap_blob_ref__": {"version": 1, "kind": "json", "hash": name, "bytes": size}}

    for name in ("instructions", "tools"):
        if name in body:
            body[name] = kept(body[name], f"/request/body/{name}")
    for name in ("input", "messages"):
        if isinstance(body.get(name), list):
            body[name] = [kept(one, f"/request/body/{name}/{place}") for place, one in enumerate(body[name])]
    if not refs:
        return made
    about = {"version": 1, "encoding": "json-blob-ref", "refs": refs}
    return {"__claude_tap_compact_record__": about, "record": made}


def bundle(turns: int, **asked: Any) -> Record:
    blobs: dict[str, Any] = {}

    def keep(name: str, value: Any) -> None:
        blobs[name] = {"kind": "json", "bytes": 1, "payload": value}

    made = [compact(one, keep) for one in records(turns, **asked)]
    about = {"version": 1, "encoding": "json-blob-ref", "record_count": len(made), "blob_count": len(blobs)}
    return {"__claude_tap_compact_trace__": about, "records": made, "blobs": blobs}


def statements(
    made: list[Record], session: str = "s1", client: str = "claude", minute: int = 0, first: int = 1
) -> list[databases.Statement]:
    written: list[databases.Statement] = []
    if first == 1:
        about = {"id": session, "started_at": stamp(0), "updated_at": stamp(60 * minute), "date_key": "2026-01-01"}
        summary = json.dumps({"first_user": f"first of {session}"})
        row = {**about, "client": client, "record_count": len(made), "summary_json": summary}
        written.append(databases.insert("sessions", row))

    def keep(name: str, value: Any) -> None:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        row = {"session_id": session, "hash": name, "kind": "json", "payload_json": text, "size_bytes": len(text)}
        statement, values = databases.insert("record_blobs", {**row, "created_at": stamp(0)})
        written.append((statement.replace("INSERT", "INSERT OR IGNORE"), values))

    for index, one in enumerate(made[first - 1 :], first):
        payload = json.dumps(compact(one, keep), ensure_ascii=False, separators=(",", ":"))
        row = {"session_id": session, "record_index": index, "turn": index, "payload_json": payload}
        written.append(databases.insert("records", {**row, "timestamp": one["timestamp"]}))
    return written


def write(path: Path, turns: int) -> None:
    """Bring a database, perhaps none yet, to so many turns."""
    if not path.exists():
        databases.created(path, TABLES)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (done,) = connection.execute("SELECT count(*) FROM records").fetchone()
        databases.run(connection, *statements(records(turns), first=done + 1))


def entry(body: Any, answer: str, second: float = 0, url: str = "https://secret-host.example/v1/messages") -> Record:
    """An entry of an archive."""
    headers = [{"name": "x-api-key", "value": "sk-secret"}, {"name": "Anthropic-Beta", "value": "context-1m"}]
    return {
        "startedDateTime": stamp(second),
        "time": 900,
        "request": {
            "method": "POST",
            "url": f"{url}?key=sk-secret",
            "headers": headers,
            "postData": {"mimeType": "application/json", "text": json.dumps(body)},
        },
        "response": {"status": 200, "headers": headers, "content": {"mimeType": "text/event-stream", "text": answer}},
    }


def packed(made: Record, *, in_pieces: bool = False) -> Record:
    content = made["response"]["content"]
    data = content["text"].encode()
    if in_pieces:
        data = gzip.compress(data, mtime=0)
        pieces = [base64.b64encode(data[:50]).decode(), base64.b64encode(data[50:]).decode()]
        return {**made, "response": {**made["response"], "content": {**content, "text": json.dumps(pieces)}}}
    encoded = {**content, "text": base64.b64encode(data).decode(), "encoding": "base64"}
    return {**made, "response": {**made["response"], "content": encoded}}


def frame(payload: bytes, **headers: str) -> bytes:
    made = b""
    for name, value in headers.items():
        named, text = f":{name.replace('_', '-')}".encode(), value.encode()
        made += bytes([len(named)]) + named + b"\x07" + len(text).to_bytes(2) + text
    prelude = (len(made) + len(payload) + 16).to_bytes(4) + len(made).to_bytes(4)
    prelude += zlib.crc32(prelude).to_bytes(4)
    whole = prelude + made + payload
    return whole + zlib.crc32(whole).to_bytes(4)


def chunk(event: Record) -> bytes:
    """A frame that carries an event of the Messages API, as Bedrock writes it."""
    inside = {"bytes": base64.b64encode(json.dumps(event, ensure_ascii=False).encode()).decode(), "p": "abcdef"}
    about = {"event_type": "chunk", "content_type": "application/json", "message_type": "event"}
    return frame(json.dumps(inside).encode(), **about)


def framed(made: Record, frames: bytes) -> Record:
    content = {"mimeType": "application/vnd.amazon.eventstream", "encoding": "base64"}
    content["text"] = base64.b64encode(frames).decode()
    return {**made, "response": {**made["response"], "content": content}}


def google_body(*contents: tuple[str, list[Record]], **config: Any) -> Record:
    made: Record = {"contents": [{"role": role, "parts": parts} for role, parts in contents]}
    declared = [{"name": "read_file", "parametersJsonSchema": {"type": "object"}}]
    if config:
        return {**made, "generationConfig": config}
    system = {"role": "user", "parts": [{"text": "You are Gemini CLI."}]}
    return {**made, "systemInstruction": system, "tools": [{"functionDeclarations": declared}]}


def google_chunk(*parts: Record, **counts: int) -> Record:
    """A chunk of an answer, the last with its usage."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    made = {"candidates": [candidate], "modelVersion": "gemini-2.5-pro", "responseId": "r1"}
    return {**made, "usageMetadata": counts} if counts else made


def archive(entries: list[Record]) -> Record:
    return {"log": {"version": "1.2", "creator": {"name": "browser", "version": "1"}, "entries": entries}}


def archive_of(turns: int) -> Record:
    """An archive with a conversation, and a request for something else."""
    lines = log_of_requests(turns)
    made = [entry(one["request"]["body"], one["response"]["body_raw"], turn) for turn, one in enumerate(lines)]
    picture = {"startedDateTime": stamp(0), "request": {"method": "GET", "url": "https://secret-host.example/a.png"}}
    return archive([{**picture, "response": {"status": 200, "content": {"mimeType": "image/png"}}}, *made])
