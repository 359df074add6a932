"""Grok Build's sessions: messages in one file, billing in another."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.errors import SessionError
from inspector.session.discovery import sessions_in
from inspector.session.follow import Follower
from inspector.session.formats.grok import MOST_BYTES, GrokFormat
from inspector.session.model import BlockKind, LinkKind, Role, Session, Usage
from inspector.session.open import open_session
from inspector.session.reading_check import independent_totals, totals_of
from tests.examples import examples
from tests.session.grok_lines import GrokScript, grok
from tests.session.mutations import mutated
from tests.session.run_files import encoded, jsonl
from tests.session.soundness import assert_sound


def opened(folder: Path, script: GrokScript) -> Session:
    session = open_session(script.write(folder / "s1"))
    assert session.format == "grok-build"
    assert_sound(session)
    return session


def texts(session: Session) -> list[str]:
    return [session.text(block) for block in session.blocks if block.kind is not BlockKind.THINKING]


def test_a_turn_is_a_call_its_result_and_what_was_stated(tmp_path: Path) -> None:
    script = GrokScript()
    script.user("rules", synthetic_reason="project_instructions")
    script.user("go", prompt_index=0)
    script.answer("looking", "c1", (100, 400, 20))
    script.result("c1", "found")
    script.answer("done", tokens=(30, 500, 7))
    session = opened(tmp_path, script)
    assert [(message.role, message.blocks[-1].kind) for message in session.messages] == [
        (Role.SYSTEM, BlockKind.SYSTEM_TEXT),
        (Role.USER, BlockKind.USER_TEXT),
        (Role.USER, BlockKind.USER_TEXT),
        (Role.ASSISTANT, BlockKind.TOOL_CALL),
        (Role.TOOL, BlockKind.TOOL_RESULT),
        (Role.ASSISTANT, BlockKind.ASSISTANT_TEXT),
    ]
    assert texts(session)[1:] == ["rules", "go", "looking", '{"target_file": "a"}', "found", "done"]
    assert session.messages[3].blocks[0].kind is BlockKind.THINKING
    assert session.messages[4].blocks[0].tool_name == "read_file"
    assert [message.is_meta for message in session.messages[:3]] == [False, True, False]
    assert [call.prompt_messages for call in session.calls] == [3, 5]
    assert [call.usage for call in session.calls] == [
        Usage(uncached=100, cache_read=400, output=20, reasoning=5),
        Usage(uncached=30, cache_read=500, output=7, reasoning=5),
    ]
    assert (session.calls[0].model, session.calls[0].time) == ("grok-4.5", 1_750_000_000 + 4)
    assert session.side_calls == ()


def test_what_is_next_to_the_messages_reports_the_session(tmp_path: Path) -> None:
    session = opened(tmp_path, grok(1))
    assert (session.identifier, session.title, session.working_directory) == ("s1", "A title", "/work")
    assert (session.window, session.agent) == (256_000, "Grok Build")
    assert [(link.kind, link.identifier) for link in session.links] == [(LinkKind.CONTINUED, "s0")]


def test_a_compaction_leaves_its_summary_and_the_requests_before_it_are_billed_next_to(tmp_path: Path) -> None:
    script = grok(3)
    script.answer("kept", tokens=(10, 600, 9))
    script.compact("So far: …", kept=2)
    script.answer("after", tokens=(700, 0, 8))
    session = opened(tmp_path, script)
    (compaction,) = session.compactions
    assert (compaction.tokens_before, compaction.tokens_after) == (90_000, 9_000)
    assert session.messages[compaction.message].is_summary
    assert [message.is_inherited for message in session.messages] == [False, True, False, False]
    assert [call.usage and call.usage.prompt for call in session.calls] == [700]
    assert [side.usage and side.usage.prompt for side in session.side_calls] == [500, 500, 500, 610]


def test_a_response_that_was_reported_again_counts_once(tmp_path: Path) -> None:
    script = grok(2)
    script.updates += [line for line in script.updates if line["params"]["update"].get("message_id") == "m0"]
    session = opened(tmp_path, script)
    assert [call.usage and call.usage.prompt for call in session.calls] == [500, 500]
    assert session.side_calls == ()


def test_a_response_that_was_taken_back_is_billed_and_no_message(tmp_path: Path) -> None:
    script = GrokScript()
    script.user("go")
    script.answer("wrong way", tokens=(1, 2, 3))
    del script.rows[-3:]
    script.user("another way")
    script.answer("right", tokens=(10, 20, 30))
    session = opened(tmp_path, script)
    assert [call.usage and call.usage.output for call in session.calls] == [30]
    assert [side.usage and side.usage.output for side in session.side_calls] == [3]


def test_a_response_that_broke_off_has_no_usage_and_takes_none_of_anothers(tmp_path: Path) -> None:
    script = GrokScript()
    script.user("go")
    script.answer("first", tokens=(1, 2, 3))
    script.add("assistant", content="broke o", model_id="grok-4.5")
    script.tell("agent_message_chunk", content={"type": "text", "text": "broke o"})
    script.tell("turn_completed", prompt_id="p", stop_reason="cancelled")
    script.user("again")
    script.answer("last", tokens=(10, 20, 30))
    session = opened(tmp_path, script)
    assert [call.usage and call.usage.output for call in session.calls] == [3, None, 30]


def test_calls_at_the_provider_belong_to_the_answer_behind_them(tmp_path: Path) -> None:
    script = GrokScript()
    script.user("go")
    search = {"tool_type": "web_search", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}}
    script.add("backend_tool_call", kind=search)
    script.answer("found")
    session = opened(tmp_path, script)
    answer = session.messages[session.calls[0].response]
    assert (answer.blocks[0].kind, answer.blocks[0].tool_name) == (BlockKind.TOOL_CALL, "web_search")
    assert session.text(answer.blocks[0]) == '{"type":"search","query":"q"}'


def test_the_older_form_of_the_history_is_read(tmp_path: Path) -> None:
    call: dict[str, Any] = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    rows = [
        {"role": "system", "content": "You are Grok"},
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "looking",
            "tool_calls": [call],
            "model_id": "grok-4",
            "reasoning_content": "hm",
        },
        {"role": "tool", "content": "found", "tool_call_id": "c"},
    ]
    script = GrokScript()
    script.write(tmp_path / "s1")
    (tmp_path / "s1" / "chat_history.jsonl").write_bytes(jsonl(rows))
    session = open_session(tmp_path / "s1")
    assert session.format == "grok-build"
    assert_sound(session)
    assert [message.role for message in session.messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]
    assert session.messages[3].blocks[0].tool_name == "read_file"
    assert session.calls[0].usage is None


def test_a_row_of_an_unknown_kind_is_shown_and_not_sent(tmp_path: Path) -> None:
    script = grok(1)
    script.add("hologram", content="?")
    session = opened(tmp_path, script)
    assert session.messages[-1].role is Role.OTHER
    assert len(session.messages) - 1 not in session.contexts[0].members


def test_a_session_is_followed_through_both_files_and_a_compaction(tmp_path: Path) -> None:
    folder = grok(2).write(tmp_path / "s1")
    follower = Follower(folder)
    script = grok(3)
    (folder / "chat_history.jsonl").write_bytes(b"".join(encoded(row) + b"\n" for row in script.rows))
    follower.poll()
    assert follower.session.calls[-1].usage is None
    script.write(folder)
    follower.poll()
    assert follower.session.calls[-1].usage is not None
    assert follower.session == open_session(folder)
    script.compact("So far: …")
    script.answer("after")
    script.write(folder)
    for _ in range(3):
        follower.poll()
    assert follower.session == open_session(folder)
    assert len(follower.session.side_calls) == 3


def test_a_broken_update_is_reported_with_its_file_and_line(tmp_path: Path) -> None:
    folder = grok(2).write(tmp_path / "s1")
    lines = (folder / "updates.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "updates.jsonl").write_bytes(b"".join([lines[0], b'{"params": {\n', *lines[1:]]))
    session = open_session(folder)
    assert [(note.reason, note.line) for note in session.diagnostics] == [("updates.jsonl: invalid JSON", 2)]
    assert all(call.usage is not None for call in session.calls)


def test_any_of_a_sessions_paths_opens_it_and_its_folder_is_listed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROK_HOME", str(tmp_path))
    (home,) = GrokFormat().homes()
    folder = grok(2).write(home / "%2Fwork" / "s1")
    for path in (folder, folder / "chat_history.jsonl", folder / "updates.jsonl"):
        assert len(open_session(path).calls) == 2
    assert [(header.format, header.path) for header in sessions_in(home)] == [("grok-build", folder)]


def test_updates_without_a_history_are_no_session(tmp_path: Path) -> None:
    folder = grok(2).write(tmp_path / "s1")
    (folder / "chat_history.jsonl").unlink()
    with pytest.raises(SessionError, match="not of a supported agent"):
        open_session(folder / "updates.jsonl")


def test_the_session_it_was_forked_from_is_next_to_it(tmp_path: Path) -> None:
    folder = grok(1).write(tmp_path / "s1")
    other = grok(1).write(tmp_path / "s0")
    assert GrokFormat().locate(folder, "s0") == other
    assert GrokFormat().locate(folder, "../x") is None


def older(calls: Sequence[str], *, first: int = 100) -> GrokScript:
    script = GrokScript()
    script.user("go", prompt_index=0)
    for number, call in enumerate(calls):
        script.answer(f"answer {number}", call, (first + number, 400, 20), is_told=False)
        script.result(call, "found") if call else script.user("go on", prompt_index=number)
    return script


def in_home(home: Path, script: GrokScript) -> Path:
    """The folder of a session in a home in which there is a log."""
    script.write_log(home)
    return script.write(home / "sessions" / "%2Fwork" / "s1")


def logged(home: Path, script: GrokScript) -> Session:
    session = open_session(in_home(home, script))
    assert_sound(session)
    return session


def uncached(session: Session) -> list[int | None]:
    return [call.usage.uncached if call.usage is not None else None for call in session.calls]


def reasons(session: Session) -> list[tuple[str, bool]]:
    return [(note.reason.removeprefix("logs/unified.jsonl: "), note.skipped) for note in session.diagnostics]


UNMATCHED = ("a logged response that matches no single message", True)


def test_what_reports_leave_out_is_read_from_the_log_of_all_sessions(tmp_path: Path) -> None:
    script = older(["c0", "c1", "", "c3", ""])
    script.log_response((7, 7, 7), "s2")
    session = logged(tmp_path, script)
    assert session.calls[0].usage == Usage(uncached=100, cache_read=400, output=20, reasoning=5)
    assert uncached(session) == [100, 101, 102, 103, 104]
    assert session.calls[0].time == 1_750_000_000 + 3.5
    assert (session.diagnostics, session.side_calls) == ((), ())
    assert independent_totals(session) == totals_of(session)


def test_a_log_that_begins_later_counts_the_responses_it_has(tmp_path: Path) -> None:
    script = older(["c0", "c1", "", "c3", ""])
    del script.logged[: [line["ctx"].get("tool_call_id") for line in script.logged].index("c0")]
    session = logged(tmp_path, script)
    assert uncached(session) == [None, 101, 102, 103, 104]
    assert session.diagnostics == ()


def test_logged_responses_that_cannot_be_distinguished_are_counted_and_given_to_no_message(tmp_path: Path) -> None:
    script = older(["c0", "", "", "c3"])
    kept = [line for line in script.logged if line["ctx"].get("prompt_tokens") != 501]
    script.logged = kept
    session = logged(tmp_path, script)
    assert uncached(session) == [100, None, None, 103]
    assert reasons(session) == [UNMATCHED]
    assert session.skipped_records == 1
    where = session.diagnostics[0]
    lines = (tmp_path / "logs" / "unified.jsonl").read_bytes().splitlines(keepends=True)
    assert b"502" in lines[where.line - 1]
    assert where.offset == sum(map(len, lines[: where.line - 1]))


def test_a_logged_response_that_is_no_longer_in_the_history_is_billed_next_to_it(tmp_path: Path) -> None:
    script = older(["c0", "gone", "c2"])
    taken = next(at for at, row in enumerate(script.rows) if row.get("content") == "answer 1")
    del script.rows[taken - 1 : taken + 2]
    session = logged(tmp_path, script)
    assert uncached(session) == [100, 102]
    assert [side.usage and side.usage.uncached for side in session.side_calls] == [101]
    assert session.diagnostics == ()


def test_a_compaction_of_an_older_version_leaves_the_requests_before_it_next_to(tmp_path: Path) -> None:
    script = older(["c0", "c1", "c2"])
    script.compact("So far: …", kept=2)
    script.answer("after", "c3", (700, 0, 8), is_told=False)
    session = logged(tmp_path, script)
    assert uncached(session) == [700]
    assert sorted(side.usage.uncached for side in session.side_calls if side.usage) == [100, 101, 102]
    assert session.messages[1].is_inherited


def test_what_a_report_tells_is_not_counted_again_from_the_log(tmp_path: Path) -> None:
    script = older(["c0", "c1"])
    script.user("with a newer version")
    script.answer("told", "c2", (102, 400, 20))
    script.result("c2", "found")
    script.add("assistant", content="broke o", model_id="grok-4.5")
    session = logged(tmp_path, script)
    assert uncached(session) == [100, 101, 102, None]
    assert (session.side_calls, session.diagnostics) == ((), ())
    script = grok(3)
    script.compact("So far: …")
    assert len(logged(tmp_path / "new", script).side_calls) == 3


def test_versions_that_log_no_counts_give_times_alone(tmp_path: Path) -> None:
    script = older(["c0", "c1"])
    for line in script.logged:
        for name in ("prompt_tokens", "cached_prompt_tokens", "completion_tokens", "reasoning_tokens"):
            line["ctx"].pop(name, None)
    session = logged(tmp_path, script)
    assert uncached(session) == [None, None]
    assert session.calls[0].time is not None
    assert session.diagnostics == ()


def test_a_logged_line_that_cannot_be_read_is_reported_with_its_place(tmp_path: Path) -> None:
    script = older(["c0", "c1"])
    done = [line for line in script.logged if line["msg"] == "shell.turn.inference_done"]
    done[0]["ctx"]["prompt_tokens"] = "many"
    folder = in_home(tmp_path, script)
    log = tmp_path / "logs" / "unified.jsonl"
    with log.open("ab") as file:
        file.write(b'{"sid":"s1","msg":"shell.turn.inference_done","ctx":{\n{"sid":"s2","inference_done"\n')
    session = open_session(folder)
    assert uncached(session) == [None, 101]
    assert [(note.line, note.skipped) for note in session.diagnostics] == [(2, True), (len(script.logged) + 1, True)]


def test_a_log_that_is_too_large_to_be_read_is_reported_as_long_as_it_is(tmp_path: Path) -> None:
    folder = in_home(tmp_path, older(["c0"]))
    log = tmp_path / "logs" / "unified.jsonl"
    whole = log.read_bytes()
    with log.open("r+b") as file:
        file.truncate(MOST_BYTES + 1)
    follower = Follower(folder)
    assert uncached(follower.session) == [None]
    assert reasons(follower.session) == [("larger than 256 MiB, not read", False)]
    log.write_bytes(whole)
    follower.poll()
    assert (uncached(follower.session), follower.session.diagnostics) == ([100], ())


def test_lines_that_a_cut_of_the_log_left_twice_count_once(tmp_path: Path) -> None:
    script = older(["c0", "c1"])
    script.logged += script.logged[-3:]
    session = logged(tmp_path, script)
    assert uncached(session) == [100, 101]
    assert (session.side_calls, session.diagnostics) == ((), ())


def test_a_log_is_followed_as_it_grows_is_cut_and_goes(tmp_path: Path) -> None:
    folder = in_home(tmp_path, older(["c0"]))
    log = tmp_path / "logs" / "unified.jsonl"
    follower = Follower(folder)

    def caught_up() -> list[int | None]:
        for _ in range(3):
            follower.poll()
        assert follower.session == open_session(folder)
        return uncached(follower.session)

    script = older(["c0", "c1", "", "c3"])
    script.write(folder)
    assert caught_up() == [100, None, None, None]
    whole = b"".join(encoded(line) + b"\n" for line in script.logged)
    for size in range(0, len(whole), 777):
        log.write_bytes(whole[:size])
        caught_up()
    log.write_bytes(whole)
    assert caught_up() == [100, 101, 102, 103]
    log.write_bytes(whole[len(whole) // 2 :])
    assert caught_up()[-1] == 103
    log.unlink()
    assert caught_up() == [None] * 4


LOGGED = [encoded(line) for line in older(["c0", "c1", "", "c3", ""]).logged]


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=mutated(LOGGED), cut=st.integers(0, 4_000))
def test_a_damaged_log_fails_nothing_and_a_followed_one_is_read_as_a_loaded_one(
    tmp_path: Path, data: bytes, cut: int
) -> None:
    script = older(["c0", "c1", "", "c3", ""])
    folder = in_home(tmp_path, script)
    log = tmp_path / "logs" / "unified.jsonl"
    log.write_bytes(data[:cut])
    follower = Follower(folder)
    log.write_bytes(data)
    follower.poll()
    session = open_session(folder)
    assert_sound(session)
    assert follower.session == session
    logged_once = {line for line in data.split(b"\n") if b"inference_done" in line}
    known = [call for call in session.calls if call.time is not None]
    assert len(known) + len(session.side_calls) <= len(logged_once)
