"""Reading a growing file gives the same session as reading it at once, for every split and every error."""

import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.session.follow import Follower
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.open import open_reader, open_session
from inspector.session.reader import FileChange
from inspector.session.snapshot_list import unchanged
from tests.examples import examples
from tests.session.claude_lines import Script
from tests.session.following import assert_same_objects, settle, tailed
from tests.session.generated import files
from tests.session.growing import GROWING


@settings(max_examples=examples(120), deadline=None)
@given(lines=files(), cuts=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_a_tailed_session_is_a_loaded_one_at_every_cut(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cuts: list[float]
) -> None:
    path = tmp_path_factory.mktemp("tail") / "session.jsonl"
    for before, session in tailed(path, b"".join(lines), len(lines[0]), cuts):
        fresh = open_session(path)
        assert session.blocks == tuple(block for message in session.messages for block in message.blocks)
        assert_same_objects(session.messages, before.messages)
        assert [session.text(block) for block in session.blocks] == [fresh.text(block) for block in fresh.blocks]


@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_a_real_session_tailed_at_random_cuts_is_the_loaded_one(
    tmp_path_factory: pytest.TempPathFactory, corpus: Path, data: st.DataObject
) -> None:
    content = (corpus / "claude-code-growth/cc432c40/snap4.jsonl").read_bytes()
    cuts = data.draw(st.lists(st.floats(0, 1), max_size=11))
    path = tmp_path_factory.mktemp("real") / "session.jsonl"
    for _ in tailed(path, content, data.draw(st.integers(2_000, len(content))), cuts):
        pass


def test_successive_snapshots_of_a_live_session_are_its_growth(tmp_path: Path, corpus: Path) -> None:
    snapshots = [corpus / f"claude-code-growth/cc432c40/snap{number}.jsonl" for number in range(5)]
    path = tmp_path / "session.jsonl"
    path.write_bytes(snapshots[0].read_bytes())
    follower = Follower(path)
    for snapshot in snapshots[1:]:
        content = snapshot.read_bytes()
        with path.open("ab") as file:
            file.write(content[path.stat().st_size :])
        settle(path)
        follower.poll()
        follower.poll()
        expected = open_session(snapshot)
        assert follower.session.messages == expected.messages
        assert follower.session.calls == expected.calls
        assert follower.session.contexts == expected.contexts
        assert follower.session.skipped_records == 0


def test_untouched_messages_are_the_same_objects(tmp_path: Path) -> None:
    script = Script()
    for number in range(50):
        script.prompt(f"prompt {number}")
        script.text(f"m{number}")
    path = script.write(tmp_path / "session.jsonl")
    follower = Follower(path)
    before = follower.session
    script.prompt("more")
    script.write(path)
    after = follower.poll()
    assert after is not None
    assert follower.change == "appended"
    assert len(after.messages) == 101
    assert all(new is old for new, old in zip(after.messages, before.messages, strict=False))
    assert all(new is old for new, old in zip(after.calls, before.calls, strict=True))


def test_a_branch_left_and_found_again_between_two_looks_did_not_change(tmp_path: Path) -> None:
    script = Script()
    prompt = script.prompt("one")
    script.boundary()
    script.parent = prompt
    found_again = script.prompt("two")
    follower = Follower(script.write(tmp_path / "session.jsonl"))
    before = follower.session
    script.parent = prompt
    script.prompt("two, said otherwise")
    script.parent = found_again
    script.prompt("three")
    script.write(follower.path)
    after = follower.poll()
    assert after is not None
    assert [message.is_abandoned for message in after.messages] == [False, False, True, False]
    assert len(before.messages) == unchanged(after.messages, before.messages) == 2


def test_a_change_far_behind_the_end_is_found(tmp_path: Path) -> None:
    script = Script()
    fork = script.text("m0")
    for number in range(60):
        script.prompt(f"prompt {number}")
        script.text(f"m{number + 1}")
    follower = Follower(script.write(tmp_path / "session.jsonl"))
    before = follower.session
    script.parent = fork
    script.prompt("back to the beginning")
    script.write(follower.path)
    after = follower.poll()
    assert after is not None
    assert sum(message.is_abandoned for message in after.messages) == 120
    assert unchanged(after.messages, before.messages) == 1
    late = script.text("m0", "a block for the very first response")
    assert late
    script.write(follower.path)
    last = follower.poll()
    assert last is not None
    assert len(last.messages[0].blocks) == 2
    assert unchanged(last.messages, after.messages) == 0


def test_a_line_waits_for_its_end(tmp_path: Path) -> None:
    script = Script()
    script.prompt("one")
    script.prompt("two")
    lines = script.encoded()
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines[0])
    follower = Follower(path)
    for part in (lines[1][:30], lines[1][30:-1]):
        with path.open("ab") as file:
            file.write(part)
        assert follower.poll() is None
        assert follower.change == ""
    with path.open("ab") as file:
        file.write(b"\n")
    session = follower.poll()
    assert session is not None
    assert len(session.blocks) == 2


