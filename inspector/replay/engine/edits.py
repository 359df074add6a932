"""The edits of a plan as columns: block, first call, rendition and reason."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from inspector.strategies.core.operations import Action
from inspector.strategies.history.history import NEVER, History

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.replay.engine.renderer import Renderer, Stack
    from inspector.strategies.core.strategy import Decision
    from inspector.tokens.token_table import TokenTable

    Columns = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]

RECORDED = -1
"""Replaces a plan entry's index for changes by the recorded agent."""


@dataclass(frozen=True, slots=True)
class Reason:
    """The strategy that decided, by its index among the plan's entries (or `RECORDED`), and its decision."""

    entry: int
    decision: Decision


class Estimate(NamedTuple):
    """A strategy's estimate of a prompt's size at a call; `entry` is its index among the plan's entries."""

    entry: int
    call: int
    tokens: float


class ModelCall(NamedTuple):
    """A strategy's own request, such as for a summary: its entry, the call it precedes, counted tokens."""

    entry: int
    call: int
    prompt_tokens: int
    output_tokens: int


class Notice(NamedTuple):
    """A line that the described program would print: the entry's index, the call it precedes, the exact text."""

    entry: int
    call: int
    text: str


@dataclass(frozen=True, eq=False)
class Edits:
    """One row for every change to a block's rendition, sorted by block, then call.

    Attributes:
        block: Block index, int32.
        call: The first call that sends the new rendition, int32. Never after the block leaves the context.
        stack: Index into `stacks`, int32.
        reason: Index into `reasons`, int32.
        tokens: Tokens sent from then on, int32.
        previous_tokens: Tokens sent before, int32.
        action: `Action`, uint8.
        stacks: The distinct stacks of operations.
        reasons: The distinct reasons.
        considered: Per strategy and group, the number of blocks it decided about, including blocks left whole.
        estimates: Prompt sizes estimated by strategies, if they report them.
        model_calls: Additional requests by strategies.
        notices: Lines the described programs would print.
    """

    block: NDArray[np.int32]
    call: NDArray[np.int32]
    stack: NDArray[np.int32]
    reason: NDArray[np.int32]
    tokens: NDArray[np.int32]
    previous_tokens: NDArray[np.int32]
    action: NDArray[np.uint8]
    stacks: tuple[Stack, ...]
    reasons: tuple[Reason, ...]
    considered: Mapping[tuple[int, str], int]
    estimates: tuple[Estimate, ...] = ()
    model_calls: tuple[ModelCall, ...] = ()
    notices: tuple[Notice, ...] = ()

    @cached_property
    def entry(self) -> NDArray[np.int64]:
        """Per row, the plan index of the strategy that decided, or `RECORDED`."""
        entries = np.array([reason.entry for reason in self.reasons], dtype=np.int64)
        return entries[self.reason] if len(entries) else np.zeros(0, dtype=np.int64)

    @cached_property
    def by_plan(self) -> NDArray[np.bool_]:
        """True for rows decided by the plan, False for edits by the recorded agent."""
        by_plan: NDArray[np.bool_] = self.entry != RECORDED
        return by_plan

    @cached_property
    def by_call(self) -> NDArray[np.int64]:
        """Row numbers sorted by call, then block."""
        order: NDArray[np.int64] = np.lexsort((self.block, self.call))
        return order

    @cached_property
    def removes_blocks(self) -> bool:
        """True if any block is removed entirely at any call."""
        return bool((self.action == Action.REMOVED).any())

    @cached_property
    def removals(self) -> NDArray[np.int8]:
        """Per row, 1 if the block is removed entirely, -1 if a removed block returns, 0 otherwise."""
        removed = (self.action == Action.REMOVED).astype(np.int8)
        before = np.zeros_like(removed)
        before[1:] = np.where(self.block[1:] == self.block[:-1], removed[:-1], 0)
        change: NDArray[np.int8] = removed - before
        return change

    def row(self, block: int, call: int) -> int:
        """Return the row in force for a block at a call, or -1 if it is sent whole."""
        first, last = np.searchsorted(self.block, (block, block + 1))
        at = int(np.searchsorted(self.call[first:last], call, side="right"))
        return int(first) + at - 1 if at else -1

    def rows(self, blocks: NDArray[np.int32], calls: NDArray[np.int32] | int) -> NDArray[np.int64]:
        """Return the rows in force for blocks at one call or at a call for each, -1 for blocks sent whole."""
        found = np.searchsorted(self._keys, _keys(blocks, calls), side="right") - 1
        return np.where(np.append(self.block, -1)[found] == blocks, found, -1)

    def stack_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of each row's operations in `stacks`; -1 for blocks sent whole."""
        used = np.array([bool(stack) for stack in self.stacks] + [False], dtype=np.bool_)
        stack = np.where(rows >= 0, np.append(self.stack, -1)[rows], -1)
        return np.where(used[stack], stack, -1)

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        return _keys(self.block, self.call)

    def in_force(self, call: int) -> NDArray[np.int64]:
        """Return the row numbers in force at a call, at most one per block, in block order."""
        rows = np.flatnonzero(self.call <= call)
        if not len(rows):
            return rows
        blocks = self.block[rows]
        latest: NDArray[np.int64] = rows[np.append(blocks[1:] != blocks[:-1], True)]
        return latest


