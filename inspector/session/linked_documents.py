"""Further documents that a session goes on in, or whose texts it holds: found while the first one is read."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.errors import SessionError
from inspector.session.files import BYTE_ORDER_MARK, CLOCK_SECONDS, FileState, open_for_reading
from inspector.session.json.codec import is_whole_json, lenient_json
from inspector.session.json.nodes import FileNode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

    from inspector.session.json.nodes import Node


MOST_DOCUMENTS = 1000

MOST_LINKED_BYTES = 1 << 31


class LinkedDocument(NamedTuple):
    """A document that was opened.

    Attributes:
        number: What `origin.file` of its blocks is.
        node: What it holds.
    """

    number: int
    node: Node


class LinkedDocuments:
    """The further documents of one session.

    Attributes:
        paths: Those that were opened, in the order of their numbers, which begin with 1.
        files: The same, open for reading.
    """

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self.files: list[BinaryIO] = []
        self._places: dict[Path, FileState | None] = {}

    def begin(self) -> None:
        """Forget all: the first document is read again. Files stay open for the texts that were read from them."""
        self.paths, self.files, self._places = [], [], {}

    def open(self, path: Path) -> LinkedDocument | None:
        """Open a document; None where it is not there, no whole JSON, or one of too many."""
        if len(self.paths) >= MOST_DOCUMENTS or path in self._places:
            return None
        self._places[path] = None
        try:
            file = open_for_reading(path)
            place = FileState.of(os.fstat(file.fileno()))
            # One that has just been written is looked at once more: two changes may have the same time.
            is_old = time.time() - place.modified / 1e9 > CLOCK_SECONDS
            self._places[path] = place if is_old else place._replace(modified=0)
            if place.size > MOST_LINKED_BYTES:
                return None
            data = file.read()
        except (OSError, SessionError):
            return None
        start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
        if not is_whole_json(data[start:]):
            return None
        self.paths.append(path)
        self.files.append(file)
        return LinkedDocument(len(self.paths), FileNode(data[start:], start))

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
                    is_broken = not is_whole_json(file.read().removeprefix(BYTE_ORDER_MARK))
            except (OSError, SessionError):
                continue
            if is_broken and time.time() - place.modified / 1e9 < seconds:
                return False
        return True


def _place(path: Path) -> FileState | None:
    try:
        return FileState.of(path.stat())
    except OSError:
        return None


MOST_SIDECAR_BYTES = 1 << 28


class SidecarFile:
    """A JSON document that may be missing, be written at the moment, or come later."""

    def __init__(self, path: Path, part: Callable[[Any], Any] | None = None) -> None:
        """Begin; nothing is read yet.

        Args:
            path: The document.
            part: Gives what of it is of interest, where that is not all: other changes are none.
        """
        self._path = path
        self._part = part
        self._place: FileState | None = None
        self._value: Any = None

    def value(self) -> Any:
        """What it holds, or held when it could last be read; None where it never could."""
        self.changed()
        return self._value

    def changed(self) -> bool:
        """Look at it again; whether it holds something else than before."""
        try:
            place = FileState.of(self._path.stat())
            if place == self._place or place.size > MOST_SIDECAR_BYTES:
                return False
            with open_for_reading(self._path) as file:
                data = file.read()
        except (OSError, SessionError):
            return False
        value = lenient_json(data)[0]
        if value is None:
            return False  # written at the moment; looked at again
        self._place = place
        before, self._value = self._value, value if self._part is None else self._part(value)
        return bool(before != value)
