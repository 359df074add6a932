"""Responses whose reported length is only the placeholder a stream begins with, and what they really measured.

Some versions of Claude Code recorded the token count of a response's first event and never corrected it. A replay keeps
what was recorded, so that its baseline costs what the recorded usage costs; how much that leaves out is said here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.figure import Figure

if TYPE_CHECKING:
    from inspector.replay.engine.inputs import ReplayInputs


@dataclass(frozen=True, slots=True)
class PlaceholderOutputs:
    """The placeholders of a session.

    Attributes:
        calls: How many responses have one.
        reported: Tokens reported for them.
        measured: Tokens their blocks measure in the prompts that hold them.
        usd: Dollars of the difference; None without a price.
    """

    calls: int
    reported: int
    measured: Figure
    usd: Figure


def placeholder_outputs(inputs: ReplayInputs) -> PlaceholderOutputs | None:
    """What placeholders leave out of a session's cost; None where there are none."""
    history, scale = inputs.history, inputs.scale
    calls = history.session.calls
    mine = np.flatnonzero([call.usage is not None and call.usage.output_is_placeholder for call in calls])
    if not len(mine):
        return None
    responses = np.array([call.response for call in calls], dtype=np.int64)[mine]
    counted, beside = (
        np.concatenate(([0.0], np.cumsum(column, dtype=np.float64))) for column in (inputs.table.tokens, scale.beside)
    )
    first, last = history.message_first_block[responses], history.message_first_block[responses + 1]
    measured = scale.ratio[mine] * (counted[last] - counted[first]) + beside[last] - beside[first]
    # A response holds what was reported at the least: that much had been streamed.
    measured = np.maximum(measured, inputs.output[mine])
    rates = np.broadcast_to(inputs.rates.of_prompts(inputs.recorded.prompt), (len(calls), 6))[mine, 4]
    dollars = float(((measured - inputs.output[mine]) * rates).sum())
    return PlaceholderOutputs(
        calls=len(mine),
        reported=int(inputs.output[mine].sum()),
        measured=Figure(round(float(measured.sum())), scale.known),
        usd=Figure(None if np.isnan(dollars) else dollars, scale.known),
    )
