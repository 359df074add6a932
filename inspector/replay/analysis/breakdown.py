"""Prompt tokens by tool and kind of text, summed over all calls, and the part without recorded text.

Tokens are the provider's. A result that stays for a hundred calls is sent a hundred times; `in_newest` is its size in
the newest prompt. Rows add up to the prompts: the remainder after all texts is in the last rows
(`inspector.replay.analysis.context_breakdown`).

Cost of carrying every block: prompts, tokens and dollars for which it was sent again.

Each token of a prompt is charged at its own rate: before the end of the cached prefix the read rate, after it the rate
for writes or uncached input. A result of 4,000 tokens that stays for 118 calls is thus written once, read many times,
and written again at every break before it. The dollars of blocks and of text outside blocks (system prompt, tool
definitions) add up to the prompts' dollars.

Sizes of single tool results by the provider's count: the difference of two reported prompts.

If a prompt grew by a response and one result, it contains the previous prompt, the response with its reported length,
and the result: the remainder is the result with its envelope. Calls are skipped if the file does not record other
changes (`Calibration.shifts`), if the response length is a placeholder, or if the treatment of its reasoning is
unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np

from inspector.replay.analysis.context_blocks import (
    AROUND_TEXTS,
    INJECTED,
    NOT_RECORDED,
    NOT_RECORDED_SHORT,
    SYSTEM_AND_TOOLS,
    context_at,
    injected_blocks,
    system_by_call,
    system_cost,
    system_sent,
)
from inspector.replay.engine.edits import RECORDED
from inspector.replay.engine.prompt_edits import prefix_sums
from inspector.replay.engine.recorded_calls import deduplicated_prompts
from inspector.replay.figure import Figure, HowKnown, lowest_confidence
from inspector.replay.quantity import Count, FigureResult, Known, Unit, about, figure
from inspector.session.model import BlockKind
from inspector.strategies.core.operations import Action
from inspector.tokens.calibration import ResponseModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.replay.analysis.context_blocks import ContextBlocks
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.prompt_layout import ContextLayout
    from inspector.replay.engine.replay import ContextState, Replay


@dataclass(frozen=True, eq=False)
class ResendCost:
    """Resend totals per block of the session, over all recorded calls.

    Attributes:
        calls: Number of prompts with the block, int64.
        tokens: Its tokens summed over these prompts, on the provider's scale, float64; for thinking, of its signature
            or reported length.
        cost: Dollars of those tokens, NaN if a call has no price, float64.
        by_call: Per call, tokens of all its blocks; never more than its prompt, float64.
    """

    calls: NDArray[np.int64]
    tokens: NDArray[np.float64]
    cost: NDArray[np.float64]
    by_call: NDArray[np.float64]


def resend_cost(replay: Replay) -> ResendCost:
    """Compute the cost of carrying each block under a replay's plan."""
    count, calls = len(replay.history.kind), replay.history.call_count
    result = ResendCost(np.zeros(count, dtype=np.int64), np.zeros(count), np.zeros(count), np.zeros(calls))
    read_rate, other_rate = replay.inputs.rates.read_and_other(replay.ledger)
    system = system_by_call(replay.inputs)[:-1]
    for context in replay.inputs.layout.contexts:
        _add_context(replay, context, read_rate, other_rate, system, result)
    return result


