"""Sessions out of records that are no chat messages themselves, but can be told as some.

Most formats say the same in other words: who speaks, what is called, what came back. A format of that kind turns each
record into chat messages of OpenAI's or Anthropic's form; from there on it is read like any plain conversation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.blocks import CHAT, TextBlock
from inspector.session.builder import Thread
from inspector.session.call_matching import CallMatcher
from inspector.session.formats.plain.blocks import TOOLS, blocks_beside, blocks_of_entry, role_of
from inspector.session.model import Message, Origin, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inspector.session.builder import SessionBuilder
    from inspector.session.json.nodes import Node
    from inspector.session.model import Block, Usage

NOTICE = "notice"
"""The role of what is shown and never sent."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """What a record says in one chat message.

    Attributes:
        value: The chat message.
        time: Seconds since the epoch, or None.
        identifier: The provider's or the file's own id of it.
        is_call: A model's response, and so a call.
        model: The model that gave it.
        usage: What was reported for the call.
        is_meta: Injected by the agent.
        is_summary: It stands for a compacted conversation.
        is_inherited: Copied from another session.
        is_synthetic: Written by the agent in a model's place.
    """

    value: Mapping[str, Any]
    time: float | None = None
    identifier: str = ""
    is_call: bool = False
    model: str = ""
    usage: Usage | None = None
    is_meta: bool = False
    is_summary: bool = False
    is_inherited: bool = False
    is_synthetic: bool = False

    @property
    def role(self) -> Role:
        """Who it speaks for."""
        return role_of(self.value)


def chat_blocks(messages: Iterable[Mapping[str, Any]], origin: Origin) -> list[list[TextBlock]]:
    """The blocks of each of a record's chat messages, numbered through the record.

    Args:
        messages: The chat messages.
        origin: Where the record stands.
    """
    locator = origin.locator or CHAT
    part = 0
    found = []
    for message in messages:
        own = []
        for block, text in blocks_of_entry(message, origin.offset, origin.length, {}):
            place = Origin(origin.offset, origin.length, part, origin.file, locator)
            own.append(TextBlock(structs.replace(block, origin=place), text))
            part += 1
        found.append(own)
    return found


def notice(text: str) -> dict[str, Any]:
    """A chat message for what is shown and never sent."""
    return {"role": NOTICE, "content": text}


def all_blocks(record: Iterable[ChatMessage], origin: Origin) -> list[TextBlock]:
    """The blocks of a record that is read again."""
    return [made for own in chat_blocks([one.value for one in record], origin) for made in own]


class ChatThread:
    """One conversation of a session, told in chat messages.

    Attributes:
        thread: Its messages and contexts.
    """

    def __init__(self, builder: SessionBuilder, number: int = 0) -> None:
        """Begin.

        Args:
            builder: What to fill.
            number: As in `Message.thread`.
        """
        self._builder = builder
        self.thread = Thread(builder, number)
        self._pairing = CallMatcher()

    def tools(self, node: Node | None) -> None:
        """Add tool definitions, which the API reads before everything else."""
        message = self.defining(node)
        if message is not None:
            self.thread.add(message)

    def defining(self, node: Node | None, file: int = 0) -> Message | None:
        """The message that tool definitions make, not added yet; None where there are none.

        Args:
            node: The definitions.
            file: As in `Origin.file`.
        """
        value = node.value() if node is not None else None
        if node is None or not value:
            return None
        made = blocks_beside(value, node.raw(), node.offset, node.length, TOOLS)
        blocks = (structs.replace(block, origin=structs.replace(block.origin, file=file)) for block, _ in made)
        return Message(Role.SYSTEM, tuple(blocks), thread=self.thread.number)

    def add(self, record: Sequence[ChatMessage], origin: Origin, *, is_sent: bool = True) -> list[int]:
        """Add what a record says; the indices of its messages.

        Args:
            record: What it says.
            origin: Where it stands.
            is_sent: Whether it is part of later prompts; notices never are.
        """
        made = self.messages(record, origin)
        return [self.put(one, message, is_sent=is_sent) for one, message in zip(record, made, strict=True)]

    def put(self, spoken: ChatMessage, message: Message, *, is_sent: bool = True) -> int:
        """Add a message that was made before; its index."""
        is_sent = is_sent and spoken.role is not Role.OTHER and not spoken.is_synthetic
        if not spoken.is_call:
            return self.thread.add(message, is_sent=is_sent)
        return self.thread.respond(
            message, model=spoken.model, usage=spoken.usage, identifier=spoken.identifier, is_sent=is_sent
        )

    def messages(self, record: Sequence[ChatMessage], origin: Origin) -> list[Message]:
        """The messages of a record, not added yet."""
        found = chat_blocks([one.value for one in record], origin)
        return [
            self._message(one, self._pairing.paired(one.role, [block for block, _ in own]))
            for one, own in zip(record, found, strict=True)
        ]

    def _message(self, spoken: ChatMessage, blocks: Sequence[Block]) -> Message:
        return Message(
            role=spoken.role,
            blocks=tuple(blocks),
            time=spoken.time,
            identifier=spoken.identifier,
            thread=self.thread.number,
            is_synthetic=spoken.is_synthetic,
            is_meta=spoken.is_meta,
            is_summary=spoken.is_summary,
            is_inherited=spoken.is_inherited,
        )
