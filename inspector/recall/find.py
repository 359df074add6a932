"""Find a text by its id or place, or by a file name in a notice, without reading every session."""

from __future__ import annotations

import mmap
import os
import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from inspector.errors import SessionError
from inspector.session.discovery import Header, list_sessions, search_places
from inspector.session.files import Locator, is_folder
from inspector.session.model import Block, BlockKind, Session
from inspector.session.open import open_session
from inspector.strategies.library import at_insertion, langchain
from inspector.strategies.library.gemini import safe_file_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path


FEWEST_CHARACTERS = 6
"""Minimum length of a prefix that is accepted in place of the id."""
MOST_NEAR = 5
CUTOFF = 0.7
"""Minimum similarity of similar ids, between 0 and 1."""

_AROUND = " \t\r\n\"'`<>[](),;"
_SHORTENED = re.compile(r"(?:\.\.\.|…)$")
_FILE_SUFFIXES = (".txt", ".md", ".json", ".log")


def strip_reference(text: str) -> str:
    """Strip surrounding characters from an id copied out of a text."""
    return text.strip(_AROUND)


def names_of(block: Block) -> set[str]:
    """Return the file names of a result in the notices of this program's strategies, without suffix."""
    identifier = block.tool_call_id
    if not identifier:
        return set()
    tool, safe = safe_file_name(block.tool_name), safe_file_name(identifier)
    saved = (at_insertion.file_name(identifier), langchain.file_name(identifier))
    return {safe, f"{tool or 'unknown_tool'}_{safe}", *(_stem(name) for name in saved)}


def matching_blocks(session: Session, asked: str) -> list[int]:
    """Return the tool results matching an id, a notice, a file named in one, or a prefix of an id.

    Args:
        asked: Output of `asked_for`. The file name of an offloaded message matches that message's text.

    Returns:
        Block indices, ascending. Repeated records after a compaction count once; several match if calls share the id or
        the prefix.
    """
    blocks = session.all_blocks
    results = [index for index, block in enumerate(blocks) if block.kind is BlockKind.TOOL_RESULT]
    stem = _stem(re.split(r"[/\\]", asked)[-1])
    begin = _SHORTENED.sub("", asked)
    ways: tuple[Callable[[Block], bool], ...] = (
        lambda block: block.tool_call_id == asked,
        lambda block: stem in names_of(block),
        lambda block: len(block.tool_call_id) >= FEWEST_CHARACTERS and _is_within(block.tool_call_id, asked),
        lambda block: len(begin) >= FEWEST_CHARACTERS and block.tool_call_id.startswith(begin),
    )
    for way in ways:
        found = [index for index in results if way(blocks[index])]
        if found:
            return _once(session, found)
    return [index for index, block in enumerate(blocks) if block.digest.hex() == stem][:1]


def call_without_result(session: Session, asked: str) -> int | None:
    """Return the block index of the tool call with that id if it has no recorded result, or None."""
    blocks = enumerate(session.all_blocks)
    calls = (index for index, block in blocks if block.kind is BlockKind.TOOL_CALL and block.tool_call_id == asked)
    return next(calls, None)


def call_of(session: Session, block: int) -> int | None:
    """Return the latest earlier call with a result's id, or the call itself; None for other blocks."""
    blocks = session.all_blocks
    asked = blocks[block]
    if asked.kind is BlockKind.TOOL_CALL:
        return block
    if asked.kind is not BlockKind.TOOL_RESULT:
        return None
    before = (index for index in range(block - 1, -1, -1) if blocks[index].tool_call_id == asked.tool_call_id)
    return next((index for index in before if blocks[index].kind is BlockKind.TOOL_CALL), None)


def similar_ids(identifiers: Iterable[str], asked: str) -> list[str]:
    import difflib

    known = sorted({identifier for identifier in identifiers if identifier})
    return difflib.get_close_matches(asked, known, n=MOST_NEAR, cutoff=CUTOFF)


