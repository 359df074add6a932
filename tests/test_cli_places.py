"""Odd homes, folders that are files, full disks, memory limits: the command works or prints the reason."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, suppress
from pathlib import Path

import pytest

from inspector.atomic_files import write_user_file
from inspector.report.charts.drawing import ADDRESS_SPACE_NEEDED
from tests.conftest import ROOT
from tests.forked_program import run_forked
from tests.permissions import IS_ADMINISTRATOR, NOBODY, permissions_hold, without_privileges
from tests.program import COMMAND, environment, run_here, run_program
from tests.terminal import TerminalProgram

SAMPLE = ROOT / "sample_sessions" / "benchmark-trial.json"
LINES = [
    ["report", str(SAMPLE), "--strategy", "clear-old"],
    ["check", str(SAMPLE)],
    ["strategies", "--plans"],
    ["formats"],
    [],
]
"""The last lists this machine's sessions, of which there are none."""
HOMES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
DISK_FULL_ERRNOS = "File too large"


def run_all(homes: dict[str, str], folder: Path) -> None:
    """Run every command there, in a folder in which nothing may appear, and see that each does its work."""
    work = folder / "work"
    work.mkdir()
    inherited = {name: value for name, value in environment().items() if name not in HOMES}
    done = [run_forked(words, {**inherited, **homes}, str(work)) for words in LINES]
    check_all([each.returncode for each in done], "".join(each.stderr.decode() for each in done), work)


