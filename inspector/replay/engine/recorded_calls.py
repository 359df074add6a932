"""Recorded data of a session's calls as columns; only new calls are processed.

For some calls to Claude models with thinking, GitHub Copilot reports the new part of the prompt twice: as cache writes
and as input. The cache read of the next call covers it only once, so such prompts are corrected.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.strategies.history.memo import cached_per_history
from inspector.tokens.model_names import Categorical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.session.model import Call, Session
    from inspector.strategies.history.history import History

    Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RecordedCalls:
    """Columns over the calls, in call order.

    Attributes:
        models: Model names as recorded.
        terms: Billing terms, in the format of `BillingTerms.code`.
        response: The message each call produced, int64.
        usage: Reported prompt tokens; zeros where nothing was reported.
        output: Reported response tokens, -1 where nothing was reported, int64.
        reasoning: The part of them that was reasoning, if reported, int64.
        is_placeholder: True if the reported output is not the response's size, bool.
    """

    models: Categorical
    terms: Categorical
    response: NDArray[np.int64]
    usage: PromptUsage
    output: NDArray[np.int64]
    reasoning: NDArray[np.int64]
    is_placeholder: NDArray[np.bool_]


@cached_per_history
def recorded_calls(history: History) -> RecordedCalls:
    growing = history.growing
    numbers, terms = growing.numbers("models"), growing.numbers("billing terms")
    table = growing.over("recorded calls", history.session.calls, partial(_rows, numbers=numbers, terms=terms))
    model, term, response, uncached, cache_read, cache_write_5m, cache_write_1h, output, reasoning, is_placeholder = (
        table.T
    )
    return RecordedCalls(
        models=Categorical.renumbered(tuple(numbers), model),
        terms=Categorical.renumbered(tuple(terms), term),
        response=response,
        usage=PromptUsage(uncached, cache_read, cache_write_5m, cache_write_1h),
        output=output,
        reasoning=reasoning,
        is_placeholder=is_placeholder > 0,
    )


def _rows(calls: Sequence[Call], numbers: dict[str, int], terms: dict[str, int]) -> NDArray[np.int64]:
    """Return a row per call with model and terms as numbers, assigning new numbers as needed."""
    rows = [
        (*_numbers(call, numbers, terms), call.response, 0, 0, 0, 0, -1, 0, 0)
        if (usage := call.usage) is None
        else (
            *_numbers(call, numbers, terms),
            call.response,
            usage.uncached,
            usage.cache_read,
            usage.cache_write_5m,
            usage.cache_write_1h,
            usage.output,
            usage.reasoning,
            usage.output_is_placeholder,
        )
        for call in calls
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 10)


def _numbers(call: Call, models: dict[str, int], terms: dict[str, int]) -> tuple[int, int]:
    return models.setdefault(call.model, len(models)), terms.setdefault(call.terms, len(terms))


def is_reported_in_full(session: Session) -> bool:
    """Return True if usage was reported for every prompt and response, and the agent itself cleared nothing.

    Each figure of such a session is then a reported one, provided that nothing is cut and every model has its own
    cache: no token count changes it.
    """
    has_placeholders = any(call.usage is not None and call.usage.output_is_placeholder for call in session.calls)
    return not has_placeholders and has_all_prompts(session)


def has_all_prompts(session: Session) -> bool:
    """Return True if only placeholders of responses need token counts."""
    reported = all(call.usage is not None and call.usage.prompt for call in session.calls)
    return reported and not any(compaction.is_partial for compaction in session.compactions)


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
