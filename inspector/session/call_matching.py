"""Match tool results to calls by order when ids repeat or are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from inspector.session.model import BlockKind, Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.session.model import Block


class ToolNames(dict[str, str]):
    """Tool names by call id."""

    def note(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            if block.kind is BlockKind.TOOL_CALL:
                self[block.tool_call_id] = block.tool_name


class _Called(NamedTuple):
    """A call: its recorded id, its unique id, and its tool."""

    recorded: str
    identifier: str
    tool: str


class CallMatcher:
    """Matches the calls and results of one conversation, in order.

    A call keeps its id, unless the id is missing or belongs to another call without a result; then it gets a new one.
    A result belongs to the first call with its id that has no result yet. A result without an id belongs to the first
    call without one, preferably of the tool it names.
    """

    def __init__(self, *, are_ids_left_out: bool = False) -> None:
        """Start without calls.

        Args:
            are_ids_left_out: A result without an id may answer a call that has one.
        """
        self._are_ids_left_out = are_ids_left_out
        self._open: list[_Called] = []
        self._latest: dict[str, _Called] = {}
        self._given: set[str] = set()
        self._is_answered = False

    def paired(self, role: Role, blocks: Iterable[Block]) -> tuple[Block, ...]:
        """Return the blocks of the next message: calls with unique ids, results with the ids of their calls."""
        if role is Role.ASSISTANT and self._is_answered:
            self._open.clear()  # calls still open here get no result
        self._is_answered = role is not Role.ASSISTANT
        return tuple(self._paired(block) for block in blocks)

    def _paired(self, block: Block) -> Block:
        if block.kind is BlockKind.TOOL_CALL:
            called = _Called(block.tool_call_id, self._identifier(block.tool_call_id), block.tool_name)
            self._open.append(called)
            self._latest[called.recorded] = called
        elif block.kind is BlockKind.TOOL_RESULT:
            found = self._answered(block)
            if found is None:
                return block
            called = found
        else:
            return block
        if (called.identifier, called.tool) == (block.tool_call_id, block.tool_name):
            return block
        return structs.replace(block, tool_call_id=called.identifier, tool_name=called.tool)

    def _identifier(self, recorded: str) -> str:
        if recorded and all(call.recorded != recorded for call in self._open):
            return recorded
        number = 1 if not recorded else 2
        while (name := f"{recorded or 'call'}-{number}") in self._given or name in self._latest:
            number += 1
        self._given.add(name)
        return name

    def _answered(self, result: Block) -> _Called | None:
        recorded = result.tool_call_id
        waiting = [call for call in self._open if call.recorded == recorded]
        if not recorded and not waiting and self._are_ids_left_out:
            waiting = self._open
        if not waiting:
            return self._latest.get(recorded) if recorded else None
        named = [call for call in waiting if call.tool == result.tool_name] if not recorded else []
        found = (named or waiting)[0]
        self._open.remove(found)
        return found
