"""The JSON document of running sessions: `inspector status --format json`, `inspector live --json`, kept status lines.

The fields of a session are those of `LiveSession`, with its fill and the reasons to look at it.
`docs/status.schema.json` is generated from these types.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from inspector import __version__
from inspector.atomic_files import evict, write_atomic
from inspector.live.status import Activity, Attention, LiveSession
from inspector.live.status_line import add_texts, kept_path, kept_saving, stamps_of
from inspector.live.watch import scan, session_status
from inspector.session.files import Locator

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SCHEMA_VERSION: Final = 1
DIGITS: Final = 6
"""Digits of numbers, without floating-point noise."""

MOST_KEPT: Final = 200
"""Kept snapshots; the oldest are evicted."""

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def to_entry(session: LiveSession, now: float) -> dict[str, Any]:
    """Return a session as plain data, with its fill and attention."""
    fields: dict[str, Any] = _rounded(msgspec.to_builtins(session, enc_hook=str))
    fill = session.fill
    return {
        **fields,
        "fill": None if fill is None else round(fill, DIGITS),
        "attention": [*session.attention(now)],
        "plan_saves": kept_saving(str(session.path), __version__),
    }


def to_document(sessions: Iterable[LiveSession], now: float) -> dict[str, Any]:
    return {
        "schema": SCHEMA_VERSION,
        "time": round(now, 3),
        "sessions": [to_entry(session, now) for session in sessions],
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return round(value, DIGITS) if isinstance(value, float) else value


def schema_text() -> str:
    """Return the JSON Schema of the document as indented JSON with a trailing newline."""
    template, number = "#/$defs/{name}", {"type": "number"}
    _, parts = msgspec.json.schema_components((LiveSession,), schema_hook=_path_schema, ref_template=template)
    parts["LiveSession"]["properties"] |= {
        "fill": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "attention": {"type": "array", "items": {"enum": [*Attention]}},
        "plan_saves": {
            "description": "Net saving of the best plan when the screen showed it last, as shares of the cost.",
            "anyOf": [{"type": "null"}, {"type": "object", "properties": {"low": number, "high": number}}],
        },
    }
    parts["LiveSession"]["required"] += ["fill", "attention", "plan_saves"]
    sessions = {"type": "array", "items": {"$ref": template.format(name="LiveSession")}}
    schema = {
        "$schema": DIALECT,
        "title": f"inspector status, schema {SCHEMA_VERSION}",
        "type": "object",
        "properties": {"schema": {"const": SCHEMA_VERSION}, "time": {"type": "number"}, "sessions": sessions},
        "required": ["schema", "time", "sessions"],
        "$defs": parts,
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _path_schema(kind: type) -> dict[str, Any]:
    if issubclass(kind, Path):
        return {"type": "string"}
    raise NotImplementedError


def session_of(directory: Path, sessions: Sequence[LiveSession]) -> LiveSession | None:
    """Return the newest session of a directory's project, otherwise of all; None if none is running."""
    running = [each for each in sessions if each.state is not Activity.ENDED]
    folders = {str(folder) for folder in (directory, *directory.parents)} - {str(Path.home()), os.sep}
    own = [each for each in running if os.path.normpath(each.working_directory or os.sep) in folders]
    return max(own or running, key=lambda each: each.last_activity, default=None)


def keep(key: str, *, path: Path | None = None, directory: Path | None = None) -> dict[str, Any]:
    """Take a session's snapshot and keep it for the status lines that follow.

    Args:
        key: Key of the snapshot, see `status_line.kept_path`.
        directory: Without a path: the directory whose newest session is shown.

    Returns:
        The kept snapshot; its `entry` is empty if no session is running.

    Raises:
        SessionError: There is no such session, or it cannot be read.
    """
    found = session_status(path) if path is not None else session_of(directory or Path.cwd(), scan().sessions)
    now = time.time()
    stamped: list[str] = []
    if found is not None:
        session_file = Locator.of(found.path).file
        # A new session of the same project changes the folder.
        stamped = [str(session_file), *([] if path is not None else [str(session_file.parent)])]
    kept: dict[str, Any] = {
        "version": __version__,
        "key": key,
        "time": now,
        "stamps": stamps_of(stamped),
        "entry": {} if found is None else add_texts(to_entry(found, now)),
    }
    file = Path(kept_path(key))
    with suppress(OSError):
        write_atomic(file, json.dumps(kept))
        evict(file.parent, most_files=MOST_KEPT)
    return kept


if __name__ == "__main__":
    sys.stdout.write(schema_text())
