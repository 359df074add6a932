"""`inspector hook`: install the hook in an agent's settings, remove it, or report its effect.

Events are answered by `inspector.hook.run`, which `inspector.cli.main` calls before any other import.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.output import CommandError, ExitCode, is_terminal, narrate, write, write_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inspector.hook.install import SettingsChange
    from inspector.hook.records import Trim

AGENTS = ("claude-code", "hermes", "opencode")
USUAL_TOOLS = {
    "claude-code": ("Bash", "PowerShell", "Grep"),
    "hermes": ("terminal", "read_file", "search_files", "web_extract"),
    "opencode": ("bash", "read", "grep", "webfetch"),
}
LATEST = 10

BACKED_UP = (".json", ".conf")
"""Endings of settings that belong to the user; plugins of other agents are files of ours."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("what", choices=("install", "uninstall", "stats"), help="the action")
    parser.add_argument("--agent", choices=AGENTS, default="claude-code", help="the agent (default: claude-code)")
    parser.add_argument("--plan", metavar="PLAN", help="a plan file (TOML), or a built-in plan such as careful")
    parser.add_argument(
        "--settings", metavar="FOLDER", type=Path, help="folder of the agent's settings, such as a project's .claude"
    )
    parser.add_argument(
        "--no-originals", action="store_true", help="do not store originals of trimmed results for recall"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument("--json", action="store_true", help="print stats as JSON")


def run(options: Namespace) -> int:
    if options.what == "stats":
        return _stats(options)
    from inspector.hook.install import SettingsError, home_of, hook_command, install_changes, uninstall_changes

    folder = (options.settings or home_of(options.agent)).absolute()
    try:
        if options.what == "uninstall":
            changes = uninstall_changes(options.agent, folder)
            return make_changes(changes, options, "inspector's hook is not installed there")
        plan = _checked_plan(options)
        words = hook_command(options.agent, plan, keeps_originals=not options.no_originals)
        done = make_changes(install_changes(options.agent, folder, words), options, "the hook is already installed")
        if shutil.which("inspector") is None:
            narrate("notices may mention `inspector recall`, but `inspector` is not on the PATH: add it")
        return done
    except SettingsError as error:
        raise CommandError(error.message) from None
    except OSError as error:
        raise CommandError(f"{error.filename or folder}: {error.strerror}. Nothing was changed") from None


def _checked_plan(options: Namespace) -> str:
    """Read the plan once to validate it; return its value for the hook, with notes on its unsupported parts."""
    from inspector.hook.compiled import cuts_of, left_out, partly_applied, read_plan
    from inspector.hook.plan_cache import cuts_for
    from inspector.recall.originals import state_folder
    from inspector.strategies.plan import PlanError
    from inspector.strategies.presets import preset_named

    if not options.plan:
        raise CommandError(
            "hook install needs a --plan: a file, or a built-in plan such as careful", ExitCode.WRONG_USAGE
        )
    path = Path(options.plan)
    is_ready = preset_named(options.plan) is not None and not path.exists()
    try:
        plan = read_plan(options.plan)
    except PlanError as error:
        raise CommandError(f"--plan {options.plan}: {error.message}") from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CommandError(f"--plan {options.plan}: cannot be read ({why}); pass a file or a built-in plan") from None
    for name, reason in left_out(plan):
        narrate(f"the hook does not apply {name}: {reason}")
    for name, reason in partly_applied(plan):
        narrate(f"the hook applies {name} in part: {reason}")
    if not cuts_of(plan, "Bash"):
        raise CommandError(f"--plan {options.plan}: nothing in it trims results on insertion; add trim-at-insertion")
    named = options.plan if is_ready else str(path.absolute())
    for tool in USUAL_TOOLS[options.agent]:
        # Warm the cache for the first result of a session.
        cuts_for(named, tool, state_folder())
    return named


def make_changes(changes: list[SettingsChange], options: Namespace, nothing: str) -> int:
    """Show changes to settings, confirm unless `--yes`, and make them with a backup; print `nothing` without."""
    from inspector.atomic_files import write_atomic
    from inspector.safe_text import safe_text

    needed = [change for change in changes if change.is_needed]
    if not needed:
        narrate(nothing)
        return ExitCode.FINE
    for change in needed:
        write(safe_text(change.diff()))
    if not options.yes and not _agreed():
        narrate("nothing was changed")
        return ExitCode.FINE
    for change in needed:
        if change.before is not None and change.path.suffix in BACKED_UP:
            stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
            backup = change.path.with_name(f"{change.path.name}.before-inspector-{stamp}")
            if not backup.exists():
                write_atomic(backup, change.before)
                narrate(f"backup: {backup}")
        if change.after is None:
            change.path.unlink()
            narrate(f"removed: {change.path}")
        else:
            change.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(change.path, change.after)
            narrate(f"written: {change.path}")
    return ExitCode.FINE


def _agreed() -> bool:
    if not is_terminal(sys.stdin):
        raise CommandError("no terminal to confirm the change: add --yes to make it", ExitCode.WRONG_USAGE)
    sys.stderr.write("Make this change? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _stats(options: Namespace) -> int:
    from inspector.hook.records import errors, trims
    from inspector.recall.originals import state_folder
    from inspector.safe_text import one_line

    folder = state_folder()
    found, problems = trims(folder), errors(folder)
    if options.json:
        write_json(_document(found, problems))
        return ExitCode.FINE
    if not found:
        narrate("nothing has been trimmed yet")
    else:
        write(_table(found))
    for problem in problems:
        write(f"error, first at {one_line(problem)}\n")
    return ExitCode.FINE


def _document(found: list[Trim], problems: list[str]) -> dict[str, object]:
    from inspector.tokens.counter import estimated_tokens

    trimmed = [
        {
            "time": trim.time,
            "agent": trim.agent,
            "session_id": trim.session,
            "tool": trim.tool,
            "tool_call_id": trim.identifier,
            "original_characters": trim.original,
            "trimmed_characters": trim.trimmed,
            "saved_characters": trim.saved,
            "saved_tokens": estimated_tokens(max(trim.saved, 0)),
            "cumulative_characters": trim.cumulative,
            "cumulative_tokens": estimated_tokens(max(trim.cumulative, 0)),
        }
        for trim in found
    ]
    return {"schema": 1, "tokens_known": "estimated", "trims": trimmed, "errors": problems}


def _table(found: list[Trim]) -> str:
    from inspector.safe_text import one_line
    from inspector.tokens.counter import estimated_tokens

    lines = [f"{'tool':<24} {'results':>8} {'original':>14} {'trimmed':>14} {'saved':>14} {'tokens':>12}"]
    tools = sorted({trim.tool for trim in found})
    for tool in [*tools, ""]:
        of_tool = [trim for trim in found if tool in ("", trim.tool)]
        original, saved = sum(trim.original for trim in of_tool), sum(trim.saved for trim in of_tool)
        tokens = f"~{estimated_tokens(max(saved, 0)):,}"
        name = one_line(tool or "all", 24)
        lines.append(f"{name:<24} {len(of_tool):>8,} {original:>14,} {original - saved:>14,} {saved:>14,} {tokens:>12}")
    lines += [
        "",
        f"{'time':<20} {'tool':<16} {'original':>12} {'trimmed':>12} {'saved':>12} {'session so far':>16}  id",
    ]
    for trim in found[-LATEST:]:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(trim.time))
        sizes = f"{trim.original:>12,} {trim.trimmed:>12,} {trim.saved:>12,} {trim.cumulative:>16,}"
        lines.append(f"{at:<20} {one_line(trim.tool, 16):<16} {sizes}  {one_line(trim.identifier, 48)}")
    lines += ["", "characters, times in UTC; ~ is estimated from characters"]
    return "".join(f"{line}\n" for line in lines)
