"""DeepSeek Harness's sessions: events, the surface that prompts are made of, and frames that are added to a file."""

from pathlib import Path

import pytest

from inspector.session.discovery import sessions_in
from inspector.session.follow import Follower
from inspector.session.formats.deepseek_harness import DeepSeekHarnessFormat
from inspector.session.model import BlockKind, ContextCause, LinkKind, Role, Session, Usage
from inspector.session.open import open_session
from tests.session.following import settle
from tests.session.harness_lines import HarnessScript, frame, frames, harness
from tests.session.run_files import jsonl
from tests.session.soundness import assert_sound


def opened(folder: Path, script: HarnessScript) -> Session:
    path = folder / "session.jsonl"
    path.write_bytes(jsonl(script.lines))
    session = open_session(path)
    assert session.format == "deepseek-harness"
    assert_sound(session)
    return session


def prompt(session: Session, call: int = -1) -> list[str]:
    made = session.calls[call]
    members = session.contexts[made.context].members[: made.prompt_messages]
    blocks = [block for index in members for block in session.messages[index].blocks]
    return [session.text(block) for block in blocks if block.kind is not BlockKind.THINKING]


BESIDE = [
    '[{"name": "read_file", "description": "Reads a file.", "parameters": {"type": "object"}}]',
    "You help.",
]


def test_a_turn_is_a_call_its_result_and_what_was_stated(tmp_path: Path) -> None:
    script = HarnessScript()
    script.user("rules", "plugin")
    script.user("go")
    script.header()
    script.answer("looking", "c1", (100, 400, 20))
    script.result("c1", "found")
    script.answer("done", tokens=(30, 500, 7))
    session = opened(tmp_path, script)
    assert prompt(session) == [*BESIDE, "rules", "go", "looking", '{"path": "a"}', "found"]
    assert [call.prompt_messages for call in session.calls] == [3, 5]
    assert [call.usage for call in session.calls] == [
        Usage(uncached=100, cache_read=400, output=20, reasoning=5),
        Usage(uncached=30, cache_read=500, output=7, reasoning=5),
    ]
    said = [message for message in session.messages if message.role is not Role.SYSTEM]
    assert [message.is_meta for message in said] == [True, False, False, False, False]
    assert said[3].blocks[0].tool_name == "read_file"
    assert (session.calls[0].model, session.identifier, session.working_directory) == ("deepseek-v4", "s1", "/work")
    assert session.side_calls == ()


def test_a_summary_represents_what_it_replaces_and_its_request_is_billed_next_to(tmp_path: Path) -> None:
    script = HarnessScript()
    first = script.user("go")
    script.header()
    script.answer("looking", "c1")
    last = script.result("c1", "found")
    script.answer("kept")
    script.compact("so far", first, last)
    script.user("and then")
    script.answer("after")
    session = opened(tmp_path, script)
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.COMPACTION]
    assert prompt(session) == [*BESIDE, "so far", "kept", "and then"]
    (compaction,) = session.compactions
    assert session.messages[compaction.message].is_summary
    assert [(side.purpose, side.usage and side.usage.prompt) for side in session.side_calls] == [("compaction", 900)]


def test_results_that_were_pruned_are_sent_as_they_were_left(tmp_path: Path) -> None:
    script = HarnessScript()
    script.user("go")
    script.header()
    script.answer("looking", "c1")
    one = script.result("c1", "a long result")
    script.answer("again", "c2")
    two = script.result("c2", "another long result")
    for call, sequence in (("c1", one), ("c2", two)):
        script.add("compaction/prune", {"shadowedRange": {"start": sequence, "end": sequence}})
        script.result(call, "[pruned]", {"op": "replace", "start": sequence, "end": sequence})
    script.answer("done")
    session = opened(tmp_path, script)
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.REWIND]
    assert prompt(session)[3:] == ["looking", '{"path": "a"}', "[pruned]", "again", '{"path": "a"}', "[pruned]"]
    assert prompt(session, 1)[-1] == "a long result"


def test_another_system_text_begins_a_context_and_the_same_one_does_not(tmp_path: Path) -> None:
    script = HarnessScript()
    script.user("go")
    script.header()
    script.answer("one")
    script.header(reason="resume")
    script.answer("two")
    script.header("You help otherwise.", reason="change")
    script.answer("three")
    session = opened(tmp_path, script)
    assert len(session.contexts) == 2
    assert [prompt(session, call)[1] for call in range(3)] == ["You help.", "You help.", "You help otherwise."]
    assert prompt(session)[2:] == ["go", "one", "two"]


