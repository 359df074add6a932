"""Prune old tool results to a line each, as Hermes does: before compressing, or early and in batches.

Source: hermes-agent `agent/context_compressor.py` (0.19.0, 0.21.0 and 0.22.2): the pass before a compression (0.19.0),
and `prune_tool_results_only`, which makes the same pass early and separately (0.20). Pruned results stay pruned.

Version 0.21 follows 0.21.0. It spares the newest messages: 2.5 % of the window, between 10,000 and 25,000 tokens, and
at least eight messages even if more are configured. If these still exceed that budget by half, their results are pruned
too: the oldest first except in the last three messages, then the rest, the newest result last. Lines are not pruned to
lines again. The three newest results with images keep them in any position. A skill just loaded or named by the user
stays. Lines give more detail on user answers and skills. The compression then demotes results in its own tail, the part
after its summary: results of 1,500 characters or more before the newest six rounds become a line with their location
(`hermes_tail`). 0.21.3 does the same.

Version 0.22 follows 0.22.2. It never changes a call. It spares at most a fifth of the window, even with the tolerance
of one half. The results at the end of a prompt, not yet seen by any answer, stay with their call unless they exceed a
fifth of the window. The tail is found by tokens alone, even if few messages remain. The last request or the last answer
with text is summarized too if the work since then is too large to stay. If nothing is left to summarize, nothing is
pruned either. 0.21.4 and 0.21.5 are in between: they find the tail nearly as 0.22 does, and shorten calls, with another
marker.

The pass before a compression is judged by the next prompt: after two passes that left it over the threshold, no more
are made until a prompt fits again. The early pass is made only if it reclaims enough, and then not until the
conversation has grown by as much as triggers it again. The summary that ends a compression is not part of it.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from inspector.session.model import Block, Session, TextUnavailableError
from inspector.strategies.core.operations import RecordedBlock, ReplaceText
from inspector.strategies.core.strategy import (
    Choice,
    Decision,
    Parametrized,
    choice,
    integer,
    model_window,
    number,
    window_of,
)
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.history import ASSISTANT_TEXT, SYSTEM_TEXT, THINKING, TOOL_CALL, USER_TEXT, History
from inspector.strategies.history.memo import Memo
from inspector.strategies.library.hermes_tail import (
    DENSE_CHARACTERS,
    NEWER_TOKENS,
    PART_OF_WINDOW,
    PER_MESSAGE,
    PER_TOKEN,
    PRESSURE,
    PRUNED_SKILL,
    REPR_CHARACTERS,
    ROUGH_TOKENS,
    SHORTEST_DEMOTED,
    TOKENS,
    HermesConversation,
    MessageFacts,
    ShrinkArguments,
    Speaker,
    call_characters,
    call_tokens,
    demoted_line,
    images_in,
    line_for,
    newer_call_tokens,
    old_results,
    rough_tokens,
    soft_ceiling,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem


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
    """A pass's edit and the tokens it reclaims. `counts`: as pruning, unlike cut arguments alone."""

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
    """Return the line for a recorded result, or None. Raises `TextUnavailableError` if a text is gone."""
    of_call = (call.tool_name, call.digest) if call is not None else ("", b"")
    key = (*of_call, result.digest, newer)
    if key in _lines:
        return _lines[key]
    called = (call.tool_name, session.text(call)) if call is not None else _UNKNOWN
    return _lines.keep(key, _line_of(*called, session.text(result), newer=newer))


_LEAST_SPARED = 8
_SMALL_WINDOW, _FRACTION_OF_A_SMALL_ONE = 512_000, 0.75
_LEAST_THRESHOLD, _FRACTION_OF_THE_SMALLEST = 64_000, 0.85
_MOST_FAILURES = 2
_USUAL_THRESHOLD = 0.5
_RECOVERY = 300.0
"""Seconds after which 0.21 makes one more pass regardless of earlier results."""


def threshold_for(window: int, fraction: float, *, newer: bool = False) -> int:
    """Return the prompt that is compressed: `_compute_threshold_tokens`; 0.21 caps its minimum at 0.85."""
    if window < _SMALL_WINDOW:
        fraction = max(fraction, _FRACTION_OF_A_SMALL_ONE)
    part = int(window * fraction)
    threshold = max(part, _LEAST_THRESHOLD)
    if newer and threshold > part:
        threshold = min(threshold, max(part, int(window * _FRACTION_OF_THE_SMALLEST)))
    if threshold < window:
        return threshold
    return max(1, min(int(window * _FRACTION_OF_THE_SMALLEST), window - 1))


