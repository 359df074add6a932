"""A session file that becomes shorter while it is open, with any selection, marks, hidden blocks and plan."""

from __future__ import annotations

import json
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from inspector.replay.analysis.context_breakdown import context_breakdown
from inspector.strategies.plan import Plan
from inspector.ui import analysis_screen as studies
from tests.ui.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inspector.replay.analysis.context_breakdown import ContextBreakdown
    from tests.ui.recordings import Recording

STALE = Plan.from_specs(["tiered-stale"])

CLAUDE_CODE = "claude-code/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl"
CODEX = "codex/rollout-2025-09-16T12-47-48-9cd28a74-da7e-4458-a91a-fffec2be9d7a.jsonl"
GEMINI_CLI = "gemini-cli/cdb14b05-cceb-4354-a9d8-8c9182ece8bf.json"


def fewer_lines(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[: len(lines) * 2 // 5])


def fewer_messages(data: bytes) -> bytes:
    document = json.loads(data)
    document["messages"] = document["messages"][: len(document["messages"]) * 2 // 5]
    return json.dumps(document).encode()


def in_place(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def in_its_place(path: Path, data: bytes) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(data)
    other.replace(path)


SHORTER = [
    pytest.param(CLAUDE_CODE, fewer_lines, in_place, "f", id="claude-code, filtered, written again"),
    pytest.param(CLAUDE_CODE, fewer_lines, in_its_place, "slash", id="claude-code, searched, replaced"),
    pytest.param(CODEX, fewer_lines, in_place, "slash", id="codex, searched, written again"),
    pytest.param(GEMINI_CLI, fewer_messages, in_place, "slash", id="gemini-cli, searched, written again"),
    pytest.param(GEMINI_CLI, fewer_messages, in_its_place, "f", id="gemini-cli, filtered, replaced"),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "shorten", "write", "looks_for"), SHORTER)
async def test_what_was_held_of_a_longer_session_fails_nothing(
    running,
    corpus: Path,
    tmp_path: Path,
    name: str,
    shorten: Callable[[bytes], bytes],
    write: Callable[[Path, bytes], None],
    looks_for: str,
) -> None:
    data = (corpus / name).read_bytes()
    path = tmp_path / name.rpartition("/")[2]
    path.write_bytes(data)
    async with running(path, plan=STALE) as run:
        last = len(run.session.all_blocks) - 1
        await run.until(lambda: run.knows_needed)
        for block in (last, last // 2, 1):
            run.timeline.go_to(block)
            await run.press("z", "p")
        await run.press("left_square_bracket")
        await run.press("z", "s", "z", "s", looks_for)
        run.line = "who:result"
        await run.until(lambda: run.found is not None and len(run.found) > 0)
        await run.press("enter")
        run.timeline.go_to(last)
        await run.pause()

        write(path, shorten(data))
        await run.until(lambda: len(run.session.all_blocks) < last)
        fewer = len(run.session.all_blocks)
        await run.until(lambda: run.has_replay and len(run.replay.history.kind) == fewer)
        await run.settled()
        await run.until(lambda: run.knows_needed)
        for letter in "xFcbmrph":
            await run.press("g", letter)
        await run.press("n", "left_square_bracket", "end")
        await run.press("1", "1")
        await run.until(lambda: run.knows_needed)

        assert "failed" not in run.happened
        assert not [told for told in run.toasts if "could not" in told]
        assert "could not" not in run.text()
        assert run.call is None or run.call < run.replay.history.call_count
        assert all(block < fewer for block in run.pins)
        assert 0 <= run.timeline.cursor_block < fewer


async def test_what_was_asked_of_a_row_that_is_gone_meanwhile_does_nothing(running, session_file: Recording) -> None:
    async with running(session_file.path) as run:
        row, block = len(run.rows) - 1, len(run.session.all_blocks) - 1
        session_file.path.write_bytes(fewer_lines(session_file.path.read_bytes()))
        await run.until(lambda: len(run.session.all_blocks) < block)
        await run.settled()
        run.timeline.ask_late(row, block)
        await run.pause()
        assert not run.failed_parts
        assert block not in run.pins


async def test_a_study_of_a_file_that_is_rewritten_before_it_is_shown_shows_what_was_there(
    running, session_file: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = studies.AnalysisScreen.on_mount

    def mount_late(screen: Any) -> None:
        screen.controller.outcome = None
        mount(screen)

    async with running(session_file.path) as run:
        monkeypatch.setattr(studies.AnalysisScreen, "on_mount", mount_late)
        for key, name in {"c": "compare", "t": "tune", "v": "composition", "dollar_sign": "costs"}.items():
            await run.tap(key)
            await run.pause()
            assert run.on_top == name
            assert not run.toasts
            await run.tap("escape")
            await run.until_open("session")
            # Replays the session again.
            await run.press("1")


@pytest.mark.parametrize("study", ["c", "t", "v", "dollar_sign"])
async def test_a_study_goes_on_while_its_file_becomes_shorter(running, session_file: Recording, study: str) -> None:
    async with running(session_file.path, plan=STALE) as run:
        await run.tap(study)
        await run.until(lambda: run.on_top != "session")
        on_top = run.on_top
        in_place(session_file.path, fewer_lines(session_file.path.read_bytes()))
        # The explanation refers to the old or the new file: for a moment nothing of it is replayed.
        await run.until(lambda: not run.has_replay or run.replay.history.call_count < session_file.turns)
        await run.tap("E")
        await run.until_open("explain")
        await run.tap("escape")
        await run.until(lambda: run.has_replay and run.replay.history.call_count < session_file.turns)
        await run.until_open(on_top)
        await run.tap("escape")
        await run.until_open("session")
        await run.settled()

        assert "failed" not in run.happened


async def test_what_was_divided_of_a_longer_session_is_shown_without_a_failure(
    running, session_file: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_shorter = Event()

    def held_up(*args: Any) -> ContextBreakdown:
        is_shorter.wait(PATIENCE)
        return context_breakdown(*args)

    async with running(session_file.path, plan=STALE) as run:
        await run.tap("v")
        await run.until_open("composition")
        await run.settled()
        monkeypatch.setattr("inspector.ui.composition.screen.context_breakdown", held_up)
        await run.tap("[")
        in_place(session_file.path, fewer_lines(session_file.path.read_bytes()))
        await run.until(lambda: run.has_replay and run.replay.history.call_count < session_file.turns)
        is_shorter.set()
        await run.settled()

        assert "failed" not in run.happened
