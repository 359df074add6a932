"""File operations of a tool call, from its arguments and result, for all agents.

Agents use different names for the same tools and arguments: a call with a path, an old and a new text replaces; a call
of a writing tool with a path and content writes the file. A failed call or one without a result has no known effect. A
recorded change with an unrecorded effect (a notebook cell, an edit by another model, a command) is *unclear*.

Patches (`*** Begin Patch` of Codex and others, SEARCH/REPLACE blocks) are parsed and applied here. Hunks are placed as
in Codex (openai/codex `codex-rs/apply-patch/src/lib.rs` and `seek_sequence.rs`): after the previous hunk, first by
exact match, then without trailing white space, then without surrounding white space, then with typographic characters
replaced by plain ones.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from inspector.file_history.content import ContradictionError, FileContent
from inspector.file_history.results import (
    ShownLines,
    current_directory,
    first_line_asked,
    has_failed,
    numbered,
    parse_edit_result,
    parse_read_result,
    shell_output,
    shown_windows,
    whole_text,
)
from inspector.file_history.shell import Printed, ShellEffects, shell_effects
from inspector.session.json import decode_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


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
    """A change in a patch: a line before it, the replaced lines with context, and whether it ends the file."""

    context: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    at_end: bool = False


@dataclass(frozen=True)
class FilePatch:
    """The changes to one file. `added`: the text of a new one, else None; `moved_to`: its new name."""

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
    """Apply hunks to content. Raises `ContradictionError` if a known file has no such lines."""
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


_PATHS = (
    "file_path",
    "path",
    "filePath",
    "absolute_path",
    "filename",
    "target_file",
    "notebook_path",
    "relative_path",
    "file",
)
_OLD = ("old_string", "old_str", "oldString", "oldText", "old_text", "search", "old")
_NEW = ("new_string", "new_str", "newString", "newText", "new_text", "replace", "new")
_CONTENTS = ("content", "file_text", "contents", "text")
_EVERYWHERE = ("replace_all", "replaceAll", "allow_multiple")
_PARTS = (
    "offset",
    "limit",
    "start_line",
    "end_line",
    "startLine",
    "endLine",
    "view_range",
    "line_range",
    "start_line_one_indexed",
    "end_line_one_indexed_inclusive",
    "pages",
)
_INTENTS = ("intent", "instruction", "instructions", "explanation")
"""Names of the argument that holds the purpose of a change; Gemini CLI uses the second."""

_READS = re.compile(r"(?:notebook)?read|view|open|cat|show|get_file|fetch_file", re.IGNORECASE)
_WRITES = re.compile(r"write|create|save|overwrite|new_file|^editor$", re.IGNORECASE)
_EDITS = re.compile(r"edit|replace|insert|patch|diff|write|create", re.IGNORECASE)
_EDITOR_COMMANDS = frozenset({"view", "create", "str_replace", "insert", "undo_edit"})
_SHELLS = re.compile(r"bash|shell|terminal|exec|command|cmd|run", re.IGNORECASE)


@dataclass(frozen=True)
class FileOperation:
    """A tool's effect on a file: its path as named, and the working folder if the call records it."""

    path: str
    folder: str = ""

    def applied(self, content: FileContent) -> FileContent:
        """Return the content after the operation. Raises `ContradictionError` if it is impossible there."""
        return content


@dataclass(frozen=True)
class Read(FileOperation):
    """Lines were shown. With `of_change`, the result of an edit, which may be only a few lines."""

    shown: ShownLines = field(default_factory=lambda: ShownLines(()))
    of_change: bool = False

    def applied(self, content: FileContent) -> FileContent:
        shown = self.shown
        if self.of_change and shown.total is not None and content.total is not None and shown.total != content.total:
            delta, end = shown.total - content.total, shown.first + len(shown.lines)
            old = max(0, len(shown.lines) - delta)
            if end <= shown.total + 1:
                content = content.replaced_lines([""] * old, shown.lines, shown.first)
        return content.seen(shown.lines, shown.first, total=shown.total, ends_with_newline=shown.ends_with_newline)


