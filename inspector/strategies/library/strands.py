"""Strands' two rules: a sliding window of messages, and a preview of large results at insertion."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.session.model import TextUnavailableError
from inspector.strategies.core.batching import ScheduleBuilder
from inspector.strategies.core.operations import Action, BlockSource, RemoveBlock, Rendition, sent_text
from inspector.strategies.core.strategy import (
    Choice,
    Decision,
    Parametrized,
    choice,
    integer,
    model_window,
    switch,
    window_of,
)
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.history import ASSISTANT, NEVER, TOOL_CALL, TOOL_RESULT, History

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.core.strategy import CallContext, Schedule
    from inspector.strategies.history.conversation_items import ConversationItem


_KEPT = 200
_MARK = "... [truncated:"


@dataclass(frozen=True, slots=True)
class CutOnce:
    """Keep both ends of a text that was not cut this way before, and describe its images in words."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        images = source.block.media if rendition.action in (Action.WHOLE, Action.CUT) else ()
        length = rendition.length
        if length <= 2 * _KEPT and not images:
            return rendition
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        notes = [f"[image: {image.media_type.rpartition('/')[2]}, {image.size_bytes} bytes]" for image in images]
        phrase = "".join(f"\n{note}" for note in notes)
        if length <= 2 * _KEPT or _MARK in text:
            return Rendition((*rendition.pieces, phrase), Action.REPLACED, rendition.kind) if images else rendition
        marker = f"...\n\n... [truncated: {length - 2 * _KEPT} chars removed] ...\n\n..."
        ends = (*rendition.between(0, _KEPT), marker, *rendition.between(length - _KEPT, length))
        if images:
            return Rendition((*ends, phrase), Action.REPLACED, rendition.kind)
        return Rendition(ends, Action.CUT, rendition.kind)


@dataclass(frozen=True)
class StrandsWindow(Parametrized):
    """Drop the oldest messages of a conversation with too many.

    Source: `SlidingWindowConversationManager` of strands-agents 1.62
    (`agent/conversation_manager/sliding_window_conversation_manager.py`). When a run of the agent ends with more
    messages than the window holds, the oldest are dropped: up to a user message that is not a tool result or, if there
    is none, up to a tool call with its result. During a run that happens only with `per-turn`.

    When a prompt overflows the model's window, the oldest message with results has them cut to head and tail instead.
    If that was done before, messages are dropped again, so no other results are ever cut.
    """

    name = "strands-window"
    title = "Sliding window (Strands)"
    summary = (
        "When a run ends with too many messages, drop the oldest; when a prompt overflows, cut the oldest results."
    )
    source = "strands-agents 1.62 SlidingWindowConversationManager"
    note = (
        "If there is no later user text, the list begins with an assistant tool call, which Anthropic's API refuses; "
        "`pin-first=1` prevents it."
    )

    window_size: int = integer(40, "Maximum messages; all results of a batch are one.", "messages", maximum=10_000)
    per_turn: int = integer(
        0, "Also drop messages before every Nth call; 0 for the end of a run only.", "calls", maximum=10_000
    )
    truncate_results: bool = switch(True, "Cut results when a prompt overflows the window.")
    pin_first: int = integer(0, "Number of first messages that are never dropped.", "messages", maximum=1_000)
    window: int = model_window()

    def start(self, history: History) -> StrandsWindowRun:
        return StrandsWindowRun(self, history)


@dataclass
class _Window:
    """One conversation. Places index all messages ever added; those before `start` are removed unless pinned.

    Attributes:
        messages: Blocks of each message.
        plain: Places of user messages without results.
        pairs: Places of messages with calls that are followed by results.
        results: Places of messages with results.
        asks: Places of messages with calls.
        numbers: The message number of each.
        pinned: Places that are never dropped.
        start: First place not removed.
        is_pinned: True once the first messages have been pinned.
    """

    messages: list[list[int]] = field(default_factory=list)
    plain: list[int] = field(default_factory=list)
    pairs: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    asks: set[int] = field(default_factory=set)
    numbers: list[int] = field(default_factory=list)
    pinned: list[int] = field(default_factory=list)
    start: int = 0
    is_pinned: bool = False
    calls: int = 0

    @property
    def count(self) -> int:
        return len(self.messages) - self.start + bisect_left(self.pinned, self.start)

    def place(self, position: int) -> int:
        """Return the place of the message at a position of the current list."""
        before = bisect_left(self.pinned, self.start)
        return self.pinned[position] if position < before else self.start + position - before

    def next_of(self, places: list[int], place: int) -> int | None:
        """Return the first of some places, at or after `place`, that is not removed."""
        at = bisect_left(places, max(place, self.start))
        return places[at] if at < len(places) else None


