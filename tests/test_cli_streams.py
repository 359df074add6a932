"""Closed or full standard streams: the program reports them on an open stream, and exits properly."""

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from inspector.cli import main
from inspector.cli.output import write
from tests.conftest import ROOT
from tests.program import COMMAND, environment

SAMPLE = str(ROOT / "sample_sessions" / "benchmark-trial.json")
CLOSED = "inspector: standard output is closed"
# Several commands in one process: to start Python for each would take longer than they do.
RUN = """
import json, sys
from pathlib import Path
from inspector.cli import main
codes = [main(words) for words in json.loads(sys.argv[1])]
Path(sys.argv[2]).write_text(json.dumps(codes))
"""
WRITING = [
    ["report", SAMPLE],
    ["report", SAMPLE, "--format", "json"],
    ["compact", SAMPLE, "--strategy", "clear-old"],
    ["compare", SAMPLE],
    ["check", SAMPLE],
    ["convert", SAMPLE, "--to", "openai"],
    ["export", "--strategy", "clear-old", "--to", "odincode"],
    ["screenshot", SAMPLE, "--chart"],
    ["strategies", "--json"],
    ["strategies", "--plans"],
    ["formats", SAMPLE],
    ["demo", "--list"],
    ["serve", SAMPLE],
    ["--version"],
    ["--help"],
]


def shell(redirection: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command by a shell that closes or redirects its streams first."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *command],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def codes(redirection: str, lines: list[list[str]], folder: Path) -> tuple[list[int], str, str]:
    told = folder / "codes.json"
    done = shell(redirection, sys.executable, "-c", RUN, json.dumps(lines), str(told))
    assert done.returncode == 0, done.stderr
    return json.loads(told.read_text()), done.stdout, done.stderr


def test_every_command_says_that_its_output_is_closed_and_fails(tmp_path: Path) -> None:
    found, _, said = codes(">&-", WRITING, tmp_path)
    assert found == [1] * len(WRITING), said
    assert said.count(CLOSED) == len(WRITING)
    assert "Traceback" not in said


def test_the_program_itself_fails_where_its_output_is_closed() -> None:
    done = shell(">&-", *COMMAND, "report", SAMPLE)
    assert done.returncode == 1
    assert done.stderr.startswith(CLOSED)
    assert done.stderr.count("\n") == 1


def test_what_is_saved_in_a_file_needs_no_output(tmp_path: Path) -> None:
    target = tmp_path / "report.md"
    found, _, said = codes(">&- 2>&-", [["report", SAMPLE, "--format", "md", "-o", str(target)]], tmp_path)
    assert found == [0], said
    assert target.read_text().startswith("# ")


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_without_anywhere_to_complain_it_works_and_fails_as_ever(redirection: str, tmp_path: Path) -> None:
    if "full" in redirection and not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    lines = [
        ["strategies"],
        ["report", "no-such-file"],
        ["report"],
        ["export", "--strategy", "clear-old", "--to", "odincode"],
    ]
    found, out, _ = codes(redirection, lines, tmp_path)
    assert found == [0, 1, 2, 0]
    assert "tiered-stale" in out
    assert shell(redirection, *COMMAND, "report", "no-such-file").returncode == 1


def test_the_screen_says_that_it_needs_a_terminal_where_a_stream_is_closed() -> None:
    for redirection in ("<&-", ">&-"):
        done = shell(redirection, *COMMAND, SAMPLE)
        assert done.returncode == 2
        assert "needs a terminal" in done.stderr
        assert done.stderr.count("\n") == 1


def test_no_file_gets_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "from inspector.cli.output import prepare_streams\n"
        "prepare_streams()\n"
        f"with open({str(tmp_path / 'file')!r}, 'w') as file:\n"
        "    os.write(1, b'x'); os.write(2, b'x')\n"
        "    sys.exit(10 + file.fileno())\n"
    )
    done = shell("<&- >&- 2>&-", sys.executable, "-c", script)
    assert done.returncode >= 13
    assert (tmp_path / "file").read_text() == ""


def test_in_a_locale_without_any_character_but_ascii_every_form_is_written(tmp_path: Path) -> None:
    forms = ("text", "md", "csv", "json", "html")
    lines = [["report", SAMPLE, "--no-compare", "--no-script", "--format", form] for form in forms]
    told = tmp_path / "codes.json"
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps([*lines, ["formats"], ["strategies"]]), str(told)],
        env=environment(LANG="C", LC_ALL="C", PYTHONCOERCECLOCALE="0", PYTHONUTF8="0"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert json.loads(told.read_text()) == [0] * (len(forms) + 2), done.stderr
    assert done.stdout.isascii()
    assert done.stderr.isascii()


@pytest.mark.parametrize(("encoding", "minus", "least"), [("utf-8", "\N{MINUS SIGN}", "≥"), ("latin-1", "-", ">=")])
def test_a_negative_amount_has_a_minus_sign_where_the_encoding_has_one_and_a_hyphen_where_it_lacks_it(
    encoding: str, minus: str, least: str
) -> None:
    session = str(ROOT / "sample_sessions/coding-agent.jsonl")
    with io.TextIOWrapper(io.BytesIO(), encoding) as out, redirect_stdout(out):
        codes = [
            main(["report", session, "--strategy", "keep-recent", "--no-kept-results"]),
            main(["compare", session]),
        ]
        write("≥ $1 — … ·")
        said = out.buffer.getvalue().decode(encoding)

    assert codes == [0, 0]
    assert f" {minus}$" in said
    assert f"{least} $1 " in said
    assert "u2212" not in said
    assert {"-", "\N{MINUS SIGN}"} - {minus} & set(re.findall(r"[~ ](\S)\$", said)) == set()


def test_a_dumb_terminal_gets_lines_without_escapes_and_no_screen() -> None:
    import pexpect

    for words, code in ((["report", SAMPLE], 0), ([SAMPLE], 2)):
        written, ended = pexpect.run(
            " ".join([*COMMAND, *words]), env=environment(TERM="dumb"), withexitstatus=True, timeout=120
        )
        assert ended == code, written
        assert b"\x1b" not in written
    assert b"needs a terminal" in written
    assert os.linesep.encode() in written
