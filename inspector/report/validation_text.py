"""Validation of sessions as text: `inspector check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from inspector.report.layout import HEADING, WARNING, WIDTH, Page
from inspector.report.numbers import IN_TEXT, NOTHING, UNKNOWN, with_minus_sign

if TYPE_CHECKING:
    from inspector.report.validation import (
        ComparedFacts,
        CostErrors,
        CutFacts,
        ProviderFacts,
        SessionValidation,
        ValidationReport,
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
        said = f"{session.format}: reports no usage, so there is nothing to compare"
        page.pairs([("session", said), *_broken_rows(session)])
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


def _tokens(compared: ComparedFacts | None) -> str:
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
    said = f"{IN_TEXT.dollars(learned.cost.predicted)} predicted{_off(learned.cost)}, {between} nine times in ten"
    return [("  learned", f"{said}, each half of the calls learned from the other")]


def _cut_words(cut: CutFacts) -> str:
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
                _errors(each.learned),
                _errors(each.later),
                NOTHING if each.learned is None else f"{each.in_band} of {each.learned.sessions}",
            )
            for each in providers
        ],
        "<>>>>",
    )
    page.line()


def _errors(errors: CostErrors | None) -> str:
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


def _off(compared: ComparedFacts) -> str:
    return "" if compared.off is None else f" ({_signed(compared.off)})"


def _signed(share: float) -> str:
    percent = round(100 * share, 1)
    return with_minus_sign(f"{percent:+.1f} %") if percent else "0.0 %"  # zero has no sign


def _percent(share: float | None, digits: int = 0) -> str:
    return UNKNOWN if share is None else f"{100 * share:.{digits}f} %"
