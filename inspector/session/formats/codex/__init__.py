"""Read Codex: one JSONL rollout per session, with conversation items and events, and printed event streams.

A subagent has its own rollout with a header that names its parent; the parent's events name the threads it spawned.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.errors import SessionError
from inspector.session.files import glob_sorted
from inspector.session.format import ContainedSession, Format, home_of, sessions_at
from inspector.session.formats.responses import is_item, is_list_of_items
from inspector.session.json import mapping, seconds_of_any, string
from inspector.session.model import LinkKind, SessionLink
from inspector.session.sniff import Sample, beginning_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inspector.session.builder import SessionBuilder
    from inspector.session.reader import Reader


META, ITEM, EVENT, TURN, COMPACTED, MESSAGE_OF_AGENT, USAGE = (
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "inter_agent_communication",
    "token_usage_record",
)

KINDS = frozenset({META, ITEM, EVENT, TURN, COMPACTED, MESSAGE_OF_AGENT, USAGE, "world_state", "rollout_reference"})
"""Values of `type` in the envelope."""

THREAD, TURN_BEGINS, TURN_ENDS, TURN_FAILS = "thread.started", "turn.started", "turn.completed", "turn.failed"

ITEM_ENDS = "item.completed"

ITEMS = ("item.started", "item.updated", ITEM_ENDS)

ENDS_OF_TURNS = frozenset({THREAD, TURN_BEGINS, TURN_ENDS, TURN_FAILS})

ONLY_MARKERS = frozenset({THREAD, TURN_BEGINS})
"""Stream events that only mark a beginning."""


TURN_STARTS = ("task_started", "turn_started")
"""Events at the start of a turn, in newer and older versions."""


def is_event(record: Mapping[str, Any]) -> bool:
    """Return True for a line of a printed stream."""
    kind, item = str(record.get("type")), record.get("item")
    if kind in ITEMS:
        return isinstance(item, dict) and isinstance(item.get("type"), str)
    return kind in ENDS_OF_TURNS and "data" not in record and "payload" not in record


def is_header(value: Mapping[str, Any]) -> bool:
    """Return True for the first line of a rollout without envelopes."""
    return "type" not in value and all(isinstance(value.get(name), str) for name in ("id", "timestamp"))


QUIET = frozenset(
    {TURN, USAGE, "inter_agent_communication_metadata", "retained_context", "rollout_reference", "state", "world_state"}
)
"""Line kinds for the program only."""

NOTICES = frozenset(
    {"error", "guardian_warning", "stream_error", "turn_aborted", "warning", "entered_review_mode"}
    | {"exited_review_mode", "model_reroute"}
)
"""Events worth showing that are recorded nowhere else."""

QUIET_EVENTS = frozenset(
    {"agent_message", "agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break"}
    | {"collab_agent_interaction_begin", "collab_agent_interaction_end", "collab_agent_spawn_begin"}
    | {"collab_agent_spawn_end", "collab_close_begin", "collab_close_end", "collab_resume_begin", "collab_resume_end"}
    | {"collab_waiting_begin", "collab_waiting_end", "context_compacted", "dynamic_tool_call_request"}
    | {"dynamic_tool_call_response", "exec_command_begin", "exec_command_end", "exec_command_output_delta"}
    | {"image_generation_end", "item_completed", "item_started", "mcp_tool_call_begin", "mcp_tool_call_end"}
    | {"patch_apply_begin", "patch_apply_end", "plan_update", "session_configured", "sub_agent_activity"}
    | {"task_complete", "task_started", "thread_goal_updated", "thread_name_updated", "thread_rolled_back"}
    | {"thread_settings_applied", "token_count", "turn_complete", "turn_diff", "turn_started", "user_message"}
    | {"view_image_tool_call", "web_search_begin", "web_search_end"}
)
"""Events that repeat items, or are only for the program's screen."""


class RolloutLine(NamedTuple):
    """One line without its envelope. `ordinal`: position in the rollout, recorded since 0.144; None without one."""

    kind: str
    payload: Mapping[str, Any]
    time: float | None
    ordinal: int | None = None

    @property
    def is_usage(self) -> bool:
        return self.kind == USAGE or (self.kind == EVENT and self.payload.get("type") == "token_count")

    @property
    def count_name(self) -> str:
        """Name for counting: the kind, plus the type of items and events."""
        inner = string(self.payload.get("type")) if self.kind in (ITEM, EVENT) else ""
        return f"{self.kind}:{inner}" if inner else self.kind


