"""The catalogue of figures: JSON name, label, unit, format and help of each.

A figure is a field of one of the types below, and its annotation is its entry: a label, a unit, a sentence of help. The
entry defines the JSON field and its JSON Schema, the rows and titles of tables in text, Markdown, HTML and CSV, the
rows and columns of the screen's tables, and the list in `docs/figures.md`. A total that is added to `FigureSet`, and
computed under the same name in `inspector.replay`, appears in all of them.

The types belong to the contract of `inspector.report.document`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from enum import Flag, StrEnum, auto
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct, field

from inspector.replay.projection_terms import DAYS_PER_MONTH
from inspector.report.numbers import (
    ABOUT,
    AT_LEAST,
    DOLLAR_DIGITS,
    IN_TEXT,
    INEXACT,
    NOTHING,
    PERCENT_DIGITS,
    SHARE_DIGITS,
    NumberFormat,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

How = Literal["exact", "calibrated", "estimated", "projected"]

HOW_KNOWN: Final[dict[str, str]] = {
    "calibrated": "fitted to reported usage",
    "estimated": "local estimate or default",
    "projected": "about calls that did not happen",
    "exact": "reported by the provider, or counted in the file",
}
"""Meaning of each certainty of a figure."""

LEAST: Final = "at least"
"""Marks a lower bound."""


def legend(known: Iterable[str]) -> str:
    """Explain the marks before numbers that are used, in one line; empty if there are none.

    Args:
        known: Certainties of the figures, and `LEAST` for lower bounds.
    """
    used = set(known)
    hows = [how for how in HOW_KNOWN if how in used & INEXACT]
    marks = [f"{ABOUT} {' or '.join(hows)}"] if hows else []
    return ", ".join([*marks, f"{AT_LEAST} {LEAST}"] if LEAST in used else marks)


Count = Annotated[int, Meta(ge=0)]


class Unit(StrEnum):
    """Unit of a figure, which decides its format and rounding."""

    TOKENS = "tokens"
    DOLLARS = "$"
    SHARE = "share"
    """A part of 1, written as a percentage."""
    PERCENT = "percent"
    CALLS = "calls"
    CALL = "call"
    """The number of a call, counted from 1."""
    COUNT = ""
    """A count of the things that the label names."""
    FREE = "number"
    """A number in the form the user gave."""


class Output(Flag):
    """Outputs of a total in addition to JSON."""

    TEXT = auto()
    PAGE = auto()
    """Markdown and HTML."""
    SHEET = auto()
    """CSV."""
    SCREEN = auto()


ON_PAPER: Final = Output.TEXT | Output.PAGE | Output.SHEET
EVERYWHERE: Final = ON_PAPER | Output.SCREEN


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure's entry.

    Attributes:
        label: Display label.
        unit: Unit.
        help: One sentence of help.
        name: JSON name.
        short: Label for a narrow column.
        part_of: Name of the total that it is a part of; empty for none.
        as_part: Label in a line below that total.
        explained: Name in explanations; defaults to `name`.
        source: Attribute of the `inspector.replay` result to read; defaults to `name`.
        saves: A negative value is a loss, and shown as one.
        opposite: Label of a negative value if `label` would contradict its sign; empty to use `label`.
        missing: Text for a missing value; defaults to the unit's.
        hides_zero: Zero is written as an empty text.
        combined: How figures of several sessions are combined: `sum` or `max`.
        shown: Outputs of a total.
    """

    label: str
    unit: Unit
    help: str
    name: str = ""
    short: str = ""
    part_of: str = ""
    as_part: str = ""
    explained: str = ""
    source: str = ""
    saves: bool = False
    opposite: str = ""
    missing: str = ""
    hides_zero: bool = False
    combined: Callable[[Iterable[Any]], Any] = sum
    shown: Output = EVERYWHERE

    @property
    def short_label(self) -> str:
        """Label for a narrow column."""
        return self.short or self.label

    def written(self, value: float | None, numbers: NumberFormat = IN_TEXT) -> str:
        """Format the figure for people."""
        if value is None and self.missing:
            return self.missing
        if value == 0 and self.hides_zero:
            return ""
        match self.unit:
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

    def named(self, value: float | None, numbers: NumberFormat = IN_TEXT) -> tuple[str, str]:
        """Return label and formatted figure; a negative one with `opposite` is written without its sign."""
        if self.opposite and value is not None and value < 0:
            return self.opposite, self.written(-value, numbers)
        return self.label, self.written(value, numbers)

    def rounded(self, value: float | None) -> float | None:
        """Round the figure for data output."""
        if value is None:
            return None
        match self.unit:
            case Unit.DOLLARS:
                return round(value, DOLLAR_DIGITS)
            case Unit.SHARE:
                return round(value, SHARE_DIGITS)
            case Unit.PERCENT:
                return round(100 * value, PERCENT_DIGITS)
            case _:
                return round(value)

    def is_loss(self, value: float | None) -> bool:
        """Return True if the value is an extra cost."""
        return self.saves and value is not None and value < 0


