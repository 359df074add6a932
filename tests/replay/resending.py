"""Reference replay: every prompt is rebuilt and sent, token by token, to a reference cache.

A token is a character, and six surround every block, as in the scale for `COUNTED_BY_CHARACTERS`. It uses nothing of
the engine: strategies run call by call, and every query they make is answered from scratch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from inspector.replay.cache.cache_models import CacheModel
from inspector.session.model import Block, BlockKind, Session
from inspector.strategies.core.operations import Action, Rendition, ReplaceText
from inspector.strategies.core.strategy import Choice, Decision, ScheduledStrategy, Strategy, in_use
from inspector.strategies.history.history import History
from tests.replay.cache_by_hand import CacheByHand, Served, common_prefix

AROUND_BLOCK = 6
RUNS = (BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT)
Token = tuple[int, int, int]


class Sent(NamedTuple):
    """One block as one prompt sends it."""

    block: int
    rendition: Rendition
    text: str

    @property
    def tokens(self) -> int:
        return 0 if self.is_removed else len(self.text) + AROUND_BLOCK

    @property
    def is_removed(self) -> bool:
        return self.rendition.action is Action.REMOVED

    def is_sent_like(self, other: Sent) -> bool:
        return self == other or (self.block == other.block and self.is_removed and other.is_removed)


@dataclass
class Source:
    session: Session
    index: int

    @property
    def block(self) -> Block:
        return self.session.blocks[self.index]

    @property
    def tool_name(self) -> str:
        return self.block.tool_name

    def text(self) -> str:
        return self.session.text(self.block)

    @property
    def tokens(self) -> int:
        return self.block.characters

    def head_characters(self, tokens: int) -> int:
        return min(tokens, self.block.characters)

    tail_characters = head_characters


@dataclass
class Resent:
    """A session sent again under strategies: `prompts[c]` is call c's, the next call's last."""

    session: Session
    strategies: Sequence[Strategy]
    prompts: list[list[Sent]] = field(default_factory=list)
    previous: list[int] = field(default_factory=list)
    _tokens: dict[int, list[Token]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.history = History.of(self.session)
        self.decided: list[dict[int, Decision]] = [{} for _ in range(len(self.strategies) + 1)]
        layers = [self._cleared(), *(self._layer(strategy) for strategy in self.strategies)]
        seen: set[int] = set()
        last_call: dict[int, int] = {}
        last_context: dict[int, int] = {}
        for call in range(len(self.session.calls) + 1):
            context = int(self.history.call_context[call])
            thread = self.session.contexts[context].thread
            blocks = self.history.prompt(call).tolist()
            arrived = sorted(set(blocks) - seen)
            seen.update(blocks)
            self.previous.append(last_call.get(thread, -1))
            for depth, layer in enumerate(layers):
                moment = CallContext(self, call, depth, arrived, last_context.get(thread) != context)
                for block, decision in layer(moment):
                    self.decided[depth][block] = decision
            self.prompts.append([self.sent(block, len(layers)) for block in blocks])
            last_call[thread], last_context[thread] = call, context

    def sent(self, block: int, depth: int) -> Sent:
        """A block as the first `depth` layers leave it now."""
        rendition = Rendition.whole(self.session.blocks[block].characters)
        for decided in self.decided[:depth]:
            if block in decided and decided[block].operation is not None:
                rendition = decided[block].operation.apply(rendition, Source(self.session, block))
        return Sent(block, rendition, rendition.text(self.session.text(self.session.blocks[block])))

    def _cleared(self):
        blanked = Decision(ReplaceText("[Old tool result content cleared]"), "recorded")
        blocks = self.session.blocks

        def layer(moment: CallContext) -> Iterator[tuple[int, Decision]]:
            response = self.session.calls[moment.call].response if moment.call < len(self.session.calls) else 1 << 30
            for compaction in self.session.compactions:
                for identifier in compaction.cleared_tool_call_ids if compaction.message <= response else ():
                    results = [at for at in self.history.results.tolist() if blocks[at].tool_call_id == identifier]
                    yield from ((at, blanked) for at in results)

        return layer

    def _layer(self, strategy: Strategy):
        strategy = in_use(strategy)
        if not isinstance(strategy, ScheduledStrategy):
            return strategy.start(self.history).step
        schedule = strategy.schedule(self.history)
        rows = list(zip(schedule.blocks.tolist(), schedule.calls.tolist(), schedule.decisions.tolist(), strict=True))

        def layer(moment: CallContext) -> Iterable[tuple[int, Decision]]:
            due = [row for row in rows if row[1] == moment.call or (row[1] < moment.call and row[0] in moment.arrived)]
            return [(block, schedule.table[decision]) for block, _, decision in sorted(due, key=lambda row: row[1])]

        return layer

    def tokens(self, call: int, cut_off: int = 0) -> list[Token]:
        made = self._tokens.get(call)
        if made is None:
            made = self._tokens[call] = []
            for sent in self.prompts[call]:
                how = hash((sent.rendition.pieces, sent.rendition.action, sent.rendition.kind))
                made.extend((sent.block, how, at) for at in range(sent.tokens))
        return made[: len(made) - cut_off]


@dataclass
class CallContext:
    """A call about to be made, every question answered from scratch."""

    resent: Resent
    call: int
    depth: int
    arrived_blocks: list[int]
    starts_context: bool

    @property
    def history(self) -> History:
        return self.resent.history

    @property
    def arrived(self):
        return np.array(self.arrived_blocks, dtype=np.int32)

    @property
    def previous_prompt_tokens(self) -> int:
        previous = self.resent.previous[self.call]
        return sum(sent.tokens for sent in self.resent.prompts[previous]) if previous >= 0 else 0

    @property
    def prompt_tokens(self) -> int:
        return sum(self.resent.sent(block, len(self.resent.decided)).tokens for block in self._blocks)

    @property
    def idle_seconds(self) -> float | None:
        previous = self.resent.previous[self.call]
        if previous < 0:
            return None
        gap = float(self.history.call_time[self.call] - self.history.call_time[previous])
        return None if np.isnan(gap) else gap

    @property
    def _blocks(self) -> list[int]:
        return self.history.prompt(self.call).tolist()

    def prompt(self):
        kept = [block for block in self._blocks if self.rendition(block).action is not Action.REMOVED]
        return np.array(kept, dtype=np.int32)

    def rendition(self, block: int) -> Rendition:
        return self.resent.sent(block, self.depth + 1).rendition

    def is_whole(self, block: int) -> bool:
        return self.rendition(block).action is Action.WHOLE

    def are_whole(self, blocks) -> bool:
        return all(self.is_whole(block) for block in blocks)

    def total_tokens(self, blocks) -> int:
        return sum(self.tokens(block) for block in blocks)

    def length(self, block: int) -> int:
        return self.rendition(block).length

    def tokens(self, block: int) -> int:
        return len(self.text(block))

    def note_estimate(self, tokens: float) -> None:
        pass

    def note_model_call(self, prompt_tokens: int, output_tokens: int) -> None:
        pass

    def note_printed(self, text: str) -> None:
        pass

    def tokens_under(self, choice: Choice) -> int:
        decided = self.resent.decided[self.depth]
        before = decided.get(choice.block)
        decided[choice.block] = choice.decision
        tokens = self.tokens(choice.block)
        if before is None:
            del decided[choice.block]
        else:
            decided[choice.block] = before
        return tokens

    def text(self, block: int) -> str:
        return self.resent.sent(block, self.depth + 1).text


def positions_behind_change(resent: Resent, call: int) -> int:
    prompt, before = resent.prompts[call], resent.prompts[resent.previous[call]]
    shared = 0
    while shared < min(len(before), len(prompt)) and before[shared] == prompt[shared]:
        shared += 1
    position, kind_before, positions = 0, None, [0]
    for sent in prompt:
        kind = resent.session.blocks[sent.block].kind
        if kind is not BlockKind.OTHER and not (kind is kind_before and kind in RUNS):
            position += 1
        kind_before = kind
        positions.append(position)
    return positions[-1] - positions[shared]


def served_anew(resent: Resent, cache: CacheModel) -> list[Served]:
    calls = resent.session.calls
    found = []
    for call, made in enumerate(calls):
        previous = resent.previous[call]
        entries = (
            [] if previous < 0 else [(calls[previous].model, tuple(resent.tokens(previous)), calls[previous].time)]
        )
        if previous >= 0 and cache.lookback is not None and positions_behind_change(resent, call) >= cache.lookback:
            entries = []
        found.append(CacheByHand(cache, entries).send(made.model, resent.tokens(call), made.time))
    return found


def served_with_misses(
    resent: Resent, cache: CacheModel, misses: Sequence[int | None], uncached: Sequence[int]
) -> list[Served]:
    served: list[Served] = []
    for call in range(len(resent.session.calls)):
        served.append(_served(resent, call, cache, misses[call], uncached[call], served))
    return served


def _served(
    resent: Resent, call: int, cache: CacheModel, miss: int | None, uncached: int, earlier: Sequence[Served]
) -> Served:
    prompt, previous = resent.tokens(call), resent.previous[call]
    read = 0
    if previous >= 0:
        read = common_prefix(resent.tokens(previous, earlier[previous].uncached), prompt)
    if miss is not None:
        read = min(read, sum(sent.tokens for sent in resent.prompts[call][:miss]))
    write = max(len(prompt) - uncached - read, 0)
    rest = len(prompt) - read - write
    return Served(rest, read, *((0, write) if cache.writes_one_hour else (write, 0)))
