"""Branches of a conversation: which turns the person left behind by rewinding.

Every line names its parent, but the graph has far more forks than the conversation: parallel tool calls, hooks and
progress records all make siblings. So only prompts are looked at. Two prompts with the same parent are alternatives;
of these the one that leads to the last line is the conversation, and the turns that follow from the others are
abandoned.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

NO_NODE = -1


@dataclass
class Turn:
    """What follows from one prompt until the next.

    Attributes:
        before: The turn it continues, -1 for the first.
        fork: The line it was typed after, -1 when unknown.
    """

    before: int
    fork: int


@dataclass
class Branches:
    """The graph of lines, reduced to turns.

    Attributes:
        nodes: Line number in this graph by uuid.
        current: The turn of the last line of the conversation.
        abandoned: Turns left behind.
    """

    nodes: dict[str, int] = field(default_factory=dict)
    current: int = 0
    abandoned: frozenset[int] = frozenset()
    _turn_of_node: array[int] = field(default_factory=lambda: array("i"))
    _turns: list[Turn] = field(default_factory=lambda: [Turn(-1, NO_NODE)])
    _prompts_after: dict[int, list[int]] = field(default_factory=dict)

    def node(self, uuid: str | None) -> int:
        """The line's number, `NO_NODE` when it is unknown."""
        return NO_NODE if uuid is None else self.nodes.get(uuid, NO_NODE)

    def add(self, uuid: str | None, parent: str | None, *, is_prompt: bool) -> int:
        """Add a line; the turn it belongs to. Lines with an unknown parent belong to the current turn."""
        parent_node = self.node(parent)
        turn = self._turn_of_node[parent_node] if parent_node >= 0 else self.current
        if is_prompt:
            self._turns.append(Turn(turn, parent_node))
            turn = len(self._turns) - 1
            if parent_node >= 0:
                self._prompts_after.setdefault(parent_node, []).append(turn)
        if uuid is not None:
            self.nodes[uuid] = len(self._turn_of_node)
            self._turn_of_node.append(turn)
        return turn

    def go_to(self, turn: int) -> bool:
        """Make `turn` the one the conversation is in; whether the set of abandoned turns changed."""
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
        """Make the turn of a line the one that the conversation ends in; whether the set of abandoned turns changed.

        A leaf that is noted late names a line that the conversation has gone on from: nothing changes then.
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
        """The turns that lead to the current one, itself included."""
        path = set()
        turn = self.current
        while turn >= 0:
            path.add(turn)
            turn = self._turns[turn].before
        return path
