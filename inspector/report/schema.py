"""The JSON Schema of the report, made from its types. `python -m inspector.report.schema` prints it.

That of the report on a folder of sessions: `python -m inspector.report.schema folder`.
"""

from __future__ import annotations

import json
import sys

import msgspec

from inspector.report.document import SCHEMA_VERSION, Report
from inspector.report.folder_document import FolderReport

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_text(of: type[msgspec.Struct] = Report) -> str:
    """The schema as indented JSON, with a line end."""
    schema = {
        "$schema": DIALECT,
        "title": f"inspector report, schema {SCHEMA_VERSION}",
        **msgspec.json.schema(of),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text(FolderReport if sys.argv[1:] == ["folder"] else Report))
