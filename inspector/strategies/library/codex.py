"""Cut the middle out of large tool results when they enter the conversation, as Codex does.

Source: `truncate_text` and `formatted_truncate_text` of Codex (openai/codex `codex-rs/utils/output-truncation`). Every
result is cut to the model's budget, in tokens of four bytes or in bytes, plus a fifth for the text around it. Output of
commands was cut to the budget itself before, with a line that states it. Each model has a separate policy; 10,000 is
the usual budget, in either unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.strategies.core.batching import ScheduleBuilder
from inspector.strategies.core.measures import CHARACTERS_PER_TOKEN
from inspector.strategies.core.operations import Action, BlockSource, Rendition, sent_text
from inspector.strategies.core.stored_previews import bytes_of
from inspector.strategies.core.strategy import AgentSettings, Decision, Parametrized, choice, integer, number, tools
from inspector.strategies.history.tools import ToolKind, tool_kind_mask

if TYPE_CHECKING:
    from inspector.strategies.core.strategy import Schedule
    from inspector.strategies.history.history import History


def tokens_of_bytes(count: int) -> int:
    """Convert bytes to tokens: Codex's `approx_tokens_from_byte_count` (`utils/string/src/truncate.rs`)."""
    return (count + 3) // CHARACTERS_PER_TOKEN


@dataclass(frozen=True, slots=True)
class CutMiddle:
    """Keep half a budget from each end of a text over it, with a marker of how much is missing in between.

    Rule and texts are Codex's (openai/codex `codex-rs/utils/string/src/truncate.rs`,
    `codex-rs/utils/output-truncation/src/lib.rs`).

    Attributes:
        budget: Maximum size of a text: tokens of four bytes with `in_tokens`, otherwise bytes.
        in_tokens: Measure budget and missing part in tokens instead of bytes and characters.
        announced: Prefix the text with a warning that it was cut, and its original length.
    """

    budget: int
    in_tokens: bool
    announced: bool

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut the current text if it has more bytes than the budget."""
        budget = self.budget * CHARACTERS_PER_TOKEN if self.in_tokens else self.budget
        # A character has at most four bytes.
        if rendition.length * 4 <= budget:
            return rendition
        text = sent_text(rendition, source)
        size = bytes_of(text) if text is not None else 0
        if text is None or size <= budget:
            return rendition
        head, tail = (0, len(text)) if not budget else _kept(text, size, budget)
        removed = tokens_of_bytes(size - budget) if self.in_tokens else tail - head
        marker = f"…{removed} {'tokens' if self.in_tokens else 'chars'} truncated…"
        pieces = (*rendition.between(0, head), marker, *rendition.between(tail, len(text)))
        if self.announced:
            lines = text.count("\n") + (not text.endswith("\n"))
            count = tokens_of_bytes(size)
            opening = f"Warning: truncated output (original token count: {count})\nTotal output lines: {lines}\n\n"
            pieces = (opening, *pieces)
        return Rendition(pieces, Action.CUT, rendition.kind)


def _kept(text: str, size: int, budget: int) -> tuple[int, int]:
    """Return the end of the kept beginning and the start of the kept end, in characters."""
    left = budget // 2
    right = size - (budget - left)
    if text.isascii():
        return left, right
    encoded = text.encode("utf-8", "surrogatepass")
    while left and _is_inside(encoded[left]):
        left -= 1
    while right < size and _is_inside(encoded[right]):
        right += 1
    head = len(encoded[:left].decode("utf-8", "surrogatepass"))
    return head, len(text) - len(encoded[right:].decode("utf-8", "surrogatepass"))


def _is_inside(byte: int) -> bool:
    return byte & 0xC0 == 0x80


@dataclass(frozen=True)
class CodexTruncate(Parametrized):
    """Keep both ends of large results, once, when they are inserted."""

    name = "codex-truncate"
    title = "Truncate at insertion (Codex)"
    summary = "Insert large results without their middle, cut to a budget of tokens or bytes."
    source = "openai/codex codex-rs/utils/output-truncation"
    agent_settings = AgentSettings(
        {"budget": "tool_output_token_limit", "unit": ""}, constants=("allowance", "announced")
    )

    budget: int = integer(10_000, "Maximum size of a result.", "tokens or bytes", maximum=10_000_000)
    unit: str = choice(("tokens", "bytes"), "Unit of the budget; a token is four bytes.")
    allowance: float = number(
        1.2, "Factor on the budget for results without an announcement.", minimum=1.0, maximum=10.0
    )
    announced: str = choice(
        ("commands", "all", "none"), "Announce the cut before the text: in command results, in all or in none."
    )
    command_tools: tuple[str, ...] = tools((), "Additional tools that run commands.")

    def schedule(self, history: History) -> Schedule:
        builder = ScheduleBuilder(history)
        in_tokens = self.unit == "tokens"
        announced = CutMiddle(self.budget, in_tokens, announced=True)
        plain = CutMiddle(math.ceil(self.budget * self.allowance), in_tokens, announced=False)
        results = history.results
        commands = tool_kind_mask(history.tool_names, (ToolKind.SHELL,), self.command_tools)[history.tool[results]]
        says = {"commands": commands, "all": commands | True, "none": commands & False}[self.announced]
        for chosen, operation in ((results[says], announced), (results[~says], plain)):
            builder.add_at_insertion(chosen, Decision(operation, "large at insertion"))
        return builder.schedule()
