"""Where the recorded session used again what an earlier tool result said.

Four detectors read every text once, in the order of the session, without a model:

- *exact text*: an edit whose old text occurs in one tool result and nowhere else before;
- *fault*: the same read or command issued again, with the same result, while nothing it reads was written in between;
- *anchor*: a path, a symbol or the number of a line that one result alone showed, used as an argument of a tool;
- *citation*: a word of some length that occurs in one result and nowhere else before, and that the model writes later.

None proves that the model could not have done without; all are proxies, and are called so wherever they are shown; how
often each is right is in `docs/evidence.md`. No plan changes the evidence, so it is gathered once for a session; that
takes seconds in a long one, so it can be called off and gone on with, and goes on where a session grows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from posixpath import basename
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from inspector.replay.analysis.old_texts import PATCH, find_text, old_texts, strings_of
from inspector.replay.analysis.shown_once import Overlay, ShownOnce
from inspector.session.model import BlockKind, TextUnavailableError
from inspector.session.snapshot_list import unchanged
from inspector.strategies.history.arguments import PATH_ARGUMENTS, decoded
from inspector.strategies.history.tools import Meaning, meaning_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from inspector.replay.analysis.shown_once import Map
    from inspector.session.model import Message
    from inspector.strategies.history.history import History


class NeedKind(IntEnum):
    """How a use is told. Where several tell of one result at one call, the first of these names it."""

    EXACT_TEXT = 0
    FAULT = 1
    ANCHOR = 2
    CITATION = 3

    @property
    def label(self) -> str:
        """What people read, and data calls it: `exact text`."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, eq=False)
class ReuseEvidence:
    """Evidence of use, one row a use, in call order, and of one call in the order of `NeedKind`.

    Attributes:
        kind: `NeedKind`, uint8.
        block: The tool result that was used, block index, int32.
        start: Where what was used begins in its text, characters; 0 for a repeated call, int64.
        stop: Where it ends; the text's length for a repeated call, int64.
        call: The call whose response used it, int32.
        use: The block of that response that did, block index, int32.
        use_start: Where it does so in that block's text, characters, int64.
        use_stop: Where that ends, int64.
    """

    kind: NDArray[np.uint8]
    block: NDArray[np.int32]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    call: NDArray[np.int32]
    use: NDArray[np.int32]
    use_start: NDArray[np.int64]
    use_stop: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.call)


class ReuseScan:
    """Gathers the evidence of one state of a session. Threads may share it: they take turns."""

    def __init__(self, history: History, gathering: _Gathering | None = None) -> None:
        """Prepare to gather.

        Args:
            history: The session's columns.
            gathering: What was gathered of an earlier state; nothing yet where not given.
        """
        self.history = history
        self._gathering = gathering or _Gathering(keeps_notes=False)

    def of(self, history: History) -> ReuseScan:
        """What gathers the evidence of another state of the session, or of a session in its place.

        A session that grew once may grow again: what is noted on the way is kept from then on.
        """
        if history is self.history:
            return self
        if not self._gathering.holds_for(history):
            grew = unchanged(history.session.messages, self.history.session.messages) > 0
            return ReuseScan(history, _Gathering(keeps_notes=grew))
        return ReuseScan(history, self._gathering)

    def run(self, is_cancelled: Callable[[], bool]) -> ReuseEvidence | None:
        """All evidence, or None where it was called off; the next run goes on from there.

        Args:
            is_cancelled: Asked now and then.
        """
        return self._gathering.up_to(self.history, is_cancelled)

    def run_to_the_end(self) -> ReuseEvidence:
        """All evidence, however long it takes."""
        found = self.run(lambda: False)
        assert found is not None  # noqa: S101  nobody called it off
        return found


def find_reuse(history: History) -> ReuseEvidence:
    """Gather the evidence; reads every text of the session once."""
    return ReuseScan(history).run_to_the_end()


_ANCHOR = re.compile(r"[A-Za-z_$@./~][A-Za-z0-9_$@./~\-]*(?::\d+)?")
"""A path or a symbol, perhaps with the number of a line."""

