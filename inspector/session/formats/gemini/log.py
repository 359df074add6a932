"""The log of a conversation: records that replace earlier ones, rewinds, and checkpoints that begin it anew.

What a log says is what `loadConversationRecord` of google-gemini/gemini-cli makes of it: a record with a known id takes
the earlier one's place, `$rewindTo` takes away a record and all that follow it (everything where it is unknown), and
`$set` with messages is the whole conversation from now on. Here nothing that was once part of a prompt is lost: rows
stay, marked where they were taken back, and the contexts say what was sent when.
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
    """What a record says beside its blocks.

    Attributes:
        identifier: Its id.
        type: Its type.
        time: Seconds since the epoch, or None.
        model: The model's name.
        usage: What the provider reported, or None.
        is_sent: Whether it is part of the conversation.
    """

    identifier: str
    type: str
    time: float | None
    model: str
    usage: Usage | None
    is_sent: bool


class Share(IntEnum):
    """What of a record a message is, in the order in which they stand."""

    THOUGHTS = 0
    """What the model thought: shown, never sent."""
    SPOKEN = 1
    """What the record says itself."""
    RESULTS = 2
    """The results of the tools that it calls."""


@dataclass(eq=False)
class LogShare:
    """A share of a record that is one message.

    Attributes:
        entry: Number of its record, in order of first appearance.
        share: Which share it is.
        about: The record, without what its blocks hold.
        blocks: Its blocks.
        is_copy: A checkpoint's version of a record that was there before.
        is_abandoned: Whether it was taken back.
        message: What was made of it last.
    """

    entry: int
    share: Share
    about: About
    blocks: tuple[Block, ...]
    is_copy: bool = False
    is_abandoned: bool = False
    message: Message | None = None

    @property
    def is_sent(self) -> bool:
        """Whether it is part of the conversation."""
        return self.about.is_sent and self.share is not Share.THOUGHTS

    @property
    def is_response(self) -> bool:
        """Whether it is what the model said."""
        return self.about.type == "gemini" and self.share is Share.SPOKEN


@dataclass(eq=False)
class LoggedMessage:
    """A record as it was last.

    Attributes:
        number: In order of first appearance.
        units: Its shares that hold anything, in their order.
    """

    number: int
    units: list[LogShare] = field(default_factory=list)

    @property
    def sent(self) -> list[LogShare]:
        """Those that are part of the conversation."""
        return [unit for unit in self.units if unit.is_sent]


@dataclass(eq=False)
class Segment:
    """A context.

    Attributes:
        cause: Why it began.
        members: What is sent, in order.
        carried: How many of these, from the first, were there before.
        first_entry: Number of the first record that came after it began.
        time: When it began, as the record says.
    """

    cause: ContextCause
    members: list[LogShare] = field(default_factory=list)
    carried: int = 0
    first_entry: int = 0
    time: str = ""


class Log:
    """A conversation as its log has it so far.

    Attributes:
        entries: Every record there ever was, in order of first appearance, as it was last.
        segments: The contexts.
    """

    def __init__(self) -> None:
        self.entries: list[LoggedMessage] = []
        self.segments: list[Segment] = [Segment(ContextCause.START)]
        self._live: dict[str, LoggedMessage] = {}
        self._first_of_segment = 0
        self._first_changed = 0

    def take_changes(self) -> int:
        """Number of the first record that changed since this was asked last; 0 where contexts changed otherwise.

        Records from that one on stand, in order, at the end of the last context, and in no other.
        """
        first, self._first_changed = self._first_changed, len(self.entries)
        return first if first >= self._first_of_segment else 0

    def _note(self, number: int) -> None:
        self._first_changed = min(self._first_changed, number)

    def put(self, record: Record) -> None:
        """Add a record, or put it in the place of the one with its id."""
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
        """Take back a record and all that follow it; everything where it is unknown."""
        self._note(0)
        names = list(self._live)
        first = names.index(identifier) if identifier in self._live else 0
        for name in names[first:]:
            for unit in self._live.pop(name).units:
                unit.is_abandoned = True
        self._begin(Segment(ContextCause.REWIND, _sent(self._live.values())))

    def restart(self, records: Iterable[Record], time: str = "") -> None:
        """Go on from a checkpoint: these records are the conversation from now on.

        Checkpoints are written whenever the program's own list was changed. Where that only took back the last
        messages it is a rewind; where earlier ones went or changed, the conversation was compacted.
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
        """Put a record in another's place, in the context that grows too."""
        self._note(entry.number)
        segment = self.segments[-1]
        before = entry.sent
        known = {unit.share: unit for unit in entry.units}
        entry.units = [_renewed(known.get(unit.share), unit) for unit in _units(entry.number, record)]
        start = _last_place(segment.members, before)
        if start is None:
            # It said nothing until now, and had its place all the same.
            later = (place for place, unit in enumerate(segment.members) if unit.entry > entry.number)
            start = next(later, len(segment.members))
        end = start + sum(unit in before for unit in segment.members[start : start + 2])
        segment.members[start:end] = entry.sent
        if start < segment.carried:
            segment.carried += len(entry.sent) - (end - start)
        gone = [unit for unit in before if unit not in entry.sent]
        for other in self.segments[:-1] if gone else ():
            other.carried -= sum(unit in gone for unit in other.members[: other.carried])
            other.members = [unit for unit in other.members if unit not in gone]

    def _known(self, entry: LoggedMessage | None, record: Record) -> LoggedMessage:
        """The entry of a checkpoint's record: made of what there is, as far as it says the same.

        The program's own list has thoughts in another form, or none; that alone changes nothing.
        """
        units = _units(len(self.entries), record)
        if entry is not None and _said(entry.units) == _said(units):
            return entry
        made = self._entry()
        made.units = units
        if entry is not None:
            made.units = [unit for unit in units if unit.share is not Share.THOUGHTS]
            for unit in made.units:
                unit.is_copy = True
        return made

    def _begin(self, segment: Segment) -> None:
        before = self.segments[-1].members
        if segment.members != before:
            known = set(map(id, before))
            places = [place for place, unit in enumerate(segment.members) if id(unit) in known]
            segment.carried = places[-1] + 1 if places else 0
            self.segments.append(segment)
            self._first_of_segment = len(self.entries)


