"""How long responses were: as reported, and where that was not or is no more than a placeholder, by their texts.

A response that is streamed begins with a count of one or a few tokens. Some versions of Claude Code recorded that count
and never corrected it. What the file holds of such a response, its texts and its thinking, tells how long it was:
measured as the same blocks measure in the prompts that hold them later, on the scale that is fitted to reported usage.
Where the file holds neither a text nor anything else that could be measured, the response was at least as long as that.
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
    """Per call, in call order.

    Attributes:
        tokens: Tokens of its response, int64.
        is_reported: The provider reported them, bool.
        is_least: The response was at least so long: nothing tells the size of some of it, bool.
    """

    tokens: NDArray[np.int64]
    is_reported: NDArray[np.bool_]
    is_least: NDArray[np.bool_]

    @classmethod
    def of(cls, history: History, calls: RecordedCalls, table: TokenTable, scale: TokenScale) -> ResponseTokens:
        """Take what was reported, and measure the rest.

        Args:
            history: The session's columns.
            calls: What its calls say of themselves.
            table: Its token counts.
            scale: The provider's tokens for the counted ones.
        """
        reported, silent, placeholder = calls.output, calls.output < 0, calls.is_placeholder
        tokens, is_least = reported, np.zeros_like(placeholder)
        if silent.any():
            counted = _within(calls.response, history, table.tokens.astype(np.float64))
            tokens = np.where(silent, np.rint(scale.ratio[:-1] * counted).astype(np.int64), tokens)
        if placeholder.any():
            thinks = history.kind == BlockKind.THINKING
            # Thinking was at least as long as the text that is shown of it, whatever its signature measures.
            beside = np.where(thinks, np.maximum(scale.beside, 0), scale.beside)
            measured = scale.ratio[:-1] * _within(calls.response, history, table.tokens.astype(np.float64))
            measured += _within(calls.response, history, beside)
            # That much had been streamed when it was reported.
            lengths = np.maximum(np.rint(measured).astype(np.int64), reported)
            tokens = np.where(placeholder, lengths, tokens)
            hidden = thinks & (table.tokens == 0) & ~scale.has_signature
            first = history.message_first_block
            is_empty = first[calls.response] == first[calls.response + 1]
            hides = _within(calls.response, history, hidden.astype(np.float64)) > 0
            is_least = placeholder & (is_empty | hides)
        return cls(tokens, ~silent & ~placeholder, is_least)


def _within(response: NDArray[np.int64], history: History, column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per response, the sum of a column over its blocks."""
    before = np.concatenate(([0.0], np.cumsum(column)))
    first = history.message_first_block
    found: NDArray[np.float64] = before[first[response + 1]] - before[first[response]]
    return found
