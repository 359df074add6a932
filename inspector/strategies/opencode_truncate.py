"""Truncate tool output when it is inserted, to a number of lines and of bytes, and save the whole to a file.

Source: OpenCode (anomalyco/opencode `packages/opencode/src/tool/truncate.ts`). Whole lines are kept; where the first
does not fit, nothing is. The file has a name of its own there; here it is named after the tool call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from inspector.strategies.base import Decision
from inspector.strategies.cut_lines import CutLines
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import choice, tools, whole, written
from inspector.strategies.tools import meaning_mask
from inspector.strategies.tunable import Tunable

if TYPE_CHECKING:
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History

_SAVED = "The tool call succeeded but the output was truncated. Full output saved to: "
_READ_IT = "\nUse Grep to search the full content or Read with offset/limit to view specific sections."
_DELEGATE = (
    "\nUse the Task tool to have explore agent process this file with Grep and Read (with offset/limit). Do NOT read "
    "the full file yourself - delegate to save context."
)


@dataclass(frozen=True)
class OpenCodeTruncate(Tunable):
    """Keep whole lines of large results up to limits, once, when they are inserted."""

    name: ClassVar[str] = "opencode-truncate"
    title: ClassVar[str] = "Truncate at insertion (OpenCode)"
    summary: ClassVar[str] = "Insert only as many lines of a result as fit a number of lines and bytes."
    source: ClassVar[str] = "OpenCode packages/opencode/src/tool/truncate.ts"

    max_lines: int = whole("max-lines", 2_000, "Most lines that are inserted.", "lines", maximum=1_000_000)
    max_bytes: int = whole("max-bytes", 51_200, "Most bytes that are inserted.", "bytes", maximum=100_000_000)
    direction: str = choice("direction", ("head", "tail"), "Which end is kept.")
    hint: str = choice(
        "hint",
        ("search", "delegate"),
        "What the model is told to do: search the file itself, or have a subagent do it, where there is one.",
    )
    exempt_tools: tuple[str, ...] = tools("exempt-tools", (), "Tools that shorten their own output.")
    folder: str = written("folder", "~/.local/share/opencode/tool-output", "Where the agent saves the whole output.")

    def schedule(self, history: History) -> Schedule:
        """Every result is decided when it enters."""
        builder = ScheduleBuilder()
        advice = _DELEGATE if self.hint == "delegate" else _READ_IT
        hint = f"{_SAVED}{self.folder}/tool_{{id}}{advice}"
        cut = CutLines(self.max_lines, self.max_bytes, self.direction == "tail", hint)
        results = history.results
        results = results[~meaning_mask(history.tool_names, (), self.exempt_tools)[history.tool[results]]]
        builder.add(results, history.enters[results], Decision(cut, "too many lines or bytes at insertion"))
        return builder.schedule()
