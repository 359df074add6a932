"""Records as the files of agents hold them: several may make up what the provider receives as one message."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ReferenceType, ref

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.session.model import Origin
    from inspector.strategies.history import History

_PARTS = ("reasoning", "tool_calls", "function_call", "refusal")
"""Locators that name a part of a record, not a record."""

_last: tuple[ReferenceType[History], NDArray[np.int32]] | None = None


def records_of(history: History) -> NDArray[np.int32]:
    """Per block, the number of the record it stands in, int32, in the order of blocks.

    The latest answer is remembered, for a limit that is being dragged.
    """
    global _last  # noqa: PLW0603  one answer for one history, replaced whole
    known = _last
    if known is None or known[0]() is not history:
        known = _last = (ref(history), _number(history))
    return known[1]


def _number(history: History) -> NDArray[np.int32]:
    if not len(history.kind):
        return np.zeros(0, dtype=np.int32)
    begins = np.ones(len(history.kind), dtype=np.bool_)
    begins[1:] = history.message[1:] != history.message[:-1]
    blocks = history.session.blocks
    # Only where a message has several blocks can they stand in several records.
    for index in np.flatnonzero(~begins).tolist():
        begins[index] = _record(blocks[index - 1].origin) != _record(blocks[index].origin)
    return (np.cumsum(begins) - 1).astype(np.int32)


def _record(origin: Origin) -> tuple[int, int, str]:
    return origin.file, origin.offset, "" if origin.locator in _PARTS else origin.locator
