"""Read pi and its forks (Oh My Pi, OpenClaw): one JSONL file per session with a tree of entries.

The format is described in `packages/coding-agent/docs/session.md` of badlogic/pi-mono and `docs/session.md` of
can1357/oh-my-pi.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.session.files import exists
from inspector.session.format import Format, can_name_file, home_of
from inspector.session.formats.pi.records import QUIET
from inspector.session.json.values import mapping, string

if TYPE_CHECKING:
    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


ROLES = frozenset(
    {"assistant", "bashExecution", "custom", "developer", "fileMention", "hookMessage", "pythonExecution"}
    | {"toolResult", "user"}
)

ENTRIES = frozenset(
    {"branch_summary", "compaction", "custom", "custom_message", "label", "model_change", "session_info"}
    | {"thinking_level_change"}
)
"""Non-message entry types shared by pi and its forks."""


def _is_header(record: dict[str, Any]) -> bool:
    return record.get("type") == "session" and isinstance(record.get("id"), str) and "timestamp" in record


def _is_entry(record: dict[str, Any]) -> bool:
    kind = string(record.get("type"))
    if kind == "message":
        return string(mapping(record.get("message")).get("role")) in ROLES and "uuid" not in record
    return kind in ENTRIES and "timestamp" in record


class PiFormat(Format):
    """Session files of pi and its forks."""

    name = "pi"
    title = "pi, Oh My Pi, OpenClaw"
    where = (
        "~/.pi/agent/sessions, or sessions in $PI_CODING_AGENT_DIR; ~/.omp/agent/sessions; ~/.openclaw/agents, or"
        " agents in $OPENCLAW_STATE_DIR; ~/.prime/agent/sessions"
    )
    exact = "prompt and output tokens of every call"
    file_names = r"\d{4}-\d\d-\d\dT[\d-]+Z?_[0-9a-f-]+\.jsonl"

    def recognize(self, sample: Sample) -> str:
        if not sample.is_lines:
            return ""
        headers = [record for record in sample.records if _is_header(record)]
        entries = [record for record in sample.records if _is_entry(record)]
        if not headers and len(entries) * 2 <= len(sample.records):
            return ""
        titles = [record for record in sample.records if record.get("type") == "title" and "title" in record]
        if not entries and (len(headers) + len(titles)) * 2 <= len(sample.records):
            return ""
        header = "a session header and " if headers else ""
        return f"{header}{len(entries)} of the first {len(sample.records)} records are pi entries"

    def homes(self) -> tuple[Path, ...]:
        return (
            home_of("PI_CODING_AGENT_DIR", ".pi", "agent") / "sessions",
            Path.home() / ".omp" / "agent" / "sessions",
            home_of("OPENCLAW_STATE_DIR", ".openclaw") / "agents",
            Path.home() / ".prime" / "agent" / "sessions",
        )

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.pi.reader import PiInterpreter
        from inspector.session.jsonl_reader import JsonlReader

        return JsonlReader(path, self.name, PiInterpreter())

    def locate(self, path: Path, identifier: str) -> Path | None:
        sibling = path.with_name(identifier) if can_name_file(identifier) else None
        return sibling if sibling is not None and exists(sibling) else None

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name in QUIET

    def knows_record(self, count_name: str) -> bool:
        kind, _, role = count_name.partition(":")
        if kind == "message":
            return role in ROLES or role == "system"
        return kind in ENTRIES or kind in ("reset_boundary", "session_init") or self.is_bookkeeping(count_name)


FORMATS = (PiFormat(),)
