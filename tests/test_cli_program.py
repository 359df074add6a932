import json
import subprocess
import sys
from pathlib import Path

import pytest

import inspector
from tests.conftest import ROOT
from tests.program import COMMAND, environment, run_program

HEAVY = {"textual", "rich.console", "numpy", "tiktoken", "genai_prices", "msgspec", "watchfiles"}


def imported_by(*lines: list[str]) -> set[str]:
    """The modules in memory when `inspector` with each of these arguments is done."""
    code = (
        "import sys, json, io\n"
        "from inspector.cli import main\n"
        "out, sys.stdout = sys.stdout, io.StringIO()\n"
        f"for arguments in {lines!r}: main(arguments)\n"
        "json.dump(sorted(sys.modules), out)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, check=True, timeout=60)
    return set(json.loads(done.stdout))


def test_version_is_the_packages():
    outcome = run_program("--version")

    assert (outcome.code, outcome.out.splitlines()[0], outcome.err) == (0, f"inspector {inspector.__version__}", "")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["report", "--help"], ["reprot"]])
def test_nothing_heavy_is_imported_to_say_so_little(arguments: list[str]):
    assert imported_by(arguments) & HEAVY == set()


SAMPLE = str(ROOT / "sample_sessions" / "local-agent.json")


def test_commands_never_import_the_screen():
    lines = [
        ["report", SAMPLE, "--plan", "careful"],
        ["compact", SAMPLE],
        ["strategies", "--plans"],
        ["formats", SAMPLE],
        ["doctor"],
    ]
    assert not {name for name in imported_by(*lines) if name.startswith(("textual", "inspector.ui."))}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["report"], "PATH"),
        (["report", "x", "--format", "pdf"], "'text', 'json'"),
        (["report", "x", "--nonsense"], "--nonsense"),
        (["report", "x", "--runs-per-day", "nan"], "--runs-per-day"),
        (["report", "x", "--strategy", "tired-stale"], "tiered-stale"),
        (["compact", "x", "--call", "one"], "--call"),
        (["strategies", "tired"], "tiered-stale"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_usage_is_exit_code_two_and_one_line_that_says_what(arguments: list[str], part: str):
    outcome = run_program(*arguments)

    assert outcome.code == 2
    assert part in outcome.complaint
    assert outcome.out == ""


def test_control_characters_in_arguments_do_not_reach_the_terminal():
    outcome = run_program("\x1b]52;c;aGk=\x07\n\x9b31m")

    assert outcome.code == 1
    assert not set(outcome.complaint) & {"\x1b", "\x07", "\x9b"}


@pytest.mark.parametrize("arguments", [["strategies", "--json"], ["--help"], ["report", "--help"]], ids=" ".join)
def test_a_reader_that_goes_away_is_no_error_to_talk_about(arguments: list[str]):
    with subprocess.Popen(
        [*COMMAND, *arguments], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        complaint = program.stderr.read()
        code = program.wait(60)

    assert (code, complaint) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_line():
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "strategies"], env=environment(), stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )

    assert done.returncode == 1
    assert done.stderr.decode().count("\n") == 1
    assert b"cannot be written" in done.stderr


def test_output_an_encoding_cannot_write_is_escaped():
    outcome = run_program("strategies", env={"PYTHONIOENCODING": "ascii"})

    assert outcome.code == 0
    assert outcome.out.isascii()


def test_strategies_as_json_hold_what_the_registry_holds():
    from inspector.strategies.registry import STRATEGIES

    listed = json.loads(run_program("strategies", "--json").out)

    assert [each["name"] for each in listed] == list(STRATEGIES)
    for each in listed:
        declared = STRATEGIES[each["name"]].parameters
        assert [(one["name"], one["range"]) for one in each["parameters"]] == [
            (one.name, one.range) for one in declared
        ]


def test_one_strategy_is_shown_with_every_parameter_its_default_and_its_help():
    from inspector.strategies.registry import STRATEGIES

    strategy = STRATEGIES["tiered-stale"]
    words = " ".join(run_program("strategies", "tiered-stale").out.split())

    for parameter in strategy.parameters:
        assert f"{parameter.name} {parameter.help}" in words
