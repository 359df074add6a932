"""Output and exit code of `inspector check`."""

import json
import re
import shutil
from pathlib import Path

import pytest

from inspector.report.numbers import with_minus_sign
from tests.program import run_here

WITHIN = "claude-code/be2220da-eaff-40d2-b482-9f05cced3187.jsonl"
COMPACTED = "claude-code/8ecab05f-4481-43d6-9428-a6b177981877.jsonl"


@pytest.fixture
def folder(corpus: Path, tmp_path: Path) -> Path:
    """Two sessions, one that reports usage and one that does not, and a file that is no session."""
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    shutil.copy(corpus / WITHIN, sessions / "reports.jsonl")
    lines = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    (sessions / "silent.json").write_text(json.dumps({"messages": lines}), encoding="utf-8")
    (sessions / "notes.txt").write_text("no session\n", encoding="utf-8")
    return sessions


def checked(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict]:
    outcome = run_here(capsys, "check", *arguments, "--format", "json")
    return outcome.code, json.loads(outcome.out)


def test_a_session_within_the_promise_is_fine(corpus: Path, capsys):
    code, check = checked(capsys, corpus / WITHIN)
    (session,) = check["sessions"]

    assert code == 0
    assert check["passed"] is True
    assert session["verdict"] == "within"
    assert session["prompt_median"] <= 0.005
    assert session["prompt_p90"] <= 0.01
    assert session["baseline_cost"]["recorded"] == pytest.approx(session["baseline_cost"]["predicted"], abs=0.005)


def test_a_threshold_that_is_not_met_is_reported_by_the_exit_code(corpus: Path, capsys):
    code, check = checked(capsys, corpus / WITHIN, "--threshold", "0.01")

    assert code == 3
    assert check["passed"] is False
    assert check["thresholds"] == {"median": 0.0001, "p90": 0.0002}
    assert check["sessions"][0]["verdict"] == "beyond"
    outcome = run_here(capsys, "check", corpus / WITHIN, "--threshold", "0.01")
    assert outcome.code == 3
    assert "exceeds the threshold" in " ".join(outcome.out.split())


def test_a_folder_is_every_session_in_it_and_what_reports_no_usage_does_not_fail(folder: Path, capsys):
    code, check = checked(capsys, folder)

    assert code == 0
    assert {(session["path"].rpartition("/")[2], session["verdict"]) for session in check["sessions"]} == {
        ("reports.jsonl", "within"),
        ("silent.json", "no usage"),
    }
    words = " ".join(run_here(capsys, "check", folder).out.split())
    assert "reports no usage, so there is nothing to compare" in words
    assert "1 within, 1 no usage" in words


def test_what_cannot_be_read_is_reported_and_the_others_are_checked(folder: Path, capsys):
    missing = folder / "missing.jsonl"
    outcome = run_here(capsys, "check", missing, folder / "reports.jsonl", "--format", "json")

    assert outcome.code == 1
    assert str(missing) in outcome.complaint
    assert [session["verdict"] for session in json.loads(outcome.out)["sessions"]] == ["within"]


def test_a_folder_without_sessions_is_reported_in_a_line(tmp_path: Path, capsys):
    outcome = run_here(capsys, "check", tmp_path)

    assert outcome.code == 1
    assert str(tmp_path) in outcome.complaint


@pytest.mark.parametrize("threshold", ["-1", "101", "half", "nan"])
def test_a_threshold_that_is_no_percentage_is_wrong_usage(threshold: str, corpus: Path, capsys):
    outcome = run_here(capsys, "check", corpus / WITHIN, "--threshold", threshold)

    assert outcome.code == 2
    assert threshold in outcome.complaint


def test_the_text_shows_the_figures_of_the_data(corpus: Path, capsys):
    _, check = checked(capsys, corpus / COMPACTED)
    words = " ".join(run_here(capsys, "check", corpus / COMPACTED).out.split())
    (session,) = check["sessions"]

    half, most = 100 * session["prompt_median"], 100 * session["prompt_p90"]
    assert f"half within {half:.2f} %, nine of ten within {most:.2f} % ({session['judged_calls']} calls)" in words
    for name in ("cache_read", "cache_write"):
        found = session[name]
        recorded, predicted, off = found["recorded"], found["predicted"], 100 * found["off"]
        share = with_minus_sign(f"{off:+.1f} %")
        assert f"{recorded:,.0f} recorded, {predicted:,.0f} predicted ({share})" in words
    for cut in session["cuts"]:
        said = "tokens by the agent's count;" if cut["what"] == "context before" else "tokens left by the provider's"
        assert f"{cut['recorded']:,} {said}" in words
        assert f"{cut['replayed']:,} ({with_minus_sign(format(100 * cut['off'], '+.1f'))} %)" in words
    for shift in session["shifts"][:6]:
        assert f"{with_minus_sign(format(shift['tokens'], '+,'))} at call {shift['call']:,}" in words


def test_a_folder_is_summed_up_by_format_and_provider(folder: Path, corpus: Path, capsys):
    _, check = checked(capsys, folder, corpus / COMPACTED)

    rows = {(each["format"], each["provider"]): each for each in check["providers"]}
    told = [each for each in check["sessions"] if each["verdict"] != "no usage"]
    assert rows[("all", "Anthropic")]["sessions"] == len(told) == 2
    costs = [(each["learned"]["cost"]["recorded"], each["learned"]["cost"]["predicted"]) for each in told]
    recorded, predicted = (sum(column) for column in zip(*costs, strict=True))
    assert rows[("all", "Anthropic")]["learned"]["together"] == pytest.approx(predicted / recorded - 1, abs=1e-5)
    off = sorted(abs(guess / real - 1) for real, guess in costs)
    assert rows[("all", "Anthropic")]["learned"]["median"] == pytest.approx(sum(off) / 2, abs=1e-5)
    assert rows[("all", "Anthropic")]["in_band"] == sum(each["learned"]["within"] for each in told)
    later = [each["learned"]["later_cost"]["recorded"] for each in told]
    assert all(0 < without < whole for without, (whole, _) in zip(later, costs, strict=True))

    lines = run_here(capsys, "check", folder, corpus / COMPACTED).out.splitlines()
    (row,) = [line for line in lines if line.startswith("  all, Anthropic")]
    assert row.endswith("2 of 2")
    assert max(map(len, lines[lines.index(row) - 6 :])) <= 80


def test_no_line_is_wider_than_eighty_columns_but_for_names(corpus: Path, tmp_path: Path, capsys):
    path = tmp_path / "s.jsonl"
    shutil.copy(corpus / COMPACTED, path)

    lines = run_here(capsys, "check", path).out.splitlines()

    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 80


def test_what_is_off_by_nothing_has_no_sign(corpus: Path, capsys):
    told = run_here(capsys, "check", corpus / "pi/before-compaction.jsonl").out

    assert "(0.0 %)" in told
    assert not re.search(r"[-+]0\.0 %", told)
