"""Usage of Goose's calls: noted with messages, and in the ledger of its database; and subagents' sessions."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.session.discovery import list_sessions
from inspector.session.follow import Follower
from inspector.session.formats.goose import GooseFormat
from inspector.session.model import LinkKind, Role, Session, SideCall, Usage
from inspector.session.open import open_session
from inspector.session.related import locate, parent_of
from tests.examples import examples
from tests.session.databases import ODD_VALUES, Statement, change_rows, run
from tests.session.goose_store import (
    LEDGER,
    LEDGER_TABLES,
    TABLES,
    GooseScript,
    create,
    ledger,
    request,
    response,
    session,
    used,
)
from tests.session.soundness import assert_reads, assert_sound

MODEL = '{"model_name": "configured"}'

FIRST, SECOND = (1_000, 600, 300, 20), (1_200, 900, 0, 30)


def in_database(folder: Path, script: GooseScript, *statements: Statement, tables: str = LEDGER_TABLES) -> Path:
    made = session("s1", name="A title", model_config_json=MODEL)
    return create(folder / "sessions.db", made, *script.statements("s1"), *statements, tables=tables)


def two_calls(*, noted: bool = True) -> GooseScript:
    script = GooseScript()
    script.user("look")
    script.answer("I look.", request("c1"), **({"usage": used(FIRST)} if noted else {}))
    script.user(response("c1", "found"))
    script.answer("Done.", **({"usage": used(SECOND)} if noted else {}))
    return script


def start(script: GooseScript, message: int) -> int:
    return int(script.messages[message]["created"])


def opened(path: Path) -> Session:
    found = open_session(path)
    assert_sound(found)
    return found


def test_a_prompt_holds_what_caches_did(tmp_path: Path) -> None:
    script = two_calls()
    rows = [ledger("s1", start(script, 1), FIRST), ledger("s1", start(script, 3), SECOND)]
    found = opened(in_database(tmp_path, script, *rows))
    assert [call.usage for call in found.calls] == [Usage(100, 600, 300, output=20), Usage(300, 900, output=30)]
    assert [call.model for call in found.calls] == ["m1", "m1"]
    assert found.side_calls == ()
    assert found.record_counts["usage"] == 2


def test_what_caches_did_next_to_a_prompt_that_is_too_small_for_it_is_added(tmp_path: Path) -> None:
    script = GooseScript()
    script.user("look")
    script.answer("Done.", usage=used((10, 600, 300, 20)))
    assert opened(in_database(tmp_path, script)).calls[0].usage == Usage(10, 600, 300, output=20)


def test_an_export_holds_the_usage_of_its_messages(tmp_path: Path) -> None:
    script = two_calls()
    script.messages[1]["metadata"]["inference"] = {"provider": "p", "requestedModel": "asked", "resolvedModel": "was"}
    script.messages[3]["metadata"]["inference"] = {"provider": "p", "requestedModel": "asked"}
    path = tmp_path / "s1.json"
    about = {"id": "s1", "working_dir": "/project", "session_type": "sub_agent", "parent_session_id": "p1"}
    path.write_text(json.dumps({**about, "conversation": script.messages}))
    found = opened(path)
    assert [call.usage and call.usage.prompt for call in found.calls] == [1_000, 1_200]
    assert [call.model for call in found.calls] == ["was", "asked"]
    link = parent_of(found)
    assert link is not None
    assert link.identifier == "p1"
    assert locate(found, link) is None


def test_usage_ends_a_response(tmp_path: Path) -> None:
    script = GooseScript()
    script.user("look")
    script.answer("I look.")
    script.answer("Still.", usage=used(FIRST))
    script.answer("Again.", usage=used(SECOND))
    found = opened(in_database(tmp_path, script))
    assert [call.usage and call.usage.output for call in found.calls] == [20, 30]
    assert [len(found.messages[call.response].blocks) for call in found.calls] == [2, 1]


def test_rows_of_one_response_stay_together_behind_its_usage(tmp_path: Path) -> None:
    script = GooseScript()
    script.user("look")
    script.answer("I look.", usage=used(FIRST))
    script.answer(request("c1"))
    rename = ("UPDATE messages SET message_id = 'm1' WHERE role = 'assistant'", ())
    found = opened(in_database(tmp_path, script, rename))
    assert [len(found.messages[call.response].blocks) for call in found.calls] == [2]


def test_the_ledger_reports_requests_that_left_no_message(tmp_path: Path) -> None:
    script = two_calls()
    summary, lost = (9_000, 0, 0, 400), (1_100, 0, 0, 5)
    found = opened(
        in_database(
            tmp_path,
            script,
            ledger("s1", start(script, 1), FIRST),
            ledger("s1", start(script, 2), lost, model="m2"),
            ledger("s1", start(script, 3), SECOND),
            ledger("s1", start(script, 3), summary, is_compaction=1),
        )
    )
    assert found.side_calls == (
        SideCall("request without a message", "m2", float(start(script, 2)), Usage(1_100, output=5)),
        SideCall("compaction", "m1", float(start(script, 3)), Usage(9_000, output=400)),
    )
    assert [call.usage and call.usage.prompt for call in found.calls] == [1_000, 1_200]


def test_a_sum_carried_into_the_ledger_is_no_request(tmp_path: Path) -> None:
    script = two_calls()
    forwarded = ledger("s1", start(script, 1), (50_000, 0, 0, 900), model=None, cost_source="carried_forward")
    found = opened(in_database(tmp_path, script, forwarded, ledger("s1", start(script, 1), FIRST)))
    assert found.side_calls == ()
    assert found.record_counts["usage:carried forward"] == 1
    assert [call.model for call in found.calls] == ["m1", "configured"]


@pytest.mark.parametrize("delay", [0, 1])
def test_without_notes_rows_belong_to_the_calls_that_began_before_them(tmp_path: Path, delay: int) -> None:
    script = two_calls(noted=False)
    rows = [ledger("s1", start(script, 1) + delay, FIRST), ledger("s1", start(script, 3) + 90, SECOND, model="m2")]
    found = opened(in_database(tmp_path, script, *rows))
    assert [call.usage and call.usage.prompt for call in found.calls] == [1_000, 1_200]
    assert [call.model for call in found.calls] == ["m1", "m2"]
    assert found.side_calls == ()


def test_without_notes_rows_that_may_belong_to_several_calls_belong_to_none(tmp_path: Path) -> None:
    script = two_calls(noted=False)
    rows = [ledger("s1", start(script, 3) + number, FIRST) for number in range(2)]
    found = opened(in_database(tmp_path, script, *rows))
    assert [call.usage for call in found.calls] == [None, None]
    assert len(found.side_calls) == 2


def delegating() -> tuple[GooseScript, GooseScript]:
    script, own = GooseScript(), two_calls()
    script.user("delegate")
    script.answer(request("c1", "delegate", instructions="look"))
    script.user(response("c1", "Task started", _meta={"subagent_session_id": "s2"}))
    script.answer(request("c2", "load", source="s2"))
    script.user(response("c2", "Done.", _meta={"subagent_session_id": "s2", "task_status": "completed"}))
    return script, own


def test_a_subagent_is_known_by_its_session_and_by_the_call_that_started_it(tmp_path: Path) -> None:
    script, own = delegating()
    children = [session(name, session_type="sub_agent", parent_session_id="s1") for name in ("s2", "s3")]
    stray = session("s4", session_type="sub_agent", parent_session_id="gone")
    path = in_database(tmp_path, script, *children, stray, *own.statements("s2"))
    found = opened(path)
    subagents = [(link.identifier, link.tool_call_id) for link in found.links if link.kind is LinkKind.SUBAGENT]
    assert subagents == [("s2", "c1"), ("s3", "")]
    child = locate(found, found.links[0])
    assert child is not None
    inside = opened(child)
    back = parent_of(inside)
    assert back is not None
    assert inside.identifier == "s2"
    assert open_session(locate(inside, back) or path).identifier == "s1"
    parents = {one.identifier: one.parent for one in GooseFormat().contained_sessions(path)}
    assert parents == {"s1": "", "s2": "s1", "s3": "s1", "s4": "sub_agent"}
    assert parent_of(open_session(path.with_name("sessions.db#s4"))) is None
    headers = [one for batch in list_sessions([(tmp_path, None)]) for one in batch]
    listed = {one.path.name: one.parent and one.parent.name for one in headers}
    assert listed["sessions.db#s2"] == "sessions.db#s1"


def test_a_database_that_gets_a_ledger_is_followed(tmp_path: Path) -> None:
    script = two_calls(noted=False)
    path = in_database(tmp_path, script, tables=TABLES)
    follower = Follower(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(LEDGER)
        script.user("more")
        script.answer("said", usage=used(FIRST))
        for statements in ([ledger("s1", start(script, 5), FIRST)], script.statements("s1", 4)):
            run(connection, *statements)
            follower.poll()
            assert follower.session == open_session(path)
            assert_sound(follower.session)
    assert [call.usage and call.usage.prompt for call in follower.session.calls] == [None, None, 1_000]
    assert follower.session.side_calls == ()
    assert follower.session.messages[-1].role is Role.ASSISTANT


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    script, own = delegating()
    script.messages += own.messages
    child = session("s2", session_type="sub_agent", parent_session_id="s1")
    rows = [ledger("s1", start(own, 1), FIRST), ledger("s1", start(own, 2), SECOND, is_compaction=1)]
    return in_database(tmp_path_factory.mktemp("sound"), script, child, *rows)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from(["sessions", "messages", "usage_ledger"]),
            st.integers(0, 24),
            st.integers(1, 8),
            st.sampled_from(ODD_VALUES),
        ),
        max_size=6,
    )
)
def test_nothing_in_changed_rows_makes_the_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, sound: Path, changes: list[tuple[str, int, int, Any]]
) -> None:
    path = shutil.copy(sound, tmp_path_factory.mktemp("changed") / "sessions.db")
    change_rows(path, changes)
    assert_reads(GooseFormat(), path)
    GooseFormat().contained_sessions(path)
