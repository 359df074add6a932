"""Condense an event log that has grown too long, as the OpenHands SDK does it.

Source: `LLMSummarizingCondenser` of openhands-sdk 1.58 (`openhands/sdk/context/condenser`), with the limits of its
default agent. Before every call the events are counted. With more of them than the limit, or more tokens than the
model takes, everything between the first events and the newest is replaced by one summary, so that half of the limit
is left. A cut falls only where no tool call is parted from its result, no response from itself and no run of calls from
the thinking before it, and nothing happens where less than a tenth could be condensed; when the tokens are too many,
everything is condensed then.

No model is asked for the summary: a text of the length it is taken to have stands in for it, so that what follows is
projected. The system text counts as an event where it is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from inspector.session.model import BlockKind
from inspector.strategies.base import Choice, Decision
from inspector.strategies.event_log import Event, EventLog, events_in
from inspector.strategies.kinds import SYSTEM_TEXT
from inspector.strategies.operations import RemoveBlock
from inspector.strategies.settings import model_window, number, summary_length, whole
from inspector.strategies.speeches import SayInstead
from inspector.strategies.summarize import stand_in
from inspector.strategies.thread_runs import Reader, sent_again
from inspector.strategies.tunable import Tunable
from inspector.strategies.windows import window_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.base import Moment
    from inspector.strategies.history import History


@dataclass(frozen=True)
class OpenHandsCondenser(Tunable):
    """Replace the middle of a long event log by a summary."""

    name: ClassVar[str] = "openhands-condenser"
    title: ClassVar[str] = "Condenser (OpenHands)"
    summary: ClassVar[str] = (
        "When events are too many, replace those between the first and the newest by a summary of an assumed length."
    )
    source: ClassVar[str] = "openhands-sdk 1.58 LLMSummarizingCondenser; limits of its default agent"

    max_size: int = whole(
        "max-size",
        80,
        "How many events are sent at most; with one more, half as many are. The class alone has 240.",
        "events",
        minimum=4,
        maximum=10_000,
    )
    keep_first: int = whole(
        "keep-first", 4, "How many of the first events stay; the class alone has 2.", "events", maximum=1_000
    )
    max_tokens: int = whole(
        "max-tokens", 0, "Most tokens that are sent; 0 for as many as the window holds.", "tokens", maximum=10_000_000
    )
    minimum_progress: float = number(
        "minimum-progress",
        0.1,
        "Smallest part of the events that is worth condensing.",
        minimum=0.0,
        maximum=1.0,
    )
    window: int = model_window()
    summary_tokens: int = summary_length()

    def start(self, history: History) -> OpenHandsCondenserRun:
        """A fresh run over one session."""
        limits = [limit for limit in (self.max_tokens, window_of(history, self.window)) if limit]
        return OpenHandsCondenserRun(self, history, Reader(history), min(limits))


@dataclass
class OpenHandsCondenserRun:
    """The condensing at work on one session.

    Attributes:
        strategy: The values.
        history: What was recorded.
        reader: Reads what arrives.
        max_tokens: Most tokens that are sent.
    """

    strategy: OpenHandsCondenser
    history: History
    reader: Reader
    max_tokens: int
    _threads: dict[int, EventLog] = field(default_factory=dict)
    _condensed: dict[int, int] = field(default_factory=dict)
    _gone: set[int] = field(default_factory=set)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Take in what arrived, then condense if there is a reason to."""
        number = self.reader.thread(moment)
        arrived = self.reader.arrived(moment)
        choices: list[Choice] = []
        if moment.starts_context or number not in self._threads:
            self._threads[number] = self._new_log(arrived)
            self._condensed[number] = 0
            choices = sent_again(self._gone, arrived)
        log = self._threads[number]
        for entry in self.reader.entries(arrived):
            for event in events_in(self.history, entry):
                log.add(event)
        tokens = moment.prompt_tokens
        too_many = len(log.events) > self.strategy.max_size
        if too_many or tokens > self.max_tokens:
            part = self._part(log, moment, tokens, too_many=too_many)
            if part is not None:
                choices.extend(self._condense(number, part, moment))
        return choices

    def _new_log(self, arrived: list[int]) -> EventLog:
        log = EventLog()
        if any(self.history.kind_bytes[block] == SYSTEM_TEXT for block in arrived):
            log.add(Event(-1, ()))
        return log

    def _part(self, log: EventLog, moment: Moment, tokens: int, *, too_many: bool) -> tuple[int, int] | None:
        """The events to condense, from one place to another."""
        target = self.strategy.max_size // 2
        first = min(self.strategy.keep_first, target - 2)
        kept = [target - first - 1] if too_many else []
        if tokens > self.max_tokens:
            kept.append(self._kept_within(log.events[first:], moment, tokens - self.max_tokens // 2))
        start = log.next_cut(first)
        stop = log.next_cut(len(log.events) - min(kept))
        if start is not None and stop is not None:
            enough = stop - start >= len(log.events) * self.strategy.minimum_progress
            if stop > start and enough:
                return start, stop
        # Too many events can wait; too many tokens cannot, and then nothing of the log is kept.
        return (0, len(log.events)) if tokens > self.max_tokens and log.events else None

    def _kept_within(self, events: list[Event], moment: Moment, excess: int) -> int:
        """How many of the newest events may stay when so many tokens have to go."""
        for count, event in enumerate(events):
            if excess < 0:
                return len(events) - count
            excess -= moment.total_tokens(event.blocks)
        return 0

    def _condense(self, number: int, part: tuple[int, int], moment: Moment) -> Iterator[Choice]:
        log = self._threads[number]
        reason = f"condensed {len(log.events):,} events"
        blocks = [block for event in log.events[slice(*part)] for block in event.blocks]
        if not blocks:
            return
        moment.note_model_call(moment.total_tokens(blocks), self.strategy.summary_tokens)
        self._condensed[number] += part[1] - part[0]
        text = stand_in(self._condensed[number], self.strategy.summary_tokens)
        log.replace(*part, Event(-1, (blocks[0],)))
        self._gone.update(blocks)
        yield Choice(blocks[0], Decision(SayInstead(text, BlockKind.USER_TEXT), reason))
        removed = Decision(RemoveBlock(), reason)
        for block in blocks[1:]:
            yield Choice(block, removed)
