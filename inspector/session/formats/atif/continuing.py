"""A trajectory that was compacted goes on in another file, which begins with steps it copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.formats.atif.steps import count_step, spoken_in
from inspector.session.model import Compaction, ContextCause, Origin, Role

if TYPE_CHECKING:
    from inspector.session.assembly import Assembly
    from inspector.session.formats.chat import ChatThread
    from inspector.session.model import Message
    from inspector.session.nodes import Node

Said = tuple[Role, tuple[bytes, ...]]


def begin_continuation(assembly: Assembly, chat: ChatThread, tools: Node | None, steps: list[Node], file: int) -> int:
    """Begin the context that a trajectory goes on with; how many of its steps were taken for that.

    Copied steps that stand in the trajectory already are not added again.

    Args:
        assembly: What is filled.
        chat: The conversation so far.
        tools: The tools of the file in which it goes on.
        steps: The steps of that file.
        file: The file's number.
    """
    known: dict[Said, list[int]] = {}
    for index, message in enumerate(assembly.messages):
        if message.thread == chat.thread.number:
            known.setdefault(_said(message), []).append(index)
    copied: list[Message] = []
    if (defining := chat.defining(tools, file)) is not None:
        copied.append(defining)
    taken = 0
    for item in steps:
        step = item.value()
        if not isinstance(step, dict) or step.get("is_copied_context") is not True:
            break
        count_step(assembly, step)
        said = chat.messages(spoken_in(step), Origin(item.offset, item.length, 0, file))
        copied += [message for message in said if message.role is not Role.OTHER]
        taken += 1
    first = len(assembly.messages)
    members = []
    for message in copied:
        places = known.get(_said(message))
        members.append(places.pop(0) if places else chat.thread.add(message, is_sent=False))
    chat.thread.begin(ContextCause.COMPACTION, members)
    assembly.compactions.append(Compaction(first, trigger="continuation"))
    return taken


def _said(message: Message) -> Said:
    return message.role, tuple(block.digest for block in message.blocks)
