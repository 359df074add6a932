"""Read and write the one-line form of a strategy: `name:parameter=value,parameter=first+second`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from inspector.errors import InspectorError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.strategies.core.parameters import ParameterValue


class SpecificationError(InspectorError, ValueError):
    """Malformed one-line form; the message gives the position."""

    advice = "`inspector strategies NAME` shows how a strategy is written"


class SpecifiedValue(NamedTuple):
    """A value, or one of several joined by plus signs.

    Attributes:
        text: The value, unquoted.
        written: The value as written.
        quoted: True if it was written in quotes and must be taken literally.
    """

    text: str
    written: str
    quoted: bool


def read_specification(line: str) -> tuple[str, dict[str, list[SpecifiedValue]]]:
    """Parse a line into the strategy's name and its values by parameter name.

    Raises:
        SpecificationError: The line is malformed.
    """
    name, _, rest = line.strip().partition(":")
    name = name.strip()
    if not name:
        raise SpecificationError(f"{line!r} names no strategy; write name or name:parameter=value,…")
    items: dict[str, list[SpecifiedValue]] = {}
    for item in _split(rest, ",") if rest.strip() else []:
        key, equals, value = item.partition("=")
        key = key.strip()
        if not equals or not key:
            raise SpecificationError(f"{name}: {item.strip()!r} is not of the form parameter=value")
        if key in items:
            raise SpecificationError(f"{name}: {key} is given twice")
        items[key] = [_part(name, key, part) for part in _split(value, "+")]
    return name, items


def write_specification(name: str, items: Mapping[str, ParameterValue]) -> str:
    """Write a line that `read_specification` can parse."""
    written = ",".join(f"{key}={_written(value)}" for key, value in items.items())
    return f"{name}:{written}" if written else name


def _written(value: ParameterValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "+".join(_quoted_where_needed(name, ',+"') for name in value)
    return _quoted_where_needed(value, ',+"') if isinstance(value, str) else repr(value)


def _quoted_where_needed(text: str, special: str) -> str:
    plain = text and text == text.strip() and text.isprintable() and not any(character in text for character in special)
    return text if plain else json.dumps(text, ensure_ascii=False)


def _part(name: str, key: str, written: str) -> SpecifiedValue:
    stripped = written.strip()
    if not stripped.startswith('"'):
        return SpecifiedValue(stripped, written, quoted=False)
    try:
        text = json.loads(stripped)
    except ValueError:
        raise SpecificationError(f"{name}: {key}: {stripped} is not a quoted text; write it as a JSON string") from None
    return SpecifiedValue(text, written, quoted=True)


def _split(text: str, separator: str) -> list[str]:
    """Split `text` at separators outside quotes; a quote opens only at the start of a value."""
    parts, start, quoted, opens, position = [], 0, False, True, 0
    while position < len(text):
        character = text[position]
        if quoted:
            if character == "\\":
                position += 1
            elif character == '"':
                quoted = False
        elif character == '"' and opens:
            quoted = True
        elif character == separator:
            parts.append(text[start:position])
            start = position + 1
        opens = not quoted and (character in "=+," or (opens and character.isspace()))
        position += 1
    parts.append(text[start:])
    return parts
