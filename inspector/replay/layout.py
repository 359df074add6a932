"""Where every block stands in every prompt: the part of a replay that no plan changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.context_layout import ContextLayout
from inspector.replay.prompt_columns import PromptColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.history.history import History


@dataclass(frozen=True, eq=False)
class Layout:
    """All contexts of a session.

    Attributes:
        history: What they are contexts of.
        contexts: In the session's order.
        previous_call: Per call, the call before it in the same context, -1 for the first, int64.
        tokens: Per block, counted tokens, whole, int32.
        envelopes: Per block, counted tokens that go with it when it is removed, beside its own, int64.
    """

    history: History
    contexts: tuple[ContextLayout, ...]
    previous_call: NDArray[np.int64]
    tokens: NDArray[np.int32]
    envelopes: NDArray[np.int64]

    @classmethod
    def of(cls, history: History, tokens: NDArray[np.int32]) -> Layout:
        """Lay out a session whose blocks have the given tokens and take nothing beside them."""
        previous = np.full(history.call_count + 1, -1, dtype=np.int64)
        contexts: list[ContextLayout] = []
        last_of_thread: dict[int, ContextLayout] = {}
        for context, (members, calls) in zip(history.session.contexts, history.calls_of_contexts(), strict=True):
            blocks = history.blocks_of(members)
            ends = np.cumsum(history.message_first_block[members + 1] - history.message_first_block[members])
            ends = np.concatenate(([0], ends)).astype(np.int64)
            previous[calls[1:]] = calls[:-1]
            before = last_of_thread.get(context.thread)
            contexts.append(
                ContextLayout(
                    thread=context.thread,
                    blocks=blocks,
                    tokens=tokens[blocks],
                    beside=np.zeros(len(blocks) + 1),
                    carried=int(ends[context.carried]),
                    shared=0 if before is None else _shared(before.blocks[: before.prompt_blocks[-1]], blocks),
                    call_before=-1 if before is None else int(before.calls[-1]),
                    calls=calls,
                    prompt_blocks=ends[history.call_prompt_messages[calls]],
                    in_block_order=bool((members[1:] > members[:-1]).all()),
                )
            )
            if len(calls):
                last_of_thread[context.thread] = contexts[-1]
        return cls(history, tuple(contexts), previous, tokens, np.zeros(len(tokens), dtype=np.int64))

    def with_beside(self, beside: NDArray[np.float64], ratio: float) -> Layout:
        """The same, with what every block takes beside its counted tokens.

        Args:
            beside: Per block, the provider's tokens, float64.
            ratio: The provider's tokens for one counted token.
        """
        contexts = tuple(
            replace(context, beside=np.concatenate(([0.0], np.cumsum(beside[context.blocks]))))
            for context in self.contexts
        )
        return replace(self, contexts=contexts, envelopes=np.rint(beside / ratio).astype(np.int64))

    @cached_property
    def columns(self) -> PromptColumns:
        """The prompts of all contexts end to end."""
        return PromptColumns.of(self.contexts, self.history.call_count + 1, len(self.tokens))

    def previous_in_thread(self) -> NDArray[np.int64]:
        """Per recorded call, the call before it in its thread, whatever the context, -1 for the first. int64."""
        previous = self.previous_call.copy()
        for context in self.contexts:
            if len(context.calls):
                previous[context.calls[0]] = context.call_before
        return previous[:-1]

    @cached_property
    def whole_tokens(self) -> NDArray[np.int64]:
        """Per call, the counted tokens of its prompt with every block whole. int64."""
        columns = self.columns
        return columns.by_call(columns.tokens_before[columns.end])

    @cached_property
    def beside_prompts(self) -> NDArray[np.float64]:
        """Per call, the provider's tokens that the blocks of its prompt take beside their counted ones. float64."""
        columns = self.columns
        return columns.by_call(columns.beside_before[columns.end])

    @cached_property
    def previous_blocks(self) -> NDArray[np.int64]:
        """Per call, how many blocks at its beginning were also first in its thread's previous prompt. int64."""
        columns = self.columns
        return columns.by_call(columns.previous_end - columns.first_place[columns.context])


def _shared(before: NDArray[np.int32], after: NDArray[np.int32]) -> int:
    """How many blocks at the beginning of two prompts are the same."""
    length = min(len(before), len(after))
    differs = np.flatnonzero(before[:length] != after[:length])
    return int(differs[0]) if len(differs) else length