def test_usage_is_with_the_message_in_its_stream_or_in_chunks_before_it(tmp_path: Path) -> None:
    usage = {"inputTokens": 7, "outputTokens": 3}
    script = HarnessScript()
    script.user("go")
    script.answer("with it")
    script.answer("in its stream", usage=None, stream=[{"type": "chunk", "chunk": {"type": "usage", "usage": usage}}])
    place = {"turn": 1, "step": script.step + 1}
    script.add("assistant/chunk", {**place, "chunk": {"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 1}}})
    script.add("assistant/chunk", {**place, "chunk": {"type": "usage", "usage": usage}})
    script.answer("in chunks", usage=None)
    session = opened(tmp_path, script)
    assert [call.usage and call.usage.prompt for call in session.calls] == [500, 7, 7]
    assert session.side_calls == ()


def test_attempts_that_failed_are_billed_and_no_messages(tmp_path: Path) -> None:
    usage = {"inputTokens": 70, "outputTokens": 3}
    script = HarnessScript()
    script.user("go")
    place = {"turn": 1, "step": 1}
    script.add("assistant/chunk", {**place, "chunk": {"type": "usage", "usage": usage}})
    script.add("llm/retry-started", place)
    chunk = {"type": "chunk", "chunk": {"type": "usage", "usage": {**usage, "inputTokens": 80}}}
    script.add("assistant/attempt", {**place, "attemptId": "x", "stream": [chunk]})
    script.answer("at last")
    session = opened(tmp_path, script)
    assert [(side.purpose, side.usage and side.usage.prompt) for side in session.side_calls] == [
        ("failed attempt", 70),
        ("failed attempt", 80),
    ]
    assert len(session.calls) == 1


def test_what_a_fork_copied_is_sent_here_and_billed_there(tmp_path: Path) -> None:
    before = HarnessScript()
    before.user("go")
    before.header()
    before.answer("one")
    script = HarnessScript(seedLength=len(before.lines) - 1, parentSession="s0")
    script.lines += before.lines[1:]
    script.answer("two")
    session = opened(tmp_path, script)
    assert [call.usage is not None for call in session.calls] == [True]
    assert prompt(session)[2:] == ["go", "one"]
    assert [message.is_inherited for message in session.messages] == [True, False, True, False]
    assert [(link.kind, link.identifier) for link in session.links] == [(LinkKind.CONTINUED, "s0")]


def test_a_model_that_answers_for_another_is_the_calls(tmp_path: Path) -> None:
    script = HarnessScript(origin="subagent", parentSession="s0")
    script.user("go")
    script.answer("yes")
    source = {
        "kind": "model",
        "provider": "p",
        "model": "alias",
        "replayState": {"response": {"responseModel": "real"}},
    }
    script.lines[-2]["data"]["message"]["source"] = source
    session = opened(tmp_path, script)
    assert session.calls[0].model == "real"
    assert session.links[0].kind is LinkKind.PARENT


def test_events_of_unknown_kinds_are_shown_and_bookkeeping_is_not(tmp_path: Path) -> None:
    script = HarnessScript()
    script.user("go")
    script.add("request/context", {"provider": "p", "model": "m", "contextWindow": 128_000})
    script.add("session/title", {"title": "A title"})
    script.lines.append({"type": "text-chunks", "seq0": 9, "time0": 1, "data": {"texts": ["a", "b"]}})
    script.add("hologram/shown", {"what": "?"})
    session = opened(tmp_path, script)
    assert (session.window, session.title) == (128_000, "A title")
    assert [message.role for message in session.messages] == [Role.USER, Role.OTHER]
    known = DeepSeekHarnessFormat()
    assert [known.is_bookkeeping(name) for name in ("text-chunks", "tool/call", "user/message", "hologram/shown")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_replacement_of_what_is_not_there_is_at_the_end_and_that_is_stated(tmp_path: Path) -> None:
    script = HarnessScript()
    script.user("go")
    script.compact("so far", 70, 80)
    script.answer("after")
    session = opened(tmp_path, script)
    assert prompt(session) == ["go", "so far"]
    assert [note.reason for note in session.diagnostics] == ["the replaced messages are not in this file"]


def test_a_compressed_session_is_followed_frame_by_frame_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl.zstd"
    begun, lines = harness(2), harness(5)
    assert lines[: len(begun)] == begun
    path.write_bytes(frames(begun))
    follower = Follower(path)
    assert (follower.session.format, len(follower.session.calls)) == ("deepseek-harness", 2)
    added = frame(lines[len(begun) :])
    for piece in (added[: len(added) // 2], added[len(added) // 2 :]):
        with path.open("ab") as file:
            file.write(piece)
        settle(path)
        follower.poll()
        assert follower.notice == ""
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(jsonl(harness(5)))
    assert follower.session == open_session(path)
    assert_sound(follower.session)
    assert [message.blocks for message in follower.session.messages] == [
        message.blocks for message in open_session(plain).messages
    ]


def test_the_newest_generation_of_a_session_is_listed_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSH_HOME", str(tmp_path))
    (home,) = DeepSeekHarnessFormat().homes()
    folder = home / "--work--" / "s1"
    folder.mkdir(parents=True)
    (folder / "session.jsonl.zstd").write_bytes(frames(harness(2)))
    assert [header.path.name for header in sessions_in(home)] == ["session.jsonl.zstd"]
    (folder / "session.v3.jsonl.zstd").write_bytes(frames(harness(3)))
    assert [(header.format, header.path.name) for header in sessions_in(home)] == [
        ("deepseek-harness", "session.v3.jsonl.zstd")
    ]
    other = home / "--work--" / "s2" / "session.jsonl"
    other.parent.mkdir()
    other.write_bytes(jsonl(harness(1)))
    assert DeepSeekHarnessFormat().locate(other, "s1") == folder / "session.v3.jsonl.zstd"
    assert DeepSeekHarnessFormat().locate(other, "../s1") is None
