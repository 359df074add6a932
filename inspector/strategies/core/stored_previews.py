"""Previews left by programs that save a large tool result in a file: a part of the text and the path of the rest.

Works on plain texts with few imports, because the hook runs it for every result and has little time.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Part: TypeAlias = tuple[int, int] | str
"""Characters of a text as (start, stop), or an inserted text."""

OPENING_TAG = "<persisted-output>"
CLOSING_TAG = "</persisted-output>"
LINE_LIMIT = 1_000
"""Maximum characters shown of a line."""

_VISIBLE_IDENTIFIER = 32
_OF_RESULT = (
    "Tool result too large, the result of this tool call {identifier} was saved in the filesystem at this path: {path}"
    "\n\nYou can read the result from the filesystem by using the read_file tool, but make sure to only read part of "
    "the result at a time.\n\nYou can do this by specifying an offset and limit in the read_file tool call. For "
    "example, to read the first 100 lines, you can use the read_file tool with offset=0 and limit=100.\n\n{note}\n\n"
)
_OF_MESSAGE = (
    "Message content too large and was saved to the filesystem at: {path}\n\nYou can read the full content using the "
    "read_file tool with pagination (offset and limit parameters).\n\n{note}\n\n"
)
_OMITTED = "lines of the form `... [N lines truncated] ...` indicate omitted lines in the middle of the content"
_CLIPPED = (
    f"the output contains lines longer than {LINE_LIMIT} characters; this preview shows only their first {LINE_LIMIT} "
    "characters"
)


def joined(text: str, parts: list[Part]) -> str:
    return "".join(part if isinstance(part, str) else text[part[0] : part[1]] for part in parts)


def bytes_of(text: str) -> int:
    """Count the UTF-8 bytes of a text; an unpaired surrogate counts three, like its replacement character."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class WholeLines(NamedTuple):
    """Characters of the lines that fit two limits; `hit_bytes`: the byte limit excluded the next one."""

    characters: int
    lines: int
    bytes: int
    hit_bytes: bool


def whole_lines(lines: list[str], max_lines: int, max_bytes: int) -> WholeLines:
    """Measure the leading lines that fit both limits."""
    characters = size = count = 0
    for line in lines[:max_lines]:
        separator = 1 if count else 0
        length = bytes_of(line) + separator
        if size + length > max_bytes:
            return WholeLines(characters, count, size, hit_bytes=True)
        size += length
        characters += len(line) + separator
        count += 1
    return WholeLines(characters, count, size, hit_bytes=False)


def persisted_output(text: str, preview: int, path: str) -> list[Part]:
    """Return Hermes' preview, cut back to a line end past its half; the path is empty if saving fails."""
    length = shown = len(text)
    if length > preview:
        last_line_end = text.rfind("\n", 0, preview)
        shown = last_line_end + 1 if last_line_end > preview // 2 else preview
    if not path:
        note = f"\n\n[Truncated: tool response was {length:,} chars. Full output could not be saved to sandbox.]"
        return [(0, shown), note]
    opening = (
        f"{OPENING_TAG}\n"
        f"This tool result was too large ({length:,} characters, {_size(length)}).\n"
        f"Full output saved to: {path}\n"
        "Use the read_file tool with offset and limit to access specific sections of this output.\n\n"
        f"Preview (first {shown} chars):\n"
    )
    more = "\n..." if length > preview else ""
    return [opening, (0, shown), f"{more}\n{CLOSING_TAG}"]


def _size(length: int) -> str:
    kilobytes = length / 1024
    return f"{kilobytes / 1024:.1f} MB" if kilobytes >= 1024 else f"{kilobytes:.1f} KB"


def numbered_ends(text: str, head: int, tail: int, path: str, identifier: str | None) -> list[Part]:
    """Return first and last lines, numbered as in deepagents' previews; no `identifier` for other texts."""
    lines = _line_bounds(text)
    omitted = max(len(lines) - head - tail, 0)
    first = lines[:head] if omitted else lines
    last = lines[len(lines) - tail :] if omitted else []
    is_clipped = any(stop - start > LINE_LIMIT for start, stop in (*first, *last))
    caveats = [caveat for applies, caveat in ((omitted, _OMITTED), (is_clipped, _CLIPPED)) if applies]
    what = "content" if identifier is None else "result"
    note = f"Here is a preview {'showing the head and tail of' if omitted else 'of'} the {what}"
    note += f" ({'; '.join(caveats)}):" if caveats else ":"
    if identifier is None:
        introduction = _OF_MESSAGE.format(path=path, note=note)
    else:
        shown = f"{identifier[:_VISIBLE_IDENTIFIER]}..." if len(identifier) > _VISIBLE_IDENTIFIER else identifier
        introduction = _OF_RESULT.format(identifier=shown, path=path, note=note)
    parts: list[Part] = [introduction, *_numbered(first, 1)]
    if omitted:
        parts += [f"\n... [{omitted} lines truncated] ...\n", *_numbered(last, len(lines) - len(last) + 1)]
    return [*parts, "\n"]


def _line_bounds(text: str) -> list[tuple[int, int]]:
    """Return the start and end of every line, without its line end."""
    bounds: list[tuple[int, int]] = []
    position = 0
    for line in text.splitlines(keepends=True):
        bounds.append((position, position + len(line.splitlines()[0])))
        position += len(line)
    return bounds


def _numbered(lines: list[tuple[int, int]], first: int) -> list[Part]:
    width = len(str(first + len(lines) - 1))
    parts: list[Part] = []
    for at, (start, stop) in enumerate(lines):
        parts += [f"{chr(10) if at else ''}{first + at:>{width}}  ", (start, min(stop, start + LINE_LIMIT))]
    return parts


def lines_within(text: str, max_lines: int, max_bytes: int, hint: str, *, from_end: bool) -> list[Part] | None:
    """Return whole lines from one end of a text over either limit, as OpenCode previews it; otherwise None.

    Args:
        max_lines: Maximum number of lines, before and after the cut.
        max_bytes: Maximum number of bytes, before and after the cut.
        hint: Text of the note after the count of missing lines or bytes.
        from_end: Keep the last lines instead of the first.
    """
    size = bytes_of(text)
    lines = text.split("\n")
    if len(lines) <= max_lines and size <= max_bytes:
        return None
    kept = whole_lines(lines[::-1] if from_end else lines, max_lines, max_bytes)
    removed = f"{size - kept.bytes} bytes" if kept.hit_bytes else f"{len(lines) - kept.lines} lines"
    note = f"...{removed} truncated...\n\n{hint}"
    if from_end:
        return [f"{note}\n\n", (len(text) - kept.characters, len(text))]
    return [(0, kept.characters), f"\n\n{note}"]


def head_and_tail(text: str, limit: int, path: str) -> list[Part] | None:
    """Return a fifth of the limit from the beginning and the rest from the end, as Gemini CLI; None if it fits."""
    # A character is at most two units.
    if len(text) * 2 <= limit:
        return None
    from inspector.strategies.core import javascript

    length = javascript.length(text)
    if length <= limit:
        return None
    head = limit // 5
    tail = limit - head
    first, last = javascript.place(text, head), javascript.place(text, length - tail)
    opening = f"Output too large. Showing first {head:,} and last {tail:,} characters. For full output see: {path}\n"
    between = (
        f"{javascript.HALF * first.splits}\n\n... [{length - head - tail:,} characters omitted] ...\n\n"
        f"{javascript.HALF * last.splits}"
    )
    return [opening, (0, first.whole), between, (last.whole + last.splits, len(text))]
