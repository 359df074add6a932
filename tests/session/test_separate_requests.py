"""Requests that a response's record reports besides its own: each is billed once, under its own model."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main
from inspector.cli.reading import replay_inputs
from inspector.report.session_report import report_of
from inspector.report.session_summary import summary_of
from inspector.session.blocks import text_block
from inspector.session.builder import SessionBuilder, Thread
from inspector.session.follow import Follower
from inspector.session.model import BlockKind, Compaction, Message, Origin, Role, Session, Usage
from inspector.session.open import open_session
from inspector.session.reading_check import independent_totals, totals_of
from tests.session.claude_lines import Script
from tests.session.run_files import jsonl
from tests.session.tap_store import archive, entry, message, record, records

MESSAGE = {"type": "message", "input_tokens": 2, "output_tokens": 40, "cache_read_input_tokens": 9_000}
ADVISOR = {"type": "advisor_message", "model": "claude-opus-4-7", "input_tokens": 1_000, "output_tokens": 50}
ADVISED = [("advisor", "claude-opus-4-7", Usage(uncached=1_000, output=50))]


def side_calls(session: Session) -> list[tuple[str, str, Usage | None]]:
    return [(call.purpose, call.model, call.usage) for call in session.side_calls]


def usage(*iterations: dict[str, Any]) -> dict[str, Any]:
    return {**MESSAGE, "type": None, "iterations": [MESSAGE, *iterations]}


def advised(*iterations: dict[str, Any]) -> Script:
    script = Script()
    script.prompt("go")
    script.text("m1", usage=usage(*iterations))
    script.call("m1", "t1", usage=usage(*iterations))
    script.result("t1")
    script.text("m2", usage=MESSAGE)
    return script


# Sonnet 4.6 (per million: $3, read $0.30, write $3.75, output $15): 3 + 4,000 written + 20,000 read + 500 out is
# $0.028509, 4 + 1,000 written + 24,000 read + 300 out is $0.015462. Opus 4.7 ($5, $25): 100,000 in, 5,000 out is
# $0.625. Together $0.668971.
def test_an_advisors_request_is_billed_in_the_report_and_the_folder(shared: Path, tmp_path: Path) -> None:
    path = shared / "cases" / "01-advisor-iterations.jsonl"
    session = open_session(path)
    report = report_of(replay_inputs(session))
    assert report.recorded is not None
    assert report.recorded.cost_usd == pytest.approx(0.043971, abs=1e-6)
    assert [(each.purpose, each.calls, each.prompt_tokens, each.output_tokens) for each in report.beside] == [
        ("advisor", 1, 100_000, 5_000)
    ]
    assert report.altogether_usd == pytest.approx(0.668971, abs=1e-6)
    assert independent_totals(session) == totals_of(session)
    assert summary_of(session).usd == pytest.approx(0.668971, abs=1e-6)

    folder = tmp_path / "sessions"
    folder.mkdir()
    shutil.copy(path, folder / f"{session.identifier}.jsonl")
    written = tmp_path / "folder.json"
    assert main(["report", str(folder), "--format", "json", "-o", str(written)]) == 0
    (beside,) = json.loads(written.read_bytes())["beside"]
    assert (beside["purpose"], beside["cost_usd"]) == ("advisor", pytest.approx(0.625))


def test_every_line_of_a_response_repeats_its_advisor(tmp_path: Path) -> None:
    session = open_session(advised(ADVISOR).write(tmp_path / "s.jsonl"))
    assert side_calls(session) == ADVISED
    assert [call.usage and call.usage.prompt for call in session.calls] == [9_002, 9_002]
    assert independent_totals(session) == totals_of(session)


def test_a_declined_attempt_is_not_billed(tmp_path: Path) -> None:
    answered = {**MESSAGE, "type": "fallback_message", "model": "claude-opus-4-8"}
    session = open_session(advised(answered).write(tmp_path / "s.jsonl"))
    assert session.side_calls == ()
    assert independent_totals(session) == totals_of(session)


def test_two_advisors_and_a_compaction_of_the_api_are_three_requests(tmp_path: Path) -> None:
    compaction = {"type": "compaction", "input_tokens": 7_000, "output_tokens": 300}
    session = open_session(advised(ADVISOR, ADVISOR, compaction).write(tmp_path / "s.jsonl"))
    assert side_calls(session) == [
        *ADVISED * 2,
        ("compaction", "claude-opus-4-8", Usage(uncached=7_000, output=300)),
    ]
    assert independent_totals(session) == totals_of(session)


def test_iterations_of_an_unexpected_form_leave_the_rest_of_their_line_readable(tmp_path: Path) -> None:
    script = Script()
    script.prompt("go")
    for number, iterations in enumerate(("some", [3, None], [{"type": "advisor_message"}])):
        script.text(f"m{number}", usage={**MESSAGE, "iterations": iterations})
    session = open_session(script.write(tmp_path / "s.jsonl"))
    assert [call.usage and call.usage.prompt for call in session.calls] == [9_002] * 3
    assert session.side_calls == ()


def test_a_followed_session_counts_an_advisor_as_it_arrives(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    *before, last = advised(ADVISOR).encoded()
    path.write_bytes(b"".join(before[:1]))
    follower = Follower(path)
    assert follower.session.side_calls == ()
    with path.open("ab") as file:
        file.write(b"".join([*before[1:], last]))
    follower.poll()
    assert side_calls(follower.session) == ADVISED


def test_a_fork_repeats_the_advisors_request_which_counts_once(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for number, name in enumerate(("11111111-2222-4333-8444-555555555555", "11111111-2222-4333-8444-666666666666")):
        script = advised(ADVISOR)
        if number:
            script.prompt("on")
            script.text("m3", usage=MESSAGE)
        for line in script.lines:
            line["sessionId"] = name  # newer versions rename copied lines
        script.write(folder / f"{name}.jsonl")
    written = tmp_path / "folder.json"
    assert main(["report", str(folder), "--format", "json", "-o", str(written), "--processes", "0"]) == 0
    report = json.loads(written.read_bytes())
    assert report["baseline"]["calls"] == 3
    assert [(each["purpose"], each["calls"]) for each in report["beside"]] == [("advisor", 1)]


def test_a_log_of_requests_has_its_advisors(tmp_path: Path) -> None:
    made = records(2)
    made[1]["response"]["body"]["usage"]["iterations"] = [MESSAGE, ADVISOR]
    path = tmp_path / "trace.jsonl"
    path.write_bytes(jsonl(made))
    session = open_session(path)
    assert session.format == "claude-tap"
    assert side_calls(session) == ADVISED
    assert independent_totals(session) == totals_of(session)


def test_an_http_archive_has_its_advisors(tmp_path: Path) -> None:
    asked = records(1)[0]["request"]["body"]
    answer = message(0, "advised")
    answer["usage"]["iterations"] = [MESSAGE, ADVISOR]
    path = tmp_path / "log.har"
    path.write_text(json.dumps(archive([entry(asked, json.dumps(answer))])))
    session = open_session(path)
    assert session.format == "har"
    assert side_calls(session) == ADVISED
    assert independent_totals(session) == totals_of(session)


def test_a_compaction_with_a_summary_in_its_response_counts_once(tmp_path: Path) -> None:
    asked = records(1)[0]["request"]["body"]
    answer = message(0, "after it")
    answer["content"].insert(0, {"type": "compaction", "content": "a summary"})
    answer["usage"]["iterations"] = [{"type": "compaction", "input_tokens": 700, "output_tokens": 30}, MESSAGE, ADVISOR]
    path = tmp_path / "trace.jsonl"
    path.write_bytes(jsonl([record(asked, answer), record(None, {"data": []}, 9, "/v1/models")]))
    session = open_session(path)
    # 1 + 40 read + 7 written is the message's own prompt.
    assert [call.usage and call.usage.prompt for call in session.calls] == [700, 48]
    assert side_calls(session) == ADVISED
    assert independent_totals(session) == totals_of(session)


def test_a_side_request_lies_before_the_call_that_reports_it(tmp_path: Path) -> None:
    session = open_session(advised(ADVISOR).write(tmp_path / "s.jsonl"))
    (made,) = session.side_calls
    assert made.response == session.calls[0].response
    assert made.time == session.calls[0].time


def test_the_thinking_of_a_summarizer_is_no_part_of_the_summary() -> None:
    builder = SessionBuilder()
    thread = Thread(builder)
    origin = Origin(0, 10)
    thinking = text_block(BlockKind.THINKING, "What mattered?", origin).block
    text = text_block(BlockKind.ASSISTANT_TEXT, "The parser was fixed.", origin).block
    thread.compact(Compaction(0), Message(Role.USER, (thinking, text), is_summary=True))
    thread.compact(Compaction(0), Message(Role.USER, (thinking,), is_summary=True))
    assert [message.blocks for message in builder.complete_messages()] == [(text,), (thinking,)]
