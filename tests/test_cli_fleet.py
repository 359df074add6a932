"""Many sessions in this process, in others or on a cluster: equal results even if workers die."""

import json
import multiprocessing
import os
import shutil
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from inspector.fleet import reports, tuning
from inspector.fleet.executors import (
    ENDED,
    FEW_BYTES,
    TOO_LITTLE_MEMORY,
    ClusterExecutor,
    Execution,
    FleetError,
    InProcessExecutor,
    Job,
    JobLost,
    ProcessExecutor,
    SessionExecutor,
)
from tests import fleet_work
from tests.fleet_work import ALWAYS, ONCE
from tests.program import run_here
from tests.terminal import TerminalProgram
from tests.test_cli_tune import FEW, write_sessions

JSON = ("--format", "json", "--no-kept-results")
MAKES = {"here": InProcessExecutor, "processes": partial(ProcessExecutor, 2)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet") / "sessions"
    write_sessions(folder, 6)
    return folder


@pytest.fixture(autouse=True)
def nothing_is_left_running():
    before = set(multiprocessing.active_children())
    yield
    started = [child for child in multiprocessing.active_children() if child not in before]
    assert not [child for child in started if "Dask" not in child.name]


def reported(capsys: pytest.CaptureFixture[str], folder: Path, *asked: str) -> bytes:
    outcome = run_here(capsys, "report", folder, "--strategy", "tiered-stale", *JSON, *asked)
    assert outcome.code == 0
    return outcome.raw


def tuned(capsys: pytest.CaptureFixture[str], folder: Path, *asked: str) -> bytes:
    outcome = run_here(capsys, "tune", folder, *FEW, *JSON, *asked)
    assert outcome.code == 0
    return outcome.raw


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_what_comes_of_jobs_is_reported_with_the_job_as_soon_as_it_is_known(
    make: Callable[[], SessionExecutor],
) -> None:
    jobs = [Job(Path(str(number % 4)), fleet_work.squared, (number,)) for number in range(12)]
    with make() as executor:
        for stays in (False, True):
            assert dict(executor.finished(jobs, stays=stays)) == {number: number**2 for number in range(12)}
        assert not executor.ended
        assert dict(executor.finished(jobs, until=0.0)) == {}
        assert not executor.ended


def test_what_is_being_worked_on_when_time_is_up_is_waited_for_and_its_process_stays() -> None:
    jobs = [Job(Path(str(number)), fleet_work.slowly, (1.0,)) for number in range(2)]
    with ProcessExecutor(1) as executor:
        (before,) = dict(executor.finished([Job(Path("0"), fleet_work.slowly, (0.0,))])).values()
        found = dict(executor.finished(jobs, until=time.monotonic() + 0.2))
        (after,) = dict(executor.finished([Job(Path("0"), fleet_work.slowly, (0.0,))])).values()

    assert found == {0: before}
    assert after == before


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_an_error_of_the_program_costs_its_session_and_no_other(make: Callable[[], SessionExecutor]) -> None:
    jobs = [Job(Path("bad"), fleet_work.squared, (13,)), Job(Path("good"), fleet_work.squared, (3,))]
    with make() as executor:
        found = dict(executor.finished(jobs))
    lost = found[0]
    assert isinstance(lost, JobLost)
    assert "ValueError" in lost.problem
    assert "fleet_work.py" in lost.problem
    assert "\n" not in lost.problem
    assert found[1] == 9  # 3 * 3


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_an_error_of_the_program_is_raised_if_its_traceback_is_wanted(
    make: Callable[[], SessionExecutor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPECTOR_TRACEBACK", "1")
    with make() as executor, pytest.raises(ValueError, match="thirteen") as caught:
        list(executor.finished([Job(Path(), fleet_work.squared, (13,))]))
    assert "fleet_work.py" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_a_session_that_needs_too_much_memory_is_lost_and_no_other(make: Callable[[], SessionExecutor]) -> None:
    jobs = [Job(Path("large"), fleet_work.without_memory, ()), Job(Path("small"), fleet_work.squared, (3,))]
    with make() as executor:
        assert dict(executor.finished(jobs)) == {0: TOO_LITTLE_MEMORY, 1: 9}


def test_ctrl_c_in_the_middle_of_a_session_leaves_those_that_are_done() -> None:
    jobs = [Job(Path(str(number)), fleet_work.interrupting, (number,)) for number in range(6)]
    with InProcessExecutor() as executor:
        assert dict(executor.finished(jobs)) == {0: 0, 1: 1, 2: 2}
        assert executor.ended == "ctrl-c"
        assert dict(executor.finished(jobs)) == {}


@pytest.mark.long
def test_a_process_that_is_killed_costs_another_try_of_its_session(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    names = ["a", ONCE, "b", ALWAYS, "c"]
    jobs = [Job(tmp_path / "sessions" / name, fleet_work.perish, (tmp_path / "sessions" / name,)) for name in names]
    with ProcessExecutor(2) as executor:
        assert dict(executor.finished(jobs, stays=True)) == {0: None, 1: None, 2: None, 3: ENDED, 4: None}


@pytest.mark.long
def test_reports_are_the_same_to_the_bit_in_this_process_and_in_others(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert reported(capsys, folder, "--processes", "0") == reported(capsys, folder, "--processes", "2")
    assert tuned(capsys, folder, "--processes", "0") == tuned(capsys, folder, "--processes", "3")


@pytest.mark.long
def test_a_session_that_ends_every_process_is_named_and_no_other_is_missing(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = tmp_path / "sessions"
    shutil.copytree(folder, alike)
    expected = json.loads(reported(capsys, alike))
    for name in (ONCE, ALWAYS):
        shutil.copy(folder / "0.jsonl", alike / f"{name}.jsonl")
    (alike / "0.jsonl").rename(tmp_path / "elsewhere")
    monkeypatch.setattr(reports, "replayed", fleet_work.replayed)
    found = json.loads(reported(capsys, alike, "--processes", "2"))

    assert [each["path"].rpartition("/")[2] for each in found["unread"]] == [f"{ALWAYS}.jsonl"]
    assert "died 3 times" in found["unread"][0]["problem"]
    assert "1 session could not be read" in " ".join(found["warnings"])
    assert found["baseline"] == expected["baseline"]
    assert (tmp_path / f"{ONCE}.jsonl.was-tried").exists()


@pytest.mark.long
def test_a_search_goes_on_without_a_session_that_ends_every_process(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = tmp_path / "sessions"
    shutil.copytree(folder, alike)
    (alike / "0.jsonl").rename(alike / f"{ONCE}.jsonl")
    expected = json.loads(tuned(capsys, alike))
    write_sessions(tmp_path / "more", 7)
    shutil.copy(tmp_path / "more" / "6.jsonl", alike / f"{ALWAYS}.jsonl")
    monkeypatch.setattr(tuning, "_tried", fleet_work.tried)
    found = json.loads(tuned(capsys, alike, "--processes", "2"))

    assert [each["path"].rpartition("/")[2] for each in found["unread"]] == [f"{ALWAYS}.jsonl"]
    assert found["groups"] == expected["groups"]


def test_ctrl_c_in_a_terminal_prints_what_is_done_and_how_many_are_missing(tmp_path: Path) -> None:
    count = 240
    write_sessions(tmp_path / "sessions", count)
    target = tmp_path / "report.json"
    asked = ("report", str(tmp_path / "sessions"), "--strategy", "tiered-stale", "--format", "json", "-o", str(target))
    with TerminalProgram(tmp_path, *asked) as program:
        program.until(lambda: "replaying sessions: [" in program.text, "the progress")
        program.press("\x03")
        program.until(lambda: "are missing" in program.text, "what is missing")
        program.until(lambda: not program.child.isalive(), "the end")
        said = " ".join(program.text.split())
        assert program.child.exitstatus == 130
    found = json.loads(target.read_bytes())
    done = len(found["sessions"])

    assert 0 < done < count
    assert f"{count - done} of {count} sessions are missing: ctrl-c" in said
    assert found["warnings"][0] in said
    assert "Traceback" not in said
    assert found["baseline"]["calls"] == sum(row["calls"] for row in found["sessions"])


def test_one_session_is_not_worked_on_like_many(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    outcome = run_here(capsys, "report", folder / "0.jsonl", "--processes", "2")

    assert outcome.code == 2
    assert "--processes is for folders of sessions" in outcome.complaint
    assert run_here(capsys, "report", folder, "--processes", "many").code == 2


def test_processes_end_with_the_one_that_started_them(folder: Path) -> None:
    with ProcessExecutor(1) as executor:
        assert dict(executor.finished([Job(Path(), fleet_work.squared, (2,))])) == {0: 4}
        (child,) = multiprocessing.active_children()
        assert child.pid != os.getpid()
    assert not multiprocessing.active_children()


def test_no_process_is_started_for_little_work_unless_it_is_asked_for() -> None:
    def made(processes: int | None, *work: float) -> type[SessionExecutor]:
        with Execution(processes).executor(9, *work) as executor:
            return type(executor)

    assert made(None, FEW_BYTES - 1) is made(0) is InProcessExecutor
    assert made(None, FEW_BYTES) is made(None) is made(2, 1) is ProcessExecutor


def listening(process: int) -> set[str]:
    """Addresses at which a process and those it started take connections."""
    psutil = pytest.importorskip("psutil")
    whole = psutil.Process(process)
    connections = []
    for one in (whole, *whole.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # one that has ended meanwhile takes none
            connections += one.net_connections()
    return {each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN}


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("distributed")
    from inspector.fleet.executors import ClusterExecutor

    with ClusterExecutor.local(2) as executor:
        yield executor
    assert not multiprocessing.active_children()


def worker_ids(cluster: ClusterExecutor) -> set[int]:
    return set(cluster._client.run(os.getpid).values())


@pytest.fixture
def works_on(monkeypatch: pytest.MonkeyPatch) -> Callable[[SessionExecutor], None]:
    """Lets commands work on an executor that is there, and leave it there."""

    def use(executor: SessionExecutor) -> None:
        monkeypatch.setattr(executor, "_close", lambda: None)
        monkeypatch.setattr(Execution, "executor", lambda *asked: executor)

    return use


@pytest.mark.long
def test_a_cluster_gives_the_same_to_the_bit_though_workers_are_killed_midway(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    tmp_path: Path,
    cluster: ClusterExecutor,
    works_on: Callable[[SessionExecutor], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alike = tmp_path / "sessions"
    shutil.copytree(folder, alike)
    (alike / "0.jsonl").rename(alike / f"{ONCE}.jsonl")
    expected = reported(capsys, alike, "--processes", "0"), tuned(capsys, alike, "--processes", "0")
    works_on(cluster)
    before = worker_ids(cluster)
    assert len(before) == 2
    monkeypatch.setattr(reports, "replayed", fleet_work.replayed)
    monkeypatch.setattr(tuning, "_tried", fleet_work.tried)

    assert reported(capsys, alike) == expected[0]
    (tmp_path / f"{ONCE}.jsonl.was-tried").unlink()
    assert worker_ids(cluster) != before
    assert tuned(capsys, alike) == expected[1]
    assert (tmp_path / f"{ONCE}.jsonl.was-tried").exists()
    assert not cluster.ended


@pytest.mark.long
def test_a_session_that_ends_every_worker_of_a_cluster_is_lost_and_no_other(
    tmp_path: Path, cluster: ClusterExecutor
) -> None:
    (tmp_path / "sessions").mkdir()
    paths = [tmp_path / "sessions" / name for name in ("a", ONCE, "b", ALWAYS, "c")]
    found = dict(cluster.finished([Job(path, fleet_work.perish, (path,)) for path in paths], stays=True))

    assert found == {0: None, 1: None, 2: None, 3: ENDED, 4: None}


@pytest.mark.long
def test_a_result_that_went_with_its_worker_is_worked_out_again(
    cluster: ClusterExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    received, lost = distributed.Future.result, []

    def result(future: distributed.Future, timeout: float | None = None) -> object:
        assert timeout is not None
        if not lost:
            lost.append(future)
            raise TimeoutError
        return received(future, timeout)

    monkeypatch.setattr(distributed.Future, "result", result)
    jobs = [Job(Path(str(number)), fleet_work.squared, (number,)) for number in range(5)]
    assert dict(cluster.finished(jobs)) == {0: 0, 1: 1, 2: 4, 3: 9, 4: 16}
    assert lost


@pytest.mark.long
def test_work_meant_for_workers_that_all_ended_is_done_by_those_that_come_after_them(
    tmp_path: Path, cluster: ClusterExecutor
) -> None:
    (tmp_path / "sessions").mkdir()
    paths = [tmp_path / "sessions" / f"{name}{number}" for name in (ONCE, "session") for number in range(4)]
    home = dict(cluster.finished([Job(path, fleet_work.squared, (3,)) for path in paths], stays=True))
    assert set(home.values()) == {9}
    found = dict(cluster.finished([Job(path, fleet_work.perish, (path,)) for path in paths], stays=True))

    assert found == dict.fromkeys(range(len(paths)))
    assert not cluster.ended


@pytest.mark.long
def test_a_cluster_of_ones_own_is_reached_from_this_machine_alone_and_with_its_certificate(
    cluster: ClusterExecutor, capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert listening(os.getpid()) == {"127.0.0.1"}
    address = cluster._client.scheduler.address
    assert address.startswith("tls://127.0.0.1:")
    monkeypatch.setattr("inspector.fleet.executors.CONNECT_SECONDS", 1)
    outcome = run_here(capsys, "report", folder, "--scheduler", address)
    assert outcome.code == 1
    assert "no dask scheduler answers there" in outcome.err


@pytest.mark.long
def test_a_cluster_that_is_there_is_joined_and_left(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    distributed = pytest.importorskip("distributed")
    asked = {"n_workers": 1, "threads_per_worker": 2, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**asked) as there:
        joined = reported(capsys, folder, "--scheduler", there.scheduler_address)
        assert reported(capsys, folder, "--scheduler", there.scheduler_address) == joined
    assert joined == reported(capsys, folder, "--processes", "0")


@pytest.mark.long
def test_workers_of_another_program_are_reported_and_do_nothing(
    cluster: ClusterExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.fleet.executors.code_versions", lambda: ("inspector 0", "Python 2"))
    with pytest.raises(FleetError, match="install the same version"):
        list(cluster.finished([Job(Path(), fleet_work.squared, (2,))]))


def test_without_dask_it_is_reported_what_to_install(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    for asked in (("--scheduler", "tcp://127.0.0.1:9"), ("--workers", "2")):
        outcome = run_here(capsys, "tune", folder, *asked)
        assert outcome.code == 1
        assert "pip install 'session-inspector[fleet]'" in outcome.complaint


def test_a_port_that_accepts_and_sends_nothing_is_given_up_soon(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("inspector.fleet.executors.CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        outcome = run_here(capsys, "report", folder, "--scheduler", f"tcp://127.0.0.1:{silent.getsockname()[1]}")
    assert time.monotonic() - began < 20
    assert outcome.code == 1
    assert "no dask scheduler answers there" in outcome.complaint
