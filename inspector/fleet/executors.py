"""Execution of jobs on many sessions: in this process, in worker processes, or on a dask cluster.

All executors take the same jobs and return the same results as they finish. A process that dies during a session causes
a retry of that session; a session that kills its process every time is reported as lost. Ctrl-C ends the work and keeps
finished results; a second Ctrl-C ends the program.
"""

from __future__ import annotations

import logging
import math
import os
import queue
import signal
import socket
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter, deque
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context, resource_tracker
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Self, TypeVar

from inspector.errors import TRACEBACK_VARIABLE, InspectorError, describe_bug
from inspector.fleet.result_cache import code_versions
from inspector.process_memory import too_little_memory, tune_gc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess
    from pathlib import Path
    from types import FrameType, TracebackType

    Advance = Callable[[int, int], object]
    """Receives the amount done and the total, in any unit."""
    Progress = Callable[[str], AbstractContextManager[Advance]]
    """Announces work by its description."""


Worked = TypeVar("Worked")

MOST_TRIES: Final = 3
"""Maximum attempts on a session that kills its process."""

LOOK_SECONDS: Final = 0.1
"""Seconds between checks for Ctrl-C while waiting for results."""

GRACE_SECONDS: Final = 10.0
"""Seconds to wait for running jobs after the time limit: killing a process loses its cached sessions."""

CTRL_C: Final = "ctrl-c"


def no_progress(doing: str) -> AbstractContextManager[Advance]:
    del doing
    return nullcontext(lambda done, total: None)  # noqa: ARG005  the signature of `Advance`


class FleetError(InspectorError):
    """Work on many sessions that has no result."""

    advice = "pass sessions, or a folder of sessions"


class EndedEarlyError(FleetError):
    """Work that ended before there was a result."""

    advice = "run it again without interruption"


def missing(count: int, total: int, ended: str) -> str:
    """Return a sentence on unprocessed sessions and the reason."""
    return f"{count:,} of {total:,} sessions are missing: {ended} ended the work early"


@dataclass(frozen=True, slots=True)
class Job(Generic[Worked]):
    """Work on one session by a module-level function. The job and its result are sent between processes."""

    path: Path
    work: Callable[..., Worked]
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class JobLost:
    """A session that cannot be processed: it kills its process, or a bug ends the work on it."""

    problem: str


@dataclass(frozen=True, slots=True)
class JobError:
    """Exception of a job with its traceback, sent to the requesting process."""

    error: Exception
    place: str
    problem: str


TOO_LITTLE_MEMORY: Final = JobLost("needs more memory than available; if `ulimit -v` limits it, raise the limit")
FEW_BYTES: Final = 1_000_000
"""Bytes of sessions that are processed faster than two processes start, some 0.8 seconds."""

ENDED: Final = JobLost(f"the process that read it died {MOST_TRIES} times; possibly out of memory")


class SessionExecutor(ABC):
    """Executor of jobs. Leaving the context ends all work; `ended` is why it ended early, empty before."""

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
        """Create the executor; its processes, at least 1, start with the first jobs."""
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
    try:
        return job.work(*job.arguments)
    except MemoryError:
        return TOO_LITTLE_MEMORY
    except Exception as error:  # noqa: BLE001  reported by the requesting process
        return JobError(error, traceback.format_exc(), too_little_memory(error) or describe_bug(error))


MISSING: Final = (
    "a cluster needs an optional part of the program; install it with: pip install 'session-inspector[fleet]'"
)

CONNECT_SECONDS: Final = 20

AHEAD: Final = 4
"""Jobs per worker thread, including the running one, so that it never idles."""

COUNT_INTERVAL: Final = 2.0

RESULT_SECONDS: Final = 10
"""Timeout for fetching a finished job's result."""

WITHOUT_WORKERS_SECONDS: Final = 60.0
"""Seconds without any worker before the work ends; a crashed worker restarts within a few."""

ALLOWED_DEATHS: Final = 1
"""Worker deaths under a job of a local cluster before it is retried alone."""

TRIES_ALONE: Final = 2
"""Retries of a job alone: a worker killed by another job may still appear alive at the first one."""

LOST_WORKER_SECONDS: Final = 3600

