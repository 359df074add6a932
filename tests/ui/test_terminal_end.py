"""The end of the program in a real terminal: the terminal goes, or something fails."""

from __future__ import annotations

import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from inspector.cli.screen import WEB_DRIVER
from inspector.ui.terminal import crash_message
from inspector.ui.toolkit import failures
from inspector.ui.toolkit.failures import log_failure
from tests.conftest import ROOT
from tests.program import COMMAND, environment
from tests.terminal import TerminalProgram

if TYPE_CHECKING:
    from collections.abc import Sequence

SAMPLE = ROOT / "sample_sessions" / "terminal-agent.jsonl"
SECONDS = 60
DOING = """
import os
import sys
import time
from inspector.cli import main
from inspector.ui.main.screen import InspectScreen

def fail(self, *_):
    raise LookupError("no such thing")

def hang(self, *_):
    os.write(1, b"at work")
    time.sleep(1_000)

InspectScreen.on_timeline_highlighted = {}
sys.exit(main(sys.argv[1:]))
"""
FAILING = DOING.format("fail")
HANGING = DOING.format("hang")
LATE = """
import os
import select
import sys
from inspector.cli import main
from inspector.ui.terminal import EndingApp

watch = EndingApp.on_mount

def watch_late(self):
    os.write(1, b"begins")
    poll = select.poll()
    poll.register(0, 0)
    while not any(happened & select.POLLHUP for _, happened in poll.poll(100)):
        pass
    watch(self)

EndingApp.on_mount = watch_late
sys.exit(main(sys.argv[1:]))
"""

EARLY = """
import os
import signal
import sys
from inspector.cli import main
from inspector.ui.terminal import EndingApp

build = EndingApp._build_driver

def put_aside(self, **given):
    driver = build(self, **given)
    os.kill(os.getpid(), signal.SIGTSTP)
    return driver

EndingApp._build_driver = put_aside
sys.exit(main(sys.argv[1:]))
"""

SHORT_QUEUE = """
import sys
from textual.drivers import _writer_thread
from inspector.cli import main
from inspector.ui import terminal

_writer_thread.MAX_QUEUED_WRITES = 2
terminal.SECONDS_TO_END = 1
sys.exit(main(sys.argv[1:]))
"""


class OnTerminal:
    def __init__(self, command: Sequence[str], **variables: str) -> None:
        self.ours, theirs = pty.openpty()
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env=environment(TERM="xterm-256color", COLUMNS="80", LINES="24", **variables),
        )
        self.theirs = theirs
        self.ends: tuple[int, ...] = (theirs, self.ours)
        self.written = b""
        self._seen = 0

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

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.ours, keys)

    def fill(self) -> None:
        """Write until the terminal takes no more."""
        terminal = os.open(os.ttyname(self.theirs), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        with suppress(BlockingIOError):
            while True:
                os.write(terminal, bytes(1_024))
        os.close(terminal)

    def stop(self) -> None:
        """Put it aside. A stop within a moment of a continue counts as the earlier one: it is sent until obeyed."""
        deadline = time.monotonic() + SECONDS
        while not os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOHANG):
            assert time.monotonic() < deadline, self.written[-2_000:]
            self.process.send_signal(signal.SIGTSTP)
            if select.select([self.ours], [], [], 0.2)[0]:
                self.written += os.read(self.ours, 65_536)
        self.read_until(b"\x1b[?1049l")

    def read_until(self, words: bytes) -> None:
        deadline = time.monotonic() + SECONDS
        while (found := self.written.find(words, self._seen)) < 0:
            assert time.monotonic() < deadline, self.written[-2_000:]
            if select.select([self.ours], [], [], 1)[0]:
                self.written += os.read(self.ours, 65_536)
        self._seen = found + len(words)


def test_an_application_whose_terminal_is_gone_ends_at_once() -> None:
    with OnTerminal([*COMMAND, str(SAMPLE)]) as program:
        program.read_until(b"Timeline")
        program.hang_up()
        assert program.process.wait(SECONDS) in {0, 128 + signal.SIGHUP}


def test_an_application_whose_terminal_is_gone_before_it_is_watched_ends_too() -> None:
    with OnTerminal([sys.executable, "-c", LATE, str(SAMPLE)]) as program:
        program.read_until(b"begins")
        program.hang_up()
        # Python exits with 120 if it cannot flush its output.
        assert program.process.wait(SECONDS) in {0, 120, 128 + signal.SIGHUP}


