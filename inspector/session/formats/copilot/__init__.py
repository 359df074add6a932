"""Read GitHub Copilot CLI: a folder per session with `events.jsonl`, or one JSON document in the first versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.errors import SessionError
from inspector.session.files import is_file, is_folder
from inspector.session.format import Format, home_of
from inspector.session.formats.copilot.records import NOTICES, ROLES, SPOKEN, EventKind, is_document, kind_of
from inspector.session.json.values import string
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.reader import Reader


EVENTS = "events.jsonl"

DOCUMENT = "a JSON document with a session's messages (an early Copilot CLI version)"


def _is_event(record: dict[str, Any]) -> bool:
    has_type = "." in string(record.get("type")) or record.get("type") == "abort"
    return has_type and isinstance(record.get("data"), dict) and "parentId" in record


class CopilotFormat(Format):
    """Copilot CLI session folders and the documents of its first versions."""

    name = "copilot-cli"
    title = "GitHub Copilot CLI"
    where = "~/.copilot/session-state and history-session-state, or the same folders in $COPILOT_HOME"
    exact = "output tokens of every call; prompt tokens and cache reads in sum, since versions that record them on exit"
    file_names = r"events\.jsonl"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return self._recognize_folder(sample.path)
        events = [record for record in sample.records if _is_event(record)]
        known = [event for event in events if kind_of(event["type"]) is not EventKind.NOTICE]
        if known and len(events) * 2 > len(sample.records):
            return f"{len(events)} of the first {len(sample.records)} records are Copilot CLI events"
        return DOCUMENT if is_document(sample.only_value) else ""

    def _recognize_folder(self, folder: Path) -> str:
        try:
            reason = self.recognize(Sample(folder / EVENTS)) if is_file(folder / EVENTS) else ""
        except (SessionError, OSError):
            return ""
        return f"in its {EVENTS}, {reason}" if reason else ""

    def homes(self) -> tuple[Path, ...]:
        home = home_of("COPILOT_HOME", ".copilot")
        return (home / "session-state", home / "history-session-state")

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.copilot.reader import CopilotInterpreter
        from inspector.session.jsonl_reader import JsonlReader

        if not is_folder(path) and is_document(Sample(path).only_value):
            from inspector.session.formats.copilot.document import CopilotDocumentInterpreter
            from inspector.session.json_reader import JsonReader

            return JsonReader(path, self.name, CopilotDocumentInterpreter)
        return JsonlReader(path / EVENTS if is_folder(path) else path, self.name, CopilotInterpreter(), path)

    def is_bookkeeping(self, count_name: str) -> bool:
        return kind_of(count_name) is EventKind.QUIET or count_name.startswith("timeline:")

    def knows_record(self, count_name: str) -> bool:
        is_shown = count_name in NOTICES or count_name in ROLES or count_name in SPOKEN
        return is_shown or self.is_bookkeeping(count_name)


FORMATS = (CopilotFormat(),)
