"""Usage of a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.model import Usage
from inspector.session.values import count, mapping

if TYPE_CHECKING:
    from collections.abc import Mapping


def usage_of(message: Mapping[str, Any]) -> Usage | None:
    """A response's usage as ours; None where there is none, or only zeros: a request that was aborted says so.

    `input` leaves out what was read from or written to a cache, whatever the provider counts.
    """
    reported = mapping(message.get("usage"))
    usage = Usage(
        uncached=count(reported.get("input")),
        cache_read=count(reported.get("cacheRead")),
        cache_write_5m=count(reported.get("cacheWrite")),
        output=count(reported.get("output")),
        reasoning=count(reported.get("reasoning")) or count(reported.get("reasoningTokens")),
    )
    return usage if usage.prompt or usage.output else None
