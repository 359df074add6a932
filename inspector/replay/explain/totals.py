"""Explain the totals of a replay in tokens and dollars, by name in `Figures`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.context_breakdown import system_tokens
from inspector.replay.analysis.costs import cost_with_side_requests
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.explain.explanation import Explanation, Input
from inspector.replay.figure import HowKnown, lowest_confidence
from inspector.replay.pricing.rates import RateColumn
from inspector.tokens.calibration import ResponseModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inspector.replay.analysis.costs import ModelCost, SideRequest, SideSpending
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay


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


def overhead_explanation(inputs: ReplayInputs) -> Explanation:
    """Explain the unrecorded part of every prompt."""
    return Explanation(
        system_tokens(inputs),
        "tokens",
        inputs.scale.known,
        "reported prompts minus everything recorded in the file",
        tuple(each for each in scale_inputs(inputs) if each.value != system_tokens(inputs)),
        scale_source(inputs),
    )


def scale_inputs(inputs: ReplayInputs) -> Iterator[Input]:
    """Yield the inputs of the conversion from local counts to the provider's scale."""
    fit = inputs.scale.calibration
    yield Input("provider tokens per counted token", fit.main.ratio)
    yield Input("framing tokens per block", fit.main.per_block, "tokens")
    signed = any(block.signature_characters for block in inputs.history.session.blocks)
    if signed and fit.main_reading is ResponseModel.SIGNATURES:
        yield Input("tokens per signature character", fit.main.per_signature_character, "tokens")
    if inputs.table.media.any():
        yield Input("provider tokens per token of its rule for images and documents", fit.main.per_media_token)
    yield Input("responses in later prompts", fit.main_reading.value)
    yield Input("system prompt and tools, fitted to all calls", system_tokens(inputs), "tokens")
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
    """Explain the cost of one model's calls.

    Args:
        row: The model's figures.
        replay: The replay they are from.
    """
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
    calls = len(replay.inputs.history.session.calls)
    parts = [
        Input(f"request {number:,}: {_described(each, calls)}", each.cost, "$")
        for number, each in enumerate(row.requests[:MOST_SIDE_REQUESTS], start=1)
    ]
    more = len(row.requests) - len(parts)
    return Explanation(
        row.cost,
        "$",
        HowKnown.EXACT,
        "cost of each request, summed: billed, but not part of the conversation and unaffected by plans",
        (
            Input("requests", row.calls, "calls"),
            Input("prompt tokens", row.prompt, "tokens"),
            Input("of these, read from the cache", row.cache_read, "tokens"),
            Input("output", row.output, "tokens"),
            *parts,
            *([Input("further requests", more, "calls")] if more else []),
        ),
        replay.inputs.pricing.source,
    )


def _described(request: SideRequest, calls: int) -> str:
    size = f"{request.prompt:,} tokens in, {request.output:,} out"
    if request.before is None:
        return size
    place = f"before call {request.before + 1:,}" if request.before < calls else "after the last call"
    return f"{place}, {size}"


def cost_with_side_requests_explanation(replay: Replay, side_requests: Sequence[SideSpending]) -> Explanation:
    """Explain the cost of a session including its side requests."""
    cost = replay.figures.cost_usd
    return Explanation(
        cost_with_side_requests(cost.value, side_requests),
        "$",
        cost.known,
        "cost of the conversation's calls plus its side requests",
        (Input("cost", cost.value, "$"), *(Input(each.purpose, each.cost, "$") for each in side_requests)),
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
