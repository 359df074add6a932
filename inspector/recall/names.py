"""Names of a tool result: its tool call's id, and the file names in notices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind
from inspector.strategies.library import at_insertion, langchain
from inspector.strategies.library.gemini import safe_file_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from inspector.session.model import Block, Session

FEWEST_CHARACTERS = 6
"""Minimum length of a prefix that is accepted in place of the id."""
MOST_NEAR = 5
CUTOFF = 0.7
"""Minimum similarity of similar ids, between 0 and 1."""

_AROUND = " \t\r\n\"'`<>[](),;"
_SHORTENED = re.compile(r"(?:\.\.\.|…)$")
_FILE_SUFFIXES = (".txt", ".md", ".json", ".log")


def strip_reference(text: str) -> str:
    """Strip surrounding characters from an id copied out of a text."""
    return text.strip(_AROUND)


def names_of(block: Block) -> set[str]:
    """Return the file names of a result in the notices of this program's strategies, without suffix."""
    identifier = block.tool_call_id
    if not identifier:
        return set()
    tool, safe = safe_file_name(block.tool_name), safe_file_name(identifier)
    saved = (at_insertion.file_name(identifier), langchain.file_name(identifier))
    return {safe, f"{tool or 'unknown_tool'}_{safe}", *(_stem(name) for name in saved)}


def matching_blocks(session: Session, asked: str) -> list[int]:
    """Return the tool results matching an id, a notice, a file named in one, or a prefix of an id.

    Args:
        session: The session to search.
        asked: Output of `asked_for`. The file name of an offloaded message matches that message's text.

    Returns:
        Block indices, ascending. Repeated records after a compaction count once; several match if calls share the id or
        the prefix.
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


def call_without_result(session: Session, asked: str) -> int | None:
    """Return the block index of the tool call with that id if it has no recorded result, or None."""
    blocks = enumerate(session.all_blocks)
    calls = (index for index, block in blocks if block.kind is BlockKind.TOOL_CALL and block.tool_call_id == asked)
    return next(calls, None)


def call_of(session: Session, block: int) -> int | None:
    """Return the tool call of a result: the latest one before it with its id, as a block index.

    A tool call returns itself. None if the call is not recorded, and for other blocks.
    """
    blocks = session.all_blocks
    asked = blocks[block]
    if asked.kind is BlockKind.TOOL_CALL:
        return block
    if asked.kind is not BlockKind.TOOL_RESULT:
        return None
    before = (index for index in range(block - 1, -1, -1) if blocks[index].tool_call_id == asked.tool_call_id)
    return next((index for index in before if blocks[index].kind is BlockKind.TOOL_CALL), None)


def similar_ids(identifiers: Iterable[str], asked: str) -> list[str]:
    import difflib

    known = sorted({identifier for identifier in identifiers if identifier})
    return difflib.get_close_matches(asked, known, n=MOST_NEAR, cutoff=CUTOFF)


def _once(session: Session, found: Sequence[int]) -> list[int]:
    """Drop repeated records of a compaction or a provider's cleanup, unless several calls share the id."""
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
    """Return True if a text contains an id as a whole: `event-20` does not contain `event-2`."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(identifier)}(?![A-Za-z0-9])", asked) is not None


def _stem(name: str) -> str:
    for suffix in _FILE_SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix)
    return name
