"""Smart retention: what is kept of a tool result depends on what the tool does.

Reads of a file that is read again and again become pointers, except the first, the last and some between; edits always
stay; long command output keeps head and tail; of listings and the like only the newest stay.

Source: "Smart Tool History Strategy", whose rules (sections 1 to 3 and its summary) are the default. The variant
`shipped` is the `smart_tool_retention` the same agent runs (`core/context_management/ground_truth.py`): up to
`max-reads` reads all stay, a pointer names the file without its folder, output keeps half the limit at each end, and
listings stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.strategies.arrivals import arrivals
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.operations import RemoveBlock, ReplaceText, cut_in
from inspector.strategies.parameters import CHARACTERS, Parameter, ParameterKind
from inspector.strategies.read_samples import read_changes
from inspector.strategies.reads import reads_of
from inspector.strategies.rendition import Action, Rendition
from inspector.strategies.schedules import ScheduleBuilder, drop_all_but_newest
from inspector.strategies.settings import limit_unit
from inspector.strategies.tools import Meaning, meaning_mask
from inspector.strategies.tunable import setting

if TYPE_CHECKING:
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History
    from inspector.strategies.operations import BlockSource, Operation


@dataclass(frozen=True, slots=True)
class CutOutput:
    """Keep both ends of a text over a limit, and a line between that says how many characters and lines it had.

    Attributes:
        limit: Longest text that stays as it is.
        keep: What is kept at each end.
        unit: What these count, characters or tokens.
    """

    limit: int
    keep: int
    unit: str = CHARACTERS

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut what is sent so far, if it is longer than the limit."""
        cut = cut_in(self.unit, self.limit, self.keep, self.keep, _NOTE).apply(rendition, source)
        if cut is rendition:
            return rendition
        lines = rendition.text(source.text()).count("\n") + 1
        note = f"\n\n... [truncated: {rendition.length:,} chars total, {lines:,} lines] ...\n\n"
        return Rendition(tuple(note if piece == _NOTE else piece for piece in cut.pieces), Action.CUT)


_NOTE = "\0"
"""Stands where the note goes until the lines are counted, which only a text that is cut is read for."""


