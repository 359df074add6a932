"""Which sessions belong together: subagents, the calls that started them, and sessions that go on from others.

A subagent's conversation stands in a file of its own, `<session>/subagents/agent-<id>.jsonl` or, in versions before
2.1, `agent-<id>.jsonl` beside the session. The result of the call names the agent; while it runs, records of its
progress do in some versions, and otherwise only the prompt it was started with.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError
from inspector.session.files import exists, open_for_reading
from inspector.session.format import FullOutput
from inspector.session.json.codec import lenient_json
from inspector.session.json.values import mapping, objects, string

if TYPE_CHECKING:
    from pathlib import Path


SUBAGENTS = "subagents"

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

COPIES = ("agent-acompact-", "agent-aside_question-", "agent-aprompt_suggestion-")
"""Beginnings of names of runs whose file is a copy of the parent's history, with a question behind it."""


def is_copy(path: Path) -> bool:
    """Whether a file is the run of a summary or a side question: a copy of its parent, counted there."""
    return path.name.startswith(COPIES)


def parent_file(path: Path) -> Path | None:
    """The session in whose folder of subagents a file lies; None where it lies in none."""
    for folder in path.parents:
        if folder.name == SUBAGENTS:
            session = folder.parent
            return session.with_name(f"{session.name}.jsonl")
    return None


RUNNING = "started with "
"""How the identifier begins of a subagent whose own is not known yet."""


def running_identifier(prompt: str) -> str:
    """What a subagent is called whose id is not known: something that tells its prompt from others."""
    from hashlib import blake2b  # brings OpenSSL with it, which finding out what a file is need not wait for

    return RUNNING + blake2b(prompt.strip().encode(errors="replace"), digest_size=16).hexdigest()


MOST_BYTES_TO_PROMPT = 1 << 20
"""A first prompt stands within so much of a file."""

MOST_FILES = 200
"""Of the files of subagents, the newest are looked into."""


def locate(path: Path, identifier: str) -> Path | None:
    """The newest file of a subagent that began with a prompt.

    Args:
        path: The session that started it.
        identifier: What `running_identifier` says of the prompt.
    """
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
    """What a subagent was asked first; empty where that cannot be read."""
    try:
        with open_for_reading(file) as opened:
            data = opened.read(MOST_BYTES_TO_PROMPT)
    except (SessionError, OSError):
        return ""
    for line in data.splitlines():
        record = mapping(lenient_json(line)[0])
        if record.get("type") == "user":
            content = mapping(record.get("message")).get("content")
            return string(content) or "\n".join(string(part.get("text")) for part in objects(content))
    return ""


FOLDER = "tool-results"

PREVIEW = re.compile(r"<persisted-output>\s.{0,200}?Full output saved to:\s*(?P<path>[^\n]+)", re.DOTALL)

MOST_BYTES_STORED = 1 << 26
"""More of a file is not shown."""


def full_output(path: Path, text: str) -> FullOutput | None:
    """The whole of a result whose preview a session holds; None for any other result.

    Of the path in the preview, only the names of the file and of its session are used: it is looked for where results
    of sessions beside this one are kept.

    Args:
        path: The session.
        text: The result, as the model was sent it.
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
        # A session that was renamed, or an early subagent's beside it: the folder keeps the session's own id.
        kept = session.with_name(folder) / FOLDER / name
        file = kept if exists(kept) else file
    try:
        with open_for_reading(file) as opened:
            data = opened.read(MOST_BYTES_STORED)
    except (SessionError, OSError):
        return FullOutput(file, None)
    return FullOutput(file, _stored_text(data) if name.endswith(".json") else data.decode(errors="replace"))


def _stored_text(data: bytes) -> str:
    """The texts of a result kept as JSON: of its parts, one after the other; as it stands where it has none."""
    value, _ = lenient_json(data)
    parts = value if isinstance(value, list) else [value]
    texts = [part if isinstance(part, str) else string(mapping(part).get("text")) for part in parts]
    return "\n".join(text for text in texts if text) or data.decode(errors="replace")
