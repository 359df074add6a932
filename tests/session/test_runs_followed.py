"""Files of harnesses and evaluations, followed while another process writes them at its own pace."""

from pathlib import Path

import pytest

from inspector.session.follow import Follower
from inspector.session.open import open_session
from tests.session import run_files
from tests.session.following import settle
from tests.session.growing import GROWING
from tests.session.other_process import append, new_file, quiet_moments, replace, rewrite
from tests.session.run_files import encoded, jsonl
from tests.session.soundness import assert_sound

TURNS = 12


def test_conversations_that_end_one_after_the_other_are_followed(tmp_path: Path) -> None:
    lines = [
        encoded({"instance_id": f"issue-{number}", "history": run_files.openhands_0_history(number)}) + b"\n"
        for number in range(1, 9)
    ]
    path = tmp_path / "output.jsonl"
    path.write_bytes(lines[0])
    follower = Follower(path)
    for done in quiet_moments(path, [append(line) for line in lines[1:]], follower.poll, seed=5):
        follower.poll()
        assert follower.session == open_session(path)
        assert len(follower.session.calls) == done + 1, "the newest one is shown"


@pytest.mark.parametrize("name", ["openhands", "openhands-v0"])
def test_files_that_are_added_to_a_folder_are_followed(tmp_path: Path, name: str) -> None:
    is_current = name == "openhands"
    made = run_files.openhands_events(TURNS) if is_current else run_files.openhands_0_history(TURNS)
    names = [f"events/event-{n:05}-{n:04x}.json" if is_current else f"events/{n}.json" for n in range(len(made))]
    path = tmp_path / "conversation"
    (path / "events").mkdir(parents=True)
    for file, record in list(zip(names, made, strict=True))[:2]:
        (path / file).write_bytes(encoded(record))
    follower = Follower(path)
    assert follower.session.format == name
    steps = [new_file(file, encoded(record)) for file, record in list(zip(names, made, strict=True))[2:]]
    if is_current:
        steps = [step for pair in zip(steps, states(len(steps)), strict=True) for step in pair]
    for _ in quiet_moments(path, steps, follower.poll, seed=9, most=8):
        follower.poll()
        loaded = open_session(path)
        assert follower.session == loaded
        assert_sound(follower.session)
    assert len(follower.session.calls) == TURNS
    assert [call.usage.prompt for call in follower.session.calls if call.usage] == [
        (90 if is_current else 70) + turn for turn in range(TURNS)
    ]


