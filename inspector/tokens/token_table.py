"""Token counts of all blocks of a session, and of the parts left by a strategy.

Counts are cached on disk, so that a reopened file has exact counts immediately: there is one file per session and
encoding in the user's cache folder. It contains digests of texts and token lengths, but no text. Files are replaced
atomically, so other processes read either the old or the new one; unreadable files and failed writes are ignored. Files
are readable by their owner only.
"""

from __future__ import annotations

import contextlib
import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from inspector.atomic_files import cache_folder, evict, replacing
from inspector.session.model import Session, TextUnavailableError
from inspector.tokens.block_tokens import BlockColumns, estimated
from inspector.tokens.counter import Counter, EstimateCounter
from inspector.tokens.prefix_counts import CountedTexts, KnownText, TextColumns, digest_of, tokens_of_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray


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
    """Token lengths in memory by text digest, a byte per token, and their total size."""

    lengths: dict[bytes, bytes] = field(default_factory=dict)
    size: int = 0


@dataclass(frozen=True)
class SharedCountCache(CountCache):
    """A cache shared by sessions that are counted one after another: each text is counted once. Holds no texts.

    Attributes:
        shared_bytes: Size limit; the in-memory cache is cleared when it is exceeded.
    """

    shared: SharedLengths = field(default_factory=SharedLengths)
    shared_bytes: int = SHARED_BYTES

    def load(self, session: Session, texts: CountedTexts) -> None:
        super().load(session, texts)
        digests = dict.fromkeys(block.digest for block in session.blocks)
        shared = self.shared.lengths
        known = {digest: shared[digest] for digest in digests if digest in shared and texts.row(digest) < 0}
        if known:
            tokens = np.array([*map(len, known.values())], np.int64)
            texts.add_counted([*known], tokens, np.frombuffer(b"".join(known.values()), np.uint8))

    def save(self, session: Session, texts: CountedTexts) -> None:
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


SECONDS_BETWEEN_TABLES = 0.1

CHARACTERS_READ_AT_ONCE = 100_000

CHARACTERS_COUNTED_AT_ONCE = 100_000
"""Number of characters counted in some 20 ms: not worth a preceding table of estimates."""


