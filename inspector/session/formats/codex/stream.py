"""Joining the events of a `codex exec --json` stream into messages and calls.

Responses are not marked. A new one begins with the first thing that a model says or calls after a tool has returned,
unless another tool that was called before is still running: the model is asked again when all have returned.

What is printed at a turn's end is the thread's total so far (`last_total_token_usage` in
`codex-rs/exec/src/event_processor_with_jsonl_output.rs`). What the turn added is the usage of its call, where it is
one; that of several cannot be told apart, and is shown as it was printed. A stream does not say that it resumes a
thread, and what its first turn reports then holds what went before, too: that shows where the model would have written
more tokens than its answer has characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from inspector.session.assembly import Assembly
from inspector.session.formats.codex.kinds import ENDS_OF_TURNS, ITEM_ENDS, ITEMS, SAY_NOTHING, THREAD, TURN_ENDS
from inspector.session.formats.codex.stream_events import blocks_again, blocks_of_event, count_name, is_plan, is_tool
from inspector.session.formats.codex.usage import usage_of
from inspector.session.formats.responses.items import Side
from inspector.session.formats.responses.joining import NONE, Joiner
from inspector.session.links import LinkKind, SessionLink
from inspector.session.model import BlockKind, Origin
from inspector.session.objects import object_lines
from inspector.session.values import count, mapping, sequence, string

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.formats.codex.stream_events import Made
    from inspector.session.texts import BlocksOfRecord

SPARE_TOKENS = 64
"""Tokens that a response may have without a character for each: those that begin and end its parts."""

COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens")


class StreamInterpreter:
    """Makes a session out of the lines of a stream."""

    def __init__(self) -> None:
        self.assembly = Assembly()
        self.assembly.agent = "Codex"
        self.blocks_of_record: BlocksOfRecord = blocks_again
        self._joiner = Joiner(self.assembly)
        self._running: set[str] = set()
        self._response = NONE
        self._first_call = 0
        self._characters = 0
        self._is_first_report = True
        self._total = dict.fromkeys(COUNTS, 0)

    def take(self, data: bytes, offset: int, first_line: int) -> None:
        """Take whole lines. What cannot be read becomes a diagnostic."""
        for value, line, start, number in object_lines(data, offset, first_line, self.assembly, "item"):
            try:
                self._add(value, line, Origin(start, len(line)))
            except RecursionError:
                self.assembly.diagnose("JSON nested too deeply", number, start, skipped=True)

    def _add(self, value: Mapping[str, Any], data: bytes, origin: Origin) -> None:
        kind, item = string(value.get("type")), mapping(value.get("item"))
        self.assembly.record_counts[count_name(value)] += 1
        if kind == THREAD:
            self._begin_thread(string(value.get("thread_id")))
        if is_tool(item):
            self._tool(item, blocks_of_event(value, data, origin), is_ended=kind == ITEM_ENDS)
        elif kind == TURN_ENDS:
            self._report(mapping(value.get("usage")), blocks_of_event(value, data, origin))
        elif kind not in SAY_NOTHING and (kind not in ITEMS or (kind == ITEM_ENDS) is not is_plan(item)):
            self._say(blocks_of_event(value, data, origin))
        if kind in ENDS_OF_TURNS:
            self._joiner.close()
            self._running.clear()
            self._response, self._first_call, self._characters = NONE, len(self.assembly.calls), 0

    def _begin_thread(self, identifier: str) -> None:
        if self.assembly.identifier and identifier != self.assembly.identifier:
            self._total, self._is_first_report = dict.fromkeys(COUNTS, 0), True
        self.assembly.identifier = self.assembly.identifier or identifier

    def _tool(self, item: Mapping[str, Any], made: Sequence[Made], *, is_ended: bool) -> None:
        identifier = string(item.get("id"))
        is_known = identifier in self._running
        self._say([(side, block) for side, block in made if side is Side.TOOL or not is_known])
        if is_ended:
            self._running.discard(identifier)
            for thread in sequence(item.get("receiver_thread_ids")):
                if item.get("tool") == "spawn_agent" and isinstance(thread, str):
                    self.assembly.link(SessionLink(LinkKind.SUBAGENT, thread, None, identifier))
        else:
            self._running.add(identifier)

    def _say(self, made: Sequence[Made]) -> None:
        for side, (block, _) in made:
            if side is Side.RESPONSE and block.kind is not BlockKind.THINKING:
                self._characters += block.characters
            if side is Side.RESPONSE and self._running and self._response != NONE:
                self.assembly.add_blocks(self._response, [block])
            elif side is Side.RESPONSE:
                self._response = self._joiner.add(side, [block])
            else:
                self._joiner.add(side, [block])

    def _report(self, total: Mapping[str, Any], shown: Sequence[Made]) -> None:
        """Take a thread's total so far: what was added is the turn's."""
        now = {name: count(total.get(name)) for name in COUNTS}
        is_continued = all(now[name] >= self._total[name] for name in COUNTS)
        usage = usage_of({name: now[name] - self._total[name] for name in COUNTS} if is_continued else now)
        self._total = now
        calls = self.assembly.calls
        is_of_turn = not (self._is_first_report and self._holds_more(total, now))
        self._is_first_report = False
        if usage is not None and is_of_turn and len(calls) == self._first_call + 1:
            calls[-1] = structs.replace(calls[-1], usage=usage)
        elif usage is not None:
            self._say(shown)

    def _holds_more(self, total: Mapping[str, Any], now: Mapping[str, int]) -> bool:
        """Whether a first report counts more than its turn can have written, as far as it says what was reasoning."""
        written = now["output_tokens"] - now["reasoning_output_tokens"]
        return "reasoning_output_tokens" in total and written > self._characters + SPARE_TOKENS
