"""Execution on a dask.distributed cluster: an existing one, or local worker processes.

A cluster's workers run any code they receive, so a local cluster only listens on this machine and requires its
certificate, which is generated in memory and never written.
"""

from __future__ import annotations

import logging
import queue
import socket
import threading
import time
from collections import Counter, deque
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from inspector.cli.exit_codes import CommandError
from inspector.fleet.executors import (
    ENDED,
    LOOK_SECONDS,
    Job,
    JobError,
    JobLost,
    SessionExecutor,
    Worked,
    outcome_of,
    without_ctrl_c,
)
from inspector.fleet.result_cache import code_versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


MISSING: Final = (
    "a cluster needs an optional part of the program; install it with: pip install 'session-inspector[fleet]'"
)

CONNECT_SECONDS: Final = 20

AHEAD: Final = 4
"""Jobs per worker thread, including the running one, so that it never idles."""

COUNT_INTERVAL: Final = 2.0
"""Interval for counting workers."""

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

_one_at_a_time = threading.Lock()
"""Lock for the working thread of a worker: prepared sessions are shared by all threads."""


class ClusterExecutor(SessionExecutor):
    """Execution on a cluster. Workers may join and leave at any time."""

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
        """Connect to an existing cluster.

        Raises:
            CommandError: Nothing answers, or dask.distributed is not installed.
        """
        distributed = _distributed()
        try:
            _await_greeting(address)
            with without_ctrl_c():
                client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            message = f"--scheduler {address}: no dask scheduler answers there ({str(error) or type(error).__name__})"
            raise CommandError(message) from None
        return cls(client, None, f"the cluster at {address}")

    @classmethod
    def local(cls, workers: int) -> ClusterExecutor:
        """Start a cluster of local processes.

        Raises:
            CommandError: dask.distributed is not installed.
        """
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
                raise CommandError(MISSING) from None
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
        """Return and forget jobs that were assigned to a worker that no longer exists.

        Other workers may run them, but if there were none when the worker died, the scheduler would hold them forever.
        """
        if not self._threads:
            return []
        left = [future for future, sent in running.items() if sent.home is not None and sent.home not in self._threads]
        if left:
            self._client.cancel(left, force=True)
        return [running.pop(future).job for future in left]

    def _received(self, future: Any, path: Path) -> tuple[Any] | None:
        """Return a job's result in a 1-tuple; None if workers died under it.

        Raises:
            CommandError: The workers run a different version of the program.
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

    def _strange(self, what: str) -> CommandError:
        return CommandError(
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
        raise CommandError(MISSING) from None
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
