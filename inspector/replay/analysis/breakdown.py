"""Prompt tokens by tool and kind of text, summed over all calls, and the part without recorded text.

Tokens are the provider's. A result that stays for a hundred calls is sent a hundred times; `in_newest` is its size in
the newest prompt. Rows add up to the prompts: the remainder after all texts is in the last rows
(`inspector.replay.analysis.prompt_overhead`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.analysis.agent_inserted import INJECTED, injected_blocks
from inspector.replay.analysis.context_blocks import context_at
from inspector.replay.analysis.prompt_overhead import (
    AROUND_TEXTS,
    NOT_RECORDED,
    NOT_RECORDED_SHORT,
    SYSTEM_AND_TOOLS,
    system_cost,
    system_sent,
)
from inspector.replay.analysis.resend_cost import resend_cost
from inspector.replay.engine.edits import RECORDED
from inspector.replay.figure import Figure, lowest_confidence
from inspector.session.model import BlockKind
from inspector.strategies.core.rendition import Action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.analysis.context_blocks import ContextBlocks
    from inspector.replay.engine.replay import ContextState, Replay
    from inspector.replay.figure import HowKnown


def part_label(name: str, part: str, room: int = len(NOT_RECORDED)) -> str:
    """Return the label for a kind of block or a tool's results; `room` selects a shorter label without clipping."""
    if name == SYSTEM_AND_TOOLS:
        return NOT_RECORDED if room >= len(NOT_RECORDED) else NOT_RECORDED_SHORT
    return f"{name} {part}".rstrip()


@dataclass(frozen=True, slots=True)
class BreakdownRow:
    """Prompt usage of a group of blocks.

    Attributes:
        name: The kind of block, or for a tier its strategy's name.
        part: The tool, or the tier; empty if there is none.
        blocks: Number of blocks.
        in_newest: Their tokens in the newest prompt.
        sent: Their tokens summed over all prompts.
        cut: Tokens that a plan removes from them, summed over all prompts; negative if it adds.
        share: `sent` as a share of all prompts' tokens, 0.25 for a quarter.
        cost: Dollars of `sent`; None without a price.
        saved: Dollars that a plan saves on them; negative if it costs more.
    """

    name: str
    part: str
    blocks: int
    in_newest: Figure
    sent: Figure
    cut: Figure
    share: Figure
    cost: Figure
    saved: Figure


@dataclass(frozen=True, slots=True)
class ResentBlock:
    """One block and the cost of resending it.

    Attributes:
        block: Block index.
        tokens: Its tokens, whole.
        calls: Number of prompts with the block.
        sent: Its tokens summed over these prompts.
        share: `sent` as a share of all prompts' tokens, 0.25 for a quarter.
        cost: Dollars of `sent`; None without a price.
    """

    block: int
    tokens: Figure
    calls: int
    sent: Figure
    share: Figure
    cost: Figure


