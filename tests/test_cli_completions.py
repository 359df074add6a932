"""Tab completions, as answered by real shells."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.cli.commands import COMMANDS
from inspector.cli.completions import NAME, PLAN, SHELLS, STRATEGY, script, values
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import STRATEGIES
from tests.conftest import ROOT
from tests.program import environment, run_program

ASK_BASH = r"""
source "$1"
shift
for line; do
  COMP_LINE=$line COMP_POINT=${#line} COMP_WORDS=() COMP_CWORD=0 COMPREPLY=()
  _inspector_joined 2>/dev/null
  echo "$line => ${COMPREPLY[*]}"
done
"""


@pytest.fixture(scope="module")
def shell_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program by its name, and the script of every shell."""
    folder = tmp_path_factory.mktemp("shell")
    program = folder / "inspector"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m inspector "$@"\n')
    program.chmod(0o755)
    for shell in SHELLS:
        (folder / shell).write_text(script(shell))
    return folder


def asked(shell_folder: Path, command: list[str]) -> str:
    path = f"{shell_folder}{os.pathsep}{os.environ['PATH']}"
    env = environment(PATH=path, HOME=str(shell_folder), XDG_DATA_HOME=str(shell_folder))
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=120)
    return done.stdout


def test_bash_completes_commands_options_plans_strategies_limits_and_files(shell_folder: Path) -> None:
    lines = {
        "inspector repo": "report",
        "inspector report --strat": "--strategy",
        "inspector report --format h": "html",
        "inspector report x --strategy tiered-s": "tiered-stale",
        "inspector report x --strategy tiered-stale:dat": "data= data-tools=",
        "inspector report x --plan caref": "careful",
        "inspector report sample_sessions/codi": "sample_sessions/coding-agent.jsonl",
        "inspector export --to langch": "langchain",
        "inspector strategies clear-o": "clear-old",
        "inspector clean rec": "recall",
        "inspector help evid": "evidence",
    }
    said = asked(shell_folder, ["bash", "-c", ASK_BASH, "bash", str(shell_folder / "bash"), *lines])
    assert said.splitlines() == [f"{line} => {offered}" for line, offered in lines.items()]


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("inspector repo", "report"),
        ("inspector report --strategy tiered-stale:dat", "tiered-stale:data="),
        ("inspector report --plan caref", "careful"),
        ("inspector report sample_sessions/codi", "sample_sessions/coding-agent.jsonl"),
    ],
)
def test_fish_completes_commands_plans_limits_and_files(shell_folder: Path, line: str, offered: str) -> None:
    said = asked(shell_folder, ["fish", "-c", f"source {shell_folder / 'fish'}; complete -C '{line}'"])
    assert offered in [found.partition("\t")[0] for found in said.splitlines()]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_is_read_by_its_shell_and_names_every_command(shell: str, shell_folder: Path) -> None:
    text = (shell_folder / shell).read_text()
    assert [name for name in COMMANDS if name not in text] == []
    if shutil.which(shell):
        subprocess.run([shell, "-n", shell_folder / shell], check=True, timeout=60)


def test_limits_come_after_a_strategy_and_none_twice() -> None:
    assert values(STRATEGY, "tiered-st") == ["tiered-stale"]
    assert values(STRATEGY, "tiered-stale") == ["tiered-stale:"]
    assert "tiered-stale:data=" in values(STRATEGY, "tiered-stale:")
    assert "tiered-stale:data=3,search=" in values(STRATEGY, "tiered-stale:data=3,")
    assert "tiered-stale:data=3,data=" not in values(STRATEGY, "tiered-stale:data=3,")
    assert values(STRATEGY, "no-such:") == []


def test_every_strategy_and_ready_plan_is_offered() -> None:
    assert set(values(STRATEGY, "")) == set(STRATEGIES)
    assert set(PRESETS) <= set(values(PLAN, ""))
    assert set(values(NAME, "")) == {*STRATEGIES, *PRESETS}


def test_without_a_shell_it_is_stated_how_to_use_them() -> None:
    outcome = run_program("completions")
    assert outcome.code == 0
    assert all(shell in outcome.out for shell in SHELLS)
