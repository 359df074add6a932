"""Numbers as people read them: in full in reports (`IN_TEXT`), short on the screen (`ON_SCREEN`).

Both write a minus sign that cannot be missed, and is no dash; what goes where an encoding lacks it has a hyphen instead
(`inspector.cli.output`). JSON and CSV hold numbers as programs read them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from inspector.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

MINUS: Final = "\N{MINUS SIGN}"
"""Stands before a negative number, before its dollar, after what marks an estimate."""

AT_LEAST: Final = "\N{GREATER-THAN OR EQUAL TO}"
"""Stands before what is a least."""

UNKNOWN: Final = "unknown"
"""A figure that would need something nobody said: a price."""

NOTHING: Final = "-"
"""Where there is no figure to be had."""

DOLLAR_DIGITS: Final = 6
PERCENT_DIGITS: Final = 4
SHARE_DIGITS: Final = 6
"""Digits kept of figures that are passed on as data: more than anybody needs, fewer than arithmetic makes up."""

LEAST_WHOLE: Final = 10_000
"""From there on nobody reads what is behind the point."""

LEAST_SHARE: Final = {False: "<1 %", True: "<0.1 %"}
"""A share too small for the digits that shares have, on the screen and in full."""

ABOUT: Final = "~"
"""Stands before what is no more than an estimate or a projection."""

INEXACT: Final = frozenset(("estimated", "projected"))
"""Ways of knowing a figure that a mark stands for; the others need none."""

_THOUSANDS: Final = (("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))


def rounded(value: float | None, digits: int) -> float | None:
    """A figure as it is passed on as data."""
    return None if value is None else round(value, digits)


class NumberFormat(Struct, frozen=True):
    """How numbers are written in one place.

    Attributes:
        digits: How many a shortened count has.
        is_full: Money and percentages keep their decimals, however large they are.
    """

    digits: int
    is_full: bool

    def marked(self, text: str, known: str, *, is_least: bool = False) -> str:
        """A number with what has to be known of it: `~$14.32` of an estimate or a projection, `≥ $14.32` of a least.

        Args:
            text: The number as it is written; words, and nothing at all, get no mark.
            known: How it is known: `exact`, `calibrated`, `estimated` or `projected`; empty for words.
            is_least: It is more than that: nothing tells the rest.
        """
        if not any(character in "123456789" for character in text):
            return text
        if is_least:
            return f"{AT_LEAST} {text}"
        return f"{ABOUT}{text}" if known in INEXACT else text

    def whole(self, value: float | None) -> str:
        """A count in full: `1,234,567`, a minus sign before a negative one, or `-` where there is none."""
        return NOTHING if value is None else self._signed(value, f"{abs(round(value)):,}")

    def short(self, value: float | None) -> str:
        """A count and a unit, for rows that are compared: `812`, and `39.7M` in a report, `40M` on the screen."""
        if value is None:
            return NOTHING
        size = abs(value)
        if size < 999.5:
            return self._signed(value, f"{size:.0f}")
        for suffix, unit in _THOUSANDS:
            for whole_digits in (1, 2, 3):
                decimals = max(self.digits - whole_digits, 0)
                text = f"{size / unit:.{decimals}f}"
                if float(text) < 10**whole_digits:
                    return self._signed(value, text + suffix)
        return self._signed(value, f"{size / unit:.0f}{suffix}")

    def dollars(self, value: float | None) -> str:
        """Money: `$14.82`, `$0.072`, `$0.0031`, a minus sign before the dollar; `unknown` where there is no price."""
        if value is None or math.isnan(value):
            return UNKNOWN
        size = abs(value)
        if size >= 9_999.5 and not self.is_full:
            return self._signed(value, self.short(size), "$")
        return self._signed(value, f"{size:,.{_cents(size)}f}", "$")

    def dollars_of_parts(self, total: float | None, parts: Sequence[float | None]) -> list[str]:
        """What makes up an amount of money, each part as exact as the total, so that they add up as they are written.

        What rounding leaves over goes to the largest, where it matters least: every other part is written as it is
        anywhere else.

        Args:
            total: The amount, as `dollars` writes it.
            parts: All of its parts; they add up to it.
        """
        amounts = [part for part in parts if part is not None and not math.isnan(part)]
        if total is None or math.isnan(total) or not amounts or len(amounts) < len(parts):
            return [self.dollars(part) for part in parts]
        decimals = _cents(abs(total))
        scale = 10**decimals
        units = [round(round(amount, decimals) * scale) for amount in amounts]
        left = round(round(total, decimals) * scale) - sum(units)
        if abs(left) > len(amounts) or (abs(total) >= LEAST_WHOLE - 0.5 and not self.is_full):
            return [self.dollars(part) for part in parts]
        units[max(range(len(amounts)), key=lambda at: abs(amounts[at]))] += left
        return [self._signed(each, f"{abs(each) / scale:,.{decimals}f}", "$") for each in units]

    def cost_with_plan(self, before: float | None, after: float | None) -> float | None:
        """A cost with a plan so that with the saving it adds up to the cost without it, as all three are written.

        The saving, which stands alone in many places, is written as it is; the cost with the plan takes what rounding
        leaves over: its last digit differs by one at most. It stays where it is written with more digits than they are.

        Args:
            before: Dollars without the plan.
            after: Dollars with it.
        """
        if before is None or after is None or math.isnan(before) or math.isnan(after):
            return after
        saved = before - after
        digits = [_cents(abs(each)) for each in (before, saved, after)]
        is_short = not self.is_full and max(abs(before), abs(after)) >= LEAST_WHOLE - 0.5
        if is_short or digits[2] > min(digits[:2]):
            return after
        return round(round(before, digits[0]) - round(saved, digits[1]), digits[2])

    def sum_of_dollars(self, parts: Sequence[float | None]) -> float | None:
        """Dollars that amounts come to as they are written; None where one of them is not known.

        For a total that stands only beside its parts, each of which is written elsewhere too and stays as it is.
        """
        known = [part for part in parts if part is not None and not math.isnan(part)]
        return sum(round(part, _cents(abs(part))) for part in known) if len(known) == len(parts) else None

    def whole_dollars(self, value: float) -> str:
        """Money without cents: `$1,400`."""
        return self._signed(value, f"{abs(value):,.0f}", "$")

    def short_dollars(self, value: float) -> str:
        """Money in few characters: `$1.4k`, `$391`, otherwise as `dollars` writes it."""
        size = abs(value)
        return self.dollars(value) if size < 99.5 else self._signed(value, self.short(size), "$")

    def percent(self, value: float | None) -> str:
        """A percentage given as such: `37.2 %` in a report, `37 %` on the screen; `-` where there is none."""
        if value is None:
            return NOTHING
        decimals = 1 if self.is_full or abs(value) < 9.95 else 0
        return f"{self._signed(value, f'{abs(value):,.{decimals}f}')} %"

    def share(self, value: float | None) -> str:
        """A part of 1, as a percentage."""
        return self.percent(None if value is None else 100 * value)

    def shares_of_parts(self, parts: Sequence[float | None]) -> list[str]:
        """The shares of all parts of one whole, each as exact as every other, so that they add up to 100 as written.

        Args:
            parts: Of each its share, 0.25 for a quarter; they add up to 1.
        """
        shares = [part for part in parts if part is not None and not math.isnan(part)]
        scale = 1000 if self.is_full else 100
        whole = [math.floor(share * scale) for share in shares]
        missing = scale - sum(whole)
        if len(shares) < len(parts) or min(shares, default=-1.0) < 0 or not 0 <= missing <= len(shares):
            return [self.share(part) for part in parts]
        for place in sorted(range(len(shares)), key=lambda at: whole[at] - shares[at] * scale)[:missing]:
            whole[place] += 1
        return [
            f"{each * 100 / scale:,.{1 if self.is_full else 0}f} %" if each or not share else LEAST_SHARE[self.is_full]
            for each, share in zip(whole, shares, strict=True)
        ]

    def plural(self, count: int, noun: str) -> str:
        """A count and its noun: `1 call`, `218 calls`, `37 cache misses`."""
        ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
        return f"{self.whole(count)} {noun}{ending}"

    def quantity(self, value: float | str | None, unit: str) -> str:
        """A number with what it is counted in, as explanations give them; words as they are, made safe."""
        if value is None:
            return "not known, or never"
        if isinstance(value, str):
            return one_line(value)
        if unit == "share":
            return self.share(value)
        if unit == "$":
            return self.dollars(value)
        if unit.startswith("$ "):
            return f"${value:g}{unit[1:]}"
        if unit == "call":
            return f"call {self.whole(value)}"
        is_whole = value == round(value) or abs(value) >= LEAST_WHOLE
        text = self.whole(value) if is_whole else with_minus_sign(f"{value:,.4g}")
        return f"{text} {unit.removesuffix('s') if value == 1 else unit}".rstrip()

    def _signed(self, value: float, text: str, currency: str = "") -> str:
        """A minus sign before what is negative even as it is written."""
        return f"{MINUS if value < 0 and text.strip('0.,') else ''}{currency}{text}"


def with_minus_sign(number: str) -> str:
    """A number as Python writes it, with the minus sign that people read for its hyphen."""
    return number.replace("-", MINUS)


def _cents(size: float) -> int:
    """Decimals of an amount of dollars."""
    return 2 if size >= 0.0995 or size < 0.00005 else 3 if size >= 0.00995 else 4


IN_TEXT: Final = NumberFormat(3, is_full=True)
ON_SCREEN: Final = NumberFormat(2, is_full=False)


def window_size(tokens: int) -> str:
    """A size in tokens, the way people say it: `7.5k`, `33k`, `200k`, `262k`, `1M`, `2.5M`."""
    if tokens >= 999_500:
        return f"{round(tokens / 1e6, 1):g}M"
    return f"{round(tokens / 1e3, 1 if tokens < 20_000 else None):g}k"


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


def file_size(count: int) -> str:
    """An amount of bytes: `812 B`, `8.1 MB`."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.5 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
