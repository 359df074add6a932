"""Read Codex: one JSONL rollout per session, with conversation items and events, and printed event streams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.session.format import Format, home_of, sessions_at
from inspector.session.formats.codex.records import (
    KINDS,
    ONLY_MARKERS,
    QUIET,
    QUIET_EVENTS,
    TURN_ENDS,
    is_event,
    is_header,
)
from inspector.session.formats.responses import is_item, is_list_of_items
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.format import ContainedSession
    from inspector.session.reader import Reader


def _is_rollout_line(record: dict[str, Any]) -> bool:
    return _is_enveloped(record) and record["type"] in KINDS


def _is_enveloped(record: dict[str, Any]) -> bool:
    """Return True if a line has Codex's envelope, with any payload: Codex adds new kinds over time."""
    return isinstance(record.get("payload"), dict) and isinstance(record.get("type"), str)


def _stream_events(sample: Sample) -> int:
    """Count the records of a printed stream; 0 if they are not the majority."""
    found = sum(is_event(record) for record in sample.records)
    return found if found * 2 > len(sample.records) else 0


def _is_whole_session(document: object) -> bool:
    return (
        isinstance(document, dict)
        and isinstance(document.get("session"), dict)
        and "id" in document["session"]
        and is_list_of_items(document.get("items"))
    )


class CodexFormat(Format):
    """Codex rollouts and `codex exec --json` output."""

    name = "codex"
    title = "Codex"
    where = "~/.codex/sessions and archived_sessions, or the same folders in $CODEX_HOME; ~/.trae/cli/sessions"
    exact = (
        "tokens of every call, except before 0.32 (none) and in `codex exec --json` (only turns with one call; the "
        "first turn of a resumed thread includes the turns before it)"
    )
    file_names = r"rollout-.+\.jsonl(?:\.zst)?"

    def recognize(self, sample: Sample) -> str:
        records = sample.records
        found = [record for record in records if _is_rollout_line(record)]
        if found and sum(_is_enveloped(record) for record in records) * 2 > len(records):
            kinds = sorted({str(record["type"]) for record in found})
            return f"{len(found)} of the first {len(records)} records are Codex records ({', '.join(kinds[:4])})"
        if events := _stream_events(sample):
            return f"{events} of the first {len(records)} records are events printed by `codex exec --json`"
        if _is_whole_session(sample.only_value):
            return "a JSON document with a session and its items (an early Codex version)"
        bare = [record for record in records if "record_type" in record or is_header(record)]
        items = [record for record in records if is_item(record)]
        if bare and (len(bare) + len(items)) * 2 > len(records) and all("payload" not in record for record in bare):
            states = any(record.get("record_type") == "state" for record in bare)
            is_alone = any("instructions" in record and "git" in record for record in bare)
            if states or is_alone or (items and any("instructions" in record or "git" in record for record in bare)):
                return f"{len(items)} of the first {len(records)} records are items of an early Codex version"
        return ""

    def homes(self) -> tuple[Path, ...]:
        home = home_of("CODEX_HOME", ".codex")
        return (home / "sessions", home / "archived_sessions", Path.home() / ".trae" / "cli" / "sessions")

    def reader(self, path: Path) -> Reader:
        return self.reader_of_copy(path, path)

    def reader_of_copy(self, copy: Path, path: Path) -> Reader:
        from inspector.session.formats.codex.reader import codex_reader

        sample = Sample(copy)
        return codex_reader(
            copy,
            self.name,
            is_document=_is_whole_session(sample.only_value),
            is_stream=not any(_is_rollout_line(record) for record in sample.records) and _stream_events(sample) > 0,
            near=path,
        )

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:
        from inspector.session.formats.codex.related import subagent_files

        return sessions_at(subagent_files(path, identifier))

    def locate(self, path: Path, identifier: str) -> Path | None:
        from inspector.session.formats.codex.related import locate

        return locate(path, identifier)

    def is_bookkeeping(self, count_name: str) -> bool:
        if count_name in (*ONLY_MARKERS, TURN_ENDS):
            return True
        return count_name in QUIET or count_name.partition("event_msg:")[2] in QUIET_EVENTS

    def knows_record(self, count_name: str) -> bool:
        from inspector.session.formats.codex.records import (
            COMPACTED,
            ENDS_OF_TURNS,
            EVENT,
            ITEM,
            ITEMS,
            MESSAGE_OF_AGENT,
            META,
            NOTICES,
        )
        from inspector.session.formats.responses.reader import is_known_item

        kind, _, inner = count_name.partition(":")
        if kind == ITEM:
            return is_known_item(inner)
        if kind == EVENT:
            return inner in NOTICES or self.is_bookkeeping(count_name)
        if kind in ITEMS:
            return True
        return kind in {META, COMPACTED, MESSAGE_OF_AGENT, *ENDS_OF_TURNS} or self.is_bookkeeping(count_name)


FORMATS = (CodexFormat(),)
