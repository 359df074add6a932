"""Send only the newest runs of the agent, as Google's ADK filters its context.

Source: `ContextFilterPlugin` of google-adk 2.13 (`google/adk/plugins/context_filter_plugin.py`). A run begins with one
or several consecutive user messages. Before every call, everything before the newest runs is left out. The cut moves
back if a tool's result would otherwise be sent without its call. The plugin looks at the whole history every time, so
its option to remove several runs at once only delays the first removal.

The plugin has no default number of runs; the default here comes from its examples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.core.batching import CONTEXT_RESET, Batching, ScheduleBuilder
from inspector.strategies.core.operations import RemoveBlock
from inspector.strategies.core.strategy import Decision, Schedule, integer
from inspector.strategies.history.conversation_items import CountedItems, ItemKind, counted_items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.strategies.history.history import History


@dataclass(frozen=True)
class AdkFilter(Batching):
    """Leave out all but the newest runs of the agent."""

    name = "adk-filter"
    title = "Context filter (ADK)"
    summary = "Send only the newest runs of the agent, each started by a user message."
    source = "google-adk 2.13 ContextFilterPlugin, plugins/context_filter_plugin.py"

    keep: int = integer(3, "Number of newest runs kept.", "runs", minimum=1, maximum=1_000)
    remove_amount: int = integer(
        1, "Runs beyond the kept ones required before any is removed.", "runs", minimum=1, maximum=1_000
    )

    def schedule(self, history: History) -> Schedule:
        """Remove everything before the newest runs at the call that begins the newest of them."""
        builder = ScheduleBuilder(history)
        gone = builder.index_of(Decision(RemoveBlock(), f"before the newest {self.keep} runs"))
        back = builder.index_of(Decision(None, "needed by a late result"))
        reset = CONTEXT_RESET
        for items in counted_items(history, ItemKind.BATCHES):
            retained = items.item < items.retained
            builder.add(items.blocks[retained], items.calls[items.item[retained]], reset)
            ends = np.append(items.first, len(items.blocks))
            begin = 0
            for call, until in self._begins(history, items):
                first, last = sorted((begin, until))
                blocks = items.blocks[ends[first] : ends[last]]
                decision = gone if until > begin else back
                columns = np.full(len(blocks), call, np.int32), np.full(len(blocks), decision, np.int32)
                builder.add_each(blocks, *columns)
                begin = until
        return builder.schedule()

    def _begins(self, history: History, items: CountedItems) -> Iterator[tuple[int, int]]:
        """Yield the calls at which the sent list begins with another item, and that item."""
        asks = _asks(history, items).tolist()
        runs: list[int] = []
        pairs = _Pairs()
        needs = _calls_needed(history, items)
        begin = 0
        calls = items.calls.tolist()
        for place, (call, ask) in enumerate(zip(calls, asks, strict=True)):
            if ask and not (place and asks[place - 1]):
                runs.append(place)
            pairs.add(needs.get(place))
            is_sent_here = place + 1 < len(calls) and calls[place + 1] == call
            if is_sent_here:
                continue
            enough = len(runs) >= self.keep + self.remove_amount
            now = pairs.cut(runs[-self.keep]) if enough else 0
            if now != begin:
                yield call, now
                begin = now


def _asks(history: History, items: CountedItems) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return, per item, True for a user message without tool results."""
    kinds = items.kinds(history)
    message = history.message[items.blocks[items.first]]
    asks: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.isin(kinds, _ASKING) & ~history.message_has_results[message]
    return asks


_ASKING = (BlockKind.USER_TEXT, BlockKind.IMAGE, BlockKind.DOCUMENT)


def _calls_needed(history: History, items: CountedItems) -> dict[int, int]:
    """Return, for each item with results, the earliest item with a call of one of them; -1 if one has no call."""
    place = dict(zip(items.blocks.tolist(), items.item.tolist(), strict=True))
    needed: dict[int, int] = {}
    blocks = history.session.blocks
    is_result = history.kind[items.blocks] == BlockKind.TOOL_RESULT
    for block, at in zip(items.blocks[is_result].tolist(), items.item[is_result].tolist(), strict=True):
        if blocks[block].tool_call_id:
            call = place.get(int(history.call_block[block]), -1)
            needed[at] = min(needed.get(at, call), call)
    return needed


@dataclass
class _Pairs:
    """Positions that a cut may have without separating a pair: each points to itself, or to the last one before."""

    _before: list[int] = field(default_factory=list)

    def add(self, needed: int | None) -> None:
        """Append a position, with a result of the call at `needed`; None for no result."""
        place = len(self._before)
        self._before.append(place)
        if needed is None:
            return
        while place > needed and place >= 0:
            place = self._find(place)
            if place > needed and place >= 0:
                self._before[place] = place - 1
                place -= 1

    def cut(self, place: int) -> int:
        """Return the last allowed position up to `place`; the beginning if there is none."""
        return max(self._find(place), 0)

    def _find(self, place: int) -> int:
        found = place
        while found >= 0 and self._before[found] != found:
            found = self._before[found]
        while place >= 0 and self._before[place] != place:
            self._before[place], place = found, self._before[place]
        return found
