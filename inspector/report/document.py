"""The report as data types: `inspector report --format json`.

This is a contract with programs that read it. `SCHEMA_VERSION` changes when a field's meaning, type or name changes, or
when it is removed; new fields may appear without a new version. `docs/report.schema.json` is generated from these types
and those of `inspector.report.catalogue`, which hold the figures. A null field is unknown, or not computed yet.
"""

# The schema needs the types at run time.
# ruff: noqa: TC001

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Struct, field

from inspector.replay.analysis.alternatives import ModelSwitch
from inspector.replay.analysis.best_plan import AsModel
from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock
from inspector.replay.analysis.compactions import CompactionTotals
from inspector.replay.analysis.costs import ModelCost, RecordedCost, SideSpending
from inspector.replay.analysis.recoveries import NeededLater
from inspector.replay.assumptions import DAYS_PER_MONTH, RunsPerDay
from inspector.replay.quantity import Count, How, Unit, about, figure
from inspector.replay.sessions import SubagentCosts
from inspector.report.cache_document import CacheMissesFacts, HourFacts
from inspector.report.catalogue import CostParts, ExplanationFacts, FigureSet, PlanFacts, Saving
from inspector.report.sentences import REPLAY_CAVEAT

SCHEMA_VERSION: Literal[3] = 3


class Report(Struct, frozen=True, kw_only=True):
    """Cost of one session, and of the same session under each plan."""

    schema: Annotated[Literal[3], about("Version of this contract: `SCHEMA_VERSION`.")]
    inspector: Annotated[str, about("Version of the program that wrote it.")]
    session: SessionFacts
    tokens: TokenFacts
    recorded: Annotated[FigureSet | None, about("Figures reported by the provider; null if the file has no usage.")]
    baseline: Annotated[FigureSet, about("The session replayed with an empty plan.")]
    plans: Annotated[list[PlanFacts], about("Plans in the given order.")]
    warnings: Annotated[list[str], about("Caveats on the figures, one sentence each.")]
    beside: Annotated[
        list[SideSpending],
        about("Requests outside the conversation, by purpose: billed, but not included in any figure above."),
    ] = field(default_factory=list)
    altogether_usd: Annotated[
        float | None, about("Recorded dollars including those requests; null without a price or without usage.")
    ] = None
    subagents: Annotated[
        SubagentCosts | None,
        about("Sessions that this one started: billed, but not included in any figure above; null if there are none."),
    ] = None
    with_subagents_usd: Annotated[
        float | None, about("Dollars of the baseline, side requests and subagents; null without a price or subagents.")
    ] = None
    recorded_costs: Annotated[
        list[RecordedCost], about("Costs that the agent recorded, next to the same requests at these prices.")
    ] = field(default_factory=list)
    belief: Annotated[str, about("Uncertainty of savings, in a sentence.")] = REPLAY_CAVEAT
    prices: Annotated[PriceFacts | None, about("Prices of the calls.")] = None
    carried: Annotated[list[BreakdownRow], about("Content of the prompts without a plan, largest first.")] = field(
        default_factory=list
    )
    heaviest: Annotated[list[ResentBlock], about("Tool results with the highest resend cost, without a plan.")] = field(
        default_factory=list
    )
    explain: Annotated[
        dict[str, ExplanationFacts] | None, about("Calculation of the baseline's figures; null unless requested.")
    ] = None
    comparison: Annotated[list[PlanFacts], about("Every strategy alone; empty unless requested.")] = field(
        default_factory=list
    )
    masked: Annotated[
        dict[str, Count] | None,
        about("Number of masked secrets and user names in texts, by kind; null unless requested."),
    ] = None
    ledger: Annotated[Ledger | None, about("A row for every call and block; null unless requested.")] = None
    cost: Annotated[CostParts | None, about("Components of the baseline's cost; null without details.")] = None
    model_costs: Annotated[
        list[ModelCost], about("Cost of each model's calls, largest first; empty without details.")
    ] = field(default_factory=list)
    cache_misses: Annotated[
        CacheMissesFacts | None,
        about("Cache misses of the baseline with causes; null without details."),
    ] = None
    compacted: Annotated[
        CompactionTotals | None,
        about("Totals of all compactions; null if there are none, or without details."),
    ] = None
    best_plan: Annotated[BestPlanFacts | None, about("Result of trying every plan; null unless requested.")] = None
    hours: Annotated[list[HourFacts], about("Cost of every hour with calls, in order; empty without details.")] = field(
        default_factory=list
    )
    model_switches: Annotated[
        list[ModelSwitch], about("Projections with other models from some call on; empty unless requested.")
    ] = field(default_factory=list)
    as_model: Annotated[
        AsModel | None, about("The session and its plans priced as another model; null unless requested.")
    ] = None


