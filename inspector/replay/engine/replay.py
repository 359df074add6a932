"""Replay a plan over every call of a session: prompts, cache behavior and cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inspector.errors import InspectorError
from inspector.replay.engine.edits import RECORDED, Edits
from inspector.replay.engine.ledger import (
    Figures,
    Ledger,
    figures_of,
    how_known,
    ledger_of,
    served_usage,
)
from inspector.replay.engine.prompt_edits import PromptEdits
from inspector.replay.engine.simulation import NextCall, plan_edits
from inspector.session.model import BlockKind
from inspector.strategies.core.operations import Action, Rendition
from inspector.strategies.registry import raise_for_plug_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.pricing.rates import ServedPrompts
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan
    from inspector.tokens.token_table import TokenTable


@dataclass(frozen=True, eq=False)
class ContextState:
    """State of every block at one call, as columns over all blocks of the session.

    Attributes:
        call: The call; the number of recorded calls is the next prompt.
        in_prompt: The block is part of this call's prompt, bool. A removed block is, with nothing sent.
        recorded: Its tokens, whole, int32.
        sent: Its tokens as sent; 0 if it is not in the prompt, int32.
        action: `Action`, uint8.
        row: Row of `Replay.edits` in force, -1 for none, int64.
    """

    call: int
    in_prompt: NDArray[np.bool_]
    recorded: NDArray[np.int32]
    sent: NDArray[np.int32]
    action: NDArray[np.uint8]
    row: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GroupEffect:
    """Effect of one part of a strategy: a tier, or the whole strategy if it has no parts.

    Attributes:
        entry: Index of the strategy among the plan's entries.
        group: The part's name; empty for the whole strategy.
        results: Blocks it decided about, including blocks left whole.
        touched: Blocks it changed at any call.
        tokens_before: Provider tokens of the touched blocks, whole; for thinking, of its signature or reported length.
        tokens_cut: Tokens finally removed from them; negative if it adds.
        are_results: True if all changed blocks are tool results.
    """

    entry: int
    group: str
    results: int
    touched: int
    tokens_before: int
    tokens_cut: int
    are_results: bool = True


@dataclass(frozen=True, eq=False)
class Replay:
    """A plan replayed over every call of a session, with its figures, prompts and blocks.

    Attributes:
        prompt_edits: The edits located in the prompts.
        ledger: One row of figures per call.
        reusable_blocks: Per call including the next one, number of leading cacheable blocks, int64.
    """

    inputs: ReplayInputs
    plan: Plan
    edits: Edits
    prompt_edits: PromptEdits
    ledger: Ledger
    figures: Figures
    reusable_blocks: NDArray[np.int64]

    @property
    def history(self) -> History:
        return self.inputs.history

    @property
    def table(self) -> TokenTable:
        return self.inputs.table

    @property
    def invalidated_calls(self) -> NDArray[np.intp]:
        """Calls at which an edit invalidates cached tokens, ascending."""
        return self._rewritten[0]

    @property
    def usage_without_edits(self) -> ServedPrompts:
        """Cache usage of `invalidated_calls` if no edit invalidated the cache."""
        return self._rewritten[1]

    @cached_property
    def _rewritten(self) -> tuple[NDArray[np.intp], ServedPrompts]:
        inputs = self.inputs
        unbroken = self.prompt_edits.reusable(inputs.cached_blocks, unbroken=True, breakpoints=inputs.breakpoints)
        calls = np.flatnonzero(unbroken.blocks[:-1] != self.reusable_blocks[:-1])
        return calls, served_usage(self.inputs, unbroken, self.ledger.prompt_tokens, calls)

    @cached_property
    def groups(self) -> tuple[GroupEffect, ...]:
        """Effects of each part of each enabled strategy, in the plan's order."""
        edits = self.edits
        rows = edits.in_force(self.history.call_count)
        rows = rows[edits.action[rows] != Action.WHOLE]
        ratio = float(self.inputs.sizes.ratio[-1])
        uncounted = self.inputs.layout.thinking_uncounted[edits.block[rows]]
        before = self.table.tokens[edits.block[rows]] + uncounted
        cut = before - edits.tokens[rows] - np.where(edits.action[rows] == Action.REMOVED, 0, uncounted)
        others = self.history.kind[edits.block[rows]] != BlockKind.TOOL_RESULT
        columns = (np.ones_like(before), before, cut, others)
        count = len(edits.reasons)
        totals = [np.bincount(edits.reason[rows], column, count).astype(np.int64).tolist() for column in columns]
        sums: dict[tuple[int, str], list[int]] = {key: [0, 0, 0, 0] for key in edits.considered}
        for reason, *of_reason in zip(edits.reasons, *totals, strict=True):
            if any(of_reason):
                total = sums.setdefault((reason.entry, reason.decision.group), [0, 0, 0, 0])
                total[:] = [one + other for one, other in zip(total, of_reason, strict=True)]
        return tuple(
            GroupEffect(
                entry,
                group,
                edits.considered.get((entry, group), touched),
                touched,
                round(ratio * whole),
                round(ratio * left_out),
                not others,
            )
            for (entry, group), (touched, whole, left_out, others) in sums.items()
            if entry != RECORDED and (edits.considered.get((entry, group)) or touched)
        )

    def state(self, call: int) -> ContextState:
        """Return the state of every block at a call; `history.call_count` is the next one."""
        history, edits = self.history, self.edits
        in_prompt = np.zeros(len(history.kind), dtype=bool)
        in_prompt[history.prompt(call)] = True
        recorded = self.table.tokens
        sent = recorded.astype(np.int32)
        action = np.zeros(len(sent), dtype=np.uint8)
        row = np.full(len(sent), -1, dtype=np.int64)
        rows = edits.in_force(call)
        blocks = edits.block[rows]
        sent[blocks] = edits.tokens[rows]
        action[blocks] = edits.action[rows]
        row[blocks] = np.where(edits.action[rows] == Action.WHOLE, -1, rows)
        sent[~in_prompt] = 0
        return ContextState(call, in_prompt, recorded, sent, action, row)

    def rendition(self, block: int, call: int) -> Rendition:
        row = self.edits.row(block, call)
        stack = self.edits.stacks[self.edits.stack[row]] if row >= 0 else ()
        return self.inputs.renderer.rendition(block, stack)

    def changed_renditions(self, call: int) -> dict[int, Rendition]:
        """Return the renditions at a call of all blocks changed by then, by block index."""
        rows = self.edits.in_force(call)
        blocks, stacks = self.edits.block[rows].tolist(), self.edits.stack[rows].tolist()
        stack_of = self.edits.stacks
        return {
            block: self.inputs.renderer.rendition(block, stack_of[stack])
            for block, stack in zip(blocks, stacks, strict=True)
        }

    def text(self, block: int, call: int) -> str:
        """Return the text of a block as sent at a call; raise `TextUnavailableError` if the file lost it."""
        session = self.history.session
        return self.rendition(block, call).text(session.text(session.blocks[block]))

    def reason(self, block: int, call: int) -> str:
        """Return why a block is not sent whole at a call, including the strategy's name; empty if it is whole."""
        row = self.edits.row(block, call)
        if row < 0 or self.edits.action[row] == Action.WHOLE:
            return ""
        reason = self.edits.reasons[self.edits.reason[row]]
        decided = reason.decision.reason
        return decided if reason.entry == RECORDED else f"{self.plan.entries[reason.entry].strategy.name}: {decided}"

    def changed_at(self, block: int, call: int) -> int:
        """Return the first call with the rendition that a block has at `call`; -1 if it is sent as recorded."""
        row = self.edits.row(block, call)
        return int(self.edits.call[row]) if row >= 0 else -1


