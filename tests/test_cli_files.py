"""`inspector files`: file operations of a session."""

import json
import re
import time
from pathlib import Path

import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.file_history.history import KnownNames
from tests.program import COMMAND, environment, run_program


def line(kind: str, content: list[dict], number: int = 0) -> str:
    named = {"id": f"msg_{number}"} if kind == "assistant" else {}
    return json.dumps({"type": kind, "message": {"role": kind, **named, "content": content}})


def session_of(path: Path, *calls: tuple[str, dict, str]) -> Path:
    """A session of Claude Code with these calls: tool, arguments, result."""
    lines = [line("user", [{"type": "text", "text": "Make it better."}])]
    for number, (tool, arguments, result) in enumerate(calls):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": arguments}
        lines.append(line("assistant", [{"type": "text", "text": f"Reason {number} is good. I do it."}, call], number))
        lines.append(line("user", [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result}]))
    path.write_text("".join(f"{each}\n" for each in lines))
    return path


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return session_of(
        tmp_path / "session.jsonl",
        ("Read", {"file_path": "/w/a.py"}, "1\tone\n2\ttwo\n3\t"),
        ("Edit", {"file_path": "/w/a.py", "old_string": "two", "new_string": "2"}, "updated"),
        ("Read", {"file_path": "/w/b.py", "offset": 5, "limit": 1}, "5\tfive"),
        ("Bash", {"command": "sed -i s/one/1/ a.py"}, ""),
        ("edit_file", {"path": "/w/c.py", "old_str": "x", "new_str": "y", "intent": "Rename *x*"}, "ok"),
    )


def test_the_files_of_a_session_are_listed(session: Path) -> None:
    lines = run_program("files", session).out.splitlines()
    assert [each.split()[0] for each in lines] == ["file", "/w/a.py", "/w/b.py", "/w/c.py"]
    assert "whole, 2 lines, 1 doubt" in lines[1]
    document = json.loads(run_program("files", session, "--format", "json").out)
    assert [(each["path"], each["reads"], each["edits"]) for each in document["files"]] == [
        ("/w/a.py", 1, 1),
        ("/w/b.py", 1, 0),
        ("/w/c.py", 0, 1),
    ]
    assert "| /w/a.py |" in run_program("files", session, "--format", "md").out


def test_a_whole_file_is_printed_byte_for_byte_as_it_was_at_a_turn(session: Path) -> None:
    assert run_program("files", session, "a.py", "--at", "3").raw == b"one\ntwo\n"
    assert run_program("files", session, "a.py", "--at", "5").raw == b"one\n2\n"
    assert run_program("files", session, "a.py", "--at", "call:2").raw == b"one\ntwo\n"
    outcome = run_program("files", session, "a.py", "--at", "last")
    assert outcome.raw == b"one\n2\n"
    assert "a command may have changed it at turn 9: sed -i s/one/1/ a.py" in outcome.err


def test_what_is_not_known_is_stated_in_its_place(session: Path) -> None:
    told = run_program("files", session, "b.py", "--at", "last").out.splitlines()
    assert told == ["⋯ lines 1 to 4 are unknown ⋯", "five", "⋯ unknown from line 6 on, if there are more lines ⋯"]
    document = json.loads(run_program("files", session, "b.py", "--at", "last", "--format", "json").out)
    assert document["text"] is None
    assert [piece["known"] for piece in document["pieces"]] == [False, True, False]
    assert "not read or changed yet" in run_program("files", session, "b.py", "--at", "1").err


def test_two_turns_are_compared(session: Path) -> None:
    difference = run_program("files", session, "a.py", "--diff", "3", "5").out
    assert "-two\n+2\n" in difference
    assert difference.startswith("--- /w/a.py\tturn 3\n+++ /w/a.py\tturn 5\n")
    assert run_program("files", session, "a.py", "--diff", "5", "5").out == ""
    assert run_program("files", session, "a.py", "--diff", "3", "5", "--format", "md").out.startswith("```diff\n---")


