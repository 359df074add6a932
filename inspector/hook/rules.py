"""The cuts that a plan's strategies of insertion make of a result, as plain values, and making them.

The strategies themselves say what these are (`inspector.hook.compiled`). What is done here needs none of the libraries
the strategies need, whose import alone takes longer than the hook may.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple, TypedDict, final

TOKENS = "tokens"
"""As of the strategies."""

USUAL_WINDOW = 200_000
"""As of the strategies, in tokens."""

_TAIL_BYTES = 512 << 10


class Adaptive(TypedDict):
    """How a limit is lowered; see the parameters of `trim-at-insertion` that begin with `adaptive`."""

    by: str
    share: float
    least: int
    window: int


@final
class Cut(TypedDict):
    """A cut as of `CutText` or `CutTokens`, whose marker is a template.

    Attributes:
        unit: What limit, head and tail count: characters or tokens.
        limit: Longest text that stays as it is.
        head: How much is kept from the beginning.
        tail: How much is kept from the end.
        marker: What stands for the rest.
        adaptive: How the limit adapts, if it does.
    """

    unit: str
    limit: int
    head: int
    tail: int
    marker: str
    adaptive: Adaptive | None


@final
class Store(TypedDict):
    """A preview as of a strategy that saves results in files; see `inspector.strategies.core.stored_previews`.

    Attributes:
        rule: The strategy.
        limit: Longest text, in characters, that stays as it is; for `opencode-truncate` most bytes.
        head: What is shown from the beginning: characters, or lines; for `opencode-truncate` most lines.
        tail: Lines shown from the end.
        from_end: The end is shown instead of the beginning.
        hint: What the note says besides, `{path}` standing for the file.
        saves: Whether there is a file at all.
    """

    rule: str
    limit: int
    head: int
    tail: int
    from_end: bool
    hint: str
    saves: bool


class Result(NamedTuple):
    """What is known of a tool result beside its text.

    Attributes:
        tool: The tool's name.
        identifier: The tool call's id.
        recall: The command that prints the whole.
        path: The file the whole can be stored in; empty where it may not be.
        transcript: The session's file, which says how full the window is; empty where that is not known.
    """

    tool: str
    identifier: str = ""
    recall: str = ""
    path: str = ""
    transcript: str = ""


class Sent(NamedTuple):
    """What is sent of a result.

    Attributes:
        text: The text.
        is_stored: It names the file in which the whole is to be.
    """

    text: str
    is_stored: bool = False


def trimmed(text: str, cuts: list[Cut | Store], result: Result) -> Sent:
    """What is sent of a result, given the whole of it and what the plan does to it."""
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
        said = cut["marker"].format(
            length=length, removed=removed, tokens=tokens, tool=result.tool, recall=result.recall
        )
        text = f"{text[:head]}{said}{text[max(length - tail, 0) :] if tail else ''}"
        is_whole = False
    return Sent(text, is_stored)


def _preview(text: str, whole: int, cut: Store, result: Result) -> str | None:
    """What a strategy leaves of a text that it saves; None where it leaves the text as it is."""
    rule, limit, head = cut["rule"], cut["limit"], cut["head"]
    length = len(text)
    if rule == "opencode-truncate":
        # No character has more than four bytes.
        is_over = length >= head or length * 4 > limit
    elif rule == "gemini-truncate":
        # Nor more than two units of JavaScript's.
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
        parts = previews.both_ends(text, limit, path)
    return None if parts is None else previews.joined(text, parts)


def estimated_tokens(characters: int) -> int:
    """As the one of `inspector.tokens.counter`, which takes long to import: no tokenizer loads in the time there is."""
    return (2 * characters + 6) // 7


def _tokens_left(length: int, whole: int) -> int:
    """Tokens of what cuts have left of a text, if it has as many of them to a character as the whole."""
    return -(-length * estimated_tokens(whole) // whole) if whole else length


def _ends(length: int, tokens: int, head: int, tail: int, *, is_whole: bool) -> tuple[int, int]:
    """Characters of the first and last tokens of a text, as `CutTokens` and estimated tokens have them."""
    most = max(tokens, 1)
    begin = min(head * length // most, length)
    end = (
        length - min(max(tokens - tail, 0) * length // most, length) if is_whole else min(tail * length // most, length)
    )
    return begin, min(end, length - begin)


def _most(adaptive: Adaptive, transcript: str) -> int:
    window = adaptive["window"] or USUAL_WINDOW
    taken = prompt_tokens(transcript) if adaptive["by"] == "remaining" else 0
    return max(int(max(window - taken, 0) * adaptive["share"]), adaptive["least"])


def prompt_tokens(transcript: str) -> int:
    """What the last call of a Claude Code transcript reported of its prompt; 0 where none did since a compaction.

    Only the end of the file is read.
    """
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
    """The release of Claude Code that wrote the end of a transcript; empty where it does not say."""
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
        with open(transcript, "rb") as file:  # noqa: PTH123
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - _TAIL_BYTES, 0))
            return file.read(_TAIL_BYTES).splitlines()
    except (OSError, ValueError):
        return []
