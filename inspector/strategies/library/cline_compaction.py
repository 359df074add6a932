"""Replace the beginning of a conversation with a summary when the window is nearly full, as Cline does since version 4.

Source: the `agentic` compaction of Cline's SDK (@cline/core 0.0.86; cline/cline at 21cb8d2525,
`sdk/packages/core/src/extensions/context`), which replaced `ContextManager`, the source of `cline-truncate`. Before a
request, tokens are estimated as a third of the characters of its JSON. The model's input limit is 90 % of the window.
At 90 % of that limit a summary replaces all but the newest 20,000 tokens of messages. The cut is before a model or user
message, never before results, and never after the newest question, unless the conversation begins with it.

`variant=basic` is the compaction without a model (`basic-compaction.ts`), described in `cline_basic`. Cline also falls
back to it if a model returns no summary.

A session does not record the rest of a Cline request, nor its notes next to each message. A request is therefore
estimated from its messages, or from the measured prompt if that is larger. No model writes the summary here: a
placeholder of the assumed length replaces it, so later calls are projected. The list of files at its end is part of
that length.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from inspector.strategies.core import javascript
from inspector.strategies.core.measures import ARGUMENT_UNITS, JSON_CHARACTERS
from inspector.strategies.core.parametrized import (
    Parametrized,
    choice,
    integer,
    model_window,
    number,
    summary_length,
    window_of,
)
from inspector.strategies.core.summarized_prefix import SummarizedPrefix
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.conversation_items import split_messages
from inspector.strategies.history.history import ASSISTANT, MEDIA, THINKING, TOOL_CALL, TOOL_RESULT, USER_TEXT
from inspector.strategies.library.cline_basic import ClineMessage, compact, tokens_of
from inspector.strategies.library.summarize import summary_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from inspector.strategies.core.strategy import CallContext, Choice
    from inspector.strategies.history.conversation_items import ConversationItem
    from inspector.strategies.history.history import History

_OPENING = "Context summary:\n\n"
_AROUND = len('{"role":"user","content":[]}')
_LONGER_ROLE = len("assistant") - len("user")
_TEXT = len('{"type":"text","text":}')
_THINKING = len('{"type":"thinking","thinking":,"signature":""}')
_CALL = len('{"type":"tool_use","id":"","name":"","input":}')
_RESULT = len('{"type":"tool_result","tool_use_id":"","content":}')
_LONG_CONVERSATION, _OF_A_LONG_ONE, _OF_THE_TRIGGER = 5, 0.5, 0.7


def message_characters(
    context: CallContext,
    blocks: Iterable[int],
    texts: Iterable[str] = (),
    cut: Mapping[int, str] | None = None,
    *,
    is_answer: bool = False,
) -> int:
    """Return the length of a message as JSON in UTF-16 units, role and content only; images are not counted.

    Args:
        context: The call about to be made.
        blocks: Its blocks.
        texts: Further texts in it.
        cut: Replacement texts of cut blocks.
        is_answer: True if the model wrote it, regardless of its blocks.
    """
    history, around = context.history, _AROUND + _LONGER_ROLE * is_answer
    sizes = [_TEXT + javascript.json_length(text) for text in texts]
    cut = cut or {}
    for index in blocks:
        block, kind = history.session.blocks[index], history.kind_bytes[index]
        around = _AROUND + _LONGER_ROLE * (kind in ASSISTANT)
        if kind in MEDIA:
            continue
        if kind == TOOL_CALL:
            named = javascript.length(block.tool_name) + javascript.length(block.tool_call_id)
            sizes.append(_CALL + named + ARGUMENT_UNITS.sent(context, index))
        elif kind == TOOL_RESULT:
            text = javascript.json_length(cut[index]) if index in cut else JSON_CHARACTERS.sent(context, index)
            sizes.append(_RESULT + javascript.length(block.tool_call_id) + text)
        elif kind == THINKING:
            sizes.append(_THINKING + block.signature_characters + JSON_CHARACTERS.sent(context, index))
        else:
            text = javascript.json_length(cut[index]) if index in cut else JSON_CHARACTERS.sent(context, index)
            sizes.append(_TEXT + text)
    return around + sum(sizes) + max(len(sizes) - 1, 0)


def request_target(are_of_users: Iterable[bool], most: float, trigger: float) -> int:
    """Return the target size of a request: `resolveAutoRequestTargetTokens`.

    Args:
        are_of_users: Per message sent, True for a user message, including results.
        most: Maximum input tokens of the model.
        trigger: Tokens at which it compacts.
    """
    asked = answered = 0
    for is_user in are_of_users:
        answered += not is_user and asked
        asked = is_user
        if answered >= _LONG_CONVERSATION:
            return int(most * _OF_A_LONG_ONE)
    return int(trigger * _OF_THE_TRIGGER)


@dataclass(frozen=True)
class ClineCompaction(Parametrized):
    """Replace all but the newest messages with a summary when the window is nearly full."""

    name = "cline-compaction"
    title = "Compaction (Cline 4)"
    summary = (
        "When a request nearly fills the window, replace all but the newest messages with a summary of assumed length."
    )
    source = "@cline/core 0.0.86 extensions/context/agentic-compaction.ts"
    note = (
        "With `variant=basic`, typed text, the newest messages and answers that fit, and notices of the work in "
        "between stay; `keep` and `summary-tokens` apply to `agentic` only."
    )

    trigger: float = number(0.9, "Fraction of the model's input limit at which it compacts.", minimum=0.0, maximum=1.0)
    keep: int = integer(20_000, "Size of the newest messages that stay.", "tokens", maximum=1_000_000)
    window: int = model_window()
    input_part: float = number(
        0.9,
        "Fraction of the window for input; 1 for models with their own input limit.",
        minimum=0.0,
        maximum=1.0,
    )
    summary_tokens: int = summary_length()
    variant: str = choice(
        ("agentic", "basic"),
        "Summarize with a model (agentic), or cut work but keep texts (basic).",
    )

    def triggers(self, window: int) -> tuple[float, ...]:
        return ((self.window or window) * self.input_part * self.trigger,)

    def start(self, history: History) -> ClineCompactionRun | ClineBasicRun:
        return ClineBasicRun(self, history) if self.variant == "basic" else ClineCompactionRun(self, history)


class _Message(NamedTuple):
    """One message; all results of a batch are one.

    Attributes:
        blocks: Its blocks.
        may_begin: True if the remaining conversation may begin with it.
    """

    blocks: tuple[int, ...]
    may_begin: bool


@dataclass
class _Task:
    """One conversation.

    Attributes:
        sent: Its messages, and the summary that replaces the first of them.
        questions: Indices of the user's questions.
    """

    sent: SummarizedPrefix[_Message] = field(default_factory=SummarizedPrefix)
    questions: list[int] = field(default_factory=list)

    def cut(self, keep: int) -> int:
        """Return the first message that stays if the newest `keep` tokens do: `findCutIndex`."""
        sent = self.sent
        # The last message that can start the tail: the tokens after it still reach `keep`.
        place = min(bisect_right(sent.sums, sent.since(0) - keep), len(sent.messages) - 1)
        if sent.since(sent.start) < keep:
            return sent.start
        first = sent.start + (sent.summary < 0)
        if self.questions and self.questions[-1] >= first:
            place = min(place, self.questions[-1])
        while place > sent.start and not sent.messages[place].may_begin:
            place -= 1
        return max(place, sent.start)


class _Speaker(Enum):
    """Sender of a message, by Cline's grouping."""

    USER = "user"
    MODEL = "model"
    TOOLS = "consecutive tool results"


