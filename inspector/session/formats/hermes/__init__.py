"""Read Hermes: a database of all sessions, and one file per session in older versions or written by a gateway.

The tables are defined by `hermes_state_common.py` in NousResearch/hermes-agent; all versions of their schema are read.

Usage is summed per session in `sessions`, and since schema 23 per session, model and task in `session_model_usage`
(`agent/usage_pricing.py` in NousResearch/hermes-agent): input excludes cached tokens, output includes reasoning. Rows
with a task are requests outside the conversation: titles, compressions, reviews.

Every rewrite of the history publishes a record without content, `hermes.compaction` version 1
(`agent/compaction_events.py`). A user's NeMo Relay exporter writes it as a line of an ATOF file.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, structs

from inspector.session.builder import SessionBuilder, Thread, ToolNames
from inspector.session.files import Locator, glob_sorted, open_for_reading
from inspector.session.format import ContainedSession, Format, home_of
from inspector.session.formats.chat import SYSTEM, TOOLS, blocks_of_definition, blocks_of_message, role_of
from inspector.session.formats.plain import ROLES, blocks_of_record
from inspector.session.json import (
    FileNode,
    clean_string,
    count,
    count_or_none,
    decode_json,
    json_in,
    mapping,
    object_nodes,
    object_of,
    seconds_of_any,
    string,
)
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import (
    NO_MESSAGE,
    BlockKind,
    Compaction,
    ContextCause,
    Message,
    Origin,
    RecordedTotals,
    Role,
    SideCall,
    Usage,
)
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from inspector.session.blocks import TextBlock
    from inspector.session.json import Fields, Node
    from inspector.session.model import Block


NAME = "hermes"

META = "session_meta"
"""Role of an entry with session metadata."""

TABLES = {
    "sessions": frozenset({"id", "source", "parent_session_id", "started_at"}),
    "messages": frozenset({"id", "session_id", "role", "content", "tool_calls", "timestamp"}),
}
"""Tables and columns that identify a Hermes database."""


def is_document(value: object) -> bool:
    about = mapping(value)
    messages = about.get("messages")
    is_own = isinstance(about.get("session_id"), str) and any(
        name in about for name in ("system_prompt", "platform", "base_url")
    )
    if not is_own or not isinstance(messages, list):
        return False
    first = messages[:20]
    return not first or sum(map(_has_role, first)) * 2 > len(first)


def is_meta(record: Mapping[str, Any]) -> bool:
    """Return True for a line with session metadata."""
    return record.get("role") == META


def _has_role(item: object) -> bool:
    return string(mapping(item).get("role")) in ROLES | {META}


class HermesFormat(Format):
    """Hermes databases and session files."""

    name = "hermes"
    title = "Hermes"
    where = "~/.hermes, or $HERMES_HOME: state.db, profiles/*/state.db, and sessions in older versions"
    exact = "prompt tokens, cache reads and output in sum: only session totals are recorded"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if sample.is_database:
            return "a database with Hermes' session and message tables" if sample.has_tables(TABLES) else ""
        if sample.is_lines:
            if is_document(sample.records[0]):
                return "a JSON document with a Hermes session"
            return "a line with Hermes session metadata" if any(map(is_meta, sample.records)) else ""
        return "a JSON document with a Hermes session" if is_document(sample.document) else ""

    def homes(self) -> tuple[Path, ...]:
        home = home_of("HERMES_HOME", ".hermes")
        # The home folder also holds caches, skills and whole checkouts, which are not searched.
        return (home / "state.db", *glob_sorted(home, "profiles/*/state.db"), home / "sessions")

    def reader(self, path: Path) -> Reader:
        locator = Locator.of(path)
        if Sample(locator.file).is_database:
            from inspector.session.formats.hermes.database import HermesRows
            from inspector.session.sqlite import SqliteReader

            return SqliteReader(path, self.name, HermesRows(locator.session, locator.file.parent))

        return file_reader(path)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        if not Sample(path).is_database:
            return ()
        from inspector.session.formats.hermes.database import sessions_inside
        from inspector.session.sqlite import read_database

        return read_database(path, partial(sessions_inside, path))

    def locate(self, path: Path, identifier: str) -> Path | None:
        file = Locator.of(path).file
        return Locator(file, identifier).path if Sample(file).is_database and identifier else None


USAGE_TABLE = "session_model_usage"

USAGE_COLUMNS = (
    *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"),
    *("estimated_cost_usd", "actual_cost_usd", "api_call_count"),
)

MODEL_COLUMNS = ("session_id", "model", "task", "last_seen", *USAGE_COLUMNS)

SOURCE = "session usage"

SCHEMA = b"hermes.compaction"

FOLDERS = ("observability", "telemetry")
"""Folders next to the database that usually hold exported events."""

CONFIGURATION = "HERMES_NEMO_RELAY_PLUGINS_TOML"

MOST_BYTES = 1 << 28
"""Larger event files are not read."""

MATCH_SECONDS = 30.0
"""A compaction's record is published within this time of its summary."""


