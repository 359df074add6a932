"""Registry of formats, and format detection.

To add a format, add a module with a `Format` and one line here, or an entry point `inspector.formats` in a package of
its own. Formats are detected by content only: names and extensions are unreliable, and the first line of a session is
rarely specific.

A format of another package is wrapped: its exceptions become problems that name the package, and its texts are safe to
display.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from inspector.errors import SessionError, UnreadableFileError
from inspector.plug_ins import FORMATS, PlugIn, PlugIns, UnusablePlugInError, failure_of
from inspector.session.files import Locator, exists, is_file, is_folder
from inspector.session.format import ContainedSession, Detection, Format, FullOutput
from inspector.session.sniff import FileKind, Sample
from inspector.session.zstd import is_zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from inspector.session.model import Session
    from inspector.session.reader import FileChange, Reader, ReadingProgress


FOLDER, DATABASE, ARCHIVE, TEXT = FileKind


class FormatModule(NamedTuple):
    """A module in `formats`, and the files that its formats may recognize, so that others do not import it.

    Attributes:
        formats: Names of its formats, in detection order.
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


def problem_with_target(target: Path, source: Path | None = None) -> str:
    """Return why a result must not be written to a file, such as that it is a session; empty if it may."""
    if is_folder(target):
        return "is a folder; choose a file"
    if source is not None and exists(source) and source.resolve() in (target.resolve(), *target.resolve().parents):
        return "is part of the session; choose another file"
    if not is_file(target):
        return ""  # does not exist yet, or is a device or pipe
    if source is not None and exists(source) and target.samefile(source):
        return "is the session itself; choose another file"
    try:
        detection = detect(target)
    except SessionError:
        return ""
    return f"contains a session ({detection.format.title}), which is never overwritten; choose another file"


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


Answer = TypeVar("Answer")


class PlugInFormat(Format):
    """A format that delegates to one of another package, and answers for it if that fails."""

    def __init__(self, plug_in: PlugIn, loaded: object, note: Callable[[PlugIn, str], None]) -> None:
        """Check a subclass or instance of `Format`. Raises `UnusablePlugInError` if it is not usable."""
        made = loaded() if isinstance(loaded, type) and issubclass(loaded, Format) else loaded
        if not isinstance(made, Format):
            raise UnusablePlugInError(f"{plug_in.target} is not a subclass of inspector.session.format.Format")
        if made.name != plug_in.name:
            raise UnusablePlugInError(f"its `name` is {made.name!r}, not that of the entry point")
        texts = {name: getattr(made, name) for name in ("title", "where", "exact", "file_names")}
        wrong = [name for name, text in texts.items() if not isinstance(text, str)]
        if wrong:
            raise UnusablePlugInError(f"`{wrong[0]}` is not a string")
        re.compile(made.file_names)
        self._made, self._plug_in, self._note = made, plug_in, note
        self.name = made.name
        self.title, self.where, self.exact = (_one_line(texts[name]) for name in ("title", "where", "exact"))
        self.file_names = made.file_names
        self.is_live, self.grows_compressed = bool(made.is_live), bool(made.grows_compressed)
        self.session_folders = tuple(frozenset(names) for names in made.session_folders)

    def recognize(self, sample: Sample) -> str:
        return self._ask(lambda: _one_line(self._made.recognize(sample)), "")

    def reader(self, path: Path) -> Reader:
        return self._opened(lambda: self._made.reader(path), path)

    def reader_of_copy(self, copy: Path, path: Path) -> Reader:
        return self._opened(lambda: self._made.reader_of_copy(copy, path), path)

    def homes(self) -> tuple[Path, ...]:
        return self._ask(lambda: tuple(Path(home) for home in self._made.homes()), ())

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        return self._ask(lambda: tuple(self._made.contained_sessions(path)), ())

    def is_sidecar(self, path: Path) -> bool:
        return self._ask(lambda: bool(self._made.is_sidecar(path)), False)

    def is_copy(self, path: Path) -> bool:
        return self._ask(lambda: bool(self._made.is_copy(path)), False)

    def parent_file(self, path: Path) -> Path | None:
        return self._ask(lambda: _path(self._made.parent_file(path)), None)

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:
        return self._ask(lambda: tuple(self._made.subagents(path, identifier)), ())

    def locate(self, path: Path, identifier: str) -> Path | None:
        return self._ask(lambda: _path(self._made.locate(path, identifier)), None)

    def full_output(self, path: Path, text: str) -> FullOutput | None:
        return self._ask(lambda: self._made.full_output(path, text), None)

    def is_bookkeeping(self, count_name: str) -> bool:
        return self._ask(lambda: bool(self._made.is_bookkeeping(count_name)), False)

    def knows_record(self, count_name: str) -> bool:
        return self._ask(lambda: bool(self._made.knows_record(count_name)), True)

    def _ask(self, call: Callable[[], Answer], otherwise: Answer) -> Answer:
        try:
            return call()
        except SessionError:
            raise
        except Exception as error:  # noqa: BLE001  a broken package costs only itself
            self._note(self._plug_in, f"{type(error).__name__}: {_one_line(str(error))}")
            return otherwise

    def _opened(self, call: Callable[[], Reader], path: Path) -> Reader:
        try:
            return PlugInReader(call(), path, self._plug_in)
        except (SessionError, OSError):
            raise
        except Exception as error:
            raise _unreadable(path, self._plug_in, error) from error


class PlugInReader:
    """A reader of a format of another package; its exceptions become errors that name the package."""

    def __init__(self, reader: Reader, path: Path, plug_in: PlugIn) -> None:
        self._reader, self._path, self._plug_in = reader, path, plug_in

    def load(self) -> Iterator[ReadingProgress]:
        try:
            yield from self._reader.load()
        except (SessionError, OSError):
            raise
        except Exception as error:
            raise _unreadable(self._path, self._plug_in, error) from error

    def snapshot(self) -> Session:
        try:
            return self._reader.snapshot()
        except SessionError:
            raise
        except Exception as error:
            raise _unreadable(self._path, self._plug_in, error) from error

    def refresh(self) -> FileChange:
        from inspector.session.reader import FileChange

        try:
            return self._reader.refresh()
        except Exception:  # noqa: BLE001  the session stays as it is
            return FileChange.UNREADABLE

    def watched(self) -> Path:
        return self._reader.watched()


def _path(found: object) -> Path | None:
    return found if isinstance(found, Path) else None


def _unreadable(path: Path, plug_in: PlugIn, error: Exception) -> SessionError:
    failed = failure_of(error, FORMATS) or f"{plug_in.named}: {type(error).__name__}: {error}"
    return SessionError(f"{path}: cannot be read: {failed}. Update or uninstall that package.")


def _one_line(text: str) -> str:
    from inspector.safe_text import one_line  # of packages only: importing it takes as long as detecting a format

    return one_line(text)
