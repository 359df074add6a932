"""pi's two rules: truncation of tool output at insertion, and compaction of a conversation that fills the window."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.core import javascript
from inspector.strategies.core.measures import ARGUMENT_UNITS, UNITS
from inspector.strategies.core.operations import sent_text
from inspector.strategies.core.parametrized import (
    USUAL_WINDOW,
    Parametrized,
    choice,
    model_window,
    summary_length,
    switch,
    whole,
    written,
)
from inspector.strategies.core.rendition import Action, Rendition
from inspector.strategies.core.schedule_builder import ScheduleBuilder
from inspector.strategies.core.stored_previews import bytes_of, whole_lines
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.core.summarized_beginning import SummarizedBeginning
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.arguments import lines_of, path_of
from inspector.strategies.history.conversation_items import Event, messages_in
from inspector.strategies.history.history import ASSISTANT, MEDIA, NEVER, TOOL_CALL, TOOL_RESULT, USER_TEXT
from inspector.strategies.history.tools import Meaning, meaning_mask
from inspector.strategies.library.summarize import stand_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.strategy import Moment, Schedule
    from inspector.strategies.history.history import History


_NO_LIMIT = 2**53 - 1
_VERSIONS = ("0.73", "1.5")


@dataclass(frozen=True, slots=True)
class KeepHead:
    """Keep the first lines of a text that is over a limit.

    Attributes:
        max_lines: Most lines.
        max_bytes: Most bytes.
        notes: Say what is shown.
        first_line: Number of the text's first line in its file; 0 for a text that is no file's.
        path: The file.
        last_end: A line end that closes the text begins one more line, an empty one.
    """

    max_lines: int
    max_bytes: int
    notes: bool
    first_line: int = 0
    path: str = ""
    last_end: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut what is sent so far."""
        text = _over(rendition, source, self.max_lines, self.max_bytes, last_end=self.last_end)
        if text is None:
            return rendition
        lines = _lines(text, last_end=self.last_end)
        kept = whole_lines(lines, self.max_lines, self.max_bytes)
        note = ""
        if self.notes:
            # Of the file, all lines are counted, the empty one after the last line end too.
            total = text.count("\n") + 1
            note = (
                self._read_note(lines[0], total, kept.lines, hit_bytes=kept.hit_bytes)
                if self.first_line
                else self._limit_note()
            )
        return Rendition((*rendition.between(0, kept.characters), *_piece(note)), Action.CUT, rendition.kind)

    def _read_note(self, line: str, lines: int, shown: int, *, hit_bytes: bool) -> str:
        first, limit = self.first_line, size(self.max_bytes)
        if bytes_of(line) > self.max_bytes:
            return (
                f"[Line {first} is {size(bytes_of(line))}, exceeds {limit} limit. Use bash: "
                f"sed -n '{first}p' {self.path} | head -c {self.max_bytes}]"
            )
        last, total = first + shown - 1, first + lines - 1
        by_bytes = f" ({limit} limit)" if hit_bytes else ""
        return f"\n\n[Showing lines {first}-{last} of {total}{by_bytes}. Use offset={last + 1} to continue.]"

    def _limit_note(self) -> str:
        return f"\n\n[{size(self.max_bytes)} limit reached]"