def usage_of(row: Mapping[str, Any]) -> Usage | None:
    """Convert the columns of a row; None if all are zero."""
    output = count(row.get("output_tokens"))
    return Usage(
        uncached=count(row.get("input_tokens")),
        cache_read=count(row.get("cache_read_tokens")),
        cache_write_5m=count(row.get("cache_write_tokens")),
        output=output,
        reasoning=min(count(row.get("reasoning_tokens")), output),
    ).unless_zero()


def add_totals(
    builder: SessionBuilder, session: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], first: int
) -> None:
    """Add a session's recorded totals: from its rows of `session_model_usage`, empty in older versions."""
    mine = [row for row in rows if not string(row.get("task"))] or [session]
    found = {clean_string(row.get("model")): row for row in mine if usage_of(row) is not None}
    sides: list[tuple[str, Usage]] = []
    for row in rows:
        if string(row.get("task")):
            _add_side_call(builder, row, clean_string(row.get("task")))
    if not found or first >= len(builder.calls):
        return
    if len(found) == 1:
        (model,) = found
        for index in range(first, len(builder.calls)):
            builder.calls[index] = structs.replace(builder.calls[index], model=model)
    called = {call.model for call in builder.calls[first:]}
    usages = []
    for model, row in found.items():
        usage = usage_of(row)
        if usage is not None:
            usages.append((model, usage))
            if model not in called:
                _add_side_call(builder, row, NO_MESSAGE)
                sides.append((model, usage))
    costs = [row.get("actual_cost_usd") or row.get("estimated_cost_usd") for row in found.values()]
    known = [each for each in costs if isinstance(each, (int, float)) and each > 0]
    requests = sum(count(row.get("api_call_count")) for row in found.values())
    builder.recorded_totals.append(
        RecordedTotals(
            SOURCE,
            tuple(usages),
            float(sum(known)) if len(known) == len(costs) else None,
            requests or None,
            first,
            len(builder.calls),
            side_usages=tuple(sides),
        )
    )


def _add_side_call(builder: SessionBuilder, row: Mapping[str, Any], purpose: str) -> None:
    usage = usage_of(row)
    if usage is not None:
        model, time = clean_string(row.get("model")), seconds_of_any(row.get("last_seen"))
        made = SideCall(purpose, model, time, usage, requests=count(row.get("api_call_count")))
        builder.side_calls[f"{USAGE_TABLE} {len(builder.side_calls)}"] = made


class CompactionRecord(NamedTuple):
    """A rewrite of the history: a kind such as `summarize`, estimated tokens or None, `committed` or not."""

    session: str
    time: float
    kind: str
    trigger: str
    before: int | None
    after: int | None
    reclaimed: int | None
    is_committed: bool
    outcome: str


def compaction_record(line: bytes) -> CompactionRecord | None:
    """Convert a line of an ATOF file; None if it does not record a rewrite."""
    if SCHEMA not in line:
        return None
    event = mapping(decode_json(line)[0])
    data, time = mapping(event.get("data")), seconds_of_any(event.get("timestamp"))
    if mapping(event.get("data_schema")).get("name") != SCHEMA.decode() or time is None:
        return None
    outcome = clean_string(data.get("outcome"))
    return CompactionRecord(
        string(data.get("session_id")),
        time,
        clean_string(data.get("kind")) or "compaction",
        clean_string(data.get("trigger")),
        count_or_none(data.get("tokens_before")),
        count_or_none(data.get("tokens_after")),
        count_or_none(data.get("tokens_reclaimed")),
        outcome == "committed" and data.get("scope") == "history",
        outcome or "unknown",
    )