def about(text: str) -> Meta:
    """Describe a field that is not a figure, for the JSON Schema."""
    return Meta(description=text)


def figure(label: str, unit: Unit, text: str, **attributes: Any) -> Meta:
    """Describe a field that is a figure.

    Args:
        label: Display label.
        unit: Unit.
        text: One sentence for help and JSON Schema; empty if the label suffices.
        attributes: Further attributes of `Quantity`.
    """
    return Meta(description=text or None, extra={"quantity": Quantity(label, unit, text, **attributes)})


@cache
def quantities(kind: type[Struct]) -> Mapping[str, Quantity]:
    """Return a type's figures by name, in field order."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for meta in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
            if isinstance(meta, Meta) and meta.extra is not None:
                entry: Quantity = meta.extra["quantity"]
                found[name] = replace(entry, name=name, source=entry.source or name, explained=entry.explained or name)
    return found


@cache
def quantity(kind: type[Struct], path: str) -> Quantity:
    """Return the figure at the end of a path of fields such as `saved.usd`."""
    *above, name = path.split(".")
    for step in above:
        kind = _struct_of(get_type_hints(kind)[step])
    return quantities(kind)[name]


def _struct_of(hint: Any) -> type[Struct]:
    """Return the struct type of a field, which may be a list of it or optional."""
    found: type[Struct] = next((each for each in get_args(hint) if each is not NoneType), hint)
    return found


def totals_shown(output: Output) -> list[Quantity]:
    """Return the totals over all calls that an output shows, in catalogue order."""
    return [each for each in quantities(FigureSet).values() if output in each.shown]


def parts_of(total: str) -> list[Quantity]:
    """Return the parts of a total, each followed by its own parts."""
    kinds = (CostParts, FigureSet, OutcomeFacts)
    parts = [each for kind in kinds for each in quantities(kind).values() if each.part_of == total]
    return [found for each in parts for found in (each, *parts_of(each.name))]


Known = Annotated[dict[str, How], about("For every number above that is not null, how it is known.")]


class FigureSet(Struct, frozen=True, kw_only=True):
    """Totals over all calls."""

    calls: Annotated[int | None, figure("calls", Unit.CALLS, "Requests to a model.", shown=ON_PAPER)]
    prompt_tokens: Annotated[
        int | None, figure("prompt tokens", Unit.TOKENS, "Tokens of all prompts together.", short="tokens")
    ]
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
            "Calls whose prompt differs from the previous one before its end: what is cached from there is not read.",
            short="changed",
        ),
    ]
    cost_usd: Annotated[
        float | None, figure("cost", Unit.DOLLARS, "Dollars at list price; null where a model has no known price.")
    ]
    known: Annotated[dict[str, How], about("For every field above that is not null, how it is known.")]
    at_least: Annotated[
        list[str], about("Fields above that are more than they say: nothing tells how long some response was.")
    ] = field(default_factory=list)


class Saving(Struct, frozen=True, kw_only=True):
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
            "Dollars, cache misses included; null without a price.",
            explained="saved_usd",
            saves=True,
        ),
    ]
    percent: Annotated[
        float | None,
        figure(
            "of the total",
            Unit.PERCENT,
            "The saving as a percentage of what `percent_of` names.",
            short="of total",
            explained="saved_share",
            source="share",
            saves=True,
        ),
    ]
    percent_of: Annotated[
        Literal["cost_usd", "prompt_tokens"], about("The cost, or the prompt tokens where there is no price.")
    ]
    known: Known


class CostParts(Struct, frozen=True, kw_only=True):
    """Components of the cost, and the tokens of the newest prompt that are not in the file."""

    cache_read_usd: Annotated[
        float | None,
        figure("cache reads", Unit.DOLLARS, "Dollars of tokens read from the cache.", part_of="cost_usd"),
    ]
    cache_write_usd: Annotated[
        float | None,
        figure("cache writes", Unit.DOLLARS, "Dollars of tokens written to it.", part_of="cost_usd"),
    ]
    uncached_usd: Annotated[
        float | None,
        figure("uncached input", Unit.DOLLARS, "Dollars of tokens neither read nor written.", part_of="cost_usd"),
    ]
    output_usd: Annotated[
        float | None, figure("output", Unit.DOLLARS, "Dollars of response tokens.", part_of="cost_usd")
    ]
    requests_usd: Annotated[
        float | None,
        figure(
            "other requests",
            Unit.DOLLARS,
            "Dollars of requests that strategies make themselves, and of calls where they have a price of their own.",
            part_of="cost_usd",
        ),
    ]
    overhead: Annotated[
        float | None,
        figure(
            "system prompt and tools",
            Unit.TOKENS,
            "Tokens of the newest prompt that the file does not hold, mostly its system prompt and tools: that prompt "
            "less what is recorded of it, so that it differs from call to call, and grows where an agent puts files "
            "back after a compaction that nothing records.",
        ),
    ]
    known: Known
    at_least: Annotated[
        list[str], about("Fields above that are more than they say: nothing tells how long some response was.")
    ] = field(default_factory=list)


class ModelCostFacts(Struct, frozen=True, kw_only=True):
    """Cost of the calls of one model; all models add up to the session's cost."""

    model: Annotated[str, about("As recorded; empty where the file names none.")]
    priced_as: Annotated[str, about("The other name it has in the prices; empty where it has its own.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Calls it answered.")]
    prompt_tokens: Annotated[int | None, figure("prompt tokens", Unit.TOKENS, "Tokens of their prompts together.")]
    output_tokens: Annotated[int | None, figure("output", Unit.TOKENS, "Tokens of its responses.")]
    usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Dollars of these calls.", source="cost")]
    share: Annotated[float | None, figure("of the cost", Unit.SHARE, "Their part of the whole cost.")]
    known: Known
    at_least: Annotated[
        list[str], about("Fields above that are more than they say: nothing tells how long some response was.")
    ] = field(default_factory=list)


