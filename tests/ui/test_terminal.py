"""The app in a real terminal: every key works as documented in the help, and no control byte gets through."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pyte
import pytest

from inspector.ui.actions.action import key_name
from inspector.ui.main.screen import MAIN
from tests.program import COMMAND, environment
from tests.terminal import kill

CORPUS_SESSION = "claude-code/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl"
"""A session of a real agent, with tool results of many sizes."""

PATIENCE = 120.0
SECONDS_OF_A_FRAME = 0.05
"""After so long without anything more a frame is whole."""

ODD = re.compile("\x1b]52|\x1bP|\x1b_|[\x80-\x9f]")
CUT_FOR_THE_EMULATOR = re.compile(rb"\x1b[P_^X].*?\x1b\\|\x1b\[[<=>][0-9;]*[a-zA-Z]|\x1b\[[0-9;?]*\$p", re.DOTALL)

SENT = {
    "escape": "\x1b",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "end": "\x1b[F",
    "ctrl+z": "\x1a",
    "ctrl+y": "\x19",
    "shift+left": "\x1b[1;2D",
    "shift+right": "\x1b[1;2C",
    "enter": "\r",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "ctrl+pagedown": "\x1b[6;5~",
    "ctrl+pageup": "\x1b[5;5~",
}


class Terminal:
    def __init__(self, *arguments: str, columns: int = 120, lines: int = 36, **variables: str) -> None:
        shown = environment(TERM="xterm-256color", COLORTERM="truecolor", TEXTUAL_ANIMATIONS="none", **variables)
        size = (lines, columns)
        self.child = pexpect.spawn(COMMAND[0], [*COMMAND[1:], *arguments], dimensions=size, env=shown, timeout=5)
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""

    def read(self, seconds: float = 0.02) -> bool:
        try:
            data = self.child.read_nonblocking(65_536, timeout=seconds)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return False
        self.raw += data
        self.stream.feed(CUT_FOR_THE_EMULATOR.sub(b"", data))
        return True

    @property
    def text(self) -> str:
        return "\n".join(self.screen.display)

    def until(self, fact: Callable[[str], object], what: str) -> None:
        """Wait until the screen shows something, in a whole frame: of half of one the rest is of the screen before."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self.read()
            if fact(self.text) and not self.read(SECONDS_OF_A_FRAME):
                return
        raise AssertionError(f"{what}: it never became so\n{self.text}")

    def press(self, key: str) -> None:
        self.child.send(SENT.get(key, key))


@pytest.fixture
def terminal(corpus: Path) -> Iterator[Terminal]:
    path = corpus / CORPUS_SESSION
    if not path.exists():
        pytest.skip("the session is not in the corpus")
    opened = Terminal(str(path))
    try:
        opened.until(has(r"Cost ~?\$", "compacts at"), "the session is shown")
        yield opened
    finally:
        kill(opened.child)


def has(*words: str) -> Callable[[str], bool]:
    return lambda text: all(re.search(word, text) for word in words)


def lacks(word: str) -> Callable[[str], bool]:
    return lambda text: not re.search(word, text)


def moved(before: str) -> Callable[[str], bool]:
    told = re.compile("/1[ ,]|no compactions|no cache miss|no failed|no pinned|no subagents|no cut|! ")

    def fact(text: str) -> bool:
        places = [re.findall("▶.*|next prompt after [^─]*|call \\d+ of [^─]*", each) for each in (before, text)]
        return places[0] != places[1] or bool(told.search(text.splitlines()[-1]))

    return fact


AT_CALL = r"call \d+ of \d+"

