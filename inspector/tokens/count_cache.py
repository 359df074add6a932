"""Counts kept between runs, so that a file opened again has exact counts at once.

One file a session and encoding, in the user's cache folder. It holds digests of texts and lengths of their tokens:
numbers, no text. It is written whole and put in place at once, so that other processes read the old or the new one;
what cannot be read is ignored, and where nothing can be written nothing is kept. Only its owner can read it.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from inspector.atomic_files import cache_folder, make_room, replacing
from inspector.tokens.prefix_counts import digest_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from inspector.session.model import Session
    from inspector.tokens.prefix_counts import CountedTexts

VERSION = 1
"""Part of every file's name: files of another layout are not looked at, and go when room is needed."""

ROOM_BYTES = 256 << 20
"""Space all files may take: some forty sessions of 100 MB, or thousands of usual ones."""

SHARED_BYTES = 64 << 20
"""What is remembered of sessions counted one after another: tokens of some 300 MB of text."""

_WORTH_SAVING_TOKENS = 20_000


@dataclass(frozen=True)
class CountCache:
    """Keeps counted texts, one file a session and encoding. Never raises.

    Attributes:
        folder: Where the files are.
        room_bytes: Space they may take together; the ones not used for longest go first.
    """

    folder: Path = field(default_factory=lambda: cache_folder("tokens"))
    room_bytes: int = ROOM_BYTES

    def load(self, session: Session, texts: CountedTexts) -> None:
        """Add what an earlier run counted of this session. A conversation that is in no file is not kept."""
        if not session.files:
            return
        path = self._path(session, texts)
        try:
            with np.load(path, allow_pickle=False) as kept:
                digests, tokens, lengths = kept["digests"], kept["tokens"], kept["lengths"]
            _check(digests, tokens, lengths)
        except Exception:  # noqa: BLE001  whatever a damaged file makes the archive and array readers raise
            return
        texts.add_counted([row.tobytes() for row in digests], tokens.astype(np.int64), lengths)
        texts.tokens_kept = len(lengths)
        with contextlib.suppress(OSError):  # a file in use is not the next one to go
            os.utime(path)

    def save(self, session: Session, texts: CountedTexts) -> None:
        """Keep what was counted of this session, unless hardly anything is new since it was loaded or saved."""
        if not session.files:
            return
        columns = texts.columns()
        token_count = int(columns.first_token[-1])
        new = token_count - texts.tokens_kept
        if not new or (texts.tokens_kept and new < max(_WORTH_SAVING_TOKENS, token_count // 20)):
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
            make_room(self.folder, most_bytes=self.room_bytes)
        except OSError:
            return
        texts.tokens_kept = token_count

    def _path(self, session: Session, texts: CountedTexts) -> Path:
        place = f"{VERSION}\n{texts.counter.name}\n{session.format}\n{os.path.realpath(session.path)}"
        return self.folder / f"{blake2b(os.fsencode(place), digest_size=16).hexdigest()}.npz"


@dataclass
class SharedLengths:
    """What is remembered of texts.

    Attributes:
        lengths: The lengths of a text's tokens, a byte each, by the text's digest.
        size: Bytes of all of them.
    """

    lengths: dict[bytes, bytes] = field(default_factory=dict)
    size: int = 0


@dataclass(frozen=True)
class SharedCountCache(CountCache):
    """One for many sessions, one after another: what one of them counted, none counts again. Keeps no texts either.

    Attributes:
        shared: What was counted.
        shared_bytes: What that may take; at more, all is forgotten.
    """

    shared: SharedLengths = field(default_factory=SharedLengths)
    shared_bytes: int = SHARED_BYTES

    def load(self, session: Session, texts: CountedTexts) -> None:
        """Add what an earlier run counted of this session, and what was counted of others."""
        super().load(session, texts)
        digests = dict.fromkeys(block.digest for block in session.blocks)
        shared = self.shared.lengths
        known = {digest: shared[digest] for digest in digests if digest in shared and texts.row(digest) < 0}
        if known:
            tokens = np.array([*map(len, known.values())], np.int64)
            texts.add_counted([*known], tokens, np.frombuffer(b"".join(known.values()), np.uint8))

    def save(self, session: Session, texts: CountedTexts) -> None:
        """Keep what was counted of this session, for others too."""
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
    """Raise `ValueError` unless the columns are what `CountCache.save` writes."""
    if digests.dtype != np.uint8 or tokens.dtype != np.int32 or lengths.dtype != np.uint8:
        raise ValueError("other types")
    if digests.shape != (len(tokens), 16) or tokens.ndim != 1 or lengths.ndim != 1:
        raise ValueError("other shapes")
    if (len(tokens) and tokens.min() < 1) or tokens.sum(dtype=np.int64) != len(lengths):
        raise ValueError("other counts")
