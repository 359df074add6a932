"""Validation of sessions as data and as text: per session, and by format and provider."""

# The schema needs the types at run time.
# ruff: noqa: TC001

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

import numpy as np
from msgspec import Struct
from rich.text import Text

from inspector.replay.analysis.validation import (
    LearnedCaches,
    Outlier,
    OverheadShift,
    Prediction,
    RecordedCut,
    ResultFit,
    Violation,
)
from inspector.replay.quantity import SHARE_DIGITS, Count, about
from inspector.report.layout import HEADING, WARNING, WIDTH, Page
from inspector.report.numbers import IN_TEXT, NOTHING, UNKNOWN, with_minus_sign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.analysis.validation import Validation
    from inspector.session.model import Session


ALL_FORMATS: Final = "all"
"""Format of a row over sessions of all formats."""

OTHERS: Final = "others"

_PROVIDERS: Final = {
    "claude": "Anthropic",
    "gpt": "OpenAI",
    "codex": "OpenAI",
    "gemini": "Google",
    "deepseek": "DeepSeek",
}
"""Providers by a part of the model's name, regardless of the gateway."""


class ValidationReport(Struct, frozen=True, kw_only=True):
    """All sessions that were checked."""

    schema: Annotated[Literal[1], about("Version of this contract.")]
    inspector: Annotated[str, about("Version of the program that wrote it.")]
    thresholds: Thresholds
    passed: Annotated[
        bool,
        about(
            "True if no session exceeds the thresholds, every baseline matches the recorded cost, and no invariant "
            "is violated."
        ),
    ]
    sessions: Annotated[list[SessionValidation], about("In the order they were checked.")]
    providers: Annotated[list[ProviderFacts], about("Errors by format and provider.")] = []


class Thresholds(Struct, frozen=True, kw_only=True):
    """Tolerances for predicted prompts, as shares of them."""

    median: Annotated[float, about("Maximum median error.")]
    p90: Annotated[float, about("Maximum error of nine in ten calls.")]


class SessionValidation(Struct, frozen=True, kw_only=True):
    """One session."""

    path: Annotated[str, about("The file as given or found.")]
    format: Annotated[str, about("Detected format.")]
    models: Annotated[list[str], about("Every model that answered a call.")]
    calls: Annotated[Count, about("Calls with reported usage.")]
    verdict: Annotated[
        Literal["within", "beyond", "too few calls", "no usage"],
        about("Verdict on the prompts, and on the cost of the baseline."),
    ]
    judged_calls: Annotated[Count, about("Calls used to judge prompts.")] = 0
    prompt_median: Annotated[float | None, about("Median error of prompts, as a share.")] = None
    prompt_p90: Annotated[float | None, about("90th percentile error of prompts, as a share.")] = None
    held_out_median: Annotated[float | None, about("Median error of calls held out from the calibration.")] = None
    held_out_p90: Annotated[float | None, about("90th percentile error of calls held out from the calibration.")] = None
    beyond: Annotated[Count, about("Calls with a prompt error above one percent.")] = 0
    outliers: Annotated[list[Outlier], about("Largest of these errors.")] = []
    shifts: Annotated[list[OverheadShift], about("Shifts of the overhead.")] = []
    counted_twice: Annotated[
        Count, about("Calls whose report counts new prompt text twice; judged by a single count.")
    ] = 0
    readings: Annotated[dict[str, str], about("By model, the placeholder of responses in later prompts.")] = {}
    borrowed: Annotated[
        str,
        about("Source of a borrowed calibration if there are too few calls: its calls and session; empty for none."),
    ] = ""
    results: Annotated[ResultFit | None, about("Null if no two reports determine the size of a result.")] = None
    caches: Annotated[list[str], about("Simulated prompt caches.")] = []
    cache_read: Annotated[Prediction | None, about("Tokens read from the cache.")] = None
    cache_write: Annotated[Prediction | None, about("Tokens written to the cache.")] = None
    read_elsewhere: Annotated[Count, about("Tokens that first calls read from other sessions' cache entries.")] = 0
    read_missed: Annotated[Count, about("Tokens not read although the cache still held them by the rules.")] = 0
    read_found: Annotated[Count, about("Tokens read although the cache no longer held them by the rules.")] = 0
    reads_met: Annotated[
        float | None, about("Share of calls with a cache read within two percent of the prediction.")
    ] = None
    cost: Annotated[Prediction | None, about("Dollars.")] = None
    learned: Annotated[
        LearnedCaches | None,
        about("Cache predictions for each half of the calls learned from the other half; null if a half has no call."),
    ] = None
    baseline_cost: Annotated[
        Prediction | None, about("Cost of the replay without a plan, which starts from the report.")
    ] = None
    cuts: Annotated[list[RecordedCut], about("Cuts by the agent itself.")] = []
    unknown_prompts: Annotated[Count, about("Reported prompts of which the file holds nothing.")] = 0
    broken: Annotated[list[Violation], about("Violated invariants.")] = []


