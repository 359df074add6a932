"""Items and exchanges of OpenAI's Responses API."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.session.billing_terms import BillingTerms
from inspector.session.follow import Follower
from inspector.session.formats import codex, responses
from inspector.session.model import BlockKind, ContextCause, Role, Session, Usage
from inspector.session.open import open_session
from tests.examples import examples
from tests.session.mutations import mutated
from tests.session.other_process import quiet_moments, replace, rewrite
from tests.session.soundness import assert_reads, assert_sound

Item = dict[str, Any]

INSTRUCTIONS = "Be brief."
TOOLS = [{"type": "function", "name": "look", "parameters": {}}]


def said(role: str, text: str) -> Item:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def call(identifier: str, **fields: Any) -> Item:
    return {
        "type": "function_call",
        "id": f"fc_{identifier}",
        "call_id": identifier,
        "name": "look",
        "arguments": "{}",
    } | fields


def output(identifier: str, text: Any = "seen") -> Item:
    return {"type": "function_call_output", "call_id": identifier, "output": text}


def thought(text: str = "hm", encrypted: str = "gAAA") -> Item:
    return {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": text}],
        "encrypted_content": encrypted,
    }


def exchange(sent: Any, answer: list[Item], number: int = 1, **fields: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 100 * number,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    response = {"id": f"resp_{number}", "object": "response", "model": "gpt-5.5", "created_at": 1_780_000_000 + number}
    request = {"model": "gpt-5.5", "instructions": INSTRUCTIONS, "tools": TOOLS, "input": sent, **fields}
    return {"request": request, "response": {**response, "output": answer, "usage": usage}}


def opened(path: Path, value: Any) -> Session:
    path.write_text(json.dumps(value) if not isinstance(value, str) else value)
    session = open_session(path)
    assert session.format == "openai-responses"
    assert_sound(session)
    return session


def roles(session: Session) -> str:
    return "".join(message.role.value[0] for message in session.messages)


def sent(session: Session, number: int) -> list[str]:
    """The texts of a call's prompt."""
    made = session.calls[number]
    members = session.contexts[made.context].members[: made.prompt_messages]
    return [session.text(block) for index in members for block in session.messages[index].blocks]


GIF_URL = "data:image/gif;base64,R0lGODlhAwAFAPAAAAAAAAAAACH5BAAAAAAALAAAAAADAAUAAAIDhI9WADs="

ITEMS = [
    said("developer", "rules"),
    said("user", "go"),
    thought(),
    call("c1"),
    call("c2"),
    output("c1"),
    output("c2", [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]),
    said("assistant", "done"),
]


@pytest.mark.parametrize("form", ["list", "lines", "input", "items"])
def test_items_are_read_in_every_form(tmp_path: Path, form: str) -> None:
    value: Any = {
        "list": ITEMS,
        "lines": "\n".join(json.dumps(item) for item in ITEMS),
        "input": {"model": "gpt-5.5", "input": ITEMS},
        "items": {"items": ITEMS},
    }[form]
    session = opened(tmp_path / "anything", value)
    assert roles(session) == "suata"
    assert [block.kind for block in session.messages[2].blocks] == [
        BlockKind.THINKING,
        BlockKind.TOOL_CALL,
        BlockKind.TOOL_CALL,
    ]
    assert [session.text(block) for block in session.messages[3].blocks] == ["seen", "a\nb"]
    assert [block.tool_name for block in session.messages[3].blocks] == ["look", "look"]
    assert [call.prompt_messages for call in session.calls] == [2, 4]
    assert session.models == (("gpt-5.5",) if form == "input" else ())


def test_an_exchange_is_a_call_with_its_usage(tmp_path: Path) -> None:
    session = opened(tmp_path / "log.json", exchange("What is this?", [thought(), said("assistant", "A test.")]))
    assert roles(session) == "sua"
    assert [session.text(block) for block in session.messages[0].blocks] == [
        json.dumps(TOOLS),
        INSTRUCTIONS,
    ]
    assert session.text(session.messages[1].blocks[0]) == "What is this?"
    made = session.calls[0]
    assert made.usage == Usage(uncached=60, cache_read=40, output=9, reasoning=4)
    assert (made.model, made.identifier, made.time) == ("gpt-5.5", "resp_1", 1_780_000_001)


def growing(count: int, *, strip: bool = False) -> list[dict[str, Any]]:
    """A conversation as a program without memory at the server sends it."""
    history: list[Item] = [said("user", "go")]
    made = []
    for number in range(1, count + 1):
        answer = [thought(), call(f"c{number}")]
        made.append(exchange(list(history), answer, number))
        repeated = [item for item in answer if not (strip and item["type"] == "reasoning")]
        history += [{k: v for k, v in item.items() if not (strip and k == "id")} for item in repeated]
        history.append(output(f"c{number}", f"result {number}"))
    return made


