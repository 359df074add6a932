"""Compress the diffs of a very long session: runs of edits to one file become a note with a line for each.

Source: "Smart Tool History Strategy", section 6.3. The document gives the note word for word: the number of changes,
the file and the turns, a line for each change with equal wordings counted together (`3x`), and the location of the full
diff. It leaves the rest open, which is chosen here:

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
from inspector.file_history.operations import Patching, UnknownChange, call_effects
from inspector.session.files import joined_path
from inspector.session.model import TextUnavailableError
from inspector.strategies.core.batching import Batching
from inspector.strategies.core.operations import RemoveBlock, RemovedPlaceholder
from inspector.strategies.core.parametrized import integer, string, tools
from inspector.strategies.core.recall_command import RECALL, recall_call_command, recall_name
from inspector.strategies.core.schedule_builder import ScheduleBuilder
from inspector.strategies.core.strategy import Decision
from inspector.strategies.history.arguments import PATH_ARGUMENTS, arguments_text, decoded, path_of
from inspector.strategies.history.arrival_order import arrivals
from inspector.strategies.history.memo import Memo, cached_per_history
from inspector.strategies.history.tools import ToolKind, tool_kind_mask

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inspector.file_history.operations import CallEffects, FileOperation
    from inspector.session.model import Block, Session
    from inspector.strategies.core.strategy import Schedule
    from inspector.strategies.history.arrival_order import Arrivals
    from inspector.strategies.history.history import History

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
    """A change to a file in a context.

    Attributes:
        call: The call's block index.
        result: The result's block index.
        path: The file, as the call names it.
    """

    call: int
    result: int
    path: str


class _Run(NamedTuple):
    """Changes to a file that are compressed together.

    Attributes:
        at: First call that sends the note.
    """

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
        arguments = decoded(arguments_text(session, session.blocks[call]))
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
        effects = call_effects(
            call.tool_name, arguments_text(session, call), session.text(result), is_error=result.is_error
        )
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
