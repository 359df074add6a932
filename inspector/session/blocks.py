"""Build blocks identically on the first read and when a text is read again, from the file or from memory."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from hashlib import blake2b
from operator import attrgetter
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from msgspec import structs

from inspector.plug_ins import FORMATS, failure_of
from inspector.session.json import clean_text, compact_json
from inspector.session.model import PREVIEW_CHARACTERS, Block, BlockKind, Media, Origin, TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    BlocksOfRecord = Callable[[bytes, Origin], Iterable["TextBlock"]]
    Place = tuple[int, int | str]
    Texts = dict[tuple[int, str], tuple[bytes, str]]


DIGEST_BYTES = 16

CHAT = "chat"
"""Locator of blocks counted per record: their `part` is not an index into a content list."""


class TextBlock(NamedTuple):
    """A block and its full text."""

    block: Block
    text: str

    def moved(self, origin: Origin) -> TextBlock:
        return TextBlock(structs.replace(self.block, origin=origin), self.text)


def argument_text(arguments: object) -> str:
    """Return a tool call's arguments as text: a string unchanged, anything else as JSON."""
    return clean_text(arguments if isinstance(arguments, str) else compact_json(arguments))


def text_block(
    kind: BlockKind,
    text: str,
    origin: Origin,
    *,
    tool_call_id: str = "",
    tool_name: str = "",
    is_error: bool = False,
    signature_characters: int = 0,
    media: tuple[Media, ...] = (),
    media_data: Iterable[bytes] = (),
    plain_text: bool = True,
) -> TextBlock:
    """Build a block with length, digest and preview.

    `text` has no lone surrogates. `media_data` distinguishes the digests of screenshots.
    """
    encoded = text.encode()
    digest = blake2b(encoded, digest_size=DIGEST_BYTES)
    for data in media_data:
        digest.update(b"\x00")
        digest.update(data)
    block = Block(
        kind,
        len(text),
        digest.digest(),
        text[:PREVIEW_CHARACTERS],
        origin,
        tool_call_id,
        tool_name,
        is_error,
        signature_characters,
        media,
        plain_text,
    )
    return TextBlock(block, text)


CACHED_CHARACTERS = 2_000_000
"""Cache size in characters: a screenful and its neighbors, a few megabytes at most."""

RECORD_CHARACTERS = 600
"""Size of a cached record without its texts, in characters of a byte: a large part of the cache if texts are short."""


class CachedTexts(ABC):
    """Text source with a cache of recent records. Digests of the texts show whether a record was rewritten."""

    def __init__(self, blocks_of_record: BlocksOfRecord) -> None:
        self._blocks_of_record = blocks_of_record
        self._most_characters = CACHED_CHARACTERS
        self._recent: OrderedDict[Place, tuple[Texts, int]] = OrderedDict()
        self._recent_characters = 0
        self._lock = threading.Lock()

    @abstractmethod
    def record(self, block: Block) -> bytes:
        """Return the raw bytes of the block's record. Raises `TextUnavailableError` if they no longer exist."""

    @abstractmethod
    def _key(self, origin: Origin) -> Place:
        """Return the cache key of a record."""

    @abstractmethod
    def _name(self, origin: Origin) -> str:
        """Return the name of the record's container, for messages."""

    def text(self, block: Block) -> str:
        """Return the block's full text. Raises `TextUnavailableError` if it no longer exists."""
        origin = block.origin
        place, key = (origin.part, origin.locator), self._key(origin)
        with self._lock:
            known = self._recent.get(key)
            if known is not None:
                self._recent.move_to_end(key)
        if known is not None and place in known[0] and known[0][place][0] == block.digest:
            return known[0][place][1]
        try:
            texts = self.remember(origin, self._blocks_of_record(self.record(block), origin))
        except Exception as error:
            if not (failed := failure_of(error, FORMATS)):
                raise
            raise TextUnavailableError(failed) from error
        digest, text = texts.get(place, (b"", ""))
        if digest != block.digest:
            raise TextUnavailableError(f"{self._name(origin)} has been rewritten since it was read")
        return text

    def keep(self, characters: int) -> None:
        """Set the cache size, for a session with texts that will all be read more than once."""
        self._most_characters = characters

    def remember(self, origin: Origin, made: Iterable[TextBlock]) -> Texts:
        """Cache the texts of a record and return them by their place in it."""
        key, texts, characters = self._key(origin), {}, RECORD_CHARACTERS
        for block, text in made:
            texts[block.origin.part, block.origin.locator] = (block.digest, text)
            characters += len(text)
        with self._lock:
            # Cached by a faster thread, or from an older version of the record.
            if (before := self._recent.pop(key, None)) is not None:
                self._recent_characters -= before[1]
            self._recent[key] = texts, characters
            self._recent_characters += characters
            while self._recent_characters > self._most_characters and len(self._recent) > 1:
                _, (_, oldest) = self._recent.popitem(last=False)
                self._recent_characters -= oldest
        return texts


class FileTexts(CachedTexts):
    """Texts of records at byte offsets of files, which stay open in case they are deleted or replaced."""

    def __init__(self, paths: Sequence[Path], files: Sequence[BinaryIO], blocks_of_record: BlocksOfRecord) -> None:
        """Create a source. `paths`: the files, indexed by `origin.file`; for messages."""
        super().__init__(blocks_of_record)
        self._paths = tuple(paths)
        self._files = tuple(files)

    def record(self, block: Block) -> bytes:
        origin = block.origin
        try:
            data = os.pread(self._files[origin.file].fileno(), origin.length, origin.offset)
        except (OSError, ValueError, IndexError) as error:
            raise TextUnavailableError(f"{self._name(origin)} cannot be read: {error}") from error
        if len(data) < origin.length:
            raise TextUnavailableError(f"{self._name(origin)} is shorter than when it was read")
        return data

    def _key(self, origin: Origin) -> Place:
        return origin.file, origin.offset

    def _name(self, origin: Origin) -> str:
        return self._paths[origin.file].name if origin.file < len(self._paths) else "the file"


class NamedTexts(CachedTexts):
    """Texts of records with names instead of offsets: database rows or small files."""

    def __init__(
        self,
        name: str,
        fetch: Callable[[str], bytes],
        blocks_of_record: BlocksOfRecord,
        name_of: Callable[[Origin], str] = attrgetter("locator"),
    ) -> None:
        """Create a source. `fetch` reads a record by its name, or raises `TextUnavailableError`."""
        super().__init__(blocks_of_record)
        self._source = name
        self._fetch = fetch
        self._name_of = name_of

    def record(self, block: Block) -> bytes:
        return self._fetch(self._name_of(block.origin))

    def _key(self, origin: Origin) -> Place:
        return origin.file, self._name_of(origin)

    def _name(self, origin: Origin) -> str:
        return f"{self._name_of(origin)} of {self._source}"


class MemoryTexts:
    """Texts of a conversation given in memory."""

    def __init__(self) -> None:
        self._texts: dict[Origin, str] = {}
        self._records: dict[Origin, bytes] = {}

    def keep(self, blocks: Iterable[TextBlock], record: bytes) -> None:
        """Store the texts of one entry's blocks, and the entry as JSON."""
        for block, text in blocks:
            self._texts[block.origin] = text
            self._records[block.origin] = record

    def text(self, block: Block) -> str:
        try:
            return self._texts[block.origin]
        except KeyError:
            raise TextUnavailableError("the block is not part of this conversation") from None

    def record(self, block: Block) -> bytes:
        try:
            return self._records[block.origin]
        except KeyError:
            raise TextUnavailableError("the block is not part of this conversation") from None
