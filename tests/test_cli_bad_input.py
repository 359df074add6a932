import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from inspector.safe_text import cell_width
from tests.conftest import ROOT
from tests.hostile import DISTURBING, hostile_copy
from tests.permissions import permissions_hold, without_privileges
from tests.program import run_here, run_program

SMALL = "claude-code/acc53d32-5580-4747-9273-e2acff2ba566.jsonl"

NO_SESSIONS = {
    "empty.jsonl": b"",
    "blank.jsonl": b"\n \n\n",
    "notes.txt": b"just some words\n",
    "cut-off.json": b'{"messages": [{"role": "us',
    "binary": bytes(range(256)) * 100,
    "one-long-line": b"x" * 1_000_000,
    "one-long-record.jsonl": b'{"a": "' + b"x" * 1_000_000 + b'"}\n',
    "not-utf-8.jsonl": b'\xff\xfe\xfa{"type": "user"}\n',
    "numbers.json": b"[1, 2, 3]",
    "nothing.json": b"{}",
    "deep.json": b'{"a":' * 100_000,
}
"""Files that hold no session, by name."""


@pytest.fixture
def small(corpus: Path) -> Path:
    """A short session of Claude Code."""
    return corpus / SMALL


@pytest.fixture(scope="module")
def hostile(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    lines = (corpus / SMALL).read_bytes().splitlines(keepends=True)
    (folder / "usual.jsonl").write_bytes(b"".join(lines[:110]))
    return hostile_copy(folder / "usual.jsonl", folder / "session.jsonl")


@pytest.mark.parametrize("name", NO_SESSIONS)
def test_a_file_that_is_no_session_is_one_line_that_names_it(name: str, tmp_path: Path, capsys):
    path = tmp_path / name
    path.write_bytes(NO_SESSIONS[name])
    outcome = run_program(path)

    assert outcome.code == 1
    assert str(path) in outcome.complaint
    assert outcome.out == ""
    for command in ("report", "compact", "formats"):
        assert run_here(capsys, command, path) == outcome


def _missing(folder: Path) -> Path:
    return folder / "missing.jsonl"


def _dangling(folder: Path) -> Path:
    (folder / "link").symlink_to(folder / "nowhere")
    return folder / "link"


def _circle(folder: Path) -> Path:
    (folder / "circle").symlink_to(folder / "circle")
    return folder / "circle"


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def _no_folder(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "session.jsonl"


def _locked(folder: Path) -> Path:
    path = folder / "locked.jsonl"
    path.write_text("{}\n")
    path.chmod(0)
    return path


@pytest.mark.parametrize("make", [_missing, _dangling, _circle, _pipe, _no_folder, _locked])
def test_a_path_that_cannot_be_opened_is_one_line_that_names_it(make, tmp_path: Path, capsys):
    path = make(tmp_path)

    outcomes = [run_program("report", path, first=without_privileges() if make is _locked else None)]
    with permissions_hold():
        outcomes += [run_here(capsys, "formats", path), run_here(capsys, path)]
    for outcome in outcomes:
        assert outcome.code == 1
        assert str(path) in outcome.complaint
        assert outcome.out == ""


@pytest.mark.parametrize("command", ["report", "compact", "formats", "compare"])
def test_a_directory_without_sessions_is_one_line_that_names_it(command: str, tmp_path: Path, capsys):
    outcome = run_here(capsys, command, tmp_path)

    assert outcome.code == 1
    assert str(tmp_path) in outcome.complaint


@pytest.mark.parametrize("command", ["compact", "formats", "compare"])
def test_of_a_folder_of_sessions_commands_for_one_name_the_newest(command: str, tmp_path: Path, capsys):
    sessions = tmp_path / "below"
    sessions.mkdir()
    for name in ("older", "newer"):
        shutil.copy(ROOT / "sample_sessions" / "trading-desk.json", sessions / f"{name}.json")
    os.utime(sessions / "older.json", (1e9, 1e9))

    outcome = run_here(capsys, command, tmp_path)

    assert outcome.code == 1
    assert "2 sessions" in outcome.complaint
    assert str(sessions / "newer.json") in outcome.complaint


def test_the_longest_path_there_can_be_does_not_hide_what_is_wrong():
    assert run_program("report", "/" + "a/" * 2000 + "x").complaint.endswith("Check the path.")


def test_a_damaged_session_is_read_as_far_as_it_goes_and_the_report_says_so(small: Path, tmp_path: Path, capsys):
    lines = small.read_bytes().splitlines(keepends=True)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(b"".join([*lines[:50], b"\x00\xff{{{ no record\n", *lines[50:]]))

    report = json.loads(run_here(capsys, "report", damaged, "--format", "json").out)
    whole = json.loads(run_here(capsys, "report", small, "--format", "json").out)
    explained = run_here(capsys, "formats", damaged).out

    assert report["session"]["skipped_records"] == 1
    assert report["session"]["messages"] == whole["session"]["messages"]
    assert any("inspector formats" in warning for warning in report["warnings"])
    offset = sum(map(len, lines[:50]))
    assert f"51  {offset:,}  skipped" in explained


def test_a_session_cut_off_in_its_last_record_is_read_up_to_there(small: Path, tmp_path: Path, capsys):
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(small.read_bytes()[:-100])

    assert run_here(capsys, "report", cut).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["report"],
        ["report", "--strategy", "tiered-stale"],
        ["report", "--format", "json"],
        ["compact", "--strategy", "tiered-stale"],
        ["compact", "--format", "openai"],
        ["formats"],
    ],
    ids=" ".join,
)
def test_nothing_in_a_session_disturbs_a_terminal(arguments: list[str], hostile: Path, capsys):
    outcome = run_here(capsys, arguments[0], hostile, *arguments[1:])

    assert (outcome.code, outcome.err) == (0, "")
    assert not DISTURBING.search(outcome.out)
    assert outcome.out.count("\n") > 5


