"""Reading one of Kimi's files of lines together with the small documents beside it: titles, and who started whom."""

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
"""Where versions in between kept the state of a session."""

OLD_CLI_STATE = "metadata.json"
"""Where the first versions of Kimi CLI kept it."""

META = "meta.json"
"""What Kimi CLI keeps beside the lines of a subagent."""

UNTITLED = frozenset({"New Session", "Untitled"})
"""What sessions are called that nobody named yet."""


class WireReader(JsonlReader):
    """Reads lines, and keeps up with what is told beside them."""

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
            interpreter: Takes its lines.
            documents: Those that may tell more, whether they are there or not: the first that tells anything counts.
            note: Brings the session up to date with what is told there.

        Raises:
            SessionError: It cannot be opened.
        """
        super().__init__(path, format_name, interpreter)
        self._note = note
        self._beside = [SidecarFile(document, _told) for document in documents]

    def snapshot(self) -> Session:
        """What has been read so far."""
        self._note(next((found for one in self._beside if (found := one.value())), {}))
        return super().snapshot()

    def refresh(self) -> FileChange:
        """Look at the lines and the documents again."""
        # All are looked at, so that none is seen to have changed twice.
        changed = [one for one in self._beside if one.changed()]
        change = super().refresh()
        return FileChange.APPENDED if change is FileChange.NONE and changed else change


TITLES = ("title", "customTitle", "custom_title", "description")

TOLD = (*TITLES, "agents", "cwd", "forkedFrom", "workDir")
"""What of the documents is of interest: the rest is written with every prompt."""


def _told(document: Any) -> dict[str, Any]:
    return {name: value for name, value in mapping(document).items() if name in TOLD and value}


def title_of(about: Mapping[str, Any]) -> str:
    """What a session is called; empty where it has no name yet."""
    titles: Iterable[str] = (clean_string(about.get(name)).strip() for name in TITLES)
    return next((title for title in titles if title and title not in UNTITLED), "")


def parent_of_agent(about: Mapping[str, Any], agent: str) -> str:
    """The agent that started another one, by the state of their session; empty where it does not tell."""
    found = mapping(mapping(about.get("agents")).get(agent))
    return string(mapping(found.get("labels")).get("parentAgentId")) or string(found.get("parentAgentId"))
