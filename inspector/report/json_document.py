"""JSON that is safe to print on a terminal, and the JSON Schema of reports.

`python -m inspector.report.json_document` prints the schema of the report on a session; with `folder` behind it, that
on a folder of sessions; with `tune`, that of what tuning found; with `before-after`, that of two sets of sessions.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msgspec import Struct


# JSON escapes C0 itself. These reach a terminal as they are: DEL and C1 (which some take for escape sequences), the
# controls that reorder text or are not seen, line separators, and halves of surrogate pairs, which nothing can encode.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def to_json(value: Any, *, ascii_only: bool = False) -> str:
    """`value` as indented JSON with a line end, every character that could disturb a terminal escaped.

    Args:
        value: Dictionaries, lists, strings, numbers, booleans, None.
        ascii_only: Escape everything outside ASCII, for outputs that cannot encode it.
    """
    text = json.dumps(value, indent=2, ensure_ascii=ascii_only)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def document_json(document: Struct, *, ascii_only: bool = False) -> str:
    """A report, on one session or many, as `to_json` writes it."""
    import msgspec

    return to_json(msgspec.to_builtins(document), ascii_only=ascii_only)


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_text(of: type[Struct]) -> str:
    """The JSON Schema of a report's type as indented JSON, with a line end."""
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
    from inspector.report.tuning import TuneReport

    kinds: dict[str, type[Struct]] = {
        "folder": FolderReport,
        "tune": TuneReport,
        "before-after": BeforeAfterReport,
    }
    sys.stdout.write(schema_text(kinds.get("".join(sys.argv[1:2]), Report)))
