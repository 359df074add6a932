"""Token counting of an open session in a thread: partial counts are replayed at intervals, the rest is estimated.

Heavy modules are imported within functions to keep the first paint fast.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from inspector.ui.controller.host import Change, IsCancelled, OpenSession, Post
from inspector.ui.controller.jobs import JobOutput

if TYPE_CHECKING:
    from inspector.session.model import Session
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.controller.replaying import Replaying

SECONDS_BETWEEN_REPLAYS = 0.5
"""Minimum seconds between replays of partial counts."""
SHARE_OF_REPLAYS = 10
"""Minimum ratio of counting time to replay time."""


class TokensCounted(JobOutput, frozen=True):
    """Token counts so far.

    Attributes:
        session: The session.
        table: The counts.
        fraction: Counted fraction of the text.
        is_final: Counting is complete or was stopped.
    """

    session: Session
    table: TokenTable
    fraction: float
    is_final: bool


class CountingStage(Enum):
    """Stage of token counting."""

    NONE = auto()
    """Everything is counted, or the rest stays estimated."""
    AWAITING = auto()
    """The tokenizer is loading."""
    OUTDATED = auto()
    """The tokenizer is loading and the session has grown; counting restarts once it is loaded."""
    UNDER_WAY = auto()
    """The tokenizer is loaded and texts are being counted."""

    @property
    def awaits_tokenizer(self) -> bool:
        """True while the tokenizer is loading, when a cancelled count would have to load it again."""
        return self in (CountingStage.AWAITING, CountingStage.OUTDATED)


class Counting:
    """Counts the tokens of an open session as it grows.

    Attributes:
        stage: Current stage.
    """

    def __init__(self, opened: OpenSession, replays: Replaying) -> None:
        self._opened = opened
        self._replays = replays
        self.forget()

    def forget(self) -> None:
        self.stage = CountingStage.NONE
        self._is_advised = False

    @property
    def is_under_way(self) -> bool:
        return self.stage is not CountingStage.NONE

    def begin(self) -> None:
        opened = self._opened
        if opened.session is None:
            return
        self.stage = CountingStage.AWAITING
        work = partial(count_tokens, opened.session, opened.table)
        opened.host.run(work, self._take, group="count", description="count tokens", failed=self._end)

    def restart(self) -> None:
        """Drop all counts without waiting for running work, because the file was rewritten."""
        self._opened.host.stop("count")
        self._opened.table, self.stage = None, CountingStage.UNDER_WAY

    def count_appended(self, session: Session) -> None:
        """Count the tokens of appended messages once they are on the screen.

        A session that grows quickly would cancel every count before its tokenizer is loaded.
        """
        if self.stage.awaits_tokenizer:
            self.stage = CountingStage.OUTDATED
        else:
            self._opened.host.after_frame(partial(self._begin_newest, session))

    def _begin_newest(self, session: Session) -> None:
        if self._opened.session is session:
            self.begin()

    def stop(self) -> None:
        """Stop counting; the rest stays estimated."""
        self._end()
        opened = self._opened
        # Estimates everything if nothing was counted yet: a replay needs a table.
        work = partial(take_known_counts, opened.session, opened.table)
        opened.host.run(work, self._take, group="count", description="estimate tokens")

    def _end(self) -> None:
        self.stage = CountingStage.NONE
        self._opened.is_opening = False
        self._opened.report_progress("counting", None)

    def _take(self, counted: TokensCounted) -> None:
        opened = self._opened
        if counted.session is not opened.session:
            if self.stage is CountingStage.OUTDATED:
                opened.table = counted.table
                self.begin()
            return
        opened.table = counted.table
        if counted.is_final:
            self._end()
            self._advise(counted.table)
        else:
            self.stage = CountingStage.UNDER_WAY
            opened.report_progress("counting", counted.fraction, "esc stops")
        wait = max(SECONDS_BETWEEN_REPLAYS, SHARE_OF_REPLAYS * self._replays.took)
        if counted.is_final or monotonic() - self._replays.began > wait:
            opened.changes.publish(Change.SESSION)
            opened.request_replay()

    def _advise(self, table: TokenTable) -> None:
        """Show once how to get exact counts, if these are estimates."""
        if table.counter.advice and not self._is_advised:
            self._is_advised = True
            self._opened.host.show_notice(table.counter.advice)


def count_tokens(
    session: Session, previous: TokenTable | None, post: Post[TokensCounted], is_cancelled: IsCancelled
) -> None:
    """Count uncounted texts and post the table as it fills."""
    from inspector.tokens.counter import load_counter
    from inspector.tokens.token_table import count_session

    counter = previous.counter if previous is not None and previous.counter.is_exact_tokenizer else load_counter()
    fraction = 0.0
    table = None

    def progress(done: int, total: int) -> None:
        nonlocal fraction
        fraction = done / total if total else 1.0

    for newer in count_session(session, counter, previous=previous, progress=progress, cancelled=is_cancelled):
        if table is not None:
            post(TokensCounted(session, table, fraction, is_final=False))
        table = newer
    if table is not None:
        post(TokensCounted(session, table, 1.0, is_final=True))


def take_known_counts(
    session: Session | None,
    previous: TokenTable | None,
    post: Post[TokensCounted],
    is_cancelled: IsCancelled,  # noqa: ARG001  short
) -> None:
    """Post a table of the counts so far, with estimates for the rest."""
    if session is not None:
        count_tokens(session, previous, post, lambda: True)
