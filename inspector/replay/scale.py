"""The provider's tokens for ours: how our counts are brought to the scale of what the provider reports and charges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.ledger import HowKnown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.prompt_usage import PromptUsage
    from inspector.strategies.history import History
    from inspector.tokens.table import TokenTable


@dataclass(frozen=True)
class Scale:
    """What one of our counted tokens measures at the provider, per call, the next one included.

    Attributes:
        ratio: The provider's tokens for one counted token, float64.
        overhead: The provider's tokens for what every prompt begins with and the session does not show: system prompt
            and tool definitions, float64.
        known: How prompts on this scale are known.
    """

    ratio: NDArray[np.float64]
    overhead: NDArray[np.float64]
    known: HowKnown

    @classmethod
    def of(
        cls,
        history: History,
        table: TokenTable,
        recorded: PromptUsage,
        reported: NDArray[np.bool_],
        counted: NDArray[np.int64],
    ) -> Scale:
        count = history.call_count + 1
        return cls(np.ones(count), np.zeros(count), HowKnown.ESTIMATED)