OWN_CLUSTER: Final = {
    "distributed.scheduler.allowed-failures": ALLOWED_DEATHS,
    # The nanny restarts a dead worker, which on a busy machine takes longer than the default timeout before both are
    # given up.
    "distributed.deploy.lost-worker-timeout": LOST_WORKER_SECONDS,
    # A worker caches as many prepared sessions as it is sized for; it must not pause for that.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.admin.system-monitor.gil.enabled": False,
}
"""Dask settings for a local cluster."""


class ClusterError(FleetError):
    """A cluster that is not available or cannot be used."""

    advice = "see `inspector tune --help` for other ways to run the work"


_one_at_a_time = threading.Lock()
"""Lock for the working thread of a worker: prepared sessions are shared by all threads."""


class ClusterExecutor(SessionExecutor):
    """Execution on a dask.distributed cluster: an existing one, or local worker processes.

    Workers may join and leave at any time. They run any code they receive, so a local cluster only listens on this
    machine and requires its certificate, which is generated in memory and never written.
    """

    def __init__(self, client: Any, cluster: Any, name: str, settings: ExitStack | None = None) -> None:
        super().__init__()
        self._client, self._cluster, self._name = client, cluster, name
        self._settings = settings or ExitStack()
        self._home: dict[Path, str] = {}
        self._threads: dict[str, int] = {}
        self._counted = -COUNT_INTERVAL
        self._seen = time.monotonic()

    @classmethod
    def joining(cls, address: str) -> ClusterExecutor:
        """Connect to an existing cluster; raise `ClusterError` without an answer or dask.distributed."""
        distributed = _distributed()
        try:
            _await_greeting(address)
            with without_ctrl_c():
                client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            message = f"--scheduler {address}: no dask scheduler answers there ({str(error) or type(error).__name__})"
            raise ClusterError(message) from None
        return cls(client, None, f"the cluster at {address}")

    @classmethod
    def local(cls, workers: int) -> ClusterExecutor:
        """Start a cluster of local processes; raise `ClusterError` if dask.distributed is not installed."""
        distributed = _distributed()
        import dask

        # Some settings are read whenever a worker ends, so they hold until the cluster is closed.
        with without_ctrl_c(), ExitStack() as settings:
            settings.enter_context(dask.config.set(OWN_CLUSTER))
            try:
                cluster = distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    security=True,
                    silence_logs=logging.CRITICAL,
                )
            except ImportError:
                raise ClusterError(MISSING) from None
            client = distributed.Client(cluster, set_as_default=False)
            return cls(client, cluster, "the cluster", settings.pop_all())

    def _outcomes(
        self, jobs: Sequence[Job[Worked]], until: float, *, stays: bool
    ) -> Iterator[tuple[int, Worked | JobLost | JobError]]:
        waiting, alone = deque(range(len(jobs))), deque[int]()
        tried_alone: Counter[int] = Counter()
        running: dict[Any, _Sent] = {}
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._seen = time.monotonic()
        try:
            while (waiting or alone or running) and not self._is_past_grace(until) and self._has_workers():
                waiting.extendleft(self._left_behind(running))
                if self._is_over(until):
                    waiting.clear()
                    alone.clear()
                    if not running:
                        return
                while waiting and len(running) < sum(self._threads.values()) * AHEAD:
                    self._submit(jobs, waiting.popleft(), running, done, stays=stays)
                # Each job that was running when a worker died must prove alone that it was not the cause.
                if alone and not running:
                    index = alone.popleft()
                    tried_alone[index] += 1
                    self._submit(jobs, index, running, done, stays=False)
                future = _next(done, LOOK_SECONDS)
                if future is None or future not in running:
                    continue
                index = running.pop(future).job
                try:
                    found = self._received(future, jobs[index].path)
                except TimeoutError:
                    # The only worker assigned to it has died since and held it.
                    self._client.cancel([future], force=True)
                    waiting.appendleft(index)
                    continue
                if found is not None:
                    yield index, found[0]
                elif tried_alone[index] == TRIES_ALONE:
                    yield index, ENDED
                else:
                    alone.append(index)
        finally:
            self._client.cancel(list(running), force=True)

    def _submit(
        self,
        jobs: Sequence[Job[Worked]],
        index: int,
        running: dict[Any, _Sent],
        done: queue.SimpleQueue[Any],
        *,
        stays: bool,
    ) -> None:
        home = self._home.get(jobs[index].path) if stays else None
        home = home if home in self._threads else None
        where = {} if home is None else {"workers": [home], "allow_other_workers": True}
        future = self._client.submit(_worked, jobs[index], code_versions(), pure=False, **where)
        running[future] = _Sent(index, home)
        future.add_done_callback(done.put)

    def _left_behind(self, running: dict[Any, _Sent]) -> list[int]:
        """Forget jobs of workers that are gone, and return them: the scheduler would hold them forever."""
        if not self._threads:
            return []
        left = [future for future, sent in running.items() if sent.home is not None and sent.home not in self._threads]
        if left:
            self._client.cancel(left, force=True)
        return [running.pop(future).job for future in left]

    def _received(self, future: Any, path: Path) -> tuple[Any] | None:
        """Return a job's result in a 1-tuple; None if workers died under it.

        Raises:
            ClusterError: The workers run a different version of the program.
            TimeoutError: It is finished, but the result does not arrive.
        """
        from concurrent.futures import CancelledError

        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        try:
            outcome, address, made = future.result(timeout=RESULT_SECONDS)
        except KilledWorker:
            return None
        except TimeoutError:
            raise
        except (CancelledError, FutureCancelledError):
            self.ended = self.ended or f"{self._name}, which disappeared,"
            return None
        except Exception as error:  # noqa: BLE001  any failure of a different installation
            raise self._strange(f"{type(error).__name__}: {error}") from None
        if made is not None:
            theirs = ", ".join(each for each in made if each not in code_versions())
            raise self._strange(theirs or "an older or newer version")
        self._home[path] = address
        return (outcome,)

    def _strange(self, what: str) -> ClusterError:
        return ClusterError(
            f"{self._name} has workers that would compute different figures ({what}); install the same version of "
            "session-inspector and its libraries there"
        )

    def _has_workers(self) -> bool:
        now = time.monotonic()
        if now < self._counted + COUNT_INTERVAL:
            return True
        self._counted = now
        try:
            self._threads = dict(self._client.nthreads())
        except (OSError, ValueError):
            self._threads = {}
        if self._threads:
            self._seen = now
        elif now > self._seen + WITHOUT_WORKERS_SECONDS:
            self.ended = f"{self._name}, which has no workers,"
            return False
        return True

    def _close(self) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
        self._settings.close()