class CostErrors(Struct, frozen=True, kw_only=True):
    """Relative errors of predicted costs; 0.01 is one percent."""

    sessions: Annotated[Count, about("Sessions with a price.")]
    median: Annotated[float, about("Median error.")]
    p90: Annotated[float, about("90th percentile error.")]
    together: Annotated[float, about("Error of the sum; positive is too much.")]


class ProviderFacts(Struct, frozen=True, kw_only=True):
    """Sessions of one format and provider, or of one provider and every format (`all`)."""

    format: str
    provider: str
    sessions: Annotated[Count, about("Sessions with reported usage.")]
    prompt_p90: Annotated[
        float | None, about("Median over sessions of the 90th percentile prompt error; null for too few sessions.")
    ]
    by_rules: Annotated[CostErrors | None, about("Errors by the provider's cache rules only.")]
    learned: Annotated[CostErrors | None, about("Errors of each half of the calls learned from the other half.")]
    later: Annotated[CostErrors | None, about("The same errors without the first call of every conversation.")]
    in_band: Annotated[Count, about("Sessions with a cost in the 90 % interval.")]


def session_validation(
    path: str,
    session: Session,
    found: Validation | None,
    thresholds: Thresholds,
    broken: Sequence[Violation] = (),
    unknown_prompts: int = 0,
) -> SessionValidation:
    models = list(session.models)
    if found is None:
        return SessionValidation(
            path=path, format=session.format, models=models, calls=0, verdict="no usage", broken=list(broken)
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
        outliers=list(fit.outliers),
        shifts=list(fit.shifts),
        counted_twice=fit.counted_twice,
        readings={model: reading.value for model, reading in found.readings.items()},
        borrowed=found.borrowed,
        results=found.results,
        caches=list(found.caches),
        cache_read=found.cache_read,
        cache_write=found.cache_write,
        read_elsewhere=found.gaps.elsewhere,
        read_missed=found.gaps.missed,
        read_found=found.gaps.found,
        reads_met=_share_of(found.reads_met),
        cost=found.cost,
        learned=found.learned,
        baseline_cost=found.baseline_cost,
        cuts=list(found.cuts),
        unknown_prompts=unknown_prompts,
        broken=list(broken),
    )


def _verdict_on(found: Validation, thresholds: Thresholds) -> Literal["within", "beyond", "too few calls"]:
    if not found.baseline_is_recorded:
        return "beyond"
    if not found.fit.is_judged:
        return "too few calls"
    return "within" if found.fit.keeps(thresholds.median, thresholds.p90) else "beyond"


def _share_of(value: float) -> float | None:
    return None if np.isnan(value) else round(value, SHARE_DIGITS)


def provider_facts(sessions: Sequence[SessionValidation]) -> list[ProviderFacts]:
    """Return a row for every format and provider, then one per provider; sessions without usage are left out."""
    groups: dict[tuple[bool, str, str], list[SessionValidation]] = {}
    for each in sessions:
        if each.verdict == "no usage":
            continue
        provider = provider_of(each.models)
        groups.setdefault((False, each.format, provider), []).append(each)
        groups.setdefault((True, ALL_FORMATS, provider), []).append(each)
    return [_facts(key[1], key[2], groups[key]) for key in sorted(groups)]


def provider_of(models: Sequence[str]) -> str:
    """Return the provider of a session's first model: `Anthropic`, or `others`."""
    name = models[0].lower() if models else ""
    return next((provider for part, provider in _PROVIDERS.items() if part in name), OTHERS)


def _facts(format_: str, provider: str, sessions: list[SessionValidation]) -> ProviderFacts:
    prompts = [each.prompt_p90 for each in sessions if each.prompt_p90 is not None]
    learned = [each.learned for each in sessions if each.learned is not None]
    rules = [each.cost for each in sessions if each.learned is not None and each.cost is not None]
    return ProviderFacts(
        format=format_,
        provider=provider,
        sessions=len(sessions),
        prompt_p90=round(float(np.median(prompts)), SHARE_DIGITS) if prompts else None,
        by_rules=_errors(rules),
        learned=_errors([each.cost for each in learned]),
        later=_errors([each.later_cost for each in learned]),
        in_band=sum(each.within is True for each in learned),
    )


def _errors(costs: list[Prediction]) -> CostErrors | None:
    known = [(each.recorded, each.predicted) for each in costs if each.recorded and each.predicted is not None]
    if not known:
        return None
    recorded, predicted = np.array(known, dtype=np.float64).T
    off = np.abs(predicted / recorded - 1)
    return CostErrors(
        sessions=len(known),
        median=round(float(np.median(off)), SHARE_DIGITS),
        p90=round(float(np.quantile(off, 0.9)), SHARE_DIGITS),
        together=round(float(predicted.sum() / recorded.sum() - 1), SHARE_DIGITS),
    )


