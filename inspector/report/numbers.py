"""Numbers as reports write them: in full and in ASCII, so that they line up anywhere and can be pasted into a sheet."""

from __future__ import annotations

UNKNOWN = "unknown"
"""A figure that would need something nobody said: a price."""

NOTHING = "-"
"""Where there is no figure to be had."""

DOLLAR_DIGITS = 6
PERCENT_DIGITS = 4
"""Digits kept of figures that are passed on as data: more than anybody needs, fewer than arithmetic makes up."""


def rounded(value: float | None, digits: int) -> float | None:
    """A figure as it is passed on as data."""
    return None if value is None else round(value, digits)


def whole(value: float | None) -> str:
    """A count: `1,234,567`, `-31`, or `-` where there is none."""
    return NOTHING if value is None else f"{value:,.0f}"


def compact(value: float | None) -> str:
    """Three digits and a unit, for tables where rows are compared: `39.7M`, `396k`, `812`."""
    if value is None:
        return NOTHING
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            scaled = value / size
            digits = 0 if abs(scaled) >= 100 else 1 if abs(scaled) >= 10 else 2
            return f"{scaled:.{digits}f}{unit}"
    return f"{value:,.0f}"


def dollars(value: float | None) -> str:
    """Money: `$14.82`, `-$0.61`, `$0.072`, `$0.0031`, or `unknown`."""
    if value is None:
        return UNKNOWN
    size = abs(value)
    digits = 2 if size >= 0.1 or size < 0.00005 else 3 if size >= 0.01 else 4
    text = f"${size:,.{digits}f}"
    return f"-{text}" if value < 0 and float(f"{size:.{digits}f}") else text


def percent(value: float | None) -> str:
    """A percentage given as such: `37.2 %`, `-4.0 %`, or `-` where there is none."""
    if value is None:
        return NOTHING
    text = f"{value:,.1f} %"
    return text.removeprefix("-") if text.strip("-0.% ") == "" else text


def plural(count: int, noun: str) -> str:
    """A count and its noun: `1 call`, `218 calls`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