class NeededLaterFacts(Struct, frozen=True, kw_only=True):
    """Cut text that later calls of the session used, and the projected cost of recovering it."""

    calls: Annotated[
        Count,
        figure(
            "later calls that needed cut text",
            Unit.COUNT,
            "Calls whose response used something of a result that the plan had cut by then, the first such use of each "
            "result; how many recoveries there would be.",
            short="needed",
            source="needed",
        ),
    ]
    results: Annotated[Count, figure("results needed", Unit.COUNT, "Tool results that were needed so.")]
    exact_text: Annotated[
        Count, figure("exact text", Unit.COUNT, "Of these, needed by an edit whose old text no other text had.")
    ]
    fault: Annotated[
        Count,
        figure(
            "fault",
            Unit.COUNT,
            "Of these, read or run again once the recorded prompt had lost them too, with nothing written since.",
        ),
    ]
    anchor: Annotated[
        Count,
        figure("anchor", Unit.COUNT, "Of these, the only ones to show a path, symbol or line that a tool was told."),
    ]
    citation: Annotated[
        Count, figure("citation", Unit.COUNT, "Of these, the only ones with a word that the model wrote later.")
    ]
    repeats_anyway: Annotated[
        Count,
        figure(
            "repeated anyway",
            Unit.COUNT,
            "Cut results read or run again although they were still in the recorded prompt: not counted above.",
            short="anyway",
        ),
    ]
    recoveries_usd: Annotated[
        float | None,
        figure(
            "recoveries",
            Unit.DOLLARS,
            "Dollars of getting all of it back: a call more for each that needed it, the results written again and "
            "read for the rest of their stay; null without a price.",
            source="cost",
        ),
    ]
    cost_each_usd: Annotated[
        float | None,
        figure(
            "cost of a recovery",
            Unit.DOLLARS,
            "The same for one on average; null where there is none, or without a price.",
            short="each",
            source="cost_each",
        ),
    ]
    saved_at_least_usd: Annotated[
        float | None,
        figure(
            "saved after recoveries",
            Unit.DOLLARS,
            "Dollars the plan saves less what getting all of it back would cost: what it is judged by; null without a "
            "price.",
            short="net",
            source="band_low",
            saves=True,
        ),
    ]
    break_even_recoveries: Annotated[
        int | None,
        figure(
            "such calls that cancel the saving",
            Unit.COUNT,
            "The fewest recoveries that cost as much as it saves; null where there is none, or it saves nothing.",
            short="gone after",
            source="break_even",
        ),
    ]
    known: Known


