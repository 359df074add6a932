"""The two projections that smart retention set out to replace: the newest results, and the newest read of a file.

Both come from the agent of the "Smart Tool History Strategy" document (`core/context_management/ground_truth.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.core.batching import Batching
from inspector.strategies.core.operations import RemoveBlock
from inspector.strategies.core.parametrized import integer, tools
from inspector.strategies.core.schedule_builder import ScheduleBuilder
from inspector.strategies.core.strategy import AgentSettings, Decision
from inspector.strategies.history.arrival_order import arrivals
from inspector.strategies.history.history import NEVER
from inspector.strategies.history.reads import reads_of

if TYPE_CHECKING:
    from inspector.strategies.core.strategy import Schedule
    from inspector.strategies.history.history import History


@dataclass(frozen=True)
class KeepRecent(Batching):
    """Remove all but the newest tool results, with their calls.

    Source: `keep_recent_tool_results` of the agent of the "Smart Tool History Strategy" document
    (`core/context_management/ground_truth.py`), the behavior that document set out to replace. The assistant's own text
    stays. A message without any is sent empty in APIs that put calls next to the content. In Anthropic's API a message
    may not be empty, so it is dropped.
    """

    name = "keep-recent"
    title = "Keep recent results only"
    summary = "Keep the newest tool results and remove older ones together with their calls."
    source = "keep_recent_tool_results(30), Smart Tool History Strategy, ground_truth.py"
    agent_settings = AgentSettings({"keep": ""})

    keep: int = integer(
        30, "Number of newest tool results kept.", "results", minimum=1, maximum=1_000, logarithmic=True
    )

    def schedule(self, history: History) -> Schedule:
        """Remove a result at the call that adds the last of the `keep` results after it."""
        builder = ScheduleBuilder(history)
        decision = Decision(RemoveBlock(leaves_message=True), f"older than the newest {self.keep} results")
        builder.keep_newest(history.kind == BlockKind.TOOL_RESULT, self.keep, decision)
        return builder.schedule()


@dataclass(frozen=True)
class DedupeReads(Batching):
    """Remove all but the newest read of every file, with their calls.

    Source: `dedupe_file_reads` of the agent of the "Smart Tool History Strategy" document
    (`core/context_management/ground_truth.py`). A read of an unknown file stays, because no newer read can be matched.
    See `KeepRecent` for messages that held only the call.
    """

    name = "dedupe-reads"
    title = "Newest read of a file only"
    summary = "When a file is read again, remove the earlier read together with its call."
    source = "dedupe_file_reads(), Smart Tool History Strategy, ground_truth.py"
    agent_settings = AgentSettings()

    read_tools: tuple[str, ...] = tools((), "Additional tools that read files.")

    def schedule(self, history: History) -> Schedule:
        """Remove a read at the call that adds the next read of the same file."""
        results, files, _ = reads_of(history, self.read_tools)
        file_of = np.full(len(history.kind), -1, dtype=np.int32)
        file_of[results] = files
        builder = ScheduleBuilder(history)
        decision = Decision(RemoveBlock(leaves_message=True), "read again later")
        for context in arrivals(history, file_of >= 0):
            by_file = np.argsort(file_of[context.blocks], kind="stable")
            blocks, calls = context.blocks[by_file], context.calls[by_file]
            same = file_of[blocks[1:]] == file_of[blocks[:-1]]
            replaced_at = np.append(np.where(same, calls[1:], NEVER), NEVER)[: len(blocks)].astype(np.int32)
            builder.restore_with_tool_calls(context)
            builder.add_with_tool_calls(blocks, replaced_at, decision)
        return builder.schedule()
