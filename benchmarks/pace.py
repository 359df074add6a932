"""Speed of the machine: limits in milliseconds are multiples of it.

The answer of an empty Textual app to a key takes the time of the terminal, the event loop and one frame. A machine may
need nearly twice as long for it in some minutes as in others, and for everything else too, so it is measured again
between the runs of a benchmark.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from benchmarks.promises import Measurement
from benchmarks.statistics_of_runs import Runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.terminal import Terminal
    from benchmarks.workbench import Workbench

ANSWER_MS: Final = 2.1
"""Answer time of an empty app on the machine where the limits were set."""

CASE: Final = "key response of an empty app"
PRESSES = 15
"""Answers per measurement, two to four times: the first few take longer."""


class Pace:
    """Answers of an empty app, interleaved with other runs."""

    def __init__(self, terminal: Terminal, presses: int) -> None:
        """Know none yet.

        Args:
            terminal: The empty app.
            presses: How many answers are timed at once.
        """
        self._terminal = terminal
        self._presses = presses
        self._seconds: list[float] = []

    @classmethod
    @contextmanager
    def interleaved(cls, bench: Workbench) -> Iterator[Pace]:
        """Start an empty app for the block; its answers remain available afterwards."""
        with bench.empty_app() as terminal:
            terminal.wait_for(b"drawn 0")
            terminal.settle(0.3)
            yield cls(terminal, bench.runs(PRESSES))

    def take(self) -> None:
        """Time some answers now."""
        press = partial(self._terminal.send, b"x")
        for _ in range(self._presses):
            self._seconds.append(self._terminal.time(press, lambda screen: screen[0]).seconds)

    def answer(self, promise: str, of: str) -> Measurement:
        """Return the answer of an empty app, to be printed next to a measurement.

        Args:
            promise: Name of the measurement.
            of: Case of the measurement.
        """
        return Measurement(promise, f"{CASE}, {of}", Runs(self._seconds).milliseconds())

    def at_most(self, promise: str, case: str, milliseconds: float, limit_ms: float, *, note: str) -> Measurement:
        """Compare a time with its limit, as a multiple of an empty app's answer.

        Args:
            promise: Name of the promise.
            case: Case of the measurement.
            milliseconds: Measured time.
            limit_ms: Limit on a machine where an empty app answers in `ANSWER_MS`.
            note: Text to print after the time.
        """
        times, limit = milliseconds / (Runs(self._seconds).median * 1e3), times_of(limit_ms)
        measured = f"{milliseconds:.1f} ms{note}, {times:.1f} times"
        return Measurement(promise, case, measured, f"≤ {limit:g} times", times <= limit)


def times_of(milliseconds: float) -> float:
    """Return a time as a multiple of an empty app's answer, to a tenth."""
    return round(milliseconds / ANSWER_MS, 1)
