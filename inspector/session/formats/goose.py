"""Read Goose: a database of all sessions, JSONL files before version 1.10, and exports of one session.

The database is defined by `crates/goose/src/session/session_manager.rs` in aaif-goose/goose, up to schema 17. Usage is
in the last message of a response and in the ledger of all requests: `insert_usage_ledger_row`, `record_usage_metrics`
and the 15th migration there; `MessageUsage` in `message.rs` and `Usage` in `token_usage.rs`, both in
`crates/goose-provider-types/src/conversation`.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_right
from collections import Counter, deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from inspector.session.blocks import TextBlock, text_block
from inspector.session.builder import SessionBuilder, Thread
from inspector.session.files import Locator
from inspector.session.format import ContainedSession, Format, home_of
from inspector.session.json import (
    clean_string,
    clean_text,
    compact_json,
    count,
    json_in,
    mapping,
    object_nodes,
    object_of,
    objects,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.media import media_of_all
from inspector.session.model import (
    NO_MESSAGE,
    BlockKind,
    Compaction,
    LinkKind,
    Media,
    Message,
    Origin,
    Role,
    SessionLink,
    SideCall,
    Usage,
)
from inspector.session.reader import Reader, Record, RecordInterpreter
from inspector.session.sniff import Sample
from inspector.session.sqlite import RowCache, RowInterpreter, RowsGoneError, Selector, SqliteReader, read_database
from inspector.session.usage_fields import GOOSE

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from inspector.session.json import Node
    from inspector.session.model import Block, Call
    from inspector.session.sqlite import Columns, Row


NAME = "goose"

TABLES = {
    "sessions": frozenset({"id", "working_dir"}),
    "messages": frozenset({"id", "session_id", "role", "content_json"}),
}
"""Tables and columns that identify a Goose database."""

INTERNAL_TYPES = frozenset({"hidden", "sub_agent"})
"""Types of sessions not started by the user."""

FORWARDED_RECORDS = "usage:carried forward"
"""Name for counting ledger rows that are not requests."""

REQUESTS = frozenset({"toolRequest", "frontendToolRequest"})

UNSENT = frozenset(
    {"actionRequired", "contextLengthExceeded", "conversationCompacted", "summarizationRequested"}
    | {"systemNotification", "toolConfirmationRequest"}
)
"""Part types for display only."""

OWN_PARTS = REQUESTS | UNSENT | {"toolResponse", "redactedThinking"}
"""Part types specific to Goose."""


def is_metadata(value: Mapping[str, Any]) -> bool:
    """Return True for a line with session metadata."""
    return "role" not in value and "message_count" in value and ("description" in value or "working_dir" in value)


def is_message(value: object) -> bool:
    message = mapping(value)
    is_timed = isinstance(message.get("created"), int) and isinstance(message.get("content"), list)
    return is_timed and string(message.get("role")) in ("user", "assistant")


def has_own_parts(value: object) -> bool:
    """Return True if a message has parts specific to Goose."""
    return any(string(part.get("type")) in OWN_PARTS for part in objects(mapping(value).get("content")))


def is_export(value: object) -> bool:
    about = mapping(value)
    messages = about.get("conversation")
    return isinstance(messages, list) and "working_dir" in about and all(map(is_message, messages[:20]))


class GooseFormat(Format):
    """Goose databases, session files and exports."""

    name = "goose"
    title = "Goose"
    where = (
        "goose/sessions in ~/.local/share or $XDG_DATA_HOME, Block/goose in Application Support or %APPDATA%, or"
        " data/sessions in $GOOSE_PATH_ROOT; `goose session export` anywhere"
    )
    exact = "tokens of calls since database schema 15 (July 2026), if the provider reports them"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if sample.is_database:
            return "a database with Goose's session and message tables" if sample.has_tables(TABLES) else ""
        if not sample.is_lines:
            return "a session exported by Goose" if is_export(sample.document) else ""
        if is_export(sample.records[0]):
            return "a session exported by Goose"
        messages = [record for record in sample.records if is_message(record)]
        about = [record for record in sample.records if is_metadata(record)]
        is_sure = bool(about) or any(map(has_own_parts, messages))
        if not is_sure or (len(messages) + len(about)) * 2 <= len(sample.records):
            return ""
        return f"{len(messages)} of the first {len(sample.records)} lines are Goose messages"

    def homes(self) -> tuple[Path, ...]:
        root = os.environ.get("GOOSE_PATH_ROOT")
        if root:
            return (Path(root) / "data" / "sessions",)
        if sys.platform == "darwin":
            return (Path.home() / "Library" / "Application Support" / "Block" / "goose" / "sessions",)
        if sys.platform == "win32":
            return (Path(os.environ.get("APPDATA", Path.home())) / "Block" / "goose" / "data" / "sessions",)
        return (home_of("XDG_DATA_HOME", ".local", "share") / "goose" / "sessions",)

    def reader(self, path: Path) -> Reader:
        locator = Locator.of(path)
        if Sample(locator.file).is_database:
            return SqliteReader(path, self.name, GooseRows(locator.session))

        return file_reader(path)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        if not Sample(path).is_database:
            return ()
        return read_database(path, partial(sessions_inside, path))

    def locate(self, path: Path, identifier: str) -> Path | None:
        file = Locator.of(path).file
        is_known = identifier and identifier not in INTERNAL_TYPES
        return Locator(file, identifier).path if is_known and Sample(file).is_database else None

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name == FORWARDED_RECORDS


LEDGER = "usage_ledger"

LEDGER_COLUMNS = (
    *("id", "created_timestamp", "model", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("cost_source", "is_compaction"),
)

FORWARDED = "carried_forward"
"""Ledger source for the total cost from before the ledger existed; not a request."""

COMPACTION = "compaction"


def usage_of(prompt: object, read: object, written: object, output: object) -> Usage | None:
    return Usage.of_prompt(*map(count, (prompt, read, written, output))).unless_zero()


def in_metadata(value: object) -> Usage | None:
    """Return the usage that a message reports for the response it ends."""
    fields = mapping(value)
    if fields.get("isCompaction"):
        return None
    names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    return GOOSE.check(usage_of(*map(fields.get, names)), fields)


class LedgerRow(Struct, frozen=True, gc=False):
    """A request in the ledger. `is_compaction`: true if it made a summary."""

    identifier: str
    time: float | None
    model: str
    usage: Usage | None
    is_compaction: bool


def ledger_row(row: Row) -> LedgerRow | None:
    """Parse a ledger row; None if it is not a request."""
    if string(row.get("cost_source")) == FORWARDED:
        return None
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    return LedgerRow(
        identifier=str(row.get("id")),
        time=seconds_of_any(row.get("created_timestamp")),
        model=clean_string(row.get("model")),
        usage=usage_of(*map(row.get, names)),
        is_compaction=bool(row.get("is_compaction")),
    )


def match_ledger(builder: SessionBuilder, rows: Iterable[LedgerRow], model: str) -> None:
    """Match a session's calls with its ledger and add the other ledger rows as side calls.

    A call with usage takes the first unmatched row with the same usage. Versions that do not record usage with messages
    are matched by time: a row is written when its response ends, never before the message begins. `model` is used for
    calls without one in message or ledger.
    """
    calls = list(builder.calls)
    requests = list(rows)
    has_usage = any(call.usage is not None for call in calls)
    matched = _by_usage(calls, requests) if has_usage else _by_time(calls, requests)
    for place, call in enumerate(calls):
        row = matched.get(place)
        usage = call.usage or (row.usage if row is not None else None)
        calls[place] = structs.replace(
            call,
            usage=usage,
            # A copied session has other message ids and no ledger; its content identifies it.
            identifier="" if usage is not None else call.identifier,
            model=call.model or (row.model if row is not None else "") or model,
        )
    builder.calls[:] = calls
    of_calls = {row.identifier for row in matched.values()}
    for row in requests:
        if row.identifier not in of_calls:
            purpose = COMPACTION if row.is_compaction else NO_MESSAGE
            builder.side_calls[f"{LEDGER} {row.identifier}"] = SideCall(
                purpose, row.model or model, row.time, row.usage
            )


def _by_usage(calls: Sequence[Call], rows: Sequence[LedgerRow]) -> dict[int, LedgerRow]:
    free: dict[Usage, deque[LedgerRow]] = {}
    for row in rows:
        if row.usage is not None and not row.is_compaction:
            free.setdefault(row.usage, deque()).append(row)
    return {
        place: free[counts].popleft()
        for place, call in enumerate(calls)
        if call.usage is not None and free.get(counts := structs.replace(call.usage, ignored=()))
    }


def _by_time(calls: Sequence[Call], rows: Sequence[LedgerRow]) -> dict[int, LedgerRow]:
    """Match rows to calls if as many calls began in a second as rows follow before the next call."""
    begun: dict[float, list[int]] = {}
    for place, call in enumerate(calls):
        if call.time is not None:
            begun.setdefault(call.time, []).append(place)
    times = sorted(begun)
    following: dict[float, list[LedgerRow]] = {}
    for row in rows:
        before = bisect_right(times, row.time) if row.time is not None else 0
        if before and not row.is_compaction and row.usage is not None:
            following.setdefault(times[before - 1], []).append(row)
    return {
        place: row
        for time, found in following.items()
        if len(found) == len(begun[time])
        for place, row in zip(begun[time], found, strict=True)
    }


def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
    value, _ = object_of(record)
    return [] if value is None else blocks_of_goose_message(value, origin)


def blocks_of_goose_message(message: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    """Return the blocks of a message from a line, or from a row with its content as text."""
    content = _content_of(message)
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    text_kind = BlockKind.ASSISTANT_TEXT if message.get("role") == "assistant" else BlockKind.USER_TEXT
    return [_block(part, text_kind, origin.at(index)) for index, part in enumerate(sequence(content))]


def _content_of(message: Mapping[str, Any]) -> Any:
    stored = message.get("content_json")
    return json_in(stored) if isinstance(stored, str) else message.get("content")


def _block(part: Any, text_kind: BlockKind, origin: Origin) -> TextBlock:
    fields = mapping(part)
    kind = string(fields.get("type"))
    if kind == "text":
        return text_block(text_kind, clean_string(fields.get("text")), origin)
    if kind in ("thinking", "reasoning"):
        text = clean_string(fields.get("thinking")) or clean_string(fields.get("text"))
        signature = len(string(fields.get("signature")))
        return text_block(BlockKind.THINKING, text, origin, signature_characters=signature)
    if kind == "redactedThinking":
        return text_block(BlockKind.THINKING, "", origin, signature_characters=len(string(fields.get("data"))))
    if kind in REQUESTS:
        return _request(fields, origin)
    if kind == "toolResponse":
        return _response(fields, origin)
    if kind == "image":
        media, data = _images([fields])
        return text_block(BlockKind.IMAGE, "", origin, media=media, media_data=data)
    text = clean_string(fields.get("msg")) if kind == "systemNotification" else ""
    return text_block(BlockKind.OTHER, text or clean_text(compact_json(part)), origin)


def _request(fields: Mapping[str, Any], origin: Origin) -> TextBlock:
    call = mapping(fields.get("toolCall"))
    asked = mapping(call.get("value"))
    # A call that could not be parsed has an error in place of its name and arguments.
    text = compact_json(asked.get("arguments") or {}) if asked else string(call.get("error"))
    return text_block(
        BlockKind.TOOL_CALL,
        clean_text(text),
        origin,
        tool_call_id=clean_string(fields.get("id")),
        tool_name=clean_string(asked.get("name")),
        signature_characters=len(string(fields.get("thoughtSignature"))),
    )


def _response(fields: Mapping[str, Any], origin: Origin) -> TextBlock:
    result = mapping(fields.get("toolResult"))
    value = result.get("value")
    items = sequence(value) or sequence(mapping(value).get("content"))
    sent = [item for item in objects(items) if _is_for_model(item)]
    texts = [_item_text(item) for item in sent if item.get("type") != "image"]
    if "error" in result:
        texts.append(string(result.get("error")))
    media, data = _images(sent)
    return text_block(
        BlockKind.TOOL_RESULT,
        clean_text("\n".join(texts)),
        origin,
        tool_call_id=clean_string(fields.get("id")),
        is_error=result.get("status") == "error" or bool(mapping(value).get("isError")),
        media=media,
        media_data=data,
        plain_text=not media and len(texts) < 2,
    )


def _is_for_model(item: Mapping[str, Any]) -> bool:
    """Return True if an item of a result is sent. Tools often return one for display and one for the model."""
    audience = mapping(item.get("annotations")).get("audience")
    return not isinstance(audience, list) or not audience or "assistant" in audience


def _item_text(item: Mapping[str, Any]) -> str:
    if isinstance(item.get("text"), str):
        return string(item["text"])
    resource = mapping(item.get("resource"))
    return string(resource["text"]) if isinstance(resource.get("text"), str) else compact_json(item)


def _images(items: list[Any]) -> tuple[tuple[Media, ...], tuple[bytes, ...]]:
    images = (item for item in objects(items) if item.get("type") == "image")
    return media_of_all((clean_string(item.get("mimeType")), string(item.get("data"))) for item in images)


ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}

SUBAGENT = "subagent_session_id"
"""Result field of `delegate`, and later `load`, with the subagent's session."""

