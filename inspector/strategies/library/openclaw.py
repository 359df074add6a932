"""Prune old tool results once the provider's cache has expired, as OpenClaw does it.

Source: context pruning of openclaw/openclaw@11b0d35 (`src/agents/pi-hooks/context-pruning`), mode `cache-ttl`. Nothing
happens until the time to live has passed since the last run of the agent ended, or since the last pruning. Then, if the
conversation is taken to fill enough of the window, large results before the newest assistant messages keep their head
and tail, and if that is not enough, results are cleared from the oldest on. What stands before the first message of the
user is never touched.

What was pruned is sent once: the next request, within the time to live, sends everything whole again, and pays for it.
Later versions keep it (variant `sticky`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from inspector.strategies.core import javascript
from inspector.strategies.core.estimators import ARGUMENT_UNITS
from inspector.strategies.core.measures import Measure, sent_text
from inspector.strategies.core.operations import RecordedBlock, ReplaceText
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.parametrized import (
    Parametrized,
    choice,
    model_window,
    number,
    switch,
    tools,
    whole,
    window_of,
    written,
)
from inspector.strategies.core.rendition import Action, Rendition
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.core.thread_runs import Reader
from inspector.strategies.history.history import ASSISTANT, MEDIA, TOOL_CALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.session.model import Block
    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.strategy import Moment
    from inspector.strategies.history.conversation_items import Entry
    from inspector.strategies.history.history import History


PER_IMAGE = 8_000
PER_TOKEN = 4
IMAGE_MARKER = "[image removed during context pruning]"
_WIDE = re.compile(
    "[\u2e80-\u9fff\ua000-\ua4ff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\uffe0-\uffe6\U00020000-\U0002fa1f]"
)
_PLANES = re.compile("[\U00020000-\U0002fbff]")
"""Characters whose two units count as one where wide ones are counted: those whose first unit is D840 to D87E."""


def weighted(text: str) -> int:
    """What a text is taken for, in characters: `estimateStringChars`."""
    units = javascript.length(text)
    if text.isascii() or not (wide := len(_WIDE.findall(text))):
        return units
    return units - len(_PLANES.findall(text)) + wide * (PER_TOKEN - 1)


WEIGHTED = Measure(weighted)


@dataclass(frozen=True, slots=True)
class SoftTrim:
    """Keep head and tail of a long result, and a note on how long it was; say where images were.

    Attributes:
        limit: Longest text that stays.
        head: Units kept from the beginning.
        tail: Units kept from the end.
    """

    limit: int
    head: int
    tail: int

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Trim what is sent so far."""
        images = images_of(source.block, rendition)
        if rendition.length * 2 <= self.limit and not images:
            return rendition
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        marks = "\n".join([IMAGE_MARKER] * images)
        joined = f"{text}\n{marks}" if text and marks else text or marks
        length = javascript.length(joined)
        if length <= self.limit or self.head + self.tail >= length:
            return Rendition.replaced(joined, rendition.kind) if images else rendition
        note = f"\n\n[Tool result trimmed: kept first {self.head} chars and last {self.tail} chars of {length} chars.]"
        if images:
            tail = javascript.tail(joined, self.tail) if self.tail else ""
            return Rendition.replaced(javascript.head(joined, self.head) + f"\n...\n{tail}{note}", rendition.kind)
        first, last = javascript.place(joined, self.head), javascript.place(joined, length - self.tail)
        pieces = (
            *rendition.between(0, first.whole),
            f"{javascript.HALF * first.splits}\n...\n{javascript.HALF * last.splits}",
            *rendition.between(last.whole + last.splits, rendition.length),
            note,
        )
        return Rendition(pieces, Action.CUT, rendition.kind)


def images_of(block: Block, rendition: Rendition) -> int:
    """How many images are sent with a result."""
    return len(block.media) if rendition.action in (Action.WHOLE, Action.CUT) else 0


