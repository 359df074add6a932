"""File history of a session: the events of each file in order, and its known content at any turn.

A *turn* is a message, counted from 1 as in the timeline; the effect of a tool counts from the message with its result.
All conversations in a session count, including recorded subagents: they work on the same files. So do messages
inherited from the session it continues.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from inspector.errors import InspectorError
from inspector.file_history.content import ContradictionError, FileContent
from inspector.file_history.operations import (
    Deletion,
    FileOperation,
    Patching,
    Read,
    RenameTarget,
    Replacement,
    UnknownChange,
    Writing,
    call_effects,
)
from inspector.file_history.results import NOTICES, parse_notice
from inspector.session.files import is_absolute_path, is_windows_path, joined_path, same_file
from inspector.session.model import BlockKind, Session, TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


MOST_NEAR = 5
LONGEST_COMMAND = 120
"""Maximum length of a displayed command in characters; a longer one is cut at a word."""
_NAME = re.compile(r"[\w.-]+")
_DOT = re.compile(r"\.")
_NAMED_IN_RESULT = re.compile(r"(?:file|to): (/[^\n]+?)(?: \(|\. |$)", re.MULTILINE)


class UnknownFileError(InspectorError):
    """No event of the session concerns a file of that name, or several files match."""

    advice = "list the files of the session: inspector files PATH"


class UnknownTurnError(InspectorError):
    """The session has no such turn, call or time."""

    advice = "turns are messages, counted from 1 as in the timeline"


class FileEventKind(StrEnum):
    """Kind of a file event."""

    READ = "read"
    EDIT = "edit"
    WRITE = "write"
    DELETE = "delete"
    UNCLEAR = "unclear"
    """Changed in an unrecorded way; or possibly changed, by a command that names the file."""

    @property
    def changes(self) -> bool:
        """True if the content changes, certainly or possibly."""
        return self is not FileEventKind.READ


@dataclass(frozen=True)
class FileEvent:
    """One access or change to a file.

    Attributes:
        turn: The message with the result, counted from 1.
        call_turn: The message with the call.
        call_block: The tool call, a block index.
        result_block: Its result, a block index.
        problem: One sentence on content that became unknown; empty if there is none.
        is_certain: True if it happened, False if it may have.
    """

    path: str
    kind: FileEventKind
    turn: int
    call_turn: int
    call_block: int
    result_block: int
    tool: str
    operations: tuple[FileOperation, ...] = ()
    intent: str = ""
    problem: str = ""
    is_certain: bool = True


@dataclass(frozen=True)
class KnownFile:
    """A file's known content at a turn.

    Attributes:
        event: The last event up to then, or None.
        known_since: The turn of the last certain event; 0 for none.
        doubts: Possible changes since the file was last read or written completely, one sentence each.
    """

    path: str
    turn: int
    content: FileContent
    event: FileEvent | None
    known_since: int
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileHistory:
    """File events and known contents of a session.

    Attributes:
        events: Events by file in order; files in the order of their first event.
        contents: By file, its known content before the first event, and after each.
        unread: Number of tool calls skipped because their texts are gone.
    """

    session: Session
    events: Mapping[str, Sequence[FileEvent]]
    contents: Mapping[str, Sequence[FileContent]]
    unread: int = 0

    @property
    def turns(self) -> int:
        return len(self.session.messages)

    def find(self, named: str) -> str:
        """Return a path by its end. Raises `UnknownFileError` if no file matches, or several do."""
        wanted = named.strip()
        if not wanted:
            raise UnknownFileError("the file name is empty")
        if wanted in self.events:
            return wanted
        folder = self.session.working_directory
        absolute = same_file(joined_path(folder, wanted))
        if (exact := next((path for path in self.events if same_file(path) == absolute), None)) is not None:
            return exact
        wanted = joined_path("", wanted.replace("\\", "/") if is_windows_path(folder) else wanted)
        ending = f"/{wanted}"
        found = [path for path in self.events if path.endswith(ending) or f"/{path}".endswith(ending)]
        if len(found) == 1:
            return found[0]
        if found:
            several = ", ".join(found[:MOST_NEAR]) + (
                f" and {len(found) - MOST_NEAR} more" if len(found) > MOST_NEAR else ""
            )
            raise UnknownFileError(f"{named} matches several files: {several}; give more of the path")
        import difflib

        names = {posixpath.basename(path): path for path in self.events}
        near = difflib.get_close_matches(posixpath.basename(wanted), names, n=MOST_NEAR, cutoff=0.6)
        much_like = f"; similar names: {', '.join(names[name] for name in near)}" if near else ""
        raise UnknownFileError(f"the session did not read or change a file named {named}{much_like}")

    def check_turn(self, turn: int) -> int:
        """Return the turn if it exists. Raises `UnknownTurnError` if there is no such turn."""
        if not 1 <= turn <= self.turns:
            raise UnknownTurnError(f"there is no turn {turn:,}: the session has turns 1 to {self.turns:,}")
        return turn

    def turn_of_call(self, call: int) -> int:
        """Return the last turn in a call's prompt, from 1; 0 if empty. Raises `UnknownTurnError`."""
        if not 1 <= call <= len(self.session.calls):
            raise UnknownTurnError(f"there is no call {call:,}: the session has calls 1 to {len(self.session.calls):,}")
        return self.session.calls[call - 1].response

    def turn_at(self, time: float) -> int:
        """Return the last turn by a time in seconds. Raises `UnknownTurnError` if there is none."""
        times = [(message.time, turn) for turn, message in enumerate(self.session.messages, start=1) if message.time]
        by_then = [turn for at, turn in times if at <= time]
        if not by_then:
            raise UnknownTurnError(
                "the session has no recorded times" if not times else "the session begins after that time"
            )
        return max(by_then)

    def file_state_at(self, path: str, turn: int | None = None) -> KnownFile:
        """Return the known content of a file at a turn.

        Args:
            path: The file, or the end of its path.
            turn: The turn, counted from 1; the last one if None. 0 is before the first.

        Raises:
            UnknownFileError: No file matches, or several do.
            UnknownTurnError: There is no such turn.
        """
        path = self.find(path)
        if turn is None:
            turn = self.turns
        elif turn != 0:
            self.check_turn(turn)
        return self.state_after(path, self.count_until(path, turn), turn)

    def count_until(self, path: str, turn: int) -> int:
        """Return the number of events of a file up to a turn; `path` must be in `events`."""
        return sum(event.turn <= turn for event in self.events[path])

    def state_after(self, path: str, count: int, turn: int | None = None) -> KnownFile:
        """Return what is known of a file after its first `count` events, by default as of the last turn."""
        done = self.events[path][:count]
        since = next((event.turn for event in reversed(done) if event.is_certain), 0)
        settled = max((number for number, event in enumerate(done) if _settles(event)), default=-1)
        doubts = tuple(event.problem for event in done[settled + 1 :] if not event.is_certain)
        last = done[-1] if done else None
        if turn is None:
            turn = 0 if last is None else last.turn
        return KnownFile(path, turn, self.contents[path][count], last, since, doubts)

    def before_and_after(self, event: FileEvent) -> tuple[FileContent, FileContent]:
        """Return the known content of an event's file before and after it."""
        index = list(self.events[event.path]).index(event)
        return self.contents[event.path][index], self.contents[event.path][index + 1]


