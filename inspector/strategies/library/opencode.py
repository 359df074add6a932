"""OpenCode's rules: pruning at the end of a user turn, truncation at insertion, and those of a plug-in.

The plug-in, opencode-dcp 3.1, removes equal and failed tool calls. Tools and files can be protected by patterns. Since
version 3 the program acts only when the model compresses the conversation.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from inspector.session.model import Block, BlockKind, Role, Session, TextUnavailableError
from inspector.strategies.core import javascript
from inspector.strategies.core.batching import CONTEXT_RESET, Batching, ScheduleBuilder
from inspector.strategies.core.measures import CHARACTERS_PER_TOKEN
from inspector.strategies.core.operations import Action, BlockSource, Rendition, ReplaceText, sent_text
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.stored_previews import lines_within
from inspector.strategies.core.strategy import (
    AgentSettings,
    Choice,
    Decision,
    Parametrized,
    choice,
    integer,
    string,
    tools,
)
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.arrival_order import arrivals, later
from inspector.strategies.history.history import NEVER, History
from inspector.strategies.history.memo import TextMemo
from inspector.strategies.history.reads import decoded, path_of
from inspector.strategies.history.tools import tool_kind_mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from inspector.strategies.core.strategy import CallContext, Schedule
    from inspector.strategies.history.conversation_items import ConversationItem


def estimate_tokens(characters: int) -> int:
    """Estimate tokens as a quarter of the characters, rounded: OpenCode's `Token.estimate` (`util/token.ts`)."""
    return (characters + 2) // CHARACTERS_PER_TOKEN


PLACEHOLDER = "[Old tool result content cleared]"


@dataclass(frozen=True)
class OpenCodePrune(Batching):
    """Clear old tool output in batches, at the end of a user turn.

    Source: `SessionCompaction.prune` of OpenCode 1 (anomalyco/opencode `packages/opencode/src/session/compaction.ts`;
    off by default since 1.18). OpenCode 2 does not prune: its `packages/core/src/session/compaction.ts` only
    summarizes, `packages/schema/src/config/compaction.ts` accepts no `prune`, and results that version 1 cleared stay
    cleared.

    The rule runs when the agent has finished a user's request, so its effect first appears in the call that answers the
    next question. Output of the last two user turns is spared. Of the older output, the newest 40,000 tokens are
    spared, estimated as a quarter of the characters, rounded. Everything beyond is cleared at once, but only if it
    exceeds 20,000 tokens. Cleared output stays cleared, and nothing before it is examined again. Errors
    stay, and so does the output of skills. In a session with one user message it never acts.
    """

    name = "opencode-prune"
    title = "Prune (OpenCode)"
    summary = (
        "After a user turn, clear tool output older than two turns and a protected amount, if there is enough of it."
    )
    source = "OpenCode 1 packages/opencode/src/session/compaction.ts; OpenCode 2 does not prune"
    agent_settings = AgentSettings(
        always={"compaction.prune": True}, constants=("protect", "minimum", "turns", "protected-tools", "placeholder")
    )

    protect: int = integer(
        40_000, "Size of the newest output, from earlier turns, that is spared.", "tokens", maximum=1_000_000
    )
    minimum: int = integer(20_000, "Clear nothing unless more than this can be cleared.", "tokens", maximum=1_000_000)
    turns: int = integer(2, "Number of newest user turns that are spared completely.", "turns", maximum=100)
    protected_tools: tuple[str, ...] = tools(
        ("skill",), "Tools with output that is never cleared or counted.", about=ToolList.LEFT_ALONE
    )
    placeholder: str = string(PLACEHOLDER, "Text that replaces cleared output.")

    def start(self, history: History) -> OpenCodePruneRun:
        return OpenCodePruneRun(self, history)


@dataclass
class _Output:
    """One conversation.

    Attributes:
        results: Its output that counts, oldest first.
        sums: Running token count up to and including each result.
        handled: Number of results cleared or before a cleared one.
        turns: Per user turn, the number of results before it.
        is_new: True if no call of the thread was made before.
    """

    results: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    handled: int = 0
    turns: list[int] = field(default_factory=list)
    is_new: bool = True

    def tokens_before(self, count: int) -> int:
        return self.sums[count - 1] if count else 0


