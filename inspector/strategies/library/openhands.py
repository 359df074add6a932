"""OpenHands' condensers: the summarizing one of its SDK, and the masking and forgetting ones of 0.62.

All of them work on an event log: every text, tool call and observation is an event.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.core.batching import CONTEXT_RESET, Batching, ScheduleBuilder
from inspector.strategies.core.operations import Action, RemoveBlock, Rendition, ReplaceText, ReplaceWithMessage
from inspector.strategies.core.strategy import (
    AgentSettings,
    Choice,
    Decision,
    Parametrized,
    integer,
    model_window,
    number,
    summary_length,
    switch,
    tools,
    window_of,
)
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.arrival_order import arrivals, later
from inspector.strategies.history.conversation_items import CountedItems, Event, ItemKind, counted_items, split_events
from inspector.strategies.history.history import NEVER, SYSTEM_TEXT, History
from inspector.strategies.history.memo import TextMemo
from inspector.strategies.history.reads import url_of
from inspector.strategies.library.micro_x import summary_placeholder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.strategy import CallContext, Schedule


@dataclass
class EventLog:
    """Events as they are sent, with the positions where some may be taken out.

    A cut may be before an event unless it would separate two calls of one response, a call from its result, or a call
    or result from the thinking that began its run of calls.
    """

    events: list[Event] = field(default_factory=list)
    _cuts: list[int] = field(default_factory=list)
    _pending: set[str] = field(default_factory=set)
    _in_run: bool = False

    def add(self, event: Event) -> None:
        is_tool = bool(event.call)
        # A call with thinking begins a run, and nothing within a run is separated from it.
        follows_thinking = self._in_run and is_tool and not event.thinks
        if not self._pending and not self._same_response(event) and not follows_thinking:
            self._cuts.append(len(self.events))
        self._in_run = is_tool and (self._in_run or event.thinks)
        if event.is_action:
            self._pending.add(event.call)
        elif event.is_result:
            self._pending.discard(event.call)
        self.events.append(event)

    def _same_response(self, event: Event) -> bool:
        before = self.events[-1] if self.events else None
        return before is not None and event.is_action and before.is_action and before.message == event.message

    def next_cut(self, place: int) -> int | None:
        """Return the first position at or after `place` where a cut is allowed, or None."""
        at = bisect_left(self._cuts, place)
        if at < len(self._cuts):
            return self._cuts[at]
        return len(self.events) if not self._pending and place <= len(self.events) else None

    def replace(self, start: int, stop: int, event: Event) -> None:
        """Replace the events from `start` to `stop`, both allowed cuts, with one event."""
        kept = [*self.events[:start], event, *self.events[stop:]]
        self.events, self._cuts, self._pending, self._in_run = [], [], set(), False
        for each in kept:
            self.add(each)


@dataclass(frozen=True)
class OpenHandsCondenser(Parametrized):
    """Replace the middle of a long event log with a summary.

    Source: `LLMSummarizingCondenser` of openhands-sdk 1.58.2 (`sdk/context/condenser`), with the limits of its default
    agent. Before every call the events are counted. If there are more than the limit, or more tokens than the model
    accepts, one summary replaces everything between the first events and the newest, so that half of the limit is left.
    A cut never separates a tool call from its result, parts of a response from each other, or a run of calls from the
    thinking before it. Nothing happens if less than a tenth could be condensed; if there are too many tokens,
    everything is condensed then.

    No model writes the summary here: a placeholder of the assumed length replaces it, so later calls are projected. The
    system text counts as an event if it is recorded.
    """

    name = "openhands-condenser"
    title = "Condenser (OpenHands)"
    summary = (
        "When there are too many events, replace those between the first and the newest with a summary of assumed "
        "length."
    )
    source = "openhands-sdk 1.58.2 LLMSummarizingCondenser; limits of its default agent"

    max_size: int = integer(
        80,
        "Maximum events sent; one more cuts them to half. The class itself has 240.",
        "events",
        minimum=4,
        maximum=10_000,
    )
    keep_first: int = integer(4, "Number of first events kept; the class itself has 2.", "events", maximum=1_000)
    max_tokens: int = integer(0, "Maximum tokens sent; 0 for the size of the window.", "tokens", maximum=10_000_000)
    minimum_progress: float = number(
        0.1,
        "Smallest fraction of the events worth condensing.",
        minimum=0.0,
        maximum=1.0,
    )
    window: int = model_window()
    summary_tokens: int = summary_length()

    def triggers(self, window: int) -> tuple[float, ...]:
        return (min(self.max_tokens or (self.window or window), self.window or window),)

    def start(self, history: History) -> OpenHandsCondenserRun:
        return OpenHandsCondenserRun(self, history)


@dataclass
class _Condensed:
    """One conversation: its events as sent, empty before a call, and how many its summary replaces."""

    log: EventLog | None = None
    events: int = 0


class OpenHandsCondenserRun(ThreadRun[OpenHandsCondenser, _Condensed]):
    """A run of the condenser on one session."""

    def __init__(self, strategy: OpenHandsCondenser, history: History) -> None:
        super().__init__(strategy, history)
        window = window_of(history, strategy.window)
        self.max_tokens = min(strategy.max_tokens or window, window)

    def begin(self) -> _Condensed:
        return _Condensed()

    def decide(self, state: _Condensed, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        log = state.log
        if log is None:
            log = state.log = self._new_log(arrived)
        for item in self.items(arrived):
            for event in split_events(self.history, item):
                log.add(event)
        tokens = context.prompt_tokens
        too_many = len(log.events) > self.strategy.max_size
        if too_many or tokens > self.max_tokens:
            part = self._part(log, context, tokens, too_many=too_many)
            if part is not None:
                return self._condense(state, log, part, context)
        return ()

    def _new_log(self, arrived: list[int]) -> EventLog:
        log = EventLog()
        if any(self.history.kind_bytes[block] == SYSTEM_TEXT for block in arrived):
            log.add(Event(-1, ()))
        return log

    def _part(self, log: EventLog, context: CallContext, tokens: int, *, too_many: bool) -> tuple[int, int] | None:
        target = self.strategy.max_size // 2
        first = min(self.strategy.keep_first, target - 2)
        kept = [target - first - 1] if too_many else []
        if tokens > self.max_tokens:
            kept.append(self._kept_within(log.events[first:], context, tokens - self.max_tokens // 2))
        start = log.next_cut(first)
        stop = log.next_cut(len(log.events) - min(kept))
        if start is not None and stop is not None:
            enough = stop - start >= len(log.events) * self.strategy.minimum_progress
            if stop > start and enough:
                return start, stop
        # Too many events can wait. Too many tokens cannot, so the entire log is condensed.
        return (0, len(log.events)) if tokens > self.max_tokens and log.events else None

    def _kept_within(self, events: list[Event], context: CallContext, excess: int) -> int:
        """Return how many of the newest events may stay if a number of tokens must be removed."""
        for count, event in enumerate(events):
            if excess < 0:
                return len(events) - count
            excess -= context.total_tokens(event.blocks)
        return 0

    def _condense(
        self, state: _Condensed, log: EventLog, part: tuple[int, int], context: CallContext
    ) -> Iterator[Choice]:
        reason = f"condensed {len(log.events):,} events"
        blocks = [block for event in log.events[slice(*part)] for block in event.blocks]
        if not blocks:
            return
        context.note_model_call(context.total_tokens(blocks), self.strategy.summary_tokens)
        state.events += part[1] - part[0]
        text = summary_placeholder(state.events, self.strategy.summary_tokens)
        log.replace(*part, Event(-1, (blocks[0],)))
        yield Choice(blocks[0], Decision(ReplaceWithMessage(text, BlockKind.USER_TEXT), reason))
        removed = Decision(RemoveBlock(), reason)
        for block in blocks[1:]:
            yield Choice(block, removed)


MASK = "<MASKED>"
_CURRENT_URL = re.compile(r"\[Current URL: ([^\]\n]*)\]")


@dataclass(frozen=True)
class MaskObservations(Batching):
    """Replace observations before the newest events with a mask.

    Source: `ObservationMaskingCondenser` and `BrowserOutputCondenser` of OpenHands 0.62
    (`openhands/memory/condenser/impl`). Both look at the whole event log before every call. The first counts events:
    every text, tool call and observation, so a window of ten holds about five steps. The second counts only
    observations of the browser.
    """

    name = "mask-observations"
    title = "Mask observations"
    summary = "Keep the newest events whole and mask every earlier tool result."
    source = "ObservationMaskingCondenser, OpenHands 0.62 openhands/memory/condenser/impl"
    agent_settings = AgentSettings({"window": "attention_window"}, {"type": "observation_masking"})

    window: int = integer(
        100,
        "Newest events kept whole; the class itself has 5, its configuration 100.",
        "events",
        minimum=1,
        maximum=10_000,
    )

    def schedule(self, history: History) -> Schedule:
        """Mask a result at the call that adds the event `window` positions after it."""
        builder = ScheduleBuilder(history)
        masked = Decision(ReplaceText(MASK), f"before the newest {self.window} events")
        for items in counted_items(history, ItemKind.EVENTS):
            result = items.kinds(history) == BlockKind.TOOL_RESULT
            blocks = items.blocks[items.first]
            retained = result.copy()
            retained[items.retained :] = False
            builder.add(blocks[retained], items.calls[retained], CONTEXT_RESET)
            builder.add(blocks[result], later(items.calls, self.window)[result], masked)
        return builder.schedule()


def _url_in(text: str) -> str:
    found = _CURRENT_URL.search(text)
    return found.group(1) if found else ""


_shown_url = TextMemo(_url_in, "")


@dataclass(frozen=True)
class MaskBrowserOutput(Batching):
    """Replace earlier browser output with its address: `BrowserOutputCondenser` of OpenHands 0.62."""

    name = "mask-browser-output"
    title = "Mask browser output"
    summary = "Keep the browser's newest results whole, and only the address of earlier ones."
    source = "BrowserOutputCondenser, OpenHands 0.62 openhands/memory/condenser/impl"
    agent_settings = AgentSettings({"window": "attention_window"}, {"type": "browser_output_masking"})

    window: int = integer(1, "Number of newest browser results kept whole.", "results", minimum=1, maximum=1_000)
    tools: tuple[str, ...] = tools((), "Tools that show web pages, in addition to those named browser….")

    def schedule(self, history: History) -> Schedule:
        """Mask a result at the call that adds the browser's result `window` positions after it."""
        builder = ScheduleBuilder(history)
        browser = np.array([*(self._is_browser(name) for name in history.tool_names), False], dtype=np.bool_)
        chosen = (history.kind == BlockKind.TOOL_RESULT) & browser[history.tool]
        for context in arrivals(history, chosen):
            builder.restore(context)
            decisions = [builder.index_of(self._masked(history, block)) for block in context.blocks.tolist()]
            builder.add_each(context.blocks, later(context.calls, self.window), np.array(decisions, dtype=np.int32))
        return builder.schedule()

    def _is_browser(self, tool: str) -> bool:
        return tool in self.tools or tool.rsplit("__", 1)[-1].lower().startswith("browse")

    def _masked(self, history: History, block: int) -> Decision:
        session = history.session
        call = int(history.call_block[block])
        url = _shown_url(session, session.blocks[block]) or (url_of(session, session.blocks[call]) if call >= 0 else "")
        return Decision(ReplaceText(f"Visited URL {url}\nContent omitted"), "an earlier page")


