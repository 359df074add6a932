"""Read Google Antigravity, command line and IDE: one database per conversation, with protobuf messages.

Every row holds a protobuf message without a published schema (protobuf.dev/programming-guides/encoding). The field
numbers are those of `contextrot` 2.1.0 (MIT, `contextrot/adapters/antigravity.py`) and of the message descriptors
inside the `agy` program, as public readers list them. `output_tokens` includes thinking: it is the sum of
`thinking_output_tokens` and `response_output_tokens`.

A tool's step holds the call it executed and its result. Steps change while they run, and a rewind deletes them. A fork
begins with copies of the original's steps.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from msgspec import structs

from inspector.errors import SessionError
from inspector.session.billing_terms import parse_billing_terms
from inspector.session.blocks import TextBlock, argument_text, text_block
from inspector.session.builder import SessionBuilder, Thread
from inspector.session.files import Locator
from inspector.session.format import Format, can_name_file
from inspector.session.json import (
    clean_text,
    compact_json,
    count,
    mapping,
    object_of,
    objects,
    seconds_of_any,
    sequence,
    string,
)
from inspector.session.media import media_of_all
from inspector.session.model import (
    NO_MESSAGE,
    BlockKind,
    Compaction,
    ContextCause,
    LinkKind,
    Message,
    Origin,
    Role,
    SessionLink,
    SideCall,
    Usage,
)
from inspector.session.sqlite import Columns, RowInterpreter, RowsGoneError, Selector, SqliteReader

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


VARINT, FIXED_64, LENGTH, FIXED_32 = 0, 1, 2, 5
"""Wire types."""

FIXED_BYTES = {FIXED_64: 8, FIXED_32: 4}

MOST_SHIFT = 63
SIGN = 1 << 63


class ProtobufError(SessionError):
    """Bytes that are not a protobuf message."""


class ProtobufMessage:
    """One message, decoded on access. A path of field numbers leads to the first value; missing ones are empty."""

    def __init__(self, data: bytes) -> None:
        """Decode the fields of a message. Raises `ProtobufError` if the bytes are truncated or not a message."""
        self._fields: dict[int, list[int | bytes]] = {}
        for number, value in _fields(data):
            self._fields.setdefault(number, []).append(value)

    def number(self, *path: int) -> int:
        """Return an integer; 0 if missing. Negative integers are ten-byte varints."""
        value = self._value(*path)
        value = value if isinstance(value, int) else 0
        return value - 2 * SIGN if value >= SIGN else value

    def text(self, *path: int) -> str:
        """Return a string; empty if missing. Invalid UTF-8 becomes U+FFFD."""
        return clean_text(self.data(*path).decode(errors="replace"))

    def data(self, *path: int) -> bytes:
        """Return bytes; empty if missing."""
        value = self._value(*path)
        return value if isinstance(value, bytes) else b""

    def message(self, *path: int) -> ProtobufMessage:
        """Return a nested message; an empty one if missing."""
        return ProtobufMessage(self.data(*path))

    def messages(self, number: int) -> list[ProtobufMessage]:
        return [ProtobufMessage(value) for value in self._fields.get(number, ()) if isinstance(value, bytes)]

    def texts(self, number: int) -> list[str]:
        values = self._fields.get(number, ())
        return [clean_text(value.decode(errors="replace")) for value in values if isinstance(value, bytes)]

    def numbers(self, number: int) -> list[int]:
        """Return the integers of a repeated field, packed or not."""
        found: list[int] = []
        for value in self._fields.get(number, ()):
            found += [value] if isinstance(value, int) else _packed(value)
        return found

    def numeric_fields(self) -> frozenset[int]:
        """Return the numbers of fields with an integer other than 0."""
        return frozenset(
            number for number, values in self._fields.items() if any(isinstance(v, int) and v for v in values)
        )

    def __contains__(self, number: object) -> bool:
        return number in self._fields

    def _value(self, *path: int) -> int | bytes | None:
        *outer, last = path
        holder = self
        for number in outer:
            holder = holder.message(number)
        return next(iter(holder._fields.get(last, ())), None)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, place = _varint(data, place)
            yield number, value
            continue
        if wire == LENGTH:
            length, place = _varint(data, place)
        elif wire in FIXED_BYTES:
            length = FIXED_BYTES[wire]
        else:
            raise ProtobufError(f"wire type {wire}")
        if number == 0 or length > len(data) - place:
            raise ProtobufError("truncated")
        yield number, data[place : place + length]
        place += length


def _packed(data: bytes) -> list[int]:
    found, place = [], 0
    while place < len(data):
        value, place = _varint(data, place)
        found.append(value)
    return found


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(data) and shift <= MOST_SHIFT:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return value, place
        shift += 7
    raise ProtobufError("truncated")


TABLES: Mapping[str, frozenset[str]] = {"steps": frozenset({"idx", "step_type", "status", "step_payload"})}
"""Table and columns that identify a conversation."""

CONVERSATIONS = "conversations"

PROGRAMS: Mapping[str, str] = {
    "antigravity-cli": "Antigravity CLI",
    "antigravity-ide": "Antigravity IDE",
    "antigravity": "Antigravity IDE",
    "antigravity-acp": "Antigravity CLI",
}
"""Programs by the name of their folder in `~/.gemini`."""


class AntigravityFormat(Format):
    """Antigravity's conversation databases."""

    name = "antigravity"
    title = "Antigravity CLI and IDE"
    where = "conversations in ~/.gemini/antigravity-cli, antigravity-ide, antigravity and antigravity-acp"
    exact = "prompt and output tokens of every call"

    def knows_record(self, count_name: str) -> bool:
        return not count_name.startswith("step of type ")

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory or not sample.is_database or not sample.has_tables(TABLES):
            return ""
        return "a database with Antigravity's step table"

    def homes(self) -> tuple[Path, ...]:
        return tuple(Path.home() / ".gemini" / program / CONVERSATIONS for program in PROGRAMS)

    def reader(self, path: Path) -> Reader:
        folder = Locator.of(path).file.parent.parent.name
        return SqliteReader(path, self.name, AntigravityRows(PROGRAMS.get(folder, "Antigravity")))

    def is_copy(self, path: Path) -> bool:
        """Return True if another program's folder has a newer database of the same conversation."""
        program = path.parent.parent
        if program.name not in PROGRAMS or path.parent.name != CONVERSATIONS:
            return False
        others = [program.parent / name / CONVERSATIONS / path.name for name in PROGRAMS if name != program.name]
        mine = _modified(path)
        order = list(PROGRAMS)
        return any(
            (_modified(other), -order.index(other.parent.parent.name)) > (mine, -order.index(program.name))
            for other in others
        )

    def locate(self, path: Path, identifier: str) -> Path | None:
        if not can_name_file(identifier):
            return None
        found = Locator.of(path).file.with_name(f"{identifier}.db")
        return found if found.is_file() else None


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


