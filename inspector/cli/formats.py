"""`inspector formats`: supported formats, and format detection of one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.output import CommandError, ExitCode, encodes_everything, narrate, wants_color, write, write_json
from inspector.cli.reading import detect_format, is_list, read_session

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from inspector.report.listings import FormatsReport
    from inspector.session.format import Detection
    from inspector.session.model import Session


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--schema",
        action="store_true",
        help="print only the JSON Schema of the native line format, which any program can write",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON; with a folder, every session in it and the parts that this version does not know, by agent "
        "version",
    )
    parser.add_argument(
        "path", nargs="?", metavar="PATH", type=Path, help="explain the detected format of this file or folder"
    )


def run(options: Namespace) -> int:
    """List the formats, or explain the detection of one file."""
    from inspector.report.listings import formats_text, reading_text
    from inspector.session.registry import PLUG_INS, all_formats

    if options.schema:
        from inspector.session.formats.native import schema

        write_json(schema())
        return ExitCode.FINE
    if options.json:
        from inspector.report.json_document import document_json

        write(document_json(_document(options.path), ascii_only=not encodes_everything(sys.stdout)))
        return ExitCode.FINE
    color = wants_color(sys.stdout)
    if options.path is None:
        write(formats_text(all_formats(), color=color))
    else:
        session = read_session(options.path)  # read first: a folder of sessions fails with a session to open
        write(reading_text(detect_format(options.path), session, color=color))
        for problem in PLUG_INS.problems():
            narrate(problem)
    return ExitCode.FINE


def _document(path: Path | None) -> FormatsReport:
    from inspector.report.listings import formats_report, reading_report
    from inspector.session.registry import all_formats

    if path is None:
        return formats_report(all_formats())
    unread: dict[str, str] = {}
    if is_list(path):
        return reading_report(_sessions_in(path, unread), unread, in_folder=True)
    session = read_session(path)
    return reading_report([(detect_format(path), session)], unread)


def _sessions_in(folder: Path, unread: dict[str, str]) -> Iterator[tuple[Detection, Session]]:
    """Yield the sessions below a folder, including subagents; note those that cannot be read."""
    from inspector.report.secret_redaction import shown_path
    from inspector.session.discovery import found_in

    for header in found_in(folder, with_subagents=True):
        if header.problem:
            unread[shown_path(header.path)] = header.problem
            continue
        try:
            yield detect_format(header.path), read_session(header.path)
        except CommandError as error:
            unread[shown_path(header.path)] = error.message
