"""The provider's tokens for ours: how our counts are brought to the scale of what the provider reports and charges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.replay.calibrate import calibrate_session
from inspector.replay.ledger import HowKnown

if TYPE_CHECKING:
    import numpy as np
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
        known: How prompts on this scale are known.
        calibration: The fit behind it.
    """

    ratio: NDArray[np.float64]
    prompt: NDArray[np.float64]
    known: HowKnown
    calibration: Calibration

    @classmethod
    def of(cls, history: History, table: TokenTable) -> Scale:
        """Fit a session's counts to what it reports, or take what is typical of its models if that is too little."""
        calibration = calibrate_session(history, table)
        fitted = calibration.is_fitted and table.is_complete
        return cls(
            ratio=calibration.call_ratio,
            prompt=calibration.prompt,
            known=HowKnown.CALIBRATED if fitted else HowKnown.ESTIMATED,
            calibration=calibration,
        )
