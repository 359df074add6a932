"""The wording of the promises, and the form of a measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PROMISES: Final = {
    "first paint, from process start": "at most 1.4 times an empty Textual app's",
    "first start after installation": "the demo on the screen, or an HTML report of the newest session, within 3 s",
    "opening a session under 5 MB": (
        "a usable screen within 3.4 times an empty app's first paint, 2.3 times when reopened (0.6 and 0.4 s at 175 ms)"
    ),
    "opening a 100 MB Claude Code file": (
        "all rows with estimated sizes within 1.0 s; exact counts within 1.5 times the time of tiktoken alone"
    ),
    "reopening that file": "within 1.0 s, with exact counts",
    "changing a plan": (
        "a limit dragged or a strategy toggled: median at most 14.3 times an empty app's key response at 10,000 "
        "messages, 23.8 times at 100,000 (30 and 50 ms at 2.1 ms); drags coalesce to one per frame"
    ),
    "appending a line": (
        "median at most 14.3 times an empty app's key response, p95 47.6 times (30 and 100 ms at 2.1 ms)"
    ),
    "scrolling through 100,000 rows": "one key at most 4.8 times an empty app's key response (10 ms at 2.1 ms)",
    "listing 10,000 sessions": "within 1.0 s of the list's first paint",
    "replay of a plan over every call": (
        "at most 5 ms at 10,000 messages, 50 ms at 100,000, 500 ms at 1,000,000 if edits are known in advance; "
        "linear for every strategy"
    ),
    "tuning on many sessions": "per plan tried, at most 1.5 times the replay of one plan on the same sessions",
    "report on a folder": (
        "without a plan at most 2.5 times the time of ccusage, 1.0 times when repeated; with a plan at most 1.2 times "
        "the time of tiktoken on two processes, and within 4 s when repeated"
    ),
    "parallel reports": "bit-identical figures with every executor; no promise on time",
    "report on an 18 MB session under a plan": "within 1.5 s the first time, 0.6 s when repeated",
    "hook call": "at most 3.5 times Python's start-up (50 ms more, at 20 ms)",
    "status line": "at most 3.5 times Python's start-up",
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
    promise: str, case: str, value: float, limit: float, unit: str, *, digits: int = 0, note: str = ""
) -> Measurement:
    """Compare a figure with its upper limit, with a text to print after it."""
    return Measurement(promise, case, f"{value:,.{digits}f}{unit}{note}", f"≤ {limit:g}{unit}", value <= limit)
