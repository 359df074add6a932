"""`inspector doctor`, `inspector clean`, `--version`: problems with a remedy, and no private data."""

import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import inspector
from inspector.cli.clean import CACHES
from inspector.cli.commands import OPTIONAL_PARTS
from inspector.cli.doctor import VARIABLES, Finding, event_findings, findings_text
from tests.conftest import ROOT
from tests.permissions import without_inotify, without_privileges
from tests.program import Outcome, environment, run_here, run_program
from tests.terminal import SECONDS_TO_WAIT, TerminalProgram

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"
WHERE_IS_THE_CURSOR = b"\x1b[6n"


def home_variables(folder: Path) -> dict[str, str]:
    homes = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
    return {"HOME": str(folder), **homes}


def doctor(folder: Path, *, first: Callable[[], None] | None = None, **variables: str) -> Outcome:
    return run_program("doctor", env={**home_variables(folder), **variables}, first=first)


def doctor_in_terminal(
    folder: Path,
    size: tuple[int, int],
    column: Callable[[bytes], int],
    first: Callable[[], None] | None = None,
    **variables: str,
) -> tuple[str, int]:
    with TerminalProgram(folder, "doctor", size=size, first=first, **variables) as program:
        answered = 0
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while program.child.isalive() or program.take(0.1):
            assert time.monotonic() < deadline, program.text
            program.take(0.1)
            asked = program.written.split(WHERE_IS_THE_CURSOR)
            while answered < len(asked) - 1:
                sample = asked[answered].rpartition(b"\r")[2]
                answered += 1
                program.type(b"\x1b[1;%dR" % column(sample))
        program.child.wait()
        text = program.written.decode("ascii", "replace").replace("\r", "")
        return re.sub(r" *\n {19}", " ", text), program.child.exitstatus or 0


def as_drawn(sample: bytes) -> int:
    from inspector.safe_text import cell_width

    return cell_width(sample.decode()) + 1


def test_a_good_setup_is_shown_to_be_well_and_home_is_not_reported(tmp_path: Path) -> None:
    home = tmp_path / "ada-lovelace"
    sessions = home / ".claude" / "projects" / "shop"
    sessions.mkdir(parents=True)
    (sessions / "one.jsonl").write_bytes(SAMPLE.read_bytes())
    variables = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
    text, code = doctor_in_terminal(home, (120, 36), as_drawn, **variables)
    assert code == 0, text
    assert "No problems found" in text
    assert "as expected" in text
    assert "120 columns, 36 rows" in text
    assert "1 session, in ~/.claude/projects" in text
    assert "genai-prices" in text
    assert "o200k_base" in text
    assert inspector.__version__ in text
    assert "ada-lovelace" not in text
    assert str(tmp_path) not in text


