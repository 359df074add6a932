"""Apply a plan to a plain message list, for agents that shrink their own context with a tuned plan.

An agent keeps a `Conversation` while it runs; `compact` does the same for a complete list, and `apply_once` replays no
earlier calls. Messages that the plan changes are copied; all others stay the same objects.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace as replaced
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from inspector.errors import SessionError
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.engine.simulation import NextCall
from inspector.session.blocks import CHAT
from inspector.session.formats.plain import NAMES, ROLES, MessageForm, is_message, read_conversation
from inspector.session.model import Block, BlockKind, Message, Role, Session, TextUnavailableError
from inspector.strategies.core.operations import EMPTIED, EMPTIED_RESULT, REMOVED, Action, Rendition
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.strategies.presets import preset_named
from inspector.strategies.registry import STRATEGIES
from inspector.tokens.counter import shared_counter
from inspector.tokens.token_table import TokenTable, count_session

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence


Form = Literal["anthropic", "openai"]

MessageDict = dict[str, Any]

ContentPart = dict[str, Any]


def messages_at(replay: Replay, call: int, form: Form, left_out: Container[int] = ()) -> list[MessageDict]:
    """Return the messages the plan sends at a call.

    Args:
        call: The call; `history.call_count` for the next one.

    Raises:
        TextUnavailableError: The session's file no longer holds a text.
        IndexError: There is no such call.
    """
    history = replay.history
    if not 0 <= call <= history.call_count:
        raise IndexError(f"no call {call}; the last one is {history.call_count}")
    entries: list[MessageDict] = []
    for index in history.prompt_messages(call).tolist():
        message = history.session.messages[index]
        first = int(history.message_first_block[index])
        kept = [
            (block, replay.rendition(first + at, call))
            for at, block in enumerate(message.blocks)
            if block.kind is not BlockKind.OTHER and first + at not in left_out
        ]
        kept = [(block, rendition) for block, rendition in kept if rendition.action is not Action.REMOVED]
        write = _anthropic if form == "anthropic" else _openai
        for role, spoken in groupby(kept, key=lambda sent: _role(message, sent[1])):
            entries.extend(write(replay, role, list(spoken)))
    return entries


def _role(message: Message, rendition: Rendition) -> Role:
    return message.role if rendition.kind is None else Role(ROLE_OF_KIND[rendition.kind])


def _anthropic(replay: Replay, role: Role, kept: list[tuple[Block, Rendition]]) -> list[MessageDict]:
    session = replay.history.session
    made = [(block, anthropic_part(session, block, rendition)) for block, rendition in kept]
    sent = [(block, part) for block, part in made if part.get("type") != "text" or not _is_blank(part.get("text"))]
    parts = [part for _, part in sent]
    if not parts:
        return []
    if role is Role.SYSTEM:
        return [{"role": "system", "content": parts}]
    speaker = "assistant" if role is Role.ASSISTANT else "user"
    only_text = len(parts) == 1 and parts[0].get("type") == "text" and sent[0][0].plain_text
    return [{"role": speaker, "content": parts[0]["text"] if only_text else parts}]


def _is_blank(text: object) -> bool:
    """Return True for a text without a visible character, which Anthropic refuses as content."""
    return not (isinstance(text, str) and text.strip())


_IN_PROSE = frozenset(
    {BlockKind.SYSTEM_TEXT, BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT, BlockKind.IMAGE, BlockKind.DOCUMENT}
)


def _openai(replay: Replay, role: Role, kept: list[tuple[Block, Rendition]]) -> list[MessageDict]:
    session = replay.history.session
    texts = [
        (block, block.kind if rendition.kind is None else rendition.kind, rendition.text(session.text(block)))
        for block, rendition in kept
    ]
    phrase = "\n".join(text or media_notice(block) for block, kind, text in texts if kind in _IN_PROSE)
    if role is Role.ASSISTANT:
        entry: MessageDict = {"role": "assistant", "content": phrase or None}
        calls = [
            {
                "id": block.tool_call_id,
                "type": "function",
                "function": {"name": block.tool_name, "arguments": text or "{}"},
            }
            for block, kind, text in texts
            if kind is BlockKind.TOOL_CALL
        ]
        return [{**entry, "tool_calls": calls} if calls else entry]
    results: list[MessageDict] = [
        {"role": "tool", "tool_call_id": block.tool_call_id, "content": text}
        for block, kind, text in texts
        if kind is BlockKind.TOOL_RESULT
    ]
    speaker = "system" if role is Role.SYSTEM else "user"
    return [*results, {"role": speaker, "content": phrase}] if phrase else results


_ANTHROPIC_TYPES = {
    BlockKind.SYSTEM_TEXT: "text",
    BlockKind.USER_TEXT: "text",
    BlockKind.ASSISTANT_TEXT: "text",
    BlockKind.THINKING: "thinking",
    BlockKind.TOOL_CALL: "tool_use",
    BlockKind.TOOL_RESULT: "tool_result",
    BlockKind.IMAGE: "image",
    BlockKind.DOCUMENT: "document",
}

ROLE_OF_KIND = {
    BlockKind.SYSTEM_TEXT: "system",
    BlockKind.USER_TEXT: "user",
    BlockKind.ASSISTANT_TEXT: "assistant",
}
"""Message role of a text sent as a block of that kind."""


def anthropic_part(session: Session, block: Block, rendition: Rendition) -> ContentPart:
    """Build the block's part of an Anthropic message."""
    if rendition.kind is not None:
        return {"type": "text", "text": rendition.text(session.text(block))}
    part = recorded_part(session, block)
    if part is not None:
        return (
            part
            if rendition.action is Action.WHOLE
            else with_rendition(part, rendition.text(session.text(block)), rendition)
        )
    text = rendition.text(session.text(block))
    match block.kind:
        case BlockKind.TOOL_CALL:
            return {"type": "tool_use", "id": block.tool_call_id, "name": block.tool_name, "input": tool_input(text)}
        case BlockKind.TOOL_RESULT:
            result: ContentPart = {"type": "tool_result", "tool_use_id": block.tool_call_id, "content": text}
            return {**result, "is_error": True} if block.is_error else result
        case BlockKind.THINKING:
            return {"type": "thinking", "thinking": text, "signature": ""}
        case BlockKind.IMAGE | BlockKind.DOCUMENT:
            return {"type": "text", "text": text or media_notice(block)}
        case _:
            return {"type": "text", "text": text}


