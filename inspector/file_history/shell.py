"""Effects of shell commands on files: certain ones, and possible changes.

Certain effects are: a literal text written to a file (`cat > file <<'END'`, `echo text > file`), the removal of named
files, a patch passed to `apply_patch`, and files printed whole or by lines (`cat`, `sed -n 10,20p`, `nl -ba`,
`head -n`) by a command that does nothing else.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMMAND_ARGUMENTS = ("command", "cmd", "script", "commandLine")
_FOLDER_ARGUMENTS = ("workdir", "cwd", "working_directory")
_LEADING_CD = re.compile(r"\s*cd\s+(?P<folder>'[^'\n]+'|\"[^\"$`\n]+\"|[^\s;&|<>$`'\"]+)\s*(?:&&|;|\n)\s*")
_LEADING_MKDIR = re.compile(r"\s*mkdir\s+-p\s+[^;&|<>\n]+&&\s*")
_PROGRAM = re.compile(r"\s*(?:\w+=[\w./:,-]*\s+)*(?P<word>[\w./+@-]+)(?=[\s;&|<>]|$)")
_KEYWORDS = frozenset({"if", "for", "while", "until", "case", "select", "function", "do", "then", "time"})
_WORD = r"(?:'[^'\n]+'|\"[^\"$`\\\n]+\"|[^\s;&|<>$`'\"\\*?~]+)"
_DOCUMENT = r"<<(?P<tabs>-?)[ \t]*(?P<end>'[^'\n]+'|\"[^\"$`\\\n]+\"|\\?[\w.+~][\w.+~-]*)"
"""Start of a here-document. After `<<-`, leading tabs of its lines are removed; quotes keep `$` and the like as is."""
_HEREDOC = re.compile(
    rf"\s*cat(?=[ \t]*[<>])(?:[ \t]*(?:{_DOCUMENT}|(?P<mode>>>|>\|?)[ \t]*(?P<path>{_WORD}))){{2}}[ \t]*\n"
)
_PATCH = re.compile(rf"\s*(?:\S*/)?(?:apply_patch|applypatch)[ \t]*{_DOCUMENT}[ \t]*\n")
_OF_SIMPLE_WORDS = re.compile(r"(?:echo|printf|rm|cat|nl|sed|head)\b|['\"\\]")
"""Start of a command that may have a certain effect, or one whose program is quoted."""
_EXPANDS = re.compile(r"[$`\\]")
_SED_LINES = re.compile(r"(\d{1,9})(?:,(\d{1,9}|\$))?p")
_MAY_CHANGE = re.compile(
    r"sed\s+(?:-\w+\s+)*-i|perl\s+-\w*i|>>?\s*[^\s&|]|\btee\b|\b(?:mv|cp|rm|install|patch|ed|truncate)\s|"
    r"\bgit\s+(?:checkout|restore|stash|reset|apply|merge|rebase|pull|revert|cherry-pick|mv|rm)\b|--write\b|--fix\b|"
    r"\bgofmt\s+-\w*w|\bfmt\b|\bformat\b|\bprettier\b|\bblack\b|write_text|\.write\(|writeFile"
)
_NOTHING = re.compile(r"\d?>[>&|]?\s*/dev/null|\d?>&\s*[\d-]")


class Written(NamedTuple):
    """A text written by a command. `path`: the file, as named in the command."""

    path: str
    text: str
    appends: bool


class Printed(NamedTuple):
    """File lines that a command prints, without another effect; `last` is None for the end of the file."""

    path: str
    first: int
    last: int | None
    is_numbered: bool


class ShellEffects(NamedTuple):
    """Certain effects of a command on files.

    Attributes:
        folder: Working folder from the call and the command; may be empty.
        patch: Patch passed to `apply_patch`; may be empty.
        printed: Lines it prints; None if it prints anything else.
        may_change: True if it may change other files.
        rest: The command after the leading writes; empty if it has no other effects.
    """

    folder: str
    written: tuple[Written, ...] = ()
    removed: tuple[str, ...] = ()
    patch: str = ""
    printed: Printed | None = None
    may_change: bool = False
    command: str = ""
    rest: str = ""

    @property
    def only_file(self) -> str:
        """The only file that the command prints or writes, if it does nothing else; otherwise empty."""
        if self.printed is not None:
            return self.printed.path
        paths = {written.path for written in self.written}
        return paths.pop() if len(paths) == 1 and not (self.rest or self.patch or self.removed) else ""


def shell_effects(arguments: Mapping[str, Any]) -> ShellEffects | None:
    """Parse the command in a call's arguments; return None if there is none."""
    folder = next((value for name in _FOLDER_ARGUMENTS if isinstance(value := arguments.get(name), str)), "")
    for name in _COMMAND_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            if posixpath.basename(value[0]) in ("apply_patch", "applypatch") and len(value) == 2:
                return ShellEffects(folder, patch=value[1], command=" ".join(value))
            is_script = len(value) == 3 and value[1] in ("-c", "-lc")
            return _file_effects(value[2] if is_script else shlex.join(value), folder)
        if isinstance(value, str) and value.strip():
            return _file_effects(value, folder)
    return None


def first_word(command: str) -> str:
    """Return the program that a command starts after changes of folder, a literal word; otherwise empty."""
    rest = _without_cd(command)[0]
    found = _PROGRAM.match(rest)
    word = "" if found is None else posixpath.basename(found["word"])
    return "" if word in _KEYWORDS else word


