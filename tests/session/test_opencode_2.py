"""OpenCode 2: its tables alone, next to the frozen tables of version 1, and while they grow."""

import base64
import copy
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.session.discovery import found_in
from inspector.session.follow import Follower
from inspector.session.model import BlockKind, ContextCause, LinkKind, Role, Session, Usage
from inspector.session.open import open_session
from inspector.session.reading_check import independent_totals, totals_of
from inspector.session.related import subagents_of, without_copied_calls
from tests.examples import examples
from tests.session.mutations import ODD, changed, places
from tests.session.opencode_2_store import SCHEMA, START, Database, text, tokens, tool
from tests.session.opencode_store import Store
from tests.session.opencode_store import tokens as first_tokens
from tests.session.soundness import assert_sound


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "opencode.db")


def read(database: Database, session: str = "ses_1") -> Session:
    opened = open_session(database.path.with_name(f"{database.path.name}#{session}"))
    assert opened.format == "opencode"
    assert_sound(opened)
    return opened


def spoken(session: Session) -> list[str]:
    """The first text of every message of the last context."""
    members = session.contexts[-1].members
    return [session.text(session.messages[index].blocks[0]) for index in members if session.messages[index].blocks]


def prompt_of(session: Session) -> int:
    return sum(call.usage.prompt for call in session.own_calls if call.usage is not None)


# The case of two forks: 3 calls of 12,010, 14,010 and 14,310 tokens, and one own call of 14,360 in each fork.


def test_forks_are_counted_once_in_the_shared_case(shared: Path) -> None:
    path = shared / "cases" / "50-opencode2" / "opencode.db"
    sessions = {header.identifier: open_session(header.path) for header in found_in(path)}
    assert sorted(sessions) == ["ses_fork0", "ses_fork1", "ses_root"]
    assert len(sessions["ses_root"].calls) == 3
    assert prompt_of(sessions["ses_root"]) == 12_010 + 14_010 + 14_310 == 40_330
    assert {prompt_of(sessions[name]) for name in ("ses_fork0", "ses_fork1")} == {14_360}
    counted = [without_copied_calls(session) for session in sessions.values()]
    assert sum(len(session.calls) for session in counted) == 5
    assert sum(totals_of(session).prompt for session in counted) == 40_330 + 2 * 14_360 == 69_050
    assert all(session.side_calls == () and session.diagnostics == () for session in counted)


def test_a_child_session_is_listed_and_linked_in_the_shared_case(shared: Path) -> None:
    path = shared / "cases" / "55-opencode1-child" / "opencode.db"
    headers = list(found_in(path, with_subagents=True))
    sessions = [open_session(header.path) for header in headers]
    assert sum(len(session.calls) for session in sessions) == 4
    assert sum(totals_of(session).prompt for session in sessions) == 40_330 + 5_007 == 45_337
    root = next(session for session in sessions if session.identifier == "ses_root")
    assert [(link.kind, link.identifier) for link in root.links] == [(LinkKind.SUBAGENT, "ses_child")]
    assert [one.identifier for one in subagents_of(root).found] == ["ses_child"]


