"""What of a session's files is in one call's prompt, and whether that is what they still are."""

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
    """Whether what was read of a file was still so at a call."""

    CURRENT = "current"
    EDITED = "edited since"
    """It was edited, written or deleted after it was read."""
    PERHAPS = "maybe edited"
    """A command that names it may have changed it after it was read."""


@dataclass(frozen=True, slots=True)
class EventInContext:
    """Something done to a file, as it stands in a call's prompt.

    Attributes:
        tokens: Tokens sent of its result, on the provider's scale; None where the prompt does not hold that, and of a
            command that may have changed the file.
        read: Whether what it showed was still so; None for what is no read.
        is_later: It was done after the call.
    """

    tokens: float | None
    read: ReadState | None
    is_later: bool


@dataclass(frozen=True, slots=True)
class FileInContext:
    """A file, as it stands in a call's prompt.

    Attributes:
        path: The file.
        tokens: Tokens sent of the results of all that was done to it; one about several files counts for each.
        read: Whether what was last read of it was still so; None where nothing was by then.
        count: How many things had been done to it by then.
        events: All that was done to it, in order, what was done later included.
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
        known: How the tokens are known.
        tokens: Tokens sent of the results of all that was done to any, each result once.
        files: In the order of the first thing done to each.
    """

    call: int
    known: HowKnown
    tokens: float
    files: tuple[FileInContext, ...]


def files_in_context(history: FileHistory, replay: Replay, state: ContextState) -> FilesInContext:
    """What of a session's files is in a call's prompt.

    Args:
        history: What was done to the files of the session that is replayed.
        replay: The plan on that session.
        state: How every block stands at the call, of `replay.state`.
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
    """Tokens by result: one that tells of several things counts once."""
    return {event.result_block: each.tokens for event, each in pairs if each.tokens is not None}
