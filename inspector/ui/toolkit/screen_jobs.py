"""Work in the threads of a screen, whose results the screen takes one after another."""

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
        group: What is done one at a time.
        take: Takes each result.
        failed: Called when the work has failed; None for nothing to be done then.
    """

    group: str
    take: Callable[[Any], object]
    failed: Callable[[], object] | None


class JobResult(Message, bubble=False):
    """Something was found.

    Attributes:
        run: By which run.
        result: What it is, frozen. Of those whose class says `only_newest_counts`, the newest stands for all.
    """

    def __init__(self, run: JobRun, result: Any) -> None:
        super().__init__()
        self.run = run
        self.result = result

    def can_replace(self, message: Message) -> bool:
        """Of results that only tell how far something has come, the newest is enough."""
        return (
            isinstance(message, JobResult)
            and message.run is self.run
            and type(message.result) is type(self.result)
            and getattr(self.result, "only_newest_counts", False)
        )


class ScreenJobs:
    """Runs work in threads, and hands over results in the turn of a screen, which calls `deliver` and `fail`."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self._runs: dict[str, JobRun] = {}
        self._not_begun: dict[str, list[tuple[Work, JobRun]]] = {}
        """The work of a group's newest run, until it begins."""

    def run(
        self,
        work: Callable[[Callable[[Result], object], IsCancelled], None],
        take: Callable[[Result], object],
        *,
        group: str,
        description: str,
        failed: Callable[[], object] | None = None,
    ) -> None:
        """Run something in a thread. A newer run of a group calls off the one before it, whose results are dropped.

        Args:
            work: What is done: it is given what takes its results, and what tells whether anybody waits for them.
            take: Takes each result, one after another; may be a coroutine function.
            group: What is done one at a time.
            description: What it is, as an infinitive. A failure is told with it.
            failed: Called when the work has failed, before that is told.
        """
        self._forget(group)
        self._runs[group] = run = JobRun(group, take, failed)
        self._not_begun[group] = not_begun = [(work, run)]

        # A worker and its task refer to each other until garbage is collected. What it works on is most of what there
        # is of a session, and must not wait for that: the function of the worker holds nothing of it once it began.
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
        """Call off what runs in a group, and drop what comes of it."""
        self._runs.pop(group, None)
        self._forget(group)
        self._screen.workers.cancel_group(self._screen, group)

    def _forget(self, group: str) -> None:
        """Let go of work that is called off before it began."""
        self._not_begun.pop(group, []).clear()

    def _post(self, run: JobRun, result: object) -> None:
        self._screen.post_message(JobResult(run, result))

    async def deliver(self, message: JobResult) -> None:
        """Hand over a result, if anybody still waits for it."""
        if self._runs.get(message.run.group) is message.run:
            taken = message.run.take(message.result)
            if isawaitable(taken):
                await taken

    def fail(self, worker: Worker[Any]) -> None:
        """A worker came to grief."""
        run = self._runs.get(worker.group)
        if run is not None and run.failed is not None:
            run.failed()