def test_rows_become_messages_as_they_are_sent(database: Database) -> None:
    database.session()
    attached = {"mime": "text/plain", "data": base64.b64encode(b"one\ntwo").decode(), "name": "a.txt"}
    picture = {"mime": "image/png", "data": "iVBORw0KGgo=", "name": "a.png"}
    skill = {"name": "s", "text": "the skill"}
    database.prompt("go", files=[attached, picture], skills=[skill])
    database.row("synthetic", text="a reminder")
    database.row("system", text="tools changed")
    database.row("model-switched", model={"id": "m"})
    thinking = {"type": "reasoning", "text": "hm", "native": {"signature": "x" * 40}}
    failed = {"status": "error", "input": {"path": "b"}, "error": {"type": "tool.execution", "message": "no file"}}
    running = {"status": "streaming", "input": '{"pa'}
    database.answer(
        thinking,
        text("reading"),
        tool("c1", "contents"),
        {"type": "tool", "id": "c2", "name": "read", "state": failed},
        {"type": "tool", "id": "c3", "name": "edit", "state": running},
        tokens=tokens(10, 20, 5, 3000, 400),
    )
    database.row("shell", command="ls", output={"output": "a.txt"}, status="exited")
    database.row("shell", command="sleep", metadata={"background": True}, status="exited")
    database.row("location-switched", location={"directory": "/other"})
    database.row("invented", about=[1])
    database.row("idle", outcome="succeeded")
    session = read(database)
    assert [call.usage for call in session.calls] == [Usage(10, 3000, 400, 0, 25, 5)]
    assert spoken(session) == [
        "the skill",
        "a reminder",
        "tools changed",
        "hm",
        "contents",
        "The following shell command was executed by the user:\n\nCommand:\nls\n\nOutput:\na.txt",
        "The following shell command was executed by the user:\n\nCommand:\nsleep\n\nOutput:\n",
        "The working directory has been changed to /other.",
    ]
    asked, _, _, answered, results, *_ = session.messages
    assert [session.text(block) for block in asked.blocks] == [
        "the skill",
        "go",
        "\n\nAttached file: a.txt\n\none\ntwo",
        "",
    ]
    assert asked.blocks[3].kind is BlockKind.IMAGE
    assert not asked.is_meta
    assert answered.blocks[0].signature_characters == 40
    assert [(block.tool_call_id, block.tool_name) for block in answered.blocks[2:]] == [
        ("c1", "read"),
        ("c2", "read"),
        ("c3", "edit"),
    ]
    assert [(session.text(block), block.is_error) for block in results.blocks] == [
        ("contents", False),
        ("no file", True),
    ]
    assert [block.kind for block in session.messages[-1].blocks] == [BlockKind.OTHER]
    assert session.record_counts["part:invented"] == session.record_counts["part:idle"] == 1
    assert session.skipped_records == 0


def test_an_error_is_shown_and_what_was_stated_before_it_is_sent(database: Database) -> None:
    database.session()
    database.prompt("go")
    database.answer(text("half"), error={"type": "provider.error", "message": "overloaded"}, tokens=tokens(10, 2))
    session = read(database)
    assert spoken(session) == ["go", "half"]
    assert [session.text(message.blocks[0]) for message in session.messages] == ["go", "overloaded", "half"]


def test_a_compaction_leaves_its_checkpoint_and_is_billed_outside_the_conversation(database: Database) -> None:
    database.session()
    database.prompt("go")
    database.answer(text("one"), tokens=tokens(10, 50, 0, 8000, 990))
    own = tokens(9000, 400, 60, 100)
    database.row("compaction", status="failed", reason="auto", error={"message": "too long"}, tokens=tokens(7, 3))
    database.row("compaction", status="completed", reason="auto", summary="S", recent="R", tokens=own)
    database.answer(text("two"), tokens=tokens(300, 5))
    session = read(database)
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.COMPACTION]
    checkpoint, answered = spoken(session)
    assert "<summary>\nS\n</summary>\n\n<recent-context>\nR\n</recent-context>" in checkpoint
    assert answered == "two"
    (compaction,) = session.compactions
    # 10 + 8,000 + 990 + 50 tokens of the last call before it.
    assert (compaction.trigger, compaction.tokens_before) == ("auto", 9050)
    assert session.messages[compaction.message].is_summary
    assert [(side.purpose, side.usage) for side in session.side_calls] == [
        ("compaction", Usage(7, output=3)),
        ("compaction", Usage(9000, 100, output=460, reasoning=60)),
    ]
    assert [call.usage.prompt for call in session.calls if call.usage] == [9000, 300]


def totals(input: int, output: int, reasoning: int, read: int, write: int, cost: float) -> dict[str, float]:  # noqa: A002
    names = ("input", "output", "reasoning", "cache_read", "cache_write")
    counts = zip(names, (input, output, reasoning, read, write), strict=True)
    return {f"tokens_{name}": count for name, count in counts} | {"cost": cost}


def test_a_title_is_counted_from_the_totals_of_the_session(database: Database) -> None:
    # Two steps of 10 + 20 tokens and a title of 700 + 9: totals 720 in, 59 out, $0.31.
    database.session(**totals(720, 59, 0, 300, 40, 0.31))
    database.prompt("go")
    database.answer(text("one"), tokens=tokens(10, 20, 0, 0, 40), cost=0.1)
    database.answer(text("two"), tokens=tokens(10, 30, 0, 300), cost=0.2)
    session = read(database)
    (side,) = session.side_calls
    assert (side.purpose, side.usage, side.model) == ("title", Usage(700, output=9), "claude-sonnet-4-5")
    (recorded,) = session.recorded_totals
    assert recorded.cost_usd == pytest.approx(0.31)
    assert (recorded.requests, recorded.side_usages) == (3, (("claude-sonnet-4-5", Usage(700, output=9)),))
    assert totals_of(session) == independent_totals(session) == (720 + 300 + 40, 300, 59)


