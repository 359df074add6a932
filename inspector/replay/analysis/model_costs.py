"""Cost per model of a session, with the name it is priced under."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Annotated

from msgspec import field

from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.figure import Figure
from inspector.replay.quantity import Count, Known, Result, Unit, about, figure

if TYPE_CHECKING:
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay


class ModelCost(Result, frozen=True, kw_only=True):
    """Cost of the calls of one model; all models add up to the session's cost."""

    model: Annotated[str, about("As recorded; empty if the file names none.")]
    priced_as: Annotated[str, about("The model whose prices apply; empty if it has its own.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Calls the model answered.")]
    prompt_tokens: Annotated[int | None, figure("prompt tokens", Unit.TOKENS, "Tokens of the prompts of these calls.")]
    output_tokens: Annotated[int | None, figure("output", Unit.TOKENS, "Tokens of the model's responses.")]
    usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Dollars of these calls.")]
    share: Annotated[float | None, figure("of the cost", Unit.SHARE, "Share of the whole cost.")]
    known: Known
    at_least: Annotated[
        list[str], about("Fields above that are lower bounds: the length of some response is unknown.")
    ] = field(default_factory=list)


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
            ModelCost.of(
                model=model,
                priced_as=inputs.pricing.priced_as(model),
                calls=int(mine.sum()),
                prompt_tokens=Figure(int(ledger.prompt_tokens[mine].sum()), figures.prompt_tokens.known),
                output_tokens=Figure(int(ledger.output[mine].sum()), figures.output_tokens.known),
                usd=Figure(None if isnan(dollars) else dollars, known, is_lower_bound),
                share=Figure.of(share, known),
            )
        )
    return tuple(sorted(found, key=lambda each: -(each.usd or 0.0)))


def priced_under(inputs: ReplayInputs) -> dict[str, str]:
    """Map recorded model names to the different names they are priced under, omitting those with own prices."""
    names = recorded_calls(inputs.history).models.names
    return {model: other for model in names if (other := inputs.pricing.priced_as(model))}
