"""Replay a conversation log with record replacements, rewinds and checkpoints.

The log is interpreted like `loadConversationRecord` of google-gemini/gemini-cli: a record with a known id replaces the
earlier one, `$rewindTo` removes a record and all after it (everything if the record is unknown), and `$set` with
messages replaces the whole conversation. Unlike there, nothing that was once in a prompt is dropped: messages stay,
marked as taken back, and the contexts record the messages of each prompt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.formats.gemini.blocks import is_sent, parts_of, usage_of
from inspector.session.json.values import seconds_of_any, string
from inspector.session.model import BlockKind, ContextCause

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inspector.session.model import Block, Message, Usage
    from inspector.session.reader import Record


class About(NamedTuple):
    """Metadata of a record.

    Attributes:
        identifier: Its id.
        type: Its type.
        time: Seconds since the epoch, or None.
        model: The model's name.
        usage: Reported usage, or None.
        is_sent: True if it is part of the conversation.
    """

    identifier: str
    type: str
    time: float | None
    model: str
    usage: Usage | None
    is_sent: bool


class RecordPart(IntEnum):
    """The parts of a record that become separate messages, in order."""

    THOUGHTS = 0
    """Thoughts: shown, never sent."""
    SPOKEN = 1
    """The record's own content."""
    RESULTS = 2
    """Results of the tools it calls."""


@dataclass(eq=False)
class LoggedPart:
    """A part of a record that becomes one message.

    Attributes:
        entry: Number of its record, in order of first appearance.
        share: The part.
        about: The record's metadata.
        blocks: Its blocks.
        is_copy: True for a checkpoint's version of an existing record.
        is_abandoned: True if taken back.
        message: The last message built from it.
    """

    entry: int
    share: RecordPart
    about: About
    blocks: tuple[Block, ...]
    is_copy: bool = False
    is_abandoned: bool = False
    message: Message | None = None

    @property
    def is_sent(self) -> bool:
        return self.about.is_sent and self.share is not RecordPart.THOUGHTS

    @property
    def is_response(self) -> bool:
        return self.about.type == "gemini" and self.share is RecordPart.SPOKEN


@dataclass(eq=False)
class LoggedMessage:
    """The latest version of a record.

    Attributes:
        number: Its number, in order of first appearance.
        units: Its non-empty parts in order.
    """

    number: int
    units: list[LoggedPart] = field(default_factory=list)

    @property
    def sent(self) -> list[LoggedPart]:
        return [unit for unit in self.units if unit.is_sent]


@dataclass(eq=False)
class Segment:
    """A context.

    Attributes:
        cause: Reason for its start.
        members: The parts sent, in order.
        retained: Number of leading members from the previous context.
        first_entry: Number of the first record after its start.
        time: Start time as recorded.
    """

    cause: ContextCause
    members: list[LoggedPart] = field(default_factory=list)
    retained: int = 0
    first_entry: int = 0
    time: str = ""


