"""Cline's and Roo Code's rules for a nearly full window: drop repeated files and messages, or summarize.

`cline-truncate` drops repeated file contents, then half of the messages. Source: `ContextManager` of Cline (cline/cline
`src/core/context/context-management/ContextManager.ts`, `context-window-utils.ts`), its rules before model-written
condensing. Before each request, the tokens of the previous one, prompt and answer, are compared with the window's
allowance. Above it, all but the newest content of every file becomes a notice. If that saves less than 30 % of the
characters, messages are removed as well. The first question and answer stay. Half of the rest is removed (three
quarters if the window is much too small), an even number that ends with an answer, and a notice replaces the first
answer. Both changes are permanent. Tool results may lose their calls, which does not matter in Cline's own prompts,
where results are user texts.

`cline-compaction` replaces the beginning of a conversation with a summary, as Cline does since version 4. Source: the
`agentic` compaction of Cline's SDK (@cline/core 0.0.86; cline/cline at 21cb8d2525,
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

`roo-truncate` hides half of the conversation after its first message. Source: `truncateConversation` and
`manageContext` of Roo Code (RooCodeInc/Roo-Code `src/core/context-management/index.ts`), the part that acts when its
model-written condensing is off or fails. If a prompt would leave less than 10 % of the window plus the room reserved
for the answer, the oldest half of the messages after the first is hidden, an even number, and a note replaces them.
Tool results may lose their calls.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.model import BlockKind, TextUnavailableError
from inspector.strategies.core import javascript
from inspector.strategies.core.measures import ARGUMENT_UNITS, JSON_CHARACTERS
from inspector.strategies.core.operations import (
    Action,
    RecordedBlock,
    RemoveBlock,
    Rendition,
    ReplaceText,
    ReplaceWithMessage,
    sent_text,
)
from inspector.strategies.core.strategy import (
    Choice,
    Decision,
    Parametrized,
    choice,
    integer,
    model_window,
    number,
    string,
    summary_length,
    switch,
    window_of,
)
from inspector.strategies.core.thread_runs import SummarizedPrefix, ThreadRun
from inspector.strategies.history.conversation_items import MessageList, split_messages
from inspector.strategies.history.history import ASSISTANT, MEDIA, THINKING, TOOL_CALL, TOOL_RESULT, USER_TEXT, History
from inspector.strategies.history.reads import path_of
from inspector.strategies.history.tools import ToolKind, tool_kind
from inspector.strategies.library.cline_basic import ClineMessage, compact, tokens_of
from inspector.strategies.library.micro_x import summary_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from inspector.strategies.core.operations import BlockSource, Piece
    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem, ConversationMessage


READ_NOTICE = (
    "[[NOTE] This file read has been removed to save space in the context window. Refer to the latest file read for "
    "the most up to date version of this file.]"
)
_HEADING = re.compile(r"\[([^\s]+) for '([^']+)'\] Result:")
_MENTION = re.compile(r'<file_content path="([^"]*)">([\s\S]*?)</file_content>')
_EDITED = re.compile(r'(<final_file_content path="[^"]*">)[\s\S]*?(</final_file_content>)')


class FileMention(NamedTuple):
    """A file's content within a message, by its index among those in the block; -1 for the whole block."""

    path: str
    block: int
    mention: int = -1


def file_mentions(history: History, turn: ConversationMessage) -> Iterator[FileMention]:
    """Yield the file contents in a user message.

    Cline writes a tool's result as two user texts, a heading (`[read_file for 'a.py'] Result:`) and the content. A
    result of a tool that reads, in any agent's session, counts as a read too. Rules and texts are from Cline's
    `ContextManager` (cline/cline `src/core/context/context-management/ContextManager.ts`).
    """
    session = history.session
    texts = [block for block in turn.blocks if history.kind[block] == BlockKind.USER_TEXT]
    heading = _HEADING.fullmatch(session.blocks[texts[0]].preview) if texts else None
    if heading is not None and len(texts) > 1:
        tool, path = heading.groups()
        edits = tool in ("replace_in_file", "write_to_file")
        if tool == "read_file" or (edits and _EDITED.search(_text(history, texts[1]))):
            yield FileMention(path, texts[1])
        elif not edits:
            yield from _mentions(history, texts[1])
    elif len(texts) > 1:
        yield from _mentions(history, texts[1])
    for block in turn.blocks:
        call = int(history.call_block[block])
        if call >= 0 and tool_kind(session.blocks[block].tool_name) is ToolKind.READ:
            path = path_of(session, session.blocks[call])
            if path:
                yield FileMention(path, block)


