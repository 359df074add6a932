"""The report as data: what `inspector report --format json` prints, as types.

This is a contract with whoever reads it by program. `SCHEMA_VERSION` changes when a field changes its meaning, its
type or its name, or goes away; new fields may come without a new version. `docs/report.schema.json` is made from these
types. A field that is null is not known, or not computed yet.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

SCHEMA_VERSION: Literal[1] = 1

How = Literal["exact", "calibrated", "estimated", "projected"]

Count = Annotated[int, Meta(ge=0)]


def about(text: str) -> Meta:
    """What the JSON Schema says of a field."""
    return Meta(description=text)


Known = Annotated[dict[str, How], about("For every number above that is not null, how it is known.")]


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


class TokenFacts(Struct, frozen=True, kw_only=True):
    """How tokens were counted."""

    method: Annotated[str, about("Name of the tokenizer's vocabulary, or `estimate` for counts from lengths.")]
    calibration: Annotated[CalibrationFacts | None, about("Null where the session reports too little usage.")]


class CalibrationFacts(Struct, frozen=True, kw_only=True):
    """How our token counts were fitted to the usage the provider reported for this session."""

    ratio: Annotated[float, about("Provider's tokens for each of ours.")]
    overhead: Annotated[float, about("Tokens sent with every call that the file does not show: tools, system.")]
    residual: Annotated[
        float | None, about("Median error of a call's prompt, as a share of the prompt: 0.004 is 0.4 %.")
    ]
    calls: Annotated[Count, about("How many calls the residual is of.")]


class PriceFacts(Struct, frozen=True, kw_only=True):
    """What calls were priced with. The currency is dollars."""

    source: Annotated[str, about("The price table or file and how recent it is.")]
    factor: Annotated[float, about("What every price was multiplied by.")]
    caches: Annotated[dict[str, str], about("The prompt cache assumed for every model of the session.")]
    cache: Annotated[str | None, about("Name of the prompt cache that was asked for; null for each model's own.")]


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
    known: Known


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


class OutcomeFacts(Struct, frozen=True, kw_only=True):
    """What a plan does to the prompt cache."""

    cache_read_share: Annotated[float | None, about("Prompt tokens read from the cache, as a share of all.")]
    plan_breaks: Annotated[int | None, about("Calls at which the plan's own changes broke the cache.")]
    resent_tokens: Annotated[int | None, about("Tokens sent before that had to be taken again because of them.")]
    rebuild_usd: Annotated[float | None, about("Dollars of taking them again: what rebuilding the cache cost.")]
    break_usd: Annotated[float | None, about("Of these, what is more than reading them would have cost.")]
    known: Known


class CarriedFacts(Struct, frozen=True, kw_only=True):
    """What blocks of one kind, or one tool's results, take up of the prompts."""

    kind: Annotated[str, about("Kind of block; the last row is what no text of the session stands for.")]
    tool: Annotated[str, about("The tool, for tool results; empty for other kinds.")]
    blocks: Annotated[Count, about("How many blocks.")]
    carried_tokens: Annotated[int | None, about("Tokens of them in the newest prompt.")]
    sent_tokens: Annotated[int | None, about("Tokens of them in all prompts together.")]
    cut_tokens: Annotated[int | None, about("Tokens the plan leaves out of them in all prompts together.")]
    share: Annotated[float | None, about("`sent_tokens` as a share of all prompts: 0.25 for a quarter.")]
    usd: Annotated[float | None, about("Dollars of `sent_tokens`; null without a price.")]
    saved_usd: Annotated[float | None, about("Dollars the plan saves on them; negative where it costs more.")]
    known: Known


class CarriedBlockFacts(Struct, frozen=True, kw_only=True):
    """One tool result and what it cost to carry it along, without a plan."""

    tool: Annotated[str, about("The tool.")]
    message: Annotated[Count, about("Its message, counted from 1.")]
    tokens: Annotated[int | None, about("Its tokens.")]
    calls: Annotated[Count, about("Prompts that held it.")]
    sent_tokens: Annotated[int | None, about("Its tokens in all of them together.")]
    usd: Annotated[float | None, about("Dollars of these; null without a price.")]
    known: Known
    text: Annotated[str, about("How it begins, secrets masked; empty unless texts were asked for.")] = ""


class CompactionFacts(Struct, frozen=True, kw_only=True):
    """A recorded compaction, and whether it would have happened under the plan. Not part of any total."""

    call: Annotated[Count, about("The first call after it, counted from 1.")]
    trigger_tokens: Annotated[int | None, about("The size of prompt that set it off.")]
    asked_for: Annotated[bool, about("A person asked for it: it would have happened whatever the size.")]
    prompt_tokens: Annotated[int | None, about("That call's prompt under the plan, had it not happened.")]
    reached_call: Annotated[
        int | None,
        about("The call, counted from 1, whose prompt would have come to that size under the plan; null when never."),
    ]
    until_call: Annotated[
        int | None,
        about("A rewind or a compaction that was asked for ends the forecast before this call; null: the session."),
    ]
    avoided: Annotated[Count, about("Recorded compactions, this one included, that fall before that.")]
    saved_tokens: Annotated[int | None, about("Prompt tokens less till then; negative, as longer prompts hold more.")]
    calls_usd: Annotated[float | None, about("Dollars less for the prompts till then; negative where more.")]
    requests_usd: Annotated[float | None, about("Dollars of the requests that wrote the summaries.")]
    saved_usd: Annotated[float | None, about("Both together; negative where it costs more.")]
    known: Known


