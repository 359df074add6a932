"""Rollouts that Codex has compressed: opened like any other, without extra files."""

import sys
from pathlib import Path

import pytest

from inspector.errors import SessionError
from inspector.session.discovery import list_sessions, search_places
from inspector.session.follow import Follower
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.session.codex_lines import Rollout

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def rollout(turns: int = 3) -> Rollout:
    made = Rollout()
    made.header("019d683e-1ac9-7fb1-99eb-e46acbee7ff0")
    for number in range(turns):
        made.prompt(f"question {number}")
        made.response(f"c{number}", text="looking")
    return made


def packed(path: Path, data: bytes) -> Path:
    path.write_bytes(zstd.compress(data))
    return path


def test_a_packed_rollout_is_the_same_session_as_the_plain_one(tmp_path: Path) -> None:
    plain = rollout().write(tmp_path / "rollout-x.jsonl")
    (tmp_path / "packed").mkdir()
    path = packed(tmp_path / "packed" / "rollout-x.jsonl.zst", plain.read_bytes())
    session, expected = open_session(path), open_session(plain)
    assert detect(path).format.name == "codex"
    assert (session.messages, session.calls, session.contexts) == (expected.messages, expected.calls, expected.contexts)
    assert [session.text(block) for block in session.blocks] == [expected.text(block) for block in expected.blocks]
    assert session.path == path
    assert session.files == (path,)
    assert list(path.parent.iterdir()) == [path]


def test_a_real_rollout_packed_is_the_same_session(tmp_path: Path, corpus: Path) -> None:
    plain = min((corpus / "codex").iterdir(), key=lambda file: file.stat().st_size)
    session, expected = open_session(packed(tmp_path / "rollout.jsonl.zst", plain.read_bytes())), open_session(plain)
    assert session.messages == expected.messages
    assert [call.usage for call in session.calls] == [call.usage for call in expected.calls]


@pytest.mark.parametrize("keep", [3, 10, 60])
def test_a_packed_file_that_is_cut_off_is_refused_in_one_line(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "rollout.jsonl.zst"
    path.write_bytes(zstd.compress(b"".join(rollout(40).encoded()))[:keep])
    with pytest.raises(SessionError) as caught:
        open_session(path)
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message


def test_a_packed_file_is_listed_and_recognized_by_its_name(tmp_path: Path) -> None:
    path = packed(tmp_path / "rollout-2026-01-01T00-00-00-x.jsonl.zst", b"".join(rollout().encoded()))
    (first, *_) = list_sessions(search_places([tmp_path]))
    assert [(header.path, header.format) for header in first] == [(path, "codex")]


def test_a_packed_file_that_is_replaced_or_goes_is_noticed(tmp_path: Path) -> None:
    path = packed(tmp_path / "rollout.jsonl.zst", b"".join(rollout().encoded()))
    follower = Follower(path)
    assert follower.poll() is None
    packed(path, b"".join(rollout(5).encoded()))
    session = follower.poll()
    assert session is not None
    assert follower.change == "reloaded"
    assert session.messages == open_session(path).messages
    path.unlink()
    assert follower.poll() is None
    assert follower.state == "vanished"
    assert "no longer exists" in follower.notice
    assert [follower.session.text(block) for block in follower.session.blocks]


def test_lines_that_begin_like_a_packed_file_are_read_as_lines(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"".join(rollout().encoded()))
    session = open_session(path)
    assert session.format == "codex"
    assert session.skipped_records == 1
