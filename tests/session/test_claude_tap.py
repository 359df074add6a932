"""Recordings of claude-tap: deduplicated parts, three containers, and several APIs in one session."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from inspector.errors import SessionError
from inspector.session.discovery import sessions_in
from inspector.session.follow import Follower
from inspector.session.formats.claude_tap import ClaudeTapFormat
from inspector.session.model import BlockKind, ContextCause, RecordedBreakpoint, Session, Usage
from inspector.session.open import open_session
from tests.examples import examples
from tests.session import databases, tap_store
from tests.session.mutations import mutated
from tests.session.run_files import Record, encoded
from tests.session.soundness import assert_sound
from tests.session.tap_store import (
    TABLES,
    bundle,
    google_body,
    google_chunk,
    message,
    record,
    records,
    statements,
    write,
)


def said(session: Session) -> list[tuple[str, list[str]]]:
    return [(message.role.value, [session.text(block) for block in message.blocks]) for message in session.messages]


def opened(path: Path) -> Session:
    session = open_session(path)
    assert session.format == "claude-tap"
    assert_sound(session)
    return session


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def lines_of(made: list[Record], folder: Path) -> Session:
    path = folder / "trace.jsonl"
    path.write_text("".join(written(one) + "\n" for one in made))
    return opened(path)


def in_database(made: list[Record], folder: Path) -> Session:
    return opened(databases.created(folder / "traces.sqlite3", TABLES, *statements(made)))


def test_a_session_is_the_same_on_lines_in_a_bundle_and_in_a_database(tmp_path: Path) -> None:
    lines = lines_of(records(4), tmp_path)
    (tmp_path / "bundle.json").write_text(written(bundle(4)))
    sessions = [lines, opened(tmp_path / "bundle.json"), in_database(records(4), tmp_path)]
    for session in sessions:
        assert said(session) == said(lines)
        assert [call.prompt_messages for call in session.calls] == [2, 4, 6, 8]
        assert [call.usage for call in session.calls] == [
            Usage(uncached=turn + 1, cache_read=40, cache_write_5m=7, output=33) for turn in range(4)
        ]
        assert session.record_counts == {"request": 4}
    assert said(lines)[:3] == [
        ("system", ['[{"name":"Bash"}]', "You help."]),
        ("user", ["go on"]),
        ("assistant", ["turn 0", '{"command":"ls"}']),
    ]
    assert (sessions[2].identifier, sessions[2].agent, sessions[2].title) == ("s1", "claude", "go on")


def test_cache_entries_that_requests_ask_for_are_kept_in_every_form(tmp_path: Path) -> None:
    made = records(2)
    for made_one in made:
        made_one["request"]["body"]["tools"] = [{"name": "Bash", "cache_control": {"type": "ephemeral"}}]
    for session in (lines_of(made, tmp_path), in_database(made, tmp_path)):
        assert [call.marks for call in session.calls] == [(RecordedBreakpoint(1),)] * 2


def test_a_stream_of_openais_api_was_put_together_with_counts_under_both_names(tmp_path: Path) -> None:
    counts = {
        "prompt_tokens": 100,
        "completion_tokens": 9,
        "input_tokens": 100,
        "output_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 64},
        "cache_read_input_tokens": 64,
        "cache_read_in_input": True,
    }
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    answer = {"id": "x", "model": "gpt-x", "choices": [choice], "content": [{"type": "text", "text": "Hello"}]}
    body = {"model": "gpt-x", "messages": [{"role": "user", "content": "go"}]}
    session = lines_of([record(body, {**answer, "usage": counts}, path="/v1/chat/completions")], tmp_path)
    assert said(session) == [("user", ["go"]), ("assistant", ["Hello"])]
    assert session.calls[0].usage == Usage(uncached=36, cache_read=64, output=9)


def item(role: str, text: str) -> Record:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def response(number: int, *output: Record, **rest: Any) -> Record:
    usage = {"input_tokens": 100 * number, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 64}}
    return {"id": f"resp_{number}", "model": "gpt-x", "output": list(output), "usage": usage, **rest}


def test_requests_of_the_responses_api_are_joined_too(tmp_path: Path) -> None:
    asked = [item("user", "go " * 20), item("assistant", "first"), item("user", "and on")]
    body = {"model": "gpt-x", "instructions": "You are Codex.", "stream": True}
    made = [
        record({**body, "input": asked[:1]}, response(1, asked[1]), 1, "/v1/responses"),
        record({**body, "input": asked}, response(2, item("assistant", "second")), 2, "/v1/responses"),
    ]
    for session in (lines_of(made, tmp_path), in_database(made, tmp_path)):
        assert [call.prompt_messages for call in session.calls] == [2, 4]
        assert [text for _, (text,) in said(session)] == ["You are Codex.", "go " * 20, "first", "and on", "second"]
        assert session.calls[1].usage == Usage(uncached=136, cache_read=64, output=5)
        assert session.record_counts == {"request": 2}


def test_a_web_socket_that_carried_several_requests_is_several_calls(tmp_path: Path) -> None:
    def created(**rest: Any) -> Record:
        return {"type": "response.create", "model": "gpt-x", "instructions": "You are Codex.", **rest}

    def completed(made: Record) -> Record:
        return {"type": "response.completed", "response": {**made, "output": []}}

    def done(one: Record) -> Record:
        return {"type": "response.output_item.done", "item": one, "output_index": 0}

    call = {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c"}
    found = {"type": "function_call_output", "call_id": "c", "output": "a file"}
    asked = [created(input=[item("user", "go")]), created(input=[found], previous_response_id="resp_1")]
    came = [done(call), completed(response(1)), {"type": "codex.rate_limits"}]
    came += [done(item("assistant", "end")), completed(response(2))]
    one = record(asked[-1], response(2, item("assistant", "end")), 1, "/backend-api/codex/responses", ws_events=came)
    one["request"] |= {"method": "WEBSOCKET", "ws_events": asked}
    session = lines_of([one], tmp_path)
    assert [text for _, (text,) in said(session)] == ["You are Codex.", "go", "{}", "a file", "end"]
    assert [call.usage and call.usage.prompt for call in session.calls] == [100, 200]


@pytest.mark.parametrize("rest", [[], [{"type": "codex.rate_limits"}]])
def test_an_answer_of_a_web_socket_is_that_of_its_request_where_the_last_was_not_answered(
    tmp_path: Path, rest: list[Record]
) -> None:
    asked = [
        {"type": "response.create", "model": "gpt-x", "input": [item("user", said)]} for said in ("one", "two", "three")
    ]
    came = [
        event
        for number, text in enumerate(("first", "second"), 1)
        for event in (
            {"type": "response.output_item.done", "item": item("assistant", text), "output_index": 0},
            {"type": "response.completed", "response": {**response(number), "output": []}},
        )
    ]
    for answered in (1, 2):
        one = record({}, None, 1, "/backend-api/codex/responses", ws_events=[*came[: 2 * answered], *rest])
        one["request"] |= {"method": "WEBSOCKET", "ws_events": asked}
        session = lines_of([one], tmp_path)
        assert session.record_counts == {"request": answered, "request without a response": 3 - answered}
        for call, question, answer in zip(session.calls, ("one", "two"), ("first", "second"), strict=False):
            (text,) = session.messages[call.response].blocks
            asked_last = session.contexts[call.context].members[call.prompt_messages - 1]
            (before,) = session.messages[asked_last].blocks
            assert (session.text(before), session.text(text)) == (question, answer)


def test_a_request_of_a_web_socket_that_failed_has_its_error_and_the_next_one_its_answer(tmp_path: Path) -> None:
    asked = [{"type": "response.create", "model": "gpt-x", "input": [item("user", said)]} for said in ("one", "two")]
    came: list[Record] = [
        {"type": "error", "error": {"code": "rate_limit_exceeded"}},
        {"type": "response.failed", "response": {**response(1), "output": []}},
        {"type": "response.output_item.done", "item": item("assistant", "second"), "output_index": 0},
        {"type": "response.completed", "response": {**response(2), "output": []}},
    ]
    one = record({}, None, 1, "/backend-api/codex/responses", ws_events=came)
    one["request"] |= {"method": "WEBSOCKET", "ws_events": asked}
    session = lines_of([one], tmp_path)
    assert session.calls[-1].usage is not None
    assert session.calls[-1].usage.prompt == 200
    assert said(session)[-2:] == [("user", ["two"]), ("assistant", ["second"])]


def test_a_request_that_only_warms_the_cache_is_billed_next_to_the_conversation(tmp_path: Path) -> None:
    body = {"model": "gpt-x", "instructions": "You are Codex.", "generate": False}
    made = [
        record({**body, "input": []}, response(1), 1, "/v1/responses"),
        record({**body, "input": [item("user", "go")]}, response(2, item("assistant", "yes")), 2, "/v1/responses"),
    ]
    session = lines_of(made, tmp_path)
    assert [call.usage and call.usage.prompt for call in session.calls] == [200]
    assert [(side.purpose, side.usage and side.usage.prompt) for side in session.side_calls] == [
        ("empty response", 100)
    ]


def test_an_answer_of_which_only_events_were_kept_is_put_together(tmp_path: Path) -> None:
    events = [{"type": "response.completed", "response": response(1, item("assistant", "hello"))}]
    body = {"type": "response.create", "model": "gpt-x", "input": [item("user", "go")]}
    session = lines_of([record(body, None, path="/v1/responses", ws_events=events)], tmp_path)
    assert said(session) == [("user", ["go"]), ("assistant", ["hello"])]


def test_conversations_of_two_apis_in_one_session_are_numbered_through(tmp_path: Path) -> None:
    body = {"model": "gpt-x", "input": [item("user", "beside")]}
    made = [*records(2), record(body, response(1, item("assistant", "yes")), 3, "/v1/responses")]
    session = lines_of(made, tmp_path)
    assert [session.messages[call.response].thread for call in session.calls] == [0, 0, 1]


def test_requests_for_something_else_are_counted_and_failures_are_requests_without_an_answer(tmp_path: Path) -> None:
    body = records(1)[0]["request"]["body"]
    failed = record(body, {"type": "error", "error": {"message": "overloaded"}}, 8)
    models = record(None, {"data": []}, 9, "/v1/models")
    counting = record(body, {"input_tokens": 5}, 10, "/v1/messages/count_tokens?beta=true")
    session = lines_of([*records(2), failed, models, counting], tmp_path)
    assert session.record_counts == {"request": 2, "request without a response": 1, "other request": 2}
    assert all(ClaudeTapFormat().is_bookkeeping(name) for name in ("other", "other request"))


def test_requests_to_bedrocks_converse_api_are_a_conversation_with_its_usage(tmp_path: Path) -> None:
    asked: Record = {"messages": [{"role": "user", "content": [{"text": "go"}]}]}
    answer = {"output": {"message": {"role": "assistant", "content": [{"text": "yes"}]}}, "usage": {"inputTokens": 7}}
    address = "/model/arn%3Aaws%3Abedrock%3A%3A%3Ainference-profile%2Fus.claude-x/converse"
    session = lines_of([record(asked, answer, 11, address), record(asked, "?", 12, address)], tmp_path)
    assert session.record_counts == {"request": 1, "request without a response": 1}
    assert said(session) == [("user", ["go"]), ("assistant", ["yes"])]
    assert (session.calls[0].model, session.calls[0].usage) == ("us.claude-x", Usage(uncached=7))


GEMINI = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"

CALL: Record = {"functionCall": {"id": "c1", "name": "read_file", "args": {"path": "a"}}, "thoughtSignature": "abc"}

FOUND: Record = {"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "found"}}}

COUNTS = {"promptTokenCount": 900, "cachedContentTokenCount": 400, "candidatesTokenCount": 20}

PUT_TOGETHER = {"content": [{"type": "text", "text": "mirrored"}], "usage": {"input_tokens": 900, "output_tokens": 26}}


def gemini_records(*, wraps: bool = False) -> list[Record]:
    """Two requests of Gemini CLI's as claude-tap records them, and one that it makes for itself before."""
    thought = {"text": "hm", "thought": True}
    first = google_chunk(thought, {"text": "looking"}, CALL, **COUNTS, thoughtsTokenCount=6, totalTokenCount=926)
    second = google_chunk({"text": "done"}, promptTokenCount=1000, toolUsePromptTokenCount=50, candidatesTokenCount=3)
    asked = [("user", [{"text": "go"}])]
    went_on = [*asked, ("model", [{"text": "looking"}, CALL]), ("user", [FOUND])]
    routed = google_body(*asked, responseMimeType="application/json", responseJsonSchema={})
    chosen = google_chunk({"text": '{"model_choice":"pro"}'}, promptTokenCount=70, candidatesTokenCount=7)
    path = "/v1internal:streamGenerateContent?alt=sse" if wraps else GEMINI

    def body(made: Record) -> Record:
        return {"model": "gemini-2.5-pro", "project": "p", "request": made} if wraps else made

    return [
        record(body(routed), {"response": chosen, "traceId": "t"} if wraps else chosen, 1, path.replace("stream", "")),
        record(body(google_body(*asked)), {**first, **PUT_TOGETHER}, 2, path),
        record(body(google_body(*went_on)), {**second, **PUT_TOGETHER}, 3, path),
    ]