_LINE_ARGUMENTS = ("offset", "start_line", "startLine", "line", "start_line_one_indexed", "view_range", "line_range")

_LONGEST_ARGUMENT = 400
"""Characters: a longer argument, or one of several lines, is a text that is written, not what a tool is told."""

_MOST_PARTS = 12
"""Of a path."""

_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)

_BLOCKS_AT_ONCE = 64

_READ = frozenset(
    {
        BlockKind.TOOL_RESULT,
        BlockKind.TOOL_CALL,
        BlockKind.ASSISTANT_TEXT,
        BlockKind.THINKING,
        BlockKind.USER_TEXT,
        BlockKind.SYSTEM_TEXT,
    }
)

_FETCHES = frozenset({Meaning.READ, Meaning.SHELL, Meaning.SEARCH, Meaning.WEB, Meaning.DATA, Meaning.LIGHT})
"""What tools do whose repeated call asks for the same again."""

_WRITING_COMMAND = re.compile(
    r"(?:^|[\s;&|(])(?:tee|mv|cp|rm|mkdir|touch|ln|patch|truncate|dd|install|black|isort|prettier|gofmt|rustfmt|"
    r"sed\s+(?:-\S+\s+)*-\S*i|perl\s+-\S*i|"
    r"git\s+(?:checkout|switch|stash|apply|reset|restore|pull|merge|rebase|commit|add|clean|cherry-pick|revert|am)|"
    r"(?:npm|pnpm|yarn|pip|pip3|uv|cargo|go|make|apt|apt-get|brew|poetry)\s+(?:\S+\s+)*"
    r"(?:install|add|i|update|upgrade|build|fmt|sync|get|generate))\b|"
    r"(?:ruff|eslint)\b.*(?:format|--fix)|(?<![0-9&<>=-])>{1,2}(?![&>=])\s*(?!/dev/null)[\w./~\"'$-]"
)
"""A command that writes files; `>` too, unless what it writes is thrown away."""

_Row = tuple[int, int, int, int, int, int, int, int]


@dataclass
class _Notes:
    """What is noted on the way through a session.

    Attributes:
        shown: What one result alone has shown.
        asked: The block of the newest call that fetches, by thread, tool and arguments.
        written: The newest block that writes a file, by the last part of its path, and by "" whatever it writes.
    """

    shown: ShownOnce = field(default_factory=ShownOnce)
    asked: Map = field(default_factory=dict)
    written: Map = field(default_factory=dict)

    def aside(self) -> _Notes:
        """The same to go on with where what comes next may still change."""
        return _Notes(self.shown.aside(), Overlay(self.asked), Overlay(self.written))


class _Gathering:
    """All evidence of a session that may grow: messages but the last once, that one anew with every state."""

    def __init__(self, *, keeps_notes: bool) -> None:
        self._turn = Lock()
        self._keeps_notes = keeps_notes
        self._notes: _Notes | None = _Notes()
        self._rows: list[_Row] = []
        self._next = 0
        self._messages: Sequence[Message] = ()
        self._found: tuple[History, ReuseEvidence] | None = None

    def holds_for(self, history: History) -> bool:
        """Whether it can be gone on with for another state of the session: what it noted is there as it was."""
        known, now = self._messages, history.session.messages
        return self._notes is not None and len(now) >= len(known) and unchanged(now, known) >= len(known) - 1

    def up_to(self, history: History, is_cancelled: Callable[[], bool]) -> ReuseEvidence | None:
        with self._turn:
            if self._found is not None and self._found[0] is history:
                return self._found[1]
            if not self.holds_for(history) or self._notes is None:
                return _Gathering(keeps_notes=False).up_to(history, is_cancelled)
            self._messages = history.session.messages
            reader = _Reader(history, self._notes, self._rows)
            last = int(history.message_first_block[-2]) if len(history.message_first_block) > 1 else 0
            while self._next < last:
                if is_cancelled():
                    return None
                end = min(self._next + _BLOCKS_AT_ONCE, last)
                for index in range(self._next, end):
                    reader.look_at(index)
                self._next = end
            if is_cancelled():
                return None
            newest: list[_Row] = []
            aside = _Reader(history, self._notes.aside(), newest)
            for index in range(last, len(history.kind)):
                aside.look_at(index)
            self._found = (history, _evidence(history, [*self._rows, *newest]))
            if not self._keeps_notes:
                # All that was noted on the way is far more than what came of it.
                self._notes, self._rows = None, []
            return self._found[1]


