"""Cost of carrying every block: prompts, tokens and dollars for which it was sent again.

Each token of a prompt is charged at its own rate: before the end of the cached prefix the read rate, after it the rate
for writes or uncached input. A result of 4,000 tokens that stays for 118 calls is thus written once, read many times,
and written again at every break before it. The dollars of blocks and of text outside blocks (system prompt, tool
definitions) add up to the prompts' dollars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.context_breakdown import system_by_call
from inspector.replay.engine.prefix_sums_2d import prefix_sums
from inspector.strategies.core.rendition import Action

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.prompt_layout import ContextLayout
    from inspector.replay.engine.replay import Replay


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
    """Return the tokens of runs per call."""
    changes = np.zeros(count + 1, dtype=np.int64)
    np.add.at(changes, first, tokens)
    np.subtract.at(changes, last, tokens)
    return np.cumsum(changes)[:count].astype(np.float64)


def _stretches(
    replay: Replay, context: ContextLayout, calls: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return runs of calls with a constant size of a block.

    Returns:
        Tokens, position in the context, first call and call after the last, both counted within the context.
    """
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