@pytest.mark.parametrize("wraps", [False, True])
def test_requests_of_googles_api_are_a_conversation_with_its_usage(tmp_path: Path, wraps: bool) -> None:
    made = gemini_records(wraps=wraps)
    made[0]["request"]["path"] = made[0]["request"]["path"].replace("GenerateContent", "generateContent")
    lines = lines_of(made, tmp_path)
    for session in (lines, in_database(made, tmp_path)):
        main = [one for one in session.messages if one.thread == 0]
        found = [(one.role.value, [session.text(block) for block in one.blocks]) for one in main]
        assert found[0][1][1:] == ["You are Gemini CLI."]
        assert found[1:] == [
            ("user", ["go"]),
            ("assistant", ["hm", "looking", '{"path":"a"}']),
            ("user", ["found"]),
            ("assistant", ["done"]),
        ]
        calls = [call for call in session.calls if session.messages[call.response].thread == 0]
        assert [call.usage for call in calls] == [
            Usage(uncached=500, cache_read=400, output=26, reasoning=6),
            Usage(uncached=1050, output=3),
        ]
        assert {call.model for call in session.calls} == {"gemini-2.5-pro"}
        assert [context.cause for context in session.contexts if context.thread == 0] == [ContextCause.START]
        assert [call.usage and call.usage.prompt for call in session.calls if call not in calls] == [70]
        assert main[3].blocks[0].tool_name == "read_file"
        assert session.record_counts == {"request": 3}


