"""What is promised, word for word, and what a measurement of it looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PROMISES: Final = {
    "first paint, from process start": "at most 1.4 times an empty Textual app's",
    "one line in a bare home": (
        "the demo on the screen, or a page on the newest session, within 3 s of its installation"
    ),
    "a session under 5 MB opened": (
        "a usable screen within 3.4 times an empty app's first paint for the first time, 2.3 times again: 0.6 and "
        "0.4 s where that takes 175 ms"
    ),
    "a 100 MB Claude Code file": (
        "rows with estimated sizes within 1.0 s; exact counts within 1.5 times what tiktoken alone needs"
    ),
    "the same file reopened": "within 1.0 s, with exact counts",
    "a limit dragged or a strategy toggled": (
        "median at most 14.3 times an empty app's answer to a key at 10,000 messages, 23.8 times at 100,000: 30 and "
        "50 ms where that takes 2.1; drags coalesce to one a frame"
    ),
    "a line appended": (
        "median at most 14.3 times an empty app's answer to a key, p95 47.6 times: 30 and 100 ms where that takes 2.1"
    ),
    "one scroll key at 100,000 rows": "at most 4.8 times an empty app's answer to a key: 10 ms where that takes 2.1",
    "10,000 sessions listed": "within 1.0 s of the list's first paint",
    "replay of a plan over every call": (
        "at most 5 ms at 10,000 messages, 50 ms at 100,000, 500 ms at 1,000,000 where edits are known in advance; "
        "linear for every strategy"
    ),
    "plans tuned on many sessions": "for each plan tried, at most 1.5 times one plan's replay of the same sessions",
    "the report on a folder of sessions": (
        "without a plan at most 1.5 times what the field's counter takes; with one at most 1.2 times what tiktoken "
        "needs on two processes, again within 4 s"
    ),
    "many sessions at once": "the same figures to the bit whatever works on them; no time is promised",
    "the report on a session of 18 MB under a plan": "within 1.5 s for the first time, 0.6 s again",
    "an answer of the hook": "at most 50 ms beyond Python's own start where that takes 20 ms: 3.5 times it",
    "memory for a 100 MB file": "at most 250 MB",
    "calibrated prompt size": "median within 0.5 % of the provider's figure, p90 within 1 %",
    "baseline cost": "equal to the recorded usage priced directly, to the cent",
}
"""Name and promise, on a machine with two cores, in the order they are told."""


@dataclass(frozen=True)
class Measurement:
    """One figure.

    Attributes:
        promise: The name of what it is about, one of `PROMISES`.
        case: Which case of it; empty where there is one.
        measured: The figure, with its unit.
        limit: What it should be at most, or be; empty for a figure that only explains others.
        is_kept: Whether it is; None for a figure that only explains others.
    """

    promise: str
    case: str
    measured: str
    limit: str = ""
    is_kept: bool | None = None


def at_most(
    promise: str, case: str, value: float, limit: float, unit: str, *, digits: int = 0, beside: str = ""
) -> Measurement:
    """A figure that should not exceed a limit, with what is to be told beside it."""
    return Measurement(promise, case, f"{value:,.{digits}f}{unit}{beside}", f"≤ {limit:g}{unit}", value <= limit)
