"""What prompts measured, where the report of them counts something twice.

GitHub Copilot reports some calls to Claude models that think with what is new in their prompts twice over: as written
to the cache, and as input beside it. The next call's read tells: it goes no further than once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.strategies.history.memo import once_a_history

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.history.history import History

_LEAST_CALLS = 3
"""Calls of a session that have to be so; one could be by chance."""

_LEAST_TOKENS = 64

_BESIDE = 3
"""Tokens that may stand beside what is counted twice: what follows the last cache breakpoint."""


@once_a_history
def counted_twice(history: History) -> NDArray[np.int64]:
    """Per call, the tokens of its prompt that its report counts a second time, int64.

    Those are the calls whose prompt is what they read and twice what the next call of the context read beyond that.
    """
    usage = recorded_calls(history).usage
    twice = np.zeros(len(usage.prompt), dtype=np.int64)
    for _, calls in history.calls_of_contexts():
        made = calls[calls < len(twice)]
        call, following = made[:-1], made[1:]
        read = usage.cache_read[call]
        grown = usage.cache_read[following] - read
        beside = usage.prompt[call] - read - 2 * grown
        is_so = (read > 0) & (grown >= _LEAST_TOKENS) & (beside >= 0) & (beside <= _BESIDE)
        twice[call] = np.where(is_so, grown, 0)
    return twice if np.count_nonzero(twice) >= _LEAST_CALLS else np.zeros_like(twice)


def measured_prompts(history: History) -> NDArray[np.int64]:
    """Per call, the tokens that its prompt measured by its report, every token once; 0 where none was. int64."""
    return recorded_calls(history).usage.prompt - counted_twice(history)
