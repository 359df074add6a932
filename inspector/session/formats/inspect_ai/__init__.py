"""Read Inspect: evaluation logs of the inspect-ai package, as `.eval` archives or JSON documents.

A log holds many samples, each a separate conversation named `log.eval#<sample>_epoch_<n>`. The structure is defined by
`inspect_ai/log/_log.py` and `inspect_ai/log/_recorders`. Logs are read without that package, which has about a hundred
dependencies.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.session.format import ContainedSession, Format, named_sessions
from inspector.session.json import mapping, sequence
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.reader import Reader


SENT = ("event:model", "event:compaction")
"""Events that record requests; all others are bookkeeping."""


def is_log(value: Any) -> bool:
    log = mapping(value)
    about = mapping(log.get("eval"))
    is_begun = isinstance(log.get("samples"), list) or ("plan" in log and log.get("samples") is None)
    return "status" in log and is_begun and ("task" in about or "eval_id" in about)


class InspectFormat(Format):
    """Inspect logs, finished and running."""

    name = "inspect"
    title = "Inspect (.eval and JSON logs)"
    where = "logs in the folder where the evaluation was run, or $INSPECT_LOG_DIR"
    exact = "tokens of every call, if the log contains its events"

    def recognize(self, sample: Sample) -> str:
        if sample.is_database:
            from inspector.session.formats.inspect_ai.samples import TABLES, running_in

            if not sample.has_tables(TABLES):
                return ""
            return f"a database with {len(running_in(sample.path))} running Inspect samples"
        if sample.is_archive:
            from inspector.session.formats.inspect_ai.samples import Archive

            archive = Archive.at(sample.path)
            return f"an archive with {len(archive.samples)} Inspect samples" if archive.is_log else ""
        document = sample.only_value
        if not is_log(document):
            return ""
        return f"a JSON document with {len(sequence(document.get('samples')))} Inspect samples"

    def homes(self) -> tuple[Path, ...]:
        """Return the log folder set in the environment, if it is on this machine."""
        named = os.environ.get("INSPECT_LOG_DIR", "").removeprefix("file://")
        return (Path(named),) if named and "://" not in named else ()

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.inspect_ai.reader import log_reader

        return log_reader(path, self.name)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        from inspector.session.formats.inspect_ai.samples import running_in, titles_of_samples

        sample = Sample(path)
        finished = [] if sample.is_database else titles_of_samples(path, is_archive=sample.is_archive)
        running = {name: one.title for name, one in running_in(path).items()}
        return named_sessions(path, [*finished, *(one for one in running.items() if one[0] not in dict(finished))])

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name.startswith("event:") and count_name not in SENT


FORMATS = (InspectFormat(),)