@pytest.mark.parametrize("strip", [False, True])
@pytest.mark.parametrize("as_lines", [False, True])
def test_a_log_that_repeats_the_conversation_is_one_conversation(tmp_path: Path, strip: bool, as_lines: bool) -> None:
    log = growing(4, strip=strip)
    value = "\n".join(json.dumps(entry) for entry in log) if as_lines else log
    session = opened(tmp_path / "log", value)
    assert roles(session) == "su" + "at" * 3 + "a"
    assert len(session.contexts) == 1
    assert [call.usage.prompt for call in session.calls if call.usage] == [100, 200, 300, 400]
    assert [call.prompt_messages for call in session.calls] == [2, 4, 6, 8]
    assert not any(message.is_inherited for message in session.messages)


def test_a_request_that_names_the_response_before_it_continues_it(tmp_path: Path) -> None:
    first = exchange([said("user", "go")], [call("c1")], 1)
    second = exchange([output("c1")], [said("assistant", "done")], 2, previous_response_id="resp_1")
    session = opened(tmp_path / "log", [first, second])
    assert roles(session) == "suata"
    assert [call.prompt_messages for call in session.calls] == [2, 4]


def test_a_request_with_another_history_begins_a_context(tmp_path: Path) -> None:
    log = growing(3)
    cut = [said("user", "go"), *log[0]["response"]["output"], output("c1", "shortened")]
    log.append(exchange(cut, [said("assistant", "done")], 9))
    session = opened(tmp_path / "log", log)
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.REWIND]
    assert sent(session, 3)[2:] == ["go", "hm", "{}", "shortened"]
    assert [call.context for call in session.calls] == [0, 0, 0, 1]


def test_conversations_that_have_nothing_in_common_are_threads(tmp_path: Path) -> None:
    title = exchange([said("user", "Name this conversation")], [said("assistant", "Test")], 7)
    log = growing(3)
    log.insert(1, title)
    session = opened(tmp_path / "log", log)
    assert {message.thread for message in session.messages} == {0, 1}
    assert [call.usage.prompt for call in session.calls if call.usage] == [100, 700, 200, 300]
    assert len(session.contexts) == 2


def test_a_response_alone_answers_what_was_sent_before(tmp_path: Path) -> None:
    lines = [{"input": [said("user", "go")]}, exchange([], [said("assistant", "done")])["response"]]
    session = opened(tmp_path / "log", "\n".join(json.dumps(line) for line in lines))
    assert roles(session) == "ua"
    assert session.calls[0].prompt_messages == 1
    assert session.calls[0].usage is not None


def events_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """A response as the events of its stream."""
    begun = {**answer, "output": [], "usage": None, "status": "in_progress"}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun, "sequence_number": 0}]
    for place, item in enumerate(answer["output"]):
        beginning = {"type": item["type"], "id": "x", "status": "in_progress", "summary": [], "content": [], "role": ""}
        events.append({"type": "response.output_item.added", "output_index": place, "item": beginning})
        events.append(
            {"type": "response.output_text.delta", "item_id": "x", "output_index": place, "delta": '"pie\\ce'}
        )
        events.append({"type": "response.output_item.done", "output_index": place, "item": item})
    return [*events, {"type": "response.completed", "response": answer, "sequence_number": 9}]


def stream_of(events: list[dict[str, Any]], end: str = "\n") -> str:
    return "".join(f"event: {one['type']}{end}data: {json.dumps(one)}{end}{end}" for one in events)


LOG = [
    exchange([said("user", 'go "on" é ☃')], [thought(), call("c1")], 1),
    exchange(
        [said("user", 'go "on" é ☃'), thought(), call("c1"), output("c1", 'a\\b\n"c"')], [said("assistant", "ö")], 2
    ),
]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("body", ["body", "body_raw"])
def test_streams_and_bodies_that_are_strings_are_read_like_what_they_hold(tmp_path: Path, body: str, end: str) -> None:
    lines = []
    for one in LOG:
        request = {"url": "https://api.openai.com/v1/responses", "body": json.dumps(one["request"])}
        lines.append({"request": request, "response": {body: stream_of(events_of(one["response"]), end)}})
    at_once = opened(tmp_path / "once", "\n".join(json.dumps(line) for line in LOG))
    for ensure_ascii in (True, False):
        text = "\n".join(json.dumps(line, ensure_ascii=ensure_ascii) for line in lines)
        session = opened(tmp_path / "log", text)
        assert session.calls == at_once.calls
        assert [sent(session, number) for number in range(2)] == [sent(at_once, number) for number in range(2)]
        assert [session.text(one) for one in session.blocks] == [at_once.text(one) for one in at_once.blocks]
    listed = opened(tmp_path / "list", lines)
    assert [sent(listed, number) for number in range(2)] == [sent(at_once, number) for number in range(2)]


