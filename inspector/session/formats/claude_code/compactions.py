"""Read Claude Code's compaction records and conversation branches."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.session.model import Compaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.session.formats.claude_code.records import ClaudeCodeRecord, CompactMetadata


def compaction_of(record: ClaudeCodeRecord, message: int, time: float | None) -> Compaction:
    """Build a compaction from a full or partial boundary record; `message` is the index of the next message."""
    metadata = record.compact_metadata or record.microcompact_metadata
    if metadata is None:
        return Compaction(message, time=time)
    return Compaction(
        message,
        trigger=metadata.trigger or "",
        tokens_before=metadata.tokens_before,
        tokens_after=metadata.tokens_after,
        cleared_tool_call_ids=tuple(metadata.cleared or ()),
        tokens_saved=metadata.tokens_saved,
        time=time,
    )


def kept_messages(metadata: CompactMetadata | None, message_of: Callable[[str], int | None]) -> tuple[list[int], bool]:
    """Return the messages that a full compaction kept, in order, and True if all of them are in this file.

    A resumed session may begin with the boundary and name messages in another file.

    Args:
        metadata: The boundary's metadata.
        message_of: Maps a line's uuid to its message index: -1 for a line without a message, None for an unknown uuid.
    """
    if metadata is None:
        return [], True
    if metadata.preserved_messages is not None:
        uuids = metadata.preserved_messages.uuids or metadata.preserved_messages.all_uuids or []
        found = [message_of(uuid) for uuid in uuids]
        indices = {index for index in found if index is not None and index >= 0}
        return sorted(indices), None not in found
    segment = metadata.preserved_segment
    if segment is None or not segment.head or not segment.tail:
        return [], True
    first, last = message_of(segment.head), message_of(segment.tail)
    if first is None or last is None or first < 0 or last < 0:
        return [], False
    return list(range(first, last + 1)), True


def sends_kept_first(record: ClaudeCodeRecord) -> bool:
    """Return True if the kept messages precede the summary, i.e. they are anchored at the boundary."""
    metadata = record.compact_metadata
    if metadata is None:
        return False
    kept = (metadata.preserved_messages, metadata.preserved_segment)
    return any(part is not None and part.anchor is not None and part.anchor == record.uuid for part in kept)


NO_NODE = -1


@dataclass
class PromptTurn:
    """The part of a conversation from one prompt to the next.

    Attributes:
        before: The preceding turn, -1 for the first.
        fork: The line that the prompt follows, -1 if unknown.
    """

    before: int
    fork: int


@dataclass
class Branches:
    """The graph of lines, reduced to turns.

    Attributes:
        nodes: Line number in this graph by uuid.
        current: The turn of the conversation's last line.
        abandoned: Turns left by rewinding.
    """

    nodes: dict[str, int] = field(default_factory=dict)
    current: int = 0
    abandoned: frozenset[int] = frozenset()
    _turn_of_node: array[int] = field(default_factory=lambda: array("i"))
    _turns: list[PromptTurn] = field(default_factory=lambda: [PromptTurn(-1, NO_NODE)])
    _prompts_after: dict[int, list[int]] = field(default_factory=dict)

    def node(self, uuid: str | None) -> int:
        """Return the line's number, `NO_NODE` if unknown."""
        return NO_NODE if uuid is None else self.nodes.get(uuid, NO_NODE)

    def add(self, uuid: str | None, parent: str | None, *, is_prompt: bool) -> int:
        """Add a line and return its turn. Lines with an unknown parent belong to the current turn."""
        parent_node = self.node(parent)
        turn = self._turn_of_node[parent_node] if parent_node >= 0 else self.current
        if is_prompt:
            self._turns.append(PromptTurn(turn, parent_node))
            turn = len(self._turns) - 1
            if parent_node >= 0:
                self._prompts_after.setdefault(parent_node, []).append(turn)
        if uuid is not None:
            self.nodes[uuid] = len(self._turn_of_node)
            self._turn_of_node.append(turn)
        return turn

    def go_to(self, turn: int) -> bool:
        """Make `turn` the current one. Return True if the set of abandoned turns changed."""
        if turn == self.current:
            return False
        entered = self._turns[turn]
        continues = entered.before == self.current and len(self._prompts_after.get(entered.fork, ())) < 2
        self.current = turn
        if continues:
            return False
        abandoned = self._left_behind()
        if abandoned == self.abandoned:
            return False
        self.abandoned = abandoned
        return True

    def go_to_leaf(self, node: int) -> bool:
        """Make the turn of a line the last of the conversation. Return True if the set of abandoned turns changed.

        A leaf recorded late may name a line that the conversation has already continued; it changes nothing.
        """
        turn = self._turn_of_node[node]
        return turn != self.current and turn not in self._path() and self.go_to(turn)

    def _left_behind(self) -> frozenset[int]:
        path = self._path()
        abandoned: set[int] = set()
        for number, turn_ in enumerate(self._turns):
            if number in path:
                continue
            alternatives = self._prompts_after.get(turn_.fork, ())
            if turn_.before in abandoned or any(alternative in path for alternative in alternatives):
                abandoned.add(number)
        return frozenset(abandoned)

    def _path(self) -> set[int]:
        """Return the current turn and all turns before it."""
        path = set()
        turn = self.current
        while turn >= 0:
            path.add(turn)
            turn = self._turns[turn].before
        return path
