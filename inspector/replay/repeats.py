"""Tool results a prompt holds that something later in it stands for: read again, said again, edited since."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.history.arguments import names_a_part, path_of
from inspector.strategies.history.reads import reads_of
from inspector.strategies.history.tools import Meaning, meaning_mask

if TYPE_CHECKING:
    from inspector.replay.context_blocks import ContextBlocks
    from inspector.strategies.history.history import History

SHORTEST = 80
"""Characters below which equal results are no repetition: `ok` is said often."""


class RepeatKind(StrEnum):
    """Why a result is not needed twice."""

    SAME = "same text again later"
    """A later result in the prompt has the very same text."""
    READ_AGAIN = "read again later"
    """The same file, or the same part of it, was read again, and holds something else by then."""
    EDITED = "edited since"
    """The file was edited or written after it was read, and not read again."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A result that something later stands for.

    Attributes:
        block: The result, block index.
        kind: Why.
        later: The later result or edit, block index.
        path: The file, empty where none is named; session text.
    """

    block: int
    kind: RepeatKind
    later: int
    path: str


def repeats_in(history: History, context: ContextBlocks) -> tuple[Repeat, ...]:
    """Every result sent in a prompt that something later in it stands for, in the order they are sent.

    Args:
        history: The session's columns.
        context: The prompt.
    """
    session, blocks = history.session, history.session.blocks
    reads = reads_of(history, ())
    file_of = dict(zip(reads.results.tolist(), reads.files.tolist(), strict=True))
    edits = meaning_mask(history.tool_names, (Meaning.EDIT, Meaning.WRITE))[history.tool[context.blocks]]
    edits &= history.kind[context.blocks] == BlockKind.TOOL_CALL
    results = (history.kind[context.blocks] == BlockKind.TOOL_RESULT) & (context.sent > 0)
    same: dict[bytes, int] = {}
    later_reads: dict[int, list[int]] = {}
    edited: dict[str, int] = {}
    found: list[Repeat] = []
    places = np.flatnonzero(edits | results)[::-1].tolist()
    for place in places:
        index = int(context.blocks[place])
        block = blocks[index]
        if edits[place]:
            edited[path_of(session, block)] = index
            continue
        file = file_of.get(index, -1)
        path = reads.paths[file] if file >= 0 else ""
        again = _read_again(history, index, later_reads.get(file, [])) if file >= 0 else -1
        if block.characters >= SHORTEST and block.digest in same:
            found.append(Repeat(index, RepeatKind.SAME, same[block.digest], path))
        elif again >= 0:
            found.append(Repeat(index, RepeatKind.READ_AGAIN, again, path))
        elif path and path in edited:
            found.append(Repeat(index, RepeatKind.EDITED, edited[path], path))
        same[block.digest] = index
        if file >= 0:
            later_reads.setdefault(file, []).append(index)
    return tuple(reversed(found))


def _read_again(history: History, result: int, later: list[int]) -> int:
    """The next read of the same file after a result that holds at least what it holds, or -1."""
    session, blocks = history.session, history.session.blocks
    arguments = blocks[int(history.call_block[result])].digest
    for other in reversed(later):
        call = blocks[int(history.call_block[other])]
        if call.digest == arguments or not names_a_part(session, call):
            return other
    return -1
