"""Messages of a conversation as Hermes prunes them: the edit a pass would make to each, and the tokens it reclaims.

Source: hermes-agent `agent/context_compressor.py`, 0.19.0, 0.21.0 and 0.22.2. The strategies in `hermes` decide when a
pass is made.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from inspector.session.model import TextUnavailableError
from inspector.strategies.core.operations import RecordedBlock, ReplaceText
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.history.history import ASSISTANT_TEXT, SYSTEM_TEXT, THINKING, TOOL_CALL, USER_TEXT
from inspector.strategies.history.memo import Memo
from inspector.strategies.library.hermes_lines import (
    PER_TOKEN,
    REPR_CHARACTERS,
    ShrinkArguments,
    call_characters,
    call_tokens,
    line_for,
)
from inspector.strategies.library.hermes_measures import NEWER_TOKENS, TOKENS, images_in, newer_call_tokens
from inspector.strategies.library.hermes_tail import (
    DENSE_CHARACTERS,
    PART_OF_WINDOW,
    PER_MESSAGE,
    PRUNED_SKILL,
    ROUGH_TOKENS,
    SHORTEST_DEMOTED,
    HermesConversation,
    MessageFacts,
    Speaker,
    demoted_line,
    old_results,
    rough_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.session.model import Block, Session
    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem
    from inspector.strategies.history.history import History

DUPLICATE = "[Duplicate tool output — same content as a more recent call]"
_PLACEHOLDER = "[Old tool output cleared to save context space]"
_SCREENSHOT = "[screenshot removed to save context]"
_PRUNED_IMAGE = "[screenshot removed"
_SHORTEST_DUPLICATE = 200
_LONGEST_LINE = 400
_SPARED_UNDER_PRESSURE = 3
_KEPT_IMAGES = 3
_RECENT_SKILLS = 10


@dataclass(frozen=True, slots=True)
class _Edit:
    """An edit made by a pass.

    Attributes:
        decision: Decision about its block.
        saves: Tokens it reclaims, by Hermes' estimate.
        counts: True if it counts as pruning; cutting arguments alone does not.
    """

    place: int
    decision: Decision
    saves: int
    counts: bool


@dataclass
class HermesMessages:
    """One conversation, and the edits a pass would make to it.

    Source: hermes-agent 0.19.0 `agent/context_compressor.py`, `_prune_old_tool_results`. Results with the same text as
    a newer one become a note, in any position. Before a boundary, results become a line each, their images are removed,
    and long texts in the arguments of calls are cut.

    Every message is examined once as it grows old. Its edit then waits until a pass is made.

    Attributes:
        newer: True for a pass of 0.21 or later.
        newest: True for a pass of 0.22.
        items: The messages, each result separate.
        tokens: Estimated tokens of each message.
        thinking: Estimated tokens of reasoning in each, which 0.21 assumes to be sent for the newest answer only.
        rows: Facts that decide where a tail begins, in 0.21.
        has_passed: True once a pass was made.
        total: Estimated tokens of all messages.
        ready: Per block, the edit a pass would make.
        saves: Tokens that all these edits would reclaim.
        failures: Number of consecutive passes before compressing that left the prompt over the threshold.
        awaits_outcome: True if a pass was made on the last call's prompt and its effect is not measured yet.
        waited: Seconds since a pass was first skipped because of earlier ones; None if none was skipped.
        rearmed_at: Size in tokens that the messages must reach for the next early pass.
    """

    history: History
    newer: bool = False
    newest: bool = False
    items: list[ConversationItem] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    thinking: list[int] = field(default_factory=list)
    rows: list[MessageFacts] = field(default_factory=list)
    has_passed: bool = False
    total: int = 0
    ready: dict[int, _Edit] = field(default_factory=dict)
    saves: int = 0
    failures: int = 0
    awaits_outcome: bool = False
    waited: float | None = None
    rearmed_at: int = 0
    _counted: int = 0
    _old_from: int = 0
    _unseen: deque[int] = field(default_factory=deque)
    _newest: dict[bytes, int] = field(default_factory=dict)
    _pruned: set[int] = field(default_factory=set)
    _with_images: list[int] = field(default_factory=list)
    _skills: list[tuple[int, str]] = field(default_factory=list)
    _spared: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tokens_of = (NEWER_TOKENS if self.newer else TOKENS).within(self.history)

    @property
    def prunes(self) -> bool:
        return self._counted > 0

    def add(self, context: CallContext, items: Iterable[ConversationItem]) -> None:
        for item in items:
            if item.is_result:
                self._unseen.append(len(self.items))
            if self.newer:
                self._note(context, item)
                self.rows.append(self._row(item))
            tokens = self._tokens_of(context, item)
            self.thinking.append(self._thinking(context, item))
            self.items.append(item)
            self.tokens.append(tokens)
            self.total += tokens

    def _note(self, context: CallContext, item: ConversationItem) -> None:
        """Record a result with images, or a call that loads a skill."""
        if item.is_result:
            if images_in(context, item.blocks[0]):
                self._with_images.append(len(self.items))
            return
        for block in item.blocks:
            if self._is_call(block) and (name := self._skill(context, block)):
                self._skills.append((len(self.items), name))

    def _skill(self, context: CallContext, block: int) -> str:
        """Return the lowercase name of the skill a call loads; empty for none."""
        if self.history.session.blocks[block].tool_name != "skill_view":
            return ""
        try:
            arguments = json.loads(context.text(block))
        except (ValueError, RecursionError, TextUnavailableError):
            return ""
        name = arguments.get("name") if isinstance(arguments, dict) else None
        return name.lower() if isinstance(name, str) else ""

    def _row(self, item: ConversationItem) -> MessageFacts:
        """Return the facts that decide where a tail begins: the message's sender and content."""
        if item.is_result:
            return MessageFacts(Speaker.TOOL)
        message, blocks = self.history.session.messages[item.message], self.history.session.blocks
        kinds = [self.history.kind_bytes[block] for block in item.blocks]
        parts = [blocks[block] for block in item.blocks if self.history.kind_bytes[block] not in (TOOL_CALL, THINKING)]
        says = not message.is_summary and any(block.preview.strip() or block.media for block in parts)
        is_text = not any(block.media for block in parts)
        if any(kind in (ASSISTANT_TEXT, TOOL_CALL, THINKING) for kind in kinds):
            return MessageFacts(Speaker.ASSISTANT, TOOL_CALL in kinds, says)
        return (
            MessageFacts(Speaker.SYSTEM)
            if SYSTEM_TEXT in kinds
            else MessageFacts(Speaker.USER, has_text=says and not message.is_meta, is_text=is_text)
        )

    def _thinking(self, context: CallContext, item: ConversationItem) -> int:
        return sum(
            context.length(block) // PER_TOKEN
            for block in item.blocks
            if self.newer and self.history.kind_bytes[block] == THINKING
        )

    def _sent_tokens(self) -> list[int]:
        """Return the token estimates used to measure a tail, without reasoning before the newest answer."""
        tokens = self.tokens
        if self.newer:
            answers = (at for at in reversed(range(len(self.rows))) if self.rows[at].speaker is Speaker.ASSISTANT)
            newest = next(answers, -1)
            tokens = [
                own if at == newest else own - of_thinking
                for at, (own, of_thinking) in enumerate(zip(tokens, self.thinking, strict=True))
            ]
        return tokens

    def tail(self, budget: int, least: int) -> int:
        """Return where the newest messages begin that fit a token budget, at least `least` messages."""
        count, least = len(self.items), min(least, len(self.items))
        tokens = self._sent_tokens()
        spent, begin = 0, count
        while begin:
            begin -= 1
            if spent + tokens[begin] > budget and count - begin >= least:
                break
            spent += tokens[begin]
        return min(begin, count - least)

    def is_too_short(self, protect_first: int) -> bool:
        """Return True if 0.21 compresses nothing because there are too few messages."""
        return HermesConversation(self.rows, self.tokens, self._first(protect_first)).is_too_short

    def _first(self, protect_first: int) -> int:
        """Return how many first messages stay after the system prompt: none once a pass was made."""
        return 0 if self.has_passed else protect_first

    def pending(self, window: int) -> range:
        """Return the trailing results and their call, which 0.22 spares if they are at most a fifth of a window."""
        count = start = len(self.rows)
        while start and self.rows[start - 1].speaker is Speaker.TOOL:
            start -= 1
        if 0 < start < count and self.rows[start - 1].makes_calls:
            start -= 1
        return range(start, count) if sum(self.tokens[start:]) <= int(window * PART_OF_WINDOW) else range(0)

    def kept(self, budget: int, protect_first: int, protect_last: int, ceiling: int | None = None) -> int | None:
        """Return where the messages kept after a summary begin, after a pass; None if there is nothing to summarize.

        Args:
            budget: As in `HermesConversation.tail`, like the others.
            protect_first: Number of first messages that stay.
            protect_last: Number of newest messages to keep.
            ceiling: Tokens, in 0.22.
        """
        tokens = [*self._sent_tokens()]
        for edit in self.ready.values():
            tokens[edit.place] -= edit.saves
        conversation = HermesConversation(self.rows, tokens, self._first(protect_first))
        return conversation.tail(budget, protect_last, ceiling)

    def demote(self, context: CallContext, tail: int, rounds: int) -> None:
        """Find the edits a compression makes to the old results of its tail."""
        blocks = self.history.session.blocks
        for place in old_results(self.rows, tail, rounds):
            block = self.items[place].blocks[0]
            length = context.length(block)
            if block in self.ready or not blocks[block].plain_text or length < SHORTEST_DEMOTED:
                continue
            try:
                is_skill = PRUNED_SKILL in context.text(block)
            except TextUnavailableError:
                continue
            if not is_skill:
                line = demoted_line(blocks[block].tool_name, length, self.history.session.identifier)
                decision = Decision(ReplaceText(line), "before the newest rounds", "demoted")
                self._make_ready(block, _Edit(place, decision, self._saved(place, line), counts=True))

    @property
    def found(self) -> tuple[dict[int, _Edit], int, int]:
        """Snapshot of the edits found so far."""
        return dict(self.ready), self.saves, self._counted

    def take_back(self, found: tuple[dict[int, _Edit], int, int]) -> None:
        """Restore a snapshot of the edits."""
        self.ready, self.saves, self._counted = dict(found[0]), found[1], found[2]

    def prepare(self, context: CallContext, boundary: int, minimum: int, pending: range = range(0)) -> None:
        """Find the edits of messages before a boundary, and of duplicates anywhere, except pending ones."""
        while self._unseen:
            self._compare(context, self._unseen.popleft())
        spared = self._spared_results(context, boundary) if self.newer else set()
        for place in [*self._spared, *range(self._old_from, boundary)]:
            if place not in spared:
                self._shorten(context, place, minimum)
        self._spared = sorted(spared)
        self._old_from = max(self._old_from, boundary)
        if self.newer:
            old = self._with_images[:-_KEPT_IMAGES]
            for place in old:
                if place not in pending:
                    self._shorten(context, place, minimum)
            self._with_images[: len(old)] = [place for place in old if place in pending]

    def relieve(self, context: CallContext, boundary: int, most: int, minimum: int, pending: range = range(0)) -> None:
        """Find the edits of spared messages if they exceed a number of tokens."""
        count = len(self.items)
        start, end = max(boundary, 0), count - min(_SPARED_UNDER_PRESSURE, count)
        saved = sum(edit.saves for edit in self.ready.values() if edit.place >= start)
        total = sum(self.tokens[start:]) - saved
        if end <= boundary:
            return
        newest = next((place for place in reversed(range(count)) if self.items[place].is_result), -1)
        rest = [place for place in range(start, count) if place != newest]
        for places, stops in ((range(start, end), True), (rest, False), ([newest] if newest >= start else [], True)):
            if total <= most:
                return
            for place in places:
                if place not in pending:
                    total -= self._shorten(context, place, minimum)
                if stops and total <= most:
                    return

    def _shorten(self, context: CallContext, place: int, minimum: int) -> int:
        """Find the edits of an old message, and return the tokens they save."""
        item, before = self.items[place], self.saves
        for block in item.blocks:
            if block not in self.ready and block not in self._pruned:
                edit = self._line(context, place, minimum) if item.is_result else self._shrunk(context, place, block)
                if edit is not None:
                    self._make_ready(block, edit)
        return self.saves - before

    def _spared_results(self, context: CallContext, boundary: int) -> set[int]:
        """Return the old results that stay because the skill they load is in use."""
        if not self._skills:
            return set()
        recent = max(min(len(self.items) - _RECENT_SKILLS, boundary), 0)
        asked = [self._words(context, item) for item in self.items[max(boundary, 0) :] if not item.is_result]
        used = {
            name for place, name in self._skills if place >= recent or any(name in words for words in asked if words)
        }
        found: set[int] = set()
        for place in [*self._spared, *range(self._old_from, boundary)]:
            call = int(self.history.call_block[self.items[place].blocks[0]]) if self.items[place].is_result else -1
            if call >= 0 and self._skill(context, call) in used:
                found.add(place)
        return found

    def _words(self, context: CallContext, item: ConversationItem) -> str:
        try:
            return "".join(
                context.text(block).lower() for block in item.blocks if self.history.kind_bytes[block] == USER_TEXT
            )
        except TextUnavailableError:
            return ""

    def carry_out(self) -> Iterator[Choice]:
        for block, edit in self.ready.items():
            yield Choice(block, edit.decision)
            self.tokens[edit.place] -= edit.saves
        self.total -= self.saves
        self.has_passed = True
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

    def _compare(self, context: CallContext, place: int) -> None:
        key = self._key(context, self.items[place].blocks[0])
        if key is None:
            return
        older = self._newest.get(key)
        self._newest[key] = place
        if older is None or (block := self.items[older].blocks[0]) in self._pruned:
            return
        decision = Decision(ReplaceText(DUPLICATE), "same as a newer result", "duplicate", "later")
        self._make_ready(block, _Edit(older, decision, self._saved(older, DUPLICATE), counts=True))

    def _key(self, context: CallContext, block: int) -> bytes | None:
        """Return a key of a result's text; None for one that is too short or not plain text."""
        recorded = self.history.session.blocks[block]
        if not recorded.plain_text or context.length(block) < _SHORTEST_DUPLICATE:
            return None
        if context.is_whole(block):
            return recorded.digest
        try:
            text = context.text(block)
        except TextUnavailableError:
            return None
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def _saved(self, place: int, text: str) -> int:
        left = ROUGH_TOKENS.of_text(text) if self.newer else len(text) // PER_TOKEN
        return self.tokens[place] - left - PER_MESSAGE

    def _line(self, context: CallContext, place: int, minimum: int) -> _Edit | None:
        block = self.items[place].blocks[0]
        try:
            line = self._line_text(context, block, minimum)
        except TextUnavailableError:
            return None
        if line is None:
            return None
        decision = Decision(ReplaceText(line), "before the newest messages", "line")
        return _Edit(place, decision, self._saved(place, line), counts=True)

    def _line_text(self, context: CallContext, block: int, minimum: int) -> str | None:
        length, blocks = context.length(block), self.history.session.blocks
        if not blocks[block].plain_text:
            images = images_in(context, block)
            texts = [context.text(block)] if images and length else []
            return "\n".join([*texts, *[_SCREENSHOT] * images]) if images else None
        if length <= minimum or (self.newer and self._is_line(context, block, length)):
            return None
        call = int(self.history.call_block[block])
        if context.is_whole(block) and (call < 0 or context.is_whole(call)):
            called_by = blocks[call] if call >= 0 else None
            return _recorded_line(self.history.session, blocks[block], called_by, newer=self.newer)
        called = (blocks[call].tool_name, context.text(call)) if call >= 0 else _UNKNOWN
        return _line_of(*called, context.text(block), newer=self.newer)

    def _is_line(self, context: CallContext, block: int, length: int) -> bool:
        """Return True if a result's text is already a pruned line."""
        if length >= _LONGEST_LINE and not self.history.session.blocks[block].preview.startswith(_PRUNED_IMAGE):
            return False
        text = context.text(block)
        return text.startswith(_PRUNED_IMAGE) or (length < _LONGEST_LINE and text.startswith("[") and " chars)" in text)

    def _shrunk(self, context: CallContext, place: int, block: int) -> _Edit | None:
        shrink = ShrinkArguments()
        if self.newest or not self._is_call(block) or context.length(block) <= shrink.limit:
            return None
        now = context.rendition(block)
        source = RecordedBlock(self.history.session, block)
        shrunk = shrink.apply(now, source)
        if shrunk is now:
            return None
        if self.newer:
            before = newer_call_tokens(context, block)
            text = shrunk.text("")
            characters = call_characters(source.block, REPR_CHARACTERS.of_text(text))
            after = rough_tokens(characters, DENSE_CHARACTERS.of_text(text))
        else:
            before = call_tokens(source.block, REPR_CHARACTERS.sent(context, block))
            after = call_tokens(source.block, REPR_CHARACTERS.of_text(shrunk.text("")))
        return _Edit(place, Decision(shrink, "before the newest messages", "arguments"), before - after, counts=False)


_UNKNOWN = ("unknown", "")


def _line_of(tool: str, arguments: str, text: str, *, newer: bool) -> str | None:
    """Return the line for a result; None for one that is already pruned."""
    if text == _PLACEHOLDER or text.startswith("[Duplicate tool output"):
        return None
    return line_for(tool, arguments, text, newer=newer)


_lines: Memo[tuple[str, bytes, bytes, bool], str | None] = Memo()


def _recorded_line(session: Session, result: Block, call: Block | None, *, newer: bool) -> str | None:
    """Return the line for a result as it was recorded, or None.

    Raises:
        TextUnavailableError: A text it needs cannot be read.
    """
    of_call = (call.tool_name, call.digest) if call is not None else ("", b"")
    key = (*of_call, result.digest, newer)
    if key in _lines:
        return _lines[key]
    called = (call.tool_name, session.text(call)) if call is not None else _UNKNOWN
    return _lines.keep(key, _line_of(*called, session.text(result), newer=newer))
