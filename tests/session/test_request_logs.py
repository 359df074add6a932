"""Request logs: conversations rebuilt from repeated requests, streams, compactions, and small side calls."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.session.model import BlockKind, ContextCause, Role, Session, Usage
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.session.run_files import Record, encoded, exchange, jsonl, log_of_requests, stream
from tests.session.soundness import assert_sound

CONTINUED = "This session is being continued from a previous conversation that ran out of context. Summary: …"


def opened(records: list[Record], folder: Path) -> Session:
    path = folder / "log.jsonl"
    path.write_bytes(jsonl(records))
    session = open_session(path)
    assert session.format == "claude-trace"
    assert_sound(session)
    return session


def prompt(session: Session, call: int) -> list[str]:
    made = session.calls[call]
    members = session.contexts[made.context].members[: made.prompt_messages]
    return [session.text(block) for index in members for block in session.messages[index].blocks]


def test_requests_that_repeat_the_conversation_are_one_conversation(tmp_path: Path) -> None:
    session = opened(log_of_requests(4), tmp_path)
    assert len(session.contexts) == 1
    assert [call.prompt_messages for call in session.calls] == [2, 4, 6, 8]
    assert [call.usage for call in session.calls] == [
        Usage(uncached=turn + 1, cache_read=40, cache_write_5m=7, output=33) for turn in range(4)
    ]
    kinds = [block.kind for block in session.blocks]
    assert (kinds.count(BlockKind.TOOL_CALL), kinds.count(BlockKind.TOOL_RESULT)) == (4, 3)
    assert session.calls[0].model == "claude-x"


def test_a_stream_that_was_cut_off_gives_what_came(tmp_path: Path) -> None:
    whole = stream("m0", "a long answer", 5)
    session = opened([exchange([{"role": "user", "content": "go"}], whole[: whole.index("partial_json")])], tmp_path)
    (call,) = session.calls
    blocks = session.messages[call.response].blocks
    assert session.text(blocks[0]) == "a long answer"
    assert call.usage is not None
    assert (call.usage.uncached, call.usage.output) == (5, 1)


def test_a_system_text_that_counts_requests_breaks_nothing(tmp_path: Path) -> None:
    lines = log_of_requests(3)
    for number, line in enumerate(lines):
        counted = {"type": "text", "text": f"x-anthropic-billing-header: cc_version=2; cch={number};"}
        line["request"]["body"]["system"] = [counted, {"type": "text", "text": "You help."}]
    session = opened(lines, tmp_path)
    assert [context.cause for context in session.contexts] == [ContextCause.START]


def test_a_prompt_that_differs_before_its_end_begins_a_context_and_repeats_no_message(tmp_path: Path) -> None:
    lines = json.loads(json.dumps(log_of_requests(4)))
    for line in lines[2:]:
        line["request"]["body"]["messages"][2]["content"][0]["content"] = "cleared"
    session = opened(lines, tmp_path)
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.REWIND]
    assert "cleared" in prompt(session, 2)
    assert "file0" not in prompt(session, 2)
    assert len([text for text in map(session.text, session.blocks) if text == "turn 1"]) == 1


def test_a_conversation_that_goes_on_with_a_summary_was_compacted(tmp_path: Path) -> None:
    lines = [*log_of_requests(3), exchange([{"role": "user", "content": CONTINUED}], stream("m9", "again", 2), 9)]
    session = opened(lines, tmp_path)
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.COMPACTION]
    (compaction,) = session.compactions
    assert prompt(session, 3)[-1] == CONTINUED
    summaries = [message for message in session.messages if message.is_summary]
    assert [session.text(message.blocks[0]) for message in summaries] == [CONTINUED]
    assert {message.thread for message in session.messages} == {0}
    assert compaction.message < session.calls[-1].response


def test_a_summary_of_any_program_is_known_by_the_answer_it_repeats(tmp_path: Path) -> None:
    summary = "".join(f"fact {number} of the work. " for number in range(40))
    lines = log_of_requests(2)
    asked = [*lines[-1]["request"]["body"]["messages"], {"role": "user", "content": "Summarize."}]
    lines.append(exchange(asked, {"role": "assistant", "content": [{"type": "text", "text": summary}]}))
    lines.append(exchange([{"role": "user", "content": f"So far: {summary}"}], stream("m9", "again", 2)))
    session = opened(lines, tmp_path)
    assert len(session.compactions) == 1


SUMMARY = {"type": "compaction", "content": "what was done so far"}


def compacted(as_stream: bool) -> list[Record]:
    """A log in which the API compacts at the third request; the fourth repeats everything before it all the same."""
    lines = log_of_requests(2)
    asked = log_of_requests(3)[-1]["request"]["body"]["messages"]
    said = {"type": "text", "text": "after it"}
    usage = {
        "input_tokens": 7,
        "output_tokens": 5,
        "iterations": [
            {"type": "compaction", "input_tokens": 900, "output_tokens": 60},
            {"type": "message", "input_tokens": 7, "output_tokens": 5},
        ],
    }
    message = {"id": "m2", "role": "assistant", "model": "claude-x", "content": [SUMMARY, said], "usage": usage}
    events = [
        {"type": "message_start", "message": {**message, "content": [], "usage": {"input_tokens": 7}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": None}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "compaction_delta", "content": SUMMARY["content"]},
        },
        {"type": "content_block_start", "index": 1, "content_block": said},
        {"type": "message_delta", "delta": {}, "usage": usage},
    ]
    streamed = "".join(f"data: {encoded(one).decode()}\n\n" for one in events)
    later = [*asked, {"role": "assistant", "content": [SUMMARY, said]}, {"role": "user", "content": "and on"}]
    return [*lines, exchange(asked, streamed if as_stream else message), exchange(later, stream("m3", "end", 30))]


@pytest.mark.parametrize("as_stream", [False, True])
def test_a_summary_that_the_api_wrote_represents_everything_before_it(tmp_path: Path, as_stream: bool) -> None:
    session = opened(compacted(as_stream), tmp_path)
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.COMPACTION]
    beside = ['[{"name": "Bash"}]', "You help."]
    assert prompt(session, 3) == [*beside, SUMMARY["content"]], "the answer was written behind the summary"
    assert prompt(session, 4) == [*beside, SUMMARY["content"], "after it", "and on"]
    assert [call.usage for call in session.calls[2:4]] == [Usage(uncached=900, output=60), Usage(uncached=7, output=5)]
    assert prompt(session, 2)[-1] == "file1", "the summary was asked for with all that was there"
    (compaction,) = session.compactions
    assert (session.messages[compaction.message].is_summary, compaction.tokens_before) == (True, 900)
    assert [message.is_summary for message in session.messages].count(True) == 1
    assert "turn 0" in [session.text(block) for block in session.blocks], "what was compacted is shown"


def test_a_client_that_drops_what_was_compacted_goes_on_with_the_same_conversation(tmp_path: Path) -> None:
    lines = compacted(as_stream=False)
    asked = lines[-1]["request"]["body"]["messages"]
    whole = opened(lines, tmp_path)
    lines[-1]["request"]["body"]["messages"] = asked[-2:]
    session = opened(lines, tmp_path)
    assert session.contexts == whole.contexts
    assert prompt(session, 4) == prompt(whole, 4)


def test_a_log_that_begins_after_a_compaction_shows_what_it_repeats_and_sends_it_not(tmp_path: Path) -> None:
    session = opened(compacted(as_stream=False)[-1:], tmp_path)
    assert "turn 0" in [session.text(block) for block in session.blocks]
    assert prompt(session, len(session.calls) - 1)[2:] == [SUMMARY["content"], "after it", "and on"]
    assert len(session.compactions) == 1


def test_a_compaction_that_failed_begins_nothing(tmp_path: Path) -> None:
    lines = compacted(as_stream=False)
    for message in (lines[2]["response"]["body"], lines[3]["request"]["body"]["messages"][-2]):
        message["content"][0] = {"type": "compaction", "content": None}
    session = opened(lines, tmp_path)
    assert [context.cause for context in session.contexts] == [ContextCause.START]
    assert session.compactions == ()


def test_small_requests_of_the_program_are_reported_next_to_the_conversation_under_their_own_names(
    tmp_path: Path,
) -> None:
    def answer(text: str, read: int) -> dict[str, Any]:
        return {"role": "assistant", "content": [{"type": "text", "text": text}], "usage": {"input_tokens": read}}

    asked = [{"role": "user", "content": "go"}]
    title = exchange(asked, answer("A title", 300), model="claude-haiku-4", tools=[], system="Write a short title.")
    prefix = exchange(asked, answer("git", 500), model="claude-haiku-4", tools=[], system="Find the command prefix.")
    quota = exchange(asked, answer("q", 8), model="claude-haiku-4", tools=[], max_tokens=1)
    lines = log_of_requests(2)
    session = opened([quota, title, lines[0], prefix, lines[1]], tmp_path)
    told = [(call.purpose, call.usage.prompt) for call in session.side_calls if call.usage is not None]
    assert told == [("quota", 8), ("title", 300), ("command prefix", 500)]
    assert [session.messages[call.response].thread for call in session.calls] == [0, 0]
    shown = [message for message in session.messages if message.role is Role.OTHER]
    assert [message.blocks[0].preview for message in shown] == ["q", "A title", "git"]


def test_small_calls_and_subagents_are_conversations_of_their_own(tmp_path: Path) -> None:
    title = {"role": "assistant", "content": [{"type": "text", "text": "Blue"}], "usage": {"input_tokens": 3}}
    small = exchange([{"role": "user", "content": "a colour?"}], title, model="claude-haiku-4", tools=[])
    subagent = exchange([{"role": "user", "content": "look for it"}], stream("s1", "found", 2), system="You search.")
    lines = log_of_requests(2)
    session = opened([small, lines[0], subagent, lines[1]], tmp_path)
    threads = [session.messages[call.response].thread for call in session.calls]
    assert threads == [1, 0, 2, 0], "the main conversation is the first one that has tools"


def test_requests_for_something_else_are_counted_and_nothing_more(tmp_path: Path) -> None:
    counting = exchange([{"role": "user", "content": "go"}], {"input_tokens": 5})
    counting["request"]["url"] = "https://api.anthropic.com/v1/messages/count_tokens"
    failed = exchange([{"role": "user", "content": "go on"}], {"type": "error", "error": {"message": "overloaded"}})
    session = opened([counting, failed, *log_of_requests(2)], tmp_path)
    assert session.record_counts["other request"] == 1
    assert session.record_counts["request without a response"] == 1
    assert len(session.calls) == 2
    assert session.skipped_records == 0


def test_answers_of_openais_api_are_read_at_once_or_as_a_stream(tmp_path: Path) -> None:
    chunks: list[dict[str, Any]] = [
        {"id": "x", "model": "gpt-x", "choices": [{"delta": {"role": "assistant", "content": "Hel"}}]},
        {"choices": [{"delta": {"content": "lo"}}]},
        {
            "choices": [
                {"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "ls", "arguments": "{"}}]}}
            ]
        },
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}}]},
        {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 4}},
    ]
    streamed = "".join(f"data: {encoded(chunk).decode()}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    at_once = {"model": "gpt-x", "choices": [{"message": {"role": "assistant", "content": "Hello"}}]}
    address = "https://api.openai.com/v1/chat/completions"
    for answer, calls in ((streamed, 1), (at_once, 0)):
        line = exchange([{"role": "user", "content": "go"}], answer)
        line["request"]["url"] = address
        session = opened([line], tmp_path)
        response = session.messages[session.calls[0].response]
        assert session.text(response.blocks[0]) == "Hello"
        assert len(response.blocks) == 1 + calls


@pytest.mark.parametrize("names", [("reasoning",), ("reasoning_content",), ("reasoning", "reasoning_content")])
def test_what_was_thought_in_a_stream_is_there_once_by_whichever_name_it_goes(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    """OpenRouter and vLLM call it `reasoning`, others `reasoning_content`, some both."""
    deltas = [dict.fromkeys(names, "let me "), dict.fromkeys(names, "see"), {"content": "yes"}]
    chunks = [{"id": "x", "model": "m", "choices": [{"delta": delta}]} for delta in deltas]
    answer = "".join(f"data: {encoded(chunk).decode()}\n\n" for chunk in chunks)
    line = exchange([{"role": "user", "content": "go"}], answer)
    line["request"]["url"] = "https://openrouter.ai/api/v1/chat/completions"
    session = opened([line], tmp_path)
    blocks = session.messages[session.calls[0].response].blocks
    assert [(block.kind, session.text(block)) for block in blocks] == [
        (BlockKind.THINKING, "let me see"),
        (BlockKind.ASSISTANT_TEXT, "yes"),
    ]


def test_calls_that_a_stream_has_at_one_index_are_distinguished_by_their_ids(tmp_path: Path) -> None:
    pieces: list[dict[str, Any]] = [
        {"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{}"}},
        {"index": 0, "id": "b", "function": {"name": "read", "arguments": '{"path":'}},
        {"index": 0, "function": {"arguments": '"x"}'}},
    ]
    chunks = [{"id": "x", "model": "gemini", "choices": [{"delta": {"tool_calls": [piece]}}]} for piece in pieces]
    line = exchange(
        [{"role": "user", "content": "go"}], "".join(f"data: {encoded(chunk).decode()}\n\n" for chunk in chunks)
    )
    line["request"]["url"] = "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"
    session = opened([line], tmp_path)
    calls = session.messages[session.calls[0].response].blocks
    assert [(block.tool_name, block.tool_call_id, session.text(block)) for block in calls] == [
        ("ls", "a", "{}"),
        ("read", "b", '{"path":"x"}'),
    ]


def test_bodies_that_are_in_the_log_as_strings_are_read_the_same(tmp_path: Path) -> None:
    lines = log_of_requests(4)
    odd = 'a "quoted" \\ path\\n\n é ☃ 😀 \x1b[0m'
    for line in lines:
        line["request"]["body"]["messages"][0]["content"] = odd
        line["request"]["body"]["system"] = odd[::-1]
    plain = opened(lines, tmp_path)
    for ensure_ascii in (True, False):
        for line in (texts := json.loads(json.dumps(lines))):
            line["request"]["body"] = json.dumps(line["request"]["body"], ensure_ascii=ensure_ascii)
        session = opened(texts, tmp_path)
        assert [call.usage for call in session.calls] == [call.usage for call in plain.calls]
        for number in range(4):
            assert prompt(session, number) == prompt(plain, number)
        assert odd in prompt(session, 3)


def test_an_answer_that_is_in_the_log_as_a_string_of_json_is_read(tmp_path: Path) -> None:
    usage = {"input_tokens": 3, "output_tokens": 2}
    answer = {"role": "assistant", "content": [{"type": "text", "text": 'so "be" it'}], "usage": usage}
    line = exchange([{"role": "user", "content": "go"}], {})
    line["response"]["body"] = json.dumps(answer)
    session = opened([line], tmp_path)
    assert session.calls[0].usage == Usage(uncached=3, output=2)
    assert session.text(session.messages[session.calls[0].response].blocks[0]) == 'so "be" it'


def test_a_log_is_reported_by_its_content_in_either_form(tmp_path: Path) -> None:
    lines = log_of_requests(2)
    path = tmp_path / "x"
    for data in (jsonl(lines), b"\n\n" + jsonl(lines), encoded(lines)):
        path.write_bytes(data)
        assert detect(path).format.name == "claude-trace"
        assert len(open_session(path).calls) == 2


def test_a_line_that_cannot_be_read_is_named_with_its_place(tmp_path: Path) -> None:
    lines = [encoded(line) + b"\n" for line in log_of_requests(3)]
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines[0] + b'{"request": {"url"\n' + b"[1]\n" + lines[1] + lines[2])
    session = open_session(path)
    assert [(note.line, note.offset, note.reason) for note in session.diagnostics] == [
        (2, len(lines[0]), "invalid JSON"),
        (3, len(lines[0]) + 19, "not a JSON object"),
    ]
    assert (session.skipped_records, len(session.calls)) == (2, 3)


MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def marks(session: Session) -> list[list[tuple[int, str]] | None]:
    return [
        None if call.marks is None else [(mark.blocks, mark.lifetime) for mark in call.marks] for call in session.calls
    ]


def with_marks(turns: int) -> list[Record]:
    """Requests that mark their tools, the second part of their system text for an hour, and their last block."""
    lines = json.loads(json.dumps(log_of_requests(turns)))
    for line in lines:
        body = line["request"]["body"]
        body["tools"] = [{"name": "Bash"}, {"name": "Read", **MARK}]
        body["system"] = [{"type": "text", "text": "You"}, {"type": "text", "text": "help.", **HOUR}]
        last = body["messages"][-1]
        if isinstance(last["content"], str):
            last["content"] = [{"type": "text", "text": last["content"]}]
        last["content"][-1].update(MARK)
    return lines


def test_where_a_request_asks_for_cache_entries_is_kept_of_its_call(tmp_path: Path) -> None:
    session = opened(with_marks(3), tmp_path)
    # Tools are a block, the system text two; a turn adds a text, a call and a result.
    assert marks(session) == [[(1, ""), (3, "1h"), (last, "")] for last in (4, 7, 10)]
    assert len(session.contexts) == 1, "marks that moved change nothing of what is sent"


def test_requests_without_marks_have_none_and_those_no_one_recorded_are_not_known(tmp_path: Path) -> None:
    assert marks(opened(log_of_requests(2), tmp_path)) == [[], []]
    path = tmp_path / "list.json"
    path.write_bytes(encoded(log_of_requests(2)[-1]["request"]["body"]["messages"]))
    assert marks(open_session(path)) == [None]


def test_a_mark_on_the_whole_request_is_behind_its_end_unless_one_is_there(tmp_path: Path) -> None:
    lines = log_of_requests(2)
    for line in lines:
        line["request"]["body"].update(HOUR)
    assert marks(opened(lines, tmp_path)) == [[(3, "1h")], [(6, "1h")]]
    lines = with_marks(1)
    lines[0]["request"]["body"].update(HOUR)
    assert marks(opened(lines, tmp_path)) == [[(1, ""), (3, "1h"), (4, "")]]


def test_a_mark_inside_a_result_or_on_a_message_is_behind_it(tmp_path: Path) -> None:
    lines = log_of_requests(2)
    asked, answer, result = lines[1]["request"]["body"]["messages"]
    result["content"][0]["content"] = [{"type": "text", "text": "file0", **HOUR}]
    lines[1]["request"]["body"]["messages"] = [{**asked, **MARK}, answer, result]
    assert marks(opened(lines, tmp_path))[1] == [(3, ""), (6, "1h")]


def test_marks_of_a_tool_s_message_in_openai_s_form_are_kept(tmp_path: Path) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
    asked = [
        {"role": "system", "content": [{"type": "text", "text": "You help.", **MARK}]},
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": [{"type": "text", "text": "file", **HOUR}]},
    ]
    answer = {"choices": [{"message": {"role": "assistant", "content": "Done."}}]}
    line = exchange(asked, answer, tools=None, system=None)
    line["request"]["url"] = "https://openrouter.ai/api/v1/chat/completions"
    assert marks(opened([line], tmp_path))[-1] == [(1, ""), (4, "1h")]


def test_marks_are_where_they_did_though_reasoning_is_not_sent_again(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    said = {"type": "text", "text": "one"}
    first = {
        "id": "m0",
        "role": "assistant",
        "model": "claude-x",
        "content": [thought, said],
        "usage": {"input_tokens": 9},
    }
    asked = {"role": "user", "content": "go on"}
    again = [asked, {"role": "assistant", "content": [{**said, **MARK}]}, {"role": "user", "content": "more"}]
    session = opened([exchange([asked], first), exchange(again, stream("m1", "two", 3))], tmp_path)
    # Tools, system text, a question, reasoning, and the answer.
    assert marks(session)[1] == [(5, "")]


def test_what_the_api_asks_behind_its_own_summary_has_no_marks_that_are_known(tmp_path: Path) -> None:
    lines = compacted(as_stream=False)
    for line in lines:
        line["request"]["body"].update(MARK)
    assert marks(opened(lines, tmp_path)) == [[(3, "")], [(6, "")], [(9, "")], None, [(5, "")]]


def test_marks_that_are_no_objects_are_none(tmp_path: Path) -> None:
    lines = log_of_requests(1)
    lines[0]["request"]["body"]["messages"] = [
        {"role": "user", "content": [{"type": "text", "text": "go", "cache_control": None}], "cache_control": "yes"}
    ]
    assert marks(opened(lines, tmp_path)) == [[]]


@pytest.mark.parametrize(("options", "marks"), [({"ttl": "12h"}, [(1, "12h"), (3, "12h")]), (None, [(1, "")])])
def test_breakpoints_of_a_chat_request_to_openai_have_the_lifetime_of_its_options(
    tmp_path: Path, options: dict[str, Any] | None, marks: list[tuple[int, str]]
) -> None:
    marked = {"type": "text", "text": "rules", "prompt_cache_breakpoint": {"mode": "explicit"}}
    question = [{"type": "text", "text": "question"}, {"type": "text", "text": "more"}]
    usage = {"prompt_tokens": 2_000, "prompt_tokens_details": {"cache_write_tokens": 1_500}, "completion_tokens": 5}
    request = {
        "model": "gpt-6.2-sol",
        "messages": [{"role": "system", "content": [marked]}, {"role": "user", "content": question}],
        **({} if options is None else {"prompt_cache_options": options}),
    }
    answer = {"choices": [{"message": {"role": "assistant", "content": "yes"}}], "usage": usage}
    path = tmp_path / "log.json"
    path.write_text(json.dumps([{"request": request, "response": answer}]))
    (call,) = open_session(path).calls
    assert [(mark.blocks, mark.lifetime) for mark in call.marks or ()] == marks
    assert call.usage is not None
    assert (call.usage.cache_write_5m, call.usage.cache_write_1h) == ((0, 1_500) if options else (1_500, 0))
