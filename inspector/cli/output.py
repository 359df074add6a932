"""Where output goes: data to standard output or a file, never over a session; narration and progress elsewhere."""

from __future__ import annotations

import codecs
import os
import sys
import time
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, TextIO, TypeVar

from inspector.atomic_files import write_as_asked
from inspector.cli.exit_codes import CommandError, ExitCode

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path
    from types import TracebackType

    from msgspec import Struct

LONGEST_LINE = 10_000
"""Characters of one message: more than two of the longest paths there can be."""


PLAIN: Final = {
    "\N{MINUS SIGN}": "-",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{MIDDLE DOT}": "|",
}
"""What stands for the signs of reports where an encoding lacks them."""


def _plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """What is written instead of characters that an encoding lacks: the plain form of a sign, else its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start]
    return PLAIN.get(text, text.encode("ascii", "backslashreplace").decode()), error.start + 1


def prepare_streams() -> None:
    """Let standard output take any character: what its encoding lacks is replaced, not raised.

    The number of a stream that was closed would go to the next file that is opened, and what a library prints to the
    stream would end up in that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest number that is free
    codecs.register_error(_plainly.__name__, _plainly)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=_plainly.__name__)


def write(text: str) -> None:
    """Print data, as it is. The caller has made it safe: reports by `safe_text`, JSON by escaping.

    Raises:
        CommandError: It cannot be written, or was closed when the program was started.
        BrokenPipeError: Nobody reads it any more.
    """
    _write(text)


def write_bytes(data: bytes) -> None:
    """Print bytes, whatever they are: only where nobody reads them on a terminal.

    Raises:
        CommandError: As `write` does.
        BrokenPipeError: Nobody reads it any more.
    """
    _write(data)


def _write(data: str | bytes) -> None:
    if sys.stdout is None:
        raise CommandError("standard output is closed; let it go to a terminal, a file or a program")
    try:
        if isinstance(data, str):
            sys.stdout.write(data)
        else:
            sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        forget(sys.stdout)
        raise CommandError(f"standard output cannot be written: {error.strerror or error}") from None


def write_json(data: Any) -> None:
    """Print data as indented JSON: dictionaries, lists, strings, numbers, booleans, None.

    Raises:
        CommandError: It cannot be written.
    """
    from inspector.report.json_document import to_json

    write(to_json(data, ascii_only=not encodes_everything(sys.stdout)))


def forget(stream: TextIO) -> None:
    """Point a stream nowhere, so that flushing it once more at exit does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def leave_terminal() -> None:
    """Forget what a screen left unwritten for a terminal that is gone: the exit code says how the screen ended."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            try:
                stream.flush()
            except OSError:
                forget(stream)


def narrate(message: str) -> None:
    """Print one line for people to standard error, whatever characters the message holds."""
    from inspector.safe_text import one_line

    tell(one_line(f"inspector: {message}", LONGEST_LINE))


def tell(line: str) -> None:
    """Print a line to standard error; one that nobody can read is no reason to fail."""
    if sys.stderr is None:  # it was closed when the program was started
        return
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        forget(sys.stderr)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at this stream through a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # a closed stream
        return False


def wants_color(stream: TextIO) -> bool:
    """Whether to colour what goes to `stream`: a capable terminal, and nobody said otherwise (no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and not is_dumb()


def is_dumb() -> bool:
    """Whether the terminal knows nothing but lines."""
    return os.environ.get("TERM") in ("dumb", "")


def encodes_everything(stream: TextIO) -> bool:
    """Whether the stream's encoding has every character."""
    return (getattr(stream, "encoding", None) or "").lower().replace("_", "-").startswith("utf")


def check_target(target: Path, source: Path | None = None) -> None:
    """Refuse to write over a session.

    Args:
        target: What is to be written.
        source: What is read, where anything is.

    Raises:
        CommandError: `target` is the source, lies in it, or is a session file itself.
    """
    from inspector.session.overwrite_guard import problem_with_target

    problem = problem_with_target(target, source)
    if problem:
        raise CommandError(f"{target}: {problem}", ExitCode.WRONG_USAGE)


