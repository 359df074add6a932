"""Arguments shared by several commands: session, output format, prices, prompt cache."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.replay.projection_terms import DAYS_PER_MONTH, MOST_DAYS, MOST_NEXT_CALLS, RunsPerDay

if TYPE_CHECKING:
    from argparse import ArgumentParser, _ActionsContainer
    from collections.abc import Mapping

    from inspector.replay.pricing.rates import Rates

FORMATS = {"text": "for people", "json": "for programs"}
"""Formats with their purpose."""

MOST_OF_A_NUMBER = 10**9
"""Limit on runs and factors: products of larger numbers are infinite."""

CACHE_NAMES = (
    "anthropic",
    "anthropic-1h",
    "anthropic-20",
    "openai",
    "openai-30m",
    "openai-12h",
    "openai-24h",
    "gemini",
    "deepseek",
    "automatic",
    "none",
)
"""Names of `inspector.replay.cache.cache_models.CACHE_MODELS`, which is slow to import for a line of help."""

LARGEST_WINDOW = 1_000_000_000


def add_last_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--last", action="store_true", help="use the newest session of the directory PATH or of this machine's agents"
    )


def add_format_argument(parser: ArgumentParser, formats: Mapping[str, str]) -> None:
    """Add `--format` for output formats: names with purpose."""
    named = (f"{name}: {use}{' (default)' if name == 'text' else ''}" for name, use in formats.items())
    parser.add_argument("--format", choices=formats, default="text", help="; ".join(named))


def add_output_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write to FILE; session files are never overwritten"
    )


def add_report_arguments(
    parser: ArgumentParser, formats: Mapping[str, str] = FORMATS, *, needs_path: bool = True
) -> None:
    """Add arguments for sessions, prices, output format (names with purpose), and output file."""
    times = None if needs_path else "?"
    parser.add_argument("path", metavar="PATH", type=Path, nargs=times, help="a session file or folder")
    add_format_argument(parser, formats)
    add_output_argument(parser)
    add_price_arguments(parser)
    parser.add_argument(
        "--runs-per-day",
        metavar="N",
        type=_runs,
        help="project savings per day and month for N runs like this one a day; html reports assume 1",
    )
    parser.add_argument(
        "--days-per-month",
        metavar="N",
        type=_days,
        default=DAYS_PER_MONTH,
        help=f"days per month with such runs (default: {DAYS_PER_MONTH:g})",
    )
    parser.add_argument(
        "--next-calls", metavar="N", type=_calls, help="extend the session by N more calls that grow at the same pace"
    )
    add_uncertainty_argument(parser)


def add_uncertainty_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--model-uncertainty",
        action="store_true",
        help="widen the range of savings by the extra or saved turns measured in public experiments",
    )


def add_beyond_argument(parser: _ActionsContainer) -> None:
    parser.add_argument(
        "--beyond",
        action="store_true",
        help="include plans beyond what has been tried in public; their savings and re-fetches are untested",
    )


def add_price_arguments(parser: ArgumentParser, *, cache: bool = True) -> None:
    """Add arguments for prices and, optionally, the prompt cache."""
    parser.add_argument("--model", metavar="NAME", help="price every call as this model")
    parser.add_argument(
        "--price-file",
        metavar="FILE",
        type=Path,
        help="TOML file of prices and model names that takes precedence over the bundled table",
    )
    parser.add_argument(
        "--factor",
        metavar="X",
        type=_factor,
        default=1.0,
        help="multiply every price, such as 0.5 for batch jobs at half price",
    )
    parser.add_argument(
        "--rates",
        metavar="IN/OUT",
        type=_rates,
        help="price every call in dollars per million tokens: INPUT/OUTPUT[/CACHE-READ[/CACHE-WRITE]]",
    )
    if cache:
        parser.add_argument(
            "--window",
            metavar="TOKENS",
            type=_window,
            help="the model's context window, if the session records none or a wrong one",
        )
        named = ", ".join(CACHE_NAMES)
        about = f"assume this prompt cache for every call, regardless of reported usage: {named}"
        parser.add_argument("--cache", metavar="NAME", type=_cache, help=about)


def _rates(text: str) -> Rates:
    from inspector.replay.pricing.rates import RatesError, parse_rates

    try:
        return parse_rates(text)
    except RatesError as error:
        raise ArgumentTypeError(str(error)) from None


def _window(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not digits.isdecimal() or not 1 <= int(digits) <= LARGEST_WINDOW:
        raise ArgumentTypeError(f"{text!r} is not a number of tokens; use 1 to {LARGEST_WINDOW:,}")
    return int(digits)


def _calls(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_NEXT_CALLS:
        raise ArgumentTypeError(f"{text!r} is not a number of calls; use 1 to {MOST_NEXT_CALLS:,}")
    return int(text)


def _days(text: str) -> float:
    value = _at_least_nothing(text, "number of days")
    if value > MOST_DAYS:
        raise ArgumentTypeError(f"{text!r} is not a number of days in a month; use 0 to {MOST_DAYS}")
    return value


def _runs(text: str) -> RunsPerDay:
    return RunsPerDay(_at_least_nothing(text, "number of runs"))


def _factor(text: str) -> float:
    return _at_least_nothing(text, "factor")


def _at_least_nothing(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MOST_OF_A_NUMBER:
        raise ArgumentTypeError(f"{text!r} is not a {what}; use 0 to {MOST_OF_A_NUMBER:,}")
    return value


def _cache(text: str) -> str:
    if text not in CACHE_NAMES:
        raise ArgumentTypeError(f"{text!r} is not a prompt cache; use one of {', '.join(CACHE_NAMES)}")
    return text
