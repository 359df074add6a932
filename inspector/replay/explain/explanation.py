"""The calculation of a figure in words and numbers, shown for the figure under the cursor.

Explain figures of a session's parts: a block, a prompt, a tool's results, a compaction, the next calls.

Each explanation uses exactly the numbers shown; `inspector.replay.explain.cost_sheet` explains the totals. A formula
depends on the session (reported, shared out of a total, or estimated), so it is computed here; the catalogue has the
definition of the figure (`help`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.context_blocks import shown_state, system_by_call, system_tokens
from inspector.replay.analysis.costs import ModelCost, SideRequest, SideSpending, cost_with_side_requests, side_requests
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.figure import Band, Figure, HowKnown, lowest_confidence
from inspector.replay.pricing.rates import RateColumn
from inspector.strategies.core.operations import Action
from inspector.tokens.block_tokens import UncertainMedia, image_rule, uncertain_documents, unsized_images
from inspector.tokens.calibration import ResponseModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock
    from inspector.replay.analysis.compaction_forecast import CompactionForecast
    from inspector.replay.analysis.forecast import NextCallsProjection
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import ContextState, Replay
    from inspector.replay.pricing.context_window import ContextWindow


@dataclass(frozen=True, slots=True)
class Input:
    """A number that enters a figure, or a setting that decides it.

    Attributes:
        value: The number, or a few words; None if unknown. May contain session text: a model's name.
        unit: Its unit: `tokens`, `$`, `$ per million tokens`, `seconds`, `calls`; empty for none.
        is_part: True if it and the other parts add up to the figure.
    """

    label: str
    value: float | str | None
    unit: str = ""
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of one figure.

    Attributes:
        value: The figure; None if unknown.
        unit: Its unit, as for `Input`; `share` for a part of 1.
        formula: The calculation, in one sentence.
        inputs: Numbers of the calculation, in the order of the formula.
        source: Source of the rule and the numbers.
        band: Uncertainty of a projected figure, None for others.
        is_lower_bound: True if the figure is a lower bound.
    """

    value: float | None
    unit: str
    known: HowKnown
    formula: str
    inputs: tuple[Input, ...]
    source: str
    band: Band | None = None
    is_lower_bound: bool = False

    @classmethod
    def of(cls, figure: Figure, unit: str, formula: str, inputs: tuple[Input, ...], source: str) -> Explanation:
        """Create an explanation with the confidence of the figure itself."""
        return cls(figure.value, unit, figure.known, formula, inputs, source, is_lower_bound=figure.is_lower_bound)


MOST_SIDE_REQUESTS = 50
"""Maximum number of requests per purpose listed individually."""

REPORTED = "usage reported by the provider, from the session's file"


def replay_explanations(replay: Replay) -> dict[str, Explanation]:
    """Explain every total of one replay, by its name in `Figures`."""
    return {**token_explanations(replay), "cost_usd": cost_explanation(replay)}


def token_explanations(replay: Replay) -> dict[str, Explanation]:
    """Explain every figure of a replay in tokens or calls, by its name in `Figures`."""
    figures, ledger, inputs = replay.figures, replay.ledger, replay.inputs
    is_reported = figures.prompt_tokens.known is HowKnown.EXACT
    scale = () if is_reported else tuple(scale_inputs(inputs))
    size_source = REPORTED if is_reported else scale_source(inputs)
    sizes = (
        Input("calls", len(ledger.cost), "calls"),
        Input("prompts with nothing cut", int((ledger.prompt_tokens + ledger.removed_tokens).sum()), "tokens"),
        Input("removed by the plan", int(ledger.removed_tokens.sum()), "tokens"),
    )
    largest = int(ledger.prompt_tokens.argmax()) if len(ledger.prompt_tokens) else -1
    read, written, rest = _cache_formulas(replay)
    caches, cache_source = tuple(_cache_inputs(inputs)), _cache_source(inputs)
    found = {
        "calls": ("model responses in the file, one per call", (), "the session's file"),
        "prompt_tokens": (_size_formula(inputs, figures.prompt_tokens.known), (*sizes, *scale), size_source),
        "peak_prompt_tokens": (
            "largest prompt of all calls",
            (Input("at call", largest + 1), *scale),
            size_source,
        ),
        "cache_read_tokens": (read, caches, cache_source),
        "cache_write_tokens": (written, caches, cache_source),
        "uncached_tokens": (rest, caches, cache_source),
        "output_tokens": _output(inputs),
        "cache_breaks": (
            "calls with a prompt that differs from the previous one before its end",
            (
                Input("by changes to text already sent", int((ledger.first_changed >= 0).sum()), "calls"),
                Input(
                    "by a compaction or a rewind", int((inputs.restarts & (ledger.first_changed < 0)).sum()), "calls"
                ),
            ),
            "each prompt compared with the previous one",
        ),
    }
    return {
        name: Explanation.of(getattr(figures, name), "calls" if name in _IN_CALLS else "tokens", *each)
        for name, each in found.items()
    }


