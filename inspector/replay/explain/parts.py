"""Explain figures of a session's parts: a block, a prompt, a tool's results, a compaction, the next calls.

Each explanation uses exactly the numbers shown; `inspector.replay.explain.plan` explains the totals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.explain.explanation import Explanation, Input
from inspector.replay.explain.totals import REPORTED, scale_inputs, scale_source
from inspector.replay.figure import HowKnown, lowest_confidence
from inspector.strategies.core.rendition import Action
from inspector.tokens.media_tokens import image_rule, uncertain_documents, unsized_images

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock
    from inspector.replay.analysis.compaction_forecast import CompactionForecast
    from inspector.replay.analysis.forecast import NextCallsProjection
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import ContextState, Replay
    from inspector.replay.figure import Band
    from inspector.replay.pricing.context_window import ContextWindow
    from inspector.tokens.media_tokens import UncertainMedia

_SERVED = "each call's tokens at their own rate: cache reads, cache writes or uncached input"


def breakdown_explanation(row: BreakdownRow, planned: Replay) -> Explanation:
    """Explain the prompt usage of a kind of block, a tool, or a tier."""
    of_plan = (
        Input("token-calls cut", row.cut_tokens, "tokens"),
        Input("saved", row.saved_usd, "$"),
    )
    is_planned = any(entry.enabled for entry in planned.plan.entries)
    return Explanation(
        row.sent_tokens,
        "tokens",
        row.figure("sent_tokens").known,
        "tokens of these blocks, summed over all prompts: a block that stays for 100 calls is sent 100 times",
        (
            Input("blocks", row.blocks),
            Input("in the newest prompt", row.carried_tokens, "tokens"),
            Input("of all prompts", row.share, "share"),
            Input("cost", row.usd, "$"),
            *(of_plan if is_planned else ()),
        ),
        f"{scale_source(planned.inputs)}; dollars: {_SERVED}",
    )


def resent_explanation(block: int, row: ResentBlock, planned: Replay, by_difference: Mapping[int, int]) -> Explanation:
    """Explain the cost of resending one block.

    Args:
        block: Block index.
        row: The block's figures.
        planned: The replay they are from.
        by_difference: Provider's sizes of blocks, where available.
    """
    inputs = planned.inputs
    return Explanation(
        row.usd,
        "$",
        row.figure("usd").known,
        "cost of this block's tokens, summed over all calls",
        (
            Input("local estimate", int(planned.table.tokens[block]), "tokens"),
            Input("provider tokens per counted token", inputs.scale.calibration.ratio),
            Input("on the provider's scale", row.tokens, "tokens"),
            *_difference(block, by_difference),
            Input("times sent", row.calls, "calls"),
            Input("token-calls", row.sent_tokens, "tokens"),
        ),
        f"{scale_source(inputs)}; {_SERVED}",
    )


def counted_explanation(planned: Replay, state: ContextState, block: int) -> Explanation:
    """Explain the locally counted size of a whole block, as its row shows.

    Args:
        planned: The replay.
        state: State of the blocks at the call.
        block: The block.
    """
    counter = planned.inputs.table.counter
    by = "with the vocabulary" if counter.is_exact_tokenizer else "by"
    return Explanation(
        int(state.recorded[block]),
        "tokens",
        HowKnown.ESTIMATED,
        "local token count of the whole block, as in its row; prompts are measured on the provider's scale",
        (Input("as sent in this prompt", int(state.sent[block]), "tokens"),),
        f"counted {by} {counter.name}",
    )


def block_explanation(
    planned: Replay, state: ContextState, block: int, by_difference: Mapping[int, int]
) -> Explanation:
    """Explain the size of a block in the prompt of a call.

    Args:
        planned: The replay.
        state: State of the blocks at the call.
        block: The block.
        by_difference: Provider's sizes of blocks, where available.
    """
    inputs = planned.inputs
    ratio = float(inputs.sizes.ratio[state.call])
    counted, sent = int(state.recorded[block]), int(state.sent[block])
    reason = planned.reason(block, state.call)
    uncertain = _uncertain(inputs, block) if sent else ()
    return Explanation(
        round(ratio * sent),
        "tokens",
        lowest_confidence(inputs.scale.known, HowKnown.ESTIMATED) if uncertain else inputs.scale.known,
        _block_formula(planned, state, block),
        (
            Input("local estimate, whole", counted, "tokens"),
            Input("local estimate, as sent", sent, "tokens"),
            Input("provider tokens per counted token", ratio),
            Input("framing and signature", round(float(inputs.scale.uncounted[block])), "tokens"),
            *uncertain,
            *_difference(block, by_difference),
            *([Input("rule:", reason)] if reason else []),
        ),
        scale_source(inputs),
    )


def _uncertain(inputs: ReplayInputs, block: int) -> tuple[Input, ...]:
    """Return the uncertainty of a block's images and documents with unrecorded properties."""
    recorded = inputs.history.session.blocks[block]
    rule = image_rule(inputs.scale.calibration.main_model)
    images, documents = unsized_images(recorded, rule), uncertain_documents(recorded, rule)
    return (*(_image_inputs(images) if images else ()), *(_document_inputs(documents) if documents else ()))


