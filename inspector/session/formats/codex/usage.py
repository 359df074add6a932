"""Assign usage to calls, and recognize the lines that a fork or a subagent copied from the rollout it continues.

Usage is in separate lines, and most of it twice. `token_count` events repeat a report whenever anything else in them
changes, and may repeat older ones, so only events with a new total count. Their position depends on the version: early
versions wrote them before the items of the response, later ones after them, possibly after the tool outputs. Since
0.151, a `token_usage_record` reports every response by its id; only compaction requests have no event as well.

Copied lines get the time of copying, which is unreliable: a slow disk or a long history spreads them over seconds. They
are recognized by content, in this order: the boundary in the header, ids of threads and turns, and the other rollout.
Times decide only for old rollouts without ids if the other rollout no longer exists.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from inspector.errors import SessionError
from inspector.session.billing_terms import BillingTerms, normalized_value
from inspector.session.files import open_for_reading
from inspector.session.formats.codex import EVENT, ITEM, META, TURN_STARTS, USAGE, RolloutLine, unwrapped
from inspector.session.formats.responses.reader import NONE
from inspector.session.json import ObjectDecoder, clean_string, count, mapping, objects, string
from inspector.session.model import Block, Usage
from inspector.session.usage_fields import CODEX
from inspector.session.zstd import DamagedError, is_zstd, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "total_tokens")

ALL_COUNTS = (*COUNTS, "reasoning_output_tokens")

Total = tuple[int, ...]

Counted = tuple[int, int, int]
"""Prompt, cache reads and output of a response."""


def usage_of(reported: Mapping[str, Any]) -> Usage | None:
    """Convert reported usage; None if it belongs to no call. The counts include cached and reasoning tokens."""
    prompt = count(reported.get("input_tokens"))
    read = min(count(reported.get("cached_input_tokens")), prompt)
    written = min(count(reported.get("cache_write_input_tokens")), prompt - read)
    output = count(reported.get("output_tokens"))
    if not prompt and not output:
        return None
    usage = Usage(
        uncached=prompt - read - written,
        cache_read=read,
        cache_write_5m=written,
        output=output,
        reasoning=min(count(reported.get("reasoning_output_tokens")), output),
    )
    return CODEX.check(usage, reported)


def total_of(info: Mapping[str, Any]) -> Total | None:
    total = mapping(info.get("total_token_usage"))
    return tuple(count(total.get(name)) for name in COUNTS) if total else None


class TokenCounts:
    """Selects the reports of new calls: each response once, whichever lines report it."""

    def __init__(self) -> None:
        self._totals_seen: set[Total] = set()
        self._totals: Mapping[str, Any] = {}
        self._last: Mapping[str, Any] = {}
        self._responses: set[str] = set()
        self._recorded: list[Counted] = []
        self._counted: list[Counted] = []

    def add_event(self, info: Mapping[str, Any]) -> Usage | None:
        """Return the usage of a new call in a `token_count` event, None for a repetition."""
        total, last = mapping(info.get("total_token_usage")), mapping(info.get("last_token_usage"))
        now = total_of(info)
        # Without a total, an event equal to the last one is a repetition.
        is_repeated = now in self._totals_seen if now is not None else last == self._last
        self._last = last
        if is_repeated:
            return None
        before = self._totals
        if now is not None:
            self._totals_seen.add(now)
            self._totals = total
        usage = usage_of(last) if last else _added(total, before)
        return usage if usage is None or self._is_new(usage, self._counted, self._recorded) else None

    def add_record(self, record: Mapping[str, Any]) -> Usage | None:
        """Return the usage of a new call in a `token_usage_record`, None if an event or a record reported it."""
        identifier = string(record.get("response_id"))
        usage = usage_of(mapping(record.get("usage")))
        if usage is None or identifier in self._responses:
            return None
        if identifier:
            self._responses.add(identifier)
        return usage if self._is_new(usage, self._recorded, self._counted) else None

    def is_current(self, info: Mapping[str, Any]) -> bool:
        """Return True if an event has the newest total, or none."""
        total = mapping(info.get("total_token_usage"))
        return not total or total == self._totals

    def begin_response(self) -> None:
        """Begin a response: later reports are not repetitions of those before it."""
        self._recorded.clear()
        self._counted.clear()

    @staticmethod
    def _is_new(usage: Usage, reported: list[Counted], otherwise: list[Counted]) -> bool:
        """Return True unless the other kind of line has reported the response of this usage; note the report."""
        counted = (usage.prompt, usage.cache_read, usage.output)
        if counted in otherwise:
            otherwise.remove(counted)
            return False
        reported.append(counted)
        return True


def _added(total: Mapping[str, Any], before: Mapping[str, Any]) -> Usage | None:
    """Return the increase of a total, or all of it if it was reset."""
    added = {name: count(total.get(name)) - count(before.get(name)) for name in ALL_COUNTS}
    return usage_of(added) if min(added.values()) >= 0 else usage_of(total)


TIERS = {"fast": "priority"}
"""Service tiers by Codex's name for them."""


