import io
import sys

import pytest

from inspector.cli import output
from inspector.cli.output import ProgressLine


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    return now


def said(
    monkeypatch: pytest.MonkeyPatch,
    clock: list[float],
    steps: list[float],
    *,
    terminal: bool = True,
    doing: str = "reading",
) -> str:
    stream = Stream(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressLine(doing, estimates=doing != "reading") as report:
        for done, seconds in enumerate(steps, 1):
            clock[0] = seconds
            report(done, len(steps))
    return stream.getvalue()


def test_long_work_shows_how_far_it_is_and_wipes_the_line(monkeypatch, clock):
    assert said(monkeypatch, clock, [0.1, 5.0]) == "\rreading: [########################] 100 %\x1b[K\r\x1b[K"


def test_short_work_says_nothing(monkeypatch, clock):
    assert said(monkeypatch, clock, [0.01, 0.02]) == ""


def test_fast_steps_are_not_all_shown(monkeypatch, clock):
    assert said(monkeypatch, clock, [1 + step / 1000 for step in range(300)]).count("reading") < 5


def test_where_no_one_looks_nothing_is_written(monkeypatch, clock):
    assert said(monkeypatch, clock, [0.1, 5.0], terminal=False) == ""


@pytest.mark.parametrize("columns", [12, 40, 60, 80, 120])
def test_a_line_is_never_wider_than_the_terminal_and_shows_how_far_it_is(monkeypatch, clock, columns):
    monkeypatch.setattr(output, "_columns", lambda _: columns)
    doing = "trying 1,234 plans on 40 sessions, group 3 of 5"
    written = said(monkeypatch, clock, [60.0, 120.0, 180.0], doing=doing)
    lines = [line.removesuffix("\x1b[K") for line in written.split("\r") if "%" in line]

    assert max(map(len, lines)) < columns
    assert all("33 %" in lines[0] and "2 m" in line for line in lines[:1])
    assert all((doing in line) == (columns >= 80) for line in lines[:1])