class Breakdown:
    """Prompt usage of blocks under a plan, compared with no plan."""

    def __init__(self, baseline: Replay, planned: Replay) -> None:
        """Compute the cost of carrying every block, with and without the plan."""
        self.baseline, self.planned = baseline, planned
        self.before = resend_cost(baseline)
        self.after = self.before if planned is baseline else resend_cost(planned)
        self._known = lowest_confidence(planned.inputs.scale.known, planned.figures.prompt_tokens.known)

    def by_kind(self) -> tuple[BreakdownRow, ...]:
        """Return a row for every tool's results, every other kind of block, and unrecorded text."""
        history = self.planned.history
        sent = (self.after.calls > 0) | self._next.in_prompt
        injected = injected_blocks(history)
        mine = np.flatnonzero(injected & sent)
        rows = [self._row_of(mine, INJECTED)] if len(mine) else []
        for kind in BlockKind:
            mine = np.flatnonzero((history.kind == kind) & sent & ~injected)
            if kind is not BlockKind.TOOL_RESULT:
                rows += [self._row_of(mine, kind.label)] if len(mine) else []
                continue
            for tool in np.unique(history.tool[mine]).tolist():
                name = history.tool_names[tool] if tool >= 0 else ""
                rows.append(self._row_of(mine[history.tool[mine] == tool], kind.label, name))
        rows.sort(key=lambda row: -(row.sent.value or 0))
        system = self._system()
        rows += [system] if system.sent.value else []
        return (*rows, self._left(rows))

    def by_tier(self) -> dict[tuple[int, str], BreakdownRow]:
        """Return a row for every part of every strategy, over blocks it changed; the last decision on a block wins.

        Keys are the strategy's index among the plan's entries, and the part's name.
        """
        edits, entries = self.planned.edits, self.planned.plan.entries
        rows = edits.in_force(self.planned.history.call_count)
        rows = rows[edits.action[rows] != Action.WHOLE]
        blocks_of: dict[tuple[int, str], list[int]] = {}
        for block, reason_index in zip(edits.block[rows].tolist(), edits.reason[rows].tolist(), strict=True):
            reason = edits.reasons[reason_index]
            if reason.entry != RECORDED:
                blocks_of.setdefault((reason.entry, reason.decision.group), []).append(block)
        return {
            (entry, group): self._row_of(np.array(blocks, dtype=np.int64), entries[entry].strategy.name, group)
            for (entry, group), blocks in blocks_of.items()
        }

    def heaviest(self, count: int) -> tuple[ResentBlock, ...]:
        """Return the tool results that cost most to carry under the plan, by tokens if there is no price."""
        results = self.planned.history.results.astype(np.int64)
        cost = self.after.cost[results]
        weight = self.after.tokens[results] if np.isnan(cost).any() else cost
        order = np.argsort(-weight, kind="stable")[:count]
        return tuple(self.block(int(block)) for block in results[order] if self.after.calls[block])

    def block(self, block: int) -> ResentBlock:
        """Return the cost of carrying one block under the plan."""
        known = self.planned.inputs.scale.known
        tokens, sent = float(self.planned.inputs.block_tokens[block]), round(float(self.after.tokens[block]))
        whole = float(self.planned.ledger.prompt_tokens.sum())
        return ResentBlock(
            block,
            Figure(round(tokens), known),
            int(self.after.calls[block]),
            Figure(sent, known),
            Figure(sent / whole if whole else None, known),
            Figure.of(float(self.after.cost[block]), known),
        )

    def _row_of(self, blocks: NDArray[np.int64], name: str, part: str = "") -> BreakdownRow:
        known = self.planned.inputs.scale.known
        sent = float(self.after.tokens[blocks].sum())
        cut = float(self.before.tokens[blocks].sum()) - sent
        cost = float(self.after.cost[blocks].sum())
        return self._row(
            name, part, len(blocks), self._tokens_in_newest(blocks), sent, cut, cost, self._saved(blocks), known
        )

    def _system(self) -> BreakdownRow:
        """Return the unrecorded part of the system prompt and the tools."""
        before, after = self._system_sent
        cost, cost_before = system_cost(self.planned, after), system_cost(self.baseline, before)
        sent, cut = float(after.sum()), float((before - after).sum())
        newest, known = self._newest.system, self._known
        return self._row(SYSTEM_AND_TOOLS, "", 0, newest, sent, cut, cost, cost_before - cost, known)

    def _left(self, rows: Sequence[BreakdownRow]) -> BreakdownRow:
        """Return the remainder of the prompts and their cost."""

        def rest(total: float, column: str) -> float:
            return total - sum(getattr(row, column).value or 0 for row in rows)

        prompts, before = (float(each.ledger.prompt_tokens.sum()) for each in (self.planned, self.baseline))
        cost, cost_before = (float(each.inputs.rates.cost(each.ledger).sum()) for each in (self.planned, self.baseline))
        return self._row(
            AROUND_TEXTS,
            "",
            0,
            # The rows are rounded: together they may have a token more than the prompts.
            max(rest(float(self._newest.prompt.value or 0), "in_newest"), 0),
            max(rest(prompts, "sent"), 0),
            rest(before - prompts, "cut"),
            rest(cost, "cost"),
            rest(cost_before - cost, "saved"),
            self._known,
        )

    @cached_property
    def _system_sent(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Tokens of the system prompt and the tools per call, without and with the plan."""
        return system_sent(self.baseline, self.before.by_call), system_sent(self.planned, self.after.by_call)

    def _row(
        self,
        name: str,
        part: str,
        blocks: int,
        in_newest: float,
        sent: float,
        cut: float,
        cost: float,
        saved: float,
        known: HowKnown,
    ) -> BreakdownRow:
        prompts = self.planned.figures.prompt_tokens.value
        return BreakdownRow(
            name,
            part,
            blocks,
            Figure(round(in_newest), known),
            Figure(round(sent), known),
            Figure(round(cut), known),
            Figure(sent / prompts if prompts else None, known),
            Figure.of(cost, known),
            Figure.of(saved, known),
        )

    @cached_property
    def _next(self) -> ContextState:
        return self.planned.state(self.planned.history.call_count)

    @cached_property
    def _newest(self) -> ContextBlocks:
        return context_at(self.planned, self._next)

    @cached_property
    def _in_newest(self) -> NDArray[np.float64]:
        """Tokens of every block in the newest prompt."""
        tokens = np.zeros(len(self.planned.history.kind))
        tokens[self._newest.blocks] = self._newest.sent
        return tokens

    def _tokens_in_newest(self, blocks: NDArray[np.int64]) -> float:
        return float(self._in_newest[blocks].sum())

    def _saved(self, blocks: NDArray[np.int64]) -> float:
        return float(self.before.cost[blocks].sum() - self.after.cost[blocks].sum())


class ToolCuts(NamedTuple):
    """Cuts in one tool's results.

    Attributes:
        tool: Its name; empty for results of an unknown tool.
        results: Number of its results that the plan changed at any call.
        original: Counted tokens of these, whole.
        sent: Counted tokens of these when last sent.
        saved: Provider tokens this removed, summed over all prompts; negative if it added.
        known: Confidence of `saved`.
    """

    tool: str
    results: int
    original: int
    sent: int
    saved: int
    known: HowKnown


def cuts_by_tool(breakdown: Breakdown) -> tuple[ToolCuts, ...]:
    """Return a plan's cuts by tool, largest savings first.

    This is the telemetry that the proposal for insertion-time trimming requests, for any plan.
    """
    planned, history = breakdown.planned, breakdown.planned.history
    blocks, sent = _last_sent(planned)
    saved = breakdown.before.tokens[blocks] - breakdown.after.tokens[blocks]
    whole = planned.table.tokens[blocks]
    known = planned.inputs.scale.known
    found = []
    for tool in np.unique(history.tool[blocks]).tolist():
        own = history.tool[blocks] == tool
        name = history.tool_names[tool] if tool >= 0 else ""
        totals = (int(whole[own].sum()), int(sent[own].sum()), round(float(saved[own].sum())))
        found.append(ToolCuts(name, int(own.sum()), *totals, known))
    return tuple(sorted(found, key=lambda row: -row.saved))


def _last_sent(planned: Replay) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the results a plan changed at any call, and their tokens after its last change."""
    edits, history = planned.edits, planned.history
    if not len(edits.block):
        return edits.block, edits.tokens
    acting = (edits.action != Action.WHOLE) & edits.by_plan
    touched = np.unique(edits.block[acting & (history.kind[edits.block] == BlockKind.TOOL_RESULT)])
    last = np.searchsorted(edits.block, touched, side="right") - 1
    return touched, edits.tokens[last]
