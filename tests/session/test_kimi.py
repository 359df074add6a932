"""Sessions of Kimi Code and Kimi CLI: partial steps, duplicate usage, compactions, undone turns."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.session.discovery import list_sessions, sessions_in
from inspector.session.follow import Follower
from inspector.session.formats.kimi import KimiCliFormat, KimiCodeFormat
from inspector.session.json import is_whole_json
from inspector.session.model import BlockKind, ContextCause, LinkKind, Role, Session
from inspector.session.open import open_session
from inspector.session.reading_check import independent_totals, totals_of
from inspector.session.related import call_keys, locate, parent_of, subagent_of
from inspector.strategies.history.history import History
from tests.examples import examples
from tests.session.following import tailed
from tests.session.kimi_lines import KimiCliScript, KimiScript, kimi_cli, kimi_code
from tests.session.mutations import mutated
from tests.session.run_files import encoded, jsonl
from tests.session.soundness import assert_sound


def opened(tmp_path: Path, script: KimiScript | KimiCliScript) -> Session:
    path = tmp_path / "wire.jsonl"
    path.write_bytes(jsonl(script.lines))
    session = open_session(path)
    assert session.format == ("kimi-code" if isinstance(script, KimiScript) else "kimi-cli")
    assert_sound(session)
    return session


def texts(session: Session, context: int = -1) -> list[str]:
    return [
        session.text(block)
        for index in session.contexts[context].members
        for block in session.messages[index].blocks
        if block.kind is not BlockKind.THINKING
    ]


CALL = '{"path":"/work/a.py"}'


def test_a_step_is_a_call_whose_usage_is_counted_once(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    script.step("looking", calls=("c1", "c2"), tokens=(100, 900, 50, 20))
    script.result("c1", "found")
    script.result("c2", "", note="nothing there")
    script.step("done", tokens=(200, 1_000, 0, 30))
    session = opened(tmp_path, script)
    assert [message.role for message in session.messages] == [
        *(Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL, Role.TOOL, Role.ASSISTANT)
    ]
    empty = "<system>Tool output is empty.</system>\nnothing there"
    assert texts(session) == ["You are Kimi.", "go", "looking", CALL, CALL, "found", empty, "done"]
    assert session.messages[3].blocks[0].tool_name == "Read"
    usages = [call.usage for call in session.calls if call.usage]
    assert [(one.uncached, one.cache_read, one.cache_write_5m, one.output) for one in usages] == [
        (100, 900, 50, 20),
        (200, 1_000, 0, 30),
    ]
    assert not session.side_calls
    assert [call.prompt_messages for call in session.calls] == [2, 5]
    assert (session.calls[0].model, session.working_directory) == ("kimi-k2-thinking", "/work")


def test_a_step_whose_end_reports_nothing_has_what_the_record_behind_it_reports(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    script.step("done", tokens=None)
    script.usage((100, 0, 0, 5), model="kimi-k2")
    (call,) = opened(tmp_path, script).calls
    assert call.usage is not None
    assert (call.usage.prompt, call.usage.output) == (100, 5)


def test_usage_of_no_step_is_that_of_a_request_next_to_the_conversation(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    script.step("done")
    script.add("full_compaction.begin", source="manual")
    script.request(kind="compaction")
    script.usage((5_000, 0, 0, 300), scope="session")
    counts = {"compactedCount": 2, "tokensBefore": 1_020, "tokensAfter": 300, "keptUserMessageCount": 1}
    script.add("context.apply_compaction", summary="short", contextSummary="Handed over: short", **counts)
    script.add("full_compaction.complete")
    script.usage((70, 0, 0, 3), scope="session")
    session = opened(tmp_path, script)
    assert [(side.purpose, side.usage.prompt) for side in session.side_calls if side.usage] == [
        ("compaction", 5_000),
        ("side request", 70),
    ]
    assert texts(session) == ["You are Kimi.", "go", "Handed over: short"]
    (compaction,) = session.compactions
    assert (compaction.tokens_before, compaction.tokens_after) == (1_020, 300)
    assert session.messages[compaction.message].is_summary


def test_a_symbolic_model_is_the_one_that_was_chosen(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    script.step("done", model="__kimi_env_model__")
    assert opened(tmp_path, script).calls[0].model == "kimi-code/k2"


def test_older_compactions_keep_what_follows_the_compacted(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("first")
    script.step("one")
    script.user("second")
    script.step("two")
    script.add("context.apply_compaction", summary="so far", compactedCount=2, tokensBefore=1, tokensAfter=1)
    assert texts(opened(tmp_path, script)) == ["You are Kimi.", "so far", "second", "two"]


def test_newer_compactions_keep_what_a_person_said_first_and_last(tmp_path: Path) -> None:
    script = KimiScript()
    for number in range(4):
        script.user(f"question {number}")
        script.user("reminder", origin="injection")
        script.step(f"answer {number}")
    counts = {"keptUserMessageCount": 3, "keptHeadUserMessageCount": 1, "compactedCount": 12}
    script.add("context.apply_compaction", summary="so far", tokensBefore=1, tokensAfter=1, **counts)
    assert texts(opened(tmp_path, script))[1:] == ["question 0", "question 2", "question 3", "so far"]


def test_what_is_taken_back_is_left_but_for_what_was_injected(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("first")
    script.step("one")
    script.user("second")
    script.user("reminder", origin="injection")
    script.step("two")
    script.add("context.undo", count=1)
    script.step("three")
    session = opened(tmp_path, script)
    assert texts(session) == ["You are Kimi.", "first", "one", "reminder", "three"]
    assert session.contexts[-1].cause is ContextCause.REWIND
    left = [session.text(message.blocks[-1]) for message in session.messages if message.is_abandoned]
    assert left == ["second", "two"]
    script.add("context.clear")
    assert texts(opened(tmp_path, script)) == ["You are Kimi."]


def test_what_a_person_says_meanwhile_waits_for_the_results(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    script.step("looking", calls=("c1",))
    script.user("faster")
    script.result("c1", "found", isError=True)
    script.result("c1", "found again")
    assert texts(opened(tmp_path, script))[3:] == [
        CALL,
        "<system>ERROR: Tool execution failed.</system>\nfound",
        "faster",
    ]


def test_tools_are_before_the_system_prompt_and_other_ones_begin_again(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    tools = [{"name": "Read", "description": "Reads.", "parameters": {}}]
    script.add("llm.tools_snapshot", hash="b", tools=tools)
    script.step("done")
    written = '[{"name":"Read","description":"Reads.","parameters":{}}]'
    assert texts(opened(tmp_path, script)) == [written, "You are Kimi.", "go", "done"]
    script.add("config.update", systemPrompt="You are Kimi.")
    assert len(opened(tmp_path, script).contexts) == 1
    script.add("config.update", systemPrompt="You are another.")
    session = opened(tmp_path, script)
    assert texts(session) == [written, "You are another.", "go", "done"]
    assert len(session.contexts) == 2


def test_what_was_before_a_fork_is_counted_where_it_was_stated(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    script.step("one")
    script.add("forked")
    script.user("another way")
    script.step("two", tokens=(1, 2, 0, 3))
    session = opened(tmp_path, script)
    assert [message.is_inherited for message in session.messages] == [True, True, True, False, False]
    assert [call.usage.prompt for call in session.calls if call.usage] == [3]
    assert texts(session)[1:] == ["go", "one", "another way", "two"]


def test_messages_that_are_recorded_whole_are_read(tmp_path: Path) -> None:
    script = KimiScript()
    for role, part in (
        ("user", {"type": "text", "text": "go"}),
        ("assistant", {"type": "think", "think": "hm"}),
        ("assistant", {"type": "text", "text": "looking"}),
        ("tool", {"type": "text", "text": "found"}),
    ):
        script.add("agent.message.appended", agentId="main", message={"message": {"role": role, "content": [part]}})
    session = opened(tmp_path, script)
    assert texts(session)[1:] == ["go", "looking", "found"]
    assert len(session.calls) == 1


def test_a_subagents_file_leads_to_the_main_agents(tmp_path: Path) -> None:
    agents = tmp_path / "wd_work_0123456789ab" / "session_1" / "agents"
    for name in ("main", "agent-0"):
        (agents / name).mkdir(parents=True)
        (agents / name / "wire.jsonl").write_bytes(jsonl(kimi_code(2)))
    main, sub = (agents / name / "wire.jsonl" for name in ("main", "agent-0"))
    assert KimiCodeFormat().parent_file(sub) == main
    assert KimiCodeFormat().parent_file(main) is None
    assert open_session(main).identifier == "session_1"
    (link,) = open_session(sub).links
    assert (link.kind, link.path) == (LinkKind.PARENT, main)
    assert {header.path for header in sessions_in(tmp_path)} >= {main}


def kimi_code_session(folder: Path, state: dict[str, Any], **agents: KimiScript) -> dict[str, Path]:
    """The file of each agent of a session, by its name with `_` for `-`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state.json").write_text(json.dumps(state))
    files = {name: folder / "agents" / name.replace("_", "-") / "wire.jsonl" for name in agents}
    for name, file in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(jsonl(agents[name].lines))
    return files


