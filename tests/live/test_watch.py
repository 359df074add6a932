import asyncio
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.agents import KINDS, Agent, ClaudeCode, Codex, Gemini, OpenCode, Pi, make_agent, prompt_of
from inspector.live import reading, watch
from inspector.live.status import Activity, LiveSession
from inspector.live.watch import LiveBook, LiveSnapshot, LiveWatch, scan

NAMES = [f"{number}0000000-90a5-4a59-8bb7-3f0de7a4a2c1" for number in range(1, 5)]


class Clock:
    """The current time, and what was added to it."""

    later = 0.0

    def __call__(self) -> float:
        return time.time() + self.later


@pytest.fixture(name="clock")
def made_clock() -> Clock:
    return Clock()


@pytest.fixture(name="book")
def made_book(tmp_path: Path, clock: Clock) -> LiveBook:
    return LiveBook([tmp_path], clock=clock)


def rows(book: LiveBook) -> dict[Path, LiveSession]:
    return rows_of(book.snapshot())


def rows_of(snapshot: LiveSnapshot) -> dict[Path, LiveSession]:
    return {row.path: row for row in snapshot.sessions}


def shown_call(row: LiveSession) -> int:
    """Return the number of the last call, from the prompt it reported."""
    return round((row.prompt.value or 0) - prompt_of(0)) // 100


@pytest.mark.parametrize("kind", KINDS)
def test_every_appended_call_is_shown_once_its_file_is_touched(tmp_path: Path, book: LiveBook, kind: type[Agent]):
    agent = make_agent(kind, tmp_path, 0)
    agent.call()
    book.discover()
    for _ in range(3):
        number = agent.call()
        book.touch([agent.path.with_name(agent.path.name.partition("#")[0])])

        assert shown_call(rows(book)[agent.path]) == number


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_session_has_a_row_once_its_file_is_touched(tmp_path: Path, book: LiveBook, kind: type[Agent]):
    book.discover()
    agent = make_agent(kind, tmp_path, 0)
    agent.call()
    book.touch([agent.path.with_name(agent.path.name.partition("#")[0])])

    assert list(rows(book)) == [agent.path]


def test_a_second_session_of_a_database_has_its_own_row(tmp_path: Path, book: LiveBook, clock: Clock):
    first = make_agent(OpenCode, tmp_path, 0)
    first.call()
    book.discover()
    second = make_agent(OpenCode, tmp_path, 1)
    second.call()
    clock.later = 2
    book.touch([tmp_path / "opencode" / "opencode.db-wal"])

    assert set(rows(book)) == {first.path, second.path}


def test_a_file_inspected_a_moment_ago_is_inspected_again_without_another_change(
    tmp_path: Path, book: LiveBook, clock: Clock
):
    book.discover()
    path = tmp_path / f"{NAMES[0]}.jsonl"
    path.write_text('{"type": "mode"}\n')
    other = tmp_path / "notes.jsonl"
    other.write_text("{}\n")
    book.touch([other])
    agent = ClaudeCode(tmp_path / f"{NAMES[1]}.jsonl")
    shutil.move(agent.path, other)
    book.touch([other])
    assert other not in rows(book)

    clock.later = 2
    book.touch([])
    assert other in rows(book)


def replace_with_a_copy(agent: Agent) -> None:
    new = agent.path.with_suffix(".new")
    shutil.copy(agent.path, new)
    new.replace(agent.path)


def rewrite_in_place(agent: Agent) -> None:
    data = agent.path.read_bytes()
    agent.path.write_bytes(b"")
    agent.path.write_bytes(data)


@pytest.mark.parametrize("change", [replace_with_a_copy, rewrite_in_place])
@pytest.mark.parametrize("kind", [ClaudeCode, Codex, Pi, Gemini])
def test_a_rotated_file_keeps_its_row_and_its_calls(
    tmp_path: Path, book: LiveBook, kind: type[Agent], change: Callable[[Agent], None]
):
    agent = make_agent(kind, tmp_path, 0)
    agent.call()
    book.discover()
    change(agent)
    number = agent.call()
    book.touch([agent.path])

    row = rows(book)[agent.path]
    assert (shown_call(row), row.calls) == (number, 2)


def test_a_truncated_file_has_only_the_calls_that_are_left(tmp_path: Path, book: LiveBook):
    agent = make_agent(ClaudeCode, tmp_path, 0)
    agent.call()
    size = agent.path.stat().st_size
    agent.call()
    book.discover()
    os.truncate(agent.path, size)
    book.touch([agent.path])

    assert rows(book)[agent.path].calls == 1