def run_all_where_permissions_hold(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Do the same in this process, without the rights of an administrator."""
    work = folder / "work"
    work.mkdir()
    for name in HOMES:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    with permissions_hold(), chdir(work):
        with pytest.raises(PermissionError):
            (home / "file").touch()
        done = [run_here(capsys, *words) for words in LINES]
    check_all([each.code for each in done], "".join(each.err for each in done), work)


def check_all(codes: list[int], said: str, work: Path) -> None:
    assert codes == [0] * (len(LINES) - 1) + [1], said
    assert [line for line in said.splitlines() if "no sessions on this machine" not in line] == []
    assert list(work.iterdir()) == []


def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("no folder")
    run_all({"HOME": str(home)}, tmp_path)


def test_folders_of_the_desktop_that_are_files(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    run_all({"HOME": str(tmp_path), **{name: str(file) for name in HOMES[1:]}}, tmp_path)


def test_a_home_and_folders_of_the_desktop_that_are_no_whole_paths(tmp_path: Path) -> None:
    run_all(dict.fromkeys(HOMES, "somewhere"), tmp_path)


def test_a_home_that_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    run_all_where_permissions_hold(home, tmp_path, monkeypatch, capsys)
    assert list(home.iterdir()) == []


@pytest.mark.skipif(not IS_ADMINISTRATOR, reason="only the administrator can give a folder to somebody else")
def test_a_home_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    os.chown(home, NOBODY, NOBODY)
    run_all_where_permissions_hold(home, tmp_path, monkeypatch, capsys)
    assert list(home.iterdir()) == []


@contextmanager
def room(size: int) -> Iterator[None]:
    """Let this process make no file longer than so many bytes, as on a disk that is full."""
    before, compiles = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # Python would leave partial bytecode files, and read them the next time
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = compiles


@pytest.mark.parametrize(
    "words",
    [
        ["report", str(SAMPLE)],
        ["report", str(SAMPLE), "--format", "html", "--no-compare", "--no-script"],
        ["convert", str(SAMPLE), "--to", "atif"],
        ["export", "--strategy", "clear-old", "--to", "odincode"],
        ["screenshot", str(SAMPLE), "--chart"],
    ],
    ids=lambda words: f"{words[0]} {words[-1]}" if words[0] == "report" else words[0],
)
def test_without_room_a_file_stays_as_it_was_and_a_line_says_why(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old.svg", tmp_path / "new.svg"
    old.write_text("old")
    for target in (old, new):
        with room(16):
            outcome = run_here(capsys, *words, "-o", str(target))
        assert outcome.code == 1
        assert outcome.complaint == f"inspector: {target}: cannot be written: {DISK_FULL_ERRNOS}"
    assert old.read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that is full, with a file on it; to make one takes an administrator of the whole system."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if sys.platform != "linux" or not IS_ADMINISTRATOR or subprocess.call(made, stderr=subprocess.DEVNULL):
        pytest.skip("this user may not mount a disk")
    try:
        (disk / "old.md").write_text("old")
        with suppress(OSError), (disk / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4_096))
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("name", ["old.md", "new.md"])
def test_on_a_full_disk_a_file_stays_as_it_was_and_a_line_says_why(name: str, full_disk: Path) -> None:
    before = sorted(full_disk.iterdir())
    outcome = run_program("report", SAMPLE, "--format", "md", "-o", full_disk / name)
    assert outcome.code == 1
    assert outcome.complaint == f"inspector: {full_disk / name}: cannot be written: No space left on device"
    assert (full_disk / "old.md").read_text() == "old"
    assert sorted(full_disk.iterdir()) == before


def test_with_a_home_on_a_full_disk_every_command_does_its_work(full_disk: Path, tmp_path: Path) -> None:
    run_all({"HOME": str(full_disk)}, tmp_path)
    assert [path.name for path in full_disk.rglob("*") if path.is_file() and not path.stat().st_size] == []


def limited(limit: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the program with a limit of its system, as a shell sets it."""
    return subprocess.run(
        ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", *COMMAND, *words],
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_without_room_a_picture_of_points_stays_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert")
    target = tmp_path / "screen.png"
    with room(16):
        outcome = run_here(capsys, "screenshot", str(SAMPLE), "-o", str(target))
    assert (outcome.code, outcome.complaint) == (1, f"inspector: {target}: cannot be written: {DISK_FULL_ERRNOS}")
    assert list(tmp_path.iterdir()) == []


def test_without_room_nothing_is_kept_and_everything_is_reported(
    private_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with room(16):
        outcome = run_here(capsys, "report", str(SAMPLE))
    assert (outcome.code, outcome.err) == (0, "")
    assert [path for path in private_home.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("size", [0, 16], ids=["no folder can be used", "no room in it"])
def test_a_packed_session_that_cannot_be_unpacked_says_what_to_set(
    size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    monkeypatch.setattr("tempfile.tempdir", None)
    packed = tmp_path / "session.json.zst"
    packed.write_bytes(zstd.compress(SAMPLE.read_bytes()))
    with room(size):
        outcome = run_here(capsys, "report", str(packed))
    assert outcome.code == 1
    assert "cannot write a temporary file" in outcome.complaint
    assert "set TMPDIR" in outcome.complaint


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_user_file(pipe, b"said")
        assert reader.communicate(timeout=60)[0] == b"said"
    assert pipe.is_fifo()
    write_user_file(Path(os.devnull), b"said")
    assert not Path(os.devnull).is_file()


def test_a_file_a_person_names_gets_the_mode_that_files_get(tmp_path: Path) -> None:
    made, usual, kept = tmp_path / "made", tmp_path / "usual", tmp_path / "kept"
    usual.touch()
    kept.touch(mode=0o640)
    write_user_file(made, b"new")
    write_user_file(kept, b"new")
    assert made.stat().st_mode == usual.stat().st_mode
    assert kept.stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileNotFoundError):
        write_user_file(tmp_path / "no" / "folder", b"new")
    with pytest.raises(NotADirectoryError):
        write_user_file(made / "file", b"new")


def leave(program: TerminalProgram, key: str = "q") -> None:
    """Quit, and see that the program ends as it should."""
    program.rest()
    program.press(key)
    program.until(lambda: not program.child.isalive(), "the end")
    assert program.child.exitstatus == 0
    assert b"Traceback" not in program.written


@pytest.mark.parametrize("place", ["below a file", "a full disk"])
def test_on_the_screen_what_could_not_be_kept_is_reported_and_all_else_works(place: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    if place == "below a file":
        home.write_text("no folder")
        home /= "below"
    elif not hasattr(resource, "prlimit"):
        pytest.skip("the system lets nobody limit another process")
    # Python would leave partial bytecode files, and read them the next time.
    with TerminalProgram(home, str(SAMPLE), size=(100, 30), PYTHONDONTWRITEBYTECODE="1") as program:
        if not home.parent.is_dir():  # a notice goes with time, so it is awaited before all else
            program.until(lambda: "Not a directory" in program.text, "why there are no settings")
        program.until(lambda: "call" in program.text, "a session")
        program.rest()
        before: set[Path] = set()
        if home.parent.is_dir():
            resource.prlimit(program.child.pid, resource.RLIMIT_FSIZE, (16, 16))
            before = set(tmp_path.rglob("*"))  # session summaries may be cached by now
            program.press("z", "d", shows="Runs per day")
            program.press("7", "enter", shows="cannot save the setting")
        program.press("w", "s", shows="Save the plan as")
        program.press("enter", shows="cannot save the plan")
        program.press("w", "p", shows="Save a picture")
        program.press("enter", shows="cannot save the picture")
        leave(program)
    kept = {path.suffix for path in set(tmp_path.rglob("*")) - before if path.is_file()}
    assert not kept & {".part", ".toml", ".svg"}


HOMELESS = """
import os, pwd, sys

def unknown(*_):
    raise KeyError("no such user")

pwd.getpwuid = pwd.getpwnam = unknown
for name in {homes!r}:
    del os.environ[name]
from inspector.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "place",
    [
        "none",
        "below a file",
        "read-only",
        *(pytest.param(place, marks=pytest.mark.long) for place in ("a file", "no whole path", "of another user")),
        pytest.param("desktop folders that are files", marks=pytest.mark.long),
    ],
)
def test_the_list_of_sessions_opens_whatever_the_home_is(place: str, tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_text("no folder")
    folder.mkdir(mode=0o500 if place == "read-only" else 0o700)
    homes: dict[str, str] = {}
    first = None
    command: Sequence[str] = COMMAND
    match place:
        case "none":
            command = (sys.executable, "-c", HOMELESS.format(homes=HOMES))
        case "a file":
            homes = dict.fromkeys(HOMES, str(file))
        case "below a file":
            homes = dict.fromkeys(HOMES, str(file / "below"))
        case "no whole path":
            homes = dict.fromkeys(HOMES, "somewhere")
        case "desktop folders that are files":
            homes = dict.fromkeys(HOMES[1:], str(file))
        case _:
            first = without_privileges()
            if place == "of another user":
                if not IS_ADMINISTRATOR:
                    pytest.skip("only the administrator can give a folder to somebody else")
                os.chown(folder, NOBODY, NOBODY)
    with (
        chdir(tmp_path),
        TerminalProgram(folder, str(SAMPLE.parent), size=(100, 30), command=command, first=first, **homes) as program,
    ):
        program.until(lambda: "Close the SQL" in program.text, "a list")
        leave(program, "\x11")
    if place in ("read-only", "of another user", "no whole path"):
        assert list(folder.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_forty_columns_and_a_locale_of_ascii_are_enough_for_the_screen(tmp_path: Path) -> None:
    with TerminalProgram(tmp_path, str(SAMPLE), size=(40, 16), LANG="C", LC_ALL="C") as program:
        program.until(lambda: "next prompt" in program.text, "a session")
        program.press("p", "p", "down", "end")
        leave(program)


def test_too_little_memory_is_stated_in_a_line_and_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise MemoryError

    monkeypatch.setattr("inspector.cli._run", fail)
    outcome = run_here(capsys, "report", str(SAMPLE))
    assert outcome.code == 1
    assert "not enough memory" in outcome.complaint


@pytest.mark.skipif(sys.platform != "linux", reason="other systems hold nobody to the limit")
def test_with_too_little_address_space_for_the_tokenizer_tokens_are_estimated_and_a_line_says_why() -> None:
    done = limited(f"-v {205 << 10}", "report", str(SAMPLE))
    assert done.returncode == 0, done.stderr
    assert "ulimit -v" in done.stdout + done.stderr
    assert "estimated" in done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems hold nobody to the limit")
@pytest.mark.parametrize("megabytes", [60, 130, 190])
def test_a_limit_of_memory_that_is_too_small_is_reported_in_a_line_with_what_is_needed(megabytes: int) -> None:
    done = limited(f"-v {megabytes << 10}", "report", str(SAMPLE))
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"the memory limit of {megabytes} MB is too small" in done.stderr
    assert "ulimit -v" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems hold nobody to the limit")
@pytest.mark.parametrize(("megabytes", "is_enough"), [(300, False), (900, False), (1536, True)])
def test_the_screen_works_with_the_memory_it_asks_for_and_with_less_says_so_in_a_line(
    tmp_path: Path, megabytes: int, is_enough: bool
) -> None:
    command = ("sh", "-c", f'ulimit -v {megabytes << 10}; exec "$@"', "sh", *COMMAND)
    with TerminalProgram(tmp_path, str(SAMPLE), command=command) as program:
        if is_enough:
            program.until(lambda: "nothing worth changing here" in program.text, "the verdict of the search for plans")
            return
        program.until(lambda: not program.child.isalive(), "the end")
        said = " ".join(program.text.split())
    assert program.child.exitstatus == 1
    assert f"the memory limit of {megabytes} MB is too small for the screen; at least 1536 MB are needed" in said
    assert "inspector report" in said


PAGE = ("report", str(SAMPLE), "--format", "html", "--no-compare", "--no-script")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems hold nobody to the limit")
def test_with_little_address_space_a_page_has_its_charts_drawn_plainly_and_says_so() -> None:
    done = limited(f"-v {8 << 20}", *PAGE)
    assert (done.returncode, done.stderr) == (0, "")
    assert "charts are static" in done.stdout
    assert "<svg" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="other systems hold nobody to the limit")
def test_with_the_address_space_that_is_asked_for_charts_are_drawn() -> None:
    pytest.importorskip("vl_convert")
    done = limited(f"-v {ADDRESS_SPACE_NEEDED >> 10}", *PAGE)
    assert (done.returncode, done.stderr) == (0, "")
    assert "<svg" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="other systems hold nobody to the limit")
def test_with_little_address_space_a_picture_of_a_chart_is_drawn_plainly() -> None:
    done = limited(f"-v {8 << 20}", "screenshot", str(SAMPLE), "--chart")
    assert (done.returncode, done.stderr) == (0, "")
    assert "<svg" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="other systems hold nobody to the limit")
def test_with_little_address_space_a_picture_of_points_is_refused_in_a_line(tmp_path: Path) -> None:
    done = limited(f"-v {8 << 20}", "screenshot", str(SAMPLE), "--chart", "-o", str(tmp_path / "chart.png"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "charts need 128 GB of address space, but the limit is 8 GB" in done.stderr
    assert "ulimit -v" in done.stderr


def test_a_first_start_without_sessions_says_what_to_do_and_shows_the_first_one_when_it_comes(tmp_path: Path) -> None:
    with TerminalProgram(tmp_path, size=(80, 24)) as program:
        program.until(lambda: "No sessions found on this machine" in program.text, "the empty list")
        assert "Or open a file: inspector FILE" in program.text
        assert "To try it without an agent: inspector demo" in program.text
        folder = tmp_path / ".claude" / "projects" / "shop"
        folder.mkdir(parents=True)
        shutil.copy(SAMPLE, folder)
        program.until(lambda: "1 of 1 session shown" in program.text, "a session")
