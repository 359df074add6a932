"""Detect later uses of earlier tool results in the recorded session.

Four detectors read every text once, in session order, without a model:

- *exact text*: an edit's old text occurs in one tool result and nowhere else before;
- *fault*: the same read or command is repeated with the same result, and nothing it reads was written in between;
- *anchor*: a path, a symbol or a line number that only one result contained is used as a tool argument;
- *citation*: a long word that occurs in one result and nowhere else before is later written by the model.

None proves that the model needed the result; all are proxies and are always labeled as such. `docs/evidence.md` lists
the precision of each. The evidence does not depend on the plan, so it is collected once per session. Long sessions take
seconds, so the scan can be cancelled and resumed, and continues when a session grows.

Index of words, word parts and lines that only one tool result of a session has contained so far.

Texts are added in session order. A word that occurs in a second text, or is used by a later one, is dropped from the
index: it is evidence only once.

Common words are never evidence, because models write them without a result that shows them: those that sessions of
unrelated projects share (`common_words.txt`, counted by `scripts/common_words.py`), and names of standard libraries.

Extract the text that an edit replaces, and locate it in a tool result.

Agents use different argument names, and results show files with line numbers, so texts are matched line by line.
"""

from __future__ import annotations

import builtins
import os
import posixpath
import re
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from pathlib import Path
from posixpath import basename
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
import numpy as np

from inspector.session.model import BlockKind, Message, TextUnavailableError
from inspector.session.snapshot_list import unchanged
from inspector.strategies.history.reads import PATH_ARGUMENTS, decoded
from inspector.strategies.history.tools import ToolKind, tool_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from inspector.strategies.history.history import History


LEAST_CHARACTERS = 12
"""Minimum length of a line; shorter ones occur in too many places."""

_NAMES = frozenset({"old_string", "old_str", "oldText", "old_text", "oldString", "search", "find"})
"""Argument names for the text that an edit replaces."""

_SEARCH = re.compile(r"<{5,9} ?SEARCH\n(?:-{5,9}\n)?(.*?)\n={5,9}", re.DOTALL)
PATCH = "*** Begin Patch"
"""First line of a patch for OpenAI's tool."""

_NUMBERED = re.compile(r"[ \t]*\d{1,7}(?:\t|→|\|| ?: ?|-)")
_PLACED = re.compile(r"(?:[\w./~@+-]{1,200}[:-])?\d{1,7}(?:\t|→|\|| ?: ?|-)")
_DEEPEST = 6


