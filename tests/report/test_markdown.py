"""Markdown reports, read by an independent Markdown parser."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from inspector.cli import main
from inspector.report.numbers import IN_TEXT
from inspector.report.pages.writers import escaped
from tests.conftest import ROOT
from tests.hostile import hostile_copy

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample_sessions/coding-agent.jsonl"
PLANS = ("--strategy", "tiered-stale", "--strategy", "token-budget + keep-recent", "--runs-per-day", "24")


def printed(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> str:
    assert main(["report", str(path), *options]) == 0
    return capsys.readouterr().out


def tables(markdown: str) -> list[list[list[str]]]:
    """Every table's rows of cells, as a reader sees them."""
    found: list[list[list[str]]] = []
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    for before, token in pairwise(tokens):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif before.type in ("th_open", "td_open"):
            shown = "".join(child.content for child in token.children or [])
            found[-1][-1].append(shown)
    return found


def test_every_total_is_the_one_of_the_json_report(capsys):
    report = json.loads(printed(capsys, SAMPLE, *PLANS, "--format", "json"))
    totals = {row[0]: row[1:] for row in tables(printed(capsys, SAMPLE, *PLANS, "--format", "md"))[0]}
    columns = [report["baseline"], *(plan["figures"] for plan in report["plans"])]

    def shown(figures: dict, name: str, written) -> str:
        return IN_TEXT.qualified(written(figures[name]), figures["known"].get(name, ""))

    for label, name in (
        ("calls", "calls"),
        ("prompt tokens", "prompt_tokens"),
        ("largest prompt", "peak_prompt_tokens"),
        ("cache reads", "cache_read_tokens"),
        ("cache writes", "cache_write_tokens"),
        ("uncached input", "uncached_tokens"),
        ("output", "output_tokens"),
        ("changed prompts", "cache_breaks"),
    ):
        assert totals[label] == [shown(figures, name, IN_TEXT.whole) for figures in columns], label
    assert totals["cost"] == [shown(figures, "cost_usd", IN_TEXT.dollars) for figures in columns]
    for label, name, written in (
        ("saved", "usd", IN_TEXT.dollars),
        ("saved, of the cost", "percent", IN_TEXT.percent),
        ("saved tokens", "tokens", IN_TEXT.whole),
    ):
        assert totals[label] == ["", *(shown(plan["saved"], name, written) for plan in report["plans"])], label


def test_a_plan_that_costs_more_is_shown_to_cost_more(capsys):
    asked = (SAMPLE, "--strategy", "token-budget + keep-recent", "--format")
    markdown = printed(capsys, *asked, "md")
    report = json.loads(printed(capsys, *asked, "json"))
    before, after = report["baseline"]["cost_usd"], report["plans"][0]["figures"]["cost_usd"]

    assert after > before
    more = f"costs \\${after - before:.2f} more ({100 * (after - before) / before:.1f} % of the cost)."
    assert f"Plan A (token-budget + keep-recent) {more}" in markdown


@pytest.mark.parametrize(
    "text", ["a|b", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "*b* _i_ `c`", "@all #1"]
)
def test_foreign_text_is_shown_and_means_nothing(text: str):
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(f"| a |\n| --- |\n| {escaped(text)} |\n")
    cell = [token for token in tokens if token.type == "inline"][-1]

    assert "".join(child.content for child in cell.children or []) == text
    assert {child.type for child in cell.children or []} <= {"text", "text_special"}


def test_a_hostile_session_makes_tables_of_as_many_cells_as_they_have_titles(tmp_path: Path, capsys):
    said = "| x | <script>alert(1)</script> ``` \x1b[31m\n\n# heading"
    session = hostile_copy(SAMPLE, tmp_path / "hostile.jsonl", said)
    markdown = printed(capsys, session, "--strategy", "tiered-stale", "--format", "md")

    for table in tables(markdown):
        assert {len(row) for row in table} == {len(table[0])}
    html = MarkdownIt("gfm-like", {"linkify": False}).render(markdown)
    assert "<script" not in html
    assert "\x1b" not in markdown


@pytest.mark.parametrize("form", ["md", "text", "html"])
def test_without_a_plan_no_heading_speaks_of_one_and_the_id_is_no_heading(capsys, form):
    identifier = "1880028d-a733-47d1-a718-3179ea814247"
    report = json.loads(printed(capsys, SAMPLE, "--format", "json"))
    assert report["session"]["id"] == identifier
    for options, heading in (
        ((), "Session of 34 calls, Claude Code"),
        (("--include-text",), "Billing audit for March"),
    ):
        shown = printed(capsys, SAMPLE, "--format", form, "--no-script", *options)
        for words in ("under the plan", "under each plan", "with the plan", "without a plan"):
            assert words not in shown.lower()
        lines = shown.splitlines()
        first = next(at for at, line in enumerate(lines) if line.startswith(("# ", "<h1")) or form == "text")
        head = "".join(lines[first : first + (1 if form == "text" else 3)])
        assert heading in head
        assert identifier not in head
        assert identifier in shown


def test_with_plans_what_is_without_one_says_so(capsys):
    assert "Content of the prompts, over all calls, without a plan" in printed(capsys, SAMPLE, *PLANS, "--format", "md")
