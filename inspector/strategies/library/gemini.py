"""Gemini CLI's rules: truncation of tool results at insertion, masking in batches, and compression to a summary.

Source: `ChatCompressionService` of Gemini CLI 0.61 (`packages/core/src/context/chatCompressionService.ts`). Before a
request, the previous prompt is compared with a fraction of the window. Above it, results beyond the newest 50,000
tokens are cut to their ends, and everything before the last 30 % of the characters is replaced by a summary and an
acknowledgment from the model. The conversation is split only at a user message: a run of the agent that answers one
question is replaced entirely or not at all, so a single long run is never compressed.

No model writes the summary here: a placeholder of the assumed length replaces it, so later calls are projected. The two
requests that write and check the summary are recorded, so that they are charged. The real program refuses a summary
that would make the conversation longer; here its length is assumed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.core import javascript
from inspector.strategies.core.batching import Batching, ScheduleBuilder
from inspector.strategies.core.measures import CHARACTERS_PER_TOKEN, JSON_CHARACTERS, Measure
from inspector.strategies.core.operations import RecordedBlock, RemoveBlock, Rendition, ReplaceWithMessage, sent_text
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.stored_previews import head_and_tail
from inspector.strategies.core.strategy import (
    AgentSettings,
    Choice,
    Decision,
    Parametrized,
    choice,
    integer,
    model_window,
    number,
    string,
    summary_length,
    switch,
    tools,
    window_of,
)
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.conversation_items import ConversationItem, ConversationMessage, MessageList
from inspector.strategies.history.history import TOOL_CALL, TOOL_RESULT, History
from inspector.strategies.history.tools import ToolKind, tool_kind_mask
from inspector.strategies.library.micro_x import summary_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.strategy import CallContext, Schedule


def gemini_result(tool: str, json_characters: int, *, error: bool) -> int:
    """Estimate the tokens of a tool result as Gemini CLI's `estimateTokenCountSync` (`utils/tokenCalculation.ts`).

    Args:
        tool: The tool's name, which is included in the count.
        json_characters: Length of the result's text as a JSON string, including quotes.
        error: True if the result is reported under `error` instead of `output`.
    """
    around = len('{"error":}') if error else len('{"output":}')
    return (javascript.length(tool) + around + json_characters) // CHARACTERS_PER_TOKEN


_LONG = 100_000


def gemini_text(text: str) -> int:
    """Estimate the tokens of a text as Gemini CLI: one per four ASCII characters, 1.5 per other UTF-16 unit."""
    units = javascript.length(text)
    if units > _LONG or text.isascii():
        return units // CHARACTERS_PER_TOKEN
    plain = len(text.encode("ascii", "ignore"))
    return int(plain / CHARACTERS_PER_TOKEN + (units - plain) * 1.5)


GEMINI_TEXT = Measure(gemini_text)
"""Tokens of a text by Gemini CLI's estimate."""


_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")


def file_for(pattern: str, source: BlockSource) -> str:
    """Return a file name with the call's tool and id in place of `{tool}` and `{id}`, sanitized as Gemini CLI does."""
    tool, identifier = safe_file_name(source.tool_name), safe_file_name(source.block.tool_call_id)
    return pattern.replace("{tool}", tool or "unknown_tool").replace("{id}", identifier)


def safe_file_name(name: str) -> str:
    """Sanitize a name for use in a file name as Gemini CLI does."""
    return _UNSAFE.sub("_", name).lower()


FILE = "~/.gemini/tmp/tool-outputs/{tool}_{id}.txt"


@dataclass(frozen=True, slots=True)
class KeepEnds:
    """Keep a fifth of `limit` UTF-16 units from a longer text's beginning, the rest from its end, and name its file."""

    limit: int
    file: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        # A character is at most two units.
        text = sent_text(rendition, source) if rendition.length * 2 > self.limit else None
        parts = None if text is None else head_and_tail(text, self.limit, file_for(self.file, source))
        return rendition if parts is None else rendition.cut_to(parts)