USER_INPUT, RESPONSE, ERROR, COMMAND, CHECKPOINT = 14, 15, 17, 21, 23
EPHEMERAL, HISTORY, SYSTEM_MESSAGE, SUBAGENT = 90, 98, 101, 127
"""Types of steps (`CortexStepType`)."""

STEP_NAMES = {
    2: "finish",
    5: "code_action",
    7: "grep_search",
    8: "view_file",
    9: "list_directory",
    USER_INPUT: "user_input",
    RESPONSE: "response",
    ERROR: "error",
    COMMAND: "run_command",
    CHECKPOINT: "checkpoint",
    25: "find",
    28: "command_status",
    29: "memory",
    31: "read_url",
    33: "search_web",
    38: "mcp_tool",
    81: "task_boundary",
    82: "notify_user",
    85: "browser",
    86: "file_change",
    EPHEMERAL: "ephemeral",
    HISTORY: "history",
    100: "command_input",
    SYSTEM_MESSAGE: "system_message",
    112: "shell",
    SUBAGENT: "subagent",
    132: "tool",
}

RUNNING = frozenset({1, 2, 8, 9, 11})
"""States of steps that are not finished: pending, running, generating, waiting, queued."""

FAILED = 7

RESULT_PATHS: tuple[tuple[int, ...], ...] = (
    (140, 2, 1),  # generic: result
    *((28, 21, 1), (28, 21, 2), (28, 19, 1), (28, 4), (28, 5)),  # run_command: combined output, whole or cut; streams
    *((37, 9), (37, 3), (37, 4)),  # command_status
    *((127, 3), (127, 4)),  # shell: output, error
    *((13, 3), (13, 5)),  # grep_search: raw output, error
    *((34, 11), (34, 8)),  # find
    *((14, 4), (14, 9)),  # view_file: content
    (47, 3),  # mcp_tool
    (42, 5),  # search_web: summary
    *((12, 2), (94, 2), (30, 5)),  # finish, notify_user
)
"""Paths to the text of a tool's result, by the field of the step's kind, best first."""

