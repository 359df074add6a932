"""Reading JSON that may be damaged, as much of it as can be had, and writing it as agents put it on the wire.

Invalid UTF-8 and lone surrogates become U+FFFD, fields of an unexpected type are left out; what had to be changed is
said beside the value. The decoder and encoder of the standard library are imported where they are needed: finding out
what a sound file is, which the first paint waits for, takes neither.
"""

from __future__ import annotations

from typing import Any

import msgspec

UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What the strict and quick decoder raises for JSON that it does not take."""

BLANKS = "\x00\ufeff \t\r\n"
"""What may stand around a value: a byte order mark, and the zero bytes a crash leaves in the place of lost text."""

TOO_DEEP = '"nested too deeply"'
"""Stands for a value whose JSON cannot be written, because it holds itself or a thousand levels."""

SURROGATES = range(0xD800, 0xE000)


def decode_json(data: bytes | memoryview | msgspec.Raw) -> tuple[Any, str]:
    """A JSON value, read quickly where it is sound and leniently where it is not, and what was wrong with it."""
    try:
        return msgspec.json.decode(data), ""
    except UNDECODABLE:
        return lenient_json(bytes(data))


def lenient_json(data: bytes) -> tuple[object, str]:
    """A JSON value with U+FFFD where bytes or code points are invalid, and what was wrong with it."""
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


def json_in(text: str) -> Any:
    """The JSON value that a string holds, read leniently; None where it holds none."""
    return lenient_json(text.encode(errors="replace"))[0]


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
    import json

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


def compact_json(value: object) -> str:
    """A value as the shortest JSON, non-ASCII characters kept: how agents that write JavaScript put it on the wire."""
    import json

    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (RecursionError, ValueError):
        return TOO_DEEP


def is_whole_json(line: bytes) -> bool:
    """Whether a line is complete JSON."""
    return lenient_json(line)[0] is not None