class PlanFacts(Struct, frozen=True, kw_only=True):
    """The session replayed under one plan."""

    name: Annotated[str, about("The plan's own name; empty where it has none.")]
    is_suggestion: Annotated[bool, about("Nobody chose it: it is the best one that was found.")] = False
    strategies: Annotated[list[str], about("Its strategies in order, in their one-line form.")]
    figures: FigureSet
    saved: Saving
    break_even_call: Annotated[
        int | None,
        figure(
            "breaks even at call",
            Unit.CALL,
            "From this call on, counted from 1, the plan has cost less in all; null when never.",
            short="breaks even",
        ),
    ]
    first_firing: Annotated[
        int | None,
        figure(
            "first applied at call",
            Unit.CALL,
            "The first call, counted from 1, at which the plan changes something; null when it changes nothing.",
            short="applied",
        ),
    ]
    edits: Annotated[
        Count | None, figure("edits", Unit.COUNT, "How often a block's rendition changed, over all calls.")
    ]
    tiers: Annotated[list[TierFacts], about("What every strategy, or tier of one, did.")]
    hazards: Annotated[dict[str, Count] | None, about("Risks of the plan, by kind, and how often.")]
    needed_later: Annotated[
        NeededLaterFacts | None,
        about("Cut text that a later part of the session used; null where plans are only compared."),
    ]
    projection: Annotated[ProjectionFacts | None, about("Null unless runs per day were given.")]
    known: Annotated[
        dict[str, How], about("How the calls, `edits`, and the counts in `hazards` and `needed_later` are known.")
    ] = field(default_factory=dict)
    outcome: Annotated[OutcomeFacts | None, about("What it does to the cache; null where plans are compared.")] = None
    carried: Annotated[list[CarriedFacts], about("What fills the prompts under it, most first.")] = field(
        default_factory=list
    )
    compactions: Annotated[
        list[CompactionFacts], about("Recorded compactions, and what it would have made of them.")
    ] = field(default_factory=list)
    tools: Annotated[list[ToolCutFacts], about("What it cuts of every tool's results, by what that saves.")] = field(
        default_factory=list
    )
    notices: Annotated[list[NoticeFacts], about("What the programs it describes would have printed.")] = field(
        default_factory=list
    )
    next_calls: Annotated[NextCallsFacts | None, about("Null unless a number of calls was given.")] = None
    uncertainty: Annotated[
        UncertainSaving | None, about("What it saves if a model answers otherwise; null unless asked for.")
    ] = None
    explain: Annotated[
        dict[str, ExplanationFacts] | None, about("How every figure is calculated; null unless asked for.")
    ] = None


class TierFacts(Struct, frozen=True, kw_only=True):
    """Effects of one part of a strategy (a tier, or all of it)."""

    strategy: Annotated[str, about("Name of the strategy.")]
    tier: Annotated[str, about("Name of the part; empty for the whole strategy.")]
    results: Annotated[
        Count,
        figure("blocks", Unit.COUNT, "Blocks it applies to: tool results, or whatever is in the messages it cuts."),
    ]
    touched: Annotated[Count, figure("changed", Unit.COUNT, "How many of them it changed.")]
    tokens_cut: Annotated[
        int,
        figure(
            "tokens cut",
            Unit.TOKENS,
            "Tokens it leaves out of them in the end; negative where it adds.",
            saves=True,
        ),
    ]
    carried_tokens: Annotated[
        int | None,
        figure(
            "in the newest prompt",
            Unit.TOKENS,
            "Tokens of those it changed in the newest prompt, as sent.",
            short="newest",
            source="carried",
        ),
    ] = None
    sent_tokens: Annotated[
        int | None,
        figure(
            "token-calls",
            Unit.TOKENS,
            "Tokens of those it changed, as sent, counted once for every call that sent them.",
            source="sent",
        ),
    ] = None
    cut_tokens: Annotated[
        int | None,
        figure(
            "token-calls cut",
            Unit.TOKENS,
            "Tokens it leaves out of them, counted once for every call.",
            short="cut",
            source="cut",
            saves=True,
        ),
    ] = None
    share: Annotated[
        float | None, figure("of all", Unit.SHARE, "`sent_tokens` as a share of all prompts: 0.25 for a quarter.")
    ] = None
    usd: Annotated[
        float | None, figure("cost", Unit.DOLLARS, "Dollars of `sent_tokens`; null without a price.", source="cost")
    ] = None
    saved_usd: Annotated[
        float | None,
        figure(
            "saved on them",
            Unit.DOLLARS,
            "Dollars saved on them, what cache misses cost other blocks apart; negative where it costs more.",
            short="saved",
            source="saved",
            saves=True,
            missing=NOTHING,
        ),
    ] = None
    known: Annotated[dict[str, How], about("For every number above that is not null, how it is known.")] = field(
        default_factory=dict
    )


