"""Read Claude Code sessions: one JSONL file per session, one content block per line.

A subagent has its own file, `<session>/subagents/agent-<id>.jsonl` or, before version 2.1, `agent-<id>.jsonl` next to
the session. The call's result names the agent. While it runs, some versions name it in progress records; others record
only its prompt.

Claude Code runs summaries, side questions and prompt suggestions separately. Their files are in the subagent folder and
begin with a copy of the conversation. The part after the copy is billed but not recorded in the session's own file.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.errors import SessionError
from inspector.session.files import FileState, exists, glob_sorted, open_for_reading
from inspector.session.format import ContainedSession, Format, FullOutput, sessions_at
from inspector.session.json import lenient_json, mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.session.builder import SessionBuilder
    from inspector.session.model import Session
    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


SUBAGENTS = "subagents"

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

COPIES = ("agent-acompact-", "agent-aside_question-", "agent-aprompt_suggestion-")
"""Name prefixes of run files that contain a copy of the parent's history and one new question."""


def is_copy(path: Path) -> bool:
    """Return True for a summary or side question run, which is counted in its parent session."""
    return path.name.startswith(COPIES)


def parent_file(path: Path) -> Path | None:
    """Return the session that owns the subagent folder of a file; None if it is not in one."""
    for folder in path.parents:
        if folder.name == SUBAGENTS:
            session = folder.parent
            return session.with_name(f"{session.name}.jsonl")
    return None


def subagent_files(path: Path) -> list[Path]:
    """Return the files in a session's subagent folder, without copies of the conversation."""
    folder = path.with_suffix("") / SUBAGENTS
    return [file for file in glob_sorted(folder, "**/agent-*.jsonl") if not is_copy(file)]


RUNNING = "started with "
"""Prefix of placeholder identifiers for subagents without a recorded id."""


def running_identifier(prompt: str) -> str:
    from hashlib import blake2b  # loads OpenSSL, which format detection does not need

    return RUNNING + blake2b(prompt.strip().encode(errors="replace"), digest_size=16).hexdigest()


MOST_BYTES_TO_PROMPT = 1 << 20
"""Size limit for finding the first prompt."""

MOST_FILES = 200
"""Limit on the subagent files searched, newest first."""


def locate(path: Path, identifier: str) -> Path | None:
    """Find the newest subagent file with the prompt behind a placeholder from `running_identifier`."""
    if not identifier.startswith(RUNNING):
        return None
    folder = (parent_file(path) or path).with_suffix("") / SUBAGENTS
    try:
        files = [(file.stat().st_mtime, file) for file in folder.glob("agent-*.jsonl") if not is_copy(file)]
    except OSError:
        return None
    newest = (file for _, file in sorted(files, reverse=True)[:MOST_FILES])
    return next((file for file in newest if file != path and running_identifier(_prompt_of(file)) == identifier), None)


def _prompt_of(file: Path) -> str:
    """Return a subagent's first prompt; empty if it cannot be read."""
    try:
        with open_for_reading(file) as opened:
            data = opened.read(MOST_BYTES_TO_PROMPT)
    except (SessionError, OSError):
        return ""
    fork_point = ""
    for line in data.splitlines():
        record = mapping(lenient_json(line)[0])
        # A forked subagent begins with its parent's conversation.
        is_copied, fork_point = bool(fork_point), string(record.get("parentLastUuid")) or fork_point
        fork_point = "" if record.get("uuid") == fork_point else fork_point
        if record.get("type") == "user" and not is_copied:
            content = mapping(record.get("message")).get("content")
            return string(content) or "\n".join(string(part.get("text")) for part in objects(content))
    return ""


FOLDER = "tool-results"

PREVIEW = re.compile(r"<persisted-output>\s.{0,200}?Full output saved to:\s*(?P<path>[^\n]+)", re.DOTALL)

MOST_BYTES_STORED = 1 << 26
"""Size limit for displayed output."""


