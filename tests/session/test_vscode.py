"""VS Code's chats: operations that change earlier records, rounds, summaries, retries."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.session.discovery import sessions_in
from inspector.session.follow import Follower
from inspector.session.formats.vscode import VSCodeChatFormat
from inspector.session.model import BlockKind, ContextCause, Role, Session
from inspector.session.open import open_session
from tests.session.following import settle, tailed
from tests.session.run_files import encoded, jsonl
from tests.session.soundness import assert_sound
from tests.session.vscode_lines import START, ChatScript, answer, call, chat, invocation, rendered, result


def opened(tmp_path: Path, script: ChatScript) -> Session:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(jsonl(script.lines))
    session = open_session(path)
    assert session.format == "vscode-chat"
    assert_sound(session)
    return session


def texts(session: Session, context: int = -1) -> list[str]:
    return [
        session.text(block)
        for index in session.contexts[context].members
        for block in session.messages[index].blocks
        if block.kind is not BlockKind.THINKING
    ]


def test_a_turn_is_what_was_sent_its_rounds_and_their_results(tmp_path: Path) -> None:
    script = ChatScript()
    place = script.ask("go")
    thinking = {"id": "t", "text": "let me see", "encrypted": "abc", "tokens": 7}
    script.finish(
        place,
        answer("r1", "looking", call("c1"), call("c2", "list_dir", '{"path":"/work"}'), timestamp=START + 5_000),
        answer("r2", "done", thinking=thinking, timestamp=START + 9_000),
        results={"c1": rendered("line 1\n", "line 2", "line 3"), "c2": result("a.py\nb.py")},
        tokens=(20_000, 90),
    )
    session = opened(tmp_path, script)
    assert [(message.role, [block.kind for block in message.blocks]) for message in session.messages] == [
        (Role.USER, [BlockKind.USER_TEXT]),
        (Role.ASSISTANT, [BlockKind.ASSISTANT_TEXT, BlockKind.TOOL_CALL, BlockKind.TOOL_CALL]),
        (Role.TOOL, [BlockKind.TOOL_RESULT, BlockKind.TOOL_RESULT]),
        (Role.ASSISTANT, [BlockKind.THINKING, BlockKind.ASSISTANT_TEXT]),
    ]
    assert texts(session) == [
        "<userRequest>\ngo\n</userRequest>\n",
        "looking",
        '{"filePath":"/work/a.py"}',
        '{"path":"/work"}',
        "line 1\nline 2\nline 3",
        "a.py\nb.py",
        "done",
    ]
    results = session.messages[2].blocks
    assert [(block.tool_call_id, block.tool_name) for block in results] == [("c1", "read_file"), ("c2", "list_dir")]
    assert session.messages[3].blocks[0].signature_characters == 3
    assert [call.time for call in session.calls] == [START / 1000 + 5, START / 1000 + 9]
    assert [call.prompt_messages for call in session.calls] == [1, 3]
    assert session.calls[0].model == "claude-sonnet-4-5"
    assert (session.identifier, session.agent) == ("chat-1", "VS Code Copilot Chat")


def test_what_is_reported_is_of_a_turns_last_request(tmp_path: Path) -> None:
    script = ChatScript()
    place = script.ask("go")
    last = answer("r2", "done", thinking={"id": "t", "text": "hm", "tokens": 7})
    script.finish(place, answer("r1", "looking", call("c1")), last, tokens=(20_000, 90))
    script.set(["requests", place, "promptTokens"], 20_500)
    first, second = opened(tmp_path, script).calls
    assert first.usage is None
    assert second.usage is not None
    assert (second.usage.uncached, second.usage.output, second.usage.reasoning) == (20_500, 90, 7)


def test_until_its_turn_is_over_an_answer_is_what_the_chat_shows(tmp_path: Path) -> None:
    script = ChatScript()
    place = script.ask("go")
    script.show(place, {"kind": "thinking", "value": "hm"}, {"value": "looking at ", "supportHtml": False})
    script.show(place, {"kind": "inlineReference", "inlineReference": {"path": "/work/a.py", "scheme": "file"}})
    script.show(place, invocation("c1"), {"kind": "textEditGroup", "edits": []})
    script.show(place, {"value": "and then"}, {"kind": "somethingNew", "value": 1})
    path = tmp_path / "s1.jsonl"
    path.write_bytes(jsonl(script.lines))
    settle(path)
    follower = Follower(path)
    assert texts(follower.session) == [
        "go",
        "looking at ",
        "/work/a.py",
        '{"message":"Read a.py ..."}',
        "Read a.py",
        "and then",
        '{"kind":"somethingNew","value":1}',
    ]
    assert [call.usage for call in follower.session.calls] == [None, None]
    assert follower.session.record_counts["response:textEditGroup"] == 1
    assert VSCodeChatFormat().is_bookkeeping("response:textEditGroup")
    assert not VSCodeChatFormat().is_bookkeeping("push")
    script.finish(place, answer("r1", "looking", call("c1")), answer("r2", "done"), results={"c1": result("x = 1")})
    path.write_bytes(jsonl(script.lines))
    settle(path)
    follower.poll()
    assert texts(follower.session)[1:] == ["looking", '{"filePath":"/work/a.py"}', "x = 1", "done"]
    assert follower.session == open_session(path)


@given(
    turns=st.integers(1, 9),
    start=st.floats(0, 1),
    cuts=st.lists(st.floats(0, 1), max_size=4),
)
def test_a_log_that_grows_is_followed_to_what_a_fresh_load_gives(
    tmp_path_factory: pytest.TempPathFactory, turns: int, start: float, cuts: list[float]
) -> None:
    script = chat(turns)
    script.ask("once more", at=max(len(script.chat["requests"]) - 1, 0))
    data = jsonl(script.lines)
    first = len(encoded(script.lines[0])) + 1
    path = tmp_path_factory.mktemp("chat") / "s.jsonl"
    for _, session in tailed(path, data, first + int(start * (len(data) - first)), cuts):
        assert_sound(session)


@pytest.mark.parametrize("turns", [0, 1, 4, 5])
def test_a_log_and_the_chat_it_comes_to_say_the_same(tmp_path: Path, turns: int) -> None:
    script = chat(turns)
    session = opened(tmp_path, script)
    for number, data in enumerate((json.dumps(script.chat).encode(), json.dumps(script.chat, indent=2).encode())):
        path = tmp_path / f"whole-{number}.json"
        path.write_bytes(data)
        whole = open_session(path)
        assert_sound(whole)
        assert texts(whole) == texts(session) if turns else not whole.messages
        assert [call.usage for call in whole.calls] == [call.usage for call in session.calls]
    again = tmp_path / "again.jsonl"
    again.write_bytes(jsonl([{"kind": 0, "v": script.chat}]))
    assert [call.usage for call in open_session(again).calls] == [call.usage for call in session.calls]


def test_a_request_that_was_asked_again_is_left_and_still_counted(tmp_path: Path) -> None:
    script = ChatScript()
    script.finish(script.ask("first"), answer("r1", "one"))
    script.finish(script.ask("second"), answer("r2", "two"), tokens=(2_000, 5))
    script.finish(script.ask("second, better", at=1), answer("r3", "three"), tokens=(2_100, 6))
    session = opened(tmp_path, script)
    assert [message.is_abandoned for message in session.messages] == [False, False, True, True, False, False]
    assert [call.usage.prompt for call in session.calls if call.usage] == [1_000, 2_000, 2_100]
    assert session.contexts[-1].cause is ContextCause.REWIND
    assert texts(session)[1::2] == ["one", "three"]
    assert [call.prompt_messages for call in session.calls] == [1, 3, 3]


def test_one_that_was_taken_back_before_an_answer_is_gone(tmp_path: Path) -> None:
    script = ChatScript()
    script.finish(script.ask("first"), answer("r1", "one"))
    script.ask("never mind")
    script.push(["requests"], [], 1)
    session = opened(tmp_path, script)
    assert [session.text(message.blocks[0]) for message in session.messages][1:] == ["one"]
    assert len(session.contexts) == 1


def test_one_that_moves_is_not_counted_twice(tmp_path: Path) -> None:
    script = ChatScript()
    script.ask("never mind")
    script.finish(script.ask("second"), answer("r2", "two"))
    script.push(["requests"], [script.chat["requests"][1]], 0)
    session = opened(tmp_path, script)
    assert [session.text(message.blocks[0]) for message in session.messages][1:] == ["two"]
    assert len(session.calls) == 1


def test_what_a_restored_checkpoint_took_back_is_left(tmp_path: Path) -> None:
    script = ChatScript()
    script.finish(script.ask("first"), answer("r1", "one"))
    script.finish(script.ask("second"), answer("r2", "two"))
    script.set(["requests", 1, "shouldBeRemovedOnSend"], {"requestId": "request_1"})
    session = opened(tmp_path, script)
    assert [message.is_abandoned for message in session.messages] == [False, False, True, True]
    assert texts(session)[1:] == ["one"]
    script.delete(["requests", 1, "shouldBeRemovedOnSend"])
    assert not any(message.is_abandoned for message in opened(tmp_path, script).messages)


def test_a_summary_represents_all_up_to_its_round(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 50_000, "completion_tokens": 900, "prompt_tokens_details": {"cached_tokens": 40_000}}
    about = {"model": "gpt-5.1", "contextLengthBefore": 60_000, "usage": usage}
    script = ChatScript()
    surroundings = [{"type": 1, "text": "<environment_info>Linux</environment_info>"}]
    rounds = answer("r1", "looking", call("c1")), answer("r2", "again", call("c2")), answer("r3", "done")
    script.finish(
        script.ask("go"),
        *rounds,
        results={"c1": result("one"), "c2": result("two")},
        renderedGlobalContext=surroundings,
        summaries=[{"toolCallRoundId": "r1", "text": "what was found", **about}],
    )
    later = {"toolCallRoundId": "r3", "text": "all of it"}
    script.finish(script.ask("more"), answer("r4", "ok"), summaries=[later], renderedGlobalContext=surroundings)
    session = opened(tmp_path, script)
    environment = "<environment_info>Linux</environment_info>"
    assert texts(session, 1) == [environment, "what was found", "again", '{"filePath":"/work/a.py"}', "two", "done"]
    assert texts(session) == [environment, "all of it", "<userRequest>\nmore\n</userRequest>\n", "ok"]
    assert [session.messages[one.message].is_summary for one in session.compactions] == [True, True]
    assert session.compactions[0].tokens_before == 60_000
    (side,) = session.side_calls
    assert (side.purpose, side.model) == ("summary", "gpt-5.1")
    assert side.usage is not None
    assert (side.usage.uncached, side.usage.cache_read, side.usage.output) == (10_000, 40_000, 900)


def test_results_of_calls_that_were_too_many_are_with_the_next_request(tmp_path: Path) -> None:
    script = ChatScript()
    script.finish(script.ask("go"), answer("r1", "looking", call("c1")), maxToolCallsExceeded=True)
    assert "found" not in texts(opened(tmp_path, script))
    script.finish(script.ask("go on"), answer("r2", "done"), results={"c1": result("found")})
    session = opened(tmp_path, script)
    assert texts(session)[3] == "found"


def test_operations_that_lead_nowhere_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    script = chat(2)
    damage: list[dict[str, Any]] = [
        {"kind": 1, "k": ["requests", 7, "result"], "v": {}},
        {"kind": 2, "k": ["requests", 0, "result"], "v": [1]},
        {"kind": 1, "k": ["requests", 0, "result", "metadata", "toolCallRounds", 0, "response"], "v": "changed"},
        {"kind": 1, "v": 1},
        {"kind": 9, "k": ["requests"]},
        {"kind": 0},
    ]
    before = opened(tmp_path, script)
    script.lines += damage
    session = opened(tmp_path, script)
    assert (session.skipped_records, texts(session)) == (6, texts(before))


def test_an_error_is_shown_and_not_sent(tmp_path: Path) -> None:
    script = ChatScript()
    place = script.ask("go")
    script.set(["requests", place, "result"], {"errorDetails": {"message": "no network"}})
    session = opened(tmp_path, script)
    assert [session.text(message.blocks[0]) for message in session.messages] == ["go", "no network"]
    assert texts(session) == ["go"]


def test_chats_of_other_participants_and_exports_are_read(tmp_path: Path) -> None:
    shown = [{"kind": "markdownContent", "content": {"value": "Hello"}}]
    request = {"requestId": "r", "message": {"text": "hi", "parts": []}, "response": shown}
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"initialLocation": "panel", "requests": [request]}))
    session = open_session(path)
    assert (session.format, texts(session)) == ("vscode-chat", ["hi", "Hello"])


def test_every_workspaces_chats_are_found_with_their_folder(
    private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    user = private_home / ".config" / "Code - Insiders" / "User"
    chats = user / "workspaceStorage" / "0a1b" / "chatSessions"
    windows = user / "globalStorage" / "emptyWindowChatSessions"
    for folder in (chats, windows):
        folder.mkdir(parents=True)
    (chats.parent / "workspace.json").write_text('{"folder": "file:///work/my%20project"}')
    (chats / "one.jsonl").write_bytes(jsonl(chat(2).lines))
    assert VSCodeChatFormat().homes() == (chats, windows)
    (header,) = sessions_in(chats)
    assert open_session(header.path).working_directory == "/work/my project"
