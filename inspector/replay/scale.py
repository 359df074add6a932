"""The provider's tokens for ours: how our counts are brought to the scale of what the provider reports and charges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.calibrate import block_columns, calibrate_session
from inspector.replay.ledger import HowKnown
from inspector.tokens.ratios import drops_reasoning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.history import History
    from inspector.tokens.calibration import Calibration
    from inspector.tokens.table import TokenTable


@dataclass(frozen=True, eq=False)
class Scale:
    """What our counts measure at the provider, per call, the next one included.

    Attributes:
        ratio: The provider's tokens for one counted token, float64.
        prompt: The recorded prompt as the calibration has it, system prompt and tool definitions included, float64.
        beside: Per block, the provider's tokens it takes beside its counted ones: its envelope and signature, float64.
        known: How prompts on this scale are known.
        calibration: The fit behind it.
    """

    ratio: NDArray[np.float64]
    prompt: NDArray[np.float64]
    beside: NDArray[np.float64]
    known: HowKnown
    calibration: Calibration

    @classmethod
    def of(cls, history: History, table: TokenTable, removed: NDArray[np.int64] | None = None) -> Scale:
        """Fit a session's counts to what it reports, or take what is typical of its models if that is too little.

        Args:
            history: The session's columns.
            table: Its token counts.
            removed: Per call, the next one included, counted tokens the agent itself had blanked by then.
        """
        calibration = calibrate_session(history, table, removed)
        main = np.array(calibration.main)
        columns = block_columns(history, table)
        if calibration.main_model and drops_reasoning(calibration.main_model):
            columns[2] = 0
        fitted = calibration.is_fitted and table.is_complete
        return cls(
            ratio=calibration.call_ratio,
            prompt=calibration.prompt,
            beside=main @ columns - main[0] * table.tokens,
            known=HowKnown.CALIBRATED if fitted else HowKnown.ESTIMATED,
            calibration=calibration,
        )
