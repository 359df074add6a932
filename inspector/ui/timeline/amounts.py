"""What a row's tokens come to in the prompt looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from inspector.strategies.core.rendition import Action


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


class Amount(NamedTuple):
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