class EditedSession(NamedTuple):
    """A session with the edits of a plan, or those of its first calls, before prompts and costs are known."""

    history: History
    table: TokenTable
    edits: Edits


def _keys(blocks: NDArray[np.int32], calls: NDArray[np.int32] | int) -> NDArray[np.int64]:
    """Encode blocks and calls as integers with the same sort order."""
    return (blocks.astype(np.int64) << 32) + calls


def effective_edits(
    history: History,
    renderer: Renderer,
    blocks: NDArray[np.int32],
    calls: NDArray[np.int32],
    stacks: NDArray[np.int32],
    reasons: NDArray[np.int32],
    stack_table: tuple[Stack, ...],
    reason_table: tuple[Reason, ...],
) -> Edits:
    """Turn decisions into edits: render each decision and drop those without effect.

    A decision about a block that is not in the context yet takes effect when the block enters; about a block that never
    enters, or has left, it has no effect. Of several decisions about a block at one call, the last wins.
    """
    calls = np.maximum(calls, history.enters[blocks])
    columns = blocks, calls, stacks, reasons
    alive = (calls < history.leaves[blocks]) & (calls != NEVER)
    if not alive.all():
        columns = _rows(columns, alive)
    keys = _keys(columns[0], columns[1])
    if bool((keys[1:] < keys[:-1]).any()):
        order = np.argsort(keys, kind="stable")
        keys, columns = keys[order], _rows(columns, order)
    is_followed = keys[1:] == keys[:-1]
    if is_followed.any():
        columns = _rows(columns, np.append(~is_followed, True))
    blocks, calls, stacks, reasons = columns
    rendered = renderer.render(blocks, stacks, stack_table)
    considered = _considered(blocks, reasons, reason_table)
    # An edit is a rendition that differs from the block's previous one; a block starts whole, with signature 0.
    before = np.zeros(len(blocks), dtype=np.int64)
    before[1:] = np.where(blocks[1:] == blocks[:-1], rendered.signature[:-1], 0)
    rows = np.flatnonzero(rendered.signature != before)
    blocks, tokens = blocks[rows], rendered.tokens[rows]
    previous = renderer.table.tokens[blocks].astype(np.int32)
    previous[1:] = np.where(blocks[1:] == blocks[:-1], tokens[:-1], previous[1:])
    return Edits(
        block=blocks,
        call=calls[rows],
        stack=stacks[rows],
        reason=reasons[rows],
        tokens=tokens,
        previous_tokens=previous,
        action=rendered.action[rows],
        stacks=stack_table,
        reasons=reason_table,
        considered=considered,
    )


def _rows(columns: Columns, chosen: NDArray[Any]) -> Columns:
    blocks, calls, stacks, reasons = columns
    return blocks[chosen], calls[chosen], stacks[chosen], reasons[chosen]


def _considered(
    blocks: NDArray[np.int32], reasons: NDArray[np.int32], table: tuple[Reason, ...]
) -> dict[tuple[int, str], int]:
    """Count the blocks each strategy and group decided about; `blocks` is sorted."""
    if (blocks[1:] == blocks[:-1]).any():
        # Almost sorted already: much faster than finding distinct pairs in arbitrary order.
        pairs = np.sort(blocks.astype(np.int64) * len(table) + reasons, kind="stable")
        reasons = pairs[np.diff(pairs, prepend=-1) != 0] % len(table)
    counts = np.bincount(reasons, minlength=len(table)).tolist()
    considered: dict[tuple[int, str], int] = {}
    for reason, count in zip(table, counts, strict=True):
        key = (reason.entry, reason.decision.group)
        considered[key] = considered.get(key, 0) + count
    return considered