@dataclass(frozen=True)
class GeminiTruncate(Parametrized):
    """Keep both ends of large command output, once, when it is inserted.

    Source: `formatTruncatedToolOutput` of Gemini CLI 0.61 (`packages/core/src/utils/fileUtils.ts`,
    `scheduler/tool-executor.ts`): output of its shell tool and of MCP tools. A text just over the limit gets longer. In
    the program the limit also shrinks with the remaining window. With a window of a million tokens the remainder is
    rarely below the limit, so that rule is omitted here.
    """

    name = "gemini-truncate"
    title = "Truncate at insertion (Gemini CLI)"
    summary = "Insert large command output as a fifth of the limit from its beginning and the rest from its end."
    source = "Gemini CLI 0.61 packages/core/src/utils/fileUtils.ts"
    agent_settings = AgentSettings({"limit": "tools.truncateToolOutputThreshold"})

    limit: int = integer(40_000, "Longest output inserted whole.", "characters", maximum=10_000_000)
    applies_to: str = choice(
        ("commands-and-mcp", "all"), "Cut the results of commands and MCP tools only, or of all tools."
    )
    command_tools: tuple[str, ...] = tools((), "Additional tools that run commands.")
    file: str = string(FILE, "File name shown for the full output; {tool} and {id} come from the call.")

    def schedule(self, history: History) -> Schedule:
        builder = ScheduleBuilder(history)
        cut = Decision(KeepEnds(self.limit, self.file), "large output at insertion")
        results = history.results if self.applies_to == "all" else history.results_of(self.chosen(history.tool_names))
        if self.limit:
            builder.add_at_insertion(results, cut)
        return builder.schedule()

    def chosen(self, tool_names: Sequence[str]) -> NDArray[np.bool_]:
        """Return, per tool, True if its output is cut; the last entry is for no tool."""
        chosen = tool_kind_mask(tool_names, (ToolKind.SHELL,), self.command_tools)
        chosen[:-1] |= np.array([name.startswith(("mcp_", "mcp-")) for name in tool_names], dtype=np.bool_)
        return chosen


TAG = "tool_output_masked"
_ENDS = 250
_LINES = 10
_LINE_BEGINS = "(?:^|(?<=[\n\r\u2028\u2029]))"
_SECTION = re.compile(_LINE_BEGINS + "(Output|Error|Exit Code|Signal|Background PIDs|Process Group PGID): ")


@dataclass(frozen=True, slots=True)
class MaskOutput:
    """Send a preview of a result between tags, with the file that holds the full text, if that saves tokens.

    The texts come from Gemini CLI 0.61 (`packages/core/src/context/toolOutputMaskingService.ts`). The preview shows
    the JSON form of the result, or the lines of command output.

    Attributes:
        file: File name shown for the full text.
        shell_tools: Tools with output that is previewed by lines.
    """

    file: str
    shell_tools: frozenset[str]

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        failed = source.block.is_error
        if source.tool_name in self.shell_tools:
            # A failed result is reported under a different name from the one checked for command output.
            preview = _simple_preview("") if failed else shell_preview(text)
        else:
            preview = _json_preview(text, "error" if failed else "output")
        file = file_for(self.file, source)
        masked = f"<{TAG}>\n{preview}\n\nOutput too large. Full output available at: {file}\n</{TAG}>"
        before = gemini_result(source.tool_name, javascript.json_length(text), error=failed)
        after = gemini_result(source.tool_name, javascript.json_length(masked), error=False)
        return Rendition.replaced(masked, rendition.kind) if before > after else rendition


def is_masked(text: str) -> bool:
    """Return True if a result already contains a mask, which the agent treats as masked."""
    return f"<{TAG}" in text


def _json_preview(text: str, name: str) -> str:
    content = f'{{\n  "{name}": {javascript.json_string(text)}\n}}'
    if javascript.length(content) <= 2 * _ENDS:
        return content
    return f"{javascript.head(content, _ENDS)}\n... [TRUNCATED] ...\n{javascript.tail(content, _ENDS)}"


def shell_preview(text: str) -> str:
    """Preview command output by sections: first and last lines of each `Output`, other sections whole."""
    parts = _SECTION.split(text)
    if len(parts) < 3:
        return _simple_preview(text)
    before = parts[0].strip(javascript.WHITE_SPACE)
    previews = [_simple_preview(before)] if before else []
    for name, content in zip(parts[1::2], parts[2::2], strict=True):
        section = content.strip(javascript.WHITE_SPACE)
        previews.append(f"{name}: {_simple_preview(section) if name == 'Output' else section}")
    return "\n".join(previews)


