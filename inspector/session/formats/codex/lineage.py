"""Recognize the lines of a rollout that a fork or a subagent copied from the rollout it continues.

Copies get the time of copying, which is unreliable: a slow disk or a long history spreads them over seconds. They are
recognized by content, in this order: the boundary in the header, ids of threads and turns, and the other rollout. Times
decide only for old rollouts without ids if the other rollout no longer exists.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError
from inspector.session.files import open_for_reading
from inspector.session.formats.codex.records import EVENT, ITEM, META, TURN_STARTS, USAGE, unwrapped
from inspector.session.formats.codex.usage import total_of
from inspector.session.json.lines import ObjectDecoder
from inspector.session.json.values import count, mapping, objects, string
from inspector.session.zstd import DamagedError, is_zstd, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from inspector.session.formats.codex.records import RolloutLine

PAUSE_SECONDS = 0.05
"""Pause between two lines that ends the copied part of an old rollout, where copies are written at once."""

START_SECONDS = 2.0
"""A turn that began at most this long before the fork belongs to the fork itself: starts are in whole seconds."""

SLICE_BYTES = 1 << 20

TIMED_ID = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
"""An id that begins with its time in milliseconds (UUID version 7; RFC 9562, 5.7)."""

MESSAGE = "message"

ITEM_METADATA = "internal_chat_message_metadata_passthrough"
"""Field of an item with the id of its turn."""

Content = tuple[object, ...]


def milliseconds_in(identifier: str) -> int | None:
    """Return the time in an id, milliseconds since the epoch; None if it has none."""
    found = TIMED_ID.fullmatch(identifier)
    return int(found[1] + found[2], 16) if found is not None else None


def content_of(line: RolloutLine) -> Content:
    """Return the content that a copy of a line repeats, in every version; empty if it has nothing characteristic."""
    payload = line.payload
    kind = string(payload.get("type"))
    if line.kind == USAGE:
        return (USAGE, string(payload.get("response_id")))
    if line.kind == EVENT and kind == "token_count":
        total = total_of(mapping(payload.get("info")))
        return (kind, total) if total is not None and any(total) else ()
    if line.kind != ITEM:
        return ()
    if call := string(payload.get("call_id")):
        return (kind, call)
    if encrypted := string(payload.get("encrypted_content")):
        return (kind, hash(encrypted))
    content = payload.get("content")
    texts = (content,) if isinstance(content, str) else tuple(string(part.get("text")) for part in objects(content))
    return (MESSAGE, string(payload.get("role")), hash(texts)) if any(texts) else ()


class OriginContent:
    """Content of a rollout's lines, compared with copies in the same order."""

    def __init__(self, contents: Sequence[Content]) -> None:
        self._contents = contents
        self._places: dict[Content, list[int]] = {}
        for place, content in enumerate(contents):
            self._places.setdefault(content, []).append(place)
        self._next = 0

    def pass_copy(self, content: Content) -> None:
        """Move past a line that is a copy."""
        place = self._place(content)
        self._next = self._next if place is None else place + 1

    def continues(self, content: Content) -> bool:
        """Return True if the next line can be a copy, and move past it.

        A fork may omit lines: an id identifies a line anywhere after the last one, a text only as the next message.
        """
        place = self._place(content)
        if place is None:
            return False
        passed = self._contents[self._next : place]
        if content[0] == MESSAGE and any(one[0] == MESSAGE for one in passed):
            return False
        self._next = place + 1
        return True

    def _place(self, content: Content) -> int | None:
        places = self._places.get(content, ())
        at = bisect_left(places, self._next)
        return places[at] if at < len(places) else None


def read_origin(path: Path, until: float | None, copied: Iterable[Content]) -> OriginContent | None:
    """Read the content of a rollout up to the time it was copied, and move past known copies; None if unreadable."""
    contents = []
    try:
        with open_for_reading(path) as file:
            for line in _lines(file):
                if until is not None and line.time is not None and line.time > until:
                    break
                if content := content_of(line):
                    contents.append(content)
    except (SessionError, DamagedError, OSError):
        return None
    origin = OriginContent(contents)
    for content in copied:
        origin.pass_copy(content)
    return origin