class CompactionEvents:
    """Reads the records of a database's sessions, each file again only after a change."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._known: dict[Path, tuple[tuple[float, int], list[CompactionRecord]]] = {}

    def of(self, sessions: Collection[str]) -> list[CompactionRecord]:
        """Return the records of some sessions in order of time."""
        found = [record for file in self._files() for record in self._read(file) if record.session in sessions]
        return sorted(set(found), key=lambda record: record.time)

    @property
    def files(self) -> list[Path]:
        """Files with records, from the last read."""
        return [file for file, (_, records) in self._known.items() if records]

    def _files(self) -> Iterable[Path]:
        folders = [self._home / name for name in FOLDERS]
        if configured := os.environ.get(CONFIGURATION):
            folders += _output_folders(Path(configured))
        return dict.fromkeys(file for folder in folders for file in glob_sorted(folder, "**/*.jsonl"))

    def _read(self, file: Path) -> list[CompactionRecord]:
        try:
            status = file.stat()
            state = (status.st_mtime, status.st_size)
            known = self._known.get(file)
            if known is not None and known[0] == state:
                return known[1]
            records = []
            if status.st_size <= MOST_BYTES:
                with open_for_reading(file) as lines:
                    records = [record for line in lines if (record := compaction_record(line)) is not None]
        except OSError:
            return []
        self._known[file] = (state, records)
        return records


def _output_folders(configuration: Path) -> list[Path]:
    """Return the folders that Relay's configuration writes to."""
    import tomllib

    try:
        value = tomllib.loads(configuration.read_text(errors="replace"))
    except (OSError, ValueError, RecursionError):
        return []
    found: list[Path] = []
    rest: list[Any] = [value]
    while rest:
        each = rest.pop()
        if isinstance(each, dict):
            folder = each.get("output_directory")
            found += [configuration.parent / folder] if isinstance(folder, str) else []
            rest += each.values()
        elif isinstance(each, list):
            rest += each
    return found


def add_compactions(builder: SessionBuilder, records: Sequence[CompactionRecord]) -> None:
    """Add the counts of records to the compactions in the messages, and the other rewrites as compactions."""
    builder.record_counts.update(f"{SCHEMA.decode()}: {record.kind}, {record.outcome}" for record in records)
    times = [message.time for message in builder.complete_messages()]
    timed = [(time, index) for index, time in enumerate(times) if time is not None]
    free = {index for index, each in enumerate(builder.compactions) if each.tokens_before is None}
    for record in records:
        if not record.is_committed:
            continue
        near = (
            index
            for index in sorted(free)
            if (time := builder.compactions[index].time) is not None and abs(time - record.time) <= MATCH_SECONDS
        )
        index = next(near, None) if record.kind != "prune_tool_results" else None
        if index is not None:
            free.discard(index)
            builder.compactions[index] = structs.replace(
                builder.compactions[index],
                trigger=record.trigger or builder.compactions[index].trigger,
                tokens_before=record.before,
                tokens_after=record.after,
                tokens_saved=record.reclaimed,
            )
            continue
        place = bisect_left(timed, (record.time, -1))
        message = timed[place][1] if place < len(timed) else len(times)
        builder.compactions.append(
            Compaction(
                message,
                f"{record.kind}, {record.trigger}",
                record.before,
                record.after,
                (),
                record.reclaimed,
                record.time,
            )
        )
    builder.compactions.sort(key=lambda each: each.message)


SUMMARIES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")
"""Prefixes of compaction summaries (`agent/context_compressor.py`)."""

STRUCTURED = "\x00json:"
"""Prefix of structured content in the database."""

NO_NAMES: dict[str, str] = {}

SESSION, MESSAGE = "session ", "message "


class HermesMessage(Struct, frozen=True, gc=False):
    """A parsed message. `uid`: id shared with its copies since schema 31; empty if it has none."""

    identifier: str
    role: Role
    blocks: tuple[Block, ...]
    time: float | None
    is_summary: bool = False
    is_meta: bool = False
    is_active: bool = True
    is_compacted: bool = False
    is_inherited: bool = False
    uid: str = ""

    @property
    def chat_messages(self) -> tuple[Any, ...]:
        """Content shared with copies in a branch. Calls and reasoning are not always copied."""
        left_out = (BlockKind.TOOL_CALL, BlockKind.THINKING)
        return (self.role, *(one.digest for one in self.blocks if one.characters and one.kind not in left_out))

    @property
    def key(self) -> tuple[Any, ...]:
        """Content shared with copies."""
        return (self.role, *((block.kind, block.digest, block.tool_call_id) for block in self.blocks))

    def message(self, **flags: bool) -> Message:
        return Message(
            role=self.role,
            blocks=self.blocks,
            time=self.time,
            identifier=self.identifier,
            is_meta=self.is_meta,
            is_summary=self.is_summary,
            is_inherited=self.is_inherited,
            **flags,
        )


