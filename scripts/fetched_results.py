"""Follow the results that a session's calls fetched until they are cut, fetched again or out of date."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from posixpath import basename
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from inspector.replay.analysis.recoveries import CallsByThread
from inspector.replay.analysis.reuse import NeedKind, files_written, find_reuse
from inspector.replay.engine.simulation import recorded_clearing
from inspector.session.model import BlockKind, ContextCause
from inspector.strategies.history.history import NEVER, History
from inspector.strategies.history.reads import decoded, path_of
from inspector.strategies.history.tools import ToolKind, tool_kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.session.model import Session

WITHIN: Final = 30
"""Calls after a cut in which a re-fetch counts."""

FETCHES: Final = (ToolKind.READ, ToolKind.SHELL, ToolKind.SEARCH, ToolKind.WEB)

NAMES: Final = ("command", "cmd", "pattern", "query", "url", "path", "glob", "include")
"""Arguments that identify a command, a search or an address."""

USUAL_LINES: Final = 2_000
"""Lines of a read without a limit."""

FULL, CLEARED, REWOUND = "compaction", "clearing", "rewind"

CUTS: Final = (FULL, CLEARED)


@dataclass
class Fetched:
    """A result of a fetching call. Places are positions of calls in their conversation (`CallsByThread`).

    Attributes:
        kind: Kind of tool.
        block: Block index.
        characters: Length.
        enters: Place of the first call that sends it.
        stays: Place after the last call that sends it.
        cut: `FULL` or `CLEARED` if a recorded cut removed it, `REWOUND`, or empty if it stays.
        rank: Newer results in the last prompt with it.
        ends: Place of the call that fetches it again or writes; `NEVER` without one.
        is_again: True if it is fetched again there.
        matches: Places of its later uses by the text detectors.
    """

    kind: ToolKind
    block: int
    characters: int
    enters: int
    stays: int
    cut: str = ""
    rank: int = 0
    ends: int = NEVER
    is_again: bool = False
    matches: list[int] = field(default_factory=list)

    @property
    def age(self) -> int:
        """Calls that sent it."""
        return self.stays - self.enters

    @property
    def is_cut(self) -> bool:
        """True if it was cut while valid and not fetched again."""
        return self.cut in CUTS and self.ends >= self.stays

    @property
    def again_after_cut(self) -> bool:
        """True if the calls after the cut fetch it again."""
        return self.is_again and self.stays <= self.ends < self.stays + WITHIN

    def outcomes(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return, for each place, 1.0 if the calls from there on fetch it again, and if a detector finds a use."""
        again = self.is_again & (self.ends >= places) & (self.ends < places + WITHIN)
        found = [(place >= places) & (place < places + WITHIN) for place in self.matches]
        return np.array([again, np.any(found, axis=0) if found else np.zeros(len(places))], dtype=np.float64)


def fetched_of(session: Session) -> list[Fetched]:
    """Return the fetched results of a session with recorded cuts, in order; empty without cuts."""
    history = History.of(session)
    cleared_at = {choice.block: call for call, choice in recorded_clearing(history)}
    if not cleared_at and all(each.cause is not ContextCause.COMPACTION for each in session.contexts):
        return []
    threads = CallsByThread.of(history.call_thread[: history.call_count])
    found = _with_ends(history, threads)
    for each in found.values():
        leaves, cleared = int(history.leaves[each.block]), cleared_at.get(each.block, NEVER)
        call = min(leaves, cleared)
        if call >= history.call_count:
            continue
        each.stays = int(threads.position[call])
        began = session.contexts[int(history.call_context[call])].cause
        each.cut = CLEARED if cleared < leaves else FULL if began is ContextCause.COMPACTION else REWOUND
        prompt = history.prompt(int(threads.order[each.stays - 1]))
        each.rank = int(((history.kind[prompt] == BlockKind.TOOL_RESULT) & (prompt > each.block)).sum())
    uses = find_reuse(history)
    for kind, block, call in zip(uses.kind.tolist(), uses.block.tolist(), uses.call.tolist(), strict=True):
        same = history.call_thread[call] == history.message_thread[history.message[block]]
        if kind != NeedKind.FAULT and same and block in found:
            found[block].matches.append(int(threads.position[call]))
    return list(found.values())


def _with_ends(history: History, threads: CallsByThread) -> dict[int, Fetched]:
    """Follow all tool calls to the next fetch or write of the same data; by block of the result."""
    session = history.session
    call_of = {call.response: index for index, call in enumerate(session.calls)}
    result_of = {int(history.call_block[result]): result for result in history.results.tolist()}
    found: dict[int, Fetched] = {}
    valid: defaultdict[tuple[int, ...], dict[tuple[str, ...], list[tuple[Fetched, float, float]]]]
    valid = defaultdict(dict)
    for block in np.flatnonzero(history.kind == BlockKind.TOOL_CALL).tolist():
        content, call = session.blocks[block], call_of.get(int(history.message[block]))
        arguments = decoded(session.text(content))
        if call is None or not isinstance(arguments, dict):
            continue
        place, kind = int(threads.position[call]), tool_kind(content.tool_name)
        current = valid[int(history.call_thread[call]),]
        for key in _written(content.tool_name, arguments, current):
            for each, _, _ in current.pop(key):
                each.ends = place
        key, result = _identity(kind, path_of(session, content), arguments), result_of.get(block, -1)
        if not key or result < 0 or session.blocks[result].is_error:
            continue
        start, stop = lines_of(arguments) if kind is ToolKind.READ else (0, np.inf)
        repeated = [each for each, first, last in current.get(key, ()) if first < stop and start < last]
        for each in repeated:
            each.ends, each.is_again = place, True
        left = [entry for entry in current.get(key, ()) if entry[0] not in repeated]
        if history.enters[result] < history.call_count:
            enters, end = (int(column[history.enters[result]]) for column in (threads.position, threads.end))
            found[result] = Fetched(kind, result, session.blocks[result].characters, enters, end)
            left.append((found[result], start, stop))
        current[key] = left
    return found


def _written(tool: str, arguments: dict[str, Any], valid: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the keys that a call makes invalid: reads of the files it writes, and anything else if it writes."""
    names = files_written(tool, arguments)
    return [key for key in valid if key[1] in names or key[0] != ToolKind.READ] if names else []


def _identity(kind: ToolKind, path: str, arguments: dict[str, Any]) -> tuple[str, ...]:
    """Return what a call fetches: kind, name of a file that is read, arguments; empty if unknown."""
    if kind is ToolKind.READ:
        return (kind, basename(path.rstrip("/")), path) if path else ()
    named = [(name, " ".join(str(arguments[name]).split())) for name in NAMES if arguments.get(name)]
    return (kind, "", *(word for pair in named for word in pair)) if named and kind in FETCHES else ()


def lines_of(arguments: dict[str, Any]) -> tuple[float, float]:
    """Return the first line that a read requests, and the line after the last."""
    for name in ("view_range", "line_range"):
        pair = arguments.get(name)
        if isinstance(pair, list) and [type(each) for each in pair] == [int, int]:
            return pair[0], pair[1] + 1 if pair[1] > 0 else np.inf
    numbers = {name: value for name, value in arguments.items() if isinstance(value, (int, float))}
    start = next((numbers[name] for name in ("offset", "start_line", "startLine") if name in numbers), 0)
    end = next((numbers[name] + 1 for name in ("end_line", "endLine") if name in numbers), np.inf)
    limit = numbers.get("limit", USUAL_LINES if start else np.inf)
    return start, min(end, start + limit)
