"""Hermes' token estimates of messages, used to decide which to spare.

Source: hermes-agent `agent/context_compressor.py`, `_estimate_msg_budget_tokens`, 0.19.0 and from 0.21.0 on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.strategies.core.measures import ItemMeasure
from inspector.strategies.core.rendition import Action
from inspector.strategies.history.history import THINKING, TOOL_CALL
from inspector.strategies.library.hermes_lines import (
    PER_IMAGE,
    PER_TOKEN,
    REPR_CHARACTERS,
    call_characters,
    call_tokens,
)
from inspector.strategies.library.hermes_tail import DENSE_CHARACTERS, PER_MESSAGE, ROUGH_TOKENS, rough_tokens

if TYPE_CHECKING:
    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem


def images_in(context: CallContext, block: int) -> int:
    media = len(context.history.session.blocks[block].media)
    sent = media and (context.is_whole(block) or context.rendition(block).action is Action.CUT)
    return media if sent else 0


def _tokens(context: CallContext, item: ConversationItem) -> int:
    blocks, kinds = context.history.session.blocks, context.history.kind_bytes
    characters, tokens = 0, PER_MESSAGE
    for block in item.blocks:
        length = context.length(block)
        if kinds[block] == TOOL_CALL:
            tokens += call_tokens(blocks[block], REPR_CHARACTERS.sent(context, block))
        elif kinds[block] == THINKING:
            tokens += length // PER_TOKEN
        else:
            characters += length + PER_IMAGE * images_in(context, block)
    return tokens + characters // PER_TOKEN


TOKENS = ItemMeasure(_tokens)
"""Estimated tokens of a message."""


def _newer_tokens(context: CallContext, item: ConversationItem) -> int:
    kinds = context.history.kind_bytes
    parts = [block for block in item.blocks if kinds[block] not in (TOOL_CALL, THINKING)]
    tokens = PER_MESSAGE
    images = sum(images_in(context, block) for block in parts)
    if len(parts) == 1 and not images:
        tokens += ROUGH_TOKENS.sent(context, parts[0])
    else:
        tokens += (sum(map(context.length, parts)) + PER_IMAGE * images) // PER_TOKEN
    for block in item.blocks:
        if kinds[block] == TOOL_CALL:
            tokens += newer_call_tokens(context, block)
        elif kinds[block] == THINKING:
            tokens += context.length(block) // PER_TOKEN
    return tokens


def newer_call_tokens(context: CallContext, block: int) -> int:
    call = context.history.session.blocks[block]
    characters = call_characters(call, REPR_CHARACTERS.sent(context, block))
    return rough_tokens(characters, DENSE_CHARACTERS.sent(context, block))


NEWER_TOKENS = ItemMeasure(_newer_tokens)
"""Estimated tokens of a message from 0.21 on."""
