"""The finer parts of the report as data: what takes up the prompts, what breaks cost, how figures came about.

They belong to the contract of `inspector.report.document`. Wherever there are figures, `known` says of every number
that is not null how it is known.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

How = Literal["exact", "calibrated", "estimated", "projected"]

Count = Annotated[int, Meta(ge=0)]


def about(text: str) -> Meta:
    """What the JSON Schema says of a field."""
    return Meta(description=text)


Known = Annotated[dict[str, How], about("For every number above that is not null, how it is known.")]


class PriceFacts(Struct, frozen=True, kw_only=True):
    """What calls were priced with. The currency is dollars."""

    source: Annotated[str, about("The price table or file and how recent it is.")]
    factor: Annotated[float, about("What every price was multiplied by.")]
    caches: Annotated[dict[str, str], about("The prompt cache assumed for every model of the session.")]
    cache: Annotated[str | None, about("Name of the prompt cache that was asked for; null for each model's own.")]


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


class OutcomeFacts(Struct, frozen=True, kw_only=True):
    """What a plan does to the prompt cache."""

    cache_read_share: Annotated[float | None, about("Prompt tokens read from the cache, as a share of all.")]
    plan_breaks: Annotated[int | None, about("Calls at which the plan's own changes broke the cache.")]
    resent_tokens: Annotated[int | None, about("Tokens sent before that had to be taken again because of them.")]
    rebuild_usd: Annotated[float | None, about("Dollars of taking them again: what rebuilding the cache cost.")]
    break_usd: Annotated[float | None, about("Of these, what is more than reading them would have cost.")]
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


class BandFacts(Struct, frozen=True, kw_only=True):
    """A projected number and how far it may be off."""

    low: Annotated[float, about("The 5th percentile of what was drawn.")]
    middle: Annotated[float, about("What is projected.")]
    high: Annotated[float, about("The 95th percentile.")]


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


class InputFacts(Struct, frozen=True, kw_only=True):
    """A number that goes into a figure, or a setting that decides it."""

    label: Annotated[str, about("What it is.")]
    value: Annotated[float | str | None, about("The number, or a few words.")]
    unit: Annotated[str, about("What it is counted in; empty for none.")]


class ExplanationFacts(Struct, frozen=True, kw_only=True):
    """How a figure came about."""

    value: Annotated[float | None, about("The figure.")]
    unit: Annotated[str, about("What it is counted in; `share` for a part of 1.")]
    known: Annotated[How, about("How it is known.")]
    formula: Annotated[str, about("What was worked out, in a sentence.")]
    inputs: Annotated[list[InputFacts], about("The numbers it was worked out from.")]
    source: Annotated[str, about("Where the rule and the numbers come from.")]
