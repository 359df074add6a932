"""Registry of formats, and format detection.

To add a format, add a module with a `Format` and one line here, or an entry point `inspector.formats` in a package of
its own. Formats are detected by content only: names and extensions are unreliable, and the first line of a session is
rarely specific.
"""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from inspector.plug_ins import FORMATS, PlugIns
from inspector.session.errors import SessionError, UnreadableFileError
from inspector.session.files import Locator
from inspector.session.format import Detection
from inspector.session.sniff import FileKind, Sample
from inspector.session.zstd import is_zstd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inspector.plug_ins import PlugIn
    from inspector.session.format import Format

FOLDER, DATABASE, ARCHIVE, TEXT = FileKind


class FormatModule(NamedTuple):
    """A module in `formats`, and the files that its formats may recognize, so that others do not import it.

    Attributes:
        name: Its name.
        formats: Names of its formats, in detection order.
        kinds: Kinds of files.
        fields: Fields of which JSON text has at least one, as in `Sample.fields`; empty if it may have none.
    """

    name: str
    formats: tuple[str, ...]
    kinds: FileKind = FOLDER | DATABASE | ARCHIVE | TEXT
    fields: tuple[str, ...] = ()

    def may_recognize(self, sample: Sample) -> bool:
        """Return True unless a sample cannot be of any of the formats."""
        if not sample.kind & self.kinds:
            return False
        return sample.kind is not TEXT or not self.fields or not sample.fields.isdisjoint(self.fields)


MODULES = (
    FormatModule("native", ("inspector-lines",), TEXT, ("inspector",)),
    FormatModule("qwen", ("qwen-code",), TEXT, ("message.parts",)),
    FormatModule("kimi", ("kimi-code", "kimi-cli"), TEXT, ("type", "message.type")),
    FormatModule("claude_code", ("claude-code",), TEXT, ("type",)),
    FormatModule("codex", ("codex",), TEXT, ("type", "session", "record_type", "id")),
    FormatModule("deepseek_harness", ("deepseek-harness",), TEXT, ("seq", "seq0", "createdAt")),
    FormatModule("pi", ("pi",), TEXT, ("timestamp", "message.role")),
    FormatModule("copilot", ("copilot-cli",), FOLDER | TEXT, ("parentId", "chatMessages", "timeline")),
    FormatModule("vscode", ("vscode-chat",), TEXT, ("requests", "kind")),
    FormatModule(
        "grok", ("grok-build",), FOLDER | TEXT, ("kind", "method", "model_id", "prompt_index", "synthetic_reason")
    ),
    FormatModule("gemini", ("gemini-cli",), TEXT, ("sessionId", "content", "$set", "$rewindTo")),
    FormatModule("antigravity", ("antigravity",), DATABASE),
    FormatModule("hermes", ("hermes",), DATABASE | TEXT, ("session_id", "role")),
    FormatModule("goose", ("goose",), DATABASE | TEXT, ("conversation", "created", "message_count")),
    FormatModule("opencode", ("opencode",), FOLDER | DATABASE | TEXT, ("info", "time")),
    FormatModule("agents_sdk", ("openai-agents",), DATABASE),
    FormatModule("spans", ("otel", "copilot-traces"), DATABASE | TEXT, ("attributes", "resourceSpans", "resourceLogs")),
    FormatModule(
        "claude_tap",
        ("claude-tap",),
        DATABASE | TEXT,
        ("request", "__claude_tap_compact_trace__", "__claude_tap_compact_record__"),
    ),
    FormatModule("har", ("har",), TEXT, ("log",)),
    FormatModule("claude_trace", ("claude-trace",), TEXT, ("request",)),
    FormatModule("cline", ("cline",), FOLDER | TEXT),
    FormatModule("atif", ("atif",), TEXT, ("steps",)),
    FormatModule("inspect_ai", ("inspect",), DATABASE | ARCHIVE | TEXT, ("eval",)),
    FormatModule("openhands", ("openhands", "openhands-v0"), FOLDER | TEXT),
    FormatModule("swe_agent", ("swe-agent", "mini-swe-agent"), TEXT, ("attempts", "messages", "role", "trajectory")),
)
"""Modules of agents' formats in detection order; specific formats come before general ones."""

GENERAL = (
    FormatModule("transcripts", ("transcripts",), TEXT, ("messages_display",)),
    FormatModule(
        "responses",
        ("openai-responses",),
        TEXT,
        ("type", "input", "input_items", "items", "output", "request", "response", "body", "body_raw"),
    ),
    FormatModule("plain", ("anthropic-messages", "openai-chat"), TEXT),
)
"""Modules of formats for any program; plug-ins come before them."""


def formats(sample: Sample | None = None) -> Iterator[Format]:
    """Yield the formats in detection order, without those that cannot recognize a sample.

    Modules are imported lazily: detection imports neither the modules after the detected format's nor the ones that
    cannot recognize the sample.
    """
    for module in MODULES:
        if sample is None or module.may_recognize(sample):
            yield from _formats_in(module.name)
    yield from filter(None, map(PLUG_INS.get, PLUG_INS.names()))
    for module in GENERAL:
        if sample is None or module.may_recognize(sample):
            yield from _formats_in(module.name)


def _from_package(plug_in: PlugIn, loaded: object) -> Format:
    from inspector.session.plug_in_format import PlugInFormat

    return PlugInFormat(plug_in, loaded, PLUG_INS.note)


_MODULE_OF = {name: module.name for module in (*MODULES, *GENERAL) for name in module.formats}

PLUG_INS: PlugIns[Format] = PlugIns(FORMATS, _MODULE_OF.__contains__, _from_package)
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
    if module := _MODULE_OF.get(name):
        return next(known for known in _formats_in(module) if known.name == name)
    return PLUG_INS.get(name)


def detect(path: Path, *, most_document_bytes: int | None = None) -> Detection:
    """Detect the format of a file or folder.

    Args:
        path: Path to inspect; a session id in the path is ignored.
        most_document_bytes: Larger files are not parsed as one document, so such documents are not detected.

    Raises:
        SessionError: It cannot be read, or nothing in it looks like a session.
    """
    sample = Sample(Locator.of(path).file, most_document_bytes)
    for candidate in formats(sample):
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
