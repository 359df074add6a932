"""How a model may answer otherwise under a plan than it was recorded, by public paired experiments.

A replay keeps the recorded answers. Whether a model takes more turns, or fewer, where its context is cut can only be
told by running the same tasks with and without. That was done in public: 500 tasks with five settings of models each
way. `scripts/paired_experiments.py` works these numbers out from the published table, docs/belief.md says where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.replay.figure import Band

if TYPE_CHECKING:
    from collections.abc import Sequence


class PairedExperiment(NamedTuple):
    """The same tasks with old tool results masked, and without.

    Attributes:
        pairs: Tasks that were run both ways, over all settings.
        turns: Change of the turns over all of them as a share, 0.03 for 3 % more; its ends hold 95 % of draws of tasks.
        models: The same of every setting alone.
        lost: Pairs that were solved without masking alone.
        won: Pairs that were solved with it alone.
    """

    pairs: int
    turns: Band
    models: Sequence[float]
    lost: int
    won: int


MASKING: Final = PairedExperiment(2_496, Band(-0.020, 0.033, 0.090), (-0.114, 0.033, 0.051, 0.044, 0.151), 188, 188)
"""The Complexity Trap, arXiv 2508.21433, auxiliary-data/experiment_instance_costs_sweagent.csv."""

TURNS_OF_A_MODEL: Final = Band(-0.255, 0.033, 0.321)
"""Between which changes the turns of a model that was not among them lie, with 95 %, as shares."""


def widened(saving: Band, planned: float) -> Band:
    """A saving with what it comes to where a model takes more turns under the plan, or fewer, than were recorded.

    Turns are taken to cost the same each, so that what the plan costs changes as they do.

    Args:
        saving: What is saved with the recorded answers, and how far that may be off; dollars.
        planned: What the plan costs with the recorded answers, dollars.
    """
    turns = TURNS_OF_A_MODEL
    return Band(saving.low - turns.high * planned, saving.middle, saving.high - turns.low * planned)
