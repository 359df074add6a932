"""Assign usage to calls: Codex reports it in `token_count` events, separate from the responses.

An event repeats the last report whenever anything else in it changes, so only events with a new total count. Their
position depends on the version: early versions wrote them before the items of the response, later ones after them,
possibly after the tool outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.json.values import count, mapping
from inspector.session.model import Usage
from inspector.session.usage_fields import CODEX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.model import Block


COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "total_tokens")

ALL_COUNTS = (*COUNTS, "reasoning_output_tokens")

Total = tuple[int, ...]


def usage_of(reported: Mapping[str, Any]) -> Usage | None:
    """Convert reported usage; None if it belongs to no call. The counts include cached and reasoning tokens."""
    prompt = count(reported.get("input_tokens"))
    read = min(count(reported.get("cached_input_tokens")), prompt)
    written = min(count(reported.get("cache_write_input_tokens")), prompt - read)
    output = count(reported.get("output_tokens"))
    if not prompt and not output:
        return None
    usage = Usage(
        uncached=prompt - read - written,
        cache_read=read,
        cache_write_5m=written,
        output=output,
        reasoning=min(count(reported.get("reasoning_output_tokens")), output),
    )
    return CODEX.check(usage, reported)


class TokenCounts:
    """Selects the `token_count` events that report a new call."""

    def __init__(self) -> None:
        self._total: Total | None = None
        self._totals: Mapping[str, Any] = {}
        self._last: Mapping[str, Any] = {}

    def add(self, info: Mapping[str, Any]) -> Usage | None:
        """Return the usage of a call, None for a repeated event."""
        total, last = mapping(info.get("total_token_usage")), mapping(info.get("last_token_usage"))
        now = tuple(count(total.get(name)) for name in COUNTS) if total else None
        # Without a total, an event equal to the last one is a repetition.
        is_repeated = now == self._total if now is not None else last == self._last
        before = self._totals
        self._total, self._last = now if now is not None else self._total, last
        self._totals = total or before
        if is_repeated:
            return None
        return usage_of(last) if last else _added(total, before)


def _added(total: Mapping[str, Any], before: Mapping[str, Any]) -> Usage | None:
    """Return the increase of a total, or all of it if it was reset."""
    added = {name: count(total.get(name)) - count(before.get(name)) for name in ALL_COUNTS}
    return usage_of(added) if min(added.values()) >= 0 else usage_of(total)


NONE = -1

INHERITED = -2
"""Call index for calls of another session."""


class CodexUsage(NamedTuple):
    """A usage report.

    Attributes:
        usage: The reported usage.
        time: Time of the report.
        block: Block of the event itself.
    """

    usage: Usage
    time: float | None
    block: Block


class Attribution:
    """Assigns usage reports to calls.

    The first report shows the order: if there is no response yet that it could belong to, reports precede the items of
    their response, otherwise they follow. A report that matches no recorded response, such as a summary request's, is
    left over.
    """

    def __init__(self) -> None:
        self._call = NONE
        self._lacks = False
        self._is_passed = False
        self._waiting: CodexUsage | None = None
        self._stands_first: bool | None = None

    def begin(self, call: int) -> Usage | None:
        """Begin the response of a call. Return its usage if already reported."""
        waiting, self._waiting = self._waiting, None
        self._call, self._lacks, self._is_passed = call, waiting is None, False
        return waiting.usage if waiting is not None else None

    def pass_by(self) -> None:
        """Mark the start of a turn or prompt; later reports do not belong to earlier responses."""
        self._is_passed = True

    def report(self, report: CodexUsage) -> tuple[int, CodexUsage | None]:
        """Assign a usage report.

        Returns:
            Its call, or `NONE` while it waits for a response, and an earlier report that was never assigned.
        """
        if self._lacks and (not self._is_passed or self._stands_first is False):
            self._lacks, self._stands_first = False, False
            return self._call, None
        if self._stands_first is None:
            self._stands_first = True
        waited, self._waiting = self._waiting, report
        return NONE, waited

    def take_unassigned(self, *, ends: bool = False) -> CodexUsage | None:
        """Return a pending report that cannot belong to the next response, or to any response if a turn `ends`."""
        if self._waiting is None or (self._stands_first and not ends):
            return None
        waiting, self._waiting = self._waiting, None
        return waiting

    def forget(self) -> None:
        """Drop the pending report, which belongs to another session."""
        self._waiting = None