class BestPlanFacts(Struct, frozen=True, kw_only=True):
    """Result of trying every plan."""

    best: Annotated[
        SavingPlanFacts | None,
        about("The plan with the largest saving after recoveries; null if none saves."),
    ]
    most: Annotated[
        SavingPlanFacts | None, about("The plan with the largest saving, regardless of recoveries; null if none saves.")
    ]
    tried: Annotated[Count, about("Number of plans tried.")]
    is_complete: Annotated[
        bool, about("True if every plan was tried; otherwise it would have taken too long, and no plan is named.")
    ]
    applicable: Annotated[
        SavingPlanFacts | None,
        about(
            "The best plan, or part of one, that the session's agent can apply natively; null if none saves, or "
            "its abilities are unknown."
        ),
    ] = None
    beyond: Annotated[bool, about("True if plans may go beyond what has been tried in public.")] = False


class SavingPlanFacts(Struct, frozen=True, kw_only=True):
    """A plan that saves."""

    name: Annotated[str, about("Name of the plan; empty if it has none.")]
    strategies: Annotated[list[str], about("Its strategies in order, in their one-line form.")]
    saved: Saving
    needed_later: NeededLater


class SessionFacts(Struct, frozen=True, kw_only=True):
    """The session that was read."""

    path: Annotated[str, about("The file or folder, with the home folder as `~`, secrets and user names masked.")]
    format: Annotated[str, about("Detected format; `inspector formats` lists them.")]
    id: Annotated[str, about("The agent's session id, or the file's stem.")]
    title: Annotated[
        str, about("Title given by the agent, otherwise the first prompt; empty unless texts were requested.")
    ]
    agent: Annotated[str, about("The program that recorded it; empty if unknown.")]
    model: Annotated[str | None, about("Model of the conversation, from its last calls; null if no call names one.")]
    models: Annotated[list[str], about("Every model that answered a call, in order of first use.")]
    messages: Annotated[Count, figure("messages", Unit.COUNT, "Entries of the conversation.")]
    blocks: Annotated[
        Count, figure("blocks", Unit.COUNT, "Parts of all messages: texts, tool calls, tool results, images.")
    ]
    tool_results: Annotated[Count, figure("tool results", Unit.COUNT, "Blocks that are tool results.")]
    calls: Annotated[Count, figure("calls", Unit.COUNT, "Requests to a model.")]
    copied_calls: Annotated[Count, about("Calls copied from an earlier session and billed there.")] = 0
    compactions: Annotated[
        Count, figure("compactions", Unit.COUNT, "Compactions recorded by the agent, not including cleared results.")
    ]
    skipped_records: Annotated[Count, figure("unreadable records", Unit.COUNT, "Records that could not be read.")]
    window: Annotated[int | None, about("The model's context window in tokens; null if unknown.")] = None
    window_source: Annotated[str, about("Source of `window`.")] = ""
    window_known: Annotated[How | None, about("Certainty of `window`; null without one.")] = None
    started: Annotated[str, about("Time of the first response, ISO 8601 in UTC; empty if unknown.")] = ""
    ended: Annotated[str, about("Time of the last response; empty if unknown.")] = ""


