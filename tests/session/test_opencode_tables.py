"""A database created by the project's migrations, compared with results of its SQL."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.replay.engine.simulation import recorded_clearing
from inspector.replay.sessions import replay_session
from inspector.session.model import BlockKind, Session
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from tests.session.opencode_store import Store, tokens

START = 1_770_000_000_000

TABLES = """
CREATE TABLE migration (id INTEGER PRIMARY KEY, hash text NOT NULL, created_at numeric);
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text, time_created integer NOT NULL);
CREATE TABLE credential (id text PRIMARY KEY, token text NOT NULL);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
    directory text NOT NULL, title text NOT NULL, version text NOT NULL, summary_additions integer,
    summary_deletions integer, summary_files integer, summary_diffs text, revert text, permission text,
    time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer{more});
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE todo (session_id text NOT NULL, content text NOT NULL, position integer NOT NULL);
"""

LATER_TABLES = """
CREATE TABLE event_sequence (aggregate_id text PRIMARY KEY, seq integer NOT NULL);
CREATE TABLE event (id text PRIMARY KEY, aggregate_id text NOT NULL, seq integer, type text NOT NULL, data text);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, data text NOT NULL);
"""

LATER_COLUMNS = ", cost real DEFAULT 0, tokens_input integer, tokens_output integer, agent text, model text"

STEPS = 24


class Writer:
    """Writes rows in the order of their ids, a second apart."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.clock = START

    def message(self, **data: Any) -> str:
        self.clock += 1000
        identifier = f"msg_{self.clock:x}"
        data["time"] = {"created": self.clock}
        row = (identifier, "ses_1", self.clock, self.clock, json.dumps(data))
        self.connection.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
        return identifier

    def part(self, message: str, kind: str, **data: Any) -> str:
        self.clock += 1000
        identifier = f"prt_{self.clock:x}"
        row = (identifier, message, "ses_1", self.clock, self.clock, json.dumps({"type": kind, **data}))
        self.connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
        return identifier

    def step(self, message: str, number: int) -> None:
        self.part(message, "step-start", snapshot="abc")
        self.part(message, "text", text=f"step {number}", time={"start": self.clock})
        for call in range(number % 3):
            failed = number % 5 == 4
            state: dict[str, Any] = {"status": "error", "input": {}, "error": "no such file"}
            if not failed:
                state = {"status": "completed", "input": {"path": "a"}, "output": f"text {number} {call} " * 50}
            state["time"] = {"start": self.clock, "end": self.clock + 500}
            self.part(message, "tool", callID=f"call_{number}_{call}", tool="read", state=state)
        usage = {"input": 10 + number, "output": 5, "reasoning": number % 2, "cache": {"read": 1000, "write": number}}
        if number % 2:
            usage["total"] = usage["input"] + 5 + 1 + 1000 + number
        self.part(message, "step-finish", reason="tool-calls", cost=0.1, tokens=usage)
        self.connection.execute(
            "UPDATE message SET data = json_set(data, '$.tokens', json(?)) WHERE id = ?", (json.dumps(usage), message)
        )

    def prune(self, before: int) -> None:
        """Mark the results of the first steps, as the program does between two turns."""
        self.clock += 1000
        rows = self.connection.execute("SELECT id, data FROM part ORDER BY id").fetchall()
        for identifier, text in rows:
            data = json.loads(text)
            is_result = data["type"] == "tool" and data["state"]["status"] == "completed"
            if is_result and int(data["callID"].split("_")[1]) < before:
                data["state"]["time"].setdefault("compacted", self.clock)
                change = (json.dumps(data), self.clock, identifier)
                self.connection.execute("UPDATE part SET data = ?, time_updated = ? WHERE id = ?", change)


