"""OpenCode's sessions: rows, files and exports as messages, calls and contexts."""

import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.errors import SessionError
from inspector.session.discovery import search_places, sessions_in
from inspector.session.follow import Follower
from inspector.session.formats import opencode
from inspector.session.model import BlockKind, ContextCause, Role, Session, TextUnavailableError, Usage
from inspector.session.open import open_session
from inspector.session.reading_check import totals_of
from inspector.session.registry import detect
from inspector.session.related import call_keys, calls_counted_elsewhere, subagents_of, without_calls
from tests.session.opencode_store import Store, tokens
from tests.session.soundness import assert_sound

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAHCAYAAADAp4fuAAAAEklEQVR42mNk+M9Qz0AEYBxVSFkAP5sD/WQ6t2kAAAAASUVORK5CYII="

SOURCES: dict[str, Callable[[Store, Path], Path]] = {
    "database": lambda store, folder: store.database(folder / "anything"),
    "export": lambda store, folder: store.export(folder / "session.jsonl"),
    "export on one line": lambda store, folder: store.export(folder / "session.json", None),
    "tree": lambda store, folder: store.tree(folder / "storage"),
    "folder of the tree": lambda store, folder: store.tree(folder / "storage").parents[2],
}


@pytest.fixture(params=sorted(SOURCES))
def read(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Store], Session]:
    def opened(store: Store) -> Session:
        session = open_session(SOURCES[request.param](store, tmp_path))
        assert session.format == "opencode"
        assert session.skipped_records == 0
        assert_sound(session)
        return session

    return opened


def roles(session: Session) -> str:
    letters = {Role.SYSTEM: "S", Role.USER: "U", Role.ASSISTANT: "A", Role.TOOL: "T", Role.OTHER: "o"}
    return "".join(letters[message.role] for message in session.messages)


def spoken(session: Session, context: int = -1) -> list[str]:
    """The first text of every message of a context, thinking left out."""
    found = []
    for index in session.contexts[context].members:
        blocks = [block for block in session.messages[index].blocks if block.kind is not BlockKind.THINKING]
        found += [session.text(block) for block in blocks[:1]]
    return found


def prompts(session: Session) -> list[int | None]:
    return [None if call.usage is None else call.usage.prompt for call in session.calls]


@pytest.mark.parametrize(
    ("name", "agent"),
    [("opencode.db", "OpenCode"), ("kilo.db", "Kilo"), ("mimocode-beta.db", "MiMo Code")],
)
def test_a_database_of_a_program_made_of_opencode_has_that_programs_name(tmp_path: Path, name: str, agent: str) -> None:
    store = Store()
    store.prompt("go")
    session = open_session(store.database(tmp_path / name))
    assert session.format == "opencode"
    assert session.agent.rpartition(" ")[0] == agent


def test_a_tool_part_is_a_call_and_its_result(read: Callable[[Store], Session]) -> None:
    store = Store()
    store.prompt("go")
    store.response("c1", "c2", text="Looking.", usage=tokens(100, 10, 5, 40, 30))
    store.response(text="Done.", usage=tokens(7, 3, read=300))
    session = read(store)
    assert roles(session) == "UATA"
    assert [block.kind for block in session.messages[1].blocks] == [
        BlockKind.THINKING,
        BlockKind.ASSISTANT_TEXT,
        BlockKind.TOOL_CALL,
        BlockKind.TOOL_CALL,
    ]
    assert session.text(session.messages[1].blocks[2]) == '{"path":"c1"}'
    assert [(b.tool_call_id, b.tool_name, session.text(b)) for b in session.messages[2].blocks] == [
        ("c1", "read", "done"),
        ("c2", "read", "done"),
    ]
    assert session.messages[1].blocks[0].signature_characters == 40
    assert [call.usage for call in session.calls] == [
        Usage(uncached=100, cache_read=40, cache_write_5m=30, output=15, reasoning=5),
        Usage(uncached=7, cache_read=300, output=3),
    ]
    assert [call.prompt_messages for call in session.calls] == [1, 3]
    assert session.models == ("claude-sonnet-4.6",)
    assert (session.identifier, session.title, session.agent) == ("ses_2200", "A title", "OpenCode 1.4.3")
    assert session.working_directory == "/project"
    assert session.record_counts["part:tool"] == 2


