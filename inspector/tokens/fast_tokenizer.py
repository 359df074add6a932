"""A tokenizer several times as fast as tiktoken with identical tokens, if installed.

splintr (`pip install 'session-inspector[speed]'`) gets the verified vocabulary and tiktoken's pattern. For the releases
listed here, all tokens were compared with tiktoken's: for texts of real sessions, for every character alone and next to
letters, digits and punctuation, and for a million texts made of pieces that are difficult for tokenizers. Texts with
the one difference found, and long texts that tiktoken itself splits, are left to tiktoken. So is `cl100k_base`, because
splintr does not support its pattern.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from splintr import Tokenizer

    from inspector.tokens.vocabulary import Vocabulary

DISTRIBUTION = "splintr-rs"

ENCODING = "o200k_base"

RELEASES = "0.22."

LONGEST_CHARACTERS = 200_000
"""Longer texts are left to tiktoken, because it splits some of them (a million white space characters).
"""

LONG_S = "\u017f"
"""tiktoken treats it as an `s` in a contraction; splintr does not."""

_PROBE = (
    "It's I'LL we've x\u0301y 1234567 0x1f,\r\n \n\t  /usr/lib\n//; don\u2019t \u4f60\u597d\u4e16\u754c "
    "\u3053\u3093\u306b\u3061\u306f \ud55c\uad6d\uc5b4 \U0001f469\u200d\U0001f469 \u0627\u0644 <|endoftext|> "
    '{"a": [1.5e-3]}\u3000 '
)
_TOKENS_OF_PROBE = "e252c56bae13a23d"
"""Digest of tiktoken's tokens of the probe: another build of the same release may differ."""


class FastTokenizer:
    """Encodes most texts as tiktoken does."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def tokens(self, text: str) -> NDArray[np.uint32] | None:
        """Return the tokens of a text, with names of special tokens as text, or None if it is left to tiktoken."""
        if len(text) > LONGEST_CHARACTERS or LONG_S in text:
            return None
        try:
            return np.frombuffer(self._tokenizer.encode_flat(text), np.uint32)
        except UnicodeEncodeError:  # a lone surrogate
            return None


def fast_tokenizer(vocabulary: Vocabulary) -> FastTokenizer | None:
    """Return the fast tokenizer for a vocabulary, or None if no verified release is installed."""
    from importlib.metadata import (
        PackageNotFoundError,
        version,
    )  # imported late: the first rows on a screen do not need it

    try:
        if vocabulary.encoding != ENCODING or not version(DISTRIBUTION).startswith(RELEASES):
            return None
        from splintr import Tokenizer

        built = Tokenizer.from_bytes(vocabulary.data, vocabulary.pattern, vocabulary.special_tokens)
    except (PackageNotFoundError, ImportError, AttributeError, TypeError, ValueError):
        return None
    found = FastTokenizer(built)
    tokens = found.tokens(_PROBE)
    if tokens is None or blake2b(tokens.tobytes(), digest_size=8).hexdigest() != _TOKENS_OF_PROBE:
        return None
    return found
