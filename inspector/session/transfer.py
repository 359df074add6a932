"""Transfer a session from the reading process: everything except texts, which are read again from the files."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeGuard

from msgspec import Struct, msgpack

from inspector.errors import SessionError
from inspector.session.jsonl_reader import JsonlReader, ReadPlace
from inspector.session.model import (
    Call,
    Compaction,
    Context,
    ContextCause,
    Diagnostic,
    LinkKind,
    Message,
    RecordedTotals,
    Session,
    SessionLink,
    SideCall,
)
from inspector.session.open import Loading, load_in_parts, open_reader
from inspector.session.snapshot_list import ListSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.session.model import TextSource
    from inspector.session.reader import Reader

SECONDS_BETWEEN_PARTS: Final = 1.0
"""Minimum interval between partial sessions after the first: each repeats everything before it."""

LENGTH_BYTES: Final = 8
"""Size of the length prefix of every part."""

EncodedPath = bytes
"""A path as bytes, since it may not be valid text."""


class EncodedSession(Struct, array_like=True):
    """A session in types that msgspec encodes directly; attributes as in `Session`, without texts.

    Encoding raises `UnicodeEncodeError` if a string contains lone surrogates from JSON.
    """

    format: str
    path: EncodedPath
    identifier: str
    messages: tuple[Message, ...]
    calls: tuple[Call, ...]
    contexts: tuple[tuple[tuple[int, ...], int, ContextCause, int], ...]
    compactions: tuple[Compaction, ...]
    diagnostics: tuple[Diagnostic, ...]
    skipped_records: int
    record_counts: dict[str, int]
    title: str
    agent: str
    working_directory: str
    window: int | None
    files: tuple[EncodedPath, ...]
    links: tuple[tuple[LinkKind, str, EncodedPath | None, str, str], ...]
    side_calls: tuple[SideCall, ...]
    side_files: tuple[EncodedPath, ...]
    recorded_totals: tuple[RecordedTotals, ...]

    @classmethod
    def of(cls, session: Session) -> EncodedSession:
        return cls(
            format=session.format,
            path=os.fsencode(session.path),
            identifier=session.identifier,
            messages=tuple(session.messages),
            calls=tuple(session.calls),
            contexts=tuple((tuple(one.members), one.retained, one.cause, one.thread) for one in session.contexts),
            compactions=session.compactions,
            diagnostics=session.diagnostics,
            skipped_records=session.skipped_records,
            record_counts=dict(session.record_counts),
            title=session.title,
            agent=session.agent,
            working_directory=session.working_directory,
            window=session.window,
            files=tuple(map(os.fsencode, session.files)),
            links=tuple(
                (
                    link.kind,
                    link.identifier,
                    None if link.path is None else os.fsencode(link.path),
                    link.tool_call_id,
                    link.title,
                )
                for link in session.links
            ),
            side_calls=session.side_calls,
            side_files=tuple(map(os.fsencode, session.side_files)),
            recorded_totals=session.recorded_totals,
        )

    def session(self, texts: TextSource) -> Session:
        """Return a session equal to the original."""
        made = Session(
            format=self.format,
            path=_path(self.path),
            identifier=self.identifier,
            messages=ListSnapshot(self.messages),
            calls=ListSnapshot(self.calls),
            contexts=tuple(
                Context(ListSnapshot(members), retained, cause, thread)
                for members, retained, cause, thread in self.contexts
            ),
            texts=texts,
            compactions=self.compactions,
            diagnostics=self.diagnostics,
            skipped_records=self.skipped_records,
            record_counts=self.record_counts,
            title=self.title,
            agent=self.agent,
            working_directory=self.working_directory,
            window=self.window,
            files=tuple(map(_path, self.files)),
            links=tuple(
                SessionLink(kind, identifier, None if path is None else _path(path), tool_call_id, title)
                for kind, identifier, path, tool_call_id, title in self.links
            ),
            side_calls=self.side_calls,
            side_files=tuple(map(_path, self.side_files)),
            recorded_totals=self.recorded_totals,
        )
        vars(made)["all_blocks"] = ListSnapshot(chain.from_iterable(message.blocks for message in self.messages))
        return made


def _path(encoded: EncodedPath) -> Path:
    return Path(os.fsdecode(encoded))


class TransferPart(Struct, array_like=True):
    """Progress of reading, now and then with the session so far; the last part has the reader's position."""

    done: int
    total: int
    session: EncodedSession | None = None
    place: ReadPlace | None = None

    def resume_with(self, reader: Reader) -> Loading | None:
        """Resume reading in this process; None if the reader is of another kind or the file was replaced."""
        if not resumes(reader):
            return None
        session = None if self.session is None else self.session.session(reader.texts)
        if session is not None and self.place is not None and not reader.resume(self.place, session):
            return None
        return Loading(self.done, self.total, session, is_complete=self.place is not None)


def resumes(reader: Reader) -> TypeGuard[JsonlReader]:
    """Return True if a reader can resume at another reader's position: only one for the lines of a single file."""
    return type(reader) is JsonlReader


def decoded_parts(pipe: IO[bytes]) -> Iterator[TransferPart]:
    """Yield the parts from a pipe until it closes, possibly within one. Raises `DecodeError` for other data."""
    decoder = msgpack.Decoder(TransferPart)
    while len(head := pipe.read(LENGTH_BYTES)) == LENGTH_BYTES:
        length = int.from_bytes(head, "big")
        if len(data := pipe.read(length)) < length:
            return
        yield decoder.decode(data)


def send_session(path: str) -> None:
    """Read a session and write its parts to standard output; main function of the subprocess.

    A session that cannot be read or resumed sends nothing: the parent process then reads it and reports the error.
    """
    gc.disable()  # collection would scan the whole session, which lives until the end
    encoder = msgpack.Encoder()
    # The parent process may end first.
    with suppress(SessionError, BrokenPipeError), open(1, "wb", closefd=False) as pipe:
        reader = open_reader(path)
        if not resumes(reader):
            return
        for loading in load_in_parts(reader, SECONDS_BETWEEN_PARTS):
            session = None if loading.session is None else EncodedSession.of(loading.session)
            place = reader.place if loading.is_complete else None
            data = encoder.encode(TransferPart(loading.done, loading.total, session, place))
            pipe.write(len(data).to_bytes(LENGTH_BYTES, "big"))
            pipe.write(data)
            pipe.flush()
