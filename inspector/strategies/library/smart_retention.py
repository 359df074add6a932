"""Smart retention by tool, the two projections it set out to replace, and the compression of diffs.

The document is "Smart Tool History Strategy"; the agent's code is `core/context_management/ground_truth.py`.

`smart-diff-compression` turns runs of edits to one file into a note with a line for each. Section 6.3 of the document
gives the note word for word: the number of changes, the file and the turns, a line for each change with equal wordings
counted together (`3x`), and the location of the full diff. It leaves the rest open, which is chosen here:

- A run consists of the changes to one file made before the agent last read some of it and not yet in a run, once there
  are `changes` of them. Changes since the last read stay whole, because nothing else shows the file's content. A note
  never changes, so it breaks the cached prompt once.
- The note replaces the last change's result, and its call keeps only the file's name; the other calls of the run are
  removed with their results. A run stays as it is if its note would not be shorter.
- A turn is a message, counted from 1. A change belongs to the turn of its result, as in `inspector files`. The wording
  of a line is that of the changelog of section 6.1: the call's intent, otherwise the agent's sentence before it,
  otherwise the difference. The ids of the tool calls follow, for `inspector recall`.
- Calls that change several files, commands with possible further effects, and failed changes are left out.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.file_history.changelog import PrecedingText, describe_difference, shortened
from inspector.file_history.history import FileEvent, kind_of
from inspector.file_history.operations import CallEffects, FileOperation, Patching, UnknownChange, call_effects
from inspector.session.files import joined_path
from inspector.session.model import Block, BlockKind, Session, TextUnavailableError
from inspector.strategies.core.batching import Batching, ScheduleBuilder
from inspector.strategies.core.operations import (
    RECALL,
    Action,
    RemoveBlock,
    RemovedPlaceholder,
    Rendition,
    ReplaceText,
    make_cut,
    recall_call_command,
    recall_name,
)
from inspector.strategies.core.parameters import CHARACTERS
from inspector.strategies.core.strategy import AgentSettings, Decision, choice, integer, limit_unit, string, tools
from inspector.strategies.history.arrival_order import Arrivals, arrivals
from inspector.strategies.history.history import NEVER, History
from inspector.strategies.history.memo import Memo, cached_per_history
from inspector.strategies.history.reads import PATH_ARGUMENTS, decoded, path_of, reads_of
from inspector.strategies.history.tools import ToolKind, tool_kind_mask

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.strategies.core.operations import BlockSource, Operation
    from inspector.strategies.core.strategy import Schedule


class ReadChanges(NamedTuple):
    """Reads left out or restored: positions in the columns passed in, first calls, new states."""

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
    """Keep both ends of a text over a limit, in a unit, with the number of characters and lines between."""

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


@dataclass(frozen=True)
class KeepRecent(Batching):
    """Remove all but the newest tool results, with their calls.

    Source: `keep_recent_tool_results` of the agent of the "Smart Tool History Strategy" document
    (`core/context_management/ground_truth.py`), the behavior that document set out to replace. The assistant's own text
    stays. A message without any is sent empty in APIs that put calls next to the content. In Anthropic's API a message
    may not be empty, so it is dropped.
    """

    name = "keep-recent"
    title = "Keep recent results only"
    summary = "Keep the newest tool results and remove older ones together with their calls."
    source = "keep_recent_tool_results(30), Smart Tool History Strategy, ground_truth.py"
    agent_settings = AgentSettings({"keep": ""})

    keep: int = integer(
        30, "Number of newest tool results kept.", "results", minimum=1, maximum=1_000, logarithmic=True
    )

    def schedule(self, history: History) -> Schedule:
        """Remove a result at the call that adds the last of the `keep` results after it."""
        builder = ScheduleBuilder(history)
        decision = Decision(RemoveBlock(leaves_message=True), f"older than the newest {self.keep} results")
        builder.keep_newest(history.kind == BlockKind.TOOL_RESULT, self.keep, decision)
        return builder.schedule()


@dataclass(frozen=True)
class DedupeReads(Batching):
    """Remove all but the newest read of every file, with their calls.

    Source: `dedupe_file_reads` of the agent of the "Smart Tool History Strategy" document
    (`core/context_management/ground_truth.py`). A read of an unknown file stays, because no newer read can be matched.
    See `KeepRecent` for messages that held only the call.
    """

    name = "dedupe-reads"
    title = "Newest read of a file only"
    summary = "When a file is read again, remove the earlier read together with its call."
    source = "dedupe_file_reads(), Smart Tool History Strategy, ground_truth.py"
    agent_settings = AgentSettings()

    read_tools: tuple[str, ...] = tools((), "Additional tools that read files.")

    def schedule(self, history: History) -> Schedule:
        """Remove a read at the call that adds the next read of the same file."""
        results, files, _ = reads_of(history, self.read_tools)
        file_of = np.full(len(history.kind), -1, dtype=np.int32)
        file_of[results] = files
        builder = ScheduleBuilder(history)
        decision = Decision(RemoveBlock(leaves_message=True), "read again later")
        for context in arrivals(history, file_of >= 0):
            by_file = np.argsort(file_of[context.blocks], kind="stable")
            blocks, calls = context.blocks[by_file], context.calls[by_file]
            same = file_of[blocks[1:]] == file_of[blocks[:-1]]
            replaced_at = np.append(np.where(same, calls[1:], NEVER), NEVER)[: len(blocks)].astype(np.int32)
            builder.restore_with_tool_calls(context)
            builder.add_with_tool_calls(blocks, replaced_at, decision)
        return builder.schedule()


LINE = "- {what} ({ids})"
MARKER = "[Full diff available in ground truth]"
_WHAT, _IDS = "{what}", "{ids}"
_TOUCHES_NO_FILE = (ToolKind.SEARCH, ToolKind.WEB, ToolKind.LIGHT, ToolKind.CONFIRMATION, ToolKind.AGENT)


class _FileEffects(NamedTuple):
    """Effects of a tool call on files, limited to those that count here.

    Attributes:
        changes: The one file it changed, as the call names it; empty for no file or several.
        folder: Folder that the name is relative to, if the call gives one.
        reads: Files it read, each with its folder.
        intent: Purpose of the change as stated in the call; empty if not stated.
        difference: The change in words.
    """

    changes: str = ""
    folder: str = ""
    reads: tuple[tuple[str, str], ...] = ()
    intent: str = ""
    difference: str = ""


_NOTHING = _FileEffects()
_KNOWN: Memo[tuple[str, bytes, bytes, bool], _FileEffects] = Memo()


class _Change(NamedTuple):
    """A change to a file in a context. `call`: the call's block index; `result`: the result's block index."""

    call: int
    result: int
    path: str


class _Run(NamedTuple):
    """Changes to a file that are compressed together. `at`: first call that sends the note."""

    changes: tuple[_Change, ...]
    at: int


@dataclass(frozen=True)
class SmartDiffCompression(Batching):
    """Compress runs of changes to a file into a note with a line for each."""

    name = "smart-diff-compression"
    title = "Smart diff compression"
    summary = (
        "Once a file is read again, replace its earlier changes with a note: their number, the turns, and a line for "
        "each with the id to recall it by."
    )
    source = "Smart Tool History Strategy, section 6.3"

    changes: int = integer(
        3, "Minimum changes of a file to compress together.", "changes", minimum=1, maximum=1_000, logarithmic=True
    )
    read_tools: tuple[str, ...] = tools((), "Additional tools that read files.")
    line: str = string(LINE, "Line for a change, with {what}, the calls' {ids} and {recall} commands.")
    marker: str = string(MARKER, "End of the note; {recall} inserts the commands that print the changes.")

    def schedule(self, history: History) -> Schedule:
        """Compress a run at the call that adds the read after its last change."""
        builder = ScheduleBuilder(history)
        by_result = _file_effects(history, self.read_tools)
        chosen = np.zeros(len(history.kind), dtype=np.bool_)
        results = np.array(sorted(by_result), dtype=np.int32)
        chosen[results] = True
        chosen[history.call_block[results]] = True
        for context in arrivals(history, chosen):
            builder.restore(context)
            for run in self._runs(history, context, by_result):
                self._add(history, builder, run)
        return builder.schedule()

    def _runs(self, history: History, context: Arrivals, by_result: Mapping[int, _FileEffects]) -> Iterator[_Run]:
        """Yield the runs of a context, in the order they are compressed."""
        place = {block: number for number, block in enumerate(context.blocks.tolist())}
        answers: dict[int, int] = defaultdict(int)
        folder = history.session.working_directory
        asked_by = [int(history.call_block[block]) if block in by_result else -1 for block in place]
        for asked in asked_by:
            answers[asked] += 1
        waiting: dict[str, list[_Change]] = defaultdict(list)
        for block, asked, call in zip(place, asked_by, context.calls.tolist(), strict=True):
            if asked not in place:
                continue
            effects = by_result[block]
            for path, own_folder in effects.reads:
                file = _file(folder, own_folder, path)
                # The agent calls for a read after seeing the results before it.
                known = bisect_right(waiting[file], place[asked], key=lambda change: place[change.result])
                if known < self.changes:
                    continue
                run = _Run(tuple(waiting[file][:known]), call)
                del waiting[file][:known]
                if self._is_shorter(history, run):
                    yield run
            if effects.changes and answers[asked] == 1:
                waiting[_file(folder, effects.folder, effects.changes)].append(_Change(asked, block, effects.changes))

    def _is_shorter(self, history: History, run: _Run) -> bool:
        blocks = [block for change in run.changes for block in (change.call, change.result)]
        sent = len(self.note_on(history, run.changes)) + len(_input_left(history.session, run.changes[-1].call))
        return sent < int(history.characters[blocks].sum())

    def _add(self, history: History, builder: ScheduleBuilder, run: _Run) -> None:
        reason = f"{len(run.changes):,} changes before the file was read again"
        removed = Decision(RemoveBlock(leaves_message=True), reason)
        *others, last = run.changes
        builder.add_pairs([(block, run.at) for each in others for block in (each.call, each.result)], removed)
        for block, text in (
            (last.result, self.note_on(history, run.changes)),
            (last.call, _input_left(history.session, last.call)),
        ):
            builder.add_pairs([(block, run.at)], Decision(RemovedPlaceholder(text), reason))

    def note_on(self, history: History, changes: Sequence[_Change]) -> str:
        session = history.session
        reported = _preceding_text(history)
        lines: dict[str, list[int]] = {}
        by_result = _file_effects(history, self.read_tools)
        for change in changes:
            effects = by_result[change.result]
            turn = int(history.message[change.call]) + 1
            what = shortened(effects.intent) or reported.before(change.call, turn) or effects.difference
            lines.setdefault(what, []).append(change.call)
        first, last = (int(history.message[change.result]) + 1 for change in (changes[0], changes[-1]))
        count = f"{len(changes)} change{'' if len(changes) == 1 else 's'}"
        header = f"[Edits to {changes[-1].path}: {count} between turns {first}-{last}]"
        marker = self.marker.replace(RECALL, _commands(session, (change.call for change in changes)))
        return "\n".join((header, *(self._line(session, what, calls) for what, calls in lines.items()), marker))

    def _line(self, session: Session, what: str, calls: Sequence[int]) -> str:
        line = self.line
        if RECALL in line:
            line = line.replace(RECALL, _commands(session, calls))
        if _IDS in line:
            line = line.replace(_IDS, ", ".join(recall_name(session, call) for call in calls))
        return line.replace(_WHAT, f"{what} {len(calls)}x" if len(calls) > 1 else what)


def _commands(session: Session, calls: Iterator[int] | Sequence[int]) -> str:
    return "; ".join(recall_call_command(session, call) for call in calls)


def _input_left(session: Session, call: int) -> str:
    """Return the remaining arguments of a change: the file's name only."""
    try:
        arguments = decoded(session.quick_text(session.blocks[call]))
    except TextUnavailableError:
        arguments = None
    given = arguments if isinstance(arguments, dict) else {}
    name = next((name for name in PATH_ARGUMENTS if isinstance(given.get(name), str)), "")
    return json.dumps({name: given[name]} if name else {})


