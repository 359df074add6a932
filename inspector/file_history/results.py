"""Parse file contents in tool results: numbered lines in every agent's style, plain texts, editor windows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from inspector.session.json import decode_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class ShownLines:
    """Lines of a file in a result, which may name the file, its number of lines and its end."""

    lines: tuple[str, ...]
    first: int = 1
    total: int | None = None
    ends_with_newline: bool | None = None
    path: str = ""


MOST_LINES_UNASKED = 2000
"""A read with at least this many lines may have reached a limit of the tool."""

_NUMBERED = tuple(
    (re.compile(rf"^{number}(.*)$", re.MULTILINE), re.compile(rf"(?:{number.replace('(', '(?:')}.*(?:\n|\Z))*"))
    for number in (
        r" *(\d{1,9})[→\t]",  # Claude Code, `cat -n`
        r" *(\d{1,9}) \| ?",  # Cline, Roo
        r"(0\d{4})\| ",  # OpenCode's first versions
        r" *(\d{1,9})\|",  # OpenHands 0, Hermes
        r"L(\d{1,9}): ?",  # Codex
        r"(\d{1,9})\. ",  # Copilot
        r"(\d{1,9}): ?",  # OpenCode
        r"(\d{1,9}):",  # SWE-agent
    )
)
"""Per style, patterns of a numbered line and of a run of such lines: one search is faster than one per line."""
_SPLIT_AT_NEWLINES = frozenset({0, 5})
"""Styles that also number the text after the last newline, so an empty last line indicates one."""

_TOTAL = re.compile(r"\(End of file - total (\d{1,9}) lines\)")
_WINDOW = re.compile(r"\[File: (?P<path>.+?) \((?P<total>\d{1,9}) lines? total(?: after edit)?\)\]\r?\n")
_SHOWING = re.compile(r"\[Showing lines (\d{1,9})-(\d{1,9}) of (\d{1,9})[^\]\n]*\]\s*$")
_MORE = re.compile(r"\n*\[?(?:\.\.\. \()?(\d{1,9}) more lines[^\n]*[\])]?\s*$")
_STATUS = re.compile(r"Showing lines (\d{1,9})-(\d{1,9}) of (\d{1,9}) total lines")
_CAT = "Here's the result of running `cat -n`"
_CONTENT = "--- FILE CONTENT (truncated) ---\n"
_CUT = re.compile(
    r"\[(?:Content|Line|File)[^\]\n]*truncated[^\]\n]*\]|… ?\[?\d{1,9} (?:lines|chars|characters|tokens)[^\n]*truncated"
)
_KIMI_HEADER = re.compile(r"<system>[^\n]*</system>\n(?= *\d{1,9}\t)")
"""Text of Kimi CLI before the lines of a read."""
_FENCED = re.compile(
    r"(?:File: `[^`\n]+`\. Lines (?P<first>\d{1,9}) to \d{1,9} \(\d{1,9} lines? total\): *\n)?"
    r"(?P<fence>`{3,})[^`\n]*\n(?P<code>.*)\n(?P=fence)\s*\Z",
    re.DOTALL,
)
"""File lines in VS Code's chat; a heading gives the range unless they reach the end of the file."""
_NO_FILE = re.compile(
    r"\s*(?:<type>directory|Here's the files and directories|<tool_use_error>|ERROR:|Error[: ]|File unchanged since"
    r"|\[File unchanged|File not found|Cannot |Failed )"
)


def numbered(text: str, manner: int | None = None) -> tuple[int, list[str], int] | None:
    """Parse numbered lines at a text's beginning; return the first number, the lines and the style, or None."""
    for index, (line, lines) in enumerate(_NUMBERED):
        if manner not in (None, index) or not (run := lines.match(text)) or not run[0]:
            continue
        numbers, shown = zip(*line.findall(run[0]), strict=True)
        places = [*map(int, numbers)]
        first = places[0]
        if places != [*range(first, first + len(places))]:
            shown = shown[: next(at for at, place in enumerate(places) if place != first + at)]
        return first, [each.removesuffix("\r") for each in shown] if "\r" in run[0] else [*shown], index
    return None


