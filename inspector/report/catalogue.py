"""The catalogue of figures: JSON name, label, unit, format and help of each.

A figure is a field of one of the types below, and its annotation is its entry: a label, a unit, a sentence of help. The
entry defines the JSON field and its JSON Schema, the rows and titles of tables in text, Markdown, HTML and CSV, the
rows and columns of the screen's tables, and the list in `docs/figures.md`. A total that is added to `FigureSet`, and
computed under the same name in `inspector.replay`, appears in all of them.

The types belong to the contract of `inspector.report.document`.
"""

# The schema needs the types at run time.
# ruff: noqa: TC001

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Struct, field

from inspector.replay.analysis.alternatives import BreakpointPrice
from inspector.replay.analysis.breakdown import BreakdownRow, ToolCuts
from inspector.replay.analysis.compaction_forecast import CompactionForecast
from inspector.replay.analysis.forecast import NextCallsProjection
from inspector.replay.analysis.plan_outcome import CacheEffects
from inspector.replay.analysis.recoveries import NeededLater
from inspector.replay.assumptions import DAYS_PER_MONTH
from inspector.replay.quantity import (
    ON_PAPER,
    Count,
    FigureResult,
    How,
    Known,
    Output,
    Quantity,
    Unit,
    about,
    figure,
    quantities,
)
from inspector.report.numbers import (
    ABOUT,
    AT_LEAST,
    IN_TEXT,
    INEXACT,
    NOTHING,
    NumberFormat,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

HOW_KNOWN: Final[dict[str, str]] = {
    "calibrated": "fitted to reported usage",
    "estimated": "local estimate or default",
    "projected": "for calls that did not happen",
    "exact": "reported by the provider, or counted in the file",
}
"""Meaning of each certainty of a figure."""

LOWER_BOUND: Final = "lower bound"
"""Marks a lower bound."""


def legend(known: Iterable[str]) -> str:
    """Explain the marks of certainties, and of `LOWER_BOUND`, in one line; empty if there are none."""
    used = set(known)
    hows = [how for how in HOW_KNOWN if how in used & INEXACT]
    marks = [f"{ABOUT} {' or '.join(hows)}"] if hows else []
    return ", ".join([*marks, f"{AT_LEAST} {LOWER_BOUND}"] if LOWER_BOUND in used else marks)


def format_figure(entry: Quantity, value: float | None, numbers: NumberFormat = IN_TEXT) -> str:
    """Format a figure for display."""
    if value is None and entry.missing:
        return entry.missing
    if value == 0 and entry.hides_zero:
        return ""
    match entry.unit:
        case Unit.DOLLARS:
            return numbers.dollars(value)
        case Unit.SHARE:
            return numbers.share(value)
        case Unit.PERCENT:
            return numbers.percent(value)
        case Unit.FREE:
            return NOTHING if value is None else f"{value:g}"
        case _:
            return numbers.whole(value)


def labeled_figure(entry: Quantity, value: float | None, numbers: NumberFormat = IN_TEXT) -> tuple[str, str]:
    """Return label and formatted figure; a negative one with `opposite` is written without its sign."""
    if entry.opposite and value is not None and value < 0:
        return entry.opposite, format_figure(entry, -value, numbers)
    return entry.label, format_figure(entry, value, numbers)


def totals_shown(output: Output) -> list[Quantity]:
    """Return the totals over all calls that an output shows, in catalogue order."""
    return [each for each in quantities(FigureSet).values() if output in each.shown]


def parts_of(total: str) -> list[Quantity]:
    """Return the parts of a total, each followed by its own parts."""
    kinds = (CostParts, FigureSet, CacheEffects)
    parts = [each for kind in kinds for each in quantities(kind).values() if each.part_of == total]
    return [found for each in parts for found in (each, *parts_of(each.name))]


class FigureSet(FigureResult, frozen=True, kw_only=True):
    """Totals over all calls."""

    calls: Annotated[int | None, figure("calls", Unit.CALLS, "Requests to a model.", shown=ON_PAPER)]
    prompt_tokens: Annotated[int | None, figure("prompt tokens", Unit.TOKENS, "Tokens of all prompts.", short="tokens")]
    peak_prompt_tokens: Annotated[
        int | None, figure("largest prompt", Unit.TOKENS, "Tokens of the largest prompt.", short="peak", combined=max)
    ]
    cache_read_tokens: Annotated[
        int | None,
        figure(
            "cache reads",
            Unit.TOKENS,
            "Prompt tokens read from the prompt cache.",
            part_of="prompt_tokens",
        ),
    ]
    cache_write_tokens: Annotated[
        int | None,
        figure(
            "cache writes",
            Unit.TOKENS,
            "Prompt tokens written to the prompt cache.",
            part_of="prompt_tokens",
        ),
    ]
    uncached_tokens: Annotated[
        int | None,
        figure(
            "uncached input",
            Unit.TOKENS,
            "Prompt tokens neither read from nor written to the cache.",
            part_of="prompt_tokens",
        ),
    ]
    output_tokens: Annotated[int | None, figure("output", Unit.TOKENS, "Response tokens, reasoning included.")]
    cache_breaks: Annotated[
        int | None,
        figure(
            "changed prompts",
            Unit.CALLS,
            "Calls with a prompt that differs from the previous one before its end, so that the cache is not read "
            "from there on.",
            short="changed",
        ),
    ]
    cost_usd: Annotated[
        float | None, figure("cost", Unit.DOLLARS, "Dollars at list price; null if a model has no known price.")
    ]
    known: Annotated[dict[str, How], about("Certainty of every non-null field above.")]
    at_least: Annotated[
        list[str], about("Fields above that are lower bounds: the length of some response is unknown.")
    ] = field(default_factory=list)


class Saving(FigureResult, frozen=True, kw_only=True):
    """Savings of a plan against the baseline. Negative if it costs more."""

    tokens: Annotated[
        int | None,
        figure("saved tokens", Unit.TOKENS, "Prompt tokens.", as_part="tokens", explained="saved_tokens", saves=True),
    ]
    usd: Annotated[
        float | None,
        figure(
            "saved",
            Unit.DOLLARS,
            "Dollars, including cache misses; null without a price.",
            explained="saved_usd",
            saves=True,
        ),
    ]
    percent: Annotated[
        float | None,
        figure(
            "of the total",
            Unit.PERCENT,
            "The saving as a percentage of the total named by `percent_of`.",
            short="of total",
            explained="saved_share",
            saves=True,
        ),
    ]
    percent_of: Annotated[
        Literal["cost_usd", "prompt_tokens"], about("The cost, or the prompt tokens if there is no price.")
    ]
    known: Known


class CostParts(FigureResult, frozen=True, kw_only=True):
    """Components of the cost, and the tokens of the newest prompt that are not in the file."""

    cache_read_usd: Annotated[
        float | None,
        figure("cache reads", Unit.DOLLARS, "Dollars of tokens read from the cache.", part_of="cost_usd"),
    ]
    cache_write_usd: Annotated[
        float | None,
        figure("cache writes", Unit.DOLLARS, "Dollars of tokens written to the cache.", part_of="cost_usd"),
    ]
    uncached_usd: Annotated[
        float | None,
        figure(
            "uncached input",
            Unit.DOLLARS,
            "Dollars of tokens neither read from nor written to the cache.",
            part_of="cost_usd",
        ),
    ]
    output_usd: Annotated[
        float | None, figure("output", Unit.DOLLARS, "Dollars of response tokens.", part_of="cost_usd")
    ]
    requests_usd: Annotated[
        float | None,
        figure(
            "other requests",
            Unit.DOLLARS,
            "Dollars of requests that strategies make, and of calls with a separate price.",
            part_of="cost_usd",
        ),
    ]
    overhead: Annotated[
        float | None,
        figure(
            "system prompt and tools",
            Unit.TOKENS,
            (
                "Tokens of the newest prompt that the file does not hold, mostly its system prompt and tools: the "
                "prompt minus its recorded part. The number differs from call to call, and grows when an agent "
                "restores files after a compaction without recording it."
            ),
        ),
    ]
    known: Known
    at_least: Annotated[
        list[str], about("Fields above that are lower bounds: the length of some response is unknown.")
    ] = field(default_factory=list)


class PlanFacts(Struct, frozen=True, kw_only=True):
    """The session replayed under one plan."""

    name: Annotated[str, about("Name of the plan; empty if it has none.")]
    is_suggestion: Annotated[bool, about("True if the plan was suggested: the best plan found.")] = False
    strategies: Annotated[list[str], about("Its strategies in order, in their one-line form.")]
    figures: FigureSet
    saved: Saving
    break_even_call: Annotated[
        int | None,
        figure(
            "breaks even at call",
            Unit.CALL,
            "Call, counted from 1, from which the plan has cost less in total; null if never.",
            short="breaks even",
        ),
    ]
    first_firing: Annotated[
        int | None,
        figure(
            "first applied at call",
            Unit.CALL,
            "First call, counted from 1, at which the plan changes something; null if it changes nothing.",
            short="applied",
        ),
    ]
    edits: Annotated[Count | None, figure("edits", Unit.COUNT, "Changes of a block's rendition, over all calls.")]
    tiers: Annotated[list[TierFacts], about("Effect of every strategy, or of each of its tiers.")]
    hazards: Annotated[dict[str, Count] | None, about("Number of risks of the plan by kind.")]
    needed_later: Annotated[
        NeededLater | None,
        about("Cut text that a later part of the session used; null if plans are only compared."),
    ]
    is_recommendable: Annotated[
        bool | None,
        about(
            "True if the plan can be recommended: tried in public or permitted by --beyond, few expected re-fetches, "
            "savings at twice as many, valid prompts with all user and assistant text; null if not determined."
        ),
    ] = None
    projection: Annotated[ProjectionFacts | None, about("Null without runs per day.")]
    known: Annotated[
        dict[str, How], about("Certainty of the calls, of `edits`, and of the counts in `hazards` and `needed_later`.")
    ] = field(default_factory=dict)
    outcome: Annotated[CacheEffects | None, about("Effect on the prompt cache; null if plans are only compared.")] = (
        None
    )
    carried: Annotated[list[BreakdownRow], about("Content of the prompts under the plan, largest first.")] = field(
        default_factory=list
    )
    compactions: Annotated[list[CompactionForecast], about("Recorded compactions, and the plan's effect on them.")] = (
        field(default_factory=list)
    )
    tools: Annotated[list[ToolCuts], about("Cuts in every tool's results, largest saving first.")] = field(
        default_factory=list
    )
    notices: Annotated[list[NoticeFacts], about("Notices that the programs it describes would have printed.")] = field(
        default_factory=list
    )
    next_calls: Annotated[NextCallsProjection | None, about("Null without a number of further calls.")] = None
    uncertainty: Annotated[
        UncertainSaving | None, about("Saving if the model answers differently; null unless requested.")
    ] = None
    explain: Annotated[
        dict[str, ExplanationFacts] | None, about("Calculation of every figure; null unless requested.")
    ] = None
    breakpoints: Annotated[
        list[BreakpointPrice],
        about(
            "Cost by the cache breakpoints of the requests, those assumed first; empty if no provider uses them, or if "
            "they change the cost by less than a tenth and are not requested."
        ),
    ] = field(default_factory=list)


class ExpectedRefetches(Struct, frozen=True, kw_only=True):
    """Expected re-fetches of a plan, and the net saving at both ends of their interval."""

    refetches: Annotated[
        float | None,
        about(
            "Cut results that the agent is expected to fetch again because of the cuts; null if the plan cuts no tool "
            "result: not measured."
        ),
    ] = None
    refetches_low: Annotated[float | None, about("Lower end of its 95 % interval.")] = None
    refetches_high: Annotated[float | None, about("Upper end of its 95 % interval.")] = None
    saved_at_least_usd: Annotated[
        float | None,
        figure(
            "net, at worst",
            Unit.DOLLARS,
            "Dollars saved minus the upper end of the cost of expected re-fetches.",
            saves=True,
        ),
    ] = None
    saved_at_most_usd: Annotated[
        float | None,
        figure(
            "net, at best",
            Unit.DOLLARS,
            "Dollars saved minus the lower end of the cost of expected re-fetches.",
            saves=True,
        ),
    ] = None


class TierFacts(Struct, frozen=True, kw_only=True):
    """Effects of one part of a strategy (a tier, or all of it)."""

    strategy: Annotated[str, about("Name of the strategy.")]
    tier: Annotated[str, about("Name of the part; empty for the whole strategy.")]
    results: Annotated[
        Count,
        figure("blocks", Unit.COUNT, "Blocks it applies to: tool results, or any blocks in the messages it cuts."),
    ]
    touched: Annotated[Count, figure("changed", Unit.COUNT, "Number of blocks it changed.")]
    tokens_cut: Annotated[
        int,
        figure(
            "tokens cut",
            Unit.TOKENS,
            "Tokens removed from these blocks in the end; negative if it adds tokens.",
            saves=True,
        ),
    ]
    carried_tokens: Annotated[
        int | None,
        figure(
            "in the newest prompt",
            Unit.TOKENS,
            "Tokens of the changed blocks in the newest prompt, as sent.",
            short="newest",
        ),
    ] = None
    sent_tokens: Annotated[
        int | None,
        figure(
            "token-calls",
            Unit.TOKENS,
            "Tokens of the changed blocks, as sent, counted once for every call that sent them.",
        ),
    ] = None
    cut_tokens: Annotated[
        int | None,
        figure(
            "token-calls cut",
            Unit.TOKENS,
            "Tokens removed from these blocks, counted once for every call.",
            short="cut",
            saves=True,
        ),
    ] = None
    share: Annotated[
        float | None, figure("of all", Unit.SHARE, "`sent_tokens` as a share of all prompts: 0.25 for a quarter.")
    ] = None
    usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Dollars of `sent_tokens`; null without a price.")] = None
    saved_usd: Annotated[
        float | None,
        figure(
            "saved",
            Unit.DOLLARS,
            "Dollars saved on these blocks, excluding cache misses of other blocks; negative if it costs more.",
            short="saved",
            saves=True,
            missing=NOTHING,
        ),
    ] = None
    known: Annotated[dict[str, How], about("Certainty of every non-null number above.")] = field(default_factory=dict)


class NoticeFacts(Struct, frozen=True, kw_only=True):
    """A notice that a described program would have printed."""

    strategy: Annotated[str, about("Name of the strategy that describes the program.")]
    call: Annotated[int, about("The call before which it acts, counted from 1.")]
    text: Annotated[str, about("The line, in the program's words.")]


class ProjectionFacts(Struct, frozen=True, kw_only=True):
    """Projected saving at a number of runs per day. About runs that did not happen."""

    runs_per_day: Annotated[float, figure("runs per day", Unit.FREE, "Number of runs like this one per day.")]
    usd_per_day: Annotated[
        float,
        figure(
            "saved per day",
            Unit.DOLLARS,
            "Dollars saved per day, minus the cost of expected re-fetches; negative if the plan costs more.",
            saves=True,
        ),
    ]
    usd_per_month: Annotated[
        float,
        figure("saved per month", Unit.DOLLARS, "Dollars saved in a month of `days_per_month` days.", saves=True),
    ]
    usd_per_month_low: Annotated[
        float,
        figure(
            "lower end",
            Unit.DOLLARS,
            "The 5th percentile over resamples of this session's calls, after expected re-fetches.",
            saves=True,
        ),
    ]
    usd_per_month_high: Annotated[
        float, figure("upper end", Unit.DOLLARS, "The 95th percentile, without recoveries.", saves=True)
    ]
    days_per_month: Annotated[float, about("Days per month, as requested.")] = DAYS_PER_MONTH
    runs_are_assumed: Annotated[bool, about("True if the number of runs per day is assumed, not requested.")] = False
    known: Annotated[dict[str, How], about("Certainty of every number above except the runs.")] = field(
        default_factory=dict
    )


class UncertainSaving(Struct, frozen=True, kw_only=True):
    """A saving if the model takes more or fewer turns under a plan than recorded.

    Bands of projections, and of session samples, hold this in the same report.
    """

    turns_low_percent: Annotated[float, about("Fewest turns of the interval, as a change in percent.")]
    turns_high_percent: Annotated[float, about("Most turns of the interval, as a change in percent.")]
    low_usd: Annotated[
        float, figure("with the most turns", Unit.DOLLARS, "Dollars saved with the most turns.", saves=True)
    ]
    high_usd: Annotated[
        float, figure("with the fewest turns", Unit.DOLLARS, "Dollars saved with the fewest turns.", saves=True)
    ]
    known: Known


class ExplanationFacts(Struct, frozen=True, kw_only=True):
    """Calculation of a figure."""

    value: Annotated[float | None, about("The figure.")]
    unit: Annotated[str, about("Unit; `share` for a part of 1.")]
    known: Annotated[How, about("Certainty of the figure.")]
    formula: Annotated[str, about("The calculation, in a sentence.")]
    inputs: Annotated[list[InputFacts], about("Inputs of the calculation.")]
    source: Annotated[str, about("Source of the rule and the numbers.")]


class InputFacts(Struct, frozen=True, kw_only=True):
    """A number that goes into a figure, or a setting that decides it."""

    label: Annotated[str, about("Label of the input.")]
    value: Annotated[float | str | None, about("The number, or a few words.")]
    unit: Annotated[str, about("Unit; empty for none.")]


def markdown_list() -> str:
    """Format the figures of totals and plans as the Markdown table of `docs/figures.md`."""
    lines = ["| figure | JSON | unit | meaning |", "| --- | --- | --- | --- |"]
    for where, kind in (("figures", FigureSet), ("saved", Saving), ("", PlanFacts), ("outcome", CacheEffects)):
        for name, each in quantities(kind).items():
            path = f"{where}.{name}" if where else name
            lines.append(f"| {each.label} | `{path}` | {each.unit.value or 'count'} | {each.help} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(markdown_list())