class TokenFacts(Struct, frozen=True, kw_only=True):
    """Method of token counting."""

    method: Annotated[str, about("Name of the tokenizer's vocabulary, or `estimate` for counts from lengths.")]
    calibration: Annotated[CalibrationFacts | None, about("Null if the session reports too little usage.")]
    borrowed: Annotated[
        str,
        about("Source of a borrowed calibration: its calls and session; empty for none."),
    ] = ""


class CalibrationFacts(Struct, frozen=True, kw_only=True):
    """Calibration of local token counts to the usage the provider reported for this session."""

    ratio: Annotated[float, about("Provider's tokens per local token.")]
    overhead: Annotated[
        float, about("Tokens of the system prompt and the tools in the newest prompt, which are not recorded.")
    ]
    residual: Annotated[
        float | None, about("Median error of a call's prompt, as a share of the prompt: 0.004 is 0.4 %.")
    ]
    calls: Annotated[Count, about("Calls used for the residual.")]


class PriceFacts(Struct, frozen=True, kw_only=True):
    """Prices of the calls, in dollars."""

    source: Annotated[str, about("The price table or file and its date.")]
    factor: Annotated[float, about("Factor applied to every price.")]
    priced_as: Annotated[
        dict[str, str], about("Models priced under another name, with that name: `gpt-5-codex` as `gpt-5`.")
    ] = field(default_factory=dict)
    caches: Annotated[dict[str, str], about("The prompt cache assumed for every model of the session.")]
    cache: Annotated[str | None, about("Requested prompt cache; null for each model's own.")]


class Ledger(Struct, frozen=True, kw_only=True):
    """A row for every call and every block."""

    window: Annotated[int | None, about("Context window of the model in tokens, if known.")]
    calls: Annotated[list[CallFacts], about("In the order they were made.")]
    blocks: Annotated[list[BlockFacts], about("In the order of the file.")]


class CallFacts(Struct, frozen=True, kw_only=True):
    """One request to a model."""

    call: Annotated[int, about("Call number, from 1.")]
    message: Annotated[int, about("Message with the response, counted from 1.")]
    time: Annotated[str, about("Start of its response, ISO 8601 in UTC; empty if unknown.")]
    model: Annotated[str, about("As recorded; empty if unknown.")]
    compacted: Annotated[bool, about("True for the first call after a compaction by the agent.")]
    recorded: Annotated[CallFigures | None, about("Usage reported by the provider; null if none.")]
    baseline: Annotated[BaselineCall, about("Replayed with an empty plan.")]
    plans: Annotated[list[PlannedCall], about("Replayed under every plan, in the report's order.")]


class CallFigures(Struct, frozen=True, kw_only=True):
    """Figures of one call, reported or replayed."""

    prompt_tokens: Annotated[int, about("Tokens of the prompt.")]
    cache_read_tokens: Annotated[int, about("Tokens read from the prompt cache.")]
    cache_write_tokens: Annotated[int, about("Tokens written to the prompt cache.")]
    uncached_tokens: Annotated[int, about("Tokens neither read nor written.")]
    output_tokens: Annotated[int, about("Tokens of the response.")]
    cost_usd: Annotated[float | None, about("Dollars at list price; null without one.")]
    known: Annotated[How, about("Certainty of the prompt's size; the totals' `known` covers the others.")]


class BaselineCall(CallFigures, frozen=True, kw_only=True):
    """One call with an empty plan: cost components, and its cache miss if there is one."""

    cache_read_usd: Annotated[float | None, about("Dollars of the tokens read from the cache; null without a price.")]
    cache_write_usd: Annotated[float | None, about("Dollars of the tokens written to the cache.")]
    uncached_usd: Annotated[float | None, about("Dollars of the tokens neither read nor written.")]
    output_usd: Annotated[float | None, about("Dollars of the response.")]
    miss_cause: Annotated[str, about("Cause of its cache miss, as in `cache_misses`; empty for none.")]
    recached_tokens: Annotated[
        Count, about("Tokens it could have read but did not; for a first request, tokens written.")
    ]
    extra_usd: Annotated[
        float | None, about("Cost of these tokens above the price of cache reads; null without a price.")
    ]


