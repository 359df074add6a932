"""Messages as Microsoft's agent framework sees them, and what it takes each for.

Source: agent-framework-core 1.23 `_compaction.py` (`annotate_token_counts`). Tokens are a quarter of the characters of
a message's JSON. Most messages are sent as they were recorded, and what those are taken for is worked out once for a
session, whatever its plans do.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from inspector.session.model import Role
from inspector.strategies.kinds import ASSISTANT_TEXT, MEDIA, THINKING, TOOL_CALL, TOOL_RESULT
from inspector.strategies.measures import Measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inspector.strategies.base import Moment
    from inspector.strategies.entries import Entry
    from inspector.strategies.history import History

JSON_CHARACTERS = Measure(lambda text: len(encode_basestring(text)))
"""Length of a text as a JSON string, characters beyond ASCII as they are."""


def _as_value(text: str) -> int:
    try:
        return len(json.dumps(json.loads(text) if text else {}, ensure_ascii=False))
    except (ValueError, RecursionError):
        return JSON_CHARACTERS.of_text(text)


ARGUMENT_CHARACTERS = Measure(_as_value)
"""Length of arguments as JSON; of a string where they are none."""

_PER_TOKEN = 4
_SEPARATOR = len(", ")
_MESSAGE = len('{"contents": [], "message_id": , "role": }')
_TEXT = len('{"additional_properties": {}, "text": , "type": "text"}')
_REASONING = len('{"additional_properties": {}, "text": , "type": "text_reasoning"}')
_CALL = len(
    '{"additional_properties": {}, "arguments": , "call_id": , "hosted": false, "name": , "type": "function_call"}'
)
_RESULT = len('{"additional_properties": {}, "call_id": , "result": , "type": "function_result"}')
_MEDIA = len('{"additional_properties": {}, "media_type": , "type": "data", "uri": "data:;base64,"}')


def message_tokens(identifier: str, role: str, contents: Sequence[int]) -> int:
    """What a message is taken for.

    Args:
        identifier: Its id.
        role: Who says it.
        contents: Characters of the JSON of each of its contents.
    """
    return _tokens(identifier, role, _together(contents))


def _together(contents: Sequence[int]) -> int:
    return sum(contents) + _SEPARATOR * max(len(contents) - 1, 0)


def _tokens(identifier: str, role: str, characters: int) -> int:
    around = _MESSAGE + len(encode_basestring(identifier)) + len(encode_basestring(role))
    return max(1, (around + characters) // _PER_TOKEN)


def text_characters(text: int) -> int:
    """Characters of the JSON of a text, given those of the text as a JSON string."""
    return _TEXT + text


def call_characters(identifier: str, name: str, arguments: int) -> int:
    """Characters of the JSON of a tool call, given those of its arguments."""
    return _CALL + JSON_CHARACTERS.of_text(identifier) + JSON_CHARACTERS.of_text(name) + arguments


def result_characters(identifier: str, text: int) -> int:
    """Characters of the JSON of a result, given those of its text as a JSON string."""
    return _RESULT + JSON_CHARACTERS.of_text(identifier) + text


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message of the conversation.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        name: Its recorded id; empty for none.
        blocks: Block indices.
        contents: Those of them that are contents of it: an empty text beside others is none.
        thinks: Whether it is nothing but reasoning.
        calls: Ids of the tool calls it makes, those of none included.
        answers: Of results, the ids of the calls they answer; empty where they answer none.
        characters: Characters of the JSON of its contents as they were recorded.
        tokens: What it is taken for as it was recorded; 0 where it has no id, and so depends on those before it.
    """

    role: str
    name: str
    blocks: tuple[int, ...]
    contents: tuple[int, ...]
    thinks: bool
    calls: tuple[str, ...]
    answers: tuple[str, ...]
    characters: int
    tokens: int


class Messages:
    """The messages of a session, each made from its entries when it is first asked for."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._kinds = history.kind_bytes
        self._known = _KNOWN.setdefault(history, {})

    def of(self, entries: Sequence[Entry]) -> Iterator[SentMessage]:
        """Entries as messages; results that were recorded in one message are one."""
        known, at, count = self._known, 0, len(entries)
        while at < count:
            entry = entries[at]
            end = at + 1
            while entry.is_result and end < count and entries[end].is_result and entries[end].message == entry.message:
                end += 1
            key = entry.blocks[0], entries[end - 1].blocks[-1]
            message = known.get(key)
            if message is None:
                blocks = [block for each in entries[at:end] for block in each.blocks]
                message = known[key] = self._made(self._role(entry), blocks)
            yield message
            at = end

    def system(self, block: int) -> SentMessage:
        """A text of the system's."""
        return self._made("system", [block])

    def tokens(self, moment: Moment, message: SentMessage, number: int) -> tuple[str, int]:
        """A message's id and what it is taken for, as it would be sent now.

        Args:
            moment: The call about to be made.
            message: The message.
            number: How many came before it.
        """
        if not moment.are_whole(message.contents):
            characters = _together([self._characters(block, moment) for block in message.contents])
        elif message.tokens:
            return message.name, message.tokens
        else:
            characters = message.characters
        name = message.name or f"msg_{number}"
        return name, _tokens(name, message.role, characters)

    def _role(self, entry: Entry) -> str:
        if entry.is_result:
            return "tool"
        return "assistant" if self._history.session.messages[entry.message].role is Role.ASSISTANT else "user"

    def _made(self, role: str, blocks: list[int]) -> SentMessage:
        recorded, kinds = self._history.session.blocks, self._kinds
        name = self._history.session.messages[int(self._history.message[blocks[0]])].identifier
        contents = [block for block in blocks if kinds[block] != ASSISTANT_TEXT or recorded[block].characters]
        characters = _together([self._characters(block) for block in contents])
        return SentMessage(
            role,
            name,
            tuple(blocks),
            tuple(contents),
            thinks=role == "assistant" and bool(contents) and all(kinds[block] == THINKING for block in contents),
            calls=tuple(recorded[block].tool_call_id for block in contents if kinds[block] == TOOL_CALL),
            answers=tuple(recorded[block].tool_call_id for block in blocks) if role == "tool" else (),
            characters=characters,
            tokens=_tokens(name, role, characters) if name else 0,
        )

    def _characters(self, index: int, moment: Moment | None = None) -> int:
        """Characters of the JSON of a content, as it would be sent now or as it was recorded."""
        session = self._history.session
        block, kind = session.blocks[index], self._kinds[index]
        if kind in MEDIA:
            return sum(_MEDIA + len(media.media_type) * 2 + media.size_bytes * 4 // 3 for media in block.media)
        measure = ARGUMENT_CHARACTERS if kind == TOOL_CALL else JSON_CHARACTERS
        text = measure.recorded(session, block) if moment is None else measure.sent(moment, index)
        if kind == TOOL_CALL:
            return call_characters(block.tool_call_id, block.tool_name, text)
        if kind == TOOL_RESULT:
            return result_characters(block.tool_call_id, text)
        return (_REASONING if kind == THINKING else _TEXT) + text


_KNOWN: WeakKeyDictionary[History, dict[tuple[int, int], SentMessage]] = WeakKeyDictionary()
