"""Where output goes: data to standard output, narration to standard error, nothing unsafe to either."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from inspector.cli.exits import CommandError

LONGEST_LINE = 10_000
"""Characters of one message: more than two of the longest paths there can be."""


def prepare_streams() -> None:
    """Let standard output take any character: what its encoding lacks is replaced, not raised."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def write(text: str) -> None:
    """Print data, as it is. The caller has made it safe: reports by `safe_text`, JSON by escaping.

    Raises:
        CommandError: It cannot be written.
        BrokenPipeError: Nobody reads it any more.
    """
    if sys.stdout is None:  # the program was started with a closed output: nobody wants it
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        forget_output()
        raise CommandError(f"standard output cannot be written: {error.strerror or error}") from None


def forget_output() -> None:
    """Point standard output nowhere, so that flushing it once more at exit does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def narrate(message: str) -> None:
    """Print one line for people to standard error, whatever characters the message holds."""
    from inspector.safe_text import one_line

    sys.stderr.write(one_line(f"inspector: {message}", LONGEST_LINE) + "\n")
    sys.stderr.flush()


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at this stream through a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # a closed stream
        return False


def wants_color(stream: TextIO) -> bool:
    """Whether to colour what goes to `stream`: a capable terminal, and nobody said otherwise (no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "")


def encodes_everything(stream: TextIO) -> bool:
    """Whether the stream's encoding has every character."""
    return (getattr(stream, "encoding", None) or "").lower().replace("_", "-").startswith("utf")