class ToolCutFacts(Struct, frozen=True, kw_only=True):
    """What a plan cuts of one tool's results."""

    tool: Annotated[str, about("The tool; empty where it is not known.")]
    results: Annotated[Count, about("How many of its results the plan changed at any call.")]
    original_tokens: Annotated[Count, about("Tokens of these, whole, as counted.")]
    sent_tokens: Annotated[Count, about("Tokens of these as they were sent last, as counted.")]
    saved_tokens: Annotated[int, about("Tokens this left out of all prompts together; negative where it added.")]
    known: Known


class NoticeFacts(Struct, frozen=True, kw_only=True):
    """What a described program would have printed."""

    strategy: Annotated[str, about("Name of the strategy that stands for the program.")]
    call: Annotated[int, about("The call before which it acts, counted from 1.")]
    text: Annotated[str, about("The line, in the program's words.")]


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


class NextCallsFacts(Struct, frozen=True, kw_only=True):
    """The session going on as it went, for some calls more."""

    calls: Annotated[Count, about("How many calls more.")]
    baseline_usd: Annotated[BandFacts, about("Dollars of all of them without the plan.")]
    plan_usd: Annotated[BandFacts, about("Dollars of all of them with it.")]
    saved_usd: Annotated[BandFacts, about("Their difference; negative where the plan costs more.")]
    baseline_prompt_tokens: Annotated[BandFacts, about("The last one's prompt without the plan.")]
    plan_prompt_tokens: Annotated[BandFacts, about("The last one's prompt with it.")]
    reaches_window: Annotated[bool, about("Without the plan, prompts reach the model's window and are held there.")]
    known: Known


class BandFacts(Struct, frozen=True, kw_only=True):
    """A projected number and how far it may be off."""

    low: Annotated[float, about("The 5th percentile of what was drawn.")]
    middle: Annotated[float, about("What is projected.")]
    high: Annotated[float, about("The 95th percentile.")]


class ExplanationFacts(Struct, frozen=True, kw_only=True):
    """How a figure came about."""

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


class Ledger(Struct, frozen=True, kw_only=True):
    """A row for every call and every block."""

    window: Annotated[int | None, about("Tokens the model's context holds, where that is known.")]
    calls: Annotated[list[CallFacts], about("In the order they were made.")]
    blocks: Annotated[list[BlockFacts], about("In the order of the file.")]


class CallFacts(Struct, frozen=True, kw_only=True):
    """One request to a model."""

    call: Annotated[int, about("Counted from 1.")]
    message: Annotated[int, about("The message that answered, counted from 1.")]
    time: Annotated[str, about("When its response began, ISO 8601 in UTC; empty when unknown.")]
    model: Annotated[str, about("As recorded; empty when unknown.")]
    compacted: Annotated[bool, about("The first call after a compaction the agent itself made.")]
    recorded: Annotated[CallFigures | None, about("What the provider reported; null where it reported nothing.")]
    baseline: Annotated[CallFigures, about("Replayed with an empty plan.")]
    plans: Annotated[list[PlannedCall], about("Replayed under every plan, in the report's order.")]


class CallFigures(Struct, frozen=True, kw_only=True):
    """One call as it was reported, or as a replay has it."""

    prompt_tokens: Annotated[int, about("Tokens of the prompt.")]
    cache_read_tokens: Annotated[int, about("Those read from the prompt cache.")]
    cache_write_tokens: Annotated[int, about("Those written to the prompt cache.")]
    uncached_tokens: Annotated[int, about("Those neither read nor written.")]
    output_tokens: Annotated[int, about("Tokens of the response.")]
    cost_usd: Annotated[float | None, about("Dollars at list price; null without one.")]
    known: Annotated[How, about("How the prompt's size is known; for the others the totals' `known` holds.")]


class PlannedCall(CallFigures, frozen=True, kw_only=True):
    """One call under a plan."""

    cut_tokens: Annotated[int, about("Tokens left out of the prompt; negative where the plan adds.")]
    edits: Annotated[Count, about("Blocks whose rendition changed at this call.")]
    breaks: Annotated[bool, about("The prompt differs from the previous one before its end.")]


class BlockFacts(Struct, frozen=True, kw_only=True):
    """One block, and what it cost to carry it along without a plan."""

    block: Annotated[int, about("Counted from 1.")]
    message: Annotated[int, about("Its message, counted from 1.")]
    kind: Annotated[str, about("What it is.")]
    tool: Annotated[str, about("The tool, of calls and results; empty for others.")]
    tokens: Annotated[int, about("Its tokens, whole.")]
    calls: Annotated[Count, about("Prompts that held it.")]
    sent_tokens: Annotated[int, about("Its tokens in all of them together.")]
    usd: Annotated[float | None, about("Dollars of these; null without a price.")]
    known: Annotated[How, about("How its figures are known.")]
    plans: Annotated[list[PlannedBlock], about("Under every plan, in the report's order.")]


class PlannedBlock(Struct, frozen=True, kw_only=True):
    """One block under a plan."""

    action: Annotated[str, about("`whole`, `cut`, `replaced` or `removed`, in the newest prompt.")]
    strategy: Annotated[str, about("What decided so; empty where it is whole.")]
    tier: Annotated[str, about("The part of the strategy; empty where it has none.")]
    from_call: Annotated[int | None, about("Sent so from this call on, counted from 1; null where it is whole.")]
    cut_tokens: Annotated[int, about("Tokens left out of it in all prompts together; negative where it adds.")]
    saved_usd: Annotated[float | None, about("Dollars saved on them; negative where it costs more.")]
