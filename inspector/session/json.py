"""JSON in sessions: lines, values with file offsets, fields of any type, damaged text.

Invalid UTF-8 and lone surrogates become U+FFFD, and fields of an unexpected type are dropped; the problems are returned
with the value. The standard library's decoder and encoder are imported on demand: detecting the format of an undamaged
file, which delays the first paint, does not need them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from inspector.session.builder import SessionBuilder


UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Errors of the strict, fast decoder."""

BLANKS = "\x00\ufeff \t\r\n"
"""Characters ignored around a value: a byte order mark, and the zero bytes left by a crash."""

TOO_DEEP = '"nested too deeply"'
"""Replacement for a value that cannot be encoded because it is circular or a thousand levels deep."""

SURROGATES = range(0xD800, 0xE000)


QUOTED_NUMBER = re.compile(r"\s*[0-9]{1,16}(?:\.[0-9]{1,16})?\s*")


def unquoted(value: object) -> object:
    """Return the number in a string, as some gateways and databases write counts; other values unchanged."""
    if not isinstance(value, str) or not QUOTED_NUMBER.fullmatch(value):
        return value
    return int(value) if "." not in value else float(value)


def decode_json(data: bytes | memoryview | msgspec.Raw) -> tuple[Any, str]:
    """Decode JSON, leniently if it is damaged; return the value and the problem."""
    try:
        return msgspec.json.decode(data), ""
    except UNDECODABLE:
        return lenient_json(bytes(data))


def lenient_json(data: bytes) -> tuple[object, str]:
    """Decode JSON with U+FFFD for invalid bytes or code points; return the value and the problem."""
    import json

    problem = ""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode(errors="replace")
        problem = "invalid UTF-8"
    try:
        value = json.loads(text.strip(BLANKS))
    except RecursionError:
        return None, "JSON nested too deeply"
    except ValueError:
        if not text.strip(BLANKS):
            return None, "only white space and zero bytes"
        return None, "invalid JSON"
    if "\\u" in text and ("\\ud" in text or "\\uD" in text):
        try:
            cleaned = _without_lone_surrogates(value)
        except RecursionError:
            return None, "JSON nested too deeply"
        if cleaned is not value:
            value, problem = cleaned, problem or "lone surrogates"
    return value, problem


def json_in(text: str) -> Any:
    """Decode the JSON in a string leniently; return None if it is not JSON."""
    return lenient_json(text.encode(errors="replace"))[0]


