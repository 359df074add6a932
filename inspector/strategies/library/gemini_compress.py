"""Replace the beginning of a conversation with a summary when half the window is full, as Gemini CLI does.

Source: `ChatCompressionService` of Gemini CLI 0.61 (`packages/core/src/context/chatCompressionService.ts`). Before a
request, the previous prompt is compared with a fraction of the window. Above it, results beyond the newest 50,000
tokens are cut to their ends, and everything before the last 30 % of the characters is replaced by a summary and an
acknowledgment from the model. The conversation is split only at a user message: a run of the agent that answers one
question is replaced entirely or not at all, so a single long run is never compressed.

No model writes the summary here: a placeholder of the assumed length replaces it, so later calls are projected. The two
requests that write and check the summary are recorded, so that they are charged. The real program refuses a summary
that would make the conversation longer; here its length is assumed.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind
from inspector.strategies.core import javascript
from inspector.strategies.core.measures import JSON_CHARACTERS
from inspector.strategies.core.operations import RecordedBlock, RemoveBlock, ReplaceWithMessage, sent_text
from inspector.strategies.core.parametrized import (
    Parametrized,
    integer,
    model_window,
    number,
    string,
    summary_length,
    window_of,
)
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.conversation_items import ConversationMessage, MessageList
from inspector.strategies.history.history import TOOL_CALL, TOOL_RESULT
from inspector.strategies.library.gemini_results import FILE, GEMINI_TEXT, KeepEnds
from inspector.strategies.library.summarize import summary_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.history import History

THANKS = "Got it. Thanks for the additional context!"
_AROUND = {True: len('{"role":"model","parts":[]}'), False: len('{"role":"user","parts":[]}')}
_TEXT = len('{"text":}')
_CALL = len('{"functionCall":{"id":,"name":,"args":}}')
_RESULT = len('{"functionResponse":{"id":,"name":,"response":{"output":}}}')


@dataclass(frozen=True)
class GeminiCompress(Parametrized):
    """Replace everything before the newest part of a conversation with a summary."""

    name = "gemini-compress"
    title = "Compress the chat (Gemini CLI)"
    summary = (
        "When a prompt has passed half the window, replace all but the newest part with a summary of assumed length."
    )
    source = "Gemini CLI 0.61 packages/core/src/context/chatCompressionService.ts"

    threshold: float = number(0.5, "Fraction of the window at which it compresses.", minimum=0.0, maximum=1.0)
    preserve: float = number(0.3, "Newest fraction of the characters that stays.", minimum=0.01, maximum=0.99)
    window: int = model_window()
    result_budget: int = integer(50_000, "Size of the newest results that are not cut.", "tokens", maximum=1_000_000)
    limit: int = integer(40_000, "Longest result that is never cut.", "characters", minimum=1, maximum=10_000_000)
    summary_tokens: int = summary_length()
    file: str = string(FILE, "File name shown for a cut result; {tool} and {id} come from the call.")

    def triggers(self, window: int) -> tuple[float, ...]:
        return ((self.window or window) * self.threshold,)

    def start(self, history: History) -> GeminiCompressRun:
        return GeminiCompressRun(self, history)


@dataclass
class _Chat:
    """One conversation.

    Attributes:
        messages: Its messages that are still sent, including the summary and the acknowledgment.
        replacements: Replacement texts by block: the summary and the acknowledgment.
        looked: Number of messages scanned.
        places: Indices of scanned user messages, where the conversation could be split.
    """

    messages: MessageList
    replacements: dict[int, str] = field(default_factory=dict)
    looked: int = 0
    places: list[int] = field(default_factory=list)


class GeminiCompressRun(ThreadRun[GeminiCompress, _Chat]):
    """A run of the compression on one session.

    Attributes:
        allowed: Maximum tokens of a prompt that is not compressed.
    """

    def __init__(self, strategy: GeminiCompress, history: History) -> None:
        super().__init__(strategy, history)
        self.allowed = window_of(history, strategy.window) * strategy.threshold

    def begin(self) -> _Chat:
        return _Chat(MessageList(self.history))

    def decide(self, state: _Chat, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        state.messages.add(self.items(arrived))
        previous = context.previous_prompt_tokens
        if previous and previous >= self.allowed and self._may_split(state):
            return self._compress(state, previous, context)
        return ()

    def _may_split(self, state: _Chat) -> bool:
        """Return True if the conversation can be split anywhere after its beginning."""
        turns, end = state.messages.turns, _end(state)
        state.places.extend(at for at in range(state.looked, end) if self._asks(turns[at]))
        state.looked = end
        return end > 0 and (self._ends_with_words(turns[end - 1]) or state.places[-1:] > [0])

    def _asks(self, turn: ConversationMessage) -> bool:
        return not turn.is_answer and all(self.history.kind_bytes[block] != TOOL_RESULT for block in turn.blocks)

    def _ends_with_words(self, turn: ConversationMessage) -> bool:
        return turn.is_answer and all(self.history.kind_bytes[block] != TOOL_CALL for block in turn.blocks)

    def _compress(self, state: _Chat, tokens: int, context: CallContext) -> Iterator[Choice]:
        past = state.messages.turns[: _end(state)]
        cuts = dict(self._cuts(past, context))
        sizes = [self._size(turn, state, cuts, context) for turn in past]
        split = self._split(past, state.places, sizes)
        gone = [block for turn in past[:split] for block in turn.blocks]
        if not gone:
            return
        read = context.total_tokens(gone)
        for _ in range(2):
            context.note_model_call(read, self.strategy.summary_tokens)
        reason = f"compressed when a prompt had {tokens:,} tokens"
        for choice in cuts.values():
            if choice.block not in gone:
                yield choice
        parts = [
            (BlockKind.USER_TEXT, summary_placeholder(split, self.strategy.summary_tokens)),
            (BlockKind.ASSISTANT_TEXT, THANKS),
        ]
        opening = []
        for block, (kind, text) in zip(gone, parts, strict=False):
            state.replacements[block] = text
            opening.append(ConversationMessage(kind is BlockKind.ASSISTANT_TEXT, [block], -1, ends_with_result=False))
            yield Choice(block, Decision(ReplaceWithMessage(text, kind), reason))
        for block in gone[len(parts) :]:
            yield Choice(block, Decision(RemoveBlock(), reason))
        state.messages.turns[:split] = opening
        shift = len(opening) - split
        state.looked += shift
        # The summary is a user message now.
        state.places = [0, *(at + shift for at in state.places if at >= split)]

    def _cuts(self, past: list[ConversationMessage], context: CallContext) -> Iterator[tuple[int, Choice]]:
        """Yield the cuts of results to their ends, for results beyond the budget that newer ones have used up."""
        operation = KeepEnds(self.strategy.limit, self.strategy.file)
        decision = Decision(
            operation, f"older than the newest {self.strategy.result_budget:,} tokens of results", "cut"
        )
        used = 0
        results = self.results([block for turn in past for block in turn.blocks])
        for block in reversed(results):
            tokens = GEMINI_TEXT.sent(context, block)
            if used + tokens > self.strategy.result_budget:
                source = RecordedBlock(self.history.session, block)
                before = context.rendition(block)
                after = operation.apply(before, source)
                if after is not before:
                    tokens = GEMINI_TEXT.of_text(sent_text(after, source) or "")
                    yield block, Choice(block, decision)
            used += tokens

    def _split(self, past: list[ConversationMessage], places: list[int], sizes: list[int]) -> int:
        before = list(accumulate(sizes, initial=0))
        target = before[-1] * (1 - self.strategy.preserve)
        first = bisect_left(places, target, key=before.__getitem__)
        if first < len(places):
            return places[first]
        if self._ends_with_words(past[-1]):
            return len(past)
        return places[-1] if places else 0

    def _size(self, turn: ConversationMessage, state: _Chat, cuts: dict[int, Choice], context: CallContext) -> int:
        blocks = self.history.session.blocks
        size = _AROUND[turn.is_answer] + max(len(turn.blocks) - 1, 0)
        for index in turn.blocks:
            block = blocks[index]
            named = javascript.json_length(block.tool_call_id) + javascript.json_length(block.tool_name)
            if index in state.replacements:
                size += _TEXT + javascript.json_length(state.replacements[index])
            elif index in cuts:
                source = RecordedBlock(self.history.session, index)
                after = KeepEnds(self.strategy.limit, self.strategy.file).apply(context.rendition(index), source)
                size += _RESULT + named + javascript.json_length(sent_text(after, source) or "")
            elif block.kind is BlockKind.TOOL_RESULT:
                size += _RESULT + named + JSON_CHARACTERS.sent(context, index)
            elif block.kind is BlockKind.TOOL_CALL:
                size += _CALL + named + context.length(index)
            else:
                size += _TEXT + JSON_CHARACTERS.sent(context, index)
        return size


def _end(state: _Chat) -> int:
    """Count the messages before the request itself."""
    turns = state.messages.turns
    return len(turns) if turns and turns[-1].is_answer else max(len(turns) - 1, 0)