def _settles(event: FileEvent) -> bool:
    """Return True if an event shows or writes the complete file, which resolves earlier doubts."""
    if event.kind is FileEventKind.READ:
        shown = [operation.shown for operation in event.operations if isinstance(operation, Read)]
        return any(each.total == len(each.lines) for each in shown)
    return event.kind in (FileEventKind.WRITE, FileEventKind.DELETE)


def _after(content: FileContent, event: FileEvent) -> tuple[FileContent, str]:
    """Return the content after an event, and the problem."""
    problem = ""
    for operation in event.operations:
        try:
            if isinstance(operation, Read) and not operation.of_change and not content.is_unknown:
                shown = operation.shown
                if content.differs(shown.lines, shown.first, total=shown.total):
                    problem = "it differs from the known content: something else changed it"
            if isinstance(operation, UnknownChange):
                problem = operation.why
            content = operation.applied(content)
        except ContradictionError:
            problem = "the known content did not contain the replaced text exactly once: something else changed it"
            content = _new_texts(operation)
    return content, problem


def _new_texts(operation: FileOperation) -> FileContent:
    """Return the known content after a change at an unknown position: the new texts as loose runs."""
    content = FileContent()
    if isinstance(operation, Replacement):
        for old, new, everywhere in operation.edits:
            content = content.replaced(old, new, everywhere=everywhere) if old else FileContent.of_text(new)
    elif isinstance(operation, Patching):
        for hunk in operation.hunks:
            content = content.somewhere(hunk.old, hunk.new)
    return content


