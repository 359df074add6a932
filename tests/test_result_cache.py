"""Cached results of many sessions: a second run is identical, and reads only new or changed sessions."""

import json
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inspector.atomic_files import cache_folder
from inspector.fleet.result_cache import FileSeen, ResultCache, ResultInputs, is_unchanged, source_of
from inspector.session.open import open_session
from tests.program import run_here
from tests.replay.test_borrowed_fits import family
from tests.session.claude_lines import SESSION
from tests.test_cli_tune import FEW, write_sessions

ASKED = {
    "report": ("--strategy", "tiered-stale", "--format", "json", "--processes", "0"),
    "tune": (*FEW, "--format", "json", "--processes", "0"),
}
opened: list[str] = []
watching: list[Path] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if watching and event == "open":
        opened.append(os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes | os.PathLike) else "")


sys.addaudithook(_watch)


@contextmanager
def watched(folder: Path) -> Iterator[set[str]]:
    """Names of the files of a folder that are opened meanwhile, in this process."""
    names: set[str] = set()
    opened.clear()
    watching.append(folder)
    try:
        yield names
    finally:
        watching.clear()
        names.update(path.rpartition("/")[2] for path in opened if path.startswith(f"{folder}/"))


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Five sessions, of a few calls each unless limits are searched on them."""
    is_tuned = "tune" in request.node.name
    write_sessions(tmp_path / "sessions", 5, lines=200 if is_tuned else 60)
    until_settled(tmp_path / "sessions")
    return tmp_path / "sessions"


def until_settled(folder: Path) -> None:
    """Wait until the clock of the file system has moved on since the files were written."""
    newest = max(path.stat().st_ctime_ns for path in folder.iterdir())
    while time.time_ns() < newest + 200_000_000:
        time.sleep(0.01)


def run(capsys: pytest.CaptureFixture[str], command: str, folder: Path, *more: str) -> bytes:
    outcome = run_here(capsys, command, folder, *ASKED[command], *more)
    assert outcome.code == 0, outcome.err
    return outcome.raw


COMMANDS = [pytest.param(name, marks=pytest.mark.long if name == "tune" else ()) for name in ASKED]
"""A search for limits takes as long as all the others."""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_second_run_is_equal_to_the_bit_and_opens_no_session(
    command: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    with watched(folder) as names:
        first = run(capsys, command, folder)
    assert names == {f"{number}.jsonl" for number in range(5)}
    with watched(folder) as names:
        assert run(capsys, command, folder) == first
    assert not names
    with watched(folder) as names:
        assert run(capsys, command, folder, "--no-kept-results") == first
    assert len(names) == 5


@pytest.mark.parametrize("command", COMMANDS)
def test_only_what_is_new_or_has_changed_is_read(
    command: str, capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    first = run(capsys, command, folder)
    write_sessions(tmp_path / "more", 7)
    (tmp_path / "more" / "6.jsonl").rename(folder / "6.jsonl")
    changed = folder / "2.jsonl"
    lines = changed.read_text(encoding="utf-8").splitlines(keepends=True)
    changed.write_text("".join(lines[:-2]), encoding="utf-8")
    until_settled(folder)
    with watched(folder) as names:
        second = run(capsys, command, folder)

    assert names == {"2.jsonl", "6.jsonl"}
    assert second != first
    assert second == run(capsys, command, folder, "--no-kept-results")


def test_a_file_that_was_only_touched_is_compared_and_its_result_counts(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(capsys, "report", folder)
    os.utime(folder / "1.jsonl")
    until_settled(folder)
    monkeypatch.setattr("inspector.fleet.reports.replayed", None)
    assert run(capsys, "report", folder) == first
    with watched(folder) as names:
        assert run(capsys, "report", folder) == first
    assert not names


WITH_PLAN = ("--strategy", "tiered-stale", "--format")


@pytest.mark.parametrize(
    ("command", "options"),
    [
        *(("report", (*WITH_PLAN, form)) for form in ("text", "json", "md", "csv")),
        ("report", (*WITH_PLAN, "html", "--no-compare", "--no-script")),
        ("why", ()),
        ("why", ("--format", "json")),
    ],
)
def test_the_text_on_one_session_is_kept_as_it_is_written(
    command: str, options: tuple[str, ...], capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    asked = (command, folder / "0.jsonl", *options)
    first = run_here(capsys, *asked)
    with watched(folder) as names:
        again = run_here(capsys, *asked)
    assert not names
    assert first.code == 0
    assert again == first
    assert run_here(capsys, *asked, "--no-kept-results") == first
    with watched(folder) as names:
        other = run_here(capsys, *asked, "--factor", "0.5")
    assert names == {"0.jsonl"}
    assert other.raw != first.raw


def test_the_report_on_one_session_is_rebuilt_when_the_session_has_changed(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    path = folder / "2.jsonl"
    first = run_here(capsys, "report", path, "--format", "json")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    until_settled(folder)
    second = run_here(capsys, "report", path, "--format", "json")
    assert second.raw != first.raw
    assert run_here(capsys, "report", path, "--format", "json", "--no-kept-results") == second


def test_what_a_session_says_is_not_kept(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    pytest.importorskip("detect_secrets")
    for _ in range(2):
        with watched(folder) as names:
            assert run_here(capsys, "report", folder / "0.jsonl", "--include-text").code == 0
        assert names == {"0.jsonl"}
    assert not cache_folder("results").exists()


def test_requests_next_to_a_session_that_came_since_are_read(tmp_path: Path) -> None:
    identifier = "0cf3db51-1c73-43bb-8d05-dc02739514a5"
    path, beside = tmp_path / f"{identifier}.jsonl", tmp_path / identifier / "subagents"
    line = {"type": "user", "uuid": "1", "sessionId": identifier, "message": {"role": "user", "content": "go"}}
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    until_settled(tmp_path)
    source = source_of(open_session(path), time.time_ns(), 0.0)
    assert source is not None
    assert is_unchanged(source)
    beside.mkdir(parents=True)
    assert not is_unchanged(source)
    until_settled(beside.parent)
    source = source_of(open_session(path), time.time_ns(), 0.0)
    assert source is not None
    assert is_unchanged(source)
    (beside / "agent-acompact-1.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert not is_unchanged(source)


def test_a_result_on_a_borrowed_scale_counts_as_long_as_the_lender_is_as_it_was(tmp_path: Path) -> None:
    path = family(tmp_path)
    parent = tmp_path / f"{SESSION}.jsonl"
    until_settled(tmp_path)
    until_settled(path.parent)
    session = open_session(path)
    source = source_of(session, time.time_ns(), 0.0)
    assert source is not None
    assert is_unchanged(source)
    with parent.open("ab") as file:
        file.write(b"\n")
    assert not is_unchanged(source)
    until_settled(tmp_path)
    source = source_of(session, time.time_ns(), 0.0)
    assert source is not None
    parent.unlink()
    assert not is_unchanged(source)


def test_other_plans_and_prices_are_worked_out_again(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    run(capsys, "report", folder)
    for more in (("--factor", "0.5"), ("--strategy", "token-budget"), ("--cache", "none"), ("--model", "gpt-5")):
        with watched(folder) as names:
            found = run(capsys, "report", folder, *more)
        assert len(names) == 5, more
        assert found == run(capsys, "report", folder, *more, "--no-kept-results")


def test_a_plan_file_that_changed_is_another_plan(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    plan = folder.parent / "plan.toml"
    found = []
    for keep in (2, 9):
        plan.write_text(f'[[strategies]]\nname = "clear-old"\nkeep = {keep}\n', encoding="utf-8")
        outcome = run_here(capsys, "report", folder, "--plan", plan, "--format", "json")
        found.append(json.loads(outcome.out)["plans"][0]["saved"])
    assert found[0] != found[1]


def test_what_is_kept_is_private_and_what_is_broken_is_ignored_and_rewritten(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    first = run(capsys, "report", folder)
    kept = sorted(cache_folder("results").iterdir())
    whole = [path.read_bytes() for path in kept]
    assert len(kept) == 6
    assert stat.S_IMODE(cache_folder("results").stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in kept)
    broken = [b"", whole[1][:-1], whole[2][:40] + b"x" + whole[2][41:], os.urandom(300), whole[0], whole[5]]
    for path, data in zip(kept, broken, strict=True):
        path.write_bytes(data)
    assert run(capsys, "report", folder) == first
    assert run(capsys, "report", folder) == first
    with watched(folder) as names:
        run(capsys, "report", folder)
    assert not names


def test_a_setting_keeps_nothing(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch, private_home: Path
) -> None:
    from inspector.settings import settings_path

    settings_path().parent.mkdir(parents=True)
    settings_path().write_text("keep_results = false\n", encoding="utf-8")
    run(capsys, "report", folder)
    assert not cache_folder("results").exists()


def test_where_nothing_can_be_written_nothing_is_kept(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    cache_folder("results").parent.mkdir(parents=True)
    cache_folder("results").write_text("a file", encoding="utf-8")
    assert run(capsys, "report", folder) == run(capsys, "report", folder)


def test_a_session_that_is_being_written_is_not_kept(folder: Path) -> None:
    path = folder / "0.jsonl"
    began = time.time_ns()
    assert source_of(open_session(path), began, 0.0) is not None
    with path.open("ab") as file:
        file.write(b"\n")
    assert source_of(open_session(path), began, 0.0) is None


def test_the_oldest_results_of_a_session_go_where_there_are_many(tmp_path: Path) -> None:
    path = tmp_path / "session"
    path.write_bytes(b"text")
    status = path.stat()
    seen = FileSeen(os.fsencode(path), 4, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    results = ResultCache(tmp_path / "results")
    source = ResultInputs((seen,), b"content", (), (), 0)
    for number in range(20):
        results.keep(path, bytes([number]), b"result", source)
    assert [results.kept(path, bytes([number])) for number in (0, 7)] == [None, None]
    assert [results.kept(path, bytes([number])) for number in (8, 19)] == [b"result", b"result"]
    results.keep(path, b"new", b"of another content", source._replace(content=b"other"))
    assert results.kept(path, bytes([19])) is None
    gone = source._replace(needs=(b"/nowhere",))
    results.keep(path, b"new", b"result", gone)
    assert results.kept(path, b"new") is None
    results.keep(path, b"new", b"result", source._replace(day=1))
    assert results.kept(path, b"new") is None
