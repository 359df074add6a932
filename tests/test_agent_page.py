"""The agent and commands of `docs/apply.md`, run in order, print the output shown on the page."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.cli.help import section
from tests.conftest import ROOT
from tests.program import COMMAND, environment

PAGE = ROOT / "docs" / "apply.md"
AGENT = ROOT / "docs" / "agent.py"
COMPARISON = ROOT / "docs" / "compare.md"


@pytest.mark.long
def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    text = section(PAGE.read_text(encoding="utf-8"), "before-and-after")
    shutil.copy(AGENT, tmp_path)
    text += COMPARISON.read_text(encoding="utf-8").partition("…")[0]
    lines = [line for line in re.findall(r"^    (\S.*|  .+)$", text, re.MULTILINE) if line[0] not in "$…"]
    assert len(lines) > 20
    starts = {"python": (sys.executable,), "inspector": COMMAND}
    commands = [shlex.split(line) for line in lines if line.split()[0] in starts]
    assert len(commands) == 7
    said = ""
    for first, *rest in commands:
        done = subprocess.run(
            [*starts[first], *rest],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said += done.stdout + done.stderr
    spaced = re.sub(r"\s+", " ", said)
    for line in lines:
        if line.split()[0] not in starts:
            assert re.sub(r"\s+", " ", line.strip()) in spaced


def test_what_the_agent_sends_afterwards_can_be_had_whole_from_its_own_conversation(tmp_path: Path) -> None:
    from inspector.adapters.gate import PlanGate

    gate = PlanGate("trim-at-insertion:threshold=100,head=10,tail=10")
    call = {"type": "tool_use", "id": "t", "name": "run", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "x" * 1_000}
    held = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    assert gate.to_send(held) != held
    assert held[2]["content"][0]["content"] == "x" * 1_000
