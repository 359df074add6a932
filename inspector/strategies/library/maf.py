"""Compact conversations group by group, as Microsoft's agent framework does.

Source: agent-framework-core 1.23 `_compaction.py`. Five strategies work on the same groups before every call, and
excluded groups stay excluded. Two strategies handle old tool uses: they become one message each that lists their
results, or they are dropped. Two drop the oldest groups: beyond a number of groups, or once there are too many messages
or tokens. One combines both: results first, groups only if that is not enough, at fractions of the window's input
budget. The tokens a provider reports are ignored; a token counts as four characters of the messages' JSON.

Most strategies have no default numbers in the framework; the defaults here are then taken from its examples.

Groups follow `group_messages` and `annotate_token_counts`. A tool call and its results form one group, including
reasoning-only messages before or between them; any other message is a group on its own. A group stays or leaves as a
whole. Late results join the group of their call. A token counts as four characters of a message's JSON. Most messages
are sent as recorded, so their estimates are computed once per session for all plans.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.model import BlockKind, Role, TextUnavailableError
from inspector.strategies.core.measures import Measure
from inspector.strategies.core.operations import RemoveBlock, ReplaceWithMessage
from inspector.strategies.core.strategy import (
    Choice,
    Decision,
    Parametrized,
    choice,
    integer,
    model_window,
    number,
    switch,
    window_of,
)
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.history import ASSISTANT_TEXT, MEDIA, SYSTEM_TEXT, THINKING, TOOL_CALL, TOOL_RESULT
from inspector.strategies.history.memo import Memo, cache_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem
    from inspector.strategies.history.history import History


JSON_CHARACTERS = Measure(lambda text: len(encode_basestring(text)))
"""Length of a text as a JSON string, with characters beyond ASCII unescaped."""


def _as_value(text: str) -> int:
    try:
        return len(json.dumps(json.loads(text) if text else {}, ensure_ascii=False))
    except (ValueError, RecursionError):
        return JSON_CHARACTERS.of_text(text)


ARGUMENT_CHARACTERS = Measure(_as_value)
"""Length of arguments as JSON; of a JSON string if they are not valid JSON."""

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
    """Estimate the tokens of a message. `contents`: characters of the JSON of each of its contents."""
    return _tokens(identifier, role, _together(contents))


def _together(contents: Sequence[int]) -> int:
    return sum(contents) + _SEPARATOR * max(len(contents) - 1, 0)


def _tokens(identifier: str, role: str, characters: int) -> int:
    around = _MESSAGE + len(encode_basestring(identifier)) + len(encode_basestring(role))
    return max(1, (around + characters) // _PER_TOKEN)


def text_characters(text: int) -> int:
    """Return the length of a text content as JSON, given the length of its text as a JSON string."""
    return _TEXT + text


def call_characters(identifier: str, name: str, arguments: int) -> int:
    """Return the length of a tool call as JSON, given the length of its arguments."""
    return _CALL + JSON_CHARACTERS.of_text(identifier) + JSON_CHARACTERS.of_text(name) + arguments


def result_characters(identifier: str, text: int) -> int:
    """Return the length of a result as JSON, given the length of its text as a JSON string."""
    return _RESULT + JSON_CHARACTERS.of_text(identifier) + text


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message of the conversation.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        name: Its recorded id; empty for none.
        contents: Indices of blocks that are contents of it: an empty text next to other blocks is not.
        thinks: True if it contains only reasoning.
        calls: Ids of the tool calls it makes, including empty ids.
        answers: For results, the ids of the calls they answer, empty for a missing call.
        characters: Characters of the JSON of its contents as recorded.
        tokens: Estimated tokens as recorded; 0 if it has no id, because its id then depends on the messages before it.
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
    """The messages of a session, each built from its items on first use."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._kinds = history.kind_bytes
        self._known: dict[tuple[int, int], SentMessage] = cache_for(history, Messages)

    def of(self, items: Sequence[ConversationItem]) -> Iterator[SentMessage]:
        """Yield items as messages; results recorded in one message form one."""
        known, at, count = self._known, 0, len(items)
        while at < count:
            item = items[at]
            end = at + 1
            while item.is_result and end < count and items[end].is_result and items[end].message == item.message:
                end += 1
            key = item.blocks[0], items[end - 1].blocks[-1]
            message = known.get(key)
            if message is None:
                blocks = [block for each in items[at:end] for block in each.blocks]
                message = known[key] = self._made(self._role(item), blocks)
            yield message
            at = end

    def system(self, block: int) -> SentMessage:
        return self._made("system", [block])

    def tokens(self, context: CallContext, message: SentMessage, number: int) -> tuple[str, int]:
        """Return a message's id and estimated tokens as sent now, after `number` messages."""
        if not context.are_whole(message.contents):
            characters = _together([self._characters(block, context) for block in message.contents])
        elif message.tokens:
            return message.name, message.tokens
        else:
            characters = message.characters
        name = message.name or f"msg_{number}"
        return name, _tokens(name, message.role, characters)

    def _role(self, item: ConversationItem) -> str:
        if item.is_result:
            return "tool"
        return "assistant" if self._history.session.messages[item.message].role is Role.ASSISTANT else "user"

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

    def _characters(self, index: int, context: CallContext | None = None) -> int:
        """Return the length of a block as JSON, as it would be sent now or as recorded."""
        session = self._history.session
        block, kind = session.blocks[index], self._kinds[index]
        if kind in MEDIA:
            return sum(_MEDIA + len(media.media_type) * 2 + media.size_bytes * 4 // 3 for media in block.media)
        measure = ARGUMENT_CHARACTERS if kind == TOOL_CALL else JSON_CHARACTERS
        text = measure.recorded(session, block) if context is None else measure.sent(context, index)
        if kind == TOOL_CALL:
            return call_characters(block.tool_call_id, block.tool_name, text)
        if kind == TOOL_RESULT:
            return result_characters(block.tool_call_id, text)
        return (_REASONING if kind == THINKING else _TEXT) + text


@dataclass(slots=True, eq=False)
class Group:
    """Messages that stay or leave together.

    Attributes:
        kind: `system`, `user`, `assistant_text` or `tool_call`.
        name: The id of its first message.
        tokens: Their estimated tokens.
        is_sent: True if the group or its replacement is sent.
        replacement_tokens: Estimated tokens of the message that replaces it; None if there is none.
    """

    kind: str
    name: str
    blocks: list[int]
    messages: int
    tokens: int
    is_sent: bool = True
    replacement_tokens: int | None = None
    declared: tuple[str, ...] = ()

    @property
    def is_tool_call(self) -> bool:
        """True if a tool call and its results are sent unreplaced."""
        return self.kind == "tool_call" and self.is_sent and self.replacement_tokens is None

    @property
    def sent(self) -> tuple[int, int]:
        """Number of its messages sent, and their estimated tokens."""
        if not self.is_sent:
            return 0, 0
        return (self.messages, self.tokens) if self.replacement_tokens is None else (1, self.replacement_tokens)


@dataclass
class Groups:
    """The groups of one conversation.

    Attributes:
        groups: Groups that are sent, including replaced ones, oldest first, without system groups.
        calls: Groups of tool calls with their results that are sent unreplaced.
        messages: Number of messages sent, including system messages.
        tokens: Their estimated tokens.
        first_user: The first user group, None before it.
        again: Groups that were left out and are sent again, because one of their results came late.
    """

    recorded: Messages
    # Groups can leave from any position: text between tool uses that leave one by one stays.
    groups: OrderedDict[Group, None] = field(default_factory=OrderedDict)
    calls: OrderedDict[Group, None] = field(default_factory=OrderedDict)
    messages: int = 0
    tokens: int = 0
    first_user: Group | None = None
    again: list[Group] = field(default_factory=list)
    _count: int = 0
    _span: Group | None = None
    _takes_reasoning: bool = False
    _prefix: list[Group] = field(default_factory=list)
    _unanswered: dict[str, list[Group]] = field(default_factory=dict)

    def add(self, context: CallContext, items: Sequence[ConversationItem], *, system: Iterable[int] = ()) -> None:
        """Append messages, with system texts before them."""
        for block in system:
            message = self.recorded.system(block)
            self._begin("system", self._message(context, message), message.blocks)
        for message in self.recorded.of(items):
            self._place(message, self._message(context, message))

    def discard_step(self, group: Group) -> None:
        if group.is_tool_call:
            del self.calls[group]
        del self.groups[group]
        self._set(group, is_sent=False, replacement=group.replacement_tokens)

    def replace(self, group: Group, characters: int) -> None:
        """Replace a tool call and its results with an assistant message of so many characters of JSON."""
        del self.calls[group]
        name = f"tool_summary_group_{group.name}"
        self._set(group, is_sent=True, replacement=message_tokens(name, "assistant", [text_characters(characters)]))

    def _set(self, group: Group, *, is_sent: bool, replacement: int | None) -> None:
        messages, tokens = group.sent
        group.is_sent, group.replacement_tokens = is_sent, replacement
        self.messages += group.sent[0] - messages
        self.tokens += group.sent[1] - tokens

    def _message(self, context: CallContext, message: SentMessage) -> tuple[str, int]:
        self._count += 1
        return self.recorded.tokens(context, message, self._count - 1)

    def _place(self, message: SentMessage, counted: tuple[str, int]) -> None:
        """Add a message to its group, or start a new one."""
        span = self._span
        if message.role == "tool":
            if span is None:
                span = self._begin("tool_call", counted, message.blocks)
            else:
                self._join(span, message.blocks, counted[1])
            self._takes_reasoning, self._prefix = False, []
            self._span = self._linked(message.answers, span)
        elif message.thinks:
            if span is not None and self._takes_reasoning:
                self._join(span, message.blocks, counted[1])
            else:
                prefix = self._prefix
                self._prefix = [*prefix, self._begin("assistant_text", counted, message.blocks)]
        elif message.role == "assistant" and message.calls:
            prefix = [group for group in self._prefix if group.is_sent]
            call = self._span = self._begin("tool_call", counted, message.blocks)
            self._takes_reasoning = True
            if prefix:
                self._take_reasoning_before(call, prefix)
            call.declared = message.calls
            for identifier in message.calls:
                if identifier:
                    self._unanswered.setdefault(identifier, []).append(call)
        else:
            self._begin("user" if message.role == "user" else "assistant_text", counted, message.blocks)

    def _linked(self, answers: Iterable[str], group: Group) -> Group:
        """Return the group, or the earlier one it is merged into because it holds a result of that group's call."""
        for identifier in answers:
            calls = self._unanswered.get(identifier)
            # If several unanswered calls share an id, the owner of a result is unknown.
            if calls is not None and len(calls) == 1:
                del self._unanswered[identifier]
                if calls[0] is not group:
                    group = self._merge(group, calls[0])
        return group

    def _merge(self, group: Group, into: Group) -> Group:
        if group.is_sent:
            self.discard_step(group)
        self._join(into, group.blocks, group.tokens, group.messages)
        for identifier in set(group.declared):
            calls = self._unanswered.get(identifier, [])
            calls[:] = [into if call is group else call for call in calls]
        into.declared += group.declared
        return into

    def _take_reasoning_before(self, call: Group, prefix: list[Group]) -> None:
        """Add reasoning-only messages to the call they precede."""
        for group in prefix:
            del self.groups[group]
        call.name = prefix[0].name
        call.blocks = [block for group in (*prefix, call) for block in group.blocks]
        call.messages += sum(group.messages for group in prefix)
        call.tokens += sum(group.tokens for group in prefix)

    def _begin(self, kind: str, message: tuple[str, int], blocks: Iterable[int]) -> Group:
        group = Group(kind, message[0], list(blocks), 1, message[1])
        if kind != "system":
            self.groups[group] = None
        if kind == "tool_call":
            self.calls[group] = None
        if kind == "user" and self.first_user is None:
            self.first_user = group
        self.messages += 1
        self.tokens += message[1]
        self._span, self._takes_reasoning = None, False
        if self._prefix:
            self._prefix = []
        return group

    def _join(self, group: Group, blocks: Iterable[int], tokens: int, messages: int = 1) -> None:
        if group.kind == "tool_call" and not group.is_tool_call:
            self._send_again(group)
        before = group.sent
        group.blocks.extend(blocks)
        group.messages += messages
        group.tokens += tokens
        self.messages += group.sent[0] - before[0]
        self.tokens += group.sent[1] - before[1]

    def _send_again(self, group: Group) -> None:
        """Undo the change to a group because a part of it came late."""
        for sent in (self.calls, self.groups):
            if group not in sent:
                sent[group] = None
                sent.move_to_end(group, last=False)
        self.again.append(group)
        self._set(group, is_sent=True, replacement=None)


_PREFIX, _SUFFIX, _CUT = "[Tool results: ", "]", "... [truncated]"
_LONGEST = 4_096
_KEPT_CHARACTERS = 32_000_000
"""Maximum characters of cached listings: somewhat more than a session of 100 MB needs."""

REASON = "older than the newest tool uses"


class Listing(NamedTuple):
    """The replacement of a tool use. `characters`: length of its text as a JSON string."""

    decision: Decision
    characters: int


def results_text(labels: Iterable[str]) -> str:
    """Return the message that lists a tool use's results by their beginnings, truncated if too long."""
    label = "; ".join(labels) or "no results"
    if len(_PREFIX) + len(label) + len(_SUFFIX) > _LONGEST:
        label = label[: _LONGEST - len(_PREFIX) - len(_CUT) - len(_SUFFIX)].rstrip() + _CUT
    return f"{_PREFIX}{label}{_SUFFIX}"


class _Listings:
    """Cache of listings by tool names and digests of the results."""

    def __init__(self) -> None:
        self._known: Memo[tuple[tuple[str, bytes], ...], Listing] = Memo(_KEPT_CHARACTERS)

    def of(self, context: CallContext, blocks: Sequence[int]) -> Listing:
        history = context.history
        recorded, kinds = history.session.blocks, history.kind_bytes
        names = {recorded[at].tool_call_id: recorded[at].tool_name for at in blocks if kinds[at] == TOOL_CALL}
        names.pop("", None)
        results = [(at, names.get(recorded[at].tool_call_id, "")) for at in blocks if kinds[at] == TOOL_RESULT]
        if not all(context.is_whole(at) for at, _ in results):
            return _listing([_label(name, _text(context, at) or "") for at, name in results])
        key = tuple([(name, recorded[at].digest) for at, name in results])
        known = self._known.get(key)
        if known is None:
            texts = [_text(context, at) for at, _ in results]
            known = _listing([_label(name, text or "") for (_, name), text in zip(results, texts, strict=True)])
            if None not in texts:
                self._known.keep(key, known, known.characters)
        return known


LISTINGS = _Listings()


def _text(context: CallContext, block: int) -> str | None:
    try:
        return context.text(block)
    except TextUnavailableError:
        return None


def _label(name: str, text: str) -> str:
    return (f"{name}: {text}" if name else text).strip()


def _listing(labels: Iterable[str]) -> Listing:
    text = results_text(labels)
    return Listing(
        Decision(ReplaceWithMessage(text, BlockKind.ASSISTANT_TEXT), REASON, "results"), JSON_CHARACTERS.of_text(text)
    )


SOURCE = "agent-framework-core 1.23 agent_framework/_compaction.py"


class _Maf(Parametrized):
    """Base of the strategies here; each changes the groups before a call."""

    def start(self, history: History) -> MafRun:
        return MafRun(self, history)

    def compact(self, groups: Groups, context: CallContext) -> Iterator[Choice]:
        raise NotImplementedError


ASSISTANT_FIRST = (
    "The oldest groups go regardless of the speaker: the list may begin with the assistant, which Anthropic's API "
    "refuses"
)
UNLESS_KEPT = f"{ASSISTANT_FIRST}; with `keep-first-user` it does not."


def _keep(default: int) -> Any:
    return integer(default, "Number of newest tool uses left as they are.", "tool uses", maximum=10_000)


def _first_user() -> Any:
    return switch(False, "Never remove the first user message.", group="groups")


@dataclass(frozen=True)
class MafToolResults(_Maf):
    """Replace old tool uses with messages that list their results."""

    name = "maf-tool-results"
    title = "List old results (agent framework)"
    summary = "Replace all but the newest tool uses with one message each that lists their results."
    source = f"ToolResultCompactionStrategy, {SOURCE}"

    keep: int = _keep(1)

    def compact(self, groups: Groups, context: CallContext) -> Iterator[Choice]:
        while len(groups.calls) > self.keep:
            yield from _list_results(groups, next(iter(groups.calls)), context)


@dataclass(frozen=True)
class MafToolCalls(_Maf):
    """Leave out old tool uses."""

    name = "maf-tool-calls"
    title = "Drop old tool uses (agent framework)"
    summary = "Remove all but the newest tool uses, calls and results."
    source = f"SelectiveToolCallCompactionStrategy, {SOURCE}"

    keep: int = _keep(1)

    def compact(self, groups: Groups, context: CallContext) -> Iterator[Choice]:  # noqa: ARG002  nothing is measured
        while len(groups.calls) > self.keep:
            yield from _leave_out(groups, next(iter(groups.calls)), f"older than the newest {self.keep} tool uses")


@dataclass(frozen=True)
class MafWindow(_Maf):
    """Keep the newest groups."""

    name = "maf-window"
    title = "Sliding window (agent framework)"
    summary = "Keep the newest groups of messages; a tool call and its results are one group."
    source = f"SlidingWindowStrategy, {SOURCE}"
    note = f"{ASSISTANT_FIRST}."

    keep: int = integer(20, "Number of newest groups kept.", "groups", minimum=1, maximum=10_000)

    def compact(self, groups: Groups, context: CallContext) -> Iterator[Choice]:  # noqa: ARG002  nothing is measured
        while len(groups.groups) > self.keep:
            yield from _leave_out(groups, next(iter(groups.groups)), f"older than the newest {self.keep} groups")


@dataclass(frozen=True)
class MafTruncation(_Maf):
    """Leave out the oldest groups once there are too many messages or tokens."""

    name = "maf-truncation"
    title = "Truncation (agent framework)"
    summary = "When there are too many messages or tokens, remove the oldest groups until few enough are left."
    source = f"TruncationStrategy, {SOURCE}"
    note = UNLESS_KEPT

    unit: str = choice(("messages", "tokens"), "Unit of the limit and of the target.")
    limit: int = integer(80, "Maximum messages or tokens.", "", minimum=1, maximum=10_000_000)
    target: int = integer(40, "Messages or tokens left after a removal.", "", minimum=1, maximum=10_000_000)
    keep_first_user: bool = _first_user()

    def compact(self, groups: Groups, context: CallContext) -> Iterator[Choice]:  # noqa: ARG002  its own count decides
        yield from _truncate(groups, self.unit, self.limit, min(self.target, self.limit), self.keep_first_user)


@dataclass(frozen=True)
class MafContextWindow(_Maf):
    """List old results, and leave out the oldest groups, at fractions of the window."""

    name = "maf-context-window"
    title = "Fit the window (agent framework)"
    summary = (
        "List the results of old tool uses when the window is half full, and remove the oldest groups if that is not "
        "enough."
    )
    source = f"ContextWindowCompactionStrategy, {SOURCE}"
    note = UNLESS_KEPT

    window: int = model_window()
    max_output: int = integer(16_384, "Part of the window reserved for output.", "tokens", maximum=1_000_000)
    evict: float = number(
        0.5, "Fraction of the rest at which results are listed.", minimum=0.0, maximum=1.0, group="results"
    )
    truncate: float = number(
        0.8, "Fraction of the rest at which groups are removed.", minimum=0.0, maximum=1.0, group="groups"
    )
    keep: int = _keep(4)
    keep_first_user: bool = _first_user()

    def compact(self, groups: Groups, context: CallContext) -> Iterator[Choice]:
        budget = max(window_of(context.history, self.window) - self.max_output, 1)
        evict, truncate = int(budget * self.evict), int(budget * max(self.truncate, self.evict))
        context.note_estimate(groups.tokens)
        if groups.tokens > evict:
            yield from MafToolResults(self.keep).compact(groups, context)
        yield from _truncate(groups, "tokens", truncate, evict, self.keep_first_user)


_LISTED = Decision(RemoveBlock(), REASON, "results")


def _list_results(groups: Groups, group: Group, context: CallContext) -> Iterator[Choice]:
    decision, characters = LISTINGS.of(context, group.blocks)
    groups.replace(group, characters)
    yield Choice(group.blocks[0], decision)
    for block in group.blocks[1:]:
        yield Choice(block, _LISTED)


def _truncate(groups: Groups, unit: str, limit: int, target: int, keep_first_user: bool) -> Iterator[Choice]:
    def size() -> int:
        return groups.messages if unit == "messages" else groups.tokens

    if size() <= limit:
        return
    before = size()
    spared: list[Group] = []
    while size() > target and len(groups.groups) > 1:
        oldest = next(iter(groups.groups))
        if keep_first_user and oldest is groups.first_user:
            spared.append(oldest)
            del groups.groups[oldest]
            continue
        yield from _leave_out(groups, oldest, f"over the limit with {before:,} {unit}")
    for group in reversed(spared):
        groups.groups[group] = None
        groups.groups.move_to_end(group, last=False)


@lru_cache(64)
def _left_out(reason: str) -> Decision:
    return Decision(RemoveBlock(), reason, "groups")


def _leave_out(groups: Groups, group: Group, reason: str) -> Iterator[Choice]:
    groups.discard_step(group)
    decision = _left_out(reason)
    for block in group.blocks:
        yield Choice(block, decision)


class MafRun(ThreadRun[_Maf, Groups]):
    """A run of one of the strategies on one session."""

    measures_prompts = False

    def __init__(self, strategy: _Maf, history: History) -> None:
        super().__init__(strategy, history)
        self.messages = Messages(history)

    def begin(self) -> Groups:
        return Groups(self.messages)

    def step(self, context: CallContext) -> Iterator[Choice]:
        """Yield the changes at this call; resets take effect before anything is measured."""
        groups, arrived = self.advance(context)
        yield from self.again
        yield from self.record_changes(self.decide(groups, arrived, context))

    def decide(self, state: Groups, arrived: list[int], context: CallContext) -> Iterator[Choice]:
        kinds, blocks = self.history.kind_bytes, self.history.session.blocks
        systems = [at for at in arrived if kinds[at] == SYSTEM_TEXT and blocks[at].origin.locator != "tools"]
        state.add(context, self.items(arrived), system=systems)
        if state.again:
            again = Decision(None, "one of its results came late")
            yield from [Choice(block, again) for group in state.again for block in group.blocks]
            state.again.clear()
        yield from self.strategy.compact(state, context)
