"""Counting the tokens of an open session: in a thread, what is counted replayed now and then, the rest estimated.

Heavy modules are imported within the functions, so that the first paint waits for none of them.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from inspector.ui.controller.changes import Change
from inspector.ui.controller.jobs import JobFound

if TYPE_CHECKING:
    from inspector.session.model import Session
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.controller.host_protocols import IsCancelled, OpenSession, Post
    from inspector.ui.controller.replaying import Replaying

SECONDS_BETWEEN_REPLAYS = 0.5
"""What has been counted is replayed no more often."""
SHARE_OF_REPLAYS = 10
"""Counting goes on for so many times as long as a replay took, before what has been counted is replayed."""


class TokensCounted(JobFound, frozen=True):
    """Tokens as far as they have been counted.

    Attributes:
        session: Whose tokens.
        table: The counts.
        fraction: How much of the text was counted.
        is_final: Nothing is left to count, or counting was stopped.
    """

    session: Session
    table: TokenTable
    fraction: float
    is_final: bool


class CountingStage(Enum):
    """Whether tokens are being counted, and what is waited for."""

    NONE = auto()
    """Everything is counted, or the rest stays estimated."""
    AWAITING = auto()
    """The tokenizer is not there yet."""
    OUTDATED = auto()
    """The tokenizer is not there yet, and the session has grown since: as soon as it is, counting begins anew."""
    UNDER_WAY = auto()
    """The tokenizer is there, and texts are being counted."""

    @property
    def awaits_tokenizer(self) -> bool:
        """Whether the tokenizer is not there yet, so that counting called off now would have to build it again."""
        return self in (CountingStage.AWAITING, CountingStage.OUTDATED)


class Counting:
    """Counts the tokens of an open session, and of what is added to it.

    Attributes:
        stage: How far it has come.
    """

    def __init__(self, opened: OpenSession, replays: Replaying) -> None:
        """Count nothing yet.

        Args:
            opened: The session, whose table is replaced as it is counted.
            replays: Replays its plan.
        """
        self._opened = opened
        self._replays = replays
        self.forget()

    def forget(self) -> None:
        """The session is another one."""
        self.stage = CountingStage.NONE
        self._is_advised = False

    @property
    def is_under_way(self) -> bool:
        """Whether tokens are being counted."""
        return self.stage is not CountingStage.NONE

    def begin(self) -> None:
        """Count what was not counted yet."""
        opened = self._opened
        if opened.session is None:
            return
        self.stage = CountingStage.AWAITING
        work = partial(count_tokens, opened.session, opened.table)
        opened.host.run(work, self._take, group="count", description="count tokens", failed=self._end)

    def begin_anew(self) -> None:
        """What was counted is of a session that was written anew: what comes of it must not be waited for."""
        self._opened.host.stop("count")
        self._opened.table, self.stage = None, CountingStage.UNDER_WAY

    def go_on(self, session: Session) -> None:
        """Count what was added to a session, once that is on the screen.

        One that grows quickly would call every count off before its tokenizer is there.
        """
        if self.stage.awaits_tokenizer:
            self.stage = CountingStage.OUTDATED
        else:
            self._opened.host.after_frame(partial(self._begin_newest, session))

    def _begin_newest(self, session: Session) -> None:
        if self._opened.session is session:
            self.begin()

    def stop(self) -> None:
        """Leave the rest of the session estimated."""
        self._end()
        opened = self._opened
        # All of it, where nothing was counted yet: without a table nothing can be replayed.
        work = partial(take_known_counts, opened.session, opened.table)
        opened.host.run(work, self._take, group="count", description="estimate tokens")

    def _end(self) -> None:
        self.stage = CountingStage.NONE
        self._opened.is_opening = False
        self._opened.tell_progress("counting", None)

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
            opened.tell_progress("counting", counted.fraction, "esc stops")
        wait = max(SECONDS_BETWEEN_REPLAYS, SHARE_OF_REPLAYS * self._replays.took)
        if counted.is_final or monotonic() - self._replays.began > wait:
            opened.changes.publish(Change.SESSION)
            opened.request_replay()

    def _advise(self, table: TokenTable) -> None:
        """Tell once how to get exact counts, where these are none."""
        if table.counter.advice and not self._is_advised:
            self._is_advised = True
            self._opened.host.tell(table.counter.advice)


def count_tokens(
    session: Session, previous: TokenTable | None, post: Post[TokensCounted], is_cancelled: IsCancelled
) -> None:
    """Count what was not counted before, and post the table as it fills."""
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
    is_cancelled: IsCancelled,  # noqa: ARG001  soon done
) -> None:
    """Count no more, and post a table of what is known; the rest is estimated."""
    if session is not None:
        count_tokens(session, previous, post, lambda: True)
