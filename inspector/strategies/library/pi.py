"""pi's two rules: truncation of tool output at insertion, and compaction of a conversation that fills the window."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.core import javascript
from inspector.strategies.core.batching import ScheduleBuilder
from inspector.strategies.core.measures import ARGUMENT_UNITS, UNITS
from inspector.strategies.core.operations import Action, BlockSource, Rendition, sent_text
from inspector.strategies.core.stored_previews import bytes_of, whole_lines
from inspector.strategies.core.strategy import (
    DEFAULT_WINDOW,
    Choice,
    Decision,
    Parametrized,
    choice,
    integer,
    model_window,
    string,
    summary_length,
    switch,
)
from inspector.strategies.core.thread_runs import SummarizedPrefix, ThreadRun
from inspector.strategies.history.conversation_items import Event, split_messages
from inspector.strategies.history.history import ASSISTANT, MEDIA, NEVER, TOOL_CALL, TOOL_RESULT, USER_TEXT, History
from inspector.strategies.history.reads import lines_of, path_of
from inspector.strategies.history.tools import ToolKind, tool_kind_mask
from inspector.strategies.library.micro_x import summary_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.strategies.core.strategy import CallContext, Schedule


_NO_LIMIT = 2**53 - 1
_VERSIONS = ("0.73", "1.5")


@dataclass(frozen=True, slots=True)
class KeepHead:
    """Keep the first lines of a text over a limit.

    Attributes:
        notes: Append a note on the lines shown.
        first_line: Number of the text's first line in its file; 0 for a text that is not from a file.
        last_end: True if a line end at the end of the text starts another, empty line.
    """

    max_lines: int
    max_bytes: int
    notes: bool
    first_line: int = 0
    path: str = ""
    last_end: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = _over(rendition, source, self.max_lines, self.max_bytes, last_end=self.last_end)
        if text is None:
            return rendition
        lines = _lines(text, last_end=self.last_end)
        kept = whole_lines(lines, self.max_lines, self.max_bytes)
        note = ""
        if self.notes:
            # All lines of the file are counted, including the empty one after the last line end.
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
    """Keep the last lines of a text over a limit; if the last line alone is over it, its end.

    Attributes:
        file: File name shown for the full output, with `{id}` for the tool call's id; empty for no note.
        last_end: True if a line end at the end of the text starts another, empty line; otherwise it is dropped if the
            text is cut.
    """

    max_lines: int
    max_bytes: int
    file: str
    last_end: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = _over(rendition, source, self.max_lines, self.max_bytes, last_end=self.last_end)
        if text is None:
            return rendition
        lines = _lines(text, last_end=self.last_end)
        kept = whole_lines(lines[::-1], self.max_lines, self.max_bytes)
        characters, shown, partial = kept.characters, kept.lines, kept.hit_bytes and not kept.lines
        if partial:
            characters, shown = len(_end(lines[-1], self.max_bytes)), 1
        # pi measures the line it cuts from the last line end.
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
    # A text without line ends has one line, and a character has at most four bytes.
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
    """Return the longest end of a line, in whole characters, that fits a number of bytes."""
    encoded = line.encode("utf-8", "surrogatepass")
    start = len(encoded) - max_bytes
    while start < len(encoded) and encoded[start] & 0xC0 == 0x80:
        start += 1
    return encoded[start:].decode("utf-8", "surrogatepass")


def size(count: int) -> str:
    """Format a number of bytes for display, rounding half up."""
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
    and bytes, and lines stay whole; only a last line of a command that is too long on its own loses its beginning.
    Reads and commands end with a note on the part shown and how to see the rest. Searches and listings have no limit of
    lines and mention a reached limit. Tools pi does not have are left alone. The real program generates a file name for
    the full output; here it derives from the tool call.

    `version=1.5` follows @earendil-works/pi-coding-agent 1.5.2, the package's successor: since 0.75.5 a newline at the
    end does not start another line, so 2,000 lines count as 2,000 with or without it.
    """

    name = "pi-truncate"
    title = "Truncate at insertion (pi)"
    summary = "Insert only as many lines as fit: the first of files and searches, the last of commands."
    source = "@mariozechner/pi-coding-agent 0.73.1 core/tools/truncate.js"

    max_lines: int = integer(2_000, "Maximum lines inserted.", "lines", maximum=1_000_000)
    max_bytes: int = integer(51_200, "Maximum bytes inserted.", "bytes", maximum=100_000_000)
    notes: bool = switch(True, "Add a note on the part shown and how to see the rest.")
    file: str = string("/tmp/pi-bash-{id}.log", "File in which the agent saves a command's full output.")  # noqa: S108  quoted from the described system's note; nothing is saved here
    version: str = choice(_VERSIONS, "Count a final line end as another line (0.73) or not (1.5, since 0.75.5).")

    def schedule(self, history: History) -> Schedule:
        builder = ScheduleBuilder(history)
        results = history.results[history.enters[history.results] != NEVER]
        # A result shorter than both limits cannot exceed them.
        shortest = min(self.max_lines, (self.max_bytes + 3) // 4)
        results = results[history.characters[results] >= shortest]

        def of(*meanings: ToolKind) -> NDArray[np.int32]:
            chosen: NDArray[np.int32] = results[tool_kind_mask(history.tool_names, meanings)[history.tool[results]]]
            return chosen

        reason = "too many lines or bytes at insertion"
        last_end, file = self.version == _VERSIONS[0], self.file if self.notes else ""
        listed = KeepHead(_NO_LIMIT, self.max_bytes, self.notes, last_end=last_end)
        for chosen, operation, group in (
            (of(ToolKind.SHELL), KeepTail(self.max_lines, self.max_bytes, file, last_end), "shell"),
            (of(ToolKind.SEARCH, ToolKind.LIGHT), listed, "search"),
        ):
            builder.add_at_insertion(chosen, Decision(operation, reason, group))
        for block in of(ToolKind.READ).tolist():
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


def pi_tokens(context: CallContext, blocks: Iterable[int], *, images: bool = False) -> int:
    """Estimate a message's tokens as `estimateTokens` (`compaction.js`); newer versions count images too."""
    history, characters = context.history, 0
    for index in blocks:
        block, kind = history.session.blocks[index], history.kind_bytes[index]
        if kind == TOOL_CALL:
            characters += javascript.length(block.tool_name) + ARGUMENT_UNITS.sent(context, index)
        elif kind not in MEDIA:
            characters += UNITS.sent(context, index)
            characters += _PER_IMAGE * len(block.media) if kind == TOOL_RESULT else 0
        elif images and kind == _IMAGE:
            characters += _PER_IMAGE
    return -(-characters // _PER_TOKEN)


@dataclass(frozen=True)
class PiCompaction(Parametrized):
    """Replace all but the newest messages with a summary once the window is nearly full.

    Source: `core/compaction` and `core/agent-session.js` of @mariozechner/pi-coding-agent 0.73.1. At the end of an
    agent run, if the last response's tokens, prompt and answer, leave less than the reserve of the window, one user
    message with a summary replaces everything before the newest messages. During a run nothing is compacted until the
    window overflows. Counting back from the end, the point where the newest messages reach the tokens to keep is found;
    the cut is at the first user or model message at or after it, never at a tool result. If a single newest result is
    that large, there is no such message, and nothing is removed.

    `version=1.5` follows @earendil-works/pi-coding-agent 1.5.2, the package's successor. A run is also compacted
    between its calls, once the last response's tokens and an estimate of the results after it leave too little (since
    0.84.4). If the newest results alone reach the tokens to keep, the cut is at the message with their calls, so that
    something is removed (since 0.86.0). Images of the user count, like images in results.

    No model writes the summary here: a placeholder of the assumed length replaces it, so later calls are projected.
    """

    name = "pi-compaction"
    title = "Compaction (pi)"
    summary = (
        "When a run ends with the window nearly full, or overflows it, replace all but the newest messages with a "
        "summary of assumed length."
    )
    source = "@mariozechner/pi-coding-agent 0.73.1 core/compaction/compaction.js"

    reserve: int = integer(16_384, "Part of the window to leave free.", "tokens", maximum=1_000_000)
    keep: int = integer(20_000, "Size of the newest messages that stay.", "tokens", maximum=1_000_000)
    window: int = model_window()
    summary_tokens: int = summary_length()
    version: str = choice(
        _VERSIONS,
        "Compact when a run ends or overflows (0.73), or also during a run (1.5).",
    )

    def triggers(self, window: int) -> tuple[float, ...]:
        return ((self.window or window) - self.reserve,)

    def start(self, history: History) -> PiCompactionRun:
        return PiCompactionRun(self, history)


@dataclass
class _Compacted:
    """One conversation: its messages with a summary, indices that allow a cut, and whether a call was made."""

    sent: SummarizedPrefix[Event] = field(default_factory=SummarizedPrefix)
    cuts: list[int] = field(default_factory=list)
    has_called: bool = False

    def add(self, message: Event, tokens: int) -> None:
        if not message.is_result:
            self.cuts.append(len(self.sent.messages))
        self.sent.add(message, tokens)

    def cut(self, keep: int, *, calls_last: bool) -> int:
        """Return the first message that stays if the newest `keep` tokens do.

        Args:
            calls_last: If the newest results alone reach `keep`, cut before their call instead of not at all.
        """
        sent = self.sent
        first = bisect_left(self.cuts, sent.start)
        if first == len(self.cuts):
            return sent.start
        # The last message that can start the tail so that its tokens still reach `keep`: sums[at - 1] <= total - keep.
        at = min(bisect_right(sent.sums, sent.since(0) - keep), len(sent.sums) - 1)
        if keep > sent.since(sent.start):
            return self.cuts[first]
        place = bisect_left(self.cuts, max(at, sent.start))
        return self.cuts[place] if place < len(self.cuts) else self.cuts[-1 if calls_last else first]


class PiCompactionRun(ThreadRun[PiCompaction, _Compacted]):
    """A run of the compaction on one session, for a window in tokens; `newer` for version 1.5."""

    def __init__(self, strategy: PiCompaction, history: History) -> None:
        super().__init__(strategy, history)
        recorded = history.session.window if history.window is None else history.window
        self.window = strategy.window or (DEFAULT_WINDOW if recorded is None else recorded)
        self.newer = strategy.version != _VERSIONS[0]

    def begin(self) -> _Compacted:
        return _Compacted()

    def decide(self, state: _Compacted, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        """Add new blocks; compact before a new question if the window is nearly full, or when it overflows."""
        choices: list[Choice] = []
        used = context.previous_prompt_tokens
        is_due = has_results = False
        for item in self.items(arrived):
            for message in split_messages(self.history, item):
                if state.has_called and self._asks(message) and not is_due and self._is_full(used):
                    choices.extend(self._compact(state, context, used))
                    is_due = True
                if self._answers(message):
                    used += context.total_tokens(message.blocks) if state.has_called else 0
                tokens = pi_tokens(context, message.blocks, images=self.newer)
                state.add(message, tokens)
                if message.is_result:
                    has_results = True
                    used += tokens if self.newer and state.has_called else 0
        # In pi's terms a turn has ended: results have arrived, and the model is about to answer them.
        if self.newer and state.has_called and has_results and not is_due and self._is_full(used):
            choices.extend(self._compact(state, context, used))
            is_due = True
        if not state.has_called and context.previous_prompt_tokens and self._is_full(used):
            choices.extend(self._compact(state, context, used))
        # If blocks are sent again, the prompt was measured without them, and pi waits for the provider's count.
        elif not choices and not self.again and context.prompt_tokens > self.window:
            choices.extend(self._compact(state, context, context.prompt_tokens))
        state.has_called = True
        return choices

    def _is_full(self, tokens: int) -> bool:
        return tokens > self.window - self.strategy.reserve

    def _asks(self, message: Event) -> bool:
        return not message.is_result and self.history.kind_bytes[message.blocks[0]] == USER_TEXT

    def _answers(self, message: Event) -> bool:
        return not message.is_result and self.history.kind_bytes[message.blocks[0]] in ASSISTANT

    def _compact(self, state: _Compacted, context: CallContext, tokens: int) -> Iterable[Choice]:
        cut = state.cut(self.strategy.keep, calls_last=self.newer) if state.sent.messages else 0
        gone = state.sent.blocks_until(cut)
        if not gone:
            return ()
        context.note_model_call(context.total_tokens(gone), self.strategy.summary_tokens)
        reported = _OPENING + summary_placeholder(cut, self.strategy.summary_tokens) + _CLOSING
        return state.sent.summarize(cut, reported, f"compacted at {tokens:,} tokens")
