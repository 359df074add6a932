"""What a session's calls say of themselves, in columns: only calls that are new are looked at one by one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.strategies.history.memo import once_a_history
from inspector.tokens.model_names import Categorical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.session.model import Call, Session
    from inspector.strategies.history.history import History


@dataclass(frozen=True, eq=False)
class RecordedCalls:
    """The columns, in call order.

    Attributes:
        models: The models' names as recorded.
        terms: What they are billed by besides, as `BillingTerms.code` has it.
        response: The message each call produced, int64.
        usage: Prompt tokens the provider reported; zeros where it reported nothing.
        output: Response tokens it reported, -1 where it reported nothing, int64.
        reasoning: The part of them that was reasoning, where reported, int64.
        is_placeholder: What it reported of the response is not its size, bool.
    """

    models: Categorical
    terms: Categorical
    response: NDArray[np.int64]
    usage: PromptUsage
    output: NDArray[np.int64]
    reasoning: NDArray[np.int64]
    is_placeholder: NDArray[np.bool_]


@once_a_history
def recorded_calls(history: History) -> RecordedCalls:
    """The columns of a history's calls."""
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
    """A row a call, its model and terms as numbers; what has none yet is given the next."""
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
    """Whether the provider reported every prompt and every response, and the agent itself cleared nothing.

    With nothing cut, and every model's own cache, each figure of such a session then stands in what was reported: no
    count of tokens changes one.
    """
    usages = [call.usage for call in session.calls]
    reported = all(usage is not None and usage.prompt and not usage.output_is_placeholder for usage in usages)
    return reported and not any(compaction.is_partial for compaction in session.compactions)