def test_a_removed_file_ends_its_row_and_returns_with_it(tmp_path: Path, book: LiveBook, clock: Clock):
    agent = make_agent(ClaudeCode, tmp_path, 0)
    agent.call()
    book.discover()
    data = agent.path.read_bytes()
    agent.path.unlink()
    book.touch([agent.path])
    assert rows(book)[agent.path].state is Activity.ENDED

    agent.path.write_bytes(data)
    book.touch([agent.path])
    assert rows(book)[agent.path].state is Activity.WORKING

    agent.path.unlink()
    book.touch([agent.path])
    clock.later = 31
    assert rows(book) == {}


def test_a_row_ends_two_hours_after_the_last_record(tmp_path: Path, book: LiveBook, clock: Clock):
    agent = make_agent(ClaudeCode, tmp_path, 0)
    agent.call()
    book.discover()
    clock.later = 7_100
    assert rows(book)[agent.path].state is Activity.IDLE

    clock.later = 7_300
    assert rows(book) == {}
    book.discover()
    assert rows(book) == {}


def test_a_subagent_counts_for_its_parent_and_has_no_row(tmp_path: Path, book: LiveBook, clock: Clock):
    parent = ClaudeCode(tmp_path / f"{NAMES[0]}.jsonl")
    parent.call()
    book.discover()
    alone = rows(book)[parent.path]
    subagent = ClaudeCode(tmp_path / NAMES[0] / "subagents" / "agent-a1.jsonl")
    subagent.call()
    book.touch([subagent.path])

    both = rows(book)
    assert list(both) == [parent.path]
    row = both[parent.path]
    assert row.subagents == 1
    # Each made one call, with the same usage.
    assert row.spent.value == pytest.approx(2 * (alone.spent.value or 0))
    assert (row.recent.tokens.value or 0) == pytest.approx(2 * (alone.recent.tokens.value or 0))
    assert row.prompt == alone.prompt
    clock.later = 130
    assert rows(book)[parent.path].subagents == 0


def test_a_child_in_a_database_counts_for_its_parent(tmp_path: Path, book: LiveBook):
    parent = make_agent(OpenCode, tmp_path, 0)
    parent.call()
    book.discover()
    alone = rows(book)[parent.path]
    child = make_agent(OpenCode, tmp_path, 1)
    child.call()
    with closing(sqlite3.connect(tmp_path / "opencode" / "opencode.db")) as database, database:
        database.execute("UPDATE session_v2 SET parent_id = 'ses_0' WHERE id = 'ses_1'")
    book.touch([tmp_path / "opencode" / "opencode.db"])

    both = rows(book)
    assert list(both) == [parent.path]
    assert both[parent.path].subagents == 1
    assert both[parent.path].spent.value == pytest.approx(2 * (alone.spent.value or 0))


def test_a_session_resumed_in_a_new_file_replaces_the_row_of_the_old_one(tmp_path: Path, book: LiveBook):
    before = ClaudeCode(tmp_path / f"{NAMES[0]}.jsonl", time.time() - 60)
    before.call()
    os.utime(before.path, (time.time() - 50,) * 2)
    book.discover()
    after = ClaudeCode(tmp_path / f"{NAMES[1]}.jsonl")
    own = after.path.read_bytes()
    after.path.write_bytes(before.path.read_bytes() + own)
    after.calls = 1
    number = after.call()
    book.touch([after.path])

    assert list(rows(book)) == [after.path]
    row = rows(book)[after.path]
    assert shown_call(row) == number
    # The copied call was billed to the old session.
    assert row.spent.value == pytest.approx((10 * 5 + 19_990 * 0.5 + 100 * 6.25 + 50 * 25) / 1e6)


def test_the_most_urgent_session_is_first(tmp_path: Path, book: LiveBook):
    waits, loops, works = (ClaudeCode(tmp_path / f"{name}.jsonl", time.time() - 10) for name in NAMES[:3])
    works.call()
    waits.call(tool=False)
    for _ in range(3):
        loops.call(same=True)
    for agent in (waits, loops, works):
        os.utime(agent.path, (time.time() - 10,) * 2)
    book.discover()

    assert [row.path for row in book.snapshot().sessions] == [loops.path, waits.path, works.path]


def test_a_document_over_the_limit_is_listed_as_unread(tmp_path: Path, book: LiveBook, monkeypatch: pytest.MonkeyPatch):
    agent = make_agent(Gemini, tmp_path, 0)
    agent.call()
    monkeypatch.setattr(reading, "MOST_DOCUMENT_BYTES", 100)
    book.discover()

    found = book.snapshot()
    assert found.sessions == ()
    ((path, problem),) = found.unread
    assert path == agent.path
    assert "only those up to" in problem


