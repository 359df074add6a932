"""Keep only the newest read of each file; earlier ones go, and the calls that asked for them too.

Source: `dedupe_file_reads` of the agent the "Smart Tool History Strategy" document belongs to
(`core/context_management/ground_truth.py`). A read whose file is not known stays: there is nothing newer to look at.
What becomes of a message that only held the call is as in `keep-recent`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.strategies.arrivals import arrivals
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.history import NEVER
from inspector.strategies.operations import RemoveBlock
from inspector.strategies.parameters import Parameter, ParameterKind
from inspector.strategies.reads import reads_of
from inspector.strategies.schedules import ScheduleBuilder, add_with_tool_calls, restore_carried
from inspector.strategies.tunable import setting

if TYPE_CHECKING:
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History


@dataclass(frozen=True)
class DedupeReads(Batching):
    """Remove all but the newest read of every file, with their calls."""

    name: ClassVar[str] = "dedupe-reads"
    title: ClassVar[str] = "Newest read of a file only"
    summary: ClassVar[str] = "When a file is read again, remove the earlier read together with its call."
    source: ClassVar[str] = "dedupe_file_reads(), Smart Tool History Strategy, ground_truth.py"

    read_tools: tuple[str, ...] = setting(
        Parameter("read-tools", ParameterKind.TOOLS, (), "Tools that read files, besides those that are known to.")
    )

    def schedule(self, history: History) -> Schedule:
        """A read goes at the call that brings the next read of the same file."""
        results, files, _ = reads_of(history, self.read_tools)
        file_of = np.full(len(history.kind), -1, dtype=np.int32)
        file_of[results] = files
        builder = ScheduleBuilder()
        decision = Decision(RemoveBlock(leaves_message=True), "read again later")
        for context in arrivals(history, file_of >= 0):
            by_file = np.argsort(file_of[context.blocks], kind="stable")
            blocks, calls = context.blocks[by_file], context.calls[by_file]
            same = file_of[blocks[1:]] == file_of[blocks[:-1]]
            replaced_at = np.append(np.where(same, calls[1:], NEVER), NEVER)[: len(blocks)].astype(np.int32)
            restore_carried(history, builder, context, "")
            add_with_tool_calls(history, builder, blocks, replaced_at, decision)
        return builder.schedule()
