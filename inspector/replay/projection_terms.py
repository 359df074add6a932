"""For how long savings and sessions are projected where nobody says otherwise, and for how long at most.

Imports nothing, so that the command line's help can tell it at once.
"""

from __future__ import annotations

from typing import Final, NamedTuple

DAYS_PER_MONTH: Final = 30.0
"""A month, in projections."""

MOST_DAYS: Final = 31


class RunsPerDay(NamedTuple):
    """How many runs like a session there are in a day, which no session tells.

    Attributes:
        number: How many.
        is_assumed: Nobody said so.
    """

    number: float
    is_assumed: bool = False

    @property
    def origin(self) -> str:
        """Where the number comes from, in a word or two."""
        return "assumed" if self.is_assumed else "as set"


ASSUMED_RUNS: Final = RunsPerDay(1, is_assumed=True)
"""Where nobody said how many: the one that was recorded, once a day. A session may take hours."""

NEXT_CALLS: Final = 50
"""Calls a session is projected to go on for where nobody said how many."""

MOST_NEXT_CALLS: Final = 10_000
"""So many calls more can be projected; nothing is known of what comes after."""
