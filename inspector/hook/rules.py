"""Cuts of results as plain values, and their application.

The strategies define these values (`inspector.hook.compiled`). This module avoids the strategies' dependencies, which
take longer to import than the hook may run.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple, TypedDict, final

from inspector.hook.records import open_regular

TOKENS = "tokens"
"""Same value as in the strategies."""

DEFAULT_WINDOW = 200_000
"""Same value as in the strategies, in tokens."""

_TAIL_BYTES = 512 << 10


class Adaptive(TypedDict):
    """Adaptive limit; see the parameters of `trim-at-insertion` that begin with `adaptive`."""

    by: str
    share: float
    least: int
    window: int


@final
class Cut(TypedDict):
    """A cut as in `CutText` or `CutTokens`, with a marker template.

    Attributes:
        unit: Unit of limit, head and tail: characters or tokens.
        limit: Maximum length of a text that is not cut.
        head: Length kept from the beginning.
        tail: Length kept from the end.
        marker: Replacement for the rest.
    """

    unit: str
    limit: int
    head: int
    tail: int
    marker: str
    adaptive: Adaptive | None


@final
class Store(TypedDict):
    """A preview as in a strategy that stores results in files; see `inspector.strategies.core.stored_previews`.

    Attributes:
        limit: Maximum characters of a text that is not cut; for `opencode-truncate` maximum bytes.
        head: Characters or lines shown from the beginning; for `opencode-truncate` maximum lines.
        from_end: Show the end instead of the beginning.
        hint: Additional text of the note, with `{path}` for the file.
        saves: True if a file is written.
    """

    rule: str
    limit: int
    head: int
    tail: int
    from_end: bool
    hint: str
    saves: bool


class Result(NamedTuple):
    """A tool result without its text.

    Attributes:
        recall: Command that prints the original.
        path: File to store the original in; empty if not allowed.
        transcript: The session's file, used to read the fill of the window; empty if unknown.
    """

    tool: str
    identifier: str = ""
    recall: str = ""
    path: str = ""
    transcript: str = ""


class Sent(NamedTuple):
    """The trimmed result. `is_stored`: true if the text names the file that will contain the original."""

    text: str
    is_stored: bool = False


def trimmed(text: str, cuts: list[Cut | Store], result: Result) -> Sent:
    whole = len(text)
    is_whole, is_stored = True, False
    for cut in cuts:
        if "rule" in cut:
            preview = _preview(text, whole, cut, result)
            if preview is not None:
                text, is_whole, is_stored = preview, False, is_stored or cut["saves"]
            continue
        limit, head, tail = cut["limit"], cut["head"], cut["tail"]
        length = len(text)
        tokens = _tokens_left(length, whole) if not is_whole else estimated_tokens(length)
        size = tokens if cut["unit"] == TOKENS else length
        adaptive = cut["adaptive"]
        if adaptive is not None and size > adaptive["least"]:
            most = _most(adaptive, result.transcript)
            if most < limit:
                shrink = most / limit
                limit, head, tail = most, int(head * shrink), int(tail * shrink)
        if size <= limit:
            continue
        if cut["unit"] == TOKENS:
            head, tail = _ends(length, tokens, head, tail, is_whole=is_whole)
        removed = length - head - tail
        phrase = cut["marker"].format(
            length=length, removed=removed, tokens=tokens, tool=result.tool, recall=result.recall
        )
        text = f"{text[:head]}{phrase}{text[max(length - tail, 0) :] if tail else ''}"
        is_whole = False
    return Sent(text, is_stored)


def _preview(text: str, whole: int, cut: Store, result: Result) -> str | None:
    """Return a storing strategy's preview of a text, or None if the text is not cut."""
    rule, limit, head = cut["rule"], cut["limit"], cut["head"]
    length = len(text)
    if rule == "opencode-truncate":
        # A character has at most four bytes in UTF-8.
        is_over = length >= head or length * 4 > limit
    elif rule == "gemini-truncate":
        # A character has at most two UTF-16 code units.
        is_over = length * 2 > limit
    else:
        is_over = length > limit and whole > limit
    if not is_over or (cut["saves"] and not result.path):
        return None
    from inspector.strategies.core import stored_previews as previews

    path = result.path if cut["saves"] else ""
    parts: list[previews.Part] | None = None
    if rule == "store-large":
        parts = previews.persisted_output(text, head, path)
    elif rule == "deepagents-evict":
        parts = previews.numbered_ends(text, head, cut["tail"], path, result.identifier)
    elif rule == "opencode-truncate":
        hint = cut["hint"].replace("{path}", path)
        parts = previews.lines_within(text, head, limit, hint, from_end=cut["from_end"])
    elif rule == "gemini-truncate":
        parts = previews.head_and_tail(text, limit, path)
    return None if parts is None else previews.joined(text, parts)


def estimated_tokens(characters: int) -> int:
    """Estimate tokens as `inspector.tokens.counter` does, without its slow import."""
    return (2 * characters + 6) // 7


def _tokens_left(length: int, whole: int) -> int:
    """Estimate the tokens left of a cut text from the tokens per character of the original."""
    return -(-length * estimated_tokens(whole) // whole) if whole else length


def _ends(length: int, tokens: int, head: int, tail: int, *, is_whole: bool) -> tuple[int, int]:
    """Return the characters of the first and last tokens, as `CutTokens` does with estimated tokens."""
    most = max(tokens, 1)
    begin = min(head * length // most, length)
    end = (
        length - min(max(tokens - tail, 0) * length // most, length) if is_whole else min(tail * length // most, length)
    )
    return begin, min(end, length - begin)


def _most(adaptive: Adaptive, transcript: str) -> int:
    window = adaptive["window"] or DEFAULT_WINDOW
    taken = prompt_tokens(transcript) if adaptive["by"] == "remaining" else 0
    return max(int(max(window - taken, 0) * adaptive["share"]), adaptive["least"])


def prompt_tokens(transcript: str) -> int:
    """Return the last prompt in a Claude Code transcript, from its end; 0 if none since a compaction."""
    for line in reversed(_last_lines(transcript)):
        if b'"compact_boundary"' in line:
            return 0
        if b'"usage"' not in line:
            continue
        try:
            record = json.loads(line)
            usage = record["message"]["usage"]
            if record.get("isSidechain") or record.get("type") != "assistant":
                continue
            names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            return sum(int(usage.get(name) or 0) for name in names)
        except (ValueError, LookupError, TypeError, AttributeError):
            continue
    return 0


def version_of(transcript: str) -> tuple[int, ...]:
    """Return the Claude Code version that wrote the end of a transcript; empty if unknown."""
    for line in reversed(_last_lines(transcript)):
        if b'"version"' not in line:
            continue
        try:
            return tuple(int(part) for part in json.loads(line)["version"].split("."))
        except (ValueError, LookupError, TypeError, AttributeError):
            continue
    return ()


def _last_lines(transcript: str) -> list[bytes]:
    if not transcript:
        return []
    try:
        with open(transcript, "rb", opener=open_regular) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - _TAIL_BYTES, 0))
            return file.read(_TAIL_BYTES).splitlines()
    except (OSError, ValueError):
        return []
