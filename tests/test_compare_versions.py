"""The script that compares two versions of the package ignores only the differences that it names."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from scripts.compare_versions import compare, differences_between, sources
from scripts.version_cases import PLANS, representative


def outcome(stdout: str = "", stderr: str = "", code: int = 0) -> dict[str, Any]:
    return {"arguments": ["report", "session.jsonl"], "exit": code, "stdout": stdout, "stderr": stderr}


def write(folder: Path, said: dict[str, Any]) -> Path:
    (folder / "samples").mkdir(parents=True)
    (folder / "sessions.json").write_text('{"samples/session.jsonl": "digest"}')
    (folder / "samples" / "report.json.gz").write_bytes(gzip.compress(json.dumps(said).encode()))
    return folder


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('{"a": [1, {"b": 2}]}', '{"a": [1, {"b": 3}]}', "stdout: $.a[1].b: 2 -> 3"),
        ('{"a": 1}', '{"a": 1.0}', "stdout: $.a: 1 -> 1.0"),
        ('{"a": 1}', '{"a": true}', "stdout: $.a: 1 -> true"),
        ('{"a": 0.1}', '{"a": 0.10000000000000002}', "stdout: $.a: 0.1 -> 0.10000000000000002"),
        ('{"a": null}', "{}", "stdout: $.a: gone"),
        ('{"a": [1]}', '{"a": [1, 2]}', "stdout: $.a: 1 items -> 2"),
        (
            '{"a": 1, "b": 2}',
            '{"b": 2, "a": 1}',
            "stdout: the same values, written differently (order of keys, or spaces)",
        ),
        ("one\ntwo\n", "one\ntwo \n", 'stdout: line 2: "two\\n" -> "two \\n"'),
        ("one", "one\n", 'stdout: line 1: "one" -> "one\\n"'),
    ],
)
def test_a_difference_is_reported_with_its_place(before: str, after: str, told: str):
    assert differences_between(outcome(before), outcome(after)) == [told]


def test_exit_codes_and_narration_count():
    assert differences_between(outcome(stderr="no file"), outcome(code=1)) == [
        "exit code: 0 -> 1",
        'stderr: line 1: "no file" -> ""',
    ]


def test_a_failure_that_is_the_same_is_no_difference():
    assert differences_between(outcome(stderr="no file", code=1), outcome(stderr="no file", code=1)) == []


def test_versions_of_the_package_may_differ():
    assert differences_between(outcome('{"inspector": "0.1.0"}'), outcome('{"inspector": "0.2.0"}')) == []


def test_recordings_that_differ_end_with_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    before, after = write(tmp_path / "before", outcome("1")), write(tmp_path / "after", outcome("2"))
    assert compare(before, before, "") == 0
    assert compare(before, after, "") == 1
    assert "samples/report: inspector report session.jsonl\n  stdout: $: 1 -> 2" in capsys.readouterr().out


def test_a_recording_that_lacks_something_is_not_the_same(tmp_path: Path):
    before, after = write(tmp_path / "before", outcome()), write(tmp_path / "after", outcome())
    (after / "samples" / "report.json.gz").unlink()
    assert compare(before, after, "") == 1


def test_a_quick_recording_has_a_session_of_every_format(shared: Path):
    found = sources()
    assert {each.kind for each in representative(found)} == {each.kind for each in found}
    assert len(PLANS) >= 8