def recorded_part(session: Session, block: Block) -> ContentPart | None:
    """Return the block's recorded content part in Anthropic's form, or None if there is none."""
    if block.origin.locator == CHAT:
        return None
    try:
        record = msgspec.json.decode(session.texts.record(block))
    except (TextUnavailableError, msgspec.DecodeError):
        return None
    content: Any = record
    if isinstance(content, dict):
        content = content.get("message", content)
    if isinstance(content, dict):
        content = content.get("content")
    if not isinstance(content, list) or not 0 <= block.origin.part < len(content):
        return None
    part = content[block.origin.part]
    return part if isinstance(part, dict) and part.get("type") == _ANTHROPIC_TYPES.get(block.kind) else None


def with_rendition(part: ContentPart, text: str, rendition: Rendition) -> ContentPart:
    """Set the text of an Anthropic content part; a cut text keeps its images, a replaced text loses them."""
    match part.get("type"):
        case "tool_result":
            others = [] if rendition.action is Action.REPLACED else _other_content(part.get("content"))
            return {**part, "content": [{"type": "text", "text": text}, *others] if others else text}
        case "tool_use":
            return {**part, "input": tool_input(text)}
        case "thinking":
            return {**part, "thinking": text}
        case "text":
            return {**part, "text": text}
        case _:
            return {"type": "text", "text": text}


def _other_content(content: Any) -> list[Any]:
    if not isinstance(content, list):
        return []
    return [part for part in content if not (isinstance(part, dict) and part.get("type") == "text")]


def tool_input(text: str) -> Any:
    """Parse the input of a tool call from JSON; wrap it under one key if it is not a JSON object."""
    try:
        value = json.loads(text) if text else {}
    except ValueError:
        return {"input": text}
    return value if isinstance(value, dict) else {"input": value}


def media_notice(block: Block) -> str:
    """Return a placeholder text for media that a form cannot carry or a session does not hold."""
    media = block.media[0] if block.media else None
    named = f" {media.media_type}, {media.size_bytes:,} bytes" if media else ""
    return f"[{block.kind.label}{named}]"