@dataclass(frozen=True)
class OpenClawPrune(Parametrized):
    """Trim and clear old results when the cache has expired."""

    name: ClassVar[str] = "openclaw-prune"
    title: ClassVar[str] = "Prune when the cache expired (OpenClaw)"
    summary: ClassVar[str] = (
        "After a pause, keep head and tail of large old results, and clear the oldest if the window is still full."
    )
    source: ClassVar[str] = "openclaw/openclaw@11b0d35 src/agents/pi-hooks/context-pruning, mode cache-ttl"

    ttl: int = whole(300, "Pause after which the cache has expired.", "seconds", minimum=1, maximum=604_800)
    keep_assistants: int = whole(
        3, "Newest assistant messages, from which on nothing is pruned.", "messages", maximum=1_000
    )
    soft_ratio: float = number(
        0.3,
        "Part of the window from which on results are trimmed.",
        minimum=0.0,
        maximum=100.0,
        group="trim",
    )
    hard_ratio: float = number(
        0.5,
        "Part of the window from which on results are cleared.",
        minimum=0.0,
        maximum=100.0,
        group="clear",
    )
    minimum: int = whole(
        50_000,
        "Least that old results must come to for any to be cleared.",
        "characters",
        maximum=100_000_000,
        group="clear",
    )
    threshold: int = whole(4_000, "Longest old result that stays whole.", "characters", maximum=1_000_000, group="trim")
    head: int = whole(1_500, "Kept from the beginning.", "characters", maximum=500_000, group="trim")
    tail: int = whole(1_500, "Kept from the end.", "characters", maximum=500_000, group="trim")
    clear: bool = switch(True, "Clear results where trimming is not enough.", group="clear")
    placeholder: str = written("[Old tool result content cleared]", "What is left of a cleared result.", group="clear")
    allow: tuple[str, ...] = tools(
        (), "Tools whose results are pruned, `*` for any letters; none for all.", about=ToolList.ONLY
    )
    deny: tuple[str, ...] = tools((), "Tools whose results are never pruned.", about=ToolList.LEFT_ALONE)
    window: int = model_window()
    variant: str = choice(
        ("one-request", "sticky"),
        "What was pruned is whole again in the next request (one-request), or stays pruned (sticky).",
    )

    def triggers(self, window: int) -> tuple[float, ...]:
        """Its parts of the window."""
        return ((self.window or window) * self.soft_ratio, (self.window or window) * self.hard_ratio)

    def start(self, history: History) -> OpenClawPruneRun:
        """A fresh run over one session."""
        return OpenClawPruneRun(self, history, Reader(history), window_of(history, self.window) * PER_TOKEN)

    def prunes(self, tool: str) -> bool:
        """Whether a tool's results may be pruned; what is denied may not, whatever is allowed."""
        name = tool.strip().lower()
        if any(_matches(name, pattern) for pattern in self.deny):
            return False
        allowed = [pattern for pattern in self.allow if pattern.strip()]
        return not allowed or any(_matches(name, pattern) for pattern in allowed)


def _matches(name: str, pattern: str) -> bool:
    return _compiled(pattern.strip().lower()).fullmatch(name) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in re.split(r"\*+", pattern)))


@dataclass
class _Result:
    """An old result that may be pruned.

    Attributes:
        block: Its block index.
        size: What it is taken for as it stands.
        trimmed: What it is taken for after trimming.
        changes: Whether trimming changes it.
        state: What was last decided: `whole`, `trim` or `clear`.
    """

    block: int
    size: int
    trimmed: int
    changes: bool
    state: str = "whole"


@dataclass
class _Thread:
    """One conversation.

    Attributes:
        since: Seconds since the last run ended or the last pruning, None where neither is known.
        unmeasured: Entries that have not been measured.
        entries: How many there are.
        total: What all measured ones are taken for.
        assistants: Where the assistant's entries stand.
        begun: Whether the user has spoken.
        waiting: Results in the newest part, with where they stand.
        old: Results that may be pruned, oldest first.
        saving: What trimming all of these would save as they stand.
        trimmed: What all of these are taken for after trimming.
        trimmable: How many of these trimming would change now.
        cleared: How many of the oldest are cleared for good.
        pruned: Those that are not sent whole.
        has_called: Whether a call was made before.
    """

    since: float | None = None
    unmeasured: list[Entry] = field(default_factory=list)
    entries: int = 0
    total: int = 0
    assistants: list[int] = field(default_factory=list)
    begun: bool = False
    waiting: list[tuple[int, _Result]] = field(default_factory=list)
    old: list[_Result] = field(default_factory=list)
    saving: int = 0
    trimmed: int = 0
    trimmable: int = 0
    cleared: int = 0
    pruned: list[_Result] = field(default_factory=list)
    has_called: bool = False

    def grow_old(self, result: _Result) -> None:
        """Take in one more result that may be pruned."""
        self.old.append(result)
        self.saving += result.size - result.trimmed
        self.trimmed += result.trimmed
        self.trimmable += result.changes


