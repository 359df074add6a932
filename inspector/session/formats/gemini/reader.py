"""Read Gemini CLI sessions: JSONL logs, and the documents of older versions.

The log is interpreted like `loadConversationRecord` of google-gemini/gemini-cli: a record with a known id replaces the
earlier one, `$rewindTo` removes a record and all after it (everything if the record is unknown), and `$set` with
messages replaces the whole conversation. Unlike there, nothing that was once in a prompt is dropped: messages stay,
marked as taken back, and the contexts record the messages of each prompt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from inspector.session.builder import OpenContext, SessionBuilder
from inspector.session.formats.gemini import CHATS, MESSAGES, NAME, blocks_again, is_sent, parts_of, usage_of
from inspector.session.json import (
    FileNode,
    clean_string,
    clean_text,
    mapping,
    objects,
    seconds,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import (
    BlockKind,
    Call,
    Compaction,
    ContextCause,
    LinkKind,
    Message,
    Role,
    SessionLink,
)
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.snapshot_list import SnapshotList
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.json import Node
    from inspector.session.model import Block, Usage


class About(NamedTuple):
    """Metadata of a record. `is_sent`: true if it is part of the conversation."""

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
    RESULTS = 2


@dataclass(eq=False)
class LoggedPart:
    """A part of a record that becomes one message. `is_copy`: it is a checkpoint's version of a known record."""

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
    """The latest version of a record. `units`: its non-empty parts in order."""

    number: int
    units: list[LoggedPart] = field(default_factory=list)

    @property
    def sent(self) -> list[LoggedPart]:
        return [unit for unit in self.units if unit.is_sent]


@dataclass(eq=False)
class Segment:
    """A context. `retained`: number of leading members from the previous context."""

    cause: ContextCause
    members: list[LoggedPart] = field(default_factory=list)
    retained: int = 0
    first_entry: int = 0
    time: str = ""


class Log:
    """A conversation after replaying its log: the latest version of every record, in order of appearance."""

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
        """Return a checkpoint's entry, with parts of equal content reused; its thoughts may differ."""
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


INJECTED = ("<session_context>", "<hook_context>", "<system-reminder>")
"""Prefixes of injected user messages."""

SNAPSHOT = "<state_snapshot>"
"""Marker in the summary of a compressed conversation (`chatCompressionService.ts`)."""


