"""Usage as Codex reports it: in `token_count` events, not on the responses they belong to.

An event repeats what was reported before whenever anything else in it changes, so that only one with another total
counts. Where it stands differs by version: the earlier ones wrote it before the items of its response, later ones
behind them, perhaps behind the outputs too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.json.values import count, mapping
from inspector.session.model import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.model import Block


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


NONE = -1

INHERITED = -2
"""In the place of a call's index: the call was another session's."""


class CodexUsage(NamedTuple):
    """A reported usage.

    Attributes:
        usage: What was reported.
        time: When.
        block: The event itself.
    """

    usage: Usage
    time: float | None
    block: Block


class Attribution:
    """Gives reports to calls.

    Whether reports stand before or behind the items of their response shows at the first one: before, when there is no
    response yet that it could be of. One that cannot be of any recorded response (a request made to summarise, say)
    is left over.
    """

    def __init__(self) -> None:
        self._call = NONE
        self._lacks = False
        self._is_passed = False
        self._waiting: CodexUsage | None = None
        self._stands_first: bool | None = None

    def begin(self, call: int) -> Usage | None:
        """A response begins, of the given call; its usage, where that was reported before."""
        waiting, self._waiting = self._waiting, None
        self._call, self._lacks, self._is_passed = call, waiting is None, False
        return waiting.usage if waiting is not None else None

    def pass_by(self) -> None:
        """A turn or a prompt begins: later reports are of no earlier response."""
        self._is_passed = True

    def report(self, report: CodexUsage) -> tuple[int, CodexUsage | None]:
        """A usage was reported.

        Returns:
            The call it is of, `NONE` where it waits for a response, and a report that waited in vain.
        """
        if self._lacks and (not self._is_passed or self._stands_first is False):
            self._lacks, self._stands_first = False, False
            return self._call, None
        if self._stands_first is None:
            self._stands_first = True
        waited, self._waiting = self._waiting, report
        return NONE, waited

    def left_over(self, *, ends: bool = False) -> CodexUsage | None:
        """A report that cannot be of the response that begins now, or of any where a turn `ends`."""
        if self._waiting is None or (self._stands_first and not ends):
            return None
        waiting, self._waiting = self._waiting, None
        return waiting

    def forget(self) -> None:
        """What was reported so far was of another session."""
        self._waiting = None