def _file(folder: str, own_folder: str, path: str) -> str:
    return joined_path(joined_path(folder, own_folder) or folder, path)


@cached_per_history
def _file_effects(history: History, read_tools: tuple[str, ...]) -> dict[int, _FileEffects]:
    """Return the effects of tool calls on files, by the block index of their results."""
    session, blocks = history.session, history.session.blocks
    may_touch = ~tool_kind_mask(history.tool_names, _TOUCHES_NO_FILE)
    may_touch |= tool_kind_mask(history.tool_names, (), read_tools)
    reads = tool_kind_mask(history.tool_names, (ToolKind.READ,), read_tools)
    may_touch[-1] = False
    found = {}
    for result in history.results.tolist():
        call = int(history.call_block[result])
        if call < 0 or not may_touch[history.tool[call]]:
            continue
        effects = _effects_of_call(session, blocks[call], blocks[result])
        if effects == _NOTHING and reads[history.tool[call]] and (path := path_of(session, blocks[call])):
            effects = _FileEffects(reads=((path, ""),))
        if effects != _NOTHING:
            found[result] = effects
    return found


def _effects_of_call(session: Session, call: Block, result: Block) -> _FileEffects:
    key = call.tool_name, call.digest, result.digest, result.is_error
    if key in _KNOWN:
        return _KNOWN[key]
    try:
        effects = call_effects(call.tool_name, session.quick_text(call), session.text(result), is_error=result.is_error)
    except TextUnavailableError:
        return _NOTHING
    return _KNOWN.keep(key, _to_effects(call.tool_name, effects))