def test_reasoning_is_inside_the_output_of_records_without_a_total(read: Callable[[Store], Session]) -> None:
    store = Store()
    store.prompt()
    store.response(usage=tokens(100, 10, 4, total=False))
    usage = read(store).calls[0].usage
    assert usage == Usage(uncached=100, output=10, reasoning=4)


def test_every_step_of_a_message_is_a_call(read: Callable[[Store], Session]) -> None:
    store = Store()
    store.prompt()
    store.answer()
    for number in range(1, 4):
        store.step(f"c{number}", text=f"step {number}", usage=tokens(100 * number, number))
    session = read(store)
    assert roles(session) == "UATATAT"
    assert prompts(session) == [100, 200, 300]
    assert [call.prompt_messages for call in session.calls] == [1, 3, 5]


def test_a_message_says_of_its_usage_what_its_step_does_not(read: Callable[[Store], Session]) -> None:
    store = Store()
    store.prompt()
    store.answer(tokens=tokens(70, 7))
    store.part("text", text="no steps at all")
    assert prompts(read(store)) == [70]


def test_a_tool_that_runs_has_no_result_yet(read: Callable[[Store], Session]) -> None:
    store = Store()
    store.prompt()
    store.answer()
    store.part("step-start")
    store.tool("c1", status="running")
    store.tool("c2", status="pending")
    session = read(store)
    assert roles(session) == "UA"
    assert prompts(session) == [None]


def test_a_tool_that_failed_returns_what_went_wrong(read: Callable[[Store], Session]) -> None:
    store = Store()
    store.prompt()
    store.answer()
    store.tool("c1", status="error", error="no such file")
    store.tool("c2", status="error", error="aborted", metadata={"interrupted": True, "output": "half of it"})
    session = read(store)
    results = session.messages[-1].blocks
    assert [session.text(block) for block in results] == ["no such file", "half of it"]
    assert all(block.is_error for block in results)


def test_cleared_results_are_partial_compactions_from_their_time_on(read: Callable[[Store], Session]) -> None:
    from inspector.replay.engine.simulation import recorded_clearing
    from inspector.strategies.history.history import History

    store = Store()
    store.prompt()
    store.response("c1", "c2")
    store.response("c3")
    marked = [part for message in store.messages for part in message["parts"] if part["type"] == "tool"]
    for offset, part in enumerate(marked[:2]):
        part["state"]["time"]["compacted"] = store.clock + 200 + offset
    store.prompt("more")
    store.response("c4")
    marked[2]["state"]["time"]["compacted"] = store.clock + 500
    store.response()
    session = read(store)
    assert [(c.cleared_tool_call_ids, c.message) for c in session.compactions] == [(("c1", "c2"), 5), (("c3",), 8)]
    assert all(compaction.is_partial for compaction in session.compactions)
    assert session.text(session.messages[2].blocks[0]) == "done"
    cleared = [
        (call, session.blocks[choice.block].tool_call_id) for call, choice in recorded_clearing(History.of(session))
    ]
    assert sorted(cleared) == [(2, "c1"), (2, "c2"), (3, "c3")]


def compacted(tail: str = "", **summary: Any) -> Store:
    store = Store()
    store.prompt("first")
    store.response("c1", text="one", usage=tokens(9000, 50))
    kept = store.prompt("kept")
    store.response("c2", text="two", usage=tokens(9500, 60))
    asked = store.message("user", agent="build")
    store.part("compaction", auto=True, **({"tail_start_id": kept} if tail else {}))
    store.response(
        text="The summary.",
        usage=tokens(9600, 70),
        parentID=asked,
        **{"summary": True, "mode": "compaction", **summary},
    )
    store.message("user")
    store.part("text", text="Continue if you have next steps", synthetic=True)
    store.response(text="three", usage=tokens(800, 5))
    return store


