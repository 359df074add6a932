"""Cozempic's standard prescription for tool results: trimming large ones, ageing, and reads of edited files.

Source: cozempic 1.8.39 `strategies/standard.py`, which prunes the session files of Claude Code on request or at a
guard's threshold; here results are treated as soon as they qualify. It works on the session's file, and changes that do
not shorten the JSON of a record are skipped. Limits are in bytes for comparisons and in characters for cuts.
"""

from __future__ import annotations

import heapq
import json
import re
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.core.batching import CONTEXT_RESET, Batching, ScheduleBuilder
from inspector.strategies.core.measures import Measure
from inspector.strategies.core.operations import Action, BlockSource, Operation, RecordedBlock, Rendition, sent_text
from inspector.strategies.core.strategy import Decision, Parametrized, Schedule, integer, tools
from inspector.strategies.history.arrival_order import Arrivals, arrivals
from inspector.strategies.history.conversation_items import record_groups
from inspector.strategies.history.history import NEVER, History
from inspector.strategies.history.reads import ContextUses, FileUse, argument_memo, file_uses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Make = Callable[[int, bool], Operation]


MARKER = "[stale read - file was later edited, trimmed by cozempic]"
_NEAR_MESSAGES = 4


@dataclass(frozen=True, slots=True)
class ReplaceLonger:
    """Replace a text longer than `limit` characters with a fixed one."""

    limit: int
    text: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  same for every block
        return Rendition.replaced(self.text, rendition.kind) if rendition.length > self.limit else rendition


@dataclass(frozen=True)
class CozempicStaleReads(Batching):
    """Replace reads of files that were edited later.

    Source: `stale-reads` of cozempic 1.8.39 (`strategies/standard.py`). Files are identified by their path as written.
    Once a file is edited, the record with its read counts as stale, and so does every other read in that record.
    Results longer than a limit within the next records become a marker. If a pass finds several stale results in one
    record, it replaces only the last of them; following passes replace the others.
    """

    name = "cozempic-stale-reads"
    title = "Stale reads (Cozempic)"
    summary = "Replace long reads of a file once it is edited, and other reads made together with them."
    source = "cozempic 1.8.39 stale-reads, strategies/standard.py"

    limit: int = integer(500, "Longest result that stays.", "characters", maximum=1_000_000)
    read_tools: tuple[str, ...] = tools((), "Additional tools that read files.")
    edit_tools: tuple[str, ...] = tools((), "Additional tools that change files.")

    def schedule(self, history: History) -> Schedule:
        """Replace a read at the call that adds the edit, or after the later reads in its record."""
        builder = ScheduleBuilder(history)
        decision = Decision(ReplaceLonger(self.limit, MARKER), "its file was edited")
        records = record_groups(history)
        sent = (history.kind != BlockKind.SYSTEM_TEXT) & (history.kind != BlockKind.OTHER)
        all_uses = file_uses(history, self.read_tools, self.edit_tools)
        for context, uses in zip(arrivals(history, sent), all_uses, strict=True):
            order = np.cumsum(np.append(0, np.diff(records[context.blocks]) != 0))[: len(context.blocks)]
            place = dict(zip(context.blocks.tolist(), order.tolist(), strict=True))
            calls = np.flatnonzero(history.call_context == context.context).tolist()
            builder.add_pairs(uses.retained, CONTEXT_RESET)
            waiting: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
            for number, (use, call) in enumerate(self._stale(records, uses)):
                near = use.result >= 0 and 0 < place[use.result] - place[use.block] <= _NEAR_MESSAGES
                # A pass leaves a short result alone, and it delays no other.
                long = near and history.plain_text[use.result] and history.characters[use.result] > self.limit
                if long:
                    waiting[int(records[use.result])].append((max(call, use.result_call), -number, use.result))
            for together in waiting.values():
                builder.add_pairs(_one_a_pass(together, calls), decision)
        return builder.schedule()

    def _stale(self, records: NDArray[np.int32], uses: ContextUses) -> list[tuple[FileUse, int]]:
        """Return the reads in records that became stale, in order, each with the call that made it stale."""
        open_reads: dict[str, list[int]] = defaultdict(list)
        stale_at: dict[int, int] = {}
        for use in uses.uses:
            if not use.changes:
                open_reads[use.path].append(int(records[use.block]))
                continue
            for record in open_reads.pop(use.path, ()):
                stale_at[record] = min(stale_at.get(record, use.call), use.call)
        reads = [use for use in uses.uses if not use.changes]
        return [(use, stale_at[record]) for use in reads if (record := int(records[use.block])) in stale_at]