def _to_effects(tool: str, effects: CallEffects) -> _FileEffects:
    by_file: dict[tuple[str, str], list[FileOperation]] = {}
    for operation in effects.operations:
        by_file.setdefault((operation.path, operation.folder), []).append(operation)
    kinds = {file: kind_of(operations) for file, operations in by_file.items()}
    reads = tuple(file for file, kind in kinds.items() if not kind.changes)
    changed = [file for file, kind in kinds.items() if kind.changes]
    if len(changed) != 1 or effects.may_change:
        return _FileEffects(reads=reads)
    ((path, folder),) = changed
    operations = tuple(by_file[path, folder])
    if any(isinstance(operation, Patching) and operation.moved_to for operation in operations):
        return _FileEffects(reads=reads)
    why = next((operation.why for operation in operations if isinstance(operation, UnknownChange)), "")
    event = FileEvent(path, kinds[path, folder], 0, 0, 0, 0, tool, operations, problem=why)
    return _FileEffects(path, folder, reads, effects.intent, describe_difference(event))


@cached_per_history
def _preceding_text(history: History) -> PrecedingText:
    by_result = _file_effects(history, ())
    asking = [int(history.call_block[result]) for result, effects in by_result.items() if effects.changes]
    return PrecedingText(history.session, (history.message[asking] + 1).tolist())
