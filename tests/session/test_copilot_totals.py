"""Totals that Copilot CLI writes when a process exits."""

from pathlib import Path
from typing import Any

import pytest

from inspector.session.follow import Follower
from inspector.session.model import RecordedTotals, Session, SideCall, Usage
from inspector.session.open import open_session
from tests.session.copilot_lines import CopilotScript

MODEL = "claude-sonnet-4.5"


def metrics(prompt: int, output: int, read: int = 0, written: int = 0, requests: int = 1) -> dict[str, Any]:
    usage = {"inputTokens": prompt, "outputTokens": output, "cacheReadTokens": read, "cacheWriteTokens": written}
    return {"requests": {"count": requests, "cost": 1}, "usage": usage}


def shutdown(script: CopilotScript, main: dict[str, Any], others: dict[str, Any] | None = None, nano: int = 0) -> None:
    named = {MODEL: main, **(others or {})}
    script.add("session.shutdown", shutdownType="routine", modelMetrics=named, totalNanoAiu=nano)


def answered(script: CopilotScript, *outputs: int) -> None:
    for output in outputs:
        script.user("go")
        script.answer("done", outputTokens=output, model=MODEL)


def opened(script: CopilotScript, folder: Path) -> Session:
    return open_session(script.write(folder / "s1" / "events.jsonl"))


def test_a_session_resumed_once_has_the_totals_of_both_processes(shared: Path) -> None:
    session = open_session(next((shared / "cases" / "86-copilot-shutdown").iterdir()))
    # 40,000 = 1,000 uncached + 19,000 read + 20,000 written; 21,000 = 21,000 written.
    assert session.recorded_totals == (
        RecordedTotals(
            "session.shutdown",
            ((MODEL, Usage(uncached=1_000, cache_read=19_000, cache_write_5m=20_000, output=300)),),
            requests=2,
            first_call=0,
            end_call=2,
        ),
        RecordedTotals(
            "session.shutdown",
            ((MODEL, Usage(cache_write_5m=21_000, output=50)),),
            requests=1,
            first_call=2,
            end_call=3,
        ),
    )


def test_totals_of_the_whole_session_count_only_their_increase(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    answered(script, 100, 200)
    shutdown(script, metrics(40_000, 300, 19_000, requests=2), nano=2_000_000_000)
    script.add("session.resume")
    answered(script, 50)
    # 350 is the output of all three responses, not the 50 of the resumed process.
    shutdown(script, metrics(61_000, 350, 29_000, requests=3), nano=3_000_000_000)
    totals = opened(script, tmp_path).recorded_totals
    assert [(each.usages[0][1].prompt, each.first_call, each.end_call) for each in totals] == [
        (40_000, 0, 2),
        (21_000, 2, 3),
    ]
    assert totals[1].usages[0][1] == Usage(uncached=11_000, cache_read=10_000, output=50)
    # One AI unit, 1e9 nano units, costs a cent.
    assert [each.cost_usd for each in totals] == [pytest.approx(0.02), pytest.approx(0.01)]


def test_a_shutdown_that_is_written_twice_counts_once(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    answered(script, 100)
    shutdown(script, metrics(20_000, 100))
    script.add("session.resume")
    shutdown(script, metrics(20_000, 100))
    assert [each.usages[0][1].prompt for each in opened(script, tmp_path).recorded_totals] == [20_000]


def test_calls_of_a_process_that_was_killed_are_in_no_total(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    answered(script, 100, 100)
    script.add("session.resume")
    answered(script, 70)
    shutdown(script, metrics(30_000, 70))
    (totals,) = opened(script, tmp_path).recorded_totals
    assert (totals.first_call, totals.end_call) == (2, 3)


def test_a_model_that_answered_nothing_in_the_file_is_a_side_request(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    answered(script, 100)
    shutdown(script, metrics(20_000, 100), {"gpt-5-mini": metrics(900, 8)})
    session = opened(script, tmp_path)
    (request,) = session.side_calls
    assert (request.purpose, request.model, request.usage) == (
        "request without a message",
        "gpt-5-mini",
        Usage(uncached=900, output=8),
    )
    assert session.recorded_totals[0].side_usages == (("gpt-5-mini", Usage(uncached=900, output=8)),)


@pytest.mark.parametrize(
    "used",
    [
        {"inputTokens": 9_000, "outputTokens": 400, "cacheReadTokens": 8_000, "cacheWriteTokens": 500, "model": MODEL},
        {"input": 9_000, "output": 400, "cachedInput": 8_000, "cacheWriteTokens": 500},
    ],
)
def test_the_request_of_a_compaction_is_billed(tmp_path: Path, used: dict[str, Any]) -> None:
    script = CopilotScript()
    script.start(selectedModel=MODEL)
    answered(script, 100)
    script.add("session.compaction_start")
    script.add(
        "session.compaction_complete", success=True, summaryContent="all", compactionTokensUsed=used, requestId="r1"
    )
    session = opened(script, tmp_path)
    # 9,000 - 8,000 - 500 = 500
    usage = Usage(uncached=500, cache_read=8_000, cache_write_5m=500, output=400)
    assert session.side_calls == (SideCall("compaction", MODEL, session.side_calls[0].time, usage, "r1"),)


def test_totals_arrive_while_a_session_is_followed(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    answered(script, 100)
    path = script.write(tmp_path / "s1" / "events.jsonl")
    follower = Follower(path)
    assert follower.session.recorded_totals == ()
    shutdown(script, metrics(20_000, 100))
    path.write_bytes(b"".join(script.encoded()))
    follower.poll()
    assert follower.session == open_session(path)
    assert len(follower.session.recorded_totals) == 1
