"""What the provider reported, summed as it stands in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.ledger import Figures
from inspector.replay.figure import Figure, HowKnown

if TYPE_CHECKING:
    from inspector.replay.engine.inputs import ReplayInputs


def recorded_figures(inputs: ReplayInputs) -> Figures | None:
    """Totals over the calls whose usage was reported; None where none was.

    How often the provider's cache missed is not among what providers report.
    """
    mine = inputs.reported
    if not mine.any():
        return None
    usage = inputs.recorded
    cost = inputs.rates.cost(
        usage.uncached, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, inputs.output
    )[mine]
    output = HowKnown.EXACT if inputs.output_known else HowKnown.ESTIMATED

    def exact(value: float | None) -> Figure:
        return Figure(value, HowKnown.EXACT)

    return Figures(
        calls=exact(int(mine.sum())),
        prompt_tokens=exact(int(usage.prompt[mine].sum())),
        peak_prompt_tokens=exact(int(usage.prompt[mine].max())),
        cache_read_tokens=exact(int(usage.cache_read[mine].sum())),
        cache_write_tokens=exact(int(usage.cache_write[mine].sum())),
        uncached_tokens=exact(int(usage.uncached[mine].sum())),
        output_tokens=Figure(int(inputs.output[mine].sum()), output),
        cache_breaks=exact(None),
        cost_usd=Figure(None if np.isnan(cost).any() else float(cost.sum()), output),
    )
