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

WRITER = """
import sys, time
lines = sys.stdin.buffer.read().splitlines(keepends=True)
with open(sys.argv[1], "ab", buffering=0) as file:
    for number in range(1, int(sys.argv[2]) + 1):
        mark = b"%03d" % number
        made = (line.replace(b"msg_00", b"msg_" + mark).replace(b"toolu_00", b"toolu_" + mark) for line in lines)
        file.write(b"".join(line.replace(b"-8000-", b"-8" + mark + b"-") for line in made))
        time.sleep(0.012)
"""


async def write_burst(path: Path) -> None:
    """Append ten thousand records, from another process."""
    source = recording(path.with_name("source.txt"), TURNS)
    lines = b"".join(source.path.read_bytes().splitlines(keepends=True)[1:])
    source.path.unlink()
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, path, str(ROUNDS), stdin=asyncio.subprocess.PIPE
    )
    await writer.communicate(lines)
    assert writer.returncode == 0


async def test_a_burst_is_shown_whole_while_keys_are_answered_and_plans_replayed(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs(["tiered-stale"])) as run:
        timeline = run.timeline
        before = len(run.session.messages)
        await run.press("home")
        burst = asyncio.create_task(write_burst(session_file.path))
        await run.until(lambda: len(run.session.messages) > before)
        seen_at_key = []
        for _ in range(4):
            was = timeline.cursor
            run.send("down")
            run.send("1")
            while timeline.cursor == was:
                await asyncio.sleep(0.005)
            seen_at_key.append(len(run.session.messages))
        await burst
        await run.until(lambda: len(run.session.messages) == before + ROUNDS * TURNS * 2)
        await run.until(lambda: not run.is_counting)
        await run.settled()
        await run.until(lambda: run.replay.history is run.history)
        assert min(seen_at_key) < len(run.session.messages), "keys were answered while records came"
        identifiers = [message.identifier for message in run.session.messages if message.identifier]
        assert len(set(identifiers)) == len(identifiers)
        assert run.replay.history.call_count == 30 + ROUNDS * TURNS
        assert len(run.counts.tokens) == len(run.session.blocks)
        assert timeline.count == len(run.rows)
        assert run.happened.count("appended") <= ROUNDS + 1
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