def test_usage_in_a_row_of_another_kind_is_a_request_outside_the_conversation(database: Database) -> None:
    # Of the totals 817 in and 36 out, the title is 700 and 11: 817 - 10 - 107, and 36 - 20 - 5.
    database.session(**totals(817, 36, 2, 300, 0, 0.2))
    database.prompt("go")
    database.answer(text("one"), tokens=tokens(10, 20))
    database.row("retitled", model={"id": "claude-haiku-4-5"}, tokens=tokens(107, 5, 2, 300), cost=0.1)
    session = read(database)
    own, title = session.side_calls
    assert (own.purpose, own.usage, own.model) == (
        "retitled",
        Usage(107, 300, output=7, reasoning=2),
        "claude-haiku-4-5",
    )
    assert (title.purpose, title.usage) == ("title", Usage(700, output=11))
    assert totals_of(session) == independent_totals(session) == (1117, 300, 38)


def test_a_total_shows_what_the_output_includes(database: Database) -> None:
    """Rows taken over from version 1 keep its totals; a cost may be in quotes."""
    database.session()
    database.prompt("go")
    database.answer(text("one"), tokens={**tokens(100, 50, 30, 400), "total": 550}, cost="0.25")
    database.answer(text("two"), tokens={**tokens(100, 50, 30, 400), "total": 580}, cost=True)
    database.answer(text("three"), tokens=tokens(100, 50, 30, 400), cost=float("inf"))
    session = read(database)
    assert [call.usage.output for call in session.calls if call.usage] == [50, 80, 80]
    assert [total.cost_usd for total in session.recorded_totals] == [0.25]
    assert totals_of(session) == independent_totals(session) == (1500, 1200, 210)


def test_totals_that_miss_a_step_add_nothing(database: Database) -> None:
    database.session(**totals(5, 20, 0, 0, 0, 0.1))
    database.prompt("go")
    database.answer(text("one"), tokens=tokens(10, 20), cost=0.2)
    session = read(database)
    assert session.side_calls == ()
    assert [total.cost_usd for total in session.recorded_totals] == [0.2]
    assert totals_of(session) == independent_totals(session) == (10, 0, 20)


@pytest.mark.parametrize("before", [False, True], ids=["through", "before"])
@pytest.mark.parametrize("is_origin_deleted", [False, True])
def test_a_fork_counts_what_follows_its_boundary(database: Database, before: bool, is_origin_deleted: bool) -> None:
    database.session(**totals(30, 60, 0, 0, 0, 0.3))
    database.prompt("go")
    database.answer(text("one"), tokens=tokens(10, 20), cost=0.1)
    database.answer(text("two"), tokens=tokens(20, 40), cost=0.2)
    boundary = database.prompt("three")
    database.fork("ses_1", "ses_2", boundary, before=before, **totals(60, 70, 0, 0, 0, 0.4))
    database.prompt("another way", "ses_2")
    database.answer(text("four"), session="ses_2", tokens=tokens(50, 60), cost=0.3)
    # The fork's own compaction of 10 + 10 is in its totals: 60 = 50 + 10, 70 = 60 + 10.
    if is_origin_deleted:
        database.run("DELETE FROM session_message WHERE session_id = 'ses_1'")
        database.run("DELETE FROM session_v2 WHERE id = 'ses_1'")
    session = read(database, "ses_2")
    copied = ["go", "one", "two"] if before else ["go", "one", "two", "three"]
    assert spoken(session) == [*copied, "another way", "four"]
    assert [message.is_inherited for message in session.messages] == [True] * len(copied) + [False] * 2
    assert prompt_of(session) == 50
    assert [(side.purpose, side.usage) for side in session.side_calls] == [("title", Usage(10, output=10))]
    assert [(link.kind, link.identifier) for link in session.links] == [(LinkKind.CONTINUED, "ses_1")]
    # With the copied steps of 10 + 20 and 20 + 40 tokens.
    assert totals_of(session) == independent_totals(session) == (60 + 30, 0, 70 + 60)


