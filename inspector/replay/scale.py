"""The provider's tokens for ours: how our counts are brought to the scale of what the provider reports and charges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.calibrate import block_columns, calibrate_session
from inspector.replay.figure import HowKnown
from inspector.replay.response_columns import Responses
from inspector.session.model import BlockKind
from inspector.tokens.ratios import drops_reasoning
from inspector.tokens.readings import Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.history.history import History
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
        columns = _block_columns(history, table, calibration)
        fitted = calibration.is_fitted and table.is_complete
        return cls(
            ratio=calibration.call_ratio,
            prompt=calibration.prompt,
            beside=main @ columns - main[0] * table.tokens,
            known=HowKnown.CALIBRATED if fitted else HowKnown.ESTIMATED,
            calibration=calibration,
        )


def _block_columns(history: History, table: TokenTable, calibration: Calibration) -> NDArray[np.int64]:
    """What every block counts for in a prompt, as `block_columns` has it, on the reading of the model used most."""
    columns = block_columns(history, table)
    reading = calibration.main_reading
    if reading is Reading.SIGNATURES:
        if calibration.main_model and drops_reasoning(calibration.main_model):
            columns[2] = 0
        return columns
    # Texts are counted, as strategies cut them; what a response measures beside them is its reasoning.
    responses = Responses.of(history, table)
    thinking = (history.kind == BlockKind.THINKING) & responses.measured
    columns[0] = np.where(thinking, 0, table.tokens)
    columns[2] = 0
    if reading is Reading.KEPT:
        begins = np.flatnonzero(responses.reasoning)
        # On the response's first block of reasoning, where it has one, else on its first.
        places = np.flatnonzero(thinking)
        found = np.searchsorted(places, begins)
        near = places[np.minimum(found, len(places) - 1)] if len(places) else begins
        same = len(places) > 0 and (history.message[near] == history.message[begins])
        columns[2, np.where(same, near, begins)] = responses.reasoning[begins]
    return columns
