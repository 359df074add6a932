"""A folded message: one row that stands for all of its blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind, Role
from inspector.strategies.core.rendition import Action
from inspector.ui.numbers import plural
from inspector.ui.timeline.amounts import Amount

if TYPE_CHECKING:
    from inspector.strategies.history.history import History
    from inspector.ui.timeline.amounts import ContextAmounts
    from inspector.ui.timeline.rows import Row, Rows

_LETTERS = {Role.SYSTEM: "S", Role.USER: "U", Role.ASSISTANT: "A", Role.TOOL: "R", Role.OTHER: "·"}


def blocks_of_message(history: History, block: int) -> tuple[int, int]:
    """The first block of a block's message, and the one after its last."""
    message = int(history.message[block])
    return int(history.message_first_block[message]), int(history.message_first_block[message + 1])


def folded_row(rows: Rows, row: Row) -> Row:
    """What a row says that stands for its message: whose it is, the tools in it, whether a result failed."""
    history = rows.history
    first, end = blocks_of_message(history, row.block)
    message = history.session.messages[row.message - 1]
    tools = list(dict.fromkeys(block.tool_name for block in message.blocks if block.tool_name))
    has_results = bool((history.kind[first:end] == BlockKind.TOOL_RESULT).any())
    tool = rows.row(row.index).tool if not tools else rows.tool_label(tools[0])
    return replace(
        row,
        starts_message=True,
        letter="R" if has_results else _LETTERS[message.role],
        tool=f"{tool} +{len(tools) - 1}" if len(tools) > 1 else tool,
        is_error=bool(history.is_error[first:end].any()),
    )


def folded_preview(rows: Rows, row: Row) -> str:
    """How many blocks a message has, and what the first of them that says something says; safe to show."""
    first, end = blocks_of_message(rows.history, row.block)
    said = next((text for block in range(first, end) if (text := rows.preview(rows.index_of(block)))), "")
    return f"{plural(end - first, 'block')} · {said}" if said else plural(end - first, "block")


def folded_amount(state: ContextAmounts, first: int, end: int) -> Amount:
    """What a message's blocks come to together; cut where any of them is not sent whole."""
    inside = state.in_prompt[first:end]
    recorded = int(state.recorded[first:end].sum())
    if not inside.any():
        return Amount(recorded, 0, False, Action.WHOLE)
    changed = np.unique(state.action[first:end][inside])
    action = Action(int(changed[0])) if len(changed) == 1 else Action.CUT
    return Amount(recorded, int(state.sent[first:end].sum()), True, action)
