"""Calls copied by a fork, a branch or a backup are billed once in sums over a folder, in any reading order."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main
from inspector.fleet.executors import InProcessExecutor
from inspector.session.model import LinkKind
from inspector.session.open import open_session
from inspector.session.related import call_keys, calls_counted_elsewhere, locate, without_calls, without_copied_calls
from tests.session import goose_store, hermes_store
from tests.session.goose_store import GooseScript
from tests.session.hermes_store import HermesStore
from tests.session.kimi_lines import KimiCliScript
from tests.session.run_files import jsonl

LATER = 0.05
"""Seconds by which a subagent's own file is behind the one of who started it, or before it."""


def calls_of(folder: Path, processes: str = "0") -> dict[str, int]:
    target = folder.parent / "folder.json"
    assert main(["report", str(folder), "--format", "json", "-o", str(target), "--processes", processes]) == 0
    report = json.loads(target.read_bytes())
    assert sum(row["calls"] for row in report["sessions"]) == report["baseline"]["calls"]
    return {row["path"].rpartition("sessions/")[2]: row["calls"] for row in report["sessions"] if row["calls"]}


@pytest.fixture(params=["first to last", "last to first"])
def in_any_order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions are read in this order, as worker processes may."""
    if request.param == "last to first":
        outcomes = InProcessExecutor._outcomes
        monkeypatch.setattr(
            InProcessExecutor, "_outcomes", lambda *asked, **named: reversed([*outcomes(*asked, **named)])
        )


def kimi_cli_with_subagents(*, named: bool) -> tuple[KimiCliScript, KimiCliScript]:
    script, inside = KimiCliScript(), KimiCliScript()
    script.add("TurnBegin", {"user_input": "go"})
    script.step("asking", "c1", tool="Agent", identifier="chatcmpl-1" if named else "")
    inside.add("TurnBegin", {"user_input": "look"})
    inside.clock = script.clock + LATER
    for number in range(3):
        for lines, agent in ((script, "c1"), (inside, "")):
            identifier = f"chatcmpl-sub-{number}" if named else ""
            lines.step(f"inside {number}", tokens=(number, 40, 0, 7), agent=agent, identifier=identifier)
    script.result("c1", "agent_id: agent-c1\nresumed: false\n\n[summary]\nwhat was found")
    script.step("done", identifier="chatcmpl-2" if named else "")
    return script, inside


def write(folder: Path, lines: KimiCliScript) -> None:
    folder.mkdir(parents=True)
    (folder / "wire.jsonl").write_bytes(jsonl(lines.lines))


@pytest.mark.parametrize("longer", ["origin", "fork"])
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
@pytest.mark.usefixtures("in_any_order")
def test_kimi_clis_forks_and_the_subagents_copied_into_them_count_once(
    tmp_path: Path, longer: str, named: bool
) -> None:
    script, inside = kimi_cli_with_subagents(named=named)
    folder = tmp_path / "sessions" / "hash"
    write(folder / "origin" / "subagents" / "agent-c1", inside)
    shared = [*script.lines]
    for number in range(5 if longer == "origin" else 1):
        script.step(f"on in the origin {number}", identifier=f"chatcmpl-o{number}" if named else "")
    (folder / "origin" / "wire.jsonl").write_bytes(jsonl(script.lines))
    fork = KimiCliScript()
    fork.lines, fork.clock = shared, script.clock + 60
    for number in range(5 if longer == "fork" else 1):
        fork.step(f"on in the fork {number}", identifier=f"chatcmpl-f{number}" if named else "")
    write(folder / "fork", fork)

    calls = calls_of(folder.parent)

    # Reports on folders leave out the sessions of subagents, which the origin stores in a separate file.
    assert calls == {
        "hash/origin/wire.jsonl": 2 + (5 if longer == "origin" else 1),
        "hash/fork/wire.jsonl": 3 + (5 if longer == "fork" else 1),
    }


@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
@pytest.mark.parametrize("is_forks_first", [True, False], ids=["forks first", "subagents first"])
def test_a_subagents_calls_count_once_in_its_own_file_and_in_forks(
    tmp_path: Path, named: bool, is_forks_first: bool
) -> None:
    script, inside = kimi_cli_with_subagents(named=named)
    write(tmp_path / "origin" / "subagents" / "agent-c1", inside)
    (tmp_path / "origin" / "wire.jsonl").write_bytes(jsonl(script.lines))
    paths = [tmp_path / "origin" / "wire.jsonl", tmp_path / "origin" / "subagents" / "agent-c1" / "wire.jsonl"]
    for name in ("fork", "other fork"):
        write(tmp_path / name, script)
        paths.insert(0 if is_forks_first else 2, tmp_path / name / "wire.jsonl")
    sessions = [open_session(path) for path in paths]
    keys = [call_keys(session) for session in sessions]
    ended = 0.0 if is_forks_first else 1.0

    ends = [ended if "fork" in path.parent.name else 0.5 for path in paths]
    elsewhere = calls_counted_elsewhere([*zip(ends, keys, strict=True)])

    left = [without_calls(session, gone).calls for session, gone in zip(sessions, elsewhere, strict=True)]
    assert sum(map(len, left)) == 5
    assert {len(calls) for calls in left} == ({5, 0} if is_forks_first else {2, 3, 0})


def test_subagents_in_a_fork_of_kimi_cli_count_where_nothing_else_is_left_of_them(tmp_path: Path) -> None:
    script, _ = kimi_cli_with_subagents(named=True)
    write(tmp_path / "sessions" / "hash" / "fork", script)

    assert calls_of(tmp_path / "sessions") == {"hash/fork/wire.jsonl": 5}


def test_subagents_of_the_same_tool_call_id_in_unrelated_sessions_all_count(tmp_path: Path) -> None:
    keys = []
    for start in (0, 100):
        script = KimiCliScript()
        script.clock += start
        script.add("TurnBegin", {"user_input": "go"})
        script.step("asking", "c1", tool="Task")
        script.step("inside", agent="c1")
        for line in script.lines:
            if line.get("message", {}).get("type") == "SubagentEvent":
                del line["message"]["payload"]["agent_id"]
        write(tmp_path / str(start), script)
        keys.append(call_keys(open_session(tmp_path / str(start) / "wire.jsonl")))
    assert not set(keys[0]) & set(keys[1])


@pytest.mark.parametrize("longer", ["origin", "copy"])
@pytest.mark.usefixtures("in_any_order")
@pytest.mark.parametrize("usage", [{}, {"usage": goose_store.used((1_000, 600, 300, 20))}])
def test_calls_that_goose_copied_into_a_session_count_once(tmp_path: Path, longer: str, usage: dict[str, Any]) -> None:
    script = GooseScript()
    script.user("hi")
    script.answer(goose_store.request("c1"), **usage)
    script.user(goose_store.response("c1", "found"))
    script.answer("done", **usage)
    copy = GooseScript([*script.messages])
    for lines, name in ((script, "origin"), (copy, "copy")):
        for number in range(4 if longer == name else 1):
            lines.user(f"more in the {name} {number}")
            lines.answer(f"more said {number}")
    model = json.dumps({"model_name": "claude-sonnet-4-5"})
    folder = tmp_path / "sessions"
    folder.mkdir()
    goose_store.create(
        folder / "sessions.db",
        goose_store.session("20260301_1", updated_at="2026-03-01 10:00:00", model_config_json=model),
        goose_store.session("20260301_2", updated_at="2026-03-01 11:00:00"),
        *script.statements("20260301_1"),
        *copy.statements("20260301_2"),
        # The ledger is not copied.
        *[
            goose_store.ledger("20260301_1", script.messages[place]["created"], (1_000, 600, 300, 20))
            for place in (1, 3)
        ],
        tables=goose_store.LEDGER_TABLES,
    )

    calls = calls_of(folder)

    assert sum(calls.values()) == 2 + 4 + 1
    assert sorted(calls) == ["sessions.db#20260301_1", "sessions.db#20260301_2"]


def hermes_branch(path: Path, *, keeps_times: bool, keeps_calls: bool, branch_goes_on: int = 1) -> Path:
    """A session with two calls, a branch off it, and both going on."""
    store = HermesStore()
    statements = [
        store.session("s1", system_prompt="You are Hermes."),
        store.user("s1", "first"),
        store.answer("s1", "", "c1"),
        store.result("s1", "c1", "found"),
        store.answer("s1", "done"),
    ]
    first = store.time - 3
    config = {"model_config": '{"_branched_from": "s1"}', "parent_session_id": "s1"}
    statements.append(store.session("s2", system_prompt="You are Hermes.", **config))
    times = [{"timestamp": first + at} for at in range(4)] if keeps_times else [{}] * 4
    calls = ("c1",) if keeps_calls else ()
    statements += [
        store.user("s2", "first", **times[0]),
        store.answer("s2", "", *calls, **times[1]),
        store.message("s2", "tool", "found", tool_call_id="c1" if keeps_calls else None, **times[2]),
        store.answer("s2", "done", **times[3]),
    ]
    store.time += 60
    for number in range(branch_goes_on):
        statements += [store.user("s2", f"another way {number}"), store.answer("s2", "done")]
    statements += [store.user("s1", "and more"), store.answer("s1", "done")]
    return hermes_store.create(path, *statements)


@pytest.mark.parametrize("keeps_calls", [True, False], ids=["with calls", "texts alone"])
@pytest.mark.parametrize("keeps_times", [True, False], ids=["old times", "new times"])
@pytest.mark.usefixtures("in_any_order")
def test_calls_that_a_branch_of_hermes_began_with_count_once(
    tmp_path: Path, keeps_times: bool, keeps_calls: bool
) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    hermes_branch(folder / "state.db", keeps_times=keeps_times, keeps_calls=keeps_calls, branch_goes_on=4)

    assert calls_of(folder) == {"state.db#s1": 3, "state.db#s2": 4}


def test_a_branch_of_hermes_says_what_was_copied_and_from_where(tmp_path: Path) -> None:
    path = hermes_branch(tmp_path / "state.db", keeps_times=False, keeps_calls=True)
    branch = open_session(path.with_name("state.db#s2"))

    assert [message.is_inherited for message in branch.messages] == [False, *[True] * 4, False, False]
    (link,) = branch.links
    assert (link.kind, link.identifier) == (LinkKind.CONTINUED, "s1")
    assert locate(branch, link) == path.with_name("state.db#s1")
    assert len(branch.calls) == 3
    assert len(without_copied_calls(branch).calls) == 1


def test_a_branch_of_hermes_whose_origin_was_deleted_counts_whole(tmp_path: Path) -> None:
    store = HermesStore()
    path = hermes_store.create(
        tmp_path / "state.db",
        store.session("s2", model_config='{"_branched_from": "s1"}'),
        store.user("s2", "first"),
        store.answer("s2", "done"),
    )
    branch = open_session(path)

    assert branch.links == ()
    assert len(without_copied_calls(branch).calls) == 1


def test_the_same_words_at_other_times_are_other_calls(tmp_path: Path) -> None:
    keys = []
    for start in (0, 1):
        script = GooseScript()
        script.user("hi")
        script.answer("hello")
        for message in script.messages:
            message["created"] += start
        path = tmp_path / f"{start}.jsonl"
        path.write_bytes(script.lines())
        keys.append(call_keys(open_session(path)))
    assert keys[0] != keys[1]
    assert calls_counted_elsewhere([(1.0, keys[0]), (2.0, keys[1])]) == [frozenset(), frozenset()]


@pytest.mark.parametrize("differs", ["id", "model"])
def test_answers_with_the_same_words_in_the_same_second_are_one_call_only_where_nothing_else_differs(
    tmp_path: Path, differs: str
) -> None:
    keys = []
    for number in range(3):
        response = {"id": "r0", "model": "m0", "created": 1_772_359_200}
        response[differs] = f"{differs}{number // 2}"
        said = {"choices": [{"message": {"role": "assistant", "content": "pong"}}], **response}
        request = {"model": "m0", "messages": [{"role": "user", "content": "ping"}]}
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps({"request": request, "response": said}))
        keys.append(call_keys(open_session(path)))
    assert keys[0] == keys[1] != keys[2]
    assert keys[0][0]


def test_a_session_without_its_copied_calls_keeps_those_behind_them(tmp_path: Path) -> None:
    script = GooseScript()
    sessions = []
    for number in range(2):
        script.user(f"question {number}")
        script.answer(f"answer {number}")
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(script.lines())
        sessions.append(open_session(path))
    keys = [call_keys(session) for session in sessions]
    _, elsewhere = calls_counted_elsewhere([(1.0, keys[0]), (2.0, keys[1])])

    left = without_calls(sessions[1], elsewhere)

    assert left.calls == sessions[1].calls[1:]
    assert call_keys(left) == keys[1][1:]


def branch_of_a_compacted_session(path: Path, *, uids: bool) -> Path:
    """A session that was compacted in place and answered once more, a branch off it, and both going on alike."""
    store = HermesStore()
    archived = {"active": 0, "compacted": 1}

    def named(name: str) -> dict[str, str]:
        return {"message_uid": name} if uids else {}

    statements = [
        store.session("s1", system_prompt="You are Hermes."),
        store.user("s1", "first", **archived, **named("u1")),
        store.answer("s1", "done", **archived, **named("u2")),
    ]
    store.time += 30
    moment = store.time
    summary = hermes_store.SUMMARY + "It was like this."
    statements += [
        store.user("s1", summary, _compressed_summary=1, timestamp=moment, **named("u3")),
        store.answer("s1", "done", timestamp=moment, **named("u2")),
    ]
    store.time += 30
    statements += [store.user("s1", "go on", **named("u4")), store.answer("s1", "more", **named("u5"))]
    config = {"model_config": '{"_branched_from": "s1"}', "parent_session_id": "s1"}
    statements.append(store.session("s2", system_prompt="You are Hermes.", **config))
    copies = (
        ("user", summary, "u3"),
        ("assistant", "done", "u2"),
        ("user", "go on", "u4"),
        ("assistant", "more", "u5"),
    )
    statements += [store.message("s2", role, text, **named(name)) for role, text, name in copies]
    store.time += 60
    for session, number in (("s2", 6), ("s1", 8)):
        for turn in range(2):
            statements.append(store.user(session, "go on", **named(f"u{number}{turn}")))
            statements.append(store.answer(session, "more", **named(f"u{number}{turn}a")))
    return hermes_store.create(path, *statements)


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_compaction_that_a_branch_of_hermes_copied_counts_once(tmp_path: Path, processes: str) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    path = branch_of_a_compacted_session(folder / "state.db", uids=True)
    origin, branch = (open_session(path.with_name(f"state.db#{name}")) for name in ("s1", "s2"))

    assert (len(origin.compactions), len(branch.compactions)) == (1, 0)
    assert [message.is_summary for message in branch.messages][:3] == [False, True, False]
    assert calls_of(folder, processes) == {"state.db#s1": 4, "state.db#s2": 2}
    report = json.loads((tmp_path / "folder.json").read_bytes())
    assert report["compactions"]["compactions"] == 1


@pytest.mark.parametrize("uids", [True, False])
def test_what_a_branch_says_itself_is_its_own_where_copies_have_names(tmp_path: Path, *, uids: bool) -> None:
    branch = open_session(branch_of_a_compacted_session(tmp_path / "state.db", uids=uids).with_name("state.db#s2"))
    copied = [message.is_inherited for message in branch.messages]
    # Without ids, a repeated text counts as a copy as long as the other session repeats it, too.
    assert copied == [False, *[True] * 4, *([False] * 4 if uids else [True] * 4)]


def test_a_branch_of_hermes_right_after_a_compaction_does_not_count_it_again(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    store = HermesStore()
    summary = hermes_store.SUMMARY + "It was like this."
    statements = [store.session("s1"), store.user("s1", "first"), store.answer("s1", "done")]
    statements += [store.end("s1", "compression"), store.session("s2", parent_session_id="s1")]
    statements.append(store.user("s2", summary, timestamp=store.time))
    config = {"model_config": '{"_branched_from": "s2"}', "parent_session_id": "s2"}
    statements += [store.session("s3", **config), store.user("s3", summary)]
    store.time += 60
    for session in ("s2", "s3"):
        statements += [store.user(session, f"on in {session}"), store.answer(session, f"so it is in {session}")]
    path = hermes_store.create(folder / "state.db", *statements)

    sessions = [open_session(path.with_name(f"state.db#{name}")) for name in ("s1", "s3")]
    assert [len(each.compactions) for each in sessions] == [1, 0]
    assert calls_of(folder) == {"state.db#s1": 2, "state.db#s3": 1}
    assert json.loads((tmp_path / "folder.json").read_bytes())["compactions"]["compactions"] == 1
