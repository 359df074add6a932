"""Cost per model of a session, with the name it is priced under."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.figure import Figure

if TYPE_CHECKING:
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay


@dataclass(frozen=True, slots=True)
class ModelCost:
    """The calls of one model.

    Attributes:
        model: Its name as recorded; empty if the file names none.
        priced_as: The different name it is priced under; empty if it has its own prices.
        calls: Number of calls it answered.
        prompt_tokens: Tokens of their prompts.
        output_tokens: Tokens of its responses.
        cost: Dollars of these calls, including requests that a plan's strategies make before them.
        share: Share of the whole cost.
    """

    model: str
    priced_as: str
    calls: int
    prompt_tokens: Figure
    output_tokens: Figure
    cost: Figure
    share: Figure


def model_costs(replay: Replay) -> tuple[ModelCost, ...]:
    """Return the cost of every model of a session, highest first; they add up to the whole cost.

    Args:
        replay: The session, with a plan or without.
    """
    inputs, ledger, figures = replay.inputs, replay.ledger, replay.figures
    models = recorded_calls(replay.history).models
    total = figures.cost_usd.value
    found = []
    for number, model in enumerate(models.names):
        mine = models.code == number
        dollars = float(ledger.cost[mine].sum())
        is_lower_bound = bool((inputs.output_is_least | inputs.rates.is_lower_bound)[mine].any())
        share = dollars / total if total else float("nan")
        known = figures.cost_usd.known
        found.append(
            ModelCost(
                model=model,
                priced_as=inputs.pricing.priced_as(model),
                calls=int(mine.sum()),
                prompt_tokens=Figure(int(ledger.prompt_tokens[mine].sum()), figures.prompt_tokens.known),
                output_tokens=Figure(int(ledger.output[mine].sum()), figures.output_tokens.known),
                cost=Figure(None if isnan(dollars) else dollars, known, is_lower_bound),
                share=Figure.of(share, known),
            )
        )
    return tuple(sorted(found, key=lambda each: -(each.cost.value or 0.0)))


def priced_under(inputs: ReplayInputs) -> dict[str, str]:
    """Map recorded model names to the different names they are priced under, omitting those with own prices."""
    names = recorded_calls(inputs.history).models.names
    return {model: other for model in names if (other := inputs.pricing.priced_as(model))}
