"""Monkey testing of the application: a few random runs. `python -m tests.monkey` runs longer."""

import os
from pathlib import Path

import pytest

from inspector.tokens.counter import load_counter
from tests import monkey
from tests.monkey_terminal import play_in_terminal
from tests.ui.stylesheets import read_once
from tests.ui.waiting import use_in_textual

RUNS, RUNS_A_TEST, RUNS_IN_TERMINAL = 3, 3, 1
"""Each run of the first takes half a second of processor."""
DEEDS = monkey.DEEDS_OF_SHORT


@pytest.mark.parametrize("first", range(0, RUNS, RUNS_A_TEST))
def test_hasty_hands_break_nothing(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use_in_textual(monkeypatch)
    counter = load_counter()
    monkeypatch.setattr("inspector.tokens.counter.load_counter", lambda: counter)
    monkeypatch.setattr(monkey, "MOST_DEEDS", DEEDS)
    for seed in range(first, first + RUNS_A_TEST):
        try:
            with read_once():
                monkey.run_once(str(seed))
        except Exception as error:
            error.add_note(f"in the run of seed {seed}")
            raise


def test_a_run_whose_process_dies_is_reported_and_those_after_it_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(seed: str, *, in_terminal: bool) -> int:
        assert not in_terminal
        return os._exit(3) if seed == "8" else 5

    monkeypatch.setattr(monkey, "run_once", die)
    played = monkey.in_processes(range(7, 10), 1, in_terminal=False)
    assert [(each.seed, each.deeds, bool(each.failure)) for each in played] == [
        (7, 5, False),
        (8, 0, True),
        (9, 5, False),
    ]


@pytest.mark.parametrize("seed", range(RUNS_IN_TERMINAL))
async def test_hasty_hands_on_a_terminal_break_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monkey, "MOST_DEEDS", DEEDS)
    await play_in_terminal(str(seed), tmp_path)


def test_a_run_that_fails_is_reported_with_its_seed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(seed: str, *, in_terminal: bool) -> int:
        assert in_terminal
        if seed == "8":
            raise LookupError("no such thing")
        return 5

    monkeypatch.setattr(monkey, "run_once", fail)
    monkeypatch.setattr(monkey, "prepare", lambda most_deeds: None)
    assert monkey.main(["--runs", "3", "--seed", "7", "--terminal", "--jobs", "2"]) == 1
    told = capsys.readouterr().out
    assert "seed 8\nTraceback" in told
    assert told.splitlines()[-1].endswith("1 failed: 8")
    assert told.splitlines()[-1].startswith("3 runs, 10 deeds")
