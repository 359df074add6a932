"""Token counters: exact with a verified vocabulary, otherwise estimated from the number of characters."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from inspector.process_memory import address_space_limit
from inspector.tokens.vocabulary import ENCODINGS, VocabularyError, find_vocabulary, refusal_notice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from inspector.tokens.tokenizer import TokenizerCounter

ADDRESS_SPACE_NEEDED = 96 << 20
"""Additional memory for building the tokenizer: 87 MB, most of it temporary."""


class Counter(Protocol):
    """Counts the tokens of texts. Counting never fails."""

    @property
    def name(self) -> str:
        """Name of the encoding: `o200k_base`, `cl100k_base`, or `estimate`."""
        ...

    @property
    def is_exact_tokenizer(self) -> bool:
        """True for counts by a real tokenizer, False for estimates from characters."""
        ...

    @property
    def advice(self) -> str:
        """One line for the user: how to get exact counts, or the failure. Empty if all is well."""
        ...

    @property
    def is_prepared(self) -> bool:
        """False if the first count would have to wait; see `prepare`."""
        ...

    def count(self, text: str) -> int: ...

    def count_all(self, texts: Iterable[str]) -> list[int]: ...

    def encode(self, text: str) -> NDArray[np.uint8] | None:
        """Return, per token, the number of characters that begin in it, or None if tokens are only estimated."""
        ...

    def encode_all(self, texts: Sequence[str]) -> list[NDArray[np.uint8]] | None:
        """Return the result of `encode` for each text. Faster than single calls for many short texts."""
        ...

    def prepare(self) -> None:
        """Do the work that would delay the first count. Thread-safe and idempotent."""
        ...


def estimated_tokens(characters: int) -> int:
    """Estimate a text's tokens: one per 3.5 characters, from 10,000 real results counted with `o200k_base`."""
    return (2 * characters + 6) // 7


@dataclass(frozen=True)
class EstimateCounter:
    """Estimates tokens from characters, to be shown as such. `advice`: how to get exact counts, in a line."""

    advice: str = ""

    @property
    def name(self) -> str:
        return "estimate"

    @property
    def is_exact_tokenizer(self) -> bool:
        return False

    @property
    def is_prepared(self) -> bool:
        return True

    def count(self, text: str) -> int:
        return estimated_tokens(len(text))

    def count_all(self, texts: Iterable[str]) -> list[int]:
        return [estimated_tokens(len(text)) for text in texts]

    def encode(self, text: str) -> None:  # noqa: ARG002  the protocol's parameter
        """Return None: an estimate has no tokens."""
        return

    def encode_all(self, texts: Sequence[str]) -> None:  # noqa: ARG002  the protocol's parameter
        return

    def prepare(self) -> None:
        """Do nothing."""


def too_little_memory() -> str:
    """Return why memory is too low to build the tokenizer, which would abort; empty if it suffices."""
    limit = address_space_limit()
    if limit is None:
        return ""
    try:
        taken = int(Path("/proc/self/statm").read_bytes().split()[0]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return ""
    if taken + ADDRESS_SPACE_NEEDED <= limit:
        return ""
    return (
        f"too little memory for the tokenizer: it needs {ADDRESS_SPACE_NEEDED >> 20} MB of address space in addition "
        f"to the {taken >> 20} MB in use, and the limit is {limit >> 20} MB; raise it with ulimit -v"
    )


_shared: WeakValueDictionary[tuple[str, Path, tuple[Path, ...]], TokenizerCounter] = WeakValueDictionary()
"""Tokenizers in use, by vocabulary and refused files: all sessions share one."""


def load_counter(encoding: str = ENCODINGS[0]) -> Counter:
    """Return a counter for `encoding`, or an `EstimateCounter` with advice if vocabulary or memory is missing.

    Reads and verifies the vocabulary (about 0.1 s). The tokenizer (about 0.3 s, 60 MB) is built by the first count or
    by `prepare`, and shared while it is in use. Call it from a worker. Never raises and never uses the network.
    """
    if not _shared and (problem := too_little_memory()):
        return EstimateCounter(f"token counts are estimated: {problem}")
    try:
        vocabulary = find_vocabulary(encoding)
        from inspector.tokens.tokenizer import TokenizerCounter
    except (VocabularyError, ImportError) as error:
        return EstimateCounter(f"token counts are estimated: {error}")
    known = (vocabulary.encoding, vocabulary.source, vocabulary.refused)
    return _shared.setdefault(known, TokenizerCounter(vocabulary, advice=refusal_notice(vocabulary)))


def shared_counter() -> Counter:
    """Return the counter shared by a process: building it takes longer than counting most sessions."""
    return _counter(load_counter)


@cache
def _counter(load: Callable[[], Counter]) -> Counter:
    return load()
