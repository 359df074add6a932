"""`inspector convert`: a session in a plain format for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.output import CommandError, ExitCode, check_target, narrate, save, write_json
from inspector.cli.reading import read_session

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    from inspector.report.conversion import FORMS, PARTS

    parser.add_argument("path", metavar="PATH", type=Path, help="a session file or folder")
    parser.add_argument("--to", choices=tuple(FORMS), required=True, help="the output format")
    parser.add_argument(
        "--what",
        choices=PARTS,
        default="context",
        help="the next prompt (default), or the whole conversation",
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to a file instead of standard output")


def run(options: Namespace) -> int:
    """Print or save the session; losses are reported on standard error."""
    from inspector.report.conversion import convert
    from inspector.report.json_document import to_json
    from inspector.session.model import TextUnavailableError

    if options.output is not None:
        check_target(options.output, options.path)
    session = read_session(options.path)
    try:
        document, losses = convert(session, options.to, options.what)
    except TextUnavailableError as error:
        raise CommandError(f"{options.path}: changed while it was being read ({error}); try again") from None
    if options.output is None:
        write_json(document)
    else:
        save(options.output, to_json(document))
    for sentence in losses.sentences():
        narrate(sentence)
    return ExitCode.FINE
