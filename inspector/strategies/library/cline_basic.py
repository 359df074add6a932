"""Cline's compaction without a model (`basic`): typed text stays, work is dropped and summarized in a notice.

Source: cline/cline at 21cb8d2525, `sdk/packages/core/src/extensions/context/basic-compaction.ts`,
`compaction-shared.ts` and `budget-projection/project.ts`. It also runs if the compaction by a model fails. Everything
the user typed stays, trimmed; attachments stay only in the newest question. After the newest question, the newest
messages that fit the target size stay, starting with an answer. Of each earlier turn the last answer without a call
stays if it fits, newest turn first. Thinking is removed. A notice after a question lists the dropped work: the files
read and edited and the commands run by Cline's own tools, and any of the last three answers among it. Messages that
survive one compaction survive the next one too.

The budget is for messages: the part of the measured prompt beyond them is subtracted. Messages are assumed to have ids,
as Cline assigns them. If the remaining messages exceed the trigger size, texts are cut, newest first, and then messages
dropped, oldest first, except the first and the newest question (`buildBudgetProjection`). A result in several parts is
cut as one text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from inspector.session.json import mapping, objects, sequence, string
from inspector.session.model import BlockKind, TextUnavailableError
from inspector.strategies.core import javascript
from inspector.strategies.core.operations import RemoveBlock, ReplaceText, ReplaceWithMessage
from inspector.strategies.core.strategy import CallContext, Choice, Decision
from inspector.strategies.history.history import MEDIA, THINKING, TOOL_CALL, TOOL_RESULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


class MessageLength(Protocol):
    """A function that measures a message made of some blocks and further texts."""

    def __call__(self, blocks: Sequence[int], texts: Sequence[str], cut: Mapping[int, str], *, is_answer: bool) -> int:
        """Return its characters as JSON; `cut` has replacement texts of cut blocks, `is_answer` means by the model."""
        ...


PRESERVED_ANSWERS = 3
LONGEST_COMMAND = 100

_PER_TOKEN = 3
_NO_NOTE = 16

_NOTICE = "<SYSTEM_NOTICE>\nEarlier context was compacted. Summary of your actions after the request above:\n"
_DIFF_LINE = re.compile(r"(?:^|\n|\\n)[-+]([0-9]+): ")
_PATHS = ("path", "file_path", "target_file", "new_file_path", "old_file_path")


def _trimmed(text: str) -> str:
    return text.strip(javascript.WHITE_SPACE)


@dataclass
class ClineMessage:
    """A message as sent: blocks, notices by the block that carries each, and whether it is frozen since earlier."""

    blocks: list[int]
    is_typed: bool = False
    is_answer: bool = False
    notices: dict[int, str] = field(default_factory=dict)
    is_frozen: bool = False

    @property
    def own(self) -> list[int]:
        """Its blocks except carriers of notices."""
        return [block for block in self.blocks if block not in self.notices]


@dataclass
class ToolActivity:
    """Tool activity in dropped messages: `ToolActivitySummary`."""

    read: dict[str, None] = field(default_factory=dict)
    edited: dict[str, None] = field(default_factory=dict)
    commands: dict[str, None] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Text of the notice: `formatToolActivitySummary`."""
        parts = (("Files read", self.read), ("Files edited", self.edited), ("Commands ran", self.commands))
        return "\n\n".join(f"{name}:\n" + "\n".join(found) for name, found in parts)


