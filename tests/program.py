"""The program as its users run it: a process with real streams; and in this process."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from tests.conftest import ROOT
from tests.forked_program import run_forked

COMMAND = (sys.executable, "-m", "inspector")
STARTING = ("PYTHON", "LANG", "LC_")
"""Variables that Python reads when it starts."""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str
    raw: bytes

    @property
    def complaint(self) -> str:
        """The one line on standard error."""
        assert "Traceback" not in self.err
        assert self.err.endswith("\n"), self.err
        assert self.err.count("\n") == 1, self.err
        return self.err.rstrip("\n")


def environment(**more: str) -> dict[str, str]:
    """The environment of a program under test, with Python's own ways of buffering output."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**inherited, "PYTHONPATH": str(ROOT), **more}


def run_program(
    *arguments: str | os.PathLike[str],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    first: Callable[[], None] | None = None,
    stdin: bytes = b"",
) -> Outcome:
    """Run the program in a process: in a fork, unless it has to start under other conditions than this one."""
    words = [*map(os.fspath, arguments)]
    if first is None and not any(name.startswith(STARTING) for name in env or {}):
        done = run_forked(words, environment(**(env or {})), os.fspath(cwd or Path.cwd()), stdin)
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode(), done.stdout)
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=cwd,
        env=environment(**(env or {})),
        input=stdin,
        capture_output=True,
        preexec_fn=first,
        timeout=120,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode(), done.stdout)


def run_here(capsys: pytest.CaptureFixture[str], *arguments: str | os.PathLike[str]) -> Outcome:
    """Run `inspector` in this process, all of it unless a number of processes is among the arguments."""
    from inspector.cli import main
    from inspector.fleet.executors import Execution

    choose = Execution.executor
    with mock.patch.object(Execution, "executor", lambda asked, sessions, size=0: choose(asked, sessions, 0)):
        code = main([os.fspath(argument) for argument in arguments])
    said = capsys.readouterr()
    return Outcome(code, said.out, said.err, said.out.encode())