CONTINUE_PREFIX = "Your context was compacted"
"""First words of the message after a summary."""


class GooseMessage(Struct, frozen=True, gc=False):
    """A message, the id its response's rows share, and the subagents whose results it has, by tool call."""

    role: Role
    blocks: tuple[Block, ...]
    time: float | None
    identifier: str = ""
    for_model: bool = True
    for_person: bool = True
    usage: Usage | None = None
    model: str = ""
    response: str = ""
    subagents: tuple[tuple[str, str], ...] = ()

    @property
    def is_spoken(self) -> bool:
        """True if it has content that can be sent."""
        return self.role is not Role.OTHER and any(block.kind is not BlockKind.OTHER for block in self.blocks)

    @property
    def goes_on(self) -> bool:
        """True for the prompt to continue after a summary."""
        is_hidden = self.role is Role.ASSISTANT and not self.for_person
        return is_hidden and bool(self.blocks) and self.blocks[0].preview.startswith(CONTINUE_PREFIX)


def goose_message(message: Mapping[str, Any], origin: Origin) -> GooseMessage:
    about = message.get("metadata")
    if isinstance(message.get("metadata_json"), str):
        about = json_in(message["metadata_json"])
    marks = mapping(about)
    inference = mapping(marks.get("inference"))
    return GooseMessage(
        role=ROLES.get(string(message.get("role")), Role.OTHER),
        blocks=tuple(made.block for made in blocks_of_goose_message(message, origin)),
        time=seconds_of_any(message.get("created") or message.get("created_timestamp")),
        identifier=string(message.get("id")) or string(message.get("message_id")) or origin.locator,
        for_model=marks.get("agentVisible") is not False,
        for_person=marks.get("userVisible") is not False,
        usage=in_metadata(marks.get("usage")),
        model=clean_string(inference.get("resolvedModel")) or clean_string(inference.get("requestedModel")),
        response=string(message.get("message_id")) or string(message.get("id")),
        subagents=tuple(_subagents(_content_of(message))),
    )