class MessageListError(SessionError):
    """An invalid list of chat messages; the message names the entry and the reason."""

    advice = "pass an Anthropic or OpenAI message list: dicts with role and content"


class Conversation:
    """A plan applied during a running conversation: add messages, and get the list to send before every call.

    The result equals `compact` for the messages so far: every earlier call is replayed, so that
    strategies with memory or triggers are in the correct state. Each text is counted only once, when it is added.

    Args:
        plan: A plan, its one-line form (`tiered-stale:data=400`), or the name of a ready one (`careful`).
        form: The form of the messages; detected from their content by default.

    Raises:
        PlanError: The plan's text is invalid.
    """

    def __init__(self, plan: Plan | str, form: Form | None = None) -> None:
        self._plan = resolve_plan(plan)
        self._form: Form | None = form
        self._entries: list[MessageDict] = []
        self._table: TokenTable | None = None
        self._replayed: Replay | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, *messages: MessageDict) -> None:
        """Append messages unchanged; raise `MessageListError`, adding none, if one of them is not a message."""
        self._entries.extend(_checked(messages, len(self._entries)))

    @property
    def messages(self) -> Sequence[MessageDict]:
        """All added messages, unchanged."""
        return tuple(self._entries)

    @property
    def replayed(self) -> Replay | None:
        """Replay that produced the last result of `to_send`, including the next call; None before the first."""
        return self._replayed

    def to_send(self) -> list[MessageDict]:
        """Return the messages to send with the next call, in their original form."""
        if not self._entries:
            return []
        session = read_conversation(self._entries, self._form)
        self._table = _counted(session, self._table)
        outcome = replay(inputs_of_messages(session, self._table), self._plan)
        self._replayed = outcome
        return rewritten(self._entries, session, outcome.changed_renditions(outcome.history.call_count))


def compact(messages: Sequence[MessageDict], plan: Plan | str, form: Form | None = None) -> list[MessageDict]:
    """Return the messages to send next under a plan, in their original form.

    Every earlier call of the conversation is replayed, where each assistant message is the response of one call, so
    that strategies with memory or triggers are in the correct state. The input is not changed; messages that the plan
    does not change are the same objects in the result.

    Args:
        messages: An Anthropic or OpenAI message list, oldest first.
        plan: A plan, its one-line form (`tiered-stale:data=400`), or the name of a ready one (`careful`).
        form: The form of the messages; detected from their content by default.

    Raises:
        PlanError: The plan's text is invalid.
        MessageListError: The list contains something that is not a message.
    """
    conversation = Conversation(plan, form)
    conversation.add(*messages)
    return conversation.to_send()


def apply_once(
    messages: Sequence[MessageDict],
    plan: Plan | str,
    *,
    input_tokens: int | None = None,
    window: int | None = None,
    clock: float | None = None,
    form: Form | None = None,
) -> list[MessageDict]:
    """Apply a plan once to a message list, without replaying earlier calls.

    All messages arrive at one call, the next, as if an agent had been started with this list. Nothing was cut, cleared
    or remembered before, except for texts that already are a system's marker. Most systems' functions work this way
    when they are called with a list. It differs from `compact`, which replays every call, in two ways: a strategy with
    memory has none, and triggers use the values passed in here. The input is not changed; messages that the plan does
    not change are the same objects in the result.

    Args:
        messages: An Anthropic or OpenAI message list, oldest first.
        plan: A plan, one strategy in its one-line form (`tiered-stale:data=400`), or a built-in plan (`careful`).
        input_tokens: The provider's prompt size. It is used for both the previous and the current prompt, depending on
            the strategy. By default, there was no previous prompt, and the current one is counted.
        window: Size of the model's context window in tokens.
        clock: Seconds since the previous call; unknown by default.
        form: The form of the messages; detected from their content by default.

    Raises:
        PlanError: The plan's text is invalid.
        MessageListError: The list contains something that is not a message.
    """
    entries = _checked(messages)
    if not entries:
        return []
    plan = resolve_plan(plan)
    session = read_conversation(entries, form)
    session = replaced(session, calls=(), window=session.window if window is None else window)
    outcome = replay(inputs_of_messages(session), plan, NextCall(input_tokens, clock))
    return rewritten(entries, session, outcome.changed_renditions(0))


