"""Formatting of numbers for display: in full in reports (`IN_TEXT`), short on the screen (`ON_SCREEN`).

Both use a real minus sign; outputs that cannot encode it get a hyphen (`inspector.cli.output`). JSON and CSV contain
plain numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.replay.figure import Figure

MINUS: Final = "\N{MINUS SIGN}"
"""Minus sign of a negative number: before the dollar sign, after the mark of an estimate."""

AT_LEAST: Final = "\N{GREATER-THAN OR EQUAL TO}"
"""Marks a lower bound."""

UNKNOWN: Final = "unknown"
"""A figure without its required input, such as a price."""

NOTHING: Final = "-"
"""A figure that does not exist."""

LEAST_WHOLE: Final = 10_000
"""Numbers of this size or larger are shown without decimals."""

LEAST_SHARE: Final = {False: "<1 %", True: "<0.1 %"}
"""Share too small for its digits, on the screen and in full."""

ABOUT: Final = "~"
"""Marks an estimate or a projection."""

INEXACT: Final = frozenset(("estimated", "projected"))
"""Certainties that get a mark."""

_THOUSANDS: Final = (("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))


def rounded(value: float | None, digits: int) -> float | None:
    """Round a figure for data output."""
    return None if value is None else round(value, digits)


class NumberFormat(NamedTuple):
    """Number format of one kind of output: digits of a shortened count; money keeps its decimals if full."""

    digits: int
    is_full: bool

    def qualified(self, text: str, known: str, *, is_lower_bound: bool = False) -> str:
        """Add the mark of certainty: `~$14.32` for an estimate or a projection, `≥ $14.32` for a lower bound.

        An estimate with a sign gets `about` in place of `~`, which is hard to read before one.

        Args:
            text: The number as written; words and empty text get no mark.
            known: Certainty: `exact`, `calibrated`, `estimated` or `projected`; empty for words.
            is_lower_bound: The figure is a lower bound.
        """
        if not any(character in "123456789" for character in text):
            return text
        if is_lower_bound:
            return f"{AT_LEAST} {text}"
        if known not in INEXACT:
            return text
        return f"about {text}" if text.startswith((MINUS, "+")) else f"{ABOUT}{text}"

    def whole(self, value: float | None) -> str:
        """Format a count in full: `1,234,567`, with a minus sign if negative, or `-` if missing."""
        return NOTHING if value is None else self._signed(value, f"{abs(round(value)):,}")

    def short(self, value: float | None) -> str:
        """Format a count with a unit for comparison: `812`, and `39.7M` in a report, `40M` on the screen."""
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
        """Format money: `$14.82`, `$0.072`, `$0.0031`, minus sign before the dollar; `unknown` without a price."""
        if value is None or math.isnan(value):
            return UNKNOWN
        size = abs(value)
        if size >= 9_999.5 and not self.is_full:
            return self._signed(value, self.short(size), "$")
        return self._signed(value, f"{size:,.{_cents(size)}f}", "$")

    def dollars_of_parts(self, total: float | None, parts: Sequence[float | None]) -> list[str]:
        """Format the parts of an amount with the precision of the total, so that they add up as written.

        The rounding error goes to the largest part, where it matters least; every other part is written as anywhere
        else.

        Args:
            parts: All parts; they add up to it.
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
        """Return a cost with a plan that adds up with the saving to the cost without it, as all three are written.

        The saving, which also appears alone, is written unchanged; the cost with the plan absorbs the rounding error of
        at most one in its last digit. It is unchanged if it is written with more digits than the others.
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
        """Return the sum of amounts as written, for a total next to its parts; None if a part is unknown."""
        known = [part for part in parts if part is not None and not math.isnan(part)]
        return sum(round(part, _cents(abs(part))) for part in known) if len(known) == len(parts) else None

    def whole_dollars(self, value: float) -> str:
        """Format money without cents: `$1,400`."""
        return self._signed(value, f"{abs(value):,.0f}", "$")

    def short_dollars(self, value: float) -> str:
        """Format money in few characters: `$1.4k`, `$391`, otherwise like `dollars`."""
        size = abs(value)
        return self.dollars(value) if size < 99.5 else self._signed(value, self.short(size), "$")

    def percent(self, value: float | None) -> str:
        """Format a percentage: `37.2 %` in a report, `37 %` on the screen; `-` if missing."""
        if value is None:
            return NOTHING
        decimals = 1 if self.is_full or abs(value) < 9.95 else 0
        return f"{self._signed(value, f'{abs(value):,.{decimals}f}')} %"

    def share(self, value: float | None) -> str:
        """Format a part of 1 as a percentage."""
        return self.percent(None if value is None else 100 * value)

    def shares_of_parts(self, parts: Sequence[float | None]) -> list[str]:
        """Format all shares of a whole, 0.25 for a quarter, so that they add up to 100 as written."""
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
        """Format a count with its noun: `1 call`, `218 calls`, `37 cache misses`."""
        if count != 1:
            takes_es = noun.endswith(("s", "ch"))
            noun = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}es" if takes_es else f"{noun}s"
        return f"{self.whole(count)} {noun}"

    def quantity(self, value: float | str | None, unit: str) -> str:
        """Format a number with its unit for explanations; words are only sanitized."""
        if value is None:
            return "unknown, or never"
        if isinstance(value, str):
            from inspector.safe_text import one_line  # only for words: a status line imports this module

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
        """Add a minus sign if the number is negative after rounding."""
        return f"{MINUS if value < 0 and text.strip('0.,') else ''}{currency}{text}"


def with_minus_sign(number: str) -> str:
    """Replace the hyphen of a number formatted by Python with a minus sign."""
    return number.replace("-", MINUS)


def _cents(size: float) -> int:
    """Return the decimals for an amount of dollars."""
    return 2 if size >= 0.0995 or size < 0.00005 else 3 if size >= 0.00995 else 4


IN_TEXT: Final = NumberFormat(3, is_full=True)
ON_SCREEN: Final = NumberFormat(2, is_full=False)


def window_size(tokens: int) -> str:
    """Format a size in tokens: `7.5k`, `33k`, `200k`, `262k`, `1M`, `2.5M`."""
    if tokens >= 999_500:
        return f"{round(tokens / 1e6, 1):g}M"
    return f"{round(tokens / 1e3, 1 if tokens < 20_000 else None):g}k"


def size_words(size: Figure, *, is_window: bool) -> str:
    """Return what a prompt's fill is a share of: `compacts at ~167k`, or `window 200k` (`context_blocks.Fill`)."""
    tokens = window_size(round(size.value or 0))
    tokens = ON_SCREEN.qualified(tokens, size.known, is_lower_bound=size.is_lower_bound)
    return f"{'window' if is_window else 'compacts at'} {tokens}"


def age(seconds: float) -> str:
    """Format a past duration in its largest unit: `2 s`, `5 min`, `3 h`, `12 d`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def elapsed(seconds: float) -> str:
    """Format an elapsed time like a clock: `0:00`, `12:05`, `3:07:41`, `5d07h`."""
    minutes, left = divmod(max(int(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 100:
        return f"{hours // 24}d{hours % 24:02}h"
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def file_size(count: int) -> str:
    """Format a number of bytes: `812 B`, `8.1 MB`."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.5 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
