"""Read sessions stored as an append-only folder with one small file per event."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from inspector.errors import SessionError
from inspector.session.blocks import NamedTexts
from inspector.session.files import SETTLE_SECONDS, FileState, open_error_message, open_for_reading
from inspector.session.json import lenient_json
from inspector.session.model import Diagnostic, Session, TextUnavailableError
from inspector.session.reader import FileChange, ReadingProgress, Record, RecordInterpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from inspector.session.json_reader import SidecarFile

FILES_AT_ONCE = 200
"""Number of files per batch: progress is reported and other tasks may run after each."""


class DirectoryReader:
    """Reads a folder of events in numeric order, and new events as they are added.

    An incomplete JSON file is assumed to be still being written, unless it has not changed for a while; later events
    wait.
    """

    def __init__(
        self,
        path: Path,
        folder: Path,
        format_name: str,
        numbers: Callable[[str], int | None],
        interpreter: RecordInterpreter,
        sidecar: SidecarFile | None = None,
        take_sidecar: Callable[[Any], None] | None = None,
    ) -> None:
        """Create the reader without reading.

        `numbers` returns a file's number, or None if it is no event. `take_sidecar` gets the sidecar's value
        when it changes, or with events that it may describe.
        """
        self._path = path
        self._folder = folder
        self._format = format_name
        self._numbers = numbers
        self._interpreter = interpreter
        self._sidecar = sidecar
        self._take_sidecar = take_sidecar
        self._taken: set[str] = set()
        self._waiting = ""
        self._state: FileState | None = None
        self._texts = NamedTexts(folder.name, self._fetch, interpreter.blocks_of_record)

    def load(self) -> Iterator[ReadingProgress]:
        try:
            names = self._look()
        except OSError as error:
            raise SessionError(open_error_message(self._folder, error)) from error
        self._note_sidecar()
        for start in range(0, len(names), FILES_AT_ONCE):
            yield ReadingProgress(start, len(names))
            if not self._take(names[start : start + FILES_AT_ONCE]):
                break
        self._note_sidecar()
        yield ReadingProgress(len(names), len(names))

    def snapshot(self) -> Session:
        unfinished = Diagnostic(f"{self._waiting} is incomplete") if self._waiting else None
        self._interpreter.settle()
        return self._interpreter.builder.snapshot(self._format, self._path, self._texts, (self._folder,), unfinished)

    def refresh(self) -> FileChange:
        try:
            state = FileState.of(self._folder.stat())
            if self._state is not None and state[:2] != self._state[:2]:
                return FileChange.REPLACED
            is_quiet = state == self._state and not self._waiting
            names = [] if is_quiet else self._look()
        except OSError as error:
            return FileChange.of_error(error)
        if not is_quiet and (self._taken - set(names) or self._comes_before(names)):
            return FileChange.REPLACED
        before, waited = len(self._taken), self._waiting
        self._take([name for name in names if name not in self._taken])
        has_new_metadata = self._note_sidecar(only_changes=len(self._taken) == before)
        is_same = len(self._taken) == before and self._waiting == waited and not has_new_metadata
        return FileChange.NONE if is_same else FileChange.APPENDED

    def watched(self) -> Path:
        return self._folder

    def _comes_before(self, names: Sequence[str]) -> bool:
        new = [place for place, name in enumerate(names) if name not in self._taken]
        return bool(new) and new[0] < len(names) - len(new)

    def _look(self) -> list[str]:
        """Return the names of all events in order; files added during the listing are found by the next one."""
        self._state = FileState.of(self._folder.stat()).settled()
        with os.scandir(self._folder) as entries:
            names = [entry.name for entry in entries]
        numbered = [(number, name) for name in names if (number := self._numbers(name)) is not None]
        return [name for _, name in sorted(numbered)]

    def _take(self, names: Sequence[str]) -> bool:
        """Read events; return False at one that is incomplete, which delays all later ones."""
        self._waiting = ""
        for name in names:
            try:
                with open_for_reading(self._folder / name) as file:
                    data = file.read()
                    age = FileState.of(os.fstat(file.fileno())).age
            except (OSError, SessionError):
                self._waiting = name
                return False
            value, problem = lenient_json(data)
            if not isinstance(value, dict):
                if age < SETTLE_SECONDS:
                    self._waiting = name
                    return False
                self._interpreter.builder.diagnose(f"{name}: {problem or 'not a JSON object'}", 0, 0, skipped=True)
            else:
                if problem:
                    self._interpreter.builder.diagnose(f"{name}: {problem}", 0, 0, skipped=False)
                self._interpreter.take(Record(value, data, 0, locator=name))
            self._taken.add(name)
        return True

    def _note_sidecar(self, *, only_changes: bool = False) -> bool:
        if self._sidecar is None or self._take_sidecar is None:
            return False
        if not self._sidecar.changed() and only_changes:
            return False
        self._take_sidecar(self._sidecar.value())
        return True

    def _fetch(self, name: str) -> bytes:
        try:
            with open_for_reading(self._folder / name) as file:
                return file.read()
        except (OSError, SessionError) as error:
            raise TextUnavailableError(f"{name} is no longer in {self._folder.name}") from error
