"""Printed dollars: saving plus cost of a plan equals the cost without it, on every line."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from inspector.report.numbers import MINUS
from inspector.report.tables import rounding_note
from tests.conftest import ROOT
from tests.program import run_here
from tests.report.pages import Page

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample_sessions/coding-agent.jsonl"
REAL = ("codex/rollout-2026-04-07T13-59-53-019d683e-1ac9-7fb1-99eb-e46acbee7ff0.jsonl", "pi/before-compaction.jsonl")
PLANS = ("tiered-stale", "token-budget", "keep-recent")
AMOUNT = rf"[~≥ ]*{MINUS}?\\?\$[\d,.]+"
ASKED = [word for plan in PLANS for word in ("--strategy", plan)]


def dollars(text: str) -> Decimal:
    return Decimal(re.sub(r"[~≥$,\\ ]", "", text).replace(MINUS, "-"))


def adds_up(before: str, saved: str, cost: str) -> bool:
    """To the last digit that all three are written with; where one has more digits, half of that is left."""
    amounts = [dollars(each) for each in (before, saved, cost)]
    digits = [-int(each.as_tuple().exponent) for each in amounts]
    left = abs(amounts[0] - amounts[1] - amounts[2])
    return left == 0 or (len(set(digits)) > 1 and left <= Decimal(10) ** -min(digits) / 2)


def rows(text: str) -> dict[str, list[str]]:
    """Tables of text or Markdown: the name of each row, the first of that name, and its amounts of dollars."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, amounts = re.split(r" {2,}| \|", line.strip("| "))[0], re.findall(AMOUNT, line)
        found.setdefault(name, amounts)
    return found


def check_totals(text: str) -> None:
    found = rows(text)
    costs, saved = found["cost"], found["saved"]
    baseline = costs[-len(saved) - 1]
    assert len(saved) == len(PLANS)
    for less, cost in zip(saved, costs[-len(saved) :], strict=True):
        assert adds_up(baseline, less, cost), (baseline, less, cost)


@pytest.fixture(params=["sample", *REAL])
def session(request: pytest.FixtureRequest) -> Path:
    return SAMPLE if request.param == "sample" else request.getfixturevalue("corpus") / request.param


def test_the_totals_of_a_report_add_up_in_every_form(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = run_here(capsys, "report", session, *ASKED[:4], "--no-kept-results").out
    costs, saved = rows(text)["cost"], rows(text)["saved"]
    # Two plans of three columns each: recorded, where it is, and the baseline come first.
    assert len(saved) >= 1
    assert all(adds_up(costs[-len(saved) - 1], *pair) for pair in zip(saved, costs[-len(saved) :], strict=True))

    check_totals(run_here(capsys, "report", session, *ASKED, "--format", "md", "--no-kept-results").out)


def test_every_line_of_a_comparison_adds_up(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(run_here(capsys, "compare", session).out)
    (baseline,) = found["baseline"]
    plans = {name: amounts for name, amounts in found.items() if len(amounts) == 3}

    assert len(plans) > 60
    assert [name for name, (cost, saved, _) in plans.items() if not adds_up(baseline, saved, cost)] == []


def test_every_line_of_the_comparison_on_a_page_adds_up(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--compare", "--no-kept-results", "--no-script", "--format", "html")
    page = Page(run_here(capsys, "report", session, *ASKED[:2], *asked).out)
    shown = {pointer: text for pointer, _, text in page.figures}
    places = {
        pointer.removesuffix("/saved/usd") for pointer in shown if re.fullmatch(r"/comparison/\d+/saved/usd", pointer)
    }

    assert len(places) > 60
    for place in places:
        cost, saved = shown[f"{place}/figures/cost_usd"], shown[f"{place}/saved/usd"]
        assert adds_up(shown["/baseline/cost_usd"], saved, cost), place


@pytest.fixture
def folder(tmp_path: Path, corpus: Path) -> Path:
    for path in (SAMPLE, *(corpus / name for name in REAL)):
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


@pytest.mark.parametrize("form", ["text", "md"])
def test_the_totals_of_a_folder_add_up(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = run_here(capsys, "report", folder, *ASKED, "--format", form).out
    found = rows(text)

    check_totals(text)
    for saved, lost, net in zip(
        *([dollars(each) for each in found[name]] for name in ("saved", "re-fetches", "net saving, at worst")),
        strict=True,
    ):
        # The cost is that of the expected re-fetches, and the net saving that of their upper end.
        assert lost >= 0
        assert net <= saved - lost + Decimal("0.01")


def test_the_sessions_of_a_folder_add_up_to_its_cost_or_it_says_why_not(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Page(run_here(capsys, "report", folder, "--format", "html", "--no-script").out)
    shown = {pointer: text for pointer, _, text in page.figures}
    costs = [
        dollars(text) for pointer, text in shown.items() if re.fullmatch(r"/sessions/\d+/baseline/cost_usd", pointer)
    ]
    is_said = any("as written they add up to" in text for text in page.contents["p"])

    assert len(costs) == 3
    assert is_said == (round(sum(costs), 2) != dollars(shown["/baseline/cost_usd"]))


def test_amounts_that_do_not_add_up_as_they_are_written_say_so() -> None:
    assert rounding_note(0.30, [0.10, 0.20]) == rounding_note(None, [0.1]) == ""
    # $0.36, $0.72 and $1.37 add up to $2.45 as printed; the true sum is $2.44.
    said = rounding_note(2.4420, [0.3560, 0.7170, 1.3690, None])
    assert said == "Amounts are rounded separately: as written they add up to $2.45, unrounded to $2.44."
