"""A format of another package: its exceptions become problems that name the package, its texts are safe to display."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from inspector.plug_ins import FORMATS, PlugIn, UnusablePlugInError, failure_of
from inspector.safe_text import one_line
from inspector.session.errors import SessionError
from inspector.session.format import Format
from inspector.session.reader import FileChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from inspector.session.format import ContainedSession, FullOutput
    from inspector.session.model import Session
    from inspector.session.reader import Reader, ReadingProgress
    from inspector.session.sniff import Sample

Answer = TypeVar("Answer")


class PlugInFormat(Format):
    """A format that delegates to one of another package, and answers for it if that fails."""

    def __init__(self, plug_in: PlugIn, loaded: object, note: Callable[[PlugIn, str], None]) -> None:
        """Check a loaded format.

        Args:
            plug_in: Its entry point.
            loaded: A subclass of `Format`, or an instance of one.
            note: Records a problem.

        Raises:
            UnusablePlugInError: It is not a format, or its attributes are not usable.
        """
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
        self.title, self.where, self.exact = (one_line(texts[name]) for name in ("title", "where", "exact"))
        self.file_names = made.file_names
        self.is_live, self.grows_compressed = bool(made.is_live), bool(made.grows_compressed)
        self.session_folders = tuple(frozenset(names) for names in made.session_folders)

    def recognize(self, sample: Sample) -> str:
        return self._ask(lambda: one_line(self._made.recognize(sample)), "")

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
            self._note(self._plug_in, f"{type(error).__name__}: {one_line(str(error))}")
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
