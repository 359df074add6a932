"""Read ATIF, the Agent Trajectory Interchange Format of the Harbor framework, versions 1.0 to 1.8.

Specified by `harbor/models/trajectories` in the harbor package and by the models in the atif package.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inspector.session.files import is_file
from inspector.session.format import Format
from inspector.session.formats.atif.records import is_trajectory
from inspector.session.json.values import string

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


CONTINUATION = re.compile(r"(?P<name>.+)\.cont-\d+(?P<suffix>\.json)")
"""File names that Harbor gives to continued trajectories."""


class AtifFormat(Format):
    """Harbor trajectories."""

    name = "atif"
    title = "ATIF (Harbor trajectories)"
    exact = "tokens of every step with one call and metrics"

    def recognize(self, sample: Sample) -> str:
        document = sample.only_value
        if not is_trajectory(document):
            return ""
        version = string(document.get("schema_version")) or "ATIF (no version)"
        return f"a JSON document with schema {version} and {len(document['steps'])} steps"

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.atif.reader import AtifInterpreter
        from inspector.session.json_reader import JsonReader
        from inspector.session.linked_documents import LinkedDocuments

        linked = LinkedDocuments()
        return JsonReader(path, self.name, lambda: AtifInterpreter(path, linked), linked=linked)

    def is_copy(self, path: Path) -> bool:
        """Return True for a continuation, which is read with the trajectory it continues."""
        found = CONTINUATION.fullmatch(path.name)
        return found is not None and is_file(path.with_name(f"{found['name']}{found['suffix']}"))


FORMATS = (AtifFormat(),)