_MOST_SHIFTS = 6


def validation_text(check: ValidationReport, width: int = WIDTH, *, color: bool = False) -> str:
    """Write every session, and the totals."""
    page = Page(width, color=color)
    for session in check.sessions:
        _write_session(page, session)
        page.line()
    _write_providers(page, check.providers)
    _summary(page, check)
    return page.text()


def _write_session(page: Page, session: SessionValidation) -> None:
    page.line(session.path, HEADING)
    rows = [
        (
            "session",
            ", ".join(
                (session.format, ", ".join(session.models) or "unnamed model", IN_TEXT.plural(session.calls, "call"))
            ),
        )
    ]
    if session.verdict == "no usage":
        text = f"{session.format}: reports no usage, so there is nothing to compare"
        page.pairs([("session", text), *_broken_rows(session)])
        return
    rows += [("prompts", _prompts(session))]
    if session.prompt_median is not None:
        rows += [
            (
                "  held out",
                f"{_within(session.held_out_median, session.held_out_p90)}, for calls held out from the calibration",
            )
        ]
    if session.prompt_median is not None:
        rows.append(("  responses", "; ".join(dict.fromkeys(session.readings.values()))))
    rows += [(f"  call {each.call:,}", _outlier(each.off, each.reported, each.brought)) for each in session.outliers]
    if session.counted_twice:
        prompts = IN_TEXT.plural(session.counted_twice, "prompt")
        rows.append(("  twice", f"{prompts} reported with new text counted twice: judged by a single count"))
    if session.shifts:
        shown = session.shifts[:_MOST_SHIFTS]
        named = ", ".join(f"{with_minus_sign(format(each.tokens, '+,'))} at call {each.call:,}" for each in shown)
        more = f" and {len(session.shifts) - _MOST_SHIFTS} more" if len(session.shifts) > _MOST_SHIFTS else ""
        rows.append(("  unseen", f"content outside the file appeared or disappeared: {named}{more} (tokens)"))
    if session.results is not None:
        met = _within(session.results.median, session.results.p90)
        rows.append(("results", f"{met}, for {IN_TEXT.plural(session.results.results, 'result')} sized by two reports"))
    rows += [
        (
            "cache",
            f"{'; '.join(session.caches)}: cache reads of {_percent(session.reads_met)} of calls match the prediction",
        ),
        ("  read", _tokens(session.cache_read)),
        *_gaps(session),
        ("  written", _tokens(session.cache_write)),
        ("cost", _cost(session)),
        *_learned_rows(session),
    ]
    rows += [(f"compaction, call {cut.call:,}", _cut_words(cut)) for cut in session.cuts]
    if session.unknown_prompts:
        prompts = IN_TEXT.plural(session.unknown_prompts, "prompt")
        rows.append(("  unknown", f"{prompts} reported of which the file holds nothing"))
    page.pairs([*rows, *_broken_rows(session)])


def _broken_rows(session: SessionValidation) -> list[tuple[str, str]]:
    """Describe the first few violated invariants."""
    rows = [
        ("violated", f"{each.invariant}{'' if each.call is None else f', call {each.call:,}'}: {each.detail}")
        for each in session.broken[:_MOST_SHIFTS]
    ]
    left = len(session.broken) - len(rows)
    return [*rows, ("", f"and {left:,} more")] if left > 0 else rows


def _prompts(session: SessionValidation) -> str:
    if session.prompt_median is None:
        scale = f"a calibration {session.borrowed}" if session.borrowed else "typical ratios of the model's family"
        return f"too few calls to calibrate local estimates: {scale} {'is' if session.borrowed else 'are'} used"
    met = _within(session.prompt_median, session.prompt_p90)
    judged = f"{met} ({IN_TEXT.plural(session.judged_calls, 'call')})"
    if session.verdict == "within":
        return judged
    return f"{judged}: exceeds the threshold; {IN_TEXT.plural(session.beyond, 'prompt')} off by more than 1 %"


def _within(median: float | None, nine_of_ten: float | None) -> str:
    return f"half within {_percent(median, 2)}, nine of ten within {_percent(nine_of_ten, 2)}"


def _outlier(off: float, reported: int, brought: str) -> str:
    came = f", which added {brought}" if brought else ""
    return f"{_signed(off)} of {reported:,}{came}"


def _tokens(compared: Prediction | None) -> str:
    if compared is None or (not compared.recorded and not compared.predicted):
        return NOTHING
    return f"{IN_TEXT.whole(compared.recorded)} recorded, {IN_TEXT.whole(compared.predicted)} predicted{_off(compared)}"


