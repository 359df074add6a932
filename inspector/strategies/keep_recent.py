"""Keep only the newest tool results; older ones go, and the calls that asked for them too.

Source: `keep_recent_tool_results` of the agent the "Smart Tool History Strategy" document belongs to
(`core/context_management/ground_truth.py`), the behaviour that document set out to replace. The assistant's own words
stay where they are, and so does a message without any: it is sent empty, where calls stand beside the content. Of
Anthropic's messages, which may not be empty, nothing is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from inspector.session.model import BlockKind
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.operations import RemoveBlock
from inspector.strategies.parameters import Parameter, ParameterKind
from inspector.strategies.schedules import ScheduleBuilder, drop_all_but_newest
from inspector.strategies.tunable import setting

if TYPE_CHECKING:
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History


@dataclass(frozen=True)
class KeepRecent(Batching):
    """Remove all but the newest tool results, with their calls."""

    name: ClassVar[str] = "keep-recent"
    title: ClassVar[str] = "Keep recent results only"
    summary: ClassVar[str] = "Keep the newest tool results and remove older ones together with their calls."
    source: ClassVar[str] = "keep_recent_tool_results(30), Smart Tool History Strategy, ground_truth.py"

    keep: int = setting(
        Parameter(
            "keep",
            ParameterKind.WHOLE_NUMBER,
            30,
            "How many of the newest tool results stay.",
            unit="results",
            minimum=1,
            maximum=1_000,
            logarithmic=True,
        )
    )

    def schedule(self, history: History) -> Schedule:
        """A result goes at the call that brings the last of the `keep` results after it."""
        builder = ScheduleBuilder()
        decision = Decision(RemoveBlock(leaves_message=True), f"older than the newest {self.keep} results")
        drop_all_but_newest(history, builder, history.kind == BlockKind.TOOL_RESULT, self.keep, decision)
        return builder.schedule()
