"""Names of the panes of the main screen. It imports nothing else because the first paint needs it."""

from typing import Final

TIMELINE: Final = "timeline"
DETAIL: Final = "detail"
PLAN: Final = "plan"
COST: Final = "cost"
CHART: Final = "chart"

BOUNDARY: Final = "boundary"
"""A timeline row for a compaction or another start of a context."""