def hermes_message(value: Mapping[str, Any], blocks: list[TextBlock], identifier: str = "") -> HermesMessage:
    is_archived = value.get("active") == 0
    return HermesMessage(
        identifier=identifier,
        role=role_of(value),
        blocks=tuple(made.block for made in blocks),
        time=seconds_of_any(value.get("timestamp")),
        is_summary=bool(value.get("_compressed_summary")) or _begins_like_a_summary(blocks),
        is_meta=string(value.get("display_kind")) not in ("", "visible"),
        is_active=not is_archived,
        is_compacted=is_archived and bool(value.get("compacted")),
        uid=string(value.get("message_uid")),
    )


def blocks_of_row(row: Mapping[str, Any], name: str) -> list[TextBlock]:
    """Return the blocks of a message row. Content sent in another form is in a separate column."""
    value: dict[str, Any] = {
        "role": row.get("role"),
        "content": _content(row.get("api_content") if isinstance(row.get("api_content"), str) else row.get("content")),
        "tool_call_id": row.get("tool_call_id"),
        "name": row.get("tool_name"),
        "reasoning": string(row.get("reasoning_content")) or row.get("reasoning"),
    }
    calls = row.get("tool_calls")
    if isinstance(calls, str) and calls:
        value["tool_calls"] = json_in(calls)
    return [
        made.moved(Origin(0, 0, part, 0, name)) for part, made in enumerate(blocks_of_message(value, 0, 0, NO_NAMES))
    ]


def blocks_of_session(row: Mapping[str, Any], name: str) -> list[TextBlock]:
    text = row.get("system_prompt")
    if not isinstance(text, str) or not text:
        return []
    made = blocks_of_message({"role": "system", "content": text}, 0, 0, NO_NAMES)
    return [one.moved(Origin(0, 0, 0, 0, name)) for one in made]


def blocks_of_row_again(record: bytes, origin: Origin, /) -> list[TextBlock]:
    row, _ = object_of(record)
    if row is None:
        return []
    make = blocks_of_session if origin.locator.startswith(SESSION) else blocks_of_row
    return make(row, origin.locator)


def _content(value: object) -> object:
    if isinstance(value, str) and value.startswith(STRUCTURED):
        parts = json_in(value[len(STRUCTURED) :])
        return value if parts is None else parts
    return value if value is None or isinstance(value, str) else str(value)


def _begins_like_a_summary(blocks: list[TextBlock]) -> bool:
    texts = (BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT, BlockKind.SYSTEM_TEXT)
    return any(made.block.kind in texts and made.block.preview.lstrip().startswith(SUMMARIES) for made in blocks)


class HermesInterpreter(RecordInterpreter):
    """Builds a session from lines or a document: the conversation as sent, a summary being a message."""

    def __init__(self) -> None:
        super().__init__()
        self.builder.agent = "Hermes"
        self._thread = Thread(self.builder)
        self._names = ToolNames()
        self._model = ""

    def add(self, record: Record) -> None:
        self.builder.record_counts[string(record.value.get("role")) or "(no role)"] += 1
        if is_meta(record.value):
            self._describe(record.value, FileNode(record.data, record.offset).fields())
        else:
            self._add(record.value, record.offset, len(record.data))

    def take_document(self, document: Node) -> None:
        fields = document.fields()
        about = {name: field.value() for name, field in fields.items() if name != "messages"}
        self._describe(about, fields)
        messages = fields.items_of("messages")
        for item, value in object_nodes(messages, "a message", self.builder):
            self.builder.record_counts[string(value.get("role")) or "(no role)"] += 1
            if not is_meta(value):
                self._add(value, item.offset, item.length)

    blocks_of_record = staticmethod(blocks_of_record)

    def _describe(self, about: Mapping[str, Any], fields: Fields) -> None:
        builder = self.builder
        builder.identifier = string(about.get("session_id")) or builder.identifier
        builder.title = string(about.get("title")) or builder.title
        builder.working_directory = string(about.get("cwd")) or builder.working_directory
        self._model = string(about.get("model")) or self._model
        blocks: list[TextBlock] = []
        for name, locator in (("tools", TOOLS), ("system_prompt", SYSTEM)):
            node = fields.get(name)
            if node is not None and about.get(name):
                blocks += blocks_of_definition(about[name], node.raw(), node.offset, node.length, locator)
        if blocks and not self._thread.members:
            self._thread.add(Message(Role.SYSTEM, tuple(made.block for made in blocks)))

    def _add(self, value: Mapping[str, Any], offset: int, length: int) -> None:
        blocks = blocks_of_message(value, offset, length, self._names)
        self._names.note(made.block for made in blocks)
        entry = hermes_message(value, blocks)
        if entry.is_summary:
            self.builder.compactions.append(Compaction(len(self.builder.messages), time=entry.time))
        if entry.role is Role.ASSISTANT and not entry.is_summary:
            self._thread.respond(entry.message(), model=string(value.get("model")) or self._model)
        else:
            self._thread.add(entry.message(), is_sent=entry.role is not Role.OTHER)


