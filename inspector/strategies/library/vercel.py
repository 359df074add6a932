"""Prune reasoning and tool uses from messages, as the Vercel AI SDK does.

Source: `pruneMessages` of ai 7.0.173 (`generate-text/prune-messages.ts`). Reasoning is removed from all assistant
messages or from all but the last message. Tool calls and their results are removed together, everywhere or before the
newest messages; a call or result with its counterpart among those stays. Reasoning is also removed if everything after
it in its message is gone. A message with nothing left is removed, or with `empty-messages=keep` stays empty: one with
results as a single tool message without content and id. The SDK's provider packages write such a tool message as
nothing (@ai-sdk/openai 3.0.141), and other clients must leave it out. In Anthropic's format, which allows no empty
messages, all of them are removed.

The function does nothing until it is configured; the defaults here come from its documentation's example. It is meant
to be called before a request, and looks at the whole list every time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.core.batching import CONTEXT_RESET, Batching, ScheduleBuilder
from inspector.strategies.core.operations import RemoveBlock
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.strategy import Decision, Schedule, choice, integer, tools
from inspector.strategies.history.arrival_order import later
from inspector.strategies.history.conversation_items import CountedItems, ItemKind, counted_items
from inspector.strategies.history.history import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

from inspector.strategies.history.history import History


class VisibilityChange(NamedTuple):
    """A call that starts to leave a block out, or to send it again."""

    call: int
    is_gone: bool


@dataclass(frozen=True)
class VercelPrune(Batching):
    """Remove reasoning and tool uses that are not among the newest messages."""

    name = "vercel-prune"
    title = "Prune messages (Vercel AI SDK)"
    summary = "Remove reasoning, and tool calls with their results, from all but the newest messages."
    source = "ai 7.0.173 pruneMessages, generate-text/prune-messages.ts"
    note = (
        "With `empty-messages=keep`, a batch without results stays as a tool message without content, which OpenAI's "
        "API refuses; the SDK's provider packages leave it out."
    )

    reasoning: str = choice(
        ("all", "before-last-message", "none"),
        "Assistant messages that lose their reasoning.",
        group="reasoning",
    )
    tool_calls: str = choice(
        ("before-last-message", "before-last-messages", "all", "none"),
        "Messages that lose their tool uses.",
        group="tools",
    )
    messages: int = integer(
        2,
        "Newest messages for before-last-messages; all results of a batch are one.",
        "messages",
        maximum=10_000,
        group="tools",
    )
    tools: tuple[str, ...] = tools(
        (), "Prune the uses of these tools only; empty for all.", group="tools", about=ToolList.ONLY
    )
    empty_messages: str = choice(
        ("remove", "keep"),
        "Remove a message with nothing left, or keep it empty.",
        group="tools",
    )

    def schedule(self, history: History) -> Schedule:
        """Remove a tool use at the call that adds the last of the kept messages after it."""
        builder = ScheduleBuilder(history)
        reset = CONTEXT_RESET
        keeps = self.empty_messages == "keep"
        gone = RemoveBlock(leaves_message=keeps, leaves_results=keeps)
        for items in counted_items(history, ItemKind.BATCHES):
            retained = items.item < items.retained
            builder.add(items.blocks[retained], items.calls[items.item[retained]], reset)
            turns = {block: list(found) for block, found in self._tool_turns(history, items) if found}
            rows = [(block, turn, "tools") for block, found in turns.items() for turn in found]
            thoughts = dict(self._thoughts(history, items))
            for block, turn in self._orphans(history, items, turns):
                if block not in thoughts or turn.call < thoughts[block].call:
                    rows.append((block, turn, "reasoning"))
            rows += [(block, turn, "reasoning") for block, turn in thoughts.items()]
            for group in ("tools", "reasoning"):
                for operation in (gone, None):
                    chosen = [
                        (block, turn.call)
                        for block, turn, of in rows
                        if of == group and turn.is_gone == (operation is not None)
                    ]
                    builder.add_pairs(chosen, Decision(operation, "before the newest messages", group))
        return builder.schedule()

    @property
    def _kept(self) -> int | None:
        """Number of newest messages that keep their tool uses; None for nothing to prune."""
        counts = {"all": 0, "before-last-message": 1, "before-last-messages": self.messages}
        return counts.get(self.tool_calls)

    def _tool_turns(self, history: History, items: CountedItems) -> Iterator[tuple[int, list[VisibilityChange]]]:
        """Yield when tool calls and results are removed, and when a repeated id makes them sent again."""
        kept = self._kept
        if kept is None:
            return
        blocks = history.session.blocks
        by_id: dict[str, list[tuple[int, int]]] = defaultdict(list)
        is_tool = np.isin(history.kind[items.blocks], (BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT))
        calls = np.append(items.calls, np.full(kept, NEVER, np.int32)).tolist()
        for block, place in zip(items.blocks[is_tool].tolist(), items.item[is_tool].tolist(), strict=True):
            by_id[blocks[block].tool_call_id].append((place, block))
        for uses in by_id.values():
            places = sorted({place for place, _ in uses})
            # A tool use is removed once no message with its id is among the newest.
            spans = [
                (place, calls[place + kept], calls[again] if again is not None else NEVER)
                for place, again in pairwise([*places, None])
                if place is not None
            ]
            going = [span for span in spans if span[1] < (NEVER if not kept else span[2])]
            lasts = [last for last, _, _ in going]
            for place, block in uses:
                if self.tools and blocks[block].tool_name not in self.tools:
                    continue
                found: list[VisibilityChange] = []
                for at in range(bisect_left(lasts, place), len(going)):
                    _, leaves, returns = going[at]
                    found.append(VisibilityChange(leaves, is_gone=True))
                    if kept and returns != NEVER:
                        found.append(VisibilityChange(returns, is_gone=False))
                    if not kept:
                        break
                yield block, found

    def _orphans(
        self, history: History, items: CountedItems, turns: dict[int, list[VisibilityChange]]
    ) -> Iterator[tuple[int, VisibilityChange]]:
        """Yield when reasoning is removed because everything after it in its message is gone."""
        for message in _messages(history, items):
            kinds = [int(history.kind[block]) for block in message]
            at = 0
            while at < len(message):
                if kinds[at] != BlockKind.THINKING:
                    at += 1
                    continue
                end = at
                while end < len(message) and kinds[end] == BlockKind.THINKING:
                    end += 1
                following = end
                while following < len(message) and kinds[following] != BlockKind.THINKING:
                    following += 1
                after = [turns.get(block, []) for block in message[end:following]]
                if after and all(after):
                    for turn in _all_gone(after):
                        for block in message[at:end]:
                            yield block, turn
                at = following

    def _thoughts(self, history: History, items: CountedItems) -> Iterator[tuple[int, VisibilityChange]]:
        """Yield when reasoning is removed regardless of later blocks."""
        if self.reasoning == "none":
            return
        calls = later(items.calls, 1) if self.reasoning == "before-last-message" else items.calls
        thinking = history.kind[items.blocks] == BlockKind.THINKING
        for block, place in zip(items.blocks[thinking].tolist(), items.item[thinking].tolist(), strict=True):
            if calls[place] != NEVER:
                yield block, VisibilityChange(int(calls[place]), is_gone=True)


def _messages(history: History, items: CountedItems) -> Iterator[list[int]]:
    ends = np.append(items.first, len(items.blocks))
    thinking = np.unique(items.item[history.kind[items.blocks] == BlockKind.THINKING])
    for place in thinking.tolist():
        yield items.blocks[ends[place] : ends[place + 1]].tolist()


def _all_gone(turns: Sequence[list[VisibilityChange]]) -> list[VisibilityChange]:
    """Return when all of several blocks are gone, given when each of them is."""
    changes = sorted((turn.call, place, turn.is_gone) for place, found in enumerate(turns) for turn in found)
    gone = [False] * len(turns)
    found: list[VisibilityChange] = []
    for number, (call, place, is_gone) in enumerate(changes):
        gone[place] = is_gone
        if number + 1 < len(changes) and changes[number + 1][0] == call:
            continue
        if all(gone) != (bool(found) and found[-1].is_gone):
            found.append(VisibilityChange(call, is_gone=all(gone)))
    return found
