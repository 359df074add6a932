"""The tokens of every block of a session, and of what a strategy leaves of it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import TextUnavailableError
from inspector.tokens.block_tokens import BlockColumns, estimated
from inspector.tokens.count_cache import CountCache
from inspector.tokens.counter import Counter, EstimateCounter
from inspector.tokens.prefix_counts import CountedTexts, KnownText, TextColumns, digest_of, tokens_of_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from inspector.session.model import Session

SECONDS_BETWEEN_TABLES = 0.1

CHARACTERS_READ_AT_ONCE = 100_000

CHARACTERS_COUNTED_AT_ONCE = 100_000
"""What is counted in some twenty milliseconds: not worth a table of estimates before."""


@dataclass(frozen=True, eq=False)
class TokenTable:
    """The tokens of a session's blocks, as far as they were counted. A snapshot: it never changes.

    Attributes:
        session: The session whose blocks the columns describe.
        tokens: Per block index, tokens of the block whole, int32; what they are made of, see `rules`.
        beyond_text: The part of `tokens` that cutting the block's text does not touch: a tool call's name, images,
            documents, a signature; int32.
        counted: How many blocks were counted with a tokenizer; the others are estimated from their characters.
        block_columns: What is known of each block.
        texts: The counted texts, those counted after this snapshot included.
        text_columns: The counted texts at the time of this snapshot.
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
        """The table of a session of which nothing was counted yet.

        Args:
            session: The session.
            counter: What its texts will be counted with, if anything.
            previous: Such a table of an earlier state of it. Unchanged messages are not looked at again.
        """
        texts = CountedTexts(counter or EstimateCounter()) if previous is None else previous.texts
        earlier = BlockColumns.empty() if previous is None else previous.block_columns
        return cls.of(session, BlockColumns.of(session, texts, earlier), texts)

    @classmethod
    def as_kept(cls, session: Session, counter: Counter, cache: CountCache | None = None) -> TokenTable:
        """The table of what an earlier run counted of a session.

        Args:
            session: The session, or the part of it read so far: what was counted of the rest is known to later tables.
            counter: What it was counted with.
            cache: Where counts are kept between runs; by default the user's cache folder.
        """
        texts = CountedTexts(counter)
        (cache or CountCache()).load(session, texts)
        return cls.of(session, BlockColumns.of(session, texts, BlockColumns.empty()), texts)

    @classmethod
    def of(cls, session: Session, blocks: BlockColumns, texts: CountedTexts) -> TokenTable:
        """The table of a session whose blocks' rows among the counted texts are given."""
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
        """What the blocks are counted with."""
        return self.texts.counter

    @property
    def media(self) -> NDArray[np.int32]:
        """Per block, the part of `tokens` that is of images and documents, int32."""
        return self.block_columns.media

    @property
    def is_complete(self) -> bool:
        """True when every block was counted with a tokenizer."""
        return self.counted == len(self.tokens)

    def text_tokens(self, text: str) -> int:
        """Tokens of a text of its own: a marker, a replacement. Short ones are counted once."""
        return self.texts.count(text)

    def head_tokens(self, blocks: ArrayLike, characters: ArrayLike) -> NDArray[np.int32]:
        """Tokens of the first characters of each text, of a counted one at most three off and needing no text.

        Args:
            blocks: Block indices.
            characters: How many characters, one for each block or one for all.
        """
        return self._tokens_within(blocks, characters, round_up=True)

    def tail_tokens(self, blocks: ArrayLike, characters: ArrayLike) -> NDArray[np.int32]:
        """Tokens of the last characters of each text; see `head_tokens`."""
        indices = np.asarray(blocks, np.intp)
        all_characters = self.block_columns.characters[indices]
        whole = self.tokens[indices] - self.beyond_text[indices]
        left_out = np.maximum(all_characters - np.asarray(characters, np.int64), 0)
        return whole - self._tokens_within(indices, left_out, round_up=False)

    def span_tokens(self, block: int, start: int, stop: int) -> int:
        """Tokens of characters `start` to `stop` of one text: `head_tokens`, and `tail_tokens` at its end, for one."""
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
        """How many characters the first tokens of each text make up, of a counted one exactly.

        Args:
            blocks: Block indices.
            tokens: How many tokens, one number for each block or one for all.
        """
        indices = np.asarray(blocks, np.intp)
        rows, characters = self.block_columns.row[indices], self.block_columns.characters[indices]
        known = self.text_columns.characters_within(np.maximum(rows, 0), tokens)
        guessed = np.asarray(tokens, np.int64) * characters // np.maximum(self._text_tokens(indices), 1)
        return np.where(rows >= 0, known, np.clip(guessed, 0, characters))

    def tail_characters(self, blocks: ArrayLike, tokens: ArrayLike) -> NDArray[np.int64]:
        """How many characters the last tokens of each text make up; see `head_characters`."""
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
        """Tokens of the first `head` characters of a block's text, `middle`, and its last `tail` characters.

        Exactly what counting that text gives, at the price of reading the block's text and encoding what is near the
        cuts; within a few tokens of it where the block's text was not counted or cannot be read any more.
        """
        characters = int(self.block_columns.characters[block])
        head, tail = max(head, 0), max(tail, 0)
        return self.pieces_tokens(block, ((0, head), middle, (max(characters - tail, 0), characters)))

    def pieces_tokens(self, block: int, pieces: Sequence[tuple[int, int] | str]) -> int:
        """Tokens of a text made of parts of a block's text, `(start, stop)` in characters, and of other texts.

        As exact, and at the same price, as `cut_tokens`.
        """
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
    """Count every block of a session that was not counted before, in file order.

    Meant to be run through in a worker: tiktoken lets other threads run. Texts are read a few at a time and not kept.

    Args:
        session: What to count.
        counter: What to count with; the previous table is of use only when it was counted with the same encoding.
        previous: The table of an earlier state of the session. Unchanged messages are not looked at again.
        progress: Told the characters counted so far and those to count, at every table.
        cancelled: Asked before every block; True ends the count with a table of what was counted until then.
        cache: Where counts are kept between runs; by default the user's cache folder.

    Yields:
        At once a table of what is known without counting, then one about every 0.1 s, at last the complete one. There
        is only the last where little or nothing is to be counted, and only the first with an `EstimateCounter`.
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
    """The columns after some of the waiting blocks were counted, again and again, at last after all of them."""
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
    """Texts and names of some blocks that were not counted, by digest, and of how many blocks: fewer when cancelled."""
    read: dict[bytes, str] = {}
    for position, index in enumerate(batch):
        if cancelled is not None and cancelled():
            return read, position
        block = session.blocks[index]
        if block.tool_name:
            read.setdefault(digest_of(block.tool_name), block.tool_name)
        if texts.row(block.digest) < 0 and block.digest not in read:
            # What cannot be read any more keeps its estimate.
            with suppress(TextUnavailableError):
                read[block.digest] = session.text(block)
    return read, len(batch)


def _batches(blocks: BlockColumns, waiting: NDArray[np.intp]) -> Iterator[list[int]]:
    """The waiting blocks, as many at a time as are encoded in some ten milliseconds."""
    before = np.cumsum(blocks.characters[waiting], dtype=np.int64) // CHARACTERS_READ_AT_ONCE
    starts = np.flatnonzero(np.diff(before, prepend=-1))
    for start, stop in pairwise([*starts.tolist(), len(waiting)]):
        yield waiting[start:stop].tolist()