class OpenCodePruneRun(ThreadRun[OpenCodePrune, _Output]):
    """A run of the pruning on one session."""

    measures_prompts = False
    keeps_changes = True

    def begin(self) -> _Output:
        return _Output()

    def begin_again(self, before: _Output) -> _Output:  # noqa: ARG002  nothing else is carried over
        """Return an empty state in the middle of the agent's work."""
        return _Output(is_new=False)

    def decide(self, state: _Output, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        """Add new blocks; at the end of a user turn, prune older output."""
        is_new, state.is_new = state.is_new, False
        items = self.items(arrived)
        # The last user message has not arrived yet when a turn ends.
        spoken = len(items)
        while spoken and self.asks(items[spoken - 1]):
            spoken -= 1
        self._take(state, items[:spoken], context)
        # A conversation that begins with a history is assumed to be at the end of a turn.
        choices = list(self._prune(state)) if is_new or spoken < len(items) else []
        self._take(state, items[spoken:], context)
        return choices

    def _take(self, state: _Output, items: Iterable[ConversationItem], context: CallContext) -> None:
        for item in items:
            if self.asks(item):
                state.turns.append(len(state.results))
            elif item.is_result:
                self._take_result(state, item.blocks[0], context)

    def _take_result(self, state: _Output, block: int, context: CallContext) -> None:
        recorded = self.history.session.blocks[block]
        if recorded.is_error or recorded.tool_name in self.strategy.protected_tools:
            return
        length = context.length(block)
        state.results.append(block)
        state.sums.append(state.tokens_before(len(state.sums)) + estimate_tokens(length))
        if block in self.changed or self._is_placeholder(context, block, length):
            state.handled = len(state.results)

    def _is_placeholder(self, context: CallContext, block: int, length: int) -> bool:
        """Return True if the agent had already cleared the result before it was recorded."""
        placeholder = self.strategy.placeholder
        recorded = self.history.session.blocks[block]
        return length == len(placeholder) == recorded.characters and context.text(block) == placeholder

    def _prune(self, state: _Output) -> Iterator[Choice]:
        strategy = self.strategy
        if strategy.turns > len(state.turns):
            return
        end = state.turns[-strategy.turns] if strategy.turns else len(state.results)
        if end <= state.handled:
            return
        # The result at which the protected amount is exceeded goes too.
        boundary = state.tokens_before(end) - strategy.protect
        count = bisect_right(state.sums, boundary - 1, state.handled, end) + 1
        if boundary <= state.tokens_before(state.handled):
            return
        pruned = state.tokens_before(count) - state.tokens_before(state.handled)
        if pruned <= strategy.minimum:
            return
        reason = f"older than {strategy.turns} turns and the newest {strategy.protect:,} tokens of output"
        cleared = Decision(ReplaceText(strategy.placeholder), reason)
        for block in state.results[state.handled : count]:
            yield Choice(block, cleared)
        state.handled = count


@dataclass(frozen=True, slots=True)
class CutLines:
    """Keep whole lines from one end of a text over a limit, with a note on the missing part and its location.

    Attributes:
        max_lines: Maximum number of lines, before and after the cut.
        max_bytes: Maximum number of bytes, before and after the cut.
        from_end: Keep the last lines instead of the first.
        hint: Further text of the note; `{id}` is replaced with the tool call's id.
    """

    max_lines: int
    max_bytes: int
    from_end: bool
    hint: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        # A text without line ends has one line, and a character has at most four bytes.
        if rendition.length < self.max_lines and rendition.length * 4 <= self.max_bytes:
            return rendition
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        hint = self.hint.replace("{id}", source.block.tool_call_id)
        parts = lines_within(text, self.max_lines, self.max_bytes, hint, from_end=self.from_end)
        return rendition if parts is None else rendition.cut_to(parts)


_SAVED = "The tool call succeeded but the output was truncated. Full output saved to: "
_READ_IT = "\nUse Grep to search the full content or Read with offset/limit to view specific sections."
_DELEGATE = (
    "\nUse the Task tool to have explore agent process this file with Grep and Read (with offset/limit). Do NOT read "
    "the full file yourself - delegate to save context."
)


@dataclass(frozen=True)
class OpenCodeTruncate(Parametrized):
    """Keep whole lines of large results up to limits, once, when they are inserted.

    Source: OpenCode (anomalyco/opencode `packages/opencode/src/tool/truncate.ts`). It keeps whole lines; if the first
    does not fit, nothing is. The real program generates a file name; here it derives from the tool call.
    """

    name = "opencode-truncate"
    title = "Truncate at insertion (OpenCode)"
    summary = "Insert only as many lines of a result as fit a line limit and a byte limit."
    source = "OpenCode packages/opencode/src/tool/truncate.ts"
    agent_settings = AgentSettings(constants=("max-lines", "max-bytes", "direction", "hint", "folder"))

    max_lines: int = integer(2_000, "Maximum lines inserted.", "lines", maximum=1_000_000)
    max_bytes: int = integer(51_200, "Maximum bytes inserted.", "bytes", maximum=100_000_000)
    direction: str = choice(("head", "tail"), "End of the output to keep.")
    hint: str = choice(
        ("search", "delegate"),
        "Advice to the model: search the file itself, or delegate to a subagent.",
    )
    exempt_tools: tuple[str, ...] = tools((), "Tools that shorten their own output.", about=ToolList.LEFT_ALONE)
    folder: str = string("~/.local/share/opencode/tool-output", "Folder in which the agent saves the full output.")

    def schedule(self, history: History) -> Schedule:
        builder = ScheduleBuilder(history)
        hint = self.hint_for(f"{self.folder}/tool_{{id}}")
        cut = CutLines(self.max_lines, self.max_bytes, self.direction == "tail", hint)
        results = history.results_of(~tool_kind_mask(history.tool_names, (), self.exempt_tools))
        builder.add_at_insertion(results, Decision(cut, "too many lines or bytes at insertion"))
        return builder.schedule()

    def hint_for(self, path: str) -> str:
        """Return the hint about the file with the full output, as the model reads it."""
        return f"{_SAVED}{path}{_DELEGATE if self.hint == 'delegate' else _READ_IT}"


_PATCHED_FILE = re.compile(r"\*\*\* (?:Add|Delete|Update) File: ([^\n\r]+)")


def signature_of(session: Session, call: Block) -> str:
    """Return a signature of tool and input without nulls, as opencode-dcp (`lib/strategies/deduplication.ts`)."""
    return f"{call.tool_name}::{_input_signature(session, call)}"


def files_of(session: Session, call: Block) -> tuple[str, ...]:
    """Return the files named in a tool call's input, including those in a patch."""
    named = path_of(session, call)
    value = decoded(_input(session, call)) if call.tool_name in ("apply_patch", "multiedit") else None
    found = [named] if named else []
    if isinstance(value, dict):
        if isinstance(value.get("patchText"), str):
            found += [path.strip() for path in _PATCHED_FILE.findall(value["patchText"])]
        edits = value.get("edits")
        for edit in edits if isinstance(edits, list) else ():
            if isinstance(edit, dict) and isinstance(edit.get("filePath"), str):
                found.append(edit["filePath"])
    return tuple(dict.fromkeys(found))


def _input(session: Session, call: Block) -> str:
    """Return a call's input, or its beginning if it can no longer be read."""
    try:
        return session.quick_text(call)
    except TextUnavailableError:
        return call.preview


def _of_input(text: str) -> str:
    value = decoded(text)
    if not isinstance(value, dict):
        return text
    try:
        given = {name: each for name, each in value.items() if each is not None}
        return msgspec.json.encode(given, order="deterministic").decode()
    except (UnicodeEncodeError, RecursionError):
        return text


_input_signature = TextMemo(_of_input, "", _input)


def matches_any(text: str, patterns: Iterable[str]) -> bool:
    """Return True if a pattern matches fully: `**/` any folders, `**` anything, `*` and `?` all but a slash."""
    return any(_compiled(pattern).fullmatch(text) is not None for pattern in patterns if pattern)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    written = ""
    position = 0
    for wildcard in re.finditer(r"\*\*/|\*\*|\*|\?", pattern):
        written += re.escape(pattern[position : wildcard.start()]) + _MEANING[wildcard.group()]
        position = wildcard.end()
    return re.compile(written + re.escape(pattern[position:]))


_MEANING = {"**/": r"(?:[^\n]*/)?", "**": r"[^\n]*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True)
class BlankInput:
    """Replace a call's named input value, or without a name every string, with a note."""

    note: str
    name: str = ""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Replace the values; return the rendition unchanged if it is not an object or has no such values."""
        text = sent_text(rendition, source)
        value = _object(text) if text else None
        if not value:
            return rendition
        blanked: dict[str, object] = {
            key: self.note if (key == self.name if self.name else isinstance(each, str)) else each
            for key, each in value.items()
        }
        if blanked == value:
            return rendition
        return Rendition((javascript.compact_json(blanked),), Action.CUT, rendition.kind)


def _object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


DEFAULT_PROTECTED = (
    "task",
    "skill",
    "todowrite",
    "todoread",
    "compress",
    "batch",
    "plan_enter",
    "plan_exit",
    "write",
    "edit",
)
"""Tools that are left alone by default (`lib/config.ts`)."""

COMPRESS = "compress"
"""Tool with which the model compresses the conversation."""

WHEN = ("each-call", "on-compress")
WHEN_HELP = "Act before each call, or only once the model has called the compress tool."


def is_protected(session: Session, call: Block, tools: tuple[str, ...], files: tuple[str, ...]) -> bool:
    if matches_any(call.tool_name, tools):
        return True
    return bool(files) and any(matches_any(file, files) for file in files_of(session, call))


def batched(history: History, context: int, calls: NDArray[np.int32], when: str) -> NDArray[np.int32]:
    """Return the calls at which decisions possible at `calls` (`NEVER` for none) are made: one of `WHEN`."""
    if when != "on-compress":
        return calls
    compressing = history.results_of(tool_kind_mask(history.tool_names, (), (COMPRESS,)))
    at = np.unique(history.enters[compressing])
    of_call = history.call_context[np.minimum(at, history.call_count)]
    at = at[(at != NEVER) & (of_call == context)]
    decided: NDArray[np.int32] = np.append(at, NEVER).astype(np.int32)[np.searchsorted(at, calls, side="left")]
    return decided


DCP_PLACEHOLDER = "[Output removed to save context - information superseded or no longer needed]"
BLANK_INPUT = "[input removed due to failed tool call]"
BLANK_QUESTIONS = "[questions removed - see output for user's answers]"
OUTPUT_KEPT = ("question", "edit", "write")
"""Tools with output that is never removed."""


@dataclass(frozen=True)
class DcpDedupe(Batching):
    """Clear the output of all but the newest of equal tool calls.

    Source: deduplication of opencode-dcp 3.1 (@tarquinen/opencode-dcp `lib/strategies/deduplication.ts`,
    `lib/messages/prune.ts`). Calls of one tool with the same input, in any order of names, are duplicates; all but the
    newest lose their output. A failed call keeps its error and loses its input. Since version 3 the program looks for
    duplicates only when the model compresses the conversation (`when=on-compress`), so that the prompt cache survives.
    Sessions recorded without the program have no such calls, so the default here is every call, as in version 1.
    """

    name = "dcp-dedupe"
    title = "Deduplicate calls (DCP)"
    summary = "When a tool is called again with the same input, clear the output of the earlier call."
    source = "opencode-dcp 3.1.14 lib/strategies/deduplication.ts"

    when: str = choice(WHEN, WHEN_HELP)
    protected_tools: tuple[str, ...] = tools(
        DEFAULT_PROTECTED, "Tools that are left alone; * and ? are wildcards.", about=ToolList.LEFT_ALONE
    )
    protected_files: tuple[str, ...] = tools((), "Leave calls on these files alone; patterns with *, ** and ?.")

    def schedule(self, history: History) -> Schedule:
        """Clear output at the call that adds the result of the next equal call."""
        builder = ScheduleBuilder(history)
        signature = self._signatures(history)
        clear = Decision(ReplaceText(DCP_PLACEHOLDER), "called again with the same input", points_to="later")
        blank = Decision(BlankInput(BLANK_INPUT), "failed, and called again with the same input")
        ask = Decision(BlankInput(BLANK_QUESTIONS, "questions"), "asked again")
        questions = tool_kind_mask(history.tool_names, (), ("question",))
        kept = tool_kind_mask(history.tool_names, (), OUTPUT_KEPT)
        for context in arrivals(history, signature >= 0):
            order = np.argsort(signature[context.blocks], kind="stable")
            blocks, calls = context.blocks[order], context.calls[order]
            same = signature[blocks[1:]] == signature[blocks[:-1]]
            again = np.append(np.where(same, calls[1:], NEVER), NEVER)[: len(blocks)].astype(np.int32)
            again = batched(history, context.context, again, self.when)
            retained = context.blocks[: context.retained]
            for column in (retained, history.call_block[retained]):
                builder.add(column, context.calls[: context.retained], CONTEXT_RESET)
            failed = history.is_error[blocks]
            shown = ~failed & ~kept[history.tool[blocks]]
            builder.add(blocks[shown], again[shown], clear)
            builder.add(history.call_block[blocks[failed]], again[failed], blank)
            asked = ~failed & questions[history.tool[blocks]]
            builder.add(history.call_block[blocks[asked]], again[asked], ask)
        return builder.schedule()

    def _signatures(self, history: History) -> NDArray[np.int32]:
        """Return, per block, the number of its call's signature; -1 for blocks that are not results, or protected."""
        session = history.session
        signature = np.full(len(history.kind), -1, dtype=np.int32)
        results = history.results[history.call_block[history.results] >= 0]
        numbers: dict[str, int] = {}
        for block, call in zip(results.tolist(), history.call_block[results].tolist(), strict=True):
            made = session.blocks[call]
            if not is_protected(session, made, self.protected_tools, self.protected_files):
                signature[block] = numbers.setdefault(signature_of(session, made), len(numbers))
        return signature


@dataclass(frozen=True)
class DcpPurgeErrors(Batching):
    """Blank the input of tool calls that failed some turns ago.

    Source: purgeErrors of opencode-dcp 3.1 (@tarquinen/opencode-dcp `lib/strategies/purge-errors.ts`,
    `lib/messages/prune.ts`). There a turn is a model response, not a user question. Every string in the input is
    replaced; other values stay. See `dcp-dedupe` for when the program acts.
    """

    name = "dcp-purge-errors"
    title = "Purge failed calls (DCP)"
    summary = "A few responses after a failed tool call, blank the texts of its input and keep the error."
    source = "opencode-dcp 3.1.14 lib/strategies/purge-errors.ts"

    turns: int = integer(
        4, "Model responses after which a failed call's input is blanked.", "turns", minimum=1, maximum=1_000
    )
    when: str = choice(WHEN, WHEN_HELP)
    protected_tools: tuple[str, ...] = tools(
        DEFAULT_PROTECTED, "Tools that are left alone; * and ? are wildcards.", about=ToolList.LEFT_ALONE
    )
    protected_files: tuple[str, ...] = tools((), "Leave calls on these files alone; patterns with *, ** and ?.")

    def schedule(self, history: History) -> Schedule:
        """Blank input at the call with `turns` responses after the one that made the tool call."""
        builder = ScheduleBuilder(history)
        old = Decision(BlankInput(BLANK_INPUT), f"failed {self.turns} turns ago")
        session = history.session
        failed = history.results[history.is_error[history.results] & (history.call_block[history.results] >= 0)]
        purged = np.zeros(len(history.kind), dtype=np.bool_)
        for call in history.call_block[failed].tolist():
            purged[call] = not is_protected(session, session.blocks[call], self.protected_tools, self.protected_files)
        responses = np.fromiter(
            (message.role is Role.ASSISTANT for message in session.messages), np.bool_, len(session.messages)
        )
        of_model = responses[history.message] & (history.kind != BlockKind.OTHER)
        for context in arrivals(history, of_model):
            messages = history.message[context.blocks]
            first = np.append(True, messages[1:] != messages[:-1])[: len(messages)]
            step = np.cumsum(first) - 1
            chosen = purged[context.blocks]
            blocks = context.blocks[chosen]
            retained = blocks[: int(np.count_nonzero(chosen[: context.retained]))]
            builder.add(retained, context.calls[chosen][: len(retained)], CONTEXT_RESET)
            goes = later(context.calls[first], self.turns)[step[chosen]]
            builder.add(blocks, batched(history, context.context, goes, self.when), old)
        return builder.schedule()
