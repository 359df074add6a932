"""The validation of sessions as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from inspector.report.layout import HEADING, WARNING, WIDTH, Page
from inspector.report.numbers import NOTHING, UNKNOWN, dollars, plural, whole

if TYPE_CHECKING:
    from inspector.report.check_document import Check, ComparedFacts, CutFacts, SessionCheck

_MOST_SHIFTS = 6


def check_text(check: Check, width: int = WIDTH, *, color: bool = False) -> str:
    """Every session, and what it all comes to."""
    page = Page(width, color=color)
    for session in check.sessions:
        _session(page, session)
        page.line()
    _summary(page, check)
    return page.text()


def _session(page: Page, session: SessionCheck) -> None:
    page.line(session.path, HEADING)
    rows = [
        (
            "session",
            f"{session.format}, {', '.join(session.models) or 'model not named'}, {plural(session.calls, 'call')}",
        )
    ]
    if session.verdict == "no usage":
        page.pairs([("session", f"{session.format}: it reports no usage, so there is nothing to check against")])
        return
    rows += [("prompts", _prompts(session))]
    if session.prompt_median is not None:
        rows += [
            ("  held out", f"{_within(session.held_out_median, session.held_out_p90)}, of calls the fit did not see")
        ]
    if session.prompt_median is not None:
        rows.append(("  responses", "; ".join(dict.fromkeys(session.readings.values()))))
    rows += [(f"  call {each.call:,}", _outlier(each.off, each.reported, each.brought)) for each in session.outliers]
    if session.shifts:
        named = ", ".join(f"{each.tokens:+,} at call {each.call:,}" for each in session.shifts[:_MOST_SHIFTS])
        more = f" and {len(session.shifts) - _MOST_SHIFTS} more" if len(session.shifts) > _MOST_SHIFTS else ""
        rows.append(("  unseen", f"what the file does not show came or went: {named}{more} (tokens)"))
    if session.results is not None:
        met = _within(session.results.median, session.results.p90)
        rows.append(("results", f"{met}, of {plural(session.results.results, 'result')} two reports tell the size of"))
    rows += [
        ("cache", f"{'; '.join(session.caches)}: {_percent(session.reads_met)} of calls read what was predicted"),
        ("  read", _tokens(session.cache_read)),
        *_gaps(session),
        ("  written", _tokens(session.cache_write)),
        ("cost", _cost(session)),
    ]
    rows += [(f"compaction, call {cut.call:,}", _cut(cut)) for cut in session.cuts]
    page.pairs(rows)


def _prompts(session: SessionCheck) -> str:
    if session.prompt_median is None:
        return "too few calls to fit our counts to: typical ratios of the model's family are used"
    met = _within(session.prompt_median, session.prompt_p90)
    judged = f"{met} ({plural(session.judged_calls, 'call')})"
    if session.verdict == "within":
        return judged
    return f"{judged}: beyond the threshold; {plural(session.beyond, 'prompt')} off by more than 1 %"


def _within(median: float | None, nine_of_ten: float | None) -> str:
    return f"half within {_percent(median, 2)}, nine of ten within {_percent(nine_of_ten, 2)}"


def _outlier(off: float, reported: int, brought: str) -> str:
    came = f", which brought {brought}" if brought else ""
    return f"{_signed(off)} of {reported:,}{came}"


def _tokens(compared: ComparedFacts | None) -> str:
    if compared is None or (not compared.recorded and not compared.predicted):
        return NOTHING
    return f"{whole(compared.recorded)} recorded, {whole(compared.predicted)} predicted{_off(compared)}"


def _gaps(session: SessionCheck) -> list[tuple[str, str]]:
    gaps = (
        (session.read_elsewhere, "read from what other sessions had left"),
        (session.read_missed, "missed though still held by the rules"),
        (session.read_found, "read though held no more by the rules"),
    )
    named = "; ".join(f"{tokens:,} {what}" for tokens, what in gaps if tokens)
    return [("  of these", named)] if named else []


def _cost(session: SessionCheck) -> str:
    cost, baseline = session.cost, session.baseline_cost
    if cost is None or baseline is None or cost.recorded is None:
        return UNKNOWN
    same = f"{dollars(cost.recorded)} recorded, {dollars(baseline.predicted)} as the baseline has it"
    return f"{same}, {dollars(cost.predicted)} predicted{_off(cost)}"


def _cut(cut: CutFacts) -> str:
    off = "" if cut.off is None else f" ({_signed(cut.off)})"
    if cut.what == "tokens saved":
        absent = f", {cut.missing} of them not in the file" if cut.missing else ""
        own = f"{cut.recorded:,} tokens saved by the agent's own estimate, {cut.replayed:,} by the same rule here{off}"
        return f"{plural(cut.results, 'result')} blanked{absent}: {own}; {whole(cut.measured)} on the provider's scale"
    if cut.what == "results blanked":
        named = f"{plural(cut.recorded, 'result')} blanked, {cut.replayed:,} by the same rule here"
        return f"{named}; the same {plural(cut.alike or 0, 'result')} in both"
    if cut.what == "context after":
        left = f"{cut.recorded:,} tokens left by the provider's report of the next call"
        return f"{left}; by what the file shows of them {cut.replayed:,}{off}"
    return f"at {cut.recorded:,} tokens as the agent has it; our replay of the longer prompt {cut.replayed:,}{off}"


def _summary(page: Page, check: Check) -> None:
    counts = {
        verdict: sum(session.verdict == verdict for session in check.sessions)
        for verdict in ("within", "beyond", "too few calls", "no usage")
    }
    limits = f"{_percent(check.thresholds.median, 2)} (half) and {_percent(check.thresholds.p90, 2)} (nine of ten)"
    page.line(f"Prompts within {limits}: {_counted(counts)}", HEADING)
    for session in check.sessions:
        if session.verdict == "beyond":
            page.table(None, [(Text("!", WARNING), session.path)], "<~", gap=1)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "no session"


def _off(compared: ComparedFacts) -> str:
    return "" if compared.off is None else f" ({_signed(compared.off)})"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _percent(share: float | None, digits: int = 0) -> str:
    return UNKNOWN if share is None else f"{100 * share:.{digits}f} %"
