"""Read Claude Code sessions: one JSONL file per session, one content block per line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.session.format import Format, sessions_at
from inspector.session.formats.claude_code.related import (
    UUID,
    full_output,
    is_copy,
    locate,
    parent_file,
    subagent_files,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.format import ContainedSession, FullOutput
    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


CONVERSATION_TYPES = ("user", "assistant")

IDENTIFYING_FIELDS: dict[str, tuple[str, ...]] = {
    "agent-name": ("sessionId",),
    "ai-title": ("aiTitle",),
    "attachment": ("attachment", "sessionId"),
    "bridge-session": ("sessionId",),
    "cost-state": ("sessionId", "totalCostUSD"),
    "custom-title": ("customTitle",),
    "file-history-snapshot": ("snapshot", "messageId"),
    "frame-link": ("sessionId",),
    "last-prompt": ("sessionId",),
    "mode": ("sessionId",),
    "permission-mode": ("sessionId",),
    "pr-link": ("sessionId",),
    "progress": ("parentUuid", "sessionId"),
    "queue-operation": ("operation", "sessionId"),
    "summary": ("summary", "leafUuid"),
    "system": ("parentUuid", "sessionId"),
    "worktree-state": ("sessionId",),
}
"""Non-message record types, with the fields that distinguish them from other programs' records."""

CHAIN_FIELDS = ("parentUuid", "sessionId", "isSidechain")
"""Fields of every conversation record, including unknown types."""

PRINTED = frozenset({"rate_limit_event", "result", "stream_event", "system"})
"""Non-message types printed by `claude -p --output-format stream-json`, all with a `session_id`."""


def _is_claude_code(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if kind in CONVERSATION_TYPES:
        message = record.get("message")
        return isinstance(message, dict) and ("content" in message or "role" in message)
    if not isinstance(kind, str):
        return False
    if kind in PRINTED and isinstance(record.get("session_id"), str):
        return any(name in record for name in ("subtype", "event", "rate_limit_info"))
    if all(name in record for name in CHAIN_FIELDS):
        return True
    return kind in IDENTIFYING_FIELDS and all(name in record for name in IDENTIFYING_FIELDS[kind])


class ClaudeCodeFormat(Format):
    """Claude Code session files, including subagents."""

    name = "claude-code"
    title = "Claude Code"
    where = (
        "~/.claude/projects and ~/.config/claude/projects, or projects in $CLAUDE_CONFIG_DIR; ~/.openclaude/projects"
    )
    exact = "prompt tokens of every call; output tokens except in versions 2.1.12 to 2.1.50, which record placeholders"
    file_names = rf"(?:{UUID.pattern}|agent-[0-9A-Za-z_-]+)\.jsonl"

    def recognize(self, sample: Sample) -> str:
        found = [record for record in sample.records if _is_claude_code(record)]
        is_sure = any("sessionId" in record and "uuid" in record for record in found)
        if not found or not (is_sure or len(found) * 2 > len(sample.records)):
            return ""
        kinds = sorted({str(record["type"]) for record in found})
        return (
            f"{len(found)} of the first {len(sample.records)} records are Claude Code records ({', '.join(kinds[:4])})"
        )

    def homes(self) -> tuple[Path, ...]:
        configured = os.environ.get("CLAUDE_CONFIG_DIR")
        folders = (Path(configured),) if configured else (Path.home() / ".claude", Path.home() / ".config" / "claude")
        return tuple(folder / "projects" for folder in (*folders, Path.home() / ".openclaude"))

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.claude_code.reader import ClaudeCodeInterpreter
        from inspector.session.jsonl_reader import JsonlReader

        return JsonlReader(path, self.name, ClaudeCodeInterpreter(path))

    def is_copy(self, path: Path) -> bool:
        return is_copy(path)

    def parent_file(self, path: Path) -> Path | None:
        return parent_file(path)

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:  # noqa: ARG002  the path has the id
        return sessions_at(subagent_files(path)) if parent_file(path) is None else ()

    def locate(self, path: Path, identifier: str) -> Path | None:
        return locate(path, identifier)

    def full_output(self, path: Path, text: str) -> FullOutput | None:
        return full_output(path, text)

    def is_bookkeeping(self, count_name: str) -> bool:
        from inspector.session.formats.claude_code.attachments import NOTICES, OUTSIDE_CONVERSATION
        from inspector.session.formats.claude_code.records import QUIET, QUIET_SYSTEM, REPEATED

        if count_name.startswith("attachment:"):
            return count_name.partition(":")[2] in OUTSIDE_CONVERSATION - NOTICES
        return count_name in QUIET or count_name == REPEATED or count_name.partition("system:")[2] in QUIET_SYSTEM

    def knows_record(self, count_name: str) -> bool:
        from inspector.session.formats.claude_code.attachments import OUTSIDE_CONVERSATION, SENT, TEMPLATES
        from inspector.session.formats.claude_code.records import INTERPRETED, INTERPRETED_SYSTEM

        kind, _, inner = count_name.partition(":")
        if kind == "attachment" and inner:
            return inner in OUTSIDE_CONVERSATION or inner in SENT or inner in TEMPLATES
        if kind == "system" and inner in INTERPRETED_SYSTEM:
            return True
        return count_name in INTERPRETED or self.is_bookkeeping(count_name)


FORMATS = (ClaudeCodeFormat(),)
