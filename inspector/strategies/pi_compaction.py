"""Compact a conversation that fills the window, as pi does it.

Source: `core/compaction` and `core/agent-session.js` of @mariozechner/pi-coding-agent 0.73.1. When a run of the agent
has ended and the last response's tokens, prompt and answer, leave less of the window than is reserved, everything
before the newest messages is replaced by one message of the user with a summary. During a run nothing is compacted
until the window overflows. The cut falls on the first message of the user or the model at or after the point from which
on the newest messages come to the tokens that are kept, never on a tool result; where a single newest result is as
large as that, there is no such message, and nothing goes.

No model is asked for the summary: a text of the length it is taken to have stands in for it, so that what follows is
projected.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from inspector.session.model import BlockKind
from inspector.strategies import javascript
from inspector.strategies.base import Choice, Decision
from inspector.strategies.estimators import ARGUMENT_UNITS, UNITS
from inspector.strategies.event_log import Event, messages_in
from inspector.strategies.kinds import ASSISTANT, MEDIA, TOOL_CALL, TOOL_RESULT, USER_TEXT
from inspector.strategies.operations import RemoveBlock
from inspector.strategies.settings import model_window, summary_length, whole
from inspector.strategies.speeches import SayInstead
from inspector.strategies.summarize import stand_in
from inspector.strategies.thread_runs import Reader, sent_again
from inspector.strategies.tunable import Tunable
from inspector.strategies.windows import USUAL_WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.base import Moment
    from inspector.strategies.history import History

_OPENING = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
_CLOSING = "\n</summary>"
_PER_TOKEN = 4
_PER_IMAGE = 4_800


def pi_tokens(moment: Moment, blocks: Iterable[int]) -> int:
    """What pi takes a message for: `estimateTokens` (`core/compaction/compaction.js`), a quarter of its characters."""
    history, characters = moment.history, 0
    for index in blocks:
        block, kind = history.session.blocks[index], history.kind_bytes[index]
        if kind == TOOL_CALL:
            characters += javascript.length(block.tool_name) + ARGUMENT_UNITS.sent(moment, index)
        elif kind not in MEDIA:
            characters += UNITS.sent(moment, index)
            characters += _PER_IMAGE * len(block.media) if kind == TOOL_RESULT else 0
    return -(-characters // _PER_TOKEN)


@dataclass(frozen=True)
class PiCompaction(Tunable):
    """Replace all but the newest messages by a summary once the window is nearly full."""

    name: ClassVar[str] = "pi-compaction"
    title: ClassVar[str] = "Compaction (pi)"
    summary: ClassVar[str] = (
        "When a run ended with the window nearly full, or overflows it, replace all but the newest messages by a "
        "summary of an assumed length."
    )
    source: ClassVar[str] = "@mariozechner/pi-coding-agent 0.73.1 core/compaction/compaction.js"

    reserve: int = whole("reserve", 16_384, "What is to be left of the window.", "tokens", maximum=1_000_000)
    keep: int = whole("keep", 20_000, "What the newest messages that stay come to.", "tokens", maximum=1_000_000)
    window: int = model_window()
    summary_tokens: int = summary_length()

    def start(self, history: History) -> PiCompactionRun:
        """A fresh run over one session."""
        recorded = history.session.window if history.window is None else history.window
        window = self.window or (USUAL_WINDOW if recorded is None else recorded)
        return PiCompactionRun(self, history, Reader(history), window)


@dataclass
class _Thread:
    """One conversation.

    Attributes:
        messages: All of them, those that are gone included.
        sums: For each, what it and all before it are taken for.
        cuts: Those a cut may fall on.
        start: The first that is not gone.
        summary: The block that carries the summary, -1 for none yet.
        summarized: How many messages it stands for.
        has_called: Whether a call was made before.
    """

    messages: list[Event] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    start: int = 0
    summary: int = -1
    summarized: int = 0
    has_called: bool = False

    def add(self, message: Event, tokens: int) -> None:
        """Take in a message."""
        if not message.is_result:
            self.cuts.append(len(self.messages))
        self.sums.append(tokens + (self.sums[-1] if self.sums else 0))
        self.messages.append(message)

    def cut(self, keep: int) -> int:
        """The first message that stays when the newest are to come to `keep` tokens."""
        first = bisect_left(self.cuts, self.start)
        if first == len(self.cuts):
            return self.start
        total = self.sums[-1]
        # The last message from which on everything comes to as much: sums[at - 1] <= total - keep.
        at = min(bisect_right(self.sums, total - keep), len(self.sums) - 1)
        if keep > total - (self.sums[self.start - 1] if self.start else 0):
            return self.cuts[first]
        place = bisect_left(self.cuts, max(at, self.start))
        return self.cuts[place] if place < len(self.cuts) else self.cuts[first]


@dataclass
class PiCompactionRun:
    """The compacting at work on one session.

    Attributes:
        strategy: The values.
        history: What was recorded.
        reader: Reads what arrives.
        window: Size of the model's window in tokens.
    """

    strategy: PiCompaction
    history: History
    reader: Reader
    window: int
    _threads: dict[int, _Thread] = field(default_factory=dict)
    _gone: set[int] = field(default_factory=set)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Take in what arrived; compact before a new question where the window is nearly full, or when it overflows."""
        number = self.reader.thread(moment)
        arrived = self.reader.arrived(moment)
        choices: list[Choice] = []
        if moment.starts_context:
            self._threads[number] = _Thread()
            choices = sent_again(self._gone, arrived)
        thread = self._threads.setdefault(number, _Thread())
        used = moment.previous_prompt_tokens
        is_due = False
        for entry in self.reader.entries(arrived):
            for message in messages_in(self.history, entry):
                if thread.has_called and self._asks(message) and not is_due and self._is_full(used):
                    choices.extend(self._compact(thread, moment, used))
                    is_due = True
                if self._answers(message):
                    used += moment.total_tokens(message.blocks) if thread.has_called else 0
                thread.add(message, pi_tokens(moment, message.blocks))
        if not thread.has_called and moment.previous_prompt_tokens and self._is_full(used):
            choices.extend(self._compact(thread, moment, used))
        elif not choices and moment.prompt_tokens > self.window:
            choices.extend(self._compact(thread, moment, moment.prompt_tokens))
        thread.has_called = True
        return choices

    def _is_full(self, tokens: int) -> bool:
        return tokens > self.window - self.strategy.reserve

    def _asks(self, message: Event) -> bool:
        return not message.is_result and self.history.kind_bytes[message.blocks[0]] == USER_TEXT

    def _answers(self, message: Event) -> bool:
        return not message.is_result and self.history.kind_bytes[message.blocks[0]] in ASSISTANT

    def _compact(self, thread: _Thread, moment: Moment, tokens: int) -> Iterator[Choice]:
        cut = thread.cut(self.strategy.keep) if thread.messages else 0
        gone = [block for message in thread.messages[thread.start : cut] for block in message.blocks]
        if not gone:
            return
        moment.note_model_call(moment.total_tokens(gone), self.strategy.summary_tokens)
        thread.summarized += cut - thread.start
        thread.start = cut
        if thread.summary < 0:
            thread.summary = gone[0]
        self._gone.update(gone)
        reason = f"compacted at {tokens:,} tokens"
        summary = _OPENING + stand_in(thread.summarized, self.strategy.summary_tokens) + _CLOSING
        yield Choice(thread.summary, Decision(SayInstead(summary, BlockKind.USER_TEXT), reason))
        removed = Decision(RemoveBlock(), reason)
        for block in gone:
            if block != thread.summary:
                yield Choice(block, removed)
