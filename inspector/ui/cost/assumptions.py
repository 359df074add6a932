"""Assumptions on the cost screen: labels, formatting and parsing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from inspector.errors import InspectorError
from inspector.replay.assumptions import MOST_DAYS, MOST_NEXT_CALLS, Assumptions, RunsPerDay
from inspector.replay.cache.cache_models import CACHE_MODELS
from inspector.replay.pricing.rates import RatesError, format_rates, parse_rates
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.session.model import Call

AS_RECORDED: Final = "as recorded"
LARGEST_WINDOW: Final = 1_000_000_000


class TermError(InspectorError, ValueError):
    """Invalid value of an assumption. The message lists the valid values."""

    advice = "leave it empty to use the recorded value"


@dataclass(frozen=True, slots=True)
class Assumption:
    """An assumption the user can change.

    Attributes:
        name: Key.
        label: Display label.
        help: Description of valid input.
        shown: Formats its value; empty for the recorded one.
        taken: Returns the assumptions with a value parsed from text; raises `TermError`.
    """

    name: str
    label: str
    help: str
    shown: Callable[[Assumptions], str]
    taken: Callable[[Assumptions, str], Assumptions]


RUNS: Final = "runs"
"""Key of the runs per day, which are a setting and not an `Assumption`."""


def _number(text: str, least: float, most: float, what: str) -> float:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise TermError(f"{what} from {least:g} to {most:,.6g}")
    return value


def _whole(text: str, most: int, what: str) -> int:
    value = _number(text, 1, most, what)
    if value != int(value):
        raise TermError(f"a whole number: {what}")
    return int(value)


def _cache(terms: Assumptions, text: str) -> Assumptions:
    name = text.strip().lower()
    if name and name not in CACHE_MODELS:
        raise TermError(f"one of {', '.join(CACHE_MODELS)}, or empty")
    return replace(terms, cache=name or None)


def _rates(terms: Assumptions, text: str) -> Assumptions:
    if not text.strip():
        return replace(terms, rates=None)
    try:
        return replace(terms, rates=parse_rates(text))
    except RatesError as error:
        raise TermError(str(error)) from None


TERMS: Final = (
    Assumption(
        "next",
        "next calls",
        "Number of further calls to project, continuing like the session.",
        lambda terms: f"{terms.next_calls}",
        lambda terms, text: replace(terms, next_calls=_whole(text, MOST_NEXT_CALLS, "a number of calls")),
    ),
    Assumption(
        "days",
        "days per month",
        "Number of days per month with such sessions.",
        lambda terms: f"{terms.days_per_month:g}",
        lambda terms, text: replace(terms, days_per_month=_number(text, 0, MOST_DAYS, "a number of days")),
    ),
    Assumption(
        "factor",
        "price factor",
        "Multiplies every price, in addition to the price file's factor. Half-price batch: 0.5. Discount of 10 %: 0.9.",
        lambda terms: f"{terms.factor:g}",
        lambda terms, text: replace(terms, factor=_number(text, 0, 1000, "a factor")),
    ),
    Assumption(
        "model",
        "price as model",
        (
            "Price every call as this model. A provider prefix is allowed, as in bedrock/anthropic.…, "
            "vertex_ai/…, azure/… or openrouter/…. Empty: each call's own model."
        ),
        lambda terms: terms.model or "",
        lambda terms, text: replace(terms, model=text.strip() or None),
    ),
    Assumption(
        "rates",
        "dollars per million",
        (
            "INPUT/OUTPUT[/CACHE-READ[/CACHE-WRITE]] in dollars per million tokens, as in 3/15/0.3/3.75. "
            "Empty: rates of the price file and the built-in table."
        ),
        lambda terms: "" if terms.rates is None else format_rates(terms.rates),
        _rates,
    ),
    Assumption(
        "cache",
        "prompt cache",
        (
            f"Simulate this cache for every call, instead of the reported usage: {', '.join(CACHE_MODELS)}. "
            "Empty: the reported usage, or each model's own cache if none was reported."
        ),
        lambda terms: terms.cache or "",
        _cache,
    ),
    Assumption(
        "window",
        "context window",
        "Tokens. Empty: the window in the file, or in the model's listing.",
        lambda terms: f"{terms.window}" if terms.window else "",
        lambda terms, text: replace(
            terms, window=_whole(text, LARGEST_WINDOW, "a number of tokens") if text.strip() else None
        ),
    ),
)
"""Every assumption, in display order."""


def terms_words(here: Assumptions, there: Assumptions) -> str:
    """Describe the first assumption that differs: `price as model as recorded → gpt-5`."""
    shown = ((term.label, term.shown(here), term.shown(there)) for term in TERMS)
    words = (f"{label} {one_line(a) or AS_RECORDED} → {one_line(b) or AS_RECORDED}" for label, a, b in shown if a != b)
    return next(words, "")


def term_lines(
    terms: Assumptions, runs: RunsPerDay, inputs: ReplayInputs
) -> tuple[tuple[Hashable, str, str, str], ...]:
    """Return key, name, value and hint of every assumption and of every source of the figures."""
    change = "enter changes"
    number = f"{runs.number:,.6g}, {runs.origin}"
    lines: list[tuple[Hashable, str, str, str]] = [(("term", RUNS), "runs per day", number, change)]
    size = inputs.window.size
    meant = {"window": AS_RECORDED if size is None else f"{AS_RECORDED}, {ON_SCREEN.whole(size)}"}
    for term in TERMS:
        value = term.shown(terms) or meant.get(term.name, AS_RECORDED)
        lines += [(("term", term.name), term.label, value, change)]
    return (*lines, *_sources(inputs))


def _rates_line(inputs: ReplayInputs, call: Call) -> tuple[Hashable, str, str, str]:
    """Return the line of a model's rates, under the terms of one of its calls."""
    rates = inputs.pricing.rates(call.model, call.time, call.terms)
    key = ("source", "rates", call.model, call.terms)
    if rates is None:
        return key, f"  {one_line(call.model)}", "no price", ""
    written = f"/{rates.cache_write_1h:g}" if rates.cache_write_1h != rates.cache_write_5m else ""
    text = (
        f"{rates.input:g} in, {rates.cache_read:g} read, {rates.cache_write_5m:g}{written} written, "
        f"{rates.output:g} out"
    )
    terms = f", {rates.terms}" if rates.terms else ""
    other = inputs.pricing.priced_as(call.model)
    text += f", rates of {one_line(other)}" if other else ""
    return key, f"  {one_line(call.model) or 'unnamed model'}{terms}", text, ""