def test_copies_with_times_after_the_fork_are_reported_by_their_place(database: Database) -> None:
    database.session()
    database.prompt("go")
    boundary = database.answer(text("one"), tokens=tokens(10, 20))
    database.fork("ses_1", "ses_2", boundary, time_created=START - 1)
    database.answer(text("two"), session="ses_2", tokens=tokens(50, 60))
    session = read(database, "ses_2")
    assert [message.is_inherited for message in session.messages] == [True, True, False]


def test_children_are_linked_from_their_call_or_their_row(database: Database) -> None:
    database.session()
    database.prompt("go")
    started = tool("c1", name="subagent")
    started["state"] |= {"metadata": {"sessionID": "ses_2"}, "input": {"description": "Look around"}}
    database.answer(started, tokens=tokens(10, 20))
    for child in ("ses_2", "ses_3"):
        database.session(child, parent_id="ses_1")
        database.answer(text("found"), session=child, tokens=tokens(5, 6))
    session = read(database)
    assert [(link.kind, link.identifier, link.tool_call_id, link.title) for link in session.links] == [
        (LinkKind.SUBAGENT, "ses_2", "c1", "Look around"),
        (LinkKind.SUBAGENT, "ses_3", "", ""),
    ]
    assert {one.identifier for one in subagents_of(session).found} == {"ses_2", "ses_3"}
    assert [link.kind for link in read(database, "ses_2").links] == [LinkKind.PARENT]
    assert [header.identifier for header in found_in(database.path)] == ["ses_1"]