def _lines(file: BinaryIO) -> Iterator[RolloutLine]:
    decoder = ObjectDecoder()
    rest = b""
    for piece in _pieces(file):
        data, _, rest = (rest + piece).rpartition(b"\n")
        yield from (unwrapped(one.value) for one in decoder.lines(data) if one.value is not None)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    is_compressed = is_zstd(file.read(4))
    file.seek(0)
    if is_compressed:
        yield from unpacked(file)
        return
    while data := file.read(SLICE_BYTES):
        yield data


class CodexLineage:
    """Separates copied lines from a rollout's own.

    Attributes:
        identifier: The rollout's own id, from its first header.
    """

    def __init__(self, find: Callable[[str], Path | None]) -> None:
        """Start before the first line; `find` returns the path of a rollout by its id."""
        self.identifier = ""
        self._find = find
        self._has_header = False
        self._only_headers = True
        self._began: float | None = None
        self._before: float | None = None
        self._copies = False
        self._first_own = 0
        self._has_ids = False
        self._origin_id = ""
        self._has_origin_header = False
        self._copied: list[Content] = []
        self._origin: OriginContent | None = None
        self._is_searched = False

    def is_inherited(self, line: RolloutLine) -> bool:
        """Return True if the next line of the file was copied."""
        if line.kind == META:
            return self._header(line)
        if self._copies:
            self._copies = self._is_copy(line)
        self._only_headers = False
        self._before = line.time if line.time is not None else self._before
        return self._copies

    def _header(self, line: RolloutLine) -> bool:
        identifier = string(line.payload.get("id"))
        self._before = line.time if line.time is not None else self._before
        if not self._has_header:
            self._has_header, self.identifier, self._began = True, identifier, line.time
            self._origin_id = string(line.payload.get("forked_from_id"))
            self._first_own = max(
                count(line.payload.get("subagent_history_start_ordinal")),
                count(mapping(line.payload.get("history_base")).get("end_ordinal_exclusive")),
            )
            self._copies = bool(self._origin_id or self._first_own)
            return False
        if self._only_headers and identifier != self.identifier:
            self._copies = self._has_origin_header = True
            self._origin_id = self._origin_id or identifier
        return self._copies

    def _is_copy(self, line: RolloutLine) -> bool:
        """Return True if a line is a copy, given that all lines before it are."""
        if self._first_own and line.ordinal is not None:
            return line.ordinal < self._first_own
        by_ids = self._by_ids(line)
        if by_ids is not None:
            self._has_ids = True
            return by_ids
        content = content_of(line)
        if not self._has_ids and not self._is_together(line):
            return self._continues_origin(content)
        self._pass(content)
        return True

    def _by_ids(self, line: RolloutLine) -> bool | None:
        """Decide by the thread or turn that a line names, None if it names none."""
        payload = line.payload
        if line.kind == USAGE and (thread := string(payload.get("thread_id"))):
            return thread != self.identifier
        turn = string(payload.get("turn_id")) or string(mapping(payload.get(ITEM_METADATA)).get("turn_id"))
        began, own = milliseconds_in(turn), milliseconds_in(self.identifier)
        if began is not None and own is not None:
            return began < own
        started = payload.get("started_at")
        if self._began is None or line.kind != EVENT or payload.get("type") not in TURN_STARTS:
            return None
        return started < self._began - START_SECONDS if isinstance(started, (int, float)) else None

    def _is_together(self, line: RolloutLine) -> bool:
        """Return True if a line was written right after the one before it."""
        if line.time is None or self._before is None:
            return True
        # Without a header of its origin, a fork may have copied nothing.
        is_first = self._only_headers and not self._has_origin_header
        return line.time - self._before <= (0.0 if is_first else PAUSE_SECONDS)

    def _pass(self, content: Content) -> None:
        if not content:
            return
        if self._origin is not None:
            self._origin.pass_copy(content)
        elif not self._is_searched:
            self._copied.append(content)

    def _continues_origin(self, content: Content) -> bool:
        """Return True if the origin has this line next, or if the line has nothing to compare."""
        if not self._is_searched:
            self._is_searched = True
            path = self._find(self._origin_id) if self._origin_id else None
            until = None if self._began is None else self._began + START_SECONDS
            self._origin = read_origin(path, until, self._copied) if path is not None else None
            self._copied = []
        return self._origin is not None and (not content or self._origin.continues(content))
