"""The first versions of Copilot CLI kept a session in one document."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.session.follow import Follower
from inspector.session.formats import copilot
from inspector.session.model import BlockKind, Session
from inspector.session.open import open_session
from tests.session.soundness import assert_sound


def call(identifier: str, name: str = "bash", arguments: str = '{"command":"ls"}') -> dict[str, Any]:
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


MESSAGES = [
    {"role": "user", "content": "look around"},
    {"role": "assistant", "content": "Sure."},
    {"role": "assistant", "tool_calls": [call("c1"), call("c2", "str_replace_editor", '{"command":"view"}')]},
    {"role": "tool", "tool_call_id": "c1", "content": "a\nb"},
    {"role": "tool", "tool_call_id": "c2", "content": "text"},
    {"role": "assistant", "content": "Two files."},
]

TIMELINE = [
    {"type": "user", "id": "1", "timestamp": "2025-10-08T21:10:20.000Z", "text": "look around"},
    {"type": "tool_call_requested", "id": "2", "timestamp": "2025-10-08T21:10:25.000Z", "callId": "c1", "name": "bash"},
    {
        "type": "tool_call_completed",
        "id": "3",
        "timestamp": "2025-10-08T21:10:27.000Z",
        "callId": "c1",
        "toolTitle": "bash",
        "arguments": {"command": "ls"},
        "result": {"type": "failure", "log": "a\nb"},
    },
    {"type": "copilot", "id": "4", "timestamp": "2025-10-08T21:10:30.000Z", "text": "Two files."},
    {"type": "info", "id": "5", "timestamp": "2025-10-08T21:10:31.000Z", "text": "Session saved."},
    {"type": "tool_call_requested", "id": "6", "timestamp": "2025-10-08T21:10:32.000Z", "callId": "c9", "name": "bash"},
]


def document(**fields: Any) -> dict[str, Any]:
    return {"sessionId": "hhh", "startTime": "2025-10-08T21:10:16.398Z", **fields}


def write(path: Path, value: object, indent: int | None = 2) -> Path:
    path.write_text(json.dumps(value, indent=indent))
    return path


def kinds(session: Session) -> list[tuple[str, list[str]]]:
    return [(message.role.value, [block.kind.name for block in message.blocks]) for message in session.messages]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["session_hhh_1759957816398.json", "anything.jsonl"])
def test_messages_are_the_conversation_and_the_timeline_gives_times(
    tmp_path: Path, indent: int | None, name: str
) -> None:
    value = document(timeline=TIMELINE, chatMessages=MESSAGES, selectedModel="claude-sonnet-4.5")
    session = open_session(write(tmp_path / name, value, indent))
    assert_sound(session)
    assert (session.format, session.identifier) == ("copilot-cli", "hhh")
    assert [role for role, _ in kinds(session)] == ["user", "assistant", "assistant", "tool", "tool", "assistant"]
    calls = [block for block in session.blocks if block.kind is BlockKind.TOOL_CALL]
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [block.tool_call_id for block in calls] == [block.tool_call_id for block in results] == ["c1", "c2"]
    assert [block.tool_name for block in results] == ["bash", "str_replace_editor"]
    assert [session.text(block) for block in results] == ["a\nb", "text"]
    # Two messages without anything between them are one response.
    assert [one.response for one in session.calls] == [1, 5]
    assert {one.model for one in session.calls} == {"claude-sonnet-4.5"}
    assert all(one.usage is None for one in session.calls)
    assert session.messages[3].time == 1_759_957_827
    assert session.messages[2].time == 1_759_957_825
    assert session.record_counts["timeline:info"] == 1
    assert copilot.CopilotFormat().is_bookkeeping("timeline:info")


def test_without_messages_the_timeline_is_read(tmp_path: Path) -> None:
    session = open_session(write(tmp_path / "session.json", document(timeline=TIMELINE)))
    assert_sound(session)
    assert kinds(session) == [
        ("user", ["USER_TEXT"]),
        ("assistant", ["TOOL_CALL"]),
        ("tool", ["TOOL_RESULT"]),
        ("assistant", ["ASSISTANT_TEXT"]),
        ("other", ["OTHER"]),
        ("assistant", ["TOOL_CALL"]),
    ]
    assert session.blocks[2].is_error
    assert session.text(session.blocks[2]) == "a\nb"
    assert session.messages[3].time == 1_759_957_830


def test_a_document_rewritten_is_followed(tmp_path: Path) -> None:
    path = write(tmp_path / "session.json", document(chatMessages=MESSAGES[:3]))
    follower = Follower(path)
    follower.poll()
    write(path, document(chatMessages=MESSAGES))
    follower.poll()
    assert follower.session == open_session(path)
    assert len(follower.session.messages) == 6


@pytest.mark.parametrize(
    "value",
    [
        {"sessionId": "x", "messages": MESSAGES},
        {"chatMessages": MESSAGES},
        {"sessionId": 5, "chatMessages": MESSAGES},
        {"sessionId": "x", "timeline": []},
    ],
)
def test_other_documents_are_not_taken_for_one(tmp_path: Path, value: object) -> None:
    from inspector.session.sniff import Sample

    assert copilot.CopilotFormat().recognize(Sample(write(tmp_path / "x.json", value))) == ""


@pytest.mark.parametrize("bad", [None, 5, "x", [], {"role": None}, {"role": "tool", "content": {"a": 1}}])
def test_entries_of_any_shape_are_read_or_counted(tmp_path: Path, bad: object) -> None:
    session = open_session(write(tmp_path / "x.json", document(chatMessages=[*MESSAGES, bad], timeline=[bad])))
    assert len(session.messages) + session.skipped_records == len(MESSAGES) + 1
    assert_sound(session)
