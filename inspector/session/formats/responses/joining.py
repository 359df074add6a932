"""Joining items into messages: the items of one response are one message, and so are the outputs that answer it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.builder import Thread
from inspector.session.formats.responses.blocks import Side
from inspector.session.model import BlockKind, Message, Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.session.builder import SessionBuilder
    from inspector.session.formats.plain.blocks import Names
    from inspector.session.model import Block, Usage

NONE = -1

ROLE_OF_SIDE = {
    Side.RESPONSE: Role.ASSISTANT,
    Side.USER: Role.USER,
    Side.SYSTEM: Role.SYSTEM,
    Side.TOOL: Role.TOOL,
    Side.SUMMARY: Role.ASSISTANT,
    Side.OTHER: Role.OTHER,
}


class Joiner:
    """Takes items in order.

    Attributes:
        thread: The conversation they make up.
        response: The message of the response that grows, -1 when the next one begins anew.
        results: The message of tool outputs that grows, -1 likewise.
        names: Names of the tools of known call ids.
    """

    def __init__(self, builder: SessionBuilder, number: int = 0) -> None:
        """Begin a conversation with the given thread number."""
        self._builder = builder
        self.thread = Thread(builder, number)
        self.response = NONE
        self.results = NONE
        self.names: Names = {}

    def add(
        self,
        side: Side,
        blocks: Iterable[Block],
        *,
        time: float | None = None,
        identifier: str = "",
        is_call: bool = True,
        model: str = "",
        usage: Usage | None = None,
        is_meta: bool = False,
        is_summary: bool = False,
        is_inherited: bool = False,
    ) -> int:
        """Add the blocks of an item; the message they went to.

        Args:
            side: Who adds it.
            blocks: Its blocks.
            time: When it was added.
            identifier: The message's id.
            is_call: A response it begins is a call of its own.
            model: The model that responds.
            usage: What was reported for the call.
            is_meta: As in `Message`.
            is_summary: As in `Message`.
            is_inherited: As in `Message`.
        """
        blocks = list(blocks)
        self.names |= {block.tool_call_id: block.tool_name for block in blocks if block.kind is BlockKind.TOOL_CALL}
        grows = self._growing(side)
        if grows != NONE:
            self._builder.add_blocks(grows, blocks)
            return grows
        message = Message(
            role=ROLE_OF_SIDE[side],
            blocks=tuple(blocks),
            time=time,
            identifier=identifier,
            thread=self.thread.number,
            is_meta=is_meta,
            is_summary=is_summary or side is Side.SUMMARY,
            is_inherited=is_inherited,
        )
        if side is Side.OTHER:
            return self.thread.add(message, is_sent=False)
        self.close()
        if side is Side.RESPONSE and is_call:
            self.response = self.thread.respond(message, model=model, usage=usage, identifier=identifier)
            return self.response
        index = self.thread.add(message)
        if side is Side.RESPONSE:
            self.response = index
        elif side is Side.TOOL:
            self.results = index
        return index

    def close(self) -> None:
        """End what grows: the next item begins a message."""
        self.response = self.results = NONE

    def _growing(self, side: Side) -> int:
        if side is Side.RESPONSE:
            return self.response
        return self.results if side is Side.TOOL else NONE
