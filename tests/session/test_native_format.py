"""The native format: its schema, its example, and the sessions read from it."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspector.session.follow import Follower
from inspector.session.formats.native import OwnLine, schema
from inspector.session.model import BlockKind, ContextCause, Role, Session
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.conftest import ROOT
from tests.program import run_here
from tests.session.own_lines import own
from tests.session.run_files import jsonl
from tests.session.soundness import assert_sound

HEAD = {"type": "session", "inspector": 1}


def opened(tmp_path: Path, *lines: dict[str, Any]) -> Session:
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl([HEAD, *lines]))
    session = open_session(path)
    assert session.format == "inspector-lines"
    assert_sound(session)
    return session


def said(role: str, content: Any = "words", **rest: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content, **rest}


def example() -> bytes:
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    found = re.search(r"```jsonl\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1].encode()


def test_the_example_is_of_the_form_and_is_read_as_the_page_says(tmp_path: Path) -> None:
    for line in example().splitlines():
        msgspec.json.decode(line, type=OwnLine)
    path = tmp_path / "example.jsonl"
    path.write_bytes(example())
    session = open_session(path)
    assert_sound(session)
    assert session.diagnostics == ()
    assert (session.identifier, session.title, session.agent, session.window) == (
        "run-7",
        "Fix the parser",
        "my-agent 0.3",
        200_000,
    )
    assert [call.usage.prompt for call in session.calls if call.usage] == [2_112, 2_198, 194]
    assert [call.purpose for call in session.side_calls] == ["title"]
    (compaction,) = session.compactions
    assert (compaction.trigger, compaction.tokens_before) == ("auto", 2_229)
    roles = [session.messages[index].role for index in session.contexts[1].members]
    assert roles == [Role.SYSTEM, Role.USER, Role.USER, Role.USER, Role.ASSISTANT]
    summary = session.messages[session.contexts[1].members[1]]
    assert (summary.is_summary, session.text(summary.blocks[0])[:10]) == (True, "The parser")


def test_the_published_schema_is_that_of_the_code_and_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    printed = json.loads(run_here(capsys, "formats", "--schema").out)
    assert printed == schema()
    published = json.loads((ROOT / "docs" / "session-lines.schema.json").read_text(encoding="utf-8"))
    assert published == schema(), "run: python -m inspector formats --schema > docs/session-lines.schema.json"
    assert set(printed["discriminator"]["mapping"]) == {"session", "message", "compaction", "side_call", "notice"}


def test_one_line_is_a_session_that_has_just_begun(tmp_path: Path) -> None:
    path = tmp_path / "anything.txt"
    path.write_bytes(jsonl([HEAD]))
    assert detect(path).format.name == "inspector-lines"
    follower = Follower(path)
    path.write_bytes(jsonl([HEAD, said("user"), said("assistant")]))
    follower.poll()
    assert len(follower.session.calls) == 1


def test_contents_are_those_of_either_api(tmp_path: Path) -> None:
    session = opened(
        tmp_path,
        said("user", [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:,x"}}]),
        said("assistant", [{"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a"}}]),
        said("user", [{"type": "tool_result", "tool_use_id": "t", "content": "found"}]),
        said("assistant", "done", reasoning_content="thought"),
    )
    assert [block.kind for block in session.blocks] == [
        BlockKind.USER_TEXT,
        BlockKind.IMAGE,
        BlockKind.TOOL_CALL,
        BlockKind.TOOL_RESULT,
        BlockKind.THINKING,
        BlockKind.ASSISTANT_TEXT,
    ]
    assert session.blocks[3].tool_name == "Read"


def test_usage_is_taken_as_it_is_written(tmp_path: Path) -> None:
    usage = {"uncached": 1, "cache_read": 2, "cache_write_5m": 3, "cache_write_1h": 4, "output": 5, "reasoning": 9}
    (call,) = opened(tmp_path, said("user"), said("assistant", model="m", usage=usage, id="r")).calls
    assert call.usage is not None
    assert (call.usage.prompt, call.usage.cache_read, call.usage.output, call.usage.reasoning) == (10, 2, 5, 5)
    assert (call.model, call.identifier) == ("m", "r")


def test_an_inherited_response_is_sent_and_no_call(tmp_path: Path) -> None:
    session = opened(tmp_path, said("user", inherited=True), said("assistant", inherited=True), said("assistant"))
    (call,) = session.calls
    assert call.prompt_messages == 2


def test_every_agent_has_a_conversation_of_its_own(tmp_path: Path) -> None:
    session = opened(tmp_path, said("user"), said("user", agent="a"), said("assistant", agent="a"), said("assistant"))
    assert [message.thread for message in session.messages] == [0, 1, 1, 0]
    assert [call.prompt_messages for call in session.calls] == [1, 1]


def test_a_compaction_that_keeps_what_was_not_sent_is_reported(tmp_path: Path) -> None:
    session = opened(tmp_path, said("user", id="a"), said("assistant"), {"type": "compaction", "kept": ["a", "b"]})
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.COMPACTION]
    assert list(session.contexts[1].members) == [0]
    (diagnostic,) = session.diagnostics
    assert "keeps" in diagnostic.reason
    assert diagnostic.line == 4


@pytest.mark.parametrize(
    "line",
    [
        {"type": "message", "role": "nobody", "content": "secret"},
        {"type": "message", "role": "user", "content": {"secret": 1}},
        {"type": "message", "role": "assistant", "usage": {"output": -1}},
        {"type": "compaction", "kept": "secret"},
        {"type": "side_call"},
        {"type": "notice"},
    ],
)
def test_a_line_that_is_not_of_the_form_is_shown_and_named_without_its_content(
    tmp_path: Path, line: dict[str, Any]
) -> None:
    session = opened(tmp_path, said("user"), line)
    (diagnostic,) = session.diagnostics
    assert diagnostic.reason.startswith(f"not a valid {line['type']} line")
    assert "secret" not in diagnostic.reason
    assert session.messages[-1].role is Role.OTHER
    assert len(session.calls) == 0


def test_a_line_of_an_unknown_type_is_shown_and_not_sent(tmp_path: Path) -> None:
    session = opened(tmp_path, said("user"), {"type": "weather", "is": "fine"})
    assert session.record_counts["weather"] == 1
    assert session.diagnostics == ()
    assert list(session.contexts[0].members) == [0]


def test_a_request_next_to_the_conversation_that_is_reported_twice_counts_once(tmp_path: Path) -> None:
    first = {"type": "side_call", "purpose": "title", "id": "t", "usage": {"uncached": 5}}
    session = opened(tmp_path, first, {**first, "usage": {"uncached": 7}}, {**first, "id": ""}, {**first, "id": ""})
    assert [call.usage.prompt for call in session.side_calls if call.usage] == [7, 5, 5]


def test_a_long_session_is_compacted_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(own(30)))
    session = open_session(path)
    assert_sound(session)
    assert len(session.compactions) == len(session.side_calls) == 3
    assert session.diagnostics == ()