def test_a_hostile_session_still_fits_eighty_columns(hostile: Path, capsys):
    for line in run_here(capsys, "report", hostile, "--strategy", "tiered-stale").out.splitlines():
        assert cell_width(line) <= 80


def test_a_plan_file_that_is_none_is_one_line_that_names_it(small: Path, tmp_path: Path, capsys):
    plan = tmp_path / "plan.toml"
    for content, part in (
        (b"= nonsense", "TOML"),
        (b"\xff\xfe", "UTF-8"),
        (b'[[strategies]]\nname = "tired"', "tired"),
    ):
        plan.write_bytes(content)
        outcome = run_here(capsys, "report", small, "--plan", plan)

        assert outcome.code == 1
        assert str(plan) in outcome.complaint
        assert part in outcome.complaint


def test_a_plan_file_that_is_missing_is_one_line_that_names_it(small: Path, tmp_path: Path):
    outcome = run_program("report", small, "--plan", tmp_path / "none.toml")

    assert outcome.code == 1
    assert str(tmp_path / "none.toml") in outcome.complaint


@pytest.mark.parametrize("command", [(), ("report",), ("compare",), ("check",)])
def test_a_file_in_a_folder_one_may_not_enter_is_one_line_that_says_so(command, tmp_path: Path, capsys, monkeypatch):
    folder = tmp_path / "locked"
    folder.mkdir()

    def refusing(real):
        def ask(path, *arguments, **named):
            if str(path).startswith(f"{folder}{os.sep}"):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return real(path, *arguments, **named)

        return ask

    for name in ("stat", "lstat", "open"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))
    outcome = run_here(capsys, *command, folder / "session.jsonl")

    assert outcome.code == 1
    assert "permission denied" in outcome.err
    assert len(outcome.err.splitlines()) <= 2


def test_a_plan_nested_too_deeply_is_one_line(tmp_path: Path) -> None:
    plan = tmp_path / "deep.toml"
    plan.write_text("a = " + "[" * 100_000)
    outcome = run_program("report", ROOT / "sample_sessions" / "terminal-agent.jsonl", "--plan", plan)
    assert outcome.code == 1
    assert "not valid TOML" in outcome.complaint


def test_prices_nested_too_deeply_are_one_line(tmp_path: Path) -> None:
    prices = tmp_path / "deep.toml"
    prices.write_text("a = " + "[" * 100_000)
    outcome = run_program("report", ROOT / "sample_sessions" / "terminal-agent.jsonl", "--price-file", prices)
    assert outcome.code == 1
    assert "not valid TOML" in outcome.complaint


@pytest.mark.parametrize("number", ["1e308", "1000000001", "inf", "nan", "-1"])
def test_a_number_of_runs_that_no_cost_can_be_multiplied_by_is_refused(number: str) -> None:
    path = ROOT / "sample_sessions" / "terminal-agent.jsonl"
    outcome = run_program("report", path, "--strategy", "tiered-stale", f"--runs-per-day={number}")
    assert outcome.code == 2
    assert "use 0 to 1,000,000,000" in outcome.err
