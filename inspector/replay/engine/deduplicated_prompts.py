"""Correct reported prompt sizes that count tokens twice.

For some calls to Claude models with thinking, GitHub Copilot reports the new part of the prompt twice: as cache writes
and as input. The cache read of the next call covers it only once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.strategies.history.memo import cached_per_history

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.history.history import History

_LEAST_CALLS = 3
"""Number of such calls in a session; a single one could be chance."""

_LEAST_TOKENS = 64

_TOLERANCE = 3
"""Tolerance in tokens: the part after the last cache breakpoint."""


@cached_per_history
def counted_twice(history: History) -> NDArray[np.int64]:
    """Return the tokens that each call's report counts a second time, int64.

    A call is affected if its prompt equals its cache read plus twice the next call's growth in cache reads.
    """
    usage = recorded_calls(history).usage
    twice = np.zeros(len(usage.prompt), dtype=np.int64)
    for _, calls in history.calls_of_contexts():
        made = calls[calls < len(twice)]
        call, following = made[:-1], made[1:]
        read = usage.cache_read[call]
        grown = usage.cache_read[following] - read
        remainder = usage.prompt[call] - read - 2 * grown
        is_so = (read > 0) & (grown >= _LEAST_TOKENS) & (remainder >= 0) & (remainder <= _TOLERANCE)
        twice[call] = np.where(is_so, grown, 0)
    return twice if np.count_nonzero(twice) >= _LEAST_CALLS else np.zeros_like(twice)


def deduplicated_prompts(history: History) -> NDArray[np.int64]:
    """Return each prompt's reported size with every token counted once; 0 if not reported. int64."""
    return recorded_calls(history).usage.prompt - counted_twice(history)
