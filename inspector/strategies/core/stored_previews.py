"""What programs that save a large tool result in a file leave of it: a preview, and where the whole of it is.

Texts alone, with few imports: the hook uses them for every result, and has no time for more.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Part: TypeAlias = tuple[int, int] | str
"""Characters of a text, from and up to a position, or a text of one's own."""

OPENING_TAG = "<persisted-output>"
CLOSING_TAG = "</persisted-output>"
LINE_LIMIT = 1_000
"""Characters shown of a line."""

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
    """The text that parts of a text make."""
    return "".join(part if isinstance(part, str) else text[part[0] : part[1]] for part in parts)


def bytes_of(text: str) -> int:
    """Bytes of a text in UTF-8; half a surrogate pair counts three, as what programs put in its place does."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class WholeLines(NamedTuple):
    """As many whole lines of a text as fit a number of lines and of bytes.

    Attributes:
        characters: Their length, line ends between them included.
        lines: How many.
        bytes: Their size in UTF-8.
        hit_bytes: Whether it was the bytes that the next line does not fit.
    """

    characters: int
    lines: int
    bytes: int
    hit_bytes: bool


def whole_lines(lines: list[str], max_lines: int, max_bytes: int) -> WholeLines:
    """How many of the first lines fit."""
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
    """A text's beginning, as Hermes leaves it.

    Args:
        text: The text.
        preview: Characters shown of it, cut back to the last line end if that is past the half.
        path: Where it is saved; empty where it cannot be.
    """
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
    """A text's first and last lines, numbered, as deepagents leaves them.

    Args:
        text: The text.
        head: Lines shown from the beginning.
        tail: Lines shown from the end.
        path: Where it is saved.
        identifier: The tool call's id; None for a text that is no tool's result.
    """
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
    """Where every line begins and ends, its line end left out."""
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
    """Whole lines from one end of a text with too many lines or bytes, as OpenCode leaves them; None of any other.

    Args:
        text: The text.
        max_lines: Most lines of one that stays as it is, and most that are kept.
        max_bytes: Most bytes of one that stays as it is, and most that are kept.
        hint: What the note says besides what is missing.
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


def both_ends(text: str, limit: int, path: str) -> list[Part] | None:
    """A fifth of the limit from the beginning of a longer text, the rest from its end, as Gemini CLI leaves them.

    Args:
        text: The text.
        limit: Longest one that stays as it is, in UTF-16 units; None is answered for such.
        path: Where it is saved.
    """
    # No character is more than two units.
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
