"""The validation of sessions as data and as text: what `inspector check` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Struct
from rich.text import Text

from inspector.report.catalogue import Count, about
from inspector.report.layout import HEADING, WARNING, WIDTH, Page
from inspector.report.numbers import DOLLAR_DIGITS, IN_TEXT, NOTHING, UNKNOWN, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.analysis.invariants import Broken
    from inspector.replay.analysis.recorded_cuts import RecordedCut
    from inspector.replay.analysis.validation import LearnedCaches, Prediction, PromptFit, Validation
    from inspector.session.model import Session

SHARE_DIGITS = 6

_MOST_SHIFTS = 6


class ValidationReport(Struct, frozen=True, kw_only=True):
    """All sessions that were checked."""

    schema: Annotated[Literal[1], about("Version of this contract.")]
    inspector: Annotated[str, about("Version of the program that wrote it.")]
    thresholds: Thresholds
    passed: Annotated[
        bool,
        about(
            "No session is beyond the thresholds, every baseline costs what was recorded, and no invariant is broken."
        ),
    ]
    sessions: Annotated[list[SessionValidation], about("In the order they were checked.")]


class Thresholds(Struct, frozen=True, kw_only=True):
    """What prompts have to be met within, as shares of them."""

    median: Annotated[float, about("By half of the calls.")]
    p90: Annotated[float, about("By nine of ten.")]


class SessionValidation(Struct, frozen=True, kw_only=True):
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
    counted_twice: Annotated[
        Count, about("Calls whose report counts what is new in their prompts twice; judged by it once.")
    ] = 0
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
    learned: Annotated[
        LearnedFacts | None,
        about("Caches of each half of the calls, by what the other half shows; null where a half has no call."),
    ] = None
    baseline_cost: Annotated[
        ComparedFacts | None, about("Dollars of the replay without a plan, which starts from the report.")
    ] = None
    cuts: Annotated[list[CutFacts], about("What the agent itself cut.")] = []
    unknown_prompts: Annotated[Count, about("Prompts that were reported and of which the file shows nothing.")] = 0
    broken: Annotated[list[BrokenFacts], about("What does not hold of it and has to hold of every session.")] = []


class BrokenFacts(Struct, frozen=True, kw_only=True):
    """Something that has to hold of every session and does not."""

    invariant: Annotated[str, about("What has to hold.")]
    call: Annotated[Count | None, about("The call it does not hold at, counted from 1; null where it is of no call.")]
    detail: Annotated[str, about("How far it does not.")]


class ComparedFacts(Struct, frozen=True, kw_only=True):
    """One total, recorded and predicted."""

    recorded: Annotated[float | None, about("By the session's own report.")]
    predicted: Annotated[float | None, about("Without it.")]
    off: Annotated[float | None, about("How far the prediction is off, as a share: 0.01 is one percent too much.")]


class LearnedFacts(Struct, frozen=True, kw_only=True):
    """What caches did, as predicted for one half of the calls by what the other half shows of them, both ways."""

    cache_read: Annotated[ComparedFacts, about("Tokens read from the cache.")]
    cache_write: Annotated[ComparedFacts, about("Tokens written to the cache.")]
    cost: Annotated[ComparedFacts, about("Dollars.")]
    low: Annotated[float | None, about("Dollars that nine of ten such sessions would cost at least.")]
    high: Annotated[float | None, about("Dollars that they would cost at most.")]
    within: Annotated[bool | None, about("Whether what was recorded lies between.")]


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
    """Single tool results as estimated locally, beside the difference of two reported prompts."""

    results: Annotated[Count, about("Results of 300 tokens and more whose size two reports tell.")]
    median: Annotated[float, about("Half of them are met within this share.")]
    p90: Annotated[float, about("Nine of ten are met within this share.")]


def session_validation(
    path: str,
    session: Session,
    found: Validation | None,
    thresholds: Thresholds,
    broken: Sequence[Broken] = (),
    unknown_prompts: int = 0,
) -> SessionValidation:
    """One session's part."""
    models = list(session.models)
    not_held = [
        BrokenFacts(invariant=each.invariant.value, call=each.call + 1 if each.call >= 0 else None, detail=each.detail)
        for each in broken
    ]
    if found is None:
        return SessionValidation(
            path=path, format=session.format, models=models, calls=0, verdict="no usage", broken=not_held
        )
    fit = found.fit
    return SessionValidation(
        path=path,
        format=session.format,
        models=models,
        calls=found.calls,
        verdict=_verdict_on(found, thresholds),
        judged_calls=fit.calls,
        prompt_median=_share_of(fit.median),
        prompt_p90=_share_of(fit.nine_of_ten),
        held_out_median=_share_of(fit.held_out_median),
        held_out_p90=_share_of(fit.held_out_nine_of_ten),
        beyond=fit.beyond,
        outliers=_outlier_facts(fit),
        shifts=[ShiftFacts(call=call + 1, tokens=tokens) for call, tokens in fit.shifts],
        counted_twice=fit.counted_twice,
        readings={model: reading.value for model, reading in found.readings.items()},
        results=None
        if found.results is None
        else ResultFacts(
            results=found.results.results,
            median=round(found.results.median, SHARE_DIGITS),
            p90=round(found.results.nine_of_ten, SHARE_DIGITS),
        ),
        caches=list(found.caches),
        cache_read=_compared_facts(found.cache_read),
        cache_write=_compared_facts(found.cache_write),
        read_elsewhere=found.gaps.elsewhere,
        read_missed=found.gaps.missed,
        read_found=found.gaps.found,
        reads_met=_share_of(found.reads_met),
        cost=_compared_facts(found.cost),
        learned=_learned_facts(found.learned),
        baseline_cost=_compared_facts(found.baseline_cost),
        cuts=[_cut_facts(cut) for cut in found.cuts],
        unknown_prompts=unknown_prompts,
        broken=not_held,
    )