def file_reader(path: Path) -> Reader:
    sample = Sample(path)
    if sample.is_lines and not is_document(sample.records[0]):
        return JsonlReader(path, NAME, HermesInterpreter())
    return JsonReader(path, NAME, HermesInterpreter)


class StoredSession(NamedTuple):
    """A stored session of a conversation. `usage`: rows of its usage by model and task."""

    model: str
    started: float | None
    system: tuple[Block, ...]
    entries: Sequence[HermesMessage]
    row: Mapping[str, Any] = MappingProxyType({})
    usage: Sequence[Mapping[str, Any]] = ()


class HermesSession:
    """Adds the sessions of a conversation to a builder in order."""

    def __init__(self, builder: SessionBuilder) -> None:
        self._builder = builder
        self._thread = Thread(builder)
        self._entries: list[HermesMessage | None] = []  # by message index; None for system prompts
        self._system: int | None = None
        self._has_rewound = False

    def add(self, part: StoredSession) -> None:
        is_first = self._thread.context is None
        self._instruct(part.system)
        for number, entries in enumerate(generations(part.entries)):
            rest = entries
            if not (is_first and number == 0):
                known = [one.key for one in map(self._entries.__getitem__, self._thread.members) if one is not None]
                count = count_copied(entries, known, part.started if number == 0 else None)
                self._hand_on(entries[:count])
                rest = entries[count:]
            for entry in rest:
                self._add(entry, part.model)
        self._drop_rewound()

    def _instruct(self, blocks: tuple[Block, ...]) -> None:
        if not blocks:
            return
        if self._system is None or self._builder.messages[self._system].blocks[0].digest != blocks[0].digest:
            self._system = self._new(Message(Role.SYSTEM, blocks), None)
        if self._thread.context is None:
            self._thread.begin(ContextCause.START, [self._system], 0)

    def _new(self, message: Message, entry: HermesMessage | None) -> int:
        self._entries.append(entry)
        return self._builder.add_message(message)

    def _hand_on(self, entries: Sequence[HermesMessage]) -> None:
        """Begin the context left by a compaction, without adding existing messages again."""
        before = self._thread.members
        known = [self._entries[member] for member in before]
        keys = [None if entry is None else entry.key for entry in known]
        place, members, retained = 0, [], 0
        if self._system is not None:
            members.append(self._system)
            retained = int(self._system in before)
        first = len(self._builder.messages)
        summary: int | None = None
        for entry in entries:
            found = next((at for at in range(place, len(before)) if keys[at] == entry.key), None)
            if found is not None and not entry.is_summary:
                place = found + 1
                members.append(before[found])
                retained = len(members)
                continue
            index = self._new(entry.message(), entry)
            if entry.role is not Role.OTHER:
                members.append(index)
            if entry.is_summary and summary is None:
                summary = index
        self._thread.begin(ContextCause.COMPACTION, members, retained)
        message = first if summary is None else summary
        time = next((entry.time for entry in entries if entry.is_summary), None)
        self._builder.compactions.append(Compaction(message, time=time))

    def _add(self, entry: HermesMessage, model: str) -> None:
        is_rewound = not entry.is_active and not entry.is_compacted
        if not is_rewound:
            self._drop_rewound()
        # A branch copies the current conversation; its summaries belong to compactions of the original.
        if entry.is_summary and not entry.is_inherited:
            self._builder.compactions.append(Compaction(len(self._builder.messages), time=entry.time))
        self._entries.append(entry)
        self._has_rewound = self._has_rewound or is_rewound
        message = entry.message(is_abandoned=is_rewound)
        if entry.role is Role.ASSISTANT and not entry.is_summary:
            self._thread.respond(message, model=model)
        else:
            self._thread.add(message, is_sent=entry.role is not Role.OTHER)

    def _drop_rewound(self) -> None:
        """Begin a context without the messages that were taken back, if any."""
        if not self._has_rewound:
            return
        self._has_rewound = False
        members = self._thread.members
        kept = [member for member in members if not self._builder.messages[member].is_abandoned]
        if len(kept) < len(members):
            self._thread.begin(ContextCause.REWIND, kept)


