"""Trim large tool results, and let old ones shrink with the turns that pass.

Source: `tool-output-trim` and `tool-result-age` of cozempic 1.8.39 (`strategies/standard.py`), which prunes the session
files of Claude Code when it is told to or at a guard's threshold; here results are treated as soon as they would be.
Age is counted in what the user typed: young results stay, middle-aged JSON and differences are minified, old results
become a line that says what they were. Whether a change makes its record shorter, and so is made, is worked out for
all results of a record together.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.arrivals import arrivals
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.cozempic_texts import JSON_BYTES, MinifyOutput, StubOutput, TrimOutput
from inspector.strategies.history import NEVER
from inspector.strategies.measures import sent_text
from inspector.strategies.recorded import RecordedBlock
from inspector.strategies.records import records_of
from inspector.strategies.remembered import Remembered
from inspector.strategies.rendition import Rendition
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import whole
from inspector.strategies.tunable import Tunable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from inspector.strategies.arrivals import Arrivals
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History
    from inspector.strategies.operations import Operation

    Make = Callable[[int, bool], Operation]

_NAMED_BY = ("file_path", "path", "pattern")
_COMMAND_CHARACTERS = 80
_NEAR = 10


@dataclass(frozen=True)
class CozempicTrim(Tunable):
    """Keep head and tail of large results."""

    name: ClassVar[str] = "cozempic-trim"
    title: ClassVar[str] = "Trim outputs (Cozempic)"
    summary: ClassVar[str] = "Keep head and tail of results with too many lines or bytes."
    source: ClassVar[str] = "cozempic 1.8.39 tool-output-trim, strategies/standard.py"

    max_bytes: int = whole("max-bytes", 8_192, "Longest result that stays whole.", "bytes", maximum=1_000_000)
    max_lines: int = whole("max-lines", 100, "Most lines of a result that stays whole.", "lines", maximum=100_000)

    def schedule(self, history: History) -> Schedule:
        """Every result is decided when it enters."""
        builder = ScheduleBuilder()
        results = history.results[history.enters[history.results] != NEVER]
        for block, operation in _worthwhile(history, results.tolist(), self._operation):
            if operation is not None:
                at = np.array([block], dtype=np.int32)
                builder.add(at, history.enters[at], Decision(operation, "large result"))
        return builder.schedule()

    def _operation(self, block: int, only_shorter: bool) -> Operation:  # noqa: ARG002  the same for every block
        return TrimOutput(self.max_bytes, self.max_lines, only_shorter)


@dataclass(frozen=True)
class CozempicAge(Batching):
    """Minify results of middle age, and say of old ones what they were."""

    name: ClassVar[str] = "cozempic-age"
    title: ClassVar[str] = "Age tiers (Cozempic)"
    summary: ClassVar[str] = "Minify results after some turns of the user, and after more leave a line of each."
    source: ClassVar[str] = "cozempic 1.8.39 tool-result-age, strategies/standard.py"

    middle: int = whole("middle", 15, "Turns after which JSON and differences are minified.", "turns", maximum=1_000)
    old: int = whole("old", 40, "Turns after which a line is left.", "turns", minimum=1, maximum=1_000)

    def schedule(self, history: History) -> Schedule:
        """A result changes tier at the call that brings the user's text that many turns after it."""
        builder = ScheduleBuilder()
        is_result = history.kind == BlockKind.TOOL_RESULT
        for context in arrivals(history, (history.kind != BlockKind.SYSTEM_TEXT) & (history.kind != BlockKind.OTHER)):
            turns = _Turns.of(history, context)
            places = np.flatnonzero(is_result[context.blocks])
            carried = places[places < context.carried]
            builder.add(context.blocks[carried], context.calls[carried], Decision(None, "counted anew"))
            tiers = ((self.middle, "middle", _minify), (self.old, "old", turns.stub))
            for age, group, make in tiers if self.middle < self.old else tiers[1:]:
                # What would not get shorter is sent as recorded, minified before or not.
                left = Decision(None, f"at least {age} turns old", group)
                reached = {
                    int(context.blocks[place]): max(call, int(context.calls[place]))
                    for place in places.tolist()
                    if (call := turns.call(place, age)) is not None
                }
                for block, operation in _worthwhile(history, list(reached), make):
                    decision = left if operation is None else Decision(operation, left.reason, group)
                    builder.add(np.array([block], np.int32), np.array([reached[block]], np.int32), decision)
        return builder.schedule()


def _minify(block: int, only_shorter: bool) -> Operation:  # noqa: ARG001  the same for every block
    return MinifyOutput(only_shorter)


@dataclass(frozen=True, slots=True)
class _Turns:
    """What the user typed in one context, and how far results are from it.

    Attributes:
        history: What was recorded.
        ordinal: Per block in the context, the place of its record.
        turn: Per block in the context, by its place there, how many of the user's texts came before it.
        calls: Per text of the user, the first call that sends it.
    """

    history: History
    ordinal: dict[int, int]
    turn: NDArray[np.int64]
    calls: NDArray[np.int32]

    @classmethod
    def of(cls, history: History, context: Arrivals) -> _Turns:
        """The turns of a context."""
        kinds = history.kind[context.blocks]
        record = records_of(history)[context.blocks]
        begins = np.append(True, record[1:] != record[:-1])[: len(record)]
        ordinal = np.cumsum(begins) - 1
        typed = np.zeros(len(record), dtype=np.bool_)
        typed[ordinal[np.isin(kinds, _TYPED)]] = True
        typed[ordinal[kinds == BlockKind.TOOL_RESULT]] = False
        turn = np.cumsum(typed[: int(begins.sum())])[ordinal]
        places = dict(zip(context.blocks.tolist(), ordinal.tolist(), strict=True))
        return cls(history, places, turn, context.calls[begins & typed[ordinal]])

    def call(self, place: int, age: int) -> int | None:
        """The first call at which a result is that many turns old; None where there is none."""
        number = int(self.turn[place]) + age
        if number > len(self.calls):
            return None
        return int(self.calls[number - 1]) if number else 0

    def stub(self, block: int, only_shorter: bool) -> Operation:
        """What stands for an old result; its call is looked for in the records shortly before it."""
        call = int(self.history.call_block[block])
        if call not in self.ordinal or self.ordinal[block] - self.ordinal[call] > _NEAR:
            return StubOutput("", only_shorter)
        session = self.history.session
        named = _called_with(session, session.blocks[call])
        tool = session.blocks[call].tool_name
        return StubOutput((f": {tool}" if tool else "") + (f" {named}" if named else ""), only_shorter)


def _argument_in(text: str) -> str:
    try:
        arguments: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return ""
    if not isinstance(arguments, dict):
        return ""
    named = next((arguments[name] for name in _NAMED_BY if arguments.get(name)), None)
    command = arguments.get("command")
    if named is None and isinstance(command, str):
        named = command[:_COMMAND_CHARACTERS]
    return str(named) if named else ""


_called_with = Remembered(_argument_in, "")


def _worthwhile(history: History, blocks: list[int], make: Make) -> Iterator[tuple[int, Operation | None]]:
    """What to do to each of some results; None where their record would not get shorter.

    A record with one result leaves that to the operation. The results of one with several are made shorter or longer
    together, or left alone together.
    """
    by_record: dict[int, list[int]] = defaultdict(list)
    records = records_of(history)
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
