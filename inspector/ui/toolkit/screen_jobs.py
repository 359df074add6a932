"""Work in threads with results delivered in a screen's message loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from textual.message import Message
from textual.worker import Worker, get_current_worker

if TYPE_CHECKING:
    from textual.screen import Screen

Result = TypeVar("Result")
IsCancelled = Callable[[], bool]
Work = Callable[[Callable[[Any], object], IsCancelled], None]


class JobRun(Struct, frozen=True, eq=False):
    """One run of some work.

    Attributes:
        group: Group with at most one active run.
        take: Receives each result.
        failed: Called on failure; None for no action.
    """

    group: str
    take: Callable[[Any], object]
    failed: Callable[[], object] | None


class JobResult(Message, bubble=False):
    """A result of a run.

    Attributes:
        run: The run.
        result: The result, frozen. If its class sets `only_newest_counts`, newer results replace older ones.
    """

    def __init__(self, run: JobRun, result: Any) -> None:
        super().__init__()
        self.run = run
        self.result = result

    def can_replace(self, message: Message) -> bool:
        """Return True if both are progress results of the same run, so that only the newest is delivered."""
        return (
            isinstance(message, JobResult)
            and message.run is self.run
            and type(message.result) is type(self.result)
            and getattr(self.result, "only_newest_counts", False)
        )


class ScreenJobs:
    """Runs work in threads and delivers results on a screen, which calls `deliver` and `fail`."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self._runs: dict[str, JobRun] = {}
        self._not_begun: dict[str, list[tuple[Work, JobRun]]] = {}
        """Work of each group's newest run that has not started."""

    def run(
        self,
        work: Callable[[Callable[[Result], object], IsCancelled], None],
        take: Callable[[Result], object],
        *,
        group: str,
        description: str,
        failed: Callable[[], object] | None = None,
    ) -> None:
        """Run work in a thread. A newer run of a group cancels the previous one and drops its results.

        Args:
            work: The work; receives a function to post results and one that returns True once it is cancelled.
            take: Receives each result in order; may be a coroutine function.
            group: Group with at most one active run.
            description: Infinitive phrase for error messages.
            failed: Called on failure, before it is shown.
        """
        self._forget(group)
        self._runs[group] = run = JobRun(group, take, failed)
        self._not_begun[group] = not_begun = [(work, run)]

        # A worker and its task form a reference cycle. To free the session's data without garbage collection, the
        # worker's function holds no reference to the work after it has started.
        def in_thread() -> None:
            worker = get_current_worker()
            begun = not_begun.copy()
            not_begun.clear()
            for do, by in begun:
                do(partial(self._post, by), lambda: worker.is_cancelled)

        self._screen.run_worker(
            in_thread,
            name=group,
            group=group,
            description=description,
            exclusive=True,
            thread=True,
            exit_on_error=False,
        )

    def stop(self, group: str) -> None:
        self._runs.pop(group, None)
        self._forget(group)
        self._screen.workers.cancel_group(self._screen, group)

    def _forget(self, group: str) -> None:
        """Release work that is cancelled before it started."""
        self._not_begun.pop(group, []).clear()

    def _post(self, run: JobRun, result: object) -> None:
        self._screen.post_message(JobResult(run, result))

    async def deliver(self, message: JobResult) -> None:
        """Deliver a result, unless its run was cancelled."""
        if self._runs.get(message.run.group) is message.run:
            taken = message.run.take(message.result)
            if isawaitable(taken):
                await taken

    def fail(self, worker: Worker[Any]) -> None:
        """Handle a failed worker."""
        run = self._runs.get(worker.group)
        if run is not None and run.failed is not None:
            run.failed()
