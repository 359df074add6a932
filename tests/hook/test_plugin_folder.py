"""The plugin for Claude Code: its files as documented, and its commands in a real shell."""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from inspector import __version__
from inspector.cli.commands import COMMANDS
from inspector.hook.events import CLAUDE_CODE_MATCHER
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "packaging" / "claude-code-plugin"

MANIFEST = {
    "$schema": str,
    "name": str,
    "version": str,
    "description": str,
    "author": dict,
    "homepage": str,
    "repository": str,
    "license": str,
    "keywords": list,
    "dependencies": list,
    "userConfig": dict,
}
"""Fields of code.claude.com/docs/en/plugins/manifest-reference (read 2026-11-28) that name no component, with types."""

OPTION = {"type", "title", "description", "required", "default", "multiple", "sensitive", "min", "max"}
"""Fields of an option; an unknown one is an error, and the first three are required."""

COMMAND = {"type", "command", "args", "if", "shell", "timeout", "statusMessage", "once", "async", "asyncRewake"}
"""Fields of a command hook."""


def read(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def test_the_manifest_has_documented_fields_of_documented_types() -> None:
    manifest = read(".claude-plugin/plugin.json")
    assert {name: type(value) for name, value in manifest.items()} == {name: MANIFEST[name] for name in manifest}
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", manifest["name"])
    assert manifest["author"].keys() <= {"name", "email", "url"}
    assert all(isinstance(word, str) for word in manifest["keywords"])
    for name, option in manifest["userConfig"].items():
        assert re.fullmatch(r"[A-Za-z_]\w*", name)
        assert {"type", "title", "description"} <= option.keys() <= OPTION
        assert option["type"] in ("string", "number", "boolean", "directory", "file")


def test_only_the_manifest_is_in_the_folder_of_the_manifest() -> None:
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert files == {".claude-plugin/plugin.json", ".mcp.json", "hooks/hooks.json"}


def test_the_version_is_the_programs_as_a_semantic_version() -> None:
    release, _, candidate = __version__.partition("rc")
    expected = f"{release}-rc.{candidate}" if candidate else release
    assert read(".claude-plugin/plugin.json")["version"] == expected


def test_the_marketplace_names_the_plugin_and_its_folder() -> None:
    marketplace = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))
    (entry,) = marketplace["plugins"]
    assert marketplace.keys() == {"name", "owner", "plugins"}
    assert marketplace["owner"]["name"]
    assert entry["name"] == read(".claude-plugin/plugin.json")["name"]
    assert entry["source"].startswith("./")
    assert (ROOT / entry["source"]).samefile(FOLDER)


def test_the_server_is_the_programs_own() -> None:
    assert read(".mcp.json") == {"mcpServers": {"inspector": {"command": "inspector", "args": ["mcp"]}}}
    assert "mcp" in COMMANDS


def hook(event: str) -> dict[str, Any]:
    (group,) = read("hooks/hooks.json")["hooks"][event]
    (command,) = group["hooks"]
    assert command.keys() <= COMMAND
    assert command["type"] == "command"
    return {**command, "matcher": group["matcher"]}


def test_the_hooks_have_the_tools_and_events_of_the_installed_hook() -> None:
    assert read("hooks/hooks.json")["hooks"].keys() == {"SessionStart", "PostToolUse"}
    assert hook("PostToolUse")["matcher"] == CLAUDE_CODE_MATCHER
    assert hook("SessionStart")["matcher"] == "startup"


def run_hook(event: str, path: str, **variables: str) -> subprocess.CompletedProcess[str]:
    words = ["/bin/sh", "-c", hook(event)["command"]]
    return subprocess.run(
        words, env={"PATH": path, **variables}, input="{}", capture_output=True, text=True, check=False
    )


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A folder with a program that prints its arguments, as a PATH."""
    path = tmp_path / "bin" / "inspector"
    path.parent.mkdir()
    path.write_text('#!/bin/sh\nprintf "<%s>" "$@"\nprintf "%s" "$*" > "$0.seen"\n')
    path.chmod(0o755)
    return f"{path.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"


@pytest.mark.parametrize("event", ["SessionStart", "PostToolUse"])
def test_without_the_program_a_hook_does_nothing_and_is_no_error(event: str, tmp_path: Path) -> None:
    done = run_hook(event, str(tmp_path), CLAUDE_PLUGIN_OPTION_PLAN="careful")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_results_are_trimmed_only_with_a_plan_that_no_shell_parses(program: str) -> None:
    assert run_hook("PostToolUse", program).stdout == ""
    assert run_hook("PostToolUse", program, CLAUDE_PLUGIN_OPTION_PLAN="").stdout == ""
    plan = "my plan; $(touch oops).toml"
    trimmed = run_hook("PostToolUse", program, CLAUDE_PLUGIN_OPTION_PLAN=plan)
    assert trimmed.stdout == f"<hook><--agent><claude-code><--plan><{plan}>"


def test_a_start_adds_the_status_line_without_a_word_to_the_model(program: str, tmp_path: Path) -> None:
    started = run_hook("SessionStart", program)
    assert (started.returncode, started.stdout) == (0, "")
    assert (tmp_path / "bin" / "inspector.seen").read_text() == "status --install claude --if-none --yes"
