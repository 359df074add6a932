"""Every request of a Codex session is counted once, wherever a rollout reports it, at the terms of its turn."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main
from inspector.session.billing_terms import BillingTerms
from inspector.session.model import Session
from inspector.session.open import open_session
from inspector.session.reading_check import UsageTotals, independent_totals, totals_of
from tests.session.codex_lines import Rollout
from tests.session.following import tailed
from tests.session.test_codex import prompts, session_of

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


BEFORE_FORK, FORK, AFTER_FORK = (f"0199{number}000-0000-7000-8000-000000000001" for number in (1, 2, 3))
"""Ids that begin with a time."""

COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens")


def report_on(path: Path, target: Path) -> dict[str, Any]:
    assert main(["report", str(path), "--format", "json", "-o", str(target)]) == 0
    found: dict[str, Any] = json.loads(target.read_bytes())
    return found


def packed(path: Path) -> Path:
    """Compress a file and remove it."""
    target = path.with_name(f"{path.name}.zst")
    target.write_bytes(zstd.compress(path.read_bytes()))
    path.unlink()
    return target


def record(rollout: Rollout, response: str, usage: tuple[int, int, int], thread: str = "own") -> dict[str, Any]:
    made = {"thread_id": thread, "response_id": response, "usage": dict(zip(COUNTS, usage, strict=True))}
    rollout.add("token_usage_record", made)
    return made


def side_prompts(session: Session) -> list[tuple[str, str, int]]:
    return [(one.purpose, one.identifier, one.usage.prompt) for one in session.side_calls if one.usage is not None]


def test_a_compaction_request_only_in_its_own_record_is_billed(shared: Path, tmp_path: Path) -> None:
    path = shared / "cases" / "30-codex-compaction-record.jsonl"
    session = open_session(path)
    assert prompts(session) == [100_000, 150_000, 20_000, 21_000]
    assert [call.identifier for call in session.calls] == [f"resp_01_{number}" for number in (1, 2, 4, 5)]
    assert side_prompts(session) == [("compaction", "resp_01_3", 160_000)]
    assert [one.tokens_before for one in session.compactions] == [150_500]
    report = report_on(path, tmp_path / "report.json")
    # 171,192 in at $5, 119,808 read at $0.50 and 1,400 out at $30 per million.
    assert report["recorded"]["cost_usd"] == pytest.approx(0.85596 + 0.059904 + 0.042)
    # 10,240 in at $5, 149,760 read at $0.50 and 2,000 out at $30.
    assert report["beside"][0]["cost_usd"] == pytest.approx(0.0512 + 0.07488 + 0.06)
    assert report["altogether_usd"] == pytest.approx(1.143944)


@pytest.mark.parametrize("lines", ["record", "event", "record event", "event record", "record record event"])
def test_a_response_is_counted_once_whichever_lines_report_it(tmp_path: Path, lines: str) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.turn()
    rollout.prompt("go")
    for number in (1, 2, 3):
        rollout.response(f"c{number}", usage=None)
        for kind in lines.split():
            if kind == "record":
                record(rollout, f"resp_{number}", (1_000, 100 * number, 10))
            else:
                rollout.usage(1_000, 10, cached=100 * number)
    session = session_of(rollout, tmp_path)
    assert prompts(session) == [1_000] * 3
    assert [call.usage.cache_read for call in session.calls if call.usage is not None] == [100, 200, 300]
    assert [call.identifier for call in session.calls] == (
        ["", "", ""] if lines.startswith("event") else ["resp_1", "resp_2", "resp_3"]
    )


@pytest.mark.parametrize("place", ["record", "compacted", "both", "behind a response without usage"])
def test_a_compaction_request_is_counted_once_wherever_it_is_recorded(tmp_path: Path, place: str) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.turn()
    rollout.prompt("go")
    rollout.response("c1", usage=(5_000, 40))
    if place.startswith("behind"):
        rollout.response("c2", usage=None)
    made = record(rollout, "resp_summary", (6_000, 4_000, 300))
    if place == "compacted":
        rollout.lines.pop()
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}]
    embedded = {} if place == "record" else {"latest_token_usage_record": made}
    fields = {"message": "", "replacement_history": history, "compaction_response_id": "resp_summary"}
    rollout.add("compacted", fields | embedded)
    rollout.response(usage=(700, 7))
    session = session_of(rollout, tmp_path)
    assert prompts(session) == ([5_000, None, 700] if place.startswith("behind") else [5_000, 700])
    assert side_prompts(session) == [("compaction", "resp_summary", 6_000)]
    assert [one.tokens_before for one in session.compactions] == [5_040]


def test_a_record_of_another_response_before_a_compaction_is_no_compaction_request(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    rollout.response("c1", usage=(5_000, 40))
    rollout.event("turn_aborted", reason="interrupted")
    record(rollout, "resp_lost", (5_100, 4_000, 300))
    record(rollout, "resp_summary", (6_000, 4_000, 300))
    rollout.add("compacted", {"message": "", "replacement_history": [], "compaction_response_id": "resp_summary"})
    session = session_of(rollout, tmp_path)
    assert prompts(session) == [5_000, 5_100]
    assert side_prompts(session) == [("compaction", "resp_summary", 6_000)]


def test_an_older_total_written_once_more_and_then_the_newest_count_nothing(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    events = []
    for number in (1, 2, 3):
        rollout.response(f"c{number}", usage=(1_000 * number, number))
        events.append(next(line for line in reversed(rollout.lines) if line["payload"].get("type") == "token_count"))
    for event in (events[0], events[2], events[1], events[2]):
        rollout.add("event_msg", event["payload"])
    rollout.response(usage=(4_000, 4))
    session = session_of(rollout, tmp_path)
    assert prompts(session) == [1_000, 2_000, 3_000, 4_000]


def test_a_service_tier_in_the_settings_bills_the_turns_that_follow(shared: Path, tmp_path: Path) -> None:
    report = report_on(shared / "cases" / "34a-codex-tier-in-settings.jsonl", tmp_path / "report.json")
    # 100,000 in at $5 and 1,000 out at $30 per million; then the same at 2.5 times the price.
    assert report["recorded"]["cost_usd"] == pytest.approx(0.53 + 0.53 * 2.5)


def test_a_tier_applies_from_the_next_turn_on_and_is_reset_by_settings_without_one(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    changes: tuple[tuple[dict[str, Any] | None, str | None], ...] = (
        ({}, "fast"),
        (None, "flex"),
        (None, None),
        ({"service_tier": None}, None),
    )
    for number, (before, within) in enumerate(changes):
        if before is not None:
            rollout.event("thread_settings_applied", thread_settings={"model": "gpt-5.5", **before})
        rollout.event("task_started", turn_id=f"turn-{number}")
        rollout.turn(turn_id=f"turn-{number}")
        rollout.prompt("go")
        rollout.response(f"a{number}")
        if within:
            rollout.event("thread_settings_applied", thread_settings={"model": "gpt-5.5", "service_tier": within})
            rollout.turn(turn_id=f"turn-{number}")
        rollout.response(f"b{number}")
    session = session_of(rollout, tmp_path)
    tiers = [BillingTerms.of_code(call.terms).tier for call in session.calls]
    assert tiers == ["", "", "priority", "priority", "flex", "flex", "", ""]


def test_a_forks_copies_are_recognized_by_content_when_written_with_pauses(shared: Path, tmp_path: Path) -> None:
    folder = shared / "cases" / "31c-codex-fork-slow-copy"
    assert [prompts(open_session(path)) for path in sorted(folder.iterdir())] == [
        [10_000, 20_000, 30_000, 40_000],
        [36_000],
    ]
    report = report_on(folder, tmp_path / "report.json")
    assert (report["baseline"]["calls"], report["baseline"]["prompt_tokens"]) == (5, 100_000 + 36_000)


def parent_and_child(own: str = FORK, turns: tuple[str, str] = ("", ""), **header: Any) -> tuple[Rollout, Rollout]:
    """A rollout with two responses, and a fork of it with its own third, copied in steps of a second."""
    parent = Rollout()
    parent.header("parent")
    parent.turn(turn_id=turns[0])
    parent.prompt("go on")
    parent.response("c1", usage=(100, 1), text="one")
    parent.response("c2", usage=(200, 2), text="two")
    child = Rollout(clock=parent.clock + 500, total=dict(parent.total))
    child.header(own, forked_from_id="parent", **header)
    for line in parent.lines[1:]:
        child.add(line["type"], line["payload"], step=1)
    parent.prompt("go on")
    parent.response(usage=(900, 9), text="three")
    child.turn(turn_id=turns[1])
    child.prompt("go on")
    child.response(usage=(300, 3), text="three")
    for number, line in enumerate(child.lines):
        line["ordinal"] = number
    return parent, child


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_forks_own_calls_begin_where_the_origin_goes_on_otherwise(tmp_path: Path, is_packed: bool) -> None:
    identifier = "01990000-0000-4000-8000-000000000001"
    parent, child = parent_and_child("other")
    child.lines[0]["payload"]["forked_from_id"] = identifier
    path = parent.write(tmp_path / f"rollout-2026-05-28T10-00-00-{identifier}.jsonl")
    if is_packed:
        packed(path)
    own = child.write(tmp_path / "rollout.jsonl")
    session = open_session(packed(own) if is_packed else own)
    assert prompts(session) == [300]
    assert [message.is_inherited for message in session.messages] == [True] * 5 + [False] * 2


def test_turn_ids_tell_copies_whose_origin_is_gone(tmp_path: Path) -> None:
    _, child = parent_and_child(turns=(BEFORE_FORK, AFTER_FORK))
    session = session_of(child, tmp_path)
    assert prompts(session) == [300]
    assert [message.is_inherited for message in session.messages] == [True] * 5 + [False] * 2


def test_the_boundary_in_the_header_tells_copies_of_a_subagent(tmp_path: Path) -> None:
    _, child = parent_and_child("child")
    first_own = len(child.lines) - 5  # turn, prompt with its event, response with usage
    child.lines[0]["payload"] |= {"forked_from_id": None, "subagent_history_start_ordinal": first_own}
    session = session_of(child, tmp_path)
    assert prompts(session) == [300]


def test_records_of_another_thread_are_copies(tmp_path: Path) -> None:
    child = Rollout()
    child.header("child")
    child.header("parent")
    record(child, "resp_0", (50, 0, 1), "parent")
    for thread, number in (("parent", 1), ("parent", 2), ("child", 3)):
        child.prompt("go")
        child.response(usage=None, text=str(number))
        record(child, f"resp_{number}", (100 * number, 0, 1), thread)
    session = session_of(child, tmp_path)
    assert [(call.identifier, prompt) for call, prompt in zip(session.calls, prompts(session), strict=True)] == [
        ("resp_3", 300)
    ]


@pytest.mark.parametrize("kind", ["boundary", "origin", "one time", "record"])
def test_the_second_count_of_a_forked_rollout_leaves_out_what_its_origin_counts(tmp_path: Path, kind: str) -> None:
    parent, child = parent_and_child("01990000-0000-4000-8000-000000000002")
    origin = "01990000-0000-4000-8000-000000000001"
    child.lines[0]["payload"]["forked_from_id"] = origin
    if kind == "boundary":
        child.lines[0]["payload"]["subagent_history_start_ordinal"] = len(child.lines) - 5
    elif kind == "origin":
        parent.write(tmp_path / f"rollout-2026-05-28T10-00-00-{origin}.jsonl")
    else:
        for line in child.lines[:-5]:
            line["timestamp"] = child.lines[0]["timestamp"]
    if kind == "record":
        record(child, "resp_1", (300, 0, 3), child.lines[0]["payload"]["id"])
        record(child, "resp_2", (350, 250, 5), child.lines[0]["payload"]["id"])
    session = session_of(child, tmp_path)
    expected = UsageTotals(650, 250, 8) if kind == "record" else UsageTotals(300, 0, 3)
    assert independent_totals(session) == totals_of(session) == expected


@pytest.mark.parametrize("case", ["30-codex-compaction-record.jsonl", "31c-codex-fork-slow-copy", "fork"])
def test_a_followed_rollout_is_billed_like_the_loaded_one(shared: Path, tmp_path: Path, case: str) -> None:
    if case == "fork":
        parent, child = parent_and_child("other")
        child.lines[0]["payload"]["forked_from_id"] = identifier = "01990000-0000-4000-8000-000000000001"
        parent.write(tmp_path / f"rollout-2026-05-28T10-00-00-{identifier}.jsonl")
        lines = child.encoded()
    else:
        files = sorted((shared / "cases" / case).iterdir()) if case.startswith("31c") else [shared / "cases" / case]
        for origin in files[:-1]:
            (tmp_path / origin.name).write_bytes(origin.read_bytes())
        lines = files[-1].read_bytes().splitlines(keepends=True)
    path, data = tmp_path / "followed.jsonl", b"".join(lines)
    for _, session in tailed(path, data, len(lines[0]), [number / 40 for number in range(1, 40)]):
        fresh = open_session(path)
        assert session.side_calls == fresh.side_calls
        assert totals_of(session) == totals_of(fresh)
