"""Keep the newest observations; older ones become a line that says how many lines were there.

Source: `LastNObservations` of SWE-agent (SWE-agent/SWE-agent@3ea751c0 `sweagent/agent/history_processors.py`). It works
on the whole history at every step and keeps nothing in mind: how far it clears follows from the number of observations
alone, rounded down to a multiple of `polling`, so that with a large step the cached part of the prompt changes seldom.
The first observation always stays: there it is the task. Tools can be named whose results always stay or always go,
which the program does with tags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.arrivals import arrivals
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.history import NEVER
from inspector.strategies.measures import sent_text
from inspector.strategies.rendition import Rendition
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import tools, whole
from inspector.strategies.tools import meaning_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History
    from inspector.strategies.operations import BlockSource


@dataclass(frozen=True, slots=True)
class CountLines:
    """Put the number of lines, and of images where there are any, in place of an observation."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """The line that stands for it."""
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        lines = len(text.splitlines())
        images = len(source.block.media)
        note = f"Old environment output: ({lines} lines omitted)"
        return Rendition.replaced(f"{note} ({images} images omitted)" if images else note)


@dataclass(frozen=True)
class LastObservations(Batching):
    """Replace all but the newest observations by the number of their lines."""

    name: ClassVar[str] = "last-observations"
    title: ClassVar[str] = "Last observations"
    summary: ClassVar[str] = (
        "Keep the first and the newest observations, moving on every so many, and say of others how long they were."
    )
    source: ClassVar[str] = "LastNObservations, SWE-agent sweagent/agent/history_processors.py"

    keep: int = whole("keep", 5, "How many of the newest observations stay.", "observations", minimum=1, maximum=1_000)
    polling: int = whole(
        "polling",
        1,
        "How many observations arrive before the next older ones go; more of them keep the prompt cache whole.",
        "observations",
        minimum=1,
        maximum=1_000,
    )
    keep_tools: tuple[str, ...] = tools("keep-tools", (), "Tools whose results always stay.")
    remove_tools: tuple[str, ...] = tools("remove-tools", (), "Tools whose results go at once.")

    def schedule(self, history: History) -> Schedule:
        """An observation goes at the call that brings the number of observations to the next multiple of `polling`."""
        builder = ScheduleBuilder()
        removed = meaning_mask(history.tool_names, (), self.remove_tools)[history.tool]
        always = removed | meaning_mask(history.tool_names, (), self.keep_tools)[history.tool]
        old = Decision(CountLines(), f"older than the newest {self.keep} observations")
        result = history.kind == BlockKind.TOOL_RESULT
        for context in arrivals(history, result | (history.kind == BlockKind.USER_TEXT)):
            is_result = result[context.blocks]
            # What the user said before the first result is the task, and counts as the first observation.
            task = int(len(is_result) > 0 and not is_result[0])
            blocks, calls = context.blocks[is_result], context.calls[is_result]
            goes = self._goes(np.append(np.zeros(task, dtype=np.int32), calls))[task:]
            chosen = ~always[blocks]
            carried = chosen[: np.count_nonzero(is_result[: context.carried])]
            builder.add(blocks[: len(carried)][carried], calls[: len(carried)][carried], Decision(None, "counted anew"))
            builder.add(blocks[chosen], goes[chosen], old)
        results = history.results[removed[history.results]]
        builder.add(results, history.enters[results], Decision(CountLines(), "always removed", "always"))
        return builder.schedule()

    def _goes(self, calls: NDArray[np.int32]) -> NDArray[np.int32]:
        """Per observation, given the calls that bring them, the call it goes at."""
        index = np.arange(len(calls))
        # Gone once the count, rounded down to a multiple of the step, is more than `keep` past the observation.
        count = -(-(index + self.keep + 1) // self.polling) * self.polling
        goes = np.where(count <= len(calls), np.append(calls, NEVER)[np.minimum(count - 1, len(calls))], NEVER)
        goes[:1] = NEVER
        return goes.astype(np.int32)
