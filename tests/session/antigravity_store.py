"""Conversations as Antigravity writes them: rows of protobuf messages, made for tests."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.session import databases

TABLES = """
CREATE TABLE trajectory_meta (trajectory_id TEXT PRIMARY KEY, cascade_id TEXT, trajectory_type INTEGER, source INTEGER);
CREATE TABLE trajectory_metadata_blob (id TEXT PRIMARY KEY, data BLOB);
CREATE TABLE steps (
    idx INTEGER PRIMARY KEY, step_type INTEGER, status INTEGER, has_subtrajectory INTEGER DEFAULT 0, metadata BLOB,
    error_details BLOB, permissions BLOB, task_details BLOB, render_info BLOB, step_payload BLOB, step_format INTEGER
);
CREATE TABLE gen_metadata (idx INTEGER PRIMARY KEY, data BLOB, size INTEGER);
CREATE TABLE executor_metadata (idx INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE parent_references (idx INTEGER PRIMARY KEY, data BLOB);
"""

Fields = dict[int, Any]

MODEL = "gemini-3-flash-preview"

DONE, ERROR, RUNNING = 3, 7, 2


def encoded(fields: Fields) -> bytes:
    """Encode a message; lists are repeated fields, tuples packed integers."""
    found = b""
    for number, value in fields.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, int):
                found += _varint(number << 3) + _varint(each)
                continue
            data = each
            if isinstance(each, dict):
                data = encoded(each)
            elif isinstance(each, tuple):
                data = b"".join(map(_varint, each))
            elif isinstance(each, str):
                data = each.encode()
            found += _varint(number << 3 | 2) + _varint(len(data)) + data
    return found


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def usage(uncached: int, read: int, thinking: int, said: int, **more: int) -> Fields:
    """Counts as the provider reports them: the output is the sum of thinking and response."""
    counts = {1: 1298, 2: uncached, 3: thinking + said, 5: read, 6: 24, 9: thinking, 10: said, 11: "r1"}
    return {
        number: value for number, value in {**counts, **{int(name[1:]): v for name, v in more.items()}}.items() if value
    }


@dataclass
class AntigravityScript:
    """A conversation being held, step by step."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    requests: list[Fields] = field(default_factory=list)
    time: int = 1_791_190_000

    def step(self, kind: int, payload: Fields, status: int = DONE, **about: Any) -> int:
        """Add a step; its number."""
        self.time += 1
        number = len(self.steps)
        metadata = {1: {1: self.time, 2: 500_000_000}, **about.pop("metadata", {})}
        row = {"idx": number, "step_type": kind, "status": status, "metadata": encoded(metadata)}
        row["step_payload"] = encoded({1: kind, 4: status, 5: metadata, **payload})
        self.steps.append({**row, **about})
        return number

    def user(self, text: str) -> int:
        return self.step(14, {19: {3: [{1: text}]}}, metadata={3: 1})

    def answer(
        self, text: str, *calls: tuple[str, str], counts: Fields | None = None, thinking: str = "", **request: Any
    ) -> int:
        """Add a response, and its request if there are counts."""
        made = [{1: call, 2: name, 3: json.dumps({"CommandLine": "ls"})} for call, name in calls]
        number = self.step(15, {20: {k: v for k, v in {1: text, 3: thinking, 7: made}.items() if v}}, metadata={3: 2})
        if counts is not None:
            self.request(counts, (number,), **request)
        return number

    def request(self, counts: Fields, steps: tuple[int, ...] = (), model: str = MODEL, **start: Any) -> None:
        identifier = {11: f"r{len(self.requests)}"}
        begun = {2: -1, 4: {1: self.time, 2: 100_000_000}, **start.pop("start", {})}
        chat = {4: {**counts, **identifier}, 9: begun, **({19: model} if model else {}), **start.pop("chat", {})}
        self.requests.append({1: chat, **({2: steps} if steps else {})})

    def result(self, call: str, text: str, name: str = "run_command", status: int = DONE, **about: Any) -> int:
        return self.step(132, {140: {2: {1: text}}}, status, metadata={3: 2, 4: {1: call, 2: name, 3: "{}"}}, **about)

    def statements(self, steps: int = 0, requests: int = 0) -> list[databases.Statement]:
        rows = [databases.insert("steps", row) for row in self.steps[steps:]]
        for number, request in enumerate(self.requests[requests:], requests):
            data = encoded(request)
            rows.append(databases.insert("gen_metadata", {"idx": number, "data": data, "size": len(data)}))
        return rows

    def database(self, path: Path, *statements: databases.Statement) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        return databases.created(path, TABLES, *about(path.stem), *self.statements(), *statements)


def about(conversation: str, folder: str = "file:///project", parent: str = "") -> list[databases.Statement]:
    meta = {"trajectory_id": f"t-{conversation}", "cascade_id": conversation, "trajectory_type": 4, "source": 17}
    blob = encoded({1: [{1: folder}], 2: {1: 1_791_190_000}, **({5: parent} if parent else {})})
    return [
        databases.insert("trajectory_meta", meta),
        databases.insert("trajectory_metadata_blob", {"id": "main", "data": blob}),
    ]


def turns(count: int) -> AntigravityScript:
    script = AntigravityScript()
    script.user("go")
    for turn in range(count):
        call = f"c{turn}"
        script.answer("looking", (call, "run_command"), counts=usage(100 + turn, 1_000 * turn, 5, 20))
        script.result(call, f"result {turn}")
    return script


def write(path: Path, count: int) -> None:
    """Bring a database, perhaps none yet, to so many turns."""
    if not path.exists():
        databases.created(path, TABLES, *about("conversation"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (steps,) = connection.execute("SELECT count(*) FROM steps").fetchone()
        (requests,) = connection.execute("SELECT count(*) FROM gen_metadata").fetchone()
        databases.run(connection, *turns(count).statements(steps, requests))
