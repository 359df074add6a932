"""Cap tool results when they enter the conversation, keeping their beginning.

Source: `MaxToolResultChars` of the micro-x agent loop (`agent.py`, `_truncate_tool_result`), the cap that works beside
its token budget. A result is cut before anyone has seen it and never again, so no cached prompt changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from inspector.strategies.base import Decision
from inspector.strategies.operations import cut_in
from inspector.strategies.parameters import CHARACTERS, Parameter, ParameterKind
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import limit_unit
from inspector.strategies.tunable import Tunable, setting

if TYPE_CHECKING:
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History


@dataclass(frozen=True)
class CapAtInsertion(Tunable):
    """Cut results over a limit to their beginning, once, when they are inserted."""

    name: ClassVar[str] = "cap-at-insertion"
    title: ClassVar[str] = "Cap at insertion"
    summary: ClassVar[str] = "Keep only the beginning of results over a limit, from the moment they are inserted."
    source: ClassVar[str] = "MaxToolResultChars, micro-x-agent-loop-python agent.py"

    limit: int = setting(
        Parameter(
            "limit",
            ParameterKind.WHOLE_NUMBER,
            40_000,
            "Longest result that is inserted whole, and what is kept of longer ones; 0 for no limit.",
            unit="characters",
            minimum=0,
            maximum=1_000_000,
            logarithmic=True,
        )
    )

    unit: str = limit_unit("the limit")

    def schedule(self, history: History) -> Schedule:
        """Every result is decided when it enters."""
        builder = ScheduleBuilder()
        if self.limit:
            size = "{length:,} characters" if self.unit == CHARACTERS else "{tokens:,} tokens"
            marker = f"\n\n[OUTPUT TRUNCATED: Showing {self.limit:,} of {size} from {{tool}}]"
            cut = cut_in(self.unit, self.limit, self.limit, 0, marker, numbered=True)
            decision = Decision(cut, "over the limit at insertion")
            builder.add(history.results, history.enters[history.results], decision)
        return builder.schedule()