def fill(builder: SessionBuilder, sessions: Sequence[dict[str, Any]], parts: Sequence[StoredSession]) -> None:
    """Fill a builder from the sessions of a conversation."""
    builder.agent = "Hermes"
    for row in sessions:
        builder.record_counts["session"] += 1
        builder.identifier = builder.identifier or string(row.get("id"))
        builder.title = string(row.get("title")) or builder.title
        builder.working_directory = string(row.get("cwd")) or builder.working_directory
    conversation = HermesSession(builder)
    for part in parts:
        for role, number in Counter(entry.role for entry in part.entries).items():
            builder.record_counts[f"message:{role.value}"] += number
        first = len(builder.calls)
        conversation.add(part)
        while first < len(builder.calls) and builder.messages[builder.calls[first].response].is_inherited:
            first += 1
        add_totals(builder, part.row, part.usage, first)


def inherited(
    entries: Sequence[HermesMessage], before: Sequence[HermesMessage], started: float | None
) -> list[HermesMessage]:
    """Mark the messages of a branch that were copied from the original session (`before`).

    A branch begins with the conversation it branched from. Older versions set the copies' time to the time of copying
    and omit calls. Newer ones keep the times and, since schema 31, the `message_uid` (`_handle_branch_command` and
    `session.branch` in NousResearch/hermes-agent); each older row was assigned a new one.
    """
    keys = [entry.chat_messages for entry in before]
    named = {entry.uid for entry in before} - {""}
    by_name = bool(entries) and entries[0].uid in named
    place, copied = 0, 0
    for entry in entries:
        if by_name:
            found = place if entry.uid in named else None
        else:
            found = next((at for at in range(place, len(keys)) if keys[at] == entry.chat_messages), None)
        is_older = started is not None and entry.time is not None and entry.time < started
        if found is None and not is_older:
            break
        place = place if found is None or by_name else found + 1
        copied += 1
    return [structs.replace(entry, is_inherited=True) for entry in entries[:copied]] + list(entries[copied:])


CARRY_OVER_SECONDS = 1.0
"""Time limit for texts that a compaction adds to the carried-over messages: model responses come later."""


def generations(entries: Sequence[HermesMessage]) -> list[list[HermesMessage]]:
    """Split the rows of a session where an in-place compaction restarts the conversation."""
    found: list[list[HermesMessage]] = []
    start = 0
    for index, entry in enumerate(entries):
        if not entry.is_summary or index == start:
            continue
        begin = index - _repeated(entries, start, index)
        if begin > start and not any(row.is_active for row in entries[start:begin]):
            found.append(list(entries[start:begin]))
            start = begin
    found.append(list(entries[start:]))
    return found


def count_copied(entries: Sequence[HermesMessage], known: Sequence[tuple[Any, ...]], time: float | None) -> int:
    """Count a generation's leading rows that its compaction wrote: by known content, or before its time."""
    if time is None:
        time = next((entry.time for entry in entries if entry.is_summary), None)
    place = 0
    for number, entry in enumerate(entries):
        found = next((at for at in range(place, len(known)) if known[at] == entry.key), None)
        is_early = time is not None and entry.time is not None and entry.time <= time + CARRY_OVER_SECONDS
        if found is None and not entry.is_summary and not is_early:
            return number
        place = place if found is None else found + 1
    return len(entries)


def _repeated(entries: Sequence[HermesMessage], start: int, end: int) -> int:
    """Count the rows before `end` that repeat the rows from `start` on."""
    for number in range((end - start) // 2, 0, -1):
        if all(entries[start + place].key == entries[end - number + place].key for place in range(number)):
            return number
    return 0


FORMATS = (HermesFormat(),)
