"""Uncertainty of model behavior under a plan, from public paired experiments.

A replay keeps the recorded responses. Only running the same tasks with and without cuts shows whether a model then
takes more turns or fewer. A public experiment did this: 500 tasks each way with five model settings.
`scripts/paired_experiments.py` computes these numbers from the published table; docs/evidence.md names its source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.replay.figure import Band

if TYPE_CHECKING:
    from collections.abc import Sequence


class PairedExperiment(NamedTuple):
    """A paired comparison of tasks with old tool results masked, and without.

    Attributes:
        pairs: Tasks run both ways, over all settings.
        turns: Relative change of turns over all of them, 0.03 for 3 % more, with a 95 % bootstrap interval over tasks.
        models: The same change for every setting.
        lost: Pairs solved only without masking.
        won: Pairs solved only with masking.
    """

    pairs: int
    turns: Band
    models: Sequence[float]
    lost: int
    won: int


MASKING: Final = PairedExperiment(2_496, Band(-0.020, 0.033, 0.090), (-0.114, 0.033, 0.051, 0.044, 0.151), 188, 188)
"""The Complexity Trap, arXiv 2508.21433, auxiliary-data/experiment_instance_costs_sweagent.csv."""

TURNS_OF_A_MODEL: Final = Band(-0.255, 0.033, 0.321)
"""95 % interval of the relative change of turns for a model that was not in the experiment."""


def widened(saving: Band, planned: float) -> Band:
    """Widen savings for a model that takes more or fewer turns under the plan than recorded.

    All turns are assumed to cost the same, so the plan's cost scales with their number.

    Args:
        saving: Savings with the recorded responses, with their band; dollars.
        planned: The plan's cost with the recorded responses, dollars.
    """
    turns = TURNS_OF_A_MODEL
    return Band(saving.low - turns.high * planned, saving.middle, saving.high - turns.low * planned)
