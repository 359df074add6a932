"""Find related rollouts: subagents, their parents, and forks.

A subagent has its own rollout with a header that names its parent; the parent's events name the threads it spawned.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from inspector.session.errors import SessionError
from inspector.session.files import glob_sorted
from inspector.session.formats.codex.records import META, unwrapped
from inspector.session.json.values import mapping, string
from inspector.session.model import LinkKind, SessionLink
from inspector.session.sniff import Sample, beginning_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from inspector.session.builder import SessionBuilder


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
    """Link the parent or origin named in a rollout's own header."""
    parent, origin = parent_of(header), string(header.get("forked_from_id"))
    if parent or (origin and is_subagent(header)):
        title = string(header.get("agent_nickname")) or string(header.get("agent_role"))
        builder.link(SessionLink(LinkKind.PARENT, parent or origin))
        builder.title = builder.title or title
    elif origin:
        builder.link(SessionLink(LinkKind.CONTINUED, origin))


def note_event(payload: Mapping[str, Any], builder: SessionBuilder) -> None:
    """Link the subagent that an event reports as spawned."""
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
    """Return the parent named in a rollout's header; empty for none."""
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