def full_output(path: Path, text: str) -> FullOutput | None:
    """Return the full output behind a stored preview; None if the text is not a preview.

    Only the file and session names are taken from the preview's path; the file is looked up in the result folders next
    to this session.
    """
    found = PREVIEW.match(text.lstrip())
    if found is None:
        return None
    names = found["path"].strip().replace("\\", "/").split("/")
    folder, name = (names[-3] if len(names) > 2 else ""), names[-1]
    if not name or "\x00" in found["path"]:
        return None
    session = parent_file(path) or path
    file = session.with_suffix("") / FOLDER / name
    if folder not in ("", ".", "..") and not exists(file):
        # A renamed session, or an early subagent next to its session: the folder keeps the original session id.
        kept = session.with_name(folder) / FOLDER / name
        file = kept if exists(kept) else file
    try:
        with open_for_reading(file) as opened:
            data = opened.read(MOST_BYTES_STORED)
    except (SessionError, OSError):
        return FullOutput(file, None)
    return FullOutput(file, _stored_text(data) if name.endswith(".json") else data.decode(errors="replace"))


def _stored_text(data: bytes) -> str:
    """Return the texts of a JSON result, or the raw text if it has none."""
    value, _ = lenient_json(data)
    parts = value if isinstance(value, list) else [value]
    texts = [part if isinstance(part, str) else string(mapping(part).get("text")) for part in parts]
    return "\n".join(text for text in texts if text) or data.decode(errors="replace")


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
        from inspector.session.formats.claude_code.records import (
            NOTICES,
            OUTSIDE_CONVERSATION,
            QUIET,
            QUIET_SYSTEM,
            REPEATED,
        )

        if count_name.startswith("attachment:"):
            return count_name.partition(":")[2] in OUTSIDE_CONVERSATION - NOTICES
        return count_name in QUIET or count_name == REPEATED or count_name.partition("system:")[2] in QUIET_SYSTEM

    def knows_record(self, count_name: str) -> bool:
        from inspector.session.formats.claude_code.records import (
            INTERPRETED,
            INTERPRETED_SYSTEM,
            OUTSIDE_CONVERSATION,
            SENT,
            TEMPLATES,
        )

        kind, _, inner = count_name.partition(":")
        if kind == "attachment" and inner:
            return inner in OUTSIDE_CONVERSATION or inner in SENT or inner in TEMPLATES
        if kind == "system" and inner in INTERPRETED_SYSTEM:
            return True
        return count_name in INTERPRETED or self.is_bookkeeping(count_name)


PURPOSES = dict(zip(COPIES, ("compaction", "side question", "prompt suggestion"), strict=True))


class SideRuns:
    """The side runs in a session's subagent folder; each file is read again only if it changed."""

    def __init__(self, path: Path, read: Callable[[Path], Session]) -> None:
        """Initialize; `read` reads a run's file and marks copied messages as inherited."""
        self._folder = path.with_suffix("") / SUBAGENTS if parent_file(path) is None else None
        self._read = read
        self._known: dict[str, FileState] = {}

    def note(self, builder: SessionBuilder) -> None:
        if self._folder is None:
            return
        builder.side_files[self._folder] = None
        try:
            with os.scandir(self._folder) as entries:
                names = sorted(entry.name for entry in entries if entry.name.startswith(COPIES))
        except OSError:
            return
        for name in names:
            state = FileState.at(self._folder / name)
            if state is not None and state != self._known.get(name) and name.endswith(".jsonl"):
                self._known[name] = state.settled()
                builder.side_files[self._folder / name] = None
                self._take(name, builder)

    def _take(self, name: str, builder: SessionBuilder) -> None:
        if self._folder is None:
            return
        try:
            run = self._read(self._folder / name)
        except SessionError:
            return
        from inspector.session.model import SideCall

        purpose = next(purpose for start, purpose in PURPOSES.items() if name.startswith(start))
        for call in run.calls:
            if not run.messages[call.response].is_inherited:
                made = SideCall(purpose, call.model, call.time, call.usage, call.identifier, call.terms)
                builder.side_calls[f"{name} {call.identifier or call.response}"] = made


FORMATS = (ClaudeCodeFormat(),)