def _subagents(content: Any) -> Iterator[tuple[str, str]]:
    for part in objects(content):
        if part.get("type") == "toolResponse":
            value = mapping(mapping(part.get("toolResult")).get("value"))
            session = clean_string(mapping(value.get("_meta")).get(SUBAGENT))
            if session:
                yield clean_string(part.get("id")), session


def fill(builder: SessionBuilder, entries: Sequence[GooseMessage], model: str = "") -> None:
    starts = {index for index in range(len(entries)) if _begins_again(entries, index)}
    last = max(starts, default=0)
    thread, names = Thread(builder), dict[str, str]()
    index = 0
    while index < len(entries):
        entry = _named(entries[index], names)
        index += 1
        if index - 1 in starts:
            thread.compact(Compaction(0, time=entry.time), _message(entry, is_summary=True))
            continue
        is_sent = entry.is_spoken and (entry.for_model or index - 1 < last)
        if not is_sent or entry.role is not Role.ASSISTANT or entry.goes_on:
            thread.add(_message(entry, is_sent=is_sent), is_sent=is_sent)
            continue
        # Consecutive assistant messages form one response, which ends at its usage if recorded.
        while index < len(entries) and _continues(entry, entries[index], is_now=index >= last):
            following = _named(entries[index], names)
            entry = structs.replace(
                entry,
                blocks=entry.blocks + following.blocks,
                usage=following.usage or entry.usage,
                model=following.model or entry.model,
            )
            index += 1
        thread.respond(_message(entry), model=entry.model or model, usage=entry.usage)
    _link_subagents(builder, entries)


