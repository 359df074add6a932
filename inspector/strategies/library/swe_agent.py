"""SWE-agent's history processors: the newest observations, the newest window of every file, removal of patterns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.core.batching import CONTEXT_RESET, Batching, ScheduleBuilder
from inspector.strategies.core.operations import Action, BlockSource, RemoveBlock, Rendition, sent_text
from inspector.strategies.core.parameters import ParameterError, ToolList
from inspector.strategies.core.strategy import AgentSettings, Decision, Schedule, integer, string, switch, tools
from inspector.strategies.history.arrival_order import arrivals, later
from inspector.strategies.history.history import NEVER, History
from inspector.strategies.history.memo import TextMemo
from inspector.strategies.history.tools import tool_kind_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class CountLines:
    """Replace an observation with its number of lines, and of images if there are any."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        lines = len(text.splitlines())
        images = len(source.block.media)
        note = f"Old environment output: ({lines} lines omitted)"
        return Rendition.replaced(f"{note} ({images} images omitted)" if images else note)


@dataclass(frozen=True)
class LastObservations(Batching):
    """Replace all but the newest observations with the number of their lines.

    Source: `LastNObservations` of SWE-agent (SWE-agent/SWE-agent@3ea751c0 `sweagent/agent/history_processors.py`). It
    works on the whole history at every step and holds no state. The cleared range follows from the number of
    observations alone, rounded down to a multiple of `polling`, so with a large step the cached part of the prompt
    rarely changes. The first observation always stays: there it is the task. Tools can be listed with results that
    always stay or are always removed, which the program does with tags.
    """

    name = "last-observations"
    title = "Last observations"
    summary = (
        "Keep the first and the newest observations, advancing in steps, and replace the others with their line counts."
    )
    source = "LastNObservations, SWE-agent 3ea751c0 sweagent/agent/history_processors.py"
    agent_settings = AgentSettings({"keep": "n", "polling": "polling"}, {"type": "last_n_observations"})

    keep: int = integer(5, "Number of newest observations kept.", "observations", minimum=1, maximum=1_000)
    polling: int = integer(
        1,
        "Observations per step; a larger step breaks the prompt cache less often.",
        "observations",
        minimum=1,
        maximum=1_000,
    )
    keep_tools: tuple[str, ...] = tools((), "Tools with results that always stay.", about=ToolList.LEFT_ALONE)
    remove_tools: tuple[str, ...] = tools((), "Tools with results that are replaced at once.")

    def schedule(self, history: History) -> Schedule:
        """Replace an observation at the call at which the number of observations reaches a multiple of `polling`."""
        builder = ScheduleBuilder(history)
        removed = tool_kind_mask(history.tool_names, (), self.remove_tools)[history.tool]
        always = removed | tool_kind_mask(history.tool_names, (), self.keep_tools)[history.tool]
        old = Decision(CountLines(), f"older than the newest {self.keep} observations")
        result = history.kind == BlockKind.TOOL_RESULT
        for context in arrivals(history, result | (history.kind == BlockKind.USER_TEXT)):
            is_result = result[context.blocks]
            # User text before the first result is the task, and counts as the first observation.
            task = int(len(is_result) > 0 and not is_result[0])
            blocks, calls = context.blocks[is_result], context.calls[is_result]
            goes = self._goes(np.append(np.zeros(task, dtype=np.int32), calls))[task:]
            chosen = ~always[blocks]
            retained = chosen[: np.count_nonzero(is_result[: context.retained])]
            builder.add(blocks[: len(retained)][retained], calls[: len(retained)][retained], CONTEXT_RESET)
            builder.add(blocks[chosen], goes[chosen], old)
        results = history.results[removed[history.results]]
        builder.add_at_insertion(results, Decision(CountLines(), "always removed", "always"))
        return builder.schedule()

    def _goes(self, calls: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the call at which each observation is replaced, given the calls that add them."""
        index = np.arange(len(calls))
        # Replaced once the count, rounded down to a multiple of the step, is more than `keep` past the observation.
        count = -(-(index + self.keep + 1) // self.polling) * self.polling
        goes = np.where(count <= len(calls), np.append(calls, NEVER)[np.minimum(count - 1, len(calls))], NEVER)
        goes[:1] = NEVER
        return goes.astype(np.int32)


_TEXTS = (BlockKind.SYSTEM_TEXT, BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT, BlockKind.TOOL_RESULT)
"""Kinds of blocks that are the text of an entry of the history."""

_NUMBERED = re.compile(r"^\d+:.*\n?", re.MULTILINE)
_HEADER_END = re.compile(r"\s\(\d+\s+lines total\)\]")
_HEADER = "[File:"


class Window(NamedTuple):
    """The part of a file shown in a text.

    Attributes:
        lines: Number of numbered lines; 0 for a text that is not a window.
        start: Start of the first of them.
        end: End of the last of them, including its line end.
        file: The file named in the header; None without a header.
    """

    lines: int
    start: int
    end: int
    file: str | None


_NO_WINDOW = Window(0, 0, 0, None)


def window_in(text: str) -> Window:
    lines = 0
    start = end = 0
    for found in _NUMBERED.finditer(text):
        start = found.start() if not lines else start
        end = found.end()
        lines += 1
    return Window(lines, start, end, _file_of(text)) if lines else _NO_WINDOW


def _file_of(text: str) -> str | None:
    """Return the file named in the first header; a header is on one line."""
    for found in _HEADER_END.finditer(text):
        line = text.rfind("\n", 0, found.start()) + 1
        opening = text.find(_HEADER, line, found.start())
        if opening < 0:
            continue
        rest = text[opening + len(_HEADER) : found.start()]
        if not rest[:1].isspace():
            continue
        line_end = text.find("\n", found.start() + 1)
        last = found
        for following in _HEADER_END.finditer(text, found.end(), line_end if line_end >= 0 else len(text)):
            last = following
        return text[opening + len(_HEADER) : last.start()].lstrip()
    return None


@dataclass(frozen=True, slots=True)
class CloseWindow:
    """Replace the numbered lines of a text with a note."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = sent_text(rendition, source)
        window = _NO_WINDOW if text is None else window_in(text)
        if not window.lines:
            return rendition
        note = f"Outdated window with {window.lines} lines omitted...\n"
        pieces = (*rendition.between(0, window.start), note, *rendition.between(window.end, rendition.length))
        return Rendition(pieces, Action.CUT, rendition.kind)


_window_of = TextMemo(window_in, _NO_WINDOW)


@dataclass(frozen=True)
class ClosedWindows(Batching):
    """Leave out the lines of all but the newest window of every file.

    Source: `ClosedWindowHistoryProcessor` of SWE-agent (SWE-agent/SWE-agent@3ea751c0
    `sweagent/agent/history_processors.py`). Its file viewer shows numbered lines below a header `[File: a.py (9 lines
    total)]`. If a later text shows the same file, a note with their number replaces the numbered lines of the earlier
    one. Only user-side texts are examined, not tool results, and a text with numbered lines but no header is dropped
    completely. The program does both, the latter probably by accident. With `results`, tool results are examined too;
    they are never dropped.
    """

    name = "closed-windows"
    title = "Closed windows"
    summary = "When a file is shown again, leave out the numbered lines of the earlier text."
    source = "ClosedWindowHistoryProcessor, SWE-agent 3ea751c0 sweagent/agent/history_processors.py"
    agent_settings = AgentSettings(always={"type": "closed_window"})

    results: bool = switch(False, "Look at tool results too, not only at user texts.")

    def schedule(self, history: History) -> Schedule:
        """Close a window at the call that adds the next one of its file."""
        builder = ScheduleBuilder(history)
        looked_at = history.kind == BlockKind.USER_TEXT
        if self.results:
            looked_at |= history.kind == BlockKind.TOOL_RESULT
        closed = Decision(CloseWindow(), "shown again later")
        dropped = Decision(RemoveBlock(), "numbered lines without a file", "headless")
        blocks = history.session.blocks
        for context in arrivals(history, looked_at):
            again: list[tuple[int, int]] = []
            headless: list[tuple[int, int]] = []
            newest: dict[str, int] = {}
            for block, call in zip(context.blocks.tolist(), context.calls.tolist(), strict=True):
                window = _window_of(history.session, blocks[block])
                if window.file is not None:
                    if window.file in newest:
                        again.append((newest[window.file], call))
                    newest[window.file] = block
                elif window.lines and history.kind[block] == BlockKind.USER_TEXT:
                    headless.append((block, call))
            builder.restore(context)
            builder.add_pairs(again, closed)
            builder.add_pairs(headless, dropped)
        return builder.schedule()


@dataclass(frozen=True, slots=True)
class RemoveMatches:
    """Remove everything in a text that a pattern matches, across line ends."""

    pattern: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Remove the matches; a text with nothing left is sent empty."""
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        parts, kept = [], 0
        for found in re.compile(self.pattern, re.DOTALL).finditer(text):
            parts.append((kept, found.start()))
            kept = found.end()
        if all(start == stop for start, stop in [*parts, (kept, len(text))]):
            return rendition if not text else Rendition.replaced("", rendition.kind)
        return rendition.cut_to([*parts, (kept, len(text))]) if kept else rendition


@dataclass(frozen=True)
class RemoveRegex(Batching):
    """Remove the matches of a pattern from every message but the newest.

    Source: `RemoveRegex` of SWE-agent (SWE-agent/SWE-agent@3ea751c0 `sweagent/agent/history_processors.py`): `re.sub`
    over the texts of a history entry, across line ends, for any role. The system text is an entry too, and every tool
    result is a separate one; thoughts and the arguments of calls are not texts of an entry. The program applies a list
    of patterns one after the other; here there is one pattern, in which `|` separates several.
    """

    name = "remove-regex"
    title = "Remove matches"
    summary = "Remove the matches of a pattern from all messages, or from all but the newest."
    source = "RemoveRegex, SWE-agent 3ea751c0 sweagent/agent/history_processors.py"

    pattern: str = string("<diff>.*</diff>", "Regular expression of the text to remove; . matches line ends too.")
    keep_last: int = integer(0, "Number of newest messages kept whole.", "messages", maximum=10_000)

    def __post_init__(self) -> None:
        """Raise `ParameterError` if a value is not allowed, or the pattern is not a regular expression."""
        Batching.__post_init__(self)
        try:
            re.compile(self.pattern, re.DOTALL)
        except (re.error, RecursionError, OverflowError) as error:
            raise ParameterError(f"pattern: {self.pattern!r} is not a regular expression: {error}") from None

    def schedule(self, history: History) -> Schedule:
        """Remove a message's matches at the call that adds the last of the messages that stay whole after it."""
        builder = ScheduleBuilder(history)
        matched = Decision(RemoveMatches(self.pattern), "matches the pattern")
        texts = np.isin(history.kind, _TEXTS)
        for context in arrivals(history, history.kind != BlockKind.OTHER):
            result = history.kind[context.blocks] == BlockKind.TOOL_RESULT
            messages = history.message[context.blocks]
            starts = np.ones(len(messages), dtype=np.bool_)
            starts[1:] = (messages[1:] != messages[:-1]) | result[1:] | result[:-1]
            entry = np.cumsum(starts) - 1
            goes = later(context.calls[starts], self.keep_last) if self.keep_last else context.calls[starts]
            chosen = texts[context.blocks]
            retained = context.blocks[: context.retained][chosen[: context.retained]]
            builder.add(retained, context.calls[: context.retained][chosen[: context.retained]], CONTEXT_RESET)
            builder.add(context.blocks[chosen], goes[entry][chosen].astype(np.int32), matched)
        return builder.schedule()
