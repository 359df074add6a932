"""Registry of formats, and format detection.

To add a format, add a module with a `Format` and one line here, or an entry point `inspector.formats` in a package of
its own. Formats are detected by content only: names and extensions are unreliable, and the first line of a session is
rarely specific.
"""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from inspector.plug_ins import FORMATS, PlugIns
from inspector.session.errors import SessionError, UnreadableFileError
from inspector.session.files import Locator
from inspector.session.format import Detection
from inspector.session.sniff import Sample
from inspector.session.zstd import is_zstd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inspector.plug_ins import PlugIn
    from inspector.session.format import Format

MODULES = (
    "native",
    "qwen",
    "kimi",
    "claude_code",
    "codex",
    "deepseek_harness",
    "pi",
    "copilot",
    "vscode",
    "grok",
    "gemini",
    "antigravity",
    "hermes",
    "goose",
    "opencode",
    "agents_sdk",
    "spans",
    "claude_tap",
    "har",
    "claude_trace",
    "cline",
    "atif",
    "inspect_ai",
    "openhands",
    "swe_agent",
)
"""Modules in `formats`, each with its formats in `FORMATS`; specific formats come before general ones."""

GENERAL = ("transcripts", "responses", "plain")
"""Modules of formats for any program; plug-ins come before them."""


def formats() -> Iterator[Format]:
    """Yield every format in detection order.

    Modules are imported lazily: opening a session does not import the modules after its own.
    """
    for module in MODULES:
        yield from _formats_in(module)
    yield from filter(None, map(PLUG_INS.get, PLUG_INS.names()))
    for module in GENERAL:
        yield from _formats_in(module)


def built_in() -> Iterator[Format]:
    """Yield the formats of this program in detection order."""
    for module in (*MODULES, *GENERAL):
        yield from _formats_in(module)


def _from_package(plug_in: PlugIn, loaded: object) -> Format:
    from inspector.session.plug_in_format import PlugInFormat

    return PlugInFormat(plug_in, loaded, PLUG_INS.note)


PLUG_INS: PlugIns[Format] = PlugIns(
    FORMATS, lambda name: any(known.name == name for known in built_in()), _from_package
)
"""Formats of other packages."""


@cache
def all_formats() -> tuple[Format, ...]:
    return tuple(formats())


@cache
def _formats_in(module: str) -> tuple[Format, ...]:
    return cast("tuple[Format, ...]", import_module(f"inspector.session.formats.{module}").FORMATS)


def format_named(name: str) -> Format | None:
    if not name:
        return None
    return next((known for known in built_in() if known.name == name), None) or PLUG_INS.get(name)


def detect(path: Path, *, most_document_bytes: int | None = None) -> Detection:
    """Detect the format of a file or folder.

    Args:
        path: Path to inspect; a session id in the path is ignored.
        most_document_bytes: Larger files are not parsed as one document, so such documents are not detected.

    Raises:
        SessionError: It cannot be read, or nothing in it looks like a session.
    """
    sample = Sample(Locator.of(path).file, most_document_bytes)
    for candidate in formats():
        if reason := candidate.recognize(sample):
            return Detection(candidate, reason)
    error = _not_a_session(sample)
    if problems := PLUG_INS.problems():
        raise type(error)(f"{error.message} Plug-ins with problems: {'; '.join(problems)}.")
    raise error


def _not_a_session(sample: Sample) -> SessionError:
    path, advice = sample.path, "`inspector formats` lists the supported formats."
    if is_zstd(sample.head):
        return UnreadableFileError(f"{path}: compressed with Zstandard, but truncated or damaged. {advice}")
    if sample.is_directory:
        return SessionError(f"{path}: no sessions in this directory. {advice}")
    if sample.tables:
        return SessionError(f"{path}: an SQLite database, but not of a supported agent. {advice}")
    if sample.head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        hint = "as some shells write redirected output. Convert it to UTF-8."
        return UnreadableFileError(f"{path}: text in UTF-16, {hint}")
    if b"\x00" in sample.head:
        return UnreadableFileError(f"{path}: an unknown binary file, not a session. {advice}")
    if not sample.starts_like_json and not _is_text(sample.head):
        return UnreadableFileError(f"{path}: not UTF-8 text, and not a known binary file. {advice}")
    if not sample.starts_like_json:
        return SessionError(f"{path}: not a JSON object or a list of objects, so not a session. {advice}")
    if sample.records or sample.document is not None:
        return SessionError(f"{path}: JSON, but not of a supported agent. {advice}")
    return SessionError(f"{path}: broken JSON (truncated or damaged), not a session. {advice}")


def _is_text(head: bytes) -> bool:
    """Return True if the beginning of a file is UTF-8 text, possibly cut within a character."""
    try:
        getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True
