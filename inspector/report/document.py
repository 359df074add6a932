"""The report as data: what `inspector report --format json` prints, as types.

This is a contract with whoever reads it by program. `SCHEMA_VERSION` changes when a field changes its meaning, its
type or its name, or goes away; new fields may come without a new version. `docs/report.schema.json` is made from these
types. A field that is null is not known, or not computed yet.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct, field

from inspector.report.details import (
    CarriedBlockFacts,
    CarriedFacts,
    CompactionFacts,
    Count,
    ExplanationFacts,
    How,
    NextCallsFacts,
    NoticeFacts,
    OutcomeFacts,
    PriceFacts,
    ToolCutFacts,
    about,
)
from inspector.report.ledger_document import Ledger  # noqa: TC001  msgspec reads the types of fields

SCHEMA_VERSION: Literal[1] = 1


class SessionFacts(Struct, frozen=True, kw_only=True):
    """What was read."""

    path: Annotated[str, about("The file or folder, as it was named, with the home folder as `~`.")]
    format: Annotated[str, about("Name of the format it was read as; `inspector formats` lists them.")]
    id: Annotated[str, about("The agent's own id of the session, or the file's stem.")]
    title: Annotated[
        str, about("What the agent calls the session; empty when it does not say, or texts were not asked for.")
    ]
    agent: Annotated[str, about("The program that recorded it; empty when unknown.")]
    model: Annotated[str | None, about("The model of the newest call, or null when no call names one.")]
    models: Annotated[list[str], about("Every model that answered a call, in order of first use.")]
    messages: Annotated[Count, about("Entries of the conversation.")]
    blocks: Annotated[Count, about("Parts of all messages: texts, tool calls, tool results, images.")]
    tool_results: Annotated[Count, about("Blocks that are tool results.")]
    calls: Annotated[Count, about("Requests to a model.")]
    compactions: Annotated[Count, about("Compactions the agent itself performed and recorded.")]
    skipped_records: Annotated[Count, about("Records that could not be read.")]
    window: Annotated[int | None, about("The model's context window in tokens; null where nothing says.")] = None
    window_source: Annotated[str, about("What says so.")] = ""
    window_known: Annotated[How | None, about("How `window` is known; null where it is not.")] = None


class CalibrationFacts(Struct, frozen=True, kw_only=True):
    """How our token counts were fitted to the usage the provider reported for this session."""

    ratio: Annotated[float, about("Provider's tokens for each of ours.")]
    overhead: Annotated[float, about("Tokens sent with every call that the file does not show: tools, system.")]
    residual: Annotated[
        float | None, about("Median error of a call's prompt, as a share of the prompt: 0.004 is 0.4 %.")
    ]
    calls: Annotated[Count, about("How many calls the residual is of.")]


class TokenFacts(Struct, frozen=True, kw_only=True):
    """How tokens were counted."""

    method: Annotated[str, about("Name of the tokenizer's vocabulary, or `estimate` for counts from lengths.")]
    calibration: Annotated[CalibrationFacts | None, about("Null where the session reports too little usage.")]


class FigureSet(Struct, frozen=True, kw_only=True):
    """Totals over all calls."""

    calls: Annotated[int | None, about("Requests to a model.")]
    prompt_tokens: Annotated[int | None, about("Tokens of all prompts together.")]
    peak_prompt_tokens: Annotated[int | None, about("Tokens of the largest prompt.")]
    cache_read_tokens: Annotated[int | None, about("Prompt tokens read from the prompt cache.")]
    cache_write_tokens: Annotated[int | None, about("Prompt tokens written to the prompt cache.")]
    uncached_tokens: Annotated[int | None, about("Prompt tokens neither read from nor written to the cache.")]
    output_tokens: Annotated[int | None, about("Response tokens, reasoning included.")]
    cache_breaks: Annotated[
        int | None,
        about("Calls whose prompt differs from the previous one before its end: cached tokens are lost."),
    ]
    cost_usd: Annotated[float | None, about("Dollars at list price; null where a model has no known price.")]
    known: Annotated[dict[str, How], about("For every field above that is not null, how it is known.")]


class Saving(Struct, frozen=True, kw_only=True):
    """What a plan saves against the baseline. Negative where it costs more."""

    tokens: Annotated[int | None, about("Prompt tokens.")]
    usd: Annotated[float | None, about("Dollars, cache rebuilds included; null without a price.")]
    percent: Annotated[float | None, about("The saving as a percentage of what `percent_of` names.")]
    percent_of: Annotated[
        Literal["cost_usd", "prompt_tokens"], about("The cost, or the prompt tokens where there is no price.")
    ]
    known: Annotated[dict[str, How], about("For every number above that is not null, how it is known.")]


class TierFacts(Struct, frozen=True, kw_only=True):
    """What one part of a strategy (a tier, or all of it) did."""

    strategy: Annotated[str, about("Name of the strategy.")]
    tier: Annotated[str, about("Name of the part; empty for the whole strategy.")]
    results: Annotated[Count, about("Tool results it applies to.")]
    touched: Annotated[Count, about("How many of them it changed.")]
    tokens_cut: Annotated[int, about("Tokens, as counted, it leaves out of them in the end; negative where it adds.")]
    carried_tokens: Annotated[int | None, about("Tokens of those it changed in the newest prompt, as sent.")] = None
    sent_tokens: Annotated[int | None, about("Tokens of those it changed in all prompts together, as sent.")] = None
    cut_tokens: Annotated[int | None, about("Tokens it leaves out of them in all prompts together.")] = None
    share: Annotated[float | None, about("`sent_tokens` as a share of all prompts: 0.25 for a quarter.")] = None
    usd: Annotated[float | None, about("Dollars of `sent_tokens`; null without a price.")] = None
    saved_usd: Annotated[
        float | None,
        about("Dollars saved on them, what breaks cost other blocks apart; negative where it costs more."),
    ] = None
    known: Annotated[dict[str, How], about("For every number above that is not null, how it is known.")] = field(
        default_factory=dict
    )


class ProjectionFacts(Struct, frozen=True, kw_only=True):
    """What the saving comes to at a number of runs a day. About runs that did not happen."""

    runs_per_day: Annotated[float, about("As asked for.")]
    usd_per_day: Annotated[float, about("Dollars saved a day; negative where the plan costs more.")]
    usd_per_month: Annotated[float, about("Dollars saved in a month of `days_per_month` days.")]
    usd_per_month_low: Annotated[float, about("The 5th percentile, from drawing this session's own calls again.")]
    usd_per_month_high: Annotated[float, about("The 95th percentile.")]
    days_per_month: Annotated[float, about("Days a month, as asked for.")] = 30.0
    known: Annotated[dict[str, How], about("For every number above but the runs, how it is known.")] = field(
        default_factory=dict
    )


class PlanFacts(Struct, frozen=True, kw_only=True):
    """The session replayed under one plan."""

    name: Annotated[str, about("The plan's own name; empty where it has none.")]
    strategies: Annotated[list[str], about("Its strategies in order, in their one-line form.")]
    figures: FigureSet
    saved: Saving
    break_even_call: Annotated[
        int | None,
        about("From this call on, counted from 1, the plan has cost less in all; null when never."),
    ]
    first_firing: Annotated[
        int | None,
        about("The first call, counted from 1, at which the plan changes something; null when it changes nothing."),
    ]
    edits: Annotated[Count | None, about("How often a block's rendition changed, over all calls.")]
    tiers: Annotated[list[TierFacts], about("What every strategy, or tier of one, did.")]
    hazards: Annotated[dict[str, Count] | None, about("Kinds of trouble the plan makes, and how often.")]
    needed_later: Annotated[
        dict[str, Count] | None,
        about("What the plan cut and a later part of the session used again, by kind of evidence."),
    ]
    projection: Annotated[ProjectionFacts | None, about("Null unless runs per day were given.")]
    known: Annotated[
        dict[str, How], about("How the calls, `edits`, and the counts in `hazards` and `needed_later` are known.")
    ] = field(default_factory=dict)
    outcome: Annotated[OutcomeFacts | None, about("What it does to the cache; null where plans are compared.")] = None
    carried: Annotated[list[CarriedFacts], about("What takes up the prompts under it, most first.")] = field(
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
    explain: Annotated[
        dict[str, ExplanationFacts] | None, about("How every figure came about; null unless asked for.")
    ] = None


class Report(Struct, frozen=True, kw_only=True):
    """What one session cost, and what each plan would make of it."""

    schema: Annotated[Literal[1], about("Version of this contract: `SCHEMA_VERSION`.")]
    inspector: Annotated[str, about("Version of the program that wrote it.")]
    session: SessionFacts
    tokens: TokenFacts
    recorded: Annotated[FigureSet | None, about("What the provider reported; null when the file has no usage.")]
    baseline: Annotated[FigureSet, about("The session replayed with an empty plan.")]
    plans: Annotated[list[PlanFacts], about("In the order they were asked for.")]
    warnings: Annotated[list[str], about("What to know before believing the figures, each in a sentence.")]
    prices: Annotated[PriceFacts | None, about("What calls were priced with.")] = None
    carried: Annotated[list[CarriedFacts], about("What takes up the prompts without a plan, most first.")] = field(
        default_factory=list
    )
    heaviest: Annotated[list[CarriedBlockFacts], about("The tool results that cost most to carry, without a plan.")] = (
        field(default_factory=list)
    )
    explain: Annotated[
        dict[str, ExplanationFacts] | None, about("How the baseline's figures came about; null unless asked for.")
    ] = None
    comparison: Annotated[list[PlanFacts], about("Every strategy alone; empty unless asked for.")] = field(
        default_factory=list
    )
    masked: Annotated[
        dict[str, Count] | None, about("Secrets masked in texts, by kind; null unless texts were asked for.")
    ] = None
    ledger: Annotated[Ledger | None, about("A row for every call and block; null unless asked for.")] = None
