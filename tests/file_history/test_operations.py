"""File operations of every agent's tools, derived from the arguments and results of calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from inspector.file_history.content import FileContent
from inspector.file_history.history import file_history
from inspector.file_history.operations import (
    Deletion,
    Read,
    UnknownChange,
    Writing,
    apply_hunks,
    call_effects,
    parse_patch,
)
from inspector.file_history.results import has_failed, numbered
from inspector.session.open import open_session
from tests.session.claude_lines import Script

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.file_history.operations import FileOperation
    from inspector.session.model import Block

BEFORE = "a\nb\nc\n"


def operations(tool: str, arguments: dict[str, Any], result: str = "Done.") -> tuple[FileOperation, ...]:
    return call_effects(tool, json.dumps(arguments), result).operations


def after(tool: str, arguments: dict[str, Any], result: str = "Done.") -> str:
    content = FileContent.of_text(BEFORE)
    for operation in operations(tool, arguments, result):
        assert operation.path == "x.py"
        content = operation.applied(content)
    assert content.is_whole
    return content.text()


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("Edit", {"file_path": "x.py", "old_string": "b", "new_string": "B"}, "a\nB\nc\n"),
        ("Edit", {"file_path": "x.py", "old_string": "b", "new_string": ""}, "a\nc\n"),
        ("MultiEdit", {"file_path": "x.py", "edits": [{"old_string": "a", "new_string": "A"}]}, "A\nb\nc\n"),
        ("Write", {"file_path": "x.py", "content": "new"}, "new"),
        ("edit", {"filePath": "x.py", "oldString": "b\n", "newString": ""}, "a\nc\n"),
        ("edit", {"path": "x.py", "oldText": "b", "newText": "B"}, "a\nB\nc\n"),
        ("edit", {"path": "x.py", "edits": [{"oldText": "a", "newText": "A"}]}, "A\nb\nc\n"),
        ("replace", {"file_path": "x.py", "old_string": "c", "new_string": "C", "instruction": "i"}, "a\nb\nC\n"),
        ("editor", {"path": "x.py", "old_text": "b", "new_text": "B"}, "a\nB\nc\n"),
        ("editor", {"path": "x.py", "new_text": "all"}, "all"),
        ("editor", {"path": "x.py", "insert_line": 2, "new_text": "new"}, "a\nnew\nb\nc\n"),
        ("insert_content", {"path": "x.py", "line": 1, "content": "new"}, "new\na\nb\nc\n"),
        ("insert_content", {"path": "x.py", "line": 0, "content": "new\n"}, "a\nb\nc\nnew\n"),
        ("write_to_file", {"path": "x.py", "content": "n\n"}, "n\n"),
        (
            "replace_in_file",
            {"path": "x.py", "diff": "------- SEARCH\nb\n=======\nB\nB2\n+++++++ REPLACE\n"},
            "a\nB\nB2\nc\n",
        ),
        (
            "apply_diff",
            {"path": "x.py", "diff": "<<<<<<< SEARCH\n:start_line:2\n-------\nb\n=======\nB\n>>>>>>> REPLACE"},
            "a\nB\nc\n",
        ),
        ("str_replace_editor", {"command": "str_replace", "path": "x.py", "old_str": "b", "new_str": "B"}, "a\nB\nc\n"),
        ("str_replace_editor", {"command": "insert", "path": "x.py", "insert_line": 1, "new_str": "i"}, "a\ni\nb\nc\n"),
        ("str_replace_editor", {"command": "create", "path": "x.py", "file_text": "f"}, "f"),
        ("mcp__files__edit_file", {"path": "x.py", "old_str": "b", "new_str": "B", "intent": "why"}, "a\nB\nc\n"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: x.py\n@@ a\n-b\n+B\n*** End Patch"}, "a\nB\nc\n"),
        (
            "multi_replace_string_in_file",
            {
                "explanation": "e",
                "replacements": [
                    {"filePath": "x.py", "oldString": "a", "newString": "A"},
                    {"filePath": "x.py", "oldString": "b", "newString": "B"},
                ],
            },
            "A\nB\nc\n",
        ),
        ("StrReplaceFile", {"path": "x.py", "edit": {"old": "b", "new": "B"}}, "a\nB\nc\n"),
        ("StrReplaceFile", {"path": "x.py", "edit": [{"old": "a", "new": "A"}]}, "A\nb\nc\n"),
        ("create_file", {"filePath": "x.py", "content": "n\n"}, "n\n"),
        (
            "shell",
            {
                "command": [
                    "bash",
                    "-lc",
                    "apply_patch <<'P'\n*** Begin Patch\n*** Add File: x.py\n+n\n*** End Patch\nP",
                ]
            },
            "n\n",
        ),
    ],
)
def test_a_change_is_understood_in_every_manner(tool: str, arguments: dict[str, Any], expected: str) -> None:
    assert after(tool, arguments) == expected


NUMBERED = [
    ("Read", {"file_path": "x.py"}, "     1→a\n     2→b\n     3→\n\n<system-reminder>\nbeware\n</system-reminder>\n"),
    ("Read", {"file_path": "x.py"}, "1\ta\n2\tb\n3\t"),
    (
        "read",
        {"filePath": "x.py"},
        "<path>x.py</path>\n<content>\n1: a\n2: b\n\n(End of file - total 2 lines)\n</content>",
    ),
    ("read", {"filePath": "x.py"}, "<file>\n00001| a\n00002| b\n\n(End of file - total 2 lines)\n</file>"),
    ("read_files", {"files": [{"path": "x.py"}]}, '{"query":"x.py","result":"1 | a\\n2 | b","success":true}'),
    ("read_file", {"path": "x.py"}, '{"content": "     1|a\\n     2|b", "total_lines": 2}'),
    ("read_file", {"file_path": "x.py"}, "L1: a\nL2: b"),
    ("view", {"path": "x.py"}, "1. a\n2. b\n3. "),
    (
        "str_replace_editor",
        {"command": "view", "path": "x.py"},
        "Here's the result of running `cat -n` on x.py:\n     1\ta\n     2\tb\n     3\t\n",
    ),
    ("read_file", {"file_path": "x.py"}, "a\nb\n"),
    ("ReadFile", {"path": "x.py"}, "<system>2 lines read.</system>\n     1\ta\n     2\tb\n     3\t"),
    ("read_file", {"filePath": "x.py", "startLine": 1, "endLine": 3}, "```python\na\nb\n\n```"),
    ("read", {"path": "x.py"}, "a\nb\n"),
]


@pytest.mark.parametrize(("tool", "arguments", "result"), NUMBERED)
def test_a_read_is_understood_in_every_manner(tool: str, arguments: dict[str, Any], result: str) -> None:
    (read,) = operations(tool, arguments, result)
    assert isinstance(read, Read)
    assert (read.path, read.shown.lines, read.shown.first) == ("x.py", ("a", "b"), 1)
    assert read.applied(FileContent()).text() == "a\nb\n"


@pytest.mark.parametrize(
    ("tool", "arguments", "result", "first", "lines"),
    [
        ("Read", {"file_path": "x.py", "offset": 40, "limit": 2}, "    40→a\n    41→b\n", 40, ("a", "b")),
        (
            "read",
            {"path": "x.py", "offset": 7},
            "a\nb\n\n[12 more lines in file. Use offset=9 to continue.]",
            7,
            ("a", "b"),
        ),
        (
            "read_file",
            {"filePath": "x.py", "startLine": 4, "endLine": 5},
            "File: `x.py`. Lines 4 to 5 (9 lines total): \n```python\na\nb\n```",
            4,
            ("a", "b"),
        ),
        (
            "read_file",
            {"filePath": "x.py", "startLine": 4, "endLine": 50},
            "```markdown\na\nb\n\n```",
            4,
            ("a", "b"),
        ),
        ("read", {"path": "x.py"}, "a\nb\n\n[Showing lines 1-2 of 90 (50KB limit). Use offset=3]", 1, ("a", "b")),
    ],
)
def test_a_part_is_no_whole_file(
    tool: str, arguments: dict[str, Any], result: str, first: int, lines: tuple[str, ...]
) -> None:
    (read,) = operations(tool, arguments, result)
    assert isinstance(read, Read)
    assert (read.shown.first, read.shown.lines, read.shown.total) == (first, lines, None)


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("Read", {"file_path": "x.py"}, "<tool_use_error>File does not exist.</tool_use_error>"),
        ("read", {"filePath": "/d"}, "<path>/d</path>\n<type>directory</type>\n<entries>\na\n</entries>"),
        ("Edit", {"file_path": "x.py", "old_string": "b", "new_string": "B"}, "String to replace not found in file."),
        ("editor", {"path": "x.py", "old_text": "b", "new_text": "B"}, '{"query":"e","error":"no","success":false}'),
        ("get_weather", {"path": "x", "city": "y"}, "sunny"),
        ("Grep", {"pattern": "x", "path": "x.py"}, "x.py:3: x"),
    ],
)
def test_what_failed_or_shows_no_file_tells_nothing(tool: str, arguments: dict[str, Any], result: str) -> None:
    assert operations(tool, arguments, result) == ()


def test_arguments_of_any_shape_are_no_error() -> None:
    for text in ("", "[]", "null", '"x"', "{", '{"path": 3}', '{"file_path": "x", "edits": [3]}', "*** Begin Patch"):
        for tool in ("Edit", "Read", "Bash", "apply_patch", "str_replace_editor", "run_ipython"):
            call_effects(tool, text, "[File: x (3 lines total)]\n")
            assert call_effects(tool, text, None).operations == ()


def test_a_change_no_one_recorded_is_shown_to_be_unclear() -> None:
    (unclear,) = operations("edit_file", {"target_file": "x.py", "code_edit": "// ... existing code ..."})
    assert isinstance(unclear, UnknownChange)
    (notebook,) = operations("NotebookEdit", {"notebook_path": "x.ipynb", "new_source": "1"})
    assert isinstance(notebook, UnknownChange)


def test_a_patch_adds_deletes_and_renames() -> None:
    update = "*** Update File: x.py\n*** Move to: y.py\n-b\n+B\n"
    patch = f"*** Begin Patch\n*** Add File: n.py\n+x\n*** Delete File: o.py\n{update}*** End Patch"
    added, deleted, moved = call_effects("apply_patch", patch, "Success.").operations
    assert isinstance(added, Writing)
    assert added.text == "x\n"
    assert isinstance(deleted, Deletion)
    assert moved.applied(FileContent.of_text(BEFORE)).text() == "a\nB\nc\n"


def test_a_hunk_is_placed_as_codex_places_it() -> None:
    (update,) = parse_patch("*** Begin Patch\n*** Update File: x\n@@ def g():\n-    pass\n+    go()\n*** End Patch")
    content = FileContent.of_text("def f():\n    pass\ndef g():\n    pass  \n")
    assert apply_hunks(content, update.hunks).text() == "def f():\n    pass\ndef g():\n    go()\n"


def test_exit_codes_tell_of_failures() -> None:
    assert has_failed("Exit code: 2\nOutput:\n", is_error=False)
    assert has_failed('{"output":"x","metadata":{"exit_code":1}}', is_error=False)
    assert not has_failed("Exit code: 0\nOutput:\nError: none\n", is_error=False)


def test_an_editor_s_window_and_a_shell_say_where_a_relative_path_is() -> None:
    state = "(Open file: /testbed/src/x.py)\n(Current directory: /testbed/src)\nbash-$"
    (read,) = call_effects("open", '{"path": "x.py"}', f"[File: x.py (1 lines total)]\n1:a\n{state}").operations
    assert read.path == "/testbed/src/x.py"
    (other,) = call_effects("open", '{"path": "y.py"}', f"[File: y.py (1 lines total)]\n1:a\n{state}").operations
    assert other.path == "y.py"
    (removal,) = call_effects("bash", '{"command": "rm x.py"}', f"Your command ran.\n{state}").operations
    assert (removal.folder, removal.path) == ("/testbed/src", "x.py")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  9→a\r\n 10→ b\n11→\n12→d\n\n<note>", (9, ["a", " b", "", "d"])),
        ("1→a\n3→c", (1, ["a"])),
        (f"1→a\n{'9' * 5_000}→b", (1, ["a"])),  # more digits than Python converts
        (f"{'9' * 5_000}→b", None),
    ],
)
def test_numbered_lines_end_at_the_first_one_out_of_order(text: str, expected: tuple[int, list[str]] | None) -> None:
    found = numbered(text)
    assert (found and found[:2]) == expected


def test_calls_and_results_that_fit_into_a_preview_are_not_read_from_the_file_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script()
    script.prompt("go")
    for number, text in enumerate(("1→short", "1→" + "long " * 50)):
        part = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": f"/p/{number}.py"}}
        script.block(f"m{number}", part)
        script.result(f"c{number}", text)
    session = open_session(script.write(tmp_path / "s.jsonl"))
    read: list[int] = []
    text_of = session.texts.text

    def text_from_file(block: Block) -> str:
        read.append(block.characters)
        return text_of(block)

    monkeypatch.setattr(session.texts, "text", text_from_file)
    assert set(file_history(session).events) == {"/p/0.py", "/p/1.py"}
    assert read == [252]  # two characters and 50 words of five


def test_lines_of_an_unchanged_file_are_parsed_and_held_once() -> None:
    results = ["".join(f"{number}\tline {number}\n" for number in range(1, 50)) for _ in range(2)]
    (first,), (again,) = (operations("Read", {"file_path": "/p/a.py"}, result) for result in results)
    assert isinstance(first, Read)
    assert isinstance(again, Read)
    assert first.shown.lines[-1] == "line 49"
    assert again.shown is first.shown
