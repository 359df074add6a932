"""Tool calls and results in words, without the JSON and headings that agents add.

For lines and excerpts that people read. Counts, search and raw views use the original text.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_RESULT_KEYS = (
    "command",
    "cmd",
    "file_path",
    "filePath",
    "notebook_path",
    "path",
    "filename",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
    "code",
    "content",
    "text",
    "message",
)
"""Tool arguments, most descriptive first."""

_COMMANDS = ("command", "cmd")
_EDITOR_COMMANDS = frozenset({"view", "create", "str_replace", "insert", "undo_edit"})
"""Editor commands that need their file to be meaningful."""

_STRING_MEMBER = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*\[?\s*"((?:[^"\\]|\\.)*)')
_LIST_BEGINS = re.compile(r'"(?:[^"\\]|\\.)*"\s*:\s*(?=\[)')
_LISTED_STRING = re.compile(r'\s*[\[,]\s*"((?:[^"\\]|\\.)*)(?:"|\\?\Z)')

_SHELL = re.compile(r"(?:ba|da|k|z|fi)?sh|pwsh|powershell|cmd")
_RUNS_SCRIPT = re.compile(r"-[a-z]*c|-command|/c", re.IGNORECASE)

NO_OUTPUT: Final = "no output"

_HEADING = re.compile(
    r"(?:(?:Chunk ID:|Wall time:|Exit code:|Process exited with code|Process running with session ID"
    r"|Original token count:|Total output lines:)[^\n]*\n)+Output:(?:\n|\Z)"
)
"""Lines that Codex adds before a command's output."""
_TAGS = re.compile(
    r"<returncode>(?P<code>-?\d+)</returncode>\s*<output>\n?(?P<output>.*?)(?:</output>.*)?\Z", re.DOTALL
)
"""Tags that mini-SWE-agent adds around a command's output."""
_EXIT_CODE = re.compile(r"(?:Exit code: ?|exited with code |\"exit_code\" ?: ?)(-?\d+)")
_WRAPPED = re.compile(
    r'\s*\[?\s*\{\s*(?:"type"\s*:\s*"text"\s*,\s*|"content"\s*:\s*\[\s*\{\s*"type"\s*:\s*"text"\s*,\s*'
    r'|"query"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*)?'
    r'"(?P<name>\w+)"\s*:\s*"(?P<output>(?:[^"\\]|\\.)*)'
)
"""A JSON result that starts with its output, as written by Codex, Cline and MCP servers."""
_OUTPUTS = frozenset({"output", "stdout", "result", "text"})
_ERROR = re.compile(r'"error"\s*:\s*"((?:[^"\\]|\\.)+)')
_ASKED = re.compile(r'\s*\[?\s*\{\s*"query"\s*:\s*"(?P<query>(?:[^"\\]|\\.)*)\\?\Z')
"""A JSON result cut off inside its query."""


def call_summary(arguments: str, working_directory: str = "") -> str:
    """Return a call's most descriptive argument, without the working directory; it is not sanitized yet."""
    if not arguments.lstrip().startswith("{"):
        words = _listed(arguments) if arguments.lstrip().startswith("[") else []
        return _command(words) if words else arguments
    members: dict[str, str] = {}
    for match in _STRING_MEMBER.finditer(arguments):
        members.setdefault(match[1], unescaped(match[2]))
    if not members:
        return "" if arguments.strip() == "{}" else arguments
    name = next((key for key in _RESULT_KEYS if members.get(key)), None)
    value = members[name] if name else next(filter(None, members.values()), arguments)
    separator = "\\" if "\\" in working_directory and "/" not in working_directory else "/"
    prefix = working_directory.rstrip(separator) + separator
    if name in _COMMANDS:
        begins = _LIST_BEGINS.match(arguments, arguments.find(f'"{name}"'))
        if begins is not None:
            return _command(_listed(arguments[begins.end() :])) or value
        if value in _EDITOR_COMMANDS and (path := members.get("path")):
            return f"{value} {path.removeprefix(prefix) if len(prefix) > 1 else path}"
    return value.removeprefix(prefix) if len(prefix) > 1 else value


def result_words(text: str) -> str:
    """Return a result's text without agents' wrappers, after a failed command's exit code; not sanitized yet."""
    if (heading := _HEADING.match(text)) is not None:
        return _after_exit(heading[0], text[heading.end() :])
    if (tagged := _TAGS.match(text)) is not None:
        return _reported(tagged["code"], tagged["output"])
    if text.lstrip()[:1] not in ("{", "["):
        return text
    wrapped = _WRAPPED.match(text)
    if wrapped is not None and wrapped["name"] in _OUTPUTS:
        rest, output = text[wrapped.end() :], wrapped["output"]
        error = None if output.strip() else _ERROR.search(rest)
        return _after_exit(rest, unescaped(output if error is None else error[1]))
    asked = _ASKED.match(text)
    return text if asked is None else unescaped(asked["query"])


def unescaped(text: str) -> str:
    """Decode the inside of a JSON string, which may be cut off in the middle of an escape."""
    for end in (len(text), text.rfind("\\")):
        try:
            return str(json.loads(f'"{text[: max(end, 0)]}"', strict=False))
        except ValueError:
            continue
    return text


def _after_exit(text: str, output: str) -> str:
    code = _EXIT_CODE.search(text)
    return _reported("0" if code is None else code[1], output)


def _reported(code: str, output: str) -> str:
    text = output if output.strip() else NO_OUTPUT
    return text if code == "0" else f"exit {code}: {text}"


def _listed(text: str) -> list[str]:
    """Parse a JSON list of strings at the start of a text; the last string may be cut off."""
    words, at = [], 0
    while (match := _LISTED_STRING.match(text, at)) is not None:
        words.append(unescaped(match[1]))
        at = match.end()
    return words


def _command(words: Sequence[str]) -> str:
    """Join a command's words on one line; for a shell with a script, return the script."""
    program = posixpath.basename(words[0].replace("\\", "/")).removesuffix(".exe") if words else ""
    if _SHELL.fullmatch(program):
        for at, word in enumerate(words[1:-1], start=1):
            if _RUNS_SCRIPT.fullmatch(word):
                return " ".join(words[at + 1 :])
    return " ".join(words)
