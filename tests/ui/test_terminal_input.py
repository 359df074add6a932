"""Bytes on the terminal's input that no terminal should send: the screen drops or replaces them and goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual import events

from inspector.ui.terminal import MOST_COLUMNS, MOST_ROWS, InputDecoder
from tests.conftest import ROOT
from tests.terminal import TerminalProgram
from tests.test_serving import serving

SAMPLE = ROOT / "sample_sessions" / "terminal-agent.jsonl"

SECONDS_OF_PROCESSOR = 10
"""Painting one screen of 99,999 by 99,999 takes several times as long."""

OPEN = "Signs and terms"
"""A heading of the help."""

HUGE_SIZE = b"\x1b[48;99999;99999;1;1t"
HARMFUL = {
    "a byte that is not UTF-8": b"\xe9",
    "a binary paste": b"\x1b[200~" + bytes(range(128, 256)) + HUGE_SIZE + b"\x1b[201~",
    "an old mouse report with high bytes": b"\x1b[M \xff\xfe",
    "a key code that is no integer of C": b"\x1b[99999999999u",
    "a key code that is no character": b"\x1b[1114112u",
    "a key text that is no character": b"\x1b[97;1;1114112u",
    "a key code that is a surrogate": b"\x1b[55296u",
    "a huge size": HUGE_SIZE,
    "no size": b"\x1b[48;0;0;0;0t",
    "a mouse without pixels": b"\x1b[48;36;120;0;0t\x1b[<0;5;5M\x1b[<0;5;5m",
    "a mouse far away": b"\x1b[<35;9999999999;9999999999M",
}


def processor_seconds(process: int) -> float:
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_the_screen_answers_keys_after_input_that_is_invalid(tmp_path: Path) -> None:
    with TerminalProgram(tmp_path, str(SAMPLE)) as program:
        program.until(lambda: "Timeline" in program.text, "the session")
        before = processor_seconds(program.child.pid)
        for what, data in HARMFUL.items():
            program.type(data + b"?")
            program.until(lambda: OPEN in program.text, f"the help after {what}")
            program.press("escape", hides=OPEN)
        assert processor_seconds(program.child.pid) - before < SECONDS_OF_PROCESSOR
        program.type(b"q")
        program.until(lambda: not program.child.isalive(), "the end")
        assert b"Traceback" not in program.written


async def test_a_screen_in_a_browser_answers_keys_after_input_that_is_invalid() -> None:
    async with serving() as server, server.window() as window:
        await window.screen()
        await window.send("stdin", "\x1b[99999999999u")
        await window.send("stdin", "?")
        await window.read_until(b"Help")


@pytest.mark.parametrize("data", HARMFUL.values(), ids=HARMFUL)
def test_a_key_after_invalid_input_arrives(data: bytes) -> None:
    *_, last = InputDecoder().feed(data + b"j")
    assert isinstance(last, events.Key)
    assert last.key == "j"


def test_a_character_split_over_two_reads_is_whole() -> None:
    decoder = InputDecoder()
    first, second = "é".encode()[:1], "é".encode()[1:]
    assert list(decoder.feed(first)) == []
    assert [event.character for event in decoder.feed(second) if isinstance(event, events.Key)] == ["é"]


def test_a_size_that_no_monitor_has_leaves_the_mouse_where_it_was() -> None:
    decoder = InputDecoder()
    (size,) = decoder.feed(b"\x1b[48;40;100;800;1000t")
    assert isinstance(size, events.Resize)
    assert size.size == (100, 40)
    assert list(decoder.feed(f"\x1b[48;{MOST_ROWS + 1};{MOST_COLUMNS + 1};1;1t".encode())) == []
    (move,) = decoder.feed(b"\x1b[<35;501;401M")
    assert isinstance(move, events.MouseMove)
    assert (move.x, move.y) == (50, 20)  # 500 / (1000 / 100), 400 / (800 / 40)
