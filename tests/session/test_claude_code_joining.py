"""Joining of lines into messages, calls and contexts."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from inspector.session.formats.claude_code import ClaudeCodeFormat
from inspector.session.model import BlockKind, ContextCause, Media, Role, Session, Usage
from inspector.session.open import open_session
from tests.session.claude_lines import Script, outline, png, prompt_texts, texts

USAGE = {"input_tokens": 3, "output_tokens": 20, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def opened(script: Script, file: Path) -> Session:
    return open_session(script.write(file))


def test_lines_of_one_response_are_one_message_though_results_are_between(file: Path) -> None:
    script = Script()
    script.prompt("go")
    script.text("m1", "Looking.")
    script.call("m1", "t1")
    script.result("t1", "one")
    script.call("m1", "t2")
    script.result("t2", "two")
    script.text("m2", "Done.")
    session = opened(script, file)
    assert outline(session) == [
        ("user", ["go"]),
        ("assistant", ["Looking.", '{"command":"t1"}', '{"command":"t2"}']),
        ("user", ["one", "two"]),
        ("assistant", ["Done."]),
    ]
    assert len(session.calls) == 2
    assert prompt_texts(session, 0) == ["go"]
    assert prompt_texts(session, 1) == ["go", "Looking.", '{"command":"t1"}', '{"command":"t2"}', "one", "two"]


def test_everything_between_two_responses_is_one_user_message_in_order(file: Path) -> None:
    script = Script()
    script.prompt("go")
    script.call("m1", "t1")
    script.result("t1", "one")
    script.attachment("hook_additional_context", hookName="PostToolUse:Bash", content=["careful"])
    script.prompt("and this", isMeta=True)
    script.text("m2")
    session = opened(script, file)
    assert texts(session, 2) == [
        "one",
        "<system-reminder>\nPostToolUse:Bash hook additional context: careful\n</system-reminder>",
        "and this",
    ]
    assert session.messages[2].role is Role.USER
    assert not session.messages[2].is_meta


def test_a_message_is_meta_only_when_all_of_it_was_injected(file: Path) -> None:
    script = Script()
    script.attachment("date_change", newDate="2026-03-02")
    script.text("m1")
    script.attachment("date_change", newDate="2026-03-03")
    script.prompt("typed")
    session = opened(script, file)
    assert [message.is_meta for message in session.messages] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "is_meta"),
    [
        ("<local-command-stdout>done</local-command-stdout>", True),
        ("<task-notification>\n<task-id>b1</task-id>", True),
        ("[Request interrupted by user for tool use]", True),
        ("<command-name>/clear</command-name>", False),
        ("<bash-input>ls</bash-input>", False),
        ("look at <system-reminder>", False),
    ],
)
@pytest.mark.parametrize("is_list", [False, True])
def test_texts_of_the_program_are_reported_without_a_mark(file: Path, text: str, is_meta: bool, is_list: bool) -> None:
    script = Script()
    script.text("m1")
    if is_list:
        script.user({"type": "text", "text": text})
    else:
        script.prompt(text)
    assert opened(script, file).messages[1].is_meta is is_meta


def test_the_last_line_tells_a_responses_usage(file: Path) -> None:
    script = Script()
    script.prompt("go")
    script.text("m1", "Part one", usage={**USAGE, "output_tokens": 2})
    script.text("m1", " and part two", usage=USAGE)
    session = opened(script, file)
    assert [call.usage for call in session.calls] == [
        Usage(uncached=3, cache_read=100, cache_write_5m=7, cache_write_1h=0, output=20)
    ]


def test_usage_that_an_interrupted_stream_reset_does_not_count(file: Path) -> None:
    script = Script()
    script.text("m1", usage=USAGE)
    script.text("m1", usage={"input_tokens": None, "output_tokens": None})
    usage = opened(script, file).calls[0].usage
    assert usage is not None
    assert usage.output == 20


def test_cache_writes_are_split_by_lifetime(file: Path) -> None:
    script = Script()
    creation = {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 5}
    script.text("m1", usage={**USAGE, "cache_creation": creation})
    usage = opened(script, file).calls[0].usage
    assert usage is not None
    assert (usage.cache_write_5m, usage.cache_write_1h, usage.prompt) == (2, 5, 110)


@pytest.mark.parametrize(
    ("version", "output", "characters", "is_placeholder"),
    [
        ("2.1.210", 20, 60, False),
        ("2.1.210", 1, 60, True),
        ("2.1.40", 5, 40, True),
        ("2.1.20", 4, 10, True),
        ("2.1.20", 40, 100, False),
        ("2.1.7", 4, 10, False),
    ],
)
def test_output_that_cannot_be_the_responses_size_is_marked(
    file: Path, version: str, output: int, characters: int, is_placeholder: bool
) -> None:
    script = Script(version=version)
    script.text("m1", "x" * characters, usage={**USAGE, "output_tokens": output})
    usage = opened(script, file).calls[0].usage
    assert usage is not None
    assert usage.output_is_placeholder is is_placeholder


def test_usage_of_zeros_is_no_usage(file: Path) -> None:
    script = Script()
    script.text("m1", usage={"input_tokens": 0, "output_tokens": 0})
    assert opened(script, file).calls[0].usage is None


def test_messages_the_program_wrote_are_shown_and_never_sent(file: Path) -> None:
    script = Script()
    script.prompt("go")
    error = {"id": "x", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]}
    script.add(type="assistant", message=error, isApiErrorMessage=True)
    script.prompt("again")
    script.text("m1")
    session = opened(script, file)
    assert [message.is_synthetic for message in session.messages] == [False, True, False, False]
    assert len(session.calls) == 1
    assert prompt_texts(session, 0) == ["go", "again"]


def test_an_id_used_again_by_a_later_response_is_another_response(file: Path) -> None:
    script = Script()
    script.prompt("one")
    script.text("same", "first", requestId="")
    script.prompt("two")
    script.text("other", "second", requestId="")
    script.prompt("three")
    script.text("same", "third", requestId="")
    session = opened(script, file)
    assert [texts(session, call.response) for call in session.calls] == [["first"], ["second"], ["third"]]


def test_rows_appended_again_are_ignored(file: Path) -> None:
    script = Script()
    script.prompt("go")
    script.text("m1", usage=USAGE)
    script.write(file)
    once = open_session(file)
    file.write_bytes(b"".join(script.encoded() * 2))
    twice = open_session(file)
    assert twice.messages == once.messages
    assert twice.calls == once.calls
    assert twice.record_counts == {"user": 1, "assistant": 1, "(repeated)": 2}
    assert ClaudeCodeFormat().is_bookkeeping("(repeated)")


def test_what_the_program_keeps_for_its_own_screen_is_not_counted(file: Path) -> None:
    script = Script()
    script.call("m1", "t1")
    script.result("t1", "short", toolUseResult={"stdout": "x" * 10_000, "usage": {"output_tokens": 9_999}})
    nested = {"type": "assistant", "message": {"id": "inner", "content": [], "usage": {"output_tokens": 9_999}}}
    script.add(type="progress", data={"type": "agent_progress", "message": nested})
    session = opened(script, file)
    assert [block.characters for block in session.blocks] == [16, 5]
    assert len(session.calls) == 1
    assert session.record_counts["progress"] == 1


def test_unknown_records_are_shown_and_bookkeeping_is_counted(file: Path) -> None:
    script = Script()
    script.prompt("go")
    script.add(type="file-history-snapshot", messageId="x", snapshot={})
    script.add(type="hologram", brightness=11)
    script.add(type="system", subtype="api_error", error={"message": "overloaded"})
    script.add(type="system", subtype="turn_duration", durationMs=5)
    session = opened(script, file)
    assert [message.role.value for message in session.messages] == ["user", "other", "other"]
    assert [block.kind for block in session.blocks] == [BlockKind.USER_TEXT, BlockKind.OTHER, BlockKind.OTHER]
    assert json.loads(texts(session, 1)[0])["brightness"] == 11
    assert "overloaded" in texts(session, 2)[0]
    assert session.record_counts == {
        "user": 1,
        "file-history-snapshot": 1,
        "hologram": 1,
        "system:api_error": 1,
        "system:turn_duration": 1,
    }


def test_attachments_are_counted_by_type_and_those_left_out_are_named(file: Path) -> None:
    script = Script()
    script.attachment("task_reminder", content=[])
    script.attachment("command_permissions", allowedTools=[])
    script.add(type="attachment", attachment=["broken"])
    session = opened(script, file)
    assert session.record_counts == {
        "attachment:task_reminder": 1,
        "attachment:command_permissions": 1,
        "attachment": 1,
    }
    ignored = [name for name in session.record_counts if ClaudeCodeFormat().is_bookkeeping(name)]
    assert ignored == ["attachment:command_permissions"]


@pytest.mark.parametrize("time", [1_772_359_200, 1_772_359_200.0, 1_772_359_200_000, "2026-03-01T10:00:00Z"])
def test_times_in_any_form_are_read(file: Path, time: object) -> None:
    script = Script()
    script.prompt("go", timestamp=time)
    session = opened(script, file)
    assert session.messages[0].time == 1_772_359_200
    assert session.diagnostics == ()


def test_parts_of_unknown_types_are_kept_as_json(file: Path) -> None:
    script = Script()
    script.block("m1", {"type": "dream", "depth": 3})
    script.call("m2", "t1")
    script.result("t1", [{"type": "text", "text": "a"}, {"type": "smell", "of": "coffee"}])
    session = opened(script, file)
    assert json.loads(session.text(session.blocks[0])) == {"type": "dream", "depth": 3}
    assert session.text(session.blocks[2]) == 'a\n{"type":"smell","of":"coffee"}'


def test_tools_that_run_at_the_provider_are_calls_and_results(file: Path) -> None:
    script = Script()
    script.block("m1", {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}})
    found = {"type": "web_search_result", "title": "T", "url": "u"}
    script.block("m1", {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found]})
    script.block("m1", {"type": "code_execution_tool_result", "tool_use_id": "s1", "content": {"type": "r", "out": 4}})
    session = opened(script, file)
    assert [block.kind for block in session.blocks] == [BlockKind.TOOL_CALL] + [BlockKind.TOOL_RESULT] * 2
    assert [block.tool_name for block in session.blocks] == ["web_search"] * 3
    assert json.loads(session.text(session.blocks[1])) == found
    assert json.loads(session.text(session.blocks[2])) == {"type": "r", "out": 4}


def test_thinking_keeps_the_length_of_its_signature(file: Path) -> None:
    script = Script()
    script.block("m1", {"type": "thinking", "thinking": "", "signature": "s" * 400})
    script.block("m1", {"type": "redacted_thinking", "data": "d" * 300})
    blocks = opened(script, file).blocks
    assert [(block.kind, block.characters, block.signature_characters) for block in blocks] == [
        (BlockKind.THINKING, 0, 400),
        (BlockKind.THINKING, 0, 300),
    ]


def image(data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def test_screenshots_inside_results_are_media_and_differ(file: Path) -> None:
    script = Script()
    script.call("m1", "t1")
    script.result("t1", [image(png(640, 480))])
    script.call("m2", "t2")
    script.result("t2", [{"type": "text", "text": "shot"}, image(png(800, 600))])
    script.call("m3", "t3")
    script.result("t3", [image(png(641, 480))])
    session = opened(script, file)
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    size = len(base64.b64decode(png(1, 1)))
    assert [block.media for block in results] == [
        (Media("image/png", size, 640, 480),),
        (Media("image/png", size, 800, 600),),
        (Media("image/png", size, 641, 480),),
    ]
    assert [session.text(block) for block in results] == ["", "shot", ""]
    assert results[0].digest != results[2].digest
    assert not any(block.plain_text for block in results)


def test_documents_of_plain_text_have_their_text(file: Path) -> None:
    script = Script()
    source = {"type": "text", "media_type": "text/plain", "data": 'quoted "text"'}
    script.user({"type": "document", "source": source})
    session = opened(script, file)
    assert session.blocks[0].kind is BlockKind.DOCUMENT
    assert session.text(session.blocks[0]) == 'quoted "text"'


def test_a_subagent_inside_the_file_has_a_thread_of_its_own(file: Path) -> None:
    script = Script()
    script.prompt("main")
    main = script.call("m1", "t1", "Task")
    script.parent = None
    script.prompt("explore", isSidechain=True)
    side = script.call("s1", "t2", isSidechain=True)
    script.result("t2", "found", isSidechain=True)
    script.parent = None
    script.prompt("another", isSidechain=True)
    script.parent = side
    script.text("s2", "report", isSidechain=True)
    script.parent = main
    script.result("t1", "report")
    script.text("m2", "thanks")
    session = opened(script, file)
    assert [message.thread for message in session.messages] == [0, 0, 1, 1, 1, 2, 1, 0, 0]
    assert prompt_texts(session, 2) == ["explore", '{"command":"t2"}', "found"]
    assert prompt_texts(session, 3) == ["main", '{"command":"t1"}', "report"]


def test_the_file_of_a_subagent_is_its_own_main_conversation(file: Path) -> None:
    script = Script()
    script.prompt("explore", isSidechain=True, agentId="a1")
    script.text("s1", isSidechain=True, agentId="a1")
    script.prompt("nested", isSidechain=True, agentId="a2")
    session = opened(script, file)
    assert [message.thread for message in session.messages] == [0, 0, 1]


def test_a_compaction_begins_a_context_with_its_summary(file: Path) -> None:
    script = Script()
    script.prompt("old")
    script.text("m1", "older")
    script.boundary(trigger="manual", preTokens=155_000, postTokens=9_000)
    script.summary("in short")
    script.attachment("compact_file_reference", filename="a.py")
    script.text("m2", "on with it")
    session = opened(script, file)
    assert [(context.cause, context.members, context.retained) for context in session.contexts] == [
        (ContextCause.START, (0, 1), 0),
        (ContextCause.COMPACTION, (2, 3, 4), 0),
    ]
    (compaction,) = session.compactions
    assert (compaction.message, compaction.trigger, compaction.tokens_before, compaction.tokens_after) == (
        2,
        "manual",
        155_000,
        9_000,
    )
    assert [message.is_summary for message in session.messages] == [False, False, True, False, False]
    assert prompt_texts(session, 1)[0] == "in short"


def test_messages_a_compaction_kept_follow_the_summary(file: Path) -> None:
    script = Script()
    script.prompt("old")
    script.text("m1", "older")
    kept = [script.prompt("recent"), script.text("m2", "kept answer")]
    script.boundary(preservedMessages={"anchorUuid": "summary", "uuids": kept, "allUuids": kept})
    script.summary("in short")
    script.prompt("next")
    script.text("m3")
    session = opened(script, file)
    assert prompt_texts(session, 2) == ["in short", "recent", "kept answer", "next"]
    assert session.contexts[1].retained == 3
    assert session.diagnostics == ()


def test_messages_kept_as_a_segment_before_the_summary_stay_before_it(file: Path) -> None:
    script = Script()
    head = script.prompt("first")
    tail = script.text("m1", "answer")
    script.prompt("rest")
    script.text("m2")
    anchor = f"{len(script.lines):08x}-0000-4000-8000-000000000000"
    script.boundary(preservedSegment={"headUuid": head, "anchorUuid": anchor, "tailUuid": tail})
    script.summary("in short")
    script.text("m3")
    session = opened(script, file)
    assert prompt_texts(session, 2) == ["first", "answer", "in short"]
    assert session.contexts[1].retained == 2


def test_kept_messages_of_another_file_are_a_visible_diagnostic(file: Path) -> None:
    script = Script()
    script.boundary(preservedMessages={"anchorUuid": "a", "uuids": ["elsewhere"], "allUuids": ["elsewhere"]})
    script.summary("in short")
    script.text("m1")
    session = opened(script, file)
    assert prompt_texts(session, 0) == ["in short"]
    assert [(note.line, note.skipped) for note in session.diagnostics] == [(1, False)]
    assert session.skipped_records == 0


def test_a_summary_without_a_boundary_is_a_compaction_too(file: Path) -> None:
    script = Script()
    script.prompt("old")
    script.text("m1")
    script.summary("in short")
    script.text("m2")
    session = opened(script, file)
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.COMPACTION]
    assert [compaction.message for compaction in session.compactions] == [2]
    assert prompt_texts(session, 1) == ["in short"]


def test_a_partial_compaction_goes_on_in_the_same_context(file: Path) -> None:
    script = Script()
    script.call("m1", "t1")
    script.result("t1", "long")
    details = {"trigger": "auto", "preTokens": 80_000, "tokensSaved": 9_000, "compactedToolIds": ["t1"]}
    script.add(type="system", subtype="microcompact_boundary", microcompactMetadata=details)
    script.text("m2")
    session = opened(script, file)
    assert len(session.contexts) == 1
    (compaction,) = session.compactions
    assert compaction.is_partial
    assert (compaction.message, compaction.cleared_tool_call_ids, compaction.tokens_saved) == (2, ("t1",), 9_000)


def test_a_partial_compaction_of_no_results_is_none(file: Path) -> None:
    script = Script()
    script.prompt("go")
    script.text("m1")
    details = {"trigger": "auto", "preTokens": 5, "tokensSaved": 0, "compactedToolIds": []}
    for cleared in ([], ["00000000-0000-4000-8000-000000000000"]):
        metadata = {**details, "clearedAttachmentUUIDs": cleared}
        script.add(type="system", subtype="microcompact_boundary", microcompactMetadata=metadata)
    script.text("m2")
    session = opened(script, file)
    assert session.compactions == ()
    assert len(session.contexts) == 1
    (said,) = session.diagnostics
    assert (said.line, said.skipped) == (4, False)


def test_a_segment_that_was_kept_holds_nothing_of_a_branch_left_before(file: Path) -> None:
    script = Script()
    script.prompt("go")
    fork = script.text("m1", "answer")
    script.prompt("wrong turn")
    script.text("m2", "wrong answer")
    script.parent = fork
    script.prompt("right turn")
    last = script.text("m3", "right answer")
    script.boundary(preservedSegment={"headUuid": fork, "tailUuid": last, "anchorUuid": ""})
    script.summary("so far")
    script.text("m4")
    assert prompt_texts(opened(script, file), 3) == ["so far", "answer", "right turn", "right answer"]


def test_content_that_is_one_part_is_read_like_a_list_of_it(file: Path) -> None:
    script = Script()
    script.add(type="user", message={"role": "user", "content": {"type": "text", "text": "go"}})
    session = opened(script, file)
    assert outline(session) == [("user", ["go"])]
    assert session.diagnostics == ()


def test_a_rewind_leaves_a_branch_and_begins_a_context(file: Path) -> None:
    script = Script()
    script.prompt("go")
    fork = script.text("m1", "answer")
    script.prompt("wrong turn")
    script.text("m2", "wrong answer")
    script.parent = fork
    script.prompt("right turn")
    script.text("m3", "right answer")
    session = opened(script, file)
    assert [message.is_abandoned for message in session.messages] == [False, False, True, True, False, False]
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.REWIND]
    assert session.contexts[1].retained == 2
    assert prompt_texts(session, 1) == ["go", "answer", "wrong turn"]
    assert prompt_texts(session, 2) == ["go", "answer", "right turn"]


def test_a_prompt_edited_before_any_answer_is_a_message_of_its_own(file: Path) -> None:
    script = Script()
    fork = script.text("m1", "hello")
    script.prompt("typo")
    script.parent = fork
    script.prompt("corrected")
    script.text("m2")
    session = opened(script, file)
    assert prompt_texts(session, 1) == ["hello", "corrected"]
    assert [message.is_abandoned for message in session.messages] == [False, True, False, False]


def test_going_back_to_a_branch_takes_it_up_again(file: Path) -> None:
    script = Script()
    fork = script.text("m0", "hello")
    script.prompt("a")
    on_a = script.text("m1", "a answer")
    script.parent = fork
    script.prompt("b")
    script.text("m2", "b answer")
    script.parent = on_a
    script.prompt("more of a")
    script.text("m3", "a again")
    session = opened(script, file)
    assert prompt_texts(session, 3) == ["hello", "a", "a answer", "more of a"]
    assert [index for index, message in enumerate(session.messages) if message.is_abandoned] == [3, 4]


def test_a_rewind_to_before_a_compaction_undoes_it(file: Path) -> None:
    script = Script()
    script.prompt("go")
    fork = script.text("m1", "answer")
    script.prompt("long way")
    script.text("m2")
    script.boundary()
    script.summary("in short")
    script.text("m3")
    script.parent = fork
    script.prompt("short way")
    script.text("m4")
    session = opened(script, file)
    assert prompt_texts(session, 3) == ["go", "answer", "short way"]


def test_a_rewind_after_a_compaction_keeps_its_summary(file: Path) -> None:
    script = Script()
    script.prompt("go")
    script.text("m1")
    script.boundary()
    script.summary("in short")
    fork = script.text("m2", "on with it")
    script.prompt("wrong")
    script.text("m3")
    script.parent = fork
    script.prompt("right")
    script.text("m4")
    session = opened(script, file)
    assert prompt_texts(session, 3) == ["in short", "on with it", "right"]


def test_parallel_results_and_notifications_are_no_branches(file: Path) -> None:
    script = Script()
    script.prompt("go")
    script.call("m1", "t1")
    fork = script.call("m1", "t2")
    script.result("t1", "one")
    script.parent = fork
    script.result("t2", "two")
    script.parent = fork
    script.prompt("<task-notification>one</task-notification>")
    script.parent = fork
    script.prompt("<task-notification>two</task-notification>")
    session = opened(script, file)
    assert not any(message.is_abandoned for message in session.messages)
    assert len(session.contexts) == 1


def test_a_resumed_session_says_what_it_inherited(tmp_path: Path) -> None:
    script = Script()
    script.prompt("old", sessionId="99999999-2222-4333-8444-555555555555")
    script.text("m1", sessionId="99999999-2222-4333-8444-555555555555")
    script.prompt("new")
    session = open_session(script.write(tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"))
    assert [message.is_inherited for message in session.messages] == [True, True, False]
    assert session.identifier == "11111111-2222-4333-8444-555555555555"


def test_a_summary_is_a_title_only_of_the_session_that_holds_its_line(file: Path) -> None:
    def title(*leaves: str, **later: str) -> str:
        script = Script()
        for leaf in leaves:
            script.lines.append({"type": "summary", "summary": f"about {leaf}", "leafUuid": leaf})
        script.prompt("go", uuid="first")
        script.text("m1", uuid="second")
        if later:
            script.lines.append({"sessionId": "s", **later})
        return opened(script, file).title

    assert title("elsewhere") == ""
    assert title("elsewhere", "first") == "about first"
    assert title("second", "first") == "about second"
    assert title("first", type="ai-title", aiTitle="better") == "better"
    assert title(type="summary", summary="later", leafUuid="second") == "later"
    assert title("first", type="summary", summary="of another", leafUuid="elsewhere") == "about first"


def test_titles_version_and_folder_come_from_the_lines(file: Path) -> None:
    script = Script(version="2.1.62")
    script.add(type="ai-title", aiTitle="Guess")
    script.prompt("go", cwd="/home/me/project")
    script.add(type="custom-title", customTitle="Named")
    script.add(type="ai-title", aiTitle="Another guess")
    session = opened(script, file)
    assert session.title == "Named"
    assert session.agent == "Claude Code 2.1.62"
    assert session.working_directory == "/home/me/project"
    assert session.window is None


@pytest.mark.parametrize(
    ("attachment", "text"),
    [
        ({"type": "edited_text_file", "filename": "a.py", "snippet": "1\tx"}, "Note: a.py was modified"),
        ({"type": "nested_memory", "path": "/p/CLAUDE.md", "content": {"content": "Be kind."}}, "Be kind."),
        ({"type": "file", "filename": "b.py", "content": {"type": "text", "file": {"content": "code"}}}, "code"),
        ({"type": "queued_command", "prompt": [{"type": "text", "text": "also this"}]}, "also this"),
        ({"type": "task_reminder", "content": [{"id": 1, "status": "pending", "subject": "Write"}]}, "[pending] Write"),
        ({"type": "brand_new", "message": "unheard of"}, "unheard of"),
    ],
)
def test_attachments_enter_the_context_as_text(file: Path, attachment: dict[str, Any], text: str) -> None:
    script = Script()
    script.add(type="attachment", attachment=attachment)
    script.text("m1")
    session = opened(script, file)
    (sent,) = prompt_texts(session, 0)
    assert text in sent
    assert sent.startswith("<system-reminder>")


def test_images_that_were_attached_are_media(file: Path) -> None:
    script = Script()
    attached = {"type": "image", "file": {"base64": png(30, 40), "type": "image/png"}}
    script.attachment("file", filename="shot.png", content=attached)
    script.attachment("queued_command", prompt=[{"type": "text", "text": "look"}, image(png(50, 60))])
    script.text("m1")
    session = opened(script, file)
    assert [[(one.width, one.height) for one in block.media] for block in session.blocks[:2]] == [
        [(30, 40)],
        [(50, 60)],
    ]
    assert "look" in session.text(session.blocks[1])
    assert not session.messages[0].is_meta


@pytest.mark.parametrize("kind", ["hook_system_message", "hook_non_blocking_error", "command_permissions", "auto_mode"])
def test_attachments_for_the_screen_are_not_sent(file: Path, kind: str) -> None:
    script = Script()
    script.prompt("go")
    script.attachment(kind, hookName="Stop", content="noted", stderr="failed")
    script.text("m1")
    assert prompt_texts(opened(script, file), 0) == ["go"]


def test_what_a_headless_run_prints_is_read_too(file: Path) -> None:
    def line(kind: str, **fields: Any) -> str:
        return json.dumps({"type": kind, "session_id": "s", **fields}) + "\n"

    answer = {"id": "m1", "role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "Hi."}]}
    side = {"id": "m2", "role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "Aside."}]}
    file.write_text(
        line("system", subtype="init", cwd="/project", tools=[])
        + line("user", message={"role": "user", "content": "hello"}, parent_tool_use_id=None, uuid="a")
        + line("assistant", message=answer, parent_tool_use_id=None, uuid="b")
        + line("assistant", message=side, parent_tool_use_id="t1", uuid="c")
        + line("result", total_cost_usd=0.1, num_turns=1)
    )
    session = open_session(str(file))
    assert [(message.role.value, message.thread) for message in session.messages] == [
        ("user", 0),
        ("assistant", 0),
        ("assistant", 1),
        ("other", 0),
    ]
    assert len(session.calls) == 2


def test_a_printed_stream_is_reported_where_most_of_it_are_parts_of_responses(tmp_path: Path) -> None:
    known = {"session_id": "s", "uuid": "u", "parent_tool_use_id": None}
    events = [{"type": "stream_event", "event": {"type": "content_block_delta"}, **known}] * 60
    answer = {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "done"}]}
    lines = [
        {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/project", "tools": ["Bash"]},
        *events,
        {"type": "assistant", "message": answer, **known, "uuid": "v"},
        {"type": "result", "subtype": "success", "session_id": "s", "usage": {"output_tokens": 7}},
    ]
    path = tmp_path / "stream.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    session = open_session(path)
    assert session.format == "claude-code"
    assert len(session.calls) == 1
    short = tmp_path / "short.jsonl"
    short.write_text("".join(json.dumps(line) + "\n" for line in (lines[0], lines[-1])))
    assert open_session(short).format == "claude-code"
