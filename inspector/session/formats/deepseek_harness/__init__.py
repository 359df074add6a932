"""Read DeepSeek Harness: one event log per session, compressed frame by frame by default.

Checked against the packages `@deepseek-ai/dsh-session` (events, the surface that forms prompts, chunk rows), `dsh-llm`
(messages, usage), `dsh-compaction` and `dsh-session-persistence-jsonl`, and the readers of junhoyeo/tokscale
(`sessions/dsh.rs`) and kenn-io/agentsview (`deepseek_harness*.go`).
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from inspector.session.errors import SessionError
from inspector.session.files import glob_sorted, is_file
from inspector.session.format import Format, can_name_file, home_of, sessions_at
from inspector.session.json.values import string
from inspector.session.sniff import Sample, beginning_size

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.format import ContainedSession
    from inspector.session.reader import Reader

GENERATION = re.compile(r"session(?:\.v(?P<version>\d+))?\.jsonl(?:\.zstd)?")
"""Log file names: a newer version of the harness continues a session in its own file next to the old one."""


def _is_header(record: dict[str, Any]) -> bool:
    has_version = isinstance(record.get("version"), int) and isinstance(record.get("createdAt"), (int, float))
    return record.get("type") == "session" and has_version and isinstance(record.get("id"), str)


def _is_event(record: dict[str, Any]) -> bool:
    if "seq0" in record and "data" in record:
        return string(record.get("type")).endswith("-chunks")
    is_placed = isinstance(record.get("seq"), int) and isinstance(record.get("data"), dict)
    return is_placed and "/" in string(record.get("type"))


MOST_SIBLINGS = 500
"""Limit on the logs searched for subagents."""


@lru_cache(maxsize=4 * MOST_SIBLINGS)
def _parent_in(file: Path, size: int) -> str:  # noqa: ARG001  a key of the cache
    """Return the session that started the one in a log as its subagent; empty for none."""
    header = next(iter(Sample(file).records), {})
    return string(header.get("parentSession")) if header.get("origin") == "subagent" else ""


def _version_of(path: Path) -> int:
    found = GENERATION.fullmatch(path.name)
    return int(found["version"] or 0) if found is not None else -1


class DeepSeekHarnessFormat(Format):
    """DeepSeek Harness logs."""

    name = "deepseek-harness"
    title = "DeepSeek Harness"
    where = "~/.dsh/sessions, or sessions in $DSH_HOME"
    exact = "prompt and output tokens of every call"
    grows_compressed = True

    def recognize(self, sample: Sample) -> str:
        found = sum(map(_is_event, sample.records))
        has_header = any(map(_is_header, sample.records[:1]))
        if not (has_header or found) or (found + has_header) * 2 <= len(sample.records):
            return ""
        if not has_header and not any("surfaceOp" in record for record in sample.records):
            return ""
        return f"{found + has_header} of the first {len(sample.records)} lines are DeepSeek Harness events"

    def homes(self) -> tuple[Path, ...]:
        return (home_of("DSH_HOME", ".dsh") / "sessions",)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.deepseek_harness.reader import HarnessInterpreter
        from inspector.session.jsonl_reader import JsonlReader

        return JsonlReader(path, self.name, HarnessInterpreter())

    def is_copy(self, path: Path) -> bool:
        """Return True if a newer version of the harness rewrote the session next to this file."""
        version = _version_of(path)
        if version < 0:
            return False
        try:
            return any(_version_of(sibling) > version for sibling in path.parent.iterdir())
        except OSError:
            return False

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:
        """Return the logs in sibling folders whose header names a session as their parent."""
        if _version_of(path) < 0 or not identifier:
            return ()
        files = glob_sorted(path.parent.parent, "*/session*.jsonl*")[:MOST_SIBLINGS]
        logs = [file for file in files if _version_of(file) >= 0 and file.parent != path.parent]
        found = []
        for file in logs:
            with suppress(SessionError, OSError):
                is_child = _parent_in(file, beginning_size(file)) == identifier and not self.is_copy(file)
                found += [file] if is_child else []
        return sessions_at(found)

    def locate(self, path: Path, identifier: str) -> Path | None:
        """Find the origin or parent of a session in a sibling folder."""
        if not can_name_file(identifier):
            return None
        folder = path.parent.with_name(identifier)
        try:
            logs = [log for log in folder.iterdir() if _version_of(log) >= 0 and is_file(log)]
        except OSError:
            return None
        return max(logs, key=_version_of, default=None)

    def is_bookkeeping(self, count_name: str) -> bool:
        from inspector.session.formats.deepseek_harness.events import is_quiet

        return is_quiet(count_name)

    def knows_record(self, count_name: str) -> bool:
        from inspector.session.formats.deepseek_harness.events import SURFACE

        return count_name in SURFACE or self.is_bookkeeping(count_name)


FORMATS = (DeepSeekHarnessFormat(),)
