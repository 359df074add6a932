"""Assign usage to calls: Codex reports it in separate lines, and most of it twice.

`token_count` events repeat a report whenever anything else in them changes, and may repeat older ones, so only events
with a new total count. Their position depends on the version: early versions wrote them before the items of the
response, later ones after them, possibly after the tool outputs. Since 0.151, a `token_usage_record` reports every
response by its id; only compaction requests have no event as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.billing_terms import BillingTerms, normalized_value
from inspector.session.json.values import clean_string, count, mapping, string
from inspector.session.model import Usage
from inspector.session.usage_fields import CODEX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.model import Block


COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "total_tokens")

ALL_COUNTS = (*COUNTS, "reasoning_output_tokens")

Total = tuple[int, ...]

Counted = tuple[int, int, int]
"""Prompt, cache reads and output of a response."""


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


def total_of(info: Mapping[str, Any]) -> Total | None:
    """Return the running total of an event, None without one."""
    total = mapping(info.get("total_token_usage"))
    return tuple(count(total.get(name)) for name in COUNTS) if total else None


class TokenCounts:
    """Selects the reports of new calls: each response once, whichever lines report it."""

    def __init__(self) -> None:
        self._totals_seen: set[Total] = set()
        self._totals: Mapping[str, Any] = {}
        self._last: Mapping[str, Any] = {}
        self._responses: set[str] = set()
        self._recorded: list[Counted] = []
        self._counted: list[Counted] = []

    def add_event(self, info: Mapping[str, Any]) -> Usage | None:
        """Return the usage of a new call in a `token_count` event, None for a repetition."""
        total, last = mapping(info.get("total_token_usage")), mapping(info.get("last_token_usage"))
        now = total_of(info)
        # Without a total, an event equal to the last one is a repetition.
        is_repeated = now in self._totals_seen if now is not None else last == self._last
        self._last = last
        if is_repeated:
            return None
        before = self._totals
        if now is not None:
            self._totals_seen.add(now)
            self._totals = total
        usage = usage_of(last) if last else _added(total, before)
        return usage if usage is None or self._is_new(usage, self._counted, self._recorded) else None

    def add_record(self, record: Mapping[str, Any]) -> Usage | None:
        """Return the usage of a new call in a `token_usage_record`, None if an event or a record reported it."""
        identifier = string(record.get("response_id"))
        usage = usage_of(mapping(record.get("usage")))
        if usage is None or identifier in self._responses:
            return None
        if identifier:
            self._responses.add(identifier)
        return usage if self._is_new(usage, self._recorded, self._counted) else None

    def is_current(self, info: Mapping[str, Any]) -> bool:
        """Return True if an event has the newest total, or none."""
        total = mapping(info.get("total_token_usage"))
        return not total or total == self._totals

    def begin_response(self) -> None:
        """Begin a response: later reports are not repetitions of those before it."""
        self._recorded.clear()
        self._counted.clear()

    @staticmethod
    def _is_new(usage: Usage, reported: list[Counted], otherwise: list[Counted]) -> bool:
        """Return True unless the other kind of line has reported the response of this usage; note the report."""
        counted = (usage.prompt, usage.cache_read, usage.output)
        if counted in otherwise:
            otherwise.remove(counted)
            return False
        reported.append(counted)
        return True


def _added(total: Mapping[str, Any], before: Mapping[str, Any]) -> Usage | None:
    """Return the increase of a total, or all of it if it was reset."""
    added = {name: count(total.get(name)) - count(before.get(name)) for name in ALL_COUNTS}
    return usage_of(added) if min(added.values()) >= 0 else usage_of(total)


TIERS = {"fast": "priority"}
"""Service tiers by Codex's name for them."""


class TurnSettings:
    """Model, effort and billing terms of the current turn; a change applies to the turns that follow it.

    Attributes:
        model: Name of the model.
        effort: Reasoning effort.
        terms: Billing terms as in `BillingTerms.code`.
    """

    def __init__(self) -> None:
        self.model = ""
        self.effort = ""
        self.terms = ""
        self._turn = ""
        self._next = ("", "")

    def apply(self, settings: Mapping[str, Any]) -> None:
        """Note the settings in an event; without a service tier, it is the default one."""
        tier = normalized_value(settings.get("service_tier"))
        self._next = string(settings.get("model")), BillingTerms(tier=TIERS.get(tier, tier)).code

    def begin_turn(self, payload: Mapping[str, Any], *, is_start: bool = False) -> None:
        """Begin a turn, by its event or by its context, which names the model and may be repeated within the turn."""
        turn = string(payload.get("turn_id"))
        if is_start or not turn or turn != self._turn:
            model, self.terms = self._next
            self.model, self._turn = model or self.model, turn
        self.model = string(payload.get("model")) or self.model
        self.effort = clean_string(payload.get("effort")) or self.effort


NONE = -1

INHERITED = -2
"""Call index for calls of another session."""


class CodexUsage(NamedTuple):
    """A usage report.

    Attributes:
        usage: The reported usage.
        time: Time of the report.
        block: Block of the line itself.
        identifier: Id of the response; empty in an event.
    """

    usage: Usage
    time: float | None
    block: Block
    identifier: str = ""


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
        self._precedes_response: bool | None = None

    @property
    def waiting(self) -> CodexUsage | None:
        return self._waiting

    def begin(self, call: int) -> CodexUsage | None:
        """Begin the response of a call. Return its usage if already reported."""
        waiting, self._waiting = self._waiting, None
        self._call, self._lacks, self._is_passed = call, waiting is None, False
        return waiting

    def pass_by(self) -> None:
        """Mark the start of a turn or prompt; later reports do not belong to earlier responses."""
        self._is_passed = True

    def report(self, report: CodexUsage) -> tuple[int, CodexUsage | None]:
        """Assign a usage report.

        Returns:
            Its call, or `NONE` while it waits for a response, and an earlier report that was never assigned.
        """
        if self._lacks and (not self._is_passed or self._precedes_response is False):
            self._lacks, self._precedes_response = False, False
            return self._call, None
        if self._precedes_response is None:
            self._precedes_response = True
        waited, self._waiting = self._waiting, report
        return NONE, waited

    def take_unassigned(self, *, ends: bool = False) -> CodexUsage | None:
        """Return a pending report that cannot belong to the next response, or to any response if a turn `ends`."""
        if self._waiting is None or (self._precedes_response and not ends):
            return None
        waiting, self._waiting = self._waiting, None
        return waiting

    def forget(self) -> None:
        """Drop the pending report, which belongs to another session."""
        self._waiting = None
