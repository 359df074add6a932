"""Live screen: which running session comes first, what its row shows, and its keys."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

import pytest

from inspector.live.away import PausePrices, pause_advice
from inspector.live.status import Activity, CacheState, CacheStatus, Forecast, HourlyRate, LiveSession, Loop
from inspector.live.watch import LiveSnapshot
from inspector.replay.figure import Band, Figure, HowKnown
from inspector.settings import Settings
from inspector.ui import app as applications
from inspector.ui.figure_table.table import widths_for
from inspector.ui.live import screen as live_screen
from inspector.ui.live.rows import (
    ALARM,
    CALM,
    COLUMNS,
    WARNING,
    detail_of_session,
    fill_bar,
    level_of_fill,
    names_of,
    row_of_session,
    summary_of,
)
from tests.live.made import call_lines, write_session
from tests.ui.facade import Running, stop_clock
from tests.ui.test_screens import compare

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator

NOW = 1_800_000_000.0
QUIET = Settings(alert_by=())


def exact(value: float) -> Figure:
    return Figure(value, HowKnown.EXACT)


def session(name: str, fill: float, **more: Any) -> LiveSession:
    """A session that compacts at 100,000 tokens."""
    given: dict[str, Any] = {
        "path": Path(f"/sessions/{name}.jsonl"),
        "identifier": name,
        "format": "claude-code",
        "agent": "Claude Code 2.1",
        "project": name,
        "title": f"Title of {name}",
        "model": "claude-opus-4-5",
        "state": Activity.WORKING,
        "prompt": exact(100_000 * fill),
        "compacts_at": exact(100_000),
        "window": exact(200_000),
        "last_activity": NOW,
    }
    return LiveSession(**{**given, **more})


CALM_ONE = session("calm", 0.2)
FILLING = session("filling", 0.8)
SOON = session("soon", 0.95, forecast=Forecast(Band(2.0, 4.0, 9.0), Band(5.0, 10.0, 20.0)))
LOOPING = session("looping", 0.3, loop=Loop("Bash", 7))
WAITING = session("waiting", 0.1, state=Activity.WAITING)


class Fixed:
    """Source of snapshots that a test sets."""

    def __init__(self, *sessions: LiveSession) -> None:
        self.sessions = sessions

    def snapshot(self) -> LiveSnapshot:
        now = time()
        rows = [replace(each, last_activity=now) for each in self.sessions]
        return LiveSnapshot(tuple(sorted(rows, key=lambda each: each.urgency(now))), now)

    async def snapshots(self, stop: asyncio.Event) -> AsyncIterator[LiveSnapshot]:
        yield self.snapshot()
        await stop.wait()


@asynccontextmanager
async def watching(
    source: Fixed, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Running, live_screen.LiveScreen]]:
    monkeypatch.setattr(
        applications.InspectorApp, "live_screen", lambda app: live_screen.LiveScreen(source, app.settings)
    )
    app = applications.LiveApp([Path("/sessions")], settings=QUIET)
    async with app.run_test(size=size) as pilot:
        run = Running(app, pilot, [])
        await run.until(lambda: isinstance(app.screen, live_screen.LiveScreen) and app.screen.table.sessions)
        assert isinstance(app.screen, live_screen.LiveScreen)
        yield run, app.screen


def cells_of(row: LiveSession, width: int = 80) -> dict[str, str]:
    widths = widths_for(COLUMNS, width)
    return {name: cell.text for name, cell in row_of_session(row, *names_of([row]), NOW, widths).cells.items()}


def test_a_fill_is_amber_from_75_and_red_from_90_percent() -> None:
    assert [level_of_fill(fill) for fill in (0.749, 0.75, 0.899, 0.9, 1.2)] == [CALM, WARNING, WARNING, ALARM, ALARM]


def test_a_bar_fills_its_column_in_eighths_of_a_cell() -> None:
    assert fill_bar(0.5, 6) == "███░░░"
    # A quarter of 6 cells is one cell and a half, 12 eighths.
    assert fill_bar(0.25, 6) == "█▌░░░░"
    assert fill_bar(1.3, 4) == "████"
    assert fill_bar(0.0, 4) == "░░░░"


def test_a_row_shows_why_to_look_at_it() -> None:
    assert cells_of(LOOPING)["why"] == "loop \N{MULTIPLICATION SIGN}7"
    assert cells_of(SOON)["why"] == "compacts soon"
    assert cells_of(SOON)["calls"] == "~4 calls"
    assert cells_of(WAITING)["why"] == "waits for you"
    assert cells_of(CALM_ONE)["why"] == "working"


def test_sessions_of_the_same_project_have_their_titles_as_names() -> None:
    assert names_of([CALM_ONE, SOON]) == ["calm", "soon"]
    twice = [replace(CALM_ONE, project="api"), replace(SOON, project="api"), LOOPING]
    assert names_of(twice) == ["Title of calm", "Title of soon", "looping"]


def test_a_fill_is_an_upper_limit_where_the_compaction_size_is_a_lower_bound() -> None:
    row = session("x", 0.5, compacts_at=Figure(100_000, HowKnown.ESTIMATED, is_lower_bound=True))
    assert cells_of(row)["fill"] == "≤ 50 %"


def test_the_time_until_a_cache_goes_cold_is_a_clock_within_the_hour() -> None:
    warm = CacheStatus(CacheState.WARM, NOW + 220, 300, exact(0.1), exact(1.6))
    assert cells_of(session("x", 0.5, cache=warm))["cache"] == "3:40"
    assert cells_of(session("x", 0.5, cache=replace(warm, expires_at=NOW + 7200)))["cache"] == "2 h"
    assert cells_of(session("x", 0.5, cache=replace(warm, expires_at=NOW - 1)))["cache"] == "cold"
    assert "cold in 3:40, then $1.60 instead of $0.10" in detail_of_session(session("x", 0.5, cache=warm), NOW)[1]


def test_the_title_counts_sessions_and_adds_their_rates() -> None:
    rate = HourlyRate(exact(1e6), exact(1.5))
    snapshot = LiveSnapshot((replace(SOON, recent=rate), replace(CALM_ONE, recent=rate)), NOW)
    # 1.50 + 1.50 dollars an hour; only one of the two needs attention.
    assert summary_of(snapshot) == "2 running · 1 needs you · ~$3.00/h"
    least = HourlyRate(exact(1e6), Figure(1.5, HowKnown.EXACT, is_lower_bound=True))
    snapshot = LiveSnapshot((replace(SOON, recent=rate), replace(CALM_ONE, recent=least)), NOW)
    assert summary_of(snapshot).endswith(" · ≥ $3.00/h")


def test_both_costs_of_the_next_prompt_are_marked_if_they_are_projected() -> None:
    warm, cold = (Figure(usd, HowKnown.PROJECTED) for usd in (0.2, 2.5))
    row = session("x", 0.5, cache=CacheStatus(CacheState.WARM, NOW + 60, 300, warm, cold))
    assert "cold in 1:00, then ~$2.50 instead of ~$0.20" in detail_of_session(row, NOW)[1]


def test_session_text_cannot_change_the_terminal() -> None:
    row = session("x", 0.5, project="a\x1b[31mb\nc", title="t\x1b]52;c;x\x07", loop=Loop("B\x1bash", 9))
    texts = [*cells_of(row, 300).values(), *detail_of_session(row, NOW)]
    assert not any("\x1b" in text or "\n" in text or "\x07" in text for text in texts)


async def test_the_most_urgent_session_is_first_and_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(Fixed(CALM_ONE, WAITING, FILLING, SOON, LOOPING), monkeypatch) as (run, screen):
        table = screen.table
        assert [each.project for each in table.sessions] == ["looping", "soon", "filling", "waiting", "calm"]
        assert table.session.project == "looping"
        await run.until_shown("Bash called 7 times in a row with the same arguments")


async def test_n_goes_to_the_next_session_that_needs_attention_and_wraps_around(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with watching(Fixed(CALM_ONE, FILLING, SOON), monkeypatch) as (run, screen):
        table = screen.table
        seen = []
        for _ in range(3):
            await run.tap("n")
            seen.append(table.session.project)
        assert seen == ["filling", "soon", "filling"]


async def test_an_alert_with_a_remaining_time_is_hidden_next_to_the_running_clock_of_its_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = CacheStatus(CacheState.WARM, time() + 60, 300, exact(0.1), exact(1.6))
    source = Fixed(session("pausing", 0.3, state=Activity.WAITING, cache=cache), CALM_ONE)
    async with watching(source, monkeypatch) as (run, screen):
        await run.until_shown(", then $1.60 instead of $0.10")
        assert "pausing goes cold in" not in run.text()
        await run.tap("down")
        screen.show_snapshot(source.snapshot())
        await run.until_shown("pausing goes cold in ")


async def test_n_reports_that_no_session_needs_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(Fixed(CALM_ONE), monkeypatch) as (run, _):
        await run.tap("n")
        await run.until_shown("No session needs attention.")


async def test_the_cursor_stays_on_its_session_while_the_order_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Fixed(CALM_ONE, FILLING)
    async with watching(source, monkeypatch) as (run, screen):
        await run.tap("down")
        assert screen.table.session.project == "calm"
        source.sessions = (replace(SOON, project="calm", path=CALM_ONE.path), FILLING)
        screen.show_snapshot(source.snapshot())
        assert screen.table.session.project == "calm"
        assert screen.table.cursor == 0


async def test_without_a_running_session_the_screen_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        applications.InspectorApp, "live_screen", lambda app: live_screen.LiveScreen(Fixed(), app.settings)
    )
    app = applications.LiveApp([Path("/sessions")], settings=QUIET)
    async with app.run_test(size=(80, 24)) as pilot:
        run = Running(app, pilot, [])
        await run.until_shown("Start one in another terminal: its session appears here within a second.")


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 36)])
async def test_every_row_has_its_name_fill_and_reason_in_any_size(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watching(Fixed(CALM_ONE, FILLING, SOON, LOOPING, WAITING), monkeypatch, size) as (run, _):
        await run.until_shown("looping")
        lines = run.text().splitlines()
        for name, fill, reason in (
            ("looping", "30 %", "loop \N{MULTIPLICATION SIGN}7"),
            ("soon", "95 %", "compacts"),
            ("filling", "80 %", "filling"),
            ("waiting", "10 %", "waits"),
            ("calm", "20 %", "working"),
        ):
            assert any(name in line and fill in line and reason in line for line in lines), (name, run.text())


async def test_enter_opens_the_session_in_a_tab_and_a_new_session_appears_within_seconds(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects"
    folder.mkdir(parents=True)
    app = applications.LiveApp([folder], settings=QUIET)
    async with app.run_test(size=(80, 24)) as pilot:
        run = Running(app, pilot, [])
        await run.until_shown("No agent is running.")
        path = write_session(tmp_path, "/code/api", ended=5)
        await run.until_shown("1 running")
        table = app.screen.table
        assert table.session.project == "api"
        before = table.session.prompt.value
        with path.open("a", encoding="utf-8") as file:
            for line in call_lines(5, time(), 102_000, 20_000, 500, sessionId="one", cwd="/code/api"):
                file.write(json.dumps(line) + "\n")
        # The new prompt is 102,000 + 20,000 tokens, and its response is part of the next one.
        await run.until(lambda: table.session.prompt.value > before + 19_000)
        await run.tap("enter")
        await run.until(lambda: not isinstance(app.screen, live_screen.LiveScreen))
        assert app.has_tabs is False
        assert app.screen.controller.path == path


async def test_the_running_sessions_open_from_the_session_list_and_close_again(
    running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        applications.InspectorApp, "live_screen", lambda app: live_screen.LiveScreen(Fixed(SOON), app.settings)
    )
    async with running((), folders=[tmp_path], size=(100, 30), listing=True, settings=QUIET) as run:
        await run.until_shown("No sessions found")
        await run.tap("ctrl+l")
        await run.until_shown("compacts soon")
        await run.tap("escape")
        await run.until_shown("No sessions found")


@pytest.mark.parametrize(("name", "size"), [("80x24-live.txt", (80, 24)), ("40x12-live.txt", (40, 12))])
async def test_the_live_screen_is_laid_out_as_kept(
    name: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_clock(monkeypatch, NOW)
    rate = HourlyRate(exact(1e6), exact(2.1))
    cache = CacheStatus(CacheState.WARM, NOW + 220, 300, exact(0.1), exact(1.6))
    rows = [replace(each, recent=rate, cache=cache, spent=exact(4.5)) for each in (CALM_ONE, SOON, WAITING, FILLING)]
    source = Fixed(*rows)
    monkeypatch.setattr(
        source, "snapshot", lambda: LiveSnapshot(tuple(sorted(rows, key=lambda x: x.urgency(NOW))), NOW)
    )
    async with watching(source, monkeypatch, size) as (run, _):
        await compare(run, name)


async def test_the_cost_of_a_pause_is_shown_once_the_agent_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    # 100,000 tokens: $0.10 warm and $1.25 cold, for an hour; a new session writes 20,000 tokens at $12.50 a million.
    prices = PausePrices(100_000, 0.1, 1.25, 1e-6, 12.5e-6, 25e-6, 3600.0, fresh=20_000)
    advice = pause_advice(prices, (), format_name="codex", agent="Codex", last=NOW, now=NOW)
    async with watching(Fixed(replace(WAITING, away=advice), CALM_ONE), monkeypatch, (100, 24)) as (run, _):
        await run.tap("i")
        await run.until_shown("cost of a pause with the next prompt")
        line = next(line for line in run.lines() if "new session" in line)
        assert line.count("~$0.25") == 3
        await run.tap("escape", "down", "i")
        await run.until_shown("The cost of a pause is known once the agent waits")