def started(session: Session) -> list[tuple[str, str]]:
    """Whom a session started: its id, and the call that did."""
    return [(link.identifier, link.tool_call_id) for link in session.links if link.kind is LinkKind.SUBAGENT]


def starting(*results: tuple[str, str]) -> KimiScript:
    """An agent that starts others: by tools of these names, with these results."""
    script = KimiScript()
    script.user("go")
    for number, (tool, result) in enumerate(results):
        script.event("tool.call", uuid="u", toolCallId=f"c{number}", name=tool, args={"prompt": "look"})
        script.result(f"c{number}", result)
    return script


def test_the_title_and_the_source_of_a_fork_are_in_the_sessions_state(tmp_path: Path) -> None:
    other = kimi_code_session(tmp_path / "ws" / "session_0", {}, main=starting())
    state = {"title": "Fix the build", "isCustomTitle": False, "forkedFrom": "session_0", "workDir": "/elsewhere"}
    files = kimi_code_session(tmp_path / "ws" / "session_1", state, main=starting(), agent_0=starting())
    session = open_session(files["main"])
    assert (session.title, session.working_directory) == ("Fix the build", "/work")
    (source,) = session.links
    assert (source.kind, source.identifier) == (LinkKind.CONTINUED, "session_0")
    assert locate(session, source) == other["main"]
    assert open_session(files["agent_0"]).title == ""
    for title in ("New Session", ""):
        kimi_code_session(tmp_path / "ws" / "session_1", {"title": title})
        assert open_session(files["main"]).title == ""
    kimi_code_session(tmp_path / "ws" / "session_1", {"title": 3, "customTitle": "Mine", "agents": [1]})
    assert open_session(files["main"]).title == "Mine"


