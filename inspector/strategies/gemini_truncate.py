"""Keep a fifth of the limit from the beginning and the rest from the end of large command output, at insertion.

Source: `formatTruncatedToolOutput` of Gemini CLI 0.61 (`packages/core/src/utils/fileUtils.ts`,
`scheduler/tool-executor.ts`): output of its shell tool and of MCP tools. A text just over the limit gets longer. The
limit there also shrinks to what is left of the window; with a window of a million tokens that is seldom less than the
limit, and it is left out here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.strategies import javascript
from inspector.strategies.base import Decision
from inspector.strategies.measures import sent_text
from inspector.strategies.rendition import Action, Rendition
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import choice, tools, whole, written
from inspector.strategies.tool_files import file_for
from inspector.strategies.tools import Meaning, meaning_mask
from inspector.strategies.tunable import Tunable

if TYPE_CHECKING:
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History
    from inspector.strategies.operations import BlockSource

FILE = "~/.gemini/tmp/tool-outputs/{tool}_{id}.txt"


@dataclass(frozen=True, slots=True)
class KeepEnds:
    """Keep a fifth of the limit from the beginning of a text over it and the rest from its end, in UTF-16 units.

    Attributes:
        limit: Longest text that stays as it is.
        file: Where the whole is said to be.
    """

    limit: int
    file: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut what is sent so far, if it is longer than the limit."""
        # No character is more than two units.
        if rendition.length * 2 <= self.limit:
            return rendition
        text = sent_text(rendition, source)
        length = javascript.length(text) if text is not None else 0
        if text is None or length <= self.limit:
            return rendition
        head = self.limit // 5
        tail = self.limit - head
        first, last = javascript.place(text, head), javascript.place(text, length - tail)
        opening = (
            f"Output too large. Showing first {head:,} and last {tail:,} characters. "
            f"For full output see: {file_for(self.file, source)}\n"
        )
        between = (
            f"{javascript.HALF * first.splits}\n\n... [{length - head - tail:,} characters omitted] ...\n\n"
            f"{javascript.HALF * last.splits}"
        )
        kept_end = rendition.between(last.whole + last.splits, len(text))
        return Rendition((opening, *rendition.between(0, first.whole), between, *kept_end), Action.CUT, rendition.kind)


@dataclass(frozen=True)
class GeminiTruncate(Tunable):
    """Keep both ends of large command output, once, when it is inserted."""

    name: ClassVar[str] = "gemini-truncate"
    title: ClassVar[str] = "Truncate at insertion (Gemini CLI)"
    summary: ClassVar[str] = (
        "Insert large command output with a fifth of the limit from its beginning, the rest its end."
    )
    source: ClassVar[str] = "Gemini CLI 0.61 packages/core/src/utils/fileUtils.ts"

    limit: int = whole("limit", 40_000, "Longest output that is inserted whole.", "characters", maximum=10_000_000)
    applies_to: str = choice(
        "applies-to", ("commands-and-mcp", "all"), "Whose results: commands' and MCP tools', or all tools'."
    )
    command_tools: tuple[str, ...] = tools("command-tools", (), "Tools that run commands, besides those known to.")
    file: str = written("file", FILE, "Where the whole output is said to be; {tool} and {id} stand for the call's.")

    def schedule(self, history: History) -> Schedule:
        """Every result is decided when it enters."""
        builder = ScheduleBuilder()
        cut = Decision(KeepEnds(self.limit, self.file), "large output at insertion")
        chosen = meaning_mask(history.tool_names, (Meaning.SHELL,), self.command_tools)
        chosen[:-1] |= np.array([name.startswith(("mcp_", "mcp-")) for name in history.tool_names], dtype=np.bool_)
        results = history.results
        if self.limit and self.applies_to != "all":
            results = results[chosen[history.tool[results]]]
        if self.limit:
            builder.add(results, history.enters[results], cut)
        return builder.schedule()
