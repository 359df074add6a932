"""Sessions worked on by a cluster of dask.distributed: one that is there, or one of this machine's own processes.

A cluster's workers run what they are sent, so one of this program's own listens on this machine alone and takes nobody
in without its certificate, which is made for it and never written.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import Counter, deque
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from inspector.cli.executors import (
    ENDED,
    LOOK_SECONDS,
    Job,
    Lost,
    Raised,
    SessionExecutor,
    Worked,
    outcome_of,
    without_ctrl_c,
)
from inspector.cli.exit_codes import CommandError
from inspector.cli.kept_results import made_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MISSING: Final = (
    "a cluster needs an optional part of the program; install it with: pip install 'session-inspector[fleet]'"
)

CONNECT_SECONDS: Final = 20

AHEAD: Final = 4
"""Jobs a worker's thread has, the one under way among them: it never waits for the next."""

COUNTED_SECONDS: Final = 2.0
"""How often the workers are counted."""

RESULT_SECONDS: Final = 10
"""So long what came of a job may take to get here once it is done; it is short."""

WITHOUT_WORKERS_SECONDS: Final = 60.0
"""So long a cluster may have no worker before the work ends: one that ended comes back within a few."""

DEATHS: Final = 1
"""So often a worker of a cluster of our own may end under a job before that is tried alone."""

TRIES_ALONE: Final = 2
"""So often is it tried alone: a worker that another job ended may still look alive when the first of these begins."""

LOST_WORKER_SECONDS: Final = 3600

OWN_CLUSTER: Final = {
    "distributed.scheduler.allowed-failures": DEATHS,
    # One that ended is begun anew by what watches it, which on a busy machine takes longer than it is given otherwise
    # before both are given up.
    "distributed.deploy.lost-worker-timeout": LOST_WORKER_SECONDS,
    # A worker keeps sessions ready, as many as it was made for: it is not to pause for that.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.admin.system-monitor.gil.enabled": False,
}
"""Settings of dask for a cluster of this machine's own processes."""

_one_at_a_time = threading.Lock()
"""Held by the one thread of a worker that works: sessions that are kept ready belong to no thread."""


class ClusterExecutor(SessionExecutor):
    """Works on a cluster. Workers that come and go while it works are welcome."""

    def __init__(self, client: Any, cluster: Any, name: str, settings: ExitStack | None = None) -> None:
        super().__init__()
        self._client, self._cluster, self._name = client, cluster, name
        self._settings = settings or ExitStack()
        self._home: dict[Path, str] = {}
        self._threads: dict[str, int] = {}
        self._counted = -COUNTED_SECONDS
        self._seen = time.monotonic()

    @classmethod
    def joining(cls, address: str) -> ClusterExecutor:
        """Use a cluster that is there.

        Raises:
            CommandError: Nothing answers, or what is needed is not installed.
        """
        distributed = _distributed()
        try:
            with without_ctrl_c():
                client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            message = (
                f"--scheduler {address}: no scheduler of dask answers there ({str(error) or type(error).__name__})"
            )
            raise CommandError(message) from None
        return cls(client, None, f"the cluster at {address}")

    @classmethod
    def local(cls, workers: int) -> ClusterExecutor:
        """Start a cluster of processes of this machine.

        Raises:
            CommandError: What is needed is not installed.
        """
        distributed = _distributed()
        import dask

        # Some of them are looked at whenever a worker ends: they hold until the cluster is closed.
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
                raise CommandError(MISSING) from None
            client = distributed.Client(cluster, set_as_default=False)
            return cls(client, cluster, "the cluster", settings.pop_all())

    def _outcomes(
        self, jobs: Sequence[Job[Worked]], until: float, *, stays: bool
    ) -> Iterator[tuple[int, Worked | Lost | Raised]]:
        waiting, alone = deque(range(len(jobs))), deque[int]()
        tried_alone: Counter[int] = Counter()
        running: dict[Any, _Sent] = {}
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._seen = time.monotonic()
        try:
            while (waiting or alone or running) and not self._is_given_up(until) and self._has_workers():
                waiting.extendleft(self._left_behind(running))
                if self._is_over(until):
                    waiting.clear()
                    alone.clear()
                    if not running:
                        return
                while waiting and len(running) < sum(self._threads.values()) * AHEAD:
                    self._submit(jobs, waiting.popleft(), running, done, stays=stays)
                # Whoever was at work where a worker ended has to show by itself that it was not the reason.
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
                    # A worker that ended since held it, and was the only one that was to work it out.
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
        future = self._client.submit(_worked, jobs[index], made_by(), pure=False, **where)
        running[future] = _Sent(index, home)
        future.add_done_callback(done.put)

    def _left_behind(self, running: dict[Any, _Sent]) -> list[int]:
        """Jobs that were to be done where no worker is any more; they are under way no longer.

        Others may do them, but where there was no other when their worker ended, a scheduler lets them wait for ever.
        """
        if not self._threads:
            return []
        left = [future for future, sent in running.items() if sent.home is not None and sent.home not in self._threads]
        if left:
            self._client.cancel(left, force=True)
        return [running.pop(future).job for future in left]

    def _received(self, future: Any, path: Path) -> tuple[Any] | None:
        """What came of a job, alone in a tuple; None where workers ended under it.

        Raises:
            CommandError: The workers cannot do it: they are others than this program.
            TimeoutError: It is done, and does not get here.
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
            self.ended = self.ended or f"{self._name}, which is gone,"
            return None
        except Exception as error:  # noqa: BLE001  whatever keeps another installation from doing it
            raise self._strange(f"{type(error).__name__}: {error}") from None
        if made is not None:
            theirs = ", ".join(each for each in made if each not in made_by())
            raise self._strange(theirs or "an older or newer version")
        self._home[path] = address
        return (outcome,)

    def _strange(self, what: str) -> CommandError:
        return CommandError(
            f"{self._name} has workers that would not work out the same figures ({what}); install the same version of "
            "session-inspector and its libraries there"
        )

    def _has_workers(self) -> bool:
        now = time.monotonic()
        if now < self._counted + COUNTED_SECONDS:
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
    """A job under way, by its place, and the worker it is to be done on; None for any."""

    job: int
    home: str | None


def _next(done: queue.SimpleQueue[Any], seconds: float) -> Any:
    try:
        return done.get(timeout=max(seconds, 0.001))
    except queue.Empty:
        return None


def _worked(job: Job[Any], asker: tuple[str, ...]) -> tuple[Any, str, tuple[str, ...] | None]:
    """On a worker: what comes of a job, where, and what would have worked it out where that is another program."""
    from distributed import get_worker

    address = get_worker().address
    if made_by() != asker:
        return None, address, made_by()
    with _one_at_a_time:
        return outcome_of(job), address, None


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise CommandError(MISSING) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    return distributed
