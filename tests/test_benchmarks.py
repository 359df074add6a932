import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.generate import LEAN, write_session
from benchmarks.promises import PROMISES
from inspector.session.open import open_session
from tests.conftest import ROOT
from tests.program import environment

DOCUMENT = ROOT / "docs" / "development" / "benchmarks.md"


def told_by(name: str, document: Path) -> str:
    command = [sys.executable, "-m", "benchmarks", name, "--quick", "--write", str(document)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)

    assert done.returncode in (0, 1), done.stderr  # 1 is a missed limit, which depends on the load of the machine
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.long
def test_a_benchmark_without_a_screen_runs_and_writes_its_document(tmp_path: Path):
    document = tmp_path / "benchmarks.md"

    assert "replay of a plan over every call" in told_by("replay", document)
    assert "| replay of a plan over every call |" in document.read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.usefixtures("corpus")
def test_a_benchmark_of_real_sessions_runs_and_writes_its_document(tmp_path: Path):
    document = tmp_path / "benchmarks.md"

    told = told_by("recorded-usage", document)
    for name in ("calibrated prompt size", "baseline cost"):
        assert name in told
        assert f"| {name} |" in document.read_text(encoding="utf-8")


@pytest.mark.long
def test_what_benchmarks_of_the_screen_wait_for_comes(tmp_path: Path):
    names = ("plan-change", "session-list")
    command = [sys.executable, "-m", "benchmarks", *names, "--quick"]
    nowhere = {**environment(), "INSPECTOR_SHARED": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=nowhere, capture_output=True, text=True, check=False)

    assert done.returncode in (0, 1), done.stderr
    assert [line for line in done.stderr.splitlines() if line] == [f"{name} …" for name in names]


def test_a_benchmark_that_does_not_exist_is_reported_with_those_that_do():
    command = [sys.executable, "-m", "benchmarks", "repaly"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "'repaly'" in done.stderr
    assert "first-paint, first-line" in done.stderr


@pytest.mark.parametrize("promise", PROMISES)
def test_the_document_names_every_promise_and_says_how_it_was_measured(promise: str):
    document = DOCUMENT.read_text(encoding="utf-8")

    assert f"- {promise}: {PROMISES[promise]}." in document
    assert f"| {promise} |" in document


def test_the_document_tells_nothing_of_whose_machine_it_was():
    words = DOCUMENT.read_text(encoding="utf-8").replace("(", " ").replace("`", " ").split()

    assert not [word for word in words if word.startswith(("/", "~"))]


@pytest.mark.parametrize("messages", [2, 200, 2000])
def test_made_up_sessions_have_the_messages_asked_for_and_a_summary_for_every_compaction(tmp_path: Path, messages: int):
    session = open_session(write_session(tmp_path / "made.jsonl", messages=messages, shape=LEAN))

    compactions = len(session.compactions)
    assert len(session.messages) == messages + 1 + compactions
    assert len(session.calls) == messages // 2
    assert len(session.contexts) == 1 + compactions
    assert not session.diagnostics


def test_the_same_size_gives_the_same_session(tmp_path: Path):
    first, second = (write_session(tmp_path / name, megabytes=0.2).read_bytes() for name in ("a", "b"))

    assert first == second
