"""Conversations as strategies that remember see them: entries in order, per thread, as they arrive.

Inline subagents have conversations of their own, with their own usage and their own old results, so whatever is
remembered is remembered per thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind, Role

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.base import Moment
    from inspector.strategies.history import History

_NEVER_SENT = (BlockKind.SYSTEM_TEXT, BlockKind.OTHER)


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


def thread_of(moment: Moment) -> int:
    """The thread of the call about to be made."""
    history = moment.history
    return history.session.contexts[int(history.call_context[moment.call])].thread


def arrived_blocks(moment: Moment) -> NDArray[np.int32]:
    """What this call's prompt holds that the thread's last one did not; all of it at the start of a context."""
    return moment.history.prompt(moment.call) if moment.starts_context else moment.arrived


def entries_of(history: History, blocks: NDArray[np.int32]) -> list[Entry]:
    """Blocks in the order they are sent, as entries; system texts are none."""
    blocks = blocks[~np.isin(history.kind[blocks], _NEVER_SENT)]
    if not len(blocks):
        return []
    results, messages = history.kind[blocks] == BlockKind.TOOL_RESULT, history.message[blocks]
    starts = np.ones(len(blocks), dtype=np.bool_)
    starts[1:] = results[1:] | results[:-1] | (messages[1:] != messages[:-1])
    bounds = [*np.flatnonzero(starts).tolist(), len(blocks)]
    indices, owners, kinds = blocks.tolist(), messages.tolist(), results.tolist()
    return [Entry(owners[first], tuple(indices[first:last]), kinds[first]) for first, last in pairwise(bounds)]


def asks(history: History, entry: Entry) -> bool:
    """Whether the entry begins a new run of the agent: what a user said, in a message without results."""
    message = history.session.messages[entry.message]
    return message.role is Role.USER and not history.message_has_results[entry.message]
