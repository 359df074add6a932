"""Read what Hermes records about its bill and its compactions, next to the messages.

Usage is summed per session in `sessions`, and since schema 23 per session, model and task in `session_model_usage`
(`agent/usage_pricing.py` in NousResearch/hermes-agent): input excludes cached tokens, output includes reasoning. Rows
with a task are requests outside the conversation: titles, compressions, reviews.

Every rewrite of the history publishes a record without content, `hermes.compaction` version 1
(`agent/compaction_events.py`). A user's NeMo Relay exporter writes it as a line of an ATOF file.
"""

from __future__ import annotations

import os
import tomllib
from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from inspector.session.files import glob_sorted, open_for_reading
from inspector.session.json.codec import decode_json
from inspector.session.json.values import clean_string, count, count_or_none, mapping, seconds_of_any, string
from inspector.session.model import NO_MESSAGE, Compaction, RecordedTotals, SideCall, Usage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from inspector.session.builder import SessionBuilder

USAGE_TABLE = "session_model_usage"

USAGE_COLUMNS = (
    *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"),
    *("estimated_cost_usd", "actual_cost_usd", "api_call_count"),
)

MODEL_COLUMNS = ("session_id", "model", "task", "last_seen", *USAGE_COLUMNS)

SOURCE = "session usage"

SCHEMA = b"hermes.compaction"

FOLDERS = ("observability", "telemetry")
"""Folders next to the database that usually hold exported events."""

CONFIGURATION = "HERMES_NEMO_RELAY_PLUGINS_TOML"

MOST_BYTES = 1 << 28
"""Larger event files are not read."""

MATCH_SECONDS = 30.0
"""A compaction's record is published within this time of its summary."""


def usage_of(row: Mapping[str, Any]) -> Usage | None:
    """Convert the columns of a row; None if all are zero."""
    output = count(row.get("output_tokens"))
    return Usage(
        uncached=count(row.get("input_tokens")),
        cache_read=count(row.get("cache_read_tokens")),
        cache_write_5m=count(row.get("cache_write_tokens")),
        output=output,
        reasoning=min(count(row.get("reasoning_tokens")), output),
    ).unless_zero()


def add_totals(
    builder: SessionBuilder, session: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], first: int
) -> None:
    """Add the recorded totals of a session.

    Args:
        builder: Receives the totals and the requests outside the conversation.
        session: The session's row.
        rows: Its rows of `session_model_usage`; empty in older versions.
        first: Index of its first call; the last one is the builder's last.
    """
    mine = [row for row in rows if not string(row.get("task"))] or [session]
    found = {clean_string(row.get("model")): row for row in mine if usage_of(row) is not None}
    sides: list[tuple[str, Usage]] = []
    for row in rows:
        if string(row.get("task")):
            _add_side_call(builder, row, clean_string(row.get("task")))
    if not found or first >= len(builder.calls):
        return
    if len(found) == 1:
        (model,) = found
        for index in range(first, len(builder.calls)):
            builder.calls[index] = structs.replace(builder.calls[index], model=model)
    called = {call.model for call in builder.calls[first:]}
    usages = []
    for model, row in found.items():
        usage = usage_of(row)
        if usage is not None:
            usages.append((model, usage))
            if model not in called:
                _add_side_call(builder, row, NO_MESSAGE)
                sides.append((model, usage))
    costs = [row.get("actual_cost_usd") or row.get("estimated_cost_usd") for row in found.values()]
    known = [each for each in costs if isinstance(each, (int, float)) and each > 0]
    requests = sum(count(row.get("api_call_count")) for row in found.values())
    builder.recorded_totals.append(
        RecordedTotals(
            SOURCE,
            tuple(usages),
            float(sum(known)) if len(known) == len(costs) else None,
            requests or None,
            first,
            len(builder.calls),
            side_usages=tuple(sides),
        )
    )


def _add_side_call(builder: SessionBuilder, row: Mapping[str, Any], purpose: str) -> None:
    usage = usage_of(row)
    if usage is not None:
        model, time = clean_string(row.get("model")), seconds_of_any(row.get("last_seen"))
        made = SideCall(purpose, model, time, usage, requests=count(row.get("api_call_count")))
        builder.side_calls[f"{USAGE_TABLE} {len(builder.side_calls)}"] = made


class CompactionRecord(NamedTuple):
    """A record of a rewrite of the history.

    Attributes:
        session: Id of the session.
        time: Seconds since the epoch.
        kind: `summarize`, `micro_summarize`, `prune_tool_results` and others.
        trigger: Its cause.
        before, after, reclaimed: Estimated tokens, or None.
        is_committed: True if the history was rewritten.
        outcome: `committed`, `failed`, `skipped` and others.
    """

    session: str
    time: float
    kind: str
    trigger: str
    before: int | None
    after: int | None
    reclaimed: int | None
    is_committed: bool
    outcome: str