def upgraded(path: Path) -> tuple[Database, Store]:
    """A session of version 1 that version 2 copied and continued, and one that it did not copy."""
    store = Store("ses_1", created=START - 10**9, clock=START - 10**9)
    store.prompt("old question")
    # Reasoning is inside the 30 tokens of output: 100 + 30 = 130.
    store.response("c1", text="old", usage={**first_tokens(100, 30), "reasoning": 25, "total": 130}, cost=0.1)
    store.messages[-1]["parts"][-2]["state"]["time"]["compacted"] = store.clock
    asked = store.message("user", agent="build")
    store.part("compaction", auto=True)
    store.response(text="old summary", usage=first_tokens(90, 9), parentID=asked, summary=True, mode="compaction")
    store.prompt("newer question", summary={"diffs": []})
    store.part("text", text="a reminder", synthetic=True)
    store.database(path)
    Store("ses_0", created=START - 10**9, clock=START - 10**9).database(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    database = Database(path)
    # 100 + 90 in, 30 + 9 out of version 1, then 700 + 7 of a title and 50 + 5 of a step.
    sums = totals(100 + 90 + 700 + 50, 30 + 9 + 7 + 5, 25, 0, 0, 0.4)
    database.session(**sums, version="1.4.3", time_created=store.created)
    old = [message["info"] for message in store.messages]
    row_of = dict.fromkeys([info["id"] for info in old])
    first, answered, compacted, _, newest = row_of
    database.clock = START - 10**9
    database.row("user", identifier=first, text="old question")
    cleared = tool("c1", "[Old tool result content cleared]")
    raw = {"input": 100, "output": 30, "reasoning": 25, "cache": {"read": 0, "write": 0}}
    database.row("assistant", identifier=answered, content=[text("old"), cleared], tokens=raw, cost=0.1)
    database.row("compaction", identifier=compacted, status="completed", summary="old summary", recent="")
    database.row("user", identifier=newest, text="newer question")
    database.row("synthetic", text="a reminder")
    times = "UPDATE session_message SET time_created = ? WHERE id = ?"
    for info in old:
        database.run(times, info["time"]["created"], info["id"])
    database.run(times, old[-1]["time"]["created"], "msg_ses_1_4")
    database.clock = START
    return database, store


def test_next_to_the_old_tables_each_message_is_read_once(tmp_path: Path) -> None:
    database, _ = upgraded(tmp_path / "opencode.db")
    database.row("system", text="tools changed")
    database.answer(text("new"), tokens=tokens(50, 5), cost=0.2)
    session = read(database)
    typed = [m for m in session.messages if m.role is Role.USER and not m.is_meta]
    assert [session.text(message.blocks[0]) for message in typed] == ["old question", "newer question"]
    assert spoken(session) == [
        "What did we do so far?",
        "old summary",
        "newer question",
        "tools changed",
        "new",
    ]
    # The old table tells that the output includes the reasoning, and holds the result before it was cleared.
    assert [call.usage for call in session.calls] == [Usage(100, output=30, reasoning=25), Usage(50, output=5)]
    assert [session.text(block) for message in session.messages for block in message.blocks if block.tool_call_id] == [
        '{"path":"c1"}',
        "done",
    ]
    assert [compaction.is_partial for compaction in session.compactions] == [True, False]
    assert sorted((side.purpose, side.usage) for side in session.side_calls) == [
        ("compaction", Usage(90, output=9)),
        ("title", Usage(700, output=7)),
    ]
    assert totals_of(session) == independent_totals(session) == (100 + 90 + 700 + 50, 0, 30 + 9 + 7 + 5)
    assert session.diagnostics == ()
    assert [header.identifier for header in found_in(database.path)] == ["ses_1", "ses_0"]
    assert len(read(database, "ses_0").messages) == 0


def test_a_preview_writes_the_old_session_table_with_new_messages(tmp_path: Path) -> None:
    database = Database(tmp_path / "opencode-next.db")
    database.session()
    database.prompt("go")
    database.answer(text("one"), tokens=tokens(10, 20))
    database.run("ALTER TABLE session_v2 RENAME TO session")
    session = read(database)
    assert spoken(session) == ["go", "one"]
    assert [call.usage for call in session.calls] == [Usage(10, output=20)]


def test_messages_of_version_1_hide_copies_under_other_ids(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    store = Store("ses_1")
    store.prompt("go")
    store.response(text="one", usage=first_tokens(10, 20))
    store.database(path)
    database = Database(path)
    database.run("DROP TABLE session_v2")
    database.prompt("go")
    database.answer(text("one"), tokens=tokens(10, 20))
    assert len(read(database).calls) == 1


def test_a_session_is_followed_while_rows_are_appended_and_changed_in_place(database: Database) -> None:
    database.session(**totals(0, 0, 0, 0, 0, 0))
    database.prompt("go")
    follower = Follower(database.path)
    with closing(sqlite3.connect(database.path)) as writer:  # keeps the log: rows are not in the main file
        writer.execute("SELECT * FROM session_v2").fetchall()
        answered = database.answer(time={"created": database.clock})
        follower.poll()
        assert spoken(follower.session) == ["go"]
        for said in ("a", "ab", "abc"):
            database.change(answered, content=[text(said)])
            follower.poll()
            assert spoken(follower.session) == ["go", said]
        database.change(answered, tokens=tokens(10, 20))
        database.run("UPDATE session_v2 SET tokens_input = 310, tokens_output = 25")
        follower.poll()
        assert [call.usage for call in follower.session.calls] == [Usage(10, output=20)]
        assert [side.usage for side in follower.session.side_calls] == [Usage(300, output=5)]
        for number in range(20):
            database.prompt(f"prompt {number}")
            database.answer(text(f"answer {number}"), tokens=tokens(10, 20))
            follower.poll()
        assert follower.session == open_session(database.path)
        assert len(follower.session.calls) == 21
    assert follower.state == "live"


def test_a_damaged_row_is_counted_and_the_rest_is_read(database: Database) -> None:
    database.session()
    database.prompt("go")
    broken = database.answer(text("lost"))
    database.answer(text("one"), tokens=tokens(10, 20))
    database.run("UPDATE session_message SET data = '{' WHERE id = ?", broken)
    session = read(database)
    assert spoken(session) == ["go", "one"]
    assert session.skipped_records == 1


def test_a_text_is_read_again_from_its_row(database: Database) -> None:
    database.session()
    database.prompt("x" * 1000)
    answered = database.answer(text("one"), tool("c1", "y" * 1000), tokens=tokens(10, 20))
    session = read(database)
    texts = [session.text(block) for message in session.messages for block in message.blocks]
    assert texts == ["x" * 1000, "one", '{"path":"c1"}', "y" * 1000]
    record = json.loads(session.texts.record(session.messages[1].blocks[0]))
    assert record["content"][0] == {"type": "text", "text": "one"}
    assert session.messages[1].identifier == answered


def test_an_export_is_read_like_the_rows(database: Database, tmp_path: Path) -> None:
    database.session(**totals(10 + 700 + 50, 20 + 9 + 5, 3, 300, 40, 0.31))
    database.prompt("go")
    database.answer(text("one"), tool("c1", "contents"), tokens=tokens(10, 20, 3, 300, 40), cost=0.1)
    compaction: dict[str, Any] = {"status": "completed", "reason": "auto", "summary": "S", "recent": "R"}
    database.row("compaction", **compaction, tokens=tokens(700, 9), cost=0.2)
    database.answer(text("two"), tokens=tokens(40, 4), cost=0.01)
    stored = read(database)
    rows = database.run("SELECT id, type, data FROM session_message ORDER BY seq")
    messages = [{"id": identifier, "type": kind, **json.loads(data)} for identifier, kind, data in rows]
    info = {"id": "ses_1", "title": "A title", "location": {"directory": "/project"}, "cost": 0.31}
    info |= {"tokens": tokens(760, 34, 3, 300, 40), "time": {"created": START, "updated": database.clock}}
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"info": info, "messages": messages}, indent=2))
    session = open_session(path)
    assert_sound(session)
    assert session.diagnostics == ()
    assert (session.title, session.working_directory) == (stored.title, stored.working_directory)
    assert spoken(session) == spoken(stored)
    assert [call.usage for call in session.calls] == [call.usage for call in stored.calls]
    # 760 - 10 - 700 - 40 = 10 uncached tokens and 34 - 20 - 9 - 4 = 1 of output are in no message.
    assert [(side.purpose, side.usage) for side in session.side_calls] == [
        ("compaction", Usage(700, output=9)),
        ("title", Usage(10, output=1)),
    ]
    assert session.recorded_totals == stored.recorded_totals
    assert totals_of(session) == independent_totals(session) == (760 + 340, 300, 37)
    path.write_text(json.dumps(messages))
    assert [call.usage for call in open_session(path).calls] == [call.usage for call in stored.calls]


