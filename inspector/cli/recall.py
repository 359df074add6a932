"""`inspector recall`: text that an agent or a plan cut, found by id or words in the session's own file."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import ExitStack
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.cli.output import (
    CommandError,
    ExitCode,
    ProgressLine,
    is_terminal,
    narrate,
    write,
    write_json,
    write_recorded,
)
from inspector.report.numbers import IN_TEXT
from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.recall.find import RecalledText, RecallSearch

MOST_LINES = 10**9
USUAL_HITS = 10
NO_INDEX = "INSPECTOR_NO_INDEX"
"""If set to anything in the environment, searches store no index."""
MOST_MATCHES = 8
"""Maximum matches listed for an ambiguous id."""


class LinesAsked(NamedTuple):
    """Lines of a text, counted from 1, both ends included."""

    first: int
    last: int


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        help="a tool call's id or a prefix of it, an execution id, a notice or the file it names, or SESSION:MESSAGE",
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        type=Path,
        help="sessions or folders of sessions (default: this machine's agents)",
    )
    search = parser.add_argument_group("search")
    search.add_argument(
        "--search",
        metavar="TEXT",
        help="instead of an ID: texts with any of these words, exact matches of TEXT first",
    )
    search.add_argument(
        "--limit", metavar="N", type=_count, default=USUAL_HITS, help=f"maximum texts listed (default: {USUAL_HITS})"
    )
    search.add_argument(
        "--no-index",
        action="store_true",
        help=f"store no index in the cache folder: every search reads every session (permanently: {NO_INDEX}=1)",
    )
    search.add_argument("--drop-index", action="store_true", help="remove the index")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--lines", metavar="A-B", type=_range, help="only lines A to B, counted from 1; also A- and -B")
    part.add_argument("--head", metavar="N", type=_count, help="only the first N lines")
    part.add_argument("--tail", metavar="N", type=_count, help="only the last N lines")
    parser.add_argument("--grep", metavar="REGEX", type=_pattern, help="only matching lines, each with its number")
    parser.add_argument(
        "--recorded",
        action="store_true",
        help="the text that the model received, even if a file next to the session has the full output",
    )
    parser.add_argument(
        "--call",
        action="store_true",
        help="the tool's input instead of its result, such as the change of an edit",
    )
    parser.add_argument("--json", action="store_true", help="print JSON that includes the location")


def run(options: Namespace) -> int:
    """Print the text, or suggest near matches; list the results of a search."""
    if options.drop_index:
        return _drop_index()
    if options.search is not None:
        # The first argument is not an id then.
        paths = [*([Path(options.id)] if options.id else []), *options.paths]
        _check_paths(paths)
        return _search(options, paths)
    if not options.id:
        raise CommandError("nothing to recall: pass an ID, or --search TEXT", ExitCode.WRONG_USAGE)
    _check_paths(options.paths)
    return _recall(options)


def _check_paths(paths: list[Path]) -> None:
    for path in paths:
        if not path.exists():
            raise CommandError(f"{path}: no such file or directory. Check the path, or see: inspector recall --help")


def _drop_index() -> int:
    from inspector.recall.text_index import drop_index, index_path

    try:
        was_there = drop_index()
    except OSError as error:
        raise CommandError(f"{index_path()} cannot be removed: {error.strerror}") from error
    narrate(f"removed: {index_path()}" if was_there else "there is no index")
    return ExitCode.FINE


def _search(options: Namespace, paths: list[Path]) -> int:
    from inspector.recall.find import sessions_at
    from inspector.recall.text_index import IndexUnavailableError, index_path, open_index

    if not options.search.strip():
        raise CommandError("--search needs at least one word", ExitCode.WRONG_USAGE)
    headers = sessions_at(paths)
    is_kept = not options.no_index and not os.environ.get(NO_INDEX)
    with ExitStack() as opened:
        try:
            index = opened.enter_context(open_index(index_path() if is_kept else None))
        except IndexUnavailableError as error:
            narrate(f"{error.message}; searching without it, which takes longer")
            index = opened.enter_context(open_index(None))
        with ProgressLine("reading sessions") as progress:
            unread = index.update(headers, progress)
        found = index.search(options.search, headers, options.limit)
    for problem in dict.fromkeys((*unread, *found.unread)):
        narrate(f"could not be read: {problem}")
    if options.json:
        hits = [
            {
                **_place(hit.place),
                "line": hit.line,
                "excerpt": hit.excerpt,
                "is_literal": hit.is_literal,
                "sessions": hit.sessions,
            }
            for hit in found.hits
        ]
        write_json({"searched": options.search, "sessions": found.searched, "unread": len(unread), "hits": hits})
        return ExitCode.FINE
    if not found.hits:
        raise CommandError(
            f"nothing in {IN_TEXT.plural(found.searched, 'session')} contains any word of {options.search!r}"
        )
    from inspector.safe_text import one_line

    for hit in found.hits:
        more = f", and in {hit.sessions - 1:,} more" if hit.sessions > 1 else ""
        write(f"{one_line(hit.place.reference)}  {one_line(_what(hit.place))}, line {hit.line:,}{more}\n")
        write(f"    {one_line(hit.excerpt.strip())}\n")
    narrate(
        f"{IN_TEXT.plural(found.searched, 'session')} searched. Full text: inspector recall "
        f"{found.hits[0].place.reference}"
    )
    return ExitCode.FINE


def _recall(options: Namespace) -> int:
    from inspector.recall.find import find

    if not (options.paths or options.call or options.recorded) and _recall_original(options):
        return ExitCode.FINE
    with ProgressLine("searching sessions") as progress:
        search = find(options.id, options.paths, progress)
    for problem in search.unread:
        narrate(f"could not be read: {problem}")
    _check(search, options.id)
    if options.call:
        search = replace(search, found=tuple(_call_of(place) for place in search.found))
    texts = [_text(place, options) for place in search.found]
    parts = [_part(text, options) for text in texts]
    if options.json:
        found = [_document(*each) for each in zip(search.found, texts, parts, strict=True)]
        write_json({"asked": options.id, "results": found})
        return ExitCode.FINE
    if options.grep is not None and not any(parts):
        raise CommandError(f"no line matches {options.grep.pattern!r}: omit --grep to see the whole text")
    _print(search.found, parts)
    return ExitCode.FINE


def _call_of(place: RecalledText) -> RecalledText:
    """Return the tool call of a result; raise `CommandError` if there is none."""
    from inspector.recall.find import call_of

    call = call_of(place.session, place.block)
    if call is None:
        raise CommandError(f"{place.reference} ({_what(place)}) does not answer a recorded tool call")
    return place._replace(block=call)


def _recall_original(options: Namespace) -> bool:
    """Print the hook's original of a result; return False if there is none, raise `CommandError` for several."""
    from inspector.recall.find import strip_reference
    from inspector.recall.originals import find_originals

    asked = strip_reference(options.id)
    found = find_originals(asked)
    if not found:
        return False
    if len({text for _, text in found}) > 1:
        listed = [f"{about.get('session')}:{asked} ({_what_is_kept(about, text)})" for about, text in found]
        raise CommandError(f"{asked} is ambiguous: use one of {_some_of(listed)}", ExitCode.WRONG_USAGE)
    about, text = found[0]
    part = _part(text, options)
    if options.json:
        result = {"kept_by": "hook", "tool_call_id": about.get("id"), "session_id": about.get("session")}
        lines = text.count("\n") + (not text.endswith("\n"))
        sizes = {"tool": about.get("tool"), "characters": len(text), "lines": lines}
        write_json({"asked": options.id, "results": [{**result, **sizes, "text": part}]})
    elif options.grep is not None and not part:
        raise CommandError(f"no line matches {options.grep.pattern!r}: omit --grep to see the whole text")
    else:
        _print_text(part, _what_is_kept(about, text))
    return True


