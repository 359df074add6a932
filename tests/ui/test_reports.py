"""A report saved from the screen: the same figures as the command's, in any form, never over a session."""

import json
from pathlib import Path
from threading import Event

import pytest

from inspector.cli import main
from inspector.cli.arguments import FORMS
from inspector.replay.analysis.best_plan import BestPlanSearch
from inspector.replay.analysis.reuse import ReuseScan
from inspector.replay.sessions import replay_session
from inspector.report import session_report
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from inspector.ui.reports import REPORT_FORMS
from tests.conftest import ROOT

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"


async def _ask(run, target: Path, *keys: str) -> None:
    await run.tap("w", "w")
    await run.until_open("report")
    await run.tap(*keys)
    run.line = str(target)
    await run.tap("enter")


async def test_a_report_from_the_screen_says_what_the_command_says(
    running, session_file, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "mine.json"
    async with running(session_file.path) as run:
        await run.tap("1")
        await run.settled()
        await _ask(run, target, "shift+tab")
        await run.until(target.exists)
        await run.until(lambda: any(toast.endswith("mine.json") for toast in run.toasts))
        spec = run.plan.to_specs()[0]

    options = ["report", str(session_file.path), "--strategy", spec, "--runs-per-day", "1", "--format", "json"]
    assert main(options) == 0
    told, written = json.loads(capsys.readouterr().out), json.loads(target.read_text(encoding="utf-8"))
    assert written["baseline"] == told["baseline"]
    assert written["plans"][0]["figures"] == told["plans"][0]["figures"]
    assert written["plans"][0]["saved"] == told["plans"][0]["saved"]


async def test_the_form_decides_how_the_name_of_the_file_ends(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.tap("w", "w")
        await run.until_open("report")
        endings = []
        for _ in range(5):
            endings.append(Path(run.line).suffix)
            await run.tap("tab")
        again = Path(run.line).suffix
        run.line = "named.html"
        await run.tap("tab")

        assert endings == [".html", ".md", ".txt", ".csv", ".json"]
        assert again == ".html"
        assert run.line == "named.md"


def test_every_form_a_report_has_can_be_saved_from_the_screen() -> None:
    assert {form.name for form in REPORT_FORMS} == set(FORMS)


async def test_without_a_strategy_on_it_is_stated_what_the_report_is_on(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.tap("w", "w")
        await run.until_shown("No strategy is on")


async def test_without_a_strategy_on_the_report_is_on_the_best_plan_however_early_it_is_asked_for(
    running, tmp_path: Path
) -> None:
    target = tmp_path / "early.json"
    async with running(SAMPLE) as run:
        await _ask(run, target, "shift+tab")
        await run.until(target.exists)
        await run.until_shown("report saved in")

    baseline = replay_session(open_session(SAMPLE), Plan())
    found = BestPlanSearch(baseline, ReuseScan(baseline.history)).run(lambda: False, lambda _: None)
    assert found is not None
    assert found.best is not None
    written = json.loads(target.read_text(encoding="utf-8"))
    assert [plan["name"] for plan in written["plans"]] == [f"{found.best.plan.name}, suggested as the best plan"]
    assert written["best_plan"]["best"]["name"] == found.best.plan.name


async def test_a_session_is_never_written_over(running, session_file) -> None:
    before = session_file.path.read_bytes()
    async with running(session_file.path) as run:
        await _ask(run, session_file.path)
        await run.until_shown("is part of the session; choose another file")
        assert run.has_dialog

    assert session_file.path.read_bytes() == before


async def test_a_report_that_takes_long_shows_how_far_it_is_and_can_be_stopped(
    running, session_file, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, stopped = Event(), Event()

    def endless(*arguments: object) -> None:
        progress = arguments[3]
        assert callable(progress)
        begun.set()
        try:
            while True:
                progress(1, 4)
                stopped.wait(0.001)
        finally:
            stopped.set()

    monkeypatch.setattr(session_report, "report_of", endless)
    target = tmp_path / "page.html"
    async with running(session_file.path) as run:
        await _ask(run, target)
        await run.until_shown("writing the report")
        await run.until(begun.is_set)
        await run.tap("escape")
        await run.until_shown("report canceled")
        await run.until(stopped.is_set)

    assert not target.exists()