def test_a_costly_document_rests_and_is_read_later(tmp_path: Path, book: LiveBook, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "COSTLY_SECONDS", 0.0)
    monkeypatch.setattr(reading, "REST", 1e6)
    agent = make_agent(Gemini, tmp_path, 0)
    agent.call()
    book.discover()
    agent.call()
    book.touch([agent.path])
    number = agent.call()
    book.touch([agent.path])
    assert shown_call(rows(book)[agent.path]) == number - 1
    assert book.next_change() <= time.time() + 0.4

    monkeypatch.setattr(time, "monotonic", lambda: float("inf"))
    book.touch([])
    assert shown_call(rows(book)[agent.path]) == number


def test_a_scan_reads_all_running_sessions_once(tmp_path: Path):
    agents = [make_agent(kind, tmp_path, 0) for kind in KINDS]
    for agent in agents:
        agent.call()

    assert {row.path for row in scan([tmp_path]).sessions} == {agent.path for agent in agents}


async def next_with(
    snapshots: asyncio.Queue[LiveSnapshot], wanted: Callable[[LiveSnapshot], bool], seconds: float = 20
) -> LiveSnapshot:
    async with asyncio.timeout(seconds):
        while not wanted(found := await snapshots.get()):
            pass
        return found


async def test_a_watch_shows_calls_new_sessions_and_new_folders(tmp_path: Path):
    agent = make_agent(ClaudeCode, tmp_path, 0)
    agent.call()
    stop, snapshots = asyncio.Event(), asyncio.Queue[LiveSnapshot]()

    async def collect() -> None:
        async for snapshot in LiveWatch([tmp_path]).snapshots(stop):
            snapshots.put_nowait(snapshot)

    collecting = asyncio.create_task(collect())
    await next_with(snapshots, lambda found: len(found.sessions) == 1)
    number = agent.call()
    await next_with(snapshots, lambda found: shown_call(found.sessions[0]) == number)
    for count, kind in enumerate((Codex, Pi, Gemini, OpenCode), start=2):
        make_agent(kind, tmp_path, 0).call()
        await next_with(snapshots, lambda found, count=count: len(found.sessions) == count)
    agent.path.unlink()
    await next_with(snapshots, lambda found: any(row.state is Activity.ENDED for row in found.sessions))
    stop.set()
    await collecting


async def test_a_watch_yields_nothing_while_nothing_happens(tmp_path: Path):
    agent = make_agent(Codex, tmp_path, 0)
    agent.clock = time.time() - 1_000
    agent.call()
    os.utime(agent.path, (time.time() - 1_000,) * 2)
    stop, count = asyncio.Event(), 0

    async def collect() -> None:
        nonlocal count
        async for _ in LiveWatch([tmp_path]).snapshots(stop):
            count += 1

    collecting = asyncio.create_task(collect())
    await asyncio.sleep(3)
    stop.set()
    await asyncio.wait_for(collecting, 15)
    assert count <= 2


async def test_a_folder_that_is_replaced_is_watched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(watch, "PLACES_SECONDS", 0.5)
    folder = tmp_path / "sessions"
    make_agent(ClaudeCode, folder, 0).call()
    stop, snapshots = asyncio.Event(), asyncio.Queue[LiveSnapshot]()

    async def collect() -> None:
        async for snapshot in LiveWatch([folder]).snapshots(stop):
            snapshots.put_nowait(snapshot)

    collecting = asyncio.create_task(collect())
    await next_with(snapshots, lambda found: len(found.sessions) == 1)
    folder.rename(tmp_path / "old")
    agent = make_agent(Pi, folder, 1)
    await next_with(snapshots, lambda found: agent.path in [row.path for row in found.sessions])
    number = agent.call()
    await next_with(snapshots, lambda found: shown_call(rows_of(found)[agent.path]) == number)
    stop.set()
    await collecting


async def test_sessions_are_polled_where_the_system_reports_no_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("INSPECTOR_WATCH", "stat")
    monkeypatch.setattr(watch, "PLACES_SECONDS", 0.5)
    monkeypatch.setattr(watch, "POLL_SECONDS", 0.2)
    agent = make_agent(ClaudeCode, tmp_path, 0)
    stop, snapshots = asyncio.Event(), asyncio.Queue[LiveSnapshot]()

    async def collect() -> None:
        async for snapshot in LiveWatch([tmp_path]).snapshots(stop):
            snapshots.put_nowait(snapshot)

    collecting = asyncio.create_task(collect())
    number = agent.call()
    await next_with(snapshots, lambda found: shown_call(rows_of(found)[agent.path]) == number)
    make_agent(Codex, tmp_path, 1).call()
    await next_with(snapshots, lambda found: len(found.sessions) == 2)
    stop.set()
    await collecting
