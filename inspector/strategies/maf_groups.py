"""Conversations in groups that are kept or left out together, as Microsoft's agent framework sees them.

Source: agent-framework-core 1.23 `_compaction.py` (`group_messages`, `annotate_token_counts`). A tool call and its
results are one group, with messages of nothing but reasoning before it or between; any other message is one of its own.
Results that come late join the group of their call. Tokens are a quarter of the characters of a message's JSON.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from json.encoder import encode_basestring
from typing import TYPE_CHECKING

from inspector.session.model import Role
from inspector.strategies.kinds import ASSISTANT_TEXT, MEDIA, THINKING, TOOL_CALL, TOOL_RESULT
from inspector.strategies.measures import Measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
    around = _MESSAGE + len(encode_basestring(identifier)) + len(encode_basestring(role))
    return max(1, (around + sum(contents) + _SEPARATOR * max(len(contents) - 1, 0)) // _PER_TOKEN)


def text_characters(text: int) -> int:
    """Characters of the JSON of a text, given those of the text as a JSON string."""
    return _TEXT + text


def call_characters(identifier: str, name: str, arguments: int) -> int:
    """Characters of the JSON of a tool call, given those of its arguments."""
    return _CALL + JSON_CHARACTERS.of_text(identifier) + JSON_CHARACTERS.of_text(name) + arguments


def result_characters(identifier: str, text: int) -> int:
    """Characters of the JSON of a result, given those of its text as a JSON string."""
    return _RESULT + JSON_CHARACTERS.of_text(identifier) + text


@dataclass(slots=True, eq=False)
class Group:
    """Messages that are kept or left out together.

    Attributes:
        kind: `system`, `user`, `assistant_text` or `tool_call`.
        name: The id of its first message.
        blocks: Block indices.
        messages: How many messages it is.
        tokens: What they are taken for.
        is_sent: Whether it, or what stands for it, is sent.
        stand_in: What the message is taken for that stands for it; None for none.
    """

    kind: str
    name: str
    blocks: list[int]
    messages: int
    tokens: int
    is_sent: bool = True
    stand_in: int | None = None

    @property
    def is_tool_call(self) -> bool:
        """Whether a tool call and its results are sent as such."""
        return self.kind == "tool_call" and self.is_sent and self.stand_in is None

    @property
    def sent(self) -> tuple[int, int]:
        """How many messages are sent of it, and what they are taken for."""
        if not self.is_sent:
            return 0, 0
        return (self.messages, self.tokens) if self.stand_in is None else (1, self.stand_in)


@dataclass
class Groups:
    """The groups of one conversation.

    Attributes:
        history: What was recorded.
        groups: Those that are sent, or something in their place, oldest first; the system's are not among them.
        calls: Those of them that are tool calls with their results, sent as such.
        messages: How many messages are sent, the system's included.
        tokens: What they are taken for.
        first_user: The first of the user's, None before it.
        again: Groups that were left out and are sent again, because a result of theirs came late.
    """

    history: History
    groups: deque[Group] = field(default_factory=deque)
    calls: deque[Group] = field(default_factory=deque)
    messages: int = 0
    tokens: int = 0
    first_user: Group | None = None
    again: list[Group] = field(default_factory=list)
    _count: int = 0
    _span: Group | None = None
    _takes_reasoning: bool = False
    _prefix: list[Group] = field(default_factory=list)
    _unanswered: dict[str, list[Group]] = field(default_factory=dict)

    def add(self, moment: Moment, entries: Iterable[Entry], *, system: Iterable[int] = ()) -> None:
        """Take in messages; system texts stand before them."""
        for block in system:
            self._begin("system", self._message(moment, "system", [block]), [block])
        for role, blocks in self._messages(entries):
            self._place(role, blocks, self._message(moment, role, blocks))

    def leave_out(self, group: Group) -> None:
        """Send a group no more, nor what stands for it."""
        if group.is_tool_call:
            self.calls.remove(group)
        self.groups.remove(group)
        self._set(group, is_sent=False, stand_in=group.stand_in)

    def replace(self, group: Group, text: str) -> None:
        """Send a message of the assistant in the place of a tool call and its results."""
        self.calls.remove(group)
        name = f"tool_summary_group_{group.name}"
        tokens = message_tokens(name, "assistant", [text_characters(JSON_CHARACTERS.of_text(text))])
        self._set(group, is_sent=True, stand_in=tokens)

    def _set(self, group: Group, *, is_sent: bool, stand_in: int | None) -> None:
        messages, tokens = group.sent
        group.is_sent, group.stand_in = is_sent, stand_in
        self.messages += group.sent[0] - messages
        self.tokens += group.sent[1] - tokens

    def _messages(self, entries: Iterable[Entry]) -> Iterator[tuple[str, list[int]]]:
        """Messages by role; results that were recorded in one message are one."""
        gathered: list[int] = []
        number = -1
        for entry in entries:
            if entry.is_result and entry.message == number:
                gathered.extend(entry.blocks)
                continue
            if gathered:
                yield "tool", gathered
                gathered, number = [], -1
            if entry.is_result:
                gathered, number = list(entry.blocks), entry.message
            else:
                is_model = self.history.session.messages[entry.message].role is _MODEL
                yield "assistant" if is_model else "user", list(entry.blocks)
        if gathered:
            yield "tool", gathered

    def _message(self, moment: Moment, role: str, blocks: list[int]) -> tuple[str, int]:
        """A message's id and what it is taken for."""
        recorded = self.history.session.messages[int(self.history.message[blocks[0]])].identifier
        name = recorded or f"msg_{self._count}"
        self._count += 1
        return name, message_tokens(name, role, [self._characters(moment, block) for block in self._contents(blocks)])

    def _contents(self, blocks: list[int]) -> list[int]:
        """The blocks that are contents of their message: an empty text beside others is none."""
        blocks_of, kinds = self.history.session.blocks, self.history.kind_bytes
        return [block for block in blocks if kinds[block] != ASSISTANT_TEXT or blocks_of[block].characters]

    def _characters(self, moment: Moment, index: int) -> int:
        block = self.history.session.blocks[index]
        kind = self.history.kind_bytes[index]
        if kind in MEDIA:
            return sum(_MEDIA + len(media.media_type) * 2 + media.size_bytes * 4 // 3 for media in block.media)
        if kind == TOOL_CALL:
            return call_characters(block.tool_call_id, block.tool_name, ARGUMENT_CHARACTERS.sent(moment, index))
        text = JSON_CHARACTERS.sent(moment, index)
        if kind == TOOL_RESULT:
            return result_characters(block.tool_call_id, text)
        return (_REASONING if kind == THINKING else _TEXT) + text

    def _place(self, role: str, blocks: list[int], message: tuple[str, int]) -> None:
        """Join a message to the group it belongs to, or begin one with it."""
        recorded, kinds_of = self.history.session.blocks, self.history.kind_bytes
        kinds = {kinds_of[block] for block in self._contents(blocks)}
        if role == "tool":
            if self._span is not None:
                self._join(self._span, blocks, message[1])
            else:
                self._begin("tool_call", message, blocks)
            self._takes_reasoning, self._prefix = False, []
            self._span = self._linked(blocks, self._span or self.groups[-1])
        elif role == "assistant" and kinds == {THINKING}:
            if self._span is not None and self._takes_reasoning:
                self._join(self._span, blocks, message[1])
            else:
                prefix = self._prefix
                self._begin("assistant_text", message, blocks)
                self._prefix = [*prefix, self.groups[-1]]
        elif role == "assistant" and TOOL_CALL in kinds:
            prefix = [group for group in self._prefix if group.is_sent]
            self._begin("tool_call", message, blocks)
            self._take_reasoning_before(prefix)
            self._span, self._takes_reasoning = self.groups[-1], True
            for block in blocks:
                identifier = recorded[block].tool_call_id
                if kinds_of[block] == TOOL_CALL and identifier:
                    self._unanswered.setdefault(identifier, []).append(self.groups[-1])
        else:
            self._begin("user" if role == "user" else "assistant_text", message, blocks)

    def _linked(self, blocks: list[int], group: Group) -> Group:
        """The group, or the earlier one it becomes part of because it holds a result of that one's call."""
        for block in blocks:
            calls = self._unanswered.get(self.history.session.blocks[block].tool_call_id, [])
            # Where an id was used by several calls without an answer, nobody knows whose result it is.
            if len(calls) == 1 and (declared := calls.pop()) is not group:
                group = self._merge(group, declared)
        return group

    def _merge(self, group: Group, into: Group) -> Group:
        if group.is_sent:
            self.leave_out(group)
        self._join(into, group.blocks, group.tokens, group.messages)
        for calls in self._unanswered.values():
            calls[:] = [into if call is group else call for call in calls]
        return into

    def _take_reasoning_before(self, prefix: list[Group]) -> None:
        """Join messages of nothing but reasoning to the call they precede."""
        call = self.groups.pop()
        for _ in prefix:
            # They came last before the call.
            self.groups.pop()
        self.groups.append(call)
        if prefix:
            call.name = prefix[0].name
        call.blocks = [block for group in (*prefix, call) for block in group.blocks]
        call.messages += sum(group.messages for group in prefix)
        call.tokens += sum(group.tokens for group in prefix)

    def _begin(self, kind: str, message: tuple[str, int], blocks: list[int]) -> None:
        group = Group(kind, message[0], list(blocks), 1, message[1])
        if kind != "system":
            self.groups.append(group)
        if kind == "tool_call":
            self.calls.append(group)
        if kind == "user" and self.first_user is None:
            self.first_user = group
        self.messages += 1
        self.tokens += message[1]
        self._span, self._takes_reasoning, self._prefix = None, False, []

    def _join(self, group: Group, blocks: list[int], tokens: int, messages: int = 1) -> None:
        if group.kind == "tool_call" and not group.is_tool_call:
            self._send_again(group)
        before = group.sent
        group.blocks.extend(blocks)
        group.messages += messages
        group.tokens += tokens
        self.messages += group.sent[0] - before[0]
        self.tokens += group.sent[1] - before[1]

    def _send_again(self, group: Group) -> None:
        """Take back what was done to a group: something that belongs to it has come late."""
        if not group.is_sent:
            self.groups.appendleft(group)
        self.calls.appendleft(group)
        self.again.append(group)
        self._set(group, is_sent=True, stand_in=None)


_MODEL = Role.ASSISTANT