def _add_context(
    replay: Replay,
    context: ContextLayout,
    read_rate: NDArray[np.float64],
    other_rate: NDArray[np.float64],
    system: NDArray[np.float64],
    result: ResendCost,
) -> None:
    calls = context.calls[context.calls < replay.history.call_count]
    if not len(calls) or not len(context.blocks):
        return
    tokens, owners, first, last = _stretches(replay, context, calls)
    in_prompt = _sums(tokens, first, last, len(calls))
    prompt, cache_read = replay.ledger.prompt_tokens[calls], replay.ledger.cache_read[calls]
    ratio = within_prompt(replay.inputs.sizes.ratio[calls], in_prompt, prompt)
    result.by_call[calls] = ratio * in_prompt
    in_all = np.concatenate(([0.0], np.cumsum(ratio)))
    # Price each call's tokens at the read rate, and add the difference for blocks after the cached prefix.
    at_read = np.concatenate(([0.0], np.cumsum(ratio * read_rate[calls])))
    # A cacheable prefix may have been evicted, or never written.
    read_blocks = np.where(cache_read > 0, replay.reusable_blocks[calls], 0)
    positions = owners.astype(np.int64)
    # A prefix ends at a block, a read inside one: blocks after it have no more than the tokens that were not read.
    behind_read = in_prompt - _before(tokens, positions, first, last, read_blocks)
    unread_system = np.maximum(np.minimum(system[calls], prompt - ratio * in_prompt) - cache_read, 0)
    unread = np.maximum(prompt - cache_read - unread_system, 0)
    extra = within_prompt(ratio, behind_read, unread) * (other_rate - read_rate)[calls]
    behind = prefix_sums(read_blocks, extra, last, positions + 1) - prefix_sums(
        read_blocks, extra, first, positions + 1
    )
    blocks = context.blocks[owners]
    np.add.at(result.calls, blocks, last - first)
    np.add.at(result.tokens, blocks, tokens * (in_all[last] - in_all[first]))
    np.add.at(result.cost, blocks, tokens * (at_read[last] - at_read[first] + behind))


