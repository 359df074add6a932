"""Execution of jobs on many sessions: in this process, in worker processes, or on a cluster (`cluster_executor`).

All executors take the same jobs and return the same results as they finish. A process that dies during a session causes
a retry of that session; a session that kills its process every time is reported as lost. Ctrl-C ends the work and keeps
finished results; a second Ctrl-C ends the program.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context, resource_tracker
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from inspector.cli.exit_codes import TRACEBACK_VARIABLE, describe_bug
from inspector.cli.output import ProgressLine
from inspector.errors import InspectorError
from inspector.process_memory import too_little_memory, tune_gc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess
    from pathlib import Path
    from types import FrameType, TracebackType


Worked = TypeVar("Worked")

MOST_TRIES: Final = 3
"""Maximum attempts on a session that kills its process."""

LOOK_SECONDS: Final = 0.1
"""Seconds between checks for Ctrl-C while waiting for results."""

GRACE_SECONDS: Final = 10.0
"""Seconds to wait for running jobs after the time limit: killing a process loses its cached sessions."""

CTRL_C: Final = "ctrl-c"


@dataclass(frozen=True, slots=True)
class Job(Generic[Worked]):
    """Work on one session. The job and its result are sent between processes.

    Attributes:
        path: The session.
        work: A module-level function.
        arguments: Its arguments.
    """

    path: Path
    work: Callable[..., Worked]
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class JobLost:
    """A session that cannot be processed: it kills its process, or a bug ends the work on it.

    Attributes:
        problem: Description in one line.
    """

    problem: str


@dataclass(frozen=True, slots=True)
class JobError:
    """Exception of a job, sent to the requesting process.

    Attributes:
        error: The exception.
        place: Its traceback.
        problem: Description in one line.
    """

    error: Exception
    place: str
    problem: str


TOO_LITTLE_MEMORY: Final = JobLost("needs more memory than available; if `ulimit -v` limits it, raise the limit")
ENDED: Final = JobLost(f"the process that read it died {MOST_TRIES} times; possibly out of memory")


class SessionExecutor(ABC):
    """Executor of jobs on sessions. Use it as a context manager; leaving it ends everything it started.

    Attributes:
        ended: Reason for an early end, in a few words; empty while the work continues.
    """

    def __init__(self) -> None:
        self.ended = ""
        self._interrupts = 0
        self._raises = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._close()
        finally:
            if self._before is not None:
                signal.signal(signal.SIGINT, self._before)

    def finished(
        self, jobs: Sequence[Job[Worked]], until: float = math.inf, *, stays: bool = False
    ) -> Iterator[tuple[int, Worked | JobLost]]:
        """Run jobs.

        Args:
            jobs: The jobs.
            until: Time limit on the monotonic clock; running jobs get a little longer.
            stays: Send a session to the process that had it before, which caches it.

        Yields:
            The index of a job and its result, as jobs finish, in any order. Fewer than all if the time limit is reached
            or the work ended; `ended` distinguishes the two.
        """
        for index, outcome in self._outcomes(jobs, until, stays=stays):
            if isinstance(outcome, JobError):
                if isinstance(outcome.error, InspectorError) or os.environ.get(TRACEBACK_VARIABLE):
                    outcome.error.add_note(outcome.place)
                    raise outcome.error
                yield index, JobLost(outcome.problem)
            else:
                yield index, outcome

    @abstractmethod
    def _outcomes(
        self, jobs: Sequence[Job[Worked]], until: float, *, stays: bool
    ) -> Iterator[tuple[int, Worked | JobLost | JobError]]: ...

    @abstractmethod
    def _close(self) -> None:
        """Stop everything that was started."""

    def _is_over(self, until: float) -> bool:
        return bool(self.ended) or time.monotonic() >= until

    def _is_past_grace(self, until: float) -> bool:
        """Return True if the executor no longer waits even for running jobs."""
        return self._is_over(until if self.ended else until + GRACE_SECONDS)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  signal handler signature
        self._interrupts += 1
        self.ended = self.ended or CTRL_C
        if self._interrupts > 1 or self._raises:
            raise KeyboardInterrupt


class InProcessExecutor(SessionExecutor):
    """Execution in this process, one session after another. A crash ends the program."""

    def _outcomes(
        self, jobs: Sequence[Job[Worked]], until: float, *, stays: bool
    ) -> Iterator[tuple[int, Worked | JobLost | JobError]]:
        del stays
        for index, job in enumerate(jobs):
            if self._is_over(until):
                return
            try:
                self._raises = True
                outcome = outcome_of(job)
            except KeyboardInterrupt:
                if self._interrupts > 1:
                    raise
                return
            finally:
                self._raises = False
            yield index, outcome

    def _close(self) -> None:
        """Do nothing: nothing was started."""


class ProcessExecutor(SessionExecutor):
    """Execution in worker processes, each on one session at a time."""

    def __init__(self, processes: int) -> None:
        """Create the executor; processes start with the first jobs.

        Args:
            processes: Number of processes, at least 1.
        """
        super().__init__()
        self._lanes = [_Worker() for _ in range(max(processes, 1))]
        self._home: dict[Path, _Worker] = {}

    def _outcomes(
        self, jobs: Sequence[Job[Worked]], until: float, *, stays: bool
    ) -> Iterator[tuple[int, Worked | JobLost | JobError]]:
        waiting = _Waiting([job.path for job in jobs], self._lanes, self._home if stays else None)
        tries = [0] * len(jobs)
        running: dict[_Worker, int] = {}
        try:
            while True:
                if not self._is_over(until):
                    self._hand_out(jobs, waiting, running)
                if not running or self._is_past_grace(until):
                    return
                for lane in _ready(running, LOOK_SECONDS):
                    index = running.pop(lane)
                    received = lane.received()
                    tries[index] += 1
                    if received is not None:
                        yield index, received[0]
                    elif tries[index] < MOST_TRIES:
                        waiting.put_back(index, lane)
                    else:
                        yield index, ENDED
        finally:
            for lane in running:
                lane.end()

    def _hand_out(self, jobs: Sequence[Job[Worked]], waiting: _Waiting, running: dict[_Worker, int]) -> None:
        for lane in self._lanes:
            while lane not in running and (index := waiting.next(lane)) is not None:
                if lane.sent(jobs[index]):
                    running[lane] = index
                else:
                    waiting.put_back(index, lane)

    def _close(self) -> None:
        for lane in self._lanes:
            lane.end()


class _Waiting:
    """Pending jobs, as indices."""

    def __init__(self, paths: Sequence[Path], lanes: Sequence[_Worker], home: dict[Path, _Worker] | None) -> None:
        self._paths = paths
        self._home = home
        self._anywhere: deque[int] = deque()
        self._at: dict[_Worker, deque[int]] = {lane: deque() for lane in lanes}
        for index, path in enumerate(paths):
            at = None if home is None else home.get(path)
            (self._anywhere if at is None else self._at[at]).append(index)

    def next(self, lane: _Worker) -> int | None:
        """Return a process's next job; None if there is none for it."""
        if self._at[lane]:
            return self._at[lane].popleft()
        while self._anywhere:
            index = self._anywhere.popleft()
            # The process of a session's first job gets its other jobs too.
            home = lane if self._home is None else self._home.setdefault(self._paths[index], lane)
            if home is lane:
                return index
            self._at[home].append(index)
        return None

    def put_back(self, index: int, lane: _Worker) -> None:
        """Return a job to its process as the next one."""
        self._at[lane].appendleft(index)