def _mentions(history: History, block: int) -> Iterator[FileMention]:
    for at, match in enumerate(_MENTION.finditer(_text(history, block))):
        yield FileMention(match[1], block, at)


def _text(history: History, block: int) -> str:
    try:
        return history.session.text(history.session.blocks[block])
    except TextUnavailableError:
        return ""


@dataclass(frozen=True, slots=True)
class ReplaceContents:
    """Replace the file contents of some mentions with a notice; all of the text for none."""

    mentions: frozenset[int] = frozenset()

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        if self.mentions:
            return self._without_mentions(rendition, text)
        edited = _EDITED.search(text) if source.block.kind is BlockKind.USER_TEXT else None
        if edited is None:
            return Rendition.replaced(READ_NOTICE, rendition.kind)
        before = rendition.between(0, edited.end(1))
        after = rendition.between(edited.start(2), len(text))
        return Rendition((*before, f" {READ_NOTICE} ", *after), Action.CUT, rendition.kind)

    def _without_mentions(self, rendition: Rendition, text: str) -> Rendition:
        pieces: list[Piece] = []
        position = 0
        for at, match in enumerate(_MENTION.finditer(text)):
            if at in self.mentions:
                pieces.extend((*rendition.between(position, match.start(2)), READ_NOTICE))
                position = match.end(2)
        if not pieces:
            return rendition
        return Rendition((*pieces, *rendition.between(position, len(text))), Action.CUT, rendition.kind)


NOTICE = (
    "[NOTE] Some previous conversation history with the user has been removed to maintain optimal context window "
    "length. The initial user task has been retained for continuity, while intermediate conversation history has been "
    "removed. Keep this in mind as you continue assisting the user. Pay special attention to the user's latest "
    "messages."
)
_MARGINS = {64_000: 27_000, 128_000: 30_000, 200_000: 40_000}
_KEPT = 2


def allowed_tokens(window: int) -> float:
    """Return the maximum tokens of a prompt and its answer in a window of this size."""
    if window in _MARGINS:
        return window - _MARGINS[window]
    return max(window - 40_000, window * 0.8)


def messages_to_remove(rest: int, keep: str) -> int:
    """Return how many messages after the first two go, to keep `half`, `quarter`, `last-two` or `none`."""
    match keep:
        case "none":
            return max(rest, 0)
        case "last-two":
            return max(rest - 2, 0)
        case "half":
            return rest // 4 * 2
        case _:
            return rest * 3 // 8 * 2


@dataclass(frozen=True)
class ClineTruncate(Parametrized):
    """Drop repeated file contents, then half of the messages, when the window is nearly full."""

    name = "cline-truncate"
    title = "Duplicate reads and truncation (Cline)"
    summary = (
        "When the window is nearly full, drop repeated file contents, then half of the messages if that is not enough."
    )
    source = "cline/cline src/core/context/context-management/ContextManager.ts"
    note = (
        "Messages are counted, not pairs, because Cline's results are user texts: a tool result may be sent without "
        "its call and a call without its result, which APIs refuse."
    )

    window: int = model_window()
    duplicate_reads: bool = switch(True, "Replace all but the newest content of every file first.", group="reads")
    enough: float = number(
        0.3,
        "Saved fraction of the characters that makes truncation unnecessary.",
        minimum=0.0,
        maximum=1.0,
        group="reads",
    )
    keep: str = choice(
        ("by-size", "half", "quarter", "last-two", "none"),
        "Part kept after the first 2; by-size: half, a quarter if twice too large.",
        group="messages",
    )
    notice: str = string(NOTICE, "Text that replaces the first answer.", group="messages")

    def triggers(self, window: int) -> tuple[float, ...]:
        return (allowed_tokens(self.window or window),)

    def start(self, history: History) -> ClineTruncateRun:
        return ClineTruncateRun(self, history)


