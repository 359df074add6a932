"""Naming one session where a file holds several: `opencode.db#ses_…`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

SEPARATOR = "#"


class Locator(NamedTuple):
    """A path as given.

    Attributes:
        file: The file or folder.
        session: The session's id inside it; empty where none is named.
    """

    file: Path
    session: str = ""

    @classmethod
    def of(cls, path: Path) -> Locator:
        """What a path names. A file whose own name holds the separator is that file."""
        name, separator, session = path.name.rpartition(SEPARATOR)
        if not separator or not name or not session or os.path.lexists(path):
            return cls(path)
        file = path.with_name(name)
        return cls(file, session) if os.path.lexists(file) else cls(path)

    @property
    def path(self) -> Path:
        """Both as one path."""
        return self.file.with_name(f"{self.file.name}{SEPARATOR}{self.session}") if self.session else self.file