def _image_inputs(images: UncertainMedia) -> tuple[Input, ...]:
    return (
        Input("images of unknown size", images.count),
        Input("minimum tokens of such an image", images.least, "tokens"),
        Input("maximum tokens of such an image", images.most, "tokens"),
    )


def _document_inputs(documents: UncertainMedia) -> tuple[Input, ...]:
    return (
        Input("pages of its documents", documents.pages)
        if documents.pages
        else Input("documents with unknown page count", documents.count),
        Input("minimum tokens, depending on their content", documents.least, "tokens"),
        Input("maximum tokens, depending on their content", documents.most, "tokens"),
    )


def prompt_explanation(planned: Replay, call: int) -> Explanation:
    """Explain the size of a call's prompt; `history.call_count` for the next one, not yet sent."""
    inputs, count = planned.inputs, planned.history.call_count
    if call >= count:
        return _next_prompt(planned)
    ledger = planned.ledger
    reported, is_share = bool(inputs.reported[call]), bool(inputs.apportioned[call])
    removed = int(ledger.removed_tokens[call])
    known = inputs.scale.known if removed else inputs.prompt_known(call)
    formula = "reported for this call" if reported else "the prompt's texts on the provider's scale, plus framing"
    if is_share:
        formula = "a share of the total recorded for several calls, by the texts of their prompts"
    whole = float(inputs.sizes.whole[call])
    served = (
        Input("cache reads", int(ledger.cache_read[call]), "tokens"),
        Input("cache writes", int(ledger.cache_write[call]), "tokens"),
        Input("uncached input", int(ledger.uncached[call]), "tokens"),
    )
    cost = float(ledger.cost[call])
    return Explanation(
        int(ledger.prompt_tokens[call]),
        "tokens",
        known,
        f"{formula}, minus tokens removed by the plan" if removed and (reported or is_share) else formula,
        (
            Input("call", call + 1),
            Input("reported" if reported else "with nothing cut", round(whole), "tokens"),
            Input("local estimate on the provider's scale", round(float(inputs.scale.prompt[call])), "tokens"),
            *([Input("removed by the plan", removed, "tokens")] if removed else []),
            *served,
            Input("output", int(ledger.output[call]), "tokens"),
            Input("cost of the call", None if np.isnan(cost) else cost, "$"),
        ),
        REPORTED if reported or is_share else scale_source(inputs),
    )


def _next_prompt(planned: Replay) -> Explanation:
    inputs = planned.inputs
    before = int(inputs.layout.previous_call[-1])
    known = before >= 0 and bool(inputs.reported[before])
    start = (
        (Input("reported for the previous call", int(inputs.recorded.prompt[before]), "tokens"),)
        if known
        else tuple(scale_inputs(inputs))
    )
    return Explanation(
        round(float(inputs.sizes.whole[-1])),
        "tokens",
        inputs.scale.known,
        "reported for the previous call, plus everything added since, with nothing cut"
        if known
        else "the prompt's texts on the provider's scale, plus framing, with nothing cut",
        start,
        scale_source(inputs),
    )