def _sources(inputs: ReplayInputs) -> Iterator[tuple[Hashable, str, str, str]]:
    yield ("source", "prices"), "prices from", f"{inputs.pricing.source}; in dollars", ""
    first = {(call.model, call.terms): call for call in reversed(inputs.history.session.calls)}
    for model, cache in inputs.cache_models.items():
        for terms in sorted(terms for name, terms in first if name == model):
            yield _rates_line(inputs, first[model, terms])
        yield ("source", "cache", model), "    prompt cache", cache.title, ""
    window = inputs.window
    size = "unknown" if window.size is None else f"{ON_SCREEN.whole(window.size)} tokens, {window.tokens.known.value}"
    yield ("source", "window"), "context window", f"{size}: {window.source}", ""
    fit = inputs.scale.calibration
    usual = "typical for the model family"
    fitted = (
        f"× {fit.ratio:.3f}, {ON_SCREEN.plural(fit.calls, 'call')}, ±{ON_SCREEN.share(fit.residual)}"  # noqa: RUF001  a multiplication is meant
        if inputs.scale.known.value == "calibrated"
        else f"× {fit.ratio:.3f}, {inputs.scale.borrowed or usual}"  # noqa: RUF001  a multiplication is meant
    )
    yield ("source", "scale"), "token scale", f"{inputs.table.counter.name} {fitted}, {inputs.scale.known.value}", ""
