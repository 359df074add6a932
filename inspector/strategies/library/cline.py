"""Free space as Cline does when the window is nearly full: drop repeated file contents, then half of the messages.

Source: `ContextManager` of Cline (cline/cline `src/core/context/context-management/ContextManager.ts`,
`context-window-utils.ts`), its rules before model-written condensing. Before each request, the tokens of the previous
one, prompt and answer, are compared with the window's allowance. Above it, all but the newest content of every file
becomes a notice. If that saves less than 30 % of the characters, messages are removed as well. The first question and
answer stay. Half of the rest is removed (three quarters if the window is much too small), an even number that ends with
an answer, and a notice replaces the first answer. Both changes are permanent. Tool results may lose their calls, which
does not matter in Cline's own prompts, where results are user texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.model import BlockKind, TextUnavailableError
from inspector.strategies.core.operations import RecordedBlock, RemoveBlock, ReplaceText, sent_text
from inspector.strategies.core.parametrized import (
    Parametrized,
    choice,
    model_window,
    number,
    string,
    switch,
    window_of,
)
from inspector.strategies.core.rendition import Action, Rendition
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.arguments import path_of
from inspector.strategies.history.conversation_items import MessageList
from inspector.strategies.history.tools import ToolKind, tool_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.rendition import Piece
    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationMessage
    from inspector.strategies.history.history import History


READ_NOTICE = (
    "[[NOTE] This file read has been removed to save space in the context window. Refer to the latest file read for "
    "the most up to date version of this file.]"
)
_HEADING = re.compile(r"\[([^\s]+) for '([^']+)'\] Result:")
_MENTION = re.compile(r'<file_content path="([^"]*)">([\s\S]*?)</file_content>')
_EDITED = re.compile(r'(<final_file_content path="[^"]*">)[\s\S]*?(</final_file_content>)')


class FileMention(NamedTuple):
    """A file's content within a message.

    Attributes:
        block: The block that contains it.
        mention: Index among the file mentions in the block, -1 if the whole block is one file.
    """

    path: str
    block: int
    mention: int = -1


def file_mentions(history: History, turn: ConversationMessage) -> Iterator[FileMention]:
    """Yield the file contents in a user message.

    Cline writes a tool's result as two user texts, a heading (`[read_file for 'a.py'] Result:`) and the content. A
    result of a tool that reads, in any agent's session, counts as a read too. Rules and texts are from Cline's
    `ContextManager` (cline/cline `src/core/context/context-management/ContextManager.ts`).
    """
    session = history.session
    texts = [block for block in turn.blocks if history.kind[block] == BlockKind.USER_TEXT]
    heading = _HEADING.fullmatch(session.blocks[texts[0]].preview) if texts else None
    if heading is not None and len(texts) > 1:
        tool, path = heading.groups()
        edits = tool in ("replace_in_file", "write_to_file")
        if tool == "read_file" or (edits and _EDITED.search(_text(history, texts[1]))):
            yield FileMention(path, texts[1])
        elif not edits:
            yield from _mentions(history, texts[1])
    elif len(texts) > 1:
        yield from _mentions(history, texts[1])
    for block in turn.blocks:
        call = int(history.call_block[block])
        if call >= 0 and tool_kind(session.blocks[block].tool_name) is ToolKind.READ:
            path = path_of(session, session.blocks[call])
            if path:
                yield FileMention(path, block)


def _mentions(history: History, block: int) -> Iterator[FileMention]:
    for at, match in enumerate(_MENTION.finditer(_text(history, block))):
        yield FileMention(match[1], block, at)


def _text(history: History, block: int) -> str:
    try:
        return history.session.text(history.session.blocks[block])
    except TextUnavailableError:
        return ""


@dataclass(frozen=True, slots=True)
class ReplaceContents:
    """Replace file contents with a notice.

    Attributes:
        mentions: Indices of the file mentions to replace; empty if the whole text is one file.
    """

    mentions: frozenset[int] = frozenset()

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        if self.mentions:
            return self._without_mentions(rendition, text)
        edited = _EDITED.search(text) if source.block.kind is BlockKind.USER_TEXT else None
        if edited is None:
            return Rendition.replaced(READ_NOTICE, rendition.kind)
        before = rendition.between(0, edited.end(1))
        after = rendition.between(edited.start(2), len(text))
        return Rendition((*before, f" {READ_NOTICE} ", *after), Action.CUT, rendition.kind)

    def _without_mentions(self, rendition: Rendition, text: str) -> Rendition:
        pieces: list[Piece] = []
        position = 0
        for at, match in enumerate(_MENTION.finditer(text)):
            if at in self.mentions:
                pieces.extend((*rendition.between(position, match.start(2)), READ_NOTICE))
                position = match.end(2)
        if not pieces:
            return rendition
        return Rendition((*pieces, *rendition.between(position, len(text))), Action.CUT, rendition.kind)


NOTICE = (
    "[NOTE] Some previous conversation history with the user has been removed to maintain optimal context window "
    "length. The initial user task has been retained for continuity, while intermediate conversation history has been "
    "removed. Keep this in mind as you continue assisting the user. Pay special attention to the user's latest "
    "messages."
)
_MARGINS = {64_000: 27_000, 128_000: 30_000, 200_000: 40_000}
_KEPT = 2


def allowed_tokens(window: int) -> float:
    """Return the maximum tokens of a prompt and its answer in a window of this size."""
    if window in _MARGINS:
        return window - _MARGINS[window]
    return max(window - 40_000, window * 0.8)


def messages_to_remove(rest: int, keep: str) -> int:
    """Return the number of messages after the first two to remove.

    Args:
        rest: Number of messages after the first two.
        keep: Amount to keep of them: `half`, `quarter`, `last-two` or `none`.
    """
    match keep:
        case "none":
            return max(rest, 0)
        case "last-two":
            return max(rest - 2, 0)
        case "half":
            return rest // 4 * 2
        case _:
            return rest * 3 // 8 * 2


@dataclass(frozen=True)
class ClineTruncate(Parametrized):
    """Drop repeated file contents, then half of the messages, when the window is nearly full."""

    name = "cline-truncate"
    title = "Duplicate reads and truncation (Cline)"
    summary = (
        "When the window is nearly full, drop repeated file contents, then half of the messages if that is not enough."
    )
    source = "cline/cline src/core/context/context-management/ContextManager.ts"
    note = (
        "Messages are counted, not pairs, because Cline's results are user texts: a tool result may be sent without "
        "its call and a call without its result, which APIs refuse."
    )

    window: int = model_window()
    duplicate_reads: bool = switch(True, "Replace all but the newest content of every file first.", group="reads")
    enough: float = number(
        0.3,
        "Saved fraction of the characters that makes truncation unnecessary.",
        minimum=0.0,
        maximum=1.0,
        group="reads",
    )
    keep: str = choice(
        ("by-size", "half", "quarter", "last-two", "none"),
        "Part kept after the first 2; by-size: half, a quarter if twice too large.",
        group="messages",
    )
    notice: str = string(NOTICE, "Text that replaces the first answer.", group="messages")

    def triggers(self, window: int) -> tuple[float, ...]:
        return (allowed_tokens(self.window or window),)

    def start(self, history: History) -> ClineTruncateRun:
        return ClineTruncateRun(self, history)


@dataclass
class _SentMessages:
    """One conversation.

    Attributes:
        messages: Its messages that are still sent.
        seen: File contents in the messages already scanned, by the message's last block, without replaced ones.
        replaced: Replaced contents, by block.
        answer: Tokens of the newest answer.
        has_notice: True if the first answer was replaced.
    """

    messages: MessageList
    seen: dict[int, list[FileMention]] = field(default_factory=dict)
    replaced: dict[int, frozenset[int]] = field(default_factory=dict)
    answer: int = 0
    has_notice: bool = False


class ClineTruncateRun(ThreadRun[ClineTruncate, _SentMessages]):
    """A run of Cline's truncation on one session.

    Attributes:
        allowed: Maximum tokens of a prompt and its answer.
    """

    def __init__(self, strategy: ClineTruncate, history: History) -> None:
        super().__init__(strategy, history)
        self.allowed = allowed_tokens(window_of(history, strategy.window))

    def begin(self) -> _SentMessages:
        return _SentMessages(MessageList(self.history))

    def decide(self, state: _SentMessages, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        before = len(state.messages.turns)
        state.messages.add(self.items(arrived))
        answers = [turn for turn in state.messages.turns[before:] if turn.is_answer]
        if answers:
            state.answer = context.total_tokens(answers[-1].blocks)
        previous = context.previous_prompt_tokens
        if previous and previous + state.answer >= self.allowed:
            return self._make_room(state, previous + state.answer, context)
        return ()

    def _make_room(self, state: _SentMessages, tokens: int, context: CallContext) -> Iterator[Choice]:
        saved = 0.0
        if self.strategy.duplicate_reads:
            characters = self._characters(state, context)
            choices, gone = self._without_duplicates(state, context)
            yield from choices
            saved = gone / characters if characters else 0.0
        if saved < self.strategy.enough or not saved:
            yield from self._truncated(state, tokens)

    def _characters(self, state: _SentMessages, context: CallContext) -> int:
        blocks = (block for turn in state.messages.turns for block in turn.blocks)
        return sum(map(context.length, blocks))

    def _without_duplicates(self, state: _SentMessages, context: CallContext) -> tuple[list[Choice], int]:
        by_path: dict[str, list[FileMention]] = {}
        seen: dict[int, list[FileMention]] = {}
        for turn in state.messages.turns[_KEPT:]:
            if turn.is_answer:
                continue
            key = turn.blocks[-1]
            known = state.seen.get(key)
            seen[key] = list(file_mentions(self.history, turn)) if known is None else known
            for shown in seen[key]:
                by_path.setdefault(shown.path, []).append(shown)
        old = {shown for found in by_path.values() for shown in found[:-1]}
        state.seen = {key: [shown for shown in found if shown not in old] for key, found in seen.items()}
        choices, saved = [], 0
        mentions: dict[int, set[int]] = {}
        for shown in old:
            mentions.setdefault(shown.block, set(state.replaced.get(shown.block, ()))).add(shown.mention)
        for block, places in sorted(mentions.items()):
            operation = ReplaceContents(frozenset(places - {-1}))
            state.replaced[block] = frozenset(places)
            before = context.rendition(block)
            after = operation.apply(before, RecordedBlock(self.history.session, block))
            saved += before.length - after.length
            choices.append(Choice(block, Decision(operation, "newer content of the file follows", "reads", "later")))
        return choices, saved

    def _truncated(self, state: _SentMessages, tokens: int) -> Iterator[Choice]:
        turns = state.messages.turns
        if not state.has_notice and len(turns) > 1:
            state.has_notice = True
            texts = [block for block in turns[1].blocks if self.history.kind[block] == BlockKind.ASSISTANT_TEXT]
            if texts and texts[0] == turns[1].blocks[0]:
                notice = ReplaceText(self.strategy.notice)
                yield Choice(texts[0], Decision(notice, "messages after it were removed", "messages"))
        keep = self.strategy.keep
        if keep == "by-size":
            keep = "quarter" if tokens / 2 > self.allowed else "half"
        end = _KEPT + messages_to_remove(len(turns) - _KEPT, keep)
        if _KEPT < end <= len(turns) and not turns[end - 1].is_answer:
            end -= 1
        removed = Decision(RemoveBlock(), f"removed when a request had {tokens:,} tokens", "messages")
        for turn in turns[_KEPT:end]:
            for block in turn.blocks:
                yield Choice(block, removed)
        del turns[_KEPT:end]