def clean_text(text: str) -> str:
    """Replace lone surrogates, which have no UTF-8 form, by U+FFFD; return the same object if there are none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if ord(character) in SURROGATES else character for character in text)
    return text


def _without_lone_surrogates(value: object) -> object:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        items = [_without_lone_surrogates(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if isinstance(value, dict):
        pairs = [(clean_text(key), _without_lone_surrogates(item)) for key, item in value.items()]
        if any(
            key is not old_key or item is not old
            for (key, item), (old_key, old) in zip(pairs, value.items(), strict=True)
        ):
            return dict(pairs)
    return value


def salvage(value: object, wanted: Any) -> tuple[Any, set[str]]:
    """Convert JSON to a struct with defaults for all fields; return the names of those that did not fit too."""
    ill_typed: set[str] = set()
    return _fit(value, msgspec.inspect.type_info(wanted), wanted, ill_typed), ill_typed


def _fit(value: object, info: msgspec.inspect.Type, wanted: Any, ill_typed: set[str]) -> Any:
    if isinstance(value, dict) and (struct := _member(info, msgspec.inspect.StructType)) is not None:
        fields = {}
        for field in struct.fields:
            if field.encode_name not in value:
                continue
            try:
                fields[field.name] = _fit(value[field.encode_name], field.type, None, ill_typed)
            except msgspec.ValidationError:
                ill_typed.add(field.encode_name)
        return struct.cls(**fields)
    if isinstance(value, list) and (items := _member(info, msgspec.inspect.ListType)) is not None:
        fitted = []
        for item in value:
            try:
                fitted.append(_fit(item, items.item_type, None, ill_typed))
            except msgspec.ValidationError:
                ill_typed.add("a list item")
        return fitted
    return _convert(value, info, wanted)


def _member(info: Any, kind: type[Any]) -> Any:
    candidates = info.types if isinstance(info, msgspec.inspect.UnionType) else (info,)
    return next((candidate for candidate in candidates if isinstance(candidate, kind)), None)


SCALARS: dict[type, tuple[type, ...]] = {
    msgspec.inspect.StrType: (str,),
    msgspec.inspect.BoolType: (bool,),
    msgspec.inspect.FloatType: (float, int),
    msgspec.inspect.NoneType: (type(None),),
    msgspec.inspect.AnyType: (object,),
}


def _convert(value: object, info: Any, wanted: Any) -> Any:
    import json

    candidates = info.types if isinstance(info, msgspec.inspect.UnionType) else (info,)
    is_text = isinstance(value, str) and any(isinstance(one, msgspec.inspect.StrType) for one in candidates)
    for candidate in candidates:
        if isinstance(candidate, msgspec.inspect.RawType):
            return msgspec.Raw(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
        if isinstance(candidate, msgspec.inspect.IntType):
            number = value if is_text else unquoted(value)
            if isinstance(number, int) and not isinstance(number, bool):
                return number
            if isinstance(number, float) and number.is_integer():
                return int(number)
        elif isinstance(value, SCALARS.get(type(candidate), ())):
            return value
    raise msgspec.ValidationError(f"not a {wanted or info}")


def compact_json(value: object) -> str:
    """Encode a value as compact JSON with non-ASCII characters, as agents written in JavaScript send it."""
    import json

    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (RecursionError, ValueError):
        return TOO_DEEP


def is_whole_json(line: bytes) -> bool:
    return lenient_json(line)[0] is not None


MOST = 1 << 53
"""Larger counts are invalid: JavaScript cannot represent them exactly."""


def string(value: object) -> str:
    """Return a string; empty for anything else."""
    return value if isinstance(value, str) else ""


def clean_string(value: object) -> str:
    """Return a string with U+FFFD for lone surrogates; empty for anything else."""
    return clean_text(value) if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """Return an object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """Return an array; empty for anything else."""
    return value if isinstance(value, list) else []


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in an array; empty for anything else."""
    return [item for item in sequence(value) if isinstance(item, dict)]


def count(value: object) -> int:
    """Return a count of tokens or items, also one in quotes; 0 for anything else, as negative and infinite numbers."""
    value = unquoted(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < MOST:
        return int(value)
    return 0


def amount(value: object) -> float:
    """Return an amount of money, also one in quotes; 0 for anything else, as negative and infinite numbers."""
    value = unquoted(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < MOST:
        return float(value)
    return 0.0


def count_or_none(value: object) -> int | None:
    return count(value) or None


def seconds(timestamp: str | None) -> float | None:
    """Parse an ISO 8601 time as seconds since the epoch. Without a time zone it is UTC.

    None if it is invalid or not in 1970 to 5138: shifted to UTC, it may be in no year of the calendar.
    """
    if not timestamp:
        return None
    try:
        time = datetime.fromisoformat(timestamp)
        since = (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return since if 0 <= since < MILLISECONDS else None


def seconds_of_any(value: object) -> float | None:
    """Parse a time as ISO 8601, or as seconds or milliseconds since the epoch."""
    if isinstance(value, str):
        return seconds(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < MILLISECONDS * 100:
        return float(value) / 1000 if value > MILLISECONDS else float(value)
    return None


MILLISECONDS = 1e11
"""Larger numbers are milliseconds: as seconds they would be after the year 5138."""


Value = TypeVar("Value")
Struct = TypeVar("Struct", bound=msgspec.Struct)


def line_bounds(data: bytes) -> list[tuple[int, int, int]]:
    r"""Return start, end and number of every line of `data`, without line ends and empty lines, which are counted.

    Only `\n` ends a line (a `\r` before it belongs to the line end); the text after the last one is a line too.
    """
    bounds = []
    start, length, number = 0, len(data), 0
    find = data.find
    while start < length:
        newline = find(b"\n", start)
        end = newline if newline >= 0 else length
        following = end + 1
        if end > start and data[end - 1] == 13:  # \r
            end -= 1
        if end > start:
            bounds.append((start, end, number))
        start = following
        number += 1
    return bounds


def object_of(data: bytes) -> tuple[dict[str, Any] | None, str]:
    """Decode the object in a line; return None if there is none, and the problem."""
    value, problem = decode_json(data)
    return (value, problem) if isinstance(value, dict) else (None, problem or "not a JSON object")


MOST_GLUED = 50
"""Limit on the places in an invalid line where a record may begin."""

MOST_SHAPES = 500


class RecordShapes:
    """Forms of the records in a file, to find whole records in a line that a crash left torn."""

    def __init__(self, *pieces: bytes) -> None:
        """Note the field names of the valid lines in some pieces of the file."""
        self._shapes: set[frozenset[str]] = set()
        self._beginnings: set[bytes] = set()
        for piece in pieces:
            for start, end, _ in line_bounds(piece)[:MOST_SHAPES]:
                value, problem = decode_json(piece[start:end])
                if isinstance(value, dict) and value and not problem:
                    self._shapes.add(frozenset(value))
                    self._beginnings.add(piece[start : piece.index(b'"', piece.index(b'"', start) + 1) + 1])

    def records_in(self, line: bytes) -> Iterator[tuple[int, int]]:
        """Yield start and end of the whole records in an invalid line, in order."""
        starts = sorted(start for beginning in self._beginnings for start in _places(line, beginning))[:MOST_GLUED]
        free = 0
        for number, start in enumerate(starts):
            if start < free:
                continue
            for end in (*starts[number + 1 :], len(line)):
                piece = line[start:end].rstrip()
                if self._is_record(piece):
                    free = end
                    yield start, start + len(piece)
                    break

    def _is_record(self, piece: bytes) -> bool:
        if not piece.endswith(b"}"):
            return False
        value, problem = decode_json(piece)
        return isinstance(value, dict) and not problem and frozenset(value) in self._shapes


def _places(line: bytes, part: bytes) -> Iterator[int]:
    place = line.find(part)
    while place >= 0:
        yield place
        place = line.find(part, place + 1)


class JsonLine(NamedTuple, Generic[Value]):
    """A line in a slice: value or None, offsets without the line end, lines before it, and repairs."""

    value: Value | None
    start: int
    end: int
    number: int
    problem: str = ""


class LineDecoder(Protocol):
    """Decodes whole lines."""

    def lines(self, data: bytes, /) -> Iterator[JsonLine[Any]]:
        """Yield all lines of a slice, in order. The slice must end at a line end."""
        ...


class ValueDecoder:
    """Decodes lines as any JSON values."""

    def lines(self, data: bytes, /) -> Iterator[JsonLine[Any]]:
        """Yield all lines of a slice, in order. `null` counts as unreadable."""
        for start, end, number in line_bounds(data):
            value, problem = decode_json(data[start:end])
            yield JsonLine(value, start, end, number, problem or ("not a JSON object" if value is None else ""))


class ObjectDecoder:
    """Decodes lines as plain objects, for formats with too many record shapes to list their fields."""

    def __init__(self, inner: str = "") -> None:
        """Create a decoder. `inner` names the field with a line's content, which must be an object."""
        self._inner = inner

    def lines(self, data: bytes, /) -> Iterator[JsonLine[dict[str, Any]]]:
        inner = self._inner
        for start, end, number in line_bounds(data):
            value, problem = object_of(data[start:end])
            if inner and value is not None and not problem and not isinstance(value.get(inner, {}), dict):
                problem = f"unexpected type of {inner}"
            yield JsonLine(value, start, end, number, problem)


