"""What a tool result is called when somebody asks for it again: by its tool call's id, or as a notice names it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind
from inspector.strategies.library import deepagents, store_large
from inspector.strategies.library.gemini_results import safe_file_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from inspector.session.model import Block, Session

FEWEST_CHARACTERS = 6
"""Of the beginning of an id that is taken for the whole of it."""
MOST_NEAR = 5
"""Ids that are told as similar ones."""
CUTOFF = 0.7
"""From how alike ids are one is told where another was asked for, between 0 and 1."""

_AROUND = " \t\r\n\"'`<>[](),;"
_SHORTENED = re.compile(r"(?:\.\.\.|…)$")
_FILE_SUFFIXES = (".txt", ".md", ".json", ".log")


def asked_for(text: str) -> str:
    """What is meant by an id that was copied from a text, with whatever stood around it."""
    return text.strip(_AROUND)


def names_of(block: Block) -> set[str]:
    """What notices of this program's strategies call the file of a result, without its suffix."""
    identifier = block.tool_call_id
    if not identifier:
        return set()
    tool, safe = safe_file_name(block.tool_name), safe_file_name(identifier)
    saved = (store_large.file_name(identifier), deepagents.file_name(identifier))
    return {safe, f"{tool or 'unknown_tool'}_{safe}", *(_stem(name) for name in saved)}


def blocks_named(session: Session, asked: str) -> list[int]:
    """The tool results of a session that an id, a notice, a file named in one, or the beginning of an id means.

    Args:
        session: Where to look.
        asked: As `asked_for` gives it. The name of a file that was to hold a message means that message's text.

    Returns:
        Block indices, rising. What a compaction recorded again counts once; several are found where the id is that of
        several calls, or begins several.
    """
    blocks = session.all_blocks
    results = [index for index, block in enumerate(blocks) if block.kind is BlockKind.TOOL_RESULT]
    stem = _stem(re.split(r"[/\\]", asked)[-1])
    begin = _SHORTENED.sub("", asked)
    ways: tuple[Callable[[Block], bool], ...] = (
        lambda block: block.tool_call_id == asked,
        lambda block: stem in names_of(block),
        lambda block: len(block.tool_call_id) >= FEWEST_CHARACTERS and _is_within(block.tool_call_id, asked),
        lambda block: len(begin) >= FEWEST_CHARACTERS and block.tool_call_id.startswith(begin),
    )
    for way in ways:
        found = [index for index in results if way(blocks[index])]
        if found:
            return _once(session, found)
    return [index for index, block in enumerate(blocks) if block.digest.hex() == stem][:1]


def unanswered(session: Session, asked: str) -> int | None:
    """The tool call of that id where the session holds no result of it: its block index; None where there is none."""
    blocks = enumerate(session.all_blocks)
    calls = (index for index, block in blocks if block.kind is BlockKind.TOOL_CALL and block.tool_call_id == asked)
    return next(calls, None)


def call_of(session: Session, block: int) -> int | None:
    """The tool call that a result answers: the latest of its id before it, a block index.

    A tool call is itself what is meant. None where the call is not recorded, and for what is no tool's.
    """
    blocks = session.all_blocks
    asked = blocks[block]
    if asked.kind is BlockKind.TOOL_CALL:
        return block
    if asked.kind is not BlockKind.TOOL_RESULT:
        return None
    before = (index for index in range(block - 1, -1, -1) if blocks[index].tool_call_id == asked.tool_call_id)
    return next((index for index in before if blocks[index].kind is BlockKind.TOOL_CALL), None)


def near(identifiers: Iterable[str], asked: str) -> list[str]:
    """Ids that are much like the one asked for, the likest first."""
    import difflib

    known = sorted({identifier for identifier in identifiers if identifier})
    return difflib.get_close_matches(asked, known, n=MOST_NEAR, cutoff=CUTOFF)


def _once(session: Session, found: Sequence[int]) -> list[int]:
    """Leave out what a compaction or a provider's cleaning recorded again, unless several calls have that id."""
    blocks = session.all_blocks
    calls: dict[str, int] = {}
    for block in blocks:
        if block.kind is BlockKind.TOOL_CALL:
            calls[block.tool_call_id] = calls.get(block.tool_call_id, 0) + 1
    kept: dict[tuple[str, bytes], int] = {}
    for index in found:
        block = blocks[index]
        repeats = calls.get(block.tool_call_id, 0) > 1
        kept.setdefault((block.tool_call_id, block.digest if repeats else b""), index)
    return sorted(kept.values())


def _is_within(identifier: str, asked: str) -> bool:
    """Whether a text holds an id whole: `event-2` is no part of `event-20`."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(identifier)}(?![A-Za-z0-9])", asked) is not None


def _stem(name: str) -> str:
    for suffix in _FILE_SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix)
    return name