def test_a_summary_begins_a_context_with_what_asked_for_it(read: Callable[[Store], Session]) -> None:
    session = read(compacted())
    assert spoken(session) == ["What did we do so far?", "The summary.", "Continue if you have next steps", "three"]
    assert spoken(session, 0)[-1] == "What did we do so far?"
    (compaction,) = session.compactions
    assert (compaction.trigger, compaction.tokens_before) == ("auto", 9560)
    summary = session.messages[compaction.message]
    assert summary.is_summary
    assert summary.role is Role.ASSISTANT
    assert [call.context for call in session.calls] == [0, 0, 1]
    assert session.contexts[1].cause is ContextCause.COMPACTION
    assert session.contexts[1].retained == 1
    assert [message.is_meta for message in session.messages if message.role is Role.USER] == [False, False, True, True]


def test_the_request_for_a_summary_is_billed_outside_the_conversation(read: Callable[[Store], Session]) -> None:
    session = read(compacted())
    (side,) = session.side_calls
    assert (side.purpose, side.model, side.usage) == ("compaction", "claude-sonnet-4.6", Usage(9600, output=70))
    assert side.response == session.compactions[0].message
    assert totals_of(session).prompt == sum(call.usage.prompt for call in session.calls if call.usage) + 9600
    # The thinking behind the summary is shown next to it, and sent with no later call.
    summary = session.messages[side.response]
    assert [block.kind for block in summary.blocks] == [BlockKind.ASSISTANT_TEXT]
    assert [block.kind for block in session.messages[side.response - 1].blocks] == [BlockKind.THINKING]
    assert side.response - 1 not in session.contexts[1].members


def test_the_request_for_a_title_is_billed_and_never_sent(read: Callable[[Store], Session]) -> None:
    store = Store()
    store.prompt("go")
    store.response(text="A short title", usage=tokens(300, 6), mode="title", modelID="claude-haiku-4.5")
    store.response(text="one", usage=tokens(9000, 50))
    session = read(store)
    assert [(side.purpose, side.model) for side in session.side_calls] == [("title", "claude-haiku-4.5")]
    assert spoken(session) == ["go", "one"]
    assert len(session.calls) == 1


def test_the_recorded_cost_of_all_requests_is_kept(read: Callable[[Store], Session]) -> None:
    store = Store()
    store.prompt("go")
    for cost in (0.05, 0.02):
        store.response(text="one", cost=cost)
    assert [total.cost_usd for total in read(store).recorded_totals] == [pytest.approx(0.07)]
    assert [(total.first_call, total.end_call, total.requests) for total in read(store).recorded_totals] == [(0, 2, 2)]


@pytest.mark.parametrize(
    ("reported", "output"),
    [
        # 100 + 40 + 20 + 30: prompt 160, reasoning 25 of 30 output or next to it.
        ({"total": 190}, 30),
        ({"total": 215}, 55),
        # A total without cached tokens: 100 + 30, 100 + 30 + 25.
        ({"total": 130}, 30),
        ({"total": 155}, 55),
        ({}, 30),
    ],
)
def test_the_total_shows_whether_output_includes_reasoning(
    read: Callable[[Store], Session], reported: dict[str, int], output: int
) -> None:
    usage = {"input": 100, "output": 30, "reasoning": 25, "cache": {"read": 40, "write": 20}, **reported}
    store = Store()
    store.prompt("go")
    store.response(text="one", usage=usage)
    assert read(store).calls[0].usage == Usage(100, 40, 20, 0, output, 25)


def test_a_summary_may_keep_the_newest_messages_behind_it(read: Callable[[Store], Session]) -> None:
    session = read(compacted(tail="kept"))
    assert spoken(session)[:5] == ["What did we do so far?", "The summary.", "kept", "two", "done"]
    assert session.contexts[1].retained == 5


