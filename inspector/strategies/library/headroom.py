"""Remove outdated reads: of files that were changed since, or read again.

Source: read lifecycle of headroom-ai 0.42 (`headroom/transforms/read_lifecycle.py`). A read is stale once a later
message changes its file, and superseded once a later one reads all of its lines again. The second rule is off by
default there, because it breaks the cached prompt more often than it pays. A marker remains, with an instruction and
the hash under which the proxy stores the text. Small results and lists of parts stay. Reads in the part of the prompt
that the provider has cached can be left alone.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.strategies.core.batching import CONTEXT_RESET, Batching, ScheduleBuilder
from inspector.strategies.core.operations import BlockSource, Rendition, sent_text
from inspector.strategies.core.stored_previews import bytes_of
from inspector.strategies.core.strategy import Decision, Schedule, integer, switch, tools
from inspector.strategies.history.reads import ContextUses, FileUse, file_uses, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.strategies.history.history import History

_USUAL_LINES = 2_000
_WHAT = {
    "stale": "was modified after this read — re-read the file for current content.",
    "superseded": "was re-read later — re-read the file if needed.",
}


@dataclass(frozen=True, slots=True)
class MarkRead:
    """Replace a read that is `stale` or `superseded`, if it has `minimum` bytes, with a marker."""

    state: str
    path: str
    minimum: int

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = sent_text(rendition, source)
        if text is None or bytes_of(text) < self.minimum:
            return rendition
        kept_under = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        what = f"[Read content {self.state}: {self.path} {_WHAT[self.state]} Retrieve original: hash={kept_under}]"
        return Rendition.replaced(what, rendition.kind)


@dataclass(frozen=True)
class HeadroomStaleReads(Batching):
    """Replace reads of files that were changed since with a marker."""

    name = "headroom-stale-reads"
    title = "Stale reads (Headroom)"
    summary = "Replace a read with a marker once its file is changed, or optionally once it is read again."
    source = "headroom-ai 0.42 headroom/transforms/read_lifecycle.py"

    stale: bool = switch(True, "Replace reads of files that were changed later.", group="stale")
    superseded: bool = switch(False, "Replace reads of lines that were read again.", group="superseded")
    minimum: int = integer(512, "Smallest result that is replaced.", "bytes", maximum=1_000_000)
    frozen_messages: int = integer(
        0, "First messages assumed to be cached; their reads stay.", "messages", maximum=100_000
    )
    read_tools: tuple[str, ...] = tools((), "Additional tools that read files.")
    edit_tools: tuple[str, ...] = tools((), "Additional tools that change files.")

    def schedule(self, history: History) -> Schedule:
        """Replace a read at the call that adds the change, or the read that covers it."""
        builder = ScheduleBuilder(history)
        for context in file_uses(history, self.read_tools, self.edit_tools):
            rows = [(block, call, builder.index_of(CONTEXT_RESET)) for block, call in context.retained]
            for use, state, call in self._replaced(history, context):
                at = max(call, use.result_call)
                operation = MarkRead(state, use.path, self.minimum)
                reason = "its file was changed" if state == "stale" else "its lines were read again"
                rows.append((use.result, at, builder.index_of(Decision(operation, reason, state))))
            blocks, calls, decisions = np.array(rows, dtype=np.int32).reshape(-1, 3).T
            builder.add_each(blocks, calls, decisions)
        return builder.schedule()

    def _replaced(self, history: History, context: ContextUses) -> Iterator[tuple[FileUse, str, int]]:
        """Yield the reads to replace, their new state, and the call that causes it."""
        session = history.session
        fresh: dict[str, list[FileUse]] = defaultdict(list)
        unread: dict[str, list[FileUse]] = defaultdict(list)
        for use in context.uses:
            if use.changes:
                if self.stale:
                    for read in fresh[use.path]:
                        if read.message < use.message:
                            yield read, "stale", use.call
                    fresh[use.path] = [read for read in fresh[use.path] if read.message >= use.message]
                    unread[use.path] = [read for read in unread[use.path] if read.message >= use.message]
                continue
            if self.superseded:
                lines = lines_of(session, session.blocks[use.block])
                left = []
                for read in unread[use.path]:
                    covered = lines.covers(lines_of(session, session.blocks[read.block]), _USUAL_LINES)
                    if covered and read.message < use.message:
                        yield read, "superseded", use.call
                    else:
                        left.append(read)
                unread[use.path] = left
            may_go = use.result >= 0 and use.message >= self.frozen_messages
            if may_go and history.plain_text[use.result]:
                fresh[use.path].append(use)
                unread[use.path].append(use)
