"""Token counts of rows, counted or still estimated, and amounts in the selected prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from inspector.tokens.block_tokens import estimated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.core.rendition import Action
    from inspector.tokens.token_table import TokenTable


LOCAL_ESTIMATE: Final = "local estimate"
"""Label of row tokens, in contrast to prompts, which are reported or calibrated to reported values."""


class RowTokens(NamedTuple):
    """Token counts of all blocks.

    Attributes:
        tokens: Per block, int32.
        uncounted: Per block, True if the count is estimated from characters.
    """

    tokens: NDArray[np.int32]
    uncounted: NDArray[np.bool_]


def row_tokens(table: TokenTable, characters: NDArray[np.int32]) -> RowTokens:
    """Return the token counts of a session's blocks; `table` may be of an earlier state, `characters` is current."""
    uncounted = np.ones(len(characters), dtype=np.bool_)
    known = min(len(table.tokens), len(characters))
    if table.counter.is_exact_tokenizer:
        uncounted[:known] = ~table.block_columns.counted()[:known]
    if known == len(characters):
        # The identical array, by which the view detects that the row order is still valid.
        return RowTokens(table.tokens, uncounted)
    return RowTokens(np.concatenate([table.tokens, estimated(characters[known:]).astype(np.int32)]), uncounted)


class ContextAmounts(Protocol):
    """One call's prompt under a plan, as columns per block."""

    @property
    def in_prompt(self) -> NDArray[np.bool_]: ...

    @property
    def recorded(self) -> NDArray[np.int32]: ...

    @property
    def sent(self) -> NDArray[np.int32]: ...

    @property
    def action(self) -> NDArray[np.uint8]:
        """Applied `Action`."""
        ...


class BlockAmount(NamedTuple):
    """A block's share of the prompt.

    Attributes:
        recorded: Tokens of the whole block.
        sent: Tokens sent, 0 outside the prompt.
        in_prompt: In the prompt, or removed from it by the plan.
        action: Applied action.
        is_estimated: Not all of it has been counted yet.
    """

    recorded: int
    sent: int
    in_prompt: bool
    action: Action
    is_estimated: bool = False

    @property
    def change(self) -> int:
        """Tokens added by the plan, negative if removed."""
        return self.sent - self.recorded if self.in_prompt else 0