_IN_CALLS = ("calls", "cache_breaks")


def overhead_explanation(inputs: ReplayInputs, call: int = -1) -> Explanation:
    """Explain the system prompt and the tools in a call's prompt, by default the next one."""
    fitted = max(round(float(inputs.scale.calibration.call_overhead[call])), 0)
    tokens = round(float(system_by_call(inputs)[call]))
    is_limited = tokens < fitted
    return Explanation(
        tokens,
        "tokens",
        inputs.scale.known,
        "reported prompts minus everything recorded in the file"
        + (", at most the rest of this prompt" if is_limited else ""),
        (*((Input("fitted to all calls", fitted, "tokens"),) if is_limited else ()), *_fit_inputs(inputs)),
        scale_source(inputs),
    )


def scale_inputs(inputs: ReplayInputs) -> Iterator[Input]:
    """Yield the inputs of the conversion from local counts to the provider's scale."""
    yield from _fit_inputs(inputs)
    yield Input("system prompt and tools in the newest prompt", system_tokens(inputs), "tokens")


def _fit_inputs(inputs: ReplayInputs) -> Iterator[Input]:
    fit = inputs.scale.calibration
    yield Input("provider tokens per counted token", fit.main.ratio)
    yield Input("framing tokens per block", fit.main.per_block, "tokens")
    signed = any(block.signature_characters for block in inputs.history.session.blocks)
    if signed and fit.main_reading is ResponseModel.SIGNATURES:
        yield Input("tokens per signature character", fit.main.per_signature_character, "tokens")
    if inputs.table.media.any():
        yield Input("provider tokens per token of its rule for images and documents", fit.main.per_media_token)
    yield Input("responses in later prompts", fit.main_reading.value)
    if fit.is_fitted and not np.isnan(fit.residual):
        yield Input("median error of prompt sizes", 100 * fit.residual, "%")
        yield Input("90th percentile of the error", 100 * fit.residual_p90, "%")
        yield Input("calls evaluated", fit.calls, "calls")


def scale_source(inputs: ReplayInputs) -> str:
    """Return the source of sizes that were not reported."""
    counter = inputs.table.counter.name
    counted = "tokens counted with the vocabulary" if inputs.table.counter.is_exact_tokenizer else "tokens counted by"
    if inputs.scale.known is HowKnown.CALIBRATED:
        return f"{counted} {counter}, fitted by least squares to this session's reported usage"
    if borrowed := inputs.scale.borrowed:
        return f"{counted} {counter}, on a borrowed scale: {borrowed}; this session reports too little usage"
    return f"{counted} {counter}, scaled by the typical ratio of the model family"


def _size_formula(inputs: ReplayInputs, known: HowKnown) -> str:
    if known is HowKnown.EXACT and inputs.apportioned.any():
        return "prompt tokens as recorded in totals of several calls, and as reported for the others"
    if known is HowKnown.EXACT:
        return "reported prompt tokens, summed over all calls"
    if inputs.sums_are_recorded:
        return (
            "reported prompt tokens minus tokens removed by the plan (on the provider's scale), summed over all calls"
        )
    return "every prompt's texts on the provider's scale, plus framing, minus tokens removed by the plan"


