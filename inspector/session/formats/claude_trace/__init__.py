"""Read API traffic logs with one exchange per line, written by claude-trace and proxies.

Every request repeats the whole conversation (`apps/claude-trace/src/types.ts` in badlogic/lemmy). The URL identifies
the API. Responses are JSON or raw stream text.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.format import Format
from inspector.session.formats.claude_trace.records import is_exchange, request_body
from inspector.session.json.values import sequence

if TYPE_CHECKING:
    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


class ClaudeTraceFormat(Format):
    """API traffic logs, as lines or one list."""

    name = "claude-trace"
    title = "Request logs (claude-trace and proxies)"
    where = ".claude-trace in the folder where the agent was started"
    exact = "tokens of every answered call"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        records = sample.records if sample.is_lines else sequence(sample.document)[:50]
        found = [record for record in records if is_exchange(record)]
        spoken = [record for record in found if isinstance(request_body(record).get("messages"), list)]
        if not spoken or len(found) * 2 <= len(records):
            return ""
        what = "lines" if sample.is_lines else "entries"
        return f"{len(found)} of the first {len(records)} {what} are model API requests with their responses"

    def homes(self) -> tuple[Path, ...]:
        return (Path.cwd() / ".claude-trace",)

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.claude_trace.reader import trace_reader

        return trace_reader(path, self.name)

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name.startswith("other")


FORMATS = (ClaudeTraceFormat(),)
