"""HTTP archives: requests to models among others, bodies in strings, base64 and pieces, nothing of hosts or keys."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.errors import SessionError
from inspector.session.formats.har import HarFormat
from inspector.session.model import BlockKind, RecordedBreakpoint, Session, Usage
from inspector.session.open import open_session
from tests.examples import examples
from tests.session.run_files import Record, encoded, stream
from tests.session.soundness import assert_sound
from tests.session.tap_store import archive, archive_of, chunk, entry, frame, framed, google_body, google_chunk, packed

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
    assert session.record_counts == {"request": 1, "request without a response": 1, "other request": 1}
    assert len(session.calls) == 1


def test_claude_on_bedrock_is_asked_at_an_address_that_names_the_model(tmp_path: Path) -> None:
    body = {"anthropic_version": "bedrock-2023-05-31", "messages": ASKED["messages"]}
    answer = {"role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "yes"}]}
    usage = {"input_tokens": 3, "output_tokens": 1}
    url = "https://bedrock-runtime.example/model/claude-x/invoke"
    session = opened(archive([entry(body, json.dumps({**answer, "usage": usage}), 0, url)]), tmp_path)
    assert (session.calls[0].model, session.calls[0].usage) == ("claude-x", Usage(uncached=3, output=1))


def test_cache_entries_that_a_request_asks_for_are_kept_of_its_call(tmp_path: Path) -> None:
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    body = {"anthropic_version": "bedrock-2023-05-31", "system": [{"type": "text", "text": "Help.", **mark}]}
    asked = {**body, "messages": ASKED["messages"]}
    answer = {"role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "yes"}]}
    session = opened(
        archive([entry(asked, json.dumps(answer), 0, BEDROCK.replace("invoke-with-response-stream", "invoke"))]),
        tmp_path,
    )
    assert session.calls[0].marks == (RecordedBreakpoint(1, "1h"),)


def test_what_separates_lines_in_texts_does_not_end_an_event(tmp_path: Path) -> None:
    begun = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    went_on = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a\u2028b\x85c"}}
    answer = "".join(f"data: {json.dumps(one, ensure_ascii=False)}\r\n\r\n" for one in (begun, went_on))
    session = opened(archive([entry({**ASKED, "model": "claude-x"}, answer)]), tmp_path)
    assert said(session)[-1] == ("assistant", ["a\u2028b\x85c"])


BEDROCK = "https://bedrock-runtime.example/model/us.anthropic.claude-x-v1%3A0/invoke-with-response-stream"

STREAM: list[Record] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_bdrk_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-x",
            "content": [],
            "usage": {
                "input_tokens": 12,
                "cache_creation_input_tokens": 30,
                "cache_read_input_tokens": 400,
                "output_tokens": 1,
            },
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "twenty\u2028one"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 21}},
    {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 12, "outputTokenCount": 21}},
]


def asked_bedrock(second: float, *texts: str) -> Record:
    roles = ("user", "assistant")
    messages = [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]
    return entry({"anthropic_version": "bedrock-2023-05-31", "messages": messages}, "", second, BEDROCK)


def test_an_answer_in_frames_of_bedrock_is_read_with_its_usage(tmp_path: Path) -> None:
    frames = b"".join(map(chunk, STREAM))
    made = [asked_bedrock(0, "go"), asked_bedrock(1, "go", "twenty\u2028one", "more")]
    session = opened(archive([framed(one, frames) for one in made]), tmp_path)
    assert [(call.model, call.identifier) for call in session.calls] == [("claude-x", "msg_bdrk_1")] * 2
    usage = Usage(uncached=12, cache_read=400, cache_write_5m=30, output=21)
    assert [call.usage for call in session.calls] == [usage, usage]
    assert [call.prompt_messages for call in session.calls] == [1, 3]
    assert said(session)[:2] == [("user", ["go"]), ("assistant", ["twenty\u2028one"])]
    assert session.diagnostics == ()


@pytest.mark.parametrize(
    ("frames", "problem", "output"),
    [
        (b"".join(map(chunk, STREAM))[:-40], "a truncated or damaged event stream", 21),
        (b"".join(map(chunk, STREAM[:4]))[:-1] + b"?", "a truncated or damaged event stream", 1),
        (
            b"".join(map(chunk, STREAM[:4]))
            + frame(b'{"message":"slow down"}', message_type="exception", exception_type="throttlingException"),
            "an event stream that ended with an exception",
            1,
        ),
        (
            b"".join(map(chunk, STREAM))
            + frame(b'{"usage":{}}', message_type="event", event_type="surprise", content_type="application/json"),
            "an event stream with unknown frames",
            21,
        ),
    ],
)
def test_frames_that_are_not_whole_or_not_known_cost_themselves_and_are_reported(
    tmp_path: Path, frames: bytes, problem: str, output: int
) -> None:
    session = opened(archive([framed(asked_bedrock(0, "go"), frames)]), tmp_path)
    assert [note.reason for note in session.diagnostics] == [problem]
    assert session.calls[0].usage is not None
    assert (session.calls[0].usage.prompt, session.calls[0].usage.output) == (442, output)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_frames_fail_nothing(tmp_path: Path, data: st.DataObject) -> None:
    frames = bytearray(b"".join(map(chunk, STREAM)))
    for _ in range(data.draw(st.integers(1, 6))):
        frames[data.draw(st.integers(0, len(frames) - 1))] = data.draw(st.integers(0, 255))
    sound = framed(asked_bedrock(0, "go"), b"".join(map(chunk, STREAM)))
    cut = data.draw(st.integers(0, len(frames)))
    session = opened(archive([sound, framed(asked_bedrock(1, "other"), bytes(frames[:cut]))]), tmp_path)
    assert session.calls[0].usage is not None


@pytest.mark.parametrize("form", ["events", "wrapped events", "array", "at once"])
def test_requests_to_googles_api_are_read_in_every_form_of_answer(tmp_path: Path, form: str) -> None:
    counts = {
        "promptTokenCount": 900,
        "cachedContentTokenCount": 400,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 6,
    }
    call = {"functionCall": {"name": "read_file", "args": {"path": "a"}}}
    chunks = [
        google_chunk({"text": "h", "thought": True}, promptTokenCount=900, candidatesTokenCount=1),
        google_chunk({"text": "m", "thought": True}, {"text": "loo"}),
        google_chunk({"text": "king"}, call, **counts),
    ]
    wraps = form == "wrapped events"
    made = [{"response": one} if wraps else one for one in chunks]
    answer = "".join(f"data: {json.dumps(one)}\r\n\r\n" for one in made)
    if form == "array":
        answer = json.dumps(chunks, indent=2)
    elif form == "at once":
        whole = [{"text": "hm", "thought": True}, {"text": "looking"}, call]
        answer = json.dumps(google_chunk(*whole, **counts))
    asked = google_body(("user", [{"text": "go"}]))
    method = "generateContent" if form == "at once" else "streamGenerateContent"
    address = f"https://secret-host.example/v1beta/models/gemini-2.5-pro:{method}"
    if wraps:
        asked, address = (
            {"model": "gemini-2.5-pro", "request": asked},
            f"https://secret-host.example/v1internal:{method}",
        )
    session = opened(archive([entry(asked, answer, 0, address)]), tmp_path)
    assert said(session)[1:] == [("user", ["go"]), ("assistant", ["hm", "looking", '{"path":"a"}'])]
    assert session.calls[0].usage == Usage(uncached=500, cache_read=400, output=26, reasoning=6)
    assert (session.calls[0].model, session.calls[0].identifier) == ("gemini-2.5-pro", "r1")


CONVERSE = "https://bedrock-runtime.example/model/us.anthropic.claude-x-v1%3A0/converse"

POINT = {"cachePoint": {"type": "default"}}

CALLED = {"toolUse": {"toolUseId": "t1", "name": "Bash", "input": {"command": "ls"}}}

THOUGHT = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "abc"}}}

PICTURE = {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}

COUNTED = {"inputTokens": 5, "outputTokens": 9, "totalTokens": 1019, "cacheReadInputTokens": 700}
COUNTED |= {"cacheWriteInputTokens": 305, "cacheDetails": [{"ttl": "1h", "inputTokens": 300}]}


def converse_body(*messages: Record) -> Record:
    return {
        "system": [{"text": "You help."}, POINT, {"text": "Be short."}],
        "messages": list(messages),
        "toolConfig": {"tools": [{"toolSpec": {"name": "Bash", "inputSchema": {"json": {}}}}, POINT]},
        "inferenceConfig": {"maxTokens": 4096},
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2000}},
    }


def converse_answer(*content: Record, **usage: Any) -> Record:
    return {"output": {"message": {"role": "assistant", "content": list(content)}}, "usage": usage or COUNTED}


def event(kind: str, **payload: Any) -> bytes:
    return frame(encoded({**payload, "p": "abc"}), event_type=kind, message_type="event")


def delta(place: int, **more: Any) -> bytes:
    return event("contentBlockDelta", contentBlockIndex=place, delta=more)


FRAMES = [
    event("messageStart", role="assistant"),
    delta(0, reasoningContent={"text": "h"}),
    delta(0, reasoningContent={"text": "m"}),
    delta(0, reasoningContent={"signature": "abc"}),
    event("contentBlockStop", contentBlockIndex=0),
    delta(1, text="Let me "),
    delta(1, text="see."),
    event("contentBlockStart", contentBlockIndex=2, start={"toolUse": {"toolUseId": "t1", "name": "Bash"}}),
    delta(2, toolUse={"input": '{"comm'}),
    delta(2, toolUse={"input": 'and": "ls"}'}),
    event("contentBlockStop", contentBlockIndex=2),
    event("messageStop", stopReason="tool_use"),
    event("metadata", usage=COUNTED, metrics={"latencyMs": 5}),
]

QUESTION = {"role": "user", "content": [{"text": "go"}, PICTURE]}


def conversed(*, streams: bool) -> Record:
    """Two requests of the Converse API, the first answered at once or in frames."""
    first = [THOUGHT, {"text": "Let me see."}, CALLED]
    asked = entry(converse_body(QUESTION), json.dumps(converse_answer(*first)), 0, CONVERSE)
    if streams:
        asked = framed(entry(converse_body(QUESTION), "", 0, f"{CONVERSE}-stream"), b"".join(FRAMES))
    result = {"toolUseId": "t1", "content": [{"json": {"files": 2}}, {"text": "more"}], "status": "error"}
    said = {"role": "assistant", "content": [*first]}
    later = {"role": "user", "content": [{"toolResult": result}, {"cachePoint": {"type": "default", "ttl": "1h"}}]}
    answer = json.dumps(converse_answer({"text": "Done."}))
    return archive([asked, entry(converse_body(QUESTION, said, later), answer, 9, CONVERSE)])


@pytest.mark.parametrize("streams", [False, True])
def test_requests_to_the_converse_api_are_read_with_their_usage_and_marks(tmp_path: Path, streams: bool) -> None:
    session = opened(conversed(streams=streams), tmp_path)
    assert session.record_counts == {"request": 2}
    assert not session.diagnostics
    tools, *texts = said(session)[0][1]
    assert json.loads(tools)[0]["toolSpec"]["name"] == "Bash"
    assert texts == ["You help.", "Be short."]
    assert said(session)[1:] == [
        ("user", ["go", ""]),
        ("assistant", ["hm", "Let me see.", '{"command":"ls"}']),
        ("user", ['{"files":2}\nmore']),
        ("assistant", ["Done."]),
    ]
    usage = Usage(uncached=5, cache_read=700, cache_write_5m=5, cache_write_1h=300, output=9)
    assert [call.usage for call in session.calls] == [usage, usage]
    assert [call.model for call in session.calls] == ["us.anthropic.claude-x-v1:0"] * 2
    assert {call.thinking for call in session.calls} == {"enabled, 2,000 tokens"}
    # Tools and two system texts, a question with a picture, an answer in three blocks, and a result.
    first = (RecordedBreakpoint(1), RecordedBreakpoint(2))
    assert [call.marks for call in session.calls] == [first, (*first, RecordedBreakpoint(9, "1h"))]
    thought, call, result = session.messages[2].blocks[0], session.messages[2].blocks[2], session.messages[3].blocks[0]
    assert (thought.kind, thought.signature_characters) == (BlockKind.THINKING, 3)
    assert (call.tool_name, result.tool_name, result.tool_call_id, result.is_error) == ("Bash", "Bash", "t1", True)
    assert session.messages[1].blocks[1].media[0].media_type == "image/png"


def test_other_parts_of_converse_messages_are_what_they_hold(tmp_path: Path) -> None:
    parts = [
        {"document": {"format": "pdf", "name": "a", "source": {"bytes": "JVBERi0="}}},
        {"document": {"format": "txt", "name": "b", "source": {"text": "plain"}}},
        {"guardContent": {"text": {"text": "guarded", "qualifiers": ["query"]}}},
        {"searchResult": {"source": "s", "title": "t", "content": [{"text": "found"}]}},
        {"citationsContent": {"content": [{"text": "quoted"}], "citations": []}},
        {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://bucket/a.mp4"}}}},
        {"reasoningContent": {"redactedContent": "abcd"}},
        {"unheardOf": {"text": 1}},
    ]
    made = archive([entry(converse_body({"role": "user", "content": parts}), "{}", 0, CONVERSE)])
    answered = entry(converse_body(QUESTION), json.dumps(converse_answer({"text": "yes"}, inputTokens=3)), 5, CONVERSE)
    made["log"]["entries"].append(answered)
    session = opened(made, tmp_path)
    assert session.record_counts == {"request": 1, "request without a response": 1}
    blocks = session.messages[1].blocks
    assert [session.text(block) for block in blocks[:6]] == ["", "plain", "guarded", "found", "quoted", ""]
    assert [block.media[0].media_type for block in (blocks[0], blocks[5])] == ["application/pdf", "video/mp4"]
    assert (blocks[6].kind, blocks[6].signature_characters, blocks[7].kind) == (
        BlockKind.THINKING,
        4,
        BlockKind.OTHER,
    )


@pytest.mark.parametrize("count", range(len(FRAMES)))
def test_a_converse_stream_that_is_cut_off_counts_as_far_as_it_goes_and_is_reported(tmp_path: Path, count: int) -> None:
    data = b"".join(FRAMES[:count]) + FRAMES[count][:-3]
    made = archive_of(1)
    asked = entry(converse_body(QUESTION), "", 9, f"{CONVERSE}-stream")
    made["log"]["entries"].append(framed(asked, data))
    session = opened(made, tmp_path)
    assert [note.reason for note in session.diagnostics] == ["a truncated or damaged event stream"]
    assert len(session.calls) == 1 + (count > 0)


def test_what_the_converse_api_is_asked_without_messages_is_counted(tmp_path: Path) -> None:
    made = archive_of(1)
    made["log"]["entries"].append(entry({"promptVariables": {}}, "{}", 9, CONVERSE))
    session = opened(made, tmp_path)
    assert session.record_counts == {"request": 1, "other request": 2}


def test_an_archive_without_a_request_to_a_model_is_no_session(tmp_path: Path) -> None:
    made = archive_of(1)
    made["log"]["entries"].pop()
    path = tmp_path / "page.har"
    path.write_bytes(encoded(made))
    with pytest.raises(SessionError, match="not of a supported agent"):
        open_session(path)


def test_an_embedding_is_not_a_question_to_a_model(tmp_path: Path) -> None:
    made = archive_of(1)
    embedding = entry({"model": "embed", "input": "text"}, "{}", 9, "https://secret-host.example/v1/embeddings")
    made["log"]["entries"].append(embedding)
    assert opened(made, tmp_path).record_counts == {"request": 1, "other request": 2}


@pytest.mark.parametrize("cut", ["half", "too deep"])
def test_a_request_to_a_model_whose_body_cannot_be_read_is_reported(tmp_path: Path, cut: str) -> None:
    made = archive_of(1)
    whole = entry({"model": "m", "messages": []}, "{}", 9)
    text = whole["request"]["postData"]["text"]
    deep = "[" * 50_000 + "]" * 50_000
    whole["request"]["postData"]["text"] = text[:-5] if cut == "half" else f'{{"model":"m","messages":{deep}}}'
    form = entry({}, "{}", 10, "https://chat.example/messages")
    form["request"]["postData"]["text"] = "text=hello"
    made["log"]["entries"] += [whole, form]
    session = opened(made, tmp_path)
    assert session.record_counts == {"request": 1, "other request": 3}
    assert [(note.reason, note.skipped) for note in session.diagnostics] == [
        ("a model request with an incomplete JSON body", True)
    ]
