"""Typed records out of JSON lines: fast where lines are sound, as much as can be had where they are not.

A slice of a file is decoded in one call into msgspec structs that name only the fields a reader needs. When that call
fails, the lines of this slice are decoded one by one, and a line that fails is read once more leniently: invalid UTF-8
and lone surrogates become U+FFFD, fields of an unexpected type are left out. What had to be changed or left out is
reported beside the record.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

Record = TypeVar("Record", bound=msgspec.Struct)

BLANKS = "\x00\ufeff \t\r\n"
"""What may stand around a value: a byte order mark, and the zero bytes a crash leaves in the place of lost text."""

SURROGATES = range(0xD800, 0xE000)


class Line(NamedTuple, Generic[Record]):
    """One line of a slice.

    Attributes:
        record: What it says, None when it cannot be read.
        start: Byte offset of the line inside the slice.
        end: Byte offset of its end, line end excluded.
        number: Number of lines before it in the slice, empty ones included.
        problem: What had to be changed or left out; empty for a sound line.
    """

    record: Record | None
    start: int
    end: int
    number: int
    problem: str = ""


def line_bounds(data: bytes) -> list[tuple[int, int, int]]:
    r"""Start, end and number of every line of `data`, line ends excluded, empty lines counted and left out.

    Only `\n` ends a line (a `\r` before it belongs to the line end); what follows the last one is a line too.
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


class RecordDecoder(Generic[Record]):
    """Decodes JSON lines into one struct type.

    Attributes:
        type: The struct type. All its fields need defaults, so that any object can be read as one.
    """

    def __init__(self, record_type: type[Record]) -> None:
        self.type = record_type
        self._decoder = msgspec.json.Decoder(record_type)

    def lines(self, data: bytes) -> Iterator[Line[Record]]:
        """Every line of a slice that ends at a line end, in order."""
        bounds = line_bounds(data)
        try:
            records = self._decoder.decode_lines(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            records = []
        # Two objects on one line count as two records for the decoder and are one bad line for everybody else.
        if len(records) == len(bounds) and all(data[start] == 123 for start, _, _ in bounds):  # {
            for record, (start, end, number) in zip(records, bounds, strict=True):
                yield Line(record, start, end, number)
            return
        for start, end, number in bounds:
            decoded, problem = self.decode(data[start:end])
            yield Line(decoded, start, end, number, problem)

    def decode(self, line: bytes) -> tuple[Record | None, str]:
        """One record and what was wrong with it; None where nothing can be read at all."""
        try:
            return self._decoder.decode(line), ""
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._decode_leniently(line)

    def _decode_leniently(self, line: bytes) -> tuple[Record | None, str]:
        value, problem = lenient_json(line)
        if not isinstance(value, dict):
            return None, problem or "not a JSON object"
        try:
            record, ill_typed = salvage(value, self.type)
        except RecursionError:
            return None, "JSON nested too deeply"
        if ill_typed:
            problem = problem or f"unexpected type of {', '.join(sorted(ill_typed)[:3])}"
        return record, problem


def lenient_json(data: bytes) -> tuple[object, str]:
    """A JSON value with U+FFFD where bytes or code points are invalid, and what was wrong with it."""
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
            return None, "only blanks and zero bytes"
        return None, "invalid JSON"
    if "\\u" in text and ("\\ud" in text or "\\uD" in text):
        try:
            cleaned = _without_lone_surrogates(value)
        except RecursionError:
            return None, "JSON nested too deeply"
        if cleaned is not value:
            value, problem = cleaned, problem or "lone surrogates"
    return value, problem


def clean_text(text: str) -> str:
    """`text` with U+FFFD in place of lone surrogates, which have no UTF-8 form; the same object when it has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if ord(character) in SURROGATES else character for character in text)
    return text


def _without_lone_surrogates(value: object) -> object:
    """The same object when there is nothing to clean."""
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
    """As much of a JSON value as fits a type, and the names of fields that did not.

    Args:
        value: What `json.loads` gives.
        wanted: A struct type whose fields all have defaults.

    Returns:
        The struct, with defaults where fields did not fit, and the names of those fields.
    """
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
    for candidate in info.types if isinstance(info, msgspec.inspect.UnionType) else (info,):
        if isinstance(candidate, msgspec.inspect.RawType):
            return msgspec.Raw(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
        if isinstance(candidate, msgspec.inspect.IntType):
            if isinstance(value, int) and not isinstance(value, bool):
                return value
            if isinstance(value, float) and value.is_integer():
                return int(value)
        elif isinstance(value, SCALARS.get(type(candidate), ())):
            return value
    raise msgspec.ValidationError(f"not a {wanted or info}")