def parse_read_result(text: str, *, asks_for_part: bool, first_asked: int | None = None) -> ShownLines | None:
    """Parse a read's result; None without lines or position. The call may ask for a part, and its first line."""
    if _NO_FILE.match(text[:400]) or "<type>directory" in text[:400]:
        return None
    if "the file exists but the contents are empty" in text[:300]:
        return ShownLines((), 1, 0, False)
    fields = decode_json(text.encode("utf-8", "replace"))[0] if text[:1] in "[{" else None
    inner = _inner_text(fields)
    if inner is not None:
        total = fields.get("total_lines") if isinstance(fields, dict) else None
        shown = _numbered_part(inner, asks_for_part=asks_for_part)
        return shown and ShownLines(shown.lines, shown.first, total if isinstance(total, int) else shown.total)
    fenced = _FENCED.match(text)
    if fenced is not None and (fenced["first"] or (asks_for_part and first_asked is not None)):
        return _fenced(fenced["code"], fenced["first"], first_asked or 1)
    total_match = _TOTAL.search(text)
    body = _body(text)
    shown = _numbered_part(body, asks_for_part=asks_for_part, total=int(total_match[1]) if total_match else None)
    if shown is not None:
        return shown
    if body is not text or text.startswith(("<", "[read_file")):
        return None
    return _plain_text(text, asks_for_part=asks_for_part, first_asked=first_asked)


def _fenced(code: str, first: str | None, first_asked: int) -> ShownLines:
    if first is not None:
        return ShownLines(tuple(code.split("\n")), int(first))
    shown = whole_text(code)
    return shown if first_asked == 1 else ShownLines(shown.lines, first_asked)


def _inner_text(fields: object) -> str | None:
    """Return the numbered text in a JSON result (Cline's SDK, Hermes)."""
    if isinstance(fields, list) and len(fields) == 1:
        fields = fields[0]
    if not isinstance(fields, dict):
        return None
    if isinstance(fields.get("result"), str) and "query" in fields:
        return str(fields["result"])
    if isinstance(fields.get("content"), str) and "total_lines" in fields:
        return str(fields["content"])
    return None


def _body(text: str) -> str:
    """Remove the text that some agents add around a file's lines."""
    for begin in ("<content>\n", "<file>\n"):
        at = text.find(begin, 0, 2_000)
        if at >= 0:
            return text[at + len(begin) :]
    match = _KIMI_HEADER.match(text)
    if match is not None:
        return text[match.end() :]
    listed = max(0, text.find(_CAT, 0, 500))
    head, newline, rest = text[listed:].partition("\n")
    if head.startswith((_CAT, "[read_file for ", "<content lines")) and newline:
        return rest.lstrip("\n")
    return text


def _numbered_part(text: str, *, asks_for_part: bool, total: int | None = None) -> ShownLines | None:
    found = numbered(text)
    if found is None:
        return None
    first, lines, manner = found
    newline = None
    behind = text.split("\n")[len(lines) :]
    is_cut = any(_CUT.search(line) or _MORE.search(line) for line in behind[:6])
    is_to_end = not asks_for_part and len(lines) < MOST_LINES_UNASKED and not is_cut and first == 1
    if manner in _SPLIT_AT_NEWLINES and is_to_end:
        newline = lines[-1] == "" and len(lines) > 1
        lines = lines[:-1] if newline else lines
    elif manner in _SPLIT_AT_NEWLINES and lines[-1] == "":
        # The last requested line: empty, or only the text after the file's last newline.
        lines = lines[:-1]
    if total is None and is_to_end:
        total = len(lines)
    return ShownLines(tuple(lines), first, total, newline)


