"""Token counts for the usage figures of the samples."""

from __future__ import annotations

import hashlib
from functools import cache

from inspector.tokens.counter import Counter, load_counter

RATIO = 1.15
"""Tokens a provider reports for each token of o200k, on average over the samples."""

SPREAD = 0.1
"""Maximum deviation of a single text's ratio from the average."""


@cache
def counter() -> Counter:
    """Return the o200k tokenizer.

    Raises:
        SystemExit: Its vocabulary is missing; with estimates the samples would differ.
    """
    found = load_counter("o200k_base")
    if not found.is_exact_tokenizer:
        raise SystemExit(f"the samples need exact token counts: {found.advice}")
    return found


@cache
def reported(text: str) -> int:
    """Return the token count that a provider would report for a text.

    Its o200k count times about 1.15; the exact ratio varies by text, as in reality, and is deterministic.
    """
    if not text:
        return 0
    position = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big") / 2**32
    return round(counter().count(text) * (RATIO + SPREAD * (2 * position - 1)))
