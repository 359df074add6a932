"""Which messages of a session are written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind, Role

if TYPE_CHECKING:
    from inspector.report.conversion.loss import Losses
    from inspector.session.model import Call, Session


@dataclass(frozen=True)
class Selection:
    """The messages to write.

    Attributes:
        main: Indices of those of the main conversation, in order.
        others: Those of each subagent's conversation, by its number.
        calls: The call that each response answered, by message index.
    """

    main: tuple[int, ...]
    others: dict[int, tuple[int, ...]] = field(default_factory=dict)
    calls: dict[int, Call] = field(default_factory=dict)


def select(session: Session, losses: Losses, *, whole: bool, with_subagents: bool) -> Selection:
    """Choose what is written.

    Args:
        session: The session.
        losses: Where is noted what is left out.
        whole: All that was said, rather than what the model would see next.
        with_subagents: The form has a place for subagents' conversations.
    """
    main = _main_thread(session)
    calls = {call.response: call for call in session.calls}
    if not whole:
        contexts = [context for context in session.contexts if context.thread == main]
        return Selection(tuple(contexts[-1].members) if contexts else (), calls=calls)
    said: dict[int, list[int]] = {}
    for index, message in enumerate(session.messages):
        if message.role is Role.OTHER or message.is_synthetic:
            losses.note("notices left out, which no model was sent")
        elif message.is_abandoned:
            losses.note("messages on abandoned branches left out")
        elif all(block.kind is BlockKind.OTHER for block in message.blocks) and message.blocks:
            losses.note("messages of unknown parts left out")
        else:
            said.setdefault(message.thread, []).append(index)
    losses.note("compactions not marked as such", len(session.compactions))
    others = {thread: tuple(members) for thread, members in said.items() if thread != main}
    if not with_subagents:
        losses.note("messages of subagents left out", sum(map(len, others.values())))
        others = {}
    return Selection(tuple(said.get(main, ())), others, calls)


def _main_thread(session: Session) -> int:
    threads = [context.thread for context in session.contexts]
    return 0 if 0 in threads or not threads else threads[0]
