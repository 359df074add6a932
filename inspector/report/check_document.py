"""The validation of sessions as data: what `inspector check --format json` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Struct

from inspector.report.details import Count, about
from inspector.report.numbers import DOLLAR_DIGITS, rounded

if TYPE_CHECKING:
    from inspector.replay.analysis.agent_clear_rules import RecordedCut
    from inspector.replay.analysis.validation import Prediction, PromptFit, Validation
    from inspector.session.model import Session

SHARE_DIGITS = 6


class ComparedFacts(Struct, frozen=True, kw_only=True):
    """One total, recorded and predicted."""

    recorded: Annotated[float | None, about("By the session's own report.")]
    predicted: Annotated[float | None, about("Without it.")]
    off: Annotated[float | None, about("How far the prediction is off, as a share: 0.01 is one percent too much.")]


class OutlierFacts(Struct, frozen=True, kw_only=True):
    """A call whose prompt is not met within one percent."""

    call: Annotated[Count, about("Counted from 1.")]
    reported: Annotated[Count, about("Prompt tokens reported.")]
    predicted: Annotated[int, about("Prompt tokens predicted.")]
    off: Annotated[float, about("How far the prediction is off, as a share.")]
    brought: Annotated[str, about("What came into the context with it.")]


class ShiftFacts(Struct, frozen=True, kw_only=True):
    """A call at which something came or went that the file does not show."""

    call: Annotated[Count, about("Counted from 1.")]
    tokens: Annotated[int, about("How many tokens more, or fewer.")]


class CutFacts(Struct, frozen=True, kw_only=True):
    """Something the agent itself cut, beside our replay of it."""

    call: Annotated[Count, about("The first call after it, counted from 1.")]
    what: Annotated[str, about("What is compared.")]
    results: Annotated[Count, about("Results that were blanked; 0 for a full compaction.")]
    missing: Annotated[Count, about("Of these, how many are not in the file.")]
    recorded: Annotated[int, about("Tokens by the agent's own figure; of blanked results, how many.")]
    replayed: Annotated[int, about("The same by our replay of it, by the agent's own rule where it has one.")]
    measured: Annotated[int | None, about("Tokens on the provider's scale, where the agent's rule is another.")]
    off: Annotated[float | None, about("How far the replay is off, as a share.")]
    alike: Annotated[int | None, about("Of blanked results, how many both blank.")] = None


class ResultFacts(Struct, frozen=True, kw_only=True):
    """Single tool results by our count, beside the difference of two reported prompts."""

    results: Annotated[Count, about("Results of 300 tokens and more whose size two reports tell.")]
    median: Annotated[float, about("Half of them are met within this share.")]
    p90: Annotated[float, about("Nine of ten are met within this share.")]


class SessionCheck(Struct, frozen=True, kw_only=True):
    """One session."""

    path: Annotated[str, about("The file, as it was named or found.")]
    format: Annotated[str, about("Name of its format.")]
    models: Annotated[list[str], about("Every model that answered a call.")]
    calls: Annotated[Count, about("Calls whose usage was reported.")]
    verdict: Annotated[
        Literal["within", "beyond", "too few calls", "no usage"],
        about("Whether prompts are met within the thresholds and the baseline costs what was recorded."),
    ]
    judged_calls: Annotated[Count, about("Calls by which prompts are judged.")] = 0
    prompt_median: Annotated[float | None, about("Half of the prompts are met within this share.")] = None
    prompt_p90: Annotated[float | None, about("Nine of ten prompts are met within this share.")] = None
    held_out_median: Annotated[float | None, about("The same for calls the fit did not see: half.")] = None
    held_out_p90: Annotated[float | None, about("The same for calls the fit did not see: nine of ten.")] = None
    beyond: Annotated[Count, about("Calls whose prompt is off by more than one percent.")] = 0
    outliers: Annotated[list[OutlierFacts], about("The furthest off of them.")] = []
    shifts: Annotated[list[ShiftFacts], about("Where the overhead shifted.")] = []
    readings: Annotated[dict[str, str], about("By model, what stands for responses in later prompts.")] = {}
    results: Annotated[ResultFacts | None, about("Null where no two reports tell the size of a result.")] = None
    caches: Annotated[list[str], about("The prompt caches that were simulated.")] = []
    cache_read: Annotated[ComparedFacts | None, about("Tokens read from the cache.")] = None
    cache_write: Annotated[ComparedFacts | None, about("Tokens written to the cache.")] = None
    read_elsewhere: Annotated[Count, about("Tokens first calls read from what other sessions had left.")] = 0
    read_missed: Annotated[Count, about("Tokens not read though by the rules the cache still held them.")] = 0
    read_found: Annotated[Count, about("Tokens read though by the rules the cache held them no more.")] = 0
    reads_met: Annotated[float | None, about("Share of calls whose read is met within two percent.")] = None
    cost: Annotated[ComparedFacts | None, about("Dollars.")] = None
    baseline_cost: Annotated[
        ComparedFacts | None, about("Dollars of the replay without a plan, which starts from the report.")
    ] = None
    cuts: Annotated[list[CutFacts], about("What the agent itself cut.")] = []


class Thresholds(Struct, frozen=True, kw_only=True):
    """What prompts have to be met within, as shares of them."""

    median: Annotated[float, about("By half of the calls.")]
    p90: Annotated[float, about("By nine of ten.")]


class Check(Struct, frozen=True, kw_only=True):
    """All sessions that were checked."""

    schema: Annotated[Literal[1], about("Version of this contract.")]
    inspector: Annotated[str, about("Version of the program that wrote it.")]
    thresholds: Thresholds
    passed: Annotated[bool, about("No session is beyond the thresholds, and every baseline costs what was recorded.")]
    sessions: Annotated[list[SessionCheck], about("In the order they were checked.")]


def session_check(path: str, session: Session, found: Validation | None, thresholds: Thresholds) -> SessionCheck:
    """One session's part."""
    models = list(session.models)
    if found is None:
        return SessionCheck(path=path, format=session.format, models=models, calls=0, verdict="no usage")
    fit = found.fit
    return SessionCheck(
        path=path,
        format=session.format,
        models=models,
        calls=found.calls,
        verdict=_verdict(found, thresholds),
        judged_calls=fit.calls,
        prompt_median=_share(fit.median),
        prompt_p90=_share(fit.nine_of_ten),
        held_out_median=_share(fit.held_out_median),
        held_out_p90=_share(fit.held_out_nine_of_ten),
        beyond=fit.beyond,
        outliers=_outliers(fit),
        shifts=[ShiftFacts(call=call + 1, tokens=tokens) for call, tokens in fit.shifts],
        readings={model: reading.value for model, reading in found.readings.items()},
        results=None
        if found.results is None
        else ResultFacts(
            results=found.results.results,
            median=round(found.results.median, SHARE_DIGITS),
            p90=round(found.results.nine_of_ten, SHARE_DIGITS),
        ),
        caches=list(found.caches),
        cache_read=_compared(found.cache_read),
        cache_write=_compared(found.cache_write),
        read_elsewhere=found.gaps.elsewhere,
        read_missed=found.gaps.missed,
        read_found=found.gaps.found,
        reads_met=_share(found.reads_met),
        cost=_compared(found.cost),
        baseline_cost=_compared(found.baseline_cost),
        cuts=[_cut(cut) for cut in found.cuts],
    )