def _what_is_kept(about: Mapping[str, object], text: str) -> str:
    return f"original of {about.get('tool')}, stored by the hook, {len(text):,} characters"


def _some_of(listed: list[str]) -> str:
    more = len(listed) - MOST_MATCHES
    return "; ".join([*listed[:MOST_MATCHES], *([f"and {more} more"] if more > 0 else [])])


def _print_text(text: str, what: str) -> None:
    if is_terminal(sys.stdout):
        narrate(what)
    write_recorded(text)


def _check(search: RecallSearch, asked: str) -> None:
    """Require a single match; raise `CommandError` for none or several."""
    if search.is_clear:
        return
    if search.found:
        listed = _some_of([f"{place.reference} ({_what(place)})" for place in search.found])
        raise CommandError(f"{asked} is ambiguous: use one of {listed}", ExitCode.WRONG_USAGE)
    if search.skipped:
        raise CommandError(f"{asked} may be in too many sessions to read: add a session after it", ExitCode.WRONG_USAGE)
    if search.without_result is not None:
        place = search.without_result
        raise CommandError(
            f"{asked}: its call is recorded at message {place.message:,} of {place.session.path}, but without a result"
        )
    if search.near:
        raise CommandError(f"no tool result has the id {asked}; similar ids: {', '.join(search.near)}")
    raise CommandError(
        f"no tool result has the id {asked}: use the id in the notice, or SESSION:MESSAGE as numbered in the timeline"
    )


