"""`inspector check`: predictions compared with reported usage, and invariants of every session."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.arguments import FORMATS, add_price_arguments, number_from_zero
from inspector.cli.output import CommandError, ExitCode, ProgressLine, narrate, wants_color, write, write_json
from inspector.cli.reading import priced_inputs, read_session
from inspector.session.files import is_folder

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from inspector.report.validation import SessionValidation, Thresholds

PROMISE_PERCENT = 0.5
"""Promised error of half of the prompts, in percent; nine of ten are within twice as much."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", type=Path, help="session files, or folders of sessions to check"
    )
    parser.add_argument(
        "--threshold",
        metavar="PERCENT",
        type=_percent,
        default=PROMISE_PERCENT,
        help=(
            f"maximum median error of prompt sizes in percent (default: {PROMISE_PERCENT}); twice that for the 90th "
            "percentile"
        ),
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="text: for people (default); json: for programs"
    )
    add_price_arguments(parser, cache=False)


def run(options: Namespace) -> int:
    """Check every session; the exit code is 0 if all are within the threshold."""
    import msgspec

    import inspector
    from inspector.report.secret_redaction import without_secrets
    from inspector.report.validation import Thresholds, ValidationReport, provider_facts, validation_text

    share = options.threshold / 100
    thresholds = Thresholds(median=share, p90=2 * share)
    failed: list[Path] = []
    sessions = list(_checked(options, thresholds, failed))
    report = ValidationReport(
        schema=1,
        inspector=inspector.__version__,
        thresholds=thresholds,
        passed=all(session.verdict != "beyond" and not session.broken for session in sessions),
        sessions=sessions,
        providers=provider_facts(sessions),
    )
    check = without_secrets(report)
    if options.format == "json":
        write_json(msgspec.to_builtins(check))
    else:
        write(validation_text(check, color=wants_color(sys.stdout)))
    if failed:
        return ExitCode.UNREADABLE
    return ExitCode.FINE if check.passed else ExitCode.BEYOND_THRESHOLD


def _checked(options: Namespace, thresholds: Thresholds, failed: list[Path]) -> Iterator[SessionValidation]:
    """Check one session after another; unreadable ones are reported, added to `failed` and skipped."""
    from inspector.replay.analysis.context_blocks import blank_prompts
    from inspector.replay.analysis.validation import validate, violations_in_file, violations_in_replay
    from inspector.replay.engine.replay import replay
    from inspector.report.validation import session_validation
    from inspector.strategies.plan import Plan

    with ProgressLine("checking") as progress:
        paths = _sessions(options.paths, failed)
        for done, path in enumerate(paths):
            progress(done, len(paths))
            try:
                session = read_session(path)
                inputs = priced_inputs(session, options)
            except CommandError as error:
                failed.append(path)
                narrate(error.message)
                continue
            broken = (*violations_in_file(session), *violations_in_replay(replay(inputs, Plan())))
            blank = int(blank_prompts(inputs).sum())
            yield session_validation(_shown(path), session, validate(inputs), thresholds, broken, blank)


def _sessions(paths: Sequence[Path], failed: list[Path]) -> list[Path]:
    from inspector.session.discovery import describe_folder, sessions_in

    found: list[Path] = []
    for path in paths:
        if not is_folder(path):
            found.append(path)
            continue
        inside = sorted(session.path for session in sessions_in(path))
        if not inside:
            failed.append(path)
            narrate(describe_folder(path))
        found += inside
    return list(dict.fromkeys(found))


def _shown(path: Path) -> str:
    return str(path).encode("utf-8", "replace").decode("utf-8")


def _percent(text: str) -> float:
    return number_from_zero(text, "percentage", most=100)
