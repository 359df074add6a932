"""The pace of the machine: what milliseconds are promised as multiples of.

An empty Textual app's answer to a key takes what the terminal, the event loop and one frame take. In some minutes a
machine needs nearly twice as long for it as in others, and for everything else too, so that it is asked for again
between the runs of what is measured.
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
"""What an empty app's answer to a key took where the milliseconds were promised."""

CASE: Final = "an empty app's answer to a key"
PRESSES = 15
"""How many answers are timed at once, two to four times: the first few of them take longer."""


class Pace:
    """An empty app's answers, beside runs of something else."""

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
    def beside(cls, bench: Workbench) -> Iterator[Pace]:
        """An empty app that can be asked until the end of the block; what it answered is known from then on, too."""
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
        """An empty app's answer, to be told beside what was measured.

        Args:
            promise: What was measured.
            of: Of which case of it.
        """
        return Measurement(promise, f"{CASE}, beside {of}", Runs(self._seconds).milliseconds())

    def at_most(self, promise: str, case: str, milliseconds: float, limit_ms: float, *, beside: str) -> Measurement:
        """A time that should not exceed as many times an empty app's answer as was promised.

        Args:
            promise: What it is about.
            case: Which case of it.
            milliseconds: What it took.
            limit_ms: What is promised where an empty app answers in `ANSWER_MS`.
            beside: What is to be told beside it.
        """
        times, limit = milliseconds / (Runs(self._seconds).median * 1e3), times_of(limit_ms)
        measured = f"{milliseconds:.1f} ms{beside}, {times:.1f} times"
        return Measurement(promise, case, measured, f"≤ {limit:g} times", times <= limit)


def times_of(milliseconds: float) -> float:
    """How many times an empty app's answer so many milliseconds are, to a tenth."""
    return round(milliseconds / ANSWER_MS, 1)
