"""Selection of messages to convert, helpers shared by the formats, and counts of losses."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inspector.replay.message_lists import media_notice, tool_input
from inspector.session.model import BlockKind, Role

if TYPE_CHECKING:
    from inspector.session.model import Block, Call, Session

TEXTS = frozenset({BlockKind.SYSTEM_TEXT, BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT})

TOOLS = "tools"
"""Locator of tool definitions."""


@dataclass(frozen=True)
class Selection:
    """The messages to write.

    Attributes:
        main: Message indices of the main conversation, in order.
        others: Message indices of each subagent's conversation, by its number.
        calls: Call of each response, by message index.
    """

    main: tuple[int, ...]
    others: dict[int, tuple[int, ...]] = field(default_factory=dict)
    calls: dict[int, Call] = field(default_factory=dict)


def select(session: Session, losses: Losses, *, whole: bool, with_subagents: bool) -> Selection:
    """Select the messages to write.

    Args:
        session: The session.
        losses: Counter to which omissions are added.
        whole: Select the whole conversation in place of the next prompt.
        with_subagents: The format supports subagents' conversations.
    """
    main = _main_thread(session)
    calls = {call.response: call for call in session.calls}
    if not whole:
        contexts = [context for context in session.contexts if context.thread == main]
        return Selection(tuple(contexts[-1].members) if contexts else (), calls=calls)
    by_name: dict[int, list[int]] = {}
    for index, message in enumerate(session.messages):
        if message.role is Role.OTHER or message.is_synthetic:
            losses.note("notices left out because they were never sent to a model")
        elif message.is_abandoned:
            losses.note("messages on abandoned branches left out")
        elif all(block.kind is BlockKind.OTHER for block in message.blocks) and message.blocks:
            losses.note("messages with only unknown blocks left out")
        else:
            by_name.setdefault(message.thread, []).append(index)
    losses.note("compactions not marked as such", len(session.compactions))
    others = {thread: tuple(members) for thread, members in by_name.items() if thread != main}
    if not with_subagents:
        losses.note("messages of subagents left out", sum(map(len, others.values())))
        others = {}
    return Selection(tuple(by_name.get(main, ())), others, calls)


def _main_thread(session: Session) -> int:
    threads = [context.thread for context in session.contexts]
    return 0 if 0 in threads or not threads else threads[0]


def definitions(session: Session, block: Block) -> list[Any] | None:
    """Return the tools that a block defines; None for any other block."""
    if block.kind is not BlockKind.SYSTEM_TEXT or block.origin.locator != TOOLS:
        return None
    try:
        value = json.loads(session.text(block))
    except ValueError:
        return None
    return value if isinstance(value, list) else None


def call_input(text: str, losses: Losses) -> dict[str, Any]:
    """Parse the input of a call as an object, which two of the formats require."""
    value = tool_input(text)
    if list(value) == ["input"] and not _is_object(text):
        losses.note("calls with plain text input written as {input: …}")
    return dict(value)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict) if text else True
    except ValueError:
        return False


def media_text(block: Block, text: str, losses: Losses) -> str:
    """Return a placeholder for an image or document that the format cannot carry, or the session does not hold."""
    losses.note(f"{block.kind.label}s written as text")
    return text or media_notice(block)


def note_unnamed_results(session: Session, selection: Selection, losses: Losses) -> None:
    """Note results without a tool name because their call is not written."""
    blocks = [block for index in selection.main for block in session.messages[index].blocks]
    called = {block.tool_call_id for block in blocks if block.kind is BlockKind.TOOL_CALL}
    unnamed = [block for block in blocks if block.kind is BlockKind.TOOL_RESULT and block.tool_call_id not in called]
    losses.note("tool names left out for results without a call", sum(bool(block.tool_name) for block in unnamed))


class Losses:
    """Counts of content that was left out or replaced, by description."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def note(self, what: str, count: int = 1) -> None:
        """Count a loss; `what` is a plural noun and its fate."""
        if count:
            self._counts[what] += count

    def sentences(self) -> list[str]:
        """Return one line per kind of loss."""
        return [f"{what}: {count:,}" for what, count in self._counts.items()]

    @property
    def counts(self) -> dict[str, int]:
        return dict(self._counts)
