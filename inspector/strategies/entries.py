"""Conversations as strategies that remember see them: entries in order, per thread, as they arrive.

Inline subagents have conversations of their own, with their own usage and their own old results, so whatever is
remembered is remembered per thread.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a conversation: a single tool result, or everything else of one message.

    Attributes:
        message: The message's index.
        blocks: Block indices, in order.
        is_result: Whether it is a tool result.
    """

    message: int
    blocks: tuple[int, ...]
    is_result: bool
