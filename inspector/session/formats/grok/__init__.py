"""Grok Build: a folder a session, with the messages as they are sent and, beside them, what happened.

Checked against xai-org/grok-build: `xai-grok-sampling-types/src/conversation.rs` (the rows of `chat_history.jsonl`),
`xai-grok-shell/src/extensions/notification.rs` (the updates and their usage), `session/storage/mod.rs` (their
envelope), `xai-chat-state/src/compaction_utils.rs` (what a compaction leaves); of the log of all sessions in `log.py`.
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
"""Of the rows of the form before, which only their file's name tells from those of others."""

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


def _tells(record: dict[str, Any]) -> bool:
    """Whether a row cannot be another program's."""
    return any(name in record for name in ("model_id", "synthetic_reason", "prompt_index")) or "kind" in record


def _is_update(record: dict[str, Any]) -> bool:
    update = mapping(mapping(record.get("params")).get("update"))
    return string(record.get("method")) in METHODS and isinstance(update.get("sessionUpdate"), str)


class GrokFormat(Format):
    """Grok Build's session folders."""

    name = "grok-build"
    title = "Grok Build"
    where = "~/.grok/sessions, or sessions in $GROK_HOME"
    exact = "tokens of every call whose response is told beside the messages, or in logs/unified.jsonl"
    session_folders = (frozenset({HISTORY, SUMMARY}), frozenset({HISTORY, UPDATES}))

    def recognise(self, sample: Sample) -> str:
        if sample.is_directory:
            return self._recognise_folder(sample.path)
        is_named = sample.path.name == HISTORY
        found = [record for record in sample.records if _is_row(record) or (is_named and _is_old_row(record))]
        if any(map(_tells, found)) and len(found) * 2 > len(sample.records):
            return f"{len(found)} of its first {len(sample.records)} lines are Grok Build's messages"
        updates = sum(map(_is_update, sample.records))
        if updates * 2 > len(sample.records) and is_file(sample.path.with_name(HISTORY)):
            return f"{updates} of its first {len(sample.records)} lines are updates of the session in {HISTORY}"
        return ""

    def _recognise_folder(self, folder: Path) -> str:
        try:
            reason = self.recognise(Sample(folder / HISTORY)) if is_file(folder / HISTORY) else ""
        except (SessionError, OSError):
            return ""
        return f"in its {HISTORY}, {reason}" if reason else ""

    def homes(self) -> tuple[Path, ...]:
        return (home_of("GROK_HOME", ".grok") / "sessions",)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.grok.reader import GrokReader

        if is_folder(path):
            return GrokReader(path / HISTORY, path, self.name)
        is_beside = path.name == UPDATES and is_file(path.with_name(HISTORY))
        return GrokReader(path.with_name(HISTORY) if is_beside else path, path, self.name)

    def is_sidecar(self, path: Path) -> bool:
        """Whether a file of the folder only says more of the messages in it."""
        return path.suffix in (".json", ".jsonl") and path.name != HISTORY and is_file(path.with_name(HISTORY))

    def locate(self, path: Path, identifier: str) -> Path | None:
        """The session that one was forked from: of the same workspace, its folder is beside it."""
        folder = path if is_folder(path) else path.parent
        beside = folder.with_name(identifier) if can_name_file(identifier) else None
        return beside if beside is not None and is_file(beside / HISTORY) else None


FORMATS = (GrokFormat(),)
