"""What tests of followed sessions share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from inspector.session.assembly import LOOKED_AT_AGAIN
from inspector.session.follow import Follower
from inspector.session.open import open_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from inspector.session.model import Message, Session

LONG_AGO = 1_700_000_000


def settle(path: Path) -> None:
    """Make the file look as if nothing had been written for a while."""
    os.utime(path, (LONG_AGO, LONG_AGO + path.stat().st_size / 1000))


def unchanged(messages: tuple[Message, ...], before: tuple[Message, ...]) -> int:
    """Where someone finds the first change who compares from the end and stops at a run of equal messages."""
    equal = 0
    for index in range(min(len(messages), len(before)) - 1, -1, -1):
        equal = equal + 1 if messages[index] is before[index] else 0
        if equal > LOOKED_AT_AGAIN:
            return index + equal
    return equal


def tailed(path: Path, data: bytes, start: int, cuts: Iterable[float]) -> Iterator[tuple[Session, Session]]:
    """The session before and after every growth of a file that is followed, which is what a fresh load gives.

    Args:
        path: Where the file is to be.
        data: All that is in it in the end.
        start: Bytes that are there when following begins.
        cuts: Where the rest is cut, in parts of it.
    """
    path.write_bytes(data[:start])
    settle(path)
    follower = Follower(path)
    done = start
    for cut in [*sorted(start + int(cut * (len(data) - start)) for cut in cuts), len(data)]:
        before = follower.session
        with path.open("ab") as file:
            file.write(data[done:cut])
        done = cut
        settle(path)
        follower.poll()
        follower.poll()  # the second look finds a file that is left alone, and takes a last line without its end
        assert follower.session == open_session(path)
        yield before, follower.session


def assert_same_objects(session: Session, before: Session) -> None:
    """Messages that did not change are the same objects."""
    same = unchanged(session.messages, before.messages)
    assert all(new is old for new, old in zip(session.messages[:same], before.messages[:same], strict=True))
