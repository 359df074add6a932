"""Compute the changes to settings that add or remove the hook or the status line. Nothing is written here.

Hermes and OpenCode call `inspector hook` from plugin files. Hermes: `transform_tool_result` of a plugin folder
(`plugin.yaml`, `__init__.py`) receives the result as text and replaces it with the first text returned
(NousResearch/hermes-agent#12972). OpenCode: `tool.execute.after` of a plugin module changes `output.output`
(anomalyco/opencode#3384). Both leave a result unchanged if the hook returns nothing, fails, or takes longer than five
seconds.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

from inspector.errors import InspectorError
from inspector.hook.events import CLAUDE_CODE_MATCHER
from inspector.hook.records import open_regular

MARK = "written by `inspector hook install`; `inspector hook uninstall` removes it"

_HERMES = '''"""Trims tool results with an inspector plan: {mark}."""

import json
import subprocess

COMMAND = {command}


def transform(tool_name="", args=None, result=None, session_id="", tool_call_id="", **_):
    if not isinstance(result, str):
        return None
    command = args.get("command") if isinstance(args, dict) else None
    event = {{"tool": tool_name, "id": tool_call_id or "", "session": session_id or "", "text": result}}
    event["command"] = command if isinstance(command, str) else ""
    try:
        done = subprocess.run(COMMAND, input=json.dumps(event).encode(), capture_output=True, timeout=5)
        return json.loads(done.stdout)["text"] if done.stdout else None
    except Exception:
        return None


def register(ctx):
    ctx.register_hook("transform_tool_result", transform)
'''

_HERMES_MANIFEST = """# {mark}
name: inspector
version: 1.0.0
description: Trims tool results with an inspector plan.
hooks:
  - transform_tool_result
"""

_OPENCODE = """// Trims tool results with an inspector plan: {mark}.
import {{ spawnSync }} from "node:child_process"

const [program, ...words] = {command}

export const Inspector = async () => ({{
  "tool.execute.after": async (input, output) => {{
    if (typeof output?.output !== "string") return
    const event = {{
      tool: input.tool, id: input.callID ?? "", session: input.sessionID ?? "", text: output.output,
      command: input.args?.command ?? "",
    }}
    try {{
      const done = spawnSync(program, words, {{
        input: JSON.stringify(event), encoding: "utf8", timeout: 5000, maxBuffer: 1 << 28,
      }})
      if (done.status === 0 && done.stdout) output.output = JSON.parse(done.stdout).text
    }} catch {{}}
  }},
}})
"""


def plugin_files(agent: str, command: list[str]) -> dict[str, str]:
    """Return the files of an agent's plugin, by path below the agent's folder. `agent`: `hermes` or `opencode`."""
    written = json.dumps(command)
    if agent == "hermes":
        return {
            "plugins/inspector/plugin.yaml": _HERMES_MANIFEST.format(mark=MARK),
            "plugins/inspector/__init__.py": _HERMES.format(mark=MARK, command=written),
        }
    return {"plugin/inspector.js": _OPENCODE.format(mark=MARK, command=written)}


TIMEOUT_SECONDS = 10

STATUS_LINE = "statusLine"
REFRESH_SECONDS = 10
"""Seconds between two status lines without a response, for the time until the cache goes cold."""

TMUX_BEGIN, TMUX_END = "# begin inspector status", "# end inspector status"
TMUX_CELLS = 160


class SettingsError(InspectorError):
    """An agent's settings cannot be changed safely; the message has the file and the reason."""

    advice = "fix the settings file, or add the hook by hand: inspector help hook.md"


