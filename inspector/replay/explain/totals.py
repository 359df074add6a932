"""Explain the totals of a replay in tokens and dollars, by name in `Figures`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.prompt_overhead import system_tokens
from inspector.replay.analysis.side_requests import cost_with_side_requests
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.explain.explanation import Explanation, Input
from inspector.replay.figure import HowKnown, weakest
from inspector.replay.pricing.rates import RateColumn
from inspector.tokens.calibration import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inspector.replay.analysis.model_costs import ModelCost
    from inspector.replay.analysis.side_requests import SideRequest, SideSpending
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay


MOST_SIDE_REQUESTS = 50
"""Maximum number of requests per purpose listed individually."""

REPORTED = "the usage that the provider reported, as the session's file has it"


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
        Input("left out by the plan", int(ledger.removed_tokens.sum()), "tokens"),
    )
    largest = int(ledger.prompt_tokens.argmax()) if len(ledger.prompt_tokens) else -1
    read, written, rest = _cache_formulas(replay)
    caches, cache_source = tuple(_cache_inputs(inputs)), _cache_source(inputs)
    found = {
        "calls": ("the responses of a model in the file, one call each", (), "the session's file"),
        "prompt_tokens": (_size_formula(inputs, figures.prompt_tokens.known), (*sizes, *scale), size_source),
        "peak_prompt_tokens": (
            "the largest prompt of all calls",
            (Input("at call", largest + 1), *scale),
            size_source,
        ),
        "cache_read_tokens": (read, caches, cache_source),
        "cache_write_tokens": (written, caches, cache_source),
        "uncached_tokens": (rest, caches, cache_source),
        "output_tokens": _output(inputs),
        "cache_breaks": (
            "calls whose prompt departs from the one before it before that one's end",
            (
                Input("by what is sent otherwise than before", int((ledger.first_changed >= 0).sum()), "calls"),
                Input(
                    "by a compaction or a rewind", int((inputs.restarts & (ledger.first_changed < 0)).sum()), "calls"
                ),
            ),
            "the prompts of all calls, compared one with the next",
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
        "what is left of the reported prompts when everything the file shows is taken away",
        tuple(each for each in scale_inputs(inputs) if each.value != system_tokens(inputs)),
        scale_source(inputs),
    )


def scale_inputs(inputs: ReplayInputs) -> Iterator[Input]:
    """Yield the inputs of the conversion from local counts to the provider's scale."""
    fit = inputs.scale.calibration
    yield Input("tokens for one counted token", fit.main.ratio)
    yield Input("tokens around every block", fit.main.per_block, "tokens")
    signed = any(block.signature_characters for block in inputs.history.session.blocks)
    if signed and fit.main_reading is Reading.SIGNATURES:
        yield Input("tokens for one character of a signature", fit.main.per_signature_character, "tokens")
    if inputs.table.media.any():
        yield Input("tokens for one that the provider's rule gives images and documents", fit.main.per_media_token)
    yield Input("responses in later prompts", fit.main_reading.value)
    yield Input("system prompt and tools, fitted to all calls", system_tokens(inputs), "tokens")
    if fit.is_fitted and not np.isnan(fit.residual):
        yield Input("half of the prompts are met within", 100 * fit.residual, "%")
        yield Input("nine of ten prompts are met within", 100 * fit.residual_p90, "%")
        yield Input("calls this is judged by", fit.calls, "calls")


def scale_source(inputs: ReplayInputs) -> str:
    """Return the source of sizes that were not reported."""
    counter = inputs.table.counter.name
    counted = "tokens counted with the vocabulary" if inputs.table.counter.is_exact_tokenizer else "tokens counted by"
    if inputs.scale.known is HowKnown.CALIBRATED:
        return f"{counted} {counter}, fitted by least squares to the usage this session's provider reported"
    if borrowed := inputs.scale.borrowed:
        return f"{counted} {counter}, on a borrowed scale: {borrowed}; this one reports too little for its own"
    return f"{counted} {counter}, scaled by what is typical of the model's family"


def _size_formula(inputs: ReplayInputs, known: HowKnown) -> str:
    if known is HowKnown.EXACT:
        return "what the provider reported for every call, added up"
    if bool(inputs.reported.all()):
        return "what the provider reported for every call, less what the plan leaves out of it on the provider's scale"
    return "what every prompt's texts measure on the provider's scale, and what goes with them, less what is left out"


