"""Names of the main screen's panes, numbers of keys and steps, short definitions of terms, and entries of pickers.

Imports nothing of the package because the first paint needs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TIMELINE: Final = "timeline"
DETAIL: Final = "detail"
PLAN: Final = "plan"
COST: Final = "cost"
CHART: Final = "chart"

BOUNDARY: Final = "boundary"
"""A timeline row for a compaction or another start of a context."""

NEEDED: Final = "needed: a later call used text that was cut"
NEEDED_PHRASES: Final = (NEEDED, "needed: a later call used cut text")
"""`NEEDED` in several lengths, the longest first."""
APPLIED: Final = "applied: first call it changes"
TOKEN_CALLS: Final = "token-calls: tokens × calls that sent them"  # noqa: RUF001, S105  a multiplication is meant, and no password

OPEN_PLAN: Final = "-plan-open"
"""Screen class while the plan is open although no strategy is on, or as a drawer on a narrow screen."""

FAR: Final = 10
"""Number of calls in a large step."""
NUMBERED: Final = 9
"""Number of strategies that have a number key."""


@dataclass(frozen=True, slots=True)
class DialogChoice:
    """Entry of a picker.

    Attributes:
        identifier: Value the picker returns.
        name: Display name.
        title: Short description.
        help: Effect and origin.
    """

    identifier: str
    name: str
    title: str
    help: str
