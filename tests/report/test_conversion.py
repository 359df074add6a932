"""A converted session opens with the same content; losses are counted."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from atif import Trajectory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from inspector.report.conversion import FORMS, PARTS, convert
from inspector.session.formats.plain import read_conversation
from inspector.session.model import BlockKind, Role
from inspector.session.open import open_session
from tests.examples import examples
from tests.program import run_here

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.model import Session, Usage

SPOKEN = (BlockKind.USER_TEXT, BlockKind.ASSISTANT_TEXT, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT)

REAL = [
    "claude-code/8ecab05f-4481-43d6-9428-a6b177981877.jsonl",
    "codex/rollout-2025-09-16T12-47-48-9cd28a74-da7e-4458-a91a-fffec2be9d7a.jsonl",
    "copilot-cli/10fb4666-56f0-4352-90fc-715caf95b418",
    "gemini-cli/cdb14b05-cceb-4354-a9d8-8c9182ece8bf.json",
    "opencode/ses_277daa810ffePOBsdfS6gm8uA2.json",
    "pi/before-compaction.jsonl",
    "cline/session.messages.json",
    "swe-agent/marshmallow-1867-function-calling.traj",
    "mini-swe-agent/github_issue.traj.json",
    "openhands-v0/resolver_output.jsonl",
    "openhands-v1/81f92eeb84c0468dbc1837c63c4f72ec",
    "openhands-v1/goal-events.jsonl",
    "inspect/2025-05-12T20-27-36-04-00_browser.json",
    "inspect/log_message_deduplication.eval",
    "openai-chat/litellm-deepseek-1757015076.json",
    "openai-chat/tau-bench-few-shot.jsonl",
]


def said(session: Session, members: tuple[int, ...]) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for index in members:
        for block in session.messages[index].blocks:
            text = session.text(block)
            if block.kind in SPOKEN and (text or block.tool_name):
                if block.kind is BlockKind.TOOL_CALL:
                    found[block.kind.name, block.tool_name, meaning(text)] += 1
                else:
                    found[block.kind.name, text] += 1
    return found


def meaning(text: str) -> str:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = text
    return json.dumps(value if isinstance(value, dict) else {"input": value}, sort_keys=True)


def everything(session: Session) -> tuple[int, ...]:
    return tuple(
        index
        for index, message in enumerate(session.messages)
        if message.thread == 0 and message.role is not Role.OTHER and not (message.is_abandoned or message.is_synthetic)
    )


def written(session: Session, form: str, part: str, folder: Path) -> tuple[Session, dict[str, Any], dict[str, int]]:
    document, losses = convert(session, form, part)
    path = folder / f"{form}-{part}.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return open_session(path), document, losses.counts


@pytest.mark.parametrize("name", REAL)
def test_a_converted_session_says_the_same(corpus: Path, tmp_path: Path, name: str) -> None:
    session = open_session(corpus / name)
    for part in PARTS:
        members = session.contexts[-1].members if part == "context" else everything(session)
        expected = said(session, members)
        assert expected
        for form in FORMS:
            again, document, losses = written(session, form, part, tmp_path)
            missing = expected - said(again, everything(again))
            added = said(again, everything(again)) - expected
            assert not missing, (form, part)
            # Images become text in forms without images, and the loss is counted.
            assert sum(added.values()) == losses.get("images written as text", 0), (form, part)
            if form == "atif":
                Trajectory.model_validate(document)


def test_usage_and_models_survive_in_a_trajectory(corpus: Path, tmp_path: Path) -> None:
    for name in (REAL[2], REAL[3], REAL[10], "claude-code/acc53d32-5580-4747-9273-e2acff2ba566.jsonl"):
        session = open_session(corpus / name)
        again, document, _ = written(session, "atif", "conversation", tmp_path)
        assert [call.model for call in again.calls] == [call.model for call in session.calls]
        assert [call.usage for call in again.calls] == [as_known(call.usage) for call in session.calls], name
        sums = document["final_metrics"]
        assert sums["total_prompt_tokens"] == sum(call.usage.prompt for call in session.calls if call.usage)


def as_known(usage: Usage | None) -> Usage | None:
    if usage is None or not usage.output_is_placeholder:
        return usage
    return structs.replace(usage, output=0, output_is_placeholder=False)


def test_subagents_of_a_conversation_are_trajectories_of_their_own(tmp_path: Path) -> None:
    step = {"step_id": 1, "source": "user", "message": "find it"}
    answer = {"step_id": 2, "source": "agent", "message": "found"}
    agent = {"name": "harness", "version": "1"}
    subagent = {"schema_version": "ATIF-v1.7", "trajectory_id": "s", "agent": agent, "steps": [step, answer]}
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps({**subagent, "subagent_trajectories": [subagent]}))
    again, document, _ = written(open_session(path), "atif", "conversation", tmp_path)
    assert [one["trajectory_id"] for one in document["subagent_trajectories"]] == ["subagent-1"]
    assert [message.thread for message in again.messages] == [0, 0, 1, 1]
    _, losses = convert(open_session(path), "openai", "conversation")
    assert losses.counts["messages of subagents left out"] == 2


def test_results_without_a_call_keep_their_ids_in_every_form(tmp_path: Path) -> None:
    orphans = [{"type": "tool_result", "tool_use_id": f"gone-{n}", "content": f"was {n}"} for n in (1, 2)]
    call = {"type": "tool_use", "id": "c", "name": "Read", "input": {}}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "read"}, call]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "is"}]}
    session = read_conversation([{"role": "user", "content": orphans}, answer, result])
    for form in FORMS:
        again, document, losses = written(session, form, "context", tmp_path)
        results = [block for block in again.blocks if block.kind is BlockKind.TOOL_RESULT]
        found = [(block.tool_call_id, again.text(block)) for block in results]
        assert found == [("gone-1", "was 1"), ("gone-2", "was 2"), ("c", "is")], form
        assert len(again.calls) == 1
        if form == "atif":
            Trajectory.model_validate(document)
            assert losses == {"tool results without a call written as separate steps": 2}


def test_calls_that_were_copied_from_another_session_are_still_calls_in_a_trajectory(tmp_path: Path) -> None:
    asked = {"step_id": 1, "source": "user", "message": "find it", "is_copied_context": True}
    metrics = {"metrics": {"prompt_tokens": 10, "completion_tokens": 3}, "llm_call_count": 1}
    answer = {"step_id": 2, "source": "agent", "message": "found", "is_copied_context": True, **metrics}
    agent = {"name": "harness", "version": "1"}
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps({"schema_version": "ATIF-v1.7", "agent": agent, "steps": [asked, answer]}))
    session = open_session(path)
    again, _, _ = written(session, "atif", "conversation", tmp_path)
    assert again.calls == session.calls
    assert [call.usage.prompt for call in again.calls if call.usage] == [10]
    assert all(message.is_inherited for message in again.messages)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
tools = st.sampled_from(["Read", "Bash"])
inputs = st.dictionaries(texts, st.one_of(texts, st.integers(-9, 9), st.lists(texts, max_size=2)), max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Turns of any content, ids that come again among them."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": draw(texts)}]
    for _ in range(draw(st.integers(0, 4))):
        calls = [
            {
                "type": "tool_use",
                "id": f"call_{number}",
                "name": draw(st.sampled_from(["Read", "Bash"])),
                "input": given,
            }
            for number, given in enumerate(draw(st.lists(inputs, max_size=3)))
        ]
        spoken = [{"type": "text", "text": text} for text in draw(st.lists(texts, min_size=not calls, max_size=2))]
        messages.append({"role": "assistant", "content": [*spoken, *calls]})
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": draw(texts)} for call in calls]
        after = [{"type": "text", "text": text} for text in draw(st.lists(texts, min_size=not results, max_size=2))]
        messages.append({"role": "user", "content": [*results, *after]})
    return messages


def results_of_tools(session: Session) -> list[tuple[str, str]]:
    blocks = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    return sorted((block.tool_name, session.text(block)) for block in blocks)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=conversations(), form=st.sampled_from(sorted(FORMS)))
def test_any_conversation_says_the_same_in_any_form(tmp_path: Path, messages: list[dict[str, Any]], form: str) -> None:
    session = read_conversation(messages)
    again, document, losses = written(session, form, "context", tmp_path)
    assert said(again, everything(again)) == said(session, everything(session))
    assert len(again.calls) == len(session.calls)
    pairs = [
        [
            (block.tool_name, session_of.text(block))
            for block in session_of.blocks
            if block.kind is BlockKind.TOOL_RESULT
        ]
        for session_of in (session, again)
    ]
    assert sorted(pairs[0]) == sorted(pairs[1])
    if form == "atif":
        Trajectory.model_validate(document)
    assert set(losses) <= {"usage and times of calls left out"}


def test_the_command_prints_a_document_and_says_what_is_missing(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = corpus / REAL[0]
    printed = run_here(capsys, "convert", path, "--to", "atif", "--what", "conversation")
    assert printed.code == 0
    assert json.loads(printed.out)["schema_version"] == "ATIF-v1.7"
    assert "compactions not marked as such: 1" in printed.err
    assert "images written as text" in printed.err
    target = tmp_path / "out.json"
    saved = run_here(capsys, "convert", path, "--to", "openai", "-o", target)
    assert (saved.code, saved.out) == (0, "")
    assert open_session(target).format == "openai-chat"
    refused = run_here(capsys, "convert", path, "--to", "openai", "-o", target)
    assert refused.code == 2, "a session is never written over"


def test_a_request_names_the_conversations_model_and_not_that_of_one_last_call(corpus: Path, tmp_path: Path) -> None:
    session = open_session(corpus / "cline" / "session.json")
    for form in ("openai", "anthropic"):
        assert written(session, form, "conversation", tmp_path)[1]["model"] == "anthropic/claude-opus-4.8-fast"
