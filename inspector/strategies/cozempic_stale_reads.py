"""Take out reads of files that were edited later, as Cozempic does it.

Source: `stale-reads` of cozempic 1.8.39 (`strategies/standard.py`). Files are told apart by their path as it was
written. Once a file is edited, the record with its read counts as stale, and with it every other read in that record;
results longer than a limit within the next records become a marker. When a pass finds several stale results in one
record, only the last of them is replaced, and the others at the passes that follow.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.arrivals import arrivals
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.file_uses import file_uses
from inspector.strategies.records import records_of
from inspector.strategies.rendition import Rendition
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import tools, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.base import Schedule
    from inspector.strategies.file_uses import ContextUses, FileUse
    from inspector.strategies.history import History
    from inspector.strategies.operations import BlockSource

MARKER = "[stale read - file was later edited, trimmed by cozempic]"
_NEAR = 4


@dataclass(frozen=True, slots=True)
class ReplaceLonger:
    """Put a text in place of a longer one.

    Attributes:
        limit: Longest text, in characters, that stays.
        text: What is sent instead.
    """

    limit: int
    text: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  the same for every block
        """Replace what is sent so far."""
        return Rendition.replaced(self.text, rendition.kind) if rendition.length > self.limit else rendition


@dataclass(frozen=True)
class CozempicStaleReads(Batching):
    """Replace reads of files that were edited later."""

    name: ClassVar[str] = "cozempic-stale-reads"
    title: ClassVar[str] = "Stale reads (Cozempic)"
    summary: ClassVar[str] = "Replace long reads of a file once it is edited, and the reads made together with them."
    source: ClassVar[str] = "cozempic 1.8.39 stale-reads, strategies/standard.py"

    limit: int = whole("limit", 500, "Longest result that stays.", "characters", maximum=1_000_000)
    read_tools: tuple[str, ...] = tools("read-tools", (), "Tools that read files, besides those that are known to.")
    edit_tools: tuple[str, ...] = tools("edit-tools", (), "Tools that change files, besides those that are known to.")

    def schedule(self, history: History) -> Schedule:
        """A read goes at the call that brings the edit, or after those that stand behind it in its record."""
        builder = ScheduleBuilder()
        decision = builder.index_of(Decision(ReplaceLonger(self.limit, MARKER), "its file was edited"))
        anew = builder.index_of(Decision(None, "counted anew"))
        records = records_of(history)
        sent = (history.kind != BlockKind.SYSTEM_TEXT) & (history.kind != BlockKind.OTHER)
        all_uses = file_uses(history, self.read_tools, self.edit_tools)
        for context, uses in zip(arrivals(history, sent), all_uses, strict=True):
            order = np.cumsum(np.append(0, np.diff(records[context.blocks]) != 0))[: len(context.blocks)]
            place = dict(zip(context.blocks.tolist(), order.tolist(), strict=True))
            calls = np.flatnonzero(history.call_context == context.context).tolist()
            rows = [(block, call, anew) for block, call in uses.carried]
            waiting: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
            for number, (use, call) in enumerate(self._stale(records, uses)):
                near = use.result >= 0 and 0 < place[use.result] - place[use.block] <= _NEAR
                # A short result is left alone by a pass and holds up no other.
                long = near and history.plain_text[use.result] and history.characters[use.result] > self.limit
                if long:
                    waiting[int(records[use.result])].append((max(call, use.result_call), -number, use.result))
            for together in waiting.values():
                rows += [(block, call, decision) for block, call in _one_a_pass(together, calls)]
            blocks, at, decisions = np.array(rows, dtype=np.int32).reshape(-1, 3).T
            builder.add_each(blocks, at, decisions)
        return builder.schedule()

    def _stale(self, records: NDArray[np.int32], uses: ContextUses) -> list[tuple[FileUse, int]]:
        """Reads in records that became stale, in order, and the call that made them so."""
        open_reads: dict[str, list[int]] = defaultdict(list)
        stale_at: dict[int, int] = {}
        for use in uses.uses:
            if not use.changes:
                open_reads[use.path].append(int(records[use.block]))
                continue
            for record in open_reads.pop(use.path, ()):
                stale_at[record] = min(stale_at.get(record, use.call), use.call)
        reads = [use for use in uses.uses if not use.changes]
        return [(use, stale_at[record]) for use in reads if (record := int(records[use.block])) in stale_at]


def _one_a_pass(waiting: list[tuple[int, int, int]], calls: list[int]) -> list[tuple[int, int]]:
    """Results of one record and the calls they go at: one at a call, the last of those that are due first."""
    due: list[tuple[int, int]] = []
    gone: list[tuple[int, int]] = []
    coming = sorted(waiting, reverse=True)
    at = 0
    while coming or due:
        if not due:
            at = bisect_left(calls, coming[-1][0], at)
        if at == len(calls):
            break
        while coming and coming[-1][0] <= calls[at]:
            _, rank, block = coming.pop()
            heapq.heappush(due, (rank, block))
        gone.append((heapq.heappop(due)[1], calls[at]))
        at += 1
    return gone
