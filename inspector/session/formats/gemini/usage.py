"""Usage of a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.model import Usage
from inspector.session.values import count, mapping

if TYPE_CHECKING:
    from collections.abc import Mapping


def usage_of(record: Mapping[str, Any]) -> Usage | None:
    """A response's usage as ours; None where there is none.

    `input` includes what was read from the cache; `output` leaves out thoughts, and `input` what tools that run at the
    provider put into the prompt (`toolUsePromptTokenCount`). The five add up to `total`.
    """
    reported = mapping(record.get("tokens"))
    cached, thoughts = count(reported.get("cached")), count(reported.get("thoughts"))
    usage = Usage(
        uncached=max(count(reported.get("input")) - cached, 0) + count(reported.get("tool")),
        cache_read=cached,
        output=count(reported.get("output")) + thoughts,
        reasoning=thoughts,
    )
    return usage if usage.prompt or usage.output else None
