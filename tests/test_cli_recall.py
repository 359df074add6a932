"""`inspector recall`: cut texts, read from the session's own file."""

import json
import shutil
from pathlib import Path

import pexpect
import pytest

from inspector.session.model import BlockKind, Session
from inspector.session.open import open_session
from tests.conftest import ROOT
from tests.hostile import hostile_copy
from tests.program import COMMAND, environment, run_program

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"


@pytest.fixture
def session() -> Session:
    return open_session(SAMPLE)


@pytest.fixture
def identifier(session: Session) -> str:
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    return max(results, key=lambda block: block.characters).tool_call_id


@pytest.fixture
def text(session: Session, identifier: str) -> str:
    found = (each for each in session.blocks if each.kind is BlockKind.TOOL_RESULT)
    return session.text(next(block for block in found if block.tool_call_id == identifier))


def test_a_result_is_printed_byte_for_byte_into_a_pipe(identifier: str, text: str) -> None:
    outcome = run_program("recall", identifier, SAMPLE)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.raw == text.encode()


def test_a_part_of_it_is_asked_for_by_lines_ends_or_what_they_hold(identifier: str, text: str) -> None:
    lines = text.splitlines(keepends=True)
    assert run_program("recall", identifier, SAMPLE, "--lines", "3-5").out == "".join(lines[2:5])
    assert run_program("recall", identifier, SAMPLE, "--lines", "7").out == lines[6]
    assert run_program("recall", identifier, SAMPLE, "--head", "2").out == "".join(lines[:2])
    assert run_program("recall", identifier, SAMPLE, "--tail", "2").out == "".join(lines[-2:])
    found = run_program("recall", identifier, SAMPLE, "--grep", "def ").out.splitlines()
    assert found == [f"{number}:{line.rstrip()}" for number, line in enumerate(lines, 1) if "def " in line]


def test_the_document_says_where_it_is(session: Session, identifier: str, text: str) -> None:
    document = json.loads(run_program("recall", identifier[:14], SAMPLE, "--json").out)
    (result,) = document["results"]
    block = next(each for each in session.messages[result["message"] - 1].blocks if each.tool_call_id == identifier)
    assert block.kind is BlockKind.TOOL_RESULT
    assert (result["tool_call_id"], result["text"], result["characters"]) == (identifier, text, len(text))
    again = json.loads(run_program("recall", result["reference"], SAMPLE, "--json").out)
    assert again["results"] == [result]


def test_a_message_is_printed_with_all_its_blocks(session: Session) -> None:
    number, message = next(
        (index, each) for index, each in enumerate(session.messages, start=1) if len(each.blocks) > 1
    )
    texts = [session.text(block) for block in message.blocks]
    found = json.loads(run_program("recall", f":{number}", SAMPLE, "--json").out)["results"]
    assert [each["text"] for each in found] == texts
    assert run_program("recall", f"{session.identifier[:8]}:{number}.2", SAMPLE).out == texts[1]
    whole = run_program("recall", f":{number}", SAMPLE).out
    assert whole == "\n".join([*(text.removesuffix("\n") for text in texts[:-1]), texts[-1]])


def test_without_a_path_the_sessions_of_this_machine_are_looked_into(
    private_home: Path, identifier: str, text: str
) -> None:
    folder = private_home / ".claude" / "projects" / "-home-sam-project"
    folder.mkdir(parents=True)
    shutil.copy(SAMPLE, folder / "1880028d-a733-47d1-a718-3179ea814247.jsonl")
    # A fork holds a copy of it: the same text is one answer.
    shutil.copy(SAMPLE, folder / "1880028d-a733-47d1-a718-3179ea814248.jsonl")
    env = {"HOME": str(private_home)}
    assert run_program("recall", identifier, env=env).raw == text.encode()
    assert run_program("recall", f"see /tmp/hermes-results/{identifier}.txt", env=env).raw == text.encode()


def test_an_id_that_no_one_has_says_what_is_near(identifier: str) -> None:
    outcome = run_program("recall", f"{identifier[:-1]}_", SAMPLE)
    assert outcome.code == 1
    assert f"similar ids: {identifier}" in outcome.complaint
    outcome = run_program("recall", "nothing", SAMPLE)
    assert outcome.code == 1
    assert "SESSION:MESSAGE" in outcome.complaint


def test_what_means_several_results_is_answered_with_what_to_ask_for(session: Session) -> None:
    outcome = run_program("recall", "toolu_01", SAMPLE)
    assert outcome.code == 2
    assert f"{session.identifier}:" in outcome.complaint
    assert "more" in outcome.complaint


def test_what_a_tool_was_called_with_is_printed_in_place_of_its_result(session: Session, identifier: str) -> None:
    call = next(each for each in session.blocks if each.kind is BlockKind.TOOL_CALL and each.tool_call_id == identifier)
    assert run_program("recall", "--call", identifier, SAMPLE).raw == session.text(call).encode()


