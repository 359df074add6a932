"""Smart retention by tool: the focus agent's projection.

The document is "Smart Tool History Strategy"; the agent's code is `core/context_management/ground_truth.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.strategies.core.batching import Batching
from inspector.strategies.core.operations import RemoveBlock, ReplaceText, make_cut
from inspector.strategies.core.parameters import CHARACTERS
from inspector.strategies.core.parametrized import choice, integer, limit_unit, tools
from inspector.strategies.core.rendition import Action, Rendition
from inspector.strategies.core.schedule_builder import ScheduleBuilder
from inspector.strategies.core.strategy import AgentSettings, Decision
from inspector.strategies.history.arrival_order import arrivals
from inspector.strategies.history.reads import reads_of
from inspector.strategies.history.tools import ToolKind, tool_kind_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.core.operations import BlockSource, Operation
    from inspector.strategies.core.strategy import Schedule
    from inspector.strategies.history.history import History


class ReadChanges(NamedTuple):
    """Reads that are left out or restored, as columns of equal length.

    Attributes:
        places: Positions in the columns passed in.
        calls: First call with the new state, int32.
        left_out: True if the read is left out from then on, False if it is restored.
    """

    places: NDArray[np.int64]
    calls: NDArray[np.int32]
    left_out: NDArray[np.bool_]


def kept_reads(counts: NDArray[np.int64], maximum: int) -> NDArray[np.int64]:
    """Return, per number of reads, the positions that stay: the first, the last and `maximum - 2` in between.

    The positions in between follow the document's `select_reads_to_keep`: the middle divided evenly, rounded down, so
    that they lean to the front. Up to `maximum` reads have none in between.

    Args:
        counts: Numbers of reads, at least 2 each, shape (n,).
        maximum: Number that stays of a file read more often than that, at least 2.

    Returns:
        Positions, shape (n, maximum), unordered, with duplicates.
    """
    between = maximum - 2
    kept = np.zeros((len(counts), maximum), dtype=np.int64)
    kept[:, 1] = counts - 1
    if between:
        step = (counts - 2) / between
        sampled = 1 + (np.arange(between) * step[:, None]).astype(np.int64)
        kept[:, 2:] = np.where(counts[:, None] > maximum, sampled, 0)
    return kept


def read_changes(files: NDArray[np.int32], calls: NDArray[np.int32], maximum: int, active_from: int) -> ReadChanges:
    """Compute when each read is left out and restored.

    As more reads arrive, the last one moves and so do the samples in between, so a read can be left out at one call and
    restored at a later one. All changes are computed at once from the arrival order of the reads.

    Args:
        files: Per read, in the order they are sent, the file's number.
        calls: Per read, the call it arrives at, non-decreasing.
        maximum: As for `kept_reads`.
        active_from: Number of reads of a file at which some are first left out, at least 3.
    """
    order = np.argsort(files, kind="stable")
    files, calls = files[order], calls[order]
    new_file = np.append(True, files[1:] != files[:-1])[: len(files)]
    base = np.flatnonzero(new_file)[np.cumsum(new_file) - 1]
    count = np.arange(len(files)) - base + 1
    # One step for each file and call, since the result depends only on the last count of the call.
    ends = np.append((files[1:] != files[:-1]) | (calls[1:] != calls[:-1]), True)[: len(files)]
    at = np.flatnonzero(ends & (count >= active_from))
    steps, first, call, file = count[at], base[at], calls[at], files[at]
    kept = kept_reads(steps, maximum)
    follows = np.append(False, file[1:] == file[:-1])[: len(at)]
    before = np.where(follows[:, None], np.roll(kept, 1, axis=0), -1)
    seen = np.where(follows, np.roll(steps, 1), 0)
    same = kept[:, :, None] == before[:, None, :]
    dropped = ~same.any(axis=1) & (before >= 0)
    back = ~same.any(axis=2) & (kept < seen[:, None])
    fresh = np.maximum(steps - 1 - seen, 0)
    owner = np.repeat(np.arange(len(at)), fresh)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(fresh) - fresh, fresh) + seen[owner]
    out = ~(place[:, None] == kept[owner]).any(axis=1)
    drop_step, drop_column = np.nonzero(dropped)
    back_step, back_column = np.nonzero(back)
    step_of = np.concatenate((owner[out], drop_step, back_step))
    place_of = np.concatenate((place[out], before[drop_step, drop_column], kept[back_step, back_column]))
    left_out = np.ones(len(step_of), dtype=np.bool_)
    left_out[len(step_of) - len(back_step) :] = False
    return ReadChanges(order[first[step_of] + place_of], call[step_of], left_out)


@dataclass(frozen=True, slots=True)
class CutOutput:
    """Keep both ends of a text over a limit, with a line between that gives its number of characters and lines.

    Attributes:
        limit: Longest text that is left whole.
        keep: Length kept at each end.
        unit: Unit of both, characters or tokens.
    """

    limit: int
    keep: int
    unit: str = CHARACTERS

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        cut = make_cut(self.unit, self.limit, self.keep, self.keep, _NOTE).apply(rendition, source)
        if cut is rendition:
            return rendition
        lines = rendition.text(source.text()).count("\n") + 1
        note = f"\n\n... [truncated: {rendition.length:,} chars total, {lines:,} lines] ...\n\n"
        return Rendition(tuple(note if piece == _NOTE else piece for piece in cut.pieces), Action.CUT)


_NOTE = "\0"
"""Placeholder of the note until the lines are counted, which requires reading the text and is done only for cut ones.
"""


@dataclass(frozen=True)
class SmartRetention(Batching):
    """Pointers for repeated reads, head and tail of long output, only the newest listings, all edits.

    Repeated reads of a file become pointers, except the first, the last and some in between. Edits always stay. Long
    command output keeps head and tail. Of listings and similar output only the newest stay.

    Source: "Smart Tool History Strategy" (sections 1 to 3 and its summary) for the default rules. The variant `shipped`
    is the same agent's `smart_tool_retention` (`core/context_management/ground_truth.py`): up to `max-reads` reads all
    stay, a pointer names the file without its folder, output keeps half the limit at each end, and listings stay.
    """

    name = "smart-retention"
    title = "Smart retention by tool"
    summary = (
        "Replace repeated reads of a file with pointers; keep head and tail of long output, all edits, and only the "
        "newest listings."
    )
    source = "Smart Tool History Strategy; smart_tool_retention(), ground_truth.py"
    agent_settings = AgentSettings(
        {"max-reads": "max_file_reads", "output-limit": "bash_truncate", "variant": ""}, constants=("output-keep",)
    )

    max_reads: int = integer(
        5,
        "Maximum whole reads of a file: the first, the last, samples in between.",
        "reads",
        minimum=2,
        maximum=50,
        group="reads",
    )
    read_tools: tuple[str, ...] = tools((), "Additional tools that read files.", group="reads")
    output_limit: int = integer(
        10_000,
        "Longest command output that stays whole.",
        "characters",
        maximum=1_000_000,
        group="output",
    )
    output_keep: int = integer(
        2_000,
        "Characters kept at each end of longer output; shipped: half the limit.",
        "characters",
        maximum=500_000,
        group="output",
    )
    unit: str = limit_unit("the output limits", group="output")
    output_tools: tuple[str, ...] = tools((), "Additional tools that run commands.", group="output")
    light_keep: int = integer(
        30,
        "Newest listings kept, older ones removed with their calls; shipped: all.",
        "results",
        minimum=1,
        maximum=1_000,
        group="light",
        logarithmic=True,
    )
    light_tools: tuple[str, ...] = tools((), "Additional tools with light results.", group="light")
    variant: str = choice(
        ("document", "shipped"), "Rules of the document, or of the agent it was written for (shipped)."
    )

    def schedule(self, history: History) -> Schedule:
        """Decide output when it enters, and reads and listings whenever another arrives."""
        builder = ScheduleBuilder(history)
        self._add_reads(history, builder)
        output = tool_kind_mask(history.tool_names, (ToolKind.SHELL,), self.output_tools)
        long_outputs = history.results_of(output)
        # A token has at least one character.
        long_outputs = long_outputs[history.characters[long_outputs] > self.output_limit]
        cut = Decision(self._output_operation(), "long output", "output")
        builder.add_at_insertion(long_outputs, cut)
        if self.variant == "document":
            light = tool_kind_mask(history.tool_names, (ToolKind.LIGHT,), self.light_tools)
            chosen = np.zeros(len(history.kind), dtype=np.bool_)
            chosen[history.results_of(light)] = True
            reason = f"older than the newest {self.light_keep} light results"
            older = Decision(RemoveBlock(leaves_message=True), reason, "light")
            builder.keep_newest(chosen, self.light_keep, older)
        return builder.schedule()

    def pointer(self, path: str) -> str:
        shown = path.rsplit("/", 1)[-1] if self.variant == "shipped" else path
        return f"[Re-read of {shown} - see earlier read for content]"

    def _output_operation(self) -> Operation:
        if self.variant == "document":
            return CutOutput(self.output_limit, self.output_keep, self.unit)
        half, note = self.output_limit // 2, "\n\n... [truncated: {length:,} chars total] ...\n\n"
        return make_cut(self.unit, self.output_limit, half, half, note, numbered=True)

    def _add_reads(self, history: History, builder: ScheduleBuilder) -> None:
        results, numbers, paths = reads_of(history, self.read_tools)
        file_of = np.full(len(history.kind), -1, dtype=np.int32)
        file_of[results] = numbers
        active_from = 3 if self.variant == "document" else self.max_reads + 1
        whole = builder.index_of(Decision(None, "first, last or sampled read", "reads"))
        for context in arrivals(history, file_of >= 0):
            if context.retained:
                retained = slice(context.retained)
                again = np.full(context.retained, whole, dtype=np.int32)
                builder.add_each(context.blocks[retained], context.calls[retained], again)
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
