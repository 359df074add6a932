"""Sessions that belong together know of one another, and each leads to the other's file."""

import json
from pathlib import Path

import pytest

from inspector.session.model import LinkKind
from inspector.session.open import open_session
from inspector.session.related import full_output, locate, parent_of, subagent_of
from tests.session.claude_lines import SESSION, Script
from tests.session.codex_lines import Rollout
from tests.session.gemini_lines import GeminiScript, call
from tests.session.opencode_store import Store
from tests.session.pi_lines import PiScript

CHILD = "019d683e-1ac9-7fb1-99eb-e46acbee7ff0"
PARENT = "019d6839-0000-7fb1-99eb-e46acbee7ff0"
"""Ids that hold times of the 7th of April 2026."""


def claude_parent(folder: Path, agent: str = "a1b2") -> Path:
    script = Script()
    script.prompt("look into it")
    given = {"description": "Look for it", "prompt": "find it", "subagent_type": "Explore"}
    script.block("m1", {"type": "tool_use", "id": "toolu_1", "name": "Task", "input": given})
    usage = {"input_tokens": 1000, "output_tokens": 500}
    script.result("toolu_1", "found", toolUseResult={"agentId": agent, "content": [], "usage": usage})
    return script.write(folder / f"{SESSION}.jsonl")


def claude_child(path: Path, agent: str = "a1b2") -> Path:
    script = Script()
    script.prompt("find it", isSidechain=True, agentId=agent)
    script.text("m9", usage={"input_tokens": 7, "output_tokens": 3}, isSidechain=True, agentId=agent)
    path.parent.mkdir(parents=True, exist_ok=True)
    return script.write(path)


