"""The parts of the report that have a row for every call and every block; only there when they are asked for.

They belong to the contract of `inspector.report.document`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from inspector.report.details import Count, How, about


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


class PlannedBlock(Struct, frozen=True, kw_only=True):
    """One block under a plan."""

    action: Annotated[str, about("`whole`, `cut`, `replaced` or `removed`, in the newest prompt.")]
    strategy: Annotated[str, about("What decided so; empty where it is whole.")]
    tier: Annotated[str, about("The part of the strategy; empty where it has none.")]
    from_call: Annotated[int | None, about("Sent so from this call on, counted from 1; null where it is whole.")]
    cut_tokens: Annotated[int, about("Tokens left out of it in all prompts together; negative where it adds.")]
    saved_usd: Annotated[float | None, about("Dollars saved on them; negative where it costs more.")]


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


class Ledger(Struct, frozen=True, kw_only=True):
    """A row for every call and every block."""

    window: Annotated[int | None, about("Tokens the model's context holds, where that is known.")]
    calls: Annotated[list[CallFacts], about("In the order they were made.")]
    blocks: Annotated[list[BlockFacts], about("In the order of the file.")]