@dataclass(frozen=True, slots=True)
class KeepTail:
    """Keep the last lines of a text that is over a limit; of a last line over it, the end.

    Attributes:
        max_lines: Most lines.
        max_bytes: Most bytes.
        file: Where the note says the whole output is, `{id}` standing for the tool call's id; empty for no note.
        last_end: A line end that closes the text begins one more line, an empty one; otherwise it is left out where
            the text is cut.
    """

    max_lines: int
    max_bytes: int
    file: str
    last_end: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut what is sent so far."""
        text = _over(rendition, source, self.max_lines, self.max_bytes, last_end=self.last_end)
        if text is None:
            return rendition
        lines = _lines(text, last_end=self.last_end)
        kept = whole_lines(lines[::-1], self.max_lines, self.max_bytes)
        characters, shown, partial = kept.characters, kept.lines, kept.hit_bytes and not kept.lines
        if partial:
            characters, shown = len(_end(lines[-1], self.max_bytes)), 1
        # What pi takes for the size of the line it cuts is what follows the last line end.
        closed = not self.last_end and text.endswith("\n")
        end_of_text = len(text) - closed
        start = end_of_text - characters
        note = ""
        if self.file:
            total, where = len(lines), f"Full output: {self.file.replace('{id}', source.block.tool_call_id)}]"
            if partial:
                end = size(bytes_of(text[start:end_of_text]))
                whole_line = size(0 if closed else bytes_of(lines[-1]))
                what = f"[Showing last {end} of line {total} (line is {whole_line}). "
            else:
                by_bytes = f" ({size(self.max_bytes)} limit)" if kept.hit_bytes else ""
                what = f"[Showing lines {total - shown + 1}-{total} of {total}{by_bytes}. "
            note = f"{'' if characters else '(no output)'}\n\n{what}{where}"
        return Rendition((*rendition.between(start, end_of_text), *_piece(note)), Action.CUT, rendition.kind)


def _lines(text: str, *, last_end: bool) -> list[str]:
    lines = text.split("\n")
    if not last_end and not lines[-1]:
        lines.pop()
    return lines


def _over(rendition: Rendition, source: BlockSource, max_lines: int, max_bytes: int, *, last_end: bool) -> str | None:
    """The text, if it has too many lines or bytes."""
    # A text without line ends has one line, and no character has more than four bytes.
    if rendition.length < max_lines and rendition.length * 4 <= max_bytes:
        return None
    text = sent_text(rendition, source)
    if text is None:
        return None
    lines = text.count("\n") + (last_end or not text.endswith("\n"))
    if lines <= max_lines and bytes_of(text) <= max_bytes:
        return None
    return text


def _piece(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _end(line: str, max_bytes: int) -> str:
    """The last whole characters of a line that fit a number of bytes."""
    encoded = line.encode("utf-8", "surrogatepass")
    start = len(encoded) - max_bytes
    while start < len(encoded) and encoded[start] & 0xC0 == 0x80:
        start += 1
    return encoded[start:].decode("utf-8", "surrogatepass")


def size(count: int) -> str:
    """A number of bytes for people, halves of the last digit rounded up."""
    for unit, step in (("B", 1), ("KB", 1024), ("MB", 1024 * 1024)):
        if count < step * 1024 or unit == "MB":
            break
    if unit == "B":
        return f"{count}B"
    tenths = (20 * count + step) // (2 * step)
    return f"{tenths // 10}.{tenths % 10}{unit}"


@dataclass(frozen=True)
class PiTruncate(Parametrized):
    """Keep the beginning of files and the end of commands' output, once, when they are inserted.

    Source: `core/tools/truncate.js` and the tools around it of @mariozechner/pi-coding-agent 0.73.1. Limits are lines
    and bytes, and lines are kept whole; only a last line of a command that is too long by itself loses its beginning.
    Reads and commands end with a note on what is shown and how to see the rest; searches and listings have no limit of
    lines and say that one was reached. Tools pi does not have are left alone. The file with the whole output has a name
    of its own there; here it is named after the tool call.

    With `version=1.5` as in @earendil-works/pi-coding-agent 1.5.2, which the package became: since 0.75.5 a line end
    that closes a text begins no line of its own, so that 2,000 lines are 2,000 whether or not the last one is closed.
    """

    name = "pi-truncate"
    title = "Truncate at insertion (pi)"
    summary = "Insert only as many lines as fit: the first of files and searches, the last of commands."
    source = "@mariozechner/pi-coding-agent 0.73.1 core/tools/truncate.js"

    max_lines: int = whole(2_000, "Most lines that are inserted.", "lines", maximum=1_000_000)
    max_bytes: int = whole(51_200, "Most bytes that are inserted.", "bytes", maximum=100_000_000)
    notes: bool = switch(True, "Say what is shown and how to see the rest.")
    file: str = written("/tmp/pi-bash-{id}.log", "Where the agent saves the whole output of a command.")  # noqa: S108  what the described system writes into its note; nothing is saved here
    version: str = choice(
        _VERSIONS, "Whether a line end that closes a text begins one more line (0.73) or not (1.5, and since 0.75.5)."
    )

    def schedule(self, history: History) -> Schedule:
        """Every result is decided when it enters."""
        builder = ScheduleBuilder(history)
        results = history.results[history.enters[history.results] != NEVER]
        # What is shorter than either limit cannot be over it.
        shortest = min(self.max_lines, (self.max_bytes + 3) // 4)
        results = results[history.characters[results] >= shortest]

        def of(*meanings: Meaning) -> NDArray[np.int32]:
            chosen: NDArray[np.int32] = results[meaning_mask(history.tool_names, meanings)[history.tool[results]]]
            return chosen

        reason = "too many lines or bytes at insertion"
        last_end, file = self.version == _VERSIONS[0], self.file if self.notes else ""
        listed = KeepHead(_NO_LIMIT, self.max_bytes, self.notes, last_end=last_end)
        for chosen, operation, group in (
            (of(Meaning.SHELL), KeepTail(self.max_lines, self.max_bytes, file, last_end), "shell"),
            (of(Meaning.SEARCH, Meaning.LIGHT), listed, "search"),
        ):
            builder.add_at_insertion(chosen, Decision(operation, reason, group))
        for block in of(Meaning.READ).tolist():
            decision = Decision(self._read(history, block), reason, "read")
            builder.add_at_insertion(np.array([block], dtype=np.int32), decision)
        return builder.schedule()

    def _read(self, history: History, block: int) -> KeepHead:
        session, call = history.session, int(history.call_block[block])
        last_end = self.version == _VERSIONS[0]
        if call < 0:
            return KeepHead(self.max_lines, self.max_bytes, self.notes, 1, "", last_end)
        asked = session.blocks[call]
        first = max(int(lines_of(session, asked).offset or 1), 1)
        return KeepHead(self.max_lines, self.max_bytes, self.notes, first, path_of(session, asked), last_end)


_OPENING = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
_CLOSING = "\n</summary>"
_PER_TOKEN = 4
_PER_IMAGE = 4_800
_IMAGE = int(BlockKind.IMAGE)


def pi_tokens(moment: Moment, blocks: Iterable[int], *, images: bool = False) -> int:
    """What pi takes a message for: `estimateTokens` (`core/compaction/compaction.js`), a quarter of its characters.

    Args:
        moment: What is known at a call.
        blocks: The message's blocks.
        images: Count the images of the user too, as newer versions do.
    """
    history, characters = moment.history, 0
    for index in blocks:
        block, kind = history.session.blocks[index], history.kind_bytes[index]
        if kind == TOOL_CALL:
            characters += javascript.length(block.tool_name) + ARGUMENT_UNITS.sent(moment, index)
        elif kind not in MEDIA:
            characters += UNITS.sent(moment, index)
            characters += _PER_IMAGE * len(block.media) if kind == TOOL_RESULT else 0
        elif images and kind == _IMAGE:
            characters += _PER_IMAGE
    return -(-characters // _PER_TOKEN)


@dataclass(frozen=True)
class PiCompaction(Parametrized):
    """Replace all but the newest messages by a summary once the window is nearly full.

    Source: `core/compaction` and `core/agent-session.js` of @mariozechner/pi-coding-agent 0.73.1. When a run of the
    agent has ended and the last response's tokens, prompt and answer, leave less of the window than is reserved,
    everything before the newest messages is replaced by one message of the user with a summary. During a run nothing is
    compacted until the window overflows. The cut falls on the first message of the user or the model at or after the
    point from which on the newest messages come to the tokens that are kept, never on a tool result; where a single
    newest result is as large as that, there is no such message, and nothing goes.

    With `version=1.5` as in @earendil-works/pi-coding-agent 1.5.2, which the package became. A run is compacted between
    its calls too, once the last response's tokens and an estimate of the results after it leave too little (since
    0.84.4). Where the newest results alone come to what is kept, the cut falls on the last message that is no result,
    the one that called for them, so that something goes (since 0.86.0). Images of the user count, as those of results
    do.

    No model is asked for the summary: a text of the length it is taken to have stands in for it, so that what follows
    is projected.
    """

    name = "pi-compaction"
    title = "Compaction (pi)"
    summary = (
        "When a run ended with the window nearly full, or overflows it, replace all but the newest messages by a "
        "summary of an assumed length."
    )
    source = "@mariozechner/pi-coding-agent 0.73.1 core/compaction/compaction.js"

    reserve: int = whole(16_384, "What is to be left of the window.", "tokens", maximum=1_000_000)
    keep: int = whole(20_000, "What the newest messages that stay come to.", "tokens", maximum=1_000_000)
    window: int = model_window()
    summary_tokens: int = summary_length()
    version: str = choice(
        _VERSIONS,
        "Whether it compacts only when a run ended or the window overflows (0.73), or during a run too (1.5).",
    )

    def triggers(self, window: int) -> tuple[float, ...]:
        """What is left of the window without the reserve."""
        return ((self.window or window) - self.reserve,)

    def start(self, history: History) -> PiCompactionRun:
        """A fresh run over one session."""
        return PiCompactionRun(self, history)


@dataclass
class _Compacted:
    """One conversation.

    Attributes:
        sent: Its messages, and the summary that stands for the first of them.
        cuts: Those a cut may fall on.
        has_called: Whether a call was made before.
    """

    sent: SummarizedBeginning[Event] = field(default_factory=SummarizedBeginning)
    cuts: list[int] = field(default_factory=list)
    has_called: bool = False

    def add(self, message: Event, tokens: int) -> None:
        """Take in a message."""
        if not message.is_result:
            self.cuts.append(len(self.sent.messages))
        self.sent.add(message, tokens)

    def cut(self, keep: int, *, calls_last: bool) -> int:
        """The first message that stays when the newest are to come to `keep` tokens.

        Args:
            keep: Those tokens.
            calls_last: Where the newest results alone come to as much, cut before the call for them, not at all.
        """
        sent = self.sent
        first = bisect_left(self.cuts, sent.start)
        if first == len(self.cuts):
            return sent.start
        # The last message from which on everything comes to as much: sums[at - 1] <= total - keep.
        at = min(bisect_right(sent.sums, sent.since(0) - keep), len(sent.sums) - 1)
        if keep > sent.since(sent.start):
            return self.cuts[first]
        place = bisect_left(self.cuts, max(at, sent.start))
        return self.cuts[place] if place < len(self.cuts) else self.cuts[-1 if calls_last else first]


class PiCompactionRun(ThreadRun[PiCompaction, _Compacted]):
    """The compacting at work on one session.

    Attributes:
        window: Size of the model's window in tokens.
        newer: It works as version 1.5 does.
    """

    def __init__(self, strategy: PiCompaction, history: History) -> None:
        super().__init__(strategy, history)
        recorded = history.session.window if history.window is None else history.window
        self.window = strategy.window or (USUAL_WINDOW if recorded is None else recorded)
        self.newer = strategy.version != _VERSIONS[0]

    def begin(self) -> _Compacted:
        """No message yet."""
        return _Compacted()

    def decide(self, state: _Compacted, arrived: list[int], moment: Moment) -> Iterable[Choice]:
        """Take in what arrived; compact before a new question where the window is nearly full, or when it overflows."""
        choices: list[Choice] = []
        used = moment.previous_prompt_tokens
        is_due = has_results = False
        for item in self.items(arrived):
            for message in messages_in(self.history, item):
                if state.has_called and self._asks(message) and not is_due and self._is_full(used):
                    choices.extend(self._compact(state, moment, used))
                    is_due = True
                if self._answers(message):
                    used += moment.total_tokens(message.blocks) if state.has_called else 0
                tokens = pi_tokens(moment, message.blocks, images=self.newer)
                state.add(message, tokens)
                if message.is_result:
                    has_results = True
                    used += tokens if self.newer and state.has_called else 0
        # What pi calls a turn ended: results have come, and the model is to answer them.
        if self.newer and state.has_called and has_results and not is_due and self._is_full(used):
            choices.extend(self._compact(state, moment, used))
            is_due = True
        if not state.has_called and moment.previous_prompt_tokens and self._is_full(used):
            choices.extend(self._compact(state, moment, used))
        # Where something is sent again, the prompt was measured without it, and pi waits for the provider's count.
        elif not choices and not self.again and moment.prompt_tokens > self.window:
            choices.extend(self._compact(state, moment, moment.prompt_tokens))
        state.has_called = True
        return choices

    def _is_full(self, tokens: int) -> bool:
        return tokens > self.window - self.strategy.reserve

    def _asks(self, message: Event) -> bool:
        return not message.is_result and self.history.kind_bytes[message.blocks[0]] == USER_TEXT

    def _answers(self, message: Event) -> bool:
        return not message.is_result and self.history.kind_bytes[message.blocks[0]] in ASSISTANT

    def _compact(self, state: _Compacted, moment: Moment, tokens: int) -> Iterable[Choice]:
        cut = state.cut(self.strategy.keep, calls_last=self.newer) if state.sent.messages else 0
        gone = state.sent.blocks_until(cut)
        if not gone:
            return ()
        moment.note_model_call(moment.total_tokens(gone), self.strategy.summary_tokens)
        said = _OPENING + stand_in(cut, self.strategy.summary_tokens) + _CLOSING
        return state.sent.summarize(cut, said, f"compacted at {tokens:,} tokens")
