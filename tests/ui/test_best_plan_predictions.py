"""Predictions for the best plan equal its results once it is applied, in every part of the screen."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import msgspec
import pytest

from inspector.cli import main
from inspector.replay.analysis import best_plan
from inspector.replay.analysis import best_plan as comparison
from inspector.replay.analysis.best_plan import FIRST
from inspector.replay.quantity import DOLLAR_DIGITS
from inspector.report.numbers import ON_SCREEN
from inspector.report.tuning import TuneReport
from inspector.strategies.plan import Plan
from inspector.ui.compare import screen as compare_screen
from tests.conftest import ROOT
from tests.program import run_here
from tests.test_cli_tune import tried_once, write_sessions  # noqa: F401  used by every test
from tests.ui.recordings import recording
from tests.ui.studies import CURRENT, Compare

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.model import Session
    from tests.ui.recordings import Recording

SESSIONS = (
    "sample_sessions/coding-agent.jsonl",
    "sample_sessions/mail-and-jobs.jsonl",
    "corpus/codex/rollout-2026-04-07T13-59-53-019d683e-1ac9-7fb1-99eb-e46acbee7ff0.jsonl",
    "corpus/claude-code/8ecab05f-4481-43d6-9428-a6b177981877.jsonl",
)

TURNS = 120
"""Turns after which dropping older results is worth rewriting the cache."""

CENT = 0.501 * 10**-DOLLAR_DIGITS
"""Reports round to this."""


@pytest.fixture(autouse=True)
def what_was_best_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try only the plans that are tried first: all of them are most of the time."""

    every = comparison.plans_to_compare

    def some(session: Session) -> tuple[Plan, ...]:
        return tuple(plan for plan in every(session) if plan.name in FIRST)

    for module in (compare_screen, best_plan):
        monkeypatch.setattr(module, "plans_to_compare", some)


@pytest.fixture
def long_session(tmp_path: Path) -> Recording:
    return recording(tmp_path / "long.jsonl", TURNS)


@pytest.fixture(params=SESSIONS)
def session_path(request: pytest.FixtureRequest) -> Path:
    """A session of this project, or a real one where available."""
    name: str = request.param
    if name.startswith("corpus/"):
        return request.getfixturevalue("shared") / name  # type: ignore[no-any-return]
    return ROOT / name


async def test_the_best_plan_taken_by_its_key_saves_to_the_cent_what_was_promised_wherever_it_is_reported(
    running, session_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(session_path, size=(200, 60)) as run:
        await run.until(lambda: run.best is not None)
        promised = run.best
        await run.until_shown("best plan")
        line = run.line_with("best plan")
        least = promised.recoveries.net[0]
        assert f" {ON_SCREEN.dollars(least)} " in line.partition("best plan")[2]

        await run.press("asterisk")
        await run.settled()
        assert run.plan.strategies == promised.plan.strategies
        assert run.totals.savings == promised.savings
        await run.until(lambda: run.knows_needed)
        assert run.risks.needed == promised.recoveries
        await run.until(
            lambda: re.search(rf"saves ~?{re.escape(ON_SCREEN.dollars(promised.savings.usd.value))} ", run.text())
        )

        compare = await Compare.opened(run)
        assert compare.found(CURRENT).savings == promised.savings
        assert compare.found(promised.plan.name).savings == promised.savings
        file = tmp_path / "taken.toml"
        file.write_text(run.plan.to_toml(), encoding="utf-8")

    capsys.readouterr()
    assert main(["report", str(session_path), "--plan", str(file), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["plans"][0]
    assert told["saved"]["usd"] == pytest.approx(promised.savings.usd.value, abs=CENT)
    assert told["needed_later"]["saved_at_least_usd"] == pytest.approx(least, abs=CENT)
    assert told["needed_later"]["calls"] == promised.needed


async def test_a_plan_that_tune_wrote_saves_on_the_screen_and_in_reports_what_tune_reported_for_each_session(
    running, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, report, file = tmp_path / "sessions", tmp_path / "report.json", tmp_path / "tuned.toml"
    write_sessions(folder, 5)
    asked = ("--strategy", "last-observations", "--format", "json", "--report", report, "-o", file)
    assert run_here(capsys, "tune", folder, *asked).code == 0
    (group,) = msgspec.json.decode(report.read_bytes(), type=TuneReport).groups
    plan = Plan.from_toml(file.read_text(encoding="utf-8"))

    assert len(group.rows) == 5
    for row in group.rows[:2]:
        path = folder / row.path.rpartition("/")[2]
        async with running(path, plan=plan, size=(160, 40)) as run:
            await run.until(lambda run=run: run.knows_needed)
            assert run.risks.needed.net[0] == pytest.approx(row.saved_at_least_usd, abs=CENT)
            assert run.risks.needed.needed == row.needed
            saved = run.totals.savings.usd.value
            await run.until_shown(f"saves {ON_SCREEN.dollars(saved)} ")
        capsys.readouterr()
        assert main(["report", str(path), "--plan", str(file), "--format", "json"]) == 0
        told = json.loads(capsys.readouterr().out)["plans"][0]
        assert told["saved"]["usd"] == pytest.approx(saved, abs=CENT)
        assert told["needed_later"]["saved_at_least_usd"] == pytest.approx(row.saved_at_least_usd, abs=CENT)


async def test_the_best_plan_is_taken_once_undone_and_of_a_session_that_grows_reported_as_it_is_now(
    running, long_session
) -> None:
    async with running(long_session.path, size=(160, 40)) as run:
        await run.until(lambda: run.best is not None)
        plan = run.plan
        await run.press("asterisk")
        await run.until_shown("ctrl+z undoes it")
        assert run.plan.strategies == run.best.plan.strategies
        await run.press("asterisk")
        await run.until_shown(", the best plan; ctrl+z undoes it")
        await run.press("ctrl+z")
        assert run.plan == plan

        await run.until(lambda: run.best is not None)
        before = run.best.savings.usd.value
        calls = run.history.call_count
        for _ in range(2):
            long_session.turn()
            await run.until(lambda calls=calls: run.history.call_count > calls)
            calls = run.history.call_count
            assert run.best_so_far is not None
        await run.until(lambda: run.replay.history.call_count == calls)
        await run.settled()
        await run.until(lambda: run.newest_best is not None and run.newest_best.savings.usd.value != before)
        await run.until(lambda: ON_SCREEN.dollars(run.best.recoveries.net[0]) in run.line_with("best plan"))
        promised = run.best
        await run.press("asterisk")
        await run.settled()
        assert run.totals.savings == promised.savings