def _link_subagents(builder: SessionBuilder, entries: Sequence[GooseMessage]) -> None:
    """Link each subagent with the call that started it; later calls only check its progress."""
    started: dict[str, str] = {}
    for entry in entries:
        for call, session in entry.subagents:
            started.setdefault(session, call)
    for session, call in started.items():
        builder.link(SessionLink(LinkKind.SUBAGENT, session, None, call))


def _continues(begun: GooseMessage, entry: GooseMessage, *, is_now: bool) -> bool:
    if begun.usage is not None and not (entry.response and entry.response == begun.response):
        return False
    is_sent = entry.is_spoken and (entry.for_model or not is_now)
    return is_sent and entry.role is Role.ASSISTANT and not entry.goes_on


def _begins_again(entries: Sequence[GooseMessage], index: int) -> bool:
    """Return True for the summary left by a compaction."""
    entry = entries[index]
    if entry.role is not Role.USER or entry.for_person or not entry.is_spoken:
        return False
    following = entries[index + 1] if index + 1 < len(entries) else None
    if following is not None and following.goes_on:
        return True
    before = next((entries[place] for place in range(index - 1, -1, -1) if entries[place].is_spoken), None)
    return entry.for_model and before is not None and not before.for_model


def _named(entry: GooseMessage, names: dict[str, str]) -> GooseMessage:
    """Add tool names to an entry's results."""
    for block in entry.blocks:
        if block.kind is BlockKind.TOOL_CALL:
            names[block.tool_call_id] = block.tool_name
    if not any(block.kind is BlockKind.TOOL_RESULT for block in entry.blocks):
        return entry
    blocks = tuple(
        structs.replace(block, tool_name=names.get(block.tool_call_id, ""))
        if block.kind is BlockKind.TOOL_RESULT
        else block
        for block in entry.blocks
    )
    return structs.replace(entry, blocks=blocks)