class StrandsWindowRun(ThreadRun[StrandsWindow, _Window]):
    """A run of the window on one session. `window`: the model's context window in tokens."""

    def __init__(self, strategy: StrandsWindow, history: History) -> None:
        super().__init__(strategy, history)
        self.window = window_of(history, strategy.window)
        self._cut: set[int] = set()

    def begin(self) -> _Window:
        return _Window()

    def restored(self, arrived: list[int]) -> list[Choice]:
        """Reset arrived blocks and allow them to be cut again."""
        self._cut.difference_update(arrived)
        return super().restored(arrived)

    def decide(self, state: _Window, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        choices: list[Choice] = []
        for item in self.items(arrived):
            if state.calls and self._begins_run(state, item):
                choices += self._manage(state)
            self._add(state, item)
        state.calls += 1
        if self.strategy.per_turn and state.calls % self.strategy.per_turn == 0:
            choices += self._manage(state)
        return [*choices, *self._recover(state, context, (*self.again, *choices))]

    def _begins_run(self, state: _Window, item: ConversationItem) -> bool:
        """Return True if the item is a question after an answer, not after results."""
        answered = bool(state.messages) and len(state.messages) - 1 not in state.results[-1:]
        return answered and self.asks(item) and not self._is_plain(state, len(state.messages) - 1)

    def _is_plain(self, state: _Window, place: int) -> bool:
        return place in state.plain[-1:]

    def _add(self, state: _Window, item: ConversationItem) -> None:
        kinds = {self.history.kind_bytes[block] for block in item.blocks}
        last = len(state.messages) - 1
        in_results = last >= 0 and last in state.results[-1:]
        # The results of a batch are one message, together with user text in it.
        if in_results and (item.is_result or item.message == state.numbers[last]):
            state.messages[last].extend(item.blocks)
            return
        place = last + 1
        state.messages.append(list(item.blocks))
        state.numbers.append(item.message)
        if item.is_result:
            state.results.append(place)
            if last in state.asks:
                state.pairs.append(last)
        elif TOOL_CALL in kinds:
            state.asks.add(place)
        elif not kinds & ASSISTANT:
            state.plain.append(place)

    def _manage(self, state: _Window) -> list[Choice]:
        if state.count <= self.strategy.window_size:
            return []
        self._pin(state)
        return self._drop(state) or []

    def _pin(self, state: _Window) -> None:
        if state.is_pinned or not self.strategy.pin_first:
            return
        state.is_pinned = True
        pinned = set(range(min(self.strategy.pin_first, len(state.messages))))
        # A call is pinned with its results, and the other way round.
        pinned |= {place + 1 for place in state.pairs if place in pinned}
        state.pinned = sorted(pinned | {place for place in state.pairs if place + 1 in pinned})

    def _drop(self, state: _Window) -> list[Choice] | None:
        """Drop messages from the beginning; None if none can be dropped."""
        size = self.strategy.window_size
        if size == 0:
            return self._dropped(state, len(state.messages))
        position = 2 if state.count <= size else state.count - size
        if position >= state.count:
            return None
        place = state.place(position)
        until = state.next_of(state.plain, place)
        if until is None:
            until = state.next_of(state.pairs, place)
        return None if until is None else self._dropped(state, until) or None

    def _dropped(self, state: _Window, until: int) -> list[Choice]:
        decision = Decision(RemoveBlock(), f"before the newest {self.strategy.window_size} messages")
        pinned = set(state.pinned)
        gone = [block for place in range(state.start, until) if place not in pinned for block in state.messages[place]]
        state.start = max(state.start, until)
        return [Choice(block, decision) for block in gone]

    def _recover(self, state: _Window, context: CallContext, made: Iterable[Choice]) -> Iterator[Choice]:
        """Cut or drop until the prompt fits the window, or nothing more can be done."""
        left = {choice.block: context.tokens_under(choice) for choice in made}
        tokens = context.prompt_tokens - sum(context.tokens(block) - now for block, now in left.items())
        while tokens > self.window:
            self._pin(state)
            cut = self._cut_oldest(state, context) if self.strategy.window_size else []
            choices = cut or self._drop(state)
            if not choices:
                return
            for each in choices:
                now = context.tokens_under(each)
                tokens += now - left.get(each.block, context.tokens(each.block))
                left[each.block] = now
            yield from choices

    def _cut_oldest(self, state: _Window, context: CallContext) -> list[Choice]:
        pinned = set(state.pinned)
        at = bisect_left(state.results, state.start)
        while at < len(state.results) and state.results[at] in pinned:
            at += 1
        if at == len(state.results) or not self.strategy.truncate_results:
            return []
        decision = Decision(CutOnce(), "the oldest results when the prompt overflowed")
        blocks = [block for block in state.messages[state.results[at]] if self._is_cuttable(context, block)]
        self._cut.update(blocks)
        return [Choice(block, decision) for block in blocks]

    def _is_cuttable(self, context: CallContext, block: int) -> bool:
        if block in self._cut or self.history.kind_bytes[block] != TOOL_RESULT:
            return False
        rendition = context.rendition(block)
        images = self.history.session.blocks[block].media
        if images and rendition.action in (Action.WHOLE, Action.CUT):
            return True
        try:
            return rendition.length > 2 * _KEPT and _MARK not in context.text(block)
        except TextUnavailableError:
            return False


_PER_TOKEN = 4
_HEAD_SHARE = {"head-tail": 0.6, "head": 1.0, "tail": 0.0}


@dataclass(frozen=True, slots=True)
class PreviewText:
    """Keep a shorter preview of a text: so many characters, a share of them from its head."""

    characters: int
    share: float

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  the length suffices
        length = rendition.length
        if length <= self.characters:
            return rendition
        head = int(self.characters * self.share)
        tail = self.characters - head
        title = f"[Truncated: 1 block, ~{-(-length // _PER_TOKEN):,} tokens]\n\n"
        marker = f"[... {length - self.characters:,} chars elided ...]"
        before, after = "\n\n" if head else "", "\n\n" if tail else ""
        if len(title) + head + len(before) + len(marker) + len(after) + tail >= length:
            return rendition
        pieces = (
            title,
            *rendition.between(0, head),
            before + marker + after,
            *(rendition.between(length - tail, length) if tail else ()),
        )
        return Rendition(pieces, Action.CUT, rendition.kind)


@dataclass(frozen=True)
class StrandsOffload(Parametrized):
    """Keep a preview of large results, once, when they are inserted.

    Source: strands-agents 1.62 `_context_manager` (preset `large_tool_offloading`, `methods/truncate.py`). Results that
    report success and are over a threshold keep a preview: head and tail, three to two, or one of them. A result stays
    if the preview would not be shorter. The program's stored copy and its reference are omitted here.
    """

    name = "strands-offload"
    title = "Preview at insertion (Strands)"
    summary = "Insert a preview of results over a threshold, unless they report failure."
    source = "strands-agents 1.62 _context_manager, preset large_tool_offloading"

    threshold: int = integer(
        2_500,
        "Largest result inserted whole, at four characters per token.",
        "tokens",
        maximum=10**6,
    )
    preview_tokens: int = integer(
        1_000, "Length of the preview, at four characters per token.", "tokens", maximum=1_000_000
    )
    preview: str = choice(("head-tail", "head", "tail"), "Part of the result to keep.")

    def schedule(self, history: History) -> Schedule:
        builder = ScheduleBuilder(history)
        results = history.results[history.enters[history.results] != NEVER]
        large = results[(history.characters[results] > self.threshold * _PER_TOKEN) & ~history.is_error[results]]
        operation = PreviewText(self.preview_tokens * _PER_TOKEN, _HEAD_SHARE[self.preview])
        builder.add_at_insertion(large, Decision(operation, "large at insertion"))
        return builder.schedule()