def _cache_formulas(replay: Replay) -> tuple[str, str, str]:
    inputs = replay.inputs
    if replay.figures.cache_read_tokens.known is HowKnown.EXACT:
        return (
            "what the provider reported as read from its cache",
            "what the provider reported as written to its cache",
            "what the provider reported as neither read nor written",
        )
    if bool(inputs.anchored.all()):
        return (
            (
                "what the provider reported, less what the plan left out before the end of the read; "
                "where the plan changed something before that, no more than what stands before the change"
            ),
            "from there on as far as the provider wrote",
            "what the provider reported after the last thing it cached",
        )
    return (
        "what a prompt shares from its beginning with the one before it, where the cache still holds that",
        "the rest of the prompt, where the provider counts what it writes",
        "what is neither read nor written",
    )


def _cache_inputs(inputs: ReplayInputs) -> Iterator[Input]:
    seen = set()
    for model, cache in inputs.cache_models.items():
        if cache in seen:
            continue
        seen.add(cache)
        yield Input(f"prompt cache{f' of {model}' if model else ''}", cache.title)
        if cache.lifetime:
            yield Input("  shortest prefix it keeps", cache.minimum_prefix, "tokens")
            yield Input("  keeps it for", cache.lifetime, "seconds")
            if cache.step > 1:
                yield Input("  reads in steps of", cache.step, "tokens")


def _cache_source(inputs: ReplayInputs) -> str:
    if bool(inputs.anchored.all()):
        return f"{REPORTED}; misses it had are kept as they were"
    return "the provider's documentation on prompt caching"


