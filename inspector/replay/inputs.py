"""What every replay of one session starts from: layout, recorded usage, prices. No plan changes any of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cached_blocks import cached_blocks
from inspector.replay.composition import PromptSizes, changes_of
from inspector.replay.context_window import context_window
from inspector.replay.layout import Layout
from inspector.replay.placed_changes import PlacedChanges
from inspector.replay.prices import Pricing
from inspector.replay.prompt_cache import CacheColumns, cache_model_for
from inspector.replay.recorded_calls import recorded_calls
from inspector.replay.scale import Scale
from inspector.replay.stacks import Renderer
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.replay.context_window import ContextWindow
    from inspector.replay.prompt_cache import CacheModel
    from inspector.replay.prompt_usage import PromptUsage
    from inspector.replay.rates import CallRates
    from inspector.replay.recorded_calls import RecordedCalls
    from inspector.strategies.history.history import History
    from inspector.tokens.table import TokenTable


@dataclass(frozen=True, eq=False)
class ReplayInputs:
    """All of it, worked out once for any number of plans.

    Attributes:
        history: The session's columns.
        table: Its token counts.
        layout: Where every block stands in every prompt.
        recorded: Prompt tokens the provider reported, in call order; zeros where it reported nothing.
        reported: Per call, whether it did, bool.
        anchored: Per call, whether what was read and written is taken from that report; where a prompt cache was named
            that is not the provider's, it is not, bool.
        output: Per call, response tokens: reported, or counted where nothing was, int64.
        output_known: Whether every output was reported and none is a streaming placeholder.
        scale: The provider's tokens for our counted ones.
        sizes: What every prompt measures with nothing cut.
        cached_blocks: Per call, how many blocks at its beginning the recorded (or simulated) cache held, int64.
        recorded_removed: Per call, the next one included, counted tokens the agent itself had blanked by then, int64.
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
    layout: Layout
    recorded: PromptUsage
    reported: NDArray[np.bool_]
    anchored: NDArray[np.bool_]
    output: NDArray[np.int64]
    output_known: bool
    scale: Scale
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
    def served_all(self) -> NDArray[np.bool_]:
        """Per call, whether nothing speaks against its cache having held what it shared with the call before.

        Where two prompts share no block, only what stands before the blocks can show a miss, and the clock.
        """
        recorded, previous, before = self.recorded, self.previous_call, self.before_blocks
        held = (recorded.prompt - recorded.uncached)[previous] > 0
        in_time = ~(self.gap_seconds > self.caches.lifetime)
        read: NDArray[np.bool_] = recorded.cache_read >= before - np.maximum(before // 100, 64)
        return (previous >= 0) & held & in_time & self.same_model & read

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
        scale: Scale | None = None,
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
        """
        calls = history.session.calls
        pricing = pricing or Pricing.load()
        layout = Layout.of(history, table.tokens)
        renderer = Renderer(history, table, precise)
        facts = recorded_calls(history)
        models, recorded = facts.models, facts.usage
        reported = recorded.prompt > 0
        anchored = reported if cache is None else np.zeros_like(reported)
        nothing = np.zeros(history.call_count + 1)
        cleared = changes_of(history, renderer, Plan(), PromptSizes(nothing, nothing))
        recorded_removed = PlacedChanges.of(layout, cleared).removed
        scale = scale or Scale.of(history, table, recorded_removed)
        layout = layout.with_beside(scale.beside, scale.calibration.ratio)
        sums = layout.whole_tokens - recorded_removed
        whole = _whole_prompts(layout, scale, recorded, reported, sums)
        cached = cached_blocks(layout, scale.ratio, recorded, anchored, cleared)
        first_calls = (calls[int(np.argmax(models.code == number))] for number in range(len(models.names)))
        cache_models = {
            call.model: cache_model_for(call.model, rates=pricing.rates(call.model, call.time), named=cache)
            for call in first_calls
        }
        previous = layout.previous_in_thread()
        time = history.call_time[:-1]
        return cls(
            history=history,
            table=table,
            layout=layout,
            recorded=recorded,
            reported=reported,
            anchored=anchored,
            output=_outputs(history, facts, table, scale),
            output_known=bool((facts.output >= 0).all()) and not facts.is_placeholder.any(),
            scale=scale,
            sizes=PromptSizes(whole, scale.ratio, recorded_removed, layout.envelopes),
            cached_blocks=cached,
            recorded_removed=recorded_removed,
            recorded_reusable_removed=PlacedChanges.of(layout, cleared).reusable(cached).removed,
            previous_call=previous,
            restarts=(previous >= 0) & (layout.previous_call[:-1] < 0),
            gap_seconds=np.where(previous >= 0, time - time[previous], np.nan) if len(calls) else time,
            same_model=(previous >= 0) & (models.code == models.code[previous]) if len(calls) else previous >= 0,
            rates=pricing.call_rates(models, history.call_time[:-1]),
            pricing=pricing,
            caches=CacheColumns.of([cache_models[name] for name in models.names]).rows(models.code),
            cache_models=cache_models,
            cache=cache,
            renderer=renderer,
            window=context_window(history.session, pricing, recorded, window),
        )


def _whole_prompts(
    layout: Layout,
    scale: Scale,
    recorded: PromptUsage,
    reported: NDArray[np.bool_],
    counted: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Every prompt with nothing cut: as reported, or our count on the provider's scale."""
    whole = scale.prompt.copy()
    whole[:-1] = np.where(reported, recorded.prompt, whole[:-1])
    previous = int(layout.previous_call[-1])
    if previous >= 0 and reported[previous]:
        # The next prompt is the last one and what has come since, so the last report is the better start.
        shown = scale.ratio[-1] * counted + layout.beside_prompts
        whole[-1] = whole[previous] + shown[-1] - shown[previous]
    return whole


def _outputs(history: History, calls: RecordedCalls, table: TokenTable, scale: Scale) -> NDArray[np.int64]:
    reported = calls.output
    if bool((reported >= 0).all()):
        return reported
    before = np.concatenate(([0], np.cumsum(table.tokens, dtype=np.int64)))
    first = history.message_first_block
    counted = before[first[calls.response + 1]] - before[first[calls.response]]
    estimated: NDArray[np.int64] = np.rint(scale.ratio[:-1] * counted).astype(np.int64)
    return np.where(reported >= 0, reported, estimated)