def _cache_formulas(replay: Replay) -> tuple[str, str, str]:
    inputs = replay.inputs
    if replay.figures.cache_read_tokens.known is HowKnown.EXACT:
        return (
            "reported cache reads",
            "reported cache writes",
            "reported tokens neither read nor written",
        )
    if bool(inputs.anchored.all()):
        return (
            (
                "reported cache reads, minus tokens removed by the plan before their end; "
                "if the plan changed anything before that, at most the tokens before the change"
            ),
            "from there to the end of the reported cache writes",
            "reported tokens after the last cached one",
        )
    return (
        "the prefix shared with the previous prompt, if the cache still holds it",
        "the rest of the prompt, if the provider counts writes",
        "tokens neither read nor written",
    )


def _cache_inputs(inputs: ReplayInputs) -> Iterator[Input]:
    seen = set()
    for model, cache in inputs.cache_models.items():
        if cache in seen:
            continue
        seen.add(cache)
        yield Input(f"prompt cache{f' of {model}' if model else ''}", cache.title)
        if cache.lifetime:
            yield Input("  minimum prefix", cache.minimum_prefix, "tokens")
            yield Input("  lifetime", cache.lifetime, "seconds")
            if cache.step > 1:
                yield Input("  reads in multiples of", cache.step, "tokens")


def _cache_source(inputs: ReplayInputs) -> str:
    if bool(inputs.anchored.all()):
        return f"{REPORTED}; recorded cache misses are unchanged"
    return "the provider's documentation on prompt caching"


def _output(inputs: ReplayInputs) -> tuple[str, tuple[Input, ...], str]:
    """Return formula, inputs and source of the response tokens."""
    calls = recorded_calls(inputs.history)
    placeholder = calls.is_placeholder
    if inputs.sums_are_recorded and not placeholder.any():
        return "reported response tokens, summed over all calls", (), REPORTED
    if inputs.sums_are_recorded and inputs.output_known:
        shares = Input("responses that share the rest of a total", int(inputs.output_apportioned.sum()), "calls")
        return "response tokens as recorded in totals of several calls, or per call", (shares,), REPORTED
    if not placeholder.any():
        return "reported response tokens; unreported responses are measured from their texts", (), scale_source(inputs)
    least = int(inputs.output_is_least.sum())
    found = (
        Input("responses with a placeholder count from the stream", int(placeholder.sum()), "calls"),
        Input("  reported tokens", int(calls.output[placeholder].sum()), "tokens"),
        Input("  tokens measured from recorded texts and thinking", int(inputs.output[placeholder].sum()), "tokens"),
        *([Input("  of these, measured as a lower bound", least, "calls")] if least else []),
    )
    formula = (
        "reported response tokens; placeholder counts from the stream are replaced by the size of recorded texts and "
        "thinking"
    )
    return formula, found, scale_source(inputs)


PER_MILLION = "$ per million tokens"

COST_PARTS = ("cache_read_usd", "cache_write_usd", "uncached_usd", "output_usd", "requests_usd")
"""Names of the cost of each kind of token over all calls, and of other charges."""


def cost_explanation(replay: Replay) -> Explanation:
    """Explain the cost of a replay: tokens of every kind times their rates, summed over the calls."""
    return Explanation.of(
        replay.figures.cost_usd,
        "$",
        "tokens of each kind times their rate (by model, date and prompt length), summed over all calls",
        (*_dollars_by_kind(replay), *_rate_inputs(replay)),
        replay.inputs.pricing.source,
    )


