"""Clear old tool results: the newest stay, older ones become a notice that says where to ask for them.

Source: "Tool Result Compaction Implementation Plan" (oldnordic/odincode, `src/llm/frame_stack.rs`). A result that was
cleared stays cleared. The notice names the id under which the full result can be queried; the plan itself records that
not every id can. The variant `shipped` adds what the program does besides: it holds no more than `frames` entries and
forgets the oldest, the user's goal included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.arrivals import ScheduleBuilder, arrivals
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.history import NEVER
from inspector.strategies.operations import RemoveBlock
from inspector.strategies.parameters import Parameter, ParameterKind
from inspector.strategies.rendition import Rendition
from inspector.strategies.tunable import setting

if TYPE_CHECKING:
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History
    from inspector.strategies.operations import BlockSource

_ASSISTANT = (BlockKind.ASSISTANT_TEXT, BlockKind.THINKING, BlockKind.TOOL_CALL)


@dataclass(frozen=True, slots=True)
class ClearResult:
    """Put a notice with the tool, its success and the result's id in place of a result."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  whatever is sent so far goes
        """The notice."""
        block = source.block
        status = "FAILED" if block.is_error else "OK"
        identifier = f" (execution_id: {block.tool_call_id})" if block.tool_call_id else ""
        return Rendition.replaced(
            f"[Tool {source.tool_name}]: {status} - [Old tool result content cleared{identifier}. "
            "Use memory_query tool with session_id or execution_id to retrieve full details]"
        )


@dataclass(frozen=True)
class ClearOld(Batching):
    """Replace all but the newest tool results by a notice."""

    name: ClassVar[str] = "clear-old"
    title: ClassVar[str] = "Clear old results"
    summary: ClassVar[str] = "Keep the newest tool results and replace older ones by a notice that names their id."
    source: ClassVar[str] = "Tool Result Compaction Implementation Plan, oldnordic/odincode src/llm/frame_stack.rs"

    keep: int = setting(
        Parameter(
            "keep",
            ParameterKind.WHOLE_NUMBER,
            3,
            "How many of the newest tool results stay.",
            unit="results",
            minimum=0,
            maximum=1_000,
        )
    )
    variant: str = setting(
        Parameter(
            "variant",
            ParameterKind.CHOICE,
            "document",
            "The plan alone, or with the program's limit on the number of entries (shipped).",
            choices=("document", "shipped"),
        )
    )
    frames: int = setting(
        Parameter(
            "frames",
            ParameterKind.WHOLE_NUMBER,
            50,
            "Entries held in the shipped variant: user texts, assistant texts and tool results; the oldest go first.",
            unit="entries",
            minimum=1,
            maximum=10_000,
            logarithmic=True,
        )
    )

    def schedule(self, history: History) -> Schedule:
        """A result is cleared at the call that brings the last of the `keep` results after it."""
        builder = ScheduleBuilder()
        decision = Decision(ClearResult(), f"older than the newest {self.keep} results")
        for context in arrivals(history, history.kind == BlockKind.TOOL_RESULT):
            cleared = context.blocks[: max(len(context.blocks) - self.keep, 0)]
            builder.add(cleared, context.calls[self.keep :], decision)
        if self.variant == "shipped":
            self._add_forgotten(history, builder)
        return builder.schedule()

    def _add_forgotten(self, history: History, builder: ScheduleBuilder) -> None:
        decision = Decision(RemoveBlock(), f"older than the newest {self.frames} entries", "frames")
        sent = (history.kind != BlockKind.SYSTEM_TEXT) & (history.kind != BlockKind.OTHER)
        for context in arrivals(history, sent):
            kinds, messages = history.kind[context.blocks], history.message[context.blocks]
            result = kinds == BlockKind.TOOL_RESULT
            assistant = np.isin(kinds, _ASSISTANT)
            starts = np.ones(len(kinds), dtype=np.bool_)
            # Consecutive assistant texts are one entry; so are the parts of one user message, results apart.
            goes_on = (messages[1:] == messages[:-1]) | (assistant[1:] & assistant[:-1])
            starts[1:] = result[1:] | result[:-1] | ~goes_on
            frame = np.cumsum(starts) - 1
            frame_calls = np.append(context.calls[starts], np.full(self.frames, NEVER, dtype=np.int32))
            builder.add(context.blocks, frame_calls[frame + self.frames].astype(np.int32), decision)
