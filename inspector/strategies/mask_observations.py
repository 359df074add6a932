"""Mask observations that are outside a window of the newest events.

Source: `ObservationMaskingCondenser` and `BrowserOutputCondenser` of OpenHands 0.62
(`openhands/memory/condenser/impl`). Both look at the whole event log before every call. The first counts events: what
was said, every tool call and every observation, so that a window of ten holds about five steps. The second counts only
observations of the browser.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.arguments import url_of
from inspector.strategies.arrivals import arrivals
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.counting import Unit, entries_of
from inspector.strategies.history import NEVER
from inspector.strategies.operations import ReplaceText
from inspector.strategies.remembered import Remembered
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import tools, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History

MASK = "<MASKED>"
_CURRENT_URL = re.compile(r"\[Current URL: ([^\]\n]*)\]")


def later(calls: NDArray[np.int32], by: int) -> NDArray[np.int32]:
    """Per entry, the call that brings the entry `by` places after it; `NEVER` where none does."""
    return np.append(calls[by:], np.full(min(by, len(calls)), NEVER, dtype=np.int32))


@dataclass(frozen=True)
class MaskObservations(Batching):
    """Replace observations before the newest events by a mask."""

    name: ClassVar[str] = "mask-observations"
    title: ClassVar[str] = "Mask observations"
    summary: ClassVar[str] = "Keep the newest events whole and mask every tool result before them."
    source: ClassVar[str] = "ObservationMaskingCondenser, OpenHands 0.62 openhands/memory/condenser/impl"

    window: int = whole(
        "window",
        100,
        "How many of the newest events stay whole; the class alone has 5, its configuration 100.",
        "events",
        minimum=1,
        maximum=10_000,
    )

    def schedule(self, history: History) -> Schedule:
        """A result is masked at the call that brings the event `window` places after it."""
        builder = ScheduleBuilder()
        masked = Decision(ReplaceText(MASK), f"before the newest {self.window} events")
        for entries in entries_of(history, Unit.EVENTS):
            result = entries.kinds(history) == BlockKind.TOOL_RESULT
            blocks = entries.blocks[entries.first]
            carried = result.copy()
            carried[entries.carried :] = False
            builder.add(blocks[carried], entries.calls[carried], Decision(None, "counted anew"))
            builder.add(blocks[result], later(entries.calls, self.window)[result], masked)
        return builder.schedule()


def _url_in(text: str) -> str:
    found = _CURRENT_URL.search(text)
    return found.group(1) if found else ""


_shown_url = Remembered(_url_in, "")


@dataclass(frozen=True)
class MaskBrowserOutput(Batching):
    """Replace what the browser showed before by the address it was at."""

    name: ClassVar[str] = "mask-browser-output"
    title: ClassVar[str] = "Mask browser output"
    summary: ClassVar[str] = "Keep the newest results of the browser and of earlier ones only the address."
    source: ClassVar[str] = "BrowserOutputCondenser, OpenHands 0.62 openhands/memory/condenser/impl"

    window: int = whole(
        "window", 1, "How many of the newest results of the browser stay whole.", "results", minimum=1, maximum=1_000
    )
    tools: tuple[str, ...] = tools("tools", (), "Tools that show web pages, besides those named browser….")

    def schedule(self, history: History) -> Schedule:
        """A result is masked at the call that brings the browser's result `window` places after it."""
        builder = ScheduleBuilder()
        browser = np.array([*(self._is_browser(name) for name in history.tool_names), False], dtype=np.bool_)
        chosen = (history.kind == BlockKind.TOOL_RESULT) & browser[history.tool]
        for context in arrivals(history, chosen):
            carried = slice(0, context.carried)
            builder.add(context.blocks[carried], context.calls[carried], Decision(None, "counted anew"))
            decisions = [builder.index_of(self._masked(history, block)) for block in context.blocks.tolist()]
            builder.add_each(context.blocks, later(context.calls, self.window), np.array(decisions, dtype=np.int32))
        return builder.schedule()

    def _is_browser(self, tool: str) -> bool:
        return tool in self.tools or tool.rsplit("__", 1)[-1].lower().startswith("browse")

    def _masked(self, history: History, block: int) -> Decision:
        session = history.session
        call = int(history.call_block[block])
        url = _shown_url(session, session.blocks[block]) or (url_of(session, session.blocks[call]) if call >= 0 else "")
        return Decision(ReplaceText(f"Visited URL {url}\nContent omitted"), "shown before")
