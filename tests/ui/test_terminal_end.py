"""The end of the program in a real terminal: the terminal goes, or something fails."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, Self

import pytest

from inspector.ui import terminal_end
from inspector.ui.terminal_end import note_failure, told_of
from tests.conftest import ROOT
from tests.program import COMMAND, environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SAMPLE = ROOT / "sample_sessions" / "terminal-agent.jsonl"
SECONDS = 60
FAILING = """
import sys
from inspector.cli import main
from inspector.ui.main.screen import InspectScreen

def fail(self, *_):
    raise LookupError("no such thing")

InspectScreen.on_timeline_highlighted = fail
sys.exit(main(sys.argv[1:]))
"""


class OnTerminal:
    """A program on a terminal that nobody controls it by, so that no signal tells it of its end."""

    def __init__(self, command: Sequence[str]) -> None:
        self.ours, theirs = pty.openpty()
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env=environment(TERM="xterm-256color", COLUMNS="80", LINES="24"),
        )
        self.theirs = theirs
        self.ends: tuple[int, ...] = (theirs, self.ours)
        self.written = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.hang_up()

    def hang_up(self) -> None:
        """Take the terminal away."""
        for end in self.ends:
            os.close(end)
        self.ends = ()

    def read_until(self, words: bytes) -> None:
        """Take in what it writes until it has written something."""
        deadline = time.monotonic() + SECONDS
        while words not in self.written:
            assert time.monotonic() < deadline, self.written[-2_000:]
            if select.select([self.ours], [], [], 1)[0]:
                self.written += os.read(self.ours, 65_536)


def test_an_application_whose_terminal_is_gone_ends_at_once() -> None:
    with OnTerminal([*COMMAND, str(SAMPLE)]) as program:
        program.read_until(b"Timeline")
        program.hang_up()
        assert program.process.wait(SECONDS) in {0, 128 + signal.SIGHUP}


@pytest.mark.parametrize("how", ["a failure", "a signal"])
def test_the_terminal_is_left_as_it_was_found(how: str, private_home: Path) -> None:
    command = [sys.executable, "-c", FAILING] if how == "a failure" else [*COMMAND]
    with OnTerminal([*command, str(SAMPLE)]) as program:
        program.read_until(b"\x1b[?1049h")
        if how == "a signal":
            program.read_until(b"Timeline")
            program.process.send_signal(signal.SIGTERM)
        program.read_until(b"\x1b[?1049l")
        if how == "a failure":
            program.read_until(terminal_end.LOG_NAME.encode())
            assert program.written.count(b"Traceback") == 0
            assert b"LookupError: no such thing" in program.written
            assert "in fail\n" in (private_home / "xdg_state_home" / "inspector" / terminal_end.LOG_NAME).read_text()
        assert program.process.wait(SECONDS) == int(how == "a failure")
        assert termios.tcgetattr(program.theirs) == program.before


def test_failures_are_noted_one_after_another_as_far_as_there_is_room(
    private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal_end, "MOST_KEPT", 80)
    for number in range(5):
        path = note_failure(ValueError(f"number {number}"))
    assert path is not None
    assert path.is_relative_to(private_home)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text().endswith("ValueError: number 4\n\n")
    assert "number 3" in path.read_text()
    assert "number 0" not in path.read_text()


def test_a_failure_that_cannot_be_noted_is_told_all_the_same(private_home: Path) -> None:
    (private_home / "xdg_state_home").write_text("a file")
    error = ValueError("bad\x1b[2J\nthing")
    assert note_failure(error) is None
    told = told_of(error, None)
    assert "\x1b" not in told
    assert "\n" not in told
