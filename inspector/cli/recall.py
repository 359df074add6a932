"""`inspector recall`: the whole of a tool result that an agent or a plan has cut, from the session's own file."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentTypeError
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.output import ProgressLine, is_terminal, narrate, write, write_bytes, write_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inspector.recall.find import RecalledText, RecallSearch

MOST_LINES = 10**9
MOST_TOLD = 8
"""Places that are listed where several are meant."""


class LinesAsked(NamedTuple):
    """Lines of a text, counted from 1, both ends included."""

    first: int
    last: int


def add_arguments(parser: ArgumentParser) -> None:
    """What is asked for, where, and which part of it."""
    parser.add_argument(
        "id",
        metavar="ID",
        help="a tool call's id or its beginning, an execution id, a notice or the file it names, or SESSION:MESSAGE",
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        type=Path,
        help="sessions or folders of them (default: this machine's agents')",
    )
    part = parser.add_mutually_exclusive_group()
    part.add_argument(
        "--lines", metavar="A-B", type=_range, help="lines A to B alone, counted from 1; A- and -B work, too"
    )
    part.add_argument("--head", metavar="N", type=_count, help="the first N lines alone")
    part.add_argument("--tail", metavar="N", type=_count, help="the last N lines alone")
    parser.add_argument(
        "--grep", metavar="REGEX", type=_pattern, help="lines in which it is found alone, each with its number"
    )
    parser.add_argument(
        "--recorded",
        action="store_true",
        help="as the model was sent it, where the whole output stands in a file beside the session",
    )
    parser.add_argument("--json", action="store_true", help="as JSON, with where it stands")


def run(options: Namespace) -> int:
    """Print the text, or say what is near."""
    from inspector.recall.find import find

    for path in options.paths:
        if not path.exists():
            raise CommandError(f"{path}: no such file or directory. Check the path, or see: inspector recall --help")
    with ProgressLine("looking into sessions") as progress:
        search = find(options.id, options.paths, progress)
    for problem in search.unread:
        narrate(f"could not be read: {problem}")
    _check(search, options.id)
    texts = [_text(place, options) for place in search.found]
    parts = [_part(text, options) for text in texts]
    if options.json:
        found = [_document(*each) for each in zip(search.found, texts, parts, strict=True)]
        write_json({"asked": options.id, "results": found})
        return ExitCode.FINE
    if options.grep is not None and not any(parts):
        raise CommandError(f"no line of it matches {options.grep.pattern!r}: leave out --grep to see all of it")
    _print(search.found, parts)
    return ExitCode.FINE


def _check(search: RecallSearch, asked: str) -> None:
    """Refuse to choose.

    Raises:
        CommandError: Nothing was found, or several things.
    """
    if search.is_clear:
        return
    if search.found:
        places = [f"{place.reference} ({_what(place)})" for place in search.found[:MOST_TOLD]]
        more = len(search.found) - len(places)
        listed = "; ".join([*places, *([f"and {more} more"] if more else [])])
        raise CommandError(f"{asked} is several: ask for one of {listed}", ExitCode.WRONG_USAGE)
    if search.skipped:
        raise CommandError(f"{asked} may be in too many sessions to read: name one after it", ExitCode.WRONG_USAGE)
    if search.without_result is not None:
        place = search.without_result
        raise CommandError(
            f"{asked}: its call is recorded at message {place.message:,} of {place.session.path}, and no result of it"
        )
    if search.near:
        raise CommandError(f"no tool result is called {asked}; much like it are {', '.join(search.near)}")
    raise CommandError(
        f"no tool result is called {asked}: give its id as the notice has it, or SESSION:MESSAGE as the timeline counts"
    )


def _text(place: RecalledText, options: Namespace) -> str:
    from inspector.session.related import full_output

    text = place.session.text(place.session.all_blocks[place.block])
    whole = None if options.recorded else full_output(place.session, text)
    if whole is None:
        return text
    if whole.text is None:
        narrate(f"the whole output is gone from {whole.file}: this is the preview of it that the model was sent")
        return text
    return whole.text


def _part(text: str, options: Namespace) -> str:
    """What of a text is asked for; with --grep, lines with their numbers."""
    if options.grep is None and options.lines is None and options.head is None and options.tail is None:
        return text
    lines = list(StringIO(text, newline="\n"))
    wanted = options.lines or LinesAsked(1, len(lines))
    if options.head is not None:
        wanted = LinesAsked(1, options.head)
    if options.tail is not None:
        wanted = LinesAsked(max(1, len(lines) - options.tail + 1), len(lines))
    chosen = list(enumerate(lines, start=1))[wanted.first - 1 : wanted.last]
    if not chosen and lines:
        narrate(f"it has {len(lines):,} lines")
    if options.grep is None:
        return "".join(line for _, line in chosen)
    return "".join(f"{number}:{line.rstrip(chr(10))}\n" for number, line in chosen if options.grep.search(line))


def _print(places: tuple[RecalledText, ...], parts: list[str]) -> None:
    """Exactly on its way to a file or a program; made safe for a terminal, with what it is beside it."""
    if not is_terminal(sys.stdout):
        *first, last = parts
        together = "".join(f"{part.removesuffix(chr(10))}\n" for part in first) + last
        write_bytes(together.encode("utf-8", "surrogatepass"))
        return
    from inspector.safe_text import safe_text

    for place, text in zip(places, parts, strict=True):
        narrate(f"{_what(place)} of {place.session.path}")
        shown = safe_text(text)
        write(shown if shown.endswith("\n") else f"{shown}\n")


def _what(place: RecalledText) -> str:
    block = place.session.all_blocks[place.block]
    tool = f" {block.tool_name}" if block.tool_name else ""
    return f"{block.kind.label}{tool}, {block.characters:,} characters, message {place.message:,}"


def _document(place: RecalledText, text: str, part: str) -> dict[str, Any]:
    block = place.session.all_blocks[place.block]
    return {
        "session": str(place.session.path),
        "session_id": place.session.identifier,
        "reference": place.reference,
        "message": place.message,
        "kind": block.kind.label,
        "tool": block.tool_name,
        "tool_call_id": block.tool_call_id,
        "is_error": block.is_error,
        "characters": len(text),
        "lines": text.count("\n") + (not text.endswith("\n")),
        "text": part,
    }


def _range(text: str) -> LinesAsked:
    found = re.fullmatch(r"(\d*)-(\d*)|(\d+)", text)
    if found is None or text == "-":
        raise ArgumentTypeError(f"{text!r} is no range of lines; give 10-20, 10-, -20 or 10")
    first, last, one = found.groups()
    wanted = LinesAsked(int(one or first or 1), int(one or last or MOST_LINES))
    if not 1 <= wanted.first <= wanted.last:
        raise ArgumentTypeError(f"{text!r} is no range of lines; they are counted from 1, the smaller number first")
    return wanted


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_LINES:
        raise ArgumentTypeError(f"{text!r} is no number of lines; give 1 or more")
    return int(text)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None
