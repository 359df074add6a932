"""How systems guess tokens without a tokenizer, each rounding in its own way.

Where a system measures a length that only the text can tell (bytes, escaped characters), the number is worked out from
the text; where it measures the text's length in UTF-16 units, the length in characters stands for it, which is the same
within the basic plane.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from inspector.strategies.core import javascript
from inspector.strategies.core.measures import ItemMeasure, Measure
from inspector.strategies.history.history import ASSISTANT, TOOL_CALL

if TYPE_CHECKING:
    from inspector.strategies.core.strategy import Moment
    from inspector.strategies.history.conversation_items import Item

CHARACTERS_PER_TOKEN = 4


def rounded(characters: int) -> int:
    """A quarter of the characters, half a token up: OpenCode's `Token.estimate` (`util/token.ts`)."""
    return (characters + 2) // CHARACTERS_PER_TOKEN


def of_bytes(count: int) -> int:
    """A quarter of the bytes, rounded up: Codex's `approx_tokens_from_byte_count` (`utils/string/src/truncate.rs`)."""
    return (count + 3) // CHARACTERS_PER_TOKEN


def bytes_of(text: str) -> int:
    """Bytes of a text in UTF-8; half a surrogate pair counts three, as what programs put in its place does."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def gemini_result(tool: str, json_characters: int, *, error: bool) -> int:
    """What Gemini CLI takes a tool result for: `estimateTokenCountSync` (`utils/tokenCalculation.ts`).

    Args:
        tool: The tool's name, which is counted with it.
        json_characters: Length of the result's text as a JSON string, quotes included.
        error: Whether the result is reported under `error` instead of `output`.
    """
    around = len('{"error":}') if error else len('{"output":}')
    return (javascript.length(tool) + around + json_characters) // CHARACTERS_PER_TOKEN


JSON_CHARACTERS = Measure(javascript.json_length)
"""Length of a text as a JSON string, in UTF-16 units."""

_LONG = 100_000


def gemini_text(text: str) -> int:
    """What Gemini CLI takes a text for: four ASCII characters a token, three tokens for two other UTF-16 units."""
    units = javascript.length(text)
    if units > _LONG or text.isascii():
        return units // CHARACTERS_PER_TOKEN
    plain = len(text.encode("ascii", "ignore"))
    return int(plain / CHARACTERS_PER_TOKEN + (units - plain) * 1.5)


GEMINI_TEXT = Measure(gemini_text)
"""Tokens Gemini CLI takes a text for."""

UNITS = Measure(javascript.length)
"""Length of a text in UTF-16 units."""


def _written_again(text: str) -> int:
    try:
        return javascript.length(javascript.compact_json(json.loads(text)) if text else "{}")
    except (ValueError, RecursionError):
        return javascript.length(text)


ARGUMENT_UNITS = Measure(_written_again)
"""Length of a JSON text as `JSON.stringify` writes it, in UTF-16 units; of the text itself where it is no JSON."""

_PER_MESSAGE = 3
_PER_IMAGE = 85
_AROUND_CALL = len("{'name': , 'args': , 'id': , 'type': 'tool_call'}")
_RESULT_ROLE, _ASSISTANT_ROLE, _USER_ROLE = len("tool"), len("assistant"), len("user")


def langchain_message(characters: int, images: int = 0, characters_per_token: float = CHARACTERS_PER_TOKEN) -> int:
    """What LangChain takes a message for: `count_tokens_approximately` (langchain-core `messages/utils.py`)."""
    return math.ceil(characters / characters_per_token) + _PER_MESSAGE + _PER_IMAGE * images


def langchain_characters(moment: Moment, item: Item) -> tuple[int, int]:
    """Characters and images LangChain counts of a message as it would be sent.

    A result counts with its call's id and its tool's name, a message of the model with the Python form of its calls,
    every message with its role.
    """
    history = moment.history
    blocks = history.session.blocks
    characters = images = calls = 0
    for index in item.blocks:
        kind = history.kind_bytes[index]
        images += len(blocks[index].media)
        if kind == TOOL_CALL:
            characters += langchain_call(moment, index)
            calls += 1
        else:
            characters += moment.length(index)
    if item.is_result:
        result = blocks[item.blocks[0]]
        return characters + _RESULT_ROLE + len(result.tool_call_id) + len(result.tool_name), images
    if calls:
        characters += len("[]") + len(", ") * (calls - 1)
    is_assistant = history.kind_bytes[item.blocks[0]] in ASSISTANT
    return characters + (_ASSISTANT_ROLE if is_assistant else _USER_ROLE), images


LANGCHAIN_CHARACTERS = ItemMeasure(langchain_characters)
"""Characters and images LangChain counts of a message."""


def langchain_call(moment: Moment, index: int) -> int:
    """Characters of a tool call in the Python form LangChain counts: a dictionary with name, arguments, id and type."""
    block = moment.history.session.blocks[index]
    names = len(repr(block.tool_name)) + len(repr(block.tool_call_id))
    return _AROUND_CALL + names + ARGUMENT_CHARACTERS.sent(moment, index)


def _python_form(text: str) -> int:
    try:
        return len(repr(json.loads(text))) if text else len("{}")
    except (ValueError, RecursionError):
        return len(text)


ARGUMENT_CHARACTERS = Measure(_python_form)
"""Length of a JSON text as Python writes the value; of the text itself where it is no JSON."""
