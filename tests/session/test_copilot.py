"""Sessions of Copilot CLI: subagents, compactions, and real files counted with nothing but the json module."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.session.discovery import search_places
from inspector.session.follow import Follower
from inspector.session.formats.copilot import CopilotFormat
from inspector.session.model import BlockKind, ContextCause, Role, Session
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.examples import examples
from tests.session.copilot_lines import CopilotScript
from tests.session.following import tailed
from tests.session.mutations import mutated, short
from tests.session.other_process import append, quiet_moments, rewrite
from tests.session.soundness import assert_reads, assert_sound

Lines = list[dict[str, Any]]


def opened(script: CopilotScript, folder: Path) -> Session:
    session = open_session(script.write(folder / "s1" / "events.jsonl"))
    assert session.format == "copilot-cli"
    assert_sound(session)
    return session


def texts(session: Session, messages: tuple[int, ...]) -> list[str]:
    return [session.text(block) for index in messages for block in session.messages[index].blocks]


def now(session: Session, thread: int = 0) -> list[str]:
    return texts(session, [context for context in session.contexts if context.thread == thread][-1].members)


@pytest.fixture(scope="module")
def files(corpus: Path) -> list[Path]:
    return sorted((corpus / "copilot-cli").rglob("*.jsonl"))


@pytest.fixture(scope="module")
def counted(files: list[Path]) -> list[tuple[Path, Lines, Session]]:
    return [
        (path, [json.loads(line) for line in path.read_bytes().split(b"\n") if line], open_session(path))
        for path in files
    ]


def test_real_files_and_their_folders_are_recognised(files: list[Path], tmp_path: Path) -> None:
    assert files
    for number, path in enumerate(files):
        assert detect(path).format.name == "copilot-cli"
        assert detect(path.parent).format.name == "copilot-cli"
        assert replace(open_session(path.parent), path=path) == open_session(path)
        renamed = tmp_path / f"{number}.txt"
        renamed.write_bytes(path.read_bytes())
        assert detect(renamed).format.name == "copilot-cli"


def test_messages_calls_results_and_output_of_real_files_agree_with_a_plain_count(
    counted: list[tuple[Path, Lines, Session]],
) -> None:
    for _, lines, session in counted:
        by_type: dict[str, Lines] = {}
        for line in lines:
            by_type.setdefault(line["type"], []).append(line["data"])
        answers = by_type["assistant.message"]
        kinds = [block.kind for block in session.blocks]
        assert kinds.count(BlockKind.TOOL_CALL) == sum(len(answer["toolRequests"]) for answer in answers)
        assert kinds.count(BlockKind.TOOL_RESULT) == len(by_type["tool.execution_complete"])
        assert kinds.count(BlockKind.ASSISTANT_TEXT) == sum(bool(answer["content"]) for answer in answers)
        assert len(session.calls) == len({answer["apiCallId"] for answer in answers})
        assert sum(call.usage.output for call in session.calls if call.usage) == sum(
            answer["outputTokens"] for answer in answers
        )
        spoken = ("assistant.message", "tool.execution_complete", "user.message", "system.message")
        assert len(session.messages) == sum(len(by_type[name]) for name in (*spoken, "system.notification"))
        assert session.record_counts == {name: len(found) for name, found in by_type.items()}
        assert session.skipped_records == 0


def test_results_of_real_files_are_what_the_model_was_sent(counted: list[tuple[Path, Lines, Session]]) -> None:
    for _, lines, session in counted:
        assert_sound(session)
        sent = {}
        for line in lines:
            data = line["data"]
            if line["type"] == "tool.execution_complete":
                sent[data["toolCallId"]] = data["result"]["content"] if data["success"] else data["error"]["message"]
        results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
        assert {block.tool_call_id: session.text(block) for block in results} == sent
        calls = {block.tool_call_id: block for block in session.blocks if block.kind is BlockKind.TOOL_CALL}
        assert all(block.tool_name == calls[block.tool_call_id].tool_name for block in results)


def test_a_prompt_is_never_claimed(counted: list[tuple[Path, Lines, Session]]) -> None:
    for _, _, session in counted:
        assert all(call.usage is not None and call.usage.prompt == 0 for call in session.calls)


def test_what_the_model_saw_is_read_and_hooks_are_only_counted(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    script.add("system.message", role="system", content="You are Copilot.")
    script.hook("x" * 50_000)
    script.user("look", transformedContent="<time>now</time>\n\nlook", attachments=[{"type": "file", "path": "/a"}])
    script.answer("I look.", ("t1", "view"), reasoningText="hm", reasoningOpaque="0123456789")
    script.result("t1", "found")
    script.result("t2", success=False, result=None, error={"message": "no such file"})
    script.add("system.notification", content="<system_notification>done</system_notification>", kind={"type": "x"})
    script.answer("", model="", outputTokens=0)
    session = opened(script, tmp_path)
    assert now(session)[:5] == [
        "You are Copilot.",
        "<time>now</time>\n\nlook",
        "hm",
        "I look.",
        '{"path":"a"}',
    ]
    assert now(session)[5:] == ["found", "no such file", "<system_notification>done</system_notification>"]
    assert session.blocks[2].signature_characters == 10
    assert [block.is_error for block in session.blocks if block.kind is BlockKind.TOOL_RESULT] == [False, True]
    assert session.calls[0].usage is not None
    assert (session.calls[0].usage.output, session.calls[1].usage) == (7, None)
    assert (session.identifier, session.agent, session.working_directory) == ("s1", "Copilot CLI 1.0.74", "/project")
    assert session.record_counts["hook.start"] == 1


def test_parts_of_one_response_are_one_call(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    script.user("go")
    script.answer("first", apiCallId="a", chunkIndex=0, chunkCount=2, outputTokens=40)
    script.answer("second", ("t1", "view"), apiCallId="a", chunkIndex=1, chunkCount=2, outputTokens=40)
    script.result("t1")
    script.answer("third", apiCallId="b")
    session = opened(script, tmp_path)
    assert [len(message.blocks) for message in session.messages] == [1, 3, 1, 1]
    assert [call.usage.output for call in session.calls if call.usage] == [40, 7]
    assert [call.prompt_messages for call in session.calls] == [1, 3]


def test_subagents_have_threads_of_their_own_by_either_name(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    script.user("go")
    script.answer("", ("task1", "task"), ("task2", "task"))
    script.add("subagent.started", "agent-a", toolCallId="task1", agentName="explore", model="haiku")
    script.user("explore this", "agent-a")
    script.answer("", ("inner", "grep"), agent="agent-a", model="")
    script.answer("by the old name", parentToolCallId="task2")
    script.result("inner", "match", "agent-a")
    script.answer("old name of the first", parentToolCallId="task1")
    script.result("task1", "explored")
    script.answer("all done")
    session = opened(script, tmp_path)
    assert [message.thread for message in session.messages] == [0, 0, 1, 1, 2, 1, 1, 0, 0]
    assert now(session) == ["go", '{"path":"a"}', '{"path":"a"}', "explored", "all done"]
    assert now(session, 1) == ["explore this", '{"path":"a"}', "match", "old name of the first"]
    assert now(session, 2) == ["by the old name"]
    assert session.calls[1].model == "haiku"


def test_a_compaction_keeps_what_was_stated_since_it_started(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    script.add("system.message", role="system", content="You are Copilot.")
    script.user("old")
    script.answer("old answer")
    sizes = {"systemTokens": 1_000, "conversationTokens": 90_000, "toolDefinitionsTokens": 9_000}
    script.add("session.compaction_start", trigger="auto", tokenLimit=128_000, **sizes)
    script.user("meanwhile")
    script.answer("meanwhile answered")
    script.add(
        "session.compaction_complete",
        success=True,
        summaryContent="what came before",
        postCompactionTokens=12_000,
        tokensRemoved=88_000,
    )
    script.answer("next")
    session = opened(script, tmp_path)
    (made,) = session.compactions
    assert (made.trigger, made.tokens_before, made.tokens_after, made.tokens_saved) == ("auto", 100_000, 12_000, 88_000)
    assert session.messages[made.message].is_summary
    assert session.window == 128_000
    assert now(session) == ["You are Copilot.", "what came before", "meanwhile", "meanwhile answered", "next"]
    context = session.contexts[1]
    assert (context.cause, context.retained) == (ContextCause.COMPACTION, 4)


def test_a_compaction_by_hand_keeps_the_system_text_alone(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    script.add("system.message", role="system", content="You are Copilot.")
    script.user("old")
    script.add("session.compaction_start", trigger="manual")
    script.add("session.compaction_complete", success=True, summaryContent="summary", preCompactionTokens=50_000)
    script.user("new")
    session = opened(script, tmp_path)
    assert now(session) == ["You are Copilot.", "summary", "new"]
    assert session.contexts[1].retained == 1
    assert session.compactions[0].tokens_before == 50_000


def test_a_failed_compaction_changes_nothing_and_is_shown(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    script.user("old")
    script.add("session.compaction_start")
    script.add("session.compaction_complete", success=False, error="model unavailable")
    script.add("session.compaction_start")
    script.add("session.compaction_complete", success=True)
    session = opened(script, tmp_path)
    assert now(session) == ["old"]
    assert not session.compactions
    assert session.text(session.blocks[1]) == "session.compaction_complete: model unavailable"


def test_changed_system_text_takes_the_old_ones_place(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    script.add("system.message", role="system", content="First.")
    script.user("one")
    script.add("system.message", role="system", content="First.")
    script.user("two")
    script.add("system.message", role="system", content="Second.")
    script.user("three")
    session = opened(script, tmp_path)
    assert now(session) == ["Second.", "one", "two", "three"]
    assert len(session.contexts) == 2
    assert len(session.messages) == 5


def test_a_cleared_context_begins_again_behind_the_system_text(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    script.add("system.message", role="system", content="You are Copilot.")
    script.user("one")
    script.add("session.context_cleared", messagesCleared=1)
    script.user("two")
    session = opened(script, tmp_path)
    assert now(session) == ["You are Copilot.", "two"]


def test_what_a_person_ran_and_what_went_wrong_is_shown_and_not_sent(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    script.user("one")
    script.add("tool.user_requested", toolCallId="p1", toolName="bash", arguments={"command": "ls"})
    script.result("p1", "files")
    script.add("session.error", errorType="quota", message="quota exceeded")
    script.add("abort", reason="user_initiated")
    script.add("session.brand_new_event", novelty=1)
    script.add("hologram.shown", shape="cube")
    session = opened(script, tmp_path)
    assert now(session) == ["one"]
    assert [message.role for message in session.messages[2:]] == [Role.OTHER] * 4
    assert session.text(session.blocks[2]) == "session.error: quota exceeded"
    assert session.text(session.blocks[3]) == "abort: user_initiated"
    assert '"novelty": 1' in session.text(session.blocks[4])


def test_dropped_messages_are_noted_because_nothing_names_them(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    script.user("one")
    script.add("session.truncation", tokenLimit=64_000, messagesRemovedDuringTruncation=4, performedBy="BasicTruncator")
    session = opened(script, tmp_path)
    assert session.window == 64_000
    (note,) = session.diagnostics
    assert (note.skipped, note.line) == (False, 3)


def test_pictures_are_carried_with_their_data_or_their_assets_name(tmp_path: Path) -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnW"
    script = CopilotScript()
    script.start()
    script.user("see", attachments=[{"type": "blob", "mimeType": "image/png", "data": png}])
    script.user(
        "read", attachments=[{"type": "file", "mimeType": "application/pdf", "assetId": "sha256:1", "byteLength": 9}]
    )
    script.answer("", ("t1", "view"))
    script.result("t1", result={"content": "shot", "binaryResultsForLlm": [{"mimeType": "image/png", "data": png}]})
    session = opened(script, tmp_path)
    picture, paper, result = session.blocks[1], session.blocks[3], session.blocks[5]
    assert (picture.kind, picture.media[0].width) == (BlockKind.IMAGE, 2)
    assert (paper.kind, paper.media[0].size_bytes) == (BlockKind.DOCUMENT, 9)
    assert (len(result.media), result.plain_text) == (1, False)


def test_injected_messages_are_distinguished_from_typed_ones(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    script.user("typed")
    script.user("<skill>", source="skill-pdf")
    script.user("go on", isAutopilotContinuation=True)
    session = opened(script, tmp_path)
    assert [message.is_meta for message in session.messages] == [False, True, True]


def test_the_home_is_known(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COPILOT_HOME", raising=False)
    script = CopilotScript()
    script.start()
    script.write(private_home / ".copilot" / "session-state" / "s1" / "events.jsonl")
    assert private_home / ".copilot" / "session-state" in dict(search_places())
    monkeypatch.setenv("COPILOT_HOME", str(private_home / "elsewhere"))
    assert private_home / ".copilot" / "session-state" not in dict(search_places())


class Author:
    """Writes events of every kind in orders no real session has; a step's number decides within it."""

    def __init__(self) -> None:
        self.script = CopilotScript()
        self.script.start()
        self.script.user("first")

    def step(self, name: str, choice: int) -> None:
        getattr(self, f"_{name}")(choice, ("", "", "a1", "a2")[choice % 4])

    def _user(self, choice: int, agent: str) -> None:
        self.script.user(f"prompt {choice} {len(self.script.lines)}", agent)

    def _answer(self, choice: int, agent: str) -> None:
        self.script.answer(f"answer {choice}", (f"t{choice}", "view"), agent=agent)

    def _chunk(self, choice: int, agent: str) -> None:
        self.script.answer(f"part {choice}", agent=agent, apiCallId=f"shared{choice % 3}", outputTokens=choice)

    def _result(self, choice: int, agent: str) -> None:
        self.script.result(f"t{choice}", f"result {len(self.script.lines)}", agent)

    def _system(self, choice: int, agent: str) -> None:
        self.script.add("system.message", agent, role="system", content=f"system {choice % 3}")

    def _begin(self, choice: int, agent: str) -> None:
        self.script.add("session.compaction_start", agent, conversationTokens=choice * 100)

    def _end(self, choice: int, agent: str) -> None:
        summary = f"summary {choice}" if choice % 3 else ""
        self.script.add(
            "session.compaction_complete", agent, success=bool(choice % 5), summaryContent=summary, error="it failed"
        )

    def _started(self, choice: int, agent: str) -> None:
        self.script.add("subagent.started", agent, toolCallId=f"t{choice}", model="small")

    def _old_name(self, choice: int, agent: str) -> None:
        self.script.answer(f"old {choice}", parentToolCallId=f"t{choice}")

    def _clear(self, choice: int, agent: str) -> None:
        self.script.add("session.context_cleared", agent, messagesCleared=choice)

    def _hook(self, choice: int, agent: str) -> None:
        self.script.hook(str(choice))

    def _unknown(self, choice: int, agent: str) -> None:
        self.script.add("hologram.shown", agent, choice=choice)