def _plain_text(text: str, *, asks_for_part: bool, first_asked: int | None) -> ShownLines | None:
    """Parse unnumbered text of a file, with the notes around a partial read (Gemini CLI, pi)."""
    status, at = _STATUS.search(text[:1_000]), text.find(_CONTENT)
    if status is not None and at >= 0:
        lines = text[at + len(_CONTENT) :].removesuffix("\n").split("\n")
        first, last, total = (int(number) for number in status.groups())
        return ShownLines(tuple(lines), first, total) if len(lines) == last - first + 1 else None
    part = _SHOWING.search(text[-300:])
    if part is not None:
        lines = text[: text.rindex("[Showing lines")].removesuffix("\n\n").split("\n")
        first, last, total = (int(number) for number in part.groups())
        return ShownLines(tuple(lines), first) if len(lines) == last - first + 1 and total else None
    more = _MORE.search(text[-300:])
    if more is not None:
        lines = text[: len(text) - len(more[0])].split("\n")
        return ShownLines(tuple(lines), first_asked or 1)
    if _CUT.search(text[-400:]):
        return None
    if not asks_for_part:
        return whole_text(text)
    if first_asked is None:
        return None
    return ShownLines(tuple(text.removesuffix("\n").split("\n")), first_asked)


def whole_text(text: str) -> ShownLines:
    if not text:
        return ShownLines((), 1, 0, False)
    lines = tuple(text.removesuffix("\n").split("\n"))
    return ShownLines(lines, 1, len(lines), text.endswith("\n"))


def parse_edit_result(text: str) -> ShownLines | None:
    """Parse numbered lines in the result of an edit; return None if there are none."""
    at = text.find("`cat -n`")
    if at < 0:
        return None
    found = numbered(text[text.find("\n", at) + 1 :], 0)
    if found is None:
        return None
    first, lines, _ = found
    while lines and lines[-1] == "":  # may be the text after the last newline rather than a line
        lines.pop()
    return ShownLines(tuple(lines), first) if lines else None


_OPEN_FILE = re.compile(r"^\(Open file: (/[^\n]+)\)$", re.MULTILINE)
_CURRENT_DIRECTORY = re.compile(r"^\(Current directory: (/[^\n]*)\)$", re.MULTILINE)
_LONGEST_STATE = 1_000


def shown_windows(text: str) -> list[ShownLines]:
    """Parse editor windows with numbered lines (SWE-agent, OpenHands 0)."""
    found = []
    for window in _WINDOW.finditer(text) if "[File: " in text else ():
        rest = text[window.end() :]
        while rest.startswith("(") and "\n" in rest:  # `(1456 more lines above)`, `(this is the beginning of the file)`
            rest = rest.partition("\n")[2]
        lines = numbered(rest, 3) or numbered(rest, 7)
        if lines is not None:
            path = _open_file(rest, window["path"])
            found.append(ShownLines(tuple(lines[1]), lines[0], int(window["total"]), path=path))
    return found


def _open_file(rest: str, path: str) -> str:
    """Return the full path of a window's file if the editor names the open file."""
    match = _OPEN_FILE.search(rest)
    return match[1] if match is not None and match[1].endswith(f"/{path.removeprefix('./')}") else path


def current_directory(text: str) -> str:
    """Return the current folder that a shell reports after a command (SWE-agent); may be empty."""
    match = _CURRENT_DIRECTORY.search(text[-_LONGEST_STATE:])
    return match[1] if match is not None else ""


_FAILED = re.compile(
    r"\s*(?:<tool_use_error>|ERROR[: ]|No replacement was performed|Failed to |apply_patch verification failed"
    r"|Your edit was not applied|Your proposed edit|The user doesn't want to proceed|\[Request interrupted"
    r"|Tool .{0,40} failed|Invalid |File not found|Could not find|String to replace not found|No changes"
    r"|\(no replacement|0 occurrences found)",
    re.IGNORECASE,
)
_EXIT = re.compile(r"(?:Exit code: |exited with code |\"exit_code\": ?)(-?\d+)")


