"""`inspector formats`: supported formats, and format detection of one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.exit_codes import ExitCode
from inspector.cli.output import wants_color, write, write_json
from inspector.cli.reading import detect_format, read_session

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--schema",
        action="store_true",
        help="only print the JSON Schema of the native line format, which any program can write",
    )
    parser.add_argument(
        "path", nargs="?", metavar="PATH", type=Path, help="explain the detected format of this file or folder"
    )


def run(options: Namespace) -> int:
    """List the formats, or explain the detection of one file."""
    from inspector.report.session_listings import formats_text, reading_text
    from inspector.session.registry import all_formats

    if options.schema:
        from inspector.session.formats.native.records import schema

        write_json(schema())
        return ExitCode.FINE
    color = wants_color(sys.stdout)
    if options.path is None:
        write(formats_text(all_formats(), color=color))
    else:
        session = read_session(options.path)  # read first: a folder of sessions fails with a session to open
        write(reading_text(detect_format(options.path), session, color=color))
    return ExitCode.FINE
