"""File effects of shell commands: every effect reported as certain matches a real shell."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from inspector.file_history.operations import Read, Writing, call_effects
from inspector.file_history.shell import first_word, shell_effects

if TYPE_CHECKING:
    from pathlib import Path

WRITES = [
    "cat > notes.txt <<'EOF'\nfirst $HOME\n  `second` \\n\nEOF",
    "cat <<'END' > notes.txt\na\n\nb\nEND\n",
    'cat > "notes.txt" <<"EOF"\n$x\nEOF\n',
    "cat > notes.txt <<EOF\nplain words\nEOF\necho done",
    "mkdir -p sub && cat > sub/deep.txt <<'EOF'\nx\nEOF",
    "cat > notes.txt <<'EOF'\na\nEOF\ncat >> notes.txt <<'EOF'\nb\nEOF",
    "echo 'one line' > notes.txt",
    "printf 'no newline' > notes.txt",
    "mkdir -p sub && cd sub && cat > notes.txt <<'EOF'\nx\nEOF",
    "cat > notes.txt << 'EOF'\n$x\nEOF\n",
    'cat << "END OF IT" >> notes.txt\nEND\nEND OF IT',
    "cat <<  EOF-1 > notes.txt\nplain\nEOF\nEOF-1\n",
    "cat >| notes.txt <<\\EOF\n$x\nEOF\n",
    "cat > notes.txt <<- EOF\n\ta\n\t\t b\n  \tc\n\n\t\tEOF\n",
    "cat > notes.txt <<-'EOF'\n\t$a\n EOF\n\tEOF\necho done > other.txt",
    "cat > notes.txt << ~EOF\n\ta\n~EOF\n",
    "cat<<'EOF'>notes.txt\na\u2028EOF\nb\x0cEOF\nEOF\n",
    "echo x >notes.txt",
]


@pytest.mark.parametrize("command", WRITES)
def test_a_text_that_is_taken_as_written_is_what_a_shell_writes(tmp_path: Path, command: str) -> None:
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, capture_output=True)
    there = {file.relative_to(tmp_path).as_posix(): file.read_text() for file in tmp_path.rglob("*.txt")}
    deeds = shell_effects({"command": command})
    assert deeds is not None
    told: dict[str, str] = {}
    for path, text, appends in deeds.written:
        place = f"{deeds.folder}/{path}" if deeds.folder else path
        told[place] = told.get(place, "") + text if appends else text
    # `mkdir` before `cd` is no folder change that is looked for: the write is not taken for certain then.
    assert told == there or (not told and "&& cd" in command)


@pytest.mark.parametrize(
    "command",
    [
        "cat > notes.txt <<EOF\n$HOME\nEOF",
        "cat > $FILE <<'EOF'\nx\nEOF",
        "cat > notes.txt <<'EOF'\nno end",
        "cat > notes.txt <<'EOF'\nno end\n\tEOF",
        "cat > notes.txt > other.txt << EOF\nx\nEOF",
        "echo $(date) > notes.txt",
        'echo "$X" > notes.txt',
        "echo -n x > notes.txt",
        "rm *.txt",
        "rm -rf $TMP/x",
        "python make.py > notes.txt",
    ],
)
def test_what_depends_on_anything_else_is_not_certain(command: str) -> None:
    deeds = shell_effects({"command": command})
    assert deeds is not None
    assert not deeds.written
    assert not deeds.removed
    assert deeds.may_change


@pytest.mark.parametrize(
    ("command", "first", "last"),
    [
        ("cat a.py", 1, None),
        ("sed -n '10,20p' a.py", 10, 20),
        ("sed -n 7p a.py", 7, 7),
        ("sed -n '5,$p' a.py", 5, None),
        ("head -n 30 a.py", 1, 30),
        ("head -5 a.py", 1, 5),
        ("nl -ba a.py | sed -n '3,9p'", 3, 9),
        ("cat -n a.py", 1, None),
    ],
)
def test_a_command_that_prints_lines_of_one_file_reads_them(command: str, first: int, last: int | None) -> None:
    deeds = shell_effects({"cmd": command})
    assert deeds is not None
    assert deeds.printed is not None
    assert deeds.printed[:3] == ("a.py", first, last)


@pytest.mark.parametrize("command", ["cat a.py b.py", "cat a.py | grep x", "sed -n '1,5p;9p' a.py", "cat a.py && ls"])
def test_a_command_that_prints_anything_else_reads_nothing(command: str) -> None:
    deeds = shell_effects({"cmd": command})
    assert deeds is not None
    assert deeds.printed is None


def test_lines_count_only_where_all_of_them_were_recorded() -> None:
    arguments = '{"cmd": "sed -n \'1,3p\' a.py"}'
    head = "Exit code: 0\nWall time: 0 seconds\nOutput:\n"
    (read,) = call_effects("exec_command", arguments, f"{head}a\nb\n").operations
    assert isinstance(read, Read)
    assert (read.shown.lines, read.shown.total, read.shown.ends_with_newline) == (("a", "b"), 2, True)
    # Claude Code trims the printed output, so fewer lines than requested need not be the last lines of the file.
    assert call_effects("Bash", arguments.replace("cmd", "command"), "a\nb").operations == ()
    assert call_effects("exec_command", arguments, f"{head}a\n…12 tokens truncated…\nb\n").operations == ()


def test_a_command_that_failed_wrote_nothing() -> None:
    arguments = '{"command": "echo x > a.txt"}'
    assert call_effects("shell", arguments, "Exit code: 1\nOutput:\nno space").operations == ()
    assert call_effects("Bash", arguments, "denied", is_error=True).operations == ()
    (written,) = call_effects("Bash", arguments, "").operations
    assert isinstance(written, Writing)
    assert written.text == "x\n"


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("rg -n word src", "rg"),
        ("cd src && CI=1 /usr/bin/npm test", "npm"),
        ("ls", "ls"),
        ("ls; pwd", "ls"),
        ("for name in *; do cat $name; done", ""),
        ("$EDITOR notes.md", ""),
        ("'my program' now", ""),
        ("(cd src; ls)", ""),
        ("", ""),
    ],
)
def test_the_program_a_command_begins_with_is_named_where_it_is_plain(command: str, word: str) -> None:
    assert first_word(command) == word


@pytest.mark.parametrize("start", ["<<'EOF'", "<< 'EOF'", "<<-EOF", '<< "EOF"', "<<\\EOF"])
def test_a_patch_in_a_here_document_is_found_however_the_document_begins(start: str) -> None:
    deeds = shell_effects({"command": f"apply_patch {start}\n*** Begin Patch\n*** End Patch\nEOF\n"})
    assert deeds is not None
    assert deeds.patch == "*** Begin Patch\n*** End Patch\n"


@pytest.mark.parametrize("nothing", ["> /dev/null", "2> /dev/null", "&> /dev/null", ">& /dev/null", "2>& 1", "2>&-"])
def test_output_that_goes_nowhere_changes_no_file(nothing: str) -> None:
    deeds = shell_effects({"command": f"pytest tests {nothing}"})
    assert deeds is not None
    assert not deeds.may_change
