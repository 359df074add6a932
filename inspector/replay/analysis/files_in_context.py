"""A session's files in one call's prompt, and changes of their contents since they were read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from inspector.file_history.history import FileEventKind
from inspector.replay.analysis.context_blocks import context_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inspector.file_history.history import FileEvent, FileHistory
    from inspector.replay.engine.replay import ContextState, Replay
    from inspector.replay.figure import HowKnown


class ReadState(StrEnum):
    """Validity of a file's read at a call."""

    CURRENT = "current"
    EDITED = "edited since"
    """The file was edited, written or deleted after it was read."""
    PERHAPS = "maybe edited"
    """A command that names the file may have changed it after it was read."""


@dataclass(frozen=True, slots=True)
class EventInContext:
    """An operation on a file, as represented in a call's prompt.

    Attributes:
        tokens: Tokens of its result that were sent, on the provider's scale; None if the prompt does not contain it,
            and for a command that may have changed the file.
        read: Validity of the content it showed; None if it is not a read.
        is_later: True if it happened after the call.
    """

    tokens: float | None
    read: ReadState | None
    is_later: bool


@dataclass(frozen=True, slots=True)
class FileInContext:
    """A file, as represented in a call's prompt.

    Attributes:
        path: The file.
        tokens: Tokens sent of the results of all operations on it; a result about several files counts for each.
        read: Validity of its last read; None if there was none by then.
        count: Number of operations on it by then.
        events: All operations on it, in order, including later ones.
    """

    path: str
    tokens: float
    read: ReadState | None
    count: int
    events: tuple[EventInContext, ...]


@dataclass(frozen=True, slots=True)
class FilesInContext:
    """A session's files in one call's prompt.

    Attributes:
        call: The call; the number of recorded calls is the next prompt.
        known: Confidence of the tokens.
        tokens: Tokens sent of the results of operations on any file, each result once.
        files: In the order of the first operation on each.
    """

    call: int
    known: HowKnown
    tokens: float
    files: tuple[FileInContext, ...]


def files_in_context(history: FileHistory, replay: Replay, state: ContextState) -> FilesInContext:
    """Return a session's files in a call's prompt.

    Args:
        history: Operations on the files of the replayed session.
        replay: The plan on that session.
        state: State of the blocks at the call, from `replay.state`.
    """
    context = context_at(replay, state)
    sent = dict(zip(context.blocks.tolist(), context.sent.tolist(), strict=True))
    is_next = state.call >= replay.history.call_count
    turn = history.turns if is_next else history.turn_of_call(state.call + 1)
    files = tuple(_file(path, events, sent, turn) for path, events in history.events.items())
    pairs = (zip(history.events[file.path], file.events, strict=True) for file in files)
    results = _by_result(pair for of_file in pairs for pair in of_file)
    return FilesInContext(state.call, context.known, sum(results.values()), files)


def _file(path: str, events: Sequence[FileEvent], sent: dict[int, float], turn: int) -> FileInContext:
    found: list[EventInContext] = []
    changed = ReadState.CURRENT
    for event in reversed(events):
        is_later = event.turn > turn
        tokens = sent.get(event.result_block) if event.is_certain and not is_later else None
        is_read = event.kind is FileEventKind.READ
        found.append(EventInContext(tokens, changed if is_read and not is_later else None, is_later))
        if event.kind.changes and not is_later and changed is not ReadState.EDITED:
            changed = ReadState.EDITED if event.is_certain else ReadState.PERHAPS
    found.reverse()
    last = next((each.read for each in reversed(found) if each.read is not None), None)
    total = sum(_by_result(zip(events, found, strict=True)).values())
    return FileInContext(path, total, last, sum(not each.is_later for each in found), tuple(found))


def _by_result(pairs: Iterable[tuple[FileEvent, EventInContext]]) -> dict[int, float]:
    """Return tokens by result, counting a result about several operations once."""
    return {event.result_block: each.tokens for event, each in pairs if each.tokens is not None}