def _checked(messages: Iterable[MessageDict], before: int = 0) -> list[MessageDict]:
    """Return the messages as a list after validation; `before` messages came earlier."""
    checked = list(messages)
    for place, message in enumerate(checked, before):
        if not is_message(message):
            reason = _why_no_message(message)
            raise MessageListError(f"messages[{place}] is not a chat message: {reason}; {MessageListError.advice}")
    return checked


def _why_no_message(value: object) -> str:
    if not isinstance(value, dict):
        return f"it is of type {type(value).__name__}"
    if str(value.get("role")) not in ROLES:
        return f"its role is {value['role']!r}" if "role" in value else "it has no role"
    return "it has no content"


def resolve_plan(plan: Plan | str) -> Plan:
    """Return a plan from its one-line form or the name of a built-in plan; raise `PlanError` for other text."""
    if not isinstance(plan, str):
        return plan
    preset = preset_named(plan)
    return preset.plan() if preset is not None and plan not in STRATEGIES else Plan.from_specs([plan])


def inputs_of_messages(session: Session, table: TokenTable | None = None) -> ReplayInputs:
    """Build the replay inputs of a conversation in memory, counted here without a table; cut texts exactly."""
    return ReplayInputs.of(History.of(session), table or _counted(session), precise=True)


def _counted(session: Session, previous: TokenTable | None = None) -> TokenTable:
    """Count the tokens of a conversation in memory, reusing an earlier state."""
    *_, table = count_session(session, shared_counter(), previous)
    return table


_Place = tuple[str, int]

_CONTENT, _CALL = "content", "call"

_REASONING = ("reasoning_content", "reasoning")


class _Change(NamedTuple):
    text: str
    rendition: Rendition


def rewritten(entries: Sequence[MessageDict], session: Session, sent: Mapping[int, Rendition]) -> list[MessageDict]:
    """Return the messages as sent by a plan, from the renditions of changed blocks; the input is not changed.

    Anthropic refuses texts without a visible character: those that a plan leaves blank are left out of its lists.
    """
    refuses_blanks = session.format == NAMES[MessageForm.ANTHROPIC]
    changed: dict[int, dict[_Place, _Change]] = {}
    for index, rendition in sent.items():
        block = session.blocks[index]
        text = rendition.text(session.text(block))
        is_refused = (
            refuses_blanks
            and rendition.action is not Action.REMOVED
            and (rendition.kind or block.kind) in ROLE_OF_KIND
            and _is_blank(text)
        )
        change = _Change(text, REMOVED if is_refused else rendition)
        changed.setdefault(block.origin.offset, {})[_place(block)] = change
    result: list[MessageDict] = []
    for is_tool, batch in groupby(enumerate(entries), lambda each: each[1].get("role") == "tool"):
        before, emptied = len(result), False
        for at, entry in batch:
            found = changed.get(at)
            result.extend([entry] if found is None else _entries(entry, found))
            emptied |= found is not None and any(change.rendition == EMPTIED_RESULT for change in found.values())
        if is_tool and emptied and len(result) == before:
            result.append({"role": "tool", "content": []})
    return result


def _place(block: Block) -> _Place:
    if block.kind is BlockKind.TOOL_CALL:
        return _CALL, block.origin.part
    return block.origin.locator or _CONTENT, block.origin.part


def _entries(entry: MessageDict, changes: Mapping[_Place, _Change]) -> list[MessageDict]:
    """Return the replacement for an entry: nothing, the rewritten entry, or replacement texts and the remainder."""
    parts = [
        change
        for _, change in sorted(changes.items(), key=_part_of)
        if change.rendition.kind is not None and change.rendition.action is not Action.REMOVED
    ]
    if parts and _rewritten_entry(entry, changes, "") is None:
        return [_message_of(change) for change in parts]
    role = str(entry.get("role"))
    left = _rewritten_entry(entry, changes, role)
    before = [_message_of(change) for change in parts if _is_gone(role, change)]
    return [*before, left] if left is not None else before


def _part_of(change: tuple[_Place, _Change]) -> int:
    return change[0][1]