@pytest.fixture(params=[False, True], ids=["1.2", "1.17"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "opencode.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(TABLES.format(more=LATER_COLUMNS if request.param else ""))
        if request.param:
            connection.executescript(LATER_TABLES)
        connection.execute("BEGIN")
        connection.execute(
            "INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)"
            " VALUES ('ses_1', 'p', 'a-b', '/project', 'A title', '1.17.0', ?, ?)",
            (START, START),
        )
        writer = Writer(connection)
        for number in range(0, STEPS, 4):
            asked = writer.message(role="user", agent="build", model={"providerID": "p", "modelID": "m"})
            writer.part(asked, "text", text=f"prompt {number}")
            for step in range(number, number + 4):
                answer = writer.message(role="assistant", parentID=asked, modelID="claude-x", providerID="anthropic")
                writer.step(answer, step)
            writer.prune(before=max(number - 4, 0))
        connection.execute("COMMIT")
        yield connection


@pytest.fixture
def session(database: sqlite3.Connection, tmp_path: Path) -> Session:
    return open_session(tmp_path / "opencode.db")  # while the writer still holds it open


def one(database: sqlite3.Connection, query: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] = database.execute(query).fetchone()
    return row


def test_messages_calls_and_results_agree_with_sql(database: sqlite3.Connection, session: Session) -> None:
    (asked, answered) = one(
        database,
        "SELECT sum(json_extract(data, '$.role') = 'user'), sum(json_extract(data, '$.role') = 'assistant')"
        " FROM message",
    )
    roles = [message.role.value for message in session.messages]
    assert (roles.count("user"), roles.count("assistant")) == (asked, answered)
    assert len(session.calls) == answered
    query = "SELECT count(*), sum(json_extract(data, '$.state.status') = 'error') FROM part"
    (tools, failed) = one(database, f"{query} WHERE json_extract(data, '$.type') = 'tool'")
    kinds = [block.kind for block in session.blocks]
    assert (kinds.count(BlockKind.TOOL_CALL), kinds.count(BlockKind.TOOL_RESULT)) == (tools, tools)
    assert sum(block.is_error for block in session.blocks) == failed > 0


def test_usage_agrees_with_sql(database: sqlite3.Connection, session: Session) -> None:
    (fresh, read, written, output, reasoning) = one(
        database,
        """SELECT sum(t->>'$.input'), sum(t->>'$.cache.read'), sum(t->>'$.cache.write'),
            sum(t->>'$.output' + iif(t->>'$.total' IS NULL, 0, t->>'$.reasoning')), sum(t->>'$.reasoning')
        FROM (SELECT data->'$.tokens' AS t FROM part WHERE data->>'$.type' = 'step-finish')""",
    )
    usages = [call.usage for call in session.calls if call.usage is not None]
    assert [
        sum(usage.uncached for usage in usages),
        sum(usage.cache_read for usage in usages),
        sum(usage.cache_write_5m for usage in usages),
        sum(usage.output for usage in usages),
        sum(usage.reasoning for usage in usages),
    ] == [fresh, read, written, output, reasoning]


def test_pruned_results_are_no_longer_sent_and_all_others_are(database: sqlite3.Connection, session: Session) -> None:
    query = "SELECT data->>'$.callID', data->>'$.state.time.compacted' FROM part WHERE data->>'$.type' = 'tool'"
    pruned = {call: time for call, time in database.execute(query) if time is not None}
    named = {call: one.time for one in session.compactions for call in one.cleared_tool_call_ids}
    assert named == {call: time / 1000 for call, time in pruned.items()}
    assert len({one.time for one in session.compactions}) == len(set(pruned.values())) > 1
    made = {session.blocks[choice.block].tool_call_id: call for call, choice in recorded_clearing(History.of(session))}
    times = [call.time or 0 for call in session.calls]
    assert made == {call: sum(began < time / 1000 for began in times) for call, time in pruned.items()}


def test_the_text_behind_a_pruned_result_is_still_there(session: Session) -> None:
    cleared = {call for one in session.compactions for call in one.cleared_tool_call_ids}
    blocks = [b for b in session.blocks if b.kind is BlockKind.TOOL_RESULT and b.tool_call_id in cleared]
    assert len(blocks) == len(cleared) > 5
    assert all(session.text(block).startswith("text ") for block in blocks)


def test_a_pruned_session_costs_what_its_steps_recorded(tmp_path: Path) -> None:
    """The recorded reads count, also where the sizes of texts place the end of one behind the cleared result."""
    store = Store()
    recorded = 0.0
    for turn, (read, write) in enumerate([(0, 20_000), (20_000, 20_000), (23_000, 1_000), (24_000, 500)]):
        store.prompt(f"prompt {turn} " * 40)
        # Dollars per million tokens: 3 uncached, 0.30 read, 3.75 written, 15 of output.
        cost = (5 * 3 + read * 0.3 + write * 3.75 + 100 * 15) / 1e6
        recorded += cost
        usage = tokens(5, 100, 0, read, write)
        store.response(f"c{turn}", text="one", usage=usage, cost=cost, modelID="claude-sonnet-4-5")
        state = store.messages[-1]["parts"][-2]["state"]
        state["output"] = f"line {turn} of the result\n" * 3_000
        if turn == 1:
            store.messages[1]["parts"][-2]["state"]["time"]["compacted"] = store.clock + 1
    session = open_session(store.database(tmp_path / "opencode.db"))
    assert [one.is_partial for one in session.compactions] == [True]
    assert [total.cost_usd for total in session.recorded_totals] == [pytest.approx(recorded)]
    assert replay_session(session, Plan()).figures.cost_usd.value == pytest.approx(recorded)


DAMAGE = """
CREATE INDEX TABLE_NAME_session ON TABLE_NAME (session_id);
CREATE TABLE damaged (id text PRIMARY KEY);
INSERT INTO damaged SELECT id || iif(rowid IN (5, 6), 'x', '') FROM TABLE_NAME ORDER BY rowid;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_damaged_1')
    WHERE name = 'sqlite_autoindex_TABLE_NAME_1';
PRAGMA writable_schema = RESET;
"""
"""Rows are listed by an index of their session, as in the program; that of their ids becomes one that lacks two."""


@pytest.mark.parametrize("table", ["message", "part"])
def test_rows_that_a_damaged_index_loses_are_counted(
    database: sqlite3.Connection, session: Session, tmp_path: Path, table: str
) -> None:
    database.executescript(DAMAGE.replace("TABLE_NAME", table))
    kept = "SELECT id FROM TABLE_NAME NOT INDEXED LIMIT 2 OFFSET 4".replace("TABLE_NAME", table)
    lost = [identifier for (identifier,) in database.execute(kept)]
    damaged = open_session(tmp_path / "opencode.db")
    assert session.skipped_records == 0
    assert damaged.skipped_records == len(lost) == 2
    assert {one.reason for one in damaged.diagnostics} == {f"{table} {name} cannot be read" for name in lost}
