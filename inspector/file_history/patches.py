"""Parse and apply patches of agents: `*** Begin Patch` of Codex and others, and SEARCH/REPLACE blocks.

Hunks are placed as in Codex (openai/codex `codex-rs/apply-patch/src/lib.rs` and `seek_sequence.rs`): after the previous
hunk, first by exact match, then without trailing white space, then without surrounding white space, then with
typographic characters replaced by plain ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.file_history.content import ContradictionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.file_history.content import FileContent

BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_FILE = re.compile(r"\*\*\* (?P<what>Add|Delete|Update) File: (?P<path>.+)")
_MOVE = re.compile(r"\*\*\* Move to: (?P<path>.+)")
_END_OF_FILE = "*** End of File"

_PLAIN = str.maketrans(
    dict.fromkeys(map(chr, (*range(0x2010, 0x2016), 0x2212)), "-")
    | dict.fromkeys(map(chr, range(0x2018, 0x201C)), "'")
    | dict.fromkeys(map(chr, range(0x201C, 0x2020)), '"')
    | dict.fromkeys(map(chr, (0xA0, *range(0x2002, 0x200B), 0x202F, 0x205F, 0x3000)), " ")
)

_SEARCH_REPLACE = re.compile(
    r"^(?:<{3,} ?SEARCH|-{3,} ?SEARCH)>?[^\n]*\n(?P<head>(?::start_line:[^\n]*\n|:end_line:[^\n]*\n|-{7}\n)*)"
    r"(?P<old>.*?)^={3,}[^\n]*\n(?P<new>.*?)^(?:>{3,} ?REPLACE|\+{3,} ?REPLACE)>?[^\n]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Hunk:
    """One change in a patch.

    Attributes:
        context: A line somewhere before it; may be empty.
        old: The replaced lines, including unchanged context.
        new: Their replacement.
        at_end: True if it ends at the end of the file.
    """

    context: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    at_end: bool = False


@dataclass(frozen=True)
class FilePatch:
    """The changes that a patch makes to one file.

    Attributes:
        path: The file, as named in the patch.
        hunks: Changes in order.
        added: The text of a new file, otherwise None.
        is_deletion: True if the file is removed.
        moved_to: New name of the file; empty if unchanged.
    """

    path: str
    hunks: tuple[Hunk, ...] = ()
    added: str | None = None
    is_deletion: bool = False
    moved_to: str = ""


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """Parse a patch file by file; empty if the text contains none."""
    begin = text.find(BEGIN)
    if begin < 0:
        return ()
    lines = text[begin:].split("\n")[1:]
    found: list[FilePatch] = []
    index = 0
    while index < len(lines) and not lines[index].startswith(_END):
        header = _FILE.match(lines[index].rstrip())
        index += 1
        if header is None:
            continue
        body = []
        while index < len(lines) and not lines[index].startswith(_END) and not _FILE.match(lines[index]):
            body.append(lines[index])
            index += 1
        found.append(_file_patch(header["what"], header["path"].strip(), body))
    return tuple(found)


def _file_patch(what: str, path: str, body: list[str]) -> FilePatch:
    if what == "Add":
        return FilePatch(path, added="".join(f"{line[1:]}\n" for line in body if line.startswith("+")))
    if what == "Delete":
        return FilePatch(path, is_deletion=True)
    moved = ""
    if body and (move := _MOVE.match(body[0])):
        moved = move["path"].strip()
        body = body[1:]
    return FilePatch(path, _hunks(body), moved_to=moved)


def _hunks(body: list[str]) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    context, old, new, at_end = "", list[str](), list[str](), False

    def close() -> None:
        if old or new:
            hunks.append(Hunk(context, tuple(old), tuple(new), at_end))

    for line in body:
        if line.startswith("@@"):
            close()
            # A context without a change is one of several that lead to the next.
            context, old, new, at_end = line[2:].strip(" ").removesuffix("@@").rstrip(), [], [], False
        elif line.startswith(_END_OF_FILE):
            at_end = True
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            old.append(line[1:])
        else:
            old.append(line.removeprefix(" "))
            new.append(line.removeprefix(" "))
    # There may be one extra empty line before `*** End Patch`.
    if body and body[-1] == "" and old and new and old[-1] == "" == new[-1]:
        old.pop()
        new.pop()
    close()
    return tuple(hunks)


def parse_search_replace(text: str) -> tuple[tuple[str, str], ...]:
    """Parse SEARCH/REPLACE blocks (Cline's `replace_in_file`, Roo's `apply_diff`) into old and new texts."""
    return tuple((match["old"], match["new"]) for match in _SEARCH_REPLACE.finditer(text))


def apply_hunks(content: FileContent, hunks: Sequence[Hunk]) -> FileContent:
    """Apply hunks to a file's content.

    Raises:
        ContradictionError: The replaced lines are not in the completely known file.
    """
    if content.is_whole:
        return _patched_whole(content, hunks)
    for hunk in hunks:
        places = [
            (run.first or 1) + place for run in content.placed for place in _all_places(run.lines, hunk.old) if hunk.old
        ]
        if len(places) == 1:
            content = content.replaced_lines(hunk.old, hunk.new, places[0])
        else:
            content = content.somewhere(hunk.old, hunk.new)
    return content


def _patched_whole(content: FileContent, hunks: Sequence[Hunk]) -> FileContent:
    lines = list(content.placed[0].lines) if content.placed else []
    changes: list[tuple[int, Hunk, tuple[str, ...], tuple[str, ...]]] = []
    cursor = 0
    for hunk in hunks:
        if hunk.context:
            place = _place(lines, [hunk.context], cursor)
            if place is None:
                raise ContradictionError
            cursor = place + 1
        old, new = hunk.old, hunk.new
        if not old:
            changes.append((len(lines), hunk, old, new))
            continue
        place = _place(lines, old, cursor, at_end=hunk.at_end)
        if place is None and old[-1] == "":
            old, new = old[:-1], new[:-1] if new and new[-1] == "" else new
            place = _place(lines, old, cursor, at_end=hunk.at_end)
        if place is None:
            raise ContradictionError
        changes.append((place, hunk, old, new))
        cursor = place + len(old)
    for place, _, old, new in sorted(changes, key=lambda change: change[0], reverse=True):
        lines[place : place + len(old)] = new
    # Codex ends files with a newline.
    return type(content).of_text("".join(f"{line}\n" for line in lines))


def _same(line: str) -> str:
    return line


def _plain(line: str) -> str:
    return line.strip().translate(_PLAIN)


_WAYS: tuple[Callable[[str], str], ...] = (_same, str.rstrip, str.strip, _plain)


def _place(lines: Sequence[str], wanted: Sequence[str], start: int, *, at_end: bool = False) -> int | None:
    """Return the index of some lines from `start` on, or None."""
    if not wanted:
        return start
    last = len(lines) - len(wanted)
    if at_end and last >= start:
        start = last
    for way in _WAYS:
        sought = [way(line) for line in wanted]
        for place in range(start, last + 1):
            if way(lines[place]) == sought[0] and [way(line) for line in lines[place : place + len(sought)]] == sought:
                return place
    return None


def _all_places(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    for way in _WAYS:
        sought = [way(line) for line in wanted]
        if not sought:
            return []
        found = [
            place
            for place in range(len(lines) - len(sought) + 1)
            if way(lines[place]) == sought[0] and [way(line) for line in lines[place : place + len(sought)]] == sought
        ]
        if found:
            return found
    return []
