"""Numbers as the screen writes them: short, aligned at the right, signs that cannot be missed."""

from __future__ import annotations

import math

from inspector.safe_text import one_line

MINUS = "\N{MINUS SIGN}"
UNKNOWN = "unknown"


def whole(value: float) -> str:
    """A count in full: `4,812`, `31` with a minus sign before it."""
    text = f"{abs(round(value)):,}"
    return MINUS + text if round(value) < 0 else text


def short(value: float) -> str:
    """A count in at most five characters and a sign: `812`, `4.8k`, `66k`, `1.2M`."""
    size = abs(value)
    sign = MINUS if value < 0 and round(size) else ""
    if size < 999.5:
        return f"{sign}{size:.0f}"
    for suffix, unit in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        scaled = size / unit
        if scaled < 9.95:
            return f"{sign}{scaled:.1f}{suffix}"
        if scaled < 999.5 or suffix == "G":
            return f"{sign}{scaled:.0f}{suffix}"
    raise AssertionError(value)


def window(tokens: int) -> str:
    """The size of a context window, rounded as providers name it: `200k`, `1M`."""
    return f"{tokens / 1e6:g}M" if tokens >= 1_000_000 else f"{tokens / 1e3:g}k"


def dollars(value: float | None) -> str:
    """Money: `$14.82`, `$0.0031`, `$39k`, a minus sign before the dollar; `unknown` where there is no price."""
    if value is None or math.isnan(value):
        return UNKNOWN
    size = abs(value)
    if size >= 9_999.5:
        text = short(size)
    elif size >= 0.995 or size == 0:
        text = f"{size:,.2f}"
    elif size >= 0.0095:
        text = f"{size:.3f}" if size < 0.0995 else f"{size:.2f}"
    elif size >= 0.00005:
        text = f"{size:.4f}"
    else:
        return "$0.00"
    return f"{MINUS if value < 0 else ''}${text}"


def short_dollars(value: float) -> str:
    """Money in few characters: `$1.4k`, `$391`, otherwise as `dollars` writes it."""
    size = abs(value)
    return dollars(value) if size < 99.5 else f"{MINUS if value < 0 else ''}${short(size)}"


def percent(ratio: float) -> str:
    """A share: `37 %`, `0.4 %`."""
    value = ratio * 100
    text = f"{abs(value):.0f}" if abs(value) >= 9.95 else f"{abs(value):.1f}"
    sign = MINUS if value < 0 and float(text) else ""
    return f"{sign}{text} %"


def age(seconds: float) -> str:
    """Time gone by, in its largest unit: `2 s`, `5 min`, `3 h`, `12 d`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def elapsed(seconds: float) -> str:
    """Time since a beginning, as a clock shows it: `0:00`, `12:05`, `3:07:41`, `5d07h`."""
    minutes, left = divmod(max(int(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 100:
        return f"{hours // 24}d{hours % 24:02}h"
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def size(count: int) -> str:
    """An amount of bytes: `812 B`, `8.1 MB`."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.5 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def plural(count: int, noun: str) -> str:
    """A count and its noun: `1 result`, `31 results`."""
    return f"{whole(count)} {noun}" if count == 1 else f"{whole(count)} {noun}s"


def quantity(value: float | str | None, unit: str) -> str:
    """A number with its unit; words as they are, made safe."""
    if value is None:
        return "not known, or never"
    if isinstance(value, str):
        return one_line(value)
    if unit == "share":
        return percent(value)
    if unit == "$":
        return dollars(value)
    if unit.startswith("$ "):
        return f"${value:g}{unit[1:]}"
    if unit == "call":
        return f"call {whole(value)}"
    text = whole(value) if value == round(value) else f"{value:,.4g}"
    return f"{text} {unit.removesuffix('s') if value == 1 else unit}".rstrip()