def _gaps(session: SessionValidation) -> list[tuple[str, str]]:
    gaps = (
        (session.read_elsewhere, "read from other sessions' cache entries"),
        (session.read_missed, "missed although cached by the rules"),
        (session.read_found, "read although no longer cached by the rules"),
    )
    named = "; ".join(f"{tokens:,} {what}" for tokens, what in gaps if tokens)
    return [("  of these", named)] if named else []


def _cost(session: SessionValidation) -> str:
    cost, baseline = session.cost, session.baseline_cost
    if cost is None or baseline is None or cost.recorded is None:
        return UNKNOWN
    same = f"{IN_TEXT.dollars(cost.recorded)} recorded, {IN_TEXT.dollars(baseline.predicted)} in the baseline"
    return f"{same}, {IN_TEXT.dollars(cost.predicted)} predicted{_off(cost)}"


def _learned_rows(session: SessionValidation) -> list[tuple[str, str]]:
    """Describe the prediction of each half by the other, if there is a price."""
    learned = session.learned
    if learned is None or learned.cost.recorded is None:
        return []
    between = f"{IN_TEXT.dollars(learned.low)} to {IN_TEXT.dollars(learned.high)}"
    text = f"{IN_TEXT.dollars(learned.cost.predicted)} predicted{_off(learned.cost)}, {between} nine times in ten"
    return [("  learned", f"{text}, each half of the calls learned from the other")]


def _cut_words(cut: RecordedCut) -> str:
    off = "" if cut.off is None else f" ({_signed(cut.off)})"
    if cut.what == "tokens saved":
        absent = f", {cut.missing} of them not recorded" if cut.missing else ""
        own = f"{cut.recorded:,} tokens saved by the agent's own estimate, {cut.replayed:,} by the same rule here{off}"
        results, measured = IN_TEXT.plural(cut.results, "result"), IN_TEXT.whole(cut.measured)
        return f"{results} cleared{absent}: {own}; {measured} on the provider's scale"
    if cut.what == "results blanked":
        named = f"{IN_TEXT.plural(cut.recorded, 'result')} cleared, {cut.replayed:,} by the same rule here"
        return f"{named}; the same {IN_TEXT.plural(cut.alike or 0, 'result')} in both"
    if cut.what == "context after":
        left = f"{cut.recorded:,} tokens left by the provider's report of the next call"
        return f"{left}; by the file's content {cut.replayed:,}{off}"
    return f"at {cut.recorded:,} tokens by the agent's count; our replay of the longer prompt {cut.replayed:,}{off}"


def _write_providers(page: Page, providers: list[ProviderFacts]) -> None:
    """Write the cost errors without recorded reads and writes, by format and provider."""
    if not providers:
        return
    page.line("90th percentile of prompt errors in the median session; cost errors without")
    page.line("recorded reads, in percent: median, 90th percentile, and total")
    page.table(
        ("", "prompts", "learned", "no first calls", "in band"),
        [
            (
                f"{each.format}, {each.provider}",
                NOTHING if each.prompt_p90 is None else _percent(each.prompt_p90, 2),
                _error_words(each.learned),
                _error_words(each.later),
                NOTHING if each.learned is None else f"{each.in_band} of {each.learned.sessions}",
            )
            for each in providers
        ],
        "<>>>>",
    )
    page.line()


def _error_words(errors: CostErrors | None) -> str:
    if errors is None:
        return NOTHING
    return with_minus_sign(f"{100 * errors.median:.1f} {100 * errors.p90:.1f} {100 * errors.together:+.1f}")


def _summary(page: Page, check: ValidationReport) -> None:
    counts = {
        verdict: sum(session.verdict == verdict for session in check.sessions)
        for verdict in ("within", "beyond", "too few calls", "no usage")
    }
    limits = f"{_percent(check.thresholds.median, 2)} (half) and {_percent(check.thresholds.p90, 2)} (nine of ten)"
    page.line(f"Prompts within {limits}: {_counted(counts)}", HEADING)
    not_held = sum(bool(session.broken) for session in check.sessions)
    if not_held:
        page.line(f"Violated invariants in {not_held}", HEADING)
    for session in check.sessions:
        if session.verdict == "beyond" or session.broken:
            page.table(None, [(Text("!", WARNING), session.path)], "<~", gap=1)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "no session"


def _off(compared: Prediction) -> str:
    return "" if compared.off is None else f" ({_signed(compared.off)})"


def _signed(share: float) -> str:
    percent = round(100 * share, 1)
    return with_minus_sign(f"{percent:+.1f} %") if percent else "0.0 %"  # zero has no sign


def _percent(share: float | None, digits: int = 0) -> str:
    return UNKNOWN if share is None else f"{100 * share:.{digits}f} %"
