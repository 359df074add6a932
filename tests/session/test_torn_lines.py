"""A record behind a torn one in its line is read, and totals of a session with unreadable records are lower bounds."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from inspector.cli.reading import replay_inputs
from inspector.replay.engine.replay import replay
from inspector.replay.message_lists import inputs_of_messages
from inspector.session.json import RecordShapes
from inspector.session.model import Usage
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.session.claude_lines import Script
from tests.session.codex_lines import Rollout
from tests.session.following import tailed
from tests.session.pi_lines import PiScript


def codex() -> list[bytes]:
    rollout = Rollout()
    rollout.header()
    rollout.turn()
    rollout.prompt("go")
    for number in (1, 2, 3):
        rollout.response(f"c{number}", usage=(1_000 * number, 10))
    return rollout.encoded()


def claude_code() -> list[bytes]:
    script = Script()
    script.prompt("go")
    for number in (1, 2, 3):
        script.block(
            f"m{number}", {"type": "text", "text": "yes"}, {"input_tokens": 1_000 * number, "output_tokens": 10}
        )
        script.prompt("on")
    return script.encoded()


def pi() -> list[bytes]:
    script = PiScript()
    script.header()
    script.user("go")
    for number in (1, 2, 3):
        script.answer(usage={"input": 1_000 * number, "output": 10, "cacheRead": 0, "cacheWrite": 0})
        script.user("on")
    return script.encoded()


def is_usage(line: bytes) -> bool:
    return b'"token_count"' in line or b'"input_tokens"' in line or b'"cacheRead"' in line


@pytest.mark.parametrize("made", [codex, claude_code, pi])
@pytest.mark.parametrize("cut", [1, 25, -2, -1])
def test_a_usage_record_behind_a_torn_line_is_counted(
    tmp_path: Path, made: Callable[[], list[bytes]], cut: int
) -> None:
    lines = made()
    reports = [number for number, line in enumerate(lines) if is_usage(line)]
    torn = reports[1] - 1
    lines[torn] = lines[torn].rstrip()[:cut]
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines))
    session = open_session(path)
    assert [call.usage for call in session.calls if call.usage is not None] == [
        Usage(uncached=prompt, output=10) for prompt in (1_000, 2_000, 3_000)
    ]
    assert session.skipped_records == 1
    assert [session.text(block) for block in session.blocks]
    assert inputs_of_messages(session).lacks_usage


def test_two_whole_records_in_a_line_are_both_read(tmp_path: Path) -> None:
    lines = codex()
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines[:4]) + b"".join(line.rstrip() for line in lines[4:9]) + b"\n" + b"".join(lines[9:]))
    session = open_session(path)
    path.write_bytes(b"".join(lines))
    assert [call.usage for call in session.calls] == [call.usage for call in open_session(path).calls]
    assert [len(message.blocks) for message in session.messages] == [
        len(message.blocks) for message in open_session(path).messages
    ]


def test_a_part_of_a_torn_record_is_no_record(tmp_path: Path) -> None:
    lines = claude_code()
    line = json.loads(lines[1])
    line["message"]["content"] = [{"type": "text", "text": "cut here", "uuid": "u"}]
    whole = json.dumps(line).encode()
    lines[1] = whole[: whole.index(b'"cut here"') + len(b'"cut here", "uuid": "u"}')] + b"\n"
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines))
    assert len(open_session(path).calls) == 2


def test_a_session_followed_through_a_torn_line_is_the_loaded_one(tmp_path: Path) -> None:
    lines = codex()
    lines[6] = lines[6][:30]
    for _ in tailed(tmp_path / "session.jsonl", b"".join(lines), len(lines[0]), [0.2, 0.4, 0.6, 0.8]):
        pass


def test_a_line_that_is_no_record_loses_no_usage(tmp_path: Path) -> None:
    lines = codex()
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join([*lines[:3], b"npm warn deprecated\n", *lines[3:]]))
    session = open_session(path)
    assert session.skipped_records == 1
    assert not inputs_of_messages(session).lacks_usage


def test_a_damaged_response_leaves_the_session_its_price(tmp_path: Path) -> None:
    """Without a model and usage, it is estimated as a call of the conversation's model."""
    path = tmp_path / "session.jsonl"
    damaged = b'{"type": "assistant", "uuid": "x", "message": {"role": "assistant", "content": [], "usage": {}}}\n'
    path.write_bytes(b"".join([*claude_code(), damaged]))
    session = open_session(path)
    assert len(session.calls) == 4
    assert len(session.models) == 1
    cost = replay(replay_inputs(session), Plan()).figures.cost_usd
    assert cost.value is not None
    # Three responses of 10 tokens and prompts of 1,000, 2,000 and 3,000 tokens of Opus 4.8, and the estimated call.
    assert cost.value > (6_000 * 5 + 30 * 25) / 1e6


def test_records_are_searched_for_in_linear_time() -> None:
    shapes = RecordShapes(b'{"a": 1, "b": {"a": 2}}\n')
    line = b'{"a": ' * 200_000 + b'{"a": 1, "b": 2}'
    assert list(shapes.records_in(line)) == []
    assert list(shapes.records_in(b'{"a": {"b": {"a": 1, "b": 2}  ')) == [(12, 28)]
