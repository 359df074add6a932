"""Tokens of every row of a session that may grow: counted as far as they were, estimated beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.tokens.columns import estimated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.tokens.table import TokenTable


class RowTokens(NamedTuple):
    """What is known of the tokens of every block.

    Attributes:
        tokens: Per block, int32.
        uncounted: Per block, whether that is an estimate from its characters.
    """

    tokens: NDArray[np.int32]
    uncounted: NDArray[np.bool_]


def row_tokens(table: TokenTable, characters: NDArray[np.int32]) -> RowTokens:
    """The tokens of a session's blocks.

    Args:
        table: What was counted; of an earlier state of the session, it may be.
        characters: Per block of the session as it is now, the length of its text.
    """
    uncounted = np.ones(len(characters), dtype=np.bool_)
    known = min(len(table.tokens), len(characters))
    if table.counter.is_exact_tokenizer:
        uncounted[:known] = ~table.block_columns.counted()[:known]
    if known == len(characters):
        # The same array as before, by which it is seen that the order of the rows still holds.
        return RowTokens(table.tokens, uncounted)
    return RowTokens(np.concatenate([table.tokens, estimated(characters[known:]).astype(np.int32)]), uncounted)