def test_the_changelog_tells_intents_else_what_was_stated_else_the_difference(session: Path, tmp_path: Path) -> None:
    assert run_program("files", session, "--changelog").out.splitlines() == [
        " 5  - /w/a.py: I do it. (+1 -1)",
        "11  - /w/c.py: Rename *x* (+1 -1)",
    ]
    assert run_program("files", session, "a.py", "--changelog").out.count("\n") == 1
    document = json.loads(run_program("files", session, "--changelog", "--format", "json").out)
    assert [(each["turn"], each["source"]) for each in document["changes"]] == [(5, "said"), (11, "intent")]
    markdown = run_program("files", session, "--changelog", "--format", "md").out
    assert "### /w/a.py" in markdown
    assert r"- turn 11: Rename \*x\*" in markdown
    silent = tmp_path / "silent.jsonl"
    silent.write_text(re.sub(r"Reason \d is good. I do it.", "", session.read_text()))
    changes = json.loads(run_program("files", silent, "--changelog", "--format", "json").out)["changes"]
    assert [(each["source"], each["what"]) for each in changes] == [("difference", "two → 2"), ("intent", "Rename *x*")]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["nothing.py", "--at", "3"], 1, "did not read or change a file named nothing.py"),
        (["py", "--at", "3"], 1, "did not read or change a file named py"),
        (["", "--at", "3"], 1, "the file name is empty"),
        (["a.py", "--at", "0"], 1, "there is no turn 0: the session has turns 1 to 11"),
        (["a.py", "--at", "99"], 1, "there is no turn 99"),
        (["a.py", "--at", "call:77"], 1, "there is no call 77"),
        (["a.py", "--at", "2026-01-01"], 1, "the session has no recorded times"),
        (["a.py", "--at", "soon"], 2, "is not a turn, call or time"),
        (["a.py", "--diff", "1"], 2, "expected 2 arguments"),
        (["--at", "3"], 2, "need a FILE"),
        (["a.py", "--at", "3", "--changelog"], 2, "not allowed with"),
    ],
)
def test_what_cannot_be_answered_is_reported_in_one_line(session: Path, words: list[str], code: int, told: str) -> None:
    outcome = run_program("files", session, *words)
    assert outcome.code == code
    assert told in outcome.complaint
    assert outcome.out == ""


def test_a_name_that_means_several_files_is_reported_with_them(tmp_path: Path) -> None:
    session = session_of(
        tmp_path / "s.jsonl",
        ("Write", {"file_path": "/w/a/x.py", "content": "1"}, "ok"),
        ("Write", {"file_path": "/w/b/x.py", "content": "2"}, "ok"),
    )
    outcome = run_program("files", session, "x.py", "--at", "last")
    assert outcome.code == 1
    assert "/w/a/x.py, /w/b/x.py" in outcome.complaint
    assert run_program("files", session, "b/x.py", "--at", "last").raw == b"2"


def test_a_session_without_files_says_so(tmp_path: Path) -> None:
    session = session_of(tmp_path / "s.jsonl", ("Bash", {"command": "ls"}, "a"))
    assert "no tool recorded" in run_program("files", session).out
    assert run_program("files", session, "--changelog").out == "no file was changed\n"
    assert run_program("files", tmp_path / "gone.jsonl").code == 1


def test_texts_of_a_session_cannot_drive_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J"
    session = session_of(
        tmp_path / "s.jsonl", ("Write", {"file_path": f"/w/{evil}.py", "content": f"{evil}\n", "intent": evil}, "ok")
    )
    for words in ((), (f"{evil}.py", "--at", "last"), ("--changelog",), (f"{evil}.py",)):
        run = pexpect.spawn(
            COMMAND[0],
            [*COMMAND[1:], "files", str(session), *words],
            env=environment(TERM="xterm"),
            encoding=None,
            timeout=60,
        )
        run.expect(pexpect.EOF)
        assert b"\x1b]" not in run.before
        assert b"\x1b[2J" not in run.before
        run.close()
    assert run_program("files", session, f"{evil}.py", "--at", "last").raw == f"{evil}\n".encode()


def test_no_file_that_a_session_names_is_opened(tmp_path: Path) -> None:
    there = tmp_path / "real.py"
    there.write_text("on disk\n")
    session = session_of(
        tmp_path / "s.jsonl", ("Edit", {"file_path": str(there), "old_string": "x", "new_string": "y"}, "ok")
    )
    assert "on disk" not in run_program("files", session, "real.py", "--at", "last").out
    assert there.read_text() == "on disk\n"


def test_files_of_many_results_and_commands_are_listed_in_seconds(tmp_path: Path) -> None:
    # 4,000 files and 4,000 commands: 16 million pairs of a file and a command.
    calls = [
        call
        for number in range(4_000)
        for call in (
            ("Read", {"file_path": f"/w/mod{number}.py"}, "1\tone\n"),
            ("Bash", {"command": f"sed -i s/one/1/ mod{number}.py && make"}, ""),
        )
    ]
    session = session_of(tmp_path / "many.jsonl", *calls)
    started = time.monotonic()
    document = json.loads(run_program("files", session, "--format", "json").out)
    assert time.monotonic() - started < 20
    assert len(document["files"]) == 4_000


NAMES = ["a.py", "a", "b-1.txt", "my notes.md", ".env", "a.py.bak", "x..y", "é.py", "{t}.js"]


@given(st.lists(st.sampled_from([*NAMES, *" ./;-'"]), max_size=6).map("".join))
def test_a_command_names_the_files_whose_whole_names_are_in_it(command: str) -> None:
    # A name may follow a slash, and a point may follow it, but no other sign of names.
    expected = {name for name in NAMES if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", command)}
    assert set(KnownNames(f"/w/{name}" for name in NAMES).named_in(command)) == {f"/w/{name}" for name in expected}