def cost_part_explanations(replay: Replay) -> dict[str, Explanation]:
    """Explain the cost of every kind of token, by a name in `COST_PARTS`; they add up to the whole cost."""
    total, figures = replay.figures.cost_usd.value, replay.figures
    dollars = [value for *_, value in _token_kinds(replay)]
    parts = {
        "cache_read_usd": (figures.cache_read_tokens, dollars[1], "cache reads"),
        "cache_write_usd": (figures.cache_write_tokens, dollars[2] + dollars[3], "cache writes"),
        "uncached_usd": (figures.uncached_tokens, dollars[0], "uncached input"),
        "output_usd": (figures.output_tokens, dollars[4], "output"),
    }
    found = {}
    for name, (figure, cost, label) in parts.items():
        value = _known(cost)
        share = value / total if total and value is not None else None
        found[name] = Explanation(
            value,
            "$",
            figure.known,
            f"{label}: tokens times their rate (by model, date and prompt length), summed over all calls",
            (Input(label, figure.value, "tokens"), Input("of the whole cost", share, "share")),
            replay.inputs.pricing.source,
            is_lower_bound=figure.is_lower_bound,
        )
    asked, charged = _known(float(replay.ledger.strategy_cost.sum())), _charged_for_calls(replay)
    if asked or charged:
        found["requests_usd"] = Explanation(
            (asked or 0.0) + charged,
            "$",
            lowest_confidence(figures.cost_usd.known, HowKnown.CALIBRATED),
            "requests by the plan's strategies, and per-call charges",
            (Input("requests by the plan's strategies", asked, "$"), Input("per-call charges", charged, "$")),
            replay.inputs.pricing.source,
        )
    return found


def _charged_for_calls(replay: Replay) -> float:
    """Return dollars charged per call in addition to tokens; 0 without a price."""
    rates = replay.inputs.rates.of_prompts(replay.ledger.prompt_tokens)
    return _known(float(rates[:, RateColumn.PER_CALL].sum())) or 0.0


def _token_kinds(replay: Replay) -> Iterator[tuple[str, int, float]]:
    """Yield each kind of token: its name, its number over all calls, and its dollars, NaN without a price."""
    ledger, rates = replay.ledger, replay.inputs.rates.of_prompts(replay.ledger.prompt_tokens)
    shorter, longer = write_lifetimes(cache.name for cache in replay.inputs.cache_models.values())
    for label, tokens, column in (
        ("uncached input", ledger.uncached, RateColumn.UNCACHED),
        ("cache reads", ledger.cache_read, RateColumn.CACHE_READ),
        (f"{shorter}cache writes", ledger.cache_write_5m, RateColumn.CACHE_WRITE_5M),
        (f"{longer}cache writes", ledger.cache_write_1h, RateColumn.CACHE_WRITE_1H),
        ("output", ledger.output, RateColumn.OUTPUT),
    ):
        yield label, int(tokens.sum()), float((tokens * rates[:, column]).sum())


def write_lifetimes(caches: Iterable[str]) -> tuple[str, str]:
    """Return the two lifetimes of cache writes as the beginnings of labels; providers differ."""
    providers = {cache.partition("-")[0] for cache in caches}
    if providers <= {"anthropic"}:
        return "5-minute ", "1-hour "
    return ("30-minute ", "12-hour ") if providers == {"openai"} else ("", "long-lived ")


def _dollars_by_kind(replay: Replay) -> Iterator[Input]:
    """Yield the cost of each kind of token; they add up to the cost."""
    ledger = replay.ledger
    for label, tokens, dollars in _token_kinds(replay):
        if tokens:
            yield Input(f"{label}: {tokens:,} tokens", _known(dollars), "$", is_part=True)
    per_call = _charged_for_calls(replay)
    if per_call:
        yield Input("per-call charges", per_call, "$", is_part=True)
    if ledger.strategy_cost.any():
        yield Input("requests by the plan's strategies", _known(float(ledger.strategy_cost.sum())), "$", is_part=True)


