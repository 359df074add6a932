"""Inputs of every replay of a session: layout, reported usage and prices, independent of the plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache.agent_breakpoints import LEAST, AgentRule, agent_rule
from inspector.replay.cache.cache_models import (
    CacheColumns,
    CacheObservations,
    CacheOdds,
    CallFeatures,
    ReadOdds,
    cache_model_for,
    recorded_cache,
)
from inspector.replay.cache.miss_causes import setting_changed
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.engine.prompt_edits import Breakpoints, PromptEdits, ReusablePrefix
from inspector.replay.engine.prompt_layout import PromptLayout
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.engine.renderer import Renderer
from inspector.replay.engine.simulation import PromptSizes, plan_edits
from inspector.replay.engine.token_scale import CalibrationSource, ResponseTokens, TokenScale, apportioned_usage
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.context_window import ContextWindow, context_window
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, Call
from inspector.strategies.plan import Plan
from inspector.tokens.model_names import Categorical, parse_model_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from inspector.replay.cache.cache_models import CacheModel
    from inspector.replay.engine.edits import Edits
    from inspector.replay.pricing.rates import CallRates
    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable

_LEAST_RESPONSE_SECONDS = 2.0
"""Delay before a request's cache entry exists: the cache is written when the response begins."""


@dataclass(frozen=True, eq=False)
class ReplayInputs:
    """Inputs of replays, computed once for any number of plans.

    Attributes:
        layout: Place of every block in every prompt.
        recorded: Prompt tokens the provider reported, or a share of recorded totals, in call order; zeros where neither
            exists.
        reported: Per call, True if usage was reported, bool.
        apportioned: Per call, True if its prompt is a share of recorded totals: exact in sum only, bool.
        anchored: Per call, True if cache reads and writes are taken from `recorded`; False if the user named a
            different prompt cache, bool.
        output: Per call, response tokens: reported, or measured if nothing or a stream's placeholder was reported,
            int64.
        output_apportioned: Per call, True if `output` is a share of recorded totals: exact in sum only, bool.
        output_known: True if the sum of all outputs is recorded, per call or as totals.
        output_is_least: Per call, True if `output` is a lower bound, bool.
        scale: Conversion of counted tokens to provider tokens.
        sizes: Size of every prompt with nothing cut; no block measures more than its part of a prompt.
        cached_blocks: Per call, number of leading blocks in the recorded (or simulated) cache, int64.
        recorded_removed: Per call including the next one, counted tokens the agent itself had cleared by then, int64.
        recorded_edits: The blocks that the agent itself cleared.
        recorded_reusable: The cacheable prefixes with nothing but the agent's own clearing.
        previous_call: Per call, the previous call in its thread, -1 for the first, int64.
        restarts: Per call, True if its prompt does not grow from the previous one: after a compaction or a rewind,
            bool.
        gap_seconds: Per call, seconds since the previous call, NaN where unknown, float64.
        entry_call: Per call, the call whose cache entry it can read, as in `PromptLayout.entry_calls`, int64.
        entry_gap: Per call, seconds since that call, NaN where unknown, float64.
        same_model: Per call, True if that call went to the same model, bool.
        caches: Prompt-cache rules of each call.
        cache_models: The same rules by the model's name as recorded.
        cache: Name of the prompt cache assumed for every call; None for each model's own.
        renderer: Applies operations and caches the results.
        named_rule: Breakpoint rule that the user named; None for the agent's own.
        other_model: Model that calls are priced as although others answered; empty for the recorded models.
    """

    history: History
    table: TokenTable
    layout: PromptLayout
    recorded: PromptUsage
    reported: NDArray[np.bool_]
    apportioned: NDArray[np.bool_]
    anchored: NDArray[np.bool_]
    output: NDArray[np.int64]
    output_apportioned: NDArray[np.bool_]
    output_known: bool
    output_is_least: NDArray[np.bool_]
    scale: TokenScale
    sizes: PromptSizes
    cached_blocks: NDArray[np.int64]
    recorded_removed: NDArray[np.int64]
    recorded_edits: Edits
    recorded_reusable: ReusablePrefix
    previous_call: NDArray[np.int64]
    restarts: NDArray[np.bool_]
    gap_seconds: NDArray[np.float64]
    entry_call: NDArray[np.int64]
    entry_gap: NDArray[np.float64]
    same_model: NDArray[np.bool_]
    rates: CallRates
    pricing: Pricing
    caches: CacheColumns
    cache_models: Mapping[str, CacheModel]
    cache: str | None
    renderer: Renderer
    window: ContextWindow
    named_rule: AgentRule | None = None
    other_model: str = ""

    @cached_property
    def history_of_window(self) -> History:
        """The session's columns for strategies, with fractions of the window relative to `window`."""
        return replace(self.history, window=self.window.size)

    @cached_property
    def before_blocks(self) -> NDArray[np.float64]:
        """Reported tokens before the first recorded block (system prompt and tools), per call."""
        shown = self.sizes.ratio * (self.layout.whole_tokens - self.recorded_removed) + self.layout.uncounted_in_prompts
        return (self.sizes.whole - shown)[:-1]

    @cached_property
    def whole_counts(self) -> NDArray[np.int64]:
        """Counted tokens of each whole block; for thinking, of its signature or reported length. int64."""
        return self.table.tokens + self.layout.thinking_uncounted

    @cached_property
    def block_ratio(self) -> NDArray[np.float64]:
        """Provider tokens per counted token of each block in the last prompt that held it. float64."""
        ratio = np.full(len(self.whole_counts), self.scale.calibration.ratio)
        for context in self.layout.contexts:
            if len(context.calls):
                ratio[context.blocks[: context.prompt_blocks[-1]]] = self.sizes.ratio[context.calls[-1]]
        return ratio

    @cached_property
    def block_tokens(self) -> NDArray[np.int32]:
        """Provider tokens of each block outside a prompt, at most the largest prompt that held it. int32."""
        most = np.zeros(len(self.whole_counts))
        for context in self.layout.contexts:
            if len(context.calls):
                # A block is in every prompt of its context, starting with the first one that reaches it.
                ends = np.maximum.accumulate(self.sizes.whole[context.calls][::-1])[::-1]
                first = np.searchsorted(context.prompt_blocks, np.arange(len(context.blocks)), side="right")
                held = np.append(ends, 0.0)[np.minimum(first, len(ends))]
                np.maximum.at(most, context.blocks, held)
        tokens = np.maximum(self.block_ratio * self.whole_counts, 0)
        return np.rint(np.where(most > 0, np.minimum(tokens, most), tokens)).astype(np.int32)

    @cached_property
    def may_read_all(self) -> NDArray[np.bool_]:
        """True for calls at which the cache may have held the whole prefix shared with the previous call.

        If two prompts share no block, only the tokens before the blocks, and the time between, can show a miss.
        """
        recorded, previous, before = self.recorded, self.entry_call, self.before_blocks
        held = (recorded.prompt - recorded.uncached)[previous] > 0
        in_time = ~(self.entry_gap > self.caches.lifetime)
        read: NDArray[np.bool_] = recorded.cache_read >= before - np.maximum(before // 100, 64)
        return (previous >= 0) & held & in_time & self.same_model & read

    @cached_property
    def cache_odds(self) -> Mapping[str, CacheOdds]:
        """Observed behavior of the session's prompt caches by cache name, blended with typical values.

        Models of one family share an entry: a subagent's few calls are assumed to be served like their parent's.
        """
        shared = self._shared_tokens
        names = np.array([cache.name for cache in self._caches_of_calls])
        found: dict[str, CacheOdds] = {}
        known = self.anchored & self.reported
        known &= ((self.previous_call < 0) | self.same_model) & ~self._is_changed
        start, siblings = self.start_tokens, self._has_sibling
        for cache in self._caches_of_calls:
            if cache.name not in found:
                mine = np.flatnonzero(known & (names == cache.name))
                found[cache.name] = CacheOdds.of(
                    cache,
                    CacheObservations(
                        read=self.recorded.cache_read[mine],
                        shared=shared[mine],
                        most_kept=np.minimum(shared, start)[mine] if cache.writes else shared[mine],
                        gap=self.entry_gap[mine],
                        is_first=self.previous_call[mine] < 0,
                        is_sibling=siblings[mine],
                        is_restart=self.restarts[mine],
                        writes=self.recorded.cache_write[mine],
                    ),
                )
        return found

    def odds_of(self, cache: CacheModel) -> CacheOdds | None:
        """Return the observed behavior of a cache, or the typical one if unused; None if the user named a cache."""
        if self.cache is not None:
            return None
        return self.cache_odds.get(cache.name) or CacheOdds.of(cache, CacheObservations.nothing())

    @cached_property
    def read_odds(self) -> ReadOdds | None:
        """Cache behavior at each call; None if the user named a cache, because a named cache follows its rules."""
        if self.cache is not None or not len(self.previous_call):
            return None
        odds = self.cache_odds
        place = {name: number for number, name in enumerate(odds)}
        code = np.array([place[cache.name] for cache in self._caches_of_calls])
        asked = CallFeatures(
            gap=self.entry_gap,
            most_kept=np.where(self.caches.writes, self.start_tokens, self.sizes.whole[:-1]),
            is_expired=self.entry_gap > self.caches.lifetime,
            is_changed=self._is_changed,
            is_first=self.previous_call < 0,
            is_sibling=self._has_sibling,
            is_restart=self.restarts,
            same_model=self.same_model,
        )
        return ReadOdds.of(list(odds.values()), code, asked)

    @cached_property
    def uses_expected_reads(self) -> NDArray[np.bool_]:
        """True for calls with an expected cache read: they lack reported usage, but other calls have it.

        If no call has reported usage, caches are assumed to follow their rules. Calls with reported usage that are
        priced at another provider have expected reads, too.
        """
        is_learned = self.cache is None and bool((self.anchored | (self.reported & bool(self.other_model))).any())
        return ~self.anchored if is_learned else np.zeros_like(self.anchored)

    @property
    def _caches_of_calls(self) -> list[CacheModel]:
        return [self.cache_models[call.model] for call in self.history.session.calls]

    @cached_property
    def start_tokens(self) -> NDArray[np.int64]:
        """Tokens of system prompt and tools at the start of each call's thread, recorded as blocks or not, int64."""
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
        threads = np.array([context.thread for context in self.history.session.contexts], dtype=np.int64)
        return threads[self.history.call_context[: len(self.previous_call)]]

    @cached_property
    def _first_of_thread(self) -> NDArray[np.int64]:
        _, firsts, place = np.unique(self._thread, return_index=True, return_inverse=True)
        return firsts[place].astype(np.int64)

    @cached_property
    def _is_changed(self) -> NDArray[np.bool_]:
        """True for calls with a changed request setting in the cache key, which no automatic cache documents."""
        calls, previous = self.history.session.calls, self.entry_call.tolist()
        changed = [
            before >= 0 and setting_changed(calls[before], call) is not None
            for before, call in zip(previous, calls, strict=True)
        ]
        return np.array(changed, dtype=np.bool_) & np.asarray(self.caches.writes, dtype=np.bool_)

    @cached_property
    def _has_sibling(self) -> NDArray[np.bool_]:
        """True for a subagent's first call if another subagent of its model ran within the cache's lifetime, bool.

        Subagents share a prefix. Requests sent at the same time cannot read each other's entries.
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
        """Tokens each call shares with the previous prompt, on the scale of its own report."""
        prefix = PromptEdits.of(self.layout, self.recorded_edits).reusable(self.layout.previous_blocks)
        ratio, whole = self.sizes.ratio[:-1], np.rint(self.sizes.whole[:-1])
        shared = self.before_blocks + ratio * (prefix.whole - prefix.removed)[:-1] + prefix.uncounted[:-1]
        shared = np.where(self.previous_call < 0, self.start_tokens, self.cacheable_tokens(shared, whole))
        # The reported size of the previous prompt is closer than a count of its texts.
        previous, kept = self.entry_call, self.recorded.prompt - self.recorded.uncached
        held = np.where(self.caches.writes, kept, self.recorded.prompt)[previous]
        is_known = (previous >= 0) & ~self.restarts & self.anchored[previous] & ~prefix.shortened[:-1] & (held > 0)
        shared = np.where(is_known, held, shared)
        return np.clip(np.rint(shared), 0, whole).astype(np.int64)

    def cacheable_tokens(self, shared: NDArray[np.float64], prompt: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cacheable tokens of a prefix that two prompts share, per call.

        Unrecorded insertions during a conversation belong to no block and are counted with its start. They are shared
        neither with a prompt that did not contain them yet, nor after a restart.

        Args:
            shared: Per call, tokens before the first block plus blocks identical in the previous prompt.
            prompt: Per call, tokens of its prompt.
        """
        previous = self.previous_call
        later = np.maximum(self.before_blocks - self.before_blocks[self._first_of_thread], 0)
        grown = np.minimum(shared, prompt[previous]) if len(prompt) else shared
        return np.where(previous < 0, shared, np.where(self.restarts, shared - later, grown))

    def isolated(self, cancelled: Callable[[], bool] | None = None) -> ReplayInputs:
        """Return the same inputs with a separate renderer cache.

        Use it in other threads, and to avoid caching hundreds of renditions that are never needed again.

        Args:
            cancelled: Polled during a replay; once it returns True, the replay raises `ReplayCancelledError`. Some
                strategies take a minute on a hundred thousand messages, and a program must be able to exit immediately.
        """
        return replace(self, renderer=Renderer(self.history, self.table, self.renderer.precise, cancelled))

    @property
    def lacks_output(self) -> bool:
        """True if some response has no known size, so that the cost is a lower bound."""
        return bool(self.output_is_least.any())

    @property
    def lacks_prices(self) -> bool:
        """True if some billed item has no known price, so that the cost is a lower bound."""
        return bool(self.rates.is_lower_bound.any())

    @cached_property
    def known_rule(self) -> AgentRule | None:
        """The breakpoint rule of the session's agent, or the one the user named; None if it is unknown."""
        session = self.history.session
        return self.named_rule or agent_rule(session.agent, session.format)

    @property
    def breakpoint_rule(self) -> AgentRule:
        """The rule that prices assume: the known one, otherwise the one that caches least of those agents have."""
        return self.known_rule or LEAST

    def with_rule(self, rule: AgentRule) -> ReplayInputs:
        return replace(self, named_rule=rule)

    @cached_property
    def uses_breakpoints(self) -> NDArray[np.bool_]:
        """True for calls to a provider that caches up to breakpoints of the request, bool."""
        return np.array([cache.uses_breakpoints for cache in self._caches_of_calls], dtype=np.bool_)

    @cached_property
    def breakpoints(self) -> Breakpoints | None:
        """Breakpoints of every request: recorded ones, otherwise by the rule; None if no provider uses them."""
        if not self.uses_breakpoints.any():
            return None
        calls = self.history.session.calls
        recorded = {
            number: np.array([mark.blocks for mark in call.marks or ()], dtype=np.int64)
            for number, call in enumerate(calls)
            if self.named_rule is None and _has_recorded_breakpoints(call)
        }
        # Reads that are recorded, or learned from recorded ones, already follow the agent's breakpoints.
        follows = self.anchored | self.uses_expected_reads
        expired = self.entry_gap > self.caches.lifetime
        return Breakpoints.of(self.layout, self.breakpoint_rule, self.uses_breakpoints, follows, expired, recorded)

    def prompt_known(self, call: int) -> HowKnown:
        """Return the confidence of the size of a recorded call's prompt with nothing cut."""
        if self.reported[call]:
            usage = self.history.session.calls[call].usage
            return HowKnown.ESTIMATED if usage is not None and usage.ignored else HowKnown.EXACT
        return HowKnown.CALIBRATED if self.apportioned[call] else self.scale.known

    @property
    def lacks_usage(self) -> bool:
        """True if the file reports usage that is not counted, or may do so, so that totals are lower bounds."""
        session = self.history.session
        return bool(session.ignored_usage) or any(one.loses_usage for one in session.diagnostics)

    @property
    def recorded_known(self) -> HowKnown:
        """Confidence of sums of recorded usage: exact only if the whole record is counted."""
        return HowKnown.ESTIMATED if self.lacks_usage else HowKnown.EXACT

    @property
    def sums_are_recorded(self) -> bool:
        """True if the sums over all calls are recorded: per call, or as totals."""
        return bool((self.reported | self.apportioned).all())

    @cached_property
    def prices_known(self) -> HowKnown:
        """Confidence of recorded prompts' prices: not exact if the unknown size of a call's share could decide them."""
        shares = self.recorded.prompt * self.apportioned
        largest, smallest = (self.rates.of_prompts(np.full_like(shares, size)) for size in (shares.sum(), 0))
        is_same = np.array_equal(largest[self.apportioned], smallest[self.apportioned], equal_nan=True)
        return HowKnown.EXACT if is_same else HowKnown.CALIBRATED

    @property
    def has_lookback(self) -> bool:
        """True if a prompt cache of the session has a limited lookback."""
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
        calibration_source: CalibrationSource | None = None,
    ) -> ReplayInputs:
        """Build the replay inputs of a session.

        Args:
            pricing: Prices; by default the user's price file and the bundled table.
            cache: Name of a prompt cache to assume for every call, ignoring reported cache usage; by default each
                model's own cache, and the reported usage.
            window: Context window in tokens; by default from the file or the model's listing.
            precise: Count cut texts exactly, otherwise within a few tokens; reads every text that is cut.
            scale: Conversion to provider tokens; by default fitted to the session's reported usage.
            calibration_source: Session to borrow the calibration from if this one reports too little, without a scale;
                see `inspector.replay.sessions`.
        """
        calls = history.session.calls
        pricing = pricing or Pricing.load()
        layout = PromptLayout.of(history, table.tokens)
        renderer = Renderer(history, table, precise)
        facts = recorded_calls(history)
        models, recorded = facts.models, facts.usage
        reported = recorded.prompt > 0
        nothing = np.zeros(history.call_count + 1)
        cleared = plan_edits(history, renderer, Plan(), PromptSizes(nothing, nothing))
        recorded_removed = PromptEdits.of(layout, cleared).removed
        scale = scale or TokenScale.of(history, table, recorded_removed, calibration_source)
        responses = ResponseTokens.of(history, facts, table, scale)
        previous, entry = layout.previous_in_thread(), layout.entry_calls()
        shares = apportioned_usage(history.session, facts, scale.prompt[:-1], responses.tokens, previous)
        recorded, measured = shares.usage, reported | shares.calls
        anchored = measured if cache is None else np.zeros_like(reported)
        layout = layout.with_uncounted(scale.uncounted, scale.calibration.ratio)
        sums = layout.whole_tokens - recorded_removed
        whole = scale.whole_prompts(layout, recorded, measured, sums)
        ratio = scale.ratio_within(layout, whole, measured, recorded_removed)
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
        time = history.call_time[:-1]
        made = cls(
            history=history,
            table=table,
            layout=layout,
            recorded=recorded,
            reported=reported,
            apportioned=shares.calls,
            anchored=anchored,
            output=shares.output,
            output_apportioned=shares.outputs,
            output_known=bool((responses.is_reported | shares.outputs).all()),
            output_is_least=responses.is_lower_bound & ~shares.outputs,
            scale=scale,
            sizes=PromptSizes(whole, ratio, recorded_removed, layout.envelopes),
            cached_blocks=cached,
            recorded_removed=recorded_removed,
            recorded_edits=cleared,
            recorded_reusable=PromptEdits.of(layout, cleared).reusable(cached),
            previous_call=previous,
            restarts=(previous >= 0) & (layout.previous_call[:-1] < 0),
            gap_seconds=np.where(previous >= 0, time - time[previous], np.nan) if len(calls) else time,
            entry_call=entry,
            entry_gap=np.where(entry >= 0, time - time[entry], np.nan) if len(calls) else time,
            same_model=_same_model(models, entry),
            rates=pricing.call_rates(models, history.call_time[:-1], facts.terms),
            pricing=pricing,
            caches=CacheColumns.of([cache_models[name] for name in models.names]).rows(models.code),
            cache_models=cache_models,
            cache=cache,
            renderer=renderer,
            window=context_window(
                history.session, pricing, _longest_prompt(models, recorded, history.session.main_model), window
            ),
        )
        return made if pricing.model is None else as_other_model(made, pricing.model)


