"""Subagents with their own files: read in threads, counted, priced and followed."""

from __future__ import annotations

import asyncio
from functools import partial
from time import time
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.files import LIVE_SECONDS
from inspector.ui.controller.host import Change, ChangeListeners, Host, IsCancelled, Jobs, Post, Stoppable, YieldingTask
from inspector.ui.controller.jobs import updates_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from inspector.replay.engine.replay import Replay
    from inspector.replay.sessions import SubagentCosts, SubagentReader
    from inspector.session.follow import Follower
    from inspector.session.model import Session, SessionLink
    from inspector.tokens.counter import Counter
    from inspector.ui.timeline.rows import Key, Rows, Subagent, SubagentPlace


READING = "reading…"


class SubagentRead(NamedTuple):
    """Result of reading a subagent's session.

    Attributes:
        subagent: The session so far; None if it cannot be read.
        problem: The reason in a few words; may contain a path.
    """

    subagent: Subagent | None
    problem: str = ""


class Subagents:
    """Unfolded subagents among the session's rows; none of their tokens is in its prompts."""

    def __init__(self, jobs: Jobs, changes: ChangeListeners) -> None:
        self._jobs = jobs
        self._changes = changes
        self._forget()

    def _forget(self) -> None:
        self._unfolded: frozenset[Key] = frozenset()
        self._read: dict[Key, Subagent] = {}
        self._problems: dict[Key, str] = {}
        self._rows: tuple[tuple[object, ...], Rows] | None = None

    def forget(self) -> None:
        for key in self._unfolded | self._read.keys():
            self._jobs.stop(_group(key))
        self._forget()

    def among(self, rows: Rows) -> Rows:
        """Insert the rows of unfolded subagents; returns the same rows until something changes."""
        if not rows.subagent_rows:
            return rows
        about = (rows, self._unfolded, self._read, self._problems)
        if self._rows is None or any(old is not new for old, new in zip(self._rows[0], about, strict=True)):
            from inspector.ui.timeline.rows import unfolded

            opened = {key: subagent for key, subagent in self._read.items() if key in self._unfolded}
            self._rows = (about, unfolded(rows, opened, self._problems))
        return self._rows[1]

    def fold(self, started: SubagentPlace, counter: Counter | None, *, folded: bool | None) -> None:
        """Fold or unfold a subagent, including nested ones; toggle with None."""
        key = started.key
        is_unfolded = key in self._unfolded
        folds = is_unfolded if folded is None else folded
        if folds is not is_unfolded:
            return
        if folds:
            self._unfolded -= {key}
        else:
            self._unfolded |= {key}
            if key not in self._read:
                self._problems = {**self._problems, key: READING}
                work = partial(read_subagent, started.session, started.link, counter)
                take = partial(self._take, key)
                self._jobs.run(work, take, group=_group(key), description="read a subagent's session")
        self._changes.publish(Change.SUBAGENTS)

    def _take(self, key: Key, result: SubagentRead) -> None:
        others = {each: problem for each, problem in self._problems.items() if each != key}
        if result.subagent is not None:
            self._read, self._problems = {**self._read, key: result.subagent}, others
        else:
            self._problems = {**others, key: result.problem}
            self._unfolded -= {key}
        self._changes.publish(Change.SUBAGENTS)


def _group(key: Key) -> str:
    return f"subagent {key}"


def read_subagent(
    session: Session,
    link: SessionLink,
    counter: Counter | None,
    post: Post[SubagentRead],
    is_cancelled: IsCancelled,
) -> None:
    """Read a subagent's session and post it: with estimated counts, with exact counts, and as it grows."""
    from inspector.errors import SessionError
    from inspector.session.follow import Follower
    from inspector.session.related import locate

    path = locate(session, link)
    if path is None:
        post(SubagentRead(None, "file not found"))
        return
    try:
        follower = Follower(path)
    except SessionError as error:
        post(SubagentRead(None, error.message))
        return
    last: Subagent | None = None
    for last in _states(follower.session, None, counter, is_cancelled):
        post(SubagentRead(last))
    if last is not None and not is_cancelled():
        asyncio.run(_follow(follower, last, post, is_cancelled))


def _states(
    session: Session, before: Subagent | None, counter: Counter | None, is_cancelled: IsCancelled
) -> Iterator[Subagent]:
    """Yield the session with estimated counts, unless seen before, then with all counts."""
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.sessions import calibration_source_of
    from inspector.strategies.history.history import History
    from inspector.tokens.counter import load_counter
    from inspector.tokens.token_table import TokenTable, count_session
    from inspector.ui.timeline.rows import Rows, Subagent

    earlier = None if before is None else before.rows
    rows = Rows.of(History.of(session, None if earlier is None else earlier.history), earlier)
    if before is None:
        yield Subagent(session, rows, TokenTable.estimated(session))
    usable = counter is not None and counter.is_exact_tokenizer
    known = counter if counter is not None and usable else load_counter()
    table = before.table if before is not None and before.table.counter.is_exact_tokenizer else None
    for newer in count_session(session, known, previous=table, cancelled=is_cancelled):
        table = newer
    if table is not None and not is_cancelled():
        history = rows.history
        inputs = ReplayInputs.of(history, table, calibration_source=calibration_source_of(history, table))
        yield Subagent(session, rows, table, inputs.block_tokens, inputs.scale.known.value)


async def _follow(follower: Follower, last: Subagent, post: Post[SubagentRead], is_cancelled: IsCancelled) -> None:
    async for update in updates_until(follower, is_cancelled):
        if update.session is last.session:
            continue
        before, counter = None if update.change == "reloaded" else last, last.table.counter
        for state in _states(update.session, before, counter, is_cancelled):
            last = state
            post(SubagentRead(last))


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
            from inspector.replay.sessions import SubagentReader

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
