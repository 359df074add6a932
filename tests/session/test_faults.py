"""What goes wrong with files of every format that grows by lines: nothing is lost or doubled, loss is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from inspector.session.follow import Follower
from inspector.session.open import open_session
from tests.session.following import settle
from tests.session.growing import GROWING

if TYPE_CHECKING:
    from pathlib import Path


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
def test_a_file_that_becomes_another_is_read_anew_and_said_to_be(tmp_path: Path, lines: list[bytes], how: str) -> None:
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
    assert "gone" in follower.notice
    (tmp_path / "away").rename(folder)
    with path.open("ab") as file:
        file.write(b"".join(lines[6:]))
    assert_caught_up(follower, path)
    assert follower.state == "live"
