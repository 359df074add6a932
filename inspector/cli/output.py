"""Output and exit codes: data to standard output or a file, messages and progress to standard error.

An output file is never a session.
"""

from __future__ import annotations

import codecs
import os
import sys
import time
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TextIO, TypeVar

from inspector.atomic_files import write_user_file
from inspector.errors import InspectorError

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path
    from types import TracebackType

    from msgspec import Struct


class ExitCode(IntEnum):
    """Meaning of the program's exit code."""

    FINE = 0
    UNREADABLE = 1
    """An input could not be read, or the output could not be written."""
    WRONG_USAGE = 2
    """The command line is invalid."""
    BEYOND_THRESHOLD = 3
    """A check found a violation."""
    BUG = 70
    """Internal error (`EX_SOFTWARE` of sysexits.h)."""
    INTERRUPTED = 130
    """Ctrl-C: 128 plus the number of SIGINT, as in shells."""
    BROKEN_PIPE = 141
    """The reader closed the pipe: 128 plus the number of SIGPIPE, as in shells."""


class CommandError(InspectorError):
    """A failed command: one line with problem, input and remedy. Untrusted text in it is sanitized when printed."""

    advice = "`inspector --help` lists commands and options"

    def __init__(self, message: str, code: ExitCode = ExitCode.UNREADABLE) -> None:
        super().__init__(message)
        self.code = code


LONGEST_LINE = 10_000
"""Maximum characters of one message: more than two of the longest possible paths."""


ASCII_REPLACEMENTS: Final = {
    "\N{MINUS SIGN}": "-",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{MIDDLE DOT}": "|",
    "\N{DOWNWARDS ARROW WITH TIP RIGHTWARDS}": ">",
}
"""Replacements for special characters that an encoding lacks."""


