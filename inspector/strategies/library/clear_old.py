"""Clear old tool results: the newest stay, older ones become a notice with the id to query them by.

Source: "Tool Result Compaction Implementation Plan" (oldnordic/odincode, `src/llm/frame_stack.rs`). A cleared result
stays cleared. The notice names the id under which the full result can be queried; the source document itself records
that not every id can. The variant `shipped` adds a behavior of the program: it holds at most `frames` entries and
forgets the oldest, including the user's goal.

The program has no tool messages. It sends every result as a user text in a fixed wording, including whole results.
Recorded user texts in that wording count as results here, with the tool and the success they state; texts already
cleared stay as they are. `whole-as` sends the remaining results in that wording. `notice` selects the wording of
cleared results: from the program's messages, from its single prompt, or from the document's first draft. With
`merge-texts`, adjacent model texts become one text, as the program appends a new text to the previous entry.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.session.model import BlockKind, TextUnavailableError
from inspector.strategies.core.batching import Batching
from inspector.strategies.core.operations import RemoveBlock
from inspector.strategies.core.parametrized import choice, integer, switch
from inspector.strategies.core.rendition import Action, Rendition
from inspector.strategies.core.schedule_builder import CONTEXT_RESET, ScheduleBuilder
from inspector.strategies.core.strategy import AgentSettings, Decision
from inspector.strategies.history.arrival_order import arrivals, later

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.strategy import Schedule
    from inspector.strategies.history.history import History

_ASSISTANT = (BlockKind.ASSISTANT_TEXT, BlockKind.THINKING, BlockKind.TOOL_CALL)


_OPENING = "[Tool "
_WORDED = re.compile(r"\[Tool ([^\]\n]*)\]: (OK|FAILED)(?:\nResult: |( - \[Old tool result content cleared))")
_NOTICES = {
    "messages": "{identifier}. Use memory_query tool with session_id or execution_id to retrieve full details",
    "prompt": "{identifier}. Use memory_query tool to retrieve",
    "draft": " - use memory_query tool with execution_id to retrieve full details",
}


class _Outcome(NamedTuple):
    """A result's tool and status, and its form: as recorded, or whole or cleared in the program's wording."""

    tool: str
    status: str
    is_worded: bool
    is_cleared: bool


def _outcome_of(source: BlockSource) -> _Outcome:
    block = source.block
    worded = _WORDED.match(source.text()) if block.preview.startswith(_OPENING) else None
    if worded is not None:
        return _Outcome(worded.group(1), worded.group(2), is_worded=True, is_cleared=worded.group(3) is not None)
    return _Outcome(source.tool_name, "FAILED" if block.is_error else "OK", is_worded=False, is_cleared=False)


@dataclass(frozen=True, slots=True)
class ClearResult:
    """Replace a result with a notice of the tool, its success and the result's id.

    Attributes:
        notice: Name of the wording in `_NOTICES`.
    """

    notice: str = "messages"

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Return the notice, or the rendition unchanged if the result is already cleared."""
        result = _outcome_of(source)
        if result.is_cleared:
            return rendition
        identifier = f" (execution_id: {source.block.tool_call_id})" if source.block.tool_call_id else ""
        cleared = f"[Old tool result content cleared{_NOTICES[self.notice].format(identifier=identifier)}]"
        return Rendition.replaced(f"[Tool {result.tool}]: {result.status} - {cleared}")


@dataclass(frozen=True, slots=True)
class AppendText:
    """Append the texts that follow directly to a text.

    Attributes:
        more: The following texts, joined.
    """

    more: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  same for every text
        return Rendition((*rendition.pieces, self.more), Action.CUT, rendition.kind)


