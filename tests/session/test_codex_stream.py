"""Output of `codex exec --json`, read as a session."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.session.follow import Follower
from inspector.session.formats import codex
from inspector.session.model import BlockKind, Role, Usage
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.examples import examples
from tests.session.following import tailed
from tests.session.mutations import mutated
from tests.session.other_process import append, quiet_moments
from tests.session.soundness import assert_reads, assert_sound


def item(when: str, identifier: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{when}", "item": {"id": identifier, "type": kind, **fields}}


def command(identifier: str, line: str, output: str, code: int = 0) -> list[dict[str, Any]]:
    known = {"command": line, "aggregated_output": "", "exit_code": None, "status": "in_progress"}
    ended = {"aggregated_output": output, "exit_code": code, "status": "failed" if code else "completed"}
    return [
        item("started", identifier, "command_execution", **known),
        item("completed", identifier, "command_execution", **{**known, **ended}),
    ]


def ended(prompt: int, cached: int, output: int) -> dict[str, Any]:
    usage = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": output}
    return {"type": "turn.completed", "usage": usage}


STREAM: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "0199b26c-737a-71a2-9939-52ce68c95cbe"},
    {"type": "turn.started"},
    item("completed", "item_0", "reasoning", text="**Looking**"),
    *command("item_1", "bash -lc ls", "a\nb\n"),
    item("started", "item_2", "todo_list", items=[{"text": "fix", "completed": False}]),
    *command("item_3", "bash -lc false", "no", code=1),
    item("completed", "item_4", "file_change", changes=[{"path": "a.py", "kind": "update"}], status="completed"),
    item("updated", "item_2", "todo_list", items=[{"text": "fix", "completed": True}]),
    item(
        "completed",
        "item_5",
        "mcp_tool_call",
        server="docs",
        tool="search",
        arguments={"q": "x"},
        result={"content": [{"type": "text", "text": "found"}], "structured_content": None},
        error=None,
        status="completed",
    ),
    item("completed", "item_6", "error", message="something to know"),
    item("completed", "item_2", "todo_list", items=[{"text": "fix", "completed": True}]),
    item("completed", "item_7", "agent_message", text="Done."),
    ended(9000, 6000, 300),
    {"type": "turn.started"},
    item("completed", "item_8", "agent_message", text="And again."),
    ended(12_000, 8000, 340),
    {"type": "turn.started"},
    {"type": "turn.failed", "error": {"message": "stream disconnected"}},
]


def lines(events: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(event).encode() + b"\n" for event in events]


def written(path: Path, events: list[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(lines(events)))
    return path


def test_a_stream_is_reported_by_its_events_and_opens_as_codex(tmp_path: Path) -> None:
    found = detect(written(tmp_path / "output.txt", STREAM))
    assert found.format.name == codex.CodexFormat.name
    assert "codex exec --json" in found.reason
    for beginning in (STREAM[:2], STREAM[:3]):
        assert detect(written(tmp_path / "short", beginning)).format.name == codex.CodexFormat.name


def test_items_become_calls_results_and_answers(tmp_path: Path) -> None:
    session = open_session(written(tmp_path / "stream.jsonl", STREAM))
    assert_sound(session)
    assert session.identifier == "0199b26c-737a-71a2-9939-52ce68c95cbe"
    calls = [block for block in session.blocks if block.kind is BlockKind.TOOL_CALL]
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    names = ["command_execution", "todo_list", "command_execution", "file_change", "todo_list", "mcp__docs__search"]
    assert [block.tool_name for block in calls] == names
    assert [block.tool_call_id for block in results] == [block.tool_call_id for block in calls]
    assert [session.text(block) for block in results] == ["a\nb\n", "", "no", "", "", "found"]
    assert [block.is_error for block in results] == [False, False, True, False, False, False]
    said = [session.text(block) for block in session.blocks if block.kind is BlockKind.ASSISTANT_TEXT]
    assert said == ["Done.", "And again."]
    assert session.text(session.blocks[0]) == "**Looking**"
    assert json.loads(session.text(calls[0])) == {"command": "bash -lc ls"}
    shown = [session.text(message.blocks[0]) for message in session.messages if message.role is Role.OTHER]
    assert [json.loads(text)["type"] for text in shown] == ["item.completed", "turn.completed", "turn.failed"]
    assert session.record_counts["item.completed:command_execution"] == 2
    assert session.skipped_records == 0


def test_what_a_turn_added_to_the_total_is_the_usage_of_its_only_call(tmp_path: Path) -> None:
    session = open_session(written(tmp_path / "stream.jsonl", STREAM))
    assert session.calls[-1].usage == Usage(uncached=1000, cache_read=2000, output=40)
    assert all(call.usage is None for call in session.calls[:-1]), "a turn of several calls tells none of them apart"
    alone = [STREAM[0], STREAM[1], item("completed", "item_0", "agent_message", text="hi"), ended(100, 60, 5)]
    assert open_session(written(tmp_path / "one.jsonl", alone)).calls[0].usage == Usage(40, 60, output=5)


def test_a_report_of_more_than_its_turn_can_have_written_is_shown_and_given_to_no_call(tmp_path: Path) -> None:
    def turns(output: int, reasoning: int) -> list[Usage | None]:
        first = ended(90_000, 80_000, output)
        first["usage"]["reasoning_output_tokens"] = reasoning
        second = ended(95_000, 84_000, output + 40)
        second["usage"]["reasoning_output_tokens"] = reasoning + 30
        said = item("completed", "item_0", "agent_message", text="Done, as before.")
        again = item("completed", "item_1", "agent_message", text="And again.")
        events = [STREAM[0], STREAM[1], said, first, STREAM[1], again, second]
        session = open_session(written(tmp_path / f"{output}-{reasoning}.jsonl", events))
        return [call.usage for call in session.calls]

    later = Usage(1000, 4000, output=40, reasoning=30)
    assert turns(output=2000, reasoning=900) == [None, later]
    assert turns(output=2000, reasoning=1990) == [Usage(10_000, 80_000, output=2000, reasoning=1990), later]


def test_tools_that_run_at_once_are_of_one_response(tmp_path: Path) -> None:
    first, second, third = (command(f"item_{number}", "ls", str(number)) for number in range(3))
    events = [STREAM[0], STREAM[1], first[0], second[0], second[1], third[0], first[1], third[1]]
    events.append(item("completed", "item_9", "agent_message", text="Done."))
    session = open_session(written(tmp_path / "stream.jsonl", events))
    assert [len(session.messages[call.response].blocks) for call in session.calls] == [3, 1]
    assert [session.text(block) for block in session.messages[1].blocks] == ["1", "0", "2"]
    assert session.calls[1].prompt_messages == 2


def test_a_command_shows_while_it_runs(tmp_path: Path) -> None:
    session = open_session(written(tmp_path / "stream.jsonl", STREAM[:4]))
    assert [block.kind for block in session.blocks] == [BlockKind.THINKING, BlockKind.TOOL_CALL]


def test_a_subagent_is_linked_to_the_call_that_started_it(tmp_path: Path) -> None:
    thread = "0199b26d-737a-71a2-9939-52ce68c95cbe"
    spawned = item(
        "completed",
        "item_0",
        "collab_tool_call",
        tool="spawn_agent",
        sender_thread_id="x",
        receiver_thread_ids=[thread],
        prompt="look",
        agents_states={},
        status="completed",
    )
    session = open_session(written(tmp_path / "stream.jsonl", [*STREAM[:2], spawned]))
    assert [(link.identifier, link.tool_call_id) for link in session.links] == [(thread, "item_0")]


def test_a_stream_written_by_another_process_is_followed(tmp_path: Path) -> None:
    path = written(tmp_path / "stream.jsonl", STREAM[:2])
    follower = Follower(path)
    for _ in quiet_moments(path, [append(line) for line in lines(STREAM[2:])], follower.poll, seed=5):
        follower.poll()
        assert follower.session == open_session(path)
    assert len(follower.session.calls) == len(open_session(path).calls) > 4


@settings(max_examples=examples(60), deadline=None)
@given(cuts=st.lists(st.floats(0, 1), max_size=6))
def test_a_tailed_stream_is_a_loaded_one_at_every_cut(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[float]
) -> None:
    made = lines(STREAM)
    path = tmp_path_factory.mktemp("tail") / "stream.jsonl"
    for _, session in tailed(path, b"".join(made), len(made[0]) + len(made[1]), cuts):
        assert_sound(session)


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_whatever_a_stream_holds_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "stream.jsonl"
    path.write_bytes(data.draw(mutated(lines(STREAM))))
    assert_reads(codex.CodexFormat(), path)


def test_an_older_total_printed_once_more_and_then_the_newest_count_nothing(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [{"type": "thread.started", "thread_id": "t"}]
    for number, totals in enumerate(
        ((1_000, 0, 10), (3_000, 500, 30), (1_000, 0, 10), (3_000, 500, 30), (6_000, 900, 60))
    ):
        events += [
            {"type": "turn.started"},
            item("completed", f"item_{number}", "agent_message", text="Done."),
            ended(*totals),
        ]
    path = tmp_path / "stream.jsonl"
    path.write_bytes(b"".join(lines(events)))
    assert [call.usage for call in open_session(path).calls] == [
        Usage(uncached=1_000, output=10),
        Usage(uncached=1_500, cache_read=500, output=20),
        None,
        None,
        Usage(uncached=2_600, cache_read=400, output=30),
    ]