def _units(number: int, record: Record) -> list[LogShare]:
    """A record's shares that hold anything. A response that was counted is one even where it says nothing."""
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
    shares = ((Share.THOUGHTS, parts.thoughts), (Share.SPOKEN, parts.spoken), (Share.RESULTS, parts.results))
    return [
        LogShare(number, share, about, tuple(made.block for made in blocks))
        for share, blocks in shares
        if blocks or (is_response and share is Share.SPOKEN)
    ]


def _renewed(unit: LogShare | None, now: LogShare) -> LogShare:
    """A unit as it is now. The same one, so that contexts before the present one have it too."""
    if unit is None or unit.is_sent != now.is_sent:
        return now
    unit.about, unit.blocks, unit.message = now.about, now.blocks, None
    return unit


def _last_place(members: Sequence[LogShare], units: Sequence[LogShare]) -> int | None:
    """Where units stand that follow one another; near the end, as a rule."""
    found = None
    for place in range(len(members) - 1, -1, -1) if units else ():
        if members[place] in units:
            found = place
        elif found is not None:
            break
    return found


def _sent(entries: Iterable[LoggedMessage]) -> list[LogShare]:
    return [unit for entry in entries for unit in entry.sent]


def _said(units: Iterable[LogShare]) -> list[tuple[int, int, bytes, str]]:
    """What identifies the part of a record that is sent. Thoughts come and go with the form of a record."""
    return [
        (unit.share, block.kind, block.digest, block.tool_call_id)
        for unit in units
        for block in unit.blocks
        if block.kind is not BlockKind.THINKING
    ]
