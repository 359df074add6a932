"""Usage as the two APIs, and programs between them, report it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.model import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping


def usage_of(reported: object) -> Usage | None:
    """Reported usage as ours; None where there is none or only zeros.

    Anthropic's `input_tokens` leaves out what was read from or written to a cache; OpenAI's `prompt_tokens`, and its
    `input_tokens` beside `input_tokens_details`, include what was read, and proxies that answer in OpenAI's form also
    what was written.
    """
    if not isinstance(reported, dict):
        return None
    prompt_details = _details(reported, "prompt_tokens_details", "input_tokens_details")
    output_details = _details(reported, "completion_tokens_details", "output_tokens_details")
    read = _count(prompt_details, "cached_tokens") or _count(
        reported, "cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens"
    )
    creation = _details(reported, "cache_creation")
    hour = _count(creation, "ephemeral_1h_input_tokens")
    written = _count(reported, "cache_creation_input_tokens") or _count(
        prompt_details, "cache_creation_tokens", "cache_write_tokens"
    )
    written = max(written, hour + _count(creation, "ephemeral_5m_input_tokens"))
    prompt = _count(reported, "prompt_tokens", "input_tokens")
    if "prompt_tokens" in reported or "input_tokens_details" in reported:
        prompt = max(prompt - read - written, 0)
    usage = Usage(
        uncached=prompt,
        cache_read=read,
        cache_write_5m=written - hour,
        cache_write_1h=hour,
        output=_count(reported, "completion_tokens", "output_tokens"),
        reasoning=_count(output_details, "reasoning_tokens"),
    )
    return usage if usage.prompt or usage.output else None


def _details(reported: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((reported[name] for name in names if isinstance(reported.get(name), dict)), {})


def _count(counts: Mapping[str, Any], *names: str) -> int:
    for name in names:
        value = counts.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1 << 53:
            return int(value)
    return 0
