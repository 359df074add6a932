"""Usage of a response: reported on every one of its lines, counted once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import structs

from inspector.session.model import Usage

if TYPE_CHECKING:
    from inspector.session.formats.claude_code.records import ReportedUsage

PLACEHOLDER_VERSIONS = ((2, 1, 12), (2, 1, 29))
"""From the first to the second version, `output_tokens` is what the API says when a response begins, 1 to 8."""

PLACEHOLDER_LIMIT = 8

HIGHEST_RATIO = 6.0
"""More characters than this to a token and the count was not of the response: healthy ones have 1 to 5."""

LEADING_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def usage_of(reported: ReportedUsage | None) -> Usage | None:
    """Reported usage as ours; None where there is none, or only zeros (servers that do not count say so like this).

    Prompt tokens written to the cache without a lifetime count as five-minute ones, the API's default.
    """
    if reported is None:
        return None
    written = _count(reported.cache_creation_input_tokens)
    detail = reported.cache_creation
    hour = _count(detail.ephemeral_1h_input_tokens) if detail is not None else 0
    minutes = _count(detail.ephemeral_5m_input_tokens) if detail is not None else 0
    usage = Usage(
        uncached=_count(reported.input_tokens),
        cache_read=_count(reported.cache_read_input_tokens),
        cache_write_5m=max(written - hour, minutes),
        cache_write_1h=hour,
        output=_count(reported.output_tokens),
    )
    return usage if usage.prompt or usage.output else None


def later(before: Usage | None, now: Usage | None) -> Usage | None:
    """Of what two lines of one response report, what counts: the later, as long as it is not less.

    Counts never fall from line to line in sound files; where one does, an interrupted stream wrote zeros.
    """
    if before is None or now is None:
        return before or now
    return now if (now.output, now.prompt) >= (before.output, before.prompt) else before


def with_placeholder_noted(usage: Usage, characters: int, version: str, *, is_printed: bool = False) -> Usage:
    """The usage, with its output marked where it cannot be the response's size.

    Args:
        usage: As reported.
        characters: Length of everything visible in the response.
        version: The program's version.
        is_printed: It was printed by a run without a screen, which only ever says what the API does at the beginning.
    """
    is_placeholder = (
        is_printed
        or characters > HIGHEST_RATIO * usage.output
        or (usage.output <= PLACEHOLDER_LIMIT and _is_placeholder_version(version))
    )
    if is_placeholder == usage.output_is_placeholder:
        return usage
    return structs.replace(usage, output_is_placeholder=is_placeholder)


def _is_placeholder_version(version: str) -> bool:
    match = LEADING_VERSION.match(version)
    if match is None:
        return False
    first, last = PLACEHOLDER_VERSIONS
    return first <= (int(match[1]), int(match[2]), int(match[3])) <= last


def _count(value: int | None) -> int:
    """A count of tokens. Interrupted streams leave null; a negative one would be nonsense."""
    return value if value is not None and 0 < value < 1 << 53 else 0
