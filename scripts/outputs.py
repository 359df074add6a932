"""Excerpts of the output of commands, as the documentation shows them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = "sample_sessions/coding-agent.jsonl"
ALL = ((None, 1_000),)
ELLIPSIS = "…"


class Output(NamedTuple):
    """A command and the lines of its output that are shown.

    Attributes:
        command: Arguments of `inspector`, as typed.
        parts: Beginnings of excerpts, each a pattern of its first line (None: the first line) and a number of lines.
    """

    command: str
    parts: tuple[tuple[str | None, int], ...] = ALL


OUTPUTS = {
    "why": Output(f"why {SAMPLE}"),
    "report": Output(
        f"report {SAMPLE} --strategy tiered-stale", ((r" +recorded +baseline", 17), (r"  needed later", 3))
    ),
    "losing": Output(f"report {SAMPLE} --strategy keep-recent:keep=10", ((r" +recorded +baseline", 15),)),
    "needed": Output(f"report {SAMPLE} --strategy tiered-stale", ((r"  risks", 7),)),
    "explain": Output(f"report {SAMPLE} --strategy tiered-stale --explain", ((r"  cost_usd = ", 7),)),
    "formats": Output(f"formats {SAMPLE}", ((None, 15),)),
    "files": Output(f"files {SAMPLE}", ((None, 6),)),
    "recall": Output(f"recall toolu_01iclFeGOMajybVrGwKXaGjm {SAMPLE} --head 5"),
    "strategies": Output("strategies", ((None, 12),)),
}


@cache
def printed(command: str) -> tuple[str, ...]:
    """Return the lines a command prints, in an empty home."""
    with tempfile.TemporaryDirectory() as home:
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL")}
        done = subprocess.run(
            [sys.executable, "-m", "inspector", *shlex.split(command)],
            cwd=ROOT,
            env={**kept, "PYTHONPATH": str(ROOT), "HOME": home, "PYTHONUTF8": "1", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
    return tuple(done.stdout.rstrip("\n").split("\n"))


def output(name: str) -> str:
    """Return a command and the excerpts of its output as a block of code.

    Raises:
        ValueError: No line begins as an excerpt should.
    """
    command, parts = OUTPUTS[name]
    lines = printed(command)
    shown, end = [f"$ inspector {command}"], 0
    for pattern, count in parts:
        start = 0
        if pattern is not None:
            found = [place for place in range(end, len(lines)) if re.match(pattern, lines[place])]
            if not found:
                raise ValueError(f"inspector {command}: no line begins with {pattern!r}")
            start = found[0]
        shown += [ELLIPSIS] if start > end else []
        shown += lines[start : start + count]
        end = start + count
    shown += [ELLIPSIS] if end < len(lines) else []
    return "".join(f"    {line}".rstrip() + "\n" for line in shown)
