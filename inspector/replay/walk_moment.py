"""What one strategy of a plan may see of one call of the walk."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.changes import Estimate, ModelCall, Notice
from inspector.strategies.rendition import Action

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.walk import Circumstances, Walk
    from inspector.strategies.base import Choice
    from inspector.strategies.history import History
    from inspector.strategies.rendition import Rendition


class PromptsNotMeasuredError(Exception):
    """A strategy whose `measures_prompts` is off has asked for the size of a prompt."""


class WalkMoment:
    """What one strategy may see of one call."""

    __slots__ = ("arrived", "call", "depth", "starts_context", "thread", "walk")

    def __init__(
        self, walk: Walk, depth: int, call: int, thread: int, arrived: NDArray[np.int32], starts_context: bool
    ) -> None:
        """See `Moment`; `depth` is the strategy's place among the layers."""
        self.walk, self.depth, self.call, self.thread = walk, depth, call, thread
        self.arrived, self.starts_context = arrived, starts_context

    @property
    def history(self) -> History:
        """What was recorded."""
        return self.walk.history

    @property
    def _told(self) -> Circumstances | None:
        """What is told of this call; of recorded ones nothing is."""
        return self.walk.told if self.call == self.walk.call_count else None

    @property
    def previous_prompt_tokens(self) -> int:
        """Prompt tokens of the thread's previous call under the plan."""
        told = self._told
        if told is not None and told.input_tokens is not None:
            return told.input_tokens
        previous = self.walk.thread_call.get(self.thread)
        if not self.walk.measures_prompts:
            raise PromptsNotMeasuredError
        return 0 if previous is None else self.walk.sent_prompt_tokens[previous]

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens of this call as it stands."""
        told = self._told
        if told is not None and told.input_tokens is not None:
            return told.input_tokens
        return self.walk.prompt_tokens(self.call, self.walk.settle(self.thread))

    @property
    def idle_seconds(self) -> float | None:
        """Time since the thread's previous call."""
        told = self._told
        if told is not None and told.idle_seconds is not None:
            return told.idle_seconds
        previous = self.walk.thread_call.get(self.thread)
        if previous is None:
            return None
        gap = self.walk.times[self.call] - self.walk.times[previous]
        return None if isnan(gap) else gap

    def prompt(self) -> NDArray[np.int32]:
        """The blocks of this call's prompt, removed ones left out."""
        blocks = self.history.prompt(self.call)
        if not self.walk.dirty and not self.walk.removed:
            return blocks
        kept = [block for block in blocks.tolist() if self.rendition(block).action is not Action.REMOVED]
        return np.array(kept, dtype=np.int32)

    def rendition(self, block: int) -> Rendition:
        """How the block would be sent now."""
        return self.walk.rendition(block, self.depth + 1)

    def is_whole(self, block: int) -> bool:
        """Whether it would be sent whole."""
        walk = self.walk
        return walk.is_untouched(block, self.depth + 1) or self.rendition(block).action is Action.WHOLE

    def length(self, block: int) -> int:
        """Its characters."""
        walk = self.walk
        if walk.is_untouched(block, self.depth + 1):
            return walk.characters[block]
        return self.rendition(block).length

    def tokens(self, block: int) -> int:
        """Its tokens."""
        walk = self.walk
        if walk.is_untouched(block, self.depth + 1):
            return walk.tokens[block]
        return walk.renderer.tokens(block, self.rendition(block))

    def note_estimate(self, tokens: float) -> None:
        """Keep what the strategy takes the prompt to measure."""
        self.walk.estimates.append(Estimate(self.walk.layers[self.depth].entry, self.call, tokens))

    def note_model_call(self, prompt_tokens: int, output_tokens: int) -> None:
        """Keep what the strategy asks a model for."""
        entry = self.walk.layers[self.depth].entry
        self.walk.model_calls.append(ModelCall(entry, self.call, prompt_tokens, output_tokens))

    def note_printed(self, text: str) -> None:
        """Keep what the described program would print."""
        self.walk.notices.append(Notice(self.walk.layers[self.depth].entry, self.call, text))

    def tokens_under(self, choice: Choice) -> int:
        """Tokens of the choice's block if it were made."""
        stack = self.walk.stack(choice.block, self.depth)
        if choice.decision.operation is not None:
            stack = (*stack, choice.decision.operation)
        renderer = self.walk.renderer
        return renderer.tokens(choice.block, renderer.rendition(choice.block, stack))

    def text(self, block: int) -> str:
        """The block's text as it would be sent now."""
        return self.rendition(block).text(self.history.session.text(self.history.session.blocks[block]))