@dataclass(frozen=True, slots=True)
class PrefixStatus:
    """Prefix a result with the tool and its success."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        result = _outcome_of(source)
        if result.is_worded:
            return rendition
        opening = f"[Tool {result.tool}]: {result.status}\nResult: "
        return Rendition((opening, *rendition.pieces), Action.CUT, rendition.kind)


@dataclass(frozen=True)
class ClearOld(Batching):
    """Replace all but the newest tool results with a notice."""

    name = "clear-old"
    title = "Clear old results"
    summary = "Keep the newest tool results and replace older ones with a notice that names their id."
    source = "Tool Result Compaction Implementation Plan, oldnordic/odincode src/llm/frame_stack.rs"
    note = (
        "With `variant=shipped` entries are removed one by one, as in the program, where results are user texts: a "
        "tool result may be sent without its call, which APIs refuse, or the list may begin with the assistant."
    )
    agent_settings = AgentSettings(
        {"keep": "MAX_RECENT_TOOL_RESULTS", "variant": "", "whole-as": "", "merge-texts": ""},
        constants=("frames", "notice"),
    )

    keep: int = integer(3, "Number of newest tool results kept.", "results", maximum=1_000)
    variant: str = choice(
        ("document", "shipped"),
        "The design document's rule, or also the program's entry limit (shipped).",
    )
    frames: int = integer(
        50,
        "Maximum texts and results if shipped; the oldest are removed first.",
        "entries",
        minimum=1,
        maximum=10_000,
    )

    whole_as: str = choice(
        ("recorded", "program"),
        "Results that stay: as recorded, or with tool and success first (program).",
    )
    notice: str = choice(
        tuple(_NOTICES),
        "Notice of the program's messages, its single prompt, or the first draft.",
        default="messages",
    )

    merge_texts: bool = switch(False, "Merge adjacent model texts into one, as the program does.")

    def schedule(self, history: History) -> Schedule:
        """Clear a result at the call that adds the last of the `keep` results after it."""
        builder = ScheduleBuilder(history)
        decision = Decision(ClearResult(self.notice), f"older than the newest {self.keep} results")
        results = _results(history)
        if self.whole_as == "program":
            blocks = np.flatnonzero(results).astype(np.int32)
            builder.add_at_insertion(blocks, Decision(PrefixStatus(), "in the program's wording"))
        for context in arrivals(history, results):
            cleared = context.blocks[: max(len(context.blocks) - self.keep, 0)]
            builder.add(cleared, context.calls[self.keep :], decision)
        if self.merge_texts:
            _add_merged(history, builder)
        if self.variant == "shipped":
            self._add_forgotten(history, builder, results)
        return builder.schedule()

    def _add_forgotten(self, history: History, builder: ScheduleBuilder, results: NDArray[np.bool_]) -> None:
        decision = Decision(RemoveBlock(), f"older than the newest {self.frames} entries", "frames")
        sent = (history.kind != BlockKind.SYSTEM_TEXT) & (history.kind != BlockKind.OTHER)
        for context in arrivals(history, sent):
            kinds, messages = history.kind[context.blocks], history.message[context.blocks]
            result = results[context.blocks]
            assistant = np.isin(kinds, _ASSISTANT)
            starts = np.ones(len(kinds), dtype=np.bool_)
            # Consecutive assistant texts are one entry; so are the parts of one user message, results excluded.
            goes_on = (messages[1:] == messages[:-1]) | (assistant[1:] & assistant[:-1])
            starts[1:] = result[1:] | result[:-1] | ~goes_on
            frame = np.cumsum(starts) - 1
            builder.add(context.blocks, later(context.calls[starts], self.frames)[frame], decision)


def _add_merged(history: History, builder: ScheduleBuilder) -> None:
    """Merge adjacent model texts at the call that adds the later one."""
    gone = Decision(RemoveBlock(), "merged into the text before it", "merged")
    session = history.session
    sent = (history.kind != BlockKind.SYSTEM_TEXT) & (history.kind != BlockKind.OTHER)
    for context in arrivals(history, sent):
        is_text = history.kind[context.blocks] == BlockKind.ASSISTANT_TEXT
        retained = np.flatnonzero(is_text[: context.retained])
        builder.add(context.blocks[retained], context.calls[retained], CONTEXT_RESET)
        first, more = -1, ""
        places = zip(context.blocks.tolist(), context.calls.tolist(), is_text.tolist(), strict=True)
        for place, (block, call, goes_on) in enumerate(places):
            if not goes_on or not place or not is_text[place - 1]:
                first, more = block, ""
                continue
            try:
                more += session.text(session.blocks[block])
            except TextUnavailableError:
                first, more = block, ""
                continue
            builder.add_pairs([(first, call)], Decision(AppendText(more), "next text appended", "merged"))
            builder.add_pairs([(block, call)], gone)


def _results(history: History) -> NDArray[np.bool_]:
    """Return, per block, True for a tool result or a user text in the program's wording of one."""
    results: NDArray[np.bool_] = history.kind == BlockKind.TOOL_RESULT
    session = history.session
    for block in np.flatnonzero(history.kind == BlockKind.USER_TEXT).tolist():
        recorded = session.blocks[block]
        if recorded.preview.startswith(_OPENING):
            try:
                results[block] = _WORDED.match(session.text(recorded)) is not None
            except TextUnavailableError:
                continue
    return results
