"""How the dollars of a replay came about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.explanation import Explanation, Input

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.replay import Replay

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
        (*_by_kind(replay), *_rates(replay)),
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


def _rates(replay: Replay) -> Iterator[Input]:
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
