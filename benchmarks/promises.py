"""The wording of the promises, and the form of a measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PROMISES: Final = {
    "first paint, from process start": "at most 1.4 times an empty Textual app's",
    "first start after installation": (
        "the demo on the screen, or a page on the newest session, within 3 s of its installation"
    ),
    "opening a session under 5 MB": (
        "a usable screen within 3.4 times an empty app's first paint for the first time, 2.3 times again: 0.6 and "
        "0.4 s where that takes 175 ms"
    ),
    "opening a 100 MB Claude Code file": (
        "rows with estimated sizes within 1.0 s; exact counts within 1.5 times what tiktoken alone needs"
    ),
    "reopening that file": "within 1.0 s, with exact counts",
    "changing a plan": (
        "median at most 14.3 times an empty app's answer to a key at 10,000 messages, 23.8 times at 100,000: 30 and "
        "50 ms where that takes 2.1; drags coalesce to one a frame"
    ),
    "appending a line": (
        "median at most 14.3 times an empty app's answer to a key, p95 47.6 times: 30 and 100 ms where that takes 2.1"
    ),
    "scrolling through 100,000 rows": "at most 4.8 times an empty app's answer to a key: 10 ms where that takes 2.1",
    "listing 10,000 sessions": "within 1.0 s of the list's first paint",
    "replay of a plan over every call": (
        "at most 5 ms at 10,000 messages, 50 ms at 100,000, 500 ms at 1,000,000 where edits are known in advance; "
        "linear for every strategy"
    ),
    "tuning on many sessions": "for each plan tried, at most 1.5 times one plan's replay of the same sessions",
    "report on a folder": (
        "without a plan at most 1.5 times what the field's counter takes; with one at most 1.2 times what tiktoken "
        "needs on two processes, again within 4 s"
    ),
    "parallel reports": "the same figures to the bit whatever works on them; no time is promised",
    "report on an 18 MB session under a plan": "within 1.5 s for the first time, 0.6 s again",
    "hook call": "at most 50 ms beyond Python's own start where that takes 20 ms: 3.5 times it",
    "memory for a 100 MB file": "at most 250 MB",
    "calibrated prompt size": "median within 0.5 % of the provider's figure, p90 within 1 %",
    "baseline cost": "equal to the recorded usage priced directly, to the cent",
}
"""Name and promise, on a machine with two cores, in printed order."""


@dataclass(frozen=True)
class Measurement:
    """One figure.

    Attributes:
        promise: Name of the promise, one of `PROMISES`.
        case: Case of the measurement; empty if there is only one.
        measured: The figure, with its unit.
        limit: Upper limit or required value; empty for a figure that only explains others.
        is_kept: True if the limit holds; None for a figure that only explains others.
    """

    promise: str
    case: str
    measured: str
    limit: str = ""
    is_kept: bool | None = None


def at_most(
    promise: str, case: str, value: float, limit: float, unit: str, *, digits: int = 0, beside: str = ""
) -> Measurement:
    """Compare a figure with its upper limit, with a text to print after it."""
    return Measurement(promise, case, f"{value:,.{digits}f}{unit}{beside}", f"≤ {limit:g}{unit}", value <= limit)