class Log:
    """State of a conversation after replaying its log.

    Attributes:
        entries: The latest version of every record, in order of first appearance.
        segments: The contexts.
    """

    def __init__(self) -> None:
        self.entries: list[LoggedMessage] = []
        self.segments: list[Segment] = [Segment(ContextCause.START)]
        self._live: dict[str, LoggedMessage] = {}
        self._first_of_segment = 0
        self._first_changed = 0

    def take_changes(self) -> int:
        """Return the number of the first record changed since the last call; 0 if contexts changed otherwise.

        From that record on, all are at the end of the last context, in order, and in no other.
        """
        first, self._first_changed = self._first_changed, len(self.entries)
        return first if first >= self._first_of_segment else 0

    def _note(self, number: int) -> None:
        self._first_changed = min(self._first_changed, number)

    def put(self, record: Record) -> None:
        """Add a record, or replace the one with its id."""
        identifier = string(record.value.get("id"))
        entry = self._live.get(identifier)
        if entry is not None:
            self._replace(entry, record)
            return
        entry = self._live[identifier] = self._entry()
        entry.units = _units(entry.number, record)
        self._note(entry.number)
        self.segments[-1].members.extend(entry.sent)

    def rewind(self, identifier: str) -> None:
        """Take back a record and all after it; everything if the record is unknown."""
        self._note(0)
        names = list(self._live)
        first = names.index(identifier) if identifier in self._live else 0
        for name in names[first:]:
            for unit in self._live.pop(name).units:
                unit.is_abandoned = True
        self._begin(Segment(ContextCause.REWIND, _sent(self._live.values())))

    def restart(self, records: Iterable[Record], time: str = "") -> None:
        """Replace the conversation by the records of a checkpoint.

        Checkpoints are written whenever the program changes its message list. One that only removes the last messages
        is a rewind; if earlier ones are removed or changed, it is a compaction.
        """
        self._note(0)
        first_entry = len(self.entries)
        old, live = _sent(self._live.values()), dict[str, LoggedMessage]()
        for record in records:
            if identifier := string(record.value.get("id")):
                live[identifier] = self._known(self._live.get(identifier), record)
        self._live = live
        new = _sent(live.values())
        if new[: len(old)] == old:
            self.segments[-1].members.extend(new[len(old) :])
        elif old[: len(new)] == new:
            for unit in old[len(new) :]:
                unit.is_abandoned = True
            self._begin(Segment(ContextCause.REWIND, new))
        else:
            self._begin(Segment(ContextCause.COMPACTION, new, first_entry=first_entry, time=time))

    def _entry(self) -> LoggedMessage:
        self.entries.append(LoggedMessage(len(self.entries)))
        return self.entries[-1]

    def _replace(self, entry: LoggedMessage, record: Record) -> None:
        """Replace a record, also in the current context."""
        self._note(entry.number)
        segment = self.segments[-1]
        before = entry.sent
        known = {unit.share: unit for unit in entry.units}
        entry.units = [_updated(known.get(unit.share), unit) for unit in _units(entry.number, record)]
        start = _last_place(segment.members, before)
        if start is None:
            # It was empty until now but keeps its position.
            later = (place for place, unit in enumerate(segment.members) if unit.entry > entry.number)
            start = next(later, len(segment.members))
        end = start + sum(unit in before for unit in segment.members[start : start + 2])
        segment.members[start:end] = entry.sent
        if start < segment.retained:
            segment.retained += len(entry.sent) - (end - start)
        gone = [unit for unit in before if unit not in entry.sent]
        for other in self.segments[:-1] if gone else ():
            other.retained -= sum(unit in gone for unit in other.members[: other.retained])
            other.members = [unit for unit in other.members if unit not in gone]

    def _known(self, entry: LoggedMessage | None, record: Record) -> LoggedMessage:
        """Return the entry of a checkpoint's record, reusing existing parts with the same content.

        The program's message list has thoughts in another form or none, which does not count as a change.
        """
        units = _units(len(self.entries), record)
        if entry is not None and _texts(entry.units) == _texts(units):
            return entry
        made = self._entry()
        made.units = units
        if entry is not None:
            made.units = [unit for unit in units if unit.share is not RecordPart.THOUGHTS]
            for unit in made.units:
                unit.is_copy = True
        return made

    def _begin(self, segment: Segment) -> None:
        before = self.segments[-1].members
        if segment.members != before:
            known = set(map(id, before))
            places = [place for place, unit in enumerate(segment.members) if id(unit) in known]
            segment.retained = places[-1] + 1 if places else 0
            self.segments.append(segment)
            self._first_of_segment = len(self.entries)


def _units(number: int, record: Record) -> list[LoggedPart]:
    """Return a record's non-empty parts. A response with usage has one even if it is empty."""
    value = record.value
    parts = parts_of(value, record.data, record.offset)
    about = About(
        identifier=string(value.get("id")),
        type=string(value.get("type")),
        time=seconds_of_any(value.get("timestamp")),
        model=string(value.get("model")),
        usage=usage_of(value),
        is_sent=is_sent(value),
    )
    is_response = about.type == "gemini" and about.usage is not None
    shares = (
        (RecordPart.THOUGHTS, parts.thoughts),
        (RecordPart.SPOKEN, parts.spoken),
        (RecordPart.RESULTS, parts.results),
    )
    return [
        LoggedPart(number, share, about, tuple(made.block for made in blocks))
        for share, blocks in shares
        if blocks or (is_response and share is RecordPart.SPOKEN)
    ]


def _updated(unit: LoggedPart | None, now: LoggedPart) -> LoggedPart:
    """Update a part in place, so that earlier contexts see the change too."""
    if unit is None or unit.is_sent != now.is_sent:
        return now
    unit.about, unit.blocks, unit.message = now.about, now.blocks, None
    return unit


def _last_place(members: Sequence[LoggedPart], units: Sequence[LoggedPart]) -> int | None:
    """Return the position of consecutive parts, searching from the end."""
    found = None
    for place in range(len(members) - 1, -1, -1) if units else ():
        if members[place] in units:
            found = place
        elif found is not None:
            break
    return found


def _sent(entries: Iterable[LoggedMessage]) -> list[LoggedPart]:
    return [unit for entry in entries for unit in entry.sent]


def _texts(units: Iterable[LoggedPart]) -> list[tuple[int, int, bytes, str]]:
    """Return the identity of a record's sent content. Thoughts are excluded: they vary with a record's form."""
    return [
        (unit.share, block.kind, block.digest, block.tool_call_id)
        for unit in units
        for block in unit.blocks
        if block.kind is not BlockKind.THINKING
    ]
