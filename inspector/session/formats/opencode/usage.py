"""Usage as OpenCode stores it, on messages and on the parts that end a step."""

from __future__ import annotations

from inspector.session.model import Usage
from inspector.session.values import count, mapping


def usage_of(tokens: object) -> Usage | None:
    """Stored tokens as ours; None where there are none, as for a response that was broken off.

    `input` leaves out what the cache held. `output` leaves out reasoning in records that have a `total`; before there
    was one, it included it.
    """
    stored = mapping(tokens)
    cache = mapping(stored.get("cache"))
    reasoning, output = count(stored.get("reasoning")), count(stored.get("output"))
    is_apart = count(stored.get("total")) > 0
    usage = Usage(
        uncached=count(stored.get("input")),
        cache_read=count(cache.get("read")),
        cache_write_5m=count(cache.get("write")),
        output=output + reasoning if is_apart else max(output, reasoning),
        reasoning=reasoning,
    )
    return usage if usage.prompt or usage.output else None
