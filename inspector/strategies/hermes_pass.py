"""The pass with which Hermes prunes a conversation, made ready as messages grow old and carried out at once.

Source: hermes-agent 0.19.0 `agent/context_compressor.py`, `_prune_old_tool_results`. Results with the same text as a
newer one become a note that says so, wherever they stand. Before a boundary, results become a line each, images in them
go, and long texts in the arguments of calls are cut.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from inspector.session.model import TextUnavailableError
from inspector.strategies.base import Choice, Decision
from inspector.strategies.hermes_lines import (
    PER_IMAGE,
    PER_TOKEN,
    REPR_CHARACTERS,
    ShrinkArguments,
    call_tokens,
    line_for,
)
from inspector.strategies.kinds import THINKING, TOOL_CALL
from inspector.strategies.measures import EntryMeasure
from inspector.strategies.operations import ReplaceText
from inspector.strategies.recorded import RecordedBlock
from inspector.strategies.rendition import Action

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.session.model import Block, Session
    from inspector.strategies.base import Moment
    from inspector.strategies.entries import Entry
    from inspector.strategies.history import History

DUPLICATE = "[Duplicate tool output — same content as a more recent call]"
_PLACEHOLDER = "[Old tool output cleared to save context space]"
_SCREENSHOT = "[screenshot removed to save context]"
_SHORTEST_DUPLICATE = 200
_PER_MESSAGE = 10


@dataclass(frozen=True, slots=True)
class _Edit:
    """Something a pass does.

    Attributes:
        place: The message's place.
        decision: What is done to its block.
        saves: What that reclaims, in tokens as Hermes counts them.
        counts: Whether it counts as pruning; cutting arguments alone does not.
    """

    place: int
    decision: Decision
    saves: int
    counts: bool


@dataclass
class HermesConversation:
    """One conversation, and what a pass would do to it.

    Every message is looked at once as it grows old, and what a pass would do to it waits until one is made.

    Attributes:
        history: What was recorded.
        entries: The messages, each result apart.
        tokens: What each is taken for.
        total: What all of them are.
        ready: Per block, what a pass would do.
        saves: What all that would reclaim.
    """

    history: History
    entries: list[Entry] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    total: int = 0
    ready: dict[int, _Edit] = field(default_factory=dict)
    saves: int = 0
    _counted: int = 0
    _old_from: int = 0
    _unseen: deque[int] = field(default_factory=deque)
    _newest: dict[bytes, int] = field(default_factory=dict)
    _pruned: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._tokens_of = _TOKENS.within(self.history)

    @property
    def prunes(self) -> bool:
        """Whether a pass would prune anything."""
        return self._counted > 0

    def add(self, moment: Moment, entries: Iterable[Entry]) -> None:
        """Take in messages."""
        for entry in entries:
            if entry.is_result:
                self._unseen.append(len(self.entries))
            tokens = self._tokens_of(moment, entry)
            self.entries.append(entry)
            self.tokens.append(tokens)
            self.total += tokens

    def tail(self, budget: int, least: int) -> int:
        """Where the newest messages begin that come to no more than a budget of tokens, and are at least so many."""
        count, least = len(self.entries), min(least, len(self.entries))
        spent, begin = 0, count
        while begin:
            begin -= 1
            if spent + self.tokens[begin] > budget and count - begin >= least:
                break
            spent += self.tokens[begin]
        return min(begin, count - least)

    def prepare(self, moment: Moment, boundary: int, minimum: int) -> None:
        """Find what a pass would do to the messages before a boundary, and to duplicates anywhere."""
        while self._unseen:
            self._compare(moment, self._unseen.popleft())
        for place in range(self._old_from, boundary):
            entry = self.entries[place]
            for block in entry.blocks:
                if block not in self.ready and block not in self._pruned:
                    edit = self._line(moment, place, minimum) if entry.is_result else self._shrunk(moment, place, block)
                    if edit is not None:
                        self._make_ready(block, edit)
        self._old_from = max(self._old_from, boundary)

    def carry_out(self) -> Iterator[Choice]:
        """Make the pass."""
        for block, edit in self.ready.items():
            yield Choice(block, edit.decision)
            self.tokens[edit.place] -= edit.saves
        self.total -= self.saves
        self._pruned.update(self.ready)
        self.ready.clear()
        self.saves = self._counted = 0

    def _make_ready(self, block: int, edit: _Edit) -> None:
        before = self.ready.get(block)
        if before is None:
            self._counted += edit.counts
        self.saves += edit.saves - (before.saves if before is not None else 0)
        self.ready[block] = edit

    def _is_call(self, block: int) -> bool:
        return self.history.kind_bytes[block] == TOOL_CALL

    def _compare(self, moment: Moment, place: int) -> None:
        """Hold a result against those before it."""
        key = self._key(moment, self.entries[place].blocks[0])
        if key is None:
            return
        older = self._newest.get(key)
        self._newest[key] = place
        if older is None or (block := self.entries[older].blocks[0]) in self._pruned:
            return
        decision = Decision(ReplaceText(DUPLICATE), "same as a newer result", "duplicate", "later")
        self._make_ready(block, _Edit(older, decision, self._saved(older, DUPLICATE), counts=True))

    def _key(self, moment: Moment, block: int) -> bytes | None:
        """What tells a result's text from others; None for one that is too short or no plain text."""
        recorded = self.history.session.blocks[block]
        if not recorded.plain_text or moment.length(block) < _SHORTEST_DUPLICATE:
            return None
        if moment.is_whole(block):
            return recorded.digest
        try:
            text = moment.text(block)
        except TextUnavailableError:
            return None
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def _saved(self, place: int, text: str) -> int:
        return self.tokens[place] - len(text) // PER_TOKEN - _PER_MESSAGE

    def _line(self, moment: Moment, place: int, minimum: int) -> _Edit | None:
        block = self.entries[place].blocks[0]
        try:
            line = self._line_text(moment, block, minimum)
        except TextUnavailableError:
            return None
        if line is None:
            return None
        decision = Decision(ReplaceText(line), "before the newest messages", "line")
        return _Edit(place, decision, self._saved(place, line), counts=True)

    def _line_text(self, moment: Moment, block: int, minimum: int) -> str | None:
        length, blocks = moment.length(block), self.history.session.blocks
        if not blocks[block].plain_text:
            images = _images(moment, block)
            texts = [moment.text(block)] if images and length else []
            return "\n".join([*texts, *[_SCREENSHOT] * images]) if images else None
        if length <= minimum:
            return None
        call = int(self.history.call_block[block])
        if moment.is_whole(block) and (call < 0 or moment.is_whole(call)):
            return _LINES.of(self.history.session, blocks[block], blocks[call] if call >= 0 else None)
        called = (blocks[call].tool_name, moment.text(call)) if call >= 0 else _UNKNOWN
        return _line_of(*called, moment.text(block))

    def _shrunk(self, moment: Moment, place: int, block: int) -> _Edit | None:
        shrink = ShrinkArguments()
        if not self._is_call(block) or moment.length(block) <= shrink.limit:
            return None
        now = moment.rendition(block)
        source = RecordedBlock(self.history.session, block)
        shrunk = shrink.apply(now, source)
        if shrunk is now:
            return None
        before = call_tokens(source.block, REPR_CHARACTERS.sent(moment, block))
        after = call_tokens(source.block, REPR_CHARACTERS.of_text(shrunk.text("")))
        return _Edit(place, Decision(shrink, "before the newest messages", "arguments"), before - after, counts=False)