class _Sent(NamedTuple):
    """A submitted job by index, and its assigned worker; None for any."""

    job: int
    home: str | None


def _next(done: queue.SimpleQueue[Any], seconds: float) -> Any:
    try:
        return done.get(timeout=max(seconds, 0.001))
    except queue.Empty:
        return None


def _worked(job: Job[Any], asker: tuple[str, ...]) -> tuple[Any, str, tuple[str, ...] | None]:
    """Run a job on a worker; return its result, the worker, and the worker's versions if they differ."""
    from distributed import get_worker

    address = get_worker().address
    if code_versions() != asker:
        return None, address, code_versions()
    with _one_at_a_time:
        return outcome_of(job), address, None


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ClusterError(MISSING) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    return distributed


def _await_greeting(address: str) -> None:
    """Wait for the first byte, which a scheduler sends without being asked.

    The library's client waits much longer than its timeout for a port that accepts connections and sends nothing. A
    scheduler with TLS waits for the client, so it is not checked.

    Raises:
        OSError: Nothing arrived in time, or nothing listens there.
    """
    from distributed.comm.addressing import get_address_host_port, parse_address

    if parse_address(address)[0] != "tcp":
        return
    with socket.create_connection(get_address_host_port(address), CONNECT_SECONDS) as connection:
        if not connection.recv(1):
            raise ConnectionError("connection closed")


class Execution(NamedTuple):
    """Where work on many sessions runs. Its results are the same for each choice.

    Attributes:
        processes: Number of processes; 0 for this one, None for one per processor, or this one for little work.
        workers: Number of workers of a local dask cluster, instead of processes.
        scheduler: Address of an existing dask cluster, instead of processes.
    """

    processes: int | None = None
    workers: int | None = None
    scheduler: str | None = None

    def executor(self, sessions: int, size: float = math.inf) -> SessionExecutor:
        """Choose an executor, this process for few bytes in `size`; raise `ClusterError` without the cluster."""
        if self.scheduler is not None or self.workers is not None:
            return (
                ClusterExecutor.joining(self.scheduler)
                if self.scheduler is not None
                else ClusterExecutor.local(self.workers or 1)
            )
        if self.processes == 0 or (self.processes is None and size < FEW_BYTES):
            return InProcessExecutor()
        from inspector.session.reading_process import processors

        return ProcessExecutor(min(self.processes or processors(), sessions))