@dataclass(frozen=True)
class Replacement(FileOperation):
    """Texts were replaced: old, new, and a flag for all occurrences."""

    edits: tuple[tuple[str, str, bool], ...] = ()
    as_claude: bool = False

    def applied(self, content: FileContent) -> FileContent:
        for old, new, everywhere in self.edits:
            if not old:
                content = FileContent.of_text(new)
                continue
            if self.as_claude and not new and not old.endswith("\n") and f"{old}\n" in content.text():
                old = f"{old}\n"
            content = content.replaced(old, new, everywhere=everywhere)
        return content


@dataclass(frozen=True)
class Writing(FileOperation):
    """A whole text was written or appended."""

    text: str = ""
    appends: bool = False

    def applied(self, content: FileContent) -> FileContent:
        return content.appended(self.text) if self.appends else FileContent.of_text(self.text)


@dataclass(frozen=True)
class Patching(FileOperation):
    """A patch was applied."""

    hunks: tuple[Hunk, ...] = ()
    moved_to: str = ""

    def applied(self, content: FileContent) -> FileContent:
        return apply_hunks(content, self.hunks)


@dataclass(frozen=True)
class Insertion(FileOperation):
    """Lines were inserted after a line; 0 inserts before the first."""

    line: int = 0
    text: str = ""

    def applied(self, content: FileContent) -> FileContent:
        return content.replaced_lines((), self.text.removesuffix("\n").split("\n"), self.line + 1)


@dataclass(frozen=True)
class Deletion(FileOperation):
    """The file was removed."""

    def applied(self, content: FileContent) -> FileContent:  # noqa: ARG002  regardless of the content
        return FileContent(is_deleted=True)


@dataclass(frozen=True)
class RenameTarget(FileOperation):
    """Another file was renamed to this one, which now has its content."""

    content: FileContent = field(default_factory=FileContent)

    def applied(self, content: FileContent) -> FileContent:  # noqa: ARG002  overwritten
        return self.content


@dataclass(frozen=True)
class UnknownChange(FileOperation):
    """The file was changed in an unrecorded way."""

    why: str = ""

    def applied(self, content: FileContent) -> FileContent:  # noqa: ARG002  regardless of the content
        return FileContent()


@dataclass(frozen=True)
class CallEffects:
    """A call's effects on files, its stated intent, and a command that may have changed others."""

    operations: tuple[FileOperation, ...] = ()
    intent: str = ""
    may_change: str = ""


NOTHING = CallEffects()


def call_effects(tool: str, arguments_text: str, result: str | None, *, is_error: bool = False) -> CallEffects:
    """Parse the effects of a call on files. `result`: its result, or None if not recorded."""
    if result is None or has_failed(result, is_error=is_error):
        return NOTHING
    name = re.split(r"__|\.", tool)[-1]
    if arguments_text.lstrip().startswith(BEGIN):
        return CallEffects(tuple(_patching(arguments_text, "")))
    arguments = decode_json(arguments_text.encode("utf-8", "replace"))[0]
    if not isinstance(arguments, dict):
        return NOTHING
    intent = _first(arguments, _INTENTS)
    windows = shown_windows(result)
    if windows:
        return CallEffects(tuple(_of_windows(name, arguments, windows)), intent)
    operations = tuple(_of_files(name, arguments, result))
    if operations:
        return CallEffects(operations, intent)
    effects = shell_effects(arguments) if _SHELLS.search(name) else None
    if effects is None:
        return NOTHING
    return CallEffects(
        tuple(_of_shell(effects, result)),
        _first(arguments, (*_INTENTS, "description")),
        effects.command if effects.may_change else "",
    )