LIST_DIRECTORY = (15, 2)
"""Field of the kind and its repeated field with names."""

EXIT_CODES = ((28, 6), (37, 5), (127, 2))

ERROR_TEXTS = (3, 2, 1)
"""Fields of error details: the whole error, a short one, one for display."""

NOTE_PATHS = {SYSTEM_MESSAGE: (114, 1), HISTORY: (111, 1), EPHEMERAL: (103, 1)}

FORKED = frozenset({2, 6})
"""Kinds of references that record a fork of another conversation."""

MODELS = {"MODEL_PLACEHOLDER_M16": "gemini-pro-default", "MODEL_PLACEHOLDER_M26": "claude-opus-4-6-thinking"}
"""Model names by placeholder, for calls without a name."""

KNOWN_COUNTS = frozenset({1, 2, 3, 4, 5, 6, 9, 10})
"""Numeric fields of a usage: the model, the provider and counts."""


class Generation(NamedTuple):
    """A request: the steps it produced, and its checkpoint (-1 for none) with the steps that it replaced."""

    number: int
    steps: tuple[int, ...]
    model: str
    model_code: int
    time: float | None
    usage: Usage | None
    identifier: str
    terms: str
    checkpoint: int
    covered: frozenset[int]


def generation_of(number: int, data: bytes) -> Generation:
    """Convert a row of `gen_metadata`. Raises `ProtobufError` if it is not a message."""
    row = ProtobufMessage(data)
    chat = row.message(1)
    usage, start = chat.message(4), chat.message(9)
    return Generation(
        number,
        tuple(row.numbers(2)),
        _model(chat),
        usage.number(1),
        time_of(start.message(4)),
        usage_of(usage),
        usage.text(11) or usage.text(7),
        parse_billing_terms({}, usage.text(13)).code if usage.text(13) else "",
        start.number(2) if 2 in start else -1,
        frozenset(start.numbers(3)),
    )


def usage_of(usage: ProtobufMessage) -> Usage | None:
    """Convert reported usage; None if it has no counts. Input excludes cached tokens."""
    thinking = count(usage.number(9))
    output = max(count(usage.number(3)), thinking + count(usage.number(10)))
    return Usage(
        uncached=count(usage.number(2)),
        cache_read=count(usage.number(5)),
        cache_write_5m=count(usage.number(4)),
        output=output,
        reasoning=thinking,
        ignored=tuple(f"field {number}" for number in sorted(usage.numeric_fields() - KNOWN_COUNTS)),
    ).unless_zero()


