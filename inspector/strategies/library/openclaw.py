"""Prune old tool results once the provider's cache has expired, as OpenClaw does.

Source: context pruning of openclaw/openclaw@11b0d35 (`src/agents/pi-hooks/context-pruning`), mode `cache-ttl`. Nothing
happens until the time to live has passed since the end of the agent's last run, or since the last pruning. Then, if the
estimated conversation fills enough of the window, large results before the newest assistant messages are trimmed to
head and tail. If that is not enough, results are cleared, oldest first. Everything before the first user message stays
untouched.

The pruned form is sent only once: the next request, within the time to live, sends everything whole again, and pays for
it. Later versions keep the pruned form (variant `sticky`).

Variant `2026.9` follows openclaw 2026.9.6 (`src/agents/embedded-agent-runner/tool-result-truncation.ts`). Pruned
results stay pruned, also in conversations that begin with them. Cleared results no longer count towards the clearable
amount. The time to live runs from the last request, also within a run of the agent. No character is cut in two. The
weight of a character of a wide script depends on its rarity. A direct connection to Anthropic with an API key does not
prune locally there; the preset `openclaw-server` is the request it sends to the API.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from inspector.strategies.core import javascript
from inspector.strategies.core.measures import ARGUMENT_UNITS, Measure
from inspector.strategies.core.operations import Action, BlockSource, RecordedBlock, Rendition, ReplaceText, sent_text
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.strategy import (
    Choice,
    Decision,
    Parametrized,
    choice,
    integer,
    model_window,
    number,
    string,
    switch,
    tools,
    window_of,
)
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.history import ASSISTANT, MEDIA, TOOL_CALL, History

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.session.model import Block
    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem


PER_IMAGE = 8_000
PER_TOKEN = 4
IMAGE_MARKER = "[image removed during context pruning]"
_WIDE = re.compile(
    "[\u2e80-\u9fff\ua000-\ua4ff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\uffe0-\uffe6\U00020000-\U0002fa1f]"
)
_ASCII = re.compile("[\\x00-\\x7f]+")
_PLANES = re.compile("[\U00020000-\U0002fbff]")
"""Characters with two units that count as one in the count of wide ones: first unit D840 to D87E."""


def weighted(text: str) -> int:
    """Return the weighted length of a text in characters: `estimateStringChars`.

    Lengths are UTF-16 units; characters of scripts with about one token per character count four times
    (`src/utils/cjk-chars.ts`).
    """
    units = javascript.length(text)
    if text.isascii() or not (wide := len(_WIDE.findall(_ASCII.sub("", text)))):
        return units
    return units - len(_PLANES.findall(text)) + wide * (PER_TOKEN - 1)


WEIGHTED = Measure(weighted)

_OF_SCRIPTS = (
    (3, "\u00b7\u3000-\u319f\u4e00-\u9fa5\uac00-\ud7af\uff01-\uff60"),
    (
        11,
        "\u1100-\u11ff\u2e80-\u2fff\u31a0-\u4dff\u9fa6-\ua4ff\ua700-\ua707\ua960-\ua97f\ud7b0-\ud7ff\uf900-\ufaff",
    ),
    (7, "\u02c7\u02c9-\u02cb\u02d9\u02ea\u02eb\u0305\u0323\ufe10-\ufe4f\uff61-\uffdc\uffe0-\uffe6"),
    (10, "\U0001d360-\U0001d371"),
    (
        14,
        "\U00016fe0-\U00016fff\U0001aff0-\U0001b16f\U0001f200-\U0001f2ff\U00020000-\U0002fa1f\U00030000-\U0003347f",
    ),
)
_BY_SCRIPT = tuple((more, re.compile(f"[{letters}]")) for more, letters in _OF_SCRIPTS)
"""Characters of East Asian scripts, with the units each counts in addition to its length."""


def weighted_by_script(text: str) -> int:
    """Return the weighted length as newer versions do: 4 for a common wide character, up to 16 for a rare one.

    Lengths are UTF-16 units (openclaw 2026.9.6 `packages/normalization-core/src/cjk-chars.ts`).
    """
    units = javascript.length(text)
    if text.isascii():
        return units
    others = _ASCII.sub("", text)
    return units + sum(more * len(letters.findall(others)) for more, letters in _BY_SCRIPT)


BY_SCRIPT = Measure(weighted_by_script)


@dataclass(frozen=True, slots=True)
class SoftTrim:
    """Keep head and tail of a long result, with notes on its length and its images.

    Source: openclaw/openclaw@11b0d35 `src/agents/pi-hooks/context-pruning/pruner.ts`. Images in a result become a line
    of text; they are assumed to follow its text.

    Attributes:
        limit: Longest text that is left whole.
        head: Units kept from the beginning.
        tail: Units kept from the end.
        whole_characters: Drop a character that a cut would halve.
    """

    limit: int
    head: int
    tail: int
    whole_characters: bool = False

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
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
        first, last = javascript.place(joined, self.head), javascript.place(joined, length - self.tail)
        half = "" if self.whole_characters else javascript.HALF
        middle = f"{half * first.splits}\n...\n{half * last.splits}"
        if images:
            kept = f"{joined[: first.whole]}{middle}{joined[last.whole + last.splits :]}{note}"
            return Rendition.replaced(kept, rendition.kind)
        pieces = (
            *rendition.between(0, first.whole),
            middle,
            *rendition.between(last.whole + last.splits, rendition.length),
            note,
        )
        return Rendition(pieces, Action.CUT, rendition.kind)


def images_of(block: Block, rendition: Rendition) -> int:
    return len(block.media) if rendition.action in (Action.WHOLE, Action.CUT) else 0


@dataclass(frozen=True)
class OpenClawPrune(Parametrized):
    """Trim and clear old results when the cache has expired."""

    name = "openclaw-prune"
    title = "Prune after cache expiry (OpenClaw)"
    summary = (
        "After a pause, trim large old results to head and tail, and clear the oldest if the window is still full."
    )
    source = "openclaw/openclaw@11b0d35 src/agents/pi-hooks/context-pruning, mode cache-ttl"

    ttl: int = integer(300, "Pause after which the cache has expired.", "seconds", minimum=1, maximum=604_800)
    keep_assistants: int = integer(
        3, "Newest assistant messages; nothing from the first of them on is pruned.", "messages", maximum=1_000
    )
    soft_ratio: float = number(
        0.3,
        "Fraction of the window at which results are trimmed.",
        minimum=0.0,
        maximum=100.0,
        group="trim",
    )
    hard_ratio: float = number(
        0.5,
        "Fraction of the window at which results are cleared.",
        minimum=0.0,
        maximum=100.0,
        group="clear",
    )
    minimum: int = integer(
        50_000,
        "Minimum total size of old results for any to be cleared.",
        "characters",
        maximum=100_000_000,
        group="clear",
    )
    threshold: int = integer(
        4_000, "Longest old result that stays whole.", "characters", maximum=1_000_000, group="trim"
    )
    head: int = integer(1_500, "Kept from the beginning.", "characters", maximum=500_000, group="trim")
    tail: int = integer(1_500, "Kept from the end.", "characters", maximum=500_000, group="trim")
    clear: bool = switch(True, "Clear results if trimming is not enough.", group="clear")
    placeholder: str = string(
        "[Old tool result content cleared]", "Text that replaces a cleared result.", group="clear"
    )
    allow: tuple[str, ...] = tools(
        (), "Prune the results of these tools only, `*` for any letters; empty for all.", about=ToolList.ONLY
    )
    deny: tuple[str, ...] = tools((), "Never prune the results of these tools.", about=ToolList.LEFT_ALONE)
    window: int = model_window()
    variant: str = choice(
        ("one-request", "sticky", "2026.9"),
        "Prune results for one request only, or for good (sticky and 2026.9).",
    )

    def triggers(self, window: int) -> tuple[float, ...]:
        return ((self.window or window) * self.soft_ratio, (self.window or window) * self.hard_ratio)

    def start(self, history: History) -> OpenClawPruneRun:
        return OpenClawPruneRun(self, history)

    def prunes(self, tool: str) -> bool:
        """Return True if a tool's results may be pruned; the deny list wins over the allow list."""
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