def _text(place: RecalledText, options: Namespace) -> str:
    from inspector.recall.originals import original_of
    from inspector.session.related import full_output

    block = place.session.all_blocks[place.block]
    text = place.session.text(block)
    if options.recorded or options.call:
        return text
    if block.kind is BlockKind.TOOL_RESULT:
        original = original_of(block.tool_call_id, place.session.identifier)
        if original is not None:
            return original
    whole = full_output(place.session, text)
    if whole is None:
        return text
    if whole.text is None:
        narrate(f"{whole.file} no longer holds the full output: this is the preview that the model received")
        return text
    return whole.text


def _part(text: str, options: Namespace) -> str:
    """Return the requested part of a text; with --grep, matching lines with their numbers."""
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
    """Print unchanged to a file or program; to a terminal sanitized, with a description."""
    if not is_terminal(sys.stdout):
        *first, last = parts
        write_recorded("".join(f"{part.removesuffix(chr(10))}\n" for part in first) + last)
        return
    for place, text in zip(places, parts, strict=True):
        narrate(f"{_what(place)} of {place.session.path}")
        write_recorded(text)


def _what(place: RecalledText) -> str:
    block = place.session.all_blocks[place.block]
    tool = f" {block.tool_name}" if block.tool_name else ""
    return f"{block.kind.label}{tool}, {block.characters:,} characters, message {place.message:,}"


def _document(place: RecalledText, text: str, part: str) -> dict[str, Any]:
    lines = text.count("\n") + (not text.endswith("\n"))
    return {**_place(place), "characters": len(text), "lines": lines, "text": part}


def _place(place: RecalledText) -> dict[str, Any]:
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
    }


def _range(text: str) -> LinesAsked:
    found = re.fullmatch(r"(\d*)-(\d*)|(\d+)", text)
    if found is None or text == "-":
        raise ArgumentTypeError(f"{text!r} is not a range of lines; use 10-20, 10-, -20 or 10")
    first, last, one = found.groups()
    wanted = LinesAsked(int(one or first or 1), int(one or last or MOST_LINES))
    if not 1 <= wanted.first <= wanted.last:
        raise ArgumentTypeError(f"{text!r} is not a range of lines; they are counted from 1, the smaller number first")
    return wanted


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_LINES:
        raise ArgumentTypeError(f"{text!r} is not a number of lines; use 1 or more")
    return int(text)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ArgumentTypeError(f"{text!r} is not a regular expression: {error}") from None