def _once(session: Session, found: Sequence[int]) -> list[int]:
    """Drop repeated records of a compaction or a provider's cleanup, unless several calls share the id."""
    blocks = session.all_blocks
    calls: dict[str, int] = {}
    for block in blocks:
        if block.kind is BlockKind.TOOL_CALL:
            calls[block.tool_call_id] = calls.get(block.tool_call_id, 0) + 1
    kept: dict[tuple[str, bytes], int] = {}
    for index in found:
        block = blocks[index]
        repeats = calls.get(block.tool_call_id, 0) > 1
        kept.setdefault((block.tool_call_id, block.digest if repeats else b""), index)
    return sorted(kept.values())


def _is_within(identifier: str, asked: str) -> bool:
    """Return True if a text contains an id as a whole: `event-20` does not contain `event-2`."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(identifier)}(?![A-Za-z0-9])", asked) is not None


def _stem(name: str) -> str:
    for suffix in _FILE_SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix)
    return name


MOST_OPENED = 24
"""Maximum number of sessions opened in search of one id; an id in more sessions is not specific enough."""
MOST_FOR_NEAR = 5
"""Number of newest sessions searched for similar ids."""
FEWEST_IN_NEEDLE = 4

_REFERENCE = re.compile(r"(?P<session>.*):(?P<message>[1-9][0-9,]*)(?:\.(?P<block>[1-9][0-9]*))?")
_WORD = re.compile(r"[A-Za-z0-9]+")


class RecalledText(NamedTuple):
    """A text in a session."""

    session: Session
    block: int

    @property
    def message(self) -> int:
        """Message number, counted from 1 as in the timeline."""
        return bisect_right(self.session.first_blocks, self.block)

    @property
    def reference(self) -> str:
        """Unique reference: the session's id, the message and the block in it."""
        message = self.message
        within = self.block - self.session.first_blocks[message - 1]
        own = self.session.messages[message - 1].blocks
        return f"{self.session.identifier}:{message}{f'.{within + 1}' if len(own) > 1 else ''}"


@dataclass(frozen=True)
class RecallSearch:
    """Result of a search.

    Attributes:
        found: Matches: several for a message with several blocks, or if the search is ambiguous. A text with the same
            id in several sessions is included once.
        near: Similar ids, if nothing was found.
        without_result: The tool call with that id, if its result is not in the session.
        skipped: Number of sessions that may contain it and were not read.
        unread: Unreadable sessions, each with the reason.
    """

    found: tuple[RecalledText, ...] = ()
    is_clear: bool = False
    near: tuple[str, ...] = ()
    without_result: RecalledText | None = None
    skipped: int = 0
    unread: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """True if there is something to report, so the search can stop."""
        return bool(self.found or self.without_result or self.skipped)


def find(
    asked: str,
    paths: Sequence[Path] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005  default without effect
) -> RecallSearch:
    """Find a text by an id, by the content of a notice, or by its place.

    Args:
        asked: A tool call's id or its beginning, a notice or the file it names, or `SESSION:MESSAGE` with a part of a
            session's id or path and the message number, optionally followed by a period and the block number; the
            session may be omitted if there is only one.
        paths: Sessions and folders to search; by default all sessions of this machine's agents.
        progress: Called with the number of files searched and their total.
    """
    return find_in(asked, sessions_at(paths), progress)


def find_in(
    asked: str,
    headers: Sequence[Header],
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005  default without effect
) -> RecallSearch:
    """Find a text in the given sessions, including those in a database; see `find`."""
    asked = strip_reference(asked)
    reference = _REFERENCE.fullmatch(asked)
    if reference is not None and (where := _of_session(headers, reference["session"])):
        search = _read(where, lambda session: _at(session, reference))
        if search.found:
            return replace(search, is_clear=len({place.session.path for place in search.found}) == 1)

    def named(session: Session) -> list[int]:
        return matching_blocks(session, asked)

    unread: tuple[str, ...] = ()
    for needle in _needles(asked):
        search = _read([header for header in _described(headers, progress) if _holds(header, needle)], named, asked)
        if search.is_over:
            return search
        unread = search.unread
    search = _read([header for header in headers if _is_packed(header)], named, asked)
    if search.is_over:
        return search
    return RecallSearch(near=tuple(_similar(headers[:MOST_FOR_NEAR], asked)), unread=unread + search.unread)


def sessions_at(paths: Sequence[Path]) -> list[Header]:
    """Return the sessions in files and folders, newest first; by default all of this machine's agents."""
    found = [header for batch in list_sessions(search_places(paths or None)) for header in batch if not header.problem]
    return sorted(found, key=lambda header: -header.modified)


