"""Read Qwen Code: one JSONL file per session with a tree of records.

Checked against QwenLM/qwen-code: `packages/core/src/services/chatRecordingService.ts` (records),
`session-api-history.ts` (messages sent by a resumed session) and `core/openaiContentGenerator/converter.ts` (usage).
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from inspector.session.errors import SessionError
from inspector.session.files import exists, glob_sorted
from inspector.session.format import Format, can_name_file, home_of, sessions_at
from inspector.session.json.values import mapping, string
from inspector.session.sniff import Sample, beginning_size

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.format import ContainedSession
    from inspector.session.reader import Reader

TYPES = frozenset({"assistant", "system", "tool_result", "user"})


MOST_SIBLINGS = 500
"""Limit on the files of a folder searched for subagents."""


@lru_cache(maxsize=4 * MOST_SIBLINGS)
def _parent_in(file: Path, size: int) -> str:  # noqa: ARG001  a key of the cache
    """Return the parent named at the beginning of a session; empty for none."""
    records = Sample(file).records
    named = (mapping(record.get("systemPayload")) for record in records if record.get("subtype") == "parent_session")
    return next((string(about.get("parentSessionId")) for about in named), "")


def _is_record(record: dict[str, Any]) -> bool:
    if string(record.get("type")) not in TYPES or not isinstance(record.get("sessionId"), str):
        return False
    if record["type"] == "system":
        return isinstance(record.get("subtype"), str) and ("systemPayload" in record or "cwd" in record)
    return isinstance(mapping(record.get("message")).get("parts"), list) or "toolCallResult" in record


def _is_qwen_record(record: dict[str, Any]) -> bool:
    """Return True for a record specific to Qwen Code, with a message of Gemini API parts."""
    return isinstance(mapping(record.get("message")).get("parts"), list)


class QwenFormat(Format):
    """Qwen Code session files."""

    name = "qwen-code"
    title = "Qwen Code"
    where = "~/.qwen/projects, or projects in $QWEN_HOME"
    exact = "prompt and output tokens of every call"

    def recognize(self, sample: Sample) -> str:
        found = [record for record in sample.records if _is_record(record)]
        if not any(map(_is_qwen_record, found)) or len(found) * 2 <= len(sample.records):
            return ""
        return f"{len(found)} of the first {len(sample.records)} lines are Qwen Code records"

    def homes(self) -> tuple[Path, ...]:
        return (home_of("QWEN_HOME", ".qwen") / "projects",)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.qwen.reader import QwenInterpreter
        from inspector.session.jsonl_reader import JsonlReader

        return JsonlReader(path, self.name, QwenInterpreter(path))

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:
        siblings = glob_sorted(path.parent, "*.jsonl") if identifier else []
        found = []
        for file in siblings[:MOST_SIBLINGS]:
            with suppress(SessionError, OSError):
                is_child = file != path and _parent_in(file, beginning_size(file)) == identifier
                found += [file] if is_child else []
        return sessions_at(found)

    def locate(self, path: Path, identifier: str) -> Path | None:
        """Find the origin or parent of a session in the same folder."""
        sibling = path.with_name(f"{identifier}.jsonl") if can_name_file(identifier) else None
        return sibling if sibling is not None and exists(sibling) else None

    def is_bookkeeping(self, count_name: str) -> bool:
        from inspector.session.formats.qwen.reader import QUIET

        return count_name.partition("system:")[2] in QUIET

    def knows_record(self, count_name: str) -> bool:
        from inspector.session.formats.qwen.reader import COMPRESSION, NOTICES

        kind, _, inner = count_name.partition(":")
        is_shown = kind in TYPES and (kind != "system" or inner == COMPRESSION or inner in NOTICES)
        return is_shown or self.is_bookkeeping(count_name)


FORMATS = (QwenFormat(),)