def test_of_a_setup_where_everything_is_broken_each_thing_is_reported_with_what_mends_it(tmp_path: Path) -> None:
    def a_cell_for_every_byte(sample: bytes) -> int:
        return len(sample) + 1

    privileges, events = without_privileges(), without_inotify()

    def first() -> None:
        events()
        if privileges is not None:
            privileges()

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    broken = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TERM": "xterm", "COLORTERM": ""}
    text, code = doctor_in_terminal(home, (40, 20), a_cell_for_every_byte, first, **broken)
    assert code == 3
    for problem, advice in (
        ("40 columns, 20 rows: the screen needs 80 columns", "enlarge the window"),
        ("16, from COLORTERM=(not set)", "TERM=xterm-256color"),
        ("ascii, LC_ALL=C: bars, lines and most languages cannot be printed", "export LC_ALL=C.UTF-8"),
        ("rows are misaligned", "UTF-8"),
        ("not writable, so the program cannot store settings", "export XDG_CONFIG_HOME="),
        ("rejects file events", "fs.inotify.max_user_instances"),
    ):
        assert problem in text
        assert "\n  fix " in text[text.index(problem) :]
        assert advice in text[text.index(problem) :]
    advised = {**home_variables(elsewhere), "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
    text, code = doctor_in_terminal(home, (80, 24), as_drawn, first, **advised)
    assert "1 problem found" in text, "the events, which take an administrator"
    assert "! file events" in text
    assert code == 3
    assert list(home.iterdir()) == []


def test_a_terminal_that_draws_a_cell_for_every_byte_does_not_use_utf_8(tmp_path: Path) -> None:
    text, code = doctor_in_terminal(tmp_path, (120, 36), lambda sample: len(sample) + 1, LC_ALL="C.UTF-8")
    assert code == 3
    assert "it does not use UTF-8" in text


def test_a_terminal_that_draws_lines_twice_as_wide_gets_advice(tmp_path: Path) -> None:
    text, code = doctor_in_terminal(tmp_path, (120, 36), lambda sample: 2 * len(sample.decode()) + 1, LC_ALL="C.UTF-8")
    assert code == 3
    assert "box lines 6 cells, not 3" in text
    assert "ambiguous width narrow" in text


def test_a_home_that_cannot_be_written_is_reported_with_what_is_lost_and_what_to_do(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        outcome = doctor(tmp_path, first=without_privileges())
    finally:
        tmp_path.chmod(0o700)
    assert outcome.code == 3
    text = re.sub(r" *\n {19}", " ", outcome.out)
    assert "not writable, so the program cannot store settings" in text
    assert "export XDG_CACHE_HOME=/tmp/inspector-cache" in text
    assert list(tmp_path.iterdir()) == []


def test_a_system_that_reports_no_changes_gets_advice_and_what_is_done_instead(tmp_path: Path) -> None:
    outcome = doctor(tmp_path, first=without_inotify())
    text = re.sub(r" *\n {19}", " ", outcome.out)
    assert outcome.code == 3
    assert "1 problem found" in text
    assert "Too many open files" in text
    assert "ten times a second" in text
    assert "fs.inotify.max_user_instances" in text


def test_events_that_were_turned_off_are_reported(tmp_path: Path) -> None:
    outcome = doctor(tmp_path, INSPECTOR_WATCH="stat")
    assert outcome.code == 3
    assert "unset INSPECTOR_WATCH" in outcome.out
    assert "INSPECTOR_WATCH=stat" in outcome.out


def test_events_arrive_where_the_system_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INSPECTOR_WATCH", raising=False)
    (finding,) = event_findings([tmp_path])
    assert finding.problem == ""


def test_settings_and_prices_that_are_wrong_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "CONFIG" / "inspector"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text("runs_per_day = -1\nteme = 'dark'\n")
    (folder / "prices.toml").write_text("[models\n")
    outcome = doctor(tmp_path)
    text = re.sub(r"\s+", " ", outcome.out)
    assert outcome.code == 3
    assert "runs_per_day takes a number above 0" in text
    assert "did you mean theme?" in text
    assert "prices.toml is not valid TOML" in text
    assert str(tmp_path) not in text


def test_what_is_printed_is_plain_whatever_was_found() -> None:
    text = findings_text([Finding("terminal", "TERM=\x1b[31mé\u202e", "it is odd", "mend it")])
    assert text.isascii()
    assert "\x1b" not in text


def filled_caches(folder: Path) -> list[Path]:
    """A file of each cache, named as the program names them."""
    names = {"tokens": "0f" * 16 + ".npz", "lists": "summaries.msgpack", "results": "ab" * 16, "recall": "texts.db"}
    files = []
    for cache, name in names.items():
        file = folder / "CACHE" / "inspector" / cache / name
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x" * 1000)
        files.append(file)
    return files


def test_cleaning_removes_every_cache_and_nothing_else(tmp_path: Path) -> None:
    files = filled_caches(tmp_path)
    strange = files[0].with_name("thesis.npz.txt")
    strange.write_text("mine")
    outside = tmp_path / ("cd" * 16)
    outside.write_text("mine")
    link = files[2].with_name("cd" * 16)
    link.symlink_to(outside)
    settings = tmp_path / "CONFIG" / "inspector" / "settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('theme = "light"\n')
    outcome = run_program("clean", "--yes", env=home_variables(tmp_path))
    assert outcome.code == 0
    assert "4 files" in outcome.out
    assert "4.0 kB" in outcome.out
    assert "1 other files there do not belong to the program and stay" in outcome.out
    assert "removed 4 files, 4.0 kB" in outcome.err
    assert not any(file.exists() for file in files)
    assert all(each.exists() for each in (strange, outside, settings))
    assert link.is_symlink()


def test_cleaning_one_cache_leaves_the_others(tmp_path: Path) -> None:
    files = filled_caches(tmp_path)
    assert run_program("clean", "tokens", "-y", env=home_variables(tmp_path)).code == 0
    assert [file.exists() for file in files] == [False, True, True, True]


def test_cleaning_removes_nothing_where_no_one_can_be_asked(tmp_path: Path) -> None:
    files = filled_caches(tmp_path)
    outcome = run_program("clean", env=home_variables(tmp_path))
    assert outcome.code == 2
    assert "--yes" in outcome.complaint
    assert all(file.exists() for file in files)


@pytest.mark.parametrize(("answer", "stays"), [(b"n\r", True), (b"\r", True), (b"y\r", False)])
def test_cleaning_asks_and_does_what_is_answered(tmp_path: Path, answer: bytes, stays: bool) -> None:
    files = filled_caches(tmp_path)
    with TerminalProgram(tmp_path, "clean") as program:
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while b"[y/N]" not in program.written:
            assert time.monotonic() < deadline
            program.take(0.1)
        program.type(answer)
        while program.child.isalive():
            program.take(0.1)
            assert time.monotonic() < deadline
    assert [file.exists() for file in files] == [stays] * 4


def test_a_cache_folder_that_leads_elsewhere_is_left_alone(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ("ab" * 16)).write_text("mine")
    (tmp_path / "CACHE" / "inspector").mkdir(parents=True)
    (tmp_path / "CACHE" / "inspector" / "results").symlink_to(elsewhere)
    outcome = run_program("clean", "--yes", env=home_variables(tmp_path))
    assert outcome.code == 0
    assert len(list(elsewhere.iterdir())) == 1


def test_every_cache_of_the_program_can_be_cleaned() -> None:
    named = {
        name
        for path in (ROOT / "inspector").rglob("*.py")
        for name in re.findall(r'cache_folder\("(\w+)"\)', path.read_text(encoding="utf-8"))
    }
    assert named == {cache.name for cache in CACHES}


@pytest.mark.long
def test_files_that_the_program_keeps_have_the_names_that_are_cleaned(tmp_path: Path) -> None:
    env = home_variables(tmp_path)
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "one.jsonl").write_bytes(SAMPLE.read_bytes())
    assert run_program("report", folder, "--strategy", "clear-old", env=env).code == 0
    assert run_program("recall", "--search", "the", folder, env=env).code == 0
    kept = [path for path in (tmp_path / "CACHE" / "inspector").rglob("*") if path.is_file()]
    assert {path.parent.name for path in kept} >= {"results", "recall", "tokens"}
    assert run_program("clean", "--yes", env=env).code == 0
    assert [path for path in (tmp_path / "CACHE" / "inspector").rglob("*") if path.is_file()] == []


def test_the_version_names_every_optional_part_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: lines for name, lines in project["optional-dependencies"].items() if name not in ("dev", "docs")}
    assert {part.name for part in OPTIONAL_PARTS} == set(extras)
    for part in OPTIONAL_PARTS:
        assert any(line.startswith(part.library) for line in extras[part.name])
    out = run_program("--version").out
    assert all(f"[{part.name}]" in out for part in OPTIONAL_PARTS)