def compaction_explanation(forecast: CompactionForecast) -> Explanation:
    """Explain whether a recorded compaction would have happened under the plan, and the savings."""
    saved = forecast.saved_usd
    reached = None if forecast.reached_at is None else forecast.reached_at + 1
    return Explanation(
        saved.value,
        "$",
        HowKnown.PROJECTED,
        "requested by the user, so it would have happened under any plan"
        if forecast.asked_for
        else (
            "later calls replayed under the plan without this compaction, until a prompt reaches the trigger size; "
            "all other totals include the compaction"
        ),
        (
            Input(
                "reported by the agent" if forecast.is_agent_count else "triggered at",
                forecast.trigger_tokens.value,
                "tokens",
            ),
            Input("prompt under the plan", forecast.prompt_tokens.value, "tokens"),
            Input("reached at call", "never here" if reached is None else reached),
            Input("recorded compactions avoided", forecast.avoided),
            Input("prompt tokens saved until then", forecast.saved_tokens.value, "tokens"),
            Input("saved on prompts until then", forecast.calls_usd.value, "$"),
            Input("saved on summary requests", forecast.requests_usd.value, "$"),
        ),
        "a replay of the longer conversation, assuming that later calls are unchanged",
    )


def next_calls_explanation(projection: NextCallsProjection, window: ContextWindow) -> Explanation:
    """Explain the cost of the next calls with and without the plan, or one cost if both are the same."""
    cost = projection.cost
    is_recorded = cost.plan == cost.baseline and projection.plan_prompt_tokens == projection.baseline_prompt_tokens
    return Explanation(
        cost.baseline.middle if is_recorded else cost.saving.middle,
        "$",
        HowKnown.PROJECTED,
        (
            "median of two hundred continuations of the session: each new call takes its growth, cache usage and "
            "response length from a randomly drawn call"
        ),
        (
            Input("calls", projection.calls, "calls"),
            *(_recorded_inputs(projection) if is_recorded else _planned_inputs(projection)),
            Input("context window, the maximum of a prompt", window.size, "tokens"),
        ),
        f"this session's calls, at the rates of the last one; context window: {window.source}",
    )


def _recorded_inputs(projection: NextCallsProjection) -> tuple[Input, ...]:
    return (
        *_band_inputs("recorded cost", projection.cost.baseline, "$"),
        *_band_inputs("last prompt", projection.baseline_prompt_tokens, "tokens"),
    )


def _planned_inputs(projection: NextCallsProjection) -> tuple[Input, ...]:
    cost = projection.cost
    return (
        *_band_inputs("without the plan", cost.baseline, "$"),
        *_band_inputs("with the plan", cost.plan, "$"),
        *_band_inputs("saved", cost.saving, "$"),
        *_band_inputs("last prompt without the plan", projection.baseline_prompt_tokens, "tokens"),
        *_band_inputs("last prompt with the plan", projection.plan_prompt_tokens, "tokens"),
    )


def _band_inputs(label: str, band: Band, unit: str) -> tuple[Input, Input, Input]:
    return (Input(label, band.middle, unit), Input("  from", band.low, unit), Input("  to", band.high, unit))


def _difference(block: int, by_difference: Mapping[int, int]) -> tuple[Input, ...]:
    tokens = by_difference.get(block)
    if tokens is None:
        return ()
    return (Input("difference of two reported prompts, framing included (exact)", tokens, "tokens"),)


def _block_formula(planned: Replay, state: ContextState, block: int) -> str:
    if not state.in_prompt[block]:
        return "not in this prompt: removed by a compaction, in another thread, or added later"
    if state.action[block] == Action.REMOVED:
        return "removed by the plan"
    known = lowest_confidence(planned.inputs.scale.known, HowKnown.CALIBRATED)
    scale = "fitted to this session's reported usage" if known is HowKnown.CALIBRATED else "typical of the model family"
    return f"counted tokens times provider tokens per counted token, {scale}"