@dataclass
class OpenClawPruneRun:
    """The pruning at work on one session.

    Attributes:
        strategy: The values.
        history: What was recorded.
        reader: Reads what arrives.
        window: Size of the model's window in characters.
    """

    measures_prompts: ClassVar[bool] = False
    strategy: OpenClawPrune
    history: History
    reader: Reader
    window: int
    _threads: dict[int, _Thread] = field(default_factory=dict)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Undo what was pruned for one request; take in what arrived; prune if the cache has expired."""
        number = self.reader.thread(moment)
        arrived = self.reader.arrived(moment)
        choices: list[Choice] = []
        if moment.starts_context and number in self._threads:
            choices = self._undone(self._threads[number])
            self._threads[number] = _Thread(since=self._threads[number].since, has_called=True)
        thread = self._threads.setdefault(number, _Thread())
        if self.strategy.variant == "one-request":
            choices += self._undone(thread)
        entries = self.reader.entries(arrived)
        thread.unmeasured += entries
        self._pass_time(thread, moment.idle_seconds, asked=any(self.reader.asks(entry) for entry in entries))
        if thread.since is not None and thread.since >= self.strategy.ttl:
            pruned = list(self._prune(thread, moment))
            thread.since = 0.0 if pruned else thread.since
            choices += pruned
        return choices

    def _pass_time(self, thread: _Thread, idle: float | None, *, asked: bool) -> None:
        if not thread.has_called or asked:
            thread.since = idle
        elif thread.since is not None and idle is not None:
            thread.since += idle
        thread.has_called = True

    def _undone(self, thread: _Thread) -> list[Choice]:
        whole = Decision(None, "sent whole again")
        choices = [Choice(result.block, whole) for result in thread.pruned]
        for result in thread.pruned:
            result.state = "whole"
            thread.trimmable += result.changes
        thread.pruned = []
        return choices

    def _measure(self, thread: _Thread, moment: Moment) -> None:
        """Take in the entries that arrived since the last time."""
        blocks = self.history.session.blocks
        for entry in thread.unmeasured:
            size = sum(self._size(moment, block) for block in entry.blocks)
            thread.total += size
            kind = self.history.kind_bytes[entry.blocks[0]]
            if entry.is_result:
                block = entry.blocks[0]
                if thread.begun and self.strategy.prunes(blocks[block].tool_name):
                    thread.waiting.append((thread.entries, self._result(moment, block, size)))
            elif kind in ASSISTANT:
                thread.assistants.append(thread.entries)
            else:
                thread.begun = True
            thread.entries += 1
        thread.unmeasured.clear()

    def _size(self, moment: Moment, block: int) -> int:
        recorded, kind = self.history.session.blocks[block], self.history.kind_bytes[block]
        if kind == TOOL_CALL:
            return ARGUMENT_UNITS.sent(moment, block)
        if kind in MEDIA:
            return PER_IMAGE
        images = images_of(recorded, moment.rendition(block))
        return WEIGHTED.sent(moment, block) + PER_IMAGE * images + recorded.signature_characters

    def _trim(self) -> SoftTrim:
        return SoftTrim(self.strategy.threshold, self.strategy.head, self.strategy.tail)

    def _result(self, moment: Moment, block: int, size: int) -> _Result:
        now = moment.rendition(block)
        source = RecordedBlock(self.history.session, block)
        trimmed = self._trim().apply(now, source)
        if trimmed is now:
            return _Result(block, size, size, changes=False)
        return _Result(block, size, WEIGHTED.of_text(trimmed.text(source.text())), changes=True)

    def _prune(self, thread: _Thread, moment: Moment) -> Iterator[Choice]:
        strategy = self.strategy
        self._measure(thread, moment)
        keep = strategy.keep_assistants
        if len(thread.assistants) < keep:
            return
        cutoff = thread.assistants[-keep] if keep else thread.entries
        if thread.total / self.window < strategy.soft_ratio:
            return
        moved = 0
        while moved < len(thread.waiting) and thread.waiting[moved][0] < cutoff:
            moved += 1
        for _, result in thread.waiting[:moved]:
            thread.grow_old(result)
        del thread.waiting[:moved]
        cleared = self._cleared(thread, thread.total - thread.saving)
        if not thread.trimmable and cleared <= thread.cleared:
            return
        reason = f"the cache expired {thread.since or 0:,.0f} seconds ago"
        trim = Decision(self._trim(), reason, "trim")
        clear = Decision(ReplaceText(strategy.placeholder), reason, "clear")
        for place, result in enumerate(thread.old):
            state = "trim" if result.changes and result.state == "whole" else result.state
            state = "clear" if place < cleared else state
            if state == result.state:
                continue
            yield Choice(result.block, clear if state == "clear" else trim)
            self._keep(thread, result, state)
        if strategy.variant == "sticky":
            thread.cleared = max(thread.cleared, cleared)

    def _keep(self, thread: _Thread, result: _Result, state: str) -> None:
        """Remember what was done to a result; where that stays, what it has come to."""
        if result.state == "whole":
            thread.pruned.append(result)
            thread.trimmable -= result.changes
        result.state = state
        if self.strategy.variant == "sticky":
            size = WEIGHTED.of_text(self.strategy.placeholder) if state == "clear" else result.trimmed
            thread.total += size - result.size
            thread.saving -= result.size - result.trimmed
            thread.trimmed += size - result.trimmed
            result.size = result.trimmed = size

    def _cleared(self, thread: _Thread, total: int) -> int:
        """How many of the old results are cleared, from the oldest on."""
        strategy = self.strategy
        if total / self.window < strategy.hard_ratio or not strategy.clear:
            return 0
        if thread.trimmed < strategy.minimum:
            return 0
        left = WEIGHTED.of_text(strategy.placeholder)
        # What was cleared for good is taken for what it is; to clear it again changes nothing.
        for place in range(thread.cleared, len(thread.old)):
            if total / self.window < strategy.hard_ratio:
                return place
            total += left - thread.old[place].trimmed
        return len(thread.old)
