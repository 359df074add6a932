"""Which rows continue which: sessions that a compression handed on, and compactions inside one session.

A compression ends a session and begins another one, whose first rows are copies of what was kept with the summary among
them. Newer versions also compact in place: the old rows are archived and the kept ones are written again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.json.codec import lenient_json
from inspector.session.json.values import mapping, string

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.formats.hermes.blocks import HermesMessage

Row = dict[str, Any]

HANDOFF_SECONDS = 1.0
"""What is handed on is written at once; an answer of the model comes later."""

FORKS = ("_branched_from", "_delegate_from", "_reset_from")
"""Marks of sessions that begin from another one without continuing it, in `model_config`."""


def chain_of(sessions: Mapping[str, Row], identifier: str) -> list[Row]:
    """The sessions that make up one conversation, in order."""
    followers = _followers(sessions)
    first = identifier
    seen = {first}
    while (parent := string(sessions[first].get("parent_session_id"))) in sessions and parent not in seen:
        if _next(sessions[parent], followers) is not sessions[first]:
            break
        first = parent
        seen.add(first)
    chain = [sessions[first]]
    seen = {first}
    while (following := _next(chain[-1], followers)) is not None and string(following["id"]) not in seen:
        seen.add(string(following["id"]))
        chain.append(following)
    return chain


def heads(sessions: Mapping[str, Row]) -> list[Row]:
    """The sessions that continue no other one."""
    followers = _followers(sessions)
    continuing = {string(following["id"]) for row in sessions.values() if (following := _next(row, followers))}
    return [row for identifier, row in sessions.items() if identifier not in continuing]


def subagent_parent(sessions: Mapping[str, Row], row: Row) -> str:
    """The session that a session was started by as a subagent; empty for one that a person began."""
    parent = string(row.get("parent_session_id"))
    marks = _marks(row)
    is_branch = any(mark in marks for mark in ("_branched_from", "_reset_from"))
    ended = string(sessions.get(parent, {}).get("end_reason"))
    return "" if is_branch or ended in ("branched", "compression", "session_reset", "session_switch") else parent


def generations(entries: Sequence[HermesMessage]) -> list[list[HermesMessage]]:
    """The rows of one session, split where a compaction in place begins the conversation anew."""
    found: list[list[HermesMessage]] = []
    start = 0
    for index, entry in enumerate(entries):
        if not entry.is_summary or index == start:
            continue
        begin = index - _repeated(entries, start, index)
        if begin > start and not any(row.is_active for row in entries[start:begin]):
            found.append(list(entries[start:begin]))
            start = begin
    found.append(list(entries[start:]))
    return found


def handed_on(entries: Sequence[HermesMessage], time: float | None) -> int:
    """How many of a generation's first rows were written when it began."""
    if time is None:
        time = next((entry.time for entry in entries if entry.is_summary), None)
    if time is None:
        return 0
    for count, entry in enumerate(entries):
        if entry.time is None or entry.time > time + HANDOFF_SECONDS:
            return count
    return len(entries)


def _repeated(entries: Sequence[HermesMessage], start: int, end: int) -> int:
    """How many rows before `end` repeat those from `start` on."""
    for count in range((end - start) // 2, 0, -1):
        if all(entries[start + place].key == entries[end - count + place].key for place in range(count)):
            return count
    return 0


def _followers(sessions: Mapping[str, Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in sessions.values():
        found.setdefault(string(row.get("parent_session_id")), []).append(row)
    return found


def _next(row: Row, followers: Mapping[str, list[Row]]) -> Row | None:
    """The session that continues one, the newest where there are several."""
    mine = [child for child in followers.get(string(row.get("id")), ()) if _is_continued(row, child)]
    return max(mine, key=lambda child: (_number(child.get("started_at")), string(child.get("id"))), default=None)


def _is_continued(parent: Row, child: Row) -> bool:
    if string(parent.get("end_reason")) != "compression" or string(child.get("source")) == "tool":
        return False
    # Continuations inherit their parent's marks; only one that names the parent itself is of the child's own.
    marks = _marks(child)
    return not any(marks.get(mark) == parent.get("id") for mark in FORKS)


def _marks(row: Row) -> Mapping[str, Any]:
    text = row.get("model_config")
    return mapping(lenient_json(text.encode(errors="replace"))[0]) if isinstance(text, str) and "_from" in text else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