class StructDecoder(Generic[Struct]):
    """Decodes lines as one struct type with only the needed fields: the fastest way.

    A slice of the file is decoded in one call. If that fails, its lines are decoded one at a time; a line that fails is
    decoded leniently, dropping fields of an unexpected type.

    Attributes:
        type: The struct type. All its fields need defaults, so that any object can be decoded.
    """

    def __init__(self, struct: type[Struct]) -> None:
        self.type = struct
        self._decoder = msgspec.json.Decoder(struct)

    def lines(self, data: bytes, /) -> Iterator[JsonLine[Struct]]:
        bounds = line_bounds(data)
        try:
            values = self._decoder.decode_lines(data)
        except UNDECODABLE:
            values = []
        # The decoder accepts two objects on one line, which everywhere else is one invalid line.
        if len(values) == len(bounds) and all(data[start] == 123 for start, _, _ in bounds):  # {
            for value, (start, end, number) in zip(values, bounds, strict=True):
                yield JsonLine(value, start, end, number)
            return
        for start, end, number in bounds:
            decoded, problem = self.decode(data[start:end])
            yield JsonLine(decoded, start, end, number, problem)

    def decode(self, line: bytes) -> tuple[Struct | None, str]:
        """Decode one line; return the struct, or None if it is unreadable, and the problem."""
        try:
            return self._decoder.decode(line), ""
        except UNDECODABLE:
            return self._decode_leniently(line)

    def _decode_leniently(self, line: bytes) -> tuple[Struct | None, str]:
        value, problem = lenient_json(line)
        if not isinstance(value, dict):
            return None, problem or "not a JSON object"
        try:
            struct, ill_typed = salvage(value, self.type)
        except RecursionError:
            return None, "JSON nested too deeply"
        if ill_typed:
            problem = problem or f"unexpected type of {', '.join(sorted(ill_typed)[:3])}"
        return struct, problem