def strings_of(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield every string of a tool call's arguments with its argument name."""
    if isinstance(value, str):
        yield name, value
    elif depth < _DEEPEST and isinstance(value, dict):
        for key, each in value.items():
            yield from strings_of(each, str(key), depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for each in value:
            yield from strings_of(each, name, depth + 1)


def replaced_texts(arguments: dict[str, Any]) -> list[str]:
    """Return the texts a tool call replaces; empty if it replaces none."""
    found = []
    for name, text in strings_of(arguments):
        if name in _NAMES:
            found.append(text)
        elif PATCH in text:
            found.extend(_of_patch(text))
        elif " SEARCH\n" in text or "<SEARCH\n" in text:
            found.extend(_SEARCH.findall(text))
    return [text for text in found if text.strip()]


def _of_patch(text: str) -> Iterator[str]:
    """Yield runs of removed and context lines of a patch."""
    run: list[str] = []
    for line in [*text.splitlines(), "***"]:
        if line[:1] in {"-", " "} and not line.startswith("---"):
            run.append(line[1:])
        elif line[:1] != "+":
            if run:
                yield "\n".join(run)
            run = []


def bare_lines(text: str) -> Iterator[str]:
    """Yield a text's lines without indentation, line numbers, file names and diff signs."""
    for line in text.splitlines():
        bare = line.strip()
        if len(bare) < LEAST_CHARACTERS:
            continue
        number = _PLACED.match(bare)
        bare = bare[number.end() if number is not None else 0 :].lstrip("+- \t")
        if len(bare) >= LEAST_CHARACTERS:
            yield bare


def find_text(old: str, text: str) -> tuple[int, int] | None:
    """Return the bounds of an old text in a result, ignoring line numbers; None if absent."""
    start = text.find(old)
    if start >= 0:
        return start, start + len(old)
    lines = old.strip("\n").splitlines()
    if len(lines) < 2:
        return None
    between = r"[ \t]*\r?\n(?:" + _NUMBERED.pattern + ")?"
    match = re.search(between.join(re.escape(line.rstrip()) for line in lines), text)
    return None if match is None else match.span()


_WORD = re.compile(r"[A-Za-z0-9_$@./:\-]{8,300}")

_AROUND: Final = ".:-/"
"""Punctuation stripped from the ends of a word."""

_PARTED = re.compile(r"[./:@\-]+")
"""Separators between the parts of a word."""

_INFORMATIVE = re.compile(r"[0-9_./:\-]|.[A-Z]")
"""Distinguishes an identifier, a path or a number from an ordinary word, which may be capitalized."""

_PACKAGES = (
    "atomic base64 binary bufio bytes context embed errors exec filepath flag fmt hash heap hex html http io ioutil "
    "json log maps math net os path rand reflect regexp runtime signal slices slog sort sql strconv strings sync "
    "syscall template testing time unicode url utf8 xml zip"
)
"""Packages of Go's standard library."""

_OBJECTS = "Array Boolean Date Error Intl JSON Map Math Number Object Promise Reflect RegExp Set String Symbol"
"""Built-in objects of ECMAScript."""

_OWNERS: Final = frozenset(f"{_PACKAGES} {_OBJECTS}".split())

_PYTHON: Final = (builtins, os, posixpath, Path, str, bytes, dict)
"""Modules and classes with names that Python programs share: `read_text`."""

_LINE_SHOWN = re.compile(r'File "([^"\n]{3,300})", line (\d{1,7})')
"""File and line in a traceback."""

_WORDS_PER_RESULT = 4_000
_LINES_PER_RESULT = 4_000

_LEAST_WORD: Final = 8

_ANYWHERE: Final = -1
"""Marks a word without evidence: it occurs in several places, or was used already."""

_PLACE_BITS: Final = 40
"""A place encodes a result's block and, in this many low bits, the offset in its text."""


class MappingLike(Protocol):
    """The dictionary operations needed here."""

    def get(self, key: Any, default: Any = None, /) -> Any: ...

    def __setitem__(self, key: Any, value: Any, /) -> None: ...


class LayeredDict:
    """A dictionary layered over another one that stays unchanged."""

    def __init__(self, below: MappingLike) -> None:
        self._below = below
        self._above: dict[Any, Any] = {}

    def get(self, key: Any, default: Any = None, /) -> Any:
        return self._above[key] if key in self._above else self._below.get(key, default)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        self._above[key] = value


class UniqueTerms:
    """Index of the texts so far."""

    def __init__(
        self,
        words: MappingLike | None = None,
        lines: MappingLike | None = None,
        settled_before: AbstractSet[int] = frozenset(),
    ) -> None:
        """Create an index.

        Args:
            words: Place of a word that only one result contains, or `_ANYWHERE`, by the word's hash.
            lines: The only result with a line, by the line's hash, -1 for several places.
            settled_before: Hashes of words already settled.
        """
        self._words: MappingLike = dict(_common_words()) if words is None else words
        self._lines: MappingLike = {} if lines is None else lines
        # Hashes of words that need no further notes: ordinary words, and those in several places.
        self._settled: set[int] = set()
        self._settled_before = settled_before

    def layered(self) -> UniqueTerms:
        """Return a layered copy for the rest of the session, which may still change."""
        return UniqueTerms(LayeredDict(self._words), LayeredDict(self._lines), self._settled)

    def unsettled(self, text: str) -> list[str]:
        """Return the distinct words of a text that may have an entry or get one."""
        parts = dict.fromkeys(_WORD.findall(text))
        left = set(map(hash, parts)) - self._settled - self._settled_before
        return [each for each in parts if hash(each) in left] if left else []

    def knows(self, word: str) -> bool:
        """Return True if a word of sufficient length has an entry."""
        return len(word) >= _LEAST_WORD and self._words.get(hash(word)) is not None

    def take(self, word: str) -> tuple[int, int] | None:
        """Return the only result with a word, and its offset there, and mark it as used; None if there is none."""
        place = self._words.get(hash(word), _ANYWHERE)
        if place < 0:
            return None
        self._words[hash(word)] = _ANYWHERE
        return _result_and_start(place)

    def use_all(self, unsettled: list[str]) -> list[tuple[str, int, int]]:
        """Return a text's words that only one result contains, with result and offset, and mark them as used."""
        words, found = self._words, []
        for reported in unsettled:
            word = reported.strip(_AROUND)
            place = words.get(hash(word), _ANYWHERE)
            if place >= 0:
                found.append((word, *_result_and_start(place)))
                words[hash(word)] = _ANYWHERE
        return found

    def results_showing(self, text: str) -> set[int]:
        """Return the only results for lines or words of a text, without marking them as used."""
        showing = {self._lines.get(hash(line), -1) for line in bare_lines(text)}
        seen = {each.strip(_AROUND) for each in _WORD.findall(text)}
        showing |= {self._words.get(hash(word), _ANYWHERE) >> _PLACE_BITS for word in seen}
        return showing - {-1}

    def note_result(self, text: str, result: int) -> None:
        """Add the words and lines of a tool result."""
        words, settled, settled_before = self._words, self._settled, self._settled_before
        added = 0
        seen: set[str] = set()
        for match in _WORD.finditer(text):
            reported = match[0]
            if reported in seen or (number := hash(reported)) in settled or number in settled_before:
                continue
            seen.add(reported)
            word = reported.strip(_AROUND)
            known = _known(word, words)
            if known == _ANYWHERE:
                settled.add(number)
                continue
            if known is None:
                if added >= _WORDS_PER_RESULT:
                    continue
                added += 1
            elif known >> _PLACE_BITS == result:
                continue
            offset = match.start() + reported.index(word)
            words[hash(word)] = result << _PLACE_BITS | offset if known is None else _ANYWHERE
            _note_parts(word, result, offset, words)
        self._note_lines(text, result)
        for match in _LINE_SHOWN.finditer(text):
            _note(f"{match[1]}:{match[2]}", result, match.start(), words)

    def note_other(self, text: str, unsettled: list[str]) -> None:
        """Add another text: its words and lines are no longer evidence for a result."""
        words = self._words
        for reported in unsettled:
            word = reported.strip(_AROUND)
            if _known(word, words) != _ANYWHERE:
                words[hash(word)] = _ANYWHERE
                for _, part in _parts(word):
                    words[hash(part)] = _ANYWHERE
            self._settled.add(hash(reported))
        self._note_lines(text, -1)

    def _note_lines(self, text: str, result: int) -> None:
        lines, added = self._lines, 0
        for line in bare_lines(text):
            key = hash(line)
            known = lines.get(key)
            if known is None:
                if result >= 0 and added >= _LINES_PER_RESULT:
                    continue
                added += 1
                lines[key] = result
            elif known != result:
                lines[key] = -1


def _result_and_start(place: int) -> tuple[int, int]:
    return place >> _PLACE_BITS, place & ((1 << _PLACE_BITS) - 1)


@cache
def _common_words() -> Mapping[int, int]:
    """Return the hashes of common words, marked as words without evidence."""
    lines = Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").splitlines()
    names = (name for owner in _PYTHON for name in dir(owner))
    return {hash(word): _ANYWHERE for word in (*lines, *names) if not word.startswith("#")}


def is_standard(word: str) -> bool:
    """Return True for an exported name of a standard library: `time.Now`, `Object.keys`."""
    owner, dot, name = word.partition(".")
    return bool(dot) and owner in _OWNERS and (owner[0].isupper() or name[:1].isupper())


def identifiers_of(text: str) -> Iterator[str]:
    """Yield the words of a text that can be evidence, and their parts."""
    for reported in _WORD.findall(text):
        word = reported.strip(_AROUND)
        if len(word) >= _LEAST_WORD and _INFORMATIVE.search(word):
            yield word
            yield from (part for _, part in _parts(word))


def _known(word: str, words: MappingLike) -> int | None:
    """Return the place of a word, None without an entry; `_ANYWHERE` for an ordinary word."""
    if len(word) < _LEAST_WORD or not _INFORMATIVE.search(word) or is_standard(word):
        return _ANYWHERE
    place: int | None = words.get(hash(word))
    return place


def _note(word: str, result: int, offset: int, words: MappingLike) -> None:
    key = hash(word)
    known = words.get(key)
    if known is None:
        words[key] = result << _PLACE_BITS | offset
    elif known >> _PLACE_BITS != result:
        words[key] = _ANYWHERE


def _note_parts(word: str, result: int, offset: int, words: MappingLike) -> None:
    """Add the parts of a word; inlines `_note`, because there may be a million parts."""
    for start, part in _parts(word):
        key = hash(part)
        known = words.get(key)
        if known is None:
            words[key] = result << _PLACE_BITS | offset + start
        elif known >> _PLACE_BITS != result:
            words[key] = _ANYWHERE


def _parts(word: str) -> list[tuple[int, str]]:
    """Return a word's parts with offsets: `view.show` for `this.view.show`. A run of separators counts as one."""
    found, length = [], len(word)
    for signs in _PARTED.finditer(word):
        before, behind = signs.span()
        if before >= _LEAST_WORD and _INFORMATIVE.search(word, 0, before):
            found.append((0, word[:before]))
        if length - behind >= _LEAST_WORD and _INFORMATIVE.search(word, behind):
            found.append((behind, word[behind:]))
    return found


class NeedKind(IntEnum):
    """Detector of a use. If several detect a use of one result at one call, the first one names it."""

    EXACT_TEXT = 0
    FAULT = 1
    ANCHOR = 2
    CITATION = 3

    @property
    def label(self) -> str:
        """Label for users and data: `exact text`."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, eq=False)
class ReuseEvidence:
    """Uses as columns, one row per use, in call order and then in the order of `NeedKind`.

    Attributes:
        kind: `NeedKind`, uint8.
        block: Block index of the used tool result, int32.
        start: Start of the used text in it, in characters; 0 for a repeated call, int64.
        stop: End of the used text; the text's length for a repeated call, int64.
        call: The call with a response that used it, int32.
        use: Block index of the use in that response, int32.
        use_start: Start of the use in that block's text, in characters, int64.
        use_stop: End of the use, int64.
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
    """Resumable scan of one state of a session; threads that share it take turns."""

    def __init__(self, history: History, gathering: _Gathering | None = None) -> None:
        """Prepare the scan, or continue `gathering`, the progress from an earlier state."""
        self.history = history
        self._gathering = gathering or _Gathering(keeps_notes=False)

    def of(self, history: History) -> ReuseScan:
        """Return the scan for another state of the session, or of a replacement session.

        A session that grew once may grow again, so intermediate notes are stored from then on.
        """
        if history is self.history:
            return self
        if not self._gathering.is_valid_for(history):
            grew = unchanged(history.session.messages, self.history.session.messages) > 0
            return ReuseScan(history, _Gathering(keeps_notes=grew))
        return ReuseScan(history, self._gathering)

    def run(self, is_cancelled: Callable[[], bool]) -> ReuseEvidence | None:
        """Return all evidence, or None if cancelled; the next run resumes there."""
        return self._gathering.up_to(self.history, is_cancelled)

    def run_to_the_end(self) -> ReuseEvidence:
        """Return all evidence without cancellation."""
        found = self.run(lambda: False)
        assert found is not None  # noqa: S101  never cancelled
        return found


def find_reuse(history: History) -> ReuseEvidence:
    """Collect the evidence, reading every text of the session once."""
    return ReuseScan(history).run_to_the_end()


_ANCHOR = re.compile(r"[A-Za-z_$@./~][A-Za-z0-9_$@./~\-]*(?::\d+)?")
"""A path or a symbol, optionally with a line number."""

_LINE_ARGUMENTS = ("offset", "start_line", "startLine", "line", "start_line_one_indexed", "view_range", "line_range")

_LONGEST_ARGUMENT = 400
"""Maximum characters of a short argument; longer or multi-line arguments are written text."""

_MOST_PARTS = 12
"""Maximum number of suffixes tried for a path."""

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

_FETCHES = frozenset({ToolKind.READ, ToolKind.SHELL, ToolKind.SEARCH, ToolKind.WEB, ToolKind.DATA, ToolKind.LIGHT})
"""Tool meanings for which a repeated call requests the same data again."""

_WRITING_COMMAND = re.compile(
    r"(?:^|[\s;&|(])(?:tee|mv|cp|rm|mkdir|touch|ln|patch|truncate|dd|install|black|isort|prettier|gofmt|rustfmt|"
    r"sed\s+(?:-\S+\s+)*-\S*i|perl\s+-\S*i|"
    r"git\s+(?:checkout|switch|stash|apply|reset|restore|pull|merge|rebase|commit|add|clean|cherry-pick|revert|am)|"
    r"(?:npm|pnpm|yarn|pip|pip3|uv|cargo|go|make|apt|apt-get|brew|poetry)\s+(?:\S+\s+)*"
    r"(?:install|add|i|update|upgrade|build|fmt|sync|get|generate))\b|"
    r"(?:ruff|eslint)\b.*(?:format|--fix)|(?<![0-9&<>=-])>{1,2}(?![&>=])\s*(?!/dev/null)[\w./~\"'$-]"
)
"""A command that writes files, including `>` unless the output is discarded."""

_Row = tuple[int, int, int, int, int, int, int, int]


@dataclass
class _Notes:
    """Intermediate notes of a scan.

    Attributes:
        shown: Text that only one result contains.
        asked: Block of the latest fetching call, by thread, tool and arguments.
        written: Latest block that writes a file, by file name, and by "" for any file.
    """

    shown: UniqueTerms = field(default_factory=UniqueTerms)
    asked: MappingLike = field(default_factory=dict)
    written: MappingLike = field(default_factory=dict)

    def layered(self) -> _Notes:
        """Return a copy for the rest of the session, which may still change."""
        return _Notes(self.shown.layered(), LayeredDict(self.asked), LayeredDict(self.written))


class _Gathering:
    """Evidence of a growing session: complete messages are read once, the last one again for every state."""

    def __init__(self, *, keeps_notes: bool) -> None:
        self._turn = Lock()
        self._keeps_notes = keeps_notes
        self._notes: _Notes | None = _Notes()
        self._rows: list[_Row] = []
        self._next = 0
        self._messages: Sequence[Message] = ()
        self._found: tuple[History, ReuseEvidence] | None = None

    def is_valid_for(self, history: History) -> bool:
        """Return True if it can be resumed for another state of the session, with all noted blocks unchanged."""
        known, now = self._messages, history.session.messages
        return self._notes is not None and len(now) >= len(known) and unchanged(now, known) >= len(known) - 1

    def up_to(self, history: History, is_cancelled: Callable[[], bool]) -> ReuseEvidence | None:
        with self._turn:
            if self._found is not None and self._found[0] is history:
                return self._found[1]
            if not self.is_valid_for(history) or self._notes is None:
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
            newest_reader = _Reader(history, self._notes.layered(), newest)
            for index in range(last, len(history.kind)):
                newest_reader.look_at(index)
            self._found = (history, _evidence(history, [*self._rows, *newest]))
            if not self._keeps_notes:
                # The notes are much larger than the evidence.
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
    """Resolve repeated calls to the earlier result, dropping repeats with a different result."""
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
    """Processes the blocks of one state of a session in order."""

    def __init__(self, history: History, notes: _Notes, rows: list[_Row]) -> None:
        self._history = history
        self._blocks = history.session.blocks
        self._call_of_response = {call.response: index for index, call in enumerate(history.session.calls)}
        self._notes = notes
        self._rows = rows

    def look_at(self, index: int) -> None:
        """Record uses of earlier results by a block, and note its text."""
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
            for word, source, start in notes.shown.use_all(words):
                self._add(NeedKind.CITATION, source, (start, start + len(word)), call, index, _span_of(word, text))
        notes.shown.note_other(text, words)

    def _look_at_call(self, index: int, call: int, text: str) -> None:
        notes, tool = self._notes, self._blocks[index].tool_name
        arguments = decoded(text)
        if not isinstance(arguments, dict):
            arguments = {"": text}
        values = [(value, notes.shown.unsettled(value)) for _, value in strings_of(arguments)]
        meaning = tool_kind(tool)
        if call >= 0:
            if meaning is ToolKind.EDIT or PATCH in text:
                self._look_for_old_texts(index, call, text, arguments)
            self._look_for_places(index, call, text, arguments)
            self._look_for_words(index, call, text, values)
        writes = files_written(tool, arguments)
        if meaning in _FETCHES and not writes:
            self._look_for_repeats(index, call, meaning, arguments)
        for path in writes:
            notes.written[path] = index
        for value, words in values:
            notes.shown.note_other(value, words)

    def _look_for_old_texts(self, index: int, call: int, text: str, arguments: dict[str, Any]) -> None:
        for old in replaced_texts(arguments):
            for result in sorted(self._notes.shown.results_showing(old)):
                found = find_text(old, _text(self._history, result))
                if found is not None:
                    reported = msgspec.json.encode(old).decode()[1:-1]
                    self._add(NeedKind.EXACT_TEXT, result, found, call, index, _span_of(reported, text))
                    break

    def _look_for_places(self, index: int, call: int, text: str, arguments: dict[str, Any]) -> None:
        """Find the result that alone contained the path in an argument, or the requested line of it."""
        path = next((arguments[name] for name in PATH_ARGUMENTS if isinstance(arguments.get(name), str)), "")
        if not path:
            return
        parts = path.split("/")
        ends = ["/".join(parts[at:]) for at in range(len(parts)) if parts[at]][:_MOST_PARTS]
        for number in filter(None, (_line_number(arguments.get(name)) for name in _LINE_ARGUMENTS)):
            self._look_for_first([f"{end}:{number}" for end in (path, *ends)], str(number), index, call, text)
        if not self._notes.shown.knows(path):
            self._look_for_first(ends, path, index, call, text)

    def _look_for_first(self, ways: list[str], sentence: str, index: int, call: int, text: str) -> None:
        """Find the only result for the longest known spelling in `ways`."""
        shown = self._notes.shown
        for way in ways:
            if shown.knows(way):
                if found := shown.take(way):
                    source, start = found
                    self._add(NeedKind.ANCHOR, source, (start, start + len(way)), call, index, _span_of(sentence, text))
                return

    def _look_for_words(self, index: int, call: int, text: str, values: list[tuple[str, list[str]]]) -> None:
        for value, words in values:
            reported = len(value) <= _LONGEST_ARGUMENT and "\n" not in value
            for word, source, start in self._notes.shown.use_all(words):
                kind = NeedKind.ANCHOR if reported and _ANCHOR.fullmatch(word) else NeedKind.CITATION
                self._add(kind, source, (start, start + len(word)), call, index, _span_of(word, text))

    def _look_for_repeats(self, index: int, call: int, meaning: ToolKind, arguments: dict[str, Any]) -> None:
        block, notes = self._blocks[index], self._notes
        thread = int(self._history.message_thread[self._history.message[index]])
        key = (thread, block.tool_name, block.digest)
        earlier = notes.asked.get(key, -1)
        paths = _paths_of(arguments) if meaning is ToolKind.READ else {""}
        if earlier >= 0 and call >= 0 and all(notes.written.get(path, -1) < earlier for path in paths or {""}):
            # The earlier call's result is looked up after the scan.
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


def _span_of(sentence: str, text: str) -> tuple[int, int]:
    """Return the bounds of a string in a text; the whole text if its spelling differs."""
    start = text.find(sentence)
    return (start, start + len(sentence)) if start >= 0 else (0, len(text))


def _paths_of(arguments: dict[str, Any]) -> set[str]:
    """Return the file names of all paths in the arguments."""
    named = [arguments.get(name) for name in PATH_ARGUMENTS]
    return {basename(path.rstrip("/")) for path in named if isinstance(path, str) and path}


def files_written(tool: str, arguments: dict[str, Any]) -> set[str]:
    """Return the file names a tool call writes, plus "" for any; empty if it writes nothing."""
    meaning, values = tool_kind(tool), [value for _, value in strings_of(arguments)]
    patched = {basename(path.strip()) for value in values if PATCH in value for path in _PATCHED.findall(value)}
    if meaning in {ToolKind.EDIT, ToolKind.WRITE}:
        return {"", *_paths_of(arguments), *patched}
    writes = patched or (meaning is ToolKind.SHELL and any(_WRITING_COMMAND.search(value) for value in values))
    return {"", *patched} if writes else set()


def _line_number(value: object) -> int | None:
    """Return the requested line number, or the first line of a range."""
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 1 else None
