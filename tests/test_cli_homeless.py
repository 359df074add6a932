"""A user without a home and without an entry among the system's users, as containers run programs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SAMPLE = ROOT / "sample_sessions" / "terminal-agent.jsonl"
HOMELESS = """
import pwd, sys

def unknown(*_):
    raise KeyError("no such user")

pwd.getpwuid = pwd.getpwnam = unknown
from inspector.cli import main
for words in {lines!r}:
    sys.stdout.write("")
    print("code", main(words), flush=True)
"""


def test_every_command_works_or_says_in_a_line_what_it_needs(tmp_path: Path) -> None:
    lines = [
        ["strategies"],
        ["formats"],
        ["report", str(SAMPLE)],
        ["report", str(SAMPLE), "--plan", "~nobody/plan.toml"],
        ["sessions"],
        ["check", str(SAMPLE), "--max-tokens", "10"],
        [],
    ]
    done = subprocess.run(
        [sys.executable, "-c", HOMELESS.format(lines=lines)],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    codes = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("code ")]
    assert done.returncode == 0, done.stderr
    assert len(codes) == len(lines)
    assert codes[:3] == [0, 0, 0], done.stderr
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["~nobody-of-that-name/plan.toml", "~/plan.toml", "plan.toml"])
def test_a_path_in_the_home_of_no_one_is_a_name_like_others(text: str) -> None:
    from inspector.session.files import expand_user

    assert expand_user(text).name == "plan.toml"