@dataclass(frozen=True)
class SmartRetention(Batching):
    """Pointers for repeated reads, head and tail of long output, only the newest listings, all edits."""

    name: ClassVar[str] = "smart-retention"
    title: ClassVar[str] = "Smart retention by tool"
    summary: ClassVar[str] = (
        "Point at earlier reads of the same file, keep head and tail of long output, all edits, and only the newest "
        "listings."
    )
    source: ClassVar[str] = "Smart Tool History Strategy; smart_tool_retention(), ground_truth.py"

    max_reads: int = setting(
        Parameter(
            "max-reads",
            ParameterKind.WHOLE_NUMBER,
            5,
            "How many reads stay whole of a file that is read more often: the first, the last and samples between.",
            unit="reads",
            minimum=2,
            maximum=50,
            group="reads",
        )
    )
    read_tools: tuple[str, ...] = setting(
        Parameter(
            "read-tools",
            ParameterKind.TOOLS,
            (),
            "Tools that read files, besides those that are known to.",
            group="reads",
        )
    )
    output_limit: int = setting(
        Parameter(
            "output-limit",
            ParameterKind.WHOLE_NUMBER,
            10_000,
            "Longest command output that stays whole.",
            unit="characters",
            minimum=0,
            maximum=1_000_000,
            group="output",
            logarithmic=True,
        )
    )
    output_keep: int = setting(
        Parameter(
            "output-keep",
            ParameterKind.WHOLE_NUMBER,
            2_000,
            "Characters kept at each end of longer output; the shipped variant keeps half the limit instead.",
            unit="characters",
            minimum=0,
            maximum=500_000,
            group="output",
            logarithmic=True,
        )
    )
    unit: str = limit_unit("the limits of output", group="output")
    output_tools: tuple[str, ...] = setting(
        Parameter(
            "output-tools", ParameterKind.TOOLS, (), "Tools that run commands, besides those known to.", group="output"
        )
    )
    light_keep: int = setting(
        Parameter(
            "light-keep",
            ParameterKind.WHOLE_NUMBER,
            30,
            "How many of the newest listings stay; older ones go with their calls. The shipped variant keeps all.",
            unit="results",
            minimum=1,
            maximum=1_000,
            group="light",
            logarithmic=True,
        )
    )
    light_tools: tuple[str, ...] = setting(
        Parameter(
            "light-tools",
            ParameterKind.TOOLS,
            (),
            "Tools whose results are light, besides those known to be.",
            group="light",
        )
    )
    variant: str = setting(
        Parameter(
            "variant",
            ParameterKind.CHOICE,
            "document",
            "The rules of the document, or what the agent it was written for runs.",
            choices=("document", "shipped"),
        )
    )

    def schedule(self, history: History) -> Schedule:
        """Output is decided when it enters; reads and listings whenever another arrives."""
        builder = ScheduleBuilder()
        self._add_reads(history, builder)
        output = meaning_mask(history.tool_names, (Meaning.SHELL,), self.output_tools)
        long_outputs = history.results[output[history.tool[history.results]]]
        # A token is a character or more.
        long_outputs = long_outputs[history.characters[long_outputs] > self.output_limit]
        cut = Decision(self._output_operation(), "long output", "output")
        builder.add(long_outputs, history.enters[long_outputs], cut)
        if self.variant == "document":
            light = meaning_mask(history.tool_names, (Meaning.LIGHT,), self.light_tools)
            chosen = np.zeros(len(history.kind), dtype=np.bool_)
            chosen[history.results[light[history.tool[history.results]]]] = True
            reason = f"older than the newest {self.light_keep} light results"
            older = Decision(RemoveBlock(leaves_message=True), reason, "light")
            drop_all_but_newest(history, builder, chosen, self.light_keep, older)
        return builder.schedule()

    def pointer(self, path: str) -> str:
        """What stands in place of a repeated read of a file."""
        shown = path.rsplit("/", 1)[-1] if self.variant == "shipped" else path
        return f"[Re-read of {shown} - see earlier read for content]"

    def _output_operation(self) -> Operation:
        if self.variant == "document":
            return CutOutput(self.output_limit, self.output_keep, self.unit)
        half, note = self.output_limit // 2, "\n\n... [truncated: {length:,} chars total] ...\n\n"
        return cut_in(self.unit, self.output_limit, half, half, note, numbered=True)

    def _add_reads(self, history: History, builder: ScheduleBuilder) -> None:
        results, numbers, paths = reads_of(history, self.read_tools)
        file_of = np.full(len(history.kind), -1, dtype=np.int32)
        file_of[results] = numbers
        active_from = 3 if self.variant == "document" else self.max_reads + 1
        whole = builder.index_of(Decision(None, "first, last or sampled read", "reads"))
        for context in arrivals(history, file_of >= 0):
            if context.carried:
                carried = slice(context.carried)
                again = np.full(context.carried, whole, dtype=np.int32)
                builder.add_each(context.blocks[carried], context.calls[carried], again)
            files = file_of[context.blocks]
            changes = read_changes(files, context.calls, self.max_reads, max(active_from, 3))
            pointers = np.full(len(paths), whole, dtype=np.int32)
            for file in np.unique(files[changes.places]).tolist():
                pointer = ReplaceText(self.pointer(paths[file]))
                pointers[file] = builder.index_of(
                    Decision(pointer, "re-read between first and last", "reads", points_to="earlier")
                )
            decisions = np.where(changes.left_out, pointers[files[changes.places]], whole)
            builder.add_each(context.blocks[changes.places], changes.calls, decisions.astype(np.int32))