def _verdict_on(found: Validation, thresholds: Thresholds) -> Literal["within", "beyond", "too few calls"]:
    if not found.baseline_is_recorded:
        return "beyond"
    if not found.fit.is_judged:
        return "too few calls"
    return "within" if found.fit.keeps(thresholds.median, thresholds.p90) else "beyond"


def _outlier_facts(fit: PromptFit) -> list[OutlierFacts]:
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


def _cut_facts(cut: RecordedCut) -> CutFacts:
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


def _compared_facts(compared: Prediction) -> ComparedFacts:
    return ComparedFacts(
        recorded=rounded(compared.recorded, DOLLAR_DIGITS),
        predicted=rounded(compared.predicted, DOLLAR_DIGITS),
        off=rounded(compared.off, SHARE_DIGITS),
    )


def _learned_facts(found: LearnedCaches | None) -> LearnedFacts | None:
    if found is None:
        return None
    return LearnedFacts(
        cache_read=_compared_facts(found.cache_read),
        cache_write=_compared_facts(found.cache_write),
        cost=_compared_facts(found.cost),
        low=rounded(found.low, DOLLAR_DIGITS),
        high=rounded(found.high, DOLLAR_DIGITS),
        within=found.is_within,
    )


def _share_of(value: float) -> float | None:
    return None if np.isnan(value) else round(value, SHARE_DIGITS)


def validation_text(check: ValidationReport, width: int = WIDTH, *, color: bool = False) -> str:
    """Every session, and what it all comes to."""
    page = Page(width, color=color)
    for session in check.sessions:
        _write_session(page, session)
        page.line()
    _summary(page, check)
    return page.text()


def _write_session(page: Page, session: SessionValidation) -> None:
    page.line(session.path, HEADING)
    rows = [
        (
            "session",
            ", ".join(
                (session.format, ", ".join(session.models) or "model not named", IN_TEXT.plural(session.calls, "call"))
            ),
        )
    ]
    if session.verdict == "no usage":
        said = f"{session.format}: it reports no usage, so there is nothing to check against"
        page.pairs([("session", said), *_broken_rows(session)])
        return
    rows += [("prompts", _prompts(session))]
    if session.prompt_median is not None:
        rows += [
            ("  held out", f"{_within(session.held_out_median, session.held_out_p90)}, of calls the fit did not see")
        ]
    if session.prompt_median is not None:
        rows.append(("  responses", "; ".join(dict.fromkeys(session.readings.values()))))
    rows += [(f"  call {each.call:,}", _outlier(each.off, each.reported, each.brought)) for each in session.outliers]
    if session.counted_twice:
        prompts = IN_TEXT.plural(session.counted_twice, "prompt")
        rows.append(("  twice", f"{prompts} reported with what is new in them counted twice: judged by it once"))
    if session.shifts:
        named = ", ".join(f"{each.tokens:+,} at call {each.call:,}" for each in session.shifts[:_MOST_SHIFTS])
        more = f" and {len(session.shifts) - _MOST_SHIFTS} more" if len(session.shifts) > _MOST_SHIFTS else ""
        rows.append(("  unseen", f"what the file does not show came or went: {named}{more} (tokens)"))
    if session.results is not None:
        met = _within(session.results.median, session.results.p90)
        rows.append(
            ("results", f"{met}, of {IN_TEXT.plural(session.results.results, 'result')} two reports tell the size of")
        )
    rows += [
        ("cache", f"{'; '.join(session.caches)}: {_percent(session.reads_met)} of calls read what was predicted"),
        ("  read", _tokens(session.cache_read)),
        *_gaps(session),
        ("  written", _tokens(session.cache_write)),
        ("cost", _cost(session)),
        *_learned_rows(session),
    ]
    rows += [(f"compaction, call {cut.call:,}", _cut_words(cut)) for cut in session.cuts]
    if session.unknown_prompts:
        prompts = IN_TEXT.plural(session.unknown_prompts, "prompt")
        rows.append(("  unknown", f"{prompts} reported of which the file shows nothing"))
    page.pairs([*rows, *_broken_rows(session)])


