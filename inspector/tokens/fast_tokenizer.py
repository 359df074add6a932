"""A tokenizer that is several times as fast as tiktoken and gives the same tokens, where one is installed.

splintr (`pip install 'session-inspector[speed]'`) is given the verified vocabulary and the pattern that tiktoken has.
Of the releases named here, every token was found equal to tiktoken's: of all texts of real sessions at hand, of every
character alone and beside letters, digits and signs, of a million texts made of pieces that tokenizers find hard.
The one difference that was found, and what tiktoken itself reads otherwise when it is long, is left to tiktoken. So is
`cl100k_base`, whose pattern splintr does not read.
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
"""Those that were compared with tiktoken."""

LONGEST_CHARACTERS = 200_000
"""Longer texts are tiktoken's: where it gives up (a million white space characters) they are cut otherwise."""

LONG_S = "\u017f"
"""tiktoken takes it for an `s` in a contraction; splintr does not."""

_PROBE = (
    "It's I'LL we've x\u0301y 1234567 0x1f,\r\n \n\t  /usr/lib\n//; don\u2019t \u4f60\u597d\u4e16\u754c "
    "\u3053\u3093\u306b\u3061\u306f \ud55c\uad6d\uc5b4 \U0001f469\u200d\U0001f469 \u0627\u0644 <|endoftext|> "
    '{"a": [1.5e-3]}\u3000 '
)
_TOKENS_OF_PROBE = "e252c56bae13a23d"
"""A digest of what tiktoken makes of it: another build of the same release may differ."""


class FastTokenizer:
    """Encodes most texts as tiktoken does.

    Args:
        tokenizer: What encodes them.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def tokens(self, text: str) -> NDArray[np.uint32] | None:
        """The tokens of a text, names of special tokens taken for text; None for one that is left to tiktoken."""
        if len(text) > LONGEST_CHARACTERS or LONG_S in text:
            return None
        try:
            return np.frombuffer(self._tokenizer.encode_flat(text), np.uint32)
        except UnicodeEncodeError:  # a lone surrogate
            return None


def fast_tokenizer(vocabulary: Vocabulary) -> FastTokenizer | None:
    """One for a vocabulary; None where none is installed that was found equal to tiktoken."""
    from importlib.metadata import PackageNotFoundError, version  # which rows on a screen need not wait for

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