@pytest.mark.parametrize("failed", [{"error": {"name": "APIError", "data": {"message": "overloaded"}}}])
def test_a_summary_that_failed_compacts_nothing(read: Callable[[Store], Session], failed: dict[str, Any]) -> None:
    session = read(compacted(**failed))
    assert session.compactions == ()
    assert len(session.contexts) == 1
    assert "The summary." not in spoken(session)


def test_what_was_taken_back_is_abandoned_until_it_is_brought_back(read: Callable[[Store], Session]) -> None:
    store = Store()
    store.prompt("first")
    store.response("c1", text="one")
    second = store.prompt("second")
    store.response("c2", text="two")
    store.revert = {"messageID": second}
    session = read(store)
    assert roles(session) == "UATUAT"
    assert [message.is_abandoned for message in session.messages] == [False] * 3 + [True] * 3
    assert session.contexts[-1].cause is ContextCause.REWIND
    assert spoken(session) == ["first", "one", "done"]
    assert len(session.calls) == 2
    store.revert = None
    assert not any(message.is_abandoned for message in read(store).messages)


def test_a_revert_may_take_back_a_compaction(read: Callable[[Store], Session]) -> None:
    store = compacted()
    store.revert = {"messageID": store.messages[2]["info"]["id"]}
    assert spoken(read(store)) == ["first", "one", "done"]


def test_a_revert_may_take_back_a_part_of_a_message(read: Callable[[Store], Session]) -> None:
    store = Store()
    store.prompt("first")
    store.answer()
    store.step("c1", text="one")
    store.step("c2", text="two")
    starts = [part["id"] for part in store.messages[-1]["parts"] if part["type"] == "step-start"]
    store.revert = {"messageID": store.messages[-1]["info"]["id"], "partID": starts[1]}
    session = read(store)
    assert spoken(session) == ["first", "one", "done"]
    assert [message.is_abandoned for message in session.messages] == [False] * 3 + [True] * 2


def test_a_response_broken_off_is_sent_for_what_it_said(read: Callable[[Store], Session]) -> None:
    aborted = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}
    store = Store()
    store.prompt("go")
    store.answer(error=aborted)
    store.part("step-start")
    store.part("text", text="I was about to")
    store.answer(error=aborted)
    store.part("step-start")
    store.part("reasoning", text="hm")
    store.answer(error={"name": "ProviderAuthError", "data": {"providerID": "p", "message": "no key"}})
    store.response(text="done")
    session = read(store)
    assert spoken(session) == ["go", "I was about to", "done"]
    notices = [session.text(message.blocks[0]) for message in session.messages if message.role is Role.OTHER]
    assert notices[0] == "MessageAbortedError: The operation was aborted."
    assert notices[-1] == "ProviderAuthError: no key"


def test_files_texts_and_parts_of_all_kinds(read: Callable[[Store], Session]) -> None:
    store = Store()
    store.prompt("look at this")
    store.part("file", mime="image/png", filename="a.png", url=f"data:image/png;base64,{PNG}")
    store.part("file", mime="application/pdf", filename="a.pdf", url="file:///a.pdf")
    store.part("file", mime="text/plain", filename="src/a.py", url="file:///a.py")
    store.part("text", text="Called the Read tool", synthetic=True)
    store.part("text", text="only shown", ignored=True)
    store.part("agent", name="explore")
    store.part("subtask", prompt="p", description="d", agent="a")
    store.part("quantum", state=1)
    store.answer()
    store.tool("c1", attachments=[{"type": "file", "mime": "image/png", "url": f"data:image/png;base64,{PNG}"}])
    store.part("patch", hash="h", files=[])
    store.part("retry", attempt=1)
    session = read(store)
    kinds = [(block.kind, session.text(block)) for block in session.messages[0].blocks]
    assert kinds == [
        (BlockKind.USER_TEXT, "look at this"),
        (BlockKind.IMAGE, ""),
        (BlockKind.DOCUMENT, ""),
        (BlockKind.OTHER, "src/a.py"),
        (BlockKind.USER_TEXT, "Called the Read tool"),
        (BlockKind.OTHER, "only shown"),
        (BlockKind.USER_TEXT, "The following tool was executed by the user"),
        kinds[7],
    ]
    assert json.loads(kinds[7][1])["type"] == "quantum"
    assert not session.messages[0].is_meta
    image, result = session.messages[0].blocks[1], session.messages[2].blocks[0]
    assert [(media.width, media.height) for media in (*image.media, *result.media)] == [(5, 7), (5, 7)]