_LEAN_PART, _LEAN_LEAST, _LEAN_MOST = 0.025, 10_000, 25_000


def lean_tail(window: int, *, newest: bool = False) -> int:
    """Return the tokens that 0.21 spares (`tail_token_budget`), in 0.22 at most a fifth of a window."""
    budget = max(_LEAN_LEAST, min(_LEAN_MOST, int(window * _LEAN_PART)))
    return max(1, min(budget, int(window * PART_OF_WINDOW))) if newest else budget


def _protect_last() -> Any:
    return integer(20, "Number of newest messages spared; each result counts as one.", "messages", maximum=10_000)


def _protect_first(help_text: str) -> Any:
    return integer(3, help_text, "messages", maximum=1_000)


def _minimum(default: int) -> Any:
    return integer(default, "Longest old result that stays whole.", "characters", maximum=10_000_000, group="line")


@dataclass(frozen=True)
class HermesPrepass(Parametrized):
    """Prune old results when a prompt reaches the threshold at which Hermes compresses."""

    name = "hermes-prepass"
    title = "Prune before compressing (Hermes)"
    summary = (
        "When a prompt reaches a fraction of the window, reduce results before the newest messages to a line each."
    )
    source = "hermes-agent 0.19.0, 0.21.0 and 0.22.2 agent/context_compressor.py, _prune_old_tool_results"
    note = (
        "With `version=0.21` the pass spares 2.5 % of the window, less under pressure, and demotes results; with "
        "`version=0.22` it leaves calls and unanswered results whole."
    )

    threshold: float = number(
        0.5, "Fraction of the window; at least 0.75 for windows below 512,000 tokens.", minimum=0.0, maximum=1.0
    )
    tail: float = number(
        0.2,
        "Spared newest part, as a fraction of the threshold; 0 to count messages.",
        minimum=0.0,
        maximum=1.0,
    )
    tail_tokens: int = integer(
        0, "Size of the spared messages instead; 0 to use the fraction.", "tokens", maximum=1_000_000
    )
    protect_last: int = _protect_last()
    minimum: int = _minimum(200)
    window: int = model_window()
    version: str = choice(
        ("0.19", "0.21", "0.22"),
        "Version of the pass: 0.21 spares less and demotes, 0.22 cuts no calls.",
    )
    protect_first: int = _protect_first("First messages that a compression never summarizes, from 0.21 on.")
    rounds: int = integer(
        6,
        "Newest rounds of results never demoted, from 0.21 on; 0 for no demotion.",
        "rounds",
        maximum=1_000,
    )

    def triggers(self, window: int) -> tuple[float, ...]:
        return (threshold_for(self.window or window, self.threshold, newer=self.version != "0.19"),)

    def start(self, history: History) -> HermesPrepassRun:
        return HermesPrepassRun(self, history)


@dataclass(frozen=True)
class HermesProactivePrune(Parametrized):
    """Prune old large results early, in worthwhile batches."""

    name = "hermes-proactive-prune"
    title = "Prune early (Hermes)"
    summary = (
        "Once prompts are long, reduce large results before the newest messages to a line each, in worthwhile batches."
    )
    source = "hermes-agent 0.20 agent/context_compressor.py, prune_tool_results_only"

    trigger: int = integer(48_000, "Prompt tokens at which pruning starts; 0 for never.", "tokens", maximum=2_000_000)
    minimum: int = _minimum(8_000)
    reclaim: int = integer(4_096, "Minimum to reclaim at once.", "tokens", maximum=1_000_000)
    protect_last: int = _protect_last()
    protect_first: int = _protect_first("First messages, counted when checking if there are too few to prune.")
    version: str = choice(("0.20", "0.21", "0.22"), "Version of the pass.")

    def triggers(self, window: int) -> tuple[float, ...]:  # noqa: ARG002  has a fixed number
        return (self.trigger,)

    def start(self, history: History) -> HermesProactivePruneRun:
        return HermesProactivePruneRun(self, history)


