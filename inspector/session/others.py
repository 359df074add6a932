"""Further documents that a session goes on in, or whose texts it holds: found while the first one is read."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.errors import SessionError
from inspector.session.lines import is_whole
from inspector.session.nodes import FileNode
from inspector.session.opening import Place, open_for_reading

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from inspector.session.nodes import Node

MOST_DOCUMENTS = 1000

MOST_BYTES = 1 << 31

CLOCK_SECONDS = 0.05
"""Two changes within one tick of a file system's clock, a few milliseconds, leave the same time of change."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Numbered(NamedTuple):
    """A document that was opened.

    Attributes:
        number: What `origin.file` of its blocks is.
        node: What it holds.
    """

    number: int
    node: Node


class Others:
    """The further documents of one session.

    Attributes:
        paths: Those that were opened, in the order of their numbers, which begin with 1.
        files: The same, open for reading.
    """

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self.files: list[BinaryIO] = []
        self._places: dict[Path, Place | None] = {}

    def begin(self) -> None:
        """Forget all: the first document is read again. Files stay open for the texts that were read from them."""
        self.paths, self.files, self._places = [], [], {}

    def open(self, path: Path) -> Numbered | None:
        """Open a document; None where it is not there, no whole JSON, or one of too many."""
        if len(self.paths) >= MOST_DOCUMENTS or path in self._places:
            return None
        self._places[path] = None
        try:
            file = open_for_reading(path)
            place = Place.of(os.fstat(file.fileno()))
            # One that has just been written is looked at once more: two changes may have the same time.
            is_old = time.time() - place.modified / 1e9 > CLOCK_SECONDS
            self._places[path] = place if is_old else place._replace(modified=0)
            if place.size > MOST_BYTES:
                return None
            data = file.read()
        except (OSError, SessionError):
            return None
        start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
        if not is_whole(data[start:]):
            return None
        self.paths.append(path)
        self.files.append(file)
        return Numbered(len(self.paths), FileNode(data[start:], start))

    def changed(self) -> bool:
        """Whether any of them is another than when it was opened, or has come or gone."""
        return any(_place(path) != place for path, place in self._places.items())

    def are_settled(self, seconds: float) -> bool:
        """Whether none is being written: one that is no whole JSON is, unless it was left like that for so long."""
        for path in self._places:
            place = _place(path)
            if place is None or place == self._places[path]:
                continue
            try:
                with open_for_reading(path) as file:
                    is_broken = not is_whole(file.read().removeprefix(BYTE_ORDER_MARK))
            except (OSError, SessionError):
                continue
            if is_broken and time.time() - place.modified / 1e9 < seconds:
                return False
        return True


def _place(path: Path) -> Place | None:
    try:
        return Place.of(path.stat())
    except OSError:
        return None
