"""Read conversations stored as one text each, like tau-bench's examples: `user: …`, `assistant: …`, `tool: …`.

A file has one conversation per line, named `file.jsonl#line-3`. Tool calls are not recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.format import ContainedSession, Format, named_sessions
from inspector.session.formats.transcripts.records import is_transcript

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample


class TranscriptsFormat(Format):
    """Transcripts, one per line."""

    name = "transcripts"
    title = "Chat transcripts (tau-bench)"
    exact = "nothing: tool calls and tokens are not recorded"

    def recognize(self, sample: Sample) -> str:
        records = sample.records if sample.is_lines else ()
        found = sum(is_transcript(record) for record in records)
        return (
            f"{found} of the first {len(records)} lines are transcripts" if found and found * 2 >= len(records) else ""
        )

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.transcripts.reader import transcript_reader

        return transcript_reader(path, self.name)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        from inspector.session.formats.transcripts.reader import titles_in

        return named_sessions(path, titles_in(path).items())


FORMATS = (TranscriptsFormat(),)
