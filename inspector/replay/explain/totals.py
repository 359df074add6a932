"""How the token figures of a replay came about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.placeholder_outputs import placeholder_outputs
from inspector.replay.explain.explanation import Explanation, Input
from inspector.replay.figure import HowKnown
from inspector.tokens.calibration import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay
    from inspector.replay.figure import Figure


REPORTED = "the usage that the provider reported, as the session's file has it"


def token_explanations(replay: Replay) -> dict[str, Explanation]:
    """Every figure of a replay that is counted in tokens or calls, by its name among `Figures`."""
    figures, ledger, inputs = replay.figures, replay.ledger, replay.inputs
    size = _size(inputs, figures.prompt_tokens.known)
    left_out = Input("left out by the plan", int(ledger.removed_tokens.sum()), "tokens")
    whole = Input("prompts with nothing cut", int((ledger.prompt_tokens + ledger.removed_tokens).sum()), "tokens")
    largest = int(ledger.prompt_tokens.argmax()) if len(ledger.prompt_tokens) else -1
    read, written, rest = _served(replay)
    counted = tuple(scale_inputs(inputs)) if figures.prompt_tokens.known is not HowKnown.EXACT else ()
    source = REPORTED if figures.prompt_tokens.known is HowKnown.EXACT else scale_source(inputs)
    kept = (Input("calls", len(ledger.cost), "calls"),)
    return {
        "calls": _tokens(
            figures.calls, "calls", "the responses of a model in the file, one call each", (), "the session's file"
        ),
        "prompt_tokens": _tokens(figures.prompt_tokens, "tokens", size, (*kept, whole, left_out, *counted), source),
        "peak_prompt_tokens": _tokens(
            figures.peak_prompt_tokens,
            "tokens",
            "the largest prompt of all calls",
            (Input("at call", largest + 1), *counted),
            source,
        ),
        "cache_read_tokens": _tokens(figures.cache_read_tokens, "tokens", read, tuple(_cache(inputs)), _rules(inputs)),
        "cache_write_tokens": _tokens(
            figures.cache_write_tokens, "tokens", written, tuple(_cache(inputs)), _rules(inputs)
        ),
        "uncached_tokens": _tokens(figures.uncached_tokens, "tokens", rest, tuple(_cache(inputs)), _rules(inputs)),
        "output_tokens": _output(figures.output_tokens, inputs),
        "cache_breaks": _breaks(replay),
    }


def scale_inputs(inputs: ReplayInputs) -> Iterator[Input]:
    """How our counts are brought to the provider's scale."""
    fit = inputs.scale.calibration
    ratio, per_block, per_signature = fit.main
    yield Input("tokens for one counted token", ratio)
    yield Input("tokens around every block", per_block, "tokens")
    signed = any(block.signature_characters for block in inputs.history.session.blocks)
    if signed and fit.main_reading is Reading.SIGNATURES:
        yield Input("tokens for one character of a signature", per_signature, "tokens")
    yield Input("responses in later prompts", fit.main_reading.value)
    yield Input("with every prompt, not in the file", round(fit.overhead), "tokens")
    if fit.is_fitted and not np.isnan(fit.residual):
        yield Input("half of the prompts are met within", 100 * fit.residual, "%")
        yield Input("nine of ten prompts are met within", 100 * fit.residual_p90, "%")
        yield Input("calls this is judged by", fit.calls, "calls")


def scale_source(inputs: ReplayInputs) -> str:
    """Where sizes that were not reported come from."""
    counter = inputs.table.counter.name
    counted = "our count with the vocabulary" if inputs.table.counter.is_exact_tokenizer else "our count by"
    if inputs.scale.known is HowKnown.CALIBRATED:
        return f"{counted} {counter}, fitted by least squares to the usage this session's provider reported"
    return f"{counted} {counter}, scaled by what is typical of the model's family"


def _size(inputs: ReplayInputs, known: HowKnown) -> str:
    if known is HowKnown.EXACT:
        return "what the provider reported for every call, added up"
    if bool(inputs.reported.all()):
        return "what the provider reported for every call, less what the plan leaves out of it on the provider's scale"
    return "what every prompt's texts measure on the provider's scale, and what goes with them, less what is left out"


def _served(replay: Replay) -> tuple[str, str, str]:
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


def _cache(inputs: ReplayInputs) -> Iterator[Input]:
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


def _rules(inputs: ReplayInputs) -> str:
    if bool(inputs.anchored.all()):
        return f"{REPORTED}; misses it had are kept as they were"
    return "the provider's documentation on prompt caching"


def _output(figure: Figure, inputs: ReplayInputs) -> Explanation:
    placeholders = placeholder_outputs(inputs)
    found: tuple[Input, ...] = ()
    if placeholders is not None:
        found = (
            Input("responses reported with the placeholder of a stream", placeholders.calls, "calls"),
            Input("  tokens reported for them", placeholders.reported, "tokens"),
            Input("  tokens they measure in later prompts", placeholders.measured.value, "tokens"),
        )
    reported = bool(inputs.reported.all())
    formula = (
        "what the provider reported for every response, added up"
        if reported
        else "what was reported, and where nothing was, what the response's texts measure"
    )
    return Explanation(
        figure.value, "tokens", figure.known, formula, found, REPORTED if reported else scale_source(inputs)
    )


