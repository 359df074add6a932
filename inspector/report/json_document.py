"""Terminal-safe JSON, and the JSON Schemas of reports.

`python -m inspector.report.json_document` prints the schema of the session report. The argument `folder`, `tune`,
`before-after` or `formats` selects the schema of that report.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msgspec import Struct


# JSON escapes C0. These would reach a terminal unescaped: DEL and C1 (which some terminals treat as escape sequences),
# bidirectional and invisible control characters, line separators, and lone surrogates, which cannot be encoded.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def to_json(value: Any, *, ascii_only: bool = False) -> str:
    """Format indented JSON with a trailing newline; escape what may disturb a terminal, or all but ASCII."""
    text = json.dumps(value, indent=2, ensure_ascii=ascii_only)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def document_json(document: Struct, *, ascii_only: bool = False) -> str:
    """Write a report, on one session or many, with `to_json`."""
    import msgspec

    return to_json(msgspec.to_builtins(document), ascii_only=ascii_only)


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_text(of: type[Struct]) -> str:
    """Return the JSON Schema of a report type as indented JSON with a trailing newline."""
    import msgspec

    from inspector.report.document import SCHEMA_VERSION

    schema = {
        "$schema": DIALECT,
        "title": f"inspector report, schema {SCHEMA_VERSION}",
        **msgspec.json.schema(of),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    from inspector.report.before_after import BeforeAfterReport
    from inspector.report.document import Report
    from inspector.report.folder import FolderReport
    from inspector.report.listings import FormatsReport
    from inspector.report.tuning import TuneReport

    kinds: dict[str, type[Struct]] = {
        "folder": FolderReport,
        "tune": TuneReport,
        "before-after": BeforeAfterReport,
        "formats": FormatsReport,
    }
    sys.stdout.write(schema_text(kinds.get("".join(sys.argv[1:2]), Report)))
