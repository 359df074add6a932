"""Gateways give several responses one id: each response is a call and is billed, in one file and over a folder."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.cli import main
from inspector.session.model import Session
from inspector.session.open import open_session
from inspector.session.reading_check import independent_totals, totals_of
from tests.session import run_files, tap_store
from tests.session.claude_lines import Script
from tests.session.grok_lines import GrokScript
from tests.session.run_files import encoded, jsonl

REPEATED = "ocgo"


def reported(session: Session) -> list[tuple[int, int]]:
    return [(call.usage.prompt, call.usage.output) for call in session.calls if call.usage is not None]


def used(prompt: int, output: int = 10) -> dict[str, Any]:
    return {"input_tokens": prompt, "output_tokens": output}


# a.jsonl: 1,000 + 1,001 + 1,002 + 2,000 in, 40 + 41 + 42 + 9 out; b.jsonl: 1,010 + 1,011 + 1,012 + 2,001 in.
def test_a_gateway_with_one_id_for_all_responses(shared: Path, tmp_path: Path) -> None:
    folder = shared / "cases" / "09-gateway-same-id"
    session = open_session(folder / "a.jsonl")
    assert reported(session) == [(1_000, 40), (1_001, 41), (1_002, 42), (2_000, 9)]
    assert independent_totals(session) == totals_of(session)

    written = tmp_path / "folder.json"
    assert main(["report", str(folder), "--format", "json", "-o", str(written)]) == 0
    report = json.loads(written.read_bytes())
    assert report["baseline"]["calls"] == 8
    assert report["baseline"]["prompt_tokens"] == 5_003 + 5_034


def claude(*lines: tuple[str, int, int], request: str | None, **fields: Any) -> Script:
    """A session of texts (`text`), calls (`call`) and their results (`result`), with prompt and output tokens."""
    script = Script()
    script.prompt("go")
    for number, (kind, prompt, output) in enumerate(lines):
        if kind == "result":
            script.result(f"t{number - 1}")
        elif kind == "call":
            script.call(REPEATED, f"t{number}", usage=used(prompt, output), requestId=request, **fields)
        else:
            script.text(REPEATED, f"text {number}", usage=used(prompt, output), requestId=request, **fields)
    return script


@pytest.mark.parametrize(
    ("request_id", "lines", "calls"),
    [
        pytest.param("", [("text", 100, 1), ("call", 100, 9)], [(100, 9)], id="lines of one response"),
        pytest.param(
            "", [("call", 100, 9), ("result", 0, 0), ("call", 100, 7)], [(100, 9), (100, 7)], id="results between"
        ),
        pytest.param("", [("text", 100, 9), ("text", 130, 7)], [(100, 9), (130, 7)], id="other prompts"),
        pytest.param(
            "req_1", [("call", 100, 9), ("result", 0, 0), ("text", 100, 9)], [(100, 9)], id="tools run while it streams"
        ),
        pytest.param("req_1", [("text", 100, 1), ("call", 130, 9)], [(130, 9)], id="server-side tools add to a prompt"),
        pytest.param(
            "req_1",
            [("call", 100, 9), ("result", 0, 0), ("call", 130, 7)],
            [(100, 9), (130, 7)],
            id="the request id repeats as well",
        ),
    ],
)
def test_which_lines_of_claude_code_with_one_id_are_one_response(
    tmp_path: Path, request_id: str, lines: list[tuple[str, int, int]], calls: list[tuple[int, int]]
) -> None:
    session = open_session(claude(*lines, request=request_id).write(tmp_path / "s.jsonl"))
    assert reported(session) == calls
    assert independent_totals(session) == totals_of(session)


def test_openhands_matches_usage_with_a_repeated_id_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    (folder / "events").mkdir(parents=True)
    for number, event in enumerate(run_files.openhands_events(3)):
        if "llm_response_id" in event:
            event["llm_response_id"] = REPEATED
        (folder / "events" / f"event-{number:05d}-{event['id']}.json").write_bytes(encoded(event))
    state = run_files.openhands_state(4)
    listed = state["stats"]["usage_to_metrics"]
    for one in listed["agent"]["token_usages"]:
        one |= {"response_id": REPEATED, "cache_write_tokens": 0}
    condenser = {**listed["agent"]["token_usages"][0], "prompt_tokens": 700, "completion_tokens": 60}
    state["stats"]["usage_to_metrics"] = {"condenser": {"token_usages": [condenser]}, **listed}
    (folder / "base_state.json").write_bytes(encoded(state))
    session = open_session(folder)
    assert session.format == "openhands"
    assert reported(session) == [(90, 6), (91, 6), (92, 6)]
    # The fourth response of the agent has no event.
    assert sorted((call.purpose, call.usage and call.usage.prompt) for call in session.side_calls) == [
        ("condenser", 700),
        ("not recorded", 93),
    ]
    assert independent_totals(session) == totals_of(session)


def test_grok_counts_reports_with_a_repeated_id(tmp_path: Path) -> None:
    script = GrokScript()
    script.user("go")
    script.answer("one", "c0", tokens=(100, 400, 20))
    script.result("c0", "found")
    script.answer("two", tokens=(130, 500, 30))
    for update in script.updates:
        if "message_id" in (told := update["params"]["update"]):
            told["message_id"] = REPEATED
    session = open_session(script.write(tmp_path / "s1"))
    assert reported(session) == [(500, 20), (630, 30)]
    assert independent_totals(session) == totals_of(session)


def test_titles_with_a_repeated_id_are_requests_of_their_own(tmp_path: Path) -> None:
    lines = run_files.log_of_requests(1)
    for number, prompt in enumerate((50, 60)):
        answer = {"id": REPEATED, "role": "assistant", "model": "claude-haiku-4-5", "usage": used(prompt)}
        answer["content"] = [{"type": "text", "text": f"A title {number}"}]
        asked = [{"role": "user", "content": f"text {number}"}]
        about = {"model": "claude-haiku-4-5", "tools": [], "system": "Write a title"}
        lines.append(run_files.exchange(asked, answer, 5 + number, **about))
    lines.append(lines[-1])  # logged twice
    path = tmp_path / "log.jsonl"
    path.write_bytes(jsonl(lines))
    session = open_session(path)
    assert [(call.purpose, call.usage and call.usage.prompt) for call in session.side_calls] == [
        ("title", 50),
        ("title", 60),
    ]


def test_empty_responses_of_openai_with_a_repeated_id_are_billed_each(tmp_path: Path) -> None:
    body = {"model": "gpt-x", "instructions": "You are Codex.", "generate": False, "input": []}
    made = []
    for number in range(2):
        counts = {"input_tokens": 100 + number, "output_tokens": 0, "input_tokens_details": {"cached_tokens": 0}}
        answer = {"id": REPEATED, "object": "response", "model": "gpt-x", "output": [], "usage": counts}
        made.append(tap_store.record(body, answer, number + 1, "/v1/responses"))
    path = tmp_path / "trace.jsonl"
    path.write_bytes(jsonl(made))
    session = open_session(path)
    assert [call.usage and call.usage.prompt for call in session.side_calls] == [100, 101]
