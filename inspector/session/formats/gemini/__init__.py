"""Read Gemini CLI: one JSONL log per session with records that replace earlier ones; older versions wrote JSON.

The format is defined by `packages/core/src/services/chatRecordingService.ts` in google-gemini/gemini-cli.
"""

from __future__ import annotations

import glob
from typing import TYPE_CHECKING, Any

from inspector.session.files import glob_sorted, is_file
from inspector.session.format import Format, can_name_file, home_of, sessions_at
from inspector.session.formats.gemini.records import CHATS, KINDS, MESSAGES
from inspector.session.json.values import objects, string

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.format import ContainedSession
    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


LETTERS_OF_PARENT = 8
"""Length of the session id prefix in file names."""


def _is_session(value: dict[str, Any]) -> bool:
    messages = value.get(MESSAGES)
    if not isinstance(messages, list) or not _is_metadata(value):
        return False
    return not messages or any(_is_record(message) for message in objects(messages[:20]))


def _is_metadata(value: dict[str, Any]) -> bool:
    is_own = isinstance(value.get("projectHash"), str) or ("startTime" in value and "lastUpdated" in value)
    return isinstance(value.get("sessionId"), str) and is_own and "uuid" not in value


def _is_like_a_record(value: dict[str, Any]) -> bool:
    return string(value.get("type")) in KINDS and "content" in value


def _is_record(value: dict[str, Any]) -> bool:
    return (
        string(value.get("type")) in KINDS
        and isinstance(value.get("id"), str)
        and "content" in value
        and "timestamp" in value
        and "parentId" not in value
    )


class GeminiFormat(Format):
    """Gemini CLI logs and documents."""

    name = "gemini-cli"
    title = "Gemini CLI"
    where = "~/.gemini/tmp, or .gemini/tmp in $GEMINI_CLI_HOME"
    exact = "prompt and output tokens of every call"
    file_names = r"session-.+-[0-9a-f]{8}\.jsonl?"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if not sample.is_lines:
            document = sample.document
            if isinstance(document, dict) and _is_session(document):
                return f"a JSON document with {len(document[MESSAGES])} Gemini CLI messages"
            return ""
        if any(_is_session(record) for record in sample.records):
            return "a line with a whole Gemini CLI session"
        sure = [
            record for record in sample.records if _is_metadata(record) or "$rewindTo" in record or "$set" in record
        ]
        # If any line names the session, records without an id count too.
        is_known = any(map(_is_metadata, sure))
        found = [record for record in sample.records if _is_record(record) or (is_known and _is_like_a_record(record))]
        if len(found) + len(sure) == 0 or (len(found) + len(sure)) * 2 <= len(sample.records):
            return ""
        return f"{len(found) + len(sure)} of the first {len(sample.records)} lines are Gemini CLI records"

    def homes(self) -> tuple[Path, ...]:
        return (home_of("GEMINI_CLI_HOME") / ".gemini" / "tmp",)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.gemini.reader import gemini_reader

        return gemini_reader(path)

    def is_sidecar(self, path: Path) -> bool:
        """Return True for a document converted to a log when its session was resumed; the log contains all of it."""
        is_old = path.suffix == ".json" and CHATS in (path.parent.name, path.parent.parent.name)
        return is_old and is_file(path.with_suffix(".jsonl"))

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:
        """Return the logs in the folder named after a session."""
        if path.parent.name != CHATS or not can_name_file(identifier):
            return ()
        found = glob_sorted(path.parent / identifier, "*.json*")
        return sessions_at(file for file in found if not self.is_sidecar(file))

    def locate(self, path: Path, identifier: str) -> Path | None:
        """Find a subagent of the session at `path`, with its log in `chats/<parent>/`, or its parent."""
        if not can_name_file(identifier):
            return None
        name = glob.escape(identifier)
        if path.parent.parent.name == CHATS and identifier == path.parent.name:
            found = glob_sorted(path.parent.parent, f"session-*-{glob.escape(identifier[:LETTERS_OF_PARENT])}.json*")
        else:
            found = glob_sorted(path.parent, f"*/{name}.json*" if path.parent.name == CHATS else f"{name}.json*")
        # A migrated session exists in both forms; the JSONL log is newer.
        return max(found, key=lambda file: file.suffix, default=None)

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name in ("$rewindTo", "$set", "metadata")

    def knows_record(self, count_name: str) -> bool:
        return count_name in KINDS or self.is_bookkeeping(count_name)


FORMATS = (GeminiFormat(),)
