"""Reading texts again: from the file, or from a conversation that was given in memory."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from inspector.session.model import Block, TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Origin

    BlocksOfRecord = Callable[[bytes, Origin], Iterable[TextBlock]]
    Place = tuple[int, int]
    Texts = dict[tuple[int, str], tuple[bytes, str]]

CACHED_CHARACTERS = 2_000_000
"""Texts of recently read records kept: a screenful and its neighbours, a few megabytes at most."""


class FileTexts:
    """Texts of records that stand at byte offsets of files.

    The files stay open for reading, so that a file that was deleted or replaced can still be read; one that was
    rewritten in place is noticed, because every text is compared with its digest.
    """

    def __init__(self, paths: Sequence[Path], files: Sequence[BinaryIO], blocks_of_record: BlocksOfRecord) -> None:
        """Make a source.

        Args:
            paths: The files, in the order `origin.file` counts them; for messages.
            files: The same files, open for reading.
            blocks_of_record: Gives the blocks of a record, with texts, from its bytes.
        """
        self._paths = tuple(paths)
        self._files = tuple(files)
        self._blocks_of_record = blocks_of_record
        self._recent: OrderedDict[Place, Texts] = OrderedDict()
        self._recent_characters = 0
        self._lock = threading.Lock()

    def record(self, block: Block) -> bytes:
        """The raw bytes of the block's record. Raises `TextUnavailableError` when the file no longer holds it."""
        origin = block.origin
        try:
            data = os.pread(self._files[origin.file].fileno(), origin.length, origin.offset)
        except (OSError, ValueError, IndexError) as error:
            raise TextUnavailableError(f"{self._name(origin)} cannot be read: {error}") from error
        if len(data) < origin.length:
            raise TextUnavailableError(f"{self._name(origin)} is shorter than it was when it was read")
        return data

    def text(self, block: Block) -> str:
        """The block's whole text. Raises `TextUnavailableError` when the file no longer holds it."""
        origin = block.origin
        key = (origin.file, origin.offset)
        with self._lock:
            texts = self._recent.get(key)
            if texts is not None:
                self._recent.move_to_end(key)
        if texts is None:
            record = self.record(block)
            texts = {}
            for made in self._blocks_of_record(record, origin):
                own = made.block.origin
                texts[own.part, own.locator] = (made.block.digest, made.text)
            self._remember(key, texts)
        digest, text = texts.get((origin.part, origin.locator), (b"", ""))
        if digest != block.digest:
            raise TextUnavailableError(f"{self._name(origin)} was rewritten since it was read")
        return text

    def _remember(self, key: Place, texts: Texts) -> None:
        with self._lock:
            if key in self._recent:  # another thread was faster
                return
            self._recent[key] = texts
            self._recent_characters += sum(len(text) for _, text in texts.values())
            while self._recent_characters > CACHED_CHARACTERS and len(self._recent) > 1:
                _, oldest = self._recent.popitem(last=False)
                self._recent_characters -= sum(len(text) for _, text in oldest.values())

    def _name(self, origin: Origin) -> str:
        return self._paths[origin.file].name if origin.file < len(self._paths) else "the file"


class MemoryTexts:
    """Texts of a conversation that was given in memory: they are kept."""

    def __init__(self) -> None:
        self._texts: dict[Origin, str] = {}
        self._records: dict[Origin, bytes] = {}

    def keep(self, blocks: Iterable[TextBlock], record: bytes) -> None:
        """Keep the texts of one entry's blocks, and the entry itself."""
        for block, text in blocks:
            self._texts[block.origin] = text
            self._records[block.origin] = record

    def text(self, block: Block) -> str:
        """The block's whole text."""
        try:
            return self._texts[block.origin]
        except KeyError:
            raise TextUnavailableError("the block is not of this conversation") from None

    def record(self, block: Block) -> bytes:
        """The block's entry as JSON."""
        try:
            return self._records[block.origin]
        except KeyError:
            raise TextUnavailableError("the block is not of this conversation") from None