def test_a_stream_that_was_cut_off_has_the_items_that_were_finished(tmp_path: Path) -> None:
    line = {"request": LOG[0]["request"], "response": {"body": stream_of(events_of(LOG[0]["response"])[:4])}}
    session = opened(tmp_path / "log", line)
    assert roles(session) == "sua"
    assert (len(session.calls), session.calls[0].usage, session.calls[0].model) == (1, None, "gpt-5.5")


def test_events_that_are_lines_of_their_own_are_one_answer_with_its_usage(tmp_path: Path) -> None:
    events = events_of(LOG[0]["response"])
    lines = [{"input": [said("user", "go")], "model": "gpt-5.5"}, *events]
    session = opened(tmp_path / "log", "\n".join(json.dumps(line) for line in lines))
    assert roles(session) == "ua"
    assert [block.kind for block in session.messages[1].blocks] == [BlockKind.THINKING, BlockKind.TOOL_CALL]
    (made,) = session.calls
    assert (made.prompt_messages, made.identifier) == (1, "resp_1")
    assert made.usage == Usage(uncached=60, cache_read=40, output=9, reasoning=4)
    only_last = opened(tmp_path / "last", "\n".join(json.dumps(line) for line in [lines[0], events[-1]]))
    assert (roles(only_last), only_last.calls[0].usage) == ("ua", made.usage)


def test_a_conversation_of_the_chat_api_is_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(
        json.dumps({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}]})
    )
    assert open_session(path).format == "openai-chat"


def test_an_early_session_of_codex_in_one_document_is_codex(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"session": {"id": "old", "timestamp": "2025-04-20"}, "items": ITEMS}, indent=1))
    session = open_session(path)
    assert_sound(session)
    assert (session.format, session.identifier, session.agent) == ("codex", "old", "Codex")
    assert roles(session) == "suata"
    assert_reads(codex.CodexFormat(), path)


def test_a_document_rewritten_by_another_process_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(growing(1)))
    follower = Follower(path)
    steps = [(rewrite if number % 2 else replace)(json.dumps(growing(number)).encode()) for number in range(2, 24)]
    for done in quiet_moments(path, steps, follower.poll, seed=5):
        follower.poll()
        assert follower.state == "live"
        assert follower.session == open_session(path)
        assert len(follower.session.calls) == done + 1


@settings(max_examples=examples(120), deadline=None)
@given(data=st.data(), as_document=st.booleans())
def test_whatever_it_holds_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, as_document: bool
) -> None:
    lines = [json.dumps(value).encode() for value in (*ITEMS, *growing(3), thought(), {"input": "x", "output": []})]
    content = data.draw(mutated(lines))
    path = tmp_path_factory.mktemp("fuzz") / "log"
    path.write_bytes(b"[" + content.strip().replace(b"\n", b",\n") + b"]" if as_document else content)
    assert_reads(responses.ResponsesFormat(), path)