_WHOLE_AGAIN = Decision(None, "sent whole again")


@dataclass
class _Result:
    """An old result with its estimated size, also trimmed, and its state: `whole`, `trim` or `clear`."""

    block: int
    size: int
    trimmed: int
    changes: bool
    state: str = "whole"


@dataclass
class _Prunable:
    """One conversation.

    Attributes:
        since: Seconds since the last run ended or the last pruning, None if both are unknown.
        unmeasured: Items not measured yet.
        total: Estimated size of all measured items.
        assistants: Positions of the assistant's items.
        begun: True once there is a user message.
        waiting: Results in the newest part, with their positions.
        old: Results that may be pruned, oldest first.
        saving: Size that trimming all old results would save now.
        trimmed: Size of all old results after trimming.
        trimmable: Number of old results that trimming would change now.
        cleared: Number of oldest results cleared permanently.
        pruned: Results not sent whole.
        has_called: True if a call was made before.
    """

    since: float | None = None
    unmeasured: list[ConversationItem] = field(default_factory=list)
    items: int = 0
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
        self.old.append(result)
        self.saving += result.size - result.trimmed
        self.trimmed += result.trimmed
        self.trimmable += result.changes


class OpenClawPruneRun(ThreadRun[OpenClawPrune, _Prunable]):
    """A run of the pruning on one session, for a window in characters, with a version's measure."""

    measures_prompts = False
    keeps_changes = True

    def __init__(self, strategy: OpenClawPrune, history: History) -> None:
        super().__init__(strategy, history)
        self.window = window_of(history, strategy.window) * PER_TOKEN
        self.newest = strategy.variant == "2026.9"
        self.stays = strategy.variant != "one-request"
        self.measure = BY_SCRIPT if self.newest else WEIGHTED

    def begin(self) -> _Prunable:
        return _Prunable()

    def begin_again(self, before: _Prunable) -> _Prunable:
        """Return a new state that keeps the clock and resets the earlier conversation's pruned results."""
        return _Prunable(since=before.since, pruned=before.pruned, has_called=True)

    def decide(self, state: _Prunable, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        """Undo pruning that was for one request; add new blocks; prune if the cache has expired."""
        choices: list[Choice] = []
        if context.starts_context and not self.newest:
            choices = [Choice(result.block, _WHOLE_AGAIN) for result in state.pruned]
            state.pruned = []
        elif not self.stays:
            choices = self._undone(state)
        items = self.items(arrived)
        state.unmeasured += items
        self._pass_time(state, context.idle_seconds, asked=any(self.asks(item) for item in items))
        if state.since is not None and state.since >= self.strategy.ttl:
            pruned = list(self._prune(state, context))
            state.since = 0.0 if pruned else state.since
            choices += pruned
        return choices

    def _pass_time(self, state: _Prunable, idle: float | None, *, asked: bool) -> None:
        if not state.has_called or asked or self.newest:
            state.since = idle
        elif state.since is not None and idle is not None:
            state.since += idle
        state.has_called = True

    def _undone(self, state: _Prunable) -> list[Choice]:
        for result in state.pruned:
            result.state = "whole"
            state.trimmable += result.changes
        pruned, state.pruned = state.pruned, []
        return [Choice(result.block, _WHOLE_AGAIN) for result in pruned]

    def _measure(self, state: _Prunable, context: CallContext) -> None:
        blocks = self.history.session.blocks
        for item in state.unmeasured:
            size = sum(self._size(context, block) for block in item.blocks)
            state.total += size
            kind = self.history.kind_bytes[item.blocks[0]]
            if item.is_result:
                block = item.blocks[0]
                if state.begun and self.strategy.prunes(blocks[block].tool_name):
                    state.waiting.append((state.items, self._result(context, block, size)))
            elif kind in ASSISTANT:
                state.assistants.append(state.items)
            else:
                state.begun = True
            state.items += 1
        state.unmeasured.clear()

    def _size(self, context: CallContext, block: int) -> int:
        recorded, kind = self.history.session.blocks[block], self.history.kind_bytes[block]
        if kind == TOOL_CALL:
            return ARGUMENT_UNITS.sent(context, block)
        if kind in MEDIA:
            return PER_IMAGE
        images = images_of(recorded, context.rendition(block))
        return self.measure.sent(context, block) + PER_IMAGE * images + recorded.signature_characters

    def _trim(self) -> SoftTrim:
        return SoftTrim(self.strategy.threshold, self.strategy.head, self.strategy.tail, self.newest)

    def _result(self, context: CallContext, block: int, size: int) -> _Result:
        now = context.rendition(block)
        source = RecordedBlock(self.history.session, block)
        trimmed = self._trim().apply(now, source)
        if trimmed is now:
            return _Result(block, size, size, changes=False)
        return _Result(block, size, self.measure.of_text(trimmed.text(source.text())), changes=True)

    def _prune(self, state: _Prunable, context: CallContext) -> Iterator[Choice]:
        strategy = self.strategy
        self._measure(state, context)
        keep = strategy.keep_assistants
        if len(state.assistants) < keep:
            return
        cutoff = state.assistants[-keep] if keep else state.items
        if state.total / self.window < strategy.soft_ratio:
            return
        moved = 0
        while moved < len(state.waiting) and state.waiting[moved][0] < cutoff:
            moved += 1
        for _, result in state.waiting[:moved]:
            state.grow_old(result)
        del state.waiting[:moved]
        cleared = self._cleared(state, state.total - state.saving)
        if not state.trimmable and cleared <= state.cleared:
            return
        reason = f"the cache expired {state.since or 0:,.0f} seconds ago"
        trim = Decision(self._trim(), reason, "trim")
        clear = Decision(ReplaceText(strategy.placeholder), reason, "clear")
        for place, result in enumerate(state.old):
            now = "trim" if result.changes and result.state == "whole" else result.state
            now = "clear" if place < cleared else now
            if now == result.state:
                continue
            yield Choice(result.block, clear if now == "clear" else trim)
            self._keep(state, result, now)
        if self.stays:
            state.cleared = max(state.cleared, cleared)

    def _keep(self, state: _Prunable, result: _Result, now: str) -> None:
        """Record the change to a result, and its new size if the change is permanent."""
        if result.state == "whole":
            state.pruned.append(result)
            state.trimmable -= result.changes
        result.state = now
        if self.stays:
            size = self.measure.of_text(self.strategy.placeholder) if now == "clear" else result.trimmed
            state.total += size - result.size
            state.saving -= result.size - result.trimmed
            state.trimmed += (0 if self.newest and now == "clear" else size) - result.trimmed
            result.size = result.trimmed = size

    def _cleared(self, state: _Prunable, total: int) -> int:
        """Return how many of the old results to clear, oldest first."""
        strategy = self.strategy
        if total / self.window < strategy.hard_ratio or not strategy.clear:
            return 0
        if state.trimmed < strategy.minimum:
            return 0
        left = self.measure.of_text(strategy.placeholder)
        # A permanently cleared result already counts with its cleared size; clearing it again changes nothing.
        for place in range(state.cleared, len(state.old)):
            if total / self.window < strategy.hard_ratio:
                return place
            total += left - state.old[place].trimmed
        return len(state.old)
