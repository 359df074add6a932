"""Checks of the terminal: type, size, colors, encoding, and character widths."""

from __future__ import annotations

import os
import re
import select
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from inspector.cli.checkup.finding import Finding
from inspector.cli.output import encodes_everything, is_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST_SIZE: Final = (80, 24)
"""Columns and rows the screen is designed for; below that, parts of it are hidden."""

ENOUGH_COLORS: Final = frozenset({"256", "truecolor"})

COLOR_WORDS: Final = {"standard": "16", "256": "256", "truecolor": "16 million", "windows": "16", None: "none"}
"""Rich's names of color systems."""

SAMPLES: Final = {
    "box lines": "─│┌",
    "bars": "█▌░▏",
    "arrows and dots": "…→●",
    "accents in two characters": "e\u0301",
    "Chinese and Japanese": "界語",
    "emoji": "🙂",
}
"""Samples of characters on the screen, from the program or from sessions."""

DRAWN_ALWAYS: Final = ("box lines", "bars", "arrows and dots")

POSITION: Final = re.compile(rb"\x1b\[\d+;(\d+)R")
"""A terminal's reply with its cursor position."""

SECONDS_TO_ANSWER: Final = 1.0
"""Enough for a slow line; terminals that support the query reply in milliseconds."""


def terminal_findings() -> list[Finding]:
    """Check the current terminal."""
    device = _device()
    widths = measured_widths(device) if device is not None and is_terminal(sys.stdin) else {}
    return [_kind(device), _size(device), _colors(device), _encoding(device, widths), *_widths(device, widths)]


def _device() -> int | None:
    """Return the file descriptor of the terminal behind standard output or standard error."""
    for stream in (sys.stdout, sys.stderr):
        if is_terminal(stream):
            return stream.fileno()
    return None


def _kind(device: int | None) -> Finding:
    name = os.environ.get("TERM", "")
    said = [f"TERM={name or '(not set)'}"]
    said += [f"{each}={os.environ[each]}" for each in ("TERM_PROGRAM", "TERM_PROGRAM_VERSION") if os.environ.get(each)]
    said += [words for variable, words in (("TMUX", "in tmux"), ("STY", "in screen")) if os.environ.get(variable)]
    said += ["over ssh"] if os.environ.get("SSH_CONNECTION") else []
    if device is None:
        said.append("output does not go to the terminal")
    told = ", ".join(said)
    if device is not None and name in ("", "dumb"):
        problem = "a terminal of this type cannot draw screens"
        return Finding(
            "terminal", told, problem, "export TERM=xterm-256color, if the terminal supports more than plain lines"
        )
    return Finding("terminal", told)


def _size(device: int | None) -> Finding:
    if device is None:
        return Finding("size", "unknown: no terminal")
    columns, rows = os.get_terminal_size(device)
    told = f"{columns} columns, {rows} rows"
    if not columns or not rows:
        return Finding("size", told, "the terminal does not report its size", "stty columns 120 rows 36")
    if columns < LEAST_SIZE[0] or rows < LEAST_SIZE[1]:
        problem = f"the screen needs {LEAST_SIZE[0]} columns and {LEAST_SIZE[1]} rows; figures are cut off below that"
        advice = "enlarge the window or use a smaller font; inspector why and inspector report print plain text"
        return Finding("size", told, problem, advice)
    return Finding("size", told)


def _colors(device: int | None) -> Finding:
    from rich.console import Console

    system = Console(force_terminal=True, legacy_windows=False).color_system
    by = f"COLORTERM={os.environ.get('COLORTERM') or '(not set)'} and TERM"
    told = f"{COLOR_WORDS.get(system, system or 'none')}, from {by}"
    if os.environ.get("NO_COLOR"):
        return Finding("colors", "none, because NO_COLOR is set; states are shown by glyphs and words")
    if device is not None and system not in ENOUGH_COLORS:
        problem = "some theme colors look alike"
        advice = (
            "export TERM=xterm-256color or COLORTERM=truecolor if the terminal supports it (nearly all do); otherwise "
            'put theme = "ansi" into settings.toml'
        )
        return Finding("colors", told, problem, advice)
    return Finding("colors", told)