ODD_COLUMNS = (
    *("parent_id", "fork_session_id", "fork_boundary", "revert", "cost", "tokens_input", "tokens_output"),
    *("tokens_reasoning", "tokens_cache_read", "tokens_cache_write", "title"),
)

ROWS: list[tuple[str, dict[str, Any]]] = [
    ("user", {"text": "go", "files": [{"mime": "text/plain", "data": "b25l"}], "skills": [{"text": "s"}]}),
    ("synthetic", {"text": "a reminder"}),
    (
        "assistant",
        {"content": [text("a"), tool("c1"), {"type": "reasoning", "text": "hm", "native": {"signature": "x"}}]},
    ),
    ("shell", {"command": "ls", "output": {"output": "a"}, "metadata": {"background": False}}),
    ("assistant", {"content": [text("b")], "model": {"id": "m"}, "tokens": tokens(10, 20, 5, 30, 40), "cost": 0.1}),
    ("compaction", {"status": "completed", "reason": "auto", "summary": "S", "recent": "R", "tokens": tokens(1, 2)}),
    ("system", {"text": "changed"}),
    ("assistant", {"content": [text("c")], "error": {"type": "e", "message": "m"}, "tokens": tokens(1, 2)}),
]


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_rows_with_unexpected_content_are_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    database = Database(tmp_path_factory.mktemp("odd") / "opencode.db")
    columns = {name: data.draw(st.sampled_from([None, "", 5, "{", "[1]", "ses_1", -1])) for name in ODD_COLUMNS}
    known = {name: value for name, value in columns.items() if value is not None}
    database.session(**known)
    odd = data.draw(st.sets(st.integers(0, len(ROWS) - 1), max_size=4))
    for number, (kind, fields) in enumerate(ROWS):
        if number in odd:
            fields = copy.deepcopy(fields)  # changed in place
            place, how = data.draw(st.sampled_from(places(fields))), data.draw(st.sampled_from(["replace", "remove"]))
            changed(fields, place, how, copy.deepcopy(data.draw(st.sampled_from(ODD))), "")
            kind = data.draw(st.sampled_from([kind, "assistant", "user", "a/b", ""]))
        database.row(kind, **fields)
    if data.draw(st.booleans()):
        values = (data.draw(st.sampled_from([b"\xff\x00", "", "null", 7])), data.draw(st.integers(0, len(ROWS) - 1)))
        database.run("UPDATE session_message SET data = ? WHERE seq = ?", *values)
    session = open_session(database.path)
    assert_sound(session)
    for message in session.messages:
        for block in message.blocks:
            assert len(session.text(block)) == block.characters