def _first(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        if isinstance(value := arguments.get(name), str) and value.strip():
            return value
    return ""


def _text(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        if isinstance(value := arguments.get(name), str):
            return value
    return None


def _of_files(name: str, arguments: dict[str, Any], result: str) -> Iterator[FileOperation]:
    for value in arguments.values():
        if isinstance(value, str) and BEGIN in value[:200] and not _SHELLS.search(name):
            yield from _patching(value, "")
            return
    path = _first(arguments, _PATHS)
    if not path and (several := arguments.get("replacements")) and isinstance(several, list):
        yield from _replacing(name, several)
    elif not path:
        path = _one_of_several(arguments)
        if path and _READS.match(name):
            yield from _reading(path, _of_one(arguments), result)
    elif arguments.get("command") in _EDITOR_COMMANDS:
        yield from _of_editor_command(arguments["command"], path, arguments, result)
    else:
        changes = tuple(_changes(name, path, arguments, result))
        if changes:
            yield from changes
        elif _READS.match(name):
            yield from _reading(path, arguments, result)
        elif _EDITS.search(name):
            yield UnknownChange(path, why=f"the result of {name} is not recorded")


def _replacing(name: str, several: list[Any]) -> Iterator[FileOperation]:
    """Yield the replacements of a call for several files (VS Code's `multi_replace_string_in_file`)."""
    for each in several:
        path = _first(each, _PATHS) if isinstance(each, dict) else ""
        if path and _EDITS.search(name) and (edits := _edits(each)):
            yield Replacement(path, edits=edits)


def _changes(name: str, path: str, arguments: dict[str, Any], result: str) -> Iterator[FileOperation]:
    """Yield the changes in the arguments of a call with a path."""
    edits = _edits(arguments)
    if edits and (_EDITS.search(name) or "old_string" in arguments or "old_str" in arguments):
        yield Replacement(path, edits=edits, as_claude=name in ("Edit", "MultiEdit"))
        yield from _left_behind(path, result)
        return
    difference = arguments.get("diff")
    if isinstance(difference, str):
        blocks = parse_search_replace(difference)
        if blocks:
            yield Replacement(path, edits=tuple((old, new, False) for old, new in blocks))
        else:
            yield UnknownChange(path, why=f"the change made by {name} cannot be parsed")
        return
    content, new = _text(arguments, _CONTENTS), _text(arguments, _NEW)
    line = arguments.get("insert_line", arguments.get("line") if name == "insert_content" else None)
    text = new if content is None else content
    if isinstance(line, int) and not isinstance(line, bool) and text is not None:
        yield _insertion(name, path, line, text)
    elif content is not None and _WRITES.search(name):
        yield Writing(path, text=content, appends="append" in name.lower() or arguments.get("mode") == "append")
    elif name == "editor" and new is not None:
        yield Writing(path, text=new)


def _insertion(name: str, path: str, line: int, text: str) -> FileOperation:
    """Build an insertion: Cline and Roo insert before a line, Roo with 0 at the end; others after a line."""
    if name not in ("editor", "insert_content"):
        return Insertion(path, line=line, text=text)
    return Insertion(path, line=line - 1, text=text) if line > 0 else Writing(path, text=text, appends=True)


def _one_of_several(arguments: Mapping[str, Any]) -> str:
    """Return the only file named in a call that accepts several."""
    one = _of_one(arguments)
    return _first(one, _PATHS)


def _of_one(arguments: Mapping[str, Any]) -> dict[str, Any]:
    for name in ("files", "paths", "file_paths"):
        value = arguments.get(name)
        if isinstance(value, list) and len(value) == 1:
            if isinstance(value[0], dict):
                return value[0]
            if isinstance(value[0], str):
                return {"path": value[0]}
    return {}


def _edits(arguments: Mapping[str, Any]) -> tuple[tuple[str, str, bool], ...]:
    several = arguments.get("edits", arguments.get("edit"))
    if isinstance(several, dict):
        several = [several]
    each = several if isinstance(several, list) else [arguments]
    found = []
    for edit in each:
        if not isinstance(edit, dict):
            return ()
        old, new = _text(edit, _OLD), _text(edit, _NEW)
        if old is None or new is None:
            return ()
        expected = edit.get("expected_replacements")
        everywhere = any(edit.get(name) is True for name in _EVERYWHERE) or (isinstance(expected, int) and expected > 1)
        found.append((old, new, everywhere))
    return tuple(found)


def _of_editor_command(command: str, path: str, arguments: Mapping[str, Any], result: str) -> Iterator[FileOperation]:
    if command == "view":
        yield from _reading(path, arguments, result)
    elif command == "create":
        yield Writing(path, text=_text(arguments, _CONTENTS) or "")
    elif command == "str_replace":
        old, new = _text(arguments, _OLD), _text(arguments, _NEW)
        if old:
            yield Replacement(path, edits=((old, new or "", False),))
            yield from _left_behind(path, result)
    elif command == "insert":
        line, text = arguments.get("insert_line"), _text(arguments, (*_NEW, "insert_text"))
        if isinstance(line, int) and text is not None:
            yield Insertion(path, line=line, text=text)
    else:
        yield UnknownChange(path, why="an edit was undone")


def _left_behind(path: str, result: str) -> Iterator[FileOperation]:
    shown = parse_edit_result(result)
    if shown is not None:
        yield Read(path, shown=shown, of_change=True)


def _reading(path: str, arguments: Mapping[str, Any], result: str) -> Iterator[FileOperation]:
    asks_for_part = any(arguments.get(name) is not None for name in _PARTS)
    parse = _parsed_before if len(result) <= MOST_REMEMBERED else parse_read_result
    shown = parse(result, asks_for_part=asks_for_part, first_asked=first_line_asked(arguments))
    if shown is not None:
        yield Read(path, shown=shown)


MOST_REMEMBERED = 20_000
"""Characters of the longest result that is remembered once parsed: agents read unchanged files again."""
_parsed_before = lru_cache(256)(parse_read_result)


def _patching(text: str, folder: str) -> Iterator[FileOperation]:
    for each in parse_patch(text):
        if each.added is not None:
            yield Writing(each.path, folder, text=each.added)
        elif each.is_deletion:
            yield Deletion(each.path, folder)
        else:
            yield Patching(each.path, folder, hunks=each.hunks, moved_to=each.moved_to)


def _of_windows(name: str, arguments: Mapping[str, Any], windows: list[ShownLines]) -> Iterator[FileOperation]:
    """Yield operations for an editor that shows a window of the file after every action, the only known content."""
    code = _text(arguments, ("code",)) or ""
    changes = bool(_EDITS.search(name)) or bool(
        re.search(r"\b(?:edit_file|insert_content|append_file|create_file)", code)
    )
    replaced = _replaced_in_python(code)
    if replaced is None and (edits := _edits(arguments)):
        (replaced,) = edits if len(edits) == 1 else (None,)
    for shown in windows:
        if replaced is not None and len(windows) == 1:
            yield Replacement(shown.path, edits=(replaced,))
        yield Read(shown.path, shown=shown, of_change=changes and replaced is None)


def _replaced_in_python(code: str) -> tuple[str, str, bool] | None:
    """Parse the old and new text if the code is one call of `edit_file_by_replace` with constants."""
    if "edit_file_by_replace" not in code:
        return None
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr) or not isinstance(tree.body[0].value, ast.Call):
        return None
    call = tree.body[0].value
    given = {word.arg: word.value for word in call.keywords}
    given |= dict(zip(("file_name", "to_replace", "new_content"), call.args, strict=False))
    old, new = given.get("to_replace"), given.get("new_content")
    if isinstance(old, ast.Constant) and isinstance(new, ast.Constant):
        texts = old.value, new.value
        if isinstance(texts[0], str) and isinstance(texts[1], str) and texts[0]:
            return texts[0], texts[1], False
    return None


def _of_shell(effects: ShellEffects, result: str) -> Iterator[FileOperation]:
    folder = effects.folder or current_directory(result)
    for written in effects.written:
        yield Writing(written.path, folder, text=written.text, appends=written.appends)
    for path in effects.removed:
        yield Deletion(path, folder)
    if effects.patch:
        yield from _patching(effects.patch, folder)
    if effects.printed is not None:
        shown = _printed(effects.printed, result)
        if shown is not None:
            yield Read(effects.printed.path, folder, shown=shown)


def _printed(printed: Printed, result: str) -> ShownLines | None:
    """Return the lines printed by a command, or None if its output may be incomplete."""
    output = shell_output(result)
    if output.is_cut:
        return None
    if printed.is_numbered:
        found = numbered(output.text, 0)
        if found is None or found[0] != printed.first:
            return None
        return ShownLines(tuple(found[1]), found[0])
    text = output.text
    count = len(text.removesuffix("\n").split("\n")) if text else 0
    asked = None if printed.last is None else printed.last - printed.first + 1
    if asked is not None and count == asked:
        return ShownLines(tuple(text.removesuffix("\n").split("\n")), printed.first)
    if not output.is_exact or (asked is not None and count > asked):
        return None
    if printed.first == 1:
        return whole_text(text)
    if not text:
        return None
    lines = tuple(text.removesuffix("\n").split("\n"))
    return ShownLines(lines, printed.first, printed.first + len(lines) - 1, text.endswith("\n"))