class SettingsChange(NamedTuple):
    """A change to a file: its text before and after; None where it does not exist."""

    path: Path
    before: str | None
    after: str | None

    @property
    def is_needed(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        before, after = ([f"{line}\n" for line in (text or "").splitlines()] for text in (self.before, self.after))
        old, new = (str(self.path) if text is not None else os.devnull for text in (self.before, self.after))
        return "".join(unified_diff(before, after, old, new))


def program_words() -> list[str]:
    """Return the words that start the program, with its full path."""
    program = shutil.which("inspector")
    return [str(Path(program).absolute())] if program else [sys.executable, "-m", "inspector"]


def hook_command(agent: str, plan: str, *, keeps_originals: bool = True) -> list[str]:
    """Return the words of the hook's command, with the full path of the program."""
    kept = [] if keeps_originals else ["--no-originals"]
    return [*program_words(), "hook", "--agent", agent, "--plan", plan, *kept]


def home_of(agent: str) -> Path:
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  never fails
    if agent == "claude-code":
        return Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    if agent == "hermes":
        return Path(os.environ.get("HERMES_HOME") or home / ".hermes")
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"


def install_changes(agent: str, folder: Path, words: list[str]) -> list[SettingsChange]:
    """Return the changes that install the hook. Raises `SettingsError` for other forms, or `OSError`."""
    if agent != "claude-code":
        files = plugin_files(agent, words)
        return [SettingsChange(folder / name, _read(folder / name), text) for name, text in files.items()]
    path = folder / "settings.json"
    before = _read(path)
    settings = _without(_parsed(path, before))
    import shlex

    hooks = settings.setdefault("hooks", {})
    command = {"type": "command", "command": shlex.join(words), "timeout": TIMEOUT_SECONDS}
    hooks.setdefault("PostToolUse", []).append({"matcher": CLAUDE_CODE_MATCHER, "hooks": [command]})
    return [SettingsChange(path, before, _written(settings))]


def uninstall_changes(agent: str, folder: Path) -> list[SettingsChange]:
    """Return the changes that remove the hook; see `install_changes`. The text of an equal backup is restored."""
    if agent != "claude-code":
        files = [folder / name for name in plugin_files(agent, [])]
        return [SettingsChange(path, before, None) for path in files if (before := _read(path)) is not None]
    path = folder / "settings.json"
    before = _read(path)
    if before is None:
        return []
    settings = _parsed(path, before)
    left = _without(json.loads(json.dumps(settings)))
    if left == settings:
        return []
    for backup in sorted(folder.glob(f"{path.name}.before-inspector-*"), reverse=True):
        text = _read(backup)
        if text is not None and _is_same(text, left):
            return [SettingsChange(path, before, text)]
    return [SettingsChange(path, before, _written(left) if left else None)]


def status_line_setting() -> dict[str, Any]:
    import shlex

    command = shlex.join([*program_words(), "status", "--format", "claude"])
    return {STATUS_LINE: {"type": "command", "command": command, "refreshInterval": REFRESH_SECONDS}}


def tmux_setting() -> str:
    """Return the lines of tmux's configuration that show the status line.

    tmux quotes the pane's folder for the shell (`q:`).
    """
    import shlex

    command = shlex.join([*program_words(), "status", "--format", "tmux"]).replace("#", "##")
    quoted = re.sub(r'(["$\\\\])', r"\\\1", f"cd #{{q:pane_current_path}} && {command}")
    lines = (
        TMUX_BEGIN,
        f'set -ag status-right " #({quoted})"',
        f"set -g status-right-length {TMUX_CELLS}",
        TMUX_END,
    )
    return "".join(f"{line}\n" for line in lines)


def tmux_file() -> Path:
    """Return the user's configuration that tmux reads: `~/.tmux.conf`, unless only the XDG one exists."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  never fails
    plain = home / ".tmux.conf"
    other = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "tmux" / "tmux.conf"
    return other if other.exists() and not plain.exists() else plain


def status_line_changes(path: Path, *, only_if_none: bool = False) -> list[SettingsChange]:
    """Return the changes that show the status line; see `install_changes`.

    Args:
        path: Claude Code's settings (JSON), or tmux's configuration.
        only_if_none: Leave another status line of Claude Code unchanged.
    """
    before = _read(path)
    if path.suffix != ".json":
        left = _without_tmux_lines(before or "")
        return [SettingsChange(path, before, left + "\n" * (left[-1:] not in ("", "\n")) + tmux_setting())]
    settings = _parsed(path, before)
    if only_if_none and STATUS_LINE in settings:
        return []
    return [SettingsChange(path, before, _written({**settings, **status_line_setting()}))]


def status_line_removal(path: Path) -> list[SettingsChange]:
    """Return the changes that remove the status line; one that it replaced is restored from the newest backup."""
    before = _read(path)
    if before is None:
        return []
    if path.suffix != ".json":
        return [SettingsChange(path, before, _without_tmux_lines(before) or None)]
    settings = _parsed(path, before)
    if not _is_our_status_line(settings.get(STATUS_LINE)):
        return []
    left = {name: value for name, value in settings.items() if name != STATUS_LINE}
    for backup in sorted(path.parent.glob(f"{path.name}.before-inspector-*"), reverse=True):
        with suppress(SettingsError):
            text = _read(backup)
            replaced = _parsed(backup, text)
            if not _is_our_status_line(replaced.get(STATUS_LINE)):
                left |= {STATUS_LINE: replaced[STATUS_LINE]} if STATUS_LINE in replaced else {}
                return [SettingsChange(path, before, text if replaced == left else _written(left))]
    return [SettingsChange(path, before, _written(left) if left else None)]


def _without_tmux_lines(text: str) -> str:
    pattern = rf"^{re.escape(TMUX_BEGIN)}\n.*?^{re.escape(TMUX_END)}(?:\n|\Z)"
    return re.sub(pattern, "", text, flags=re.MULTILINE | re.DOTALL)


def _is_our_status_line(setting: Any) -> bool:
    text = setting.get("command") if isinstance(setting, dict) else None
    return isinstance(text, str) and "inspector" in text and " status --format claude" in text


def _is_same(text: str, settings: dict[str, Any]) -> bool:
    try:
        return bool(json.loads(text) == settings)
    except ValueError:
        return False


def _read(path: Path) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="", opener=open_regular) as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not UTF-8 text; {SettingsError.advice}") from None


def _parsed(path: Path, text: str | None) -> dict[str, Any]:
    """Parse the settings and check the parts that are changed here."""
    try:
        settings = json.loads(text) if text and text.strip() else {}
    except ValueError as error:
        raise SettingsError(f"{path} is not valid JSON ({error}); {SettingsError.advice}") from None
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    after = hooks.get("PostToolUse", []) if isinstance(hooks, dict) else None
    if not isinstance(settings, dict) or not isinstance(after, list):
        raise SettingsError(f"{path} has unexpected content; {SettingsError.advice}")
    return settings


def _without(settings: dict[str, Any]) -> dict[str, Any]:
    """Remove the hook from the settings, including containers that become empty."""
    hooks = settings.get("hooks", {})
    groups = hooks.get("PostToolUse")
    if not groups:
        return settings
    left = []
    for group in groups:
        commands = group.get("hooks") if isinstance(group, dict) else None
        if isinstance(commands, list) and any(_is_ours(command) for command in commands):
            kept = [command for command in commands if not _is_ours(command)]
            if kept:
                left.append({**group, "hooks": kept})
        else:
            left.append(group)
    if left == groups:
        return settings
    hooks["PostToolUse"] = left
    if not left:
        del hooks["PostToolUse"]
    if not hooks:
        del settings["hooks"]
    return settings


def _is_ours(command: Any) -> bool:
    text = command.get("command") if isinstance(command, dict) else None
    return isinstance(text, str) and "inspector" in text and " hook --agent claude-code" in text


def _written(settings: dict[str, Any]) -> str:
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