def _images(moment: Moment, block: int) -> int:
    media = len(moment.history.session.blocks[block].media)
    sent = media and (moment.is_whole(block) or moment.rendition(block).action is Action.CUT)
    return media if sent else 0


def _tokens(moment: Moment, entry: Entry) -> int:
    blocks, kinds = moment.history.session.blocks, moment.history.kind_bytes
    characters, tokens = 0, _PER_MESSAGE
    for block in entry.blocks:
        length = moment.length(block)
        if kinds[block] == TOOL_CALL:
            tokens += call_tokens(blocks[block], REPR_CHARACTERS.sent(moment, block))
        elif kinds[block] == THINKING:
            tokens += length // PER_TOKEN
        else:
            characters += length + PER_IMAGE * _images(moment, block)
    return tokens + characters // PER_TOKEN


_TOKENS = EntryMeasure(_tokens)
"""What a message is taken for."""

_UNKNOWN = ("unknown", "")


def _line_of(tool: str, arguments: str, text: str) -> str | None:
    """The line for a result; None for one that already says that it was pruned."""
    if text == _PLACEHOLDER or text.startswith("[Duplicate tool output"):
        return None
    return line_for(tool, arguments, text)


class _RecordedLines:
    """Lines for results as they were recorded: what was found in their texts does not depend on any limit."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes, bytes], str | None] = {}

    def of(self, session: Session, result: Block, call: Block | None) -> str | None:
        """The line for a result, or None. Raises `TextUnavailableError` where a text it needs cannot be read."""
        key = (call.tool_name, call.digest, result.digest) if call is not None else ("", b"", result.digest)
        if key not in self._known:
            if len(self._known) >= _MOST_LINES:
                self._known.clear()
            called = (call.tool_name, session.text(call)) if call is not None else _UNKNOWN
            self._known[key] = _line_of(*called, session.text(result))
        return self._known[key]


_MOST_LINES = 200_000
_LINES = _RecordedLines()
