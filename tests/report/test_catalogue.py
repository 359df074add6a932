"""Catalogue of figures: one entry per figure, used by everything that shows figures."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from inspector.replay.analysis.recoveries import NeededLater
from inspector.replay.quantity import Unit, quantities, quantity
from inspector.report import cache_document, catalogue
from inspector.report import folder as folder_compactions
from inspector.report import folder as folder_misses
from inspector.report.catalogue import FigureSet, PlanFacts, format_figure
from tests.conftest import ROOT

KINDS = [
    kind
    for module in (catalogue, cache_document, folder_compactions, folder_misses)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, catalogue.Struct) and quantities(kind)
]

MEAN = """mean_prompt_tokens: Annotated[
        int | None, figure("mean prompt", Unit.TOKENS, "Tokens of a prompt on average.")
    ]
    """

ADDED = {
    "inspector/replay/engine/ledger.py": [
        ("    cost_usd: Figure\n", "mean_prompt_tokens: Figure = Figure(None, HowKnown.EXACT)\n", "    "),
        ("        cost_usd=Figure(cost,", "mean_prompt_tokens=Figure(int(ledger.prompt_tokens.mean()), tokens), ", ""),
    ],
    "inspector/report/catalogue.py": [("    cost_usd: Annotated[", MEAN, "")],
}

SHOWN = """
import contextlib, io, json, sys
from inspector.cli import main
from inspector.cli.reading import read_session, replay_inputs
from inspector.replay.analysis.plan_outcome import plan_outcome
from inspector.replay.assumptions import Assumptions
from inspector.replay.engine.replay import replay
from inspector.replay.explain.cost_sheet import cost_sheet
from inspector.replay.assumptions import ASSUMED_RUNS
from inspector.report.document import Report
from inspector.report.json_document import schema_text
from inspector.strategies.plan import Plan
from inspector.ui.cost.rows import CostSection, section_table

def printed(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["report", *words]) == 0
    return out.getvalue()

session, folder = sys.argv[1:]
forms = {form: printed(session, "--strategy", "tiered-stale", "--format", form) for form in ("text", "md", "json")}
forms["html"] = printed(session, "--strategy", "tiered-stale", "--format", "html", "--no-compare", "--no-script")
forms["csv"] = printed(folder, "--format", "csv")
forms["schema"] = schema_text(Report)
baseline = replay(replay_inputs(read_session(__import__("pathlib").Path(session))), Plan())
sheet = cost_sheet(baseline, baseline, plan_outcome(baseline, baseline), Assumptions(), ASSUMED_RUNS)
rows = section_table(CostSection.TOTALS, sheet, None, None).rows
forms["screen"] = "\\n".join(f"{row.cells['name'].text} {row.cells['after'].text}" for row in rows)
json.dump(forms, sys.stdout)
"""


def test_a_total_that_is_worked_out_and_in_the_catalogue_arrives_everywhere(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "inspector", tmp_path / "inspector")
    for name, changes in ADDED.items():
        text = (tmp_path / name).read_text(encoding="utf-8")
        for line, added, behind in changes:
            assert text.count(line) == 1, f"{name}: {line!r} is not there, or more than once"
            indent = line[: len(line) - len(line.lstrip())]
            text = text.replace(line, f"{line}{behind}{added}" if behind else f"{indent}{added}{line.lstrip()}")
        (tmp_path / name).write_text(text, encoding="utf-8")
    folder = tmp_path / "sessions"
    folder.mkdir()
    session = shutil.copy(ROOT / "sample_sessions/benchmark-trial.json", folder)

    run = subprocess.run(
        [sys.executable, "-c", SHOWN, str(session), str(folder)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        check=False,
        text=True,
    )

    assert run.returncode == 0, run.stderr
    shown = json.loads(run.stdout)
    mean = json.loads(shown["json"])["baseline"]["mean_prompt_tokens"]
    assert mean > 0
    assert "Tokens of a prompt on average." in shown["schema"]
    assert "baseline_mean_prompt_tokens" in shown["csv"]
    for form in ("text", "md", "html", "screen"):
        assert "mean prompt" in shown[form], form
        assert f"{mean:,}" in shown[form], form


def test_every_entry_has_a_label_a_unit_and_a_field() -> None:
    for kind in KINDS:
        for name, entry in quantities(kind).items():
            assert entry.label, f"{kind.__name__}.{name}"
            assert entry.label == entry.label.strip()
            assert isinstance(entry.unit, Unit)
            assert name in kind.__struct_fields__


def test_parts_name_the_total_they_are_a_part_of() -> None:
    names = {name for kind in KINDS for name in quantities(kind)}
    for kind in KINDS:
        for entry in quantities(kind).values():
            assert not entry.part_of or entry.part_of in names


def test_a_figure_is_found_by_its_path_and_written_by_its_unit() -> None:
    assert quantity(PlanFacts, "figures.peak_prompt_tokens") == quantities(FigureSet)["peak_prompt_tokens"]
    assert format_figure(quantity(PlanFacts, "figures.cost_usd"), 1.5) == "$1.50"
    assert format_figure(quantity(PlanFacts, "outcome.cache_read_share"), 0.25) == "25.0 %"
    assert quantity(PlanFacts, "saved.percent").rounded(0.123456789) == 12.3457
    assert quantity(PlanFacts, "saved.usd").is_loss(-0.5)
    assert not quantity(PlanFacts, "figures.cost_usd").is_loss(-0.5)


def test_the_list_in_the_documents_is_the_catalogue() -> None:
    written = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")

    assert catalogue.markdown_list() in written, "run: python -m inspector.report.catalogue, and put it there"


def test_labels_of_breaking_even_name_calls_or_refetches() -> None:
    labels = {
        name: entry.label
        for kind in (PlanFacts, NeededLater)
        for name, entry in quantities(kind).items()
        if "even" in f"{entry.label} {entry.short_label}"
    }
    assert labels == {
        "break_even_call": "breaks even at call",
        "break_even_recoveries": "break-even re-fetches",
    }
