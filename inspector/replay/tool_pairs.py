"""Tool calls and results in a prompt that have no counterpart: APIs reject requests that contain any."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind
from inspector.strategies.core.rendition import Action

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.engine.replay import Replay
    from inspector.session.model import Block


class Unpaired:
    """Blocks to leave out of the messages of one call, so that every tool call is followed by its one result.

    Files can lack either: an interrupted session, a call cut off at a limit, a compaction or a plan that kept only one
    of the two, a result recorded twice.

    Attributes:
        blocks: Description of each, by block index.
    """

    def __init__(self, replay: Replay, call: int) -> None:
        """Find the blocks to leave out.

        Args:
            replay: The plan on the session.
            call: The call; `history.call_count` for the next one.
        """
        self.blocks: dict[int, str] = {}
        waiting: dict[str, list[int]] = {}
        answered: set[str] = set()
        for index, block in _tool_blocks(replay, call):
            open_calls = waiting.setdefault(block.tool_call_id, [])
            if block.kind is BlockKind.TOOL_CALL:
                open_calls.append(index)
            elif open_calls:
                answered.add(block.tool_call_id)
                open_calls.pop(0)
            else:
                again = block.tool_call_id in answered
                self.blocks[index] = "further results of a tool call" if again else "tool results without a call"
        for open_calls in waiting.values():
            self.blocks |= dict.fromkeys(open_calls, "tool calls without a result")
        self._add_reasoning(replay, call)

    def _add_reasoning(self, replay: Replay, call: int) -> None:
        """Leave out reasoning if nothing else is left of its message: APIs reject messages that end with it."""
        history = replay.history
        for message in sorted({int(history.message[index]) for index in self.blocks}):
            first = int(history.message_first_block[message])
            blocks = history.session.messages[message].blocks
            left = [
                (first + at, block.kind)
                for at, block in enumerate(blocks)
                if first + at not in self.blocks
                and block.kind is not BlockKind.OTHER
                and replay.rendition(first + at, call).action is not Action.REMOVED
            ]
            if all(kind is BlockKind.THINKING for _, kind in left):
                self.blocks |= {index: "reasoning before such calls" for index, _ in left}

    def sentences(self) -> list[str]:
        """Return one line per kind of block that is left out."""
        return [f"{what} left out: {count:,}" for what, count in Counter(self.blocks.values()).items()]


def _tool_blocks(replay: Replay, call: int) -> Iterator[tuple[int, Block]]:
    """Yield the index of every tool call and result that the plan sends as one, in the order of the prompt."""
    history = replay.history
    for message in history.prompt_messages(call).tolist():
        first = int(history.message_first_block[message])
        for at, block in enumerate(history.session.messages[message].blocks):
            if block.kind not in (BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT):
                continue
            rendition = replay.rendition(first + at, call)
            if rendition.action is not Action.REMOVED and rendition.kind is None:
                yield first + at, block