class OutcomeFacts(Struct, frozen=True, kw_only=True):
    """Effects of a plan on the prompt cache."""

    cache_read_share: Annotated[
        float | None,
        figure(
            "cache reads, of the prompts",
            Unit.SHARE,
            "Prompt tokens read from the cache, as a share of all.",
            part_of="cache_read_tokens",
            as_part="of the prompts",
        ),
    ]
    plan_breaks: Annotated[
        int | None,
        figure(
            "prompts changed by the plan",
            Unit.CALLS,
            "Calls whose prompt the plan changes before its end, so that what is cached from there on is not read.",
            explained="breaks",
            source="breaks",
        ),
    ]
    resent_tokens: Annotated[
        int | None,
        figure(
            "tokens re-cached",
            Unit.TOKENS,
            "Tokens that were cached and, because of that, had to be sent as new ones.",
            part_of="plan_breaks",
        ),
    ]
    rebuild_usd: Annotated[
        float | None,
        figure(
            "cost of re-caching",
            Unit.DOLLARS,
            "Dollars of these tokens, at the price of new ones.",
            part_of="plan_breaks",
        ),
    ]
    break_usd: Annotated[
        float | None,
        figure(
            "cost of changes",
            Unit.DOLLARS,
            "Of these, what is more than reading them from the cache would have cost.",
            part_of="plan_breaks",
        ),
    ]
    known: Known


class CarriedFacts(Struct, frozen=True, kw_only=True):
    """Prompt tokens of one kind of block, or of one tool's results."""

    kind: Annotated[str, about("Kind of block; the last two rows are what no text of the session stands for.")]
    tool: Annotated[str, about("The tool, for tool results; empty for other kinds.")]
    blocks: Annotated[Count, figure("blocks", Unit.COUNT, "How many blocks.", hides_zero=True)]
    carried_tokens: Annotated[
        int | None,
        figure(
            "in the newest prompt",
            Unit.TOKENS,
            "Tokens of them in the newest prompt.",
            short="newest",
            source="carried",
        ),
    ]
    sent_tokens: Annotated[
        int | None,
        figure(
            "token-calls",
            Unit.TOKENS,
            "Tokens of them, counted once for every call that sent them.",
            source="sent",
        ),
    ]
    cut_tokens: Annotated[
        int | None,
        figure(
            "token-calls cut",
            Unit.TOKENS,
            "Tokens the plan leaves out of them, counted once for every call.",
            short="cut",
            source="cut",
            saves=True,
        ),
    ]
    share: Annotated[
        float | None, figure("of all", Unit.SHARE, "`sent_tokens` as a share of all prompts: 0.25 for a quarter.")
    ]
    usd: Annotated[
        float | None, figure("cost", Unit.DOLLARS, "Dollars of `sent_tokens`; null without a price.", source="cost")
    ]
    saved_usd: Annotated[
        float | None,
        figure(
            "saved on them",
            Unit.DOLLARS,
            "Dollars the plan saves on them; negative where it costs more.",
            short="saved",
            source="saved",
            saves=True,
        ),
    ]
    known: Known


