"""ATIF: the Agent Trajectory Interchange Format of the Harbor framework, versions 1.0 to 1.8.

The format is that of `harbor/models/trajectories` in the harbor package and of the models in the atif package.
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
"""How Harbor names the files in which a trajectory goes on."""


class AtifFormat(Format):
    """Trajectories of Harbor."""

    name = "atif"
    title = "ATIF (Harbor trajectories)"
    exact = "tokens of every step of one call that has metrics"

    def recognise(self, sample: Sample) -> str:
        document = sample.only_value
        if not is_trajectory(document):
            return ""
        version = string(document.get("schema_version")) or "ATIF without a version"
        return f"a JSON document of schema {version} with {len(document['steps'])} steps"

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.atif.reader import AtifInterpreter
        from inspector.session.json_reader import JsonReader
        from inspector.session.linked_documents import LinkedDocuments

        linked = LinkedDocuments()
        return JsonReader(path, self.name, lambda: AtifInterpreter(path, linked), linked=linked)

    def is_copy(self, path: Path) -> bool:
        """Whether this is what an earlier trajectory goes on in, with which it is read."""
        found = CONTINUATION.fullmatch(path.name)
        return found is not None and is_file(path.with_name(f"{found['name']}{found['suffix']}"))


FORMATS = (AtifFormat(),)
