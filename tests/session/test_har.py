"""HTTP archives: requests to models among others, bodies in strings, base64 and pieces, nothing of hosts or keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from inspector.session.errors import SessionError
from inspector.session.formats.har import HarFormat
from inspector.session.model import Usage
from inspector.session.open import open_session
from tests.session.run_files import Record, encoded, stream
from tests.session.soundness import assert_sound
from tests.session.tap_store import archive, archive_of, entry, packed

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.model import Session

ASKED = {"model": "gpt-x", "messages": [{"role": "user", "content": "go"}]}


def opened(value: Any, folder: Path, indent: int | None = None) -> Session:
    path = folder / "requests.har"
    path.write_bytes(encoded(value) if indent is None else json.dumps(value, indent=indent).encode())
    session = open_session(path)
    assert session.format == "har"
    assert_sound(session)
    return session


def said(session: Session) -> list[tuple[str, list[str]]]:
    return [(message.role.value, [session.text(block) for block in message.blocks]) for message in session.messages]


def events(*values: Record) -> str:
    return "".join(f"event: {value['type']}\ndata: {json.dumps(value)}\n\n" for value in values)


@pytest.mark.parametrize("indent", [None, 2])
def test_requests_to_a_model_are_its_conversation_and_others_are_counted(tmp_path: Path, indent: int | None) -> None:
    session = opened(archive_of(4), tmp_path, indent)
    assert [call.prompt_messages for call in session.calls] == [2, 4, 6, 8]
    assert [call.usage for call in session.calls] == [
        Usage(uncached=turn + 1, cache_read=40, cache_write_5m=7, output=33) for turn in range(4)
    ]
    assert session.calls[0].betas == "context-1m"
    assert said(session)[1:3] == [("user", ["go on"]), ("assistant", ["turn 0", '{"command":"ls"}'])]
    assert session.record_counts == {"request": 4, "other request": 1}
    assert HarFormat().is_bookkeeping("other request")


def test_nothing_of_hosts_addresses_or_headers_is_kept(tmp_path: Path) -> None:
    session = opened(archive_of(2), tmp_path)
    shown = b"".join(session.texts.record(block) for block in session.blocks)
    assert b"go on" in shown
    assert b"secret" not in shown
    assert "secret" not in repr(session)


def test_entries_count_in_the_order_they_began(tmp_path: Path) -> None:
    made = archive_of(3)
    made["log"]["entries"].reverse()
    session = opened(made, tmp_path)
    assert [call.prompt_messages for call in session.calls] == [2, 4, 6]


@pytest.mark.parametrize("in_pieces", [False, True])
def test_answers_in_base64_are_read_at_once_as_a_stream_and_item_by_item(tmp_path: Path, in_pieces: bool) -> None:
    items = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "thinking"}]},
        {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "two"}]},
    ]
    response = {"id": "r", "model": "gpt-x", "usage": {"input_tokens": 9, "output_tokens": 2}}
    done = [{"type": "response.output_item.done", "item": one} for one in items]
    streamed = events(*done, {"type": "response.completed", "response": {**response, "output": []}})
    whole = json.dumps({**response, "output": items})
    at_once = json.dumps({"model": "gpt-x", "choices": [{"message": {"role": "assistant", "content": "one"}}]})
    responses = {"model": "gpt-x", "input": "go"}
    address = "https://secret-host.example/openai/responses"
    made = [
        entry(ASKED, at_once, 0),
        entry({**ASKED, "model": "claude-x"}, stream("m", "a stream", 5), 1),
        entry(responses, streamed, 2, address),
        entry({**responses, "instructions": "other"}, whole, 3, address),
    ]
    session = opened(archive([packed(one, in_pieces=in_pieces) for one in made]), tmp_path)
    assert session.record_counts == {"request": 4}
    answers = [[session.text(block) for block in session.messages[call.response].blocks] for call in session.calls]
    assert answers[0] == ["one"]
    assert answers[1][0] == "a stream"
    assert answers[2] == answers[3] == ["thinking", "{}", "two"]
    assert session.calls[3].usage == Usage(uncached=9, output=2)


def test_a_response_that_was_not_kept_leaves_a_request_without_an_answer(tmp_path: Path) -> None:
    made = archive_of(2)
    del made["log"]["entries"][-1]["response"]["content"]["text"]
    session = opened(made, tmp_path)
    assert session.record_counts == {"request": 1, "request without an answer": 1, "other request": 1}
    assert len(session.calls) == 1


def test_claude_on_bedrock_is_asked_at_an_address_that_names_the_model(tmp_path: Path) -> None:
    body = {"anthropic_version": "bedrock-2023-05-31", "messages": ASKED["messages"]}
    answer = {"role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "yes"}]}
    usage = {"input_tokens": 3, "output_tokens": 1}
    url = "https://bedrock-runtime.example/model/claude-x/invoke"
    session = opened(archive([entry(body, json.dumps({**answer, "usage": usage}), 0, url)]), tmp_path)
    assert (session.calls[0].model, session.calls[0].usage) == ("claude-x", Usage(uncached=3, output=1))


def test_an_archive_without_a_request_to_a_model_is_no_session(tmp_path: Path) -> None:
    made = archive_of(1)
    made["log"]["entries"].pop()
    path = tmp_path / "page.har"
    path.write_bytes(encoded(made))
    with pytest.raises(SessionError, match="of no known agent"):
        open_session(path)


def test_an_embedding_is_not_a_question_to_a_model(tmp_path: Path) -> None:
    made = archive_of(1)
    embedding = entry({"model": "embed", "input": "text"}, "{}", 9, "https://secret-host.example/v1/embeddings")
    made["log"]["entries"].append(embedding)
    assert opened(made, tmp_path).record_counts == {"request": 1, "other request": 2}