def _message(entry: GooseMessage, *, is_sent: bool = True, is_summary: bool = False) -> Message:
    return Message(
        role=entry.role if is_sent else Role.OTHER,
        blocks=entry.blocks,
        time=entry.time,
        identifier=entry.identifier,
        is_meta=is_sent and not entry.for_person and not is_summary,
        is_summary=is_summary,
    )


class GooseInterpreter(RecordInterpreter):
    """Builds a session from lines (session metadata and messages) or an export."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: list[GooseMessage] = []
        self._is_settled = True

    def add(self, record: Record) -> None:
        if is_metadata(record.value):
            self.builder.record_counts["metadata"] += 1
            describe(record.value, self.builder)
            return
        self.builder.record_counts[string(record.value.get("role")) or "(no role)"] += 1
        self._entries.append(goose_message(record.value, record.origin))
        self._is_settled = False

    def take_document(self, document: Node) -> None:
        fields = document.fields()
        describe({name: field.value() for name, field in fields.items() if name != "conversation"}, self.builder)
        entries = []
        items = fields.items_of("conversation")
        for item, value in object_nodes(items, "a message", self.builder):
            self.builder.record_counts[string(value.get("role")) or "(no role)"] += 1
            entries.append(goose_message(value, Origin(item.offset, item.length)))
        model = mapping(fields.value_of("model_config")).get("model_name")
        if parent := string(fields.value_of("parent_session_id")):
            self.builder.link(SessionLink(LinkKind.PARENT, parent))
        fill(self.builder, entries, string(model))

    def settle(self) -> None:
        """Rebuild all messages: their visibility depends on later ones."""
        if not self._is_settled:
            made = SessionBuilder()
            fill(made, self._entries)
            self.builder.replace_all(made.messages, made.calls, made.contexts, made.compactions)
            self._is_settled = True

    blocks_of_record = staticmethod(blocks_of_record)


def file_reader(path: Path) -> Reader:
    sample = Sample(path)
    if sample.is_lines and not is_export(sample.records[0]):
        return JsonlReader(path, NAME, GooseInterpreter())
    return JsonReader(path, NAME, GooseInterpreter)


def describe(about: Mapping[str, Any], builder: SessionBuilder) -> None:
    builder.agent = "Goose"
    builder.identifier = string(about.get("id")) or builder.identifier
    builder.title = string(about.get("name")) or string(about.get("description")) or builder.title
    builder.working_directory = string(about.get("working_dir")) or builder.working_directory


SESSION_COLUMNS = (
    *("id", "name", "description", "working_dir", "session_type", "updated_at", "model_config_json"),
    "parent_session_id",
)

MESSAGE_COLUMNS = ("id", "message_id", "role", "content_json", "created_timestamp", "metadata_json")

MESSAGE = "message "


class GooseRows(RowInterpreter):
    """Interpreter for the rows of one session."""

    known_tables = frozenset(("messages", "sessions", LEDGER))

    def __init__(self, session: str) -> None:
        """Initialize for a session id, empty for the newest session started by the user."""
        super().__init__()
        self._session = session
        self._about: Row = {}
        self._parent = ""
        self._children: list[str] = []
        self._ledger: list[LedgerRow | None] = []
        self._entries: list[GooseMessage] = []
        self._known = RowCache(_entry)
        self._columns: Columns = {}

    def read(self, connection: sqlite3.Connection) -> None:
        self._columns.clear()  # a new version adds columns
        selector = Selector(connection, self._columns)
        sessions = _sessions(selector)
        if not self._session and sessions:
            self._session = string((user_sessions(sessions) or sessions)[0]["id"])
        self._about = next((row for row in sessions if row["id"] == self._session), {})
        if not self._about:
            raise RowsGoneError(f"no session {self._session}".strip())
        self._parent = parent_of(self._about, {string(row["id"]) for row in sessions})
        self._children = [string(row["id"]) for row in sessions if row.get("parent_session_id") == self._session]
        condition = "WHERE session_id = ? ORDER BY id"
        self._known.begin()
        self._entries = self._known.made_of(*selector.select("messages", MESSAGE_COLUMNS, condition, self._session))
        self._ledger = [ledger_row(row) for row in selector.rows(LEDGER, LEDGER_COLUMNS, condition, self._session)]

    def settle(self) -> None:
        builder = self.builder = SessionBuilder()
        describe(self._about, builder)
        builder.record_counts["session"] += 1
        for role, number in Counter(entry.role for entry in self._entries).items():
            builder.record_counts[f"message:{role.value}"] += number
        requests = [row for row in self._ledger if row is not None]
        for name, number in (("usage", len(requests)), (FORWARDED_RECORDS, len(self._ledger) - len(requests))):
            if number:
                builder.record_counts[name] = number
        fill(builder, self._entries)
        model = mapping(json_in(string(self._about.get("model_config_json"))))
        match_ledger(builder, requests, string(model.get("model_name")))
        if self._parent:
            builder.link(SessionLink(LinkKind.PARENT, self._parent))
        known = {link.identifier for link in builder.links.values()}
        for child in self._children:
            if child not in known:
                builder.link(SessionLink(LinkKind.SUBAGENT, child))

    blocks_of_record = staticmethod(blocks_of_record)

    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        selector = Selector(connection, self._columns)
        rows = selector.rows("messages", MESSAGE_COLUMNS, "WHERE id = ?", name.removeprefix(MESSAGE))
        return compact_json(rows[0]).encode(errors="replace") if rows else None


def parent_of(row: Row, sessions: Container[str]) -> str:
    """Return the parent of a subagent session; empty if it is not recorded or no longer exists."""
    parent = string(row.get("parent_session_id"))
    return parent if parent in sessions and parent != row["id"] else ""


def sessions_inside(path: Path, connection: sqlite3.Connection) -> list[ContainedSession]:
    rows = _sessions(Selector(connection))
    identifiers = {string(row["id"]) for row in rows}
    return [
        ContainedSession(
            path=Locator(path, string(row["id"])).path,
            identifier=string(row["id"]),
            title=clean_text(string(row.get("name")) or string(row.get("description"))),
            # Older versions do not record a subagent's parent, only that it is a subagent.
            parent=parent_of(row, identifiers) or ("" if _is_of_person(row) else string(row.get("session_type"))),
            working_directory=clean_string(row.get("working_dir")),
            modified=seconds_of_any(row.get("updated_at")) or 0.0,
        )
        for row in rows
    ]


def user_sessions(sessions: list[Row]) -> list[Row]:
    identifiers = {string(row["id"]) for row in sessions}
    return [row for row in sessions if _is_of_person(row) and not parent_of(row, identifiers)]


def _is_of_person(row: Row) -> bool:
    return string(row.get("session_type")) not in INTERNAL_TYPES


def _sessions(selector: Selector) -> list[Row]:
    """Return the rows of all sessions, newest first."""
    rows = [row for row in selector.rows("sessions", SESSION_COLUMNS, "ORDER BY rowid DESC") if string(row.get("id"))]
    return sorted(rows, key=lambda row: -(seconds_of_any(row.get("updated_at")) or 0.0))


def _entry(row: Row) -> GooseMessage:
    return goose_message(row, Origin(0, 0, 0, 0, f"{MESSAGE}{row['id']}"))


FORMATS = (GooseFormat(),)