def _model(chat: ProtobufMessage) -> str:
    named = chat.text(19)
    if named:
        return named
    settings = {pair.text(1): pair.text(2) for pair in chat.messages(20)}
    return MODELS.get(settings.get("model_enum", ""), "") or chat.text(21)


def time_of(timestamp: ProtobufMessage) -> float | None:
    seconds = count(timestamp.number(1))
    return seconds_of_any(seconds + count(timestamp.number(2)) / 1e9)


def step_record(row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a row of `steps` to JSON, without empty values. Raises `ProtobufError` if it is not a message."""
    payload = ProtobufMessage(_bytes(row.get("step_payload")))
    column = _bytes(row.get("metadata"))
    about = ProtobufMessage(column) if column else payload.message(5)
    kind, status = _number(row.get("step_type")) or payload.number(1), _number(row.get("status")) or payload.number(4)
    details = _bytes(row.get("error_details"))
    error = _error(ProtobufMessage(details) if details else payload.message(31))
    found: dict[str, Any] = {
        "number": _number(row.get("idx")),
        "type": kind,
        "status": status,
        "time": time_of(about.message(1)),
        "completed": time_of(about.message(8)),
        "error": error or (_error(payload.message(24, 3)) if kind == ERROR else ""),
    }
    usage = about.message(9)
    if (reported := usage_of(usage)) is not None:
        found["usage"] = {name: getattr(reported, name) for name in reported.__struct_fields__}
        found["model_code"], found["response_id"] = usage.number(1), usage.text(11)
    if kind == USER_INPUT:
        found |= _user_input(payload.message(19)) | {"is_implicit": about.number(3) == 3}
    elif kind == RESPONSE:
        found |= _response(payload.message(20))
    elif kind == CHECKPOINT:
        found |= _checkpoint(payload.message(30))
    elif call := _tool_call(about.message(4)):
        found |= {"call": call, "result": _result(payload), "exit_code": _exit_code(payload)}
        found["subagents"] = _subagents(payload.message(143))
    elif kind in NOTE_PATHS:
        found["text"] = payload.text(*NOTE_PATHS[kind])
    return {name: value for name, value in found.items() if value not in (None, "", [], {}, False)}


def _user_input(message: ProtobufMessage) -> dict[str, Any]:
    texts = [item.text(1) for item in message.messages(3)]
    text = "".join(texts) or message.text(2) or message.text(1)
    images = [(image.text(2), image.text(1)) for image in message.messages(5)]
    images += [(media.text(1), b64encode(media.data(2)).decode()) for media in message.messages(9)]
    return {"text": text, "media": [{"type": kind, "data": data} for kind, data in images if data]}


def _response(message: ProtobufMessage) -> dict[str, Any]:
    return {
        "thinking": message.text(3),
        "signature": len(message.data(14)) or len(message.data(4)),
        "text": message.text(8) or message.text(1),
        "calls": [call for each in message.messages(7) if (call := _tool_call(each))],
    }


def _checkpoint(message: ProtobufMessage) -> dict[str, Any]:
    summary = [message.text(number) for number in (4, 5, 6, 8)]
    return {
        "checkpoint": message.number(1),
        "title": message.text(10),
        "text": "" if message.number(9) else "\n\n".join(filter(None, summary)),
    }


def _tool_call(message: ProtobufMessage) -> dict[str, str]:
    name = message.text(2) or message.text(9)
    return {"id": message.text(1), "name": name, "arguments": message.text(3)} if name else {}


def _subagents(message: ProtobufMessage) -> list[str]:
    return [each for each in (*(result.text(1) for result in message.messages(10)), message.text(5)) if each]


def _result(payload: ProtobufMessage) -> str:
    found = next((text for path in RESULT_PATHS if path[0] in payload and (text := payload.text(*path))), "")
    field, names = LIST_DIRECTORY
    return found or ("\n".join(payload.message(field).texts(names)) if field in payload else "")


def _exit_code(payload: ProtobufMessage) -> int:
    return next((payload.number(*path) for path in EXIT_CODES if path[0] in payload), 0)


def _error(message: ProtobufMessage) -> str:
    return next((text for number in ERROR_TEXTS if (text := message.text(number))), "")


class Trajectory(NamedTuple):
    """Data about a conversation. `parent`: the one that started it as a subagent; empty if the user did."""

    folder: str = ""
    parent: str = ""


def trajectory_of(data: bytes) -> Trajectory:
    """Convert a row of `trajectory_metadata_blob`. Raises `ProtobufError` if it is not a message."""
    about = ProtobufMessage(data)
    folders = [each.text(1) for each in about.messages(1)] + about.texts(7)
    return Trajectory(next((path for each in folders if (path := path_of(each))), ""), about.text(5))


class Fork(NamedTuple):
    """A reference to the conversation that this one was copied from. `last_step`: number of the last copied step."""

    conversation: str
    last_step: int


def fork_of(data: bytes) -> Fork | None:
    """Convert a row of `parent_references`; None if it is not a fork. Raises `ProtobufError` if it is not a message."""
    reference = ProtobufMessage(data)
    conversation = reference.text(6)
    return Fork(conversation, reference.number(2)) if conversation and reference.number(5) in FORKED else None


def path_of(uri: str) -> str:
    """Return the path of a `file:` URI, or a plain path unchanged; empty for other schemes."""
    if "://" not in uri:
        return uri
    parts = urlsplit(uri)
    path = unquote(parts.path)
    is_windows = len(path) > 2 and path[2] == ":"
    return (path[1:] if is_windows else path) if parts.scheme == "file" else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""


STEP = "step "

STEP_COLUMNS = ("idx", "step_type", "status", "metadata", "error_details", "step_payload")

CLI_SOURCE = 17
"""`trajectory_meta.source` of the command-line program."""

SUMMARY = "summary"

Record = dict[str, Any]


def blocks_of_step(step: Mapping[str, Any], origin: Origin) -> list[TextBlock]:
    kind, text = step.get("type", 0), string(step.get("text"))
    if kind == RESPONSE:
        return list(_of_response(step, text, origin))
    if call := mapping(step.get("call")):
        return [_of_result(step, call, origin)]
    if kind == USER_INPUT:
        return _of_user(step, text, origin)
    if kind == SYSTEM_MESSAGE or (kind in (CHECKPOINT, HISTORY) and text):
        return [text_block(BlockKind.USER_TEXT, text, origin)]
    name = STEP_NAMES.get(kind, f"step of type {kind}")
    rest = text or string(step.get("error")) or string(step.get("title"))
    return [text_block(BlockKind.OTHER, f"{name}: {rest}" if rest else name, origin)]


def _of_response(step: Mapping[str, Any], text: str, origin: Origin) -> Iterable[TextBlock]:
    thinking, signature = string(step.get("thinking")), step.get("signature", 0)
    if thinking or signature:
        yield text_block(BlockKind.THINKING, thinking, origin, signature_characters=signature)
    if text:
        yield text_block(BlockKind.ASSISTANT_TEXT, text, origin.at(1))
    for index, call in enumerate(objects(step.get("calls"))):
        yield text_block(
            BlockKind.TOOL_CALL,
            argument_text(string(call.get("arguments"))),
            origin.at(2 + index),
            tool_call_id=string(call.get("id")),
            tool_name=string(call.get("name")),
        )


def _of_result(step: Mapping[str, Any], call: Mapping[str, Any], origin: Origin) -> TextBlock:
    error = string(step.get("error"))
    return text_block(
        BlockKind.TOOL_RESULT,
        string(step.get("result")) or error,
        origin,
        tool_call_id=string(call.get("id")),
        tool_name=string(call.get("name")),
        is_error=step.get("status") == FAILED or bool(error) or bool(step.get("exit_code")),
    )


def _of_user(step: Mapping[str, Any], text: str, origin: Origin) -> list[TextBlock]:
    blocks = [text_block(BlockKind.USER_TEXT, text, origin)]
    for index, item in enumerate(objects(step.get("media"))):
        media, data = media_of_all([(string(item.get("type")), string(item.get("data")))])
        kind = BlockKind.DOCUMENT if media[0].media_type == "application/pdf" else BlockKind.IMAGE
        blocks.append(text_block(kind, "", origin.at(1 + index), media=media, media_data=data))
    return blocks


class AntigravityRows(RowInterpreter):
    """Interpreter for the rows of one conversation."""

    known_tables = frozenset(
        {
            *("steps", "gen_metadata", "trajectory_meta", "trajectory_metadata_blob", "parent_references"),
            "executor_metadata",
        }
    )
    owner_columns = None

    def __init__(self, program: str) -> None:
        """Initialize with the program's name, used if the database does not contain it."""
        super().__init__()
        self._program = program
        self._steps: list[Record] = []
        self._generations: list[Generation] = []
        self._about = Trajectory()
        self._forks: list[Fork] = []
        self._identifier = ""
        self._broken: list[tuple[str, int]] = []
        self._known: dict[tuple[str, int], tuple[int, Any]] = {}
        self._columns: Columns = {}

    def read(self, connection: sqlite3.Connection) -> None:
        self._columns.clear()
        self._broken.clear()
        selector = Selector(connection, self._columns)
        before, self._known = self._known, {}
        decode = partial(self._decoded, before)
        names, steps = selector.select("steps", STEP_COLUMNS, "ORDER BY idx")
        if not names:
            raise RowsGoneError("no table of steps")
        self._steps = decode("step", steps, lambda _, row: step_record(dict(zip(names, row, strict=True))))
        _, rows = selector.select("gen_metadata", ("idx", "data"), "ORDER BY idx")
        self._generations = decode("request", rows, lambda number, row: generation_of(number, _blob(row[1])))
        _, rows = selector.select("trajectory_metadata_blob", ("data",), "")
        self._about = next(iter(decode("metadata", rows, lambda _, row: trajectory_of(_blob(row[0])))), Trajectory())
        _, rows = selector.select("parent_references", ("data",), "ORDER BY rowid")
        references = decode("reference", rows, lambda _, row: fork_of(_blob(row[0])))
        self._forks = [fork for fork in references if fork is not None]
        meta = selector.rows("trajectory_meta", ("cascade_id", "source"), "LIMIT 1")
        about = meta[0] if meta else {}
        self._identifier = clean_text(string(about.get("cascade_id")))
        if about.get("source") == CLI_SOURCE:
            self._program = "Antigravity CLI"

    def _decoded(
        self,
        before: Mapping[tuple[str, int], tuple[int, Any]],
        kind: str,
        rows: Sequence[tuple[Any, ...]],
        make: Callable[[int, tuple[Any, ...]], Any],
    ) -> list[Any]:
        found = []
        for place, row in enumerate(rows):
            number = row[0] if isinstance(row[0], int) else place
            fingerprint = hash(row)
            known = before.get((kind, number))
            try:
                made = known[1] if known is not None and known[0] == fingerprint else make(number, row)
            except ProtobufError:
                self._broken.append((kind, number))
                continue
            self._known[kind, number] = (fingerprint, made)
            found.append(made)
        return found

    def settle(self) -> None:
        builder = self.builder = SessionBuilder()
        builder.agent = self._program
        builder.identifier, builder.working_directory = self._identifier, self._about.folder
        for kind, number in self._broken:
            builder.diagnose(f"not a readable {kind}", 0, number, skipped=True)
        if self._about.parent:
            builder.link(SessionLink(LinkKind.PARENT, self._about.parent))
        builder.record_counts["request"] = len(self._generations)
        names = (STEP_NAMES.get(step.get("type", 0), f"step of type {step.get('type', 0)}") for step in self._steps)
        builder.record_counts |= Counter(names)
        forks = [fork for fork in self._forks if fork.conversation != self._identifier]
        copied = forks[-1].last_step if forks else -1
        for fork in forks[-1:]:
            builder.link(SessionLink(LinkKind.CONTINUED, fork.conversation))
        ConversationSteps(builder, self._steps, self._generations, copied).add_all()

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        step, _ = object_of(record)
        return [] if step is None else blocks_of_step(step, Origin(0, 0, 0, 0, origin.locator))

    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        selector = Selector(connection, self._columns)
        names, rows = selector.select("steps", STEP_COLUMNS, "WHERE idx = ?", name.removeprefix(STEP))
        if not rows:
            return None
        try:
            return compact_json(step_record(dict(zip(names, rows[0], strict=True)))).encode(errors="replace")
        except ProtobufError:
            return None


class ConversationSteps:
    """Adds the steps of a conversation to a builder."""

    def __init__(
        self, builder: SessionBuilder, steps: Sequence[Record], generations: Sequence[Generation], copied: int
    ) -> None:
        """Prepare the steps. `copied`: number of the last step copied from another conversation, -1 for none."""
        self._builder = builder
        self._steps = steps
        self._thread = Thread(builder)
        self._copied = copied
        self._requests = match_requests(steps, generations)
        self._generations = generations
        self._names = {each.model_code: each.model for each in generations if each.model_code and each.model}
        self._number_of: dict[int, int] = {}
        self._summaries: dict[int, int] = {}
        self._covered: frozenset[int] = frozenset()
        self._unknown_results = 0

    def add_all(self) -> None:
        for step in self._steps:
            self._add(step)
        self._add_side_requests()
        if self._unknown_results:
            reason = f"{self._unknown_results:,} tool results have no known text"
            self._builder.diagnose(reason, 0, 0, skipped=False)

    def _add(self, step: Record) -> None:
        kind, number = step.get("type", 0), step.get("number", 0)
        is_tool, is_running = "call" in step, step.get("status") in RUNNING
        if is_tool and is_running:
            self._link(step)
            return
        blocks = [made.block for made in blocks_of_step(step, Origin(0, 0, 0, 0, f"{STEP}{number}"))]
        message = Message(
            role=_role(kind, is_tool=is_tool),
            blocks=tuple(blocks),
            time=step.get("time"),
            is_meta=kind in (SYSTEM_MESSAGE, HISTORY) or bool(step.get("is_implicit")),
            is_inherited=number <= self._copied,
        )
        if kind == RESPONSE:
            self._respond(step, message, is_running=is_running)
        elif kind == CHECKPOINT:
            self._builder.title = string(step.get("title")) or self._builder.title
            is_summary = bool(step.get("text"))
            index = self._thread.add(structs.replace(message, is_summary=is_summary), is_sent=False)
            if is_summary:
                self._summaries[step.get("checkpoint", 0)] = index
        else:
            self._link(step)
            self._unknown_results += is_tool and not blocks[0].characters
            index = self._thread.add(message, is_sent=message.role is not Role.OTHER)
            self._number_of[index] = number

    def _respond(self, step: Record, message: Message, *, is_running: bool) -> None:
        number = step.get("number", 0)
        request = self._requests.get(number)
        if request is not None:
            self._compact(request, message)
        if not message.blocks and (is_running or request is None):
            return  # the model has not answered
        if is_running:
            index = self._thread.add(message)
        else:
            usage = request.usage if request is not None else None
            index = self._thread.respond(
                message,
                model=self._model(step, request),
                usage=usage or _own_usage(step),
                identifier=request.identifier if request is not None else string(step.get("response_id")),
                terms=request.terms if request is not None else "",
            )
        self._number_of[index] = number

    def _model(self, step: Record, request: Generation | None) -> str:
        named = request.model if request is not None else ""
        return named or self._names.get(step.get("model_code", 0), "")

    def _compact(self, request: Generation, message: Message) -> None:
        """Begin the context of a request with a checkpoint in place of earlier steps."""
        summary = self._summaries.get(request.checkpoint)
        if summary is None or not request.covered or request.covered == self._covered:
            return
        self._covered = request.covered
        kept = [at for at in self._thread.members if self._number_of.get(at, -1) not in request.covered]
        kept = [at for at in kept if not self._builder.messages[at].is_summary]
        self._thread.begin(ContextCause.COMPACTION, [summary, *kept], 1 + len(kept))
        # A checkpoint is prepared in the background, so calls recorded before this one may come after it.
        last = len(self._builder.messages)
        first = summary if summary + 1 == last else last
        self._builder.compactions.append(Compaction(first, trigger="auto", time=message.time))

    def _link(self, step: Record) -> None:
        call = string(mapping(step.get("call")).get("id"))
        for identifier in map(string, sequence(step.get("subagents"))):
            self._builder.link(SessionLink(LinkKind.SUBAGENT, identifier, tool_call_id=call))

    def _add_side_requests(self) -> None:
        used = {id(request) for request in self._requests.values()}
        kinds = {step.get("number", 0): step.get("type", 0) for step in self._steps}
        seen = {request.identifier for request in self._generations} - {""}
        side_calls = self._builder.side_calls
        for request in self._generations:
            if id(request) not in used and request.usage is not None:
                is_summary = any(kinds.get(step) == CHECKPOINT for step in request.steps)
                purpose = SUMMARY if is_summary else NO_MESSAGE
                side_calls[f"request {request.number}"] = SideCall(
                    purpose, request.model, request.time, request.usage, request.identifier, request.terms
                )
        for step in self._steps:
            identifier, usage = string(step.get("response_id")), _own_usage(step)
            if step.get("type") == RESPONSE or usage is None or not identifier or identifier in seen:
                continue
            seen.add(identifier)
            purpose = SUMMARY if step.get("type") == CHECKPOINT else NO_MESSAGE
            model = self._names.get(step.get("model_code", 0), "")
            side_calls[f"step {step.get('number', 0)}"] = SideCall(purpose, model, step.get("time"), usage, identifier)


def _role(kind: int, *, is_tool: bool) -> Role:
    if is_tool:
        return Role.TOOL
    if kind in (USER_INPUT, SYSTEM_MESSAGE, HISTORY, CHECKPOINT):
        return Role.USER
    return Role.ASSISTANT if kind == RESPONSE else Role.OTHER


def _own_usage(step: Record) -> Usage | None:
    reported = mapping(step.get("usage"))
    return Usage(**reported) if reported else None


def match_requests(steps: Sequence[Record], generations: Sequence[Generation]) -> dict[int, Generation]:
    """Return the request of each response, by the response's step number.

    A request names its steps. Where it does not, the response's id is used, then the time: a response belongs to the
    last request before it.
    """
    responses = {step.get("number", 0): step for step in steps if step.get("type") == RESPONSE}
    found: dict[int, Generation] = {}
    rest: list[Generation] = []
    by_id = {string(step.get("response_id")): number for number, step in responses.items()}
    for request in generations:
        named = [step for step in request.steps if step in responses and step not in found]
        named = named or [by_id[request.identifier]] if request.identifier in by_id else named
        if named and named[0] not in found:
            found[named[0]] = request
        elif not request.steps:
            rest.append(request)
    place = 0
    for number, step in responses.items():
        if number in found:
            continue
        ends = [time for name in ("time", "completed") if (time := step.get(name)) is not None]
        last = place
        while last < len(rest) and (not ends or (rest[last].time or 0.0) <= max(ends)):
            last += 1
            if not ends:
                break
        if last > place:
            found[number] = rest[last - 1]
            place = last
    return found


def _blob(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""


FORMATS = (AntigravityFormat(),)