def _without_cd(command: str) -> tuple[str, str]:
    """Split leading changes of folder from a command; return the rest and the resulting folder."""
    folder = ""
    while (cd := _LEADING_CD.match(command)) is not None:
        folder = posixpath.join(folder, _unquoted(cd["folder"]))
        command = command[cd.end() :]
    return command, folder


def _file_effects(command: str, folder: str) -> ShellEffects:
    rest, into = _without_cd(command)
    folder = posixpath.join(folder, into) if into else folder
    written, rest = _heredocs(rest)
    effects = ShellEffects(folder, written, command=command, rest=rest.strip())
    patch = _PATCH.match(rest)
    if patch is not None:
        body, found, after = _until(rest[patch.end() :], patch)
        if found:
            return effects._replace(patch=body, may_change=_may_change(after))
    words = _simple_words(rest)
    if words is not None:
        if (echoed := _echoed(words)) is not None:
            return effects._replace(written=(*written, echoed), rest="")
        if removed := _removed(words):
            return effects._replace(removed=removed)
        if not written and (printed := _printed(words)) is not None:
            return effects._replace(printed=printed)
    return effects._replace(may_change=_may_change(rest))


def _heredocs(command: str) -> tuple[tuple[Written, ...], str]:
    """Return the texts that a command writes first, and the rest of the command."""
    written: list[Written] = []
    rest = command
    while True:
        made = _LEADING_MKDIR.match(rest)
        rest = rest[made.end() :] if made else rest
        heredoc = _HEREDOC.match(rest)
        if heredoc is None or not heredoc["end"] or not heredoc["path"]:
            return tuple(written), rest
        body, found, after = _until(rest[heredoc.end() :], heredoc)
        if not found or (heredoc["end"][0] not in "'\"\\" and _EXPANDS.search(body)):
            return tuple(written), rest
        written.append(Written(_unquoted(heredoc["path"]), body, heredoc["mode"] == ">>"))
        rest = re.sub(r"^\s*(?:&&|;)\s*", "", after)


def _removed(words: list[str]) -> tuple[str, ...]:
    """Return the literal file names that `rm` removes."""
    removed = tuple(word for word in words[1:] if not word.startswith("-"))
    is_named = words[0] == "rm" and "|" not in words and not any(re.search(r"[*?\[{$~>]", name) for name in removed)
    return removed if is_named else ()


def _may_change(command: str) -> bool:
    return _MAY_CHANGE.search(_NOTHING.sub("", command)) is not None


def _until(text: str, document: re.Match[str]) -> tuple[str, bool, str]:
    """Split a here-document at its end marker; return the text, whether the marker was found, and the rest."""
    end = _unquoted(document["end"]).removeprefix("\\")
    tabs = r"\t*" if document["tabs"] else ""
    found = re.search(rf"^{tabs}{re.escape(end)}$\n?", text, re.MULTILINE)
    if found is None:
        return text, False, ""
    body = text[: found.start()]
    return re.sub(r"^\t+", "", body, flags=re.MULTILINE) if tabs else body, True, text[found.end() :]


def _unquoted(word: str) -> str:
    return word[1:-1] if word[:1] in "'\"" and word[-1:] == word[:1] else word


def _simple_words(command: str) -> list[str] | None:
    """Return the words of a single command with a known effect, with at most one pipe; None for any other."""
    text = command.strip()
    if (
        not _OF_SIMPLE_WORDS.match(text)
        or "\n" in text
        or "`" in text
        or "$" in text.replace("$p'", "").replace('$p"', "")
    ):
        return None
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return None
    if not words or any(word in ("&&", "||", ";", "&", "<", "<<", "(", ")", "|&") for word in words):
        return None
    return words


def _echoed(words: list[str]) -> Written | None:
    if (
        words[0] not in ("echo", "printf")
        or len(words) != 4
        or words[2] not in (">", ">>")
        or words[1].startswith("-")
        or "\\" in words[1]
    ):
        return None
    if words[0] == "printf" and "%" in words[1]:
        return None
    return Written(words[3], words[1] + ("\n" if words[0] == "echo" else ""), words[2] == ">>")


def _printed(words: list[str]) -> Printed | None:
    if any(word in (">", ">>") for word in words):
        return None
    if "|" in words:
        at = words.index("|")
        head, rest = words[:at], words[at + 1 :]
        if "|" in rest or len(rest) != 3 or rest[:2] != ["sed", "-n"]:
            return None
        source = _printed(head)
        lines = _SED_LINES.fullmatch(rest[2])
        if source is None or lines is None or source.last is not None or source.first != 1:
            return None
        return _lines(source.path, lines, is_numbered=source.is_numbered)
    match words:
        case ["cat", path] if not path.startswith("-"):
            return Printed(path, 1, None, is_numbered=False)
        case ["cat", "-n", path] | ["nl", "-ba", path]:
            return Printed(path, 1, None, is_numbered=True)
        case ["sed", "-n", script, path] if lines := _SED_LINES.fullmatch(script):
            return _lines(path, lines, is_numbered=False)
        case ["head", "-n", count, path] if count.isdecimal():
            return Printed(path, 1, int(count), is_numbered=False)
        case ["head", count, path] if count[:1] == "-" and count[1:].isdecimal():
            return Printed(path, 1, int(count[1:]), is_numbered=False)
    return None


def _lines(path: str, lines: re.Match[str], *, is_numbered: bool) -> Printed | None:
    first = int(lines[1])
    last = None if lines[2] == "$" else int(lines[2] or first)
    if first < 1 or (last is not None and last < first):
        return None
    return Printed(path, first, last, is_numbered)