def test_results_that_name_no_call_belong_to_the_calls_before_them_in_order(tmp_path: Path) -> None:
    calls: list[Record] = [{"functionCall": {"name": name, "args": {}}} for name in ("list", "read")]
    found: list[Record] = [
        {"functionResponse": {"name": "list", "response": {"error": "gone"}}},
        {"functionResponse": {"name": "read", "response": {"lines": 2}}},
    ]
    asked = ("user", [{"text": "go"}])
    answers = [google_chunk(*calls), google_chunk({"text": "done"})]
    bodies = [google_body(asked), google_body(asked, ("model", calls), ("user", found))]
    made = [record(body, answer, 1, GEMINI) for body, answer in zip(bodies, answers, strict=True)]
    session = lines_of(made, tmp_path)
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [(one.tool_name, one.is_error, session.text(one)) for one in results] == [
        ("list", True, "gone"),
        ("read", False, '{"lines":2}'),
    ]


def test_an_answer_of_googles_that_was_stopped_before_it_said_anything_is_billed(tmp_path: Path) -> None:
    stopped = {"candidates": [{"finishReason": "SAFETY"}], "usageMetadata": {"promptTokenCount": 9}}
    blocked = {"promptFeedback": {"blockReason": "OTHER"}}
    made = [
        record(google_body(("user", [{"text": text}])), one, 1, GEMINI)
        for text, one in (("a", stopped), ("b", blocked))
    ]
    session = lines_of(made, tmp_path)
    assert [call.usage and call.usage.prompt for call in session.calls] == [9]
    assert session.record_counts == {"request": 1, "request without a response": 1}


