"""Additional JSON documents of a session: continuations and sidecars.

Blocks of a *linked* document belong to the session: its file is one of `Session.files`. A *sidecar* only adds data
about content of the session's own file.
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
    """An opened document.

    Attributes:
        number: Value of `origin.file` for its blocks.
        node: Its content.
    """

    number: int
    node: Node


class LinkedDocuments:
    """The documents in which a session continues, found while the first one is read.

    Attributes:
        paths: Paths of the opened documents by number, starting at 1.
        files: The open files, in the same order.
    """

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self.files: list[BinaryIO] = []
        self._states: dict[Path, FileState | None] = {}

    def begin(self) -> None:
        """Reset before the first document is read again. Files stay open for the texts read from them."""
        self.paths, self.files, self._states = [], [], {}

    def open(self, path: Path) -> LinkedDocument | None:
        """Open a document, or return None if it is missing, invalid JSON or beyond the limit."""
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
        """Return True if any document was changed, created or removed since it was opened."""
        return any(FileState.at(path) != state for path, state in self._states.items())

    def are_settled(self, seconds: float) -> bool:
        """Return True if no document is being written: invalid JSON counts as settled after `seconds`."""
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
    """A document that may be missing, incomplete or created later."""

    def __init__(
        self,
        path: Path,
        part: Callable[[Any], Any] | None = None,
        decode: Callable[[bytes], Any] = lambda data: lenient_json(data)[0],
    ) -> None:
        """Create the sidecar without reading it.

        Args:
            path: The document.
            part: Extracts the relevant part; changes elsewhere are ignored.
            decode: Decodes the bytes, returning None if they are unreadable; JSON by default.
        """
        self._path = path
        self._part = part
        self._decode = decode
        self._state: FileState | None = None
        self._value: Any = None

    def value(self) -> Any:
        """Return the content as last read, or None if it was never readable."""
        self.changed()
        return self._value

    def changed(self) -> bool:
        """Check the file; return True if its content has changed."""
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
            return False  # incomplete; checked again later
        self._state = state
        before, self._value = self._value, value if self._part is None else self._part(value)
        return bool(before != self._value)