def _encoding(device: int | None, widths: dict[str, int]) -> Finding:
    variable = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "")
    locale = f"{variable}={os.environ[variable]}" if variable else "no locale is set"
    told = f"{getattr(sys.stdout, 'encoding', None) or 'unknown'}, {locale}"
    advice = "export LC_ALL=C.UTF-8 (on macOS en_US.UTF-8), and set the terminal to UTF-8"
    if not encodes_everything(sys.stdout):
        return Finding("encoding", told, "bars, lines and most languages cannot be printed", advice)
    one_byte = sum(len(text.encode()) for text in map(SAMPLES.get, DRAWN_ALWAYS) if text)
    if widths and sum(widths[name] for name in DRAWN_ALWAYS) >= one_byte:
        return Finding("encoding", told, "the terminal draws one character per byte: it does not use UTF-8", advice)
    says_utf = re.search(r"utf-?8", locale, re.IGNORECASE) is not None
    if device is not None and not widths and not says_utf:
        return Finding("encoding", told, "the locale is not UTF-8, which bars and lines require", advice)
    return Finding("encoding", told)


def _widths(device: int | None, widths: dict[str, int]) -> list[Finding]:
    if not widths:
        why = "no terminal" if device is None else "the terminal does not reply"
        return [Finding("Unicode width", f"unknown: {why}")]
    from inspector.safe_text import cell_width

    odd = {name: width for name, width in widths.items() if width != cell_width(SAMPLES[name])}
    if not odd:
        return [Finding("Unicode width", f"as expected, for {', '.join(SAMPLES)}")]
    told = ", ".join(f"{name} {widths[name]} cells, not {cell_width(SAMPLES[name])}" for name in odd)
    if any(name in odd for name in DRAWN_ALWAYS):
        problem = "rows are misaligned"
        advice = "in the terminal's settings, draw characters of ambiguous width narrow, and use UTF-8"
    else:
        problem = "rows with such characters are misaligned"
        advice = "use a newer terminal, or tmux, which draws them at Unicode width"
    return [Finding("Unicode width", told, problem, advice)]


def measured_widths(device: int) -> dict[str, int]:
    """Measure the cells the terminal advances for each of `SAMPLES`; empty if it does not reply.

    Args:
        device: The terminal's file descriptor; replies arrive on standard input.
    """
    found: dict[str, int] = {}
    with suppress(OSError, ImportError, ValueError), _answering(sys.stdin.fileno()) as keys:
        for name, text in SAMPLES.items():
            os.write(device, b"\r" + text.encode() + b"\x1b[6n")
            column = _column(keys)
            os.write(device, b"\r\x1b[K")
            if column is None:
                return {}
            found[name] = column - 1
    return found if len(found) == len(SAMPLES) else {}


@contextmanager
def _answering(keys: int) -> Iterator[int]:
    """Read a terminal's replies unbuffered and without echo.

    Raises:
        OSError: Another program is in the foreground, or there is no terminal to query.
    """
    import termios
    import tty

    if os.tcgetpgrp(keys) != os.getpgrp():
        raise OSError("in the background")
    try:
        before = termios.tcgetattr(keys)
    except termios.error as error:
        raise OSError(str(error)) from None
    try:
        tty.setcbreak(keys, termios.TCSADRAIN)
        yield keys
    finally:
        # Discard late replies so that they do not appear at the prompt.
        termios.tcsetattr(keys, termios.TCSAFLUSH, before)


def _column(keys: int) -> int | None:
    """Return the cursor column, from 1; None without a reply."""
    answer, deadline = b"", time.monotonic() + SECONDS_TO_ANSWER
    while (left := deadline - time.monotonic()) > 0:
        if select.select([keys], [], [], left)[0]:
            answer += os.read(keys, 64)
            if match := POSITION.search(answer):
                return int(match[1])
    return None