def _verdict(found: Validation, thresholds: Thresholds) -> Literal["within", "beyond", "too few calls"]:
    if not found.baseline_is_recorded:
        return "beyond"
    if not found.fit.is_judged:
        return "too few calls"
    return "within" if found.fit.keeps(thresholds.median, thresholds.p90) else "beyond"


def _outliers(fit: PromptFit) -> list[OutlierFacts]:
    return [
        OutlierFacts(
            call=each.call + 1,
            reported=each.reported,
            predicted=each.predicted,
            off=round(each.off, SHARE_DIGITS),
            brought=each.brought,
        )
        for each in fit.outliers
    ]


def _cut(cut: RecordedCut) -> CutFacts:
    return CutFacts(
        call=cut.call + 1,
        what=cut.what,
        results=cut.results,
        missing=cut.missing,
        recorded=cut.recorded,
        replayed=cut.replayed,
        measured=cut.measured,
        off=rounded(cut.off, SHARE_DIGITS),
        alike=cut.alike,
    )


def _compared(compared: Prediction) -> ComparedFacts:
    return ComparedFacts(
        recorded=rounded(compared.recorded, DOLLAR_DIGITS),
        predicted=rounded(compared.predicted, DOLLAR_DIGITS),
        off=rounded(compared.off, SHARE_DIGITS),
    )


def _share(value: float) -> float | None:
    return None if np.isnan(value) else round(value, SHARE_DIGITS)
