"""Reading logs: JSON documents, archives, of which one file is read, and samples that are not finished yet."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from inspector.session.assembly import Assembly
from inspector.session.documents import BROKEN_SECONDS, DocumentReader
from inspector.session.errors import SessionError
from inspector.session.formats.inspect_ai.archive import Archive
from inspector.session.formats.inspect_ai.buffer import buffer_of, running_in
from inspector.session.formats.inspect_ai.conversation import blocks_again, interpret_sample
from inspector.session.formats.inspect_ai.messages import Attachments
from inspector.session.formats.inspect_ai.samples import chosen, header_of, name_of_sample, nodes_of_samples
from inspector.session.locator import Locator
from inspector.session.model import Block, TextUnavailableError
from inspector.session.nodes import FileNode
from inspector.session.opening import Place
from inspector.session.reading import Change, Progress
from inspector.session.sample import SQLITE, ZIP, Sample
from inspector.session.texts import CachedTexts
from inspector.session.values import mapping, sequence

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inspector.session.database import DatabaseState
    from inspector.session.model import Origin, Session
    from inspector.session.nodes import Node
    from inspector.session.reading import Reader


def log_reader(path: Path, name: str) -> Reader:
    """A reader for a sample of a log: the one named, else the last one.

    Raises:
        SessionError: The log has no such sample.
    """
    locator = Locator.of(path)
    sample = Sample(locator.file)
    if sample.head.startswith((ZIP, SQLITE)) or _is_running(locator, sample):
        return LogReader(path, name)
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


def _is_running(locator: Locator, log: Sample) -> bool:
    """Whether the sample of a JSON log that is asked for stands in the database beside it alone."""
    finished = sequence(mapping(log.only_value).get("samples"))
    if locator.session:
        return not any(name_of_sample(mapping(sample)) == locator.session for sample in finished) and (
            locator.session in running_in(locator.file)
        )
    return not finished and bool(running_in(locator.file))


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


class LogReader:
    """Reads a sample of an archive or of a running evaluation, and again whenever it was written anew."""

    def __init__(self, path: Path, format_name: str) -> None:
        """Begin; nothing is read yet.

        Args:
            path: The log, or the database of a running one, perhaps with a sample's name behind it.
            format_name: The format's name.
        """
        self._path = path
        self._locator = Locator.of(path)
        self._format = format_name
        self._state: tuple[Place, DatabaseState | None] | None = None
        self._assembly = Assembly()
        self._texts = MemberTexts("", b"", Attachments())
        self._file = self._locator.file
        self._running = ""
        self._session: Session | None = None

    def load(self) -> Iterator[Progress]:
        """Read the sample.

        Raises:
            SessionError: It cannot be read, or is not there.
        """
        size = self._locator.file.stat().st_size
        yield Progress(0, size)
        self._read()
        yield Progress(size, size)

    def snapshot(self) -> Session:
        """What has been read."""
        if self._session is None:
            self._session = self._assembly.snapshot(self._format, self._path, self._texts, (self._file,))
        return self._session

    def refresh(self) -> Change:
        """Look at the log again. One that cannot be read is being written, unless it is left like that."""
        try:
            place = Place.of(self._locator.file.stat())
        except FileNotFoundError:
            return Change.VANISHED
        except OSError:
            return Change.UNREADABLE
        buffer = buffer_of(self._locator.file)
        if (place, buffer.state() if buffer is not None else None) == self._state:
            return Change.NONE
        before = self.snapshot()
        try:
            self._read()
        except SessionError:
            is_fresh = time.time() - place.modified / 1e9 < BROKEN_SECONDS
            return Change.UNREADABLE if is_fresh else Change.REPLACED
        self._assembly.reuse(before)
        return Change.NONE if self.snapshot() == before else Change.APPENDED

    def watched(self) -> Path:
        """The log's folder."""
        return self._locator.file.parent

    def _read(self) -> None:
        log = self._locator.file
        place, buffer = Place.of(os.stat(log)), buffer_of(log)  # noqa: PTH116  # the same as the other readers ask
        state = buffer.state() if buffer is not None else None
        archive = Archive.at(log)
        running = buffer.samples() if buffer is not None else {}
        running = {name: sample for name, sample in running.items() if name not in archive.samples}
        if not archive.is_log and not running:
            raise SessionError(f"{self._path}: the archive is not finished, or no log of Inspect's.")
        # A sample that is followed while it runs stays the one that is read, though others run beside it.
        wanted = self._locator.session or self._running
        name = chosen([*archive.samples, *running], wanted, self._path)
        if name in running and buffer is not None:
            self._running, self._file, file = name, buffer.path, name
            data = buffer.document(running[name])
        else:
            self._file, file = log, archive.samples[name]
            data = archive.read(file)
        attachments, assembly = Attachments(), Assembly()
        interpret_sample(FileNode(data, 0), header_of(archive), assembly, attachments)
        assembly.record_counts["sample"] = len(archive.samples)
        if running:
            assembly.record_counts["running sample"] = len(running)
        self._assembly, self._texts = assembly, MemberTexts(file, data, attachments)
        self._state, self._session = (place, state), None
