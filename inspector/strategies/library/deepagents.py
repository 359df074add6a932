"""deepagents: large results and messages saved to files with both ends shown, arguments of old calls cut.

Source: deepagents 0.7 (`middleware/filesystem.py`, `middleware/_message_eviction.py`). A token counts as four
characters. A result over its limit is replaced before it enters the conversation, a user message when it is the newest
of a prompt; both stay unchanged afterwards. Tools that shorten their own output, or that would be needed to read their
own saved output, are exempt. The real file name of a message is random; here it derives from the message's text.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind
from inspector.strategies.core.measures import CHARACTERS_PER_TOKEN
from inspector.strategies.core.operations import sent_text
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.parametrized import (
    Parametrized,
    integer,
    model_window,
    number,
    string,
    tools,
    window_of,
)
from inspector.strategies.core.rendition import Action, Rendition
from inspector.strategies.core.schedule_builder import CONTEXT_RESET, ScheduleBuilder
from inspector.strategies.core.stored_previews import numbered_ends
from inspector.strategies.core.strategy import AgentSettings, Choice, Decision
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.history import SYSTEM_TEXT, TOOL_CALL
from inspector.strategies.history.tools import tool_kind_mask
from inspector.strategies.library.langchain import LANGCHAIN_CHARACTERS, langchain_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.strategy import CallContext, Schedule
    from inspector.strategies.history.history import History


_LONGEST_NAME = 128


@dataclass(frozen=True, slots=True)
class PreviewLines:
    """Send the first and last lines of a text over a limit, numbered, with a note on where the full text is.

    The texts come from deepagents 0.7 (`middleware/_message_eviction.py`, `backends/utils.py`).

    Attributes:
        limit: Longest text that is left whole, in characters.
        head: Lines shown from the beginning.
        tail: Lines shown from the end.
        folder: Folder in which the agent saves texts.
        of_result: True for a tool result, False for a message.
    """

    limit: int
    head: int
    tail: int
    folder: str
    of_result: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        text = sent_text(rendition, source) if rendition.length > self.limit else None
        if text is None:
            return rendition
        if self.of_result:
            identifier = source.block.tool_call_id
            path = f"{self.folder}/{file_name(identifier)}"
            return rendition.cut_to(numbered_ends(text, self.head, self.tail, path, identifier))
        path = f"{self.folder}/{source.block.digest.hex()}.md"
        return rendition.cut_to(numbered_ends(text, self.head, self.tail, path, None))


def file_name(identifier: str) -> str:
    name = identifier.replace(".", "_").replace("/", "_").replace("\\", "_")
    if len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        return f"call-{hashlib.sha256(identifier.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return name or "unknown"


EXEMPT = ("ls", "glob", "grep", "read_file", "edit_file", "write_file", "delete")
_MOST = 1_000_000
_ARGUMENT_KEPT = 20
"""Characters kept of a long argument."""


@dataclass(frozen=True)
class DeepagentsEvict(Parametrized):
    """Replace large results and messages with numbered lines from both ends, once, when they are first sent."""

    name = "deepagents-evict"
    title = "Evict large results (deepagents)"
    summary = "Save large results and messages to files when they are first sent, and show both ends."
    source = "deepagents 0.7.32 FilesystemMiddleware"
    agent_settings = AgentSettings(
        {"limit": "tool_token_limit_before_evict", "message-limit": "human_message_token_limit_before_evict"},
        constants=("head", "tail", "exempt-tools", "folder", "message-folder"),
    )

    limit: int = integer(20_000, "Largest result sent whole; 0 for no limit.", "tokens", maximum=_MOST, group="result")
    message_limit: int = integer(
        50_000,
        "Largest user message sent whole; 0 for no limit.",
        "tokens",
        maximum=_MOST,
        group="message",
    )
    head: int = integer(5, "Lines shown from the beginning.", "lines", maximum=1_000)
    tail: int = integer(5, "Lines shown from the end.", "lines", maximum=1_000)
    exempt_tools: tuple[str, ...] = tools(
        EXEMPT, "Tools with results that are never saved.", group="result", about=ToolList.LEFT_ALONE
    )
    folder: str = string("/large_tool_results", "Folder in which the agent saves results.", group="result")
    message_folder: str = string("/conversation_history", "Folder in which the agent saves messages.", group="message")

    def schedule(self, history: History) -> Schedule:
        builder = ScheduleBuilder(history)
        if self.limit:
            results = history.results_of(~tool_kind_mask(history.tool_names, (), self.exempt_tools))
            limit = self.limit * CHARACTERS_PER_TOKEN
            preview = PreviewLines(limit, self.head, self.tail, self.folder)
            builder.add_at_insertion(results, Decision(preview, "large result", "result"))
        if self.message_limit:
            limit = self.message_limit * CHARACTERS_PER_TOKEN
            texts = ((history.kind == BlockKind.USER_TEXT) & (history.characters > limit)).nonzero()[0].astype("int32")
            preview = PreviewLines(limit, self.head, self.tail, self.message_folder, of_result=False)
            builder.add_at_insertion(texts, Decision(preview, "large message", "message"))
        return builder.schedule()


@dataclass(frozen=True, slots=True)
class TruncateArguments:
    """Cut long texts in the arguments of a call, which stay valid JSON.

    Attributes:
        limit: Longest text that is left whole, in characters.
        marker: Text appended to the beginning of a cut text.
    """

    limit: int
    marker: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut the arguments; return the rendition unchanged if they are not an object."""
        text = sent_text(rendition, source) if rendition.length > self.limit else None
        try:
            given = json.loads(text) if text else None
        except (ValueError, RecursionError):
            return rendition
        if not isinstance(given, dict):
            return rendition
        cut = {
            name: value[:_ARGUMENT_KEPT] + self.marker if isinstance(value, str) and len(value) > self.limit else value
            for name, value in given.items()
        }
        return rendition if cut == given else Rendition((json.dumps(cut),), Action.CUT, rendition.kind)


