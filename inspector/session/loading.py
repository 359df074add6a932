"""A session while it is read: how far, and what has been read so far."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.session.model import Session
    from inspector.session.reader import Reader

FIRST_PART_BYTES = 1 << 20
"""How much of a file is read before its first rows are shown; every further part is twice as long."""


@dataclass(frozen=True)
class Loading:
    """A session while it is read.

    Attributes:
        done: Bytes read.
        total: Bytes there are.
        session: What has been read so far, now and then; None in between.
        is_complete: Everything has been read, and `session` is all of it.
    """

    done: int
    total: int
    session: Session | None = None
    is_complete: bool = False


def load_in_parts(reader: Reader, seconds_between: float = 0.0) -> Iterator[Loading]:
    """Read a session in slices; what has been read comes along after a first part and whenever it has doubled.

    Args:
        reader: Has read nothing yet.
        seconds_between: Parts after the first come no more often.

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