def _of_session(headers: Sequence[Header], named: str) -> Sequence[Header]:
    """Return sessions with a matching path or id; if none match, all of a small number, since paths may omit ids."""
    if not named:
        return headers if len(headers) == 1 else []
    wanted = named.lower()
    found = [header for header in headers if wanted in header.identifier.lower() or wanted in str(header.path).lower()]
    return found or (headers if len(headers) <= MOST_OPENED else [])


def _is_named(session: Session, named: str) -> bool:
    return named.lower() in session.identifier.lower() or named.lower() in str(session.path).lower()


def _at(session: Session, reference: re.Match[str]) -> list[int]:
    if not _is_named(session, reference["session"]):
        return []
    message, block = int(reference["message"].replace(",", "")), reference["block"]
    if message > len(session.messages):
        return []
    first, count = session.first_blocks[message - 1], len(session.messages[message - 1].blocks)
    if block is None:
        return list(range(first, first + count))
    return [first + int(block) - 1] if int(block) <= count else []


def _needles(asked: str) -> list[bytes]:
    """Return byte strings to search files for: the whole id, and the most specific word of a notice."""
    words = [word for word in _WORD.findall(asked) if len(word) >= FEWEST_IN_NEEDLE]
    telling = max(words, key=lambda word: (any(map(str.isdigit, word)), len(word)), default="")
    return [needle.encode("utf-8", "replace") for needle in dict.fromkeys((asked, telling)) if needle]


def _holds(header: Header, needle: bytes) -> bool:
    """Return True if a file of a session contains some bytes, ignoring case."""
    file = Locator.of(header.path).file
    names = _files_in(str(file)) if is_folder(file) else [str(file)]
    search = re.compile(re.escape(needle), re.IGNORECASE).search
    return any(_has(name, needle, search) for name in names)


def _files_in(folder: str) -> list[str]:
    return [f"{inside}/{name}" for inside, _, names in os.walk(folder) for name in names]


def _has(name: str, needle: bytes, search: Callable[..., object]) -> bool:
    try:
        with open(name, "rb") as file:  # noqa: PTH123  names, by the thousand
            if os.fstat(file.fileno()).st_size == 0:
                return False
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return data.find(needle) >= 0 or search(data) is not None
    except (OSError, ValueError):
        return False


def _is_packed(header: Header) -> bool:
    """Return True if a session's file may not contain its texts literally: compressed files and databases."""
    return bool(header.identifier) or header.path.suffix in (".zst", ".zstd", ".db", ".sqlite", ".sqlite3", ".vscdb")


def _read(headers: Sequence[Header], blocks_in: Callable[[Session], list[int]], asked: str = "") -> RecallSearch:
    found: dict[tuple[object, ...], RecalledText] = {}
    without: RecalledText | None = None
    unread = []
    for header in headers[:MOST_OPENED]:
        try:
            session = open_session(header.path)
        except SessionError as error:
            unread.append(f"{header.path}: {error.message}")
            continue
        for index in blocks_in(session):
            block = session.all_blocks[index]
            # Resumed and forked sessions contain copies of earlier messages.
            key = (block.tool_call_id, block.digest) if block.tool_call_id else (session.path, index)
            found.setdefault(key, RecalledText(session, index))
        call = call_without_result(session, asked)
        if without is None and call is not None:
            without = RecalledText(session, call)
    skipped = max(0, len(headers) - MOST_OPENED)
    return RecallSearch(
        tuple(found.values()),
        is_clear=len(found) == 1 and not skipped,
        without_result=None if found else without,
        skipped=skipped,
        unread=tuple(unread),
    )


def _similar(headers: Sequence[Header], asked: str) -> list[str]:
    known: set[str] = set()
    for header in headers:
        try:
            session = open_session(header.path)
        except SessionError:
            continue
        known |= {block.tool_call_id for block in session.all_blocks}
    return similar_ids(known, asked)


def _described(headers: Sequence[Header], progress: Callable[[int, int], None]) -> Iterator[Header]:
    for done, header in enumerate(headers):
        progress(done, len(headers))
        yield header
