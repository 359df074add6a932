"""Clear the output of tool calls that were made again with the same input: only the newest is of interest.

Source: deduplication of opencode-dcp 3.1 (@tarquinen/opencode-dcp `lib/strategies/deduplication.ts`,
`lib/messages/prune.ts`). Calls of one tool with one input, whatever the order of its names, are duplicates; all but
the newest lose their output. One that failed keeps its error and loses its input. Since version 3 the program looks for
duplicates only when the model compresses the conversation (`when=on-compress`), so that the prompt cache survives;
sessions recorded without the program have no such calls, and so each call is the default here, as in version 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.strategies.arrivals import arrivals
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.dcp_protection import DEFAULT_PROTECTED, WHEN, WHEN_HELP, batched, is_protected
from inspector.strategies.history import NEVER
from inspector.strategies.operations import ReplaceText
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import choice, tools
from inspector.strategies.signatures import signature_of
from inspector.strategies.tool_inputs import BlankInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History

PLACEHOLDER = "[Output removed to save context - information superseded or no longer needed]"
BLANK_INPUT = "[input removed due to failed tool call]"
BLANK_QUESTIONS = "[questions removed - see output for user's answers]"
OUTPUT_KEPT = ("question", "edit", "write")
"""Tools whose output is never removed."""


@dataclass(frozen=True)
class DcpDedupe(Batching):
    """Clear the output of all but the newest of equal tool calls."""

    name: ClassVar[str] = "dcp-dedupe"
    title: ClassVar[str] = "Deduplicate calls (DCP)"
    summary: ClassVar[str] = "When a tool is called again with the same input, clear the output of the earlier call."
    source: ClassVar[str] = "opencode-dcp 3.1 lib/strategies/deduplication.ts"

    when: str = choice("when", WHEN, WHEN_HELP)
    protected_tools: tuple[str, ...] = tools(
        "protected-tools", DEFAULT_PROTECTED, "Tools that are left alone; * and ? stand for any characters."
    )
    protected_files: tuple[str, ...] = tools(
        "protected-files", (), "Files whose calls are left alone, as patterns with *, ** and ?."
    )

    def schedule(self, history: History) -> Schedule:
        """Output goes at the call that brings the result of the next equal call."""
        builder = ScheduleBuilder()
        signature = self._signatures(history)
        clear = Decision(ReplaceText(PLACEHOLDER), "called again with the same input", points_to="later")
        blank = Decision(BlankInput(BLANK_INPUT), "failed, and called again with the same input")
        ask = Decision(BlankInput(BLANK_QUESTIONS, "questions"), "asked again")
        questions = _named(history, ("question",))
        kept = _named(history, OUTPUT_KEPT)
        for context in arrivals(history, signature >= 0):
            order = np.argsort(signature[context.blocks], kind="stable")
            blocks, calls = context.blocks[order], context.calls[order]
            same = signature[blocks[1:]] == signature[blocks[:-1]]
            again = np.append(np.where(same, calls[1:], NEVER), NEVER)[: len(blocks)].astype(np.int32)
            again = batched(history, context.context, again, self.when)
            carried = context.blocks[: context.carried]
            for column in (carried, history.call_block[carried]):
                builder.add(column, context.calls[: context.carried], Decision(None, "counted anew"))
            failed = history.is_error[blocks]
            shown = ~failed & ~kept[history.tool[blocks]]
            builder.add(blocks[shown], again[shown], clear)
            builder.add(history.call_block[blocks[failed]], again[failed], blank)
            asked = ~failed & questions[history.tool[blocks]]
            builder.add(history.call_block[blocks[asked]], again[asked], ask)
        return builder.schedule()

    def _signatures(self, history: History) -> NDArray[np.int32]:
        """Per block, the number of what its call asks for; -1 for what is no result, or protected."""
        session = history.session
        signature = np.full(len(history.kind), -1, dtype=np.int32)
        results = history.results[history.call_block[history.results] >= 0]
        numbers: dict[str, int] = {}
        for block, call in zip(results.tolist(), history.call_block[results].tolist(), strict=True):
            made = session.blocks[call]
            if not is_protected(session, made, self.protected_tools, self.protected_files):
                signature[block] = numbers.setdefault(signature_of(session, made), len(numbers))
        return signature


def _named(history: History, names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Per tool whether it is one of those; the last entry is for no tool."""
    return np.array([*(tool in names for tool in history.tool_names), False], dtype=np.bool_)
