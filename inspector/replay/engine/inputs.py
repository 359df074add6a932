"""What every replay of one session starts from: layout, recorded usage, prices. No plan changes any of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache.cache_models import CacheColumns, cache_model_for, recorded_cache
from inspector.replay.cache.cache_odds import CacheOdds, CacheSeen, CallsAsked, ReadOdds
from inspector.replay.cache.miss_causes import setting_changed
from inspector.replay.engine.plan_edits import plan_edits
from inspector.replay.engine.prompt_edits import PromptEdits
from inspector.replay.engine.prompt_layout import PromptLayout
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.engine.renderer import Renderer
from inspector.replay.engine.response_tokens import ResponseTokens
from inspector.replay.engine.simulation import PromptSizes
from inspector.replay.engine.token_scale import TokenScale
from inspector.replay.pricing.context_window import context_window
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from inspector.replay.cache.cache_models import CacheModel
    from inspector.replay.cache.prompt_usage import PromptUsage
    from inspector.replay.engine.edits import Edits
    from inspector.replay.engine.prompt_edits import ReusablePrefix
    from inspector.replay.engine.token_scale import Lender
    from inspector.replay.pricing.context_window import ContextWindow
    from inspector.replay.pricing.rates import CallRates
    from inspector.strategies.history.history import History
    from inspector.tokens.model_names import Categorical
    from inspector.tokens.token_table import TokenTable

_LEAST_RESPONSE_SECONDS = 2.0
"""Of a request sent less long before, nothing is in the cache yet: that happens once its response begins."""


@dataclass(frozen=True, eq=False)
class ReplayInputs:
    """What replays start from, worked out once for any number of plans.

    Attributes:
        history: The session's columns.
        table: Its token counts.
        layout: Where every block stands in every prompt.
        recorded: Prompt tokens the provider reported, in call order; zeros where it reported nothing.
        reported: Per call, whether it did, bool.
        anchored: Per call, whether what was read and written is taken from that report; where a prompt cache was named
            that is not the provider's, it is not, bool.
        output: Per call, response tokens: reported, or measured where nothing was or a stream's placeholder, int64.
        output_known: Whether every output was reported and none is a streaming placeholder.
        output_is_least: Per call, whether its response was longer than `output`, nobody knows by how much, bool.
        scale: The provider's tokens for our counted ones.
        sizes: What every prompt measures with nothing cut; no block measures more than its part of a prompt.
        cached_blocks: Per call, how many blocks at its beginning the recorded (or simulated) cache held, int64.
        recorded_removed: Per call, the next one included, counted tokens the agent itself had cleared by then, int64.
        recorded_reusable_removed: Those of them that stood where a cache could hold them, int64.
        previous_call: Per call, the call before it in its thread, -1 for the first, int64.
        restarts: Per call, whether its prompt does not grow from that one's: after a compaction or a rewind, bool.
        gap_seconds: Per call, time since that one, NaN where unknown, float64.
        same_model: Per call, whether that one went to the same model, bool.
        rates: The price of every call.
        pricing: Where the prices come from.
        caches: The rules of each call's prompt cache.
        cache_models: The same by the model's name as recorded.
        cache: Name of the prompt cache that is assumed for every call; None for each model's own.
        renderer: Applies operations, and remembers what it worked out.
        window: The model's context window.
    """

    history: History
    table: TokenTable
    layout: PromptLayout
    recorded: PromptUsage
    reported: NDArray[np.bool_]
    anchored: NDArray[np.bool_]
    output: NDArray[np.int64]
    output_known: bool
    output_is_least: NDArray[np.bool_]
    scale: TokenScale
    sizes: PromptSizes
    cached_blocks: NDArray[np.int64]
    recorded_removed: NDArray[np.int64]
    recorded_reusable_removed: NDArray[np.int64]
    previous_call: NDArray[np.int64]
    restarts: NDArray[np.bool_]
    gap_seconds: NDArray[np.float64]
    same_model: NDArray[np.bool_]
    rates: CallRates
    pricing: Pricing
    caches: CacheColumns
    cache_models: Mapping[str, CacheModel]
    cache: str | None
    renderer: Renderer
    window: ContextWindow

    @cached_property
    def history_of_window(self) -> History:
        """The session's columns for strategies, whose fractions of the window are of the one in `window`."""
        return replace(self.history, window=self.window.size)

    @cached_property
    def before_blocks(self) -> NDArray[np.float64]:
        """Per call, the tokens before the first block the session shows, system prompt and tools, by its own report."""
        shown = self.sizes.ratio * (self.layout.whole_tokens - self.recorded_removed) + self.layout.beside_prompts
        return (self.sizes.whole - shown)[:-1]

    @cached_property
    def block_tokens(self) -> NDArray[np.float64]:
        """Per block, its tokens on the provider's scale, never more than the largest prompt that held it. float64."""
        tokens = (self.scale.calibration.ratio * self.table.tokens).astype(np.float64)
        most = np.zeros(len(tokens))
        for context in self.layout.contexts:
            if len(context.calls):
                # A block is in every prompt of its context from the first that reaches it on.
                ends = np.maximum.accumulate(self.sizes.whole[context.calls][::-1])[::-1]
                first = np.searchsorted(context.prompt_blocks, np.arange(len(context.blocks)), side="right")
                held = np.append(ends, 0.0)[np.minimum(first, len(ends))]
                np.maximum.at(most, context.blocks, held)
        return np.where(most > 0, np.minimum(tokens, most), tokens)

    @cached_property
    def served_all(self) -> NDArray[np.bool_]:
        """Per call, whether nothing speaks against its cache having held what it shared with the call before.

        Where two prompts share no block, only what stands before the blocks can show a miss, and the clock.
        """
        recorded, previous, before = self.recorded, self.previous_call, self.before_blocks
        held = (recorded.prompt - recorded.uncached)[previous] > 0
        in_time = ~(self.gap_seconds > self.caches.lifetime)
        read: NDArray[np.bool_] = recorded.cache_read >= before - np.maximum(before // 100, 64)
        return (previous >= 0) & held & in_time & self.same_model & read

    @cached_property
    def cache_odds(self) -> Mapping[str, CacheOdds]:
        """How the session's prompt caches behave, by their names: as its reports show, and as is typical of them.

        Models of one family share a cache's: a subagent's few calls are taken to be served as their parent's.
        """
        shared = self._shared_tokens
        names = np.array([cache.name for cache in self._caches_of_calls])
        found: dict[str, CacheOdds] = {}
        known = self.anchored & ((self.previous_call < 0) | self.same_model) & ~self._is_changed
        start, siblings = self.start_tokens, self._has_sibling
        for cache in self._caches_of_calls:
            if cache.name not in found:
                mine = np.flatnonzero(known & (names == cache.name))
                found[cache.name] = CacheOdds.of(
                    cache,
                    CacheSeen(
                        read=self.recorded.cache_read[mine],
                        shared=shared[mine],
                        most_kept=np.minimum(shared, start)[mine] if cache.writes else shared[mine],
                        gap=self.gap_seconds[mine],
                        is_first=self.previous_call[mine] < 0,
                        is_sibling=siblings[mine],
                        is_restart=self.restarts[mine],
                        writes=self.recorded.cache_write[mine],
                    ),
                )
        return found

    def odds_of(self, cache: CacheModel) -> CacheOdds | None:
        """How a cache behaves that the session used, or might have: as it shows, else as is typical; None if named."""
        if self.cache is not None:
            return None
        return self.cache_odds.get(cache.name) or CacheOdds.of(cache, CacheSeen.nothing())

    @cached_property
    def read_odds(self) -> ReadOdds | None:
        """Per call, how likely it reads what it shares with the one before; None where a cache was named.

        A cache that is named is one that keeps to its rules.
        """
        if self.cache is not None or not len(self.previous_call):
            return None
        odds = self.cache_odds
        place = {name: number for number, name in enumerate(odds)}
        code = np.array([place[cache.name] for cache in self._caches_of_calls])
        asked = CallsAsked(
            gap=self.gap_seconds,
            most_kept=np.where(self.caches.writes, self.start_tokens, self.sizes.whole[:-1]),
            is_expired=self.gap_seconds > self.caches.lifetime,
            is_changed=self._is_changed,
            is_first=self.previous_call < 0,
            is_sibling=self._has_sibling,
            is_restart=self.restarts,
            same_model=self.same_model,
        )
        return ReadOdds.of(list(odds.values()), code, asked)

    @cached_property
    def served_by_odds(self) -> NDArray[np.bool_]:
        """Per call, whether what is expected of its cache is told, bool: nothing was reported of it, but of others.

        Where nothing was reported of any call, caches are taken to keep to their rules.
        """
        is_learned = self.cache is None and bool(self.anchored.any())
        return ~self.anchored if is_learned else np.zeros_like(self.anchored)

    @property
    def _caches_of_calls(self) -> list[CacheModel]:
        return [self.cache_models[call.model] for call in self.history.session.calls]

    @cached_property
    def start_tokens(self) -> NDArray[np.int64]:
        """Per call, the tokens of system prompt and tools that its thread began with, shown in blocks or not, int64."""
        start = self.before_blocks.copy()
        for call in np.unique(self._first_of_thread).tolist():
            blocks = self.history.prompt(call)
            is_message = self.history.kind[blocks] != BlockKind.SYSTEM_TEXT
            shown = blocks[: int(is_message.argmax()) if is_message.any() else len(blocks)]
            start[call] += float(self.sizes.ratio[call]) * float(self.table.tokens[shown].sum())
        found: NDArray[np.int64] = np.rint(np.maximum(start, 0))[self._first_of_thread].astype(np.int64)
        return found

    @cached_property
    def _thread(self) -> NDArray[np.int64]:
        """Per call, the thread it belongs to, int64."""
        threads = np.array([context.thread for context in self.history.session.contexts], dtype=np.int64)
        return threads[self.history.call_context[: len(self.previous_call)]]

    @cached_property
    def _first_of_thread(self) -> NDArray[np.int64]:
        """Per call, its thread's first call, int64."""
        _, firsts, place = np.unique(self._thread, return_index=True, return_inverse=True)
        return firsts[place].astype(np.int64)

    @cached_property
    def _is_changed(self) -> NDArray[np.bool_]:
        """Per call, whether it asks for something beside its prompt that its cache tells apart, bool.

        Of caches that keep what they choose nobody says that they do.
        """
        calls, previous = self.history.session.calls, self.previous_call.tolist()
        changed = [
            before >= 0 and setting_changed(calls[before], call) is not None
            for before, call in zip(previous, calls, strict=True)
        ]
        return np.array(changed, dtype=np.bool_) & np.asarray(self.caches.writes, dtype=np.bool_)

    @cached_property
    def _has_sibling(self) -> NDArray[np.bool_]:
        """Per call, whether it is a subagent's first and another one of its model was at work while the cache lived.

        Subagents begin alike. Requests that are sent together find nothing of one another.
        """
        found = np.zeros(len(self.previous_call), dtype=np.bool_)
        thread, time = self._thread, self.history.call_time[:-1]
        models = recorded_calls(self.history).models.code
        for call in np.flatnonzero((self.previous_call < 0) & (thread > 0)).tolist():
            since = time[call] - time[(thread > 0) & (thread != thread[call]) & (models == models[call])]
            found[call] = bool(((since >= _LEAST_RESPONSE_SECONDS) & (since <= self.caches.lifetime[call])).any())
        return found

    @property
    def _shared_tokens(self) -> NDArray[np.int64]:
        """Per call, tokens it shares with the prompt before it, on its own report's scale."""
        cleared = plan_edits(self.history, self.renderer, Plan(), self.sizes)
        prefix = PromptEdits.of(self.layout, cleared).reusable(self.layout.previous_blocks)
        ratio, whole = self.sizes.ratio[:-1], np.rint(self.sizes.whole[:-1])
        shared = self.before_blocks + ratio * (prefix.whole - prefix.removed)[:-1] + prefix.beside[:-1]
        shared = np.where(self.previous_call < 0, self.start_tokens, self.held_of(shared, whole))
        # What the provider reported of the prompt before is nearer than what texts measure.
        previous, kept = self.previous_call, self.recorded.prompt - self.recorded.uncached
        held = np.where(self.caches.writes, kept, self.recorded.prompt)[previous]
        is_told = (previous >= 0) & ~self.restarts & self.anchored[previous] & ~prefix.shortened[:-1] & (held > 0)
        shared = np.where(is_told, held, shared)
        return np.clip(np.rint(shared), 0, whole).astype(np.int64)

    def held_of(self, shared: NDArray[np.float64], prompt: NDArray[np.float64]) -> NDArray[np.float64]:
        """Per call, what a cache can hold of what two prompts share by their blocks.

        What comes unseen in the course of a conversation stands in no block, and is taken for what begins it: it is
        shared neither with a prompt that did not hold it yet, nor where a prompt begins anew.

        Args:
            shared: Per call, tokens before the first block and of blocks that the prompt before held alike.
            prompt: Per call, tokens of its prompt.
        """
        previous = self.previous_call
        later = np.maximum(self.before_blocks - self.before_blocks[self._first_of_thread], 0)
        grown = np.minimum(shared, prompt[previous]) if len(prompt) else shared
        return np.where(previous < 0, shared, np.where(self.restarts, shared - later, grown))

    def isolated(self, cancelled: Callable[[], bool] | None = None) -> ReplayInputs:
        """The same session with a memory of its own for what is worked out of its blocks.

        For a thread of its own, and so that hundreds of values nobody looks at again are not remembered.

        Args:
            cancelled: Asked again and again; once it is true, replays under way end with `ReplayCancelledError`. Some
                strategies take a minute on a hundred thousand messages, and a program should end at once.
        """
        return replace(self, renderer=Renderer(self.history, self.table, self.renderer.precise, cancelled))

    @property
    def lacks_output(self) -> bool:
        """Nothing tells how long some response was: the session cost more than is known."""
        return bool(self.output_is_least.any())

    @property
    def lacks_prices(self) -> bool:
        """Nothing tells what something costs that some call was billed by: the session cost more than is known."""
        return bool(self.rates.is_least.any())

    @property
    def looks_back(self) -> bool:
        """A prompt cache of the session finds entries only so many positions back."""
        return any(cache.lookback is not None for cache in self.cache_models.values())

    @classmethod
    def of(
        cls,
        history: History,
        table: TokenTable,
        *,
        pricing: Pricing | None = None,
        cache: str | None = None,
        window: int | None = None,
        precise: bool = False,
        scale: TokenScale | None = None,
        lender: Lender | None = None,
    ) -> ReplayInputs:
        """Work out what replays of a session start from.

        Args:
            history: The session's columns.
            table: Its token counts.
            pricing: Prices; those of the user's price file and the bundled table where not given.
            cache: Name of a prompt cache to assume for every call, whatever was reported; each model's own cache,
                and what was reported, where not given.
            window: Context window in tokens; what the file or the model's listing says where not given.
            precise: Count cut texts for real instead of within a few tokens; reads every text that is cut.
            scale: The provider's tokens for our counted ones; fitted to what the session reports where not given.
            lender: A session whose fit is borrowed where this one reports too little for its own, and no scale is
                given: `inspector.replay.lenders` looks for it.
        """
        calls = history.session.calls
        pricing = pricing or Pricing.load()
        layout = PromptLayout.of(history, table.tokens)
        renderer = Renderer(history, table, precise)
        facts = recorded_calls(history)
        models, recorded = facts.models, facts.usage
        reported = recorded.prompt > 0
        anchored = reported if cache is None else np.zeros_like(reported)
        nothing = np.zeros(history.call_count + 1)
        cleared = plan_edits(history, renderer, Plan(), PromptSizes(nothing, nothing))
        recorded_removed = PromptEdits.of(layout, cleared).removed
        scale = scale or TokenScale.of(history, table, recorded_removed, lender)
        responses = ResponseTokens.of(history, facts, table, scale)
        layout = layout.with_beside(scale.beside, scale.calibration.ratio)
        sums = layout.whole_tokens - recorded_removed
        whole = _whole_prompts(layout, scale, recorded, reported, sums)
        ratio = _ratio_within(layout, scale, whole, reported, recorded_removed)
        cached = _cached_blocks(layout, scale.ratio, recorded, anchored, cleared)
        first_calls = [calls[int(np.argmax(models.code == number))] for number in range(len(models.names))]
        cache_models = {
            call.model: cache_model_for(call.model, rates=pricing.rates(call.model, call.time), named=cache)
            for call in first_calls
        }
        if cache is None:
            for number, model in enumerate(cache_models):
                mine = models.code == number
                cache_models[model] = recorded_cache(cache_models[model], recorded.rows(np.flatnonzero(mine)))
        previous = layout.previous_in_thread()
        time = history.call_time[:-1]
        return cls(
            history=history,
            table=table,
            layout=layout,
            recorded=recorded,
            reported=reported,
            anchored=anchored,
            output=responses.tokens,
            output_known=bool(responses.is_reported.all()),
            output_is_least=responses.is_least,
            scale=scale,
            sizes=PromptSizes(whole, ratio, recorded_removed, layout.envelopes),
            cached_blocks=cached,
            recorded_removed=recorded_removed,
            recorded_reusable_removed=PromptEdits.of(layout, cleared).reusable(cached).removed,
            previous_call=previous,
            restarts=(previous >= 0) & (layout.previous_call[:-1] < 0),
            gap_seconds=np.where(previous >= 0, time - time[previous], np.nan) if len(calls) else time,
            same_model=_same_model(models, previous),
            rates=pricing.call_rates(models, history.call_time[:-1], facts.terms),
            pricing=pricing,
            caches=CacheColumns.of([cache_models[name] for name in models.names]).rows(models.code),
            cache_models=cache_models,
            cache=cache,
            renderer=renderer,
            window=context_window(history.session, pricing, int(recorded.prompt.max(initial=0)), window),
        )


def _same_model(models: Categorical, previous: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Per call, whether the one before it went to the same model; one that names none is taken to have."""
    if not len(previous):
        return previous >= 0
    is_unnamed = np.array([not name for name in models.names])[models.code]
    same = (models.code == models.code[previous]) | is_unnamed | is_unnamed[previous]
    found: NDArray[np.bool_] = (previous >= 0) & same
    return found


def _whole_prompts(
    layout: PromptLayout,
    scale: TokenScale,
    recorded: PromptUsage,
    reported: NDArray[np.bool_],
    counted: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Every prompt with nothing cut: as reported, or the local estimate on the provider's scale."""
    whole = scale.prompt.copy()
    whole[:-1] = np.where(reported, recorded.prompt, whole[:-1])
    previous = int(layout.previous_call[-1])
    if previous >= 0 and reported[previous]:
        # The next prompt is the last one and what has come since, so the last report is the better start.
        shown = scale.ratio[-1] * counted + layout.beside_prompts
        whole[-1] = whole[previous] + shown[-1] - shown[previous]
    return whole


def _ratio_within(
    layout: PromptLayout,
    scale: TokenScale,
    whole: NDArray[np.float64],
    reported: NDArray[np.bool_],
    removed: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Per call, the provider's tokens for a counted one; less where blocks would measure more than their prompt.

    Agents leave out what files do not say they leave out. No plan can leave out more than what was sent. The system
    prompt and the tools are sent with every call: where blocks would leave less than half of their room, which no fit
    misses a prompt by, it is the blocks that measure less. A prompt that nobody reported is what its blocks measure;
    what goes with these is kept in whole counted tokens, which may come to a little more.
    """
    counted = np.maximum(layout.with_envelopes - removed, 1)
    overhead = np.maximum(np.rint(scale.calibration.call_overhead), 0)
    is_squeezed = (whole - scale.ratio * counted < overhead / 2) & (whole > overhead)
    room = np.where(is_squeezed, whole - overhead, np.maximum(whole, 0))
    previous = int(layout.previous_call[-1])
    is_known = np.append(reported, previous >= 0 and bool(reported[previous]))
    return np.where(is_known, np.minimum(scale.ratio, room / counted), scale.ratio)


def _cached_blocks(
    layout: PromptLayout,
    ratio: NDArray[np.float64],
    recorded: PromptUsage,
    anchored: NDArray[np.bool_],
    cleared: Edits,
) -> NDArray[np.int64]:
    """How many blocks at its beginning every prompt's cache held: where the reported read ends, or the previous prompt.

    Args:
        layout: The session.
        ratio: Per call, the next one included, the provider's tokens for one counted token.
        recorded: Per call, the prompt tokens that were reported.
        anchored: Per call, whether what was read is taken from that report.
        cleared: What the agent itself left out while it was recorded.

    Returns:
        One number a call, the next one included, int64.
    """
    previous_blocks = layout.previous_blocks
    if not anchored.any():
        return previous_blocks
    tail = np.zeros(len(previous_blocks))
    tail[:-1] = recorded.prompt - recorded.cache_read
    ends = np.minimum(_blocks_before(layout, tail, ratio, cleared), previous_blocks)
    # A read that ends where the previous prompt ended, but for what that one left uncached, read all of it.
    previous = layout.previous_call[:-1]
    expected = np.where(previous >= 0, (recorded.prompt - recorded.uncached)[previous], 0)
    everything = (previous >= 0) & (recorded.cache_read >= expected - np.maximum(expected // 100, 64))
    blocks = previous_blocks.copy()
    blocks[:-1] = np.where(anchored & ~everything, ends[:-1], previous_blocks[:-1])
    return blocks


def _blocks_before(
    layout: PromptLayout, tail: NDArray[np.float64], ratio: NDArray[np.float64], edits: Edits
) -> NDArray[np.int64]:
    """Per call, how many blocks of its prompt come before its last so many tokens, to the nearest block. int64.

    Args:
        layout: The session.
        tail: Per call, the provider's tokens at the end of its prompt.
        ratio: Per call, the provider's tokens for one counted token.
        edits: How its blocks are sent.
    """
    if len(edits.block):
        return _blocks_before_changed(layout, tail, ratio, edits)
    blocks = np.zeros(layout.history.call_count + 1, dtype=np.int64)
    for context in layout.contexts:
        if not len(context.calls) or not len(context.blocks):
            continue
        counted = np.concatenate(([0], np.cumsum(context.tokens, dtype=np.int64)))
        for each in np.unique(ratio[context.calls]).tolist():
            calls = context.calls[ratio[context.calls] == each]
            prompt_blocks = context.prompt_blocks[ratio[context.calls] == each]
            ends = np.maximum.accumulate(each * counted + context.beside)
            middles = (ends[1:] + ends[:-1]) / 2
            found = np.searchsorted(middles, ends[prompt_blocks] - tail[calls])
            blocks[calls] = np.minimum(found, prompt_blocks)
    return blocks


def _blocks_before_changed(
    layout: PromptLayout, tail: NDArray[np.float64], ratio: NDArray[np.float64], edits: Edits
) -> NDArray[np.int64]:
    """The same where blocks are not sent whole: their sizes differ from call to call, so ends are searched for."""
    everything = np.full(layout.history.call_count + 1, len(layout.tokens), dtype=np.int64)
    prompt_edits = PromptEdits.of(layout, edits)
    whole = prompt_edits.reusable(everything, unbroken=True)
    target = _prefix_tokens(whole, ratio) - tail
    # The fewest blocks that take so many tokens lie above `low` and no higher than `high`.
    low, high = np.full_like(everything, -1), whole.blocks
    while bool((high - low > 1).any()):
        middle = (low + high) // 2
        enough = _prefix_tokens(prompt_edits.reusable(np.maximum(middle, 0), unbroken=True), ratio) >= target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    low = np.maximum(low, 0)
    below, above = (_prefix_tokens(prompt_edits.reusable(each, unbroken=True), ratio) for each in (low, high))
    return np.where(target - below < above - target, low, high)


def _prefix_tokens(prefix: ReusablePrefix, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per call, the provider's tokens of a prompt's beginning."""
    tokens: NDArray[np.float64] = ratio * (prefix.whole - prefix.removed) + prefix.beside
    return tokens