@pytest.mark.parametrize(
    "answered",
    [
        {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": GIF_URL}},
        {"type": "computer_call_output", "output": {"type": "input_image", "image_url": GIF_URL}},
        {"type": "function_call_output", "output": [{"type": "input_image", "image_url": GIF_URL}]},
        {"type": "custom_tool_call_output", "output": [{"type": "input_image", "image_url": GIF_URL}]},
    ],
)
def test_an_image_that_a_tool_returned_has_its_size(tmp_path: Path, answered: dict[str, Any]) -> None:
    kind = answered["type"].removesuffix("_output")
    asked = {"type": kind, "call_id": "c", "name": "look", "action": {"type": "screenshot"}, "arguments": "{}"}
    items = [said("user", "go"), asked, {**answered, "call_id": "c"}]
    session = opened(tmp_path / "items.json", items)
    (result,) = (block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT)
    assert [(one.media_type, one.width, one.height) for one in result.media] == [("image/gif", 3, 5)]
    assert session.text(result) == "", "a picture is no text"


def test_screenshots_that_are_only_named_are_distinguished(tmp_path: Path) -> None:
    items: list[Any] = [said("user", "go")]
    for number in (1, 2):
        items.append({"type": "computer_call", "call_id": f"c{number}", "actions": [{"type": "screenshot"}]})
        shown = {"type": "computer_screenshot", "file_id": f"file-{number}"}
        items.append({"type": "computer_call_output", "call_id": f"c{number}", "output": shown})
    session = opened(tmp_path / "items.json", items)
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [(block.tool_name, len(block.media)) for block in results] == [("computer", 1)] * 2
    assert results[0].digest != results[1].digest


def test_what_tools_of_the_provider_return_is_a_result(tmp_path: Path) -> None:
    ran = {
        "type": "code_interpreter_call",
        "id": "ci",
        "code": "print(1)",
        "outputs": [{"type": "logs", "logs": "1"}, {"type": "image", "url": "https://example.invalid/plot.png"}],
    }
    failed = {"type": "mcp_call", "id": "m", "name": "find", "arguments": "{}", "output": None, "error": "no server"}
    shell = {"type": "shell_call", "call_id": "s", "action": {"commands": ["false"]}}
    printed = {"stdout": "", "stderr": "no", "outcome": {"type": "exit", "exit_code": 1}}
    items = [said("user", "go"), ran, failed, shell, {"type": "shell_call_output", "call_id": "s", "output": [printed]}]
    session = opened(tmp_path / "items.json", items)
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [(block.tool_name, block.is_error, len(block.media)) for block in results] == [
        ("code_interpreter", False, 1),
        ("find", True, 0),
        ("shell", True, 0),
    ]
    assert [session.text(block) for block in results[:2]] == ["1", "no server"]


def test_items_of_unknown_types_are_shown_and_never_sent(tmp_path: Path) -> None:
    session = opened(tmp_path / "items", [*ITEMS[:3], {"type": "new_thing", "id": "n"}, *ITEMS[3:]])
    assert roles(session) == "suaota"
    assert [message.role for message in session.messages if message.role is Role.OTHER] == [Role.OTHER]
    assert 3 not in session.contexts[0].members


def test_searches_and_runs_of_code_are_counted_by_their_items_and_pages_that_are_opened_are_not(tmp_path: Path) -> None:
    output = [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "a"}},
        {"type": "web_search_call", "id": "ws_2", "status": "completed", "action": {"type": "open_page", "url": "b"}},
        {"type": "web_search_call", "id": "ws_3", "status": "completed"},
        {"type": "code_interpreter_call", "id": "ci_1", "code": "1 + 1", "container_id": "c"},
        said("assistant", "found"),
    ]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(exchange([said("user", "look it up")], output)) + "\n", encoding="utf-8")
    terms = {BillingTerms.of_code(call.terms) for call in open_session(path).calls}
    assert BillingTerms(web_searches=2, code_runs=1) in terms
    assert len([each for each in terms if each.web_searches]) == 1


def part(text: str, *, is_marked: bool = False) -> Item:
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}} if is_marked else {}
    return {"type": "input_text", "text": text, **mark}


@pytest.mark.parametrize(
    ("options", "lifetime", "places"),
    [
        (None, "30m", [5, 9, 10, 11]),
        ({"ttl": "12h", "mode": "implicit"}, "12h", [5, 9, 10, 11]),
        ({"mode": "explicit"}, "30m", [3, 5, 9, 10]),
    ],
    ids=["none", "implicit", "explicit"],
)
def test_breakpoints_of_a_request_are_the_last_four_that_it_marks_with_its_end(
    tmp_path: Path, options: dict[str, Any] | None, lifetime: str, places: list[int]
) -> None:
    first = {"type": "message", "role": "user", "content": [part("a", is_marked=True), part("b")]}
    second = {"type": "message", "role": "user", "content": [part("c", is_marked=True), part("d")]}
    results: list[Item] = [output(f"c{number}", [part("e", is_marked=number > 0)]) for number in (0, 1)]
    last = {"type": "message", "role": "user", "content": [part("f", is_marked=True), part("g")]}
    fields: dict[str, Any] = {} if options is None else {"prompt_cache_options": options}
    items = [first, second, call("c0"), results[0], results[1], last]
    session = opened(tmp_path / "log.json", [exchange(items, [said("assistant", "done")], **fields)])
    # Tools, instructions, a |, b, c |, d, a call, its result, another result |, f |, g.
    assert [(mark.blocks, mark.lifetime) for mark in session.calls[-1].marks or ()] == [
        (place, lifetime) for place in places
    ]


def test_breakpoints_of_a_request_that_continues_another_are_counted_from_its_end(tmp_path: Path) -> None:
    first = exchange([{"type": "message", "role": "user", "content": [part("a")]}], [thought(), said("assistant", "b")])
    more = {"type": "message", "role": "user", "content": [part("c", is_marked=True), part("d")]}
    second = exchange([more], [said("assistant", "e")], 2, previous_response_id="resp_1")
    session = opened(tmp_path / "log.json", [first, second])
    # Tools, instructions, a, reasoning, b, c |, d |.
    assert session.calls[0].marks is None
    assert [mark.blocks for mark in session.calls[1].marks or ()] == [6, 7]
