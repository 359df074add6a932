"""Default and maximum periods of projections of savings and sessions.

Imports no other module of the package, so that the command line's help is fast.
"""

from __future__ import annotations

from typing import Final, NamedTuple

DAYS_PER_MONTH: Final = 30.0
"""Days per month in projections."""

MOST_DAYS: Final = 31


class RunsPerDay(NamedTuple):
    """Number of runs per day like a session, which no session records.

    Attributes:
        number: The number.
        is_assumed: True if the user did not set it.
    """

    number: float
    is_assumed: bool = False

    @property
    def origin(self) -> str:
        """Source of the number, in a word or two."""
        return "assumed" if self.is_assumed else "as set"


ASSUMED_RUNS: Final = RunsPerDay(1, is_assumed=True)
"""Default: the recorded run, once a day. A session may take hours."""

NEXT_CALLS: Final = 50
"""Default number of next calls to project."""

MOST_NEXT_CALLS: Final = 10_000
"""Maximum number of next calls to project; later ones are unpredictable."""