def file_history(session: Session) -> FileHistory:
    """Return the file history of a session. Reads every tool call's arguments and result once."""
    return _Collector(session).collected()


class _Collector:
    """Collects file events from the tool calls of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._folder = session.working_directory
        self._events: dict[str, list[FileEvent]] = {}
        self._contents: dict[str, list[FileContent]] = {}
        self._names: dict[str, str] = {}
        self._known_names = KnownNames()
        self._unread = 0

    def collected(self) -> FileHistory:
        blocks, first_blocks = self._session.all_blocks, self._session.first_blocks
        waiting: dict[str, tuple[int, int]] = {}
        remaining = iter(blocks)
        for message, (begin, end) in enumerate(pairwise(first_blocks)):
            for index, block in enumerate(islice(remaining, end - begin), begin):
                if block.kind is BlockKind.TOOL_CALL:
                    waiting[block.tool_call_id] = index, message
                elif block.kind is BlockKind.TOOL_RESULT and block.tool_call_id in waiting:
                    call, asked = waiting.pop(block.tool_call_id)
                    self._take(call, asked, index, message)
                elif block.kind is BlockKind.USER_TEXT and any(notice in block.preview for notice in NOTICES):
                    self._take_notice(index, message)
        events = {path: tuple(each) for path, each in self._events.items()}
        return FileHistory(self._session, events, self._contents, self._unread)

    def _take(self, call: int, asked: int, result: int, message: int) -> None:
        blocks, session = self._session.all_blocks, self._session
        called, answer = blocks[call], blocks[result]
        try:
            text = session.quick_text(answer)
            effects = call_effects(called.tool_name, session.quick_text(called), text, is_error=answer.is_error)
        except TextUnavailableError:
            self._unread += 1
            return
        by_path: dict[str, list[FileOperation]] = {}
        moves: dict[str, str] = {}
        for operation in effects.operations:
            path = self._path(operation, text)
            if isinstance(operation, Patching) and operation.moved_to:
                moves[path] = self._path(FileOperation(operation.moved_to, operation.folder), "")
            by_path.setdefault(path, []).append(operation)
        event = partial(
            FileEvent,
            turn=message + 1,
            call_turn=asked + 1,
            call_block=call,
            result_block=result,
            tool=called.tool_name,
            intent=effects.intent,
        )
        for path, operations in by_path.items():
            self._add(event(path=path, kind=kind_of(operations), operations=tuple(operations)))
        for old, new in moves.items():
            arrival = RenameTarget(new, content=self._contents[old][-1])
            self._add(event(path=old, kind=FileEventKind.DELETE, operations=(Deletion(old),)))
            self._add(event(path=new, kind=FileEventKind.EDIT, operations=(arrival,)))
        if effects.may_change:
            doubt = _doubt(effects.may_change, message + 1)
            for path in [path for path in self._known_names.named_in(effects.may_change) if path not in by_path]:
                self._add(event(path=path, kind=FileEventKind.UNCLEAR, problem=doubt, is_certain=False))

    def _take_notice(self, index: int, message: int) -> None:
        try:
            noticed = parse_notice(self._session.text(self._session.all_blocks[index]))
        except TextUnavailableError:
            self._unread += 1
            return
        if noticed is None:
            return
        shown, is_modified = noticed
        operations: tuple[FileOperation, ...] = (Read(shown.path, shown=shown),)
        if is_modified:
            operations = (
                UnknownChange(shown.path, why="the user or a linter changed it"),
                *(operations if shown.lines else ()),
            )
        path = self._path(operations[0], "")
        turn = message + 1
        self._add(FileEvent(path, kind_of(operations), turn, turn, index, index, "", operations))

    def _add(self, event: FileEvent) -> None:
        if event.path not in self._contents:
            self._known_names.add(event.path)
        contents = self._contents.setdefault(event.path, [FileContent()])
        content, problem = _after(contents[-1], event)
        self._events.setdefault(event.path, []).append(replace(event, problem=problem) if problem else event)
        contents.append(content)

    def _path(self, operation: FileOperation, result: str) -> str:
        named = operation.path
        if not is_absolute_path(named) and not self._folder and not operation.folder:
            # Paths in Gemini CLI's calls are relative to a folder that only its results show.
            found = _NAMED_IN_RESULT.search(result[:500])
            if found is not None and found[1].endswith(f"/{named}"):
                self._folder = found[1].removesuffix(f"/{named}")
                self._events = {
                    joined_path(self._folder, path): [
                        replace(event, path=joined_path(self._folder, path)) for event in each
                    ]
                    for path, each in self._events.items()
                }
                self._contents = {joined_path(self._folder, path): each for path, each in self._contents.items()}
                self._known_names = KnownNames(self._contents)
        path = joined_path(joined_path(self._folder, operation.folder) or self._folder, named)
        return self._names.setdefault(same_file(path), path)


def kind_of(operations: Sequence[FileOperation]) -> FileEventKind:
    for operation in operations:
        if isinstance(operation, UnknownChange):
            return FileEventKind.UNCLEAR
        if isinstance(operation, Deletion):
            return FileEventKind.DELETE
        if isinstance(operation, Writing) and not operation.appends:
            return FileEventKind.WRITE
        if not isinstance(operation, Read) or operation.of_change:
            return FileEventKind.EDIT
    return FileEventKind.READ


class KnownNames:
    """Index of files by name, so that a command is looked at once instead of once for every file."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._paths: dict[str, list[str]] = {}
        self._of_several_words: set[str] = set()
        self._longest = 0
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """Add a file that is not in the index."""
        name = posixpath.basename(path)
        self._paths.setdefault(name, []).append(path)
        self._longest = max(self._longest, len(name))
        if not _NAME.fullmatch(name):
            self._of_several_words.add(name)

    def named_in(self, command: str) -> list[str]:
        """Return the files whose names appear in a command."""
        named = {name for name in self._of_several_words if name in command and _appears(name, command)}
        for word in _NAME.finditer(command):
            # The word itself, and its beginnings before a point, as in `a.py.bak`.
            stop = min(word.end(), word.start() + self._longest)
            ends = [dot.start() for dot in _DOT.finditer(command, word.start() + 1, stop + 1)]
            named.update(command[word.start() : end] for end in (*ends, word.end()) if end <= stop)
        return [path for name in named for path in self._paths.get(name, ())]


def _appears(name: str, command: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", command) is not None


def _doubt(command: str, turn: int) -> str:
    line = " ".join(command.split())
    shown = line if len(line) <= LONGEST_COMMAND else f"{line[:LONGEST_COMMAND].rsplit(' ', 1)[0]} …"
    return f"a command may have changed it at turn {turn}: {shown}"
