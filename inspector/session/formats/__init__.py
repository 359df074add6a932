"""The formats that can be read, and telling which one a path holds.

A format joins by one module that defines a `Format` and one line here. Formats are told apart by content alone: names
and extensions lie, and the first line of a session is seldom one that tells anything.
"""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from typing import TYPE_CHECKING

from inspector.session.compressed import is_compressed
from inspector.session.errors import SessionError
from inspector.session.formats import (
    atif,
    claude_code,
    claude_trace,
    cline,
    codex,
    copilot,
    gemini,
    goose,
    hermes,
    inspect_ai,
    opencode,
    openhands,
    pi,
    plain,
    responses,
    swe_agent,
    transcripts,
)
from inspector.session.formats.base import Detection, Format, Sample
from inspector.session.locator import Locator

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMATS", "Detection", "Format", "detect"]

FORMATS: tuple[Format, ...] = (
    claude_code.FORMAT,
    codex.FORMAT,
    pi.FORMAT,
    copilot.FORMAT,
    gemini.FORMAT,
    hermes.FORMAT,
    goose.FORMAT,
    opencode.FORMAT,
    claude_trace.FORMAT,
    cline.FORMAT,
    atif.FORMAT,
    inspect_ai.FORMAT,
    openhands.FORMAT,
    openhands.FORMAT_0,
    swe_agent.SWE,
    swe_agent.MINI,
    transcripts.FORMAT,
    responses.FORMAT,
    plain.ANTHROPIC,
    plain.OPENAI,
)
"""In the order they are tried: the particular before the general."""


def detect(path: Path, *, most_document_bytes: int | None = None) -> Detection:
    """The format of a file or folder.

    Args:
        path: What to look at; a session's id behind the path of a file that holds several does not matter here.
        most_document_bytes: Files larger than this are not parsed whole, and so not told when they are one document.

    Raises:
        SessionError: It cannot be read, or nothing in it looks like a session.
    """
    sample = Sample(Locator.of(path).file, most_document_bytes)
    for candidate in FORMATS:
        if reason := candidate.recognise(sample):
            return Detection(candidate, reason)
    raise SessionError(_not_a_session(sample))


def _not_a_session(sample: Sample) -> str:
    advice = "`inspector formats` lists what can be read."
    if is_compressed(sample.head):
        return f"{sample.path}: compressed with Zstandard, and cut off or damaged. {advice}"
    if sample.is_directory:
        return f"{sample.path}: no sessions in this directory. {advice}"
    if sample.tables:
        return f"{sample.path}: an SQLite database of no known agent. {advice}"
    if sample.head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return f"{sample.path}: text in UTF-16, as some shells write what is sent to a file. Convert it to UTF-8."
    if b"\x00" in sample.head:
        return f"{sample.path}: a binary file of no known kind, not a session. {advice}"
    if not sample.starts_like_json:
        return f"{sample.path}: neither a JSON object nor a list of them, so not a session. {advice}"
    if sample.records or sample.document is not None:
        return f"{sample.path}: JSON, but of no known agent. {advice}"
    return f"{sample.path}: broken JSON (cut off or damaged), not a session. {advice}"