def _longest_prompt(models: Categorical, recorded: PromptUsage, model: str) -> int:
    """Return the longest prompt reported for a model, 0 for none."""
    is_named = np.array([name == model for name in models.names], dtype=np.bool_)
    return int(recorded.prompt[is_named[models.code]].max(initial=0)) if len(models.code) else 0


def _same_model(models: Categorical, previous: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return True per call if the previous call went to the same model; an unnamed model counts as the same."""
    if not len(previous):
        return previous >= 0
    is_unnamed = np.array([not name for name in models.names])[models.code]
    same = (models.code == models.code[previous]) | is_unnamed | is_unnamed[previous]
    found: NDArray[np.bool_] = (previous >= 0) & same
    return found


def _cached_blocks(
    layout: PromptLayout,
    ratio: NDArray[np.float64],
    recorded: PromptUsage,
    anchored: NDArray[np.bool_],
    cleared: Edits,
) -> NDArray[np.int64]:
    """Count the leading blocks of every prompt in the cache, up to the end of the reported read or previous prompt.

    Args:
        ratio: Per call including the next one, provider tokens per counted token.
        recorded: Per call, reported prompt tokens.
        anchored: Per call, True if cache reads are taken from that report.
        cleared: Blocks that the recorded agent itself removed.

    Returns:
        One number per call including the next one, int64.
    """
    previous_blocks = layout.previous_blocks
    if not anchored.any():
        return previous_blocks
    tail = np.zeros(len(previous_blocks))
    tail[:-1] = recorded.prompt - recorded.cache_read
    ends = np.minimum(_blocks_before(layout, tail, ratio, cleared), previous_blocks)
    # A read up to the end of the previous prompt, excluding its uncached tail, covers all of it.
    previous = np.where(layout.previous_call[:-1] < 0, -1, layout.entry_calls())
    expected = np.where(previous >= 0, (recorded.prompt - recorded.uncached)[previous], 0)
    everything = (previous >= 0) & (recorded.cache_read >= expected - np.maximum(expected // 100, 64))
    blocks = previous_blocks.copy()
    blocks[:-1] = np.where(anchored & ~everything, ends[:-1], previous_blocks[:-1])
    return blocks


def _blocks_before(
    layout: PromptLayout, tail: NDArray[np.float64], ratio: NDArray[np.float64], edits: Edits
) -> NDArray[np.int64]:
    """Count the blocks before each prompt's last `tail` provider tokens; `ratio` is provider per counted token."""
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
            ends = np.maximum.accumulate(each * counted + context.uncounted)
            middles = (ends[1:] + ends[:-1]) / 2
            found = np.searchsorted(middles, ends[prompt_blocks] - tail[calls])
            blocks[calls] = np.minimum(found, prompt_blocks)
    return blocks


def _blocks_before_changed(
    layout: PromptLayout, tail: NDArray[np.float64], ratio: NDArray[np.float64], edits: Edits
) -> NDArray[np.int64]:
    """Handle edited blocks for `_blocks_before` by bisection, because their sizes differ between calls."""
    everything = np.full(layout.history.call_count + 1, len(layout.tokens), dtype=np.int64)
    prompt_edits = PromptEdits.of(layout, edits)
    whole = prompt_edits.reusable(everything, unbroken=True)
    target = _prefix_tokens(whole, ratio) - tail
    # The smallest sufficient number of blocks is in the interval (low, high].
    low, high = np.full_like(everything, -1), whole.blocks
    while bool((high - low > 1).any()):
        middle = (low + high) // 2
        enough = _prefix_tokens(prompt_edits.reusable(np.maximum(middle, 0), unbroken=True), ratio) >= target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    low = np.maximum(low, 0)
    below, above = (_prefix_tokens(prompt_edits.reusable(each, unbroken=True), ratio) for each in (low, high))
    return np.where(target - below < above - target, low, high)


def _prefix_tokens(prefix: ReusablePrefix, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    tokens: NDArray[np.float64] = ratio * (prefix.whole - prefix.removed) + prefix.uncounted
    return tokens


def _has_recorded_breakpoints(call: Call) -> bool:
    """Return True if the recorded request has all breakpoints that the provider received.

    A request without any that still used the cache got its breakpoints after it was recorded, from a gateway.
    """
    usage = call.usage
    uses_cache = usage is not None and usage.cache_read + usage.cache_write_5m + usage.cache_write_1h > 0
    return call.marks is not None and (bool(call.marks) or not uses_cache)


def as_other_model(inputs: ReplayInputs, model: str) -> ReplayInputs:
    """Return the inputs of a session with every call priced as another model.

    Prompts, responses and the calibration stay as they are; rates, minimum prefix and cache rules are those of the
    other model. A provider with the same kind of cache reads what was recorded, including misses. Another provider's
    cache is simulated by its own rules and the typical chance that a read succeeds. Rates are today's, because the
    session did not run there.

    The same model under another name, such as a provider's route, keeps the recorded usage and the day of each call.
    So do calls that name no model.
    """
    pricing = inputs.pricing if inputs.pricing.model == model else inputs.pricing.as_model(model)
    facts, rates = recorded_calls(inputs.history), pricing.rates(model)
    other = np.array([_is_other(name, model) for name in facts.models.names], dtype=np.bool_)[facts.models.code]
    times = np.where(other, np.nan, inputs.history.call_time[:-1])
    priced = replace(inputs, pricing=pricing, rates=pricing.call_rates(facts.models, times, facts.terms))
    if rates is None or not other.any():
        return priced
    caches: dict[str, CacheModel] = {}
    is_alike = np.ones(len(facts.models.names), dtype=np.bool_)
    for number, name in enumerate(facts.models.names):
        caches[name] = recorded = inputs.cache_models[name]
        if _is_other(name, model):
            caches[name] = cache_model_for(model, rates=rates, named=inputs.cache)
            is_alike[number] = _kind(recorded) == _kind(caches[name])
        if _is_other(name, model) and is_alike[number] and inputs.cache is None:
            usage = inputs.recorded.rows(np.flatnonzero(facts.models.code == number))
            shown = recorded_cache(caches[name], usage)
            # A session shows that a gateway counts no writes only if its own provider would have counted them.
            counts = cache_model_for(name).writes
            caches[name] = shown if counts else replace(shown, writes=caches[name].writes, title=caches[name].title)
    columns = CacheColumns.of([caches[name] for name in facts.models.names]).rows(facts.models.code)
    kept = is_alike[facts.models.code]
    anchored = inputs.anchored & kept
    cached = inputs.cached_blocks.copy()
    cached[:-1] = np.where(kept, cached[:-1], inputs.layout.previous_blocks[:-1])
    return replace(
        priced,
        other_model=model,
        recorded=_served(inputs, columns, kept, other & anchored),
        anchored=anchored,
        cached_blocks=cached,
        recorded_reusable=PromptEdits.of(inputs.layout, inputs.recorded_edits).reusable(cached),
        same_model=inputs.same_model | (inputs.previous_call >= 0),
        caches=columns,
        cache_models=caches,
    )


def _served(
    inputs: ReplayInputs, caches: CacheColumns, kept: NDArray[np.bool_], other: NDArray[np.bool_]
) -> PromptUsage:
    """Return the recorded usage as the other model's provider would report it.

    Prompts and reads below its minimum prefix are not cached. A provider that counts writes writes everything unread,
    except what was recorded as neither read nor written.
    """
    recorded, none = inputs.recorded, np.zeros(len(other), dtype=np.int64)
    prompt, is_cached = recorded.prompt, recorded.prompt >= caches.minimum_prefix
    read = np.where(is_cached & (recorded.cache_read >= caches.minimum_prefix), recorded.cache_read, 0)
    plain = np.where(inputs.caches.writes, recorded.uncached, 0)
    written = np.where(is_cached & caches.writes, np.maximum(prompt - read - plain, 0), 0)
    share = np.nan_to_num(recorded.one_hour_share, nan=0.0)
    for_hour = np.rint(written * share).astype(np.int64)
    served = PromptUsage(prompt - read - written, read, written - for_hour, for_hour)
    unread = PromptUsage(prompt, none, none, none)
    return served.where(other, recorded.where(kept, unread))


def _is_other(recorded: str, model: str) -> bool:
    """Return True if a call named a model other than the given one."""
    names = [parse_model_name(name).name.replace(".", "-") for name in (recorded, model)]
    return bool(names[0]) and names[0] != names[1]


def _kind(cache: CacheModel) -> str:
    """Return the provider's kind of cache: `anthropic` for `anthropic-1h`."""
    return cache.name.partition("-")[0]