def test_what_answers_no_call_is_not_taken_for_one() -> None:
    outcome = run_program("recall", "--call", ":1", SAMPLE)
    assert outcome.code == 1
    assert "does not answer a recorded tool call" in outcome.complaint


def test_a_call_without_a_result_says_so(tmp_path: Path) -> None:
    lines = SAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(index for index, line in enumerate(lines) if '"tool_use"' in line)
    path = tmp_path / "session.jsonl"
    path.write_text("".join(lines[: last + 1]), encoding="utf-8")
    call = [block for block in open_session(path).blocks if block.kind is BlockKind.TOOL_CALL][-1]
    outcome = run_program("recall", call.tool_call_id, path)
    assert outcome.code == 1
    assert "without a result" in outcome.complaint


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--lines", "5-3"], "the smaller number first"),
        (["--lines", "-"], "not a range of lines"),
        (["--lines", "0"], "counted from 1"),
        (["--head", "0"], "use 1 or more"),
        (["--grep", "("], "not a regular expression"),
        (["--head", "1", "--tail", "1"], "not allowed with"),
    ],
)
def test_a_part_that_makes_no_sense_is_refused(identifier: str, words: list[str], says: str) -> None:
    outcome = run_program("recall", identifier, SAMPLE, *words)
    assert outcome.code == 2
    assert says in outcome.err


def test_a_path_that_is_not_there_is_refused(identifier: str, tmp_path: Path) -> None:
    outcome = run_program("recall", identifier, tmp_path / "none.jsonl")
    assert outcome.code == 1
    assert "no such file" in outcome.complaint


def test_a_search_lists_where_its_words_are_and_each_place_can_be_recalled(private_home: Path) -> None:
    outcome = run_program("recall", "--search", "grid operator's statement", SAMPLE, "--limit", "3")
    assert outcome.code == 0
    reference = outcome.out.split()[0]
    assert "grid operator's statement" in outcome.out
    whole = run_program("recall", reference, SAMPLE)
    assert "grid operator's statement" in whole.out
    (hit, *_) = json.loads(run_program("recall", "--search", "grid operator", SAMPLE, "--json").out)["hits"]
    assert (hit["reference"], hit["is_literal"], hit["sessions"]) == (reference, True, 1)
    assert list(private_home.rglob("texts.db"))
    assert "removed" in run_program("recall", "--drop-index").err
    assert not list(private_home.rglob("texts.db*"))


def test_a_search_without_an_index_finds_the_same_and_keeps_nothing(private_home: Path) -> None:
    kept = run_program("recall", "--search", "meter", SAMPLE, "--json").out
    run_program("recall", "--drop-index")
    assert run_program("recall", "--search", "meter", SAMPLE, "--json", "--no-index").out == kept
    by_setting = run_program("recall", "--search", "meter", SAMPLE, "--json", env={"INSPECTOR_NO_INDEX": "1"})
    assert by_setting.out == kept
    assert not list(private_home.rglob("texts.db*"))


def test_a_search_that_finds_nothing_or_asks_for_nothing_says_so() -> None:
    outcome = run_program("recall", "--search", "xyzzyplugh", SAMPLE)
    assert (outcome.code, outcome.out) == (1, "")
    assert "nothing in 1 session" in outcome.complaint
    assert run_program("recall", "--search", " ", SAMPLE).code == 2
    assert "--search TEXT" in run_program("recall").complaint


def test_nothing_that_was_recorded_drives_a_terminal(tmp_path: Path) -> None:
    path = hostile_copy(SAMPLE, tmp_path / "session.jsonl")
    texts = open_session(path)
    hostile = [
        index
        for index, block in enumerate(texts.blocks)
        if block.kind is BlockKind.TOOL_RESULT and "\x1b" in texts.text(block)
    ]
    message = next(
        number for number, first in reversed(list(enumerate(texts.first_blocks, start=1))) if first <= hostile[0]
    )
    program, *words = COMMAND
    child = pexpect.spawn(program, [*words, "recall", f":{message}", str(path)], env=environment(), timeout=60)
    shown = child.read()
    child.close()
    assert child.exitstatus == 0
    assert b"\x1b" not in shown.replace(b"\x1b[K", b"")
    assert f"of {path}".encode() in shown.replace(b"\r\n", b"\n")


def test_a_search_works_where_its_index_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "cache"
    blocked.write_text("a file in place of the folder")
    folders = {"XDG_CACHE_HOME": str(blocked), "HOME": str(tmp_path)}
    usual = run_program("recall", "--search", "meter", SAMPLE, "--no-index")
    outcome = run_program("recall", "--search", "meter", SAMPLE, env=folders)
    assert usual.code == outcome.code == 0
    assert outcome.out == usual.out
    assert "searching without it" in outcome.err