def unwrapped(value: Mapping[str, Any]) -> RolloutLine:
    """Unwrap a line with either envelope."""
    kind, time = string(value.get("type")), seconds_of_any(value.get("timestamp"))
    if isinstance(value.get("payload"), dict):
        ordinal = value.get("ordinal")
        return RolloutLine(kind or "(no type)", value["payload"], time, ordinal if isinstance(ordinal, int) else None)
    if "record_type" in value:
        return RolloutLine(string(value["record_type"]) or "state", {}, time)
    if is_header(value):
        return RolloutLine(META, value, time)
    if is_item(value):
        return RolloutLine(ITEM, value, time)
    return RolloutLine(kind or "(no type)", mapping(value.get("payload")), time)


def _is_rollout_line(record: dict[str, Any]) -> bool:
    return _is_enveloped(record) and record["type"] in KINDS


def _is_enveloped(record: dict[str, Any]) -> bool:
    """Return True if a line has Codex's envelope, with any payload: Codex adds new kinds over time."""
    return isinstance(record.get("payload"), dict) and isinstance(record.get("type"), str)


def _stream_events(sample: Sample) -> int:
    """Count the records of a printed stream; 0 if they are not the majority."""
    found = sum(is_event(record) for record in sample.records)
    return found if found * 2 > len(sample.records) else 0


def _is_whole_session(document: object) -> bool:
    return (
        isinstance(document, dict)
        and isinstance(document.get("session"), dict)
        and "id" in document["session"]
        and is_list_of_items(document.get("items"))
    )


class CodexFormat(Format):
    """Codex rollouts and `codex exec --json` output."""

    name = "codex"
    title = "Codex"
    where = "~/.codex/sessions and archived_sessions, or the same folders in $CODEX_HOME; ~/.trae/cli/sessions"
    exact = (
        "tokens of every call, except before 0.32 (none) and in `codex exec --json` (only turns with one call; the "
        "first turn of a resumed thread includes the turns before it)"
    )
    file_names = r"rollout-.+\.jsonl(?:\.zst)?"

    def recognize(self, sample: Sample) -> str:
        records = sample.records
        found = [record for record in records if _is_rollout_line(record)]
        if found and sum(_is_enveloped(record) for record in records) * 2 > len(records):
            kinds = sorted({str(record["type"]) for record in found})
            return f"{len(found)} of the first {len(records)} records are Codex records ({', '.join(kinds[:4])})"
        if events := _stream_events(sample):
            return f"{events} of the first {len(records)} records are events printed by `codex exec --json`"
        if _is_whole_session(sample.only_value):
            return "a JSON document with a session and its items (an early Codex version)"
        bare = [record for record in records if "record_type" in record or is_header(record)]
        items = [record for record in records if is_item(record)]
        if bare and (len(bare) + len(items)) * 2 > len(records) and all("payload" not in record for record in bare):
            states = any(record.get("record_type") == "state" for record in bare)
            is_alone = any("instructions" in record and "git" in record for record in bare)
            if states or is_alone or (items and any("instructions" in record or "git" in record for record in bare)):
                return f"{len(items)} of the first {len(records)} records are items of an early Codex version"
        return ""

    def homes(self) -> tuple[Path, ...]:
        home = home_of("CODEX_HOME", ".codex")
        return (home / "sessions", home / "archived_sessions", Path.home() / ".trae" / "cli" / "sessions")

    def reader(self, path: Path) -> Reader:
        return self.reader_of_copy(path, path)

    def reader_of_copy(self, copy: Path, path: Path) -> Reader:
        from inspector.session.formats.codex.reader import codex_reader

        sample = Sample(copy)
        return codex_reader(
            copy,
            self.name,
            is_document=_is_whole_session(sample.only_value),
            is_stream=not any(_is_rollout_line(record) for record in sample.records) and _stream_events(sample) > 0,
            near=path,
        )

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:
        return sessions_at(subagent_files(path, identifier))

    def locate(self, path: Path, identifier: str) -> Path | None:
        return locate(path, identifier)

    def is_bookkeeping(self, count_name: str) -> bool:
        if count_name in (*ONLY_MARKERS, TURN_ENDS):
            return True
        return count_name in QUIET or count_name.partition("event_msg:")[2] in QUIET_EVENTS

    def knows_record(self, count_name: str) -> bool:
        from inspector.session.formats.responses.reader import is_known_item

        kind, _, inner = count_name.partition(":")
        if kind == ITEM:
            return is_known_item(inner)
        if kind == EVENT:
            return inner in NOTICES or self.is_bookkeeping(count_name)
        if kind in ITEMS:
            return True
        return kind in {META, COMPACTED, MESSAGE_OF_AGENT, *ENDS_OF_TURNS} or self.is_bookkeeping(count_name)


UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

SPAWNED = frozenset({"collab_agent_spawn_end", "sub_agent_spawn_end"})

DAYS_AROUND = (0, -1, 1)
"""Day offsets to search: folders use local dates, ids use UTC."""


def parent_of(header: Mapping[str, Any]) -> str:
    """Return the thread that spawned this subagent; empty for a session started by the user, or a fork."""
    source = mapping(mapping(header.get("source")).get("subagent"))
    spawned = mapping(source.get("thread_spawn"))
    return string(spawned.get("parent_thread_id")) or string(header.get("parent_thread_id"))


def is_subagent(header: Mapping[str, Any]) -> bool:
    """Return True for a subagent's rollout, even if it does not name its parent."""
    return "subagent" in mapping(header.get("source")) or bool(parent_of(header))


def note_header(header: Mapping[str, Any], builder: SessionBuilder) -> None:
    parent, origin = parent_of(header), string(header.get("forked_from_id"))
    if parent or (origin and is_subagent(header)):
        title = string(header.get("agent_nickname")) or string(header.get("agent_role"))
        builder.link(SessionLink(LinkKind.PARENT, parent or origin))
        builder.title = builder.title or title
    elif origin:
        builder.link(SessionLink(LinkKind.CONTINUED, origin))


def note_event(payload: Mapping[str, Any], builder: SessionBuilder) -> None:
    if string(payload.get("type")) in SPAWNED and (thread := string(payload.get("new_thread_id"))):
        title = string(payload.get("new_agent_nickname")) or string(payload.get("new_agent_role"))
        call = string(payload.get("call_id"))
        builder.link(SessionLink(LinkKind.SUBAGENT, thread, None, call, title))


def locate(path: Path, identifier: str) -> Path | None:
    """Find a rollout by its id in the folders of another one."""
    if not UUID.fullmatch(identifier):
        return None
    for folder in dict.fromkeys((path.parent, *_folders_of(path, identifier))):
        found = glob_sorted(folder, f"rollout-*-{identifier}.jsonl*")
        if found:
            return found[0]
    return None


MOST_ROLLOUTS = 500
"""Limit on the rollouts of a folder searched for subagents."""


def subagent_files(path: Path, identifier: str) -> list[Path]:
    """Return the later rollouts in the same folder whose header names a session as their parent."""
    if not UUID.search(path.name) or not identifier:
        return []
    later = [file for file in glob_sorted(path.parent, "rollout-*.jsonl*") if file.name > path.name]
    found = []
    for file in later[:MOST_ROLLOUTS]:
        with suppress(SessionError, OSError):
            found += [file] if _parent_in(file, beginning_size(file)) == identifier else []
    return found


@lru_cache(maxsize=4 * MOST_ROLLOUTS)
def _parent_in(file: Path, size: int) -> str:  # noqa: ARG001  a key of the cache
    header = next((line.payload for line in map(unwrapped, Sample(file).records[:1]) if line.kind == META), {})
    return (parent_of(header) or string(header.get("forked_from_id"))) if is_subagent(header) else ""


def _folders_of(path: Path, identifier: str) -> Iterator[Path]:
    """Yield the folders for the time in an id: its first 48 bits, in milliseconds (RFC 9562, 5.7)."""
    root = next((folder for folder in path.parents if folder.name in ("sessions", "archived_sessions")), None)
    if root is None:
        return
    try:
        began = datetime.fromtimestamp(int(identifier.replace("-", "")[:12], 16) / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return
    for days in DAYS_AROUND:
        yield root.with_name("sessions") / (began + timedelta(days=days)).strftime("%Y/%m/%d")
    yield root.with_name("archived_sessions")


FORMATS = (CodexFormat(),)