def save(target: Path, content: str | bytes) -> None:
    """Write a file whole, a text as UTF-8.

    Raises:
        CommandError: It cannot be written; what was there before is left as it was.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        write_as_asked(target, data)
    except OSError as error:
        raise CommandError(f"{target}: cannot be written: {error.strerror or error}") from None


COLUMNS = 80

QUIET_SECONDS = 0.4
"""Work that takes less than this is not worth a line."""

REFRESH_SECONDS = 0.1

BAR_CELLS = 24
"""At most; fewer where the line would not fit the terminal, which cannot wipe a line that it wrapped."""

LEAST_BAR_CELLS = 8
"""Of fewer nobody can tell anything."""


ESTIMATED_AFTER = 2.0
"""Seconds of work before it is told how long the rest will take."""


class ProgressLine:
    """Call it with how much is done and how much there is; leaving the context wipes the line.

    Attributes:
        is_shown: Whether lines are shown at all; not so in a process that works for another one, which shows its own.
    """

    is_shown: ClassVar[bool] = True

    def __init__(self, doing: str, *, estimates: bool = False) -> None:
        """Begin.

        Args:
            doing: What is done.
            estimates: Say how long the rest will take, where it goes on as it went.
        """
        self._doing = doing
        self._shown = False
        self._estimates = estimates
        self._began = time.monotonic()
        self._next = self._began + QUIET_SECONDS
        self._enabled = self.is_shown and is_terminal(sys.stderr) and not is_dumb()

    def __call__(self, done: int, total: int) -> None:
        """Show `done` of `total`, in any unit."""
        if not self._enabled or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + REFRESH_SECONDS
        self._shown = True
        percent = min(100, 100 * done // total) if total > 0 else 0
        said, columns = f"{percent} %{self._rest(done, total)}", _columns(sys.stderr) - 1
        cells = min(BAR_CELLS, columns - len(f"{self._doing}: [] {said}"))
        if cells >= LEAST_BAR_CELLS:
            filled = cells * percent // 100
            said = f"[{'#' * filled}{'.' * (cells - filled)}] {said}"
        line = f"{self._doing}: {said}" if len(self._doing) + 2 + len(said) <= columns else said[:columns]
        sys.stderr.write(f"\r{line}\x1b[K")
        sys.stderr.flush()

    def _rest(self, done: int, total: int) -> str:
        """How long the rest will take, in words."""
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
    """How wide a terminal is; 80 where it does not tell."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or COLUMNS
    except (OSError, ValueError):
        return COLUMNS


Reported_contra = TypeVar("Reported_contra", bound="Struct", contravariant=True)

Delivered = TypeVar("Delivered", bound="Struct")


class TextWriter(Protocol[Reported_contra]):
    """Writes a report, on one session or many, for people."""

    def __call__(self, report: Reported_contra, *, color: bool) -> str:
        """The report as text, with or without colours."""
        ...


def check_output(options: Namespace) -> None:
    """Refuse an output file that must not be written, before anything is read.

    Raises:
        CommandError: It is a session, or a folder.
    """
    if options.output is not None:
        check_target(options.output, options.path)


def deliver(report: Delivered, options: Namespace, as_text: TextWriter[Delivered]) -> ExitCode:
    """Print the report, or save it where it was asked to go."""
    return hand_over(text_of(report, options, as_text), options)


def text_of(report: Delivered, options: Namespace, as_text: TextWriter[Delivered]) -> str:
    """The report in the form that was asked for, as its target takes it."""
    if options.format != "json":
        return as_text(report, color=is_colored(options))
    from inspector.report.json_document import document_json

    return document_json(report, ascii_only=is_ascii_only(options))


def is_colored(options: Namespace) -> bool:
    """Whether a text for people is coloured where it goes."""
    return options.output is None and wants_color(sys.stdout)


def is_ascii_only(options: Namespace) -> bool:
    """Whether what it goes to takes nothing but ASCII."""
    return options.output is None and not encodes_everything(sys.stdout)


def hand_over(text: str, options: Namespace) -> ExitCode:
    """Print a report's text, or save it where it was asked to go."""
    if options.output is not None:
        save(options.output, text)
    else:
        write(text)
    return ExitCode.FINE


def check_detector() -> None:
    """Tell that what finds secrets is not installed, before a big file is read.

    Raises:
        CommandError: It is not.
    """
    from inspector.report.secret_redaction import DetectorMissingError, SecretRedactor

    try:
        SecretRedactor()
    except DetectorMissingError as error:
        raise CommandError(str(error)) from None
