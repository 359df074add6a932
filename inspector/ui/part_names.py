"""What the parts of the main screen are called. It imports nothing more: it is wanted before the first paint."""

from typing import Final

TIMELINE: Final = "timeline"
DETAIL: Final = "detail"
PLAN: Final = "plan"
COST: Final = "cost"
CHART: Final = "chart"

BOUNDARY: Final = "boundary"
"""A row of the timeline that stands for a compaction, or for where else a context begins."""