def replay(inputs: ReplayInputs, plan: Plan, next_call: NextCall | None = None) -> Replay:
    """Replay every call of a session under a plan.

    Work is proportional to the plan's changes plus the number of calls, not to calls times blocks.

    Args:
        plan: The plan; `Plan()` changes nothing.

    Raises:
        FailedPlugInError: A strategy of another package failed.
    """
    try:
        edits = plan_edits(inputs.history_of_window, inputs.renderer, plan, inputs.sizes, next_call)
    except InspectorError:
        raise
    except Exception as error:
        raise_for_plug_in(error, plan.strategies)
        raise
    return replay_of_edits(inputs, plan, edits)


def replay_of_edits(inputs: ReplayInputs, plan: Plan, edits: Edits) -> Replay:
    prompt_edits = PromptEdits.of(inputs.layout, edits)
    reusable = prompt_edits.reusable(inputs.cached_blocks, breakpoints=inputs.breakpoints)
    ledger = ledger_of(inputs, prompt_edits, reusable, edits.model_calls)
    untouched = not any(entry.enabled for entry in plan.entries) or not edits.by_plan.any()
    known = how_known(inputs, untouched=untouched)
    figures = figures_of(
        ledger,
        *known,
        prices=inputs.prices_known,
        lacks_output=inputs.lacks_output,
        lacks_prices=inputs.lacks_prices,
        lacks_usage=inputs.lacks_usage,
    )
    return Replay(inputs, plan, edits, prompt_edits, ledger, figures, reusable.blocks)