STEPS: list[tuple[str, Callable[[str], object] | None]] = [
    ("?", has("Here: Timeline", "Signs and terms")),
    ("escape", lacks("Here: Timeline")),
    ("1", has(r"\[x\] tiered-stale", "with plan A")),
    ("ctrl+z", has("Plan A +nothing is cut · 1 tiered-stale")),
    ("ctrl+y", has(r"\[x\] tiered-stale")),
    ("p", has("▸ ")),
    ("escape", lacks("▸ ")),
    ("g", has("Go to", "cache miss", "esc closes the menu")),
    ("escape", lacks("esc closes the menu")),
    ("g x", has("▶.*cut · ")),
    ("enter", has("╭─ Detail", "tiered-stale: stale")),
    ("enter", lacks("╭─ Detail")),
    ("g X", None),
    ("[", has(AT_CALL)),
    ("]", has(f"next prompt after|{AT_CALL}")),
    ("g h", has(f"{AT_CALL}|no call has sent")),
    ("shift+left", has(AT_CALL)),
    ("shift+right", has(f"next prompt after|{AT_CALL}")),
    ("end", has("next prompt after", "FOLLOW")),
    ("[", has(AT_CALL)),
    ("end", has("next prompt after")),
    ("g t", has("Go to call")),
    ("escape", lacks("Go to call")),
    ("z t", has(r"0:00")),
    ("g c", None),
    ("g C", None),
    ("g f", None),
    ("g F", None),
    ("g r", None),
    ("g R", None),
    ("g b", None),
    ("g B", None),
    ("g m", None),
    ("g M", None),
    ("g $", has(r"resend cost 1/10: \w+ result, ")),
    ("_", has("no rows were removed|no longer sent; _ shows")),
    ("_", has("no rows were removed|showing rows")),
    ("g p", has("pin")),
    ("g P", has("pin")),
    ("/", has("find ")),
    ("hooks", has("find hooks", r"[1-9]\d* rows")),
    ("enter", lacks(r"esc close")),
    ("n", None),
    ("N", None),
    ("/", has("esc close")),
    ("escape", lacks("find hooks")),
    ("f", has("filter words")),
    ("hooks", has("filter hooks")),
    ("escape", lacks("filter hooks")),
    ("+", has("Add a strategy, or use a built-in plan", "Tiered truncation")),
    ("escape", lacks("Add a strategy, or use")),
    ("w o", has("Open a plan", "No cuts")),
    ("escape", lacks("Open a plan")),
    ("w s", has("Save the plan as")),
    ("escape", lacks("Save the plan as")),
    ("w e", has("Use the plan in an agent", "hynous")),
    ("escape", lacks("Use the plan in an agent")),
    ("w b", has("no saved page yet")),
    ("w w", has("Save a report", "Markdown")),
    ("escape", lacks("Save a report")),
    ("w p", has("Save a picture", "the context chart only")),
    ("escape", lacks("Save a picture")),
    ("a", has("Plan B", "switch to A")),
    ("w d", has("Plan B and plan A", "Both have the same")),
    ("escape", lacks("Plan B and plan A")),
    ("z d", has("Runs per day")),
    ("escape", lacks("Runs per day")),
    ("*", has("now on: .*ctrl.z|no plan saves|still searching|best plan|no search for a better plan")),
    ("c", has(r"Compare \d+ plans")),
    ("escape", has("Timeline")),
    ("t", has("Tune ")),
    ("escape", has("Timeline")),
    ("v", has("esc back")),
    ("escape", has("Timeline")),
    ("$", has("esc back")),
    ("escape", has("Timeline")),
    ("M", has("[Cc]ache misses", "What if")),
    ("escape", has("Timeline")),
    ("g l", has("History of|no tool accessed a file")),
    ("escape", has("Timeline")),
    ("z i", has("[Dd]iagnostics|records")),
    ("escape", has("Timeline")),
    ("o", has("[Ss]essions")),
    ("escape", has("Timeline")),
    ("l", has("o lists the sessions|o sessions")),
    ("escape", has("Timeline")),
    ("z z", lacks("Plan B")),
    ("z z", has("Plan B")),
    ("enter", has("╭─ Detail", "r read as")),
    ("tab", lacks("r read as")),
    ("shift+tab", has("r read as")),
    ("q", lambda text: True),
]

ELSEWHERE = {
    "E": "tests/ui/test_costs.py",
    "ctrl+pagedown": "tests of tabs",
    "ctrl+pageup": "tests of tabs",
    "r": "tests/ui/test_terminal_everywhere.py",
    **dict.fromkeys("23456789", "the same as 1, for plans of more strategies"),
    **dict.fromkeys(["g s", "g u", "g a", "g A"], "tests of sessions with subagents"),
    **dict.fromkeys(["g space", "g <", "g >"], "tests of playing"),
    **dict.fromkeys(["z s", "z f", "z p", "z l"], "tests/ui/test_terminal_keys.py"),
    **dict.fromkeys([f"r {letter}" for letter in "rsdjmRxyp"], "tests/ui/test_terminal_everywhere.py"),
    "w c": "tests of tabs",
    "z m": "tests/ui/test_costs.py",
}
"""Keys that need another session, and where they are tried."""


def test_every_key_of_the_main_screen_is_tried() -> None:
    keys = {key for action in MAIN for key in action.each_key} | {action.menu for action in MAIN if action.menu}
    opened = {action.menu_keys[0] for action in MAIN if action.menu}
    tried = {keys if " " in keys or (len(keys) > 1 and keys != "hooks") else key_name(keys) for keys, _ in STEPS}

    assert keys - tried - opened - set(ELSEWHERE) == set()


@pytest.mark.long
def test_every_key_does_what_the_help_says_in_a_real_terminal(terminal: Terminal) -> None:
    for keys, shown in STEPS:
        fact = moved(terminal.text) if shown is None else shown
        assert keys != "escape" or not fact(terminal.text), f"nothing tells that {keys} was heard"
        for key in keys.split():
            terminal.press(key)
        terminal.until(fact, keys)
        assert terminal.child.isalive() or keys == "q"

    terminal.child.expect(pexpect.EOF, timeout=PATIENCE)
    terminal.child.close()
    assert terminal.child.exitstatus == 0
    assert not ODD.search(terminal.raw.decode(errors="replace"))


def test_a_limit_is_moved_by_keys_by_typing_and_by_the_mouse(terminal: Terminal) -> None:
    terminal.press("p")
    terminal.until(has("▸ "), "the plan has the focus")
    terminal.press("down")
    terminal.press("right")
    terminal.until(has(r"confirmation .*200", r"\[x\] tiered-stale"), "a step, which switches the strategy on")
    for key in ("9", "9", "9", "enter"):
        terminal.press(key)
    terminal.until(has(r"confirmation .*999 "), "a value typed and taken")
    row = next(number for number, line in enumerate(terminal.screen.display) if "│  action " in line) + 1
    column = terminal.screen.display[row].index("●")
    for kind, cell, end in ((0, column, "M"), (32, column - 3, "M"), (0, column - 3, "m")):
        terminal.child.send(f"\x1b[<{kind};{cell + 1};{row + 1}{end}")
    terminal.until(lambda text: "●" in text.splitlines()[row] and text.splitlines()[row].index("●") < column, "dragged")