STEPS = ["user", "answer", "chunk", "result", "system", "begin", "end", "started", "old_name", "clear", "hook"]
STEPS += ["unknown"]


@settings(max_examples=examples(60), deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 20)), min_size=1, max_size=45),
    cuts=st.lists(st.floats(0, 1), min_size=1, max_size=6),
)
def test_a_tailed_session_is_a_loaded_one_at_every_cut(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], cuts: list[float]
) -> None:
    author = Author()
    for name, choice in steps:
        author.step(name, choice)
    lines = author.script.encoded()
    path = tmp_path_factory.mktemp("tail") / "events.jsonl"
    for _, session in tailed(path, b"".join(lines), len(lines[0]) + len(lines[1]), cuts):
        assert_sound(session)


def test_an_agent_that_writes_at_random_moments_is_followed_in_its_folder(tmp_path: Path) -> None:
    author = Author()
    for number in range(80):
        author.step(STEPS[number * 5 % len(STEPS)], number * 13 % 20)
    lines = author.script.encoded()
    path = tmp_path / "s1" / "events.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"".join(lines[:2]))
    follower = Follower(path.parent)
    steps = [append(line) for line in lines[2:]]
    # Going back to a snapshot takes the events after it out of the file.
    steps.insert(40, rewrite(b"".join(lines[:25])))
    for _ in quiet_moments(path, steps, follower.poll, seed=5):
        follower.poll()
        assert follower.session == open_session(path.parent)
        assert_sound(follower.session)
    assert len(follower.session.messages) > 40


@settings(
    max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data())
def test_nothing_in_a_changed_real_file_makes_the_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, files: list[Path], data: st.DataObject
) -> None:
    author = Author()
    for number, name in enumerate(STEPS):
        author.step(name, number)
    author.script.user("see", attachments=[{"mimeType": "image/png", "data": "iVBORw0KGgo="}])
    real = [line for line in files[0].read_bytes().split(b"\n") if line]
    path = tmp_path_factory.mktemp("changed") / "events.jsonl"
    path.write_bytes(data.draw(mutated([*short(real), *(line.strip() for line in author.script.encoded())])))
    assert_reads(CopilotFormat(), path)
