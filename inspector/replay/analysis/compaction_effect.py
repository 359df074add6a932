"""What a compaction, or anything else that begins a context, took out of the prompt, and what it kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable


class RemovedPart(NamedTuple):
    """Blocks of one kind that were removed together.

    Attributes:
        kind: Their kind.
        tool: Their tool; empty for kinds without. May hold session text.
        blocks: How many.
        tokens: Theirs, counted or estimated locally.
    """

    kind: BlockKind
    tool: str
    blocks: int
    tokens: int


@dataclass(frozen=True, eq=False)
class CompactionEffect:
    """Two prompts compared, the last before a context began and the first in it; equal only to itself.

    Attributes:
        before: The last call before it.
        after: The first call after it.
        removed: Blocks that `before` sent, or that answered it, and `after` did not send; int32, rising.
        kept: Blocks of `after` that `before` sent, too, or whose text it sent in a block of the same kind: some agents
            record what stays once more. int32, rising.
        added: Blocks that `after` is the first to send: a summary, mostly, and what was asked next; int32, rising.
        repeated: Blocks of `before` that `after` sends as others of the same text, int32, rising.
    """

    before: int
    after: int
    removed: NDArray[np.int32]
    kept: NDArray[np.int32]
    added: NDArray[np.int32]
    repeated: NDArray[np.int32]

    @classmethod
    def between(cls, history: History, before: int, after: int) -> CompactionEffect:
        """Compare the prompts of two calls of one conversation."""
        sent, sent_after = history.prompt(before), history.prompt(after)
        response = history.session.calls[before].response
        answer = history.blocks_of(np.array([response], dtype=np.int32))
        there = np.union1d(sent, answer)
        gone, new = np.setdiff1d(there, sent_after), np.setdiff1d(sent_after, there)
        pairs = _of_one_text(history, gone, new)
        repeated, again = (np.array(list(each), dtype=np.int32) for each in (pairs.keys(), pairs.values()))
        return cls(
            before,
            after,
            removed=np.setdiff1d(gone, repeated),
            kept=np.union1d(np.intersect1d(there, sent_after), again),
            added=np.setdiff1d(new, again),
            repeated=np.sort(repeated),
        )

    def parts(self, history: History, table: TokenTable) -> tuple[RemovedPart, ...]:
        """What was removed, by kind and tool, the most tokens first."""
        tool_count = len(history.tool_names) + 1
        tools = history.tool[self.removed].astype(np.int64)
        codes = history.kind[self.removed].astype(np.int64) * tool_count + np.where(tools < 0, tool_count - 1, tools)
        parts = []
        for code in np.unique(codes).tolist():
            kind, tool = divmod(code, tool_count)
            members = self.removed[codes == code]
            name = history.tool_names[tool] if tool < len(history.tool_names) else ""
            parts.append(RemovedPart(BlockKind(kind), name, len(members), tokens_of(table, members)))
        return tuple(sorted(parts, key=lambda part: -part.tokens))


def _of_one_text(history: History, gone: NDArray[np.int32], new: NDArray[np.int32]) -> dict[int, int]:
    """For blocks of one prompt those of another that say the same, each used once."""
    blocks = history.session.blocks
    again: dict[tuple[BlockKind, bytes], list[int]] = {}
    for block in reversed(new.tolist()):
        again.setdefault((blocks[block].kind, blocks[block].digest), []).append(block)
    found = {}
    for block in gone.tolist():
        alike = again.get((blocks[block].kind, blocks[block].digest))
        if alike:
            found[block] = alike.pop()
    return found


def tokens_of(table: TokenTable, blocks: NDArray[np.int32]) -> int:
    """Tokens of some blocks, counted or estimated locally."""
    return int(table.tokens[blocks].sum(dtype=np.int64))