def compaction_record(line: bytes) -> CompactionRecord | None:
    """Convert a line of an ATOF file; None if it does not record a rewrite."""
    if SCHEMA not in line:
        return None
    event = mapping(decode_json(line)[0])
    data, time = mapping(event.get("data")), seconds_of_any(event.get("timestamp"))
    if mapping(event.get("data_schema")).get("name") != SCHEMA.decode() or time is None:
        return None
    outcome = clean_string(data.get("outcome"))
    return CompactionRecord(
        string(data.get("session_id")),
        time,
        clean_string(data.get("kind")) or "compaction",
        clean_string(data.get("trigger")),
        count_or_none(data.get("tokens_before")),
        count_or_none(data.get("tokens_after")),
        count_or_none(data.get("tokens_reclaimed")),
        outcome == "committed" and data.get("scope") == "history",
        outcome or "unknown",
    )


class CompactionEvents:
    """Reads the records of a database's sessions, each file again only after a change."""

    def __init__(self, home: Path) -> None:
        """Use the folder of a database."""
        self._home = home
        self._known: dict[Path, tuple[tuple[float, int], list[CompactionRecord]]] = {}

    def of(self, sessions: Collection[str]) -> list[CompactionRecord]:
        """Return the records of some sessions in order of time."""
        found = [record for file in self._files() for record in self._read(file) if record.session in sessions]
        return sorted(set(found), key=lambda record: record.time)

    @property
    def files(self) -> list[Path]:
        """Files with records, from the last read."""
        return [file for file, (_, records) in self._known.items() if records]

    def _files(self) -> Iterable[Path]:
        folders = [self._home / name for name in FOLDERS]
        if configured := os.environ.get(CONFIGURATION):
            folders += _output_folders(Path(configured))
        return dict.fromkeys(file for folder in folders for file in glob_sorted(folder, "**/*.jsonl"))

    def _read(self, file: Path) -> list[CompactionRecord]:
        try:
            status = file.stat()
            state = (status.st_mtime, status.st_size)
            known = self._known.get(file)
            if known is not None and known[0] == state:
                return known[1]
            records = []
            if status.st_size <= MOST_BYTES:
                with open_for_reading(file) as lines:
                    records = [record for line in lines if (record := compaction_record(line)) is not None]
        except OSError:
            return []
        self._known[file] = (state, records)
        return records


def _output_folders(configuration: Path) -> list[Path]:
    """Return the folders that Relay's configuration writes to."""
    try:
        value = tomllib.loads(configuration.read_text(errors="replace"))
    except (OSError, ValueError, RecursionError):
        return []
    found: list[Path] = []
    rest: list[Any] = [value]
    while rest:
        each = rest.pop()
        if isinstance(each, dict):
            folder = each.get("output_directory")
            found += [configuration.parent / folder] if isinstance(folder, str) else []
            rest += each.values()
        elif isinstance(each, list):
            rest += each
    return found


def add_compactions(builder: SessionBuilder, records: Sequence[CompactionRecord]) -> None:
    """Add the counts of records to the compactions in the messages, and the other rewrites as compactions."""
    builder.record_counts.update(f"{SCHEMA.decode()}: {record.kind}, {record.outcome}" for record in records)
    times = [message.time for message in builder.complete_messages()]
    timed = [(time, index) for index, time in enumerate(times) if time is not None]
    free = {index for index, each in enumerate(builder.compactions) if each.tokens_before is None}
    for record in records:
        if not record.is_committed:
            continue
        near = (
            index
            for index in sorted(free)
            if (time := builder.compactions[index].time) is not None and abs(time - record.time) <= MATCH_SECONDS
        )
        index = next(near, None) if record.kind != "prune_tool_results" else None
        if index is not None:
            free.discard(index)
            builder.compactions[index] = structs.replace(
                builder.compactions[index],
                trigger=record.trigger or builder.compactions[index].trigger,
                tokens_before=record.before,
                tokens_after=record.after,
                tokens_saved=record.reclaimed,
            )
            continue
        place = bisect_left(timed, (record.time, -1))
        message = timed[place][1] if place < len(timed) else len(times)
        builder.compactions.append(
            Compaction(
                message,
                f"{record.kind}, {record.trigger}",
                record.before,
                record.after,
                (),
                record.reclaimed,
                record.time,
            )
        )
    builder.compactions.sort(key=lambda each: each.message)
