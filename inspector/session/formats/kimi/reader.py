"""Read one of Kimi's wire files with its metadata files: titles, and parents of subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.json.values import clean_string, mapping, string
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.linked_documents import SidecarFile
from inspector.session.reader import FileChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from inspector.session.model import Session
    from inspector.session.reader import RecordInterpreter

STATE = "state.json"

OLD_STATE = ("session-meta", STATE)
"""Location of a session's state in intermediate versions."""

OLD_CLI_STATE = "metadata.json"
"""Location of a session's state in the first versions of Kimi CLI."""

META = "meta.json"
"""Metadata file of a Kimi CLI subagent."""

UNTITLED = frozenset({"New Session", "Untitled"})
"""Titles of unnamed sessions."""


class WireReader(JsonlReader):
    """Reads a wire file and follows changes to its metadata files."""

    def __init__(
        self,
        path: Path,
        format_name: str,
        interpreter: RecordInterpreter,
        documents: Sequence[Path],
        note: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """Open a file.

        Args:
            path: The file.
            format_name: The format's name.
            interpreter: Interpreter for its lines.
            documents: Possible metadata files; the first one with content is used.
            note: Updates the session from the metadata.

        Raises:
            SessionError: The file cannot be opened.
        """
        super().__init__(path, format_name, interpreter)
        self._note = note
        self._metadata_files = [SidecarFile(document, _metadata) for document in documents]

    def snapshot(self) -> Session:
        self._note(next((found for one in self._metadata_files if (found := one.value())), {}))
        return super().snapshot()

    def refresh(self) -> FileChange:
        """Read new data from the wire and metadata files."""
        # Check all files, so that no change is reported twice.
        changed = [one for one in self._metadata_files if one.changed()]
        change = super().refresh()
        return FileChange.APPENDED if change is FileChange.NONE and changed else change


TITLES = ("title", "customTitle", "custom_title", "description")

METADATA_FIELDS = (*TITLES, "agents", "cwd", "forkedFrom", "workDir")
"""Relevant metadata fields; the others change with every prompt."""


def _metadata(document: Any) -> dict[str, Any]:
    return {name: value for name, value in mapping(document).items() if name in METADATA_FIELDS and value}


def title_of(about: Mapping[str, Any]) -> str:
    """Return a session's title; empty if it has none yet."""
    titles: Iterable[str] = (clean_string(about.get(name)).strip() for name in TITLES)
    return next((title for title in titles if title and title not in UNTITLED), "")


def parent_of_agent(about: Mapping[str, Any], agent: str) -> str:
    """Return the agent that started another one, from the session's state; empty if unknown."""
    found = mapping(mapping(about.get("agents")).get(agent))
    return string(mapping(found.get("labels")).get("parentAgentId")) or string(found.get("parentAgentId"))
