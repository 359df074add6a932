"""The finer parts of the report from what was worked out: figures rounded, and apart from them how each is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.replay.figure import Figure, HowKnown
from inspector.report.details import (
    BandFacts,
    CarriedBlockFacts,
    CarriedFacts,
    CompactionFacts,
    ExplanationFacts,
    InputFacts,
    NextCallsFacts,
    OutcomeFacts,
    PriceFacts,
)
from inspector.report.numbers import DOLLAR_DIGITS, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.replay.analysis.bootstrap import Band
    from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock
    from inspector.replay.analysis.compaction_forecast import CompactionForecast
    from inspector.replay.analysis.forecast import NextCallsProjection
    from inspector.replay.analysis.plan_outcome import PlanOutcome
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.explain.explanation import Explanation
    from inspector.report.details import How
    from inspector.session.model import Session

SHARE_DIGITS = 6


def known_of(**figures: Figure) -> dict[str, How]:
    """How every figure is known that has a value, by name."""
    return {name: figure.known.value for name, figure in figures.items() if figure.value is not None}


def count(figure: Figure) -> int | None:
    """A figure that counts something."""
    return None if figure.value is None else round(figure.value)


def dollars(figure: Figure) -> float | None:
    """A figure in dollars."""
    return rounded(figure.value, DOLLAR_DIGITS)


def price_facts(inputs: ReplayInputs) -> PriceFacts:
    """What calls were priced with."""
    return PriceFacts(
        source=inputs.pricing.source,
        factor=inputs.pricing.factor,
        caches={model: cache.title for model, cache in inputs.cache_models.items()},
        cache=inputs.cache,
    )


def carried_facts(row: BreakdownRow) -> CarriedFacts:
    """What some blocks take up of the prompts."""
    return CarriedFacts(
        kind=row.name,
        tool=row.part,
        blocks=row.blocks,
        carried_tokens=count(row.carried),
        sent_tokens=count(row.sent),
        cut_tokens=count(row.cut),
        share=rounded(row.share.value, SHARE_DIGITS),
        usd=dollars(row.cost),
        saved_usd=dollars(row.saved),
        known=carried_known(row),
    )


def carried_known(row: BreakdownRow) -> dict[str, How]:
    """How the figures of a row are known."""
    return known_of(
        carried_tokens=row.carried,
        sent_tokens=row.sent,
        cut_tokens=row.cut,
        share=row.share,
        usd=row.cost,
        saved_usd=row.saved,
    )


def block_facts(row: ResentBlock, session: Session, message: int, text: str = "") -> CarriedBlockFacts:
    """What one block cost to carry, and how it begins where that may be said."""
    return CarriedBlockFacts(
        tool=session.blocks[row.block].tool_name,
        message=message + 1,
        tokens=count(row.tokens),
        calls=row.calls,
        sent_tokens=count(row.sent),
        usd=dollars(row.cost),
        known=known_of(tokens=row.tokens, sent_tokens=row.sent, usd=row.cost),
        text=text,
    )


def outcome_facts(outcome: PlanOutcome) -> OutcomeFacts:
    """What a plan does to the prompt cache."""
    return OutcomeFacts(
        cache_read_share=rounded(outcome.cache_read_share.value, SHARE_DIGITS),
        plan_breaks=count(outcome.breaks),
        resent_tokens=count(outcome.resent_tokens),
        rebuild_usd=dollars(outcome.rebuild_usd),
        break_usd=dollars(outcome.break_usd),
        known=known_of(
            cache_read_share=outcome.cache_read_share,
            plan_breaks=outcome.breaks,
            resent_tokens=outcome.resent_tokens,
            rebuild_usd=outcome.rebuild_usd,
            break_usd=outcome.break_usd,
        ),
    )


def compaction_facts(forecast: CompactionForecast) -> CompactionFacts:
    """What a plan would have made of a recorded compaction."""
    reached = Figure(None if forecast.reached_at is None else forecast.reached_at + 1, HowKnown.PROJECTED)
    return CompactionFacts(
        call=forecast.call + 1,
        trigger_tokens=count(forecast.trigger_tokens),
        asked_for=forecast.asked_for,
        prompt_tokens=count(forecast.prompt_tokens),
        reached_call=count(reached),
        until_call=None if forecast.until is None else forecast.until + 1,
        avoided=forecast.avoided,
        saved_tokens=count(forecast.saved_tokens),
        calls_usd=dollars(forecast.calls_usd),
        requests_usd=dollars(forecast.requests_usd),
        saved_usd=dollars(forecast.saved_usd),
        known=known_of(
            trigger_tokens=forecast.trigger_tokens,
            prompt_tokens=forecast.prompt_tokens,
            reached_call=reached,
            saved_tokens=forecast.saved_tokens,
            calls_usd=forecast.calls_usd,
            requests_usd=forecast.requests_usd,
            saved_usd=forecast.saved_usd,
        ),
    )


def next_calls_facts(projection: NextCallsProjection) -> NextCallsFacts:
    """The session going on as it went."""
    names = ("baseline_usd", "plan_usd", "saved_usd", "baseline_prompt_tokens", "plan_prompt_tokens")
    return NextCallsFacts(
        calls=projection.calls,
        baseline_usd=_band(projection.cost.baseline),
        plan_usd=_band(projection.cost.plan),
        saved_usd=_band(projection.cost.saving),
        baseline_prompt_tokens=_band(projection.baseline_prompt_tokens),
        plan_prompt_tokens=_band(projection.plan_prompt_tokens),
        reaches_window=projection.reaches_window,
        known=dict.fromkeys(names, HowKnown.PROJECTED.value),
    )


def explanation_facts(explanations: Mapping[str, Explanation]) -> dict[str, ExplanationFacts]:
    """How figures came about."""
    return {
        name: ExplanationFacts(
            value=rounded(each.value, DOLLAR_DIGITS),
            unit=each.unit,
            known=each.known.value,
            formula=each.formula,
            inputs=[
                InputFacts(
                    label=given.label,
                    value=given.value if isinstance(given.value, str) else rounded(given.value, DOLLAR_DIGITS),
                    unit=given.unit,
                )
                for given in each.inputs
            ],
            source=each.source,
        )
        for name, each in explanations.items()
    }


def _band(band: Band) -> BandFacts:
    return BandFacts(
        low=round(band.low, DOLLAR_DIGITS),
        middle=round(band.middle, DOLLAR_DIGITS),
        high=round(band.high, DOLLAR_DIGITS),
    )