def test_a_session_without_messages_is_read(read: Callable[[Store], Session]) -> None:
    session = read(Store())
    assert session.messages == ()
    assert session.title == "A title"


@pytest.fixture
def family(tmp_path: Path) -> list[Store]:
    """Three sessions, the newest of them a subagent's."""
    old, new = Store("ses_9", title="Old"), Store("ses_5", title="New", clock=1_790_000_000_000)
    child = Store("ses_1", parent="ses_5", title="Child", clock=1_795_000_000_000)
    for store in (old, new, child):
        store.prompt(f"for {store.title}")
        store.response("c1")
    return [old, new, child]


@pytest.mark.parametrize("kind", ["database", "folder of the tree"])
def test_sessions_next_to_each_other_are_listed_and_named(tmp_path: Path, family: list[Store], kind: str) -> None:
    for store in family:
        path = SOURCES[kind](store, tmp_path)
    inside = opencode.OpenCodeFormat().contained_sessions(path)
    assert [(one.identifier, one.parent, one.title) for one in inside] == [
        ("ses_1", "ses_5", "Child"),
        ("ses_5", "", "New"),
        ("ses_9", "", "Old"),
    ]
    assert open_session(path).title == "New"
    for one in inside:
        session = open_session(one.path)
        assert (session.identifier, session.title) == (one.identifier, one.title)
        assert_sound(session)
    assert open_session(path.with_name(path.name + "#ses_9")).title == "Old"
    with pytest.raises(SessionError, match="no session ses_7"):
        open_session(path.with_name(path.name + "#ses_7"))
    found = {one.path for one in sessions_in(tmp_path)}
    assert found == {one.path for one in inside if not one.parent}


@pytest.mark.parametrize("kind", ["database", "tree"])
def test_children_are_found_by_the_parent_they_name(tmp_path: Path, family: list[Store], kind: str) -> None:
    for store in family:
        SOURCES[kind](store, tmp_path)
    parent = next(header.path for header in sessions_in(tmp_path) if open_session(header.path).title == "New")
    assert [one.identifier for one in subagents_of(open_session(parent)).found] == ["ses_1"]
    exported = open_session(family[1].export(tmp_path / "session.json"))
    assert subagents_of(exported).found == ()


