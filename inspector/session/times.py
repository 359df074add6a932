"""Times as sessions record them."""

from __future__ import annotations

from datetime import UTC, datetime


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