def model_cost_explanation(row: ModelCost, replay: Replay) -> Explanation:
    """Explain the cost of one model's calls."""
    return Explanation.of(
        row.figure("usd"),
        "$",
        "cost of each call, summed; all models add up to the whole cost",
        (
            Input("calls", row.calls, "calls"),
            Input("prompt tokens", row.prompt_tokens, "tokens"),
            Input("output", row.output_tokens, "tokens"),
            Input("of the whole cost", row.share, "share"),
            *([Input("priced as", row.priced_as)] if row.priced_as else []),
        ),
        replay.inputs.pricing.source,
    )


def side_explanation(row: SideSpending, replay: Replay) -> Explanation:
    """Explain the cost of side requests of one purpose, each with its place in the conversation."""
    session, pricing = replay.inputs.history.session, replay.inputs.pricing
    requests = [each for each in side_requests(session, pricing) if each.purpose == row.purpose]
    parts = [
        Input(f"request {number:,}: {_described(each, len(session.calls))}", each.cost, "$")
        for number, each in enumerate(requests[:MOST_SIDE_REQUESTS], start=1)
    ]
    more = len(requests) - len(parts)
    return Explanation(
        row.cost_usd,
        "$",
        HowKnown.EXACT,
        "cost of each request, summed: billed, but not part of the conversation and unaffected by plans",
        (
            Input("requests", row.calls, "calls"),
            Input("prompt tokens", row.prompt_tokens, "tokens"),
            Input("of these, read from the cache", row.cache_read_tokens, "tokens"),
            Input("output", row.output_tokens, "tokens"),
            *parts,
            *([Input("further requests", more, "calls")] if more else []),
        ),
        pricing.source,
    )


def _described(request: SideRequest, calls: int) -> str:
    size = f"{request.prompt:,} tokens in, {request.output:,} out"
    if request.before is None:
        return size
    place = f"before call {request.before + 1:,}" if request.before < calls else "after the last call"
    return f"{place}, {size}"


def cost_with_side_requests_explanation(replay: Replay, spent: Sequence[SideSpending]) -> Explanation:
    cost = replay.figures.cost_usd
    return Explanation(
        cost_with_side_requests(cost.value, spent),
        "$",
        cost.known,
        "cost of the conversation's calls plus its side requests",
        (Input("cost", cost.value, "$"), *(Input(each.purpose, each.cost_usd, "$") for each in spent)),
        replay.inputs.pricing.source,
        is_lower_bound=cost.is_lower_bound,
    )


def _rate_inputs(replay: Replay) -> Iterator[Input]:
    """Yield the rates of every model for short prompts, as of its first call."""
    inputs = replay.inputs
    first = {(call.model, call.terms): call for call in reversed(inputs.history.session.calls)}
    models = list(inputs.cache_models)
    for model, terms in sorted(first, key=lambda each: (models.index(each[0]), each[1])):
        rates = inputs.pricing.rates(model, first[model, terms].time, terms)
        if rates is None:
            yield Input(f"{model or 'an unnamed model'}", None, PER_MILLION)
            continue
        other = inputs.pricing.priced_as(model)
        named = f"{f'{model}, priced as ' if other else ''}{rates.model}"
        named += f" ({rates.provider})" if rates.provider else ""
        if rates.terms:
            named = f"{named}, {rates.terms}{''.join(f' ({each} unpriced)' for each in rates.unpriced)}"
        yield Input(f"{named}: input", rates.input, PER_MILLION)
        yield Input(f"{named}: cache read", rates.cache_read, PER_MILLION)
        yield Input(f"{named}: cache write", rates.cache_write_5m, PER_MILLION)
        if rates.cache_write_1h != rates.cache_write_5m:
            longer = "12-hour" if rates.provider == "openai" else "1-hour"
            yield Input(f"{named}: {longer} cache write", rates.cache_write_1h, PER_MILLION)
        yield Input(f"{named}: output", rates.output, PER_MILLION)
        for tier in rates.tiers:
            yield Input(f"{named}: input, prompts over {tier.above:,} tokens", tier.input, PER_MILLION)
    if inputs.pricing.factor != 1:
        yield Input("factor on all prices", inputs.pricing.factor)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


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
    """Explain the cost of resending one block; `by_difference` has provider's sizes of blocks where available."""
    inputs = planned.inputs
    return Explanation(
        row.usd,
        "$",
        row.figure("usd").known,
        "cost of this block's tokens, summed over all calls",
        (
            Input("local count", int(planned.table.tokens[block]), "tokens"),
            Input("provider tokens per counted token", float(inputs.block_ratio[block])),
            Input("on the provider's scale", row.tokens, "tokens"),
            *_difference(block, by_difference),
            Input("times sent", row.calls, "calls"),
            Input("token-calls", row.sent_tokens, "tokens"),
        ),
        f"{scale_source(inputs)}; {_SERVED}",
    )