def test_a_whole_line_without_its_end_is_taken_once_the_file_is_left_alone(tmp_path: Path) -> None:
    script = Script()
    script.prompt("one")
    script.prompt("two")
    script.prompt("three")
    lines = script.encoded()
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines[0])
    follower = Follower(path)
    with path.open("ab") as file:
        file.write(lines[1][:-1])
    assert follower.poll() is None
    settle(path)
    follower.poll()
    session = follower.poll() or follower.session
    assert len(session.blocks) == 2
    with path.open("ab") as file:
        file.write(b"\n" + lines[2])
    session = follower.poll()
    assert session is not None
    assert follower.change == "appended"
    assert len(session.blocks) == 3
    assert session == open_session(path)


WRITER = """
import sys, time
with open(sys.argv[1], "ab", buffering=0) as file:
    file.write(sys.stdin.buffer.read())
    print("x", flush=True)
    time.sleep(60)
"""

LINES = [name for name, known in GROWING.items() if known.family == "lines"]


@pytest.fixture(params=LINES)
def lines(request: pytest.FixtureRequest, tmp_path: Path) -> list[bytes]:
    GROWING[request.param].write(tmp_path / "source", 12)
    return (tmp_path / "source").read_bytes().splitlines(keepends=True)


def written(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def assert_caught_up(follower: Follower, path: Path) -> None:
    for _ in range(3):
        follower.poll()
    assert follower.session == open_session(path)


def test_a_writer_killed_within_a_line_loses_that_line_alone_and_its_successor_goes_on(
    tmp_path: Path, lines: list[bytes]
) -> None:
    path = written(tmp_path / "session.jsonl", lines[:5])
    follower = Follower(path)
    half = lines[5] + lines[6][: len(lines[6]) // 2]
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        writer.stdin.write(half)
        writer.stdin.close()
        assert writer.stdout.readline() == b"x\n"
        follower.poll()
        writer.send_signal(signal.SIGKILL)
        writer.stdout.close()
    settle(path)
    assert_caught_up(follower, path)
    assert follower.session.skipped_records == 1
    assert follower.session.diagnostics[-1].reason == "the last line is incomplete"
    with path.open("ab") as file:
        file.write(b"\n" + b"".join(lines[7:]))
    settle(path)
    assert_caught_up(follower, path)
    assert follower.session.skipped_records == 1


@pytest.mark.parametrize("how", ["rotate", "truncate", "replace", "delete"])
def test_a_file_that_becomes_another_is_reread_and_reported(tmp_path: Path, lines: list[bytes], how: str) -> None:
    path = written(tmp_path / "session.jsonl", lines)
    follower = Follower(path)
    shorter = lines[: len(lines) // 2]
    notices = []
    if how == "rotate":
        path.rename(tmp_path / "session.jsonl.1")
        written(path, shorter)
    elif how == "truncate":
        os.truncate(path, sum(map(len, shorter)))
    elif how == "replace":
        written(tmp_path / "new", shorter).replace(path)
    else:
        path.unlink()
        follower.poll()
        notices.append(follower.notice)
        assert follower.state == "vanished"
        assert len(follower.session.messages) == len(open_session(written(tmp_path / "same.jsonl", lines)).messages)
        written(path, shorter)
    follower.poll()
    notices.append(follower.notice)
    assert_caught_up(follower, path)
    assert all(notices)
    assert follower.state == "live"


def test_a_folder_that_goes_and_comes_back_is_followed_on(tmp_path: Path, lines: list[bytes]) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    path = written(folder / "session.jsonl", lines[:6])
    follower = Follower(path)
    folder.rename(tmp_path / "away")
    follower.poll()
    assert follower.state == "vanished"
    assert "no longer exists" in follower.notice
    (tmp_path / "away").rename(folder)
    with path.open("ab") as file:
        file.write(b"".join(lines[6:]))
    assert_caught_up(follower, path)
    assert follower.state == "live"


def test_a_line_over_the_limit_is_skipped_and_listed_and_the_lines_behind_it_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPECTOR_LINE_MB", "1")
    script = Script()
    script.prompt("before")
    long = b'{"type":"user","text":"' + b"x" * (3 << 20) + b'"}\n'
    script.prompt("after")
    first, after = script.encoded()
    path = tmp_path / "session.jsonl"
    path.write_bytes(first + long + after)
    session = open_session(path)
    assert [session.text(block) for block in session.blocks] == ["before", "after"]
    (skipped,) = session.diagnostics
    assert "longer than 1 MB" in skipped.reason
    assert (skipped.line, skipped.offset, skipped.skipped) == (2, len(first), True)


def test_a_hole_at_the_end_of_a_followed_file_is_not_read_whole_and_what_follows_is(tmp_path: Path) -> None:
    script = Script()
    script.prompt("before")
    script.prompt("after")
    first, after = script.encoded()
    path = tmp_path / "session.jsonl"
    path.write_bytes(first)
    follower = Follower(path)
    os.truncate(path, 1 << 28)
    settle(path)
    tracemalloc.start()
    try:
        follower.poll()
        follower.poll()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 200 << 20  # the limit of 64 MB, with room for a copy of it
    assert "longer than 64 MB" in follower.session.diagnostics[-1].reason
    with path.open("ab") as file:
        file.write(b"\n" + after)
    follower.poll()
    assert [follower.session.text(block) for block in follower.session.blocks] == ["before", "after"]
    assert [diagnostic.offset for diagnostic in follower.session.diagnostics] == [len(first)]


def test_a_reader_near_the_end_reads_whole_lines_from_there_and_what_is_appended(tmp_path: Path) -> None:
    script = Script()
    for text in ("first", "second", "third"):
        script.prompt(text)
    first, second, third = script.encoded()
    path = tmp_path / "session.jsonl"
    path.write_bytes(first + second)

    for length, skipped in ((len(second), len(first)), (len(second) + 1, len(first)), (len(second) + len(first), 0)):
        reader = open_reader(path)
        assert isinstance(reader, JsonlReader)
        assert reader.start_near_end(length) == skipped
        list(reader.load())
        assert len(reader.snapshot().messages[0].blocks) == (1 if skipped else 2)

    reader = open_reader(path)
    assert isinstance(reader, JsonlReader)
    reader.start_near_end(len(second))
    list(reader.load())
    with path.open("ab") as file:
        file.write(third)
    assert reader.refresh() is FileChange.APPENDED
    session = reader.snapshot()
    assert [session.text(block) for block in session.blocks] == ["second", "third"]
    path.write_bytes(second + third)
    assert reader.refresh() is FileChange.REPLACED


def test_a_million_empty_records_are_one_diagnostic_and_nothing_of_the_rest_is_lost(tmp_path: Path) -> None:
    script = Script()
    script.prompt("list the files")
    script.text("m1", usage={"input_tokens": 10, "output_tokens": 1})
    path = script.write(tmp_path / "session.jsonl")
    first, *rest = path.read_bytes().splitlines(keepends=True)
    texts = [open_session(path).text(block) for block in open_session(path).blocks]
    path.write_bytes(first + b"{}\n" * 1_000_000 + b"".join(rest) + b"{}\r\n" * 20)
    began = time.process_time()
    session = open_session(path)

    assert time.process_time() - began < 5, "a second on a quiet machine"
    assert session.skipped_records == 1_000_020
    (diagnostic,) = session.diagnostics
    assert (diagnostic.reason, diagnostic.line, diagnostic.offset) == ("1,000,020 empty records", 2, len(first))
    assert [session.text(block) for block in session.blocks] == texts
    assert len(session.calls) == 1


def test_records_after_the_limit_of_messages_are_counted_and_listed_loaded_and_followed_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPECTOR_MESSAGES", "3")
    script = Script()
    for number in range(4):
        script.prompt(f"prompt {number}")
        script.text(f"m{number}")
    lines = script.encoded()
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines[:4]))
    follower = Follower(path)
    with path.open("ab") as file:
        file.write(b"".join(lines[4:]))
    settle(path)
    follower.poll()
    session = open_session(path)

    assert len(session.messages) == 3
    (left_out,) = session.diagnostics
    assert left_out.reason == "5 records left out after 3 messages; INSPECTOR_MESSAGES sets the limit"
    assert (left_out.line, left_out.offset, left_out.loses_usage) == (4, sum(map(len, lines[:3])), True)
    assert session.skipped_records == 5
    assert follower.session == session


def test_a_message_of_a_session_takes_little_memory(tmp_path: Path) -> None:
    script = Script()
    for number in range(2_000):
        script.prompt("go")
        script.text(f"m{number}")
    path = script.write(tmp_path / "session.jsonl")
    reader = open_reader(path)
    tracemalloc.start()
    try:
        for _ in reader.load():
            pass
        session = reader.snapshot()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(session.messages) == 4_000
    assert taken < 1_200 * len(session.messages)
