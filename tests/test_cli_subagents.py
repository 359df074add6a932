"""Calls of subagents are part of folder totals, and named next to the figures of the session that started them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from inspector.cli import main

if TYPE_CHECKING:
    from pathlib import Path

MAIN_USD = (10 * 3 + 9_300 * 3.75 + 9_000 * 0.3 + 80 * 15) / 1e6
"""Case 20: two calls of Claude Sonnet 4.6 at $3, $3.75, $0.30 and $15 per million tokens."""

SUBAGENT_USD = (14 * 3 + 890 * 3.75 + 18_800 * 0.3 + 77 * 15) / 1e6
"""The two calls of its subagent, without the call it copied from its parent."""


def folder_figures(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict:
    assert main(["report", str(folder), "--format", "json", "--no-kept-results"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_folder_total_includes_the_subagents_of_a_session_and_their_copied_calls_once(shared: Path, capsys):
    found = folder_figures(shared / "cases" / "20-subagent", capsys)
    assert (found["baseline"]["calls"], found["baseline"]["prompt_tokens"]) == (4, 18_310 + 19_704)
    assert found["baseline"]["cost_usd"] == pytest.approx(MAIN_USD + SUBAGENT_USD, abs=5e-7)
    assert round(found["baseline"]["cost_usd"], 4) == 0.0490
    assert found["subagents"] == 1
    assert [(row["calls"], row["parent"]) for row in found["sessions"]] == [
        (2, None),
        (2, "11111111-2222-4333-8444-555555555555"),
    ]


def test_a_folder_total_includes_the_child_sessions_of_a_database(shared: Path, capsys):
    found = folder_figures(shared / "cases" / "55-opencode1-child", capsys)
    assert (found["baseline"]["calls"], found["baseline"]["prompt_tokens"]) == (4, 40_330 + 5_007)
    sonnet = (30 * 3 + 14_300 * 3.75 + 26_000 * 0.3 + 430 * 15) / 1e6
    haiku = (7 * 1 + 5_000 * 1.25 + 60 * 5) / 1e6
    assert found["baseline"]["cost_usd"] == pytest.approx(sonnet + haiku, abs=5e-7)


def test_the_folder_report_names_the_number_of_subagents_and_their_parents(shared: Path, capsys):
    assert main(["report", str(shared / "cases" / "20-subagent"), "--no-kept-results"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("1 session and 1 subagent in ")
    assert "↳ subagents/agent-" in text
