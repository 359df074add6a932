"""On-disk cache of token counts, so that a reopened file has exact counts immediately.

There is one file per session and encoding in the user's cache folder. It contains digests of texts and token lengths,
but no text. Files are replaced atomically, so other processes read either the old or the new one; unreadable files and
failed writes are ignored. Files are readable by their owner only.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from inspector.atomic_files import cache_folder, evict, replacing
from inspector.tokens.prefix_counts import digest_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from inspector.session.model import Session
    from inspector.tokens.prefix_counts import CountedTexts

VERSION = 1
"""Part of every file name: files of other versions are ignored and eventually evicted."""

ROOM_BYTES = 256 << 20
"""Limit on the size of all files: some forty sessions of 100 MB, or thousands of typical ones."""

SHARED_BYTES = 64 << 20
"""Size limit of the in-memory cache across sessions: tokens of some 300 MB of text."""

_WORTH_SAVING_TOKENS = 20_000


@dataclass(frozen=True)
class CountCache:
    """On-disk cache of counted texts, one file per session and encoding. Never raises.

    Attributes:
        folder: Cache folder.
        room_bytes: Limit on the size of all files; the least recently used ones are evicted.
    """

    folder: Path = field(default_factory=lambda: cache_folder("tokens"))
    room_bytes: int = ROOM_BYTES

    def load(self, session: Session, texts: CountedTexts) -> None:
        """Add the cached counts of this session. A conversation given in memory is not cached."""
        if not session.files:
            return
        path = self._path(session, texts)
        try:
            with np.load(path, allow_pickle=False) as kept:
                digests, tokens, lengths = kept["digests"], kept["tokens"], kept["lengths"]
            _check(digests, tokens, lengths)
        except Exception:  # noqa: BLE001  any error the archive and array readers raise for a damaged file
            return
        texts.add_counted([row.tobytes() for row in digests], tokens.astype(np.int64), lengths)
        texts.tokens_cached = len(lengths)
        with contextlib.suppress(OSError):  # postpone eviction of a file in use
            os.utime(path)

    def save(self, session: Session, texts: CountedTexts) -> None:
        """Cache the counts of this session, unless hardly anything is new since it was loaded or saved."""
        if not session.files:
            return
        columns = texts.columns()
        token_count = int(columns.first_token[-1])
        new = token_count - texts.tokens_cached
        if not new or (texts.tokens_cached and new < max(_WORTH_SAVING_TOKENS, token_count // 20)):
            return
        digests = texts.digests()[: len(columns.first_token) - 1]
        wanted = {block.digest for block in session.blocks}
        wanted.update(map(digest_of, {block.tool_name for block in session.blocks}))
        tokens = np.diff(columns.first_token)
        keep = np.fromiter((digest in wanted for digest in digests), np.bool_, len(digests)) & (tokens > 0)
        lengths = columns.lengths[:token_count][np.repeat(keep, tokens)]
        kept_digests = b"".join(digest for digest, is_kept in zip(digests, keep.tolist(), strict=True) if is_kept)
        try:
            with replacing(self._path(session, texts)) as file:
                np.savez(
                    file,
                    digests=np.frombuffer(kept_digests, np.uint8).reshape(-1, 16),
                    tokens=tokens[keep].astype(np.int32),
                    lengths=lengths,
                )
            evict(self.folder, most_bytes=self.room_bytes)
        except OSError:
            return
        texts.tokens_cached = token_count

    def _path(self, session: Session, texts: CountedTexts) -> Path:
        place = f"{VERSION}\n{texts.counter.name}\n{session.format}\n{os.path.realpath(session.path)}"
        return self.folder / f"{blake2b(os.fsencode(place), digest_size=16).hexdigest()}.npz"


@dataclass
class SharedLengths:
    """In-memory cache of token lengths.

    Attributes:
        lengths: Token lengths by text digest, one byte per token.
        size: Total size in bytes.
    """

    lengths: dict[bytes, bytes] = field(default_factory=dict)
    size: int = 0


@dataclass(frozen=True)
class SharedCountCache(CountCache):
    """A cache shared by sessions that are counted one after another: each text is counted once. Holds no texts.

    Attributes:
        shared: Token lengths of earlier sessions.
        shared_bytes: Size limit; the in-memory cache is cleared when it is exceeded.
    """

    shared: SharedLengths = field(default_factory=SharedLengths)
    shared_bytes: int = SHARED_BYTES

    def load(self, session: Session, texts: CountedTexts) -> None:
        """Add the cached counts of this session and those shared by other sessions."""
        super().load(session, texts)
        digests = dict.fromkeys(block.digest for block in session.blocks)
        shared = self.shared.lengths
        known = {digest: shared[digest] for digest in digests if digest in shared and texts.row(digest) < 0}
        if known:
            tokens = np.array([*map(len, known.values())], np.int64)
            texts.add_counted([*known], tokens, np.frombuffer(b"".join(known.values()), np.uint8))

    def save(self, session: Session, texts: CountedTexts) -> None:
        """Cache the counts of this session, also for other sessions."""
        super().save(session, texts)
        columns, shared = texts.columns(), self.shared
        if shared.size + int(columns.first_token[-1]) > self.shared_bytes:
            shared.lengths.clear()
            shared.size = 0
        lengths = columns.lengths.tobytes()
        for digest, (start, stop) in zip(texts.digests(), pairwise(columns.first_token.tolist()), strict=False):
            if stop > start and digest not in shared.lengths:
                shared.lengths[digest] = lengths[start:stop]
                shared.size += stop - start


def _check(digests: NDArray[np.generic], tokens: NDArray[np.generic], lengths: NDArray[np.generic]) -> None:
    """Raise `ValueError` unless the columns have the layout written by `CountCache.save`."""
    if digests.dtype != np.uint8 or tokens.dtype != np.int32 or lengths.dtype != np.uint8:
        raise ValueError("other types")
    if digests.shape != (len(tokens), 16) or tokens.ndim != 1 or lengths.ndim != 1:
        raise ValueError("other shapes")
    if (len(tokens) and tokens.min() < 1) or tokens.sum(dtype=np.int64) != len(lengths):
        raise ValueError("other counts")
