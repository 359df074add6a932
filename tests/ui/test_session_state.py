import os
import signal
import time
from pathlib import Path

import pytest

from inspector import __version__
from inspector.live.status_line import kept_saving
from inspector.strategies.plan import Plan
from inspector.ui.controller.saved_state import SessionState, load_state, save_state, state_path
from tests.conftest import ROOT
from tests.terminal import TerminalProgram
from tests.ui.recordings import recording, this_hour

ONE = Plan.from_specs(["tiered-stale:data=40"])
OTHER = Plan.from_specs(["tiered-stale:data=50,enabled=false", "clear-old"])


@pytest.fixture
def old_session(session_file) -> Path:
    then = time.time() - 3 * 86_400
    os.utime(session_file.path, (then, then))
    return session_file.path


def test_a_state_is_kept_apart_for_every_session(tmp_path: Path) -> None:
    first = SessionState({"A": ONE, "B": OTHER}, "B", 7, 3, plan_open=True)
    save_state(tmp_path / "one.jsonl", first)
    save_state(tmp_path / "other.jsonl", SessionState({"A": OTHER}))

    assert load_state(tmp_path / "one.jsonl") == first
    assert load_state(tmp_path / "one.jsonl").plan == OTHER
    assert load_state(tmp_path / "one.jsonl").other == ONE
    assert load_state(tmp_path / "other.jsonl") == SessionState({"A": OTHER})
    assert load_state(tmp_path / "third.jsonl") == SessionState()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "\x00",
        "letter = 4\nblock = -3\ncall = true\nplans = 1",
        "[plans]\nA = 3",
        "[plans.A]\n[[plans.A.strategies]]\nname = 'no-such-strategy'",
        "[plans.C]\nname = 'x'",
    ],
)
def test_what_this_version_cannot_read_is_passed_over(text: str, tmp_path: Path) -> None:
    path = state_path(tmp_path / "session.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

    assert load_state(tmp_path / "session.jsonl") == SessionState()


async def test_both_plans_the_place_and_the_focus_in_the_plan_are_there_again_the_next_time(
    running, old_session: Path
) -> None:
    async with running(old_session) as run:
        await run.press("1", "a", "1", "[", "[", "down", "down", "p")
        left = run.state_to_keep
        assert left.letter == "B"

    async with running(old_session) as run:
        await run.until(lambda: run.focus is not None and run.focus.kind == "strategy")
        assert run.state_to_keep == left
        assert run.call == left.call
        await run.press("a")
        assert run.plan == left.plans["A"]


async def test_a_plan_of_the_last_time_is_announced_once_undone_it_is_kept_as_undone_before_the_program_ends(
    running, old_session: Path
) -> None:
    save_state(old_session, SessionState({"A": ONE}))
    async with running(old_session) as run:
        await run.until_shown("restored plan is on: tiered-stale; 1 turns it off")
        await run.press("asterisk")
        await run.until_shown("no search for a better plan while one is on")
        await run.press("1")
        assert not run.plan.strategies
        await run.press("1")
        await run.until(lambda: load_state(old_session).plan is not None and load_state(old_session).plan.strategies)
        await run.press("ctrl+z")
        await run.until(lambda: not load_state(old_session).plan.strategies)

    async with running(old_session) as run:
        assert not run.plan.strategies
        assert "restored plan" not in run.text()


async def test_filter_order_view_and_focus_are_there_again_the_next_time(running, old_session: Path) -> None:
    async with running(old_session) as run:
        await run.press("z", "s", "f", *"who:result", "enter")
        hidden = run.hidden
        await run.press("enter", "r", "r")
        left = run.state_to_keep
        assert (left.filter, left.order, left.view, left.pane) == ("who:result", "SIZE", "raw", "detail")

    async with running(old_session) as run:
        await run.until(lambda: run.view is not None and run.hidden == hidden)
        await run.until(lambda: run.state_to_keep == left)
        assert run.detail.has_focus
        assert "largest first" in run.text()


async def test_a_session_that_is_being_written_is_opened_at_its_end_all_the_same(running, tmp_path: Path) -> None:
    session_file = recording(tmp_path / "session.jsonl", hour=this_hour())
    async with running(session_file.path) as run:
        await run.press("[", "home")

    async with running(session_file.path) as run:
        assert run.call is None
        assert run.timeline.is_followed


@pytest.mark.parametrize("ending", [signal.SIGHUP, signal.SIGTERM])
def test_a_closed_terminal_loses_no_change_of_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: signal.Signals
) -> None:
    session = recording(tmp_path / "session.jsonl", turns=4).path
    with TerminalProgram(tmp_path, str(session)) as program:
        program.until(lambda: "Cost $" in program.text, "the costs")
        program.press("1", shows="[x] tiered-stale")
        program.child.kill(ending)
        program.until(lambda: not program.child.isalive(), "the end")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "STATE"))
    assert [strategy.name for strategy in load_state(session).plan.strategies] == ["tiered-stale"]


async def test_the_best_plans_net_saving_is_kept_for_status_lines(running) -> None:
    path = ROOT / "sample_sessions" / "coding-agent.jsonl"
    async with running(path) as run:
        await run.until(lambda: run.best is not None)
        low, high = run.best.net_share_range
        net, saved, share = run.best.recoveries.net, run.best.savings.usd.value, run.best.savings.share.value
        # The range in dollars, as shares of what the share of the saving refers to.
        assert (low, high) == pytest.approx((net[0] * share / saved, net[1] * share / saved))

    assert kept_saving(str(path), __version__) == {"low": low, "high": high}
