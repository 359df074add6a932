"""Reading logs: JSON documents, and archives, of which one file is read."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from inspector.session.assembly import Assembly
from inspector.session.documents import BROKEN_SECONDS, DocumentReader
from inspector.session.errors import SessionError
from inspector.session.formats.base import Sample
from inspector.session.formats.inspect_ai import ZIP
from inspector.session.formats.inspect_ai.archive import Archive
from inspector.session.formats.inspect_ai.conversation import blocks_again, interpret_sample
from inspector.session.formats.inspect_ai.messages import Attachments
from inspector.session.formats.inspect_ai.samples import chosen, header_of, nodes_of_samples
from inspector.session.locator import Locator
from inspector.session.model import Block, TextUnavailableError
from inspector.session.nodes import FileNode
from inspector.session.opening import Place
from inspector.session.reading import Change, Progress
from inspector.session.reuse import reused
from inspector.session.texts import CachedTexts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inspector.session.model import Origin, Session
    from inspector.session.nodes import Node
    from inspector.session.reading import Reader


def log_reader(path: Path, name: str) -> Reader:
    """A reader for a sample of a log: the one named, else the last one.

    Raises:
        SessionError: The log has no such sample.
    """
    locator = Locator.of(path)
    if Sample(locator.file).head.startswith(ZIP):
        return ArchiveReader(path, name)
    attachments = Attachments()

    def interpret(node: Node, assembly: Assembly) -> None:
        samples = nodes_of_samples(node)
        fields = node.fields()
        header: dict[str, Any] = {one: fields[one].value() for one in ("eval", "status") if one in fields}
        if samples:
            sample = samples[chosen(samples, locator.session, path)]
            interpret_sample(sample, header, assembly, attachments)
        assembly.record_counts["sample"] = len(samples)

    return DocumentReader(path, name, interpret, lambda record, origin: blocks_again(record, origin, attachments))


class MemberTexts(CachedTexts):
    """Texts of messages in a file of an archive, which is kept as it was when it was read."""

    def __init__(self, name: str, data: bytes, attachments: Attachments) -> None:
        """The file's name and what it holds."""
        super().__init__(lambda record, origin: blocks_again(record, origin, attachments))
        self._file = name
        self._data = data

    def record(self, block: Block) -> bytes:
        """The message as it stands in the archive."""
        start, length = block.origin.offset, block.origin.length
        if not 0 <= start <= start + length <= len(self._data):
            raise TextUnavailableError(f"{self._file} is shorter than it was when it was read")
        return self._data[start : start + length]

    def _key(self, origin: Origin) -> tuple[int, int | str]:
        return origin.file, origin.offset

    def _name(self, origin: Origin) -> str:  # noqa: ARG002  # all are in one file
        return self._file


class ArchiveReader:
    """Reads a sample of an archive, and again whenever the archive was written anew."""

    def __init__(self, path: Path, format_name: str) -> None:
        """Begin; nothing is read yet.

        Args:
            path: The archive, perhaps with a sample's name behind it.
            format_name: The format's name.
        """
        self._path = path
        self._locator = Locator.of(path)
        self._format = format_name
        self._place: Place | None = None
        self._assembly = Assembly()
        self._texts = MemberTexts("", b"", Attachments())
        self._session: Session | None = None

    def load(self) -> Iterator[Progress]:
        """Read the sample.

        Raises:
            SessionError: It cannot be read, or is not there.
        """
        place = Place.of(os.stat(self._locator.file))  # noqa: PTH116  # the same as the other readers ask
        yield Progress(0, place.size)
        self._read(place)
        yield Progress(place.size, place.size)

    def snapshot(self) -> Session:
        """What has been read."""
        if self._session is None:
            self._session = self._assembly.snapshot(self._format, self._path, self._texts, (self._locator.file,))
        return self._session

    def refresh(self) -> Change:
        """Look at the archive again. One that cannot be read is being written, unless it is left like that."""
        try:
            place = Place.of(self._locator.file.stat())
        except FileNotFoundError:
            return Change.VANISHED
        except OSError:
            return Change.UNREADABLE
        if place == self._place:
            return Change.NONE
        before = self.snapshot()
        try:
            self._read(place)
        except SessionError:
            is_fresh = time.time() - place.modified / 1e9 < BROKEN_SECONDS
            return Change.UNREADABLE if is_fresh else Change.REPLACED
        self._assembly.messages = reused(self._assembly.messages, before.messages)
        return Change.NONE if self.snapshot() == before else Change.APPENDED

    def watched(self) -> Path:
        """The archive's folder."""
        return self._locator.file.parent

    def _read(self, place: Place) -> None:
        archive = Archive.at(self._locator.file)
        if not archive.is_log:
            raise SessionError(f"{self._path}: the archive is not finished, or no log of Inspect's.")
        name = archive.samples[chosen(archive.samples, self._locator.session, self._path)]
        data = archive.read(name)
        attachments, assembly = Attachments(), Assembly()
        interpret_sample(FileNode(data, 0), header_of(archive), assembly, attachments)
        assembly.record_counts["sample"] = len(archive.samples)
        self._assembly, self._texts = assembly, MemberTexts(name, data, attachments)
        self._place, self._session = place, None
