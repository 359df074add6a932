"""Truncate a tool result as soon as the model has answered it.

Source: the first approach considered in "Design: Token Budget Tool Result Compaction" (micro-x agent loop). The
document turned it down because it costs short conversations as much as long ones; here it can be compared. Of a
conversation that begins with a history, what the model has answered there is cut at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.session.model import Role
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.history import NEVER
from inspector.strategies.operations import cut_in
from inspector.strategies.parameters import Parameter, ParameterKind
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import limit_unit
from inspector.strategies.token_budget import MARKER
from inspector.strategies.tunable import setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History


@dataclass(frozen=True)
class TruncateAfterUse(Batching):
    """Cut every tool result once a response to it exists."""

    name: ClassVar[str] = "truncate-after-use"
    title: ClassVar[str] = "Truncate right after use"
    summary: ClassVar[str] = "Cut every tool result to its beginning from the call after the one that first sent it."
    source: ClassVar[str] = "Token Budget Tool Result Compaction, approach 1, micro-x-agent-loop"

    keep: int = setting(
        Parameter(
            "keep",
            ParameterKind.WHOLE_NUMBER,
            500,
            "Characters kept of a result that was answered.",
            unit="characters",
            minimum=0,
            maximum=100_000,
            logarithmic=True,
        )
    )
    unit: str = limit_unit("what is kept")
    marker: str = setting(Parameter("marker", ParameterKind.TEXT, MARKER, "What stands at the end of a cut result."))

    def schedule(self, history: History) -> Schedule:
        """A result is cut at the call of its thread after the one that first sent it, or when it comes answered."""
        results = history.results[history.plain_text[history.results]]
        results = results[history.enters[results] != NEVER]
        answered = _next_calls(history)[history.enters[results]]
        enters = history.enters[results]
        answered = np.where(_answered_before(history)[history.message[results]], enters, answered).astype(np.int32)
        builder = ScheduleBuilder()
        builder.add(results, answered, Decision(cut_in(self.unit, self.keep, self.keep, 0, self.marker), "answered"))
        return builder.schedule()


def _answered_before(history: History) -> NDArray[np.bool_]:
    """Per message, whether it came with the first prompt of its thread and an answer after it: nobody saw its call."""
    answered = np.zeros(len(history.message_enters), dtype=np.bool_)
    threads, calls = np.unique(_threads(history), return_index=True)
    for call in calls[threads >= 0].tolist():
        prompt = history.prompt_messages(call).tolist()
        while prompt and history.session.messages[prompt[-1]].role is not Role.ASSISTANT:
            prompt.pop()
        answered[[message for message in prompt if history.message_enters[message] == call]] = True
    return answered


def _threads(history: History) -> NDArray[np.int32]:
    """Per call, its thread; -1 where nothing was said."""
    threads = np.array([*(context.thread for context in history.session.contexts), -1], dtype=np.int32)
    found: NDArray[np.int32] = threads[history.call_context]
    return found


def _next_calls(history: History) -> NDArray[np.int32]:
    """Per call, the next call of the same thread, `NEVER` for the last."""
    following = np.full(len(history.call_context), NEVER, dtype=np.int32)
    thread = _threads(history)
    order = np.argsort(thread, kind="stable").astype(np.int32)
    same = thread[order[1:]] == thread[order[:-1]]
    following[order[:-1]] = np.where(same, order[1:], NEVER)
    return following
