"""A list of sessions as plain text, for pipes and files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from inspector.report.layout import LEFT, RIGHT, Page
from inspector.report.numbers import compact, dollars, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.report.session_summary import SessionSummary
    from inspector.session.discovery import Header

LONGEST_TITLE = 60


def sessions_text(sessions: Sequence[tuple[Header, SessionSummary]], left_out: int, *, color: bool = False) -> str:
    """One row a session, in the order given; the path last, whole.

    Args:
        sessions: What was found, and what reading it told.
        left_out: How many older ones are not listed.
        color: Colour the titles of the columns.
    """
    page = Page(color=color)
    head = ("changed (UTC)", "format", "model", "calls", "tokens", "cost", "subagent", "title", "path")
    rows = [_row(header, summary) for header, summary in sessions]
    page.table(head, rows, LEFT * 3 + RIGHT * 3 + LEFT * 3, indent=0)
    if left_out:
        page.line(f"and {plural(left_out, 'older session')}")
    return page.text()


def _row(header: Header, summary: SessionSummary) -> tuple[str, ...]:
    title = " ".join((summary.title or summary.prompt or header.title).split())
    return (
        datetime.fromtimestamp(header.modified, UTC).strftime("%Y-%m-%d %H:%M"),
        summary.format or "unreadable",
        summary.model,
        f"{summary.calls:,}" if summary.format else "",
        compact(summary.tokens) if summary.tokens is not None else "",
        dollars(summary.usd) if summary.usd is not None else "",
        "yes" if (summary.parent or header.parent) is not None else "",
        title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        str(header.path),
    )
