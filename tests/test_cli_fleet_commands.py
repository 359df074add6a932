"""Compaction thresholds and two sets of sessions: equal results on every executor, even if workers die."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from inspector.cli.output import ProgressLine
from inspector.fleet import reports, tuning
from inspector.fleet.executors import Execution
from tests import fleet_work
from tests.fleet_work import ALWAYS, ONCE
from tests.program import run_here
from tests.session.claude_lines import Script

pytestmark = pytest.mark.long

OPUS, SONNET = "claude-opus-4-8", "claude-sonnet-4-5"
SESSIONS = 6
JSON = ("--format", "json", "--no-kept-results")
TELL = ProgressLine.__call__


def write_compacted(file: Path, number: int, model: str) -> None:
    """A session of Claude Code that compacts twice, each time of another size."""
    script, size = Script(), 0
    script.prompt(f"task {number}")
    for call in range(24):
        if call in {8, 15 + number % 3}:
            script.boundary(preTokens=size)
            script.summary(f"summary {number} {call} " * 200)
            size = 0
        grown = 5_000 if size else 20_000
        usage = {
            "input_tokens": 0,
            "cache_creation_input_tokens": grown,
            "cache_read_input_tokens": size,
            "output_tokens": 200,
        }
        size += grown
        script.call(f"{model}_{number}_{call}", f"toolu_{number}_{call}", usage=usage)
        script.lines[-1]["message"]["model"] = model
        script.result(f"toolu_{number}_{call}", f"text {number} {call} " * 200)
    script.write(file)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compacted") / "sessions"
    folder.mkdir()
    for number in range(SESSIONS):
        write_compacted(folder / f"{number}.jsonl", number, OPUS)
    return folder


def compacted(capsys: pytest.CaptureFixture[str], folder: Path, *asked: str) -> bytes:
    outcome = run_here(capsys, "tune", "--compaction", folder, *JSON, *asked)
    assert outcome.code == 0
    return outcome.raw


def compared(capsys: pytest.CaptureFixture[str], folder: Path, *asked: str) -> bytes:
    first, *others = sorted(folder.glob("*.jsonl"))
    after = [part for path in others for part in ("--after", path)]
    outcome = run_here(capsys, "compare", "--before", first, *after, *JSON, *asked)
    assert outcome.code == 0
    return outcome.raw


def press_ctrl_c(monkeypatch: pytest.MonkeyPatch, at: int, of: int) -> None:
    told = 0

    def interrupted(self: ProgressLine, done: int, total: int) -> None:
        nonlocal told
        told += total == of
        if told == at:
            signal.raise_signal(signal.SIGINT)
        TELL(self, done, total)

    monkeypatch.setattr(ProgressLine, "__call__", interrupted)


def test_thresholds_are_the_same_to_the_bit_in_this_process_and_in_others(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    here = compacted(capsys, folder, "--processes", "0")

    assert here == compacted(capsys, folder, "--processes", "2")
    (group,) = json.loads(here)["compaction"]
    assert (group["sessions"], group["effective"]["count"]) == (SESSIONS, 2 * SESSIONS)
    assert len(group["curve"]) > 3


def test_thresholds_are_reported_without_a_session_that_ends_every_process(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = tmp_path / "sessions"
    shutil.copytree(folder, alike)
    (alike / "0.jsonl").rename(alike / f"{ONCE}.jsonl")
    expected = json.loads(compacted(capsys, alike))
    write_compacted(alike / f"{ALWAYS}.jsonl", SESSIONS, OPUS)
    monkeypatch.setattr(tuning, "_costs", fleet_work.cost_at)
    found = json.loads(compacted(capsys, alike, "--processes", "2"))

    assert [each["path"].rpartition("/")[2] for each in found["unread"]] == [f"{ALWAYS}.jsonl"]
    assert found["compaction"] == expected["compaction"]


@pytest.mark.parametrize("processes", ["0", "2"])
def test_ctrl_c_shows_the_thresholds_that_are_known_and_how_many_sessions_are_missing(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: str
) -> None:
    both = tmp_path / "sessions"
    shutil.copytree(folder, both)
    for number in range(SESSIONS):
        write_compacted(both / f"other-{number}.jsonl", SESSIONS + number, SONNET)
    missing = f"{SESSIONS} of {2 * SESSIONS} sessions are missing: ctrl-c"
    press_ctrl_c(monkeypatch, at=3 * SESSIONS + 2, of=SESSIONS)
    outcome = run_here(capsys, "tune", "--compaction", both, *JSON, "--processes", processes)
    assert outcome.code == 130
    assert missing in " ".join(outcome.err.split())
    found = json.loads(outcome.raw)
    assert missing in found["warnings"][0]
    assert [group["sessions"] for group in found["compaction"]] == [SESSIONS]

    press_ctrl_c(monkeypatch, at=2, of=SESSIONS)
    outcome = run_here(capsys, "tune", "--compaction", both, *JSON, "--processes", processes)
    assert outcome.code == 130
    assert f"{2 * SESSIONS} of {2 * SESSIONS} sessions are missing" in " ".join(outcome.err.split())
    assert not outcome.raw


def test_two_sets_are_the_same_to_the_bit_in_this_process_and_in_others_whatever_ends_once(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = tmp_path / "sessions"
    shutil.copytree(folder, alike)
    (alike / "0.jsonl").rename(alike / f"{ONCE}.jsonl")
    here = compared(capsys, alike, "--processes", "0")
    monkeypatch.setattr(reports, "read_for_set", fleet_work.read_in_set)

    assert compared(capsys, alike, "--processes", "2") == here
    assert (tmp_path / f"{ONCE}.jsonl.was-tried").exists()
    write_compacted(alike / f"{ALWAYS}.jsonl", SESSIONS, OPUS)
    found = json.loads(compared(capsys, alike, "--processes", "2"))
    assert [each["path"].rpartition("/")[2] for each in found["unread"]] == [f"{ALWAYS}.jsonl"]
    assert found["after"]["figures"] == json.loads(here)["after"]["figures"]


@pytest.mark.parametrize("processes", ["0", "2"])
def test_ctrl_c_compares_the_sets_as_far_as_they_were_read_and_says_how_many_sessions_are_missing(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch, processes: str
) -> None:
    first, *others = sorted(folder.glob("*.jsonl"))
    asked = ("compare", "--before", first, *(part for path in others for part in ("--after", path)))
    press_ctrl_c(monkeypatch, at=4, of=SESSIONS)
    outcome = run_here(capsys, *asked, "--processes", processes, *JSON)
    found = json.loads(outcome.raw)

    assert outcome.code == 130
    assert f"2 of {SESSIONS} sessions are missing: ctrl-c" in " ".join(outcome.err.split())
    assert any(warning in outcome.err for warning in found["warnings"])
    assert found["before"]["sessions"] + found["after"]["sessions"] == SESSIONS - 2


def test_a_cluster_gives_the_same_thresholds_and_sets_to_the_bit(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    from inspector.fleet.executors import ClusterExecutor

    expected = compacted(capsys, folder), compared(capsys, folder)
    with ClusterExecutor.local(2) as cluster, monkeypatch.context() as patched:
        patched.setattr(cluster, "_close", lambda: None)
        patched.setattr(Execution, "executor", lambda *asked: cluster)
        assert (compacted(capsys, folder), compared(capsys, folder)) == expected


def test_strategies_are_compared_on_one_session_which_is_not_worked_on_like_many(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    outcome = run_here(capsys, "compare", folder / "0.jsonl", "--workers", "2")

    assert outcome.code == 2
    assert "--workers is for folders of sessions" in outcome.complaint