class CarriedBlockFacts(Struct, frozen=True, kw_only=True):
    """One tool result and the cost of resending it, without a plan."""

    tool: Annotated[str, about("The tool.")]
    message: Annotated[Count, figure("message", Unit.COUNT, "Its message, counted from 1.", short="#")]
    tokens: Annotated[int | None, figure("tokens", Unit.TOKENS, "Its tokens.")]
    calls: Annotated[Count, figure("times sent", Unit.CALLS, "Prompts that held it.")]
    sent_tokens: Annotated[
        int | None,
        figure("token-calls", Unit.TOKENS, "Its tokens, counted once for every call that sent them.", source="sent"),
    ]
    usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Dollars of these; null without a price.", source="cost")]
    known: Known
    text: Annotated[
        str,
        about(
            "How what it says begins, without what the agent put around it, secrets masked; empty unless texts were "
            "asked for."
        ),
    ] = ""


class CompactionFacts(Struct, frozen=True, kw_only=True):
    """A recorded compaction, and whether it would have happened under the plan. Not part of any total."""

    call: Annotated[Count, about("The first call after it, counted from 1.")]
    trigger_tokens: Annotated[
        int | None,
        figure(
            "triggered at",
            Unit.TOKENS,
            "The size that set it off: what the agent counted, where it says so, or the last prompt before it. An "
            "agent may count more than its provider reported for that prompt.",
        ),
    ]
    noted_by_agent: Annotated[bool, about("That size is the agent's own count, not the prompt before it.")]
    asked_for: Annotated[bool, about("A person asked for it: it would have happened whatever the size.")]
    prompt_tokens: Annotated[
        int | None,
        figure(
            "with the plan", Unit.TOKENS, "That call's prompt under the plan, had it not happened.", short="with plan"
        ),
    ]
    reached_call: Annotated[
        int | None,
        figure(
            "reached at call",
            Unit.CALL,
            "The call, counted from 1, whose prompt would have come to that size under the plan; null when never.",
            short="reached",
        ),
    ]
    until_call: Annotated[
        int | None,
        about("A rewind or a compaction that was asked for ends the forecast before this call; null: the session."),
    ]
    avoided: Annotated[
        Count, figure("avoided", Unit.COUNT, "Recorded compactions, this one included, that fall before that.")
    ]
    saved_tokens: Annotated[
        int | None,
        figure(
            "saved tokens",
            Unit.TOKENS,
            "Prompt tokens less till then; negative, as longer prompts hold more.",
            saves=True,
        ),
    ]
    calls_usd: Annotated[
        float | None,
        figure(
            "saved on prompts", Unit.DOLLARS, "Dollars less for the prompts till then; negative where more.", saves=True
        ),
    ]
    requests_usd: Annotated[
        float | None, figure("saved on requests", Unit.DOLLARS, "Dollars of the requests that wrote the summaries.")
    ]
    saved_usd: Annotated[
        float | None, figure("saves", Unit.DOLLARS, "Both together; negative where it costs more.", saves=True)
    ]
    known: Known


class ToolCutFacts(Struct, frozen=True, kw_only=True):
    """Cuts of a plan in one tool's results."""

    tool: Annotated[str, about("The tool; empty where it is not known.")]
    results: Annotated[Count, figure("results", Unit.COUNT, "How many of its results the plan changed at any call.")]
    original_tokens: Annotated[
        Count, figure("original", Unit.TOKENS, "Tokens of these, whole, as counted.", source="original")
    ]
    sent_tokens: Annotated[
        Count, figure("sent", Unit.TOKENS, "Tokens of these as they were sent last, as counted.", source="sent")
    ]
    saved_tokens: Annotated[
        int,
        figure(
            "token-calls cut",
            Unit.TOKENS,
            "Tokens this left out, counted once for every call; negative where it added.",
            short="cut",
            source="saved",
            saves=True,
        ),
    ]
    known: Known


class NoticeFacts(Struct, frozen=True, kw_only=True):
    """A notice that a described program would have printed."""

    strategy: Annotated[str, about("Name of the strategy that stands for the program.")]
    call: Annotated[int, about("The call before which it acts, counted from 1.")]
    text: Annotated[str, about("The line, in the program's words.")]