class BasicCompaction:
    """One compaction of a conversation: `runBasicCompaction`."""

    def __init__(self, messages: list[ClineMessage], context: CallContext, length: MessageLength) -> None:
        self._messages = messages
        self._context = context
        self._kinds = context.history.kind_bytes
        self._measure = length
        self._typed = [place for place, message in enumerate(messages) if message.is_typed]
        self.cut: dict[int, str] = {}

    def kept(self, target: int, ceiling: int) -> dict[int, list[int]]:
        """Return the blocks that stay by message index, up to token sizes; empty if the user typed nothing."""
        messages = self._messages
        newest = self._typed[-1] if self._typed else -1
        kept: dict[int, list[int]] = {}
        total = 0
        for place in self._typed:
            blocks = [block for block in messages[place].blocks if self._has_text(block, messages[place])]
            if place != newest:
                blocks = [
                    block for block in blocks if self._kinds[block] not in MEDIA or block in messages[place].notices
                ]
            if blocks:
                kept[place] = blocks
                total += self._cost(messages[place], blocks)
        if not kept:
            return {}
        for place, message in enumerate(messages):
            if message.is_frozen and not message.is_typed:
                kept[place] = message.blocks
                total += self._cost(message, message.blocks)
        total = self._keep_newest(kept, newest, total, target)
        total = self._keep_answers(kept, total, target)
        kinds = self._kinds
        for place, blocks in kept.items():
            carriers = messages[place].notices
            kept[place] = [block for block in blocks if kinds[block] != THINKING or block in carriers]
        kept = {place: kept[place] for place in sorted(kept) if kept[place]}
        return self._projected(kept, min(max(target, total), max(ceiling, 1)))

    def _projected(self, kept: dict[int, list[int]], target: int) -> dict[int, list[int]]:
        """Cut texts, then drop messages, if the remaining messages exceed the target: `buildBudgetProjection`."""
        messages, sizes = self._messages, {place: self._cost(self._messages[place], kept[place]) for place in kept}
        typed = [place for place in kept if messages[place].is_typed]
        total = sum(sizes.values())
        if total <= target:
            return kept
        tail = self._unanswered(kept)
        for place in reversed(list(kept)):
            if total <= target:
                return kept
            if (
                place == typed[-1]
                or place >= tail
                or not any(self._is_text(messages[place], block) for block in kept[place])
            ):
                continue
            length = self._length(messages[place], kept[place])
            per_token = max(1.0, length / sizes[place])
            self._cut(messages[place], kept[place], max(16, int(target * per_token / len(kept))))
            total -= sizes[place]
            sizes[place] = self._cost(messages[place], kept[place])
            total += sizes[place]
        for place in list(kept):
            if total <= target:
                break
            if place not in kept or place in (typed[0], typed[-1]):
                continue
            gone = self._together(kept, place)
            if typed[0] in gone or typed[-1] in gone or max(gone) >= tail:
                continue
            total -= sum(sizes[at] for at in gone)
            kept = {at: blocks for at, blocks in kept.items() if at not in gone}
        # A dropped block may carry a notice, which is not cut.
        self.cut = {block: self.cut[block] for blocks in kept.values() for block in blocks if block in self.cut}
        return kept

    def _unanswered(self, kept: dict[int, list[int]]) -> int:
        """Return the last message with an unanswered call; nothing from it on is cut or dropped."""
        answered = {name for place in kept for name in self._linked(place, kept, TOOL_RESULT)}
        return next(
            (place for place in reversed(list(kept)) if self._linked(place, kept, TOOL_CALL) - answered),
            len(self._messages),
        )

    def _together(self, kept: dict[int, list[int]], place: int) -> set[int]:
        """Return a message and all messages linked to it by calls and results: `collectMessageClosure`."""
        found, names = {place}, self._linked(place, kept)
        while more := {at for at in kept if at not in found and self._linked(at, kept) & names}:
            found |= more
            names.update(*(self._linked(at, kept) for at in more))
        return found

    def _linked(self, place: int, kept: dict[int, list[int]], *kinds: int) -> set[str]:
        """Return the ids of a message's calls and results, optionally of some kinds, except carriers of notices."""
        recorded, notices = self._context.history.session.blocks, self._messages[place].notices
        wanted = kinds or (TOOL_CALL, TOOL_RESULT)
        own = (block for block in kept[place] if block not in notices and self._kinds[block] in wanted)
        return {recorded[block].tool_call_id for block in own}

    def _is_text(self, message: ClineMessage, block: int) -> bool:
        return block in message.notices or self._kinds[block] not in (*MEDIA, TOOL_CALL, THINKING)

    def _cut(self, message: ClineMessage, blocks: Iterable[int], limit: int) -> None:
        """Cut the texts of a message to a total number of characters: `truncateMessageText`."""
        for block in blocks:
            if self._is_text(message, block):
                self.cut[block] = cut = truncated(self._as_sent(message, block), limit)
                limit -= javascript.length(cut) if limit > 0 else 0

    def _as_sent(self, message: ClineMessage, block: int) -> str:
        if block in self.cut:
            return self.cut[block]
        if block in message.notices:
            return _trimmed(message.notices[block])
        return _trimmed(self._text(block)) if message.is_typed else self._text(block)

    def _keep_newest(self, kept: dict[int, list[int]], newest: int, total: int, target: int) -> int:
        """Keep as many messages after the newest question as fit, newest first; return the total tokens kept."""
        messages = self._messages
        start, room = len(messages), target - total
        for place in range(len(messages) - 1, newest, -1):
            if messages[place].is_frozen:
                break
            room -= self._cost(messages[place], messages[place].blocks)
            if room < 0:
                break
            start = place
        while start < len(messages) and not messages[start].is_answer:
            start += 1
        for place in range(start, len(messages)):
            kept[place] = messages[place].blocks
            total += self._cost(messages[place], messages[place].blocks)
        return total

    def _keep_answers(self, kept: dict[int, list[int]], total: int, target: int) -> int:
        """Keep the last answers of earlier turns that fit, newest first; return the tokens kept in total."""
        for begin, end in reversed(list(pairwise(self._typed))):
            for place in range(end - 1, begin, -1):
                message = self._messages[place]
                if message.is_frozen:
                    break
                if not message.is_answer or any(self._kinds[block] == TOOL_CALL for block in message.blocks):
                    continue
                blocks = [block for block in message.blocks if self._kinds[block] != THINKING]
                if any(_trimmed(self._text(block)) for block in blocks if self._kinds[block] not in MEDIA):
                    cost = self._cost(message, blocks)
                    if total + cost <= target:
                        kept[place] = blocks
                        total += cost
                break
        return total

    def notices(self, kept: dict[int, list[int]]) -> Iterator[tuple[int, range, str]]:
        """Yield the notices of dropped messages: the question before each, the messages it covers, and its text."""
        messages = self._messages
        parts = [place for place, message in enumerate(messages) if self._answer(message)][-PRESERVED_ANSWERS:]
        places = [*kept, len(messages)]
        for place, following in pairwise(places):
            gap = range(place + 1, following)
            if not messages[place].is_typed or not gap:
                continue
            work = self._work(gap)
            answers = [self._answer(messages[at]) for at in parts if at in gap]
            if work.read or work.edited or work.commands or answers:
                responses = "\n\nYour recent responses:\n" + "\n---\n".join(answers) if answers else ""
                yield place, gap, f"{_NOTICE}{work.text}{responses}</SYSTEM_NOTICE>"

    def _has_text(self, block: int, message: ClineMessage) -> bool:
        if block in message.notices:
            return bool(_trimmed(message.notices[block]))
        return self._kinds[block] in MEDIA or bool(_trimmed(self._text(block)))

    def cost(self, message: ClineMessage) -> int:
        return self._cost(message, message.blocks)

    def _cost(self, message: ClineMessage, blocks: Sequence[int]) -> int:
        return tokens_of(self._length(message, blocks))

    def _length(self, message: ClineMessage, blocks: Sequence[int]) -> int:
        parts = [block for block in blocks if block in message.notices]
        if message.is_typed:
            parts = [block for block in blocks if block in message.notices or self._kinds[block] not in MEDIA]
        own = [block for block in blocks if block not in parts]
        return self._measure(
            own, [self._as_sent(message, block) for block in parts], self.cut, is_answer=message.is_answer
        )

    def _text(self, block: int) -> str:
        try:
            return self._context.text(block)
        except TextUnavailableError:
            return ""

    def _answer(self, message: ClineMessage) -> str:
        if not message.is_answer:
            return ""
        kinds = self._kinds
        texts = (_trimmed(self._text(block)) for block in message.blocks if kinds[block] not in (THINKING, TOOL_CALL))
        return "\n".join(filter(None, texts))

    def _work(self, places: Iterable[int]) -> ToolActivity:
        """Summarize the tool activity of some messages: `summarizeToolActivity`."""
        found = ToolActivity()
        edits: dict[str, str] = {}
        blocks = self._context.history.session.blocks
        for place in places:
            for block in self._messages[place].own:
                kind, identifier = self._kinds[block], blocks[block].tool_call_id
                if kind == TOOL_CALL:
                    self._note_call(found, edits, blocks[block].tool_name, identifier, self._text(block))
                elif kind == TOOL_RESULT and identifier in edits:
                    path, lines = edits.pop(identifier), changed_lines(self._text(block))
                    _note(found.edited, path if lines is None else f"{path}:{lines[0]}-{lines[1]}")
        for path in edits.values():
            _note(found.edited, path)
        return found

    @staticmethod
    def _note_call(found: ToolActivity, edits: dict[str, str], tool: str, identifier: str, arguments: str) -> None:
        given = mapping(_read(arguments))
        if tool == "read_files":
            files = given.get("files")
            entries = [_read_entry(one) for one in objects(files)] if isinstance(files, list) else paths_in(given)
            for entry in entries:
                _note(found.read, entry)
        elif tool in ("editor", "apply_patch"):
            if paths := paths_in(given):
                edits[identifier] = paths[0]
        elif tool == "run_commands":
            for command in sequence(given.get("commands")):
                if isinstance(command, str) and (reported := _trimmed(command)):
                    is_long = javascript.length(reported) > LONGEST_COMMAND
                    _note(found.commands, f"{javascript.head(reported, LONGEST_COMMAND)}..." if is_long else reported)