@dataclass(frozen=True, eq=False)
class TokenTable:
    """Token counts of a session's blocks. An immutable snapshot.

    Attributes:
        tokens: Tokens per block, int32; see `inspector.tokens.block_tokens` for their composition.
        beyond_text: Tokens in `tokens` that remain when the block's text is cut: a tool call's name, images, documents,
            a signature; int32.
        counted: Number of blocks counted with a tokenizer; the others are estimated from their characters.
        texts: The counted texts, including those counted after this snapshot.
    """

    session: Session
    tokens: NDArray[np.int32]
    beyond_text: NDArray[np.int32]
    counted: int
    block_columns: BlockColumns
    texts: CountedTexts
    text_columns: TextColumns

    @classmethod
    def estimated(
        cls, session: Session, counter: Counter | None = None, previous: TokenTable | None = None
    ) -> TokenTable:
        """Return a table without counting; unchanged messages of a `previous` one are not processed again."""
        texts = CountedTexts(counter or EstimateCounter()) if previous is None else previous.texts
        earlier = BlockColumns.empty() if previous is None else previous.block_columns
        return cls.of(session, BlockColumns.of(session, texts, earlier), texts)

    @classmethod
    def as_kept(cls, session: Session, counter: Counter, cache: CountCache | None = None) -> TokenTable:
        """Return the table with a session's cached counts, also those of the rest for later tables."""
        texts = CountedTexts(counter)
        (cache or CountCache()).load(session, texts)
        return cls.of(session, BlockColumns.of(session, texts, BlockColumns.empty()), texts)

    @classmethod
    def of(cls, session: Session, blocks: BlockColumns, texts: CountedTexts) -> TokenTable:
        columns = texts.columns()
        beyond_text = blocks.other_tokens(columns)
        return cls(
            session=session,
            tokens=beyond_text + blocks.text_tokens(columns),
            beyond_text=beyond_text,
            counted=int(blocks.counted().sum()) if texts.counter.is_exact_tokenizer else 0,
            block_columns=blocks,
            texts=texts,
            text_columns=columns,
        )

    @property
    def counter(self) -> Counter:
        return self.texts.counter

    @property
    def media(self) -> NDArray[np.int32]:
        """Tokens of images and documents per block, a part of `tokens`, int32."""
        return self.block_columns.media

    @property
    def is_complete(self) -> bool:
        """True if every block was counted with a tokenizer."""
        return self.counted == len(self.tokens)

    def text_tokens(self, text: str) -> int:
        """Return the tokens of a literal text: a marker, a replacement. Short texts are cached."""
        return self.texts.count(text)

    def head_tokens(self, blocks: ArrayLike, characters: ArrayLike) -> NDArray[np.int32]:
        """Return the tokens of a prefix of each text, unread: within three of exact for a counted one."""
        return self._tokens_within(blocks, characters, round_up=True)

    def tail_tokens(self, blocks: ArrayLike, characters: ArrayLike) -> NDArray[np.int32]:
        """Return the tokens of a suffix of each text; see `head_tokens`."""
        indices = np.asarray(blocks, np.intp)
        all_characters = self.block_columns.characters[indices]
        whole = self.tokens[indices] - self.beyond_text[indices]
        left_out = np.maximum(all_characters - np.asarray(characters, np.int64), 0)
        return whole - self._tokens_within(indices, left_out, round_up=False)

    def span_tokens(self, block: int, start: int, stop: int) -> int:
        """Return the tokens of characters `start` to `stop` of one text, as `head_tokens` and `tail_tokens` do."""
        row, characters = int(self.block_columns.row[block]), int(self.block_columns.characters[block])
        if row < 0:
            if start and stop == characters:
                return int(self.tail_tokens([block], stop - start)[0])
            return int(np.subtract(*self._tokens_within([block, block], (stop, start), round_up=True)))
        if start and stop == characters:
            whole = int(self.tokens[block]) - int(self.beyond_text[block])
            return whole - self.text_columns.tokens_before(row, start)
        first, last = (self.text_columns.tokens_reaching(row, at) for at in (start, stop))
        return last - first

    def head_characters(self, blocks: ArrayLike, tokens: ArrayLike) -> NDArray[np.int64]:
        """Return the characters in the first tokens of each text, exact for a counted one."""
        indices = np.asarray(blocks, np.intp)
        rows, characters = self.block_columns.row[indices], self.block_columns.characters[indices]
        known = self.text_columns.characters_within(np.maximum(rows, 0), tokens)
        guessed = np.asarray(tokens, np.int64) * characters // np.maximum(self._text_tokens(indices), 1)
        return np.where(rows >= 0, known, np.clip(guessed, 0, characters))

    def tail_characters(self, blocks: ArrayLike, tokens: ArrayLike) -> NDArray[np.int64]:
        """Return the characters in the last tokens of each text; see `head_characters`."""
        indices = np.asarray(blocks, np.intp)
        left_out = np.maximum(self._text_tokens(indices) - np.asarray(tokens, np.int64), 0)
        return self.block_columns.characters[indices] - self.head_characters(indices, left_out)

    def _text_tokens(self, indices: NDArray[np.intp]) -> NDArray[np.int64]:
        return (self.tokens[indices] - self.beyond_text[indices]).astype(np.int64)

    def _tokens_within(self, blocks: ArrayLike, characters: ArrayLike, *, round_up: bool) -> NDArray[np.int32]:
        indices = np.asarray(blocks, np.intp)
        rows = self.block_columns.row[indices]
        within, reaches_further = self.text_columns.tokens_within(np.maximum(rows, 0), characters)
        known = within + reaches_further if round_up else within
        if (rows >= 0).all():
            return known.astype(np.int32)
        guessed = estimated(np.clip(np.asarray(characters, np.int64), 0, self.block_columns.characters[indices]))
        return np.where(rows >= 0, known, guessed).astype(np.int32)

    def cut_tokens(self, block: int, head: int, middle: str, tail: int) -> int:
        """Return the tokens of a block's text cut to `head` characters, `middle`, and `tail` characters.

        Exact, but reads the block's text and encodes the parts near the cuts; within a few tokens of exact if the text
        was not counted or is no longer readable.
        """
        characters = int(self.block_columns.characters[block])
        head, tail = max(head, 0), max(tail, 0)
        return self.pieces_tokens(block, ((0, head), middle, (max(characters - tail, 0), characters)))

    def pieces_tokens(self, block: int, pieces: Sequence[tuple[int, int] | str]) -> int:
        """Return the tokens of parts `(start, stop)` of a block's text and of literal texts, as `cut_tokens`."""
        row = int(self.block_columns.row[block])
        if row >= 0 and self.counter.is_exact_tokenizer:
            try:
                text = self.session.text(self.session.blocks[block])
            except TextUnavailableError:
                pass
            else:
                return tokens_of_pieces(KnownText(text, self.text_columns, row), pieces, self.counter.count)
        return sum(
            self.text_tokens(piece)
            if isinstance(piece, str)
            else int(np.subtract(*self._tokens_within([block, block], piece[::-1], round_up=True)))
            for piece in pieces
        )


