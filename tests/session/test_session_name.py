"""Name of a session: the same on the screen, in lists and in reports."""

import json
from pathlib import Path

import pytest

from inspector.cli import main
from inspector.report.session_summary import summary_of
from inspector.session.model import first_name, first_prompt, session_name
from inspector.session.open import open_session
from tests.session.claude_lines import Script


def recorded(path: Path, *, title: str = "") -> Path:
    script = Script()
    script.prompt("look into\n  the parser")
    script.text("m1", "Done.")
    script.prompt("and the lexer")
    if title:
        script.add(type="ai-title", aiTitle=title)
    return script.write(path)


def test_a_title_names_a_session(tmp_path: Path) -> None:
    assert session_name(open_session(recorded(tmp_path / "a.jsonl", title="Find the guard"))) == "Find the guard"


def test_without_a_title_the_first_prompt_names_it_in_one_line(tmp_path: Path) -> None:
    session = open_session(recorded(tmp_path / "a.jsonl"))
    assert session_name(session) == "look into the parser"
    assert first_prompt(session) == summary_of(session).prompt


def test_the_first_name_that_says_something_is_taken() -> None:
    assert first_name(" ", "", "a\tb", "c") == "a b"
    assert first_name("", " ") == ""


@pytest.mark.parametrize(("asked", "name"), [((), ""), (("--include-text",), "look into the parser")])
def test_a_report_holds_the_name_where_texts_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: tuple[str, ...], name: str
) -> None:
    path = recorded(tmp_path / "a.jsonl")
    assert main(["report", str(path), "--format", "json", *asked]) == 0
    assert json.loads(capsys.readouterr().out)["session"]["title"] == name


def test_what_an_agent_puts_before_a_prompt_is_no_part_of_its_name() -> None:
    assert first_name("<current_datetime>2026-06-25T03:50</current_datetime>\n\ninvestigate why") == "investigate why"
    assert first_name("<system-reminder>alone</system-reminder>") == "<system-reminder>alone</system-reminder>"
    assert first_name("<div>what</div> is this") == "<div>what</div> is this"
    assert first_name("<a_b>open") == "<a_b>open"