def tokens_of(characters: int) -> int:
    """Estimate tokens as `estimateTokens` does: a third of the characters, rounded up, at least one."""
    return max(1, -(-characters // _PER_TOKEN))


def truncated(text: str, limit: int) -> str:
    """Cut a text to a number of characters, including a note of how many are missing: `truncateText`."""
    if limit <= 0:
        return ""
    length = javascript.length(text)
    if length <= limit:
        return text
    if limit <= _NO_NOTE:
        return javascript.head(text, limit)
    keep = max(1, limit - len(f"\n...[truncated {length - limit} chars]"))
    return f"{javascript.head(text, keep)}\n...[truncated {length - keep} chars]"


def _note(found: dict[str, None], value: str) -> None:
    if reported := _trimmed(value):
        found[reported] = None


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read_entry(file: dict[str, Any]) -> str:
    """Format a file that was read, with its lines if both ends are given: `formatReadFileEntry`."""
    path = _trimmed(string(file.get("path")))
    start, end = file.get("start_line"), file.get("end_line")
    if path and all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (start, end)):
        return f"{path}:{_number(start)}-{_number(end)}"
    return path


def _number(value: Any) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def paths_in(value: Any) -> list[str]:
    """Collect the paths in a tool's arguments: `collectPaths`."""
    if isinstance(value, str):
        return [value] if _trimmed(value) else []
    if isinstance(value, list):
        return [path for one in value for path in paths_in(one)]
    if not isinstance(value, dict):
        return []
    found = [path for name in _PATHS for path in paths_in(value.get(name))]
    found += [path for one in objects(value.get("files")) for path in paths_in(one.get("path"))]
    return found + (paths_in(value["file_paths"]) if isinstance(value.get("file_paths"), list) else [])


def changed_lines(text: str) -> tuple[int, int] | None:
    """Return the first and last line number in an edit's result: `extractDiffLineRange`."""
    inside = mapping(_read(text)).get("result")
    lines = [int(number) for number in _DIFF_LINE.findall(inside if isinstance(inside, str) else text)]
    return (min(lines), max(lines)) if lines else None


class CompactionResult(NamedTuple):
    """The changes of a compaction, none if the conversation stays, and its estimated tokens."""

    messages: list[ClineMessage]
    tokens: int
    choices: list[Choice]


def compact(
    messages: list[ClineMessage], context: CallContext, limits: tuple[int, int], length: MessageLength, reason: str
) -> CompactionResult:
    """Compact a conversation to the target and maximum in `limits`, in estimated tokens."""
    compaction = BasicCompaction(messages, context, length)
    kept = compaction.kept(*limits) if len(messages) > 1 else {}
    if not kept:
        return CompactionResult(messages, 0, [])
    notices = {place: (gap, text) for place, gap, text in compaction.notices(kept)}
    choices: list[Choice] = []
    stays: set[int] = set()
    after: list[ClineMessage] = []
    for place, blocks in kept.items():
        message = messages[place]
        stays.update(blocks)
        by_name = {block: compaction.cut.get(block, _trimmed(text)) for block, text in message.notices.items()}
        now = ClineMessage(list(blocks), message.is_typed, message.is_answer, by_name, not message.is_typed)
        choices += _changes(message, blocks, context, compaction.cut, reason)
        if place in notices:
            gap, text = notices[place]
            carrier = next(block for at in gap for block in messages[at].blocks)
            now.blocks.append(carrier)
            now.notices[carrier] = text
            stays.add(carrier)
            choices.append(Choice(carrier, Decision(ReplaceWithMessage(text, BlockKind.USER_TEXT), reason)))
        if after and now.is_typed and after[-1].is_typed:
            after[-1].blocks += now.blocks
            after[-1].notices.update(now.notices)
        else:
            after.append(now)
    removed = Decision(RemoveBlock(), reason)
    choices += [Choice(block, removed) for message in messages for block in message.blocks if block not in stays]
    if not choices:
        return CompactionResult(messages, 0, [])
    return CompactionResult(after, sum(compaction.cost(message) for message in after), choices)


def _changes(
    message: ClineMessage, blocks: Iterable[int], context: CallContext, cut: Mapping[int, str], reason: str
) -> Iterator[Choice]:
    """Yield the changes to blocks that stay: trim typed text, send results without pictures, cut texts."""
    kinds, recorded = context.history.kind_bytes, context.history.session.blocks
    for block in blocks:
        if block in message.notices:
            reported = cut.get(block, _trimmed(message.notices[block]))
            if reported != message.notices[block]:
                yield Choice(block, Decision(ReplaceWithMessage(reported, BlockKind.USER_TEXT), reason))
        elif block in cut:
            if cut[block] != context.text(block):
                yield Choice(block, Decision(ReplaceText(cut[block]), reason))
        elif message.is_typed and kinds[block] not in MEDIA:
            text = context.text(block)
            if _trimmed(text) != text:
                yield Choice(block, Decision(ReplaceText(_trimmed(text)), reason))
        elif kinds[block] == TOOL_RESULT and not message.is_frozen and recorded[block].media:
            yield Choice(block, Decision(ReplaceText(context.text(block)), reason))