class HermesPrepassRun(ThreadRun[HermesPrepass, HermesMessages]):
    """A run of the pass on one session, as in 0.21 (`newer`) or 0.22; without a budget, messages count."""

    def __init__(self, strategy: HermesPrepass, history: History) -> None:
        super().__init__(strategy, history)
        self.window = window = window_of(history, strategy.window)
        self.newer, self.newest = strategy.version != "0.19", strategy.version == "0.22"
        self.threshold = threshold_for(window, strategy.threshold, newer=self.newer)
        is_lean = self.newer and strategy.tail
        part = lean_tail(window, newest=self.newest) if is_lean else int(self.threshold * strategy.tail)
        self.budget = strategy.tail_tokens or part

    def begin(self) -> HermesMessages:
        return HermesMessages(self.history, self.newer, self.newest)

    def begin_again(self, before: HermesMessages) -> HermesMessages:
        """Return a new state that keeps the record of earlier passes."""
        state = self.begin()
        state.failures, state.awaits_outcome = before.failures, before.awaits_outcome
        state.waited, state.has_passed = before.waited, before.has_passed
        return state

    def decide(self, state: HermesMessages, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        state.add(context, self.items(arrived))
        last = context.previous_prompt_tokens
        if last < self.threshold:
            state.failures = 0
        elif state.awaits_outcome:
            state.failures += 1
        state.awaits_outcome = False
        reached = max(last, context.prompt_tokens) >= self.threshold
        if state.waited is not None:
            state.waited += context.idle_seconds or 0.0
        if not reached or self._gives_up(state):
            return ()
        strategy, budget = self.strategy, self.budget
        if self.newer and state.is_too_short(strategy.protect_first):
            return ()
        least = min(strategy.protect_last, _LEAST_SPARED) if self.newer else strategy.protect_last
        boundary = state.tail(budget, least) if budget else len(state.items) - strategy.protect_last
        pending = state.pending(self.window) if self.newest else range(0)
        boundary = min(boundary, pending.start) if pending else boundary
        state.prepare(context, boundary, strategy.minimum, pending)
        if self.newer and budget and not self._fit_tail(state, context, boundary, pending):
            return ()
        state.awaits_outcome = True
        return state.carry_out()

    def _fit_tail(self, state: HermesMessages, context: CallContext, boundary: int, pending: range) -> bool:
        """Find the edits after the summary; return False if 0.22 has nothing to summarize."""
        strategy, before = self.strategy, state.found
        ceiling = soft_ceiling(self.budget, self.window)
        most = ceiling if self.newest else int(self.budget * PRESSURE)
        state.relieve(context, boundary, most, strategy.minimum, pending)
        if not self.newest and not strategy.rounds:
            return True
        first, last = strategy.protect_first, strategy.protect_last
        tail = state.kept(self.budget, first, last, ceiling if self.newest else None)
        if tail is not None and strategy.rounds:
            state.demote(context, tail, strategy.rounds)
        if tail is None and self.newest:
            state.take_back(before)
            return False
        return True

    def _gives_up(self, state: HermesMessages) -> bool:
        """Return True if earlier passes achieved so little that none is made; 0.21 makes one every five minutes."""
        if state.failures < _MOST_FAILURES:
            state.waited = None
            return False
        if not self.newer:
            return True
        if state.waited is None:
            state.waited = 0.0
        elif state.waited >= _RECOVERY:
            state.waited, state.failures = None, _MOST_FAILURES - 1
            return False
        return True


class HermesProactivePruneRun(ThreadRun[HermesProactivePrune, HermesMessages]):
    """A run of the early pass on one session."""

    def __init__(self, strategy: HermesProactivePrune, history: History) -> None:
        super().__init__(strategy, history)
        self._window = window_of(history, 0)
        self._threshold = threshold_for(self._window, _USUAL_THRESHOLD, newer=True)

    def begin(self) -> HermesMessages:
        version = self.strategy.version
        return HermesMessages(self.history, version != "0.20", version == "0.22")

    def decide(self, state: HermesMessages, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        state.add(context, self.items(arrived))
        strategy, count = self.strategy, len(state.items)
        triggered = 0 < strategy.trigger <= context.previous_prompt_tokens and state.items[-1:]
        if not triggered or not state.items[-1].is_result:
            return ()
        too_few = count <= strategy.protect_last + strategy.protect_first + 1
        # In 0.22 a prompt that should be compressed but is not does not wait for growth.
        is_over = state.newest and context.previous_prompt_tokens >= self._threshold
        if too_few or (state.total < state.rearmed_at and not is_over):
            return ()
        boundary, pending = count - strategy.protect_last, range(0)
        if state.newest and (pending := state.pending(self._window)):
            boundary = min(boundary, pending.start)
        state.prepare(context, boundary, strategy.minimum, pending)
        saves = state.saves
        if not state.prunes or saves < strategy.reclaim:
            return ()
        choices = list(state.carry_out())
        state.rearmed_at = state.total + max(saves, strategy.trigger, strategy.reclaim)
        return choices
