"""Fields of untrusted JSON objects, with a default for unexpected types."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from inspector.session.json.codec import clean_text, unquoted

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    """Return a count, or None if the value is not one."""
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
