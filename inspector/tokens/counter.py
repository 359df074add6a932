"""Counts tokens: exactly where a verified vocabulary is at hand, from the number of characters where none is."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from inspector.tokens.address_space import address_space_limit
from inspector.tokens.vocabulary import ENCODINGS, VocabularyError, find_vocabulary, refusal_notice

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from inspector.tokens.tokenizer import TokenizerCounter

ADDRESS_SPACE_NEEDED = 96 << 20
"""Bytes that building the tokenizer takes beside what is taken before: 87 MB, most of them for a moment."""


class Counter(Protocol):
    """Counts the tokens of texts. Any text is welcome: no text makes a counter fail."""

    @property
    def name(self) -> str:
        """The encoding counted with: `o200k_base`, `cl100k_base`, or `estimate`."""
        ...

    @property
    def is_exact_tokenizer(self) -> bool:
        """True when counts are those of a real tokenizer; False when they are estimated from characters."""
        ...

    @property
    def advice(self) -> str:
        """One line for people: how to get exact counts, or what was wrong on the way to them. Empty if all is well."""
        ...

    @property
    def is_prepared(self) -> bool:
        """False while the first count would have to wait; see `prepare`."""
        ...

    def count(self, text: str) -> int:
        """Tokens of one text."""
        ...

    def count_all(self, texts: Iterable[str]) -> list[int]:
        """Tokens of each text."""
        ...

    def encode(self, text: str) -> NDArray[np.uint8] | None:
        """Per token, how many characters of the text begin in it; None when tokens are only estimated.

        A character divided over several tokens belongs to the first of them; the others hold 0. The entries add up to
        the length of the text.
        """
        ...

    def encode_all(self, texts: Sequence[str]) -> list[NDArray[np.uint8]] | None:
        """What `encode` gives for each text. Many short ones are faster together than one by one."""
        ...

    def prepare(self) -> None:
        """Do now what the first count would otherwise wait for. Safe to call from any thread, any number of times."""
        ...


def estimated_tokens(characters: int) -> int:
    """Tokens of a text of `characters` characters when nothing else is known: one for every 3.5, rounded up.

    Source: 10,000 real tool results and the texts around them, counted with `o200k_base`.
    """
    return (2 * characters + 6) // 7


@dataclass(frozen=True)
class EstimateCounter:
    """Estimates tokens from characters. What it says is to be shown as an estimate.

    Attributes:
        advice: One line that says how to get exact counts.
    """

    advice: str = ""

    @property
    def name(self) -> str:
        """Always `estimate`."""
        return "estimate"

    @property
    def is_exact_tokenizer(self) -> bool:
        """Always False."""
        return False

    @property
    def is_prepared(self) -> bool:
        """Always True."""
        return True

    def count(self, text: str) -> int:
        """Tokens of one text, estimated from its length."""
        return estimated_tokens(len(text))

    def count_all(self, texts: Iterable[str]) -> list[int]:
        """Tokens of each text, estimated from its length."""
        return [estimated_tokens(len(text)) for text in texts]

    def encode(self, text: str) -> None:  # noqa: ARG002  the protocol's parameter
        """Nothing: an estimate has no tokens."""
        return

    def encode_all(self, texts: Sequence[str]) -> None:  # noqa: ARG002  the protocol's parameter
        """Nothing: an estimate has no tokens."""
        return

    def prepare(self) -> None:
        """Nothing to prepare."""


def too_little_memory() -> str:
    """Why the tokenizer cannot be built here, in a line; empty where it can, or where the system does not tell.

    It is written in a language that ends the process where it gets no memory.
    """
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
        f"too little memory for the tokenizer: it needs {ADDRESS_SPACE_NEEDED >> 20} MB of address space beside the "
        f"{taken >> 20} MB taken, and the limit is {limit >> 20} MB; raise it with ulimit -v"
    )


_shared: WeakValueDictionary[tuple[str, Path, tuple[Path, ...]], TokenizerCounter] = WeakValueDictionary()
"""Tokenizers in use, by their vocabulary and what was refused on the way to it: one is enough for all sessions."""


def load_counter(encoding: str = ENCODINGS[0]) -> Counter:
    """A counter for `encoding`; an `EstimateCounter` that says why where vocabulary or memory for it is missing.

    Reads and checks the vocabulary (about 0.1 s); the tokenizer itself (about 0.3 s, 60 MB) is built by the first
    count or by `prepare`, and is shared while anything uses it. Call it from a worker. Never raises and never touches
    the network.
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
