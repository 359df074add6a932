"""Other JSON documents that a session is read from: those it goes on in, and those that stand beside it.

Blocks of a *linked* document belong to the session: its file is one of `Session.files`. A *sidecar* only says more of
what is in the session's own file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.errors import SessionError
from inspector.session.files import FileState, open_for_reading
from inspector.session.json.codec import is_whole_json, lenient_json
from inspector.session.json.nodes import FileNode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

    from inspector.session.json.nodes import Node

MOST_DOCUMENTS = 1000

MOST_LINKED_BYTES = 1 << 31

MOST_SIDECAR_BYTES = 1 << 28


class LinkedDocument(NamedTuple):
    """A document that was opened.

    Attributes:
        number: What `origin.file` of its blocks is.
        node: What it holds.
    """

    number: int
    node: Node


class LinkedDocuments:
    """The documents that one session goes on in, found while the first one is read.

    Attributes:
        paths: Those that were opened, in the order of their numbers, which begin with 1.
        files: The same, open for reading.
    """

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self.files: list[BinaryIO] = []
        self._states: dict[Path, FileState | None] = {}

    def begin(self) -> None:
        """Forget all: the first document is read again. Files stay open for the texts that were read from them."""
        self.paths, self.files, self._states = [], [], {}

    def open(self, path: Path) -> LinkedDocument | None:
        """Open a document; None where it is not there, no whole JSON, or one of too many."""
        if len(self.paths) >= MOST_DOCUMENTS or path in self._states:
            return None
        self._states[path] = None
        try:
            file = open_for_reading(path)
            state = FileState.of(os.fstat(file.fileno()))
            self._states[path] = state.settled()
            if state.size > MOST_LINKED_BYTES:
                return None
            data = file.read()
        except (OSError, SessionError):
            return None
        if not is_whole_json(data):
            return None
        self.paths.append(path)
        self.files.append(file)
        return LinkedDocument(len(self.paths), FileNode(data, 0))

    def changed(self) -> bool:
        """Whether any of them is another than when it was opened, or has come or gone."""
        return any(FileState.at(path) != state for path, state in self._states.items())

    def are_settled(self, seconds: float) -> bool:
        """Whether none is being written: one that is no whole JSON is, unless it was left like that for so long."""
        for path in self._states:
            state = FileState.at(path)
            if state is None or state == self._states[path]:
                continue
            try:
                with open_for_reading(path) as file:
                    is_broken = not is_whole_json(file.read())
            except (OSError, SessionError):
                continue
            if is_broken and state.age < seconds:
                return False
        return True


class SidecarFile:
    """A document that may be missing, be written at the moment, or come later."""

    def __init__(
        self,
        path: Path,
        part: Callable[[Any], Any] | None = None,
        decode: Callable[[bytes], Any] = lambda data: lenient_json(data)[0],
    ) -> None:
        """Begin; nothing is read yet.

        Args:
            path: The document.
            part: Gives what of it is of interest, where that is not all: other changes are none.
            decode: Reads it; None for what cannot be read. JSON where not given.
        """
        self._path = path
        self._part = part
        self._decode = decode
        self._state: FileState | None = None
        self._value: Any = None

    def value(self) -> Any:
        """What it holds, or held when it could last be read; None where it never could."""
        self.changed()
        return self._value

    def changed(self) -> bool:
        """Look at it again; whether it holds something else than before."""
        try:
            state = FileState.of(self._path.stat())
            if state == self._state or state.size > MOST_SIDECAR_BYTES:
                return False
            with open_for_reading(self._path) as file:
                data = file.read()
        except (OSError, SessionError):
            return False
        value = self._decode(data)
        if value is None:
            return False  # written at the moment; looked at again
        self._state = state
        before, self._value = self._value, value if self._part is None else self._part(value)
        return bool(before != self._value)
