"""The script for public paired experiments compares tasks run both ways, and names the source of the table."""

import runpy
import sys
from pathlib import Path

import pytest

from inspector.replay.analysis.forecast import MASKING, TURNS_OF_A_MODEL
from scripts.paired_experiments import MASKED, NEEDED, STUDENT_95, WHOLE, findings, main, read, written

HEAD = ",".join(NEEDED)


def rows(setting: str, strategy: str, runs: dict[str, tuple[int, float, int]]) -> list[str]:
    named = {WHOLE: "baseline_raw", MASKED: "baseline_N_1_M_10"}[strategy]
    return [
        f"{setting}-{named}.0-verified-500,{strategy},{task},{cost},{turns},{outcome}"
        for task, (turns, cost, outcome) in runs.items()
    ]


TABLE = [
    HEAD,
    *rows("model-one", WHOLE, {"a": (10, 1.0, 1), "b": (30, 3.0, 0), "c": (20, 2.0, 1), "alone": (99, 9.0, 1)}),
    *rows("Model-One", MASKED, {"a": (20, 0.5, 0), "b": (30, 1.5, 1), "c": (22, 1.0, 1)}),
    *rows("model-two-agent-t_0.8", WHOLE, {"a": (10, 1.0, 1), "b": (10, 1.0, 1)}),
    *rows("model-two-agent-t_0.8", MASKED, {"a": (9, 1.0, 1), "b": (9, 1.0, 1)}),
    *rows("model-three", WHOLE, {"a": (10, 1.0, 1)}),
]


def test_only_tasks_that_ran_both_ways_are_compared_within_their_setting() -> None:
    found = read(TABLE, MASKED)
    assert {name: pairs.tasks for name, pairs in found.items()} == {
        "model-one": ["a", "b", "c"],
        "model-two": ["a", "b"],
    }
    one = found["model-one"]
    assert (one.change, one.cost, one.lost, one.won) == (pytest.approx(72 / 60 - 1), pytest.approx(-0.5), 1, 1)


def test_a_setting_not_among_them_lies_as_far_off_as_these_differ() -> None:
    settings = list(read(TABLE, MASKED).values())
    all_of = findings(settings)
    # Two settings, at +20 % and -10 %: their spread, and one degree of freedom.
    reach = STUDENT_95[0] * (0.3 / 2**0.5) * 1.5**0.5
    assert (all_of.new_low, all_of.new_high) == (pytest.approx(0.05 - reach), pytest.approx(0.05 + reach))
    assert all_of.change == pytest.approx(90 / 80 - 1)
    assert all_of.low <= all_of.change <= all_of.high


def test_the_table_is_written_with_what_all_settings_say() -> None:
    text = written(read(TABLE, MASKED), MASKED)
    assert "| model-one | 3 | +20.0% |" in text
    assert "| all | 5 | +12.5% |" in text


def test_another_table_is_refused_and_a_missing_one_reports_where_to_get(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="missing column experiment"):
        read(["a,b", "1,2"], MASKED)
    monkeypatch.setattr(sys, "argv", ["paired_experiments.py", str(tmp_path / "none.csv")])
    with pytest.raises(SystemExit, match="the-complexity-trap"):
        main()


def test_the_script_runs_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("\n".join(TABLE), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["paired_experiments.py", str(table)])
    runpy.run_path(str(Path(__file__).parent.parent / "scripts" / "paired_experiments.py"), run_name="__main__")
    assert "| all | 5 |" in capsys.readouterr().out


def test_the_numbers_the_program_uses_are_those_of_five_settings() -> None:
    changes = MASKING.models
    middle = sum(changes) / len(changes)
    spread = (sum((each - middle) ** 2 for each in changes) / (len(changes) - 1)) ** 0.5
    reach = STUDENT_95[len(changes) - 2] * spread * (1 + 1 / len(changes)) ** 0.5
    assert pytest.approx(middle - reach, abs=0.002) == TURNS_OF_A_MODEL.low
    assert pytest.approx(middle + reach, abs=0.002) == TURNS_OF_A_MODEL.high
