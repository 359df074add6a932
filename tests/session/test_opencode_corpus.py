"""Real OpenCode sessions, checked against counts made here with nothing but the json module."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from inspector.session.model import BlockKind, Call, Role, Session, SideCall
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.session.opencode_store import Store
from tests.session.soundness import assert_sound

FILES = {
    "ses_2200dec98ffeAAGsw94tLFVYT6.json": ("1.14.30", "gpt-5.4"),
    "ses_277daa810ffePOBsdfS6gm8uA2.json": ("1.4.3", "claude-sonnet-4.6"),
}


@pytest.fixture(scope="module", params=sorted(FILES))
def path(request: pytest.FixtureRequest, corpus: Path) -> Path:
    file: Path = corpus / "opencode" / request.param
    return file


@pytest.fixture(scope="module")
def document(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_bytes())
    return value


@pytest.fixture(scope="module")
def session(path: Path) -> Session:
    return open_session(path)


def parts(document: dict[str, Any], kind: str, role: str = "assistant") -> list[dict[str, Any]]:
    messages = [message for message in document["messages"] if message["info"]["role"] == role]
    return [part for message in messages for part in message["parts"] if part["type"] == kind]


def blocks(session: Session, kind: BlockKind) -> list[str]:
    return [session.text(block) for block in session.blocks if block.kind is kind]


def test_it_is_reported_by_its_content_whatever_its_name(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "full.jsonl"
    shutil.copy(path, copy)
    assert detect(copy).format.name == "opencode"
    assert open_session(copy).messages == open_session(path).messages


def test_nothing_is_skipped_and_everything_holds(session: Session, document: dict[str, Any]) -> None:
    assert session.skipped_records == 0
    assert sum(session.record_counts.values()) == sum(1 + len(message["parts"]) for message in document["messages"])
    assert_sound(session)


def test_the_session_is_described(path: Path, session: Session, document: dict[str, Any]) -> None:
    version, model = FILES[path.name]
    assert session.agent == f"OpenCode {version}"
    assert session.models == (model,)
    assert (session.identifier, session.title) == (document["info"]["id"], document["info"]["title"])
    assert session.working_directory == document["info"]["directory"]


def test_every_text_is_there_once_and_in_order(session: Session, document: dict[str, Any]) -> None:
    assert blocks(session, BlockKind.ASSISTANT_TEXT) == [part["text"] for part in parts(document, "text")]
    assert blocks(session, BlockKind.THINKING) == [part["text"] for part in parts(document, "reasoning")]
    typed = [part["text"] for part in parts(document, "text", "user")]
    asked = len(parts(document, "compaction", "user"))
    found = blocks(session, BlockKind.USER_TEXT)
    assert [text for text in found if text != "What did we do so far?"] == typed
    assert len(found) == len(typed) + asked


def test_tool_calls_and_results_are_all_there(session: Session, document: dict[str, Any]) -> None:
    tools = parts(document, "tool")
    calls = [block for block in session.blocks if block.kind is BlockKind.TOOL_CALL]
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [block.tool_call_id for block in calls] == [part["callID"] for part in tools]
    assert [block.tool_call_id for block in results] == [part["callID"] for part in tools]
    assert [block.tool_name for block in calls] == [part["tool"] for part in tools]
    assert [json.loads(session.text(block)) for block in calls] == [part["state"]["input"] for part in tools]
    states = [part["state"] for part in tools]
    assert [session.text(block) for block in results] == [
        state["output"] if state["status"] == "completed" else state["error"] for state in states
    ]
    assert [block.is_error for block in results] == [state["status"] == "error" for state in states]


def test_usage_is_that_of_every_step(session: Session, document: dict[str, Any]) -> None:
    reported = [part["tokens"] for part in parts(document, "step-finish")]
    steps = [step for step in reported if step.get("total")]  # a response that was broken off reports zeros
    # The requests of summaries come from the conversation's records, but are billed outside of it.
    made: list[Call | SideCall] = sorted([*session.calls, *session.side_calls], key=lambda call: call.response)
    usages = [call.usage for call in made if call.usage is not None]
    assert [usage.uncached for usage in usages] == [step["input"] for step in steps]
    assert [usage.cache_read for usage in usages] == [step["cache"]["read"] for step in steps]
    assert [usage.cache_write_5m for usage in usages] == [step["cache"]["write"] for step in steps]
    assert [usage.prompt + usage.output for usage in usages] == [step["total"] for step in steps]
    assert [usage.reasoning for usage in usages] == [step["reasoning"] for step in steps]
    stored = [message["info"]["tokens"] for message in document["messages"] if message["info"]["role"] == "assistant"]
    assert sum(usage.prompt + usage.output for usage in usages) == sum(each.get("total", 0) for each in stored)


def test_every_response_is_a_call(session: Session, document: dict[str, Any]) -> None:
    answers = [message for message in document["messages"] if message["info"]["role"] == "assistant"]
    assert len(session.calls) + len(session.side_calls) == len(answers)
    made: list[Call | SideCall] = sorted([*session.calls, *session.side_calls], key=lambda call: call.response)
    assert [session.messages[call.response].identifier for call in made] == [
        message["info"]["id"] for message in answers
    ]


def test_a_summary_begins_a_context(session: Session, document: dict[str, Any]) -> None:
    summaries = [message["info"]["id"] for message in document["messages"] if message["info"].get("summary") is True]
    assert [session.messages[c.message].identifier for c in session.compactions] == summaries
    assert len(session.contexts) == 1 + len(summaries)
    for context, summary in zip(session.contexts[1:], summaries, strict=True):
        asked, answer = (session.messages[index] for index in context.members[:2])
        assert (asked.role, answer.role, answer.identifier) == (Role.USER, Role.ASSISTANT, summary)


def test_database_and_tree_give_the_session_of_the_export(
    session: Session, document: dict[str, Any], tmp_path: Path
) -> None:
    store = Store(document["info"]["id"], title=document["info"]["title"], messages=document["messages"])
    for other in (open_session(store.database(tmp_path / "a.db")), open_session(store.tree(tmp_path / "storage"))):
        assert [(m.role, m.identifier, m.is_meta, m.is_summary) for m in other.messages] == [
            (m.role, m.identifier, m.is_meta, m.is_summary) for m in session.messages
        ]
        assert [(b.kind, b.digest, b.tool_call_id) for b in other.blocks] == [
            (b.kind, b.digest, b.tool_call_id) for b in session.blocks
        ]
        assert other.calls == session.calls
        assert other.contexts == session.contexts
        assert other.compactions == session.compactions
        assert_sound(other)
