"""Response lengths: as reported, otherwise (including placeholders) measured from their texts.

A streamed response begins with a count of one or a few tokens. Some versions of Claude Code recorded that count and
never corrected it. The length is then measured from the recorded texts and thinking of the response, in the same way as
these blocks in later prompts, on the scale fitted to reported usage. If the file holds nothing measurable, that length
is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.recorded_calls import RecordedCalls
    from inspector.replay.engine.token_scale import TokenScale
    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable


@dataclass(frozen=True, eq=False)
class ResponseTokens:
    """Response lengths per call, in call order.

    Attributes:
        tokens: Tokens of the response, int64.
        is_reported: True if the provider reported them, bool.
        is_lower_bound: True if `tokens` is a lower bound, because part of the response has no known size, bool.
    """

    tokens: NDArray[np.int64]
    is_reported: NDArray[np.bool_]
    is_lower_bound: NDArray[np.bool_]

    @classmethod
    def of(cls, history: History, calls: RecordedCalls, table: TokenTable, scale: TokenScale) -> ResponseTokens:
        """Take reported lengths and measure the rest.

        Args:
            history: The session's columns.
            calls: Recorded data of its calls.
            table: Its token counts.
            scale: Conversion of counted tokens to provider tokens.
        """
        reported, silent, placeholder = calls.output, calls.output < 0, calls.is_placeholder
        tokens, is_lower_bound = reported, np.zeros_like(placeholder)
        if silent.any():
            counted = _within(calls.response, history, table.tokens.astype(np.float64))
            tokens = np.where(silent, np.rint(scale.ratio[:-1] * counted).astype(np.int64), tokens)
        if placeholder.any():
            thinks = history.kind == BlockKind.THINKING
            # Thinking is at least as long as its displayed text, even if its signature measures less.
            uncounted = np.where(thinks, np.maximum(scale.uncounted, 0), scale.uncounted)
            measured = scale.ratio[:-1] * _within(calls.response, history, table.tokens.astype(np.float64))
            measured += _within(calls.response, history, uncounted)
            # The reported count had already been streamed.
            lengths = np.maximum(np.rint(measured).astype(np.int64), reported)
            tokens = np.where(placeholder, lengths, tokens)
            hidden = thinks & (table.tokens == 0) & ~scale.has_signature
            first = history.message_first_block
            is_empty = first[calls.response] == first[calls.response + 1]
            hides = _within(calls.response, history, hidden.astype(np.float64)) > 0
            is_lower_bound = placeholder & (is_empty | hides)
        return cls(tokens, ~silent & ~placeholder, is_lower_bound)


def _within(response: NDArray[np.int64], history: History, column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum a column over the blocks of each response."""
    before = np.concatenate(([0.0], np.cumsum(column)))
    first = history.message_first_block
    found: NDArray[np.float64] = before[first[response + 1]] - before[first[response]]
    return found