class LogBuilder:
    """State of the session after the last update; appended records are added incrementally."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._starts: list[int] = []
        self._names: dict[str, str] = {}
        self._calls: list[Call] = []
        self._contexts: list[OpenContext] = []
        self._compactions: list[Compaction] = []
        self._repeats_results = False

    def settle(self, log: Log, builder: SessionBuilder) -> None:
        first = log.take_changes()
        if not self._extend(log, first):
            self._rebuild(log)
        contexts = self._contexts
        if len(contexts) == 1 and not contexts[0].members:
            contexts = []
        builder.replace_all(self._messages, self._calls, contexts, self._compactions)

    def _rebuild(self, log: Log) -> None:
        answered = {
            block.tool_call_id
            for entry in log.entries
            for unit in entry.units
            if unit.share is RecordPart.RESULTS
            for block in unit.blocks
            if block.tool_call_id
        }
        self._messages, self._starts, self._names, self._repeats_results = [], [], {}, False
        self._contexts, self._calls, self._compactions = [], [], []
        index_of = self._add_rows(_rows(log), answered)
        called: set[int] = set()
        for number, segment in enumerate(log.segments):
            members = [unit for unit in segment.members if id(unit) in index_of]
            places = [index_of[id(unit)] for unit in members]
            retained = sum(id(unit) in index_of for unit in segment.members[: segment.retained])
            self._contexts.append(OpenContext(number, SnapshotList(places), segment.cause, 0, retained))
            self._add_calls(members, places, number, retained, called)
            if segment.cause is ContextCause.COMPACTION:
                self._compactions.append(_compaction(segment, index_of, len(self._messages)))
                _mark_summary(members, index_of, self._messages)
        self._calls.sort(key=lambda call: (call.response, call.context))

    def _extend(self, log: Log, first: int) -> bool:
        """Add the records from `first` on; False if earlier ones may have changed."""
        if not first or first > len(self._starts) or self._repeats_results:
            return False
        start = self._starts[first] if first < len(self._starts) else len(self._messages)
        if any(compaction.message >= start for compaction in self._compactions):
            return False
        context, segment = self._contexts[-1], log.segments[-1]
        added = [unit for entry in log.entries[first:] for unit in entry.units]
        if any(_repeats_results(unit) for unit in added):
            return False
        kept = len(context.members)
        while kept and context.members[kept - 1] >= start:
            kept -= 1
        if kept < context.retained:
            return False
        self._messages = self._messages[:start]
        del self._starts[first:]
        index_of = self._add_rows(added, set())
        sent = set(map(id, segment.members[-len(added) :])) if added else set()
        members = [unit for unit in added if id(unit) in sent and id(unit) in index_of]
        places = [index_of[id(unit)] for unit in members]
        before = next((unit for unit in reversed(segment.members[: -len(members) or None])), None)
        context.members[kept:] = places
        self._calls = [call for call in self._calls if call.response < start]
        self._add_calls(members, places, context.index, 0, set(), kept, before)
        return True

    def _add_rows(self, units: Sequence[LoggedPart], answered: set[str]) -> dict[int, int]:
        """Add messages for non-empty parts; return their indices by part."""
        index_of: dict[int, int] = {}
        for unit in units:
            while len(self._starts) <= unit.entry:
                self._starts.append(len(self._messages))
            self._repeats_results = self._repeats_results or _repeats_results(unit)
            blocks = _shown(unit, answered, self._names)
            if blocks or not unit.blocks:
                index_of[id(unit)] = len(self._messages)
                self._messages.append(_message(unit, blocks))
        return index_of

    def _add_calls(
        self,
        members: Sequence[LoggedPart],
        places: Sequence[int],
        context: int,
        retained: int,
        called: set[int],
        kept: int = 0,
        before: LoggedPart | None = None,
    ) -> None:
        """Add the calls of responses at `places` that have none yet, after `kept` members, and note them."""
        for place, unit in enumerate(members):
            if place >= retained and id(unit) not in called and _is_call(unit, before):
                called.add(id(unit))
                self._calls.append(_call(unit, context, kept + place, places[place]))
            before = unit


def _repeats_results(unit: LoggedPart) -> bool:
    """Return True if a record may repeat results that are also in the records of their calls."""
    return unit.share is RecordPart.SPOKEN and any(block.kind is BlockKind.TOOL_RESULT for block in unit.blocks)


def _rows(log: Log) -> list[LoggedPart]:
    """Return every part in file order: results last within a record, and parts that no longer belong to a record."""
    known = [unit for entry in log.entries for unit in entry.units]
    present = set(map(id, known))
    gone = {id(unit): unit for segment in log.segments for unit in segment.members if id(unit) not in present}
    if gone:
        known = sorted([*known, *gone.values()], key=lambda unit: (unit.entry, unit.share))
    return known


def _shown(unit: LoggedPart, answered: set[str], names: dict[str, str]) -> tuple[Block, ...]:
    """Return a part's blocks without results repeated in their call's record, and with tool names."""
    kinds = {block.kind for block in unit.blocks}
    if BlockKind.TOOL_CALL in kinds:
        names.update(
            {block.tool_call_id: block.tool_name for block in unit.blocks if block.kind is BlockKind.TOOL_CALL}
        )
    if unit.share is not RecordPart.SPOKEN or BlockKind.TOOL_RESULT not in kinds:
        return unit.blocks
    return tuple(
        structs.replace(block, tool_name=block.tool_name or names.get(block.tool_call_id, ""))
        if block.kind is BlockKind.TOOL_RESULT
        else block
        for block in unit.blocks
        if block.kind is not BlockKind.TOOL_RESULT or block.tool_call_id not in answered
    )


def _message(unit: LoggedPart, blocks: tuple[Block, ...]) -> Message:
    """Return a part's message, the same object if nothing changed."""
    made = unit.message
    if made is not None and made.is_abandoned == unit.is_abandoned and made.blocks is blocks:
        return made
    role = Role.OTHER
    if unit.is_sent:
        role = Role.ASSISTANT if unit.is_response else Role.USER
    unit.message = Message(
        role=role,
        blocks=blocks,
        time=unit.about.time,
        identifier=unit.about.identifier,
        is_meta=role is Role.USER and bool(blocks) and blocks[0].preview.lstrip().startswith(INJECTED),
        is_abandoned=unit.is_abandoned,
    )
    return unit.message


def _is_call(unit: LoggedPart, before: LoggedPart | None) -> bool:
    """Return True if a part is a separate response, i.e. has its own call; `before` precedes it in the prompt."""
    if unit.is_copy or not unit.is_response:
        return False
    return unit.about.usage is not None or not _continues(unit, before)


def _continues(unit: LoggedPart, before: LoggedPart | None) -> bool:
    """Return True if a record holds calls of the previous response, separated from it by a notice."""
    if before is None or not before.is_response:
        return False
    says_nothing = not any(block.kind is BlockKind.ASSISTANT_TEXT for block in unit.blocks)
    return says_nothing and not any(block.kind is BlockKind.TOOL_CALL for block in before.blocks)


def _call(unit: LoggedPart, context: int, prompt_messages: int, response: int) -> Call:
    return Call(
        response=response,
        context=context,
        prompt_messages=prompt_messages,
        model=unit.about.model,
        time=unit.about.time,
        usage=unit.about.usage,
        identifier=unit.about.identifier,
    )


