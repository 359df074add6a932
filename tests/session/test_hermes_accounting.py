"""Usage totals and compaction records that Hermes keeps next to its messages."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.cli.reading import replay_inputs
from inspector.replay.engine.replay import replay
from inspector.replay.figure import HowKnown
from inspector.session.follow import Follower
from inspector.session.model import RecordedTotals, Session, Usage
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.session import databases
from tests.session.hermes_store import SUMMARY, HermesStore, create
from tests.session.soundness import assert_sound

USAGE_COLUMNS = """
ALTER TABLE sessions ADD COLUMN cache_read_tokens INTEGER DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cache_write_tokens INTEGER DEFAULT 0;
ALTER TABLE sessions ADD COLUMN reasoning_tokens INTEGER DEFAULT 0;
ALTER TABLE sessions ADD COLUMN estimated_cost_usd REAL;
ALTER TABLE sessions ADD COLUMN actual_cost_usd REAL;
ALTER TABLE sessions ADD COLUMN api_call_count INTEGER DEFAULT 0;
"""

USAGE_TABLE = """
CREATE TABLE session_model_usage (
    session_id TEXT NOT NULL, model TEXT NOT NULL, billing_provider TEXT NOT NULL DEFAULT '',
    task TEXT NOT NULL DEFAULT '',
    api_call_count INTEGER NOT NULL DEFAULT 0, input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0, cache_read_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0, reasoning_tokens INTEGER NOT NULL DEFAULT 0,
    estimated_cost_usd REAL NOT NULL DEFAULT 0, actual_cost_usd REAL NOT NULL DEFAULT 0, first_seen REAL, last_seen REAL
);
"""

SONNET = "claude-sonnet-4-5"


def store(path: Path, *statements: databases.Statement) -> Path:
    create(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(USAGE_COLUMNS + USAGE_TABLE)
        databases.run(connection, *statements)
    return path


def turns(made: HermesStore, session: str, count: int) -> list[databases.Statement]:
    found = [made.user(session, "go")]
    for turn in range(count):
        found += [made.answer(session, "looking", f"c{turn}"), made.result(session, f"c{turn}", "seen")]
    return found


def used(session: str, model: str, task: str = "", **columns: Any) -> databases.Statement:
    return databases.insert("session_model_usage", {"session_id": session, "model": model, "task": task, **columns})


def opened(path: Path) -> Session:
    session = open_session(path)
    assert_sound(session)
    return session


TOTALS: dict[str, Any] = {
    "input_tokens": 2_000,
    "cache_read_tokens": 30_000,
    "cache_write_tokens": 8_000,
    "output_tokens": 500,
}


def test_totals_of_a_session_are_exact_and_shared_out_to_its_calls(tmp_path: Path) -> None:
    made = HermesStore()
    row = made.session("s1", **TOTALS, model=SONNET, estimated_cost_usd=0.06, api_call_count=3)
    session = opened(store(tmp_path / "state.db", row, *turns(made, "s1", 3)))
    usage = Usage(uncached=2_000, cache_read=30_000, cache_write_5m=8_000, output=500)
    assert session.recorded_totals == (RecordedTotals("session usage", ((SONNET, usage),), 0.06, 3, 0, 3),)
    figures = replay(replay_inputs(session), Plan()).figures
    assert (figures.prompt_tokens.value, figures.output_tokens.value) == (40_000, 500)
    assert figures.cache_read_tokens.value == 30_000
    # (2,000 x 3 + 30,000 x 0.30 + 8,000 x 3.75 + 500 x 15) / 1e6 = 0.006 + 0.009 + 0.03 + 0.0075
    assert figures.cost_usd.value == pytest.approx(0.0525)
    assert figures.cost_usd.known is HowKnown.EXACT


def test_usage_by_model_and_task_names_the_requests_outside_the_conversation(tmp_path: Path) -> None:
    made = HermesStore()
    path = store(
        tmp_path / "state.db",
        made.session("s1", model="last-model", input_tokens=1),
        *turns(made, "s1", 2),
        used("s1", SONNET, api_call_count=2, **TOTALS),
        used("s1", "claude-haiku-4-5", "compression", input_tokens=9_000, output_tokens=700, last_seen=made.time),
        used("s1", "claude-haiku-4-5", "title_generation", input_tokens=300, output_tokens=9, last_seen=made.time),
    )
    session = opened(path)
    assert [(call.purpose, call.usage) for call in session.side_calls] == [
        ("compression", Usage(uncached=9_000, output=700)),
        ("title_generation", Usage(uncached=300, output=9)),
    ]
    # One model answered all calls, even if the session was switched to another later.
    assert session.models == (SONNET,)


def test_a_second_model_without_a_message_of_its_own_is_billed(tmp_path: Path) -> None:
    made = HermesStore()
    path = store(
        tmp_path / "state.db",
        made.session("s1", model=SONNET),
        *turns(made, "s1", 2),
        used("s1", SONNET, estimated_cost_usd=0.0525, **TOTALS),
        used("s1", "claude-opus-4-5", input_tokens=100, output_tokens=5),
    )
    session = opened(path)
    (other,) = session.side_calls
    assert (other.purpose, other.model) == ("request without a message", "claude-opus-4-5")
    # The cost of the second model is not recorded, so that of the session is not.
    assert session.recorded_totals[0].cost_usd is None
    assert session.recorded_totals[0].side_usages == (("claude-opus-4-5", Usage(uncached=100, output=5)),)


def record(time: float, session: str, **data: Any) -> str:
    stamp = f"2026-03-01T10:{int(time - 1_772_359_200) // 60:02}:{time % 60:06.3f}Z"
    fields = {"scope": "history", "outcome": "committed", "session_id": session, **data}
    schema = {"name": "hermes.compaction", "version": "1"}
    mark = {"kind": "mark", "atof_version": "0.1", "uuid": f"u{time}", "timestamp": stamp, "name": "compaction"}
    return json.dumps({**mark, "data": fields, "data_schema": schema}) + "\n"


COUNTS = {"tokens_before": 120_000, "tokens_after": 40_000, "tokens_reclaimed": 80_000}


def test_a_compaction_has_the_counts_of_its_record(tmp_path: Path) -> None:
    made = HermesStore()
    first = [made.session("s1"), *turns(made, "s1", 2), made.end("s1", "compression")]
    second = [made.session("s2", parent_session_id="s1"), made.user("s2", SUMMARY), made.answer("s2", "on")]
    events = tmp_path / "observability" / "relay" / "events.atof.jsonl"
    events.parent.mkdir(parents=True)
    started = made.time - 1
    events.write_text(
        '{"kind": "scope"}\n'
        + record(started, "s1", kind="summarize", trigger="turn_start_threshold", **COUNTS)
        + record(started - 2, "s1", kind="summarize", outcome="failed")
        + record(started, "other", kind="summarize", **COUNTS)
    )
    session = opened(store(tmp_path / "state.db", *first, *second))
    (compaction,) = session.compactions
    assert (compaction.trigger, compaction.tokens_before, compaction.tokens_after, compaction.tokens_saved) == (
        *("turn_start_threshold", 120_000, 40_000),
        80_000,
    )
    assert session.record_counts["hermes.compaction: summarize, failed"] == 1
    assert session.side_files == (events,)


def test_a_rewrite_without_a_summary_is_a_compaction_at_its_time(tmp_path: Path) -> None:
    made = HermesStore()
    rows = [made.session("s1"), *turns(made, "s1", 2)]
    pruned = made.time + 0.5
    rows += [made.user("s1", "more"), made.answer("s1", "done")]
    events = tmp_path / "telemetry" / "events.jsonl"
    events.parent.mkdir()
    events.write_text(record(pruned, "s1", kind="prune_tool_results", trigger="proactive_prune", **COUNTS))
    path = store(tmp_path / "state.db", *rows)
    session = opened(path)
    (compaction,) = session.compactions
    assert compaction.trigger == "prune_tool_results, proactive_prune"
    assert (compaction.tokens_before, compaction.tokens_after) == (120_000, 40_000)
    # Messages 0 to 4 are before it.
    assert compaction.message == 5
    assert len(session.contexts) == 1
    assert Follower(path).session == session
    assert replay(replay_inputs(session), Plan()).figures.calls.value == 3


def test_the_folder_of_relays_configuration_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = HermesStore()
    rows = [made.session("s1"), *turns(made, "s1", 1)]
    configuration = tmp_path / "config" / "plugins.toml"
    configuration.parent.mkdir()
    configuration.write_text(
        '[[components]]\nkind = "observability"\n[components.config.atof]\noutput_directory = "out"\n'
    )
    events = configuration.parent / "out" / "events.jsonl"
    events.parent.mkdir()
    events.write_text(record(made.time, "s1", kind="prune_tool_results", **COUNTS))
    path = store(tmp_path / "state.db", *rows)
    assert opened(path).compactions == ()
    monkeypatch.setenv("HERMES_NEMO_RELAY_PLUGINS_TOML", str(configuration))
    assert len(opened(path).compactions) == 1
