"""Reading files that are one JSON document: read whole, and read again whole when they change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from inspector.session.assembly import Assembly
from inspector.session.lines import Place, open_for_reading
from inspector.session.nodes import FileNode
from inspector.session.reading import Change, Progress
from inspector.session.texts import FileTexts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from inspector.session.model import Session
    from inspector.session.nodes import Node
    from inspector.session.texts import BlocksOfRecord

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class DocumentReader:
    """Reads one JSON document."""

    def __init__(
        self,
        path: Path,
        format_name: str,
        interpret: Callable[[Node, Assembly], None],
        blocks_of_record: BlocksOfRecord,
    ) -> None:
        """Open a file.

        Args:
            path: The file.
            format_name: The format's name.
            interpret: Fills an assembly from the document.
            blocks_of_record: Gives the blocks of an entry read again.

        Raises:
            SessionError: It cannot be opened.
        """
        self._path = path
        self._format = format_name
        self._interpret = interpret
        self._file = open_for_reading(path)
        self._place = Place.of(os.fstat(self._file.fileno()))
        self._assembly = Assembly()
        self._texts = FileTexts((path,), (self._file,), blocks_of_record)

    def load(self) -> Iterator[Progress]:
        """Read the document."""
        data = self._file.read()
        start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
        yield Progress(0, len(data))
        self._interpret(FileNode(data[start:], start), self._assembly)
        yield Progress(len(data), len(data))

    def snapshot(self) -> Session:
        """What has been read."""
        return self._assembly.snapshot(self._format, self._path, self._texts, (self._path,))

    def refresh(self) -> Change:
        """Whether the file is still the one that was read; a changed document needs a new reader."""
        try:
            place = Place.of(self._path.stat())
        except FileNotFoundError:
            return Change.VANISHED
        except OSError:
            return Change.UNREADABLE
        if place == self._place:
            return Change.NONE
        return Change.UNREADABLE if place.size == 0 else Change.REPLACED

    def watched(self) -> Path:
        """The file's folder."""
        return self._path.parent
