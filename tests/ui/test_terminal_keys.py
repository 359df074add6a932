"""Keys in a real terminal have their documented effect for any session content."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.hostile import hostile_copy
from tests.terminal import TerminalProgram
from tests.ui.recordings import recording

pytestmark = pytest.mark.long

ESCAPES = re.compile(
    rb"\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_].*?\x1b\\|[ -/]*[0-~])", re.DOTALL
)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    made = recording(tmp_path / "session.jsonl")
    made.turn("x " * 30_000)
    for _ in range(4):
        made.turn("a needle\nand hay\n" * 20)
    return made.path


def test_rows_are_folded_sorted_pinned_and_jumped_to_and_calls_are_scrubbed_and_played(
    session: Path, tmp_path: Path
) -> None:
    with TerminalProgram(tmp_path, str(session)) as program:
        program.until(lambda: "Cost $" in program.text, "the costs")
        program.press("home", "z", "f", shows="2 blocks · ")
        program.press("z", "f", hides="2 blocks · ")
        program.press("down", "left", shows="2 blocks · ")
        program.press("right", hides="2 blocks · ")
        program.press("z", "s", shows="Timeline, largest first")
        program.press("z", "s", shows="token-calls tokens")
        program.press("z", "s", hides="Timeline, ")
        program.press("home", "down", "z", "p", "home", "g", "p", shows="◆")
        program.press("1", shows="with plan A ~$")
        program.press("g", "m", shows="miss 1/1")
        program.press("g", "b", shows="more tokens than the previous one")
        program.press("z", "t", shows="chart axis: time")
        program.press("z", "t", shows="chart axis: calls")
        program.press("f", shows="filter words")
        program.press(*"is:cut", "enter")
        program.press("f")
        program.rest()
        program.press("escape", hides="filter is:cut")
        program.press("[", shows="call 35 of 35")
        program.press("shift+left", shows="call 25 of 35")
        program.press("g", "<", "g", "<", "g", "<", shows="0.5 calls per second")
        program.press("g", " ", shows="▶ call")
        program.press("g", " ", hides="▶ call")
        program.press("end")
        program.until(lambda: " of 35 " not in program.last_line, "the present")


def test_a_text_is_compared_laid_out_searched_enlarged_and_copied(session: Path, tmp_path: Path) -> None:
    with TerminalProgram(tmp_path, str(session)) as program:
        program.until(lambda: "Cost $" in program.text, "the costs")
        program.press("end", "enter", shows="r read as")
        program.press("r", "d", shows="no difference")
        program.press("z", "z", hides="Timeline")
        program.press("r", "R", shows='"tool_use_id"')
        program.press("r", "m", shows="a needle and hay a needle")
        program.press("r", "r", "/", shows="find in")
        program.press(*"needle", "enter", shows="1 of 20")
        program.press("n", shows="2 of 20")
        program.press("r", "y", shows="copied 340 characters")
        assert program.written.count(b"\x1b]52;c;") == 1
        program.press("escape", shows="Timeline")
        program.press("q")
        program.until(lambda: not program.child.isalive(), "the end")


def test_nothing_a_session_holds_reaches_the_terminal_as_a_control(tmp_path: Path) -> None:
    source = ROOT / "sample_sessions" / "coding-agent.jsonl"
    hostile = hostile_copy(source, tmp_path / "hostile.jsonl")
    with TerminalProgram(tmp_path, str(hostile)) as program:
        program.until(lambda: "FOLLOW" in program.last_line, "the rows")
        sorts, reads = ("z f", "z f", "z s", "z s", "z s"), ("r d", "r j", "r m", "r R", "r r")
        for keys in ("1", "home", *sorts, "enter", *reads, "z z", "end", "escape"):
            program.press(*keys.split())
            program.rest()
        program.press("/")
        program.rest()
        program.press(*"[b", "enter")
        program.rest()
        assert "␛" in program.text
        plain = ESCAPES.sub(b"", program.written)
        assert not re.search(rb"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f]", plain)
        own = (b"\x1b]52", b"\x1bP1;2|x", b"\x1b]0;t", b"\xc2\x9b", b"\xc2\x9d", b"\xe2\x80\xae", b"\xe2\x81\xa6")
        assert not [said for said in own if said in program.written]