def _simple_preview(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= 2 * _LINES:
        return text
    head, tail = "\n".join(lines[:_LINES]), "\n".join(lines[-_LINES:])
    return f"{head}\n\n... [{len(lines) - 2 * _LINES} lines omitted] ...\n\n{tail}"


EXEMPT = ("activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode")
SHELL = ("run_shell_command",)
_IS_MASKED = Measure(lambda text: int(is_masked(text)))


@dataclass(frozen=True)
class GeminiMask(Batching):
    """Replace old output with a preview, in batches.

    Source: `ToolOutputMaskingService` of Gemini CLI 0.61 (`packages/core/src/context/toolOutputMaskingService.ts`).
    Before each request, all output except the request's own is scanned from the newest to the oldest. The newest 50,000
    estimated tokens are protected. The result that exceeds them, and everything older, is masked if together it has at
    least 30,000 tokens. A result stays as it is if a mask would not be shorter, and still counts. Masked output stays
    masked.
    """

    name = "gemini-mask"
    title = "Mask tool output (Gemini CLI)"
    summary = "Replace output older than a protected amount with a preview, if there is enough of it."
    source = "Gemini CLI 0.61 packages/core/src/context/toolOutputMaskingService.ts"
    agent_settings = AgentSettings(
        {
            "protect": "experimental.toolOutputMasking.toolProtectionThreshold",
            "minimum": "experimental.toolOutputMasking.minPrunableTokensThreshold",
            "protect-latest": "experimental.toolOutputMasking.protectLatestTurn",
        },
        {"experimental.toolOutputMasking.enabled": True},
        constants=("exempt-tools", "shell-tools", "file"),
    )

    protect: int = integer(50_000, "Size of the newest output that is spared.", "tokens", maximum=1_000_000)
    minimum: int = integer(30_000, "Mask nothing unless this much can be masked.", "tokens", maximum=1_000_000)
    protect_latest: bool = switch(True, "Spare the newest message's output and do not count it.")
    exempt_tools: tuple[str, ...] = tools(
        EXEMPT, "Tools with output that is never masked or counted.", about=ToolList.LEFT_ALONE
    )
    shell_tools: tuple[str, ...] = tools(SHELL, "Tools with output that is previewed by lines.")
    file: str = string(FILE, "File name shown for the full output; {tool} and {id} come from the call.")

    def start(self, history: History) -> GeminiMaskRun:
        return GeminiMaskRun(self, history)


@dataclass
class _UnmaskedOutput:
    """One conversation.

    Attributes:
        results: Its output that counts, oldest first; results before `start` are already judged.
        sums: Running token count up to and including each result.
        start: Index of the first result not judged yet, i.e. masked or shorter than its mask.
        kept: Tokens of earlier results that are shorter than their masks.
        latest: Results of the newest message, not scanned yet.
    """

    results: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    start: int = 0
    kept: int = 0
    latest: list[int] = field(default_factory=list)

    def tokens_before(self, count: int) -> int:
        return self.sums[count - 1] if count else 0


class GeminiMaskRun(ThreadRun[GeminiMask, _UnmaskedOutput]):
    """A run of the masking on one session."""

    measures_prompts = False
    keeps_changes = True

    def __init__(self, strategy: GeminiMask, history: History) -> None:
        super().__init__(strategy, history)
        self.operation = MaskOutput(strategy.file, frozenset(strategy.shell_tools))

    def begin(self) -> _UnmaskedOutput:
        return _UnmaskedOutput()

    def decide(self, state: _UnmaskedOutput, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        items = self.items(arrived)
        newest = len(items)
        if self.strategy.protect_latest and items:
            # There, results that answer one response are one message.
            newest -= 1
            while newest and items[newest - 1].is_result and _is_one_message(items[newest - 1], items[newest]):
                newest -= 1
        if items:
            earlier = [item.blocks[0] for item in items[:newest] if item.is_result]
            for block in (*state.latest, *earlier):
                self._take(state, block, context)
            state.latest = [item.blocks[0] for item in items[newest:] if item.is_result]
        return self._mask(state, context)

    def _take(self, state: _UnmaskedOutput, block: int, context: CallContext) -> None:
        if block in self.changed or self._tool(block) in self.strategy.exempt_tools:
            return
        if _IS_MASKED.sent(context, block):
            return
        recorded = self.history.session.blocks[block]
        tokens = gemini_result(recorded.tool_name, JSON_CHARACTERS.sent(context, block), error=recorded.is_error)
        state.results.append(block)
        state.sums.append(state.tokens_before(len(state.sums)) + tokens)

    def _mask(self, state: _UnmaskedOutput, context: CallContext) -> Iterator[Choice]:
        total = state.tokens_before(len(state.sums))
        # The newest result at which the protected amount is exceeded, counted from the newest.
        boundary = total - self.strategy.protect
        if boundary <= state.tokens_before(state.start):
            return
        count = bisect_left(state.sums, boundary, state.start) + 1
        prunable = state.kept + state.tokens_before(count) - state.tokens_before(state.start)
        if prunable < self.strategy.minimum:
            return
        reason = f"older than the newest {self.strategy.protect:,} tokens of output, {prunable:,} tokens in total"
        decision = Decision(self.operation, reason)
        for at in range(state.start, count):
            block = state.results[at]
            if self._is_worth_it(context, block):
                yield Choice(block, decision)
            else:
                state.kept += state.sums[at] - state.tokens_before(at)
        state.start = count

    def _is_worth_it(self, context: CallContext, block: int) -> bool:
        now = context.rendition(block)
        return self.operation.apply(now, RecordedBlock(self.history.session, block)) is not now

    def _tool(self, block: int) -> str:
        return self.history.session.blocks[block].tool_name


def _is_one_message(result: ConversationItem, following: ConversationItem) -> bool:
    return following.is_result or following.message == result.message


THANKS = "Got it. Thanks for the additional context!"
_AROUND = {True: len('{"role":"model","parts":[]}'), False: len('{"role":"user","parts":[]}')}
_TEXT = len('{"text":}')
_CALL = len('{"functionCall":{"id":,"name":,"args":}}')
_RESULT = len('{"functionResponse":{"id":,"name":,"response":{"output":}}}')


@dataclass(frozen=True)
class GeminiCompress(Parametrized):
    """Replace everything before the newest part of a conversation with a summary."""

    name = "gemini-compress"
    title = "Compress the chat (Gemini CLI)"
    summary = (
        "When a prompt has passed half the window, replace all but the newest part with a summary of assumed length."
    )
    source = "Gemini CLI 0.61 packages/core/src/context/chatCompressionService.ts"

    threshold: float = number(0.5, "Fraction of the window at which it compresses.", minimum=0.0, maximum=1.0)
    preserve: float = number(0.3, "Newest fraction of the characters that stays.", minimum=0.01, maximum=0.99)
    window: int = model_window()
    result_budget: int = integer(50_000, "Size of the newest results that are not cut.", "tokens", maximum=1_000_000)
    limit: int = integer(40_000, "Longest result that is never cut.", "characters", minimum=1, maximum=10_000_000)
    summary_tokens: int = summary_length()
    file: str = string(FILE, "File name shown for a cut result; {tool} and {id} come from the call.")

    def triggers(self, window: int) -> tuple[float, ...]:
        return ((self.window or window) * self.threshold,)

    def start(self, history: History) -> GeminiCompressRun:
        return GeminiCompressRun(self, history)


@dataclass
class _Chat:
    """One conversation.

    Attributes:
        messages: Its messages that are still sent, including the summary and the acknowledgment.
        replacements: Replacement texts by block: the summary and the acknowledgment.
        looked: Number of messages scanned.
        places: Indices of scanned user messages, where the conversation could be split.
    """

    messages: MessageList
    replacements: dict[int, str] = field(default_factory=dict)
    looked: int = 0
    places: list[int] = field(default_factory=list)


class GeminiCompressRun(ThreadRun[GeminiCompress, _Chat]):
    """A run of the compression on one session. `allowed`: maximum tokens of a prompt that is not compressed."""

    def __init__(self, strategy: GeminiCompress, history: History) -> None:
        super().__init__(strategy, history)
        self.allowed = window_of(history, strategy.window) * strategy.threshold

    def begin(self) -> _Chat:
        return _Chat(MessageList(self.history))

    def decide(self, state: _Chat, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        state.messages.add(self.items(arrived))
        previous = context.previous_prompt_tokens
        if previous and previous >= self.allowed and self._may_split(state):
            return self._compress(state, previous, context)
        return ()

    def _may_split(self, state: _Chat) -> bool:
        """Return True if the conversation can be split anywhere after its beginning."""
        turns, end = state.messages.turns, _end(state)
        state.places.extend(at for at in range(state.looked, end) if self._asks(turns[at]))
        state.looked = end
        return end > 0 and (self._ends_with_words(turns[end - 1]) or state.places[-1:] > [0])

    def _asks(self, turn: ConversationMessage) -> bool:
        return not turn.is_answer and all(self.history.kind_bytes[block] != TOOL_RESULT for block in turn.blocks)

    def _ends_with_words(self, turn: ConversationMessage) -> bool:
        return turn.is_answer and all(self.history.kind_bytes[block] != TOOL_CALL for block in turn.blocks)

    def _compress(self, state: _Chat, tokens: int, context: CallContext) -> Iterator[Choice]:
        past = state.messages.turns[: _end(state)]
        cuts = dict(self._cuts(past, context))
        sizes = [self._size(turn, state, cuts, context) for turn in past]
        split = self._split(past, state.places, sizes)
        gone = [block for turn in past[:split] for block in turn.blocks]
        if not gone:
            return
        read = context.total_tokens(gone)
        for _ in range(2):
            context.note_model_call(read, self.strategy.summary_tokens)
        reason = f"compressed when a prompt had {tokens:,} tokens"
        for cut in cuts.values():
            if cut.block not in gone:
                yield cut
        parts = [
            (BlockKind.USER_TEXT, summary_placeholder(split, self.strategy.summary_tokens)),
            (BlockKind.ASSISTANT_TEXT, THANKS),
        ]
        opening = []
        for block, (kind, text) in zip(gone, parts, strict=False):
            state.replacements[block] = text
            opening.append(ConversationMessage(kind is BlockKind.ASSISTANT_TEXT, [block], -1, ends_with_result=False))
            yield Choice(block, Decision(ReplaceWithMessage(text, kind), reason))
        for block in gone[len(parts) :]:
            yield Choice(block, Decision(RemoveBlock(), reason))
        state.messages.turns[:split] = opening
        shift = len(opening) - split
        state.looked += shift
        # The summary is a user message now.
        state.places = [0, *(at + shift for at in state.places if at >= split)]

    def _cuts(self, past: list[ConversationMessage], context: CallContext) -> Iterator[tuple[int, Choice]]:
        """Yield the cuts of results to their ends, for results beyond the budget that newer ones have used up."""
        operation = KeepEnds(self.strategy.limit, self.strategy.file)
        decision = Decision(
            operation, f"older than the newest {self.strategy.result_budget:,} tokens of results", "cut"
        )
        used = 0
        results = self.results([block for turn in past for block in turn.blocks])
        for block in reversed(results):
            tokens = GEMINI_TEXT.sent(context, block)
            if used + tokens > self.strategy.result_budget:
                source = RecordedBlock(self.history.session, block)
                before = context.rendition(block)
                after = operation.apply(before, source)
                if after is not before:
                    tokens = GEMINI_TEXT.of_text(sent_text(after, source) or "")
                    yield block, Choice(block, decision)
            used += tokens

    def _split(self, past: list[ConversationMessage], places: list[int], sizes: list[int]) -> int:
        before = list(accumulate(sizes, initial=0))
        target = before[-1] * (1 - self.strategy.preserve)
        first = bisect_left(places, target, key=before.__getitem__)
        if first < len(places):
            return places[first]
        if self._ends_with_words(past[-1]):
            return len(past)
        return places[-1] if places else 0

    def _size(self, turn: ConversationMessage, state: _Chat, cuts: dict[int, Choice], context: CallContext) -> int:
        blocks = self.history.session.blocks
        size = _AROUND[turn.is_answer] + max(len(turn.blocks) - 1, 0)
        for index in turn.blocks:
            block = blocks[index]
            named = javascript.json_length(block.tool_call_id) + javascript.json_length(block.tool_name)
            if index in state.replacements:
                size += _TEXT + javascript.json_length(state.replacements[index])
            elif index in cuts:
                source = RecordedBlock(self.history.session, index)
                after = KeepEnds(self.strategy.limit, self.strategy.file).apply(context.rendition(index), source)
                size += _RESULT + named + javascript.json_length(sent_text(after, source) or "")
            elif block.kind is BlockKind.TOOL_RESULT:
                size += _RESULT + named + JSON_CHARACTERS.sent(context, index)
            elif block.kind is BlockKind.TOOL_CALL:
                size += _CALL + named + context.length(index)
            else:
                size += _TEXT + JSON_CHARACTERS.sent(context, index)
        return size


def _end(state: _Chat) -> int:
    """Count the messages before the request itself."""
    turns = state.messages.turns
    return len(turns) if turns and turns[-1].is_answer else max(len(turns) - 1, 0)