def test_thoughts_that_the_total_says_to_be_in_the_answer_are_counted_once(tmp_path: Path) -> None:
    counts = {"promptTokenCount": 100, "candidatesTokenCount": 30, "thoughtsTokenCount": 10, "totalTokenCount": 130}
    session = lines_of(
        [record(google_body(("user", [{"text": "a"}])), google_chunk({"text": "b"}, **counts), 1, GEMINI)], tmp_path
    )
    assert session.calls[0].usage == Usage(uncached=100, output=30, reasoning=10)


def cursor_step(turn: int, step: int, asked: str, *content: Record, conversation: str = "c1") -> Record:
    """A step of Cursor's as claude-tap makes a record of it (`cursor_transcript.py`)."""
    body = {
        "cursor_turn": turn,
        "cursor_step": step,
        "messages": [{"role": "user", "content": asked}],
        "model": "gpt-x",
    }
    body |= {"tools": [{"name": "Read", "input_schema": {}}], "cursor_context_tokens_used": 12_000}
    answer = {"id": conversation, "type": "message", "role": "assistant", "content": list(content), "model": "gpt-x"}
    path = f"/cursor/transcript/{conversation}/turn/{turn}/step/{step}"
    made = record(body, answer, 1, path)
    made["request"]["method"] = "CURSOR_TRANSCRIPT"
    return {**made, "transport": "cursor-transcript"}


