"""Ten thousand records at once while the application runs: none is lost, and the screen goes on."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from inspector.strategies.plan import Plan
from tests.ui.recordings import recording

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS, TURNS = 125, 40
PATIENCE = 60
"""Seconds in which a key is answered on the slowest machine."""
FEW = 10
"""Changes of the session that may be shown between a key and its answer, where a hundred are to come."""

WRITER = """
import sys, time
lines = open(sys.argv[1], "rb").read().splitlines(keepends=True)
rounds = int(sys.argv[3])
with open(sys.argv[2], "ab", buffering=0) as file:
    for number in range(1, rounds + 1):
        if number == rounds:
            sys.stdin.readline()
        mark = b"%03d" % number
        made = (line.replace(b"msg_00", b"msg_" + mark).replace(b"toolu_00", b"toolu_" + mark) for line in lines)
        file.write(b"".join(line.replace(b"-8000-", b"-8" + mark + b"-") for line in made))
        time.sleep(0.012)
"""
"""The last of ten thousand records are written when the test has had its keys answered."""


async def start_burst(path: Path) -> asyncio.subprocess.Process:
    """Append ten thousand records, from another process."""
    source = recording(path.with_name("source.txt"), TURNS)
    lines = source.path.read_bytes().splitlines(keepends=True)[1:]
    source.path.write_bytes(b"".join(lines))
    words = (sys.executable, "-c", WRITER, source.path, path, str(ROUNDS))
    return await asyncio.create_subprocess_exec(*words, stdin=asyncio.subprocess.PIPE)


async def test_a_burst_is_shown_whole_while_keys_are_answered_and_plans_replayed(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs(["tiered-stale"])) as run:
        timeline = run.timeline
        before = len(run.session.messages)
        await run.press("home")
        writer = await start_burst(session_file.path)
        await run.until(lambda: len(run.session.messages) > before)
        shown_before_answer = []
        for _ in range(4):
            was, shown = timeline.cursor, run.happened.count("appended")
            run.send("down")
            run.send("1")
            async with asyncio.timeout(PATIENCE):
                while timeline.cursor == was:
                    await asyncio.sleep(0.005)
            shown_before_answer.append(run.happened.count("appended") - shown)
        await writer.communicate(b"\n")
        assert writer.returncode == 0
        await run.until(lambda: len(run.session.messages) == before + ROUNDS * TURNS * 2)
        await run.until(lambda: not run.is_counting)
        await run.settled()
        await run.until(lambda: run.replay.history is run.history)
        assert max(shown_before_answer) <= FEW, "keys do not wait for the records that are still to come"
        identifiers = [message.identifier for message in run.session.messages if message.identifier]
        assert len(set(identifiers)) == len(identifiers)
        assert run.replay.history.call_count == 30 + ROUNDS * TURNS
        assert len(run.counts.tokens) == len(run.session.blocks)
        assert timeline.count == len(run.rows)
        assert run.happened.count("replayed") > 1


async def test_nothing_more_is_read_before_what_was_read_is_shown(running, session_file, monkeypatch) -> None:
    async with running(session_file.path) as run:
        waiting: list[int] = []
        may_show = asyncio.Event()

        async def wait() -> None:
            waiting.append(len(run.session.messages))
            await may_show.wait()

        run.before_showing(monkeypatch, wait)
        session_file.turn()
        await run.until(lambda: waiting)
        for _ in range(5):
            session_file.turn()
            await asyncio.sleep(0.05)
        assert run.happened.count("appended") == 1
        may_show.set()
        await run.until(lambda: len(run.session.messages) == 1 + 2 * session_file.turns)
