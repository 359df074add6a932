"""Progress and partial results of loading a session."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.session.model import Session
    from inspector.session.reader import Reader

FIRST_PART_BYTES = 1 << 20
"""Bytes read before the first rows are shown; every further part is twice as long."""


@dataclass(frozen=True)
class Loading:
    """A partly loaded session.

    Attributes:
        done: Bytes read.
        total: Bytes in total.
        session: The partial session, now and then; otherwise None.
        is_complete: True if everything has been read and `session` is complete.
    """

    done: int
    total: int
    session: Session | None = None
    is_complete: bool = False


def load_in_parts(reader: Reader, seconds_between: float = 0.0) -> Iterator[Loading]:
    """Read a session in slices; yield a partial session after the first part and whenever its size has doubled.

    Args:
        reader: A reader that has read nothing yet.
        seconds_between: Minimum interval between parts after the first.

    Raises:
        SessionError: It cannot be read.
    """
    due, next_part = FIRST_PART_BYTES, 0.0
    progress = (0, 0)
    for progress in reader.load():
        is_due = due <= progress.done < progress.total and monotonic() >= next_part
        if is_due:
            due, next_part = progress.done * 2, monotonic() + seconds_between
        yield Loading(progress.done, progress.total, reader.snapshot() if is_due else None)
    yield Loading(progress[0], progress[1], reader.snapshot(), is_complete=True)
