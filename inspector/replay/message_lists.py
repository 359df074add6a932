"""A plan applied to a plain message list, for agents that shrink their own context with what was tuned here.

`Conversation` is held by an agent while it works, `compact` is the same for a list at hand, `apply_once` replays no
earlier call. What the plan changes is written into the given messages; all others stay the same objects.
"""

from __future__ import annotations

from dataclasses import replace as replaced
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.engine.simulation import NextCall
from inspector.replay.provider_messages import ROLE_OF_KIND, tool_input, with_rendition
from inspector.session.errors import SessionError
from inspector.session.formats.plain.reader import read_conversation
from inspector.session.formats.plain.records import ROLES, is_message
from inspector.session.model import BlockKind
from inspector.strategies.core.rendition import EMPTIED, Action
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import STRATEGIES
from inspector.tokens.counter import load_counter
from inspector.tokens.token_table import count_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inspector.replay.engine.replay import Replay
    from inspector.replay.provider_messages import Form
    from inspector.session.model import Block, Session
    from inspector.strategies.core.rendition import Rendition
    from inspector.tokens.counter import Counter
    from inspector.tokens.token_table import TokenTable

MessageDict = dict[str, Any]


class MessageListError(SessionError):
    """What was given is no list of chat messages; the message says which entry is none, and why."""

    advice = "give an Anthropic or OpenAI message list: dicts with role and content"


class Conversation:
    """A plan an agent holds while it works: messages go in one by one, and what to send comes out before every call.

    What it gives is what `compact` gives for the messages so far: every earlier call is replayed, so that strategies
    that remember or wait for a trigger stand where they would. Texts are counted once, when they come.

    Args:
        plan: A plan, its one-line form (`tiered-stale:data=400`), or the name of a ready one (`careful`).
        form: The form of the messages; found from their content where not given.

    Raises:
        PlanError: The plan's text is none.
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
        """Add messages at the end: what was said, the model's responses, tool results. They are kept as they are.

        Raises:
            MessageListError: One of them is no message; none is added then.
        """
        self._entries.extend(_checked(messages, len(self._entries)))

    @property
    def messages(self) -> Sequence[MessageDict]:
        """Everything that was added, whole."""
        return tuple(self._entries)

    @property
    def replayed(self) -> Replay | None:
        """What `to_send` said last follows from this: every call so far, and the next; None before it was asked."""
        return self._replayed

    def to_send(self) -> list[MessageDict]:
        """The messages to send with the next call, in the form they came in."""
        if not self._entries:
            return []
        session = read_conversation(self._entries, self._form)
        self._table = _counted(session, self._table)
        outcome = replay(inputs_of_messages(session, self._table), self._plan)
        self._replayed = outcome
        return rewritten(self._entries, session, outcome.changed_renditions(outcome.history.call_count))


def compact(messages: Sequence[MessageDict], plan: Plan | str, form: Form | None = None) -> list[MessageDict]:
    """The messages to send next, under a plan, in the form they came in.

    Every earlier call of the conversation is replayed, each assistant message being the answer to one, so that
    strategies that remember or wait for a trigger stand where they would. The input is not changed; messages the plan
    leaves alone are the same objects in the result.

    Args:
        messages: An Anthropic or OpenAI message list, oldest first.
        plan: A plan, its one-line form (`tiered-stale:data=400`), or the name of a ready one (`careful`).
        form: The form of the messages; found from their content where not given.

    Raises:
        PlanError: The plan's text is none.
        MessageListError: The list holds something that is no message.
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
    """The messages as a plan sends them when it is applied a single time, to the list as it stands.

    No earlier call is replayed: every message arrives at one call, the next, as if an agent had been started with this
    list. Nothing was cut, cleared or remembered before, a text that already is a system's marker apart. That is what
    most systems' functions do when they are called with a list, and differs from `compact`, which replays every call,
    in two ways: a strategy that remembers has nothing to remember, and triggers look at what is passed in here. The
    input is not changed; messages the plan leaves alone are the same objects in the result.

    Args:
        messages: An Anthropic or OpenAI message list, oldest first.
        plan: A plan, one strategy in its one-line form (`tiered-stale:data=400`), or a ready plan's name (`careful`).
        input_tokens: What the provider reported of the prompt. It stands for the previous prompt, where a strategy
            looks at that, and for this one, where a strategy looks at this one. Where not given, there was no previous
            prompt, and this one is counted.
        window: Size of the model's context window in tokens.
        clock: Seconds that have passed since the previous call; unknown where not given.
        form: The form of the messages; found from their content where not given.

    Raises:
        PlanError: The plan's text is none.
        MessageListError: The list holds something that is no message.
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
    """The messages as a list, when all of them are some; `before` of them came earlier."""
    checked = list(messages)
    for place, message in enumerate(checked, before):
        if not is_message(message):
            reason = _why_no_message(message)
            raise MessageListError(f"messages[{place}] is no chat message: {reason}; {MessageListError.advice}")
    return checked


def _why_no_message(value: object) -> str:
    if not isinstance(value, dict):
        return f"it is of type {type(value).__name__}"
    if str(value.get("role")) not in ROLES:
        return f"its role is {value['role']!r}" if "role" in value else "it has no role"
    return "it has no content"


def resolve_plan(plan: Plan | str) -> Plan:
    """A plan, the plan of one strategy in its one-line form, or a ready plan by its name.

    Raises:
        PlanError: The text is none.
    """
    if not isinstance(plan, str):
        return plan
    if plan in PRESETS and plan not in STRATEGIES:
        return PRESETS[plan].plan()
    return Plan.from_specs([plan])


def inputs_of_messages(session: Session, table: TokenTable | None = None) -> ReplayInputs:
    """What replays of a conversation in memory start from; cut texts are counted for real.

    Args:
        session: The conversation.
        table: Its token counts; counted here where not given.
    """
    return ReplayInputs.of(History.of(session), table or _counted(session), precise=True)


def _counted(session: Session, previous: TokenTable | None = None) -> TokenTable:
    """The token counts of a conversation in memory, those of an earlier state of it taken over."""
    *_, table = count_session(session, _shared_counter(), previous)
    return table


@cache
def _shared_counter() -> Counter:
    """One tokenizer for every list: an agent asks before each of its calls, and preparing one takes a second."""
    return load_counter()


_Place = tuple[str, int]

_CONTENT, _CALL = "content", "call"

_REASONING = ("reasoning_content", "reasoning")


class _Change(NamedTuple):
    """What is sent of one block of an entry."""

    text: str
    rendition: Rendition


def rewritten(entries: Sequence[MessageDict], session: Session, sent: Mapping[int, Rendition]) -> list[MessageDict]:
    """The messages as a plan sends them; the given ones are not changed.

    Args:
        entries: The message list.
        session: The session that was read from it.
        sent: Per block index, its rendition, of blocks that are not sent whole.
    """
    changed: dict[int, dict[_Place, _Change]] = {}
    for index, rendition in sent.items():
        block = session.blocks[index]
        text = rendition.text(session.text(block))
        changed.setdefault(block.origin.offset, {})[_place(block)] = _Change(text, rendition)
    result: list[MessageDict] = []
    for at, entry in enumerate(entries):
        if at in changed:
            result.extend(_entries(entry, changed[at]))
        else:
            result.append(entry)
    return result


def _place(block: Block) -> _Place:
    if block.kind is BlockKind.TOOL_CALL:
        return _CALL, block.origin.part
    return block.origin.locator or _CONTENT, block.origin.part


def _entries(entry: MessageDict, changes: Mapping[_Place, _Change]) -> list[MessageDict]:
    """What is sent in an entry's place: nothing, itself rewritten, or what is said instead and what is left."""
    said = [
        change
        for _, change in sorted(changes.items(), key=_part_of)
        if change.rendition.kind is not None and change.rendition.action is not Action.REMOVED
    ]
    if said and _rewritten_entry(entry, changes, "") is None:
        return [_message_of(change) for change in said]
    role = str(entry.get("role"))
    left = _rewritten_entry(entry, changes, role)
    before = [_message_of(change) for change in said if _is_gone(role, change)]
    return [*before, left] if left is not None else before