def states(count: int) -> list[dict[str, object]]:
    return [new_file("base_state.json", encoded(run_files.openhands_state(number // 4 + 1))) for number in range(count)]


def test_an_archive_that_is_rewritten_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    samples = [run_files.inspect_sample(turns, turns) for turns in range(1, 9)]
    path.write_bytes(run_files.inspect_archive(samples[:1]))
    follower = Follower(path)
    assert follower.session.format == "inspect"
    written = [run_files.inspect_archive(samples[:count]) for count in range(2, 9)]
    steps = [replace(data) if number % 2 else rewrite(data) for number, data in enumerate(written)]
    for done in quiet_moments(path, steps, follower.poll, seed=2):
        follower.poll()
        assert follower.session == open_session(path)
        assert len(follower.session.calls) == done + 1, "the newest sample is shown"


def test_an_event_that_is_half_written_holds_up_those_behind_it(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    made = [encoded(record) for record in run_files.openhands_events(1)]
    for number in (0, 1):
        (folder / f"event-{number:05}-aa.json").write_bytes(made[number])
    follower = Follower(tmp_path)
    (folder / "event-00002-aa.json").write_bytes(made[2][:40])
    (folder / "event-00003-aa.json").write_bytes(made[3])
    follower.poll()
    assert len(follower.session.calls) == 0
    assert [note.reason for note in follower.session.diagnostics] == ["event-00002-aa.json is incomplete"]
    (folder / "event-00002-aa.json").write_bytes(made[2])
    follower.poll()
    assert [len(follower.session.messages[call.response].blocks) for call in follower.session.calls] == [3]
    assert follower.session.skipped_records == 0


def test_a_folder_whose_events_are_deleted_and_made_again_is_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    made = [encoded(record) for record in run_files.openhands_events(2)]
    for number, data in enumerate(made):
        (folder / f"event-{number:05}-aa.json").write_bytes(data)
    follower = Follower(tmp_path)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    follower.poll()
    assert follower.state == "vanished"
    assert len(follower.session.calls) == 2, "what was read stays"
    folder.mkdir()
    for number, data in enumerate(made[:6]):
        (folder / f"event-{number:05}-bb.json").write_bytes(data)
    follower.poll()
    assert (follower.state, len(follower.session.calls)) == ("live", 1)


def test_ten_thousand_lines_at_once_are_all_read(tmp_path: Path) -> None:
    lines = run_files.openhands_events(2500)
    path = tmp_path / "events.jsonl"
    path.write_bytes(jsonl(lines[:10]))
    follower = Follower(path)
    with path.open("ab") as file:
        file.write(jsonl(lines[10:]))
    follower.poll()
    assert len(follower.session.calls) == 2500
    assert follower.session.record_counts["ObservationEvent"] == 5000


def test_an_event_that_stays_broken_is_named_and_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    made = [encoded(record) for record in run_files.openhands_events(1)]
    for number, data in enumerate(made):
        (folder / f"event-{number:05}-aa.json").write_bytes(data if number != 3 else data[:30])
    settle(folder / "event-00003-aa.json")
    follower = Follower(tmp_path)
    assert follower.session.skipped_records == 1
    assert [note.reason for note in follower.session.diagnostics] == ["event-00003-aa.json: invalid JSON"]
    assert follower.session.record_counts["ObservationEvent"] == 2, "those behind it are read"


def test_the_last_view_of_an_archive_stays_while_it_is_broken_or_gone(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    whole = run_files.inspect_archive([run_files.inspect_sample(2)])
    path.write_bytes(whole)
    follower = Follower(path)
    before = follower.session
    for broken in (whole[: len(whole) // 2], b"", b"PK\x03\x04"):
        path.write_bytes(broken)
        follower.poll()
        assert follower.session is before
    path.unlink()
    follower.poll()
    assert (follower.state, follower.session) == ("vanished", before)
    assert before.text(before.blocks[-1]) == "file1"
    path.write_bytes(run_files.inspect_archive([run_files.inspect_sample(3)]))
    follower.poll()
    assert (follower.state, len(follower.session.calls)) == ("live", 3)


def test_a_sample_that_is_no_longer_in_a_log_stays_on_the_screen_with_a_notice(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_bytes(encoded(run_files.inspect_log([run_files.inspect_sample(2, number) for number in (1, 2)])))
    notices: list[str] = []
    follower = Follower(path.with_name("log.json#1_epoch_1"), on_notice=notices.append)
    before = follower.session
    path.write_bytes(encoded(run_files.inspect_log([run_files.inspect_sample(2, 2)])))
    follower.poll()
    assert follower.session is before
    assert "no sample 1_epoch_1" in notices[0]


def test_a_log_that_is_cut_and_goes_on_is_read_again(tmp_path: Path) -> None:
    lines = run_files.log_of_requests(6)
    path = tmp_path / "log.jsonl"
    path.write_bytes(jsonl(lines))
    follower = Follower(path)
    path.write_bytes(jsonl(lines[:2]))
    follower.poll()
    assert len(follower.session.calls) == 2
    with path.open("ab") as file:
        file.write(encoded(lines[2])[:50])
    follower.poll()
    assert len(follower.session.calls) == 2, "half a line is no call"
    with path.open("ab") as file:
        file.write(encoded(lines[2])[50:] + b"\n")
    follower.poll()
    assert len(follower.session.calls) == 3


@pytest.mark.parametrize("name", ["openhands", "openhands-v0"])
def test_an_event_that_comes_late_is_where_its_number_says(tmp_path: Path, name: str) -> None:
    known = GROWING["openhands folder" if name == "openhands" else "openhands-v0 folder"]
    known.write(tmp_path / "whole", 4)
    whole = tmp_path / "whole" / "events"
    path = tmp_path / "conversation"
    (path / "events").mkdir(parents=True)
    files = sorted(whole.iterdir(), key=lambda file: int("".join(filter(str.isdigit, file.name.split("-0")[0])) or 0))
    late = files.pop(1)
    for file in files:
        (path / "events" / file.name).write_bytes(file.read_bytes())
    follower = Follower(path)
    (path / "events" / late.name).write_bytes(late.read_bytes())
    follower.poll()
    assert follower.session == open_session(path)
    assert len(follower.session.blocks) == len(open_session(tmp_path / "whole").blocks)


def test_calls_of_the_condenser_are_listed_next_to_the_conversation_once(tmp_path: Path) -> None:
    path = tmp_path / "conversation"
    GROWING["openhands folder"].write(path, 3)
    state = run_files.openhands_state(3)
    condenser = [{"response_id": f"s{n}", "model": "small", "prompt_tokens": 70, "completion_tokens": 9} for n in "ab"]
    state["stats"]["usage_to_metrics"]["condenser"] = {
        "token_usages": condenser,
        "costs": [{"timestamp": 1_700_000_000 + n, "cost": 0.1} for n in range(2)],
    }
    (path / "base_state.json").write_bytes(encoded(state))
    follower = Follower(path)
    (path / "base_state.json").write_bytes(encoded({**state, "title": "again"}))
    follower.poll()
    for session in (follower.session, open_session(path)):
        assert [(call.purpose, call.model, call.identifier) for call in session.side_calls] == [
            ("condenser", "small", "sa"),
            ("condenser", "small", "sb"),
        ]
        assert [call.usage.prompt for call in session.side_calls if call.usage] == [70, 70]
        assert [call.time for call in session.side_calls] == [1_700_000_000, 1_700_000_001]
        assert len(session.calls) == 3


def test_a_call_of_the_agents_own_model_without_an_event_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "conversation"
    GROWING["openhands folder"].write(path, 2)
    (path / "base_state.json").write_bytes(encoded(run_files.openhands_state(3)))
    (unseen,) = open_session(path).side_calls
    assert (unseen.purpose, unseen.identifier) == ("not recorded", "r2")
