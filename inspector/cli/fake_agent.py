"""A simulated live session: a copy of a sample, appended to line by line."""

from __future__ import annotations

import random
import re
import threading
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from inspector.session.files import temporary_folder

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

BEGINNING = 0.4
"""Share of the lines that exist from the start: enough to look at, with most still to come."""

SECONDS = 90.0
"""Approximate seconds until the rest has arrived."""

LONGEST_PAUSE = 2.0

_TIME = re.compile(rb'"timestamp": ?(?:"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)Z"|(\d{10}(?:\.\d+)?)(?=[,}]))')
"""A record's timestamp, in the two formats of the samples. In texts within records the quotation marks are escaped."""


def shift_timestamps(lines: list[bytes], now: datetime) -> list[bytes]:
    """Shift the timestamps of records so that the last is `now`, a time with time zone; intervals are unchanged."""
    made = [found for line in lines for found in _TIME.finditer(line)]
    if not made:
        return lines
    later = now - max(map(_time, made))

    def moved(found: re.Match[bytes]) -> bytes:
        time = _time(found) + later
        if found[1] is None:
            return found[0].replace(found[2], str(time.timestamp()).encode())
        return found[0].replace(
            found[1], time.astimezone(UTC).replace(tzinfo=None).isoformat("T", "milliseconds").encode()
        )

    return [_TIME.sub(moved, line) for line in lines]


def _time(found: re.Match[bytes]) -> datetime:
    if found[1] is None:
        return datetime.fromtimestamp(float(found[2]), UTC)
    return datetime.fromisoformat(found[1].decode()).replace(tzinfo=UTC)


class FakeAgent:
    """Thread that copies a file line by line to a temporary folder. Leaving the context removes the folder.

    Args:
        source: The file to copy.
        beginning: Share of its lines copied before the context is entered.
        seconds: Approximate seconds for the other lines.
        seed: Random seed of the pauses.
        restamps: Set each record's timestamp to the time it is written, and shift those of the initial records
            accordingly; otherwise timestamps are unchanged.
    """

    def __init__(
        self,
        source: Path,
        beginning: float = BEGINNING,
        seconds: float = SECONDS,
        seed: int = 1,
        *,
        restamps: bool = False,
    ) -> None:
        self._lines = source.read_bytes().splitlines(keepends=True)
        self._first = max(1, round(len(self._lines) * beginning))
        self._pauses = random.Random(seed)  # noqa: S311  not security relevant
        self._mean = seconds / max(1, len(self._lines) - self._first)
        self._source = source
        self._recreates = restamps
        self._folder = ExitStack()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._grow, name="growing sample", daemon=True)
        self.path = source
        """The copy, once the context is entered."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.path = stack.enter_context(temporary_folder()) / self._source.name
            self.path.write_bytes(b"".join(self._written(self._lines[: self._first])))
            self._folder = stack.pop_all()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._folder.close()

    def _written(self, lines: list[bytes]) -> list[bytes]:
        return shift_timestamps(lines, datetime.now(UTC)) if self._recreates else lines

    def _grow(self) -> None:
        try:
            with self.path.open("ab", buffering=0) as copy:
                for line in self._lines[self._first :]:
                    if self._stop.wait(min(self._pauses.expovariate(1 / self._mean), LONGEST_PAUSE)):
                        return
                    copy.write(b"".join(self._written([line])))
        except OSError:
            return  # the folder was removed, so stop growing
