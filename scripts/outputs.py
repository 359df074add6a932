"""Excerpts of the output of commands, as the documentation shows them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = "sample_sessions/coding-agent.jsonl"
ALL = ((None, 1_000),)
ELLIPSIS = "…"


class Output(NamedTuple):
    """A command and the lines of its output that are shown.

    Attributes:
        command: Command as typed, without `inspector` in `OUTPUTS`.
        parts: Beginnings of excerpts, each a pattern of its first line (None: the first line) and a number of lines.
    """

    command: str
    parts: tuple[tuple[str | None, int], ...] = ALL


OUTPUTS = {
    "why": Output(f"why {SAMPLE}"),
    "readme-why": Output(f"why {SAMPLE}", ((None, 1), (r"  cache reads", 2), (r"  cache misses", 3))),
    "readme-plan": Output(
        f"report {SAMPLE} --strategy tiered-stale",
        ((r" +recorded +baseline", 4), (r"  cache writes", 1), (r"  cost", 1)),
    ),
    "readme-advice": Output(
        "why sample_sessions/security-agent.jsonl", ((None, 2), (r"  agent can apply|  best plan", 3))
    ),
    "report": Output(f"report {SAMPLE} --strategy tiered-stale", ((r" +recorded +baseline", 17), (r"  net  ", 3))),
    "losing": Output(f"report {SAMPLE} --strategy keep-recent:keep=10", ((r" +recorded +baseline", 15),)),
    "as-model": Output(
        "report sample_sessions/security-agent.jsonl --as-model claude-opus-5-5", ((r"At another model", 4),)
    ),
    "needed": Output(f"report {SAMPLE} --strategy tiered-stale", ((r"  risks", 7),)),
    "explain": Output(f"report {SAMPLE} --strategy tiered-stale --explain", ((r"  cost_usd = ", 7),)),
    "formats": Output(f"formats {SAMPLE}", ((None, 15),)),
    "files": Output(f"files {SAMPLE}", ((None, 6),)),
    "recall": Output(f"recall toolu_01iclFeGOMajybVrGwKXaGjm {SAMPLE} --head 5"),
    "strategies": Output("strategies", ((None, 12),)),
}


AGENT = ROOT / "docs" / "agent.py"

ROUND = {
    None: Output("python agent.py before"),
    "round-tune": Output("inspector tune before --strategy trim-at-insertion --beyond -o tuned.toml", ((None, 7),)),
    "round-export": Output("inspector export --plan tuned.toml --to hermes"),
    "round-note": Output("python agent.py after tuned.toml", ((r"Note: Call 2", 1),)),
    "round-compare": Output("inspector compare --before before --after after", ((None, 7),)),
}
"""Commands of the example in `docs/apply.md`, in order, by the name of the part that shows them."""

SESSIONS = {
    "sessions-tune": Output("inspector tune sessions/", ((None, 9),)),
    "sessions-compaction": Output("inspector tune --compaction sessions/", ((None, 8),)),
}
"""Commands on a folder of real sessions."""


def slow_outputs(sessions: Path) -> dict[str, str]:
    """Run the commands of `ROUND` and `SESSIONS`, and return the parts by name; takes minutes.

    Args:
        sessions: Folder for the commands of `SESSIONS`.
    """
    starts = {"python": (sys.executable,), "inspector": (sys.executable, "-m", "inspector")}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        shutil.copy(AGENT, workspace)
        (workspace / "sessions").symlink_to(sessions.resolve())
        for name, (command, parts) in (*ROUND.items(), *SESSIONS.items()):
            program, *arguments = shlex.split(command)
            done = run([*starts[program], *arguments], workspace, workspace / "home")
            text = done.stdout if program == "inspector" else done.stderr
            if name:
                found[name] = excerpt(command, tuple(text.rstrip("\n").split("\n")), parts)
    return found


def run(command: Sequence[str], folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder with an own home."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL")}
    return subprocess.run(
        command,
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), "HOME": str(home), "PYTHONUTF8": "1", "TZ": "UTC"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )


@cache
def printed(command: str) -> tuple[str, ...]:
    """Return the lines a command prints, in an empty home."""
    with tempfile.TemporaryDirectory() as home:
        done = run([sys.executable, "-m", "inspector", *shlex.split(command)], ROOT, Path(home))
    return tuple(done.stdout.rstrip("\n").split("\n"))


def output(name: str) -> str:
    """Return a command of `OUTPUTS` and excerpts of its output as a block of code."""
    command, parts = OUTPUTS[name]
    return excerpt(f"inspector {command}", printed(command), parts)


def excerpt(command: str, lines: Sequence[str], parts: Iterable[tuple[str | None, int]]) -> str:
    """Return a command and excerpts of its output as a block of code.

    Raises:
        ValueError: No line begins as an excerpt should.
    """
    shown, end = [f"$ {command}"], 0
    for pattern, count in parts:
        start = 0
        if pattern is not None:
            found = [place for place in range(end, len(lines)) if re.match(pattern, lines[place])]
            if not found:
                raise ValueError(f"{command}: no line begins with {pattern!r}")
            start = found[0]
        shown += [ELLIPSIS] if start > end else []
        shown += lines[start : start + count]
        end = start + count
    shown += [ELLIPSIS] if end < len(lines) else []
    return "".join(f"    {line}".rstrip() + "\n" for line in shown)
