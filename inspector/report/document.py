"""The report as data types: `inspector report --format json`.

This is a contract with programs that read it. `SCHEMA_VERSION` changes when a field's meaning, type or name changes, or
when it is removed; new fields may appear without a new version. `docs/report.schema.json` is generated from these types
and those of `inspector.report.catalogue`, which hold the figures. A null field is unknown, or not computed yet.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct, field

from inspector.report.cache_document import (  # noqa: TC001  needed at run time for the schema
    CacheMarksFacts,
    CacheMissesFacts,
    HourFacts,
    ModelSwitchFacts,
)
from inspector.report.catalogue import (
    CarriedBlockFacts,
    CarriedFacts,
    CostParts,
    Count,
    ExplanationFacts,
    FigureSet,
    How,
    Known,
    ModelCostFacts,
    NeededLaterFacts,
    PlanFacts,
    Saving,
    Unit,
    about,
    figure,
)
from inspector.report.uncertainty import REPLAY_CAVEAT

SCHEMA_VERSION: Literal[2] = 2


class Report(Struct, frozen=True, kw_only=True):
    """Cost of one session, and of the same session under each plan."""

    schema: Annotated[Literal[2], about("Version of this contract: `SCHEMA_VERSION`.")]
    inspector: Annotated[str, about("Version of the program that wrote it.")]
    session: SessionFacts
    tokens: TokenFacts
    recorded: Annotated[FigureSet | None, about("What the provider reported; null when the file has no usage.")]
    baseline: Annotated[FigureSet, about("The session replayed with an empty plan.")]
    plans: Annotated[list[PlanFacts], about("In the order they were asked for.")]
    warnings: Annotated[list[str], about("What to know before believing the figures, each in a sentence.")]
    beside: Annotated[
        list[SideCallFacts],
        about("Requests that are not the conversation's, by what they were for: billed, and in no figure above."),
    ] = field(default_factory=list)
    altogether_usd: Annotated[
        float | None, about("Dollars recorded, those requests included; null without a price or without usage.")
    ] = None
    belief: Annotated[str, about("How far savings can be believed, in a sentence.")] = REPLAY_CAVEAT
    prices: Annotated[PriceFacts | None, about("What calls were priced with.")] = None
    carried: Annotated[list[CarriedFacts], about("What fills the prompts without a plan, most first.")] = field(
        default_factory=list
    )
    heaviest: Annotated[list[CarriedBlockFacts], about("Tool results that cost most to resend, without a plan.")] = (
        field(default_factory=list)
    )
    explain: Annotated[
        dict[str, ExplanationFacts] | None, about("How the baseline's figures are calculated; null unless asked for.")
    ] = None
    comparison: Annotated[list[PlanFacts], about("Every strategy alone; empty unless asked for.")] = field(
        default_factory=list
    )
    masked: Annotated[
        dict[str, Count] | None, about("Secrets and users' names masked in texts, by kind; null unless asked for.")
    ] = None
    ledger: Annotated[Ledger | None, about("A row for every call and block; null unless asked for.")] = None
    cost: Annotated[CostParts | None, about("What the baseline's cost is made of; null unless details are wanted.")] = (
        None
    )
    model_costs: Annotated[
        list[ModelCostFacts], about("What each model's calls cost, the most first; empty unless details are wanted.")
    ] = field(default_factory=list)
    cache_misses: Annotated[
        CacheMissesFacts | None,
        about("What the baseline's prompt cache missed, and why; null unless details are wanted."),
    ] = None
    compacted: Annotated[
        CompactionTotalsFacts | None,
        about("What all compactions came to together; null where there was none, and unless details are wanted."),
    ] = None
    best_plan: Annotated[BestPlanFacts | None, about("The plan that saves most here; null unless asked for.")] = None
    hours: Annotated[
        list[HourFacts], about("What every hour with calls cost, in order; empty unless details are wanted.")
    ] = field(default_factory=list)
    model_switches: Annotated[
        list[ModelSwitchFacts], about("With other models from some call on, one each; empty unless asked for.")
    ] = field(default_factory=list)
    cache_marks: Annotated[
        list[CacheMarksFacts],
        about(
            "What each rule's cache control marks would hold without a plan, first those that recorded requests had, "
            "where one has any; empty unless asked for and a provider takes marks."
        ),
    ] = field(default_factory=list)


class SideCallFacts(Struct, frozen=True, kw_only=True):
    """Requests of one purpose outside the conversation."""

    purpose: Annotated[str, about("What they were for: a condenser, a compaction, a title, a side question.")]
    calls: Annotated[Count, about("How many.")]
    prompt_tokens: Annotated[Count, about("Tokens of their prompts.")]
    cache_read_tokens: Annotated[Count, about("Of these, those read from the prompt cache.")]
    output_tokens: Annotated[Count, about("Response tokens, reasoning included.")]
    cost_usd: Annotated[float | None, about("Dollars at list price; null without one.")]


class CompactionTotalsFacts(Struct, frozen=True, kw_only=True):
    """Totals of all compactions of a session, except those that cleared only a few results."""

    compactions: Annotated[Count, about("How many the agent recorded.")]
    measured: Annotated[Count, about("How many of these have calls around them: what they took out is known.")]
    removed_tokens: Annotated[
        int | None, figure("tokens removed", Unit.TOKENS, "Tokens that those took out of the prompt.", source="removed")
    ]
    misses: Annotated[Count, figure("cache misses", Unit.CALLS, "Calls that missed the cache for a compaction.")]
    recached_tokens: Annotated[Count, figure("tokens re-cached", Unit.TOKENS, "Tokens they did not read.")]
    recached_usd: Annotated[
        float | None, figure("cost of re-caching", Unit.DOLLARS, "Dollars of these; null without a price.")
    ]
    summaries: Annotated[Count, about("Requests that wrote summaries, beside the conversation.")]
    summaries_usd: Annotated[
        float | None,
        figure("cost of summaries", Unit.DOLLARS, "Dollars of these; null where the file does not tell of them."),
    ]
    known: Known


class BestPlanFacts(Struct, frozen=True, kw_only=True):
    """Result of trying every plan."""

    best: Annotated[
        SavingPlanFacts | None,
        about("The plan that saves most after recoveries; null where none of them saves."),
    ]
    most: Annotated[SavingPlanFacts | None, about("The plan that saves most whatever it cuts; null where none saves.")]
    tried: Annotated[Count, about("How many were tried.")]
    is_complete: Annotated[bool, about("All of them were; otherwise it would have taken too long.")]
    applicable: Annotated[
        SavingPlanFacts | None,
        about(
            "The best of what the session's agent can apply by itself, parts of plans among it; null where none saves, "
            "or nobody knows what it can."
        ),
    ] = None


class SavingPlanFacts(Struct, frozen=True, kw_only=True):
    """A plan that saves."""

    name: Annotated[str, about("The plan's own name; empty where it has none.")]
    strategies: Annotated[list[str], about("Its strategies in order, in their one-line form.")]
    saved: Saving
    needed_later: NeededLaterFacts


class SessionFacts(Struct, frozen=True, kw_only=True):
    """The session that was read."""

    path: Annotated[str, about("The file or folder, with the home folder as `~`, secrets and the user's name masked.")]
    format: Annotated[str, about("Name of the format it was read as; `inspector formats` lists them.")]
    id: Annotated[str, about("The agent's own id of the session, or the file's stem.")]
    title: Annotated[
        str, about("What the agent calls the session, else its first prompt; empty where texts were not asked for.")
    ]
    agent: Annotated[str, about("The program that recorded it; empty when unknown.")]
    model: Annotated[str | None, about("The model of the newest call, or null when no call names one.")]
    models: Annotated[list[str], about("Every model that answered a call, in order of first use.")]
    messages: Annotated[Count, figure("messages", Unit.COUNT, "Entries of the conversation.")]
    blocks: Annotated[
        Count, figure("blocks", Unit.COUNT, "Parts of all messages: texts, tool calls, tool results, images.")
    ]
    tool_results: Annotated[Count, figure("tool results", Unit.COUNT, "Blocks that are tool results.")]
    calls: Annotated[Count, figure("calls", Unit.COUNT, "Requests to a model.")]
    copied_calls: Annotated[Count, about("Calls copied from an earlier session, which was billed for them.")] = 0
    compactions: Annotated[
        Count, figure("compactions", Unit.COUNT, "Compactions the agent itself recorded; results it cleared are none.")
    ]
    skipped_records: Annotated[
        Count, figure("records that could not be read", Unit.COUNT, "Records that could not be read.")
    ]
    window: Annotated[int | None, about("The model's context window in tokens; null where nothing says.")] = None
    window_source: Annotated[str, about("What says so.")] = ""
    window_known: Annotated[How | None, about("How `window` is known; null where it is not.")] = None
    started: Annotated[str, about("When its first call was answered, ISO 8601 in UTC; empty when unknown.")] = ""
    ended: Annotated[str, about("When its last call was answered; empty when unknown.")] = ""


class TokenFacts(Struct, frozen=True, kw_only=True):
    """Method of token counting."""

    method: Annotated[str, about("Name of the tokenizer's vocabulary, or `estimate` for counts from lengths.")]
    calibration: Annotated[CalibrationFacts | None, about("Null where the session reports too little usage.")]
    borrowed: Annotated[
        str,
        about("Whose fit prompts are measured by where it does: of which calls in which session; empty for none."),
    ] = ""


class CalibrationFacts(Struct, frozen=True, kw_only=True):
    """Calibration of local token counts to the usage the provider reported for this session."""

    ratio: Annotated[float, about("Provider's tokens for each of ours.")]
    overhead: Annotated[float, about("Tokens of the system prompt and the tools in every prompt, not recorded.")]
    residual: Annotated[
        float | None, about("Median error of a call's prompt, as a share of the prompt: 0.004 is 0.4 %.")
    ]
    calls: Annotated[Count, about("How many calls the residual is of.")]


class PriceFacts(Struct, frozen=True, kw_only=True):
    """Prices of the calls, in dollars."""

    source: Annotated[str, about("The price table or file and how recent it is.")]
    factor: Annotated[float, about("What every price was multiplied by.")]
    priced_as: Annotated[
        dict[str, str], about("Models whose name in the prices is another, and that name: `gpt-5-codex` as `gpt-5`.")
    ] = field(default_factory=dict)
    caches: Annotated[dict[str, str], about("The prompt cache assumed for every model of the session.")]
    cache: Annotated[str | None, about("Name of the prompt cache that was asked for; null for each model's own.")]


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
    baseline: Annotated[BaselineCall, about("Replayed with an empty plan.")]
    plans: Annotated[list[PlannedCall], about("Replayed under every plan, in the report's order.")]


class CallFigures(Struct, frozen=True, kw_only=True):
    """Figures of one call, reported or replayed."""

    prompt_tokens: Annotated[int, about("Tokens of the prompt.")]
    cache_read_tokens: Annotated[int, about("Those read from the prompt cache.")]
    cache_write_tokens: Annotated[int, about("Those written to the prompt cache.")]
    uncached_tokens: Annotated[int, about("Those neither read nor written.")]
    output_tokens: Annotated[int, about("Tokens of the response.")]
    cost_usd: Annotated[float | None, about("Dollars at list price; null without one.")]
    known: Annotated[How, about("How the prompt's size is known; for the others the totals' `known` holds.")]


class BaselineCall(CallFigures, frozen=True, kw_only=True):
    """One call with an empty plan: cost components, and its cache miss if there is one."""

    cache_read_usd: Annotated[float | None, about("Dollars of the tokens read from the cache; null without a price.")]
    cache_write_usd: Annotated[float | None, about("Dollars of the tokens written to it.")]
    uncached_usd: Annotated[float | None, about("Dollars of those neither read nor written.")]
    output_usd: Annotated[float | None, about("Dollars of the response.")]
    miss_cause: Annotated[
        str, about("Why it read less from the cache than it could have, as `cache_misses` names it; empty for no miss.")
    ]
    recached_tokens: Annotated[Count, about("Tokens it did not read though it could have; of a first request, wrote.")]
    extra_usd: Annotated[float | None, about("What these cost beyond reading; null without a price.")]


class PlannedCall(CallFigures, frozen=True, kw_only=True):
    """One call under a plan."""

    cut_tokens: Annotated[int, about("Tokens left out of the prompt; negative where the plan adds.")]
    edits: Annotated[Count, about("Blocks whose rendition changed at this call.")]
    breaks: Annotated[bool, about("The prompt differs from the previous one before its end.")]
    results_needed: Annotated[
        Count, about("Results that the plan had cut and this call was the first to need; estimated, as their price is.")
    ]
    recoveries_usd: Annotated[
        float | None, about("Dollars of getting them back, the extra call included; null without a price.")
    ]


class BlockFacts(Struct, frozen=True, kw_only=True):
    """One block, and the cost of resending it without a plan."""

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
