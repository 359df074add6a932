"""What the open session runs in: threads for what takes longer than a frame, and the frames of whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from inspector.replay.assumptions import Assumptions
    from inspector.session.model import Session
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.controller.changes import ChangeListeners
    from inspector.ui.outcome import Outcome

Result = TypeVar("Result")

Post = Callable[[Result], object]
"""Takes a result, frozen, from any thread. Of results with `only_newest_counts` it may pass over all but the last."""
IsCancelled = Callable[[], bool]
"""True when nobody waits for the result any more."""
Work = Callable[[Post[Result], IsCancelled], None]
"""Runs in a thread, touches nothing that is shown, and posts what it finds."""


class Stoppable(Protocol):
    """Something that will happen unless it is stopped."""

    def stop(self) -> object:
        """Let it not happen."""


class Jobs(Protocol):
    """Runs work in threads, and hands over what comes of it where the screen is drawn."""

    def run(
        self,
        work: Work[Result],
        take: Callable[[Result], object],
        *,
        group: str,
        description: str,
        failed: Callable[[], object] | None = None,
    ) -> None:
        """Run something in a thread. A newer run of a group calls off the one before it, whose results are dropped.

        Args:
            work: What is done.
            take: Takes each result, one after another; may be a coroutine function.
            group: What is done one at a time.
            description: What it is, as an infinitive: "read session.jsonl". A failure is told with it.
            failed: Called when the work has failed, before that is told.
        """

    def stop(self, group: str) -> None:
        """Call off what runs in a group, and drop what comes of it."""


class Host(Jobs, Protocol):
    """Where a session is open: what shows it, or a test."""

    def later(self, seconds: float, do: Callable[[], object]) -> Stoppable:
        """Do something after a while."""

    def after_frame(self, do: Callable[[], object]) -> None:
        """Do something once everything that is to be shown is on the screen; may be a coroutine function."""

    def hold_frame(self) -> None:
        """Paint nothing until the next `one_frame`, or for a few frames at most."""

    def one_frame(self) -> AbstractAsyncContextManager[None]:
        """Paint together what is changed within, and what was held back."""

    async def take_newest_move(self) -> None:
        """Let input that was read meanwhile come first."""

    def warm_up(self) -> None:
        """Import what will show rows; called in the thread that reads a session, so that nobody waits for it."""

    def warm_up_rest(self) -> None:
        """Import what will show the rest of a session; called in that thread, once its first rows are painted."""

    async def make_rows(self) -> None:
        """Make what shows rows, before there are any."""

    async def make_room(self) -> None:
        """Make what shows the rest of a session, before it is shown."""

    def tell(self, notice: str, *, is_problem: bool = False, is_over: bool = False) -> None:
        """Tell the user something; may hold session text.

        Args:
            notice: What it is.
            is_problem: It went wrong.
            is_over: The problem told before it is one no longer.
        """


class OpenSession(Protocol):
    """The open session as who works on it sees it; attributes as of `SessionController`."""

    host: Host
    changes: ChangeListeners
    session: Session | None
    history: History | None
    table: TokenTable | None
    outcome: Outcome | None
    call: int | None
    given_terms: Assumptions | None
    is_opening: bool

    @property
    def plan(self) -> Plan | None:
        """The plan on the screen; None before there is one."""

    def tell_progress(self, what: str, fraction: float | None, stop: str = "") -> None:
        """Show how far some work has come, 0 to 1, None for done, and how to stop it."""

    def request_replay(self) -> None:
        """Have the plan replayed."""