def _breaks(replay: Replay) -> Explanation:
    figure, ledger, inputs = replay.figures.cache_breaks, replay.ledger, replay.inputs
    return Explanation(
        figure.value,
        "calls",
        figure.known,
        "calls whose prompt departs from the one before it before that one's end",
        (
            Input("by what is sent otherwise than before", int((ledger.first_changed >= 0).sum()), "calls"),
            Input("by a compaction or a rewind", int((inputs.restarts & (ledger.first_changed < 0)).sum()), "calls"),
        ),
        "the prompts of all calls, compared one with the next",
    )


def _tokens(figure: Figure, unit: str, formula: str, inputs: tuple[Input, ...], source: str) -> Explanation:
    return Explanation(figure.value, unit, figure.known, formula, inputs, source)


_KINDS = ("plain input", "cache reads", "cache writes of five minutes", "cache writes of an hour", "responses")

PER_MILLION = "$ per million tokens"

COST_PARTS = ("cache_read_usd", "cache_write_usd", "uncached_usd", "output_usd")
"""Names of what the tokens of a kind cost in all calls."""


def cost_explanation(replay: Replay) -> Explanation:
    """The cost of a replay: tokens of every kind by their rates, added up over the calls."""
    figure = replay.figures.cost_usd
    return Explanation(
        figure.value,
        "$",
        figure.known,
        "tokens of every kind times their rate, by the model, date and prompt length of each call, added up",
        (*_by_kind(replay), *_rate_inputs(replay)),
        replay.inputs.pricing.source,
    )


def cost_part_explanations(replay: Replay) -> dict[str, Explanation]:
    """What every kind of token costs in all, by a name of `COST_PARTS`; with what strategies cost, the whole cost."""
    ledger, rates = replay.ledger, replay.inputs.rates.of_prompts(replay.ledger.prompt_tokens)
    total, figures = replay.figures.cost_usd.value, replay.figures
    parts = {
        "cache_read_usd": (figures.cache_read_tokens, ((ledger.cache_read, 1),), "tokens read from the cache"),
        "cache_write_usd": (
            figures.cache_write_tokens,
            ((ledger.cache_write_5m, 2), (ledger.cache_write_1h, 3)),
            "tokens written to the cache",
        ),
        "uncached_usd": (figures.uncached_tokens, ((ledger.uncached, 0),), "tokens neither read nor written"),
        "output_usd": (figures.output_tokens, ((ledger.output, 4),), "tokens of responses"),
    }
    found = {}
    for name, (figure, columns, label) in parts.items():
        value = _known(sum(float((column * rates[:, place]).sum()) for column, place in columns))
        share = value / total if total and value is not None else None
        found[name] = Explanation(
            value,
            "$",
            figure.known,
            f"{label} times their rate, by the model, date and prompt length of each call, added up",
            (Input(label, figure.value, "tokens"), Input("of the whole cost", share, "share")),
            replay.inputs.pricing.source,
        )
    return found


def _by_kind(replay: Replay) -> Iterator[Input]:
    """What each kind of token costs in all; these add up to the cost."""
    ledger, inputs = replay.ledger, replay.inputs
    columns = (ledger.uncached, ledger.cache_read, ledger.cache_write_5m, ledger.cache_write_1h, ledger.output)
    rates = inputs.rates.of_prompts(ledger.prompt_tokens)
    for place, (label, column) in enumerate(zip(_KINDS, columns, strict=True)):
        if column.any():
            yield Input(f"{label}: {int(column.sum()):,} tokens", _known(float((column * rates[:, place]).sum())), "$")
    per_call = float(np.broadcast_to(rates[:, 5], len(ledger.cost)).sum())
    if per_call:
        yield Input("calls themselves", per_call, "$")
    if ledger.strategy_cost.any():
        yield Input("requests the plan's strategies make", _known(float(ledger.strategy_cost.sum())), "$")


def _rate_inputs(replay: Replay) -> Iterator[Input]:
    """The rates of every model, as of its first call; those for short prompts."""
    inputs = replay.inputs
    first = {call.model: call for call in reversed(inputs.history.session.calls)}
    for model in sorted(first, key=list(inputs.cache_models).index):
        rates = inputs.pricing.rates(model, first[model].time)
        if rates is None:
            yield Input(f"{model or 'a model without a name'}", None, PER_MILLION)
            continue
        named = f"{rates.model}{f' of {rates.provider}' if rates.provider else ''}"
        yield Input(f"{named}: input", rates.input, PER_MILLION)
        yield Input(f"{named}: cache read", rates.cache_read, PER_MILLION)
        yield Input(f"{named}: cache write", rates.cache_write_5m, PER_MILLION)
        if rates.cache_write_1h != rates.cache_write_5m:
            yield Input(f"{named}: cache write of an hour", rates.cache_write_1h, PER_MILLION)
        yield Input(f"{named}: response", rates.output, PER_MILLION)
        for tier in rates.tiers:
            yield Input(f"{named}: input of prompts over {tier.above:,} tokens", tier.input, PER_MILLION)
    if inputs.pricing.factor != 1:
        yield Input("everything times", inputs.pricing.factor)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