@pytest.mark.parametrize("how", ["at rest", "at work"])
def test_an_application_in_a_browser_ends_with_the_pipe_from_its_server(how: str, private_home: Path) -> None:
    command = [sys.executable, "-c", HANGING] if how == "at work" else [*COMMAND]
    with subprocess.Popen(
        [*command, str(SAMPLE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(TEXTUAL_DRIVER=WEB_DRIVER, COLUMNS="80", ROWS="24"),
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        drawn = b""
        while (b"Timeline" if how == "at rest" else b"at work") not in drawn:
            piece = os.read(program.stdout.fileno(), 65_536)
            assert piece, drawn[-2_000:]
            drawn += piece
        program.stdin.close()
        try:
            assert program.wait(SECONDS) in {0, 128 + signal.SIGHUP}
        finally:
            program.kill()
    assert not (private_home / "xdg_state_home" / "inspector" / failures.LOG_NAME).exists()


WAYS_TO_END = {
    "a failure": 1,
    "SIGTERM": 0,
    "SIGHUP": 0,
    "stops again and again, a pager that is killed, and a key": 0,
}

MODEL = b"gpt-6.1-sol"
"""Shown once the session is open."""
KILLED_PAGER = "#!/bin/sh\nstty raw -echo\necho has the terminal\nkill -9 $$\n"


@pytest.mark.failures
@pytest.mark.parametrize("how", WAYS_TO_END)
def test_the_terminal_is_left_as_it_was_found(how: str, private_home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", FAILING] if how == "a failure" else [*COMMAND]
    pager = tmp_path / "pager"
    pager.write_text(KILLED_PAGER)
    pager.chmod(0o700)
    with OnTerminal([*command, str(SAMPLE)], PAGER=str(pager)) as program:
        program.read_until(b"\x1b[?1049h")
        if how != "a failure":
            program.read_until(b"Timeline")
            assert termios.tcgetattr(program.theirs) != program.before
        if how.startswith("SIG"):
            program.process.send_signal(signal.Signals[how])
        elif "pager" in how:
            program.read_until(MODEL)
            for _ in range(2):
                program.stop()
                program.process.send_signal(signal.SIGCONT)
                program.read_until(b"\x1b[?1049h")
            program.read_until(b"Timeline")
            program.type(b"rp")
            program.read_until(b"has the terminal")
            program.read_until(b"\x1b[?1049h")
            program.type(b"q")
        program.read_until(b"\x1b[?1049l")
        if how == "a failure":
            program.read_until(failures.LOG_NAME.encode())
            assert program.written.count(b"Traceback") == 0
            assert b"LookupError: no such thing" in program.written
            assert "in fail\n" in (private_home / "xdg_state_home" / "inspector" / failures.LOG_NAME).read_text()
        assert program.process.wait(SECONDS) == WAYS_TO_END[how]
        assert termios.tcgetattr(program.theirs) == program.before
        for given in (b"\x1b[?1000h", b"\x1b[?1003h", b"\x1b[?1006h", b"\x1b[?2004h"):
            assert program.written.rfind(given.replace(b"h", b"l")) > program.written.rfind(given)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_program_while_the_terminal_takes_nothing(name: str) -> None:
    with OnTerminal([sys.executable, "-c", SHORT_QUEUE, str(SAMPLE)]) as program:
        program.read_until(b"Timeline")
        # Nothing is read from here on. Help paints all of the screen twice a round, until the queue of Textual's
        # writing thread is full too.
        program.fill()
        for key in (b"?", b"\x1b") * 4:
            program.type(key)
            time.sleep(0.12)
        assert not select.select([], [program.theirs], [], 0)[1]
        program.process.send_signal(signal.Signals[name])
        assert program.process.wait(SECONDS) in {0, 128 + signal.Signals[name]}


MODES = (b"1049", b"1000", b"1003", b"1006", b"2004")
"""Alternate screen, three modes of the mouse, bracketed paste."""


def modes_left_on(written: bytes) -> list[bytes]:
    return [mode for mode in MODES if written.rfind(b"\x1b[?%sh" % mode) > written.rfind(b"\x1b[?%sl" % mode)]


def state_of(process: int) -> str:
    """Its state, `T` if it is stopped."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


BURSTS = 5
"""No process can suspend itself and take in every SIGCONT at the last moment: one burst may end stopped."""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no states of processes")
@pytest.mark.parametrize("stop", [signal.SIGTSTP, signal.SIGSTOP])
@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_a_hundred_suspensions_in_bursts_leave_the_program_running(
    stop: signal.Signals, seconds: float, tmp_path: Path
) -> None:
    with TerminalProgram(tmp_path, str(SAMPLE)) as program:
        program.until(lambda: "nothing worth changing" in program.text, "the best plan")
        program.rest()
        shown, child, lost = program.text, program.child, 0
        for _ in range(BURSTS):
            for _ in range(100 // BURSTS):
                child.kill(stop)
                program.read(seconds)
                child.kill(signal.SIGCONT)
                program.read(seconds)
            # The last signal was SIGCONT, so it runs. Keys typed while it sets up the terminal are discarded.
            deadline, stopped = time.monotonic() + SECONDS, 0
            while "Here: Timeline" not in program.text:
                assert time.monotonic() < deadline, (state_of(child.pid), program.text)
                program.press("?")
                program.read(1)
                stopped = stopped + 1 if state_of(child.pid) == "T" else 0
                if stopped == 3:
                    lost += 1
                    child.kill(signal.SIGCONT)
            program.press("escape", hides="Here: Timeline")
        assert lost <= 1
        # Stopped for certain, it needs a single SIGCONT.
        program.until(lambda: (child.kill(stop), state_of(child.pid))[1] == "T", "a stop, sent until it is obeyed")
        entered = program.written.count(b"\x1b[?1049h")
        child.kill(signal.SIGCONT)
        program.until(lambda: program.written.count(b"\x1b[?1049h") > entered, "the alternate screen")
        program.until(lambda: program.text == shown, f"the screen as before\n{shown}\n")
        input_modes = termios.tcgetattr(child.child_fd)[3]
        assert not input_modes & (termios.ICANON | termios.ECHO)
        assert modes_left_on(program.written) == [*MODES]
        program.rest()
        program.press("?", shows="Here: Timeline")
        program.press("escape", hides="Here: Timeline")
        program.press("q")
        program.until(lambda: not child.isalive(), "its end")
        assert child.exitstatus == 0
        assert modes_left_on(program.written) == []


SHELL = "set -m; stty -echo; {} ; echo the shell; read word; fg >/dev/null; echo code $?; read word"


def test_a_pager_put_aside_leaves_the_terminal_to_the_shell_and_returns_from_it(tmp_path: Path) -> None:
    command = SHELL.format(shlex.join([*COMMAND, str(SAMPLE)]))
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho has the terminal\nread word\n")
    pager.chmod(0o700)
    with TerminalProgram(tmp_path, "-c", command, command=["bash"], PAGER=str(pager)) as program:
        program.until(lambda: "Cost $" in program.text, "the costs")
        program.press("r", "p", shows="has the terminal")
        program.type(b"\x1a")
        program.until(lambda: "the shell" in program.text, "the shell")
        program.type(b"\n\n")
        program.until(lambda: "Cost $" in program.text, "the costs")
        program.rest()
        program.press("escape", "q", shows="code 0")


def test_a_program_put_aside_before_its_first_frame_is_once_it_has_begun_and_goes_on() -> None:
    with OnTerminal([sys.executable, "-c", EARLY, str(SAMPLE)]) as program:
        os.waitid(os.P_PID, program.process.pid, os.WSTOPPED)
        program.read_until(b"\x1b[?1049l")
        assert termios.tcgetattr(program.theirs) == program.before
        program.process.send_signal(signal.SIGCONT)
        program.read_until(b"\x1b[?1049h")
        program.read_until(b"Timeline")
        program.type(b"q")
        program.read_until(b"\x1b[?1049l")
        assert program.process.wait(SECONDS) == 0
        assert termios.tcgetattr(program.theirs) == program.before


@pytest.mark.failures
def test_failures_are_noted_one_after_another_as_far_as_there_is_room(
    private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "MOST_KEPT", 80)
    for number in range(5):
        path = log_failure(ValueError(f"number {number}"))
    assert path is not None
    assert path.is_relative_to(private_home)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text().endswith("ValueError: number 4\n\n")
    assert "number 3" in path.read_text()
    assert "number 0" not in path.read_text()


def test_a_failure_that_cannot_be_noted_is_reported_all_the_same(private_home: Path) -> None:
    (private_home / "xdg_state_home").write_text("a file")
    error = ValueError("bad\x1b[2J\nthing")
    assert log_failure(error) is None
    told = crash_message(error, None)
    assert "\x1b" not in told
    assert "\n" not in told