@dataclass
class _SentMessages:
    """One conversation.

    Attributes:
        seen: File contents in the messages already scanned, by the message's last block, without replaced ones.
        answer: Tokens of the newest answer.
        has_notice: True if the first answer was replaced.
    """

    messages: MessageList
    seen: dict[int, list[FileMention]] = field(default_factory=dict)
    replaced: dict[int, frozenset[int]] = field(default_factory=dict)
    answer: int = 0
    has_notice: bool = False


class ClineTruncateRun(ThreadRun[ClineTruncate, _SentMessages]):
    """A run of Cline's truncation on one session. `allowed`: maximum tokens of a prompt and its answer."""

    def __init__(self, strategy: ClineTruncate, history: History) -> None:
        super().__init__(strategy, history)
        self.allowed = allowed_tokens(window_of(history, strategy.window))

    def begin(self) -> _SentMessages:
        return _SentMessages(MessageList(self.history))

    def decide(self, state: _SentMessages, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        before = len(state.messages.turns)
        state.messages.add(self.items(arrived))
        answers = [turn for turn in state.messages.turns[before:] if turn.is_answer]
        if answers:
            state.answer = context.total_tokens(answers[-1].blocks)
        previous = context.previous_prompt_tokens
        if previous and previous + state.answer >= self.allowed:
            return self._make_room(state, previous + state.answer, context)
        return ()

    def _make_room(self, state: _SentMessages, tokens: int, context: CallContext) -> Iterator[Choice]:
        saved = 0.0
        if self.strategy.duplicate_reads:
            characters = self._characters(state, context)
            choices, gone = self._without_duplicates(state, context)
            yield from choices
            saved = gone / characters if characters else 0.0
        if saved < self.strategy.enough or not saved:
            yield from self._truncated(state, tokens)

    def _characters(self, state: _SentMessages, context: CallContext) -> int:
        blocks = (block for turn in state.messages.turns for block in turn.blocks)
        return sum(map(context.length, blocks))

    def _without_duplicates(self, state: _SentMessages, context: CallContext) -> tuple[list[Choice], int]:
        by_path: dict[str, list[FileMention]] = {}
        seen: dict[int, list[FileMention]] = {}
        for turn in state.messages.turns[_KEPT:]:
            if turn.is_answer:
                continue
            key = turn.blocks[-1]
            known = state.seen.get(key)
            seen[key] = list(file_mentions(self.history, turn)) if known is None else known
            for shown in seen[key]:
                by_path.setdefault(shown.path, []).append(shown)
        old = {shown for found in by_path.values() for shown in found[:-1]}
        state.seen = {key: [shown for shown in found if shown not in old] for key, found in seen.items()}
        choices, saved = [], 0
        mentions: dict[int, set[int]] = {}
        for shown in old:
            mentions.setdefault(shown.block, set(state.replaced.get(shown.block, ()))).add(shown.mention)
        for block, places in sorted(mentions.items()):
            operation = ReplaceContents(frozenset(places - {-1}))
            state.replaced[block] = frozenset(places)
            before = context.rendition(block)
            after = operation.apply(before, RecordedBlock(self.history.session, block))
            saved += before.length - after.length
            choices.append(Choice(block, Decision(operation, "newer content of the file follows", "reads", "later")))
        return choices, saved

    def _truncated(self, state: _SentMessages, tokens: int) -> Iterator[Choice]:
        turns = state.messages.turns
        if not state.has_notice and len(turns) > 1:
            state.has_notice = True
            texts = [block for block in turns[1].blocks if self.history.kind[block] == BlockKind.ASSISTANT_TEXT]
            if texts and texts[0] == turns[1].blocks[0]:
                notice = ReplaceText(self.strategy.notice)
                yield Choice(texts[0], Decision(notice, "messages after it were removed", "messages"))
        keep = self.strategy.keep
        if keep == "by-size":
            keep = "quarter" if tokens / 2 > self.allowed else "half"
        end = _KEPT + messages_to_remove(len(turns) - _KEPT, keep)
        if _KEPT < end <= len(turns) and not turns[end - 1].is_answer:
            end -= 1
        removed = Decision(RemoveBlock(), f"removed when a request had {tokens:,} tokens", "messages")
        for turn in turns[_KEPT:end]:
            for block in turn.blocks:
                yield Choice(block, removed)
        del turns[_KEPT:end]


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
    """Return a message's length as JSON in UTF-16 units without images; `cut` has blocks' replacements."""
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
    """One message; all results of a batch are one. `may_begin`: the rest of the conversation may begin here."""

    blocks: tuple[int, ...]
    may_begin: bool


@dataclass
class _Task:
    """One conversation. `sent`: its messages, and the summary that replaces the first of them."""

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
    """A run of the compaction on one session, at `trigger` tokens, for at most `most` of the model."""

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
    """One conversation. `total`: their estimated tokens."""

    messages: list[ClineMessage] = field(default_factory=list)
    total: int = 0


class ClineBasicRun(ThreadRun[ClineCompaction, _BasicConversation]):
    """A run without a model on one session, at `trigger` tokens, for at most `most` of the model."""

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


_BUFFER = 0.1


@dataclass(frozen=True)
class RooTruncate(Parametrized):
    """Hide the oldest half of the messages after the first when the window is nearly full."""

    name = "roo-truncate"
    title = "Sliding window (Roo Code)"
    summary = "When a prompt nearly fills the window, hide the oldest half of the messages after the first."
    source = "RooCodeInc/Roo-Code src/core/context-management/index.ts"
    note = "Messages are counted, not pairs: a result may be sent without its call, which APIs refuse."

    fraction: float = number(0.5, "Fraction of the messages after the first that is hidden.", minimum=0.0, maximum=1.0)
    window: int = model_window()
    reserved: int = integer(8_192, "Size reserved for the answer.", "tokens", maximum=1_000_000)

    def triggers(self, window: int) -> tuple[float, ...]:
        return ((self.window or window) * (1 - _BUFFER) - self.reserved,)

    def start(self, history: History) -> RooTruncateRun:
        return RooTruncateRun(self, history)


class RooTruncateRun(ThreadRun[RooTruncate, MessageList]):
    """A run of the truncation on one session. `allowed`: maximum tokens of a prompt."""

    def __init__(self, strategy: RooTruncate, history: History) -> None:
        super().__init__(strategy, history)
        self.allowed = window_of(history, strategy.window) * (1 - _BUFFER) - strategy.reserved

    def begin(self) -> MessageList:
        return MessageList(self.history)

    def decide(self, state: MessageList, arrived: list[int], context: CallContext) -> Iterator[Choice]:
        state.add(self.items(arrived))
        tokens = context.prompt_tokens
        if tokens <= self.allowed:
            return
        count = int((len(state.turns) - 1) * self.strategy.fraction)
        count -= count % 2
        if count <= 0:
            return
        reason = f"hidden when the prompt had {tokens:,} tokens"
        removed = Decision(RemoveBlock(), reason)
        hidden = [block for turn in state.turns[1 : count + 1] for block in turn.blocks]
        del state.turns[1 : count + 1]
        for block in hidden[:-1]:
            yield Choice(block, removed)
        note = f"[Sliding window truncation: {count} messages hidden to reduce context]"
        yield Choice(hidden[-1], Decision(ReplaceWithMessage(note, BlockKind.USER_TEXT), reason))
