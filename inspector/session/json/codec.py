"""Decode JSON leniently, and encode it as agents send it.

Invalid UTF-8 and lone surrogates become U+FFFD, and fields of an unexpected type are dropped; the problems are returned
with the value. The standard library's decoder and encoder are imported on demand: detecting the format of an undamaged
file, which delays the first paint, does not need them.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

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
    """Convert a JSON value to a struct, dropping fields that do not fit.

    Args:
        value: Value from `json.loads`.
        wanted: A struct type with defaults for all fields.

    Returns:
        The struct and the names of the fields that were dropped.
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
