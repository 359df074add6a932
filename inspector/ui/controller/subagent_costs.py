"""Costs of the sessions that the open session started, read in a thread and again while they grow."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.files import LIVE_SECONDS
from inspector.ui.controller.changes import Change
from inspector.ui.controller.cooperative import YieldingTask

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.engine.replay import Replay
    from inspector.replay.subagents import SubagentCosts, SubagentReader
    from inspector.ui.controller.changes import ChangeListeners
    from inspector.ui.controller.host_protocols import Host, IsCancelled, Post, Stoppable

SECONDS_TO_REST = 0.2
"""Delay after a replay, so that other answers come first."""
SECONDS_BETWEEN_READS = 2.0
"""Pause between two checks of subagents that may be running."""

_GROUP = "subagents' costs"


class _Found(NamedTuple):
    reader: SubagentReader
    costs: SubagentCosts
    of: Replay


class SubagentAnswers:
    """Reads the costs of subagents.

    Attributes:
        costs: The costs; None until they are read.
    """

    def __init__(self, host: Host, changes: ChangeListeners, is_live: Callable[[], bool]) -> None:
        """Start without costs; `is_live` returns True while the open session is being written."""
        self._host, self._changes, self._is_live = host, changes, is_live
        self._know_nothing()

    def _know_nothing(self) -> None:
        self.costs: SubagentCosts | None = None
        self._reader: SubagentReader | None = None
        self._newest: Replay | None = None
        self._read_of: Replay | None = None
        self._timer: Stoppable | None = None
        self._is_reading = False

    def forget(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._host.stop(_GROUP)
        self._know_nothing()

    def take(self, baseline: Replay) -> None:
        """Schedule reading for a newer state of the session.

        Args:
            baseline: Replay with nothing cut, with the session, its prices and its prompt cache.
        """
        self._newest = baseline
        if baseline is not self._read_of and self._timer is None and not self._is_reading:
            self._timer = self._host.later(SECONDS_TO_REST, self._read)

    def _read(self) -> None:
        self._timer, of, known = None, self._newest, self._reader
        if of is None:
            return

        def work(post: Post[_Found], is_cancelled: IsCancelled) -> None:
            from inspector.replay.subagents import SubagentReader

            reader = SubagentReader() if known is None else known
            yielding, inputs = YieldingTask(is_cancelled), of.inputs
            costs = reader.read(
                inputs.history.session,
                inputs.pricing,
                cache=inputs.cache,
                counter=inputs.table.counter,
                is_cancelled=yielding.is_cancelled,
            )
            if costs is not None:
                post(_Found(reader, costs, of))

        self._is_reading = True
        self._host.run(work, self._take, group=_GROUP, description="read subagents", failed=self._fail)

    def _fail(self) -> None:
        self._is_reading, self._reader, self._read_of = False, None, self._newest

    def _take(self, found: _Found) -> None:
        self._is_reading, self._reader, self._read_of = False, found.reader, found.of
        if found.costs != self.costs:
            self.costs = found.costs
            self._changes.publish(Change.ANSWERS)
        is_running = self._is_live() or time() - found.reader.last_change() < LIVE_SECONDS
        if self._newest is not found.of or is_running:
            self._timer = self._host.later(SECONDS_BETWEEN_READS, self._read)