Parts = TypeVar("Parts")

ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|u[0-9a-fA-F]{4}|.)",
    re.DOTALL,
)
"""Matches every escape in a JSON text; the group matches a lone surrogate, which truncated texts contain."""

BEGINNINGS = frozenset((b"{", b"[", b'"'))

NUMBERS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)|(-?\b(?:NaN|Infinity)\b)', re.DOTALL)
"""Matches strings; the group matches numbers that Python writes and JSON does not allow."""


class Node(Protocol):
    """One JSON value.

    Attributes:
        offset: Byte offset in the file; for a value in memory, the index of its entry, or -1 if it is not an entry.
        length: Length in bytes; 0 in memory.
    """

    offset: int
    length: int

    def value(self) -> Any:
        """Decode the value leniently; return None if it is unreadable."""
        ...

    def raw(self) -> bytes:
        """Return the value as JSON."""
        ...

    def fields(self) -> Fields:
        """Return an object's fields; empty for anything else."""
        ...

    def items(self) -> list[Node]:
        """Return an array's items; empty for anything else."""
        ...


class Fields(dict[str, Node]):
    """The fields of an object. Missing fields are empty."""

    def value_of(self, name: str, default: Any = None) -> Any:
        return self[name].value() if name in self else default

    def values_of(self, *names: str) -> dict[str, Any]:
        """Return the values of the named fields that exist."""
        return {name: self[name].value() for name in names if name in self}

    def items_of(self, name: str) -> list[Node]:
        return self[name].items() if name in self else []

    def fields_of(self, name: str) -> Fields:
        return self[name].fields() if name in self else Fields()


