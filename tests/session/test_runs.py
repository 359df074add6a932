"""Files of harnesses and evaluations, generated from the description of each format: content and errors."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.errors import SessionError
from inspector.session.discovery import sessions_in
from inspector.session.follow import Follower
from inspector.session.formats.openhands.reader import Accumulated
from inspector.session.model import BlockKind, ContextCause, Role, Session, Usage
from inspector.session.open import open_session
from inspector.session.registry import all_formats, detect
from tests.examples import examples
from tests.session import run_files, tap_store
from tests.session.mutations import mutated
from tests.session.run_files import Record, encoded, event, jsonl, text
from tests.session.soundness import assert_reads, assert_sound


def opened(path: Path, data: bytes | Any, name: str) -> Session:
    path.write_bytes(data if isinstance(data, bytes) else encoded(data))
    session = open_session(path)
    assert session.format == name
    assert_sound(session)
    return session


def now(session: Session) -> list[str]:
    members = session.contexts[-1].members
    return [session.text(block) for index in members for block in session.messages[index].blocks]


def of_kind(session: Session, kind: BlockKind) -> list[str]:
    return [session.text(block) for block in session.blocks if block.kind is kind]


def test_a_step_of_a_trajectory_is_a_call_and_its_results(tmp_path: Path) -> None:
    session = opened(tmp_path / "t.json", run_files.trajectory(2), "atif")
    assert [message.role for message in session.messages] == [Role.USER, *[Role.ASSISTANT, Role.TOOL] * 2]
    assert session.calls[0].usage == Usage(uncached=40, cache_read=60, output=5), "cached tokens are inside the prompt"
    assert session.agent == "harness 1"


def test_a_result_without_an_id_belongs_to_the_only_call_of_its_step(tmp_path: Path) -> None:
    document = run_files.trajectory(1)
    del document["steps"][1]["observation"]["results"][0]["source_call_id"]
    session = opened(tmp_path / "t.json", document, "atif")
    (result,) = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert (result.tool_call_id, result.tool_name) == ("c0", "bash")


def test_steps_copied_from_another_trajectory_are_no_calls_and_mark_a_compaction(tmp_path: Path) -> None:
    document = run_files.trajectory(3)
    for step in document["steps"][:3]:
        step["is_copied_context"] = True
    document["continued_trajectory_ref"] = "trajectory.cont-2.json"
    session = opened(tmp_path / "t.json", document, "atif")
    assert len(session.calls) == 1
    assert [message.is_inherited for message in session.messages] == [True] * 5 + [False] * 3
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.COMPACTION]
    assert session.calls[0].prompt_messages == 5
    assert session.messages[-1].role is Role.OTHER, "that it goes on elsewhere is shown"


def test_a_step_without_a_model_is_no_call_and_one_of_several_calls_tells_no_usage(tmp_path: Path) -> None:
    document = run_files.trajectory(2)
    document["steps"][1]["llm_call_count"] = 0
    document["steps"][2]["llm_call_count"] = 3
    session = opened(tmp_path / "t.json", document, "atif")
    (call,) = session.calls
    assert call.usage is None
    assert [note.reason for note in session.diagnostics] == [
        "metrics of several calls combined, which cannot be separated"
    ]


def test_reasoning_images_and_subagents_of_trajectories_are_read(tmp_path: Path) -> None:
    document = run_files.trajectory(1)
    step = document["steps"][1]
    step["reasoning_content"] = "hm"
    image = {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}}
    step["observation"]["results"][0]["content"] = [{"type": "text", "text": "seen"}, image]
    document["subagent_trajectories"] = [{**run_files.trajectory(2), "trajectory_id": "s1"}]
    session = opened(tmp_path / "t.json", document, "atif")
    assert of_kind(session, BlockKind.THINKING) == ["hm"]
    result = next(block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT)
    assert [media.media_type for media in result.media] == ["image/png"]
    assert [session.messages[call.response].thread for call in session.calls] == [0, 1, 1]


def test_a_subagent_in_a_file_of_its_own_belongs_to_the_call_that_started_it(tmp_path: Path) -> None:
    document = run_files.trajectory(1)
    reference = {"trajectory_id": "helper", "trajectory_path": "subagents/helper.json"}
    document["steps"][1]["observation"]["results"][0]["subagent_trajectory_ref"] = [reference]
    session = opened(tmp_path / "t.json", document, "atif")
    (link,) = session.links
    assert (link.identifier, link.tool_call_id, link.path) == ("helper", "c0", tmp_path / "subagents" / "helper.json")


def test_a_chat_that_only_speaks_of_results_is_not_taken_for_clines(tmp_path: Path) -> None:
    said = "In the log I saw [build] Result: failed."
    chat = [{"role": "user", "content": said}, {"role": "assistant", "content": "I see."}] * 3
    assert detect_of(tmp_path, chat) == "openai-chat"
    assert detect_of(tmp_path, run_files.cline_history(1)) == "cline"


def detect_of(folder: Path, value: Any) -> str:
    path = folder / "x.json"
    path.write_bytes(encoded(value))
    return detect(path).format.name


@pytest.mark.parametrize("version", ["ATIF-v1.0", "ATIF-v1.4", "ATIF-v1.8", "ATIF-v9.7", None])
def test_every_version_of_a_trajectory_is_known(tmp_path: Path, version: str | None) -> None:
    document = {**run_files.trajectory(1), "schema_version": version, "unheard_of": {"x": 1}}
    document["steps"].append({"step_id": 3, "source": "robot", "message": "beep"})
    session = opened(tmp_path / "t.json", document, "atif")
    assert len(session.calls) == 1
    assert session.messages[-1].role is Role.OTHER


def test_commands_between_fences_are_calls_and_what_they_print_their_results(tmp_path: Path) -> None:
    for name, made in (("swe-agent", run_files.swe_run(2)), ("mini-swe-agent", run_files.mini_run(2))):
        session = opened(tmp_path / "r.traj", made, name)
        results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
        calls = [block for block in session.blocks if block.kind is BlockKind.TOOL_CALL]
        assert [json.loads(session.text(block)) for block in calls] == [{"command": "ls 0"}, {"command": "ls 1"}]
        assert [block.tool_call_id for block in results] == [block.tool_call_id for block in calls]
        assert "```" not in "".join(of_kind(session, BlockKind.ASSISTANT_TEXT))


def test_usage_of_mini_swe_agent_is_in_the_recorded_response(tmp_path: Path) -> None:
    session = opened(tmp_path / "r.traj.json", run_files.mini_run(2), "mini-swe-agent")
    assert [call.usage for call in session.calls] == [
        Usage(uncached=20 + turn, cache_read=30, output=4) for turn in range(2)
    ]
    assert session.models == ("gpt-x",)


def test_an_answer_to_a_badly_formed_command_is_no_result(tmp_path: Path) -> None:
    document = run_files.mini_run(1)
    document["messages"] += [
        {"role": "assistant", "content": "two\n```bash\na\n```\n```bash\nb\n```"},
        {"role": "user", "content": "Please give EXACTLY ONE action."},
    ]
    session = opened(tmp_path / "r.traj.json", document, "mini-swe-agent")
    assert of_kind(session, BlockKind.USER_TEXT) == ["ISSUE", "Please give EXACTLY ONE action."]


def test_demonstrations_are_counted_and_left_out(tmp_path: Path) -> None:
    session = opened(tmp_path / "r.traj", run_files.swe_run(1), "swe-agent")
    assert session.record_counts["demonstration"] == 1
    assert "an example" not in now(session)
    assert session.title == "repo__issue-1"


def test_what_history_processors_cut_is_a_partial_compaction(tmp_path: Path) -> None:
    document = run_files.swe_run(3)
    cut = [dict(entry) for entry in document["history"][:7]]
    cut[4]["content"] = "Old environment output: (12 lines omitted)"
    document["trajectory"][2]["query"] = cut
    session = opened(tmp_path / "r.traj", document, "swe-agent")
    (compaction,) = session.compactions
    first = next(block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT)
    assert compaction.cleared_tool_call_ids == (first.tool_call_id,)
    assert compaction.message == session.calls[2].response


def test_a_run_without_a_history_is_read_from_its_steps(tmp_path: Path) -> None:
    document = run_files.swe_run(2)
    del document["history"]
    session = opened(tmp_path / "r.traj", document, "swe-agent")
    assert of_kind(session, BlockKind.TOOL_RESULT) == ["file0", "file1"]
    assert len(session.calls) == 2


def test_tools_that_cline_calls_in_xml_are_calls_with_results(tmp_path: Path) -> None:
    session = opened(tmp_path / "m.json", run_files.cline_history(2), "cline")
    calls = [block for block in session.blocks if block.kind is BlockKind.TOOL_CALL]
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [(block.tool_name, json.loads(session.text(block))) for block in calls] == [
        ("read_file", {"path": "file0"}),
        ("read_file", {"path": "file1"}),
    ]
    assert [block.tool_call_id for block in results] == [block.tool_call_id for block in calls]
    assert of_kind(session, BlockKind.TOOL_RESULT) == ["content 0", "content 1"]
    assert of_kind(session, BlockKind.ASSISTANT_TEXT) == ["turn 0", "turn 1"]


def test_a_parameter_of_a_call_in_xml_may_hold_tags(tmp_path: Path) -> None:
    said = "<write_to_file>\n<path>a.xml</path>\n<content>\n<a><content>x</content></a>\n</content>\n</write_to_file>"
    messages = [
        {"role": "user", "content": [text("<task>\nwrite\n</task>")]},
        {"role": "assistant", "content": [text(said)]},
        {"role": "user", "content": [text("[write_to_file for 'a.xml'] Result:\nSaved.")]},
    ]
    session = opened(tmp_path / "m.json", messages, "cline")
    (call,) = of_kind(session, BlockKind.TOOL_CALL)
    assert json.loads(call) == {"path": "a.xml", "content": "<a><content>x</content></a>"}
    assert of_kind(session, BlockKind.TOOL_RESULT) == ["[write_to_file for 'a.xml'] Result:\nSaved."]


def task_of_cline(folder: Path, turns: int) -> Path:
    folder.mkdir()
    (folder / "api_conversation_history.json").write_bytes(encoded(run_files.cline_history(turns)))
    (folder / "ui_messages.json").write_bytes(encoded(run_files.cline_shown(turns)))
    return folder


def test_usage_of_cline_is_among_what_is_shown(tmp_path: Path) -> None:
    session = open_session(task_of_cline(tmp_path / "1750000000000", 2))
    assert [call.usage for call in session.calls] == [
        Usage(uncached=10 + turn, cache_read=20, cache_write_5m=3, output=5) for turn in range(2)
    ]
    assert (session.identifier, session.title) == ("1750000000000", "go on")


def test_usage_of_roo_holds_the_whole_prompt(tmp_path: Path) -> None:
    folder = task_of_cline(tmp_path / "task", 1)
    about = {"apiProtocol": "anthropic", "tokensIn": 100, "tokensOut": 5, "cacheReads": 60, "cacheWrites": 30}
    shown = {"ts": 1, "type": "say", "say": "api_req_started", "conversationHistoryIndex": -1}
    expected = {"anthropic": Usage(10, 60, 30, 0, 5), "openai": Usage(40, 60, 0, 0, 5)}
    for protocol, written in (("anthropic", 30), ("openai", 0)):
        told = json.dumps({**about, "apiProtocol": protocol, "cacheWrites": written})
        (folder / "ui_messages.json").write_bytes(encoded([{**shown, "text": told}]))
        assert open_session(folder).calls[0].usage == expected[protocol]


def test_what_cline_leaves_out_of_later_requests_is_a_compaction(tmp_path: Path) -> None:
    folder = task_of_cline(tmp_path / "task", 4)
    shown = run_files.cline_shown(4)
    shown[-1]["conversationHistoryDeletedRange"] = [2, 3]
    (folder / "ui_messages.json").write_bytes(encoded(shown))
    session = open_session(folder)
    assert_sound(session)
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.COMPACTION]
    assert session.calls[-1].prompt_messages == 5, "seven messages but the two left out"
    assert "content 0" not in now(session)
    assert "content 1" in now(session)


def test_what_the_index_of_clines_tasks_leaves_out_is_not_sent_next(tmp_path: Path) -> None:
    tasks, state = tmp_path / "tasks", tmp_path / "state"
    tasks.mkdir()
    state.mkdir()
    folder = task_of_cline(tasks / "1750000000000", 4)
    index = state / "taskHistory.json"
    follower = Follower(folder)
    for left_out, contexts in ((None, 1), ([2, 3], 2), ([4, 1], 1), ("all", 1), ([2, 5], 2)):
        items = [
            {"id": "1", "task": "other", "conversationHistoryDeletedRange": [2, 7]},
            {"id": "1750000000000", "task": "go on", "conversationHistoryDeletedRange": left_out},
        ]
        index.write_bytes(encoded(items))
        session = open_session(folder)
        assert_sound(session)
        assert len(session.contexts) == contexts
        follower.poll()
        assert follower.session == session
    said = now(session)
    assert all(call.context == 0 for call in session.calls), "when the range began is not known"
    assert ("content 0" in said, "content 1" in said, "content 2" in said) == (False, False, True)


def test_documents_of_cline_that_only_speak_of_messages_lead_nowhere(tmp_path: Path) -> None:
    about = {"session_id": "s", "started_at": "", "status": "completed", "messages_path": "x"}
    for name in ("s.json", "s.messages.json", "api_conversation_history.json"):
        (tmp_path / name).write_bytes(encoded(about))
    (tmp_path / "api_conversation_history.messages.json").write_bytes(encoded(run_files.cline_shown(2)))
    for path in tmp_path.iterdir():
        with pytest.raises(SessionError):
            detect(path)


def changed(*edits: tuple[int, int, int, str]) -> list[Any]:
    """`context_history.json`: place, part, time in milliseconds and text of each change."""
    return [[place, [2, [[part, [[time, "text", [said], []]]]]]] for place, part, time, said in edits]


NOTE = "[[NOTE] This file read has been removed to save space in the context window.]"


def test_what_a_fork_of_clines_sdk_copied_is_inherited(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": [text("go")], "ts": 1_000_000_000_000},
        {"role": "assistant", "content": [text("done")], "ts": 1_000_000_001_000},
        {"role": "user", "content": [text("more")], "ts": 1_000_000_900_000},
        {"role": "assistant", "content": [text("more done")], "ts": 1_000_000_901_000},
    ]
    document = {"version": 1, "updated_at": "x", "sessionId": "b", "messages": messages}
    fork = {"forkedFromSessionId": "a", "forkedAt": "2001-09-09T01:50:00Z"}
    beside = {"session_id": "b", "started_at": "x", "status": "completed", "metadata": {"fork": fork}}
    (tmp_path / "b.json").write_bytes(encoded({**beside, "messages_path": "x"}))
    session = opened(tmp_path / "b.messages.json", document, "cline")
    assert [message.is_inherited for message in session.messages] == [True, True, False, False]
    assert [(link.kind, link.identifier) for link in session.links] == [("continued", "a")]


def test_what_cline_changed_of_messages_is_what_later_requests_carry(tmp_path: Path) -> None:
    folder = task_of_cline(tmp_path / "task", 4)
    began = run_files.STARTED * 1000
    notice = "turn 0, and some of what follows was removed\n<read_file>\n<path>file0</path>\n</read_file>"
    edits = changed((2, 1, began + 1, NOTE), (1, 0, began + 1, notice))
    (folder / "context_history.json").write_bytes(encoded(edits))
    session = open_session(folder)
    assert_sound(session)
    assert [path.name for path in session.files] == ["api_conversation_history.json", "context_history.json"]
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.COMPACTION]
    assert [call.context for call in session.calls] == [0, 0, 1, 1], "a change counts from the next request on"
    said = now(session)
    assert NOTE in said
    assert "content 0" not in said
    assert "turn 0, and some of what follows was removed" in said
    assert said.index(NOTE) < said.index("turn 1"), "a changed message stands where it stood"
    assert "content 0" in of_kind(session, BlockKind.TOOL_RESULT), "what was sent before is still shown"
    results = [block for block in session.blocks if session.text(block) == NOTE]
    assert [(block.kind, block.tool_name) for block in results] == [(BlockKind.TOOL_RESULT, "read_file")]
    assert open_session(folder / "context_history.json").messages == session.messages


def test_a_change_after_the_last_request_is_in_the_next_prompt(tmp_path: Path) -> None:
    folder = task_of_cline(tmp_path / "task", 2)
    edits = changed((2, 1, run_files.STARTED * 1000 + 9, NOTE), (2, 1, run_files.STARTED * 1000 + 99, NOTE[::-1]))
    (folder / "context_history.json").write_bytes(encoded(edits))
    session = open_session(folder)
    assert_sound(session)
    assert NOTE[::-1] in now(session), "the last change counts"
    assert len(session.messages[session.contexts[-1].members[0]].blocks) == 2
    assert all(call.context == 0 for call in session.calls)


def test_a_change_and_a_range_that_is_left_out_are_one_compaction(tmp_path: Path) -> None:
    folder = task_of_cline(tmp_path / "task", 4)
    shown = run_files.cline_shown(4)
    shown[-1]["conversationHistoryDeletedRange"] = [2, 3]
    (folder / "ui_messages.json").write_bytes(encoded(shown))
    (folder / "context_history.json").write_bytes(encoded(changed((4, 1, run_files.STARTED * 1000 + 2, NOTE))))
    session = open_session(folder)
    assert_sound(session)
    assert [compaction.trigger for compaction in session.compactions] == ["truncation"]
    said = now(session)
    assert (said.index("turn 0"), NOTE in said, "content 1" in said, "content 0" in said) == (2, True, False, False)


@pytest.mark.parametrize(
    "edits",
    [
        {},
        [None, [], [1], [1, None], [1, [2]], [1, [2, [[0]]]], [1, [2, [[0, [None, [], [1, "text"]]]]]]],
        changed((1, 9, 1, "a"), (99, 0, 1, "b"), (-1, 0, 1, "c"), (0, 0, 10**30, "d")),
        [[True, [2, [[0, [["soon", "text", [7], []]]]]]]],
    ],
)
def test_changes_of_any_shape_do_no_harm(tmp_path: Path, edits: Any) -> None:
    folder = task_of_cline(tmp_path / "task", 2)
    (folder / "context_history.json").write_bytes(encoded(edits))
    session = open_session(folder)
    assert_sound(session)
    assert len(session.calls) == 2


def test_a_task_is_one_session_wherever_it_is_pointed_at(tmp_path: Path) -> None:
    folder = task_of_cline(tmp_path / "task", 2)
    expected = open_session(folder).messages
    assert [found.path for found in sessions_in(tmp_path)] == [folder]
    history = folder / "api_conversation_history.json"
    (folder / "task_metadata.json").write_bytes(encoded({"files_in_context": [], "model_usage": []}))
    assert [found.path for found in sessions_in(tmp_path)] == [folder]
    for path in (history, folder, folder / "ui_messages.json", folder / "task_metadata.json"):
        assert detect(path).format.name == "cline"
        assert open_session(path).messages == expected
        assert open_session(path).path == path, "those who follow it know it by what they opened"


def test_roos_summary_begins_a_context_and_its_marker_hides_messages(tmp_path: Path) -> None:
    messages = run_files.cline_history(3)
    for message in messages[1:5]:
        message["truncationParent"] = "t1"
    marker = {
        "role": "user",
        "content": "[some messages were hidden]",
        "isTruncationMarker": True,
        "truncationId": "t1",
    }
    session = opened(tmp_path / "m.json", [*messages, marker], "cline")
    assert "content 0" not in now(session)
    assert "content 2" in now(session)
    summary = {"role": "user", "content": [text("what was done")], "isSummary": True, "condenseId": "s1"}
    later = [{"role": "assistant", "content": [text("on")]}]
    session = opened(tmp_path / "m.json", [*messages, summary, *later], "cline")
    assert now(session) == ["what was done", "on"]
    assert len(session.compactions) == 1


def test_calls_of_one_response_of_openhands_are_one_answer(tmp_path: Path) -> None:
    session = opened(tmp_path / "e.jsonl", jsonl(run_files.openhands_events(2)), "openhands")
    assert len(session.calls) == 2
    answers = [session.messages[call.response] for call in session.calls]
    assert [[block.kind for block in answer.blocks] for answer in answers] == [
        [BlockKind.ASSISTANT_TEXT, BlockKind.TOOL_CALL, BlockKind.TOOL_CALL]
    ] * 2
    assert of_kind(session, BlockKind.SYSTEM_TEXT) == ['[{"type":"function"}]', "You code."]


def test_errors_rejections_and_unknown_events_of_openhands_are_reported(tmp_path: Path) -> None:
    events = run_files.openhands_events(1)[:4]
    link = {"tool_name": "terminal", "tool_call_id": "c0a"}
    events.append(event(4, "AgentErrorEvent", "agent", error="no such tool", **link))
    rejected = {**link, "tool_call_id": "c0b", "rejection_reason": "no"}
    events.append(event(5, "UserRejectObservation", "user", **rejected))
    events.append(event(6, "PauseEvent", "user"))
    events.append(event(7, "SomethingNewEvent", "agent", detail="new"))
    session = opened(tmp_path / "e.jsonl", jsonl(events), "openhands")
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [(session.text(block), block.is_error) for block in results] == [("no such tool", True), ("no", True)]
    assert session.record_counts["PauseEvent"] == 1
    assert session.messages[-1].role is Role.OTHER


def test_a_condensation_replaces_what_it_forgets_by_its_summary(tmp_path: Path) -> None:
    events = run_files.openhands_events(2)
    forgotten = [one["id"] for one in events[2:6]]
    condensation = {"forgotten_event_ids": forgotten, "summary": "done so far", "summary_offset": 2}
    session = opened(
        tmp_path / "e.jsonl", jsonl([*events, event(99, "Condensation", "environment", **condensation)]), "openhands"
    )
    assert now(session)[:4] == ['[{"type":"function"}]', "You code.", "go on", "done so far"]
    assert "file0a" not in now(session)
    assert "file1b" in now(session)


def test_what_a_condensation_leaves_of_an_answer_or_its_results_is_not_sent(tmp_path: Path) -> None:
    events = run_files.openhands_events(3)
    acts = [one["id"] for one in events if one["kind"] == "ActionEvent"]
    results = [one["id"] for one in events if one["kind"] == "ObservationEvent"]
    # One action of the first answer, and one result of the second.
    gone = {"forgotten_event_ids": [acts[0], results[2]], "summary": None}
    made = [*events, event(99, "Condensation", "environment", **gone)]
    said = now(opened(tmp_path / "e.jsonl", jsonl(made), "openhands"))
    assert [text for text in said if text.startswith("file")] == ["file2a", "file2b"]


def test_a_condensation_of_version_0_names_a_range_of_events(tmp_path: Path) -> None:
    events = run_files.openhands_0_history(3)
    args = {"forgotten_events_start_id": 2, "forgotten_events_end_id": 5, "summary": "so far", "summary_offset": 2}
    events.append({"id": 8, "source": "agent", "action": "condensation", "args": args})
    session = opened(tmp_path / "e.json", events, "openhands-v0")
    assert now(session)[:3] == ["You code.", "go on", "so far"]
    assert "file2" in now(session)
    assert "file1" not in now(session)
    assert [call.usage for call in session.calls] == [
        Usage(uncached=50 + turn, cache_read=20, output=6) for turn in range(3)
    ]


def test_histories_of_pairs_are_read_as_the_events_in_them(tmp_path: Path) -> None:
    events = run_files.openhands_0_history(2)
    pairs = [[events[place], events[place + 1]] for place in range(0, len(events), 2)]
    session = opened(tmp_path / "o.jsonl", jsonl([{"instance_id": "i", "history": pairs}]), "openhands-v0")
    assert of_kind(session, BlockKind.TOOL_RESULT) == ["file0", "file1"]
    assert session.identifier == "i"


def test_calls_of_one_response_of_version_0_are_one_answer_wherever_they_are_kept(tmp_path: Path) -> None:
    def told(identifier: str) -> Record:
        response = {"id": "r1", "model": "m", "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
        return {"function_name": "bash", "tool_call_id": identifier, "model_response": response}

    history: list[Record] = [{"id": 0, "source": "user", "action": "message", "args": {"content": "go on"}}]
    for number in (1, 2):
        metadata = {"tool_call_metadata": told(f"c{number}")}
        action = {"action": "run", "args": {"command": f"ls {number}"}}
        history.append({"id": number, "source": "agent", **action, **metadata})
    for number in (1, 2):
        metadata = {"cause": number, "tool_call_metadata": told(f"c{number}")}
        history.append({"id": 2 + number, "observation": "run", "content": f"file{number}", **metadata})
    lines = opened(tmp_path / "o.jsonl", jsonl([{"instance_id": "i", "history": history}]), "openhands-v0")
    alone = opened(tmp_path / "t.json", history, "openhands-v0")
    for session in (lines, alone):
        assert [call.usage for call in session.calls] == [Usage(uncached=9, output=2)], "counted once a response"
        kinds = [block.kind for block in session.messages[session.calls[0].response].blocks]
        assert kinds == [BlockKind.TOOL_CALL, BlockKind.TOOL_CALL]
        assert of_kind(session, BlockKind.TOOL_RESULT) == ["file1", "file2"]


def test_a_conversation_or_sample_is_named_behind_the_path(tmp_path: Path) -> None:
    made = [{"instance_id": f"i{n}", "history": run_files.openhands_0_history(n)} for n in (1, 2, 3)]
    lines = tmp_path / "output.jsonl"
    lines.write_bytes(jsonl(made))
    archive = tmp_path / "log.eval"
    archive.write_bytes(run_files.inspect_archive([run_files.inspect_sample(n, f"i{n}") for n in (1, 2, 3)]))
    document = tmp_path / "log.json"
    document.write_bytes(encoded(run_files.inspect_log([run_files.inspect_sample(n, f"i{n}") for n in (1, 2, 3)])))
    for path, ending in ((lines, ""), (archive, "_epoch_1"), (document, "_epoch_1")):
        inside = detect(path).format.contained_sessions(path)
        assert [one.identifier for one in inside] == [f"i{n}{ending}" for n in (3, 2, 1)]
        assert [len(open_session(one.path).calls) for one in inside] == [3, 2, 1]
        assert len(open_session(path).calls) == 3, "the newest where none is named"
        assert open_session(inside[-1].path).path == inside[-1].path
        with pytest.raises(SessionError, match="i9"):
            open_session(path.with_name(f"{path.name}#i9"))


def test_usage_of_inspect_is_split_as_its_total_tells(tmp_path: Path) -> None:
    sample = run_files.inspect_sample(1)
    tokens = sample["events"][1]["output"]["usage"]
    session = opened(tmp_path / "l.json", run_files.inspect_log([sample]), "inspect")
    assert session.calls[0].usage == Usage(uncached=9, cache_read=30, output=3), "9 + 30 + 3 are 42"
    tokens.update(input_tokens=39, total_tokens=42)
    session = opened(tmp_path / "l.json", run_files.inspect_log([sample]), "inspect")
    assert session.calls[0].usage == Usage(uncached=9, cache_read=30, output=3), "39 + 3 are 42"


def test_errors_of_tools_and_compactions_of_inspect_are_reported(tmp_path: Path) -> None:
    sample = run_files.inspect_sample(3)
    sample["events"][2]["input"][2]["error"] = {"type": "timeout", "message": "took too long"}
    sample["events"][3]["input"] = [{"id": "s", "role": "user", "content": "summary of it"}]
    sample["events"].insert(3, {"event": "compaction", "type": "summary", "tokens_before": 900, "tokens_after": 90})
    session = opened(tmp_path / "l.json", run_files.inspect_log([sample]), "inspect")
    failed = [block for block in session.blocks if block.is_error]
    assert [session.text(block) for block in failed] == ["took too long"]


def test_a_sample_that_keeps_its_events_in_a_transcript_is_read_from_them(tmp_path: Path) -> None:
    sample = json.loads(json.dumps(run_files.inspect_sample(2)).replace("attachment://", "tc://"))
    events, moved = sample.pop("events"), sample.pop("attachments")
    sample["transcript"] = {"events": events, "content": moved}
    session = opened(tmp_path / "log.json", run_files.inspect_log([sample]), "inspect")
    assert len([call for call in session.calls if call.usage]) == 2
    assert of_kind(session, BlockKind.USER_TEXT) == ["a long question"]


def test_a_sample_without_events_is_read_from_its_messages(tmp_path: Path) -> None:
    sample = run_files.inspect_sample(2)
    del sample["events"]
    session = opened(tmp_path / "l.json", run_files.inspect_log([sample]), "inspect")
    assert (len(session.messages), len(session.calls)) == (5, 2)
    assert session.models == ("provider/model-x",)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_archives_are_read_however_they_are_compressed(tmp_path: Path, method: int) -> None:
    data = run_files.inspect_archive([run_files.inspect_sample(2)], method)
    assert len(opened(tmp_path / "no-ending", data, "inspect").calls) == 2


def test_archives_compressed_with_zstandard_are_read(tmp_path: Path) -> None:
    zstd_zip = pytest.importorskip("backports.zstd.zipfile", reason="Python reads these itself from 3.14 on")
    path = tmp_path / "log.eval"
    with zstd_zip.ZipFile(path, "w", zstd_zip.ZIP_ZSTANDARD) as archive:
        archive.writestr("header.json", encoded({"version": 2, "eval": {"task": "count"}}))
        archive.writestr("samples/1_epoch_1.json", encoded(run_files.inspect_sample(2)))
    assert len(opened(path, path.read_bytes(), "inspect").calls) == 2


def test_a_broken_archive_is_refused_in_one_line(tmp_path: Path) -> None:
    data = run_files.inspect_archive([run_files.inspect_sample(2)])
    path = tmp_path / "log.eval"
    for broken in (data[: len(data) // 2], data.replace(b"\x03\x14", b"\x00\x00")[:-40], b"PK\x03\x04" + bytes(80)):
        path.write_bytes(broken)
        with pytest.raises(SessionError) as caught:
            open_session(path)
        assert "\n" not in caught.value.message


PARTS: dict[str, tuple[Callable[[], list[Record]], Callable[[bytes], bytes]]] = {
    "atif": (
        lambda: run_files.trajectory(4)["steps"],
        lambda inner: b'{"schema_version":"ATIF-v1.8","agent":{"name":"x"},"steps":[' + inner + b"]}",
    ),
    "swe-agent": (
        lambda: run_files.swe_run(3)["history"],
        lambda inner: b'{"trajectory":[],"replay_config":"{}","info":{},"history":[' + inner + b"]}",
    ),
    "mini-swe-agent": (
        lambda: run_files.mini_run(3)["messages"],
        lambda inner: b'{"trajectory_format":"mini-swe-agent-1.1","messages":[' + inner + b"]}",
    ),
    "cline": (lambda: run_files.cline_history(3), lambda inner: b"[" + inner + b"]"),
    "openhands": (lambda: run_files.openhands_events(2), lambda inner: b"[" + inner + b"]"),
    "openhands-v0": (lambda: run_files.openhands_0_history(2), lambda inner: b'{"history":[' + inner + b"]}"),
    "inspect": (
        lambda: run_files.inspect_sample(3)["events"],
        lambda inner: b'{"status":"x","eval":{"task":"t"},"samples":[{"id":1,"events":[' + inner + b"]}]}",
    ),
    "claude-trace": (lambda: run_files.log_of_requests(2), lambda inner: b"[" + inner + b"]"),
    "claude-tap": (
        lambda: tap_store.bundle(3)["records"],
        lambda inner: b'{"__claude_tap_compact_trace__":{"version":1},"blobs":{},"records":[' + inner + b"]}",
    ),
    "har": (
        lambda: tap_store.archive_of(3)["log"]["entries"],
        lambda inner: b'{"log":{"version":"1.2","entries":[' + inner + b"]}}",
    ),
}


@pytest.mark.parametrize("name", sorted(PARTS))
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_content_makes_a_reader_fail(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    records, document = PARTS[name]
    made = data.draw(mutated([encoded(record) for record in records()]))
    if data.draw(st.booleans()):
        made = document(b",".join(line for line in made.split(b"\n") if line))
    path = tmp_path_factory.mktemp("changed") / "session.json"
    path.write_bytes(made)
    known = next(one for one in all_formats() if one.name == name)
    assert_reads(known, path)


@settings(max_examples=examples(30))
@given(data=st.data())
def test_no_event_makes_reading_a_folder_fail(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["openhands", "openhands-v0"]))
    records = run_files.openhands_events(2) if name == "openhands" else run_files.openhands_0_history(2)
    made = data.draw(mutated([encoded(record) for record in records])).split(b"\n")
    folder = tmp_path_factory.mktemp("conversation")
    (folder / "events").mkdir()
    (folder / "base_state.json").write_bytes(data.draw(mutated([encoded(run_files.openhands_state(2))])))
    for number, line in enumerate(made):
        file = f"event-{number:05}-aa.json" if name == "openhands" else f"{number}.json"
        (folder / "events" / file).write_bytes(line)
    assert_reads(next(one for one in all_formats() if one.name == name), folder)


@settings(max_examples=examples(30))
@given(data=st.data())
def test_nothing_that_is_shown_makes_reading_a_task_fail(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    shown = run_files.cline_shown(3)
    shown[2]["conversationHistoryDeletedRange"] = [1, 2]
    condensed = {"prevContextTokens": 90, "newContextTokens": 9}
    shown.append({"ts": 1, "type": "say", "say": "condense_context", "contextCondense": condensed})
    made = data.draw(mutated([encoded(message) for message in shown]))
    folder = task_of_cline(tmp_path_factory.mktemp("task") / "1", 3)
    (folder / "ui_messages.json").write_bytes(b"[" + b",".join(line for line in made.split(b"\n") if line) + b"]")
    assert_reads(next(one for one in all_formats() if one.name == "cline"), folder)


def test_older_sums_of_openhands_written_once_more_and_then_the_newest_add_nothing() -> None:
    sums, added = Accumulated(), []
    for prompt, output in ((1_000, 10), (3_000, 30), (1_000, 10), (3_000, 30), (6_000, 60)):
        added.append(sums.added({"prompt_tokens": prompt, "completion_tokens": output}))
    assert added == [
        Usage(uncached=1_000, output=10),
        Usage(uncached=2_000, output=20),
        None,
        None,
        Usage(uncached=3_000, output=30),
    ]
