"""The JSON Schema of the report, made from its types. `python -m inspector.report.schema` prints it."""

from __future__ import annotations

import json
import sys

import msgspec

from inspector.report.document import SCHEMA_VERSION, Report

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_text() -> str:
    """The schema as indented JSON, with a line end."""
    schema = {
        "$schema": DIALECT,
        "title": f"inspector report, schema {SCHEMA_VERSION}",
        **msgspec.json.schema(Report),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