def _part_of(change: tuple[_Place, _Change]) -> int:
    return change[0][1]


def _message_of(change: _Change) -> MessageDict:
    kind = change.rendition.kind
    return {"role": "user" if kind is None else ROLE_OF_KIND[kind], "content": change.text}


def _rewritten_entry(entry: MessageDict, changes: Mapping[_Place, _Change], role: str) -> MessageDict | None:
    """The entry with its changed parts and what is said by `role`; None where nothing of it is left."""
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
        # Anthropic's tool calls are content parts themselves.
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
    """Add what is said in the place of calls that stand beside the content."""
    said = [
        change.text
        for (place, _), change in sorted(changes.items(), key=_part_of)
        if place == _CALL and change.rendition.kind is not None and not _is_gone(role, change)
    ]
    if said and isinstance(content := entry.get("content"), list):
        entry["content"] = [*content, *({"type": "text", "text": text} for text in said)]
    elif said:
        entry["content"] = "\n".join([content, *said] if content else said)


def _rewrite_reasoning(entry: MessageDict, change: _Change | None) -> None:
    name = next((name for name in _REASONING if entry.get(name)), None)
    if change is None or name is None:
        return
    if change.rendition.action is Action.REMOVED:
        del entry[name]
    else:
        entry[name] = change.text


def _is_gone(role: str, change: _Change) -> bool:
    """Whether nothing is sent of a block in a message of that role: it was removed, or another role says it."""
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
