"""Read Cline, Roo Code and Kilo Code: task folders with two JSON documents, or the documents of Cline's SDK.

In VS Code, a task folder holds `api_conversation_history.json` (the messages sent) and `ui_messages.json` (the messages
displayed, with usage). The SDK and the command line write `<id>.messages.json` and `<id>.json`.
"""

from __future__ import annotations

import os
import re
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.session.errors import SessionError
from inspector.session.files import is_file, is_folder
from inspector.session.format import Format, editor_folders
from inspector.session.formats.cline.records import EDITS, HISTORY, METADATA, SDK_SUFFIX, history_of
from inspector.session.json.values import objects, string
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from inspector.session.reader import Reader


OWN_FIELDS = frozenset({"modelInfo", "metrics", "condenseParent", "condenseId", "truncationParent", "isSummary"})
"""Message fields specific to these programs."""

OWN_TEXT = re.compile(r"<environment_details>|\A<task>\n|\A\[[\w.-]+(?: for '[^\n]*')?\] Result:")
"""Matches text that these programs add to user messages."""

ABOUT = frozenset({"session_id", "started_at", "status", "messages_path"})
"""Fields of the metadata document of an SDK session."""

EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline", "kilocode.kilo-code")


def _recognize_history(document: Any) -> str:
    if isinstance(document, dict) and isinstance(document.get("messages"), list):
        has_own = "sessionId" in document and ("agent" in document or "updated_at" in document)
        return f"a JSON document with {len(document['messages'])} Cline messages" if has_own else ""
    messages = objects(document)
    if not messages or len(messages) * 2 <= len(document):
        return ""
    asked = sum(message.get("role") == "user" for message in messages)
    found = sum(_has_own_text(message) for message in messages)
    if any(OWN_FIELDS & message.keys() and "role" in message for message in messages) or found * 3 > asked:
        return f"a JSON list of {len(messages)} messages with content specific to Cline or Roo Code"
    return ""


def _recognize_sidecar(path: Path, words: str = "in its ") -> str:
    """Recognize a neighboring file by its messages only: documents that refer to each other would recurse forever."""
    try:
        reason = _recognize_history(Sample(path).only_value) if is_file(path) else ""
    except (SessionError, OSError):
        return ""
    return f"{words}{path.name}, {reason}" if reason else ""


def _has_own_text(message: dict[str, Any]) -> bool:
    if message.get("role") != "user" or "content" not in message:
        return False
    texts = [string(part.get("text")) for part in objects(message["content"])] or [string(message["content"])]
    return any(OWN_TEXT.search(text[:2000]) for text in texts)


def _is_shown(message: dict[str, Any]) -> bool:
    return message.get("type") in ("say", "ask") and "ts" in message and "role" not in message


class ClineFormat(Format):
    """Task folders and SDK documents of Cline and its forks."""

    name = "cline"
    title = "Cline, Roo Code, Kilo Code"
    where = (
        "globalStorage of VS Code and its forks: <extension>/tasks; ~/.cline/data, data in $CLINE_DIR, or"
        " $CLINE_DATA_DIR"
    )
    exact = "tokens of every call with recorded usage, which older versions keep in ui_messages.json"
    session_folders = (frozenset({HISTORY}),)

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return _recognize_sidecar(sample.path / HISTORY)
        document = sample.only_value
        if isinstance(document, dict) and document.keys() >= ABOUT:
            return _recognize_sidecar(history_of(sample.path), "metadata of ")
        if sample.path.name == METADATA and isinstance(document, dict):
            return _recognize_sidecar(history_of(sample.path), "task metadata for ")
        if sample.path.name == EDITS and isinstance(document, list):
            return _recognize_sidecar(sample.path.with_name(HISTORY), "message changes for ")
        messages = objects(document)
        if sum(_is_shown(message) for message in messages) * 2 > len(messages):
            return _recognize_sidecar(sample.path.with_name(HISTORY), "display messages for ")
        return _recognize_history(document)

    def homes(self) -> tuple[Path, ...]:
        storages = [*(folder / "User" / "globalStorage" for folder in editor_folders())]
        tasks = [storage / extension / "tasks" for storage, extension in product(storages, EXTENSIONS)]
        data = os.environ.get("CLINE_DATA_DIR") or Path(os.environ.get("CLINE_DIR") or Path.home() / ".cline") / "data"
        own = [Path(data) / "sessions", Path(data) / "tasks"]
        # List only existing editor folders; there are too many possible ones.
        return (*own, tasks[0], *(folder for folder in tasks[1:] if is_folder(folder)))

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.cline.reader import task_reader

        return task_reader(path, self.name)

    def is_sidecar(self, path: Path) -> bool:
        """Return True for a file that only describes a session stored in another file."""
        if not path.name.endswith(".json") or path.name.endswith(SDK_SUFFIX):
            return False
        history = history_of(path)
        return history not in (path, path / HISTORY) and is_file(history)


FORMATS = (ClineFormat(),)
