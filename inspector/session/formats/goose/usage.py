"""Read usage from the last message of a response and from the ledger of all requests.

Source, in aaif-goose/goose: `insert_usage_ledger_row`, `record_usage_metrics` and the 15th migration in
`crates/goose/src/session/session_manager.rs`; `MessageUsage` in `message.rs` and `Usage` in `token_usage.rs`, both in
`crates/goose-provider-types/src/conversation`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from inspector.session.json.values import clean_string, count, mapping, seconds_of_any, string
from inspector.session.model import NO_MESSAGE, SideCall, Usage
from inspector.session.usage_fields import GOOSE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inspector.session.builder import SessionBuilder
    from inspector.session.model import Call
    from inspector.session.sqlite import Row

LEDGER = "usage_ledger"

LEDGER_COLUMNS = (
    *("id", "created_timestamp", "model", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("cost_source", "is_compaction"),
)

FORWARDED = "carried_forward"
"""Ledger source for the total cost from before the ledger existed; not a request."""

COMPACTION = "compaction"
"""Purpose of requests that compact the conversation."""


def usage_of(prompt: object, read: object, written: object, output: object) -> Usage | None:
    """Convert Goose's usage. Prompt counts include cache tokens, or exclude them if smaller than their sum."""
    whole, from_cache, to_cache = count(prompt), count(read), count(written)
    uncached = whole - from_cache - to_cache
    return Usage(
        uncached=whole if uncached < 0 else uncached,
        cache_read=from_cache,
        cache_write_5m=to_cache,
        output=count(output),
    ).unless_zero()


def in_metadata(value: object) -> Usage | None:
    """Return the usage that a message reports for the response it ends."""
    fields = mapping(value)
    if fields.get("isCompaction"):
        return None
    names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    return GOOSE.check(usage_of(*map(fields.get, names)), fields)


class LedgerRow(Struct, frozen=True, gc=False):
    """A request in the ledger.

    Attributes:
        identifier: Its row id.
        time: Time of recording in seconds since the epoch, or None.
        model: The provider's model name.
        usage: Reported usage, or None.
        is_compaction: True if it made a summary.
    """

    identifier: str
    time: float | None
    model: str
    usage: Usage | None
    is_compaction: bool


def ledger_row(row: Row) -> LedgerRow | None:
    """Parse a ledger row; None if it is not a request."""
    if string(row.get("cost_source")) == FORWARDED:
        return None
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    return LedgerRow(
        identifier=str(row.get("id")),
        time=seconds_of_any(row.get("created_timestamp")),
        model=clean_string(row.get("model")),
        usage=usage_of(*map(row.get, names)),
        is_compaction=bool(row.get("is_compaction")),
    )


def match_ledger(builder: SessionBuilder, rows: Iterable[LedgerRow], model: str) -> None:
    """Match a session's calls with its ledger and add the other ledger rows as side calls.

    A call with usage takes the first unmatched row with the same usage. Versions that do not record usage with messages
    are matched by time: a row is written when its response ends, never before the message begins. `model` is used for
    calls without one in message or ledger.
    """
    calls = list(builder.calls)
    requests = list(rows)
    has_usage = any(call.usage is not None for call in calls)
    matched = _by_usage(calls, requests) if has_usage else _by_time(calls, requests)
    for place, call in enumerate(calls):
        row = matched.get(place)
        usage = call.usage or (row.usage if row is not None else None)
        calls[place] = structs.replace(
            call,
            usage=usage,
            # A copied session has other message ids and no ledger; its content identifies it.
            identifier="" if usage is not None else call.identifier,
            model=call.model or (row.model if row is not None else "") or model,
        )
    builder.calls[:] = calls
    of_calls = {row.identifier for row in matched.values()}
    for row in requests:
        if row.identifier not in of_calls:
            purpose = COMPACTION if row.is_compaction else NO_MESSAGE
            builder.side_calls[f"{LEDGER} {row.identifier}"] = SideCall(
                purpose, row.model or model, row.time, row.usage
            )


def _by_usage(calls: Sequence[Call], rows: Sequence[LedgerRow]) -> dict[int, LedgerRow]:
    free: dict[Usage, deque[LedgerRow]] = {}
    for row in rows:
        if row.usage is not None and not row.is_compaction:
            free.setdefault(row.usage, deque()).append(row)
    return {
        place: free[counts].popleft()
        for place, call in enumerate(calls)
        if call.usage is not None and free.get(counts := structs.replace(call.usage, ignored=()))
    }


def _by_time(calls: Sequence[Call], rows: Sequence[LedgerRow]) -> dict[int, LedgerRow]:
    """Match rows to calls if as many calls began in a second as rows follow before the next call."""
    begun: dict[float, list[int]] = {}
    for place, call in enumerate(calls):
        if call.time is not None:
            begun.setdefault(call.time, []).append(place)
    times = sorted(begun)
    following: dict[float, list[LedgerRow]] = {}
    for row in rows:
        before = bisect_right(times, row.time) if row.time is not None else 0
        if before and not row.is_compaction and row.usage is not None:
            following.setdefault(times[before - 1], []).append(row)
    return {
        place: row
        for time, found in following.items()
        if len(found) == len(begun[time])
        for place, row in zip(begun[time], found, strict=True)
    }