def test_steps_of_cursor_are_one_conversation_whose_prompts_no_one_counted(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a"}}
    text = {"type": "text", "text": "done"}
    made = [
        cursor_step(1, 1, "go", {"type": "text", "text": "looking"}, call),
        cursor_step(1, 2, "go", text),
        cursor_step(2, 1, "go", text),
    ]
    for session in (lines_of(made, tmp_path), in_database(made, tmp_path)):
        assert said(session) == [
            ("user", ["go"]),
            ("assistant", ["looking", '{"path":"a"}']),
            ("assistant", ["done"]),
            ("user", ["go"]),
            ("assistant", ["done"]),
        ]
        assert [call.prompt_messages for call in session.calls] == [1, 2, 4]
        assert len(session.contexts) == 1
        assert [(call.usage, call.time, call.model) for call in session.calls] == [(None, None, "gpt-x")] * 3
        assert session.record_counts == {"step of a transcript": 3}


def test_requests_of_google_and_steps_of_cursor_are_followed_as_they_are_added(tmp_path: Path) -> None:
    text = {"type": "text", "text": "done"}
    made = [*gemini_records(), *(cursor_step(turn, step, "go", text) for turn in (1, 2) for step in (1, 2))]
    path = tmp_path / "trace.jsonl"
    path.write_text(written(made[0]) + "\n")
    database = databases.created(tmp_path / "traces.sqlite3", TABLES, *statements(made[:1]))
    followers = [Follower(path), Follower(database)]
    for number in range(2, len(made) + 1):
        path.write_text("".join(written(one) + "\n" for one in made[:number]))
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            databases.run(connection, *statements(made[:number], first=number))
        for follower in followers:
            for _ in range(3):
                follower.poll()
            assert follower.session == open_session(follower.path)
            assert_sound(follower.session)


ODD_ONES = [encoded(one) for one in (*gemini_records(), cursor_step(1, 1, "go", {"type": "text", "text": "x"}))]


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=mutated(ODD_ONES))
def test_damaged_requests_of_google_and_steps_of_cursor_fail_nothing(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"\n".join([*ODD_ONES, *ODD_ONES, data, b""]))
    assert_sound(open_session(path))


