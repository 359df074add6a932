"""A line of progress on standard error, for work long enough to wonder about, and only where a person looks."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from inspector.cli.console import is_terminal

if TYPE_CHECKING:
    from types import TracebackType

QUIET_SECONDS = 0.4
"""Work that takes less than this is not worth a line."""

REFRESH_SECONDS = 0.1

BAR_CELLS = 24
"""Narrow enough that the line fits in 60 columns."""


class Progress:
    """Call it with how much is done and how much there is; leaving the context wipes the line."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._shown = False
        self._next = time.monotonic() + QUIET_SECONDS
        self._enabled = is_terminal(sys.stderr)

    def __call__(self, done: int, total: int) -> None:
        """Show `done` of `total`, in any unit."""
        if not self._enabled or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + REFRESH_SECONDS
        self._shown = True
        percent = min(100, 100 * done // total) if total > 0 else 0
        filled = BAR_CELLS * percent // 100
        bar = "#" * filled + "." * (BAR_CELLS - filled)
        sys.stderr.write(f"\r{self._doing}: [{bar}] {percent} %\x1b[K")
        sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
