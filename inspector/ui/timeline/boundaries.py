"""Boundaries of the timeline: compactions, rewinds and subagents between two messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.session.model import ContextCause

if TYPE_CHECKING:
    from inspector.session.model import Compaction, Context
    from inspector.strategies.history.history import History


@dataclass(frozen=True, eq=False)
class Boundary:
    """A place where the context is not what it was.

    Attributes:
        history: The session it is in.
        block: The first block after it.
        is_compaction: The agent compacted here, wholly or in part.
        cause: What is said of it where no compaction was recorded.
        compaction: The recorded compaction, None for none.
    """

    history: History
    block: int
    is_compaction: bool
    cause: str = ""
    compaction: Compaction | None = None

    @cached_property
    def label(self) -> str:
        """What happened, safe to show: `compaction, auto, 155,012 → 12,400 tokens`."""
        return self.cause if self.compaction is None else _compacted(self.history, self.block, self.compaction)


def boundaries_of(history: History) -> tuple[Boundary, ...]:
    """Every boundary of a session, in order of their blocks. One that nothing follows yet is left out."""
    session = history.session
    found: dict[int, tuple[bool, str, Compaction | None]] = {}
    compacted = {compaction.message: compaction for compaction in session.compactions}
    for context in session.contexts:
        if context.cause is ContextCause.START:
            if context.thread and context.members:
                found.setdefault(context.members[0], (False, f"subagent {context.thread}", None))
            continue
        message = _first_message(context, compacted)
        if message is None:
            continue
        compaction = compacted.get(message)
        is_compaction = compaction is not None or context.cause is ContextCause.COMPACTION
        found[message] = (is_compaction, context.cause.value, compaction)
    for message, compaction in compacted.items():
        found.setdefault(message, (True, "", compaction))
    block_count = len(history.kind)
    placed = []
    for message in sorted(found):
        if 0 <= message < len(session.messages):
            block = int(history.message_first_block[message])
            if block < block_count:
                placed.append(Boundary(history, block, *found[message]))
    return tuple(placed)


def calls_around(history: History, block: int) -> tuple[int, int] | None:
    """The last call before what begins at a block, of the same conversation, and the first one after it.

    Args:
        history: The session.
        block: The first block after the boundary.

    Returns:
        Two calls; None where either was not made.
    """
    after = int(history.enters[block]) if 0 <= block < len(history.enters) else -1
    if not 0 < after < history.call_count:
        return None
    contexts, calls = history.session.contexts, history.session.calls
    thread = contexts[calls[after].context].thread
    before = next((call for call in range(after - 1, -1, -1) if contexts[calls[call].context].thread == thread), None)
    return None if before is None else (before, after)


def _compacted(history: History, block: int, compaction: Compaction) -> str:
    """What is known of a compaction, and the prompts that were reported before and after it."""
    around = calls_around(history, block)
    if around is None:
        return compaction_label(compaction)
    before, after = (history.session.calls[call].usage for call in around)
    if before is None or after is None or not before.prompt or not after.prompt:
        return compaction_label(compaction)
    return compaction_label(compaction, f"prompts {ON_SCREEN.whole(before.prompt)} → {ON_SCREEN.whole(after.prompt)}")


def compaction_label(compaction: Compaction, prompts: str = "") -> str:
    """What is known of a recorded compaction, in one line that is safe to show.

    Args:
        compaction: What the agent recorded.
        prompts: What is known of the prompts around it; stands before what the agent says, which may be cut off.
    """
    parts = ["compaction"]
    if compaction.is_partial:
        parts = [f"{ON_SCREEN.plural(len(compaction.cleared_tool_call_ids), 'tool result')} cleared"]
    if compaction.trigger:
        parts.append(one_line(compaction.trigger, 40))
    if prompts:
        parts.append(prompts)
    if compaction.tokens_before is not None and compaction.tokens_after is not None:
        parts.append(f"{ON_SCREEN.whole(compaction.tokens_before)} → {ON_SCREEN.whole(compaction.tokens_after)} tokens")
    elif compaction.tokens_before is not None:
        parts.append(f"at {ON_SCREEN.whole(compaction.tokens_before)} tokens")
    elif compaction.tokens_saved is not None:
        parts.append(f"{ON_SCREEN.whole(compaction.tokens_saved)} tokens saved")
    return ", ".join(parts)


def _first_message(context: Context, compacted: dict[int, Compaction]) -> int | None:
    """The message before which a context's boundary stands."""
    members, carried = context.members, context.carried
    if context.cause is ContextCause.COMPACTION:
        for message in members[: carried + 1]:
            if message in compacted and not compacted[message].is_partial:
                return message
    return members[carried] if carried < len(members) else None