def names_of_variables(*folders: str) -> set[str]:
    return {
        name
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"\bINSPECTOR_[A-Z_]+\b", path.read_text(encoding="utf-8"))
    }


def test_every_variable_of_the_program_is_in_the_table_and_the_documents() -> None:
    listed = {each.name for each in VARIABLES}
    assert names_of_variables("inspector") == {name for name in listed if name.startswith("INSPECTOR_")}
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [name for name in listed if f"| `{name}` |" not in text] == []
    pages = (ROOT / "CONTRIBUTING.md", ROOT / "docs" / "development" / "testing.md")
    contributing = "".join(page.read_text(encoding="utf-8") for page in pages)
    others = names_of_variables("tests", "scripts", "benchmarks") - listed
    assert [name for name in others if name not in contributing] == []


NO_POSIX = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {"resource", "fcntl", "termios", "tty", "pwd", "grp"}:
            raise ModuleNotFoundError(name)

for name in ("resource", "fcntl", "termios", "tty", "pwd", "grp"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Absent())
"""


def run_without_posix(code: str) -> subprocess.CompletedProcess[str]:
    """Run code where the modules are missing that Python has on POSIX systems alone."""
    return subprocess.run(
        [sys.executable, "-c", NO_POSIX + code],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_on_windows_a_line_says_what_works() -> None:
    done = run_without_posix("from inspector.cli import main\nsys.platform = 'win32'\nsys.exit(main(['report', 'x']))")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "WSL" in done.stderr
    assert "from inspector import compact" in done.stderr


def test_the_library_needs_no_module_of_posix_alone() -> None:
    code = (
        "from inspector import compact, open_session, replay_session, Plan\n"
        f"session = open_session({os.fspath(SAMPLE)!r})\n"
        "print(compact([{'role': 'user', 'content': 'hello'}], 'tiered-stale'))"
    )
    done = run_without_posix(code)
    assert done.returncode == 0, done.stderr
    assert "hello" in done.stdout


def test_the_newest_session_is_opened_or_a_line_says_that_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    outcome = run_here(capsys, "--last", tmp_path)
    assert outcome.code == 1
    assert "no sessions" in outcome.complaint
