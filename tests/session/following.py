"""Helpers of tests that follow sessions."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from inspector.session.follow import Follower
from inspector.session.model import Message, Session
from inspector.session.open import open_session

LONG_AGO = 1_700_000_000


def settle(path: Path) -> None:
    """Make the file look as if nothing had been written for a while."""
    os.utime(path, (LONG_AGO, LONG_AGO + path.stat().st_size / 1000))


def tailed(path: Path, data: bytes, start: int, cuts: Iterable[float]) -> Iterator[tuple[Session, Session]]:
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


def assert_same_objects(messages: Sequence[Message], before: Sequence[Message]) -> None:
    """Messages that did not change are the same objects."""
    assert all(new is old for new, old in zip(messages, before, strict=False) if new == old)
