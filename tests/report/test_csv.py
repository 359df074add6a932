"""The ledger as CSV, read back by the standard library and held against the JSON report."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import TYPE_CHECKING

import pytest

from inspector.cli import main
from inspector.report.forms import FORMULA_BEGINS, cell_text
from tests.conftest import ROOT
from tests.hostile import hostile_copy

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample_sessions/coding-agent.jsonl"
PLANS = ("--strategy", "tiered-stale", "--strategy", "token-budget + keep-recent")


def printed(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> str:
    assert main(["report", str(path), *options]) == 0
    return capsys.readouterr().out


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text, newline=""), strict=True))


def shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def test_every_call_has_a_row_that_says_what_the_json_ledger_says(capsys):
    ledger = json.loads(printed(capsys, SAMPLE, *PLANS, "--format", "json", "--ledger"))["ledger"]
    found = rows(printed(capsys, SAMPLE, *PLANS, "--format", "csv"))

    assert len(found) == len(ledger["calls"]) == 34
    for row, call in zip(found, ledger["calls"], strict=True):
        said = {name: shown(value) for name, value in call.items() if not isinstance(value, dict | list)}
        for place, figures in (("recorded", call["recorded"]), ("baseline", call["baseline"])):
            said |= {f"{place}_{name}": shown(value) for name, value in figures.items()}
        for number, figures in enumerate(call["plans"], 1):
            said |= {f"plan_{number}_{name}": shown(value) for name, value in figures.items()}
        assert row == said


def test_every_block_has_a_row_that_says_what_the_json_ledger_says(capsys):
    ledger = json.loads(printed(capsys, SAMPLE, *PLANS, "--format", "json", "--ledger"))["ledger"]
    found = rows(printed(capsys, SAMPLE, *PLANS, "--format", "csv", "--rows", "blocks"))

    assert len(found) == len(ledger["blocks"]) == 177
    for row, block in zip(found, ledger["blocks"], strict=True):
        said = {name: shown(value) for name, value in block.items() if name != "plans"}
        for number, figures in enumerate(block["plans"], 1):
            said |= {f"plan_{number}_{name}": shown(value) for name, value in figures.items()}
        assert row == said


def test_rows_add_up_to_the_totals_of_the_report(capsys):
    report = json.loads(printed(capsys, SAMPLE, *PLANS, "--format", "json"))
    found = rows(printed(capsys, SAMPLE, *PLANS, "--format", "csv"))
    places = {"recorded": report["recorded"], "baseline": report["baseline"]}
    places |= {f"plan_{number}": plan["figures"] for number, plan in enumerate(report["plans"], 1)}

    for place, totals in places.items():
        for name in ("prompt_tokens", "cache_read_tokens", "cache_write_tokens", "uncached_tokens", "output_tokens"):
            assert sum(int(row[f"{place}_{name}"]) for row in found) == totals[name], (place, name)
        cost = sum(float(row[f"{place}_cost_usd"]) for row in found)
        assert cost == pytest.approx(totals["cost_usd"], abs=1e-4)
    for number, plan in enumerate(report["plans"], 1):
        assert sum(int(row[f"plan_{number}_edits"]) for row in found) == plan["edits"]


def test_what_a_plan_saves_on_blocks_and_next_to_them_is_what_it_saves(capsys):
    report = json.loads(printed(capsys, SAMPLE, *PLANS, "--format", "json"))
    found = rows(printed(capsys, SAMPLE, *PLANS, "--format", "csv", "--rows", "blocks"))

    for number, plan in enumerate(report["plans"], 1):
        cut = sum(int(row[f"plan_{number}_cut_tokens"]) for row in found)
        beside = plan["carried"][-1]["cut_tokens"]
        assert cut + beside == pytest.approx(plan["saved"]["tokens"], abs=len(found))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\N{FULLWIDTH EQUALS SIGN}1", "\t=1"])
def test_a_text_a_spreadsheet_would_work_out_is_quoted(text: str):
    assert not cell_text(text).startswith(FORMULA_BEGINS)


def test_negative_numbers_stay_numbers():
    assert cell_text(-31) == "-31"
    assert cell_text(-0.5) == "-0.5"


def test_no_cell_of_a_hostile_session_begins_a_formula_or_holds_a_control_character(tmp_path: Path, capsys):
    session = hostile_copy(SAMPLE, tmp_path / "hostile.jsonl", '=cmd|"/c calc"!A1\x1b[31m\r\n,"')
    for which in ("calls", "blocks"):
        found = rows(printed(capsys, session, "--strategy", "tiered-stale", "--format", "csv", "--rows", which))
        assert found
        for row in found:
            assert None not in row
            for name, value in row.items():
                assert value.isprintable(), name
                assert not value.startswith(("=", "@", "+")), name
