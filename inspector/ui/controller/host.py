"""Environment of an open session: threads, frames, change listeners and yielding of background work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from inspector.replay.assumptions import Assumptions
    from inspector.session.model import Session
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.outcome import Outcome


Result = TypeVar("Result")

Post = Callable[[Result], object]
"""Accepts a frozen result from any thread. May drop all but the last result with `only_newest_counts`."""
IsCancelled = Callable[[], bool]
"""Returns True once the result is no longer needed."""
Work = Callable[[Post[Result], IsCancelled], None]
"""Runs in a thread, touches no widgets, and posts its results."""


class Stoppable(Protocol):
    """A pending call that can be cancelled."""

    def stop(self) -> object:
        """Cancel the call."""


class Jobs(Protocol):
    """Runs work in threads and delivers the results in the screen's message loop."""

    def run(
        self,
        work: Work[Result],
        take: Callable[[Result], object],
        *,
        group: str,
        description: str,
        failed: Callable[[], object] | None = None,
    ) -> None:
        """Run work in a thread. A newer run of a group cancels the previous one and drops its results.

        Args:
            work: The work.
            take: Receives each result in order; may be a coroutine function.
            group: Group with at most one active run.
            description: Infinitive phrase for error messages: "read session.jsonl".
            failed: Called on failure, before it is shown.
        """

    def stop(self, group: str) -> None:
        """Cancel a group's run and drop its results."""


class Host(Jobs, Protocol):
    """Environment of an open session: its screen, or a test."""

    def later(self, seconds: float, do: Callable[[], object]) -> Stoppable:
        """Call a function after a delay."""

    def after_frame(self, do: Callable[[], object]) -> None:
        """Call a function after the next complete frame; may be a coroutine function."""

    def hold_frame(self) -> None:
        """Suspend painting until the next `one_frame`, for a few frames at most."""

    def one_frame(self) -> AbstractAsyncContextManager[None]:
        """Paint all changes made within the context in one frame, including changes held back."""

    async def take_newest_move(self) -> None:
        """Process waiting input first."""

    def warm_up(self) -> None:
        """Import the modules that show rows; called in the reading thread, so that the screen does not wait for it."""

    def warm_up_rest(self) -> None:
        """Import the modules that show the rest of a session; called in the reading thread after the first rows."""

    async def mount_rows(self) -> None:
        """Mount the rows' widget."""

    async def mount_panes(self) -> None:
        """Mount the other panes."""

    def show_notice(self, notice: str, *, is_problem: bool = False, is_over: bool = False) -> None:
        """Show a notice, which may contain session text; `is_over` means that the problem reported last is resolved."""


class OpenSession(Protocol):
    """The open session as seen by its workers; attributes as in `SessionController`."""

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
        """The current plan; None before there is one."""

    def report_progress(self, what: str, fraction: float | None, stop: str = "") -> None:
        """Report the fraction (0 to 1, None when done) of some work, and a hint on how to stop it."""

    def request_replay(self) -> None:
        """Request a replay of the plan."""


class Change(Enum):
    """Controller attributes that changed."""

    FORGOTTEN = auto()
    """All: another file is about to be opened."""
    PROGRESS = auto()
    """`progress`: work advanced or finished."""
    STATE = auto()
    """`state`: state of the file."""
    SESSION = auto()
    """`session`, `history`, `rows` or `table`: new rows, counts or metadata."""
    READY = auto()
    """The whole file was read for the first time; `kept` has the saved state."""
    PLAN = auto()
    """`plans`: the current plan, its letter or its name."""
    EDITED = auto()
    """`plans`, by the user; the change should be saved."""
    REPLAYING = auto()
    """`replays.is_long`."""
    OUTCOME = auto()
    """`outcome`: a replay finished."""
    CALL = auto()
    """`call` and with it `outcome`: another call was selected."""
    COSTS = auto()
    """`projection`, `terms` or `runs_per_day`: savings over many runs."""
    RISKS = auto()
    """`risks`."""
    SIZES = auto()
    """`sizes`: sizes of the results that each limit applies to."""
    OTHER_RESULT = auto()
    """`other_result`: result of the other plan."""
    ANSWERS = auto()
    """`answers` or `subagent_costs`: spending, cache misses, the best plan, or the costs of subagents."""
    SUBAGENTS = auto()
    """`subagents`: one was folded or unfolded, or more was read."""
    SHOWN = auto()
    """Display options of the session; published by the panes."""


class ChangeListeners:
    """Notifies listeners in the order of their registration."""

    def __init__(self) -> None:
        self._listeners: list[Mapping[Change, Callable[[], object]]] = []

    def listen(self, wanted: Mapping[Change, Callable[[], object]]) -> Callable[[], None]:
        """Register callbacks by kind of change.

        Returns:
            A function that removes them.
        """
        self._listeners.append(wanted)
        return partial(self._listeners.remove, wanted)

    def publish(self, change: Change) -> None:
        for wanted in tuple(self._listeners):
            if change in wanted:
                wanted[change]()


SECONDS_AT_WORK: Final = 0.004
"""Seconds of work between two yields."""
SECONDS_TO_YIELD: Final = 0.002
"""Seconds of each yield."""
LONGEST_PAUSE: Final = 0.25
"""Maximum pause between two plans; it lasts as long as the previous replay."""


class YieldingTask:
    """Yields to other threads whenever its work checks for cancellation."""

    def __init__(self, is_cancelled: IsCancelled) -> None:
        self._is_cancelled = is_cancelled
        self._yielded = monotonic()

    def is_cancelled(self) -> bool:
        """Return True if the work is cancelled, yielding to other threads at intervals."""
        if monotonic() - self._yielded > SECONDS_AT_WORK:
            sleep(SECONDS_TO_YIELD)
            self._yielded = monotonic()
        return self._is_cancelled()

    def pause(self, took: float) -> None:
        """Sleep as long as a replay took, up to a maximum."""
        if not self._is_cancelled():
            sleep(min(took, LONGEST_PAUSE))
