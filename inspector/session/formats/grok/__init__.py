"""Read Grok Build: a folder per session, with the messages as sent and separate event files.

Checked against xai-org/grok-build: `xai-grok-sampling-types/src/conversation.rs` (rows of `chat_history.jsonl`),
`xai-grok-shell/src/extensions/notification.rs` (updates and their usage), `session/storage/mod.rs` (their envelope),
`xai-chat-state/src/compaction_utils.rs` (the context after a compaction). See `log.py` for the log of all sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.errors import SessionError
from inspector.session.files import is_file, is_folder
from inspector.session.format import Format, can_name_file, home_of
from inspector.session.json.values import mapping, string
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.reader import Reader

HISTORY, UPDATES, SUMMARY = "chat_history.jsonl", "updates.jsonl", "summary.json"

ROLES = frozenset({"assistant", "system", "tool", "user"})
"""Roles of rows in the older form, which only the file name distinguishes from other programs' rows."""

TYPES = frozenset({"assistant", "backend_tool_call", "reasoning", "system", "tool_result", "user"})

METHODS = frozenset({"session/update", "_x.ai/session/update"})


def _is_row(record: dict[str, Any]) -> bool:
    kind = string(record.get("type"))
    if kind not in TYPES:
        return False
    if kind == "reasoning":
        return "summary" in record
    if kind == "backend_tool_call":
        return isinstance(record.get("kind"), dict)
    return "content" in record and "message" not in record and "uuid" not in record


def _is_old_row(record: dict[str, Any]) -> bool:
    return string(record.get("role")) in ROLES and "content" in record and "type" not in record


def _is_grok_row(record: dict[str, Any]) -> bool:
    """Return True for a row specific to Grok Build."""
    return any(name in record for name in ("model_id", "synthetic_reason", "prompt_index")) or "kind" in record


def _is_update(record: dict[str, Any]) -> bool:
    update = mapping(mapping(record.get("params")).get("update"))
    return string(record.get("method")) in METHODS and isinstance(update.get("sessionUpdate"), str)


class GrokFormat(Format):
    """Grok Build session folders."""

    name = "grok-build"
    title = "Grok Build"
    where = "~/.grok/sessions, or sessions in $GROK_HOME"
    exact = "tokens of every call reported in updates.jsonl or logs/unified.jsonl"
    session_folders = (frozenset({HISTORY, SUMMARY}), frozenset({HISTORY, UPDATES}))

    def knows_record(self, count_name: str) -> bool:
        return count_name in TYPES

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return self._recognize_folder(sample.path)
        is_named = sample.path.name == HISTORY
        found = [record for record in sample.records if _is_row(record) or (is_named and _is_old_row(record))]
        if any(map(_is_grok_row, found)) and len(found) * 2 > len(sample.records):
            return f"{len(found)} of the first {len(sample.records)} lines are Grok Build messages"
        updates = sum(map(_is_update, sample.records))
        if updates * 2 > len(sample.records) and is_file(sample.path.with_name(HISTORY)):
            return f"{updates} of the first {len(sample.records)} lines are updates of the session in {HISTORY}"
        return ""

    def _recognize_folder(self, folder: Path) -> str:
        try:
            reason = self.recognize(Sample(folder / HISTORY)) if is_file(folder / HISTORY) else ""
        except (SessionError, OSError):
            return ""
        return f"in its {HISTORY}, {reason}" if reason else ""

    def homes(self) -> tuple[Path, ...]:
        return (home_of("GROK_HOME", ".grok") / "sessions",)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.grok.reader import GrokReader

        if is_folder(path):
            return GrokReader(path / HISTORY, path, self.name)
        has_history = path.name == UPDATES and is_file(path.with_name(HISTORY))
        return GrokReader(path.with_name(HISTORY) if has_history else path, path, self.name)

    def is_sidecar(self, path: Path) -> bool:
        """Return True for a file that only describes the messages in its folder."""
        return path.suffix in (".json", ".jsonl") and path.name != HISTORY and is_file(path.with_name(HISTORY))

    def locate(self, path: Path, identifier: str) -> Path | None:
        """Find the session that this one was forked from, in a sibling folder of the same workspace."""
        folder = path if is_folder(path) else path.parent
        sibling = folder.with_name(identifier) if can_name_file(identifier) else None
        return sibling if sibling is not None and is_file(sibling / HISTORY) else None


FORMATS = (GrokFormat(),)
