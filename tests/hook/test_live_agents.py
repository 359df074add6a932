"""The hook and `inspector mcp` inside real agents, driven by a scripted local model.

They run if `claude` or `opencode` is on the PATH, with a temporary home, and are skipped otherwise. Everything except
the model is real.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from inspector.hook.records import errors, trims
from inspector.session.model import BlockKind
from inspector.session.open import open_session
from tests.hook.events import PLAN
from tests.hook.scripted_model import ScriptedModel, identifier_of, serving
from tests.program import environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.hook.scripted_model import Step

LINES = "\n".join(map(str, range(1, 3001)))

SERVER = """import sys
from mcp.server import MCPServer
server = MCPServer("notes")
@server.tool()
def structured() -> str:
    "Lines."
    return "note " * 1000
@server.tool(structured_output=False)
def plain() -> str:
    "Lines."
    return "note " * 1000
server.run()
"""


class LiveAgent:
    def __init__(self, folder: Path, program: str, agent: str) -> None:
        self.home, self.work, self.plan = folder / "home", folder / "work", folder / "plan.toml"
        self.home.mkdir()
        self.work.mkdir()
        self.plan.write_text(PLAN)
        (self.work / "server.py").write_text(SERVER)
        (self.work / "long.txt").write_text("".join(f"line {number} of it\n" for number in range(500)))
        programs = folder / "programs"
        programs.mkdir()
        inspector = programs / "inspector"
        inspector.write_text(f'#!/bin/sh\nexec {sys.executable} -m inspector "$@"\n')
        inspector.chmod(0o700)
        self.program = program
        kept = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH"}
        self.env = {
            **{name: value for name, value in environment().items() if name in kept},
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "ANTHROPIC_API_KEY": "x",
            # Neither asks anybody but the model.
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }
        installed = self.inspector("hook", "install", "--agent", agent, "--plan", str(self.plan), "--yes")
        assert installed.returncode == 0, installed.stderr
        self.state = str(self.home / ".local" / "state" / "inspector" / "hook")

    def inspector(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run("inspector", *words)

    def run(self, program: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *words],
            cwd=self.work,
            env={**self.env, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def version(self) -> tuple[int, ...]:
        said = re.search(r"\d+\.\d+\.\d+", self.run(self.program, "--version").stdout)
        assert said is not None
        return tuple(map(int, said[0].split(".")))


@pytest.fixture
def claude(tmp_path: Path) -> LiveAgent:
    return LiveAgent(tmp_path, _on_path("claude"), "claude-code")


@pytest.fixture
def opencode(tmp_path: Path) -> LiveAgent:
    return LiveAgent(tmp_path, _on_path("opencode"), "opencode")


def _on_path(name: str) -> str:
    if sys.platform != "linux":
        pytest.skip("the hook's folder is that of Linux here")
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"there is no {name} on the PATH")
    return program


def ask_claude(agent: LiveAgent, steps: Sequence[Step]) -> dict[str, str]:
    servers = {
        "inspector": {"command": "inspector", "args": ["mcp"]},
        "notes": {"command": sys.executable, "args": ["server.py"]},
    }
    (agent.work / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    model = ScriptedModel(steps)
    with serving(model) as address:
        words = ["-p", "Count.", "--dangerously-skip-permissions", "--mcp-config", ".mcp.json"]
        done = agent.run(agent.program, *words, ANTHROPIC_BASE_URL=address)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return model.results()


def ask_opencode(agent: LiveAgent, steps: Sequence[Step]) -> dict[str, str]:
    name = "claude-sonnet-4-5"
    model = ScriptedModel(steps)
    with serving(model) as address:
        about = {"name": name, "tool_call": True, "limit": {"context": 200_000, "output": 32_000}}
        options: dict[str, Any] = {"baseURL": f"{address}/v1", "apiKey": "x"}
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "permission": "allow",
            "model": f"anthropic/{name}",
            "small_model": f"anthropic/{name}",
            "provider": {"anthropic": {"options": options, "models": {name: about}}},
            "mcp": {"inspector": {"type": "local", "command": ["inspector", "mcp"], "enabled": True}},
        }
        (agent.work / "opencode.json").write_text(json.dumps(settings))
        done = agent.run(agent.program, "run", "Count.")
    assert done.returncode == 0, (done.stdout, done.stderr)
    return model.results()


def trimmed(text: str, tool: str, step: int) -> str:
    cut = f"{len(text) - 500:,} of {len(text)} cut from {tool}"
    return f"{text[:300]}\n[... {cut}; all of it: inspector recall {identifier_of(step)} ...]\n{text[-200:]}"


def test_claude_code_sends_what_the_hook_answers_and_gives_back_what_was_cut(claude: LiveAgent) -> None:
    pytest.importorskip("mcp")
    steps: list[Step] = [
        ("Bash", {"command": "seq 1 3000", "description": "much"}),
        ("Bash", {"command": "seq 1 3", "description": "little"}),
        ("Bash", {"command": "seq 1 900 >&2; false", "description": "a failure"}),
        ("Bash", {"command": "seq 1 50000", "description": "more than the agent sends"}),
        ("Read", {"file_path": str(claude.work / "long.txt")}),
        # Servers start in parallel with the first answers; older releases wait for them without a tool.
        ("WaitForMcpServers", {}),
        ("mcp__notes__structured", {}),
        ("mcp__notes__plain", {}),
        ("mcp__inspector__memory_query", {"execution_id": identifier_of(0)}),
        ("mcp__inspector__context_report", {}),
        ("Bash", {"command": f"inspector recall {identifier_of(0)} --lines 1-2900", "description": "ask again"}),
        "Done.",
    ]
    seen = list(ask_claude(claude, steps).values())
    assert len(seen) == len(steps) - 1
    much, little, failed, more, read, _, structured, plain, memory, report, again = seen
    is_old = claude.version() < (2, 1, 121)
    notes = "note " * 1000
    in_full = {"much": LINES, "structured": json.dumps({"result": notes}, separators=(",", ":")), "plain": notes}
    if is_old:
        assert (much, structured, plain) == tuple(in_full.values())
        assert trims(claude.state) == []
        assert any("2.1.121" in problem for problem in errors(claude.state))
    else:
        assert much == trimmed(LINES, "Bash", 0)
        assert structured == trimmed(in_full["structured"], "mcp__notes__structured", 6)
        assert plain == trimmed(notes, "mcp__notes__plain", 7)
        assert [trim.identifier for trim in trims(claude.state)] == [identifier_of(step) for step in (0, 6, 7)]
        assert errors(claude.state) == []
    # Results that the hook does not change pass through.
    assert little == "1\n2\n3"
    assert failed.count("\n") >= 900
    assert more.startswith("<persisted-output>")
    assert read.count("\n") >= 500
    # A recalled result is not cut again; it is the whole text.
    assert json.loads(memory)["text"] == LINES[:8000]
    assert json.loads(memory)["total_characters"] == len(LINES)
    assert json.loads(report)["by_tool"]["Bash"] > 0
    assert again == LINES[: LINES.index("\n2901")]
    # The session file holds the trimmed result; recall still returns the original.
    (transcript,) = claude.home.glob(".claude/projects/*/*.jsonl")
    session = open_session(transcript)
    kept = next(block for block in session.all_blocks if block.kind is BlockKind.TOOL_RESULT)
    assert session.text(kept) == much
    assert claude.inspector("recall", identifier_of(0)).stdout == LINES
    assert claude.inspector("recall", identifier_of(0), "--recorded").stdout == much


def test_opencode_sends_what_the_hook_answers_and_gives_back_what_was_cut(opencode: LiveAgent) -> None:
    pytest.importorskip("mcp")
    steps: list[Step] = [
        ("bash", {"command": "seq 1 1500", "description": "much"}),
        ("bash", {"command": "seq 1 3", "description": "little"}),
        ("read", {"filePath": str(opencode.work / "long.txt")}),
        ("inspector_memory_query", {"execution_id": identifier_of(0)}),
        ("bash", {"command": f"inspector recall {identifier_of(0)}", "description": "ask again"}),
        "Done.",
    ]
    seen = list(ask_opencode(opencode, steps).values())
    much, little, read, memory, again = seen
    lines = "".join(f"{number}\n" for number in range(1, 1501))
    assert much == trimmed(lines, "bash", 0)
    assert little == "1\n2\n3\n"
    assert f"cut from read; all of it: inspector recall {identifier_of(2)}" in read
    assert json.loads(memory)["text"] == lines
    assert again == lines
    assert [trim.identifier for trim in trims(opencode.state)] == [identifier_of(0), identifier_of(2)]
    assert errors(opencode.state) == []
    assert opencode.inspector("recall", identifier_of(0)).stdout == lines
    assert opencode.inspector("recall", identifier_of(0), "--recorded").stdout == much
