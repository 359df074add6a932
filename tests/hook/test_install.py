"""`inspector hook install` and `uninstall`: a diff, a question, a backup, and back again."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pexpect
import pytest

from tests.hook.events import PLAN, bash_event, sent_output
from tests.program import COMMAND, environment, run_program

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = """{
    "model": "opus", "env": {"A": "ü"},
    "hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "fmt"}]}]}
}"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "my tuned.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture
def settings(private_home: Path) -> Path:
    path = private_home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(SETTINGS)
    return path


def install(plan: Path | str, *more: str):
    return run_program("hook", "install", "--agent", "claude-code", "--plan", plan, *more)


def test_it_is_shown_as_a_diff_and_asked_for(plan: Path, settings: Path) -> None:
    outcome = install(plan)
    assert outcome.code == 2
    assert "--yes" in outcome.err
    assert '+            "command": ' in outcome.out
    assert settings.read_text() == SETTINGS


def test_a_no_changes_nothing_and_a_yes_does(plan: Path, settings: Path) -> None:
    words = [*COMMAND[1:], "hook", "install", "--plan", str(plan)]
    for answer, is_changed in (("n", False), ("y", True)):
        asked = pexpect.spawn(COMMAND[0], words, env=environment(), timeout=120, encoding="utf-8")
        asked.expect("Make this change")
        asked.sendline(answer)
        asked.expect(pexpect.EOF)
        asked.close()
        assert (settings.read_text() != SETTINGS) is is_changed


def test_what_was_there_stays_and_the_command_works_as_it_is_written(plan: Path, settings: Path) -> None:
    assert install(plan, "--yes").code == 0
    written = json.loads(settings.read_text())
    assert (written["model"], written["env"]) == ("opus", {"A": "ü"})
    before, ours = written["hooks"]["PostToolUse"]
    assert before == {"matcher": "Edit", "hooks": [{"type": "command", "command": "fmt"}]}
    (command,) = ours["hooks"]
    done = subprocess.run(  # noqa: S602  as the agent runs it
        command["command"],
        shell=True,
        input=json.dumps(bash_event()).encode(),
        capture_output=True,
        env=environment(),
        timeout=120,
        check=False,
    )
    assert len(sent_output(done.stdout)["stdout"]) < 700
    assert str(plan) in shlex.split(command["command"])


def test_installed_twice_it_is_there_once_with_the_later_plan(plan: Path, settings: Path) -> None:
    install("careful", "--yes")
    install(plan, "--yes")
    groups = json.loads(settings.read_text())["hooks"]["PostToolUse"]
    assert len(groups) == 2
    assert "careful" not in json.dumps(groups)
    assert "already installed" in install(plan, "--yes").err


def test_taken_back_the_settings_are_as_they_were_to_the_byte(plan: Path, settings: Path) -> None:
    install(plan, "--yes")
    (backup,) = settings.parent.glob("settings.json.before-inspector-*")
    assert backup.read_text() == SETTINGS
    assert run_program("hook", "uninstall", "--yes").code == 0
    assert settings.read_text() == SETTINGS
    assert "hook is not installed there" in run_program("hook", "uninstall", "--yes").err


def test_what_was_changed_meanwhile_stays_when_it_is_taken_back(plan: Path, settings: Path) -> None:
    install(plan, "--yes")
    changed = {**json.loads(settings.read_text()), "model": "sonnet"}
    settings.write_text(json.dumps(changed))
    run_program("hook", "uninstall", "--yes")
    assert json.loads(settings.read_text()) == {**json.loads(SETTINGS), "model": "sonnet"}


def test_without_settings_they_are_made_and_removed_again(plan: Path, private_home: Path) -> None:
    assert install(plan, "--yes").code == 0
    path = private_home / ".claude" / "settings.json"
    assert json.loads(path.read_text()).keys() == {"hooks"}
    run_program("hook", "uninstall", "--yes")
    assert not path.exists()


@pytest.mark.parametrize("text", ["{ // mine\n}", "[]", '{"hooks": 3}', '{"hooks": {"PostToolUse": {}}}'])
def test_settings_that_are_not_understood_are_left_alone(plan: Path, settings: Path, text: str) -> None:
    settings.write_text(text)
    outcome = install(plan, "--yes")
    assert outcome.code == 1
    assert str(settings) in outcome.complaint
    assert settings.read_text() == text


