"""Summary lines and excerpts of tool calls and results, without agents' wrappers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.report.tool_words import call_summary, result_words


@pytest.mark.parametrize(
    ("arguments", "summary"),
    [
        ('{"command": "pytest -q", "timeout": 120}', "pytest -q"),
        ('{"timeout": 120, "command": "echo \\"a\\"\\nb"}', 'echo "a"\nb'),
        ('{"command": ["bash", "-lc", "ls -la"], "workdir": "/srv"}', "ls -la"),
        ('{"cmd": ["/bin/zsh", "-c", "ls"]}', "ls"),
        ('["bash", "-lc", "ls -la"]', "ls -la"),
        ('{"command": ["powershell.exe", "-NoProfile", "-Command", "Get-Item ."]}', "Get-Item ."),
        ('{"command": ["bash", "-lc", "cut off in the mid', "cut off in the mid"),
        ('{"command": ["rg", "-c", "word"]}', "rg -c word"),
        ('{"command": ["bash", "script.sh"]}', "bash script.sh"),
        ('{"command": "view", "path": "/srv/project/src/app.py"}', "view src/app.py"),
        ('{"file_path": "/srv/project/src/app.py", "limit": 40}', "src/app.py"),
        ('{"file_path": "/srv/elsewhere/app.py"}', "/srv/elsewhere/app.py"),
        ('{"old_string": "a", "new_string": "b", "path": "x.py"}', "x.py"),
        ('{"unheard_of": "value"}', "value"),
        ('{"command": "cut off in the mid', "cut off in the mid"),
        ('{"command": "cut off in an escape \\u00', "cut off in an escape "),
        ('{"command": "cut off in an escape \\', "cut off in an escape "),
        ('{"session": 15, "chars": ""}', '{"session": 15, "chars": ""}'),
        ("{}", ""),
        ('{"count": 3}', '{"count": 3}'),
        ("*** Begin Patch", "*** Begin Patch"),
        ("", ""),
    ],
)
def test_a_call_is_summed_up_by_the_argument_that_says_most(arguments: str, summary: str) -> None:
    assert call_summary(arguments, "/srv/project") == summary


def test_paths_are_shortened_on_every_platform() -> None:
    assert call_summary('{"file_path": "C:\\\\srv\\\\src\\\\app.py"}', "C:\\srv") == "src\\app.py"
    assert call_summary('{"file_path": "/srv/src/app.py"}', "/srv/") == "src/app.py"
    assert call_summary('{"file_path": "/srv/src/app.py"}', "") == "/srv/src/app.py"


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())), st.integers(0, 240))
def test_any_beginning_of_any_arguments_has_a_summary(arguments: dict[str, object], length: int) -> None:
    assert isinstance(call_summary(json.dumps(arguments)[:length], "/srv"), str)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ('{"output":"a\\n\\"b\\"\\n","metadata":{"exit_code":0,"duration_seconds":0.1}}', 'a\n"b"\n'),
        ('{"output":"no such file\\n","metadata":{"exit_code":1}}', "exit 1: no such file\n"),
        ('{"output":"","metadata":{"exit_code":0}}', "no output"),
        ('{"output":"cut off in the mid', "cut off in the mid"),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nsrc/app.py\n", "src/app.py\n"),
        ("Exit code: 2\nWall time: 0 seconds\nTotal output lines: 9\nOutput:\nbad", "exit 2: bad"),
        ("Chunk ID: f7\nWall time: 0 seconds\nProcess exited with code 1\nOutput:\n", "exit 1: no output"),
        ("Chunk ID: f7\nProcess running with session ID 15\nOriginal token count: 9\nOutput:\nbusy", "busy"),
        ("<returncode>0</returncode>\n<output>\ntotal 4\n</output>", "total 4\n"),
        ("<returncode>1</returncode>\n<output>\ncut off", "exit 1: cut off"),
        ('[{"query":"ls \\"a\\"","result":"b\\n","success":true}]', "b\n"),
        ('{"query":"ls","result":"","error":"denied","success":false}', "denied"),
        ('{"query":"a long command, cut off', "a long command, cut off"),
        ('[{"type":"text","text":"said"}]', "said"),
        ('{"content":[{"type":"text","text":"said"}]}', "said"),
        ('{"name": {"first_name": "Ada"}}', '{"name": {"first_name": "Ada"}}'),
        ('{"result": 3}', '{"result": 3}'),
        ("Exit code: 0", "Exit code: 0"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_a_result_says_its_output_and_how_a_command_failed(result: str, words: str) -> None:
    assert result_words(result) == words


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1), st.integers(0, 240))
def test_of_any_output_in_json_the_words_are_where_it_begins(output: str, length: int) -> None:
    whole = json.dumps({"output": output, "metadata": {"exit_code": 0}})

    assert result_words(whole) == (output if output.strip() else "no output")
    assert isinstance(result_words(whole[:length]), str)
