"""Blocks removed and kept by a compaction, or by any other start of a context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.analysis.context_breakdown import context_at
from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay
    from inspector.replay.figure import HowKnown
    from inspector.strategies.history.history import History


class RemovedPart(NamedTuple):
    """Blocks of one kind that were removed together.

    Attributes:
        kind: Their kind.
        tool: Their tool; empty for other kinds. May contain session text.
        blocks: Number of blocks.
        tokens: Their tokens.
    """

    kind: BlockKind
    tool: str
    blocks: int
    tokens: int


@dataclass(frozen=True, eq=False)
class CompactionEffect:
    """Comparison of the last prompt before a context and the first in it; compares by identity.

    Attributes:
        before: The last call before it.
        after: The first call after it.
        removed: Blocks that `before` sent, or its response, that `after` did not send; int32, ascending.
        kept: Blocks of `after` that `before` also sent, directly or as a block of the same kind and text: some agents
            record kept text a second time. int32, ascending.
        added: Blocks first sent by `after`, usually a summary and the next request; int32, ascending.
        repeated: Blocks of `before` that `after` sends as other blocks with the same text, int32, ascending.
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

    def parts(self, history: History, tokens: NDArray[np.float64]) -> tuple[RemovedPart, ...]:
        """Return the removed blocks by kind and tool, most tokens first.

        Args:
            history: The session's columns.
            tokens: Tokens of every removed block; parts are rounded to add up to their rounded sum.
        """
        tool_count = len(history.tool_names) + 1
        tools = history.tool[self.removed].astype(np.int64)
        codes = history.kind[self.removed].astype(np.int64) * tool_count + np.where(tools < 0, tool_count - 1, tools)
        parts, sums = [], 0.0
        for code in np.unique(codes).tolist():
            kind, tool = divmod(code, tool_count)
            members = tokens[codes == code]
            before, sums = sums, sums + float(members.sum())
            name = history.tool_names[tool] if tool < len(history.tool_names) else ""
            parts.append(RemovedPart(BlockKind(kind), name, len(members), round(sums) - round(before)))
        return tuple(sorted(parts, key=lambda part: -part.tokens))


class CompactionSizes(NamedTuple):
    """Tokens of a compaction's blocks in the prompts around it, on the provider's scale.

    They count the removed blocks of the previous prompt, and of its response, which no prompt had contained yet.

    Attributes:
        removed: Tokens of every removed block, float64.
        removed_total: Their sum.
        answer: The part in the response to the last call before it.
        added: Tokens of new blocks in the prompt after it.
        prompts: The reported prompt sizes before and after it; None if either is missing.
        known: Confidence of all of these except the prompts.
    """

    removed: NDArray[np.float64]
    removed_total: int
    answer: int
    added: int
    prompts: tuple[int, int] | None
    known: HowKnown

    @property
    def rest(self) -> int | None:
        """Unexplained difference between the two prompts; negative if more was removed.

        It covers envelopes, unrecorded text, and errors of the fit to reported usage. None if the prompts were not
        reported.
        """
        if self.prompts is None:
            return None
        before, after = self.prompts
        return after - (before + self.answer - self.removed_total + self.added)


def sizes_of(effect: CompactionEffect, baseline: Replay) -> CompactionSizes:
    """Compute the tokens of a compaction's blocks in the prompts around it.

    Args:
        effect: The compaction.
        baseline: The session replayed with nothing cut.
    """
    inputs = baseline.inputs
    count = len(baseline.history.kind)
    before, after = (context_at(baseline, baseline.state(call)) for call in (effect.before, effect.after))
    ratio = float(inputs.sizes.ratio[effect.before])
    taken = ratio * (inputs.table.tokens[:count] + inputs.layout.thinking_uncounted[:count]).astype(np.float64)
    taken[before.blocks] = before.sent
    answer = np.setdiff1d(effect.removed, before.blocks)
    new = np.zeros(count)
    new[after.blocks] = after.sent
    calls = [effect.before, effect.after]
    first, second = inputs.recorded.prompt[calls].tolist()
    return CompactionSizes(
        taken[effect.removed],
        round(float(taken[effect.removed].sum())),
        round(float(taken[answer].sum())),
        round(float(new[effect.added].sum())),
        (first, second) if inputs.reported[calls].all() else None,
        inputs.scale.known,
    )


def calls_around(history: History, block: int) -> tuple[int, int] | None:
    """Return the last call before a boundary in the same conversation, and the first one after it.

    Args:
        history: The session.
        block: The first block after the boundary.

    Returns:
        Two calls; None if either is missing.
    """
    after = int(history.enters[block]) if 0 <= block < len(history.enters) else -1
    if not 0 < after < history.call_count:
        return None
    contexts, calls = history.session.contexts, history.session.calls
    thread = contexts[calls[after].context].thread
    before = next((call for call in range(after - 1, -1, -1) if contexts[calls[call].context].thread == thread), None)
    return None if before is None else (before, after)


def _of_one_text(history: History, gone: NDArray[np.int32], new: NDArray[np.int32]) -> dict[int, int]:
    """Map blocks of one prompt to blocks of another with the same text, each used once."""
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