def has_failed(text: str, *, is_error: bool) -> bool:
    """Return True if a result reports that nothing was done."""
    if is_error or _FAILED.match(text[:300]):
        return True
    if text.startswith("{"):
        fields = decode_json(text.encode("utf-8", "replace"))[0]
        if isinstance(fields, dict) and (fields.get("success") is False or bool(fields.get("error"))):
            return True
    exit_code = _EXIT.search(text[:400]) or _EXIT.search(text[-200:] if text.startswith("{") else "")
    return exit_code is not None and exit_code[1] != "0"


@dataclass(frozen=True)
class ShellOutput:
    """Output of a command, byte-exact or trimmed (`is_exact`), whole or with omissions (`is_cut`)."""

    text: str
    is_exact: bool
    is_cut: bool = False


_LEFT_OUT = re.compile(
    r"tokens truncated…|chars truncated…|\[\.\.\. omitted|Total output lines: |\[output truncated|truncated\]"
)


def shell_output(text: str) -> ShellOutput:
    """Return the output of a command without the header that some agents add."""
    is_cut = _LEFT_OUT.search(text) is not None
    if text.startswith('{"output"'):
        fields: Any = decode_json(text.encode("utf-8", "replace"))[0]
        if isinstance(fields, dict) and isinstance(fields.get("output"), str):
            return ShellOutput(fields["output"], not is_cut, is_cut)
    head = text[:400]
    at = head.find("\nOutput:\n")
    if at >= 0 and ("Exit code: " in head[:at] or "exited with code" in head[:at]):
        return ShellOutput(text[at + len("\nOutput:\n") :], not is_cut, is_cut)
    return ShellOutput(text, is_exact=False, is_cut=is_cut)


def first_line_asked(arguments: Mapping[str, Any]) -> int | None:
    """Return the first line requested by a read, counted from 1, or None."""
    for name in ("offset", "start_line", "startLine", "start_line_one_indexed"):
        value = arguments.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return max(1, value)
    ranged: Sequence[Any] = arguments.get("view_range") or ()
    if isinstance(ranged, list) and ranged and isinstance(ranged[0], int):
        return ranged[0]
    return None


_MODIFIED = re.compile(r"Note: (?P<path>[^\n]+?) was modified, either by the user or by a linter\..*?\n", re.DOTALL)
_ATTACHED = re.compile(
    r"Called the Read tool with the following input: (?P<input>\{[^\n]*\})\s*\n"
    r"(?:</system-reminder>\s*<system-reminder>\s*)?Result of calling the Read tool:\s*(?P<text>.*?)"
    r"(?:\n</system-reminder>\s*)?$",
    re.DOTALL,
)
NOTICES = ("was modified, either by the user or by a linter", "Called the Read tool with the following input")
"""Texts in Claude Code's notices about files that were changed or attached."""


def parse_notice(text: str) -> tuple[ShownLines, bool] | None:
    """Parse the file lines in a notice, and whether it reports an outside change; None for other texts."""
    modified = _MODIFIED.search(text[:2_000])
    if modified is not None:
        found = numbered(text[modified.end() :].lstrip("\n"), 0)
        lines = (
            ShownLines(tuple(found[1]), found[0], path=modified["path"])
            if found
            else ShownLines((), path=modified["path"])
        )
        return lines, True
    attached = _ATTACHED.search(text)
    if attached is None:
        return None
    fields = decode_json(attached["input"].encode("utf-8", "replace"))[0]
    path = fields.get("file_path") if isinstance(fields, dict) else None
    shown = parse_read_result(attached["text"], asks_for_part=False)
    if not isinstance(path, str) or shown is None or len(shown.lines) >= MOST_LINES_UNASKED:
        return None
    return replace(shown, path=path), False
