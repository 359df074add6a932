"""Usage that is recorded as the sum of all calls so far: what the newest of them added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.model import Usage
from inspector.session.values import count, mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELDS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def usage_of_tokens(tokens: Mapping[str, Any]) -> Usage | None:
    """A record of tokens as OpenHands writes it.

    Its prompt includes what was read from a cache. What was written to one it includes or not, as the provider's answer
    was passed on: where it is less than both together, it does not.
    """
    prompt, output, read, written, reasoning = (count(tokens.get(name)) for name in FIELDS)
    uncached = max(prompt - read - (written if prompt >= read + written else 0), 0)
    usage = Usage(
        uncached=uncached, cache_read=read, cache_write_5m=written, output=output, reasoning=min(reasoning, output)
    )
    return usage if usage.prompt or usage.output else None


class Accumulated:
    """Sums as they were last seen."""

    def __init__(self) -> None:
        self._before: dict[str, int] = dict.fromkeys(FIELDS, 0)

    def added(self, sums: Any) -> Usage | None:
        """What was added to the sums since they were last seen; None where that was nothing, or no single call.

        `per_turn_token` is the size of the newest call: where it is recorded and is another one, calls were missed.
        """
        tokens = mapping(sums)
        now = {name: count(tokens.get(name)) for name in FIELDS}
        new = {name: now[name] - self._before[name] for name in FIELDS}
        self._before = now
        newest = count(tokens.get("per_turn_token"))
        if any(value < 0 for value in new.values()) or not any(new.values()):
            return None
        if newest and newest != new["prompt_tokens"] + new["completion_tokens"]:
            return None
        return usage_of_tokens(new)
