"""`inspector doctor`: capabilities of this machine and terminal, problems, and remedies."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from inspector.cli.exit_codes import ExitCode
from inspector.cli.output import write

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable

    from inspector.cli.checkup.finding import Finding

WIDTH = 100
"""Columns of the output, which is meant for pasting."""

NAME_WIDTH = 19


def add_arguments(parser: ArgumentParser) -> None:
    """Add no arguments."""


def run(_: Namespace) -> int:
    """Run all checks and print the results, problems first."""
    from inspector.cli.checkup.content import (
        counting_finding,
        plug_in_finding,
        price_finding,
        session_findings,
        settings_finding,
        variable_finding,
    )
    from inspector.cli.checkup.machine import cache_finding, event_findings, folder_findings, version_findings
    from inspector.cli.checkup.terminal import terminal_findings

    terminal = terminal_findings()
    sessions, folders = session_findings()
    findings = [
        *version_findings(),
        *terminal,
        *folder_findings(),
        cache_finding(),
        *event_findings(folders),
        counting_finding(),
        price_finding(),
        settings_finding(),
        variable_finding(),
        plug_in_finding(),
        *sessions,
    ]
    write(findings_text(findings))
    return ExitCode.BEYOND_THRESHOLD if any(finding.problem for finding in findings) else ExitCode.FINE


def findings_text(findings: Iterable[Finding]) -> str:
    """Format findings for pasting: ASCII only, without home folders and user names."""
    findings = list(findings)
    wrong = [finding for finding in findings if finding.problem]
    lines = [_heading(len(wrong)), ""]
    for finding in wrong:
        lines += _entry(f"! {finding.name}", f"{finding.text}: {finding.problem}.")
        lines += _entry("  fix", finding.advice)
    lines += [""] if wrong else []
    for finding in findings:
        lines += _entry(f"{'!' if finding.problem else ' '} {finding.name}", finding.text)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _heading(count: int) -> str:
    if not count:
        return "No problems found. The following can be pasted into a bug report."
    things = "problem" if count == 1 else "problems"
    return f"{count} {things} found. All of this can be pasted into a bug report."


def _entry(name: str, text: str) -> list[str]:
    from inspector.report.path_redaction import shown_name
    from inspector.safe_text import one_line

    shown = one_line(shown_name(text), limit=2000).encode("ascii", "backslashreplace").decode()
    lines = textwrap.wrap(shown, WIDTH - NAME_WIDTH, break_on_hyphens=False) or [""]
    first = f"{name:<{NAME_WIDTH}}" if len(name) < NAME_WIDTH else f"{name} "
    return [f"{first}{lines[0]}", *(f"{'':<{NAME_WIDTH}}{line}" for line in lines[1:])]
