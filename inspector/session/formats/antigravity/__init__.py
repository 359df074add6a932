"""Read Google Antigravity, command line and IDE: one database per conversation, with protobuf messages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.files import Locator
from inspector.session.format import Format, can_name_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample

TABLES: Mapping[str, frozenset[str]] = {"steps": frozenset({"idx", "step_type", "status", "step_payload"})}
"""Table and columns that identify a conversation."""

CONVERSATIONS = "conversations"

PROGRAMS: Mapping[str, str] = {
    "antigravity-cli": "Antigravity CLI",
    "antigravity-ide": "Antigravity IDE",
    "antigravity": "Antigravity IDE",
    "antigravity-acp": "Antigravity CLI",
}
"""Programs by the name of their folder in `~/.gemini`."""


class AntigravityFormat(Format):
    """Antigravity's conversation databases."""

    name = "antigravity"
    title = "Antigravity CLI and IDE"
    where = "conversations in ~/.gemini/antigravity-cli, antigravity-ide, antigravity and antigravity-acp"
    exact = "prompt and output tokens of every call"

    def knows_record(self, count_name: str) -> bool:
        return not count_name.startswith("step of type ")

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory or not sample.is_database or not sample.has_tables(TABLES):
            return ""
        return "a database with Antigravity's step table"

    def homes(self) -> tuple[Path, ...]:
        return tuple(Path.home() / ".gemini" / program / CONVERSATIONS for program in PROGRAMS)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.antigravity.database import AntigravityRows
        from inspector.session.sqlite_reader import SqliteReader

        folder = Locator.of(path).file.parent.parent.name
        return SqliteReader(path, self.name, AntigravityRows(PROGRAMS.get(folder, "Antigravity")))

    def is_copy(self, path: Path) -> bool:
        """Return True if another program's folder has a newer database of the same conversation."""
        program = path.parent.parent
        if program.name not in PROGRAMS or path.parent.name != CONVERSATIONS:
            return False
        others = [program.parent / name / CONVERSATIONS / path.name for name in PROGRAMS if name != program.name]
        mine = _modified(path)
        order = list(PROGRAMS)
        return any(
            (_modified(other), -order.index(other.parent.parent.name)) > (mine, -order.index(program.name))
            for other in others
        )

    def locate(self, path: Path, identifier: str) -> Path | None:
        if not can_name_file(identifier):
            return None
        found = Locator.of(path).file.with_name(f"{identifier}.db")
        return found if found.is_file() else None


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


FORMATS = (AntigravityFormat(),)
