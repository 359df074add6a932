"""Fields of JSON objects that may hold anything: what is of the expected type, and a harmless value for the rest."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from inspector.session.json.codec import clean_text

if TYPE_CHECKING:
    from collections.abc import Mapping


MOST = 1 << 53
"""Counts from here on are nonsense: JavaScript cannot write them exactly."""


def string(value: object) -> str:
    """A string; empty for anything else."""
    return value if isinstance(value, str) else ""


def clean_string(value: object) -> str:
    """A string with U+FFFD in place of lone surrogates; empty for anything else."""
    return clean_text(value) if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """An object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """An array; empty for anything else."""
    return value if isinstance(value, list) else []


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in an array; empty for anything else."""
    return [item for item in sequence(value) if isinstance(item, dict)]


def count(value: object) -> int:
    """A count of tokens or things; 0 for anything else, negative and endless numbers included."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < MOST:
        return int(value)
    return 0


def count_or_none(value: object) -> int | None:
    """The same, None where there is no such number."""
    return count(value) or None


def seconds(timestamp: str | None) -> float | None:
    """An ISO 8601 time as seconds since the epoch, None where there is none. Without a zone it is taken as UTC."""
    if not timestamp:
        return None
    try:
        time = datetime.fromisoformat(timestamp)
        return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def seconds_of_any(value: object) -> float | None:
    """A time in any of the forms that logs have: ISO 8601, or seconds or milliseconds since the epoch."""
    if isinstance(value, str):
        return seconds(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < MILLISECONDS * 100:
        return float(value) / 1000 if value > MILLISECONDS else float(value)
    return None


MILLISECONDS = 1e11
"""More seconds than this would be in the year 5138; such numbers are milliseconds."""
