"""Shared setup of benchmarks: a temporary folder, sessions to measure, and the program with a separate home."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.generate import LEAN, REAL, write_session
from benchmarks.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
INSPECTOR = (sys.executable, "-m", "inspector")
EMPTY_APP = (sys.executable, str(Path(__file__).with_name("empty_app.py")))


class NotMeasuredError(Exception):
    """A missing prerequisite on this machine: `args[0]` describes it."""


@dataclass(frozen=True)
class Workbench:
    """Place and extent of the measurements.

    Attributes:
        folder: Folder of all output.
        is_quick: Minimal run that shows that the benchmark works; the figures mean nothing.
    """

    folder: Path
    is_quick: bool = False

    @classmethod
    @contextmanager
    def open(cls, *, is_quick: bool = False) -> Iterator[Workbench]:
        """Create a workbench in a temporary folder."""
        with tempfile.TemporaryDirectory(prefix="inspector-benchmarks-") as folder:
            yield cls(Path(folder), is_quick)

    def runs(self, usual: int) -> int:
        """Return the number of runs to make."""
        return 2 if self.is_quick else usual

    def large_session(self) -> Path:
        """Create a session of 100 MB with the proportions of real ones."""
        return self._written(self.folder / "large.jsonl", megabytes=1 if self.is_quick else 100)

    def long_session(self, messages: int) -> Path:
        """Create a session of short messages."""
        return self._written(self.folder / f"{messages}.jsonl", messages=messages // 50 if self.is_quick else messages)

    def _written(self, path: Path, *, messages: int | None = None, megabytes: float | None = None) -> Path:
        if not path.exists():
            write_session(path, messages=messages, megabytes=megabytes, shape=LEAN if messages else REAL)
        return path

    def home(self, name: str) -> Path:
        """Return a home folder: calls with one name share settings, plans and counted tokens."""
        home = self.folder / "homes" / name
        home.mkdir(parents=True, exist_ok=True)
        return home

    def inspector(self, path: Path, home: str) -> Terminal:
        """Start the program on a session."""
        return Terminal((*INSPECTOR, str(path)), self.environment(home), self.folder)

    def empty_app(self) -> Terminal:
        """Start the smallest Textual program."""
        return Terminal(EMPTY_APP, self.environment("empty"), self.folder)

    def environment(self, home: str) -> dict[str, str]:
        """Return the environment of a measured program, which inherits only PATH and LANG."""
        folder = self.home(home)
        places = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "PYTHONPATH": str(ROOT),
            "HOME": str(folder),
            **places,
        }


def reference_sessions() -> Path:
    """Return the folder of real sessions next to the checkout.

    Raises:
        NotMeasuredError: There is none.
    """
    folder = Path(os.environ.get("INSPECTOR_SHARED", ROOT.parent / "shared")) / "corpus"
    if not folder.is_dir():
        raise NotMeasuredError("no real sessions next to the checkout; set INSPECTOR_SHARED to their folder")
    return folder


def largest_reference_session() -> Path | None:
    """Return the largest real session of Claude Code next to the checkout; None if there are none."""
    try:
        found = [*(reference_sessions() / "claude-code").glob("*.jsonl")]
    except NotMeasuredError:
        return None
    return max(found, key=lambda path: path.stat().st_size, default=None)
