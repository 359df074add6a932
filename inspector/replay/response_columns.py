"""What prompts hold of responses whose length the provider reported: columns a calibration can fit in place of counts.

See `inspector.tokens.readings` for what is made of reasoning. Where the provider does not report reasoning apart, it is
what the length leaves when the response's texts are taken away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.recorded_calls import recorded_calls
from inspector.session.model import BlockKind
from inspector.tokens.ratios import typical_coefficients
from inspector.tokens.readings import PromptColumns, Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.history.history import History
    from inspector.tokens.table import TokenTable

    Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Responses:
    """The responses of a session whose length was reported, by their first block.

    Attributes:
        tokens: Per block, the reported tokens of the response it begins, 0 elsewhere, int64.
        reasoning: Of these, the reasoning, int64.
        measured: Per block, it is part of such a response, bool.
    """

    tokens: Integers
    reasoning: Integers
    measured: NDArray[np.bool_]

    @classmethod
    def of(cls, history: History, table: TokenTable) -> Responses:
        """Those of a session."""
        count = len(history.kind)
        tokens, reasoning = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        calls = recorded_calls(history)
        first, last = history.message_first_block[calls.response], history.message_first_block[calls.response + 1]
        told = (calls.output > 0) & ~calls.is_placeholder & (first < last)
        if not told.any():
            return cls(tokens, reasoning, np.zeros(count, dtype=bool))
        first, last, output, apart = first[told], last[told], calls.output[told], calls.reasoning[told]
        ratio = np.array([typical_coefficients(model).ratio for model in calls.models.names])[calls.models.code[told]]
        thinking = history.kind == BlockKind.THINKING
        texts = np.concatenate(([0], np.cumsum(np.where(thinking, 0, table.tokens), dtype=np.int64)))
        thoughts = np.concatenate(([0], np.cumsum(thinking, dtype=np.int64)))
        left = np.maximum(output - np.rint(ratio * (texts[last] - texts[first])).astype(np.int64), 0)
        hidden = np.where(thoughts[last] > thoughts[first], left, 0)
        tokens[first] = output
        reasoning[first] = np.where(apart > 0, np.minimum(apart, output), hidden)
        edges = np.zeros(count + 1, dtype=np.int64)
        np.add.at(edges, first, 1)
        np.add.at(edges, last, -1)
        measured = np.cumsum(edges)[:count] > 0
        return cls(tokens, reasoning, measured)


def response_columns(history: History, table: TokenTable) -> dict[Reading, PromptColumns]:
    """Per reading, what every call's prompt holds, the next one's included; empty where no length was reported."""
    responses = Responses.of(history, table)
    if not responses.measured.any():
        return {}
    counted = np.where(responses.measured, 0, table.tokens).astype(np.int64)
    blocks = (history.kind != BlockKind.OTHER).astype(np.int64)
    per_block = np.stack((counted, blocks, responses.tokens, responses.reasoning))
    begins = responses.tokens > 0
    size = history.call_count + 1
    sums = np.zeros((4, size), dtype=np.int64)
    since_user, last = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for members, calls in history.calls_of_contexts():
        if not len(calls):
            continue
        own = history.blocks_of(members)
        before = np.concatenate((np.zeros((4, 1), dtype=np.int64), np.cumsum(per_block[:, own], axis=1)), axis=1)
        counts = history.message_first_block[members + 1] - history.message_first_block[members]
        ends = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))[history.call_prompt_messages[calls]]
        sums[:, calls] = before[:, ends]
        since_user[calls] = before[3, ends] - before[3, _last(history.kind[own] == BlockKind.USER_TEXT)[ends]]
        last[calls] = before[3, ends] - before[3, _last(begins[own])[ends]]
    texts, count, tokens, reasoning = sums
    kept = {
        Reading.KEPT: reasoning,
        Reading.SINCE_USER: since_user,
        Reading.LAST: last,
        Reading.DROPPED: np.zeros_like(reasoning),
    }
    return {each: PromptColumns(texts, count, tokens - reasoning + held) for each, held in kept.items()}


def _last(places: NDArray[np.bool_]) -> Integers:
    """Per number of blocks at the beginning, where the last of the marked ones among them is; 0 for none."""
    marked = np.where(places, np.arange(len(places)), 0)
    return np.concatenate(([0], np.maximum.accumulate(marked, dtype=np.int64)))
