"""OpenCode's two rules: pruning old tool output at the end of a user turn, and truncation at insertion."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.strategies.core.batching import Batching
from inspector.strategies.core.measures import CHARACTERS_PER_TOKEN
from inspector.strategies.core.operations import BlockSource, ReplaceText, sent_text
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.parametrized import Parametrized, choice, integer, string, tools
from inspector.strategies.core.schedule_builder import ScheduleBuilder
from inspector.strategies.core.stored_previews import lines_within
from inspector.strategies.core.strategy import AgentSettings, Choice, Decision
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.tools import tool_kind_mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.core.rendition import Rendition
    from inspector.strategies.core.strategy import CallContext, Schedule
    from inspector.strategies.history.conversation_items import ConversationItem
    from inspector.strategies.history.history import History


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