def _arrived(history: History, items: Iterable[ConversationItem]) -> Iterator[tuple[_Speaker, list[int]]]:
    """Yield new items as Cline's messages, each with its blocks; consecutive results are one message."""
    batch: list[int] = []
    for item in items:
        if item.is_result:
            batch += item.blocks
            continue
        if batch:
            yield _Speaker.TOOLS, batch
            batch = []
        for event in split_messages(history, item):
            is_typed = history.kind_bytes[event.blocks[0]] in (USER_TEXT, *MEDIA)
            yield _Speaker.USER if is_typed else _Speaker.MODEL, list(event.blocks)
    if batch:
        yield _Speaker.TOOLS, batch


class ClineCompactionRun(ThreadRun[ClineCompaction, _Task]):
    """A run of the compaction on one session.

    Attributes:
        most: Maximum input tokens of the model.
        trigger: Tokens at which it compacts.
    """

    def __init__(self, strategy: ClineCompaction, history: History) -> None:
        super().__init__(strategy, history)
        self.most = window_of(history, strategy.window) * strategy.input_part
        self.trigger = self.most * strategy.trigger

    def begin(self) -> _Task:
        return _Task()

    def decide(self, state: _Task, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        for speaker, blocks in _arrived(self.history, self.items(arrived)):
            if speaker is _Speaker.USER:
                state.questions.append(len(state.sent.messages))
            message = _Message(tuple(blocks), may_begin=speaker is not _Speaker.TOOLS)
            state.sent.add(message, tokens_of(message_characters(context, blocks)))
        tokens = max(state.sent.all_tokens, context.prompt_tokens)
        return self._compact(state, context, tokens) if state.sent.messages and tokens >= self.trigger else ()

    def _target(self, state: _Task) -> int:
        """Return the target size of a request, an upper bound for the messages that stay."""
        users = (USER_TEXT, TOOL_RESULT, *MEDIA)
        sent = state.sent.messages[state.sent.start :]
        speakers = (self.history.kind_bytes[message.blocks[0]] in users for message in sent)
        return request_target(speakers, self.most, self.trigger)

    def _compact(self, state: _Task, context: CallContext, tokens: int) -> Iterable[Choice]:
        cut = state.cut(max(min(self.strategy.keep, self._target(state)), 1))
        gone = state.sent.blocks_until(cut)
        if not gone:
            return ()
        context.note_model_call(context.total_tokens(gone), self.strategy.summary_tokens)
        reported = _OPENING + summary_placeholder(cut, self.strategy.summary_tokens)
        state.sent.summary_tokens = tokens_of(_AROUND + _TEXT + javascript.json_length(reported))
        return state.sent.summarize(cut, reported, f"compacted at {tokens:,} tokens")


@dataclass
class _BasicConversation:
    """One conversation.

    Attributes:
        messages: Its messages that are sent.
        total: Their estimated tokens.
    """

    messages: list[ClineMessage] = field(default_factory=list)
    total: int = 0


class ClineBasicRun(ThreadRun[ClineCompaction, _BasicConversation]):
    """A run of the compaction without a model on one session.

    Attributes:
        most: Maximum input tokens of the model.
        trigger: Tokens at which it compacts.
    """

    def __init__(self, strategy: ClineCompaction, history: History) -> None:
        super().__init__(strategy, history)
        self.most = window_of(history, strategy.window) * strategy.input_part
        self.trigger = self.most * strategy.trigger

    def begin(self) -> _BasicConversation:
        return _BasicConversation()

    def decide(self, state: _BasicConversation, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        for speaker, blocks in _arrived(self.history, self.items(arrived)):
            is_answer = speaker is _Speaker.MODEL
            state.messages.append(ClineMessage(blocks, speaker is _Speaker.USER, is_answer=is_answer))
            state.total += tokens_of(message_characters(context, blocks, is_answer=is_answer))
        tokens = max(state.total, context.prompt_tokens)
        if not state.messages or tokens < self.trigger:
            return ()

        def length(blocks: Sequence[int], texts: Sequence[str], cut: Mapping[int, str], *, is_answer: bool) -> int:
            return message_characters(context, blocks, texts, cut, is_answer=is_answer)

        speakers = (not message.is_answer for message in state.messages)
        beyond = tokens - state.total
        wanted = min(request_target(speakers, self.most, self.trigger), self.trigger)
        limits = max(int(wanted - beyond), 1), max(int(self.trigger - beyond), 1)
        made = compact(state.messages, context, limits, length, f"compacted at {tokens:,} tokens")
        state.messages, state.total = made.messages, made.tokens if made.choices else state.total
        return made.choices