def count_session(
    session: Session,
    counter: Counter,
    previous: TokenTable | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    cache: CountCache | None = None,
) -> Iterator[TokenTable]:
    """Count all blocks of a session that were not counted before, in file order.

    Run it in a worker: tiktoken releases the GIL. Texts are read a few at a time and not stored.

    Args:
        counter: The counter; the previous table is only used if it has the same encoding.
        previous: The table of an earlier state of the session. Unchanged messages are not processed again.
        progress: Called at every table with the characters counted so far and in total.
        cancelled: Called before every block; True stops the count and yields a table of the counts so far.
        cache: On-disk cache; by default in the user's cache folder.

    Yields:
        Immediately, a table of the counts already available; then a table about every 0.1 s; finally the complete one.
        Only the final one if there is little or nothing to count, and only the first with an `EstimateCounter`.
    """
    if not counter.is_exact_tokenizer:
        yield TokenTable.estimated(session, counter)
        return
    cache = cache or CountCache()
    if previous is not None and previous.counter.name == counter.name:
        texts, earlier = previous.texts, previous.block_columns
    else:
        texts, earlier = CountedTexts(counter), BlockColumns.empty()
        cache.load(session, texts)
    blocks = BlockColumns.of(session, texts, earlier)
    waiting = np.flatnonzero(~blocks.counted())
    is_little = counter.is_prepared and blocks.characters[waiting].sum() <= CHARACTERS_COUNTED_AT_ONCE
    if not len(waiting) or not is_little:
        yield TokenTable.of(session, blocks, texts)
    if not len(waiting):
        return
    try:
        for counted in _counted_in_steps(session, blocks, texts, waiting, progress, cancelled):
            yield TokenTable.of(session, counted, texts)
    finally:
        cache.save(session, texts)


def _counted_in_steps(
    session: Session,
    blocks: BlockColumns,
    texts: CountedTexts,
    waiting: NDArray[np.intp],
    progress: Callable[[int, int], None] | None,
    cancelled: Callable[[], bool] | None,
) -> Iterator[BlockColumns]:
    """Yield the columns repeatedly while waiting blocks are counted, finally after all of them."""
    row, name_row = blocks.row.copy(), blocks.name_row.copy()
    done, total = 0, int(blocks.characters[waiting].sum(dtype=np.int64))
    next_table = monotonic() + SECONDS_BETWEEN_TABLES
    for batch in _batches(blocks, waiting):
        read, count = _read(session, batch, texts, cancelled)
        texts.add_all(read)
        for index in batch[:count]:
            block = session.blocks[index]
            row[index] = row[index] if row[index] >= 0 else texts.row(block.digest)
            name_row[index] = name_row[index] if name_row[index] >= 0 else texts.row(digest_of(block.tool_name))
            done += int(blocks.characters[index])
        if count < len(batch):
            break
        if monotonic() >= next_table:
            if progress is not None:
                progress(done, total)
            yield replace(blocks, row=row.copy(), name_row=name_row.copy())
            next_table = monotonic() + SECONDS_BETWEEN_TABLES
    if progress is not None:
        progress(done, total)
    yield replace(blocks, row=row, name_row=name_row)


def _read(
    session: Session, batch: list[int], texts: CountedTexts, cancelled: Callable[[], bool] | None
) -> tuple[dict[bytes, str], int]:
    """Read texts and tool names of uncounted blocks, by digest; return also the number of blocks read."""
    read: dict[bytes, str] = {}
    for position, index in enumerate(batch):
        if cancelled is not None and cancelled():
            return read, position
        block = session.blocks[index]
        if block.tool_name:
            read.setdefault(digest_of(block.tool_name), block.tool_name)
        if texts.row(block.digest) < 0 and block.digest not in read:
            # Unreadable texts keep their estimates.
            with suppress(TextUnavailableError):
                read[block.digest] = session.text(block)
    return read, len(batch)


def _batches(blocks: BlockColumns, waiting: NDArray[np.intp]) -> Iterator[list[int]]:
    """Yield the waiting blocks in batches that are encoded in some 10 ms."""
    before = np.cumsum(blocks.characters[waiting], dtype=np.int64) // CHARACTERS_READ_AT_ONCE
    starts = np.flatnonzero(np.diff(before, prepend=-1))
    for start, stop in pairwise([*starts.tolist(), len(waiting)]):
        yield waiting[start:stop].tolist()