class ProjectionFacts(Struct, frozen=True, kw_only=True):
    """Projected saving at a number of runs per day. About runs that did not happen."""

    runs_per_day: Annotated[float, figure("runs a day", Unit.FREE, "How many runs like this one there are in a day.")]
    usd_per_day: Annotated[
        float,
        figure(
            "saved a day",
            Unit.DOLLARS,
            "Dollars saved a day, less those of recoveries; negative where the plan costs more.",
            saves=True,
        ),
    ]
    usd_per_month: Annotated[
        float,
        figure("saved a month", Unit.DOLLARS, "The same in a month of `days_per_month` days.", saves=True),
    ]
    usd_per_month_low: Annotated[
        float,
        figure(
            "lower end",
            Unit.DOLLARS,
            "The 5th percentile, from drawing this session's own calls again, if all that was cut and needed is "
            "fetched again.",
            saves=True,
        ),
    ]
    usd_per_month_high: Annotated[
        float, figure("upper end", Unit.DOLLARS, "The 95th percentile, if nothing is.", saves=True)
    ]
    days_per_month: Annotated[float, about("Days a month, as asked for.")] = DAYS_PER_MONTH
    runs_are_assumed: Annotated[bool, about("Nobody said how many runs a day there are; otherwise as asked for.")] = (
        False
    )
    known: Annotated[dict[str, How], about("For every number above but the runs, how it is known.")] = field(
        default_factory=dict
    )


class NextCallsFacts(Struct, frozen=True, kw_only=True):
    """Projection of the session over a number of further calls."""

    calls: Annotated[Count, about("How many calls more.")]
    baseline_usd: Annotated[BandFacts, about("Dollars of all of them without the plan.")]
    plan_usd: Annotated[BandFacts, about("Dollars of all of them with it.")]
    saved_usd: Annotated[BandFacts, about("Their difference; negative where the plan costs more.")]
    baseline_prompt_tokens: Annotated[BandFacts, about("The last one's prompt without the plan.")]
    plan_prompt_tokens: Annotated[BandFacts, about("The last one's prompt with it.")]
    reaches_window: Annotated[bool, about("Without the plan, prompts reach the model's window and are held there.")]
    known: Known


class UncertainSaving(Struct, frozen=True, kw_only=True):
    """A saving if the model takes more or fewer turns under a plan than recorded.

    Bands of projections, and of session samples, hold this in the same report.
    """

    turns_low_percent: Annotated[float, about("The fewest turns of the interval, as a change in percent.")]
    turns_high_percent: Annotated[float, about("The most turns, as a change in percent.")]
    low_usd: Annotated[float, figure("at most turns", Unit.DOLLARS, "Dollars saved with the most turns.", saves=True)]
    high_usd: Annotated[
        float, figure("at fewest turns", Unit.DOLLARS, "Dollars saved with the fewest turns.", saves=True)
    ]
    known: Known


class BandFacts(Struct, frozen=True, kw_only=True):
    """A projected number with its range."""

    low: Annotated[
        float, about("The 5th percentile of what was drawn; of a saving, with all that was needed fetched again.")
    ]
    middle: Annotated[float, about("What is projected.")]
    high: Annotated[float, about("The 95th percentile.")]


class ExplanationFacts(Struct, frozen=True, kw_only=True):
    """Calculation of a figure."""

    value: Annotated[float | None, about("The figure.")]
    unit: Annotated[str, about("What it is counted in; `share` for a part of 1.")]
    known: Annotated[How, about("How it is known.")]
    formula: Annotated[str, about("What was worked out, in a sentence.")]
    inputs: Annotated[list[InputFacts], about("The numbers it was worked out from.")]
    source: Annotated[str, about("Where the rule and the numbers come from.")]


class InputFacts(Struct, frozen=True, kw_only=True):
    """A number that goes into a figure, or a setting that decides it."""

    label: Annotated[str, about("What it is.")]
    value: Annotated[float | str | None, about("The number, or a few words.")]
    unit: Annotated[str, about("What it is counted in; empty for none.")]


def markdown_list() -> str:
    """Format the figures of totals and plans as the Markdown table of `docs/figures.md`."""
    lines = ["| figure | in the JSON | in | what it is |", "| --- | --- | --- | --- |"]
    for where, kind in (("figures", FigureSet), ("saved", Saving), ("", PlanFacts), ("outcome", OutcomeFacts)):
        for name, each in quantities(kind).items():
            path = f"{where}.{name}" if where else name
            lines.append(f"| {each.label} | `{path}` | {each.unit.value or 'how many'} | {each.help} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(markdown_list())