class PlannedCall(CallFigures, frozen=True, kw_only=True):
    """One call under a plan."""

    cut_tokens: Annotated[int, about("Tokens removed from the prompt; negative if the plan adds tokens.")]
    edits: Annotated[Count, about("Blocks whose rendition changed at this call.")]
    breaks: Annotated[bool, about("True if the prompt differs from the previous one before its end.")]
    results_needed: Annotated[
        Count, about("Cut results that this call was the first to need; estimated, like their cost.")
    ]
    recoveries_usd: Annotated[
        float | None, about("Cost of recovering them, including the additional call; null without a price.")
    ]


class BlockFacts(Struct, frozen=True, kw_only=True):
    """One block, and the cost of resending it without a plan."""

    block: Annotated[int, about("Block number, from 1.")]
    message: Annotated[int, about("Message of the block, counted from 1.")]
    kind: Annotated[str, about("Kind of block.")]
    tool: Annotated[str, about("Tool of a call or result; empty for other kinds.")]
    tokens: Annotated[int, about("Original tokens.")]
    calls: Annotated[Count, about("Prompts that contained the block.")]
    sent_tokens: Annotated[int, about("Sum of its tokens over these prompts.")]
    usd: Annotated[float | None, about("Dollars of these tokens; null without a price.")]
    known: Annotated[How, about("Certainty of the figures.")]
    plans: Annotated[list[PlannedBlock], about("Under every plan, in the report's order.")]


class PlannedBlock(Struct, frozen=True, kw_only=True):
    """One block under a plan."""

    action: Annotated[str, about("`whole`, `cut`, `replaced` or `removed`, in the newest prompt.")]
    strategy: Annotated[str, about("Strategy that decided the rendition; empty for `whole`.")]
    tier: Annotated[str, about("Tier of the strategy; empty if it has none.")]
    from_call: Annotated[int | None, about("Call, counted from 1, from which it is sent this way; null for `whole`.")]
    cut_tokens: Annotated[int, about("Tokens removed over all prompts; negative if the plan adds tokens.")]
    saved_usd: Annotated[float | None, about("Dollars saved on these tokens; negative if it costs more.")]


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Optional contents of a report.

    Attributes:
        runs_per_day: Project savings to this number of runs per day; None for no projection.
        next_calls: Project the session to this number of further calls; None for no projection.
        explain: Explain how every figure is calculated.
        details: Include cost components, cache misses, prompt content and the effect on compactions.
        ledger: Include a row for every call and every block.
        comparison: Also replay every strategy alone.
        texts: Include session texts with secrets masked: the title, and the start of the heaviest results.
        days_per_month: Days per month with such runs.
        best_plan: Try every plan for the one that saves most, as the screen does.
        most_saving: Also find the plan that saves most before re-fetches; otherwise only if there is no best plan.
        switch_to: Models to project the main conversation's cost with.
        switch_at: First call on the other model, from 0.
        model_uncertainty: Report savings if the model answers differently from the recording, and widen the bands of
            projected savings accordingly.
        breakpoint_prices: Price every plan under other breakpoint rules even if they hardly matter. JSON only.
        beyond: Recommend plans beyond what has been tried in public, too.
        as_model: Compare the plans at this model's prices too; empty for none.
        skips_failed: Leave out plans with a strategy of another package that fails.
        suggests: The plans were not chosen by the user, so the session's cost comes first.
    """

    runs_per_day: RunsPerDay | None = None
    next_calls: int | None = None
    explain: bool = False
    details: bool = True
    ledger: bool = False
    comparison: bool = False
    texts: bool = False
    days_per_month: float = DAYS_PER_MONTH
    best_plan: bool = False
    most_saving: bool = True
    switch_to: tuple[str, ...] = ()
    switch_at: int = 0
    model_uncertainty: bool = False
    breakpoint_prices: bool = False
    beyond: bool = False
    as_model: str = ""
    skips_failed: bool = False
    suggests: bool = False