def _evidence(history: History, rows: list[_Row]) -> ReuseEvidence:
    known = list(_with_results(history, rows))
    columns = np.array(known, dtype=np.int64).reshape(-1, len(ReuseEvidence.__dataclass_fields__))
    columns = columns[np.lexsort((columns[:, 1], columns[:, 0], columns[:, 4]))]
    kind, block, start, stop, call, use, use_start, use_stop = columns.T
    return ReuseEvidence(
        kind.astype(np.uint8),
        block.astype(np.int32),
        start,
        stop,
        call.astype(np.int32),
        use.astype(np.int32),
        use_start,
        use_stop,
    )


def _with_results(history: History, rows: list[_Row]) -> Iterator[_Row]:
    """The rows, those of repeated calls with the earlier result; without those that got another than the earlier."""
    blocks = history.session.blocks
    result_of = {int(history.call_block[result]): result for result in history.results.tolist()}
    for row in rows:
        if row[0] != NeedKind.FAULT:
            yield row
            continue
        earlier, again = result_of.get(row[1], -1), result_of.get(row[5], -1)
        if min(earlier, again) >= 0 and blocks[earlier].digest == blocks[again].digest and not blocks[again].is_error:
            yield row[0], earlier, 0, blocks[earlier].characters, *row[4:]