class FileNode:
    """A value at a byte offset of a file."""

    def __init__(self, data: bytes | memoryview | msgspec.Raw, offset: int) -> None:
        """Skip blanks and a byte order mark before the value in `data`, which is at `offset` of its file."""
        if isinstance(data, bytes) and data[:1] not in BEGINNINGS:
            whole, data = len(data), data.lstrip(BLANKS.encode())
            offset += whole - len(data)
        self._data = data
        self.offset = offset
        self.length = len(memoryview(data))

    def value(self) -> Any:
        return decode_json(self._data)[0]

    def raw(self) -> bytes:
        return bytes(self._data)

    def fields(self) -> Fields:
        found, data = self._parts(OBJECT, {})
        start = _address(data) if found else 0
        return Fields({name: self._inside(raw, data, start) for name, raw in found.items()})

    def items(self) -> list[Node]:
        found, data = self._parts(ARRAY, [])
        start = _address(data) if found else 0
        return [self._inside(raw, data, start) for raw in found]

    def _parts(
        self, decoder: msgspec.json.Decoder[Parts], nothing: Parts
    ) -> tuple[Parts, bytes | memoryview | msgspec.Raw]:
        """Return the parts of the value, and the text they were decoded from, repaired if necessary."""
        try:
            return decoder.decode(self._data), self._data
        except UNDECODABLE:
            sound = repair_in_place(self.raw())
        try:
            return decoder.decode(sound), sound
        except UNDECODABLE:
            return nothing, sound

    def _inside(self, raw: msgspec.Raw, data: bytes | memoryview | msgspec.Raw, address: int) -> Node:
        # A raw value is a view into the decoded text, so its address yields its offset.
        start = _address(raw) - address
        if data is self._data:
            return FileNode(raw, self.offset + start)
        return FileNode(memoryview(self._data)[start : start + len(memoryview(raw))], self.offset + start)


class MemoryNode:
    """A value in memory."""

    def __init__(self, value: Any, offset: int = -1) -> None:
        self._value = value
        self.offset = offset
        self.length = 0

    def value(self) -> Any:
        return self._value

    def raw(self) -> bytes:
        return compact_json(self._value).encode(errors="replace")

    def fields(self) -> Fields:
        if not isinstance(self._value, dict):
            return Fields()
        return Fields({str(name): MemoryNode(value) for name, value in self._value.items()})

    def items(self) -> list[Node]:
        """Return an array's items with their indices; empty for anything else."""
        if not isinstance(self._value, (list, tuple)):
            return []
        return [MemoryNode(value, index) for index, value in enumerate(self._value)]


OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
ARRAY = msgspec.json.Decoder(list[msgspec.Raw])


def repair_in_place(data: bytes) -> bytes:
    """Replace invalid UTF-8, lone surrogates and Python's numbers in a JSON text without moving offsets."""
    text = data.decode(errors="surrogateescape")
    data = "".join("?" if "\udc80" <= character <= "\udcff" else character for character in text).encode()
    data = ESCAPES.sub(lambda found: b"\\ufffd" if found[1] else found[0], data)
    return NUMBERS.sub(lambda found: b"0".ljust(len(found[0])) if found[1] else found[0], data)


def _address(data: bytes | memoryview | msgspec.Raw) -> int:
    import numpy as np  # not needed for the sessions of most agents

    return int(np.frombuffer(memoryview(data), dtype=np.uint8).__array_interface__["data"][0])