def within_prompt(
    ratio: NDArray[np.float64], counted: NDArray[np.float64], prompt: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return provider tokens per counted token of texts, reduced where they would exceed their prompt.

    `ReplayInputs.sizes` limits texts together with their envelopes, which may be negative: a response can be reported
    shorter than its text.

    Args:
        ratio: Per call, provider tokens per counted token.
        counted: Per call, counted tokens of its texts as sent.
        prompt: Per call, provider tokens of its prompt.
    """
    room: NDArray[np.float64] = prompt / np.maximum(counted, 1)
    return np.minimum(ratio, room)


def _before(
    tokens: NDArray[np.int64],
    positions: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return per call the tokens of runs before a position: of those that have begun, less those that have ended."""
    calls = np.arange(len(ends))
    begun, ended = np.argsort(first, kind="stable"), np.argsort(last, kind="stable")
    started = prefix_sums(positions[begun], tokens[begun], np.searchsorted(first[begun], calls, side="right"), ends)
    return started - prefix_sums(
        positions[ended], tokens[ended], np.searchsorted(last[ended], calls, side="right"), ends
    )


def _sums(
    tokens: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    changes = np.zeros(count + 1, dtype=np.int64)
    np.add.at(changes, first, tokens)
    np.subtract.at(changes, last, tokens)
    return np.cumsum(changes)[:count].astype(np.float64)


def _stretches(
    replay: Replay, context: ContextLayout, calls: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return runs of calls with a constant size of a block: tokens, place, first call, call after the last."""
    edits = replay.edits
    enters = np.searchsorted(context.prompt_blocks[: len(calls)], np.arange(len(context.blocks)), side="right")
    positions = context.positions(edits.block)
    at = np.searchsorted(calls, edits.call)
    inside = (positions >= 0) & (at < len(calls))
    positions, at, sent = positions[inside], at[inside], edits.tokens[inside].astype(np.int64)
    at = np.maximum(at, enters[positions])
    uncounted = replay.inputs.layout.thinking_uncounted
    sent += np.where(edits.action[inside] == Action.REMOVED, 0, uncounted[edits.block[inside]])
    owners = np.concatenate((np.arange(len(context.blocks)), positions))
    starts = np.concatenate((enters, at))
    tokens = np.concatenate((context.tokens + uncounted[context.blocks], sent))
    # Changes follow the whole block they change, in call order, so a stable sort preserves that order.
    order = np.argsort(owners, kind="stable")
    owners, starts, tokens = owners[order], starts[order], tokens[order]
    ends = np.full(len(owners), len(calls), dtype=np.int64)
    same = owners[1:] == owners[:-1]
    ends[:-1][same] = starts[1:][same]
    kept = ends > starts
    return tokens[kept], owners[kept].astype(np.int64), starts[kept].astype(np.int64), ends[kept]


def part_label(name: str, part: str, room: int = len(NOT_RECORDED)) -> str:
    """Return the label for a kind of block or a tool's results; `room` selects a shorter label without clipping."""
    if name == SYSTEM_AND_TOOLS:
        return NOT_RECORDED if room >= len(NOT_RECORDED) else NOT_RECORDED_SHORT
    return f"{name} {part}".rstrip()


class BreakdownRow(FigureResult, frozen=True, kw_only=True):
    """Prompt tokens of one kind of block, of one tool's results, or of the blocks of a tier."""

    kind: Annotated[str, about("Kind of block; the last two rows are content that the file does not hold.")]
    tool: Annotated[str, about("The tool, for tool results; empty for other kinds.")]
    blocks: Annotated[Count, figure("blocks", Unit.COUNT, "Number of blocks.", hides_zero=True)]
    carried_tokens: Annotated[
        int | None,
        figure(
            "in the newest prompt",
            Unit.TOKENS,
            "Tokens of these blocks in the newest prompt.",
            short="newest",
        ),
    ]
    sent_tokens: Annotated[
        int | None,
        figure(
            "token-calls",
            Unit.TOKENS,
            "Tokens of these blocks, counted once for every call that sent them.",
        ),
    ]
    cut_tokens: Annotated[
        int | None,
        figure(
            "token-calls cut",
            Unit.TOKENS,
            "Tokens the plan removes from these blocks, counted once for every call.",
            short="cut",
            saves=True,
        ),
    ]
    share: Annotated[
        float | None, figure("of all", Unit.SHARE, "`sent_tokens` as a share of all prompts: 0.25 for a quarter.")
    ]
    usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Dollars of `sent_tokens`; null without a price.")]
    saved_usd: Annotated[
        float | None,
        figure(
            "saved",
            Unit.DOLLARS,
            "Dollars the plan saves on these blocks; negative if it costs more.",
            short="saved",
            saves=True,
        ),
    ]
    known: Known


class ResentBlock(FigureResult, frozen=True, kw_only=True):
    """One tool result and the cost of resending it, without a plan."""

    tool: Annotated[str, about("The tool.")]
    message: Annotated[Count, figure("message", Unit.COUNT, "Message of the result, counted from 1.", short="#")]
    tokens: Annotated[int | None, figure("tokens", Unit.TOKENS, "Tokens of the result.")]
    calls: Annotated[Count, figure("times sent", Unit.CALLS, "Prompts that contained the result.")]
    sent_tokens: Annotated[
        int | None,
        figure("token-calls", Unit.TOKENS, "Tokens of the result, counted once for every call that sent it."),
    ]
    usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Dollars of these tokens; null without a price.")]
    known: Known
    text: Annotated[
        str,
        about(
            "Start of the result's text, without the agent's wrapper, with secrets masked; empty unless texts were "
            "requested."
        ),
    ] = ""


class ToolCuts(FigureResult, frozen=True, kw_only=True):
    """Cuts of a plan in one tool's results."""

    tool: Annotated[str, about("The tool; empty if unknown.")]
    results: Annotated[Count, figure("results", Unit.COUNT, "Results of the tool that the plan changed at any call.")]
    original_tokens: Annotated[Count, figure("original, local count", Unit.TOKENS, "`recorded_tokens`, local count.")]
    sent_tokens: Annotated[Count, figure("sent, local count", Unit.TOKENS, "`left_tokens`, local count.")]
    recorded_tokens: Annotated[Count, figure("original", Unit.TOKENS, "Tokens of these results as recorded.")]
    left_tokens: Annotated[Count, figure("sent", Unit.TOKENS, "Tokens of these results as last sent.")]
    saved_tokens: Annotated[
        int,
        figure(
            "token-calls cut",
            Unit.TOKENS,
            "Tokens removed, counted once for every call; negative if tokens were added.",
            short="cut",
            saves=True,
        ),
    ]
    known: Known


class Breakdown:
    """Prompt usage of blocks under a plan, compared with no plan."""

    def __init__(self, baseline: Replay, planned: Replay) -> None:
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
        rows.sort(key=lambda row: -(row.sent_tokens or 0))
        system = self._system()
        rows += [system] if system.sent_tokens else []
        return (*rows, self._left(rows))

    def by_tier(self) -> dict[tuple[int, str], BreakdownRow]:
        """Return a row per entry index and part's name, over the blocks that its last decision changed."""
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

    def heaviest(self, count: int) -> dict[int, ResentBlock]:
        """Return the tool results that cost most to carry under the plan by block, by tokens if there is no price."""
        results = self.planned.history.results.astype(np.int64)
        cost = self.after.cost[results]
        weight = self.after.tokens[results] if np.isnan(cost).any() else cost
        order = np.argsort(-weight, kind="stable")[:count]
        return {block: self.block(block) for block in results[order].tolist() if self.after.calls[block]}

    def block(self, block: int) -> ResentBlock:
        known = self.planned.inputs.scale.known
        history = self.planned.history
        return ResentBlock.of(
            tool=history.session.all_blocks[block].tool_name,
            message=int(history.message[block]) + 1,
            tokens=Figure(int(self.planned.inputs.block_tokens[block]), known),
            calls=int(self.after.calls[block]),
            sent_tokens=Figure(round(float(self.after.tokens[block])), known),
            usd=Figure.of(float(self.after.cost[block]), known),
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
            return total - sum(getattr(row, column) or 0 for row in rows)

        prompts, before = (float(each.ledger.prompt_tokens.sum()) for each in (self.planned, self.baseline))
        cost, cost_before = (float(each.inputs.rates.cost(each.ledger).sum()) for each in (self.planned, self.baseline))
        return self._row(
            AROUND_TEXTS,
            "",
            0,
            # The rows are rounded: together they may have a token more than the prompts.
            max(rest(float(self._newest.prompt.value or 0), "carried_tokens"), 0),
            max(rest(prompts, "sent_tokens"), 0),
            rest(before - prompts, "cut_tokens"),
            rest(cost, "usd"),
            rest(cost_before - cost, "saved_usd"),
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
        return BreakdownRow.of(
            kind=name,
            tool=part,
            blocks=blocks,
            carried_tokens=Figure(round(in_newest), known),
            sent_tokens=Figure(round(sent), known),
            cut_tokens=Figure(round(cut), known),
            share=Figure(sent / prompts if prompts else None, known),
            usd=Figure.of(cost, known),
            saved_usd=Figure.of(saved, known),
        )

    @cached_property
    def _next(self) -> ContextState:
        return self.planned.state(self.planned.history.call_count)

    @cached_property
    def _newest(self) -> ContextBlocks:
        return context_at(self.planned, self._next)

    @cached_property
    def _in_newest(self) -> NDArray[np.float64]:
        tokens = np.zeros(len(self.planned.history.kind))
        tokens[self._newest.blocks] = self._newest.sent
        return tokens

    def _tokens_in_newest(self, blocks: NDArray[np.int64]) -> float:
        return float(self._in_newest[blocks].sum())

    def _saved(self, blocks: NDArray[np.int64]) -> float:
        return float(self.before.cost[blocks].sum() - self.after.cost[blocks].sum())


def cuts_by_tool(breakdown: Breakdown) -> tuple[ToolCuts, ...]:
    """Return a plan's cuts by tool, largest savings first, as proposed for trimming at insertion."""
    planned, history = breakdown.planned, breakdown.planned.history
    blocks, sent = _last_sent(planned)
    saved = breakdown.before.tokens[blocks] - breakdown.after.tokens[blocks]
    inputs, known = planned.inputs, planned.inputs.scale.known
    counted, whole = planned.table.tokens[blocks], inputs.block_tokens[blocks]
    left = np.rint(inputs.block_ratio[blocks] * sent)
    found = []
    for tool in np.unique(history.tool[blocks]).tolist():
        own = history.tool[blocks] == tool
        name = history.tool_names[tool] if tool >= 0 else ""
        found.append(
            ToolCuts.of(
                tool=name,
                results=int(own.sum()),
                original_tokens=Figure(int(counted[own].sum()), HowKnown.ESTIMATED),
                sent_tokens=Figure(int(sent[own].sum()), HowKnown.ESTIMATED),
                recorded_tokens=Figure(int(whole[own].sum()), known),
                left_tokens=Figure(int(left[own].sum()), known),
                saved_tokens=Figure(round(float(saved[own].sum())), known),
            )
        )
    return tuple(sorted(found, key=lambda row: -row.saved_tokens))


def _last_sent(planned: Replay) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the results a plan changed at any call, and their tokens after its last change."""
    edits, history = planned.edits, planned.history
    if not len(edits.block):
        return edits.block, edits.tokens
    acting = (edits.action != Action.WHOLE) & edits.by_plan
    touched = np.unique(edits.block[acting & (history.kind[edits.block] == BlockKind.TOOL_RESULT)])
    last = np.searchsorted(edits.block, touched, side="right") - 1
    return touched, edits.tokens[last]


def results_by_difference(inputs: ReplayInputs) -> Mapping[int, int]:
    """Return tokens of every tool result that was the only addition of its call, by block index."""
    history, session = inputs.history, inputs.history.session
    count = history.call_count
    if not count:
        return {}
    previous = inputs.layout.previous_call[:-1]
    shifted = {shift.call for shift in inputs.scale.calibration.shifts}
    entered = history.enters.astype(np.int64)
    sent = np.flatnonzero((history.kind != BlockKind.OTHER) & (entered >= 0) & (entered < count))
    responses = np.array([call.response for call in session.calls], dtype=np.int64)
    # Blocks that the call added besides the previous response.
    given = sent[~np.isin(history.message[sent], responses)]
    calls, first, blocks = np.unique(entered[given], return_index=True, return_counts=True)
    measured = deduplicated_prompts(history)
    found: dict[int, int] = {}
    for call, block in zip(calls[blocks == 1].tolist(), given[first[blocks == 1]].tolist(), strict=True):
        before = int(previous[call])
        if before < 0 or call in shifted or history.kind[block] != BlockKind.TOOL_RESULT:
            continue
        now, then = session.calls[call].usage, session.calls[before].usage
        if (
            now is None
            or then is None
            or then.output_is_placeholder
            or session.calls[call].model != (session.calls[before].model)
        ):
            continue
        held = _held(inputs, before)
        if held is None or inputs.recorded_removed[call] != inputs.recorded_removed[before]:
            continue
        tokens = int(measured[call] - measured[before]) - held
        if tokens > 0:
            found[block] = tokens
    return found


def _held(inputs: ReplayInputs, call: int) -> int | None:
    """Return the response tokens included in the next prompt; None if the treatment of reasoning is unknown."""
    session = inputs.history.session
    made = session.calls[call]
    if made.usage is None:
        return None
    blocks = session.messages[made.response].blocks
    if not made.usage.reasoning and not any(block.kind is BlockKind.THINKING for block in blocks):
        return made.usage.output
    reading = inputs.scale.calibration.readings.get(made.model, ResponseModel.SIGNATURES)
    if reading in (ResponseModel.KEPT, ResponseModel.SINCE_USER, ResponseModel.LAST):
        return made.usage.output
    if reading is ResponseModel.DROPPED and made.usage.reasoning:
        return made.usage.output - made.usage.reasoning
    return None
