"""Read the usage totals that Copilot CLI writes when a process exits.

`session.shutdown` has, per model, `modelMetrics.<model>.usage`, with cached tokens inside `inputTokens`, and the number
of requests. A resumed session writes one more: totals of the resumed process, or of the whole session so far, depending
on the version. The output tokens of the recorded responses show the difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from inspector.session.json.values import clean_string, count, mapping, seconds_of_any, string
from inspector.session.model import NO_MESSAGE, RecordedTotals, SideCall, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.builder import SessionBuilder

SHUTDOWN = "session.shutdown"

COMPACTION = "compaction"
"""Purpose of the requests that compact the conversation."""

NANO_PER_DOLLAR = 1e11
"""Nano AI units per dollar: one unit costs a cent."""


class ModelTotals(NamedTuple):
    """Totals of one model.

    Attributes:
        usage: Summed usage.
        requests: Number of requests.
    """

    usage: Usage
    requests: int

    def since(self, before: ModelTotals | None) -> ModelTotals | None:
        """Return the increase since an earlier record, or None if a count has decreased."""
        if before is None:
            return self
        names = ("uncached", "cache_read", "cache_write_5m", "output", "reasoning")
        added = {name: getattr(self.usage, name) - getattr(before.usage, name) for name in names}
        requests = self.requests - before.requests
        return ModelTotals(Usage(**added), requests) if min(requests, *added.values()) >= 0 else None


def usage_of(reported: Mapping[str, Any]) -> Usage:
    """Convert usage of a total or a compaction, in the current names or the first ones."""
    prompt = count(reported.get("inputTokens")) or count(reported.get("input"))
    read = count(reported.get("cacheReadTokens")) or count(reported.get("cachedInput"))
    written, output = count(reported.get("cacheWriteTokens")), count(reported.get("outputTokens"))
    output = output or count(reported.get("output"))
    uncached = prompt - read - written
    return Usage(
        uncached=uncached if uncached >= 0 else prompt,
        cache_read=read,
        cache_write_5m=written,
        output=output,
        reasoning=min(count(reported.get("reasoningTokens")), output),
    )


class ShutdownTotals:
    """Adds recorded totals to a builder, each for the calls since the previous one or since the process began."""

    def __init__(self, builder: SessionBuilder) -> None:
        self._builder = builder
        self._begun = 0
        self._closed = 0
        self._sides: list[tuple[str, Usage]] = []
        self._last: dict[str, ModelTotals] = {}
        self._last_nano = 0

    def begin(self) -> None:
        """Record the start of a process."""
        self._begun = len(self._builder.calls)

    def compact(self, event: Mapping[str, Any], data: Mapping[str, Any], model: str) -> None:
        """Add the request of a compaction, which is in its own record only."""
        reported = mapping(data.get("compactionTokensUsed"))
        usage = usage_of(reported).unless_zero()
        if usage is None:
            return
        model, identifier = clean_string(reported.get("model")) or model, string(data.get("requestId"))
        self._side(COMPACTION, model, usage, event, identifier or string(event.get("id")))

    def close(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Add the totals of a shutdown."""
        metrics = {
            clean_string(name): ModelTotals(
                usage_of(mapping(mapping(each).get("usage"))),
                count(mapping(mapping(each).get("requests")).get("count")),
            )
            for name, each in mapping(data.get("modelMetrics")).items()
        }
        nano = count(data.get("totalNanoAiu"))
        added = {name: totals.since(self._last.get(name)) for name, totals in metrics.items()}
        increases = {name: totals for name, totals in added.items() if totals is not None}
        continues = len(increases) == len(metrics) and self._continues(metrics)
        totals = increases if continues else metrics
        first = self._closed if continues else self._begun
        cost = nano - self._last_nano if continues else nano
        self._last, self._last_nano = metrics, nano
        found = {name: each for name, each in totals.items() if each.usage.unless_zero() is not None}
        if found:
            self._add(found, first, cost, event)
        self._closed = self._begun = len(self._builder.calls)
        self._sides.clear()

    def _continues(self, metrics: Mapping[str, ModelTotals]) -> bool:
        """Return True if totals are of the whole session, by the output of its recorded responses."""
        if not self._last:
            return False
        outputs = [0 if call.usage is None else call.usage.output for call in self._builder.calls]
        total = sum(each.usage.output for each in metrics.values())
        return abs(total - sum(outputs)) < abs(total - sum(outputs[self._begun :]))

    def _add(self, found: Mapping[str, ModelTotals], first: int, cost: int, event: Mapping[str, Any]) -> None:
        builder, names = self._builder, list(found)
        if len(names) == 1:
            # Some versions name the model nowhere else.
            for index in range(first, len(builder.calls)):
                if not builder.calls[index].model:
                    builder.calls[index] = structs.replace(builder.calls[index], model=names[0])
        called = {call.model for call in builder.calls[first:]}
        known = {name for name, _ in self._sides}
        for name, each in found.items():
            if name not in called and name not in known:
                identifier = f"{string(event.get('id'))} {name}"
                self._side(NO_MESSAGE, name, each.usage, event, identifier, each.requests)
        builder.recorded_totals.append(
            RecordedTotals(
                SHUTDOWN,
                tuple((name, each.usage) for name, each in found.items()),
                cost / NANO_PER_DOLLAR if cost > 0 else None,
                sum(each.requests for each in found.values()) or None,
                first,
                len(builder.calls),
                side_usages=tuple(self._sides),
            )
        )

    def _side(
        self, purpose: str, model: str, usage: Usage, event: Mapping[str, Any], identifier: str, requests: int = 1
    ) -> None:
        time = seconds_of_any(event.get("timestamp"))
        made = SideCall(purpose, model, time, usage, identifier, requests=requests)
        self._builder.side_calls[f"{purpose} {identifier}"] = made
        self._sides.append((model, usage))