def _ready(running: dict[_Worker, int], seconds: float) -> list[_Worker]:
    found = connection.wait([lane.pipe for lane in running if lane.pipe is not None], max(seconds, 0))
    return [lane for lane in running if lane.pipe in found]


class _Worker:
    """A process that is started on demand, and restarted after it died."""

    def __init__(self) -> None:
        self.pipe: Connection[Any, Any] | None = None
        self._process: SpawnProcess | None = None

    def sent(self, job: Job[Any]) -> bool:
        """Send a job; return False if the process is gone."""
        if self.pipe is None:
            self._start()
        try:
            if self.pipe is not None:
                self.pipe.send(job)
                return True
        except (BrokenPipeError, ConnectionResetError):
            self.end()
        return False

    def received(self) -> tuple[Any] | None:
        """Return the job's result in a 1-tuple; None if the process died."""
        try:
            return None if self.pipe is None else self.pipe.recv()
        except (EOFError, OSError):
            self.end()
            return None

    def end(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        if self.pipe is not None:
            self.pipe.close()
        self._process = self.pipe = None

    def _start(self) -> None:
        # Spawn, not fork: the tokenizer and numpy run threads, which a fork would leave in an undefined state.
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with without_ctrl_c():
            self._process.start()
        theirs.close()  # closed here to detect the end of the process


@contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Shield processes and threads started here from Ctrl-C, which is handled by the waiting process."""
    resource_tracker.ensure_running()  # would unblock Ctrl-C if started later
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection[Any, Any]) -> None:
    """Run one job after another until the other process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tune_gc()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send((outcome_of(pipe.recv()),))


def outcome_of(job: Job[Worked]) -> Worked | JobLost | JobError:
    """Return the result, loss or exception of a job."""
    shown, ProgressLine.is_shown = ProgressLine.is_shown, False
    try:
        return job.work(*job.arguments)
    except MemoryError:
        return TOO_LITTLE_MEMORY
    except Exception as error:  # noqa: BLE001  reported by the requesting process
        return JobError(error, traceback.format_exc(), too_little_memory(error) or describe_bug(error))
    finally:
        ProgressLine.is_shown = shown