def _broken_rows(session: SessionValidation) -> list[tuple[str, str]]:
    """What does not hold, the first few of it."""
    rows = [
        ("does not hold", f"{each.invariant}{'' if each.call is None else f', call {each.call:,}'}: {each.detail}")
        for each in session.broken[:_MOST_SHIFTS]
    ]
    left = len(session.broken) - len(rows)
    return [*rows, ("", f"and {left:,} more")] if left > 0 else rows


def _prompts(session: SessionValidation) -> str:
    if session.prompt_median is None:
        return "too few calls to fit local estimates to: typical ratios of the model's family are used"
    met = _within(session.prompt_median, session.prompt_p90)
    judged = f"{met} ({IN_TEXT.plural(session.judged_calls, 'call')})"
    if session.verdict == "within":
        return judged
    return f"{judged}: beyond the threshold; {IN_TEXT.plural(session.beyond, 'prompt')} off by more than 1 %"


def _within(median: float | None, nine_of_ten: float | None) -> str:
    return f"half within {_percent(median, 2)}, nine of ten within {_percent(nine_of_ten, 2)}"


def _outlier(off: float, reported: int, brought: str) -> str:
    came = f", which brought {brought}" if brought else ""
    return f"{_signed(off)} of {reported:,}{came}"


def _tokens(compared: ComparedFacts | None) -> str:
    if compared is None or (not compared.recorded and not compared.predicted):
        return NOTHING
    return f"{IN_TEXT.whole(compared.recorded)} recorded, {IN_TEXT.whole(compared.predicted)} predicted{_off(compared)}"


def _gaps(session: SessionValidation) -> list[tuple[str, str]]:
    gaps = (
        (session.read_elsewhere, "read from what other sessions had left"),
        (session.read_missed, "missed though still held by the rules"),
        (session.read_found, "read though held no more by the rules"),
    )
    named = "; ".join(f"{tokens:,} {what}" for tokens, what in gaps if tokens)
    return [("  of these", named)] if named else []


def _cost(session: SessionValidation) -> str:
    cost, baseline = session.cost, session.baseline_cost
    if cost is None or baseline is None or cost.recorded is None:
        return UNKNOWN
    same = f"{IN_TEXT.dollars(cost.recorded)} recorded, {IN_TEXT.dollars(baseline.predicted)} as the baseline has it"
    return f"{same}, {IN_TEXT.dollars(cost.predicted)} predicted{_off(cost)}"


def _learned_rows(session: SessionValidation) -> list[tuple[str, str]]:
    """What is predicted of each half by the other, where there is a price."""
    learned = session.learned
    if learned is None or learned.cost.recorded is None:
        return []
    between = f"{IN_TEXT.dollars(learned.low)} to {IN_TEXT.dollars(learned.high)}"
    said = f"{IN_TEXT.dollars(learned.cost.predicted)} predicted{_off(learned.cost)}, {between} nine times of ten"
    return [("  learned", f"{said}, each half of the calls by the caches of the other")]


def _cut_words(cut: CutFacts) -> str:
    off = "" if cut.off is None else f" ({_signed(cut.off)})"
    if cut.what == "tokens saved":
        absent = f", {cut.missing} of them not recorded" if cut.missing else ""
        own = f"{cut.recorded:,} tokens saved by the agent's own estimate, {cut.replayed:,} by the same rule here{off}"
        results, measured = IN_TEXT.plural(cut.results, "result"), IN_TEXT.whole(cut.measured)
        return f"{results} blanked{absent}: {own}; {measured} on the provider's scale"
    if cut.what == "results blanked":
        named = f"{IN_TEXT.plural(cut.recorded, 'result')} blanked, {cut.replayed:,} by the same rule here"
        return f"{named}; the same {IN_TEXT.plural(cut.alike or 0, 'result')} in both"
    if cut.what == "context after":
        left = f"{cut.recorded:,} tokens left by the provider's report of the next call"
        return f"{left}; by what the file shows of them {cut.replayed:,}{off}"
    return f"at {cut.recorded:,} tokens as the agent has it; our replay of the longer prompt {cut.replayed:,}{off}"


def _summary(page: Page, check: ValidationReport) -> None:
    counts = {
        verdict: sum(session.verdict == verdict for session in check.sessions)
        for verdict in ("within", "beyond", "too few calls", "no usage")
    }
    limits = f"{_percent(check.thresholds.median, 2)} (half) and {_percent(check.thresholds.p90, 2)} (nine of ten)"
    page.line(f"Prompts within {limits}: {_counted(counts)}", HEADING)
    not_held = sum(bool(session.broken) for session in check.sessions)
    if not_held:
        page.line(f"What has to hold of every session does not of {not_held}", HEADING)
    for session in check.sessions:
        if session.verdict == "beyond" or session.broken:
            page.table(None, [(Text("!", WARNING), session.path)], "<~", gap=1)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "no session"


def _off(compared: ComparedFacts) -> str:
    return "" if compared.off is None else f" ({_signed(compared.off)})"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _percent(share: float | None, digits: int = 0) -> str:
    return UNKNOWN if share is None else f"{100 * share:.{digits}f} %"