@dataclass(frozen=True)
class DeepagentsTruncateArguments(Parametrized):
    """Cut the arguments of old calls that write files, while the conversation is over a trigger.

    Source: `SummarizationMiddleware` of deepagents 0.7.32 (`middleware/summarization.py`, `_truncate_args`), with the
    settings that `compute_summarization_defaults` returns for a model with a known window: above 85 % of it, calls
    before the newest tenth are cut, at every call again and before anything is summarized. For a model with an unknown
    window both settings are twenty messages. Tokens are estimated from characters, as in LangChain.
    """

    name = "deepagents-truncate-arguments"
    title = "Truncate arguments (deepagents)"
    summary = "While a conversation is over a trigger, cut long texts in the arguments of its older write calls."
    source = "deepagents 0.7.32 SummarizationMiddleware, truncate_args_settings"

    trigger_fraction: float = number(
        0.85, "Fraction of the window at which it starts; 0 to use the other triggers.", minimum=0.0, maximum=1.0
    )
    trigger_tokens: int = integer(
        0, "Estimated tokens at which it starts instead; 0 for none.", "tokens", maximum=2_000_000
    )
    trigger_messages: int = integer(0, "Messages at which it starts instead; 0 for none.", "messages", maximum=100_000)
    keep_fraction: float = number(
        0.1, "Newest fraction of the window that stays whole; 0 to count messages.", minimum=0.0, maximum=1.0
    )
    keep_messages: int = integer(
        20, "Number of newest messages that stay whole if keep-fraction is 0.", "messages", maximum=100_000
    )
    max_length: int = integer(2_000, "Longest argument that stays whole.", "characters", maximum=_MOST)
    truncation_text: str = string("...(argument truncated)", "Text appended to the beginning of a cut argument.")
    tools: tuple[str, ...] = tools(
        ("write_file", "edit_file"), "Cut the arguments of these tools.", about=ToolList.ONLY
    )
    characters_per_token: float = number(
        4.0,
        "Characters per token; LangChain uses 3.3 for Anthropic's models.",
        "characters",
        minimum=1.0,
        maximum=10.0,
    )
    window: int = model_window()

    def triggers(self, window: int) -> tuple[float, ...]:
        if self.trigger_messages:
            return (0,)
        return (self.trigger_tokens or max(int((self.window or window) * self.trigger_fraction), 1),)

    def start(self, history: History) -> DeepagentsTruncateArgumentsRun:
        return DeepagentsTruncateArgumentsRun(self, history)


