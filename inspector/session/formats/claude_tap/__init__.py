"""Read claude-tap: API requests recorded by its proxy, in a database, a compact bundle or JSON lines.

Checked against liaohch3/claude-tap: `claude_tap/trace_store.py` (tables, schema 4), `compact_trace.py` (deduplicated
parts), `proxy.py`, `sse.py` and `ws_proxy.py` (records and assembly of streamed responses), `cursor_transcript.py`
(conversion of Cursor's transcripts).
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.files import Locator
from inspector.session.format import Format, home_of
from inspector.session.formats.claude_tap.records import is_bundle, is_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.format import ContainedSession
    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample

TABLES: Mapping[str, frozenset[str]] = {
    "sessions": frozenset({"id", "started_at", "updated_at"}),
    "records": frozenset({"session_id", "record_index", "payload_json"}),
}
"""Tables and columns common to all versions of the database."""


class ClaudeTapFormat(Format):
    """claude-tap recordings."""

    name = "claude-tap"
    title = "claude-tap"
    where = (
        "claude-tap/traces.sqlite3 in ~/.local/share or $XDG_DATA_HOME, or $CLOUDTAP_DB; in older versions .traces in "
        "the folder where it was started; exports anywhere"
    )
    exact = "tokens of every answered call, except Cursor's, which are not reported"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if sample.is_database:
            return "a database with claude-tap's session and record tables" if sample.has_tables(TABLES) else ""
        if is_bundle(sample.only_value):
            return "a JSON document in claude-tap's compact bundle format"
        found = sum(is_record(record) for record in sample.records)
        if not found or found * 2 <= len(sample.records):
            return ""
        return f"{found} of the first {len(sample.records)} lines are requests recorded by claude-tap"

    def homes(self) -> tuple[Path, ...]:
        named = os.environ.get("CLOUDTAP_DB", "").strip()
        data = home_of("XDG_DATA_HOME", ".local", "share")
        database = Path(named).expanduser() if named else data / "claude-tap" / "traces.sqlite3"
        return (database, Path.cwd() / ".traces")

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.claude_tap.reader import tap_reader

        return tap_reader(path, self.name)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        from inspector.session.formats.claude_tap.database import sessions_inside
        from inspector.session.sniff import Sample
        from inspector.session.sqlite import read_database

        file = Locator.of(path).file
        return read_database(file, partial(sessions_inside, file)) if Sample(file).is_database else ()

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name.startswith("other")


FORMATS = (ClaudeTapFormat(),)