def test_the_state_where_versions_in_between_kept_it_is_read(tmp_path: Path) -> None:
    (main,) = kimi_code_session(tmp_path / "session_1", {}, main=starting()).values()
    (tmp_path / "session_1" / "state.json").unlink()
    (tmp_path / "session_1" / "session-meta").mkdir()
    (tmp_path / "session_1" / "session-meta" / "state.json").write_text('{"title": "Before"}')
    assert open_session(main).title == "Before"


def test_results_of_tools_that_start_agents_lead_to_them(tmp_path: Path) -> None:
    swarm = '<agent_swarm_result>\n<subagent agent_id="agent-2" item="a" outcome="completed">done</subagent>\n'
    swarm += '<subagent mode="resume" agent_id="agent-3" outcome="failed">broke</subagent>\n</agent_swarm_result>'
    script = starting(
        ("Agent", "agent_id: agent-0\nactual_subagent_type: coder\nstatus: completed\n\n[summary]\nagent_id: x"),
        ("Agent", "task_id: agent-abc\nstatus: running\nagent_id: agent-1\nactual_subagent_type: coder"),
        ("AgentSwarm", swarm),
        ("Bash", "agent_id: agent-9"),
        ("Agent", "subagent error: agent_id: agent-9"),
    )
    info = {"kind": "agent", "agentId": "agent-4", "parentToolCallId": "c9", "description": "Look around"}
    script.add("task.started", agentId="main", info=info)
    script.add("task.started", agentId="main", info={"kind": "bash", "taskId": "t"})
    agents = {f"agent-{number}": {"type": "sub", "parentAgentId": "main"} for number in (0, 5)}
    agents["agent-6"] = {"type": "sub", "labels": {"parentAgentId": "agent-0"}}
    files = kimi_code_session(tmp_path / "s", {"agents": agents}, main=script, agent_0=starting(), agent_6=starting())
    main = open_session(files["main"])
    assert started(main) == [
        *(("s:agent-0", "c0"), ("s:agent-1", "c1"), ("s:agent-2", "c2"), ("s:agent-3", "c2"), ("s:agent-4", "c9")),
        ("s:agent-5", ""),
    ]
    first = subagent_of(main, "c0")
    assert first is not None
    assert locate(main, first) == files["agent_0"]
    assert next(link.title for link in main.links if link.tool_call_id == "c9") == "Look around"
    assert started(open_session(files["agent_0"])) == [("s:agent-6", "")]
    parents = [parent_of(open_session(files[name])) for name in ("agent_0", "agent_6")]
    assert [parent and parent.path for parent in parents] == [files["main"], files["agent_0"]]