def test_the_homes_of_opencode_are_its_databases_and_its_old_tree(
    tmp_path: Path, family: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    home = tmp_path / "opencode"
    home.mkdir()
    (home / "snapshot").mkdir()
    first = family[0].database(home / "opencode.db")
    tree = family[1].tree(home / "storage")
    assert set(dict(search_places())) == {first, home / "storage"}
    found = [one.path for folder in dict(search_places()) for one in sessions_in(folder)]
    assert set(found) == {first.with_name("opencode.db#ses_9"), tree}


def test_a_followed_database_stays_with_its_session_when_another_begins(tmp_path: Path, family: list[Store]) -> None:
    old, new, _ = family
    path = old.database(tmp_path / "opencode.db")
    follower = Follower(path)
    new.database(path)
    assert follower.poll() is None
    assert follower.change == ""
    old.response(text="more")
    old.database(path)
    assert follower.poll() is not None
    assert follower.session.title == "Old"
    assert roles(follower.session) == "UATA"
    assert open_session(path).title == "New"


def test_a_session_that_is_deleted_vanishes_and_stays_shown(tmp_path: Path, family: list[Store]) -> None:
    old, new, _ = family
    path = old.database(tmp_path / "opencode.db")
    new.database(path)
    follower = Follower(path.with_name("opencode.db#ses_9"))
    before = follower.session
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM session WHERE id = 'ses_9'")
    assert follower.poll() is None
    assert (follower.change, follower.state) == ("vanished", "vanished")
    assert follower.session is before
    assert follower.poll() is None
    old.database(path)
    follower.poll()
    assert (follower.change, follower.state) == ("returned", "live")


def test_only_sessions_messages_and_parts_are_read_of_a_database(
    tmp_path: Path, family: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = family[0].database(tmp_path / "opencode.db")
    seen: set[str] = set()

    def note(action: int, table: str | None, *_: Any) -> int:
        if action == sqlite3.SQLITE_READ and table:
            seen.add(table)
        return sqlite3.SQLITE_OK

    connect = sqlite3.connect

    def watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_authorizer(note)
        return connection

    monkeypatch.setattr(sqlite3, "connect", watched)
    follower = Follower(path)
    assert_sound(follower.session)
    opencode.OpenCodeFormat().contained_sessions(path)
    assert seen - {"sqlite_master", "pragma_table_info", "json_each"} == {"session", "message", "part"}


def test_reading_and_following_leaves_nothing_next_to_the_database(tmp_path: Path, family: list[Store]) -> None:
    path = family[0].database(tmp_path / "opencode.db")
    before = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
    follower = Follower(path)
    follower.poll()
    assert_sound(follower.session)
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == before
    assert list(before) == ["opencode.db"]


def test_a_text_that_streams_is_the_same_message_growing(tmp_path: Path) -> None:
    store = Store()
    for number in range(60):
        store.prompt(f"prompt {number}")
        store.response(f"c{number}")
    path = store.database(tmp_path / "opencode.db")
    follower = Follower(path)
    store.answer()
    part = store.part("text", text="T")
    for text in ("The", "The answer", "The answer."):
        before = follower.session.messages
        part["text"] = text
        store.database(path)
        session = follower.poll()
        assert session is not None
        assert follower.change == "appended"
        assert session.text(session.blocks[-1]) == text
        assert session == open_session(path)
        assert all(new is old for new, old in zip(session.messages[:180], before, strict=False))
    assert follower.poll() is None


def test_texts_of_rows_that_changed_are_unavailable_not_wrong(tmp_path: Path) -> None:
    store = Store()
    store.prompt("before")
    path = store.database(tmp_path / "opencode.db")
    session = open_session(path)
    assert session.text(session.blocks[0]) == "before"
    store.messages[0]["parts"][0]["text"] = "after!"
    store.database(path)
    later = open_session(path)
    assert later.text(later.blocks[0]) == "after!"
    fresh = open_session(path)
    store.messages[0]["parts"][0]["text"] = "again!"
    store.database(path)
    with pytest.raises(TextUnavailableError, match="rewritten"):
        fresh.text(fresh.blocks[0])
    path.unlink()
    with pytest.raises(TextUnavailableError):
        fresh.text(fresh.blocks[0])


def test_a_database_that_is_deleted_replaced_or_ruined_keeps_its_last_view(tmp_path: Path) -> None:
    store = Store()
    store.prompt("one")
    path = store.database(tmp_path / "opencode.db")
    follower = Follower(path)
    before = follower.session
    path.rename(tmp_path / "aside")
    follower.poll()
    assert (follower.change, follower.session) == ("vanished", before)
    (tmp_path / "aside").rename(path)
    follower.poll()
    assert follower.change == "returned"
    other = Store("ses_other")
    other.prompt("another")
    other.database(tmp_path / "other.db").replace(path)
    follower.poll()
    assert follower.change == "reloaded"
    assert follower.session.identifier == "ses_other"
    (tmp_path / "new").write_text("no database")
    (tmp_path / "new").replace(path)
    follower.poll()
    assert follower.change == "notice"
    assert follower.session.identifier == "ses_other"


def test_ten_thousand_rows_at_once_are_all_read(tmp_path: Path) -> None:
    store = Store()
    store.prompt("go")
    path = store.database(tmp_path / "opencode.db")
    follower = Follower(path)
    for number in range(1200):
        store.response(f"a{number}", f"b{number}", text=f"text {number}")
    store.database(path)
    follower.poll()
    assert len(follower.session.calls) == 1200
    results = [block.tool_call_id for block in follower.session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert results == [f"{letter}{number}" for number in range(1200) for letter in "ab"]


def test_unreadable_rows_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    store = Store()
    store.prompt("one")
    store.response("c1")
    path = store.database(tmp_path / "opencode.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE part SET data = '{\"type\": ' WHERE id = ?", (store.messages[1]["parts"][1]["id"],))
        connection.execute("INSERT INTO message VALUES ('msg_z', 'ses_2200', 1, 1, x'ff00')")
        connection.execute("INSERT INTO part VALUES ('prt_z', 'msg_nowhere', 'ses_2200', 1, 1, '{}')")
        connection.execute("INSERT INTO part VALUES (x'ff', 'msg_z', 'ses_2200', 1, 1, '{}')")
        connection.execute("INSERT INTO part VALUES (CAST(x'ff' AS TEXT), 'msg_z', 'ses_2200', 1, 1, '{}')")
        connection.execute("INSERT INTO part VALUES (NULL, 'msg_z', 'ses_2200', 'x', x'00', '{}')")
    session = open_session(path)
    assert roles(session) == "UAT"
    assert session.skipped_records == 2
    assert "cannot be read" in session.diagnostics[0].reason


def test_a_file_that_is_half_written_keeps_what_it_held(tmp_path: Path) -> None:
    store = Store()
    store.prompt("one")
    store.response(text="two")
    session_file = store.tree(tmp_path / "storage")
    follower = Follower(session_file)
    before = follower.session
    text = store.messages[1]["parts"][2]
    path = tmp_path / "storage" / "part" / store.messages[1]["info"]["id"] / f"{text['id']}.json"
    whole = path.read_text()
    path.write_text(whole[:30])
    assert follower.poll() is None
    assert follower.session is before
    path.write_text(whole.replace("two", "two and more"))
    follower.poll()
    assert follower.session.text(follower.session.messages[1].blocks[1]) == "two and more"
    path.write_text("{broken")
    os.utime(path, (time.time() - 100, time.time() - 100))
    assert open_session(session_file).skipped_records == 1


def test_a_session_file_elsewhere_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "ses_1.json"
    path.write_text(json.dumps(Store().info()))
    with pytest.raises(SessionError, match="not of a supported agent"):
        detect(path)


@pytest.mark.parametrize("kept", ["export", "tree", "database"])
def test_what_a_fork_copied_is_inherited_and_its_calls_are_those_of_the_session_it_was_made_of(
    tmp_path: Path, kept: str
) -> None:
    store = Store()
    store.prompt("first")
    store.response("c1", usage=tokens(100, 10), time={"created": store.clock, "completed": store.clock + 700})
    store.response(text="done", usage=tokens(300, 20), time={"created": store.clock, "completed": store.clock + 900})
    fork = store.fork("ses_1100")
    fork.prompt("another way")
    fork.response(text="so", usage=tokens(400, 30), time={"created": fork.clock, "completed": fork.clock + 800})
    paths = {
        "export": lambda made: made.export(tmp_path / f"{made.identifier}.json"),
        "tree": lambda made: made.tree(tmp_path),
        "database": lambda made: made.database(tmp_path / "opencode.db").with_name(f"opencode.db#{made.identifier}"),
    }
    origin, copied = (open_session(paths[kept](made)) for made in (store, fork))

    assert not any(message.is_inherited for message in origin.messages)
    assert [message.is_inherited for message in copied.messages] == [True] * (len(copied.messages) - 2) + [False] * 2
    assert [call.usage.prompt for call in copied.own_calls if call.usage] == [400]
    keys = [call_keys(session) for session in (origin, copied)]
    assert keys[1][:2] == keys[0]
    (_, elsewhere) = calls_counted_elsewhere([(1.0, keys[0]), (2.0, keys[1])])
    assert without_calls(copied, elsewhere).calls == copied.own_calls