def test_a_call_that_started_a_subagent_leads_to_it_and_back(tmp_path: Path) -> None:
    path = claude_parent(tmp_path)
    child = claude_child(tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl")
    child.with_suffix(".meta.json").write_text('{"agentType": "Explore", "description": "Look for it"}')
    session = open_session(path)
    link = subagent_of(session, "toolu_1")
    assert link is not None
    assert (link.identifier, link.title, locate(session, link)) == ("a1b2", "Look for it", child)
    assert subagent_of(session, "toolu_2") is None
    started = open_session(child)
    assert started.title == "Look for it"
    back = parent_of(started)
    assert back is not None
    assert (back.identifier, locate(started, back)) == (SESSION, path)


def test_what_a_subagent_used_is_counted_in_its_own_session_alone(tmp_path: Path) -> None:
    session = open_session(claude_parent(tmp_path))
    child = open_session(claude_child(tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl"))
    assert [one.usage for one in session.calls] == [None]
    assert [one.usage.prompt for one in child.calls if one.usage is not None] == [7]


def test_subagents_of_earlier_versions_are_next_to_their_parent(tmp_path: Path) -> None:
    child = claude_child(tmp_path / "agent-a1b2.jsonl")
    path = claude_parent(tmp_path)
    session = open_session(path)
    link = subagent_of(session, "toolu_1")
    assert link is not None
    assert locate(session, link) == child
    back = parent_of(open_session(child))
    assert back is not None
    assert back.path == path


def test_a_running_subagent_is_known_by_its_progress(tmp_path: Path) -> None:
    script = Script()
    script.call("m1", "toolu_1", name="Agent")
    data = {"type": "agent_progress", "agentId": "a1b2", "message": {"type": "user"}}
    script.add(type="progress", data=data, parentToolUseID="toolu_1", toolUseID="agent_msg_1")
    session = open_session(script.write(tmp_path / f"{SESSION}.jsonl"))
    link = subagent_of(session, "toolu_1")
    assert link is not None
    assert link.path == tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl"
    assert locate(session, link) is None


def test_a_running_subagent_without_progress_is_known_by_its_prompt(tmp_path: Path) -> None:
    script = Script()
    for number, prompt in enumerate(("find it", "find other things", "unheard of")):
        given = {"description": f"task {number}", "prompt": prompt}
        script.block("m1", {"type": "tool_use", "id": f"toolu_{number}", "name": "Agent", "input": given})
    path = script.write(tmp_path / f"{SESSION}.jsonl")
    child = claude_child(tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl")
    (child.with_name("agent-acompact-a1.jsonl")).write_bytes(child.read_bytes())
    session = open_session(path)
    links = [subagent_of(session, f"toolu_{number}") for number in range(3)]
    assert [None if link is None else link.title for link in links] == ["task 0", "task 1", "task 2"]
    assert [None if link is None else locate(session, link) for link in links] == [child, None, None]
    script.result("toolu_0", "found", toolUseResult={"agentId": "a1b2", "content": []})
    script.result("toolu_1", "it was refused")
    session = open_session(script.write(path))
    named = subagent_of(session, "toolu_0")
    assert named is not None
    assert (named.identifier, locate(session, named)) == ("a1b2", child)
    assert subagent_of(session, "toolu_1") is None, "a call that returned without an agent started none"
    assert len(session.links) == 2


PREVIEW = "<persisted-output>\nOutput too large (64.5KB). Full output saved to: {}\n\nPreview (first 2KB):\nbegin"


@pytest.mark.parametrize(
    ("name", "kept"),
    [("toolu_1.txt", "begin and end"), ("toolu_1.json", '[{"type": "text", "text": "begin and end"}]')],
)
def test_a_preview_leads_to_the_whole_output_next_to_the_session(tmp_path: Path, name: str, kept: str) -> None:
    script = Script()
    script.call("m1", "toolu_1")
    script.result("toolu_1", PREVIEW.format(f"/Users/someone/.claude/projects/x/{SESSION}/tool-results/{name}"))
    session = open_session(script.write(tmp_path / f"{SESSION}.jsonl"))
    text = session.text(session.blocks[1])
    gone = full_output(session, text)
    assert gone is not None
    assert gone.text is None
    file = tmp_path / SESSION / "tool-results" / name
    file.parent.mkdir(parents=True)
    file.write_text(kept)
    assert full_output(session, text) == (file, "begin and end")
    assert full_output(session, "an output") is None


def test_a_preview_never_leads_out_of_the_folder_of_results(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    script = Script()
    script.call("m1", "toolu_1")
    script.result("toolu_1", PREVIEW.format("../../secret"))
    session = open_session(script.write(tmp_path / f"{SESSION}.jsonl"))
    found = full_output(session, session.text(session.blocks[1]))
    assert found == (tmp_path / SESSION / "tool-results" / "secret", None)


def test_a_name_of_an_agent_never_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text("{}\n")
    session = open_session(claude_parent(tmp_path, agent="x/../../secret"))
    assert [locate(session, link) for link in session.links] == [None]


def test_a_fork_names_the_session_it_goes_on_from(tmp_path: Path) -> None:
    origin = "99999999-2222-4333-8444-555555555555"
    script = Script()
    script.prompt("first", forkedFrom={"sessionId": origin, "messageUuid": "u"})
    script.prompt("second")
    session = open_session(script.write(tmp_path / f"{SESSION}.jsonl"))
    assert [(link.kind, link.identifier) for link in session.links] == [(LinkKind.CONTINUED, origin)]
    assert session.links[0].path == tmp_path / f"{origin}.jsonl"


def test_threads_of_codex_lead_to_each_other_over_folders_of_days(tmp_path: Path) -> None:
    day = tmp_path / "sessions" / "2026" / "04" / "07"
    day.mkdir(parents=True)
    child = Rollout()
    child.header(CHILD, source={"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}})
    child.prompt("find it")
    child_path = child.write(day / f"rollout-2026-04-07T13-59-53-{CHILD}.jsonl")
    parent = Rollout()
    parent.header(PARENT)
    parent.call("c1", "spawn_agent")
    parent.event("collab_agent_spawn_end", call_id="c1", new_thread_id=CHILD, new_agent_nickname="Ada")
    later = tmp_path / "sessions" / "2026" / "04" / "09"
    later.mkdir()
    parent_path = parent.write(later / "rollout-renamed.jsonl")
    session = open_session(parent_path)
    link = subagent_of(session, "c1")
    assert link is not None
    assert (link.title, locate(session, link)) == ("Ada", child_path)
    started = open_session(child_path)
    back = parent_of(started)
    assert back is not None
    assert back.identifier == PARENT
    assert locate(started, back) is None
    parent_path.rename(day / f"rollout-2026-04-07T13-54-20-{PARENT}.jsonl")
    assert locate(started, back) == day / f"rollout-2026-04-07T13-54-20-{PARENT}.jsonl"


def test_a_fork_of_codex_is_no_subagent(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header(CHILD, forked_from_id=PARENT)
    rollout.header(PARENT)
    rollout.prompt("go on")
    session = open_session(rollout.write(tmp_path / "rollout.jsonl"))
    assert parent_of(session) is None
    assert [(link.kind, link.identifier) for link in session.links] == [(LinkKind.CONTINUED, PARENT)]


def test_a_task_of_opencode_leads_to_its_session_in_the_same_database(tmp_path: Path) -> None:
    store = Store()
    store.message("user")
    store.part("text", text="go")
    store.message("assistant", modelID="m")
    state = {
        "status": "completed",
        "input": {"description": "Find it"},
        "output": "x",
        "metadata": {"sessionId": "ses_9"},
    }
    store.part("tool", callID="c1", tool="task", state=state)
    path = store.database(tmp_path / "opencode.db")
    child = Store(identifier="ses_9", parent=store.identifier)
    child.message("user")
    child.part("text", text="find it")
    child.database(path)
    session = open_session(path.with_name(f"opencode.db#{store.identifier}"))
    link = subagent_of(session, "c1")
    assert link is not None
    found = locate(session, link)
    assert found is not None
    started = open_session(found)
    assert (started.identifier, link.title) == ("ses_9", "Find it")
    back = parent_of(started)
    assert back is not None
    assert locate(started, back) == session.path


def test_a_subagent_of_gemini_is_in_a_folder_named_after_its_parent(tmp_path: Path) -> None:
    chats = tmp_path / "chats"
    script = GeminiScript()
    script.header(sessionId="12345678-aaaa")
    script.answer("g1", toolCalls=[call("c1", "done", "delegate", agentId="sub-1", description="Find it")])
    parent_path = chats / "session-2026-03-01T10-00-12345678.jsonl"
    child = GeminiScript()
    child.header(sessionId="sub-1")
    child.user("u1", "find it")
    child_path = chats / "12345678-aaaa" / "sub-1.jsonl"
    child_path.parent.mkdir(parents=True)
    script.write(parent_path)
    child.write(child_path)
    session = open_session(parent_path)
    link = subagent_of(session, "c1")
    assert link is not None
    assert locate(session, link) == child_path
    started = open_session(child_path)
    back = parent_of(started)
    assert back is not None
    assert locate(started, back) == parent_path


def test_a_fork_of_pi_names_the_file_it_goes_on_from(tmp_path: Path) -> None:
    origin = PiScript()
    origin.header()
    origin.user("one")
    origin.write(tmp_path / "2026_origin.jsonl")
    fork = PiScript()
    fork.header(parentSession="/elsewhere/sessions/2026_origin.jsonl")
    fork.user("one")
    session = open_session(fork.write(tmp_path / "2026_fork.jsonl"))
    (link,) = session.links
    assert (link.kind, locate(session, link)) == (LinkKind.CONTINUED, tmp_path / "2026_origin.jsonl")


def test_every_agent_whose_result_names_it_is_linked_once_in_real_sessions(corpus: Path) -> None:
    for path in sorted((corpus / "claude-code").iterdir()):
        named = set()
        for line in path.read_bytes().splitlines():
            result = json.loads(line).get("toolUseResult")
            if isinstance(result, dict) and "agentId" in result:
                content = json.loads(line)["message"]["content"]
                named.add((result["agentId"], content[0]["tool_use_id"]))
        session = open_session(path)
        linked = [(link.identifier, link.tool_call_id) for link in session.links if link.kind is LinkKind.SUBAGENT]
        assert len(linked) == len(set(linked))
        assert named <= set(linked)
        calls = {block.tool_call_id for block in session.blocks if block.tool_call_id}
        assert {tool_call for _, tool_call in linked} <= calls