def test_a_title_that_is_given_while_a_session_is_followed_is_seen(tmp_path: Path) -> None:
    (main,) = kimi_code_session(tmp_path / "s", {"title": "New Session"}, main=starting()).values()
    follower = Follower(main)
    kimi_code_session(tmp_path / "s", {"title": "Named", "agents": {"agent-0": {"parentAgentId": "main"}}})
    follower.poll()
    assert follower.session.title == "Named"
    assert follower.session == open_session(main)
    kimi_code_session(tmp_path / "s", {"title": "Named", "lastPrompt": "go on", "agents": {}})
    follower.poll()
    kimi_code_session(tmp_path / "s", {"title": "Named", "lastPrompt": "more", "agents": {}})
    assert follower.poll() is None
    main.write_bytes(jsonl(starting(("Agent", "agent_id: agent-0\n")).lines))
    for _ in range(3):
        follower.poll()
    assert follower.session == open_session(main)
    assert started(follower.session) == [("s:agent-0", "c0")]


STATES = [
    encoded({"title": "Named", "forkedFrom": "s0", "workDir": "/w", "agents": {"agent-0": {"parentAgentId": "main"}}}),
    encoded({"title": 1, "customTitle": "Mine", "agents": {"agent-0": {"labels": {"parentAgentId": "agent-1"}}}}),
]


@settings(max_examples=examples(60), deadline=None)
@given(state=mutated(STATES), lines=mutated([encoded(line) for line in starting(("Agent", "agent_id: agent-0")).lines]))
def test_a_damaged_state_fails_nothing_and_a_followed_one_is_read_as_a_loaded_one(
    tmp_path_factory: pytest.TempPathFactory, state: bytes, lines: bytes
) -> None:
    folder = tmp_path_factory.mktemp("kimi") / "s"
    files = kimi_code_session(folder, {"title": "Sound"}, main=starting(), agent_0=starting())
    followers = [Follower(file) for file in files.values()]
    (folder / "state.json").write_bytes(state)
    with files["main"].open("ab") as file:
        file.write(lines + b"\n")
    for follower in followers:
        for _ in range(3):
            follower.poll()
        assert_sound(follower.session)
        if is_whole_json(state):
            assert follower.session == open_session(follower.path)


def test_unknown_records_are_shown_and_a_file_with_a_header_alone_is_known(tmp_path: Path) -> None:
    script = KimiScript()
    script.add("something.new", value=1)
    session = opened(tmp_path, script)
    assert [message.role for message in session.messages] == [Role.SYSTEM, Role.OTHER]
    path = tmp_path / "new.jsonl"
    path.write_bytes(jsonl(script.lines[:1]))
    assert open_session(path).format == "kimi-code"
    path.write_bytes(jsonl(kimi_cli(0)[:1]))
    assert open_session(path).format == "kimi-cli"


def test_cli_messages_make_steps_with_their_results_and_usage(tmp_path: Path) -> None:
    script = KimiCliScript()
    script.add("TurnBegin", {"user_input": [{"type": "text", "text": "go"}]})
    script.step("looking", "c1", "c2")
    script.result("c1", "found", "1 line read.")
    script.result("c2", "", "no such file", is_error=True)
    script.add("SteerInput", {"user_input": "faster"})
    script.step("done", tokens=(200, 1_000, 0, 30))
    script.add("StatusUpdate", {"plan_mode": True})
    session = opened(tmp_path, script)
    read, failed = "<system>1 line read.</system>\nfound", "<system>ERROR: no such file</system>"
    assert texts(session) == ["go", "looking", CALL, CALL, read, failed, "faster", "done"]
    assert [call.usage.prompt for call in session.calls if call.usage] == [1_000, 1_200]
    assert session.window == 262_144
    assert session.messages[3].blocks[0].is_error


def test_cli_subagents_are_conversations_of_their_own(tmp_path: Path) -> None:
    script = KimiCliScript()
    script.add("TurnBegin", {"user_input": "go"})
    script.step("asking", "c1")
    script.step("inside", "i1", agent="c1")
    script.result("i1", "seen", agent="c1")
    script.result("c1", "report")
    session = opened(tmp_path, script)
    assert [message.thread for message in session.messages] == [0, 0, 1, 1, 0]
    assert len(session.calls) == 2
    assert session.links == ()