@dataclass
class _Written:
    """One conversation.

    Attributes:
        system: Estimated tokens of the system text and the tools, if recorded.
        sums: Running token estimate up to and including each message, nothing cut.
        calls: Its writing calls not cut yet, each with the index of its message.
    """

    system: int = 0
    sums: list[int] = field(default_factory=list)
    calls: deque[tuple[int, int]] = field(default_factory=deque)


class DeepagentsTruncateArgumentsRun(ThreadRun[DeepagentsTruncateArguments, _Written]):
    """A run of the cutting on one session. A conversation over the trigger stays over it, because it only grows."""

    measures_prompts = False
    reset_decision = CONTEXT_RESET

    def __init__(self, strategy: DeepagentsTruncateArguments, history: History) -> None:
        super().__init__(strategy, history)
        self.window = window_of(history, strategy.window)
        self._characters = LANGCHAIN_CHARACTERS.within(history)
        self._named = frozenset(strategy.tools)
        self._cut = Decision(
            TruncateArguments(strategy.max_length, strategy.truncation_text),
            "older call, conversation over the trigger",
        )

    def begin(self) -> _Written:
        return _Written()

    def decide(self, state: _Written, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        blocks = self.history.session.blocks
        for item in self.items(arrived):
            counted = self._characters(context, item)
            tokens = langchain_tokens(*counted, self.strategy.characters_per_token)
            place = len(state.sums)
            state.sums.append(tokens + (state.sums[-1] if state.sums else 0))
            for block in item.blocks:
                if self.history.kind_bytes[block] == TOOL_CALL and blocks[block].tool_name in self._named:
                    state.calls.append((place, block))
        for block in arrived:
            if self.history.kind_bytes[block] == SYSTEM_TEXT:
                characters = context.length(block) + len("system")
                state.system += langchain_tokens(characters, 0, self.strategy.characters_per_token)
        total = state.system + (state.sums[-1] if state.sums else 0)
        context.note_estimate(total)
        return self._truncate(state, context) if self._is_reached(state, total) else ()

    def _is_reached(self, state: _Written, tokens: int) -> bool:
        strategy = self.strategy
        if strategy.trigger_messages:
            return len(state.sums) >= strategy.trigger_messages
        return tokens >= (strategy.trigger_tokens or max(int(self.window * strategy.trigger_fraction), 1))

    def _cutoff(self, state: _Written) -> int:
        strategy, count = self.strategy, len(state.sums)
        if not strategy.keep_fraction:
            return 0 if count <= strategy.keep_messages else count - strategy.keep_messages
        target = max(int(self.window * strategy.keep_fraction), 1)
        # The earliest message that can start the tail so that all of it fits.
        total = state.sums[-1] if state.sums else 0
        return 0 if total <= target else bisect_left(state.sums, total - target) + 1

    def _truncate(self, state: _Written, context: CallContext) -> Iterator[Choice]:
        cutoff = self._cutoff(state)
        if cutoff >= len(state.sums):
            # If not even the newest message fits, nothing is cut.
            return
        while state.calls and state.calls[0][0] < cutoff:
            _, block = state.calls.popleft()
            if context.length(block) > self.strategy.max_length:
                yield Choice(block, self._cut)
