"""Read Grok Build's updates: usage and time of each response, and compactions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from inspector.session.builder import SessionBuilder
from inspector.session.json.values import clean_string, count, count_or_none, mapping, seconds_of_any, string
from inspector.session.model import Compaction, Usage
from inspector.session.reader import Record, RecordInterpreter
from inspector.session.usage_fields import GROK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Origin

FARTHEST = 200
"""Limit of reports searched for a response's text; the ones skipped belong to responses taken back."""


@dataclass(frozen=True)
class ResponseReport:
    """The report of one response.

    Attributes:
        text: The response's text, used to match it.
        usage: Reported usage.
        time: Seconds since the epoch, or None.
        identifier: The provider's id; empty if it has none.
        compactions: Number of earlier compactions.
    """

    text: str
    usage: Usage | None
    time: float | None
    identifier: str
    compactions: int


class ForwardingBuilder(SessionBuilder):
    """Forwards diagnostics of one file to the session read from another."""

    def __init__(self, to: SessionBuilder, name: str) -> None:
        super().__init__()
        self._to = to
        self._name = name

    def diagnose(self, reason: str, line: int, offset: int, *, skipped: bool, loses_usage: bool = False) -> None:
        """Forward a diagnostic, prefixed with the file's name."""
        self._to.diagnose(f"{self._name}: {reason}", line, offset, skipped=skipped, loses_usage=loses_usage)


class UpdatesInterpreter(RecordInterpreter):
    """Collects reports and compactions from updates.

    Attributes:
        reports: Reports of responses, in order.
        compactions: The completed compactions.
    """

    record_name = "an update"

    def __init__(self, builder: SessionBuilder) -> None:
        """Initialize with the builder that receives diagnostics."""
        super().__init__(builder)
        self.reports: list[ResponseReport] = []
        self.compactions: list[Compaction] = []
        self._places: dict[str, int] = {}
        self._text: list[str] = []

    def add(self, record: Record) -> None:
        params = mapping(record.value.get("params"))
        update = mapping(params.get("update"))
        kind = string(update.get("sessionUpdate"))
        time = seconds_of_any(record.value.get("timestamp"))
        if kind == "agent_message_chunk":
            self._text.append(string(mapping(update.get("content")).get("text")))
        elif kind == "response_completed":
            self._report(update, time)
        elif kind in ("user_message_chunk", "turn_completed"):
            self._text.clear()
        elif kind == "auto_compact_completed":
            before, after = (count_or_none(update.get(name)) for name in ("tokens_before", "tokens_after"))
            self.compactions.append(Compaction(0, "auto", before, after, time=time))

    def blocks_of_record(self, record: bytes, origin: Origin, /) -> Iterable[TextBlock]:  # noqa: ARG002  # not needed
        """Return no blocks: updates are not messages."""
        return ()

    def _report(self, update: Mapping[str, Any], time: float | None) -> None:
        identifier = clean_string(update.get("message_id"))
        made = ResponseReport(
            "".join(self._text).strip(), usage_of(update.get("usage")), time, identifier, len(self.compactions)
        )
        self._text.clear()
        place = self._places.get(identifier) if identifier else None
        if place is not None and _prompt(made) == _prompt(self.reports[place]):  # reported again; gateways repeat ids
            self.reports[place] = replace(made, text=made.text or self.reports[place].text)
            return
        if identifier:
            self._places[identifier] = len(self.reports)
        self.reports.append(made)


def _prompt(report: ResponseReport) -> tuple[int, int, int] | None:
    usage = report.usage
    return None if usage is None else (usage.uncached, usage.cache_read, usage.cache_write_5m)


def usage_of(reported: Any) -> Usage | None:
    """Convert reported usage; None if there is none. `input_tokens` excludes cache reads."""
    fields = mapping(reported)
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    uncached, read, written, output = (count(fields.get(name)) for name in names)
    reasoning = min(count(fields.get("reasoning_tokens")), output)
    return GROK.check(Usage(uncached, read, written, output=output, reasoning=reasoning).unless_zero(), reported)


def reports_of(texts: Sequence[str], reports: Sequence[ResponseReport]) -> list[ResponseReport | None]:
    """Match reports to the responses of a history by text, from the last one back; None without a report."""
    found: list[ResponseReport | None] = [None] * len(texts)
    last = len(reports) - 1
    for place in range(len(texts) - 1, -1, -1):
        text = texts[place].strip()
        for at in range(last, max(last - FARTHEST, -1), -1):
            if reports[at].text == text:
                found[place] = reports[at]
                last = at - 1
                break
    return found
