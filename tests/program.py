"""The program as its users run it: a subprocess with real pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pytest

COMMAND = (sys.executable, "-m", "inspector")


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
) -> Outcome:
    done = subprocess.run(
        [*COMMAND, *map(os.fspath, arguments)],
        cwd=cwd,
        env=environment(**(env or {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        preexec_fn=first,
        timeout=120,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode(), done.stdout)


def run_here(capsys: pytest.CaptureFixture[str], *arguments: str | os.PathLike[str]) -> Outcome:
    """Run `inspector` in this process: the same commands without starting Python again."""
    from inspector.cli import main

    code = main([os.fspath(argument) for argument in arguments])
    said = capsys.readouterr()
    return Outcome(code, said.out, said.err, said.out.encode())
