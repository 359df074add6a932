"""Tokens of every row, counted or still estimated, and what they come to in the prompt looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from inspector.tokens.block_tokens import estimated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.core.rendition import Action
    from inspector.tokens.token_table import TokenTable


LOCAL_ESTIMATE: Final = "local estimate"
"""What a row's tokens are called where others are near: those of prompts are reported, or fitted to what is."""


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


class ContextAmounts(Protocol):
    """One call's prompt under a plan, as columns a block: what a replay says of it."""

    @property
    def in_prompt(self) -> NDArray[np.bool_]:
        """Whether the prompt holds the block."""
        ...

    @property
    def recorded(self) -> NDArray[np.int32]:
        """Tokens of the block as recorded."""
        ...

    @property
    def sent(self) -> NDArray[np.int32]:
        """Tokens of the block as sent."""
        ...

    @property
    def action(self) -> NDArray[np.uint8]:
        """What was done to it, `Action`."""
        ...


class BlockAmount(NamedTuple):
    """One block's part of the prompt.

    Attributes:
        recorded: Tokens of the whole block.
        sent: Tokens sent, 0 outside the prompt.
        in_prompt: The prompt holds it, or would if the plan had not removed it.
        action: What was done to it.
        is_estimated: Not all of it was counted yet.
    """

    recorded: int
    sent: int
    in_prompt: bool
    action: Action
    is_estimated: bool = False

    @property
    def change(self) -> int:
        """Tokens the plan added, negative for those it took away."""
        return self.sent - self.recorded if self.in_prompt else 0