def row_explanation(planned: Replay, state: ContextState, block: int) -> Explanation:
    """Explain the size of a whole block, as its row shows: its local count, and the factor to provider tokens."""
    inputs = planned.inputs
    ratio = inputs.sizes.ratio[state.call] if state.in_prompt[block] else inputs.block_ratio[block]
    return Explanation(
        int(shown_state(planned, state).recorded[block]),
        "tokens",
        _block_known(inputs, block),
        _scale_formula(inputs),
        (
            Input("local count, whole", int(inputs.table.tokens[block]), "tokens"),
            *_beyond_text(inputs, block),
            Input("provider tokens per counted token", float(ratio)),
        ),
        scale_source(inputs),
    )


def block_explanation(
    planned: Replay, state: ContextState, block: int, by_difference: Mapping[int, int]
) -> Explanation:
    """Explain the size of a block in a call's prompt; `by_difference` has provider's sizes where available."""
    inputs = planned.inputs
    reason = planned.reason(block, state.call)
    return Explanation(
        int(shown_state(planned, state).sent[block]),
        "tokens",
        _block_known(inputs, block),
        _block_formula(planned, state, block),
        (
            Input("local count, as sent", int(state.sent[block]), "tokens"),
            *_beyond_text(inputs, block),
            Input("provider tokens per counted token", float(inputs.sizes.ratio[state.call])),
            *(_uncertain(inputs, block) if state.sent[block] else ()),
            *_difference(block, by_difference),
            *([Input("rule:", reason)] if reason else []),
        ),
        scale_source(inputs),
    )


def _block_known(inputs: ReplayInputs, block: int) -> HowKnown:
    known = inputs.scale.known
    return lowest_confidence(known, HowKnown.ESTIMATED) if _uncertain(inputs, block) else known


def _beyond_text(inputs: ReplayInputs, block: int) -> tuple[Input, ...]:
    """Return the tokens beyond a block's text: part of its size for thinking, separate framing for others."""
    if tokens := int(inputs.layout.thinking_uncounted[block]):
        return (Input("added for its signature or reported length", tokens, "tokens"),)
    return (Input("framing, not included", round(float(inputs.scale.uncounted[block])), "tokens"),)


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
    return Explanation(
        forecast.saved_usd,
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
                "reported by the agent" if forecast.noted_by_agent else "triggered at",
                forecast.trigger_tokens,
                "tokens",
            ),
            Input("prompt under the plan", forecast.prompt_tokens, "tokens"),
            Input("reached at call", "never here" if forecast.reached_call is None else forecast.reached_call),
            Input("recorded compactions avoided", forecast.avoided),
            Input("prompt tokens saved until then", forecast.saved_tokens, "tokens"),
            Input("saved on prompts until then", forecast.calls_usd, "$"),
            Input("saved on summary requests", forecast.requests_usd, "$"),
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
    return _scale_formula(planned.inputs)


def _scale_formula(inputs: ReplayInputs) -> str:
    known = lowest_confidence(inputs.scale.known, HowKnown.CALIBRATED)
    scale = "fitted to this session's reported usage" if known is HowKnown.CALIBRATED else "typical of the model family"
    return f"counted tokens times provider tokens per counted token, {scale}"
