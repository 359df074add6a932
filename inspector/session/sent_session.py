"""What a process that reads a session sends of it: everything but its texts, which are read again from its files."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, msgpack

from inspector.session.errors import SessionError
from inspector.session.jsonl_reader import JsonlReader, ReadPlace
from inspector.session.loading import Loading, load_in_parts
from inspector.session.model import (
    Call,
    Compaction,
    Context,
    ContextCause,
    Diagnostic,
    LinkKind,
    Message,
    Session,
    SessionLink,
    SideCall,
)
from inspector.session.open import open_reader
from inspector.session.snapshot_list import ListSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, TypeGuard

    from inspector.session.model import TextSource
    from inspector.session.reader import Reader

SECONDS_BETWEEN_PARTS: Final = 1.0
"""A part is sent no more often, but for the first: each holds everything before it once more."""

LENGTH_BYTES: Final = 8
"""Before every part stands its length."""

EncodedPath = bytes
"""A path as the system has it, which need not be text."""


class EncodedSession(Struct, array_like=True):
    """A session of parts that msgspec encodes and decodes by itself; attributes as in `Session`, its texts left out.

    Strings may hold what no encoding has, lone surrogates from JSON: encoding such a session raises
    `UnicodeEncodeError`.
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
    beside: tuple[EncodedPath, ...]

    @classmethod
    def of(cls, session: Session) -> EncodedSession:
        """A session, ready to be encoded."""
        return cls(
            format=session.format,
            path=os.fsencode(session.path),
            identifier=session.identifier,
            messages=tuple(session.messages),
            calls=tuple(session.calls),
            contexts=tuple((tuple(one.members), one.carried, one.cause, one.thread) for one in session.contexts),
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
            beside=tuple(map(os.fsencode, session.beside)),
        )

    def session(self, texts: TextSource) -> Session:
        """The session, equal to the one it was made of.

        Args:
            texts: Reads its texts again.
        """
        made = Session(
            format=self.format,
            path=_path(self.path),
            identifier=self.identifier,
            messages=ListSnapshot(self.messages),
            calls=ListSnapshot(self.calls),
            contexts=tuple(
                Context(ListSnapshot(members), carried, cause, thread)
                for members, carried, cause, thread in self.contexts
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
            beside=tuple(map(_path, self.beside)),
        )
        vars(made)["all_blocks"] = ListSnapshot(chain.from_iterable(message.blocks for message in self.messages))
        return made


def _path(encoded: EncodedPath) -> Path:
    return Path(os.fsdecode(encoded))


class SentPart(Struct, array_like=True):
    """How far a session has been read, and now and then what has been read of it.

    Attributes:
        done: Bytes read.
        total: Bytes there are.
        session: What has been read so far; None in between.
        place: Where the reader has come to, with the last part, which holds all of the session.
    """

    done: int
    total: int
    session: EncodedSession | None = None
    place: ReadPlace | None = None

    def taken_up_by(self, reader: Reader) -> Loading | None:
        """The same for whoever follows the session here.

        Args:
            reader: Has read nothing yet; it goes on from the last part.

        Returns:
            None where the reader cannot, because it is of another kind, or its file another one by now.
        """
        if not resumes(reader):
            return None
        session = None if self.session is None else self.session.session(reader.texts)
        if session is not None and self.place is not None and not reader.resume(self.place, session):
            return None
        return Loading(self.done, self.total, session, is_complete=self.place is not None)


def resumes(reader: Reader) -> TypeGuard[JsonlReader]:
    """Whether a reader can go on where another one is: one that knows nothing but the lines of one file."""
    return type(reader) is JsonlReader


def decoded_parts(pipe: IO[bytes]) -> Iterator[SentPart]:
    """The parts that come through a pipe, until it ends, in the middle of one or not.

    Raises:
        DecodeError: They are something else.
    """
    decoder = msgpack.Decoder(SentPart)
    while len(head := pipe.read(LENGTH_BYTES)) == LENGTH_BYTES:
        length = int.from_bytes(head, "big")
        if len(data := pipe.read(length)) < length:
            return
        yield decoder.decode(data)


def send_session(path: str) -> None:
    """Read a session, and write its parts to the standard output: all that the process does.

    Nothing is sent of what cannot be read, or not be gone on with elsewhere: whoever waits reads it then, and says why.
    """
    gc.disable()  # it would look through all that is read, which stays until the end
    encoder = msgpack.Encoder()
    # What it is sent to may end meanwhile.
    with suppress(SessionError, BrokenPipeError), open(1, "wb", closefd=False) as pipe:
        reader = open_reader(path)
        if not resumes(reader):
            return
        for loading in load_in_parts(reader, SECONDS_BETWEEN_PARTS):
            session = None if loading.session is None else EncodedSession.of(loading.session)
            place = reader.place if loading.is_complete else None
            data = encoder.encode(SentPart(loading.done, loading.total, session, place))
            pipe.write(len(data).to_bytes(LENGTH_BYTES, "big"))
            pipe.write(data)
            pipe.flush()