def _message_of(change: _Change) -> MessageDict:
    kind = change.rendition.kind
    return {"role": "user" if kind is None else ROLE_OF_KIND[kind], "content": change.text}


def _rewritten_entry(entry: MessageDict, changes: Mapping[_Place, _Change], role: str) -> MessageDict | None:
    """Return the entry with its changed parts and the texts of `role`; None if it is empty."""
    rewritten = dict(entry)
    content = entry.get("content")
    if isinstance(content, str) or (entry.get("role") == "tool" and content is not None):
        whole = changes.get((_CONTENT, 0))
        if whole is not None:
            if _is_gone(role, whole):
                if not entry.get("tool_calls"):
                    return None
                rewritten["content"] = ""
            else:
                rewritten["content"] = whole.text
    elif isinstance(content, list):
        # Anthropic's tool calls are content parts.
        parts = [
            _part(role, part, changes.get((_CALL if _is_call(part) else _CONTENT, at)))
            for at, part in enumerate(content)
        ]
        rewritten["content"] = [part for part in parts if part is not None]
    _rewrite_reasoning(rewritten, changes.get((_REASONING[-1], 0)))
    calls = entry.get("tool_calls")
    if isinstance(calls, list):
        rewritten_calls = [_tool_call(made, changes.get((_CALL, at))) for at, made in enumerate(calls)]
        rewritten["tool_calls"] = [made for made in rewritten_calls if made is not None]
        if not rewritten["tool_calls"]:
            del rewritten["tool_calls"]
        _say_in_place_of_calls(rewritten, changes, role)
    is_emptied = _CONTENT in {place[0] for place, change in changes.items() if not _is_gone(role, change)}
    if not rewritten.get("content") and not rewritten.get("tool_calls") and (content or calls) and not is_emptied:
        stays = any(place[0] == _CALL and change.rendition == EMPTIED for place, change in changes.items())
        return {**rewritten, "content": ""} if stays and not isinstance(content, list) else None
    return rewritten


def _say_in_place_of_calls(entry: MessageDict, changes: Mapping[_Place, _Change], role: str) -> None:
    """Add the replacement texts of calls that are outside the content."""
    parts = [
        change.text
        for (place, _), change in sorted(changes.items(), key=_part_of)
        if place == _CALL and change.rendition.kind is not None and not _is_gone(role, change)
    ]
    if parts and isinstance(content := entry.get("content"), list):
        entry["content"] = [*content, *({"type": "text", "text": text} for text in parts)]
    elif parts:
        entry["content"] = "\n".join([content, *parts] if content else parts)


def _rewrite_reasoning(entry: MessageDict, change: _Change | None) -> None:
    name = next((name for name in _REASONING if entry.get(name)), None)
    if change is None or name is None:
        return
    if change.rendition.action is Action.REMOVED:
        del entry[name]
    else:
        entry[name] = change.text


def _is_gone(role: str, change: _Change) -> bool:
    """Return True if a message of that role sends nothing of a block: it was removed, or another role sends it."""
    kind = change.rendition.kind
    return change.rendition.action is Action.REMOVED or (kind is not None and ROLE_OF_KIND[kind] != role)


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_use"


def _part(role: str, part: Any, change: _Change | None) -> Any:
    if change is None:
        return part
    if _is_gone(role, change):
        return None
    if change.rendition.kind is not None:
        return {"type": "text", "text": change.text}
    return with_rendition(part, change.text, change.rendition) if isinstance(part, dict) else change.text


def _tool_call(made: Any, change: _Change | None) -> Any:
    if change is None or not isinstance(made, dict):
        return made
    if change.rendition.action is Action.REMOVED or change.rendition.kind is not None:
        return None
    function = made.get("function")
    if isinstance(function, dict):
        return {**made, "function": {**function, "arguments": change.text}}
    return {**made, "input": tool_input(change.text)}


class Unpaired:
    """Blocks to leave out of the messages of one call, so that every tool call is followed by its one result.

    Files can lack either: an interrupted session, a call cut off at a limit, a compaction or a plan that kept only one
    of the two, a result recorded twice.

    Attributes:
        blocks: Description of each, by block index.
    """

    def __init__(self, replay: Replay, call: int) -> None:
        """Find the blocks to leave out; call `history.call_count` is the next one."""
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
