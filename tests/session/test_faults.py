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
from tests.session.claude_lines import Script
from tests.session.codex_lines import Rollout
from tests.session.copilot_lines import CopilotScript
from tests.session.following import settle
from tests.session.gemini_lines import GeminiScript, call
from tests.session.pi_lines import PiScript
from tests.session.run_files import jsonl, log_of_requests

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def claude(turns: int) -> list[bytes]:
    script = Script()
    script.prompt("go")
    for turn in range(turns):
        script.call(f"m{turn}", f"t{turn}")
        script.result(f"t{turn}", f"result {turn}")
    return script.encoded()


def codex(turns: int) -> list[bytes]:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    for turn in range(turns):
        rollout.response(f"c{turn}", usage=(100 + turn, 10))
    return rollout.encoded()


def gemini(turns: int) -> list[bytes]:
    script = GeminiScript()
    script.header()
    for turn in range(turns):
        answer = script.answer(f"g{turn}", toolCalls=[call(f"c{turn}")])
        script.again(answer, toolCalls=[call(f"c{turn}", f"result {turn}")])
    return script.encoded()


def pi(turns: int) -> list[bytes]:
    script = PiScript()
    script.header()
    script.user("go")
    for turn in range(turns):
        script.call(f"c{turn}")
        script.result(f"c{turn}", f"result {turn}")
    return [line.strip() + b"\n" for line in script.encoded()]


def requests(turns: int) -> list[bytes]:
    return [line + b"\n" for line in jsonl(log_of_requests(turns)).splitlines()]


def copilot(turns: int) -> list[bytes]:
    script = CopilotScript()
    script.start()
    script.user("go")
    for turn in range(turns):
        script.answer("looking", (f"t{turn}", "view"))
        script.result(f"t{turn}", f"result {turn}")
    return [line.strip() + b"\n" for line in script.encoded()]


WRITER = """
import sys, time
with open(sys.argv[1], "ab", buffering=0) as file:
    file.write(sys.stdin.buffer.read())
    print("x", flush=True)
    time.sleep(60)
"""

FORMATS: dict[str, Callable[[int], list[bytes]]] = {
    "claude-code": claude,
    "codex": codex,
    "copilot-cli": copilot,
    "gemini-cli": gemini,
    "pi": pi,
    "claude-trace": requests,
}


@pytest.fixture(params=FORMATS)
def lines(request: pytest.FixtureRequest) -> list[bytes]:
    made = FORMATS[request.param](12)
    assert len(made) >= 12
    return made


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


def test_a_burst_of_ten_thousand_records_arrives_whole(tmp_path: Path) -> None:
    many = claude(5_000)
    path = written(tmp_path / "session.jsonl", many[:3])
    follower = Follower(path)
    with path.open("ab") as file:
        file.write(b"".join(many[3:]))
    follower.poll()
    assert follower.session == open_session(path)
    assert len(follower.session.calls) == 5_000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_no_longer_be_read_keeps_its_view(tmp_path: Path, lines: list[bytes]) -> None:
    path = written(tmp_path / "session.jsonl", lines[:6])
    follower = Follower(path)
    path.chmod(0)
    with pytest.raises(PermissionError):
        path.open("rb").close()
    assert follower.poll() is None
    path.chmod(0o600)
    with path.open("ab") as file:
        file.write(b"".join(lines[6:]))
    assert_caught_up(follower, path)


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
