"""Monkey testing of the program in a real terminal: keys, mouse, pastes, sizes and signals, at full speed.

The program runs as a subprocess with two test additions: it measures how long it computes without reading its input,
and on a signal it reports the result of a full repaint.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any, Final

import pyte
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

from tests import monkey
from tests.terminal import SECONDS_TO_WAIT, TerminalProgram

SAYS: Final = "MONKEY_SAYS"
PROGRAM: Final = (sys.executable, "-c", "from tests.monkey_terminal import main; main()")
LOOKS: Final = 5
BUTTON, LET_GO, MOVED, WHEEL = 0, "m", 32, 64


def main() -> None:
    """The program, watched."""
    from inspector.cli import main as inspector
    from inspector.ui.app import InspectorApp

    mount = InspectorApp.on_mount

    def on_mount(app: InspectorApp) -> None:
        mount(app)
        loop, watch = asyncio.get_running_loop(), monkey.Watch()
        watching = loop.create_task(watch.watch())
        loop.add_signal_handler(signal.SIGUSR1, say, app, watch, watching)

    InspectorApp.on_mount = on_mount  # type: ignore[method-assign]
    sys.exit(inspector(sys.argv[1:]))


def say(app: Any, watch: monkey.Watch, *_: object) -> None:
    from tests.ui.facade import Running

    run = Running(app, None, [])  # type: ignore[arg-type]
    wrong = ""
    try:
        if not run.unfinished():
            run.check_figures()
    except AssertionError as error:
        wrong = str(error) or "figures of another plan"
    told = {"lines": run.lines_afresh(), "unfinished": run.unfinished(), "longest": watch.longest, "wrong": wrong}
    path = os.environ[SAYS]
    with open(f"{path}.new", "w", encoding="utf-8") as file:  # noqa: PTH123  read as soon as it has its name
        json.dump(told, file)
    os.replace(f"{path}.new", path)  # noqa: PTH105


def sequences() -> dict[str, str]:
    found: dict[str, str] = {}
    for sequence, keys in ANSI_SEQUENCES_KEYS.items():
        if isinstance(keys, tuple) and len(keys) == 1:
            name = str(getattr(keys[0], "value", keys[0]))
            if name not in found or len(sequence) < len(found[name]):
                found[name] = sequence
    return {
        **found,
        **{monkey.key_of(chr(code)): chr(code) for code in range(32, 127)},
        "enter": "\r",
        "escape": "\x1b",
    }


class TerminalHands:
    """Does deeds in a terminal, as fast as the program reads."""

    def __init__(self, program: TerminalProgram, size: tuple[int, int]) -> None:
        self._program = program
        self._size = size
        self._keys = sequences()

    @property
    def is_over(self) -> bool:
        """The program was left."""
        return not self._program.child.isalive()

    async def key(self, name: str) -> None:
        """Press a key."""
        self._send(self._keys.get(name, name))

    def _send(self, text: str) -> None:
        with suppress(OSError):
            self._program.type(text.encode())

    def _mouse(self, button: int, x: float, y: float, end: str = "M") -> None:
        width, height = self._size
        self._send(f"\x1b[<{button};{min(int(x * width), width - 1) + 1};{min(int(y * height), height - 1) + 1}{end}")

    async def click(self, x: float, y: float, times: int) -> None:
        """Press and let go of the mouse, so many times at once."""
        for _ in range(times):
            self._mouse(BUTTON, x, y)
            self._mouse(BUTTON, x, y, LET_GO)

    async def drag(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """Press the mouse at a place, move it to another one and let it go there."""
        self._mouse(BUTTON, x, y)
        for step in range(1, 6):
            self._mouse(MOVED, x + (to_x - x) * step / 5, y + (to_y - y) * step / 5)
        self._mouse(BUTTON, to_x, to_y, LET_GO)

    async def wheel(self, x: float, y: float, turns: int) -> None:
        """Turn the wheel, down or up where it is negative."""
        for _ in range(abs(turns)):
            self._mouse(WHEEL + int(turns > 0), x, y)

    async def paste(self, text: str) -> None:
        """Paste a text."""
        self._send(f"\x1b[200~{text}\x1b[201~")

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        self._size = (width, height)
        self._program.resize(width, height)

    async def leave(self) -> None:
        """Look at another window, and come back."""
        self._send("\x1b[O")
        self._send("\x1b[I")

    async def suspend(self) -> None:
        """Put the program aside, and take it up again."""
        process = self._program.child.pid
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTSTP)
            self._program.until(lambda: self.is_over or state_of(process) in "TZ", "the program put aside")
            os.kill(process, signal.SIGCONT)

    async def wait(self, seconds: float) -> None:
        """Look on."""
        self._program.read(seconds)


def state_of(process: int) -> str:
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


async def play_in_terminal(seed: str, folder: Path) -> int:
    chance = random.Random(seed)  # noqa: S311  # nothing secret
    files = monkey.Files(chance, folder / "sessions")
    size = monkey.size_of(chance, monkey.STARTS)
    says = folder / "said.json"
    paths = [str(path) for path in files.paths]
    (folder / "here").mkdir()
    with (
        chdir(folder / "here"),
        TerminalProgram(folder, *paths, size=size, command=PROGRAM, **{SAYS: str(says)}, PAGER="true") as program,
    ):
        program.until(lambda: "Timeline" in program.text or not program.child.isalive(), "the timeline")
        hands = TerminalHands(program, size)
        todo = monkey.deeds(chance, monkey.length(chance))
        done = await monkey.do_all(hands, files, todo, hands)
        if not hands.is_over:
            check_screen(program, says)
        log = folder / "STATE" / "inspector" / "failures.log"
        assert not log.exists(), log.read_text()
        assert b"Traceback" not in program.written, program.text
        if hands.is_over:
            program.child.wait()
            assert program.child.exitstatus == 0, f"it exited with {program.child.exitstatus}:\n{program.text}"
    return done


def check_screen(program: TerminalProgram, says: Path) -> None:
    for _ in range(LOOKS):
        told = at_rest(program, says)
        if told is None:
            return
        assert told["longest"] < monkey.SECONDS_OF_HANG, f"it computed for {told['longest']:.1f} s without a look"
        assert not told["wrong"], told["wrong"]
        shown = [line_without_clock(line) for line in program.text.split("\n")]
        afresh = [line_without_clock(line) for line in told["lines"]]
        if shown == afresh:
            return
    pairs = [f"{was}\n{now}" for was, now in zip(shown, afresh, strict=False) if was != now]
    raise AssertionError("the terminal shows other lines than painted afresh:\n" + "\n".join(pairs))


def at_rest(program: TerminalProgram, says: Path) -> dict[str, Any] | None:
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while True:
        program.rest()
        says.unlink(missing_ok=True)
        try:
            os.kill(program.child.pid, signal.SIGUSR1)
        except ProcessLookupError:
            return None
        program.until(lambda: says.exists() or not program.child.isalive(), "what the program says of itself")
        if not says.exists():
            return None
        told: dict[str, Any] = json.loads(says.read_text(encoding="utf-8"))
        if not told["unfinished"]:
            return told
        assert time.monotonic() < deadline, f"it never came to rest: {told['unfinished']}"


def line_without_clock(line: str) -> str:
    from tests.ui.facade import without_clock

    return emulated(without_clock(line)).rstrip()


def emulated(line: str) -> str:
    """A line as the emulator shows it: it knows other widths of some characters."""
    screen = pyte.Screen(max(2 * len(line), 1), 1)
    pyte.Stream(screen).feed(line)
    return str(screen.display[0])
