"""One line to the demo, and one to a page on the newest session, where nothing is but Python and its venv module."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.promises import Measurement, at_most
from benchmarks.terminal import NotShownError, Terminal
from benchmarks.workbench import ROOT, NotMeasuredError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.workbench import Workbench

PROMISE = "first start after installation"
RUNS = 3
MOST_SECONDS = 3.0
LONGEST = 600.0
LINE = re.compile(r"^ {4}(python3 -m venv \S+ && \S+pip install \. && )(\S+/inspector) demo$", re.MULTILINE)
LEFT_OUT = (".*", "build", "dist", "__pycache__")
SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"
HOW = """The README's command for a checkout runs in a copy of this checkout, with an empty home, a PATH with Python
and system programs only, and pip without a download cache; packages come from a registry. The time ends when the
demo's timeline is on the screen, in a pty of 120 by 36. "Without installation" is the time after pip, the program's
very first start. The same command with `report --last --format html -o page.html` is timed until the page is
written, in a home with one session of Claude Code. The result is the best of 3, because other load and the registry
only add time."""


class Timed(NamedTuple):
    """Seconds of a command line.

    Attributes:
        whole: Total.
        own: Part after pip.
    """

    whole: float
    own: float


def measure(bench: Workbench) -> Iterator[Measurement]:
    """Measure both lines, in total and without pip.

    Raises:
        NotMeasuredError: Nothing could be installed.
    """
    demos, pages = [], []
    for run in range(bench.runs(RUNS)):
        demos.append(_timed(bench.folder / f"demo {run}", "{} demo", b"Timeline"))
        pages.append(_timed(bench.folder / f"page {run}", "{} report --last --format html -o page.html", None))
    for what, times in (("demo", demos), ("HTML report", pages)):
        own = min(times, key=lambda each: each.own).own
        note = f" (best of {len(times)})"
        yield at_most(PROMISE, f"{what}, without installation", own, MOST_SECONDS, " s", digits=1, note=note)
        yield Measurement(PROMISE, f"{what}, with installation", f"{min(times).whole:.1f} s{note}")


def _timed(folder: Path, words: str, marker: bytes | None) -> Timed:
    """Type the README's line with other words at its end; they are done when a text shows, or else when they end."""
    line = LINE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    if line is None:
        raise NotMeasuredError("README.md has no line that installs a checkout and shows the demo")
    checkout, environment = _bare(folder)
    last = words.format(line[2])
    typed = f"{line[1]}echo 'it is' installed && " + (f"exec {last}" if marker else f"{last} && echo 'it is' done")
    with Terminal(("sh", "-c", typed), environment, checkout) as terminal:
        try:
            installed = terminal.wait_for(b"it is installed", LONGEST).time
        except NotShownError as error:
            raise NotMeasuredError(f"nothing could be installed: {error}") from None
        ready = terminal.wait_for(marker or b"it is done", LONGEST).time
        if marker is None and "<svg" not in (checkout / "page.html").read_text(encoding="utf-8"):
            raise NotShownError("the page has no charts")
        return Timed(ready - terminal.started, ready - installed)


def _bare(folder: Path) -> tuple[Path, dict[str, str]]:
    """Copy this checkout; return the copy and the environment of a home that holds only one session."""
    checkout, home, programs = folder / "checkout", folder / "home", folder / "bin"
    shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(*LEFT_OUT))
    sessions = home / ".claude" / "projects" / "project"
    for each in (sessions, programs):
        each.mkdir(parents=True)
    shutil.copy(SAMPLE, sessions)
    (programs / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    registry = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return checkout, {**registry, "HOME": str(home), "PATH": f"{programs}{os.pathsep}{os.defpath}", "LANG": "C.UTF-8"}