def cli_session(folder: Path, script: KimiCliScript, **subagents: KimiCliScript) -> Path:
    for name, lines in subagents.items():
        (folder / "subagents" / name).mkdir(parents=True)
        (folder / "subagents" / name / "wire.jsonl").write_bytes(jsonl(lines.lines))
        meta = {"agent_id": name, "subagent_type": "coder", "description": f"what {name} is for"}
        (folder / "subagents" / name / "meta.json").write_text(json.dumps(meta))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "wire.jsonl").write_bytes(jsonl(script.lines))
    return folder / "wire.jsonl"


def cli_starting() -> tuple[KimiCliScript, KimiCliScript]:
    """A session that starts a subagent in the foreground and one in the background, and the lines of the first."""
    script, inside = KimiCliScript(), KimiCliScript()
    script.add("TurnBegin", {"user_input": "go"})
    script.step("asking", "c1", "c2", tool="Agent")
    inside.add("TurnBegin", {"user_input": "look"})
    for lines, agent in ((script, "c1"), (inside, "")):
        lines.step("inside", "i1", agent=agent)
        lines.result("i1", "seen", agent=agent)
    script.result("c1", "agent_id: agent-c1\nresumed: false\nactual_subagent_type: coder\n\n[summary]\nagent_id: no")
    script.result("c2", "task_id: t\nkind: agent\nstatus: running\ndescription: d\nagent_id: a2\nnext_step: wait")
    return script, inside


def test_cli_subagents_with_files_of_their_own_are_sessions_and_counted_once(tmp_path: Path) -> None:
    script, inside = cli_starting()
    main = cli_session(tmp_path / "s1", script, **{"agent-c1": inside, "a2": inside})
    session = open_session(main)
    assert_sound(session)
    assert len(session.calls) == 1
    assert session.record_counts["SubagentEvent (in its own file)"] == 6
    assert started(session) == [("s1:agent-c1", "c1"), ("s1:a2", "c2")]
    assert independent_totals(session) == totals_of(session)
    link = subagent_of(session, "c1")
    assert link is not None
    sub = open_session(link.path or tmp_path)
    assert (sub.identifier, sub.title, len(sub.calls)) == ("s1:agent-c1", "what agent-c1 is for", 1)
    parent = parent_of(sub)
    assert (parent and parent.path, KimiCliFormat().parent_file(sub.path)) == (main, main)
    assert KimiCliFormat().parent_file(main) is None
    listed = [header for batch in list_sessions([(tmp_path, KimiCliFormat())]) for header in batch]
    assert {header.parent for header in listed if header.path != main} == {main}
    assert [header.parent for header in listed if header.path == main] == [None]
    shutil.rmtree(main.parent / "subagents")
    assert len(open_session(main).calls) == 2
    assert started(open_session(main)) == []


def test_a_cli_session_with_subagents_is_followed_to_what_a_fresh_load_gives(tmp_path: Path) -> None:
    script, inside = cli_starting()
    main = cli_session(tmp_path / "s1", script, **{"agent-c1": inside, "a2": inside})
    whole = main.read_bytes()
    start = len(b"".join(whole.splitlines(keepends=True)[:4]))
    main.write_bytes(whole[:start])
    follower = Follower(main)
    for size in range(start, len(whole) + 100, 100):
        main.write_bytes(whole[:size])
        follower.poll()
    for _ in range(3):
        follower.poll()
    assert follower.session == open_session(main)
    (main.parent / "state.json").write_text('{"custom_title": "Named", "todos": []}')
    follower.poll()
    assert follower.session.title == "Named"
    assert follower.session == open_session(main)


def test_the_title_of_a_cli_session_is_in_its_state_or_where_the_first_versions_kept_it(tmp_path: Path) -> None:
    main = cli_session(tmp_path / "s1", cli_starting()[0])
    (main.parent / "metadata.json").write_text('{"title": "Untitled"}')
    assert open_session(main).title == ""
    (main.parent / "metadata.json").write_text('{"title": "Old"}')
    (main.parent / "state.json").write_text('{"version": 1, "custom_title": null}')
    assert open_session(main).title == "Old"
    (main.parent / "state.json").write_text('{"custom_title": "New"}')
    assert open_session(main).title == "New"


