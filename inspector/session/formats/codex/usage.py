"""Usage as Codex reports it: in `token_count` events, not on the responses they belong to.

An event repeats what was reported before whenever anything else in it changes, so that only one with another total
counts. Where it stands differs by version: the earlier ones wrote it before the items of its response, later ones
behind them, perhaps behind the outputs too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.model import Usage
from inspector.session.values import count, mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "total_tokens")

ALL_COUNTS = (*COUNTS, "reasoning_output_tokens")

Total = tuple[int, ...]


def usage_of(reported: Mapping[str, Any]) -> Usage | None:
    """Reported usage as ours; None where it is of no call. What was cached, and reasoning, are part of the counts."""
    prompt = count(reported.get("input_tokens"))
    read = min(count(reported.get("cached_input_tokens")), prompt)
    written = min(count(reported.get("cache_write_input_tokens")), prompt - read)
    output = count(reported.get("output_tokens"))
    if not prompt and not output:
        return None
    return Usage(
        uncached=prompt - read - written,
        cache_read=read,
        cache_write_5m=written,
        output=output,
        reasoning=min(count(reported.get("reasoning_output_tokens")), output),
    )


class TokenCounts:
    """Takes `token_count` events in order and tells which of them are of a call."""

    def __init__(self) -> None:
        self._total: Total | None = None
        self._totals: Mapping[str, Any] = {}
        self._last: Mapping[str, Any] = {}

    def add(self, info: Mapping[str, Any]) -> Usage | None:
        """The usage of a call, None for an event that says nothing new."""
        total, last = mapping(info.get("total_token_usage")), mapping(info.get("last_token_usage"))
        now = tuple(count(total.get(name)) for name in COUNTS) if total else None
        # Where there is no total, an event that says the same as the one before is taken for its repetition.
        is_repeated = now == self._total if now is not None else last == self._last
        before = self._totals
        self._total, self._last = now if now is not None else self._total, last
        self._totals = total or before
        if is_repeated:
            return None
        return usage_of(last) if last else _added(total, before)


def _added(total: Mapping[str, Any], before: Mapping[str, Any]) -> Usage | None:
    """What was added to a total; all of it where it began anew."""
    added = {name: count(total.get(name)) - count(before.get(name)) for name in ALL_COUNTS}
    return usage_of(added) if min(added.values()) >= 0 else usage_of(total)
