"""The results of reads, and which file each of them is of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import ReferenceType, ref

import numpy as np

from inspector.strategies.arguments import paths_of
from inspector.strategies.tools import Meaning, meaning_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.history import History


class Reads(NamedTuple):
    """The results of reads whose file is known.

    Attributes:
        results: Block indices, int32.
        files: For each, the index of its file in `paths`, int32.
        paths: The files.
    """

    results: NDArray[np.int32]
    files: NDArray[np.int32]
    paths: tuple[str, ...]


_last: tuple[ReferenceType[History], tuple[str, ...], Reads] | None = None


def reads_of(history: History, extra_tools: tuple[str, ...]) -> Reads:
    """The results of reads whose file is known; the latest answer is remembered, for a limit that is being dragged.

    Args:
        history: What was recorded.
        extra_tools: Tools that count as reading, whatever the table says.
    """
    global _last  # noqa: PLW0603  one answer for one history, replaced whole
    known = _last
    if known is None or known[0]() is not history or known[1] != extra_tools:
        known = _last = (ref(history), extra_tools, _find(history, extra_tools))
    return known[2]


def _find(history: History, extra_tools: tuple[str, ...]) -> Reads:
    reads = meaning_mask(history.tool_names, (Meaning.READ,), extra_tools)
    results = history.results[reads[history.tool[history.results]]]
    results = results[history.call_block[results] >= 0]
    blocks, session = history.session.blocks, history.session
    calls = [blocks[call] for call in history.call_block[results].tolist()]
    numbers: dict[str, int] = {"": -1}
    paths = paths_of(session, calls)
    files = np.array([numbers.setdefault(path, len(numbers) - 1) for path in paths], dtype=np.int32)
    return Reads(results[files >= 0], files[files >= 0], tuple(numbers)[1:])