@dataclass(frozen=True, slots=True)
class DuplicateText:
    """Send a text twice in a row."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  same for every text
        return Rendition((*rendition.pieces, *rendition.pieces), Action.CUT, rendition.kind)


def _forgetting(
    history: History,
    decision: Decision,
    forgotten: Callable[[CountedItems], NDArray[np.int32]],
    repeated: Callable[[ScheduleBuilder, CountedItems], None] | None = None,
) -> Schedule:
    """Remove events, and events that would be left without their counterpart.

    Args:
        forgotten: Returns, per event of a context, the call it is forgotten at, `NEVER` for one that stays.
        repeated: Adds the decisions about events of a context that are sent more than once.
    """
    builder = ScheduleBuilder(history)
    place = np.full(len(history.kind), -1, dtype=np.int32)
    for items in counted_items(history, ItemKind.EVENTS):
        gone = forgotten(items)
        place[items.blocks] = items.item
        results = items.blocks[items.first[items.kinds(history) == BlockKind.TOOL_RESULT]]
        calls = history.call_block[results]
        paired = calls >= 0
        paired[paired] &= place[calls[paired]] >= 0
        ends = place[results[paired]], place[calls[paired]]
        earlier = np.minimum(gone[ends[0]], gone[ends[1]])
        for end in ends:
            np.minimum.at(gone, end, earlier)
        place[items.blocks] = -1
        if items.retained:
            kept = items.item < items.retained
            builder.add(items.blocks[kept], items.calls[items.item[kept]], CONTEXT_RESET)
        # An event forgotten before it is sent is forgotten when it would be sent.
        at = np.where(gone == NEVER, NEVER, np.maximum(gone, items.calls))
        if repeated is not None:
            repeated(builder, items)
        builder.add(items.blocks, at[items.item].astype(np.int32), decision)
    return builder.schedule()


@dataclass(frozen=True)
class RecentEvents(Batching):
    """Send the first and the newest events only.

    Source: `RecentEventsCondenser` and `AmortizedForgettingCondenser` of OpenHands 0.62
    (`openhands/memory/condenser/impl`). The first keeps the newest `max-events`, so every new event pushes another one
    out. The second lets the log grow to its limit and then forgets down to half of it, which breaks the cached prompt
    less often. The program builds messages from the remaining events, so a tool call without its observation is not
    sent, and the other way round.

    The first condenser sends its first events twice while the log is shorter than its limit, or always if the limit is
    no larger than the number of first events. Here they are sent once. With `twice`, texts are sent twice as in the
    program, but each copy directly follows its text, while the program puts the copies after the last of them.
    """

    name = "recent-events"
    title = "Recent events"
    summary = "Keep the first and the newest events; every new one pushes an old one out."
    source = "RecentEventsCondenser, OpenHands 0.62 openhands/memory/condenser/impl"
    agent_settings = AgentSettings(
        {"keep-first": "keep_first", "max-events": "max_events", "twice": ""}, {"type": "recent"}
    )

    keep_first: int = integer(1, "Number of first events kept; they count toward the maximum.", "events", maximum=1_000)
    max_events: int = integer(
        100,
        "Maximum events sent; the class itself has 10, its configuration 100.",
        "events",
        minimum=1,
        maximum=10_000,
    )
    twice: bool = switch(False, "Like the program, send the first texts twice until the log is full.")

    def schedule(self, history: History) -> Schedule:
        """Remove an event at the call that adds the last of the later events sent in its place."""
        tail = self.max_events - self.keep_first

        def forgotten(items: CountedItems) -> NDArray[np.int32]:
            gone = np.full(len(items.calls), NEVER, dtype=np.int32)
            if tail > 0:
                gone[: max(len(gone) - tail, 0)] = items.calls[tail:]
                gone[: self.keep_first] = NEVER
            return gone

        def repeated(builder: ScheduleBuilder, items: CountedItems) -> None:
            first = items.blocks[items.first[: self.keep_first]]
            text = np.isin(history.kind[first], (BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT))
            builder.add(first[text], items.calls[: len(first)][text], Decision(DuplicateText(), "sent twice", "twice"))
            if tail > 0:
                once = later(items.calls, tail)[: len(first)][text]
                builder.add(first[text], once, Decision(None, "sent once from here on", "twice"))

        decision = Decision(RemoveBlock(), f"before the newest {max(tail, 0)} events")
        return _forgetting(history, decision, forgotten, repeated if self.twice else None)


@dataclass(frozen=True)
class AmortizedForgetting(Batching):
    """Forget half of too many events: `AmortizedForgettingCondenser` of 0.62; see `RecentEvents`."""

    name = "amortized-forgetting"
    title = "Amortized forgetting"
    summary = "When the log exceeds its limit, keep half as many events: the first and the newest."
    source = "AmortizedForgettingCondenser, OpenHands 0.62 openhands/memory/condenser/impl"
    agent_settings = AgentSettings({"max-size": "max_size", "keep-first": "keep_first"}, {"type": "amortized"})

    max_size: int = integer(
        100,
        "Maximum events sent; one more cuts them to half.",
        "events",
        minimum=2,
        maximum=10_000,
    )
    keep_first: int = integer(1, "Number of first events kept; less than half of the limit.", "events", maximum=1_000)

    def schedule(self, history: History) -> Schedule:
        """Forget events at the call that adds one too many."""
        target = self.max_size // 2
        head = min(self.keep_first, target - 1)

        def forgotten(items: CountedItems) -> NDArray[np.int32]:
            gone = np.full(len(items.calls), NEVER, dtype=np.int32)
            # Events `forgotten_to` and later are sent, and the first `head`.
            forgotten_to = head
            arriving, counts = np.unique(items.calls, return_counts=True)
            for call, arrived in zip(arriving.tolist(), np.cumsum(counts).tolist(), strict=True):
                if min(head, arrived) + arrived - forgotten_to > self.max_size:
                    keep_from = arrived - (target - head)
                    gone[forgotten_to:keep_from] = call
                    forgotten_to = keep_from
            return gone

        return _forgetting(history, Decision(RemoveBlock(), f"the log exceeded {self.max_size} events"), forgotten)