def _compaction(segment: Segment, index_of: dict[int, int], count: int) -> Compaction:
    """Build the compaction for a checkpoint; its message is the first new one after it."""
    new = [index_of[id(unit)] for unit in segment.members if unit.entry >= segment.first_entry and id(unit) in index_of]
    return Compaction(min(new, default=count), time=seconds(segment.time))


def _mark_summary(members: Sequence[LoggedPart], index_of: dict[int, int], messages: list[Message]) -> None:
    for unit in members:
        if unit.about.type == "user" and any(SNAPSHOT in block.preview for block in unit.blocks):
            index = index_of[id(unit)]
            messages[index] = structs.replace(messages[index], is_summary=True)
            return


class GeminiInterpreter(RecordInterpreter):
    """Builds a session from the lines of a log or from an older version's document."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__()
        if path is not None:
            note_parent(path, self.builder)
        self._log = Log()
        self._settlement = LogBuilder()
        self._is_settled = True

    def add(self, record: Record) -> None:
        value = record.value
        self.builder.record_counts[count_name(value)] += 1
        self._is_settled = False
        if isinstance(value.get("$rewindTo"), str):
            self._log.rewind(value["$rewindTo"])
        elif isinstance(value.get("id"), str):
            self._log.put(record)
            note_subagents(value, self.builder)
        elif isinstance(value.get("$set"), dict):
            _note(value["$set"], self.builder)
            if isinstance(value["$set"].get(MESSAGES), list):
                records = list(
                    _records(FileNode(record.data, record.offset), self.builder, record.line, "$set", MESSAGES)
                )
                for one in records:
                    note_subagents(one.value, self.builder)
                self._log.restart(records, string(value["$set"].get("lastUpdated")))
        elif isinstance(value.get("sessionId"), str):
            _note(value, self.builder)
            node = FileNode(record.data, record.offset) if MESSAGES in value else None
            for one in _records(node, self.builder, record.line, MESSAGES):
                self._log.put(one)
                note_subagents(one.value, self.builder)
        else:
            self._log.put(record._replace(value={**value, "id": f"line {record.line}"}))

    def take_document(self, document: Node) -> None:
        _note(mapping(document.value()), self.builder)
        for place, record in enumerate(_records(document, self.builder, 0, MESSAGES)):
            self.builder.record_counts[count_name(record.value)] += 1
            note_subagents(record.value, self.builder)
            self._log.put(record if isinstance(record.value.get("id"), str) else _named(record, place))
        self._is_settled = False

    def settle(self) -> None:
        """Rebuild the session: records can replace one another."""
        if not self._is_settled:
            self._settlement.settle(self._log, self.builder)
            self._is_settled = True

    blocks_of_record = staticmethod(blocks_again)


def gemini_reader(path: Path) -> Reader:
    if Sample(path).is_lines:
        return JsonlReader(path, NAME, GeminiInterpreter(path))
    return JsonReader(path, NAME, GeminiInterpreter)


def count_name(value: Mapping[str, Any]) -> str:
    for name in ("$rewindTo", "$set"):
        if name in value:
            return name
    if "id" in value:
        return string(value.get("type")) or "(no type)"
    return "metadata" if "sessionId" in value else "(no type)"


def _records(node: Node | None, builder: SessionBuilder, line: int, *names: str) -> Iterator[Record]:
    """Yield the objects in a nested array with their places; report other items as diagnostics."""
    for name in names:
        node = node.fields().get(name) if node is not None else None
    for item in node.items() if node is not None else ():
        value = item.value()
        if isinstance(value, dict):
            yield Record(value, item.raw(), item.offset)
        else:
            builder.diagnose("not a message", line, item.offset, skipped=True)


def _named(record: Record, place: int) -> Record:
    return record._replace(value={**record.value, "id": f"message {place}"})


def note_parent(path: Path, builder: SessionBuilder) -> None:
    if path.parent.parent.name == CHATS:
        builder.link(SessionLink(LinkKind.PARENT, path.parent.name))


def note_subagents(record: Mapping[str, Any], builder: SessionBuilder) -> None:
    for call in objects(record.get("toolCalls")):
        if agent := clean_string(call.get("agentId")):
            title = clean_text(string(call.get("description")) or string(call.get("displayName")))
            identifier = clean_string(call.get("id"))
            builder.link(SessionLink(LinkKind.SUBAGENT, agent, None, identifier, title))


def _note(value: Mapping[str, Any], builder: SessionBuilder) -> None:
    """Record session metadata. Later metadata replaces earlier."""
    builder.agent = "Gemini CLI"
    builder.identifier = string(value.get("sessionId")) or builder.identifier
    builder.title = string(value.get("summary")) or builder.title
    folders = [folder for folder in sequence(value.get("directories")) if isinstance(folder, str)]
    builder.working_directory = folders[0] if folders else builder.working_directory
