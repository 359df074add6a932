"""Read the billing data of a response: tokens, terms and the reason for a cache miss."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import structs

from inspector.session.billing_terms import BillingTerms, normalized_value, use_count
from inspector.session.formats.chat import SEPARATE_ITERATIONS
from inspector.session.model import ReportedMiss, SideCall, Usage
from inspector.session.usage_fields import ANTHROPIC, LineCheck

if TYPE_CHECKING:
    from inspector.session.formats.claude_code.records import ClaudeCodeRecord, ReportedUsage
    from inspector.session.model import Call

LINE_CHECK = LineCheck(ANTHROPIC, "message", "usage")
"""Finds fields of the usage that `ReportedUsage` does not declare."""

PLACEHOLDER_VERSIONS = ((2, 1, 12), (2, 1, 29))
"""First and last version that record `output_tokens` as reported when a response begins (1 to 8)."""

PLACEHOLDER_LIMIT = 8

HIGHEST_RATIO = 6.0
"""Limit of characters per token; healthy counts have 1 to 5. Above it, the count is a placeholder."""

LEADING_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def usage_of(reported: ReportedUsage | None) -> Usage | None:
    """Convert reported usage; None if there is none or only zeros, which servers without token counting report.

    Cache writes without a lifetime count as 5-minute writes, the API's default.
    """
    if reported is None:
        return None
    written = _count(reported.cache_creation_input_tokens)
    detail = reported.cache_creation
    hour = _count(detail.ephemeral_1h_input_tokens) if detail is not None else 0
    minutes = _count(detail.ephemeral_5m_input_tokens) if detail is not None else 0
    return Usage(
        uncached=_count(reported.input_tokens),
        cache_read=_count(reported.cache_read_input_tokens),
        cache_write_5m=max(written - hour, minutes),
        cache_write_1h=hour,
        output=_count(reported.output_tokens),
        ignored=reported.ignored,
    ).unless_zero()


def separate_requests(record: ClaudeCodeRecord, call: Call) -> list[SideCall]:
    """Return the requests that a line's iterations report and the usage of its call excludes."""
    message = record.message
    usage = message.usage if message is not None else None
    if message is None or usage is None or not usage.iterations:
        return []
    terms = _code(None, usage.service_tier, usage.inference_geo, 0, 0)
    return [
        SideCall(purpose, one.model or message.model or "", call.time, counts, call.identifier, terms, call.response)
        for one in usage.iterations
        if (purpose := SEPARATE_ITERATIONS.get(one.type or "")) and (counts := usage_of(one)) is not None
    ]


def are_of_one_response(before: Usage | None, now: Usage | None) -> bool:
    """Return True unless two lines report different prompts; lines without counts may belong to any response."""
    if before is None or now is None or not before.prompt or not now.prompt:
        return True
    return _prompt_counts(before) == _prompt_counts(now)


def _prompt_counts(usage: Usage) -> tuple[int, int, int]:
    return usage.uncached, usage.cache_read, usage.cache_write_5m + usage.cache_write_1h


def later(before: Usage | None, now: Usage | None) -> Usage | None:
    """Return the later of two usage reports of a response, unless it is smaller.

    Counts never decrease between lines of an intact file; if they do, an interrupted stream wrote zeros.
    """
    if before is None or now is None:
        return before or now
    return now if (now.output, now.prompt) >= (before.output, before.prompt) else before


def mark_placeholder_output(usage: Usage, characters: int, version: str, *, is_printed: bool = False) -> Usage:
    """Mark the output count as a placeholder if it cannot be the response's size.

    Args:
        usage: As reported.
        characters: Length of the response's visible text.
        version: The program's version.
        is_printed: Printed by a run without a screen, which only reports the initial count.
    """
    is_placeholder = (
        is_printed
        or characters > HIGHEST_RATIO * usage.output
        or (usage.output <= PLACEHOLDER_LIMIT and _is_placeholder_version(version))
    )
    if is_placeholder == usage.output_is_placeholder:
        return usage
    return structs.replace(usage, output_is_placeholder=is_placeholder)


def parse_billing_terms(record: ClaudeCodeRecord) -> str:
    """Return the billing terms besides tokens as a `BillingTerms.code`; empty if none are reported."""
    reported = record.message.usage if record.message is not None else None
    if reported is None:
        return ""
    tools = reported.server_tool_use
    searches, runs = (tools.web_search_requests, tools.code_execution_requests) if tools is not None else (0, 0)
    return _code(reported.speed, reported.service_tier, reported.inference_geo, searches, runs)


@lru_cache(64)
def _code(speed: str | None, tier: str | None, region: str | None, searches: int | None, runs: int | None) -> str:
    """Return the code of billing terms; nearly all responses of a session share one."""
    return BillingTerms(
        normalized_value(speed), normalized_value(tier), normalized_value(region), use_count(searches), use_count(runs)
    ).code


def miss_of(record: ClaudeCodeRecord) -> ReportedMiss | None:
    """Return the cache miss reason reported by the API; None if there is none."""
    diagnostics = record.message.diagnostics if record.message is not None else None
    miss = diagnostics.miss if diagnostics is not None else None
    return ReportedMiss(miss.type, miss.missed) if miss is not None and miss.type else None


def _is_placeholder_version(version: str) -> bool:
    match = LEADING_VERSION.match(version)
    if match is None:
        return False
    first, last = PLACEHOLDER_VERSIONS
    return first <= (int(match[1]), int(match[2]), int(match[3])) <= last


def _count(value: int | None) -> int:
    """Return a valid token count, 0 for null (interrupted streams) or out-of-range values."""
    return value if value is not None and 0 < value < 1 << 53 else 0
