"""Words of which few are different, as numbers: the model of every call."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Coded(NamedTuple):
    """Words, each as a number.

    Attributes:
        names: The different words in order of first use.
        code: Per word, index into `names`, intp.
    """

    names: tuple[str, ...]
    code: NDArray[np.intp]

    @classmethod
    def of(cls, words: Sequence[str] | Coded) -> Coded:
        """The words as numbers, unless they are already."""
        if isinstance(words, Coded):
            return words
        codes: dict[str, int] = {}
        code = np.array([codes.setdefault(word, len(codes)) for word in words], dtype=np.intp)
        return cls(tuple(codes), code)

    @classmethod
    def renumbered(cls, names: Sequence[str], code: NDArray[np.integer]) -> Coded:
        """Words numbered in any order, renumbered in the order of first use; `names` may hold others."""
        used = {number: int(np.argmax(code == number)) for number in np.flatnonzero(np.bincount(code)).tolist()}
        order = sorted(used, key=used.__getitem__)
        numbers = np.zeros(len(names), dtype=np.intp)
        numbers[order] = np.arange(len(order))
        return cls(tuple(names[number] for number in order), numbers[code])

    def and_again(self) -> Coded:
        """The words and the last of them once more; a single empty word where there is none."""
        if not len(self.code):
            return Coded(("",), np.zeros(1, dtype=np.intp))
        return Coded(self.names, np.append(self.code, self.code[-1]))