class _Reader:
    """Looks at the blocks of one state of a session, one by one and in order."""

    def __init__(self, history: History, notes: _Notes, rows: list[_Row]) -> None:
        self._history = history
        self._blocks = history.session.blocks
        self._call_of_response = {call.response: index for index, call in enumerate(history.session.calls)}
        self._notes = notes
        self._rows = rows

    def look_at(self, index: int) -> None:
        """Add what a block uses of earlier results, and note what it says."""
        block, notes = self._blocks[index], self._notes
        if block.kind not in _READ:
            return
        call = self._call_of_response.get(int(self._history.message[index]), -1)
        text = _text(self._history, index)
        if block.kind is BlockKind.TOOL_CALL:
            self._look_at_call(index, call, text)
            return
        if block.kind is BlockKind.TOOL_RESULT:
            notes.shown.note_result(text, index)
            return
        words = notes.shown.unsettled(text)
        if call >= 0:
            for word, source, start in notes.shown.take_all(words):
                self._add(NeedKind.CITATION, source, (start, start + len(word)), call, index, _span_of(word, text))
        notes.shown.note_other(text, words)

    def _look_at_call(self, index: int, call: int, text: str) -> None:
        notes, tool = self._notes, self._blocks[index].tool_name
        arguments = decoded(text)
        if not isinstance(arguments, dict):
            arguments = {"": text}
        values = [(value, notes.shown.unsettled(value)) for _, value in strings_of(arguments)]
        meaning = meaning_of(tool)
        if call >= 0:
            if meaning is Meaning.EDIT or PATCH in text:
                self._look_for_old_texts(index, call, text, arguments)
            self._look_for_places(index, call, text, arguments)
            self._look_for_words(index, call, text, values)
        writes = _written(meaning, arguments, [value for value, _ in values])
        if meaning in _FETCHES and not writes:
            self._look_for_repeats(index, call, meaning, arguments)
        for path in writes:
            notes.written[path] = index
        for value, words in values:
            notes.shown.note_other(value, words)

    def _look_for_old_texts(self, index: int, call: int, text: str, arguments: dict[str, Any]) -> None:
        for old in old_texts(arguments):
            for result in sorted(self._notes.shown.results_showing(old)):
                found = find_text(old, _text(self._history, result))
                if found is not None:
                    said = msgspec.json.encode(old).decode()[1:-1]
                    self._add(NeedKind.EXACT_TEXT, result, found, call, index, _span_of(said, text))
                    break

    def _look_for_places(self, index: int, call: int, text: str, arguments: dict[str, Any]) -> None:
        """Find the result that alone showed the path an argument names, or the line of it that is asked for."""
        path = next((arguments[name] for name in PATH_ARGUMENTS if isinstance(arguments.get(name), str)), "")
        if not path:
            return
        parts = path.split("/")
        ends = ["/".join(parts[at:]) for at in range(len(parts)) if parts[at]][:_MOST_PARTS]
        for number in filter(None, (_line_number(arguments.get(name)) for name in _LINE_ARGUMENTS)):
            self._look_for_first([f"{end}:{number}" for end in (path, *ends)], str(number), index, call, text)
        if not self._notes.shown.knows(path):
            self._look_for_first(ends, path, index, call, text)

    def _look_for_first(self, ways: list[str], said: str, index: int, call: int, text: str) -> None:
        """Find which result alone showed something that can be said in several ways, the longest known way counting."""
        shown = self._notes.shown
        for way in ways:
            if shown.knows(way):
                if found := shown.take(way):
                    source, start = found
                    self._add(NeedKind.ANCHOR, source, (start, start + len(way)), call, index, _span_of(said, text))
                return

    def _look_for_words(self, index: int, call: int, text: str, values: list[tuple[str, list[str]]]) -> None:
        for value, words in values:
            told = len(value) <= _LONGEST_ARGUMENT and "\n" not in value
            for word, source, start in self._notes.shown.take_all(words):
                kind = NeedKind.ANCHOR if told and _ANCHOR.fullmatch(word) else NeedKind.CITATION
                self._add(kind, source, (start, start + len(word)), call, index, _span_of(word, text))

    def _look_for_repeats(self, index: int, call: int, meaning: Meaning, arguments: dict[str, Any]) -> None:
        block, notes = self._blocks[index], self._notes
        thread = int(self._history.message_thread[self._history.message[index]])
        key = (thread, block.tool_name, block.digest)
        earlier = notes.asked.get(key, -1)
        paths = _paths_of(arguments) if meaning is Meaning.READ else {""}
        if earlier >= 0 and call >= 0 and all(notes.written.get(path, -1) < earlier for path in paths or {""}):
            # Which result the earlier call has is looked up when all is read.
            self._add(NeedKind.FAULT, earlier, (0, 0), call, index, (0, block.characters))
        notes.asked[key] = index

    def _add(
        self, kind: NeedKind, source: int, span: tuple[int, int], call: int, use: int, use_span: tuple[int, int]
    ) -> None:
        self._rows.append((kind, source, *span, call, use, *use_span))


def _text(history: History, block: int) -> str:
    try:
        return history.session.text(history.session.blocks[block])
    except TextUnavailableError:
        return ""


def _span_of(said: str, text: str) -> tuple[int, int]:
    """Where something stands in a text; all of it where it is written there otherwise."""
    start = text.find(said)
    return (start, start + len(said)) if start >= 0 else (0, len(text))


def _paths_of(arguments: dict[str, Any]) -> set[str]:
    """The last part of every path that arguments name."""
    named = [arguments.get(name) for name in PATH_ARGUMENTS]
    return {basename(path.rstrip("/")) for path in named if isinstance(path, str) and path}


def _written(meaning: Meaning, arguments: dict[str, Any], values: list[str]) -> set[str]:
    """The last part of every path a tool call writes, and "" for whatever it writes; empty where it writes nothing."""
    patched = {basename(path.strip()) for value in values if PATCH in value for path in _PATCHED.findall(value)}
    if meaning in {Meaning.EDIT, Meaning.WRITE}:
        return {"", *_paths_of(arguments), *patched}
    writes = patched or (meaning is Meaning.SHELL and any(_WRITING_COMMAND.search(value) for value in values))
    return {"", *patched} if writes else set()


def _line_number(value: object) -> int | None:
    """The line an argument asks for, of a range its first."""
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 1 else None