def test_neither_hosts_nor_headers_are_in_what_is_shown_of_a_record(tmp_path: Path) -> None:
    for session in (lines_of(records(3), tmp_path), in_database(records(3), tmp_path)):
        shown = b"".join(session.texts.record(block) for block in session.blocks)
        assert b"go on" in shown
        assert b"secret" not in shown
        assert b"Bearer" not in shown


def test_a_part_that_is_missing_costs_that_part_and_is_reported(tmp_path: Path) -> None:
    made = [one for one in statements(records(3)) if "record_blobs" not in one[0] or "turn 0" not in str(one[1])]
    session = opened(databases.created(tmp_path / "traces.sqlite3", TABLES, *made))
    assert {diagnostic.reason for diagnostic in session.diagnostics} == {"part of the record is missing"}
    assert len(session.calls) == 3


def test_sessions_of_a_database_are_listed_newest_first_without_those_in_which_nothing_happened(
    tmp_path: Path,
) -> None:
    made = [
        *statements(records(1), "old", minute=1),
        *statements(records(2), "new", "codex", minute=9),
        *statements([], "empty", minute=20),
    ]
    path = databases.created(tmp_path / "traces.sqlite3", TABLES, *made)
    listed = ClaudeTapFormat().contained_sessions(path)
    assert [(one.identifier, one.title) for one in listed] == [("new", "first of new"), ("old", "first of old")]
    assert opened(path).identifier == "new"
    assert len(open_session(tmp_path / "traces.sqlite3#old").calls) == 1
    assert {header.identifier for header in sessions_in(tmp_path)} == {"new", "old"}
    with pytest.raises(SessionError, match="no session gone"):
        open_session(tmp_path / "traces.sqlite3#gone")


def test_a_database_that_grows_is_read_on_and_one_whose_rows_change_is_reread(tmp_path: Path) -> None:
    path = tmp_path / "traces.sqlite3"
    write(path, 2)
    follower = Follower(path)
    before = follower.session
    write(path, 5)
    follower.poll()
    assert follower.session == open_session(path)
    assert follower.session.messages[0] is before.messages[0]
    changed = record({**records(1)[0]["request"]["body"], "system": "You are another."}, message(0, "said anew"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE records SET payload_json = ? WHERE record_index = 1", (json.dumps(changed),))
    follower.poll()
    assert ("assistant", ["said anew", '{"command":"ls"}']) in said(follower.session)
    assert follower.session == open_session(path)
    assert_sound(follower.session)


def test_a_row_that_holds_no_record_is_reported_with_its_number(tmp_path: Path) -> None:
    broken = {"session_id": "s1", "record_index": 7, "payload_json": '{"request": {"pa'}
    path = databases.created(
        tmp_path / "traces.sqlite3", TABLES, *statements(records(2)), databases.insert("records", broken)
    )
    session = opened(path)
    assert [(note.reason, note.line) for note in session.diagnostics] == [("not a record", 7)]
    assert (session.skipped_records, len(session.calls)) == (1, 2)


def test_a_database_of_an_older_version_keeps_whole_records(tmp_path: Path) -> None:
    tables = TABLES.partition("CREATE TABLE record_blobs")[0]
    made = [one for one in statements(records(2)) if "record_blobs" not in one[0]]
    for number, one in enumerate(records(2), 1):
        place = next(at for at, (_, values) in enumerate(made) if values[:2] == ("s1", number))
        row = {"session_id": "s1", "record_index": number, "turn": number, "payload_json": written(one)}
        made[place] = databases.insert("records", row)
    session = opened(databases.created(tmp_path / "traces.sqlite3", tables, *made))
    assert said(session) == said(lines_of(records(2), tmp_path))


def test_the_database_is_found_where_the_program_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("CLOUDTAP_DB", raising=False)
    database = ClaudeTapFormat().homes()[0]
    assert database == tmp_path / "claude-tap" / "traces.sqlite3"
    database.parent.mkdir()
    tap_store.write(database, 2)
    assert [header.format for header in sessions_in(database)] == ["claude-tap"]
    monkeypatch.setenv("CLOUDTAP_DB", "~/elsewhere.db")
    assert ClaudeTapFormat().homes()[0].name == "elsewhere.db"
