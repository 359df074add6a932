"""File history of a session as text and data: files, events of one file, file states, and the changelog.

JSON forms are dictionaries with recorded texts unchanged. The other forms are sanitized for display.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from inspector.file_history.changelog import ChangeSource
from inspector.file_history.content import LineRun
from inspector.file_history.history import FileEventKind
from inspector.report.numbers import IN_TEXT
from inspector.safe_text import cell_width, cut_middle, fit_cells, one_line
from inspector.session.files import relative_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inspector.file_history.changelog import ChangelogEntry
    from inspector.file_history.content import FileContent, Gap
    from inspector.file_history.history import FileEvent, FileHistory, KnownFile

PATH_WIDTH = 60
_SPECIAL_IN_MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|#"})


def gap_line(gap: Gap) -> str:
    """Return the line that represents unknown lines."""
    if gap.size is None:
        return f"⋯ unknown from line {gap.first:,} on, if there are more lines ⋯"
    if gap.size == 1:
        return f"⋯ line {gap.first:,} is unknown ⋯"
    return f"⋯ lines {gap.first:,} to {gap.first + gap.size - 1:,} are unknown ⋯"


LOOSE_LINE = "⋯ at an unknown position ⋯"


def state_text(content: FileContent) -> str:
    """Format a file state: byte for byte if complete, otherwise with lines that mark gaps."""
    if content.is_whole:
        return content.text()
    lines: list[str] = []
    for piece in content.pieces():
        if not isinstance(piece, LineRun):
            lines.append(gap_line(piece))
            continue
        if piece.first is None:
            lines.append(LOOSE_LINE)
        lines += piece.lines
    return "".join(f"{line}\n" for line in lines)


def known_in_words(content: FileContent) -> str:
    """Describe how much of a file is known: `whole, 120 lines`, `40 of 120 lines`, `40 lines`, `deleted`, `nothing`."""
    if content.is_deleted:
        return "deleted"
    if content.is_whole:
        return f"whole, {IN_TEXT.plural(content.total or 0, 'line')}"
    if not content.known_lines:
        return "nothing"
    if content.total is None:
        return f"part, {IN_TEXT.plural(content.known_lines, 'line')}"
    return f"part, {content.known_lines:,} of {IN_TEXT.plural(content.total, 'line')}"


def state_notes(state: KnownFile) -> list[str]:
    """Return notes on a state in addition to its text, a sentence each; recorded texts in them are not sanitized."""
    notes = [f"{state.path} at turn {state.turn:,}: {known_in_words(state.content)}"]
    if state.event is None:
        return [f"{state.path} at turn {state.turn:,}: not read or changed yet"]
    notes[0] += f"; known since turn {state.known_since:,}" if state.known_since else ""
    if state.content.is_whole and state.content.ends_with_newline is None and state.content.total:
        notes.append("it is not recorded whether the last line ends with a newline; one was added")
    return notes + state_doubts(state)


def state_doubts(state: KnownFile) -> list[str]:
    """Return reasons why a state may differ from the file, a sentence each; recorded texts are not sanitized."""
    event = state.event
    problem = event.problem if event is not None and event.is_certain else ""
    return [*([f"turn {event.turn:,}: {problem}"] if event is not None and problem else []), *state.doubts]


def state_document(state: KnownFile) -> dict[str, Any]:
    """Convert a state to plain data."""
    content = state.content
    pieces: list[dict[str, Any]] = []
    for piece in content.pieces():
        if isinstance(piece, LineRun):
            pieces.append(
                {"known": True, "first_line": piece.first, "lines": len(piece.lines), "text": list(piece.lines)}
            )
        else:
            pieces.append({"known": False, "first_line": piece.first, "lines": piece.size})
    return {
        "path": state.path,
        "turn": state.turn,
        "is_whole": content.is_whole,
        "is_deleted": content.is_deleted,
        "lines": content.total,
        "known_lines": content.known_lines,
        "ends_with_newline": content.ends_with_newline,
        "known_since": state.known_since or None,
        "doubts": list(state.doubts),
        "text": content.text() if content.is_whole else None,
        "pieces": pieces,
    }


def difference_text(path: str, old: KnownFile, new: KnownFile) -> str:
    """Return the unified diff of two states; unknown lines appear as in `state_text`."""
    lines = difflib.unified_diff(
        state_text(old.content).splitlines(keepends=True),
        state_text(new.content).splitlines(keepends=True),
        f"{path}\tturn {old.turn}",
        f"{path}\tturn {new.turn}",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def files_document(history: FileHistory) -> dict[str, Any]:
    """Convert the files of a session to plain data."""
    return {
        "session": str(history.session.path),
        "session_id": history.session.identifier,
        "turns": history.turns,
        "unread_calls": history.unread,
        "files": [
            {
                "path": path,
                **event_counts(events),
                "first_turn": events[0].turn,
                "last_turn": events[-1].turn,
                "known": known_in_words(history.contents[path][-1]),
                "is_whole": history.contents[path][-1].is_whole,
            }
            for path, events in history.events.items()
        ],
    }


def event_counts(events: Sequence[FileEvent]) -> dict[str, int]:
    """Count reads, edits, writes, deletions and uncertain changes to a file."""
    kinds = [event.kind for event in events if event.is_certain]
    return {
        "reads": kinds.count(FileEventKind.READ),
        "edits": kinds.count(FileEventKind.EDIT) + kinds.count(FileEventKind.UNCLEAR),
        "writes": kinds.count(FileEventKind.WRITE),
        "deletions": kinds.count(FileEventKind.DELETE),
        "doubts": sum(not event.is_certain for event in events),
    }


def short_path(history: FileHistory, path: str) -> str:
    """Return a file's path relative to the agent's working folder; unchanged if it is outside. Not sanitized."""
    return relative_path(history.session.working_directory, path)


_FILE_HEAD = ("file", "reads", "edits", "writes", "turns", "known at the end")


def _file_rows(history: FileHistory) -> list[tuple[str, ...]]:
    rows = []
    for path, events in history.events.items():
        counts = event_counts(events)
        turns = f"{events[0].turn:,} to {events[-1].turn:,}" if len(events) > 1 else f"{events[0].turn:,}"
        known = known_in_words(history.contents[path][-1])
        known += f", {IN_TEXT.plural(counts['doubts'], 'doubt')}" if counts["doubts"] else ""
        numbers = (f"{counts[name]:,}" for name in ("reads", "edits", "writes"))
        rows.append((one_line(short_path(history, path)), *numbers, turns, known))
    return rows


def files_text(history: FileHistory) -> str:
    """Format the files of a session in columns."""
    if not history.events:
        return "no tool recorded reading, editing or writing a file\n"
    rows = _file_rows(history)
    shown = [(cut_middle(name, PATH_WIDTH), *rest) for name, *rest in rows]
    return _columns(_FILE_HEAD, shown, numbers=(1, 2, 3)) + _unread_text(history)


def files_markdown(history: FileHistory) -> str:
    """Format the files of a session as a Markdown table."""
    lines = [f"| {' | '.join(_FILE_HEAD)} |", "| --- | ---: | ---: | ---: | --- | --- |"]
    lines += [f"| {' | '.join(cell.translate(_SPECIAL_IN_MARKDOWN) for cell in row)} |" for row in _file_rows(history)]
    return "\n".join(lines) + "\n" + _unread_text(history)


def _unread_text(history: FileHistory) -> str:
    if not history.unread:
        return ""
    return f"\n{IN_TEXT.plural(history.unread, 'tool call')} could not be read because the file no longer holds them\n"


def events_text(history: FileHistory, path: str) -> str:
    """Format the events of one file, a line each."""
    rows = []
    for event, content in zip(history.events[path], history.contents[path][1:], strict=True):
        what = f"perhaps {FileEventKind.EDIT}" if not event.is_certain else str(event.kind)
        text = event.intent or ""
        note = "; ".join(part for part in (one_line(text), one_line(event.problem)) if part)
        rows.append((f"{event.turn:,}", what, one_line(event.tool), known_in_words(content), note))
    return _columns(("turn", "done", "tool", "known", ""), rows, numbers=(0,))


def events_document(history: FileHistory, path: str) -> dict[str, Any]:
    """Convert the events of one file to plain data."""
    blocks = history.session.all_blocks
    return {
        "path": path,
        "events": [
            {
                "turn": event.turn,
                "kind": str(event.kind),
                "is_certain": event.is_certain,
                "tool": event.tool,
                "tool_call_id": blocks[event.call_block].tool_call_id,
                "intent": event.intent,
                "problem": event.problem,
                "known": known_in_words(content),
                "is_whole": content.is_whole,
            }
            for event, content in zip(history.events[path], history.contents[path][1:], strict=True)
        ],
    }


def changelog_document(history: FileHistory, changes: Iterable[ChangelogEntry]) -> dict[str, Any]:
    """Convert the changelog to plain data, in the order of the changes."""
    blocks = history.session.all_blocks
    return {
        "session": str(history.session.path),
        "session_id": history.session.identifier,
        "changes": [
            {
                "path": change.event.path,
                "turn": change.event.turn,
                "kind": str(change.event.kind),
                "what": change.what,
                "source": str(change.source),
                "added": change.added,
                "removed": change.removed,
                "tool": change.event.tool,
                "tool_call_id": blocks[change.event.call_block].tool_call_id,
                "time": history.session.messages[change.event.turn - 1].time,
            }
            for change in changes
        ],
    }


def changelog_markdown(history: FileHistory, changes: Sequence[ChangelogEntry]) -> str:
    """Format the changelog in Markdown, by file and by turn, with recorded texts escaped."""
    if not changes:
        return "# Changelog\n\nNo file was changed.\n"
    files: dict[str, list[ChangelogEntry]] = {}
    turns: dict[int, list[ChangelogEntry]] = {}
    for change in changes:
        files.setdefault(change.event.path, []).append(change)
        turns.setdefault(change.event.turn, []).append(change)
    count = f"{IN_TEXT.plural(len(changes), 'change')} of {IN_TEXT.plural(len(files), 'file')}"
    lines = ["# Changelog", "", count, "", "## By file"]
    for path, own in files.items():
        first, last = own[0].event.turn, own[-1].event.turn
        when = f"turn {first:,}" if first == last else f"turns {first:,} to {last:,}"
        lines += [
            "",
            f"### {_escaped(short_path(history, path))}",
            "",
            f"{IN_TEXT.plural(len(own), 'change')}, {when}",
            "",
        ]
        lines += [f"- turn {change.event.turn:,}: {_escaped(change.what)}{change_size(change)}" for change in own]
    lines += ["", "## By turn", ""]
    for turn, own in sorted(turns.items()):
        for change in own:
            lines.append(
                f"- turn {turn:,}: {_escaped(short_path(history, change.event.path))}: {_escaped(change.what)}"
            )
    return "\n".join(lines) + "\n"


def changelog_text(history: FileHistory, changes: Sequence[ChangelogEntry]) -> str:
    """Format the changelog, a change per line: `- core/agent.py: Increased tool retention for better context`."""
    if not changes:
        return "no file was changed\n"
    width = max(len(f"{change.event.turn:,}") for change in changes)
    lines = []
    for change in changes:
        path = one_line(short_path(history, change.event.path))
        by = "" if change.source is not ChangeSource.DIFFERENCE else " [difference]"
        lines.append(f"{change.event.turn:>{width},}  - {path}: {one_line(change.what)}{change_size(change)}{by}")
    return "\n".join(lines) + "\n"


def change_size(change: ChangelogEntry) -> str:
    """Format the added and removed lines after a space: ` (+3 -1)`; empty if unknown."""
    if change.added is None:
        return ""
    return f" (+{change.added:,}{'' if change.removed is None else f' -{change.removed:,}'})"


def _escaped(text: str) -> str:
    return one_line(text).translate(_SPECIAL_IN_MARKDOWN)


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> str:
    last = len(head) - 1
    widths = [max(cell_width(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [
        "  ".join(
            cell if column == last else fit_cells(cell, widths[column], align_right=column in numbers)
            for column, cell in enumerate(row)
        ).rstrip()
        for row in (head, *rows)
    ]
    return "\n".join(lines) + "\n"
