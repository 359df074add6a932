"""Reports in every form, from every kind of report."""

import sys
from pathlib import Path

import pytest

from inspector.cli import main
from inspector.cli.arguments import FORMS
from inspector.cli.reading import read_session, replay_inputs
from inspector.replay.assumptions import ASSUMED_RUNS
from inspector.report.document import ReportOptions
from inspector.report.forms import written
from inspector.report.session_report import report_of
from inspector.strategies.plan import Plan
from tests.conftest import ROOT

SAMPLE = ROOT / "sample_sessions" / "benchmark-trial.json"


def test_every_form_is_what_the_command_line_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)  # nothing is raised where no chart can be drawn
    inputs, plans = replay_inputs(read_session(SAMPLE)), (Plan.from_specs(["clear-old"]),)
    for form in FORMS:
        target = tmp_path / form
        words = ["report", str(SAMPLE), "--strategy", "clear-old", "--no-compare", "--format", form, "-o", str(target)]
        assert main(words) == 0
        runs = ASSUMED_RUNS if form == "html" else None
        report = report_of(inputs, plans, ReportOptions(runs, ledger=form in ("csv", "html")))
        assert written(report, form) == target.read_bytes().decode(), form
