"""What every benchmark needs: a folder of its own, sessions to measure with, and the program with a home of its own."""

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
    """Something this machine lacks: `args[0]` says what."""


@dataclass(frozen=True)
class Workbench:
    """Where and how much to measure.

    Attributes:
        folder: Everything written goes here.
        is_quick: As little as shows that the benchmark works; the figures mean nothing.
    """

    folder: Path
    is_quick: bool = False

    @classmethod
    @contextmanager
    def open(cls, *, is_quick: bool = False) -> Iterator[Workbench]:
        """A workbench whose folder is gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="inspector-benchmarks-") as folder:
            yield cls(Path(folder), is_quick)

    def runs(self, usual: int) -> int:
        """How many runs to make."""
        return 2 if self.is_quick else usual

    def large_session(self) -> Path:
        """A session of 100 MB with the proportions of real ones."""
        return self._written(self.folder / "large.jsonl", megabytes=1 if self.is_quick else 100)

    def long_session(self, messages: int) -> Path:
        """A session of so many messages, with short texts."""
        return self._written(self.folder / f"{messages}.jsonl", messages=messages // 50 if self.is_quick else messages)

    def _written(self, path: Path, *, messages: int | None = None, megabytes: float | None = None) -> Path:
        if not path.exists():
            write_session(path, messages=messages, megabytes=megabytes, shape=LEAN if messages else REAL)
        return path

    def home(self, name: str) -> Path:
        """A home folder: settings, plans and counted tokens of one name are shared, of others unknown."""
        home = self.folder / "homes" / name
        home.mkdir(parents=True, exist_ok=True)
        return home

    def inspector(self, path: Path, home: str) -> Terminal:
        """The program on a session, starting now."""
        return Terminal((*INSPECTOR, str(path)), self.environment(home), self.folder)

    def empty_app(self) -> Terminal:
        """The smallest Textual program, starting now."""
        return Terminal(EMPTY_APP, self.environment("empty"), self.folder)

    def environment(self, home: str) -> dict[str, str]:
        """The environment of a program under measurement: nothing of whoever measures but where programs are."""
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
    """The folder of real sessions beside the checkout.

    Raises:
        NotMeasuredError: There is none.
    """
    folder = Path(os.environ.get("INSPECTOR_SHARED", ROOT.parent / "shared")) / "corpus"
    if not folder.is_dir():
        raise NotMeasuredError(
            "no real sessions beside the checkout; INSPECTOR_SHARED names the folder that holds them"
        )
    return folder


def largest_reference_session() -> Path | None:
    """The largest real session of Claude Code beside the checkout; None where there are none."""
    try:
        found = [*(reference_sessions() / "claude-code").glob("*.jsonl")]
    except NotMeasuredError:
        return None
    return max(found, key=lambda path: path.stat().st_size, default=None)