def object_nodes(nodes: Iterable[Node], what: str, builder: SessionBuilder) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield entries that are objects, with values; others are diagnosed as not `what`: `a message`."""
    for node in nodes:
        value = node.value()
        if isinstance(value, dict):
            yield node, value
        else:
            builder.diagnose(f"not {what}", 0, max(node.offset, 0), skipped=True)


ESCAPED = re.compile(rb"[\[{ ]*\\")
"""Matches the beginning of an escaped JSON text: valid JSON has no backslash outside of strings."""

DATA = re.compile(rb"^data: ?(\{.*\})", re.MULTILINE)


def unescaped(record: bytes) -> bytes:
    """Return a record from inside a string as plain JSON; any other record unchanged."""
    return _decoded(b'"' + record + b'"') or record if ESCAPED.match(record) else record


def parse_inner_json(node: Node) -> Node | None:
    """Parse the JSON inside a string value; return None if there is none."""
    text, places = _text_of(node)
    return EscapedNode(FileNode(text, 0), places) if places and lenient_json(text)[0] is not None else None


def events_inside(node: Node) -> list[Node]:
    """Return the JSON objects in the events of a stream stored as a string; empty if it is not a stream.

    Streams are server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
    """
    text, places = _text_of(node)
    if places is None:
        return []
    found = (FileNode(text[one.start(1) : one.end(1)], one.start(1)) for one in DATA.finditer(text))
    return [EscapedNode(event, places) for event in found]


def _text_of(node: Node) -> tuple[bytes, _Places | None]:
    """Return a string's text, and the mapping of its bytes to file offsets."""
    raw = node.raw()
    if not raw.startswith(b'"'):
        return b"", None
    sound = repair_in_place(raw)
    text = _decoded(sound)
    return text, _Places(sound, node.offset) if text else None


def _decoded(quoted: bytes) -> bytes:
    try:
        return msgspec.json.decode(quoted, type=str).encode()
    except UNDECODABLE:
        value = lenient_json(quoted)[0]
        return value.encode(errors="replace") if isinstance(value, str) else b""


class _Places:
    """Maps bytes of a string's text to file offsets, where the text is escaped."""

    def __init__(self, quoted: bytes, offset: int) -> None:
        self._ends, self._text_ends = [offset + 1], [0]
        end, text_end = 1, 0
        for found in ESCAPES.finditer(quoted):
            text_end += found.start() - end + _width(found[0])
            end = found.end()
            self._ends.append(offset + end)
            self._text_ends.append(text_end)

    def of(self, place: int) -> int:
        """Return the file offset of a byte of the text."""
        before = bisect_right(self._text_ends, place) - 1
        return self._ends[before] + place - self._text_ends[before]


def _width(escape: bytes) -> int:
    if escape[1:2] != b"u":
        return 1
    return 4 if len(escape) > len(b"\\u0000") else len(chr(int(escape[2:6], 16)).encode(errors="replace"))


class EscapedNode:
    """A value inside a string."""

    def __init__(self, inner: Node, places: _Places) -> None:
        self._inner = inner
        self._places = places
        self.offset = places.of(inner.offset)
        self.length = places.of(inner.offset + inner.length) - self.offset

    def value(self) -> object:
        return self._inner.value()

    def raw(self) -> bytes:
        """Return the value as JSON, unescaped."""
        return self._inner.raw()

    def fields(self) -> Fields:
        return Fields({name: EscapedNode(node, self._places) for name, node in self._inner.fields().items()})

    def items(self) -> list[Node]:
        return [EscapedNode(node, self._places) for node in self._inner.items()]


class ComputedNode:
    """A value computed from another one, at the same offset. The file does not contain it as JSON."""

    def __init__(self, node: Node, make: Callable[[Any], Any]) -> None:
        self._node = node
        self._make = make
        self.offset, self.length = node.offset, node.length

    def value(self) -> Any:
        return self._make(self._node.value())

    def raw(self) -> bytes:
        """Return the original value as JSON."""
        return self._node.raw()

    def fields(self) -> Fields:
        """Return no fields: the file does not contain them."""
        return Fields()

    def items(self) -> list[Node]:
        return []


class EmbeddedNode:
    """A value in a compressed or encoded text; the offset belongs to the whole text."""

    def __init__(self, inner: Node, at: Node, number: int) -> None:
        """Wrap a value of the text at `at`; `number` is the number of values before it."""
        self._inner = inner
        self.number = number
        self.offset, self.length = at.offset, at.length

    def value(self) -> object:
        return self._inner.value()

    def raw(self) -> bytes:
        return self._inner.raw()

    def fields(self) -> Fields:
        return Fields()

    def items(self) -> list[Node]:
        return []
