"""Plain Anthropic and OpenAI conversations: documents, lines, logs and lists in memory."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.errors import SessionError
from inspector.session.formats.plain import read_conversation
from inspector.session.model import BlockKind, ContextCause, Role, Usage
from inspector.session.open import open_session
from tests.session.claude_lines import outline, prompt_texts
from tests.session.run_files import stream
from tests.session.soundness import assert_sound

ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "list the files"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "abc"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "ä"}},
            {"type": "tool_use", "id": "t2", "name": "cat", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "a.py"},
            {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "no"}], "is_error": True},
            {"type": "text", "text": "go on"},
        ],
    },
    {"role": "assistant", "content": "Done."},
]

OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "list the files"}]},
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}},
            {"id": "t2", "type": "function", "function": {"name": "cat", "arguments": "{broken"}},
        ],
    },
    {"role": "tool", "tool_call_id": "t1", "content": "a.py"},
    {"role": "tool", "tool_call_id": "t2", "content": [{"type": "text", "text": "no"}]},
    {"role": "assistant", "content": "Done.", "usage": {"prompt_tokens": 50, "completion_tokens": 5}},
]


def write(path: Path, value: Any, **options: Any) -> Path:
    path.write_text(json.dumps(value, **options))
    return path


def test_an_anthropic_list_in_memory_keeps_the_place_of_every_part() -> None:
    session = read_conversation(ANTHROPIC)
    assert session.format == "anthropic-messages"
    found = [(block.kind.name, block.origin.offset, block.origin.part, session.text(block)) for block in session.blocks]
    assert found == [
        ("USER_TEXT", 0, 0, "list the files"),
        ("THINKING", 1, 0, "hm"),
        ("ASSISTANT_TEXT", 1, 1, "Looking."),
        ("TOOL_CALL", 1, 2, '{"path":"ä"}'),
        ("TOOL_CALL", 1, 3, "{}"),
        ("TOOL_RESULT", 2, 0, "a.py"),
        ("TOOL_RESULT", 2, 1, "no"),
        ("USER_TEXT", 2, 2, "go on"),
        ("ASSISTANT_TEXT", 3, 0, "Done."),
    ]
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [(block.tool_name, block.is_error, block.plain_text) for block in results] == [
        ("ls", False, True),
        ("cat", True, False),
    ]
    assert session.blocks[1].signature_characters == 3
    assert [(call.response, call.prompt_messages, call.usage) for call in session.calls] == [(1, 1, None), (3, 3, None)]
    assert json.loads(session.texts.record(session.blocks[5])) == ANTHROPIC[2]


def test_an_openai_list_in_memory_keeps_every_result_a_message() -> None:
    session = read_conversation(OPENAI)
    assert session.format == "openai-chat"
    assert [message.role for message in session.messages] == [
        Role.SYSTEM,
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.TOOL,
        Role.ASSISTANT,
    ]
    found = [(block.kind.name, block.origin.offset, block.origin.part, session.text(block)) for block in session.blocks]
    assert found == [
        ("SYSTEM_TEXT", 0, 0, "Be brief."),
        ("USER_TEXT", 1, 0, "list the files"),
        ("THINKING", 2, 0, "hm"),
        ("TOOL_CALL", 2, 0, '{"path": "."}'),
        ("TOOL_CALL", 2, 1, "{broken"),
        ("TOOL_RESULT", 3, 0, "a.py"),
        ("TOOL_RESULT", 4, 0, "no"),
        ("ASSISTANT_TEXT", 5, 0, "Done."),
    ]
    assert [block.tool_name for block in session.blocks if block.kind is BlockKind.TOOL_RESULT] == ["ls", "cat"]
    assert session.calls[-1].usage == Usage(uncached=50, output=5)


def test_what_is_next_to_a_list_in_memory_has_no_index() -> None:
    tools = [{"name": "ls", "input_schema": {}}]
    session = read_conversation(
        {"system": [{"type": "text", "text": "Be brief."}], "tools": tools, "messages": ANTHROPIC}
    )
    system = session.messages[0]
    assert system.role is Role.SYSTEM
    assert [(block.origin.offset, block.origin.locator) for block in system.blocks] == [(-1, "tools"), (-1, "system")]
    assert json.loads(session.text(system.blocks[0])) == tools
    assert session.blocks[2].origin.offset == 0
    assert json.loads(session.texts.record(system.blocks[0])) == tools


def test_values_that_hold_themselves_do_no_harm() -> None:
    endless: list[Any] = []
    endless.append(endless)
    message = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": endless}]}
    session = read_conversation([{"role": "user", "content": "go"}, message])
    assert session.blocks[1].tool_name == "n"


def test_documents_and_results_with_images_are_read_from_both_apis() -> None:
    text = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "page one"}}
    linked = {"type": "image", "source": {"type": "url", "url": "https://example.invalid/x.png"}}
    file = {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0="}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [text, linked, "and words"]}
    session = read_conversation([{"role": "user", "content": [text, file, result]}])
    assert [(block.kind.name, session.text(block)) for block in session.blocks] == [
        ("DOCUMENT", "page one"),
        ("DOCUMENT", ""),
        ("TOOL_RESULT", "page one\nand words"),
    ]
    assert [(one.media_type, one.size_bytes) for one in session.blocks[1].media] == [("application/pdf", 5)]
    assert len(session.blocks[2].media) == 2


def test_an_empty_list_is_an_empty_session_and_anything_else_is_refused() -> None:
    assert read_conversation([]).messages == ()
    with pytest.raises(SessionError):
        read_conversation([{"name": "no message"}])
    with pytest.raises(SessionError):
        read_conversation({"model": "m"})


def test_the_form_can_be_stated() -> None:
    session = read_conversation([{"role": "user", "content": "hi"}], "anthropic")
    assert session.format == "anthropic-messages"


def test_input_that_was_given_is_not_changed() -> None:
    before = json.dumps(ANTHROPIC)
    read_conversation(ANTHROPIC)
    assert json.dumps(ANTHROPIC) == before


@pytest.mark.parametrize("messages", [ANTHROPIC, OPENAI], ids=["anthropic", "openai"])
@pytest.mark.parametrize(
    "shape",
    ["list", "pretty list", "wrapped", "lines", "one line", "traj", "runs", "no extension"],
)
def test_every_shape_of_file_gives_the_same_conversation(tmp_path: Path, messages: list[Any], shape: str) -> None:
    path = tmp_path / ("conversation" if shape == "no extension" else "conversation.json")
    match shape:
        case "list":
            write(path, messages)
        case "pretty list" | "no extension":
            write(path, messages, indent=2)
        case "wrapped":
            write(path, {"model": "some-model", "messages": messages}, indent=1)
        case "lines":
            path.write_text("".join(json.dumps(message) + "\n" for message in messages))
        case "one line":
            path.write_text(json.dumps({"messages": messages}) + "\n")
        case "traj":
            write(path, [{"task_id": 1, "reward": 1.0, "traj": messages}])
        case _:
            write(path, [messages])
    session = open_session(path)
    expected = read_conversation(messages)
    assert outline(session) == outline(expected)
    assert session.format == expected.format
    assert [(call.response, call.prompt_messages, call.usage) for call in session.calls] == [
        (call.response, call.prompt_messages, call.usage) for call in expected.calls
    ]
    assert [block.digest for block in session.blocks] == [block.digest for block in expected.blocks]
    for block in session.blocks:
        record = session.texts.record(block)
        assert path.read_bytes()[block.origin.offset :][: block.origin.length] == record
        assert isinstance(json.loads(record), dict)
    if shape == "wrapped":
        assert session.models == ("some-model",)


def test_a_request_and_its_response_are_one_call_more(tmp_path: Path) -> None:
    usage = {
        "prompt_tokens": 120,
        "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 100},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    answer = {"role": "assistant", "content": "Yes."}
    response = {
        "id": "r1",
        "model": "some-model",
        "choices": [{"message": answer}],
        "usage": usage,
        "created": 1_757_015_069,
    }
    session = open_session(write(tmp_path / "log.json", {"messages": OPENAI[:2], "response": response}))
    (call,) = session.calls
    assert call.usage == Usage(uncached=20, cache_read=100, output=9, reasoning=4)
    assert (call.model, call.identifier, call.time) == ("some-model", "r1", 1_757_015_069.0)
    assert prompt_texts(session, 0) == ["Be brief.", "list the files"]


def test_an_anthropic_response_shows_its_usage(tmp_path: Path) -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7, "output_tokens": 3}
    reply = {"id": "msg_1", "role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "Hi."}]}
    request = {"url": "https://example.invalid/v1/messages", "body": {"model": "claude-x", "messages": ANTHROPIC[:1]}}
    log = {"request": request, "response": {"status": 200, "body": {**reply, "usage": usage}}}
    session = open_session(write(tmp_path / "log.jsonl", log))
    assert session.calls[0].usage == Usage(uncached=5, cache_read=90, cache_write_5m=7, output=3)
    assert outline(session) == [("user", ["list the files"]), ("assistant", ["Hi."])]
    assert session.format == "claude-trace"


def test_requests_that_repeat_the_conversation_are_one_conversation(tmp_path: Path) -> None:
    def entry(messages: list[Any], text: str) -> str:
        reply = {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": {"prompt_tokens": 10}}
        return json.dumps({"messages": messages, "response": reply}) + "\n"

    system = {"role": "system", "content": "Be brief."}
    one = [system, {"role": "user", "content": "one"}]
    two = [*one, {"role": "assistant", "content": "first"}, {"role": "user", "content": "two"}]
    side = [system, {"role": "user", "content": "title, please"}]
    cut = [*one, {"role": "assistant", "content": "first, shortened"}, {"role": "user", "content": "three"}]
    path = tmp_path / "log.jsonl"
    path.write_text(entry(one, "first") + entry(side, "A title") + entry(two, "second") + entry(cut, "third"))
    session = open_session(path)
    assert [message.thread for message in session.messages] == [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0]
    assert [context.cause for context in session.contexts] == [
        ContextCause.START,
        ContextCause.START,
        ContextCause.REWIND,
    ]
    assert [prompt_texts(session, call) for call in range(4)] == [
        ["Be brief.", "one"],
        ["Be brief.", "title, please"],
        ["Be brief.", "one", "first", "two"],
        ["Be brief.", "one", "first, shortened", "three"],
    ]
    assert len(session.calls) == 4


def test_calls_of_one_id_are_distinguished_by_order() -> None:
    def turn(name: str) -> list[dict[str, Any]]:
        call = {"id": "call_0", "type": "function", "function": {"name": name, "arguments": "{}"}}
        answer = {"role": "tool", "tool_call_id": "call_0", "content": name}
        return [{"role": "assistant", "tool_calls": [call]}, answer]

    session = read_conversation([{"role": "user", "content": "go"}, *turn("ls"), *turn("cat")])
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [block.tool_name for block in results] == ["ls", "cat"]


def asked(*calls: tuple[str, str]) -> dict[str, Any]:
    made = [{"id": identifier, "function": {"name": name, "arguments": "{}"}} for identifier, name in calls]
    return {"role": "assistant", "content": None, "tool_calls": made}


@pytest.mark.parametrize("identifier", ["call_0", ""])
def test_calls_of_one_answer_with_one_id_or_none_are_distinguished_by_order(tmp_path: Path, identifier: str) -> None:
    def answered(text: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": identifier, "content": text}

    turns = [asked((identifier, "ls"), (identifier, "cat")), answered("a.py"), answered("text")]
    stopped = [asked((identifier, "rm")), {"role": "user", "content": "stop"}]
    last = [asked((identifier, "ps")), answered("1")]
    session = open_session(write(tmp_path / "list.json", [{"role": "user", "content": "go"}, *turns, *stopped, *last]))
    first = session.messages[1].blocks
    calls = {block.tool_call_id: block for block in first}
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [(block.tool_name, session.text(block)) for block in results[:2]] == [("ls", "a.py"), ("cat", "text")]
    assert [calls[block.tool_call_id].tool_name for block in results[:2]] == ["ls", "cat"], "each has its own call's id"
    assert results[-1].tool_name == "ps", "what was stopped is not answered later"


def test_results_without_an_id_answer_the_calls_before_them(tmp_path: Path) -> None:
    results = [{"role": "tool", "content": text} for text in ("a.py", "text")]
    made = [{"role": "user", "content": "go"}, asked(("c1", "ls"), ("c2", "cat")), *results]
    session = open_session(write(tmp_path / "list.json", made))
    blocks = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [(block.tool_call_id, block.tool_name) for block in blocks] == [("c1", "ls"), ("c2", "cat")]


def test_calls_and_results_of_sharegpt_are_calls_and_results(tmp_path: Path) -> None:
    said = [("human", "hi"), ("function_call", '{"name": "ls", "arguments": {"a": 1}}'), ("observation", "a.py")]
    made = {"conversations": [{"from": who, "value": what} for who, what in said]}
    session = open_session(write(tmp_path / "list.json", made))
    blocks = [(block.kind, block.tool_name, session.text(block)) for block in session.blocks[1:]]
    assert blocks == [(BlockKind.TOOL_CALL, "ls", '{"a":1}'), (BlockKind.TOOL_RESULT, "ls", "a.py")]
    assert session.blocks[1].tool_call_id == session.blocks[2].tool_call_id != ""


def test_a_response_without_its_request_is_an_answer(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 3}
    choice = {"index": 0, "message": {"role": "assistant", "content": "hi"}}
    answer = {"id": "x", "object": "chat.completion", "model": "gpt", "choices": [choice], "usage": usage}
    content = [{"type": "text", "text": "hi"}]
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": content}
    reported = {"usage": {"input_tokens": 10, "output_tokens": 3}}
    for name, value in (("openai-chat", answer), ("anthropic-messages", {**message, **reported})):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(value, indent=1))
        session = open_session(path)
        assert session.format == name
        assert [call.usage for call in session.calls] == [Usage(uncached=10, output=3)]


def test_a_response_logged_as_the_text_of_its_stream_is_read(tmp_path: Path) -> None:
    request = {"model": "claude-x", "system": "s", "messages": [{"role": "user", "content": "hi"}]}
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"request": request, "response": stream("m1", "hello", 5)}) + "\n")
    session = open_session(path)
    assert_sound(session)
    assert outline(session)[-1][1][0] == "hello"
    assert [call.usage for call in session.calls] == [Usage(5, 40, 7, 0, 33)]


def test_old_function_calls_and_sharegpt_are_read() -> None:
    old = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}},
        {"role": "function", "name": "ls", "content": "a.py"},
    ]
    assert [(block.kind, block.tool_name) for block in read_conversation(old).blocks[1:]] == [
        (BlockKind.TOOL_CALL, "ls"),
        (BlockKind.TOOL_RESULT, "ls"),
    ]
    shared = {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]}
    assert outline(read_conversation(shared)) == [("user", ["hi"]), ("assistant", ["hello"])]


def test_images_of_both_apis_have_their_size() -> None:
    gif = "R0lGODlhAwAFAPAAAAAAAAAAACH5BAAAAAAALAAAAAADAAUAAAIDhI9WADs="
    parts = [
        {"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{gif}"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": gif}},
        {"type": "image_url", "image_url": {"url": "https://example.invalid/x.png"}},
    ]
    session = read_conversation([{"role": "user", "content": parts}])
    media = [block.media[0] for block in session.blocks]
    assert [(one.media_type, one.width, one.height) for one in media] == [("image/gif", 3, 5)] * 2 + [("", 0, 0)]


def test_sound_files_and_quoted_documents_are_sent_and_named() -> None:
    part = {"type": "text", "text": "one"}
    parts = [
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "document", "source": {"type": "content", "content": [part, {"type": "text", "text": "two"}]}},
        {"type": "document", "source": {"type": "file", "file_id": "file-1"}},
        {"type": "file", "file": {"file_id": "file-2"}},
        {"type": "search_result", "source": "a", "title": "b", "content": [part]},
    ]
    session = read_conversation([{"role": "user", "content": parts}])
    kinds = [(block.kind, session.text(block), len(block.media)) for block in session.blocks]
    assert kinds == [
        (BlockKind.DOCUMENT, "", 1),
        (BlockKind.DOCUMENT, "one\ntwo", 1),
        (BlockKind.DOCUMENT, "", 1),
        (BlockKind.DOCUMENT, "", 1),
        (BlockKind.USER_TEXT, "one", 0),
    ]
    assert session.blocks[0].media[0].media_type == "audio/wav"
    assert session.blocks[0].media[0].size_bytes == 4


def test_a_growing_file_of_messages_is_followed(tmp_path: Path) -> None:
    from inspector.session.follow import Follower

    path = tmp_path / "messages.jsonl"
    lines = [json.dumps(message) + "\n" for message in OPENAI]
    path.write_text("".join(lines[:2]))
    follower = Follower(path)
    for line in lines[2:]:
        with path.open("a") as file:
            file.write(line)
        session = follower.poll()
        assert session is not None
        assert session == open_session(path)
    assert outline(follower.session) == outline(read_conversation(OPENAI))


def test_bad_lines_among_messages_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    lines = [json.dumps(message) for message in OPENAI]
    path.write_text("\n".join([*lines[:2], "{broken", "[]", '{"unrelated": 1}', *lines[2:]]))
    session = open_session(path)
    assert outline(session) == outline(read_conversation(OPENAI))
    assert [(note.line, note.reason) for note in session.diagnostics] == [(3, "invalid JSON"), (4, "not a JSON object")]
    assert session.record_counts["other"] == 1


def test_odd_values_in_messages_are_kept_as_they_are() -> None:
    odd: list[dict[str, Any]] = [
        {"role": ["user"], "content": "nobody"},
        {"role": "user", "content": {"type": "text", "text": "alone"}},
        {"role": "user", "content": [None, 5, {"type": ["x"]}, {"no": "type"}]},
        {"role": "user", "content": "l\ud800ne"},
        {"role": "assistant", "content": [], "tool_calls": [None, {"id": 5, "function": None}, {"function": {}}]},
        {"role": "assistant", "tool_calls": "none", "content": None, "usage": [1], "timestamp": [], "model": 4},
        {"role": "user", "content": "end"},
    ]
    session = read_conversation(odd)
    kept = [session.text(block) for block in session.blocks]
    assert kept[0] == "nobody"
    assert kept[1] == "alone"
    assert "l\ufffdne" in kept
    assert kept[-1] == "end"
    assert session.messages[0].role is Role.OTHER
    assert len(session.calls) == 2


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        ({"input_tokens": 7, "input_tokens_details": {"cached_tokens": 5}, "output_tokens": 2}, Usage(2, 5, 0, 0, 2)),
        ({"prompt_tokens": 30, "prompt_cache_hit_tokens": 20, "completion_tokens": 1}, Usage(10, 20, 0, 0, 1)),
        ({"prompt_tokens": 30, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 6}, Usage(4, 20, 6, 0, 0)),
        ({"input_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": 8}}, Usage(1, 0, 0, 8, 0)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": "many"}, None),
        ("none", None),
    ],
)
def test_every_dialect_of_usage_counts_each_token_once(reported: Any, usage: Usage | None) -> None:
    session = read_conversation([{"role": "assistant", "content": "x", "usage": reported}])
    assert session.calls[0].usage == usage


def test_a_real_completion_log_is_read(corpus: Path) -> None:
    path = corpus / "openai-chat/litellm-deepseek-1757015076.json"
    recorded = json.loads(path.read_text())
    session = open_session(path)
    assert len(session.messages) == 1 + len(recorded["messages"]) + 1  # the tools before, the answer behind
    usage = session.calls[-1].usage
    assert usage is not None
    assert usage.prompt == recorded["response"]["usage"]["prompt_tokens"]
    assert usage.cache_read == recorded["response"]["usage"]["prompt_cache_hit_tokens"]
    texts = [session.text(message.blocks[0]) for message in session.messages[1:-1]]
    contents = [message["content"] for message in recorded["messages"]]
    assert texts == [content if isinstance(content, str) else content[0]["text"] for content in contents]


def test_messages_of_a_document_after_the_limit_are_counted_but_lists_in_memory_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPECTOR_MESSAGES", "3")
    messages = [{"role": ("user", "assistant")[number % 2], "content": f"text {number}"} for number in range(8)]
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    session = open_session(path)

    assert len(session.messages) == 3
    (left_out,) = session.diagnostics
    assert left_out.reason == "5 records left out after 3 messages; INSPECTOR_MESSAGES sets the limit"
    fourth = path.read_bytes().index(json.dumps(messages[3]).encode())
    assert (left_out.offset, left_out.loses_usage) == (fourth, True)
    assert session.skipped_records == 5
    assert len(read_conversation(messages).messages) == 8