def _replace_unencodable(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the replacement of characters that an encoding lacks: the plain form, or the code point."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start]
    return ASCII_REPLACEMENTS.get(text, text.encode("ascii", "backslashreplace").decode()), error.start + 1


def prepare_streams() -> None:
    """Make standard output accept any character, by replacing those its encoding lacks.

    A closed stream's file descriptor would be reused by the next opened file, which would then receive text that a
    library prints to the stream. It is therefore opened to the null device.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest free number
    codecs.register_error(_replace_unencodable.__name__, _replace_unencodable)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=_replace_unencodable.__name__)


def write(text: str) -> None:
    """Print data unchanged, sanitized by the caller; raise `CommandError`, or `BrokenPipeError` without a reader."""
    _write(text)


def write_bytes(data: bytes) -> None:
    """Print arbitrary bytes, never to a terminal; raise as `write` does."""
    _write(data)


def write_recorded(text: str) -> None:
    """Print recorded text: exact to a file or program, sanitized and with a line end to a terminal."""
    if not is_terminal(sys.stdout):
        write_bytes(text.encode("utf-8", "surrogatepass"))
        return
    from inspector.safe_text import safe_text

    shown = safe_text(text)
    write(shown if shown.endswith("\n") or not shown else f"{shown}\n")


def _write(data: str | bytes) -> None:
    if sys.stdout is None:
        raise CommandError("standard output is closed; direct it to a terminal, a file or a program")
    try:
        if isinstance(data, str):
            sys.stdout.write(data)
        else:
            sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        redirect_to_devnull(sys.stdout)
        raise CommandError(f"standard output cannot be written: {error.strerror or error}") from None


def write_json(data: Any) -> None:
    """Print JSON values, indented; raise `CommandError` if they cannot be written."""
    from inspector.report.json_document import to_json

    write(to_json(data, ascii_only=not encodes_everything(sys.stdout)))


def redirect_to_devnull(stream: TextIO) -> None:
    """Redirect a stream to the null device so that flushing it at exit does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def leave_terminal() -> None:
    """Discard unwritten output for a terminal that is gone; the exit code still reports the end of the screen."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            try:
                stream.flush()
            except OSError:
                redirect_to_devnull(stream)


def narrate(message: str) -> None:
    """Print one sanitized line to standard error."""
    from inspector.safe_text import one_line

    print_error_line(one_line(f"inspector: {message}", LONGEST_LINE))


def print_error_line(line: str) -> None:
    """Print a line to standard error; ignore a failure to write it."""
    if sys.stderr is None:  # closed when the program started
        return
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        redirect_to_devnull(sys.stderr)


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # a closed stream
        return False


def wants_color(stream: TextIO) -> bool:
    """Return True if output to `stream` is colored: a capable terminal and no opt-out (no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and not is_dumb()


def is_dumb() -> bool:
    """Return True if the terminal only supports plain lines."""
    return os.environ.get("TERM") in ("dumb", "")


def encodes_everything(stream: TextIO) -> bool:
    """Return True if the stream's encoding has every character."""
    return (getattr(stream, "encoding", None) or "").lower().replace("_", "-").startswith("utf")


def check_target(target: Path, source: Path | None = None) -> None:
    """Refuse to overwrite a session: the source, a path inside it, or any session file."""
    from inspector.session.registry import problem_with_target

    problem = problem_with_target(target, source)
    if problem:
        raise CommandError(f"{target}: {problem}", ExitCode.WRONG_USAGE)


def save(target: Path, content: str | bytes) -> None:
    """Write a file atomically, text as UTF-8; on `CommandError`, an existing file is unchanged."""
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        write_user_file(target, data)
    except OSError as error:
        raise CommandError(f"{target}: cannot be written: {error.strerror or error}") from None


COLUMNS = 80

QUIET_SECONDS = 0.4
"""Seconds of work before a progress line appears."""

REFRESH_SECONDS = 0.1

BAR_CELLS = 24
"""Maximum width; narrower if the line would wrap, because a wrapped line cannot be erased."""

LEAST_BAR_CELLS = 8
"""Minimum useful width."""


ESTIMATED_AFTER = 2.0
"""Seconds of work before the remaining time is estimated."""


class ProgressLine:
    """Progress line. Call it with the amount done and the total; leaving the context erases the line."""

    def __init__(self, doing: str, *, estimates: bool = False) -> None:
        """Create a progress line; `estimates` the remaining time, assuming constant speed."""
        self._doing = doing
        self._shown = False
        self._estimates = estimates
        self._began = time.monotonic()
        self._next = self._began + QUIET_SECONDS
        self._enabled = is_terminal(sys.stderr) and not is_dumb()

    def __call__(self, done: int, total: int) -> None:
        """Show `done` of `total`, in any unit."""
        if not self._enabled or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + REFRESH_SECONDS
        self._shown = True
        percent = min(100, 100 * done // total) if total > 0 else 0
        text, columns = f"{percent} %{self._rest(done, total)}", _columns(sys.stderr) - 1
        cells = min(BAR_CELLS, columns - len(f"{self._doing}: [] {text}"))
        if cells >= LEAST_BAR_CELLS:
            filled = cells * percent // 100
            text = f"[{'#' * filled}{'.' * (cells - filled)}] {text}"
        line = f"{self._doing}: {text}" if len(self._doing) + 2 + len(text) <= columns else text[:columns]
        sys.stderr.write(f"\r{line}\x1b[K")
        sys.stderr.flush()

    def _rest(self, done: int, total: int) -> str:
        elapsed = time.monotonic() - self._began
        if not self._estimates or not 0 < done < total or elapsed < ESTIMATED_AFTER:
            return ""
        from inspector.report.numbers import age

        return f", {age(elapsed * (total - done) / done)} left"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _columns(stream: TextIO) -> int:
    """Return the width of a terminal; 80 if unknown."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or COLUMNS
    except (OSError, ValueError):
        return COLUMNS


Reported_contra = TypeVar("Reported_contra", bound="Struct", contravariant=True)

Delivered = TypeVar("Delivered", bound="Struct")


class TextWriter(Protocol[Reported_contra]):
    """Formatter of a report, on one session or many, as text."""

    def __call__(self, report: Reported_contra, *, color: bool) -> str: ...


def check_output(options: Namespace) -> None:
    """Reject an output file that is a session or a folder, before anything is read."""
    if options.output is not None:
        check_target(options.output, options.path)


def print_or_save_report(report: Delivered, options: Namespace, as_text: TextWriter[Delivered]) -> ExitCode:
    return hand_over(text_of(report, options, as_text), options)


def text_of(report: Delivered, options: Namespace, as_text: TextWriter[Delivered]) -> str:
    """Format the report as requested, for its target."""
    if options.format != "json":
        return as_text(report, color=is_colored(options))
    from inspector.report.json_document import document_json

    return document_json(report, ascii_only=is_ascii_only(options))


def is_colored(options: Namespace) -> bool:
    """Return True if human-readable text is colored at its target."""
    return options.output is None and wants_color(sys.stdout)


def is_ascii_only(options: Namespace) -> bool:
    """Return True if the target only accepts ASCII."""
    return options.output is None and not encodes_everything(sys.stdout)


def hand_over(text: str, options: Namespace) -> ExitCode:
    if options.output is not None:
        save(options.output, text)
    else:
        write(text)
    return ExitCode.FINE


def check_detector() -> None:
    """Require the secret detector before a big file is read; raise `CommandError` without it."""
    from inspector.report.secret_redaction import DetectorMissingError, SecretRedactor

    try:
        SecretRedactor()
    except DetectorMissingError as error:
        raise CommandError(str(error)) from None