def _output(inputs: ReplayInputs) -> tuple[str, tuple[Input, ...], str]:
    """Return formula, inputs and source of the response tokens."""
    calls = recorded_calls(inputs.history)
    placeholder = calls.is_placeholder
    if bool(inputs.reported.all()) and not placeholder.any():
        return "what the provider reported for every response, added up", (), REPORTED
    if not placeholder.any():
        return "what was reported, and where nothing was, what the response's texts measure", (), scale_source(inputs)
    least = int(inputs.output_is_least.sum())
    found = (
        Input("responses reported with the placeholder of a stream", int(placeholder.sum()), "calls"),
        Input("  tokens reported for them", int(calls.output[placeholder].sum()), "tokens"),
        Input("  tokens their recorded texts and thinking measure", int(inputs.output[placeholder].sum()), "tokens"),
        *([Input("  of them longer, nobody knows by how much", least, "calls")] if least else []),
    )
    formula = (
        "what was reported; where that is the placeholder of a stream, what the response's recorded texts and thinking "
        "measure in later prompts"
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
        "tokens of every kind times their rate, by the model, date and prompt length of each call, added up",
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
            f"tokens of {label} times their rate, by the model, date and prompt length of each call, added up",
            (Input(label, figure.value, "tokens"), Input("of the whole cost", share, "share")),
            replay.inputs.pricing.source,
            is_lower_bound=figure.is_lower_bound,
        )
    asked, charged = _known(float(replay.ledger.strategy_cost.sum())), _charged_for_calls(replay)
    if asked or charged:
        found["requests_usd"] = Explanation(
            (asked or 0.0) + charged,
            "$",
            weakest(figures.cost_usd.known, HowKnown.CALIBRATED),
            "requests that strategies make themselves, and calls that have a price of their own",
            (Input("requests the plan's strategies make", asked, "$"), Input("calls themselves", charged, "$")),
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
    for label, tokens, column in (
        ("uncached input", ledger.uncached, RateColumn.UNCACHED),
        ("cache reads", ledger.cache_read, RateColumn.CACHE_READ),
        ("cache writes of five minutes", ledger.cache_write_5m, RateColumn.CACHE_WRITE_5M),
        ("cache writes of an hour", ledger.cache_write_1h, RateColumn.CACHE_WRITE_1H),
        ("output", ledger.output, RateColumn.OUTPUT),
    ):
        yield label, int(tokens.sum()), float((tokens * rates[:, column]).sum())


def _dollars_by_kind(replay: Replay) -> Iterator[Input]:
    """Yield the cost of each kind of token; they add up to the cost."""
    ledger = replay.ledger
    for label, tokens, dollars in _token_kinds(replay):
        if tokens:
            yield Input(f"{label}: {tokens:,} tokens", _known(dollars), "$", is_part=True)
    per_call = _charged_for_calls(replay)
    if per_call:
        yield Input("calls themselves", per_call, "$", is_part=True)
    if ledger.strategy_cost.any():
        yield Input("requests the plan's strategies make", _known(float(ledger.strategy_cost.sum())), "$", is_part=True)


def model_cost_explanation(row: ModelCost, replay: Replay) -> Explanation:
    """Explain the cost of one model's calls.

    Args:
        row: The model's figures.
        replay: The replay they are from.
    """
    return Explanation(
        row.cost.value,
        "$",
        row.cost.known,
        "what each of its calls cost, added up; all models together are the whole cost",
        (
            Input("calls", row.calls, "calls"),
            Input("prompt tokens", row.prompt_tokens.value, "tokens"),
            Input("output", row.output_tokens.value, "tokens"),
            Input("of the whole cost", row.share.value, "share"),
            *([Input("priced as", row.priced_as)] if row.priced_as else []),
        ),
        replay.inputs.pricing.source,
        is_lower_bound=row.cost.is_lower_bound,
    )


def side_explanation(row: SideSpending, replay: Replay) -> Explanation:
    """Explain the cost of side requests of one purpose, each with its place in the conversation."""
    calls = len(replay.inputs.history.session.calls)
    told = [
        Input(f"request {number:,}: {_told_of(each, calls)}", each.cost, "$")
        for number, each in enumerate(row.requests[:MOST_SIDE_REQUESTS], start=1)
    ]
    more = len(row.requests) - len(told)
    return Explanation(
        row.cost,
        "$",
        HowKnown.EXACT,
        "what each request cost, added up: billed as all are, in no prompt of the conversation, and changed by no plan",
        (
            Input("requests", row.calls, "calls"),
            Input("prompt tokens", row.prompt, "tokens"),
            Input("of these read from the cache", row.cache_read, "tokens"),
            Input("output", row.output, "tokens"),
            *told,
            *([Input("and more of them", more, "calls")] if more else []),
        ),
        replay.inputs.pricing.source,
    )


def _told_of(request: SideRequest, calls: int) -> str:
    size = f"{request.prompt:,} tokens in, {request.output:,} out"
    if request.before is None:
        return size
    place = f"before call {request.before + 1:,}" if request.before < calls else "after the last call"
    return f"{place}, {size}"


def cost_with_side_requests_explanation(replay: Replay, beside: Sequence[SideSpending]) -> Explanation:
    """Explain the cost of a session including its side requests."""
    cost = replay.figures.cost_usd
    return Explanation(
        cost_with_side_requests(cost.value, beside),
        "$",
        cost.known,
        "what the conversation's calls cost, and the requests beside it",
        (Input("cost", cost.value, "$"), *(Input(each.purpose, each.cost, "$") for each in beside)),
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
            yield Input(f"{model or 'a model without a name'}", None, PER_MILLION)
            continue
        other = inputs.pricing.priced_as(model)
        named = f"{f'{model}, priced as ' if other else ''}{rates.model}"
        named += f" of {rates.provider}" if rates.provider else ""
        if rates.terms:
            named = f"{named}, {rates.terms}{''.join(f' ({each} unpriced)' for each in rates.unpriced)}"
        yield Input(f"{named}: input", rates.input, PER_MILLION)
        yield Input(f"{named}: cache read", rates.cache_read, PER_MILLION)
        yield Input(f"{named}: cache write", rates.cache_write_5m, PER_MILLION)
        if rates.cache_write_1h != rates.cache_write_5m:
            yield Input(f"{named}: cache write of an hour", rates.cache_write_1h, PER_MILLION)
        yield Input(f"{named}: output", rates.output, PER_MILLION)
        for tier in rates.tiers:
            yield Input(f"{named}: input of prompts over {tier.above:,} tokens", tier.input, PER_MILLION)
    if inputs.pricing.factor != 1:
        yield Input("everything times", inputs.pricing.factor)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