def _one_a_pass(waiting: list[tuple[int, int, int]], calls: list[int]) -> list[tuple[int, int]]:
    """Schedule the results of one record: one per call, and of those due the last one first."""
    due: list[tuple[int, int]] = []
    gone: list[tuple[int, int]] = []
    coming = sorted(waiting, reverse=True)
    at = 0
    while coming or due:
        if not due:
            at = bisect_left(calls, coming[-1][0], at)
        if at == len(calls):
            break
        while coming and coming[-1][0] <= calls[at]:
            _, rank, block = coming.pop()
            heapq.heappush(due, (rank, block))
        gone.append((heapq.heappop(due)[1], calls[at]))
        at += 1
    return gone


JSON_BYTES = Measure(lambda text: len(json.dumps(text)))
"""Bytes of a text in a record's JSON, with characters beyond ASCII escaped."""

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
_FILE_HEADERS = re.compile(r"^--- .*\n\+\+\+ ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TrimOutput:
    """Keep head and tail of a long text: by lines if it has too many, otherwise by characters.

    Attributes:
        max_bytes: Longest text that is left whole, in bytes.
        max_lines: Longest text that is left whole, in lines.
        only_shorter: Leave a text as it is if trimming would not shorten its JSON.
    """

    max_bytes: int
    max_lines: int
    only_shorter: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        length = len(text.encode("utf-8", "surrogatepass"))
        lines = text.count("\n") + 1
        is_string = source.block.plain_text
        if length <= self.max_bytes and not (is_string and lines > self.max_lines):
            return rendition
        if is_string and lines > self.max_lines:
            half = self.max_lines // 2
            head, tail = _lines_end(text, half), _last_lines_begin(text, half) if half else 0
            marker = f"\n\n... [{lines - self.max_lines} lines trimmed by cozempic] ...\n\n"
            marker = marker if half else marker[1:]
        else:
            half = self.max_bytes // 2
            head, tail = min(half, len(text)), max(len(text) - half, 0) if half else 0
            cut = f"... [{length - self.max_bytes} bytes trimmed by cozempic] ..." if is_string else _TRIMMED_PART
            marker = f"\n{cut}\n"
        pieces = (*rendition.between(0, head), marker, *rendition.between(tail, len(text)))
        trimmed = Rendition(pieces, Action.CUT, rendition.kind)
        return _shorter(rendition, trimmed, text, source) if self.only_shorter else trimmed


_TRIMMED_PART = "...[trimmed by cozempic]..."


def _lines_end(text: str, count: int) -> int:
    """Return the end of the first `count` lines, without the last one's line end."""
    end = -1
    for _ in range(count):
        end = text.find("\n", end + 1)
    return max(end, 0)


def _last_lines_begin(text: str, count: int) -> int:
    begin = len(text)
    for _ in range(count):
        begin = text.rfind("\n", 0, begin)
    return begin + 1


@dataclass(frozen=True, slots=True)
class MinifyOutput:
    """Remove white space from JSON, and a diff's context. `only_shorter`: unless JSON stays as long."""

    only_shorter: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = sent_text(rendition, source)
        if text is None or len(text) < SHORTEST:
            return rendition
        minified = minify(text)
        if minified == text:
            return rendition
        replaced = Rendition((minified,), Action.CUT, rendition.kind)
        return _shorter(rendition, replaced, text, source) if self.only_shorter else replaced


@dataclass(frozen=True, slots=True)
class StubOutput:
    """Replace a text with a line on its tool and main argument. `only_shorter`: unless JSON stays as long."""

    label: str
    only_shorter: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = sent_text(rendition, source)
        if text is None or len(text) < SHORTEST:
            return rendition
        stub = f"[cozempic{self.label} — {text.count(chr(10)) + 1} lines, {len(text) / 1024:.1f}KB]"
        replaced = Rendition.replaced(stub, rendition.kind)
        return _shorter(rendition, replaced, text, source) if self.only_shorter else replaced


SHORTEST = 100
"""Minimum length in characters of a result that is aged."""


def _shorter(rendition: Rendition, other: Rendition, text: str, source: BlockSource) -> Rendition:
    recorded = "" if all(isinstance(piece, str) for piece in other.pieces) else source.text()
    return other if JSON_BYTES.of_text(other.text(recorded)) < JSON_BYTES.of_text(text) else rendition


def minify(text: str) -> str:
    """Minify JSON if that saves 15 %; drop the context lines of a unified diff."""
    try:
        minified = json.dumps(json.loads(text), separators=(",", ":"))
    except (ValueError, RecursionError):
        minified = text
    if len(minified) < len(text) * 0.85:
        return minified
    return _without_context(text) if "\0" not in text and _is_difference(text) else text


def _is_difference(text: str) -> bool:
    if not _HUNK.search(text):
        return False
    return bool(_FILE_HEADERS.search(text)) or text.startswith("diff ") or "\ndiff " in text


def _without_context(text: str) -> str:
    kept: list[str] = []
    unchanged = 0
    in_hunk = False
    for line in text.split("\n"):
        if in_hunk and line.startswith(" "):
            unchanged += 1
            continue
        if unchanged:
            kept.append(f"  [...{unchanged} unchanged lines...]")
            unchanged = 0
        in_hunk = line.startswith("@@") or (in_hunk and line.startswith(("diff ", "---", "+++", "+", "-")))
        kept.append(line)
    if unchanged:
        kept.append(f"  [...{unchanged} unchanged lines...]")
    collapsed = "\n".join(kept)
    return collapsed if len(collapsed) < len(text) else text


_NAMED_BY = ("file_path", "path", "pattern")
_COMMAND_CHARACTERS = 80
_NEAR = 10


@dataclass(frozen=True)
class CozempicTrim(Parametrized):
    """Keep head and tail of large results."""

    name = "cozempic-trim"
    title = "Trim outputs (Cozempic)"
    summary = "Keep head and tail of results with too many lines or bytes."
    source = "cozempic 1.8.39 tool-output-trim, strategies/standard.py"

    max_bytes: int = integer(8_192, "Longest result that stays whole.", "bytes", maximum=1_000_000)
    max_lines: int = integer(100, "Maximum lines of a result that stays whole.", "lines", maximum=100_000)

    def schedule(self, history: History) -> Schedule:
        builder = ScheduleBuilder(history)
        results = history.results[history.enters[history.results] != NEVER]
        for block, operation in _worthwhile(history, results.tolist(), self._operation):
            if operation is not None:
                builder.add_at_insertion(np.array([block], dtype=np.int32), Decision(operation, "large result"))
        return builder.schedule()

    def _operation(self, block: int, only_shorter: bool) -> Operation:  # noqa: ARG002  same for every block
        return TrimOutput(self.max_bytes, self.max_lines, only_shorter)


@dataclass(frozen=True)
class CozempicAge(Batching):
    """Minify middle-aged results, and reduce old ones to a description.

    Source: `tool-output-trim` and `tool-result-age` of cozempic 1.8.39 (`strategies/standard.py`), which prunes the
    session files of Claude Code on request or at a guard's threshold; here results are treated as soon as they qualify.
    Age is counted in user messages: young results stay, middle-aged JSON and diffs are minified, old results become one
    line that describes them. Only changes that shorten a record are made, which is decided for all results of a record
    together.
    """

    name = "cozempic-age"
    title = "Age tiers (Cozempic)"
    summary = "Minify results after some user turns, and later replace each with one line."
    source = "cozempic 1.8.39 tool-result-age, strategies/standard.py"

    middle: int = integer(15, "User turns after which JSON and diffs are minified.", "turns", maximum=1_000)
    old: int = integer(40, "User turns after which only one line is left.", "turns", minimum=1, maximum=1_000)

    def schedule(self, history: History) -> Schedule:
        """Change a result's tier at the call that adds the user text that many turns after it."""
        builder = ScheduleBuilder(history)
        is_result = history.kind == BlockKind.TOOL_RESULT
        for context in arrivals(history, (history.kind != BlockKind.SYSTEM_TEXT) & (history.kind != BlockKind.OTHER)):
            turns = _Turns.of(history, context)
            places = np.flatnonzero(is_result[context.blocks])
            retained = places[places < context.retained]
            builder.add(context.blocks[retained], context.calls[retained], CONTEXT_RESET)
            tiers = ((self.middle, "middle", _minify), (self.old, "old", turns.stub))
            for age, group, make in tiers if self.middle < self.old else tiers[1:]:
                # A result that would not get shorter is sent as recorded, even if it was minified before.
                left = Decision(None, f"at least {age} turns old", group)
                reached = {
                    int(context.blocks[place]): max(call, int(context.calls[place]))
                    for place in places.tolist()
                    if (call := turns.call(place, age)) is not None
                }
                for block, operation in _worthwhile(history, list(reached), make):
                    decision = left if operation is None else Decision(operation, left.reason, group)
                    builder.add_pairs([(block, reached[block])], decision)
        return builder.schedule()


def _minify(block: int, only_shorter: bool) -> Operation:  # noqa: ARG001  same for every block
    return MinifyOutput(only_shorter)


@dataclass(frozen=True, slots=True)
class _Turns:
    """User messages of one context, and the age of results in them.

    Attributes:
        ordinal: Per block in the context, the index of its record.
        turn: Per block in the context, by position, the number of user texts before it.
        calls: Per user text, the first call that sends it.
    """

    history: History
    ordinal: dict[int, int]
    turn: NDArray[np.int64]
    calls: NDArray[np.int32]

    @classmethod
    def of(cls, history: History, context: Arrivals) -> _Turns:
        kinds = history.kind[context.blocks]
        record = record_groups(history)[context.blocks]
        begins = np.append(True, record[1:] != record[:-1])[: len(record)]
        ordinal = np.cumsum(begins) - 1
        typed = np.zeros(len(record), dtype=np.bool_)
        typed[ordinal[np.isin(kinds, _TYPED)]] = True
        typed[ordinal[kinds == BlockKind.TOOL_RESULT]] = False
        turn = np.cumsum(typed[: int(begins.sum())])[ordinal]
        places = dict(zip(context.blocks.tolist(), ordinal.tolist(), strict=True))
        return cls(history, places, turn, context.calls[begins & typed[ordinal]])

    def call(self, place: int, age: int) -> int | None:
        number = int(self.turn[place]) + age
        if number > len(self.calls):
            return None
        return int(self.calls[number - 1]) if number else 0

    def stub(self, block: int, only_shorter: bool) -> Operation:
        """Build the replacement of an old result; its call is looked up in the records shortly before it."""
        call = int(self.history.call_block[block])
        if call not in self.ordinal or self.ordinal[block] - self.ordinal[call] > _NEAR:
            return StubOutput("", only_shorter)
        session = self.history.session
        named = _called_with(session, session.blocks[call])
        tool = session.blocks[call].tool_name
        return StubOutput((f": {tool}" if tool else "") + (f" {named}" if named else ""), only_shorter)


def _named_in(arguments: dict[str, Any]) -> str:
    named = next((arguments[name] for name in _NAMED_BY if arguments.get(name)), None)
    command = arguments.get("command")
    if named is None and isinstance(command, str):
        named = command[:_COMMAND_CHARACTERS]
    return str(named) if named else ""


_called_with = argument_memo(_named_in, "")


def _worthwhile(history: History, blocks: list[int], make: Make) -> Iterator[tuple[int, Operation | None]]:
    """Yield the operation for each result; None if its record would not get shorter.

    For a record with one result the operation itself checks that. Several results in one record are changed together or
    left alone together.
    """
    by_record: dict[int, list[int]] = defaultdict(list)
    records = record_groups(history)
    for block in blocks:
        by_record[int(records[block])].append(block)
    for together in by_record.values():
        if len(together) == 1:
            yield together[0], make(together[0], True)
            continue
        saved = sum(_saved(history, block, make(block, False)) for block in together)
        for block in together:
            yield block, make(block, False) if saved > 0 else None


def _saved(history: History, block: int, operation: Operation) -> int:
    source = RecordedBlock(history.session, block)
    whole = Rendition.whole(source.block.characters)
    sent = operation.apply(whole, source)
    text = sent_text(sent, source)
    if sent is whole or text is None:
        return 0
    return JSON_BYTES.recorded(history.session, source.block) - JSON_BYTES.of_text(text)


_TYPED = (BlockKind.USER_TEXT, BlockKind.IMAGE, BlockKind.DOCUMENT)