def test_what_a_hook_cannot_do_is_stated_with_where_it_can_run(tmp_path: Path, settings: Path) -> None:
    outcome = install("careful", "--yes")
    assert "the hook does not apply tiered-stale: it changes results the model has already seen" in outcome.err
    assert "inspector help adapters" in outcome.err
    retroactive = tmp_path / "stale.toml"
    retroactive.write_text('[[strategies]]\nname = "tiered-stale"\n')
    refused = install(retroactive, "--yes")
    assert refused.code == 1
    assert "add trim-at-insertion" in refused.err
    assert run_program("hook", "install", "--yes").code == 2
    assert "gone.toml" in install(tmp_path / "gone.toml").complaint


def test_hermes_gets_a_plugin_that_hands_results_to_the_hook(plan: Path, private_home: Path) -> None:
    run_program("hook", "install", "--agent", "hermes", "--plan", plan, "--yes")
    folder = private_home / ".hermes" / "plugins" / "inspector"
    assert "transform_tool_result" in (folder / "plugin.yaml").read_text()
    script = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('plugin', {str(folder / '__init__.py')!r})\n"
        "plugin = importlib.util.module_from_spec(spec); spec.loader.exec_module(plugin)\n"
        "hooks = {}\n"
        "class Context:\n"
        "    def register_hook(self, name, function): hooks[name] = function\n"
        "plugin.register(Context())\n"
        "call = hooks['transform_tool_result']\n"
        "print(len(call(tool_name='terminal', args={}, result='x' * 5000, task_id='t', tool_call_id='c', more=1)))\n"
        "print(call(tool_name='terminal', result='short'), call(tool_name='terminal', result={'no': 'text'}))\n"
        "plugin.COMMAND = ['/nonexistent/program']\n"
        "print(call(tool_name='terminal', result='x' * 5000))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), timeout=120, check=False
    )
    length, *rest = done.stdout.splitlines()
    assert 500 < int(length) < 700, done
    assert rest == ["None None", "None"]
    run_program("hook", "uninstall", "--agent", "hermes", "--yes")
    assert not list(folder.glob("*.*"))


def test_opencode_gets_a_plugin_that_hands_results_to_the_hook(plan: Path, private_home: Path, tmp_path: Path) -> None:
    run_program("hook", "install", "--agent", "opencode", "--plan", plan, "--yes")
    file = private_home / "xdg_config_home" / "opencode" / "plugin" / "inspector.js"
    text = file.read_text()
    assert '"tool.execute.after": async (input, output) => {' in text
    assert str(plan) in text
    node = shutil.which("node")
    if node is not None:
        (tmp_path / "inspector.mjs").write_text(text)
        script = (
            f"const {{ Inspector }} = await import({str(tmp_path / 'inspector.mjs')!r})\n"
            "const after = (await Inspector({}))['tool.execute.after']\n"
            "const input = { tool: 'bash', sessionID: 's', callID: 'c' }\n"
            "for (const output of ['x'.repeat(5000), 'short', undefined]) {\n"
            "  const given = { title: '', output, metadata: {} }\n"
            "  await after(input, given); console.log(given.output?.length)\n"
            "}\n"
        )
        words = [node, "--input-type=module", "-e", script]
        done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=120, check=False)
        length, *rest = done.stdout.split()
        assert 500 < int(length) < 700, done
        assert rest == ["5", "undefined"]
    run_program("hook", "uninstall", "--agent", "opencode", "--yes")
    assert not file.exists()


def test_what_a_hook_does_of_a_strategy_in_part_is_stated(tmp_path: Path, settings: Path) -> None:
    storing = tmp_path / "storing.toml"
    storing.write_text('[[strategies]]\nname = "store-large"\n\n[[strategies]]\nname = "pi-truncate"\n')
    outcome = install(storing, "--yes")
    assert outcome.code == 0
    assert settings.exists()
    assert "the hook applies store-large in part: its batch budget" in outcome.err
    assert "the hook does not apply pi-truncate: it depends on the file and lines" in outcome.err


@pytest.mark.parametrize("which", ["plan", "settings"])
def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(which: str, plan: Path, settings: Path) -> None:
    path = {"plan": plan, "settings": settings}[which]
    path.unlink()
    os.mkfifo(path)
    outcome = install(plan, "--yes")
    assert outcome.code == 1
    assert path.name in outcome.complaint
    assert "not a regular file" in outcome.complaint