class TurnSettings:
    """Model, effort and billing terms (`BillingTerms.code`) of the turns from here on."""

    def __init__(self) -> None:
        self.model = ""
        self.effort = ""
        self.terms = ""
        self._turn = ""
        self._next = ("", "")

    def apply(self, settings: Mapping[str, Any]) -> None:
        """Note the settings in an event; without a service tier, it is the default one."""
        tier = normalized_value(settings.get("service_tier"))
        self._next = string(settings.get("model")), BillingTerms(tier=TIERS.get(tier, tier)).code

    def begin_turn(self, payload: Mapping[str, Any], *, is_start: bool = False) -> None:
        """Begin a turn, by its event or by its context, which names the model and may be repeated within the turn."""
        turn = string(payload.get("turn_id"))
        if is_start or not turn or turn != self._turn:
            model, self.terms = self._next
            self.model, self._turn = model or self.model, turn
        self.model = string(payload.get("model")) or self.model
        self.effort = clean_string(payload.get("effort")) or self.effort


INHERITED = -2
"""Call index for calls of another session."""


class CodexUsage(NamedTuple):
    """A usage report: the block of its line, and the id of its response; empty in an event."""

    usage: Usage
    time: float | None
    block: Block
    identifier: str = ""


class Attribution:
    """Assigns usage reports to calls.

    The first report shows the order: if there is no response yet that it could belong to, reports precede the items of
    their response, otherwise they follow. A report that matches no recorded response, such as a summary request's, is
    left over.
    """

    def __init__(self) -> None:
        self._call = NONE
        self._lacks = False
        self._is_passed = False
        self._waiting: CodexUsage | None = None
        self._precedes_response: bool | None = None

    @property
    def waiting(self) -> CodexUsage | None:
        return self._waiting

    def begin(self, call: int) -> CodexUsage | None:
        """Begin the response of a call. Return its usage if already reported."""
        waiting, self._waiting = self._waiting, None
        self._call, self._lacks, self._is_passed = call, waiting is None, False
        return waiting

    def pass_by(self) -> None:
        """Mark the start of a turn or prompt; later reports do not belong to earlier responses."""
        self._is_passed = True

    def report(self, report: CodexUsage) -> tuple[int, CodexUsage | None]:
        """Assign a usage report. Return its call, `NONE` while it waits, and an earlier report left over."""
        if self._lacks and (not self._is_passed or self._precedes_response is False):
            self._lacks, self._precedes_response = False, False
            return self._call, None
        if self._precedes_response is None:
            self._precedes_response = True
        waited, self._waiting = self._waiting, report
        return NONE, waited

    def take_unassigned(self, *, ends: bool = False) -> CodexUsage | None:
        """Return a pending report that cannot belong to the next response, or to any response if a turn `ends`."""
        if self._waiting is None or (self._precedes_response and not ends):
            return None
        waiting, self._waiting = self._waiting, None
        return waiting

    def forget(self) -> None:
        """Drop the pending report, which belongs to another session."""
        self._waiting = None


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
        """Return True if the next line can be a copy, and move past it. Only lines with ids may be omitted."""
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
    """Separates copied lines from a rollout's own. `identifier`: the rollout's own id, from its first header."""

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
