"""Which rollouts belong together: subagents, what started them, and forks.

A subagent is a rollout of its own whose header names its parent; the parent's events name the threads it spawned.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from inspector.session.links import LinkKind, SessionLink
from inspector.session.values import mapping, string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from inspector.session.assembly import Assembly

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

SPAWNED = frozenset({"collab_agent_spawn_end", "sub_agent_spawn_end"})

DAYS_AROUND = (0, -1, 1)
"""Folders are of local days, ids of universal time."""


def parent_of(header: Mapping[str, Any]) -> str:
    """The thread that started this one as a subagent; empty for one that a person began, or forked."""
    source = mapping(mapping(header.get("source")).get("subagent"))
    spawned = mapping(source.get("thread_spawn"))
    return string(spawned.get("parent_thread_id")) or string(header.get("parent_thread_id"))


def is_subagent(header: Mapping[str, Any]) -> bool:
    """Whether a rollout is a subagent's, also where it does not say whose."""
    return "subagent" in mapping(header.get("source")) or bool(parent_of(header))


def note_header(header: Mapping[str, Any], assembly: Assembly) -> None:
    """Take from a rollout's own header what started it, or what it goes on from."""
    parent, origin = parent_of(header), string(header.get("forked_from_id"))
    if parent or (origin and is_subagent(header)):
        title = string(header.get("agent_nickname")) or string(header.get("agent_role"))
        assembly.link(SessionLink(LinkKind.PARENT, parent or origin))
        assembly.title = assembly.title or title
    elif origin:
        assembly.link(SessionLink(LinkKind.CONTINUED, origin))


def note_event(payload: Mapping[str, Any], assembly: Assembly) -> None:
    """Take from an event which subagent a call started."""
    if string(payload.get("type")) in SPAWNED and (thread := string(payload.get("new_thread_id"))):
        title = string(payload.get("new_agent_nickname")) or string(payload.get("new_agent_role"))
        call = string(payload.get("call_id"))
        assembly.link(SessionLink(LinkKind.SUBAGENT, thread, None, call, title))


def locate(path: Path, identifier: str) -> Path | None:
    """The rollout with an id, among those that are kept with another one.

    Args:
        path: A rollout.
        identifier: The id of the one looked for.
    """
    if not UUID.fullmatch(identifier):
        return None
    for folder in dict.fromkeys((path.parent, *_folders_of(path, identifier))):
        found = sorted(folder.glob(f"rollout-*-{identifier}.jsonl*"))
        if found:
            return found[0]
    return None


def _folders_of(path: Path, identifier: str) -> Iterator[Path]:
    """Where a rollout is kept by the time in its id: the first 48 bits of it, in milliseconds (RFC 9562, 5.7)."""
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
