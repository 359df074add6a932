"""Text listings of formats, one file's detection, and sessions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from inspector.report.layout import HEADING, LEFT, RIGHT, WARNING, WIDTH, WRAPPED, Page
from inspector.report.numbers import IN_TEXT
from inspector.session.files import exists
from inspector.session.model import first_name
from inspector.session.registry import PLUG_INS
from inspector.session.unknown_parts import unknown_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inspector.plug_ins import PlugIn
    from inspector.report.session_summary import SessionSummary
    from inspector.session.discovery import Header
    from inspector.session.format import Detection, Format
    from inspector.session.model import Diagnostic, Session

LONGEST_TITLE = 60


def formats_text(formats: Iterable[Format], width: int = WIDTH, *, color: bool = False) -> str:
    """List every format: name, location, support for following, and exact figures."""
    page = Page(width, color=color)
    for index, each in enumerate(formats):
        if index:
            page.line()
        page.line(f"{each.name}: {each.title}", HEADING)
        page.pairs(
            (
                ("where", each.where or "anywhere; pass the file"),
                *(("searched", f"{home} ({'there' if exists(home) else 'missing'})") for home in each.homes()),
                ("live", "followed while it grows" if each.is_live else "read once"),
                ("exact", each.exact),
                *_package(PLUG_INS.plug_in(each.name)),
            )
        )
    plug_in_problems(page, PLUG_INS.problems())
    return page.text()


def _package(plug_in: PlugIn | None) -> list[tuple[str, str]]:
    return [] if plug_in is None else [("package", plug_in.label)]


def plug_in_problems(page: Page, problems: Sequence[str]) -> None:
    """List the plug-ins that are not usable, if there are any."""
    if problems:
        page.line()
        page.line("Plug-ins with problems", WARNING)
    for problem in problems:
        page.line(problem, indent=2)


def reading_text(detection: Detection, session: Session, width: int = WIDTH, *, color: bool = False) -> str:
    """Describe the detected format of a file with its reasons, its content, and read problems."""
    page = Page(width, color=color)
    page.line(str(session.path), HEADING)
    page.pairs(
        (
            ("format", f"{detection.format.name}: {detection.format.title}"),
            ("reason", detection.reason),
            ("agent", session.agent or "not named in the file"),
            ("models", ", ".join(session.models) or "not named in the file"),
            (
                "content",
                f"{IN_TEXT.plural(len(session.messages), 'message')}, {IN_TEXT.plural(len(session.calls), 'call')}",
            ),
            ("usage", _usage(session)),
            *_others(detection, session),
        )
    )
    page.line()
    page.line("Records by kind", HEADING)
    counts = sorted(session.record_counts.items(), key=lambda item: (-item[1], item[0]))
    rows = [(f"{count:,}", kind or "without a kind", _status(detection.format, kind)) for kind, count in counts]
    page.table(None, rows, RIGHT + LEFT + WRAPPED)
    page.line()
    _diagnostics(page, session)
    return page.text()


def _status(known: Format, kind: str) -> str:
    if known.is_bookkeeping(kind):
        return "ignored intentionally"
    return "" if known.knows_record(kind) else "unknown to this version"


def _usage(session: Session) -> str:
    """Count calls with reported usage; usage that the file repeats is counted once."""
    reported = sum(call.usage is not None for call in session.calls)
    if not reported:
        return "not reported for any call; tokens are counted locally and estimated"
    calls = IN_TEXT.plural(len(session.calls), "call")
    return f"reported for {reported:,} of {calls}; repeated reports are counted once per call"


def _others(detection: Detection, session: Session) -> list[tuple[str, str]]:
    """List other sessions in the same file, and how to open them."""
    from inspector.session.errors import SessionError
    from inspector.session.files import Locator

    file = Locator.of(session.path).file
    try:
        inside = detection.format.contained_sessions(file)
    except (SessionError, OSError):
        return []
    if len(inside) < 2:
        return []
    others = [one.identifier for one in inside if one.identifier != session.identifier]
    opened = f"open another one with {file.name}#{others[0]}" if others else "all have the same id"
    return [("one of", f"{len(inside):,} sessions; {opened}")]


def _diagnostics(page: Page, session: Session) -> None:
    unknown = unknown_parts(session).about_records
    if not session.diagnostics and not session.skipped_records:
        page.line(unknown or "Everything was read.", WARNING if unknown else "")
        return
    if unknown:
        page.line(unknown, WARNING)
    page.line(f"Problems ({IN_TEXT.plural(session.skipped_records, 'record')} skipped)", WARNING)
    page.table(
        ("line", "byte", "", "problem"),
        [_diagnostic(each) for each in session.diagnostics],
        RIGHT + RIGHT + LEFT + WRAPPED,
    )
    further = session.skipped_records - sum(each.skipped for each in session.diagnostics)
    if further > 0:
        page.line(f"and {IN_TEXT.plural(further, 'more record')} skipped", indent=2)


def _diagnostic(diagnostic: Diagnostic) -> tuple[str, str, str, str]:
    return (
        f"{diagnostic.line:,}" if diagnostic.line else "",
        f"{diagnostic.offset:,}",
        "skipped" if diagnostic.skipped else "partly read",
        diagnostic.reason,
    )


def sessions_text(sessions: Sequence[tuple[Header, SessionSummary]], left_out: int, *, color: bool = False) -> str:
    """List sessions, a row each in the given order, with the full path last.

    Args:
        sessions: Sessions with their summaries.
        left_out: Number of older sessions that are not listed.
        color: Color the column titles.
    """
    page = Page(color=color)
    head = ("changed (UTC)", "format", "model", "calls", "tokens", "cost", "subagent", "title", "path")
    rows = [_row(header, summary) for header, summary in sessions]
    page.table(head, rows, LEFT * 3 + RIGHT * 3 + LEFT * 3, indent=0)
    if left_out:
        page.line(f"and {IN_TEXT.plural(left_out, 'older session')}")
    return page.text()


def _row(header: Header, summary: SessionSummary) -> tuple[str, ...]:
    title = first_name(summary.title, header.title, summary.prompt)
    return (
        datetime.fromtimestamp(header.modified, UTC).strftime("%Y-%m-%d %H:%M"),
        summary.format or "unreadable",
        summary.model,
        f"{summary.calls:,}" if summary.format else "",
        IN_TEXT.short(summary.tokens) if summary.tokens is not None else "",
        IN_TEXT.qualified(IN_TEXT.dollars(summary.usd), "", is_lower_bound=summary.is_lower_bound)
        if summary.usd is not None
        else "",
        "yes" if (summary.parent or header.parent) is not None else "",
        title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        str(header.path),
    )