def test_calls_of_a_cli_session_are_known_by_their_responses_so_that_a_forks_copies_count_once(tmp_path: Path) -> None:
    script = KimiCliScript()
    script.add("TurnBegin", {"user_input": "go"})
    script.step("one", identifier="chatcmpl-1")
    script.step("two", identifier="chatcmpl-2")
    first = open_session(cli_session(tmp_path / "s1", script))
    script.step("three", identifier="chatcmpl-3")
    fork = open_session(cli_session(tmp_path / "s2", script))
    assert [call.identifier for call in fork.calls] == ["chatcmpl-1", "chatcmpl-2", "chatcmpl-3"]
    assert call_keys(fork)[:2] == call_keys(first)


def test_a_cli_compaction_keeps_the_last_messages_and_says_that_its_summary_is_elsewhere(tmp_path: Path) -> None:
    script = KimiCliScript()
    script.add("TurnBegin", {"user_input": "go"})
    script.step("one", "c1")
    script.result("c1", "found")
    script.step("two")
    script.add("CompactionBegin")
    script.add("CompactionEnd")
    session = opened(tmp_path, script)
    assert texts(session) == ["one", CALL, "found", "two"]
    (compaction,) = session.compactions
    assert compaction.tokens_before == 1_020
    assert session.messages[-1].role is Role.OTHER


@pytest.mark.parametrize("made", [kimi_code, kimi_cli])
@given(turns=st.integers(1, 12), start=st.floats(0, 1), cuts=st.lists(st.floats(0, 1), max_size=4))
def test_a_file_that_grows_is_followed_to_what_a_fresh_load_gives(
    made: object, tmp_path_factory: pytest.TempPathFactory, turns: int, start: float, cuts: list[float]
) -> None:
    lines = kimi_code(turns) if made is kimi_code else kimi_cli(turns)
    data = jsonl(lines)
    first = sum(len(encoded(line)) + 1 for line in lines[:3])
    path = tmp_path_factory.mktemp("kimi") / "wire.jsonl"
    for _, session in tailed(path, data, first + int(start * (len(data) - first)), cuts):
        assert_sound(session)


def broken_off() -> KimiCliScript:
    script = KimiCliScript()
    script.add("TurnBegin", {"user_input": "go"})
    script.add("StepBegin", {"n": 1})
    script.add("ContentPart", {"type": "text", "text": "half of an ans"})
    script.add("StepRetry", {"n": 1, "next_attempt": 2, "max_attempts": 3, "wait_s": 0.3, "error_type": "Timeout"})
    script.add("ContentPart", {"type": "text", "text": "the whole answer"})
    script.add("StatusUpdate", {"token_usage": {"input_other": 50, "output": 4}})
    script.add("TurnEnd")
    script.add("TurnBegin", {"user_input": "on"})
    script.step("looking", "c1", tokens=(60, 0, 0, 5))
    script.result("c1", "found")
    script.add("StepInterrupted")
    script.add("TurnBegin", {"user_input": "again"})
    script.step("done", tokens=(70, 0, 0, 6))
    return script


def test_what_came_of_a_request_of_kimi_cli_that_failed_is_in_no_later_prompt(tmp_path: Path) -> None:
    session = opened(tmp_path, broken_off())
    assert [call.usage and call.usage.prompt for call in session.calls] == [50, 60, 70]
    assert texts(session) == ["go", "the whole answer", "on", "again", "done"]
    assert [len(session.messages[call.response].blocks) for call in session.calls] == [1, 3, 2]
    assert sum(message.is_abandoned for message in session.messages) == 3


@pytest.mark.parametrize("cuts", [[], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]])
def test_a_request_of_kimi_cli_that_fails_while_it_is_followed_is_read_as_a_whole_file_is(
    tmp_path: Path, cuts: list[float]
) -> None:
    lines = broken_off().lines
    first = sum(len(encoded(line)) + 1 for line in lines[:4])
    for before, session in tailed(tmp_path / "wire.jsonl", jsonl(lines), first, cuts):
        assert_sound(session)
        assert History.of(session, History.of(before)).call_count == len(session.calls)


def test_what_kimi_cli_sends_is_listed_as_the_messages_next_to_it(
    private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KIMI_SHARE_DIR", raising=False)
    folder = private_home / ".kimi" / "sessions" / "0a1b" / "s1"
    folder.mkdir(parents=True)
    (folder / "wire.jsonl").write_bytes(jsonl(kimi_cli(2)))
    (folder / "context.jsonl").write_bytes(jsonl([{"role": "_system_prompt", "content": "x"}, {"role": "user"}]))
    (home,) = KimiCliFormat().homes()
    found = [header.path for batch in list_sessions([(home, KimiCliFormat())]) for header in batch]
    assert found == [folder / "wire.jsonl"]
    assert open_session(found[0]).identifier == "s1"
