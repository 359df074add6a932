"""Find related sessions: subagents, the calls that started them, and continued sessions.

A subagent has its own file, `<session>/subagents/agent-<id>.jsonl` or, before version 2.1, `agent-<id>.jsonl` next to
the session. The call's result names the agent. While it runs, some versions name it in progress records; others record
only its prompt.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError
from inspector.session.files import exists, glob_sorted, open_for_reading
from inspector.session.format import FullOutput
from inspector.session.json.codec import lenient_json
from inspector.session.json.values import mapping, objects, string

if TYPE_CHECKING:
    from pathlib import Path


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
