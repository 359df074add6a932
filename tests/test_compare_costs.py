"""Costs of sessions, compared with another counter's published rules, with every difference explained."""

import json
from pathlib import Path

import pytest

from scripts.compare_costs import compared, results
from scripts.usage_counter import LONG, Counted, cost_of, count, price_of
from tests.session.claude_lines import Script


def test_every_recorded_session_costs_what_the_other_counter_says_or_the_difference_is_explained(
    shared: Path,
) -> None:
    found = list(compared(shared / "corpus"))
    counted = [each for _, each in found if each is not None]
    assert len(counted) == len(found) > 20
    for each in counted:
        assert each.other.unpriced == ()
        if not each.is_equal:
            explained = each.explained()
            assert explained is not None, each.session.path
            assert explained[1] == pytest.approx(each.difference, abs=1e-6)
    assert "not explained" not in results(counted)


def test_a_response_counts_once_however_many_lines_repeat_it_and_its_fullest_line_is_it(tmp_path: Path) -> None:
    script = Script()
    script.prompt("go")
    for output in (2, 90):
        usage = {"input_tokens": 10, "output_tokens": output, "cache_read_input_tokens": 1_000}
        script.block("m1", {"type": "text", "text": "An answer."}, usage=usage)
    path = script.write(tmp_path / "session.jsonl")
    counted = count(path, "claude-code")
    assert counted is not None
    assert (counted.responses, counted.prompt, counted.output) == (1, 1_010, 90)


def test_only_tokens_of_a_kind_beyond_200000_pay_the_dearer_rate_there() -> None:
    model = "claude-sonnet-4-20250514"
    assert cost_of(Counted(model, input=LONG + 1_000)) == pytest.approx((LONG * 3 + 1_000 * 6) / 1e6)
    assert cost_of(Counted(model, input=150_000, cache_read=150_000)) == pytest.approx(150_000 * 3.3 / 1e6)
    assert cost_of(Counted(model, cache_write_1h=1_000)) == pytest.approx(1_000 * 6 / 1e6)
    assert cost_of(Counted("claude-opus-4-8", output=1_000, is_fast=True)) == pytest.approx(0.05)


def test_names_are_priced_by_what_they_hold_and_not_by_another_version() -> None:
    assert price_of("anthropic/claude-opus-4-5-20251101") == price_of("claude-opus-4-5")
    assert price_of("claude-opus-4-9") is None
    assert price_of("gpt-5.1") is None
    assert price_of("somebody/else") is None


def test_a_report_that_codex_writes_again_is_counted_there_again_and_here_once(tmp_path: Path) -> None:
    tokens = {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 10, "total_tokens": 110}
    info = {"total_token_usage": tokens, "last_token_usage": tokens}
    lines = [
        {"timestamp": "2026-06-01T10:00:00Z", "type": "session_meta", "payload": {"id": "a", "cwd": "/w"}},
        {"timestamp": "2026-06-01T10:00:01Z", "type": "turn_context", "payload": {"model": "gpt-5"}},
        {
            "timestamp": "2026-06-01T10:00:02Z",
            "type": "response_item",
            "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
        },
        *(
            {
                "timestamp": f"2026-06-01T10:00:0{second}Z",
                "type": "event_msg",
                "payload": {"type": "token_count", "info": info},
            }
            for second in (3, 4)
        ),
    ]
    path = tmp_path / "rollout-2026-06-01T10-00-00-a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    ((_, found),) = compared(tmp_path)
    assert found is not None
    assert (found.other.responses, len(found.calls)) == (2, 1)
    explained = found.explained()
    assert explained is not None
    assert explained[1] == pytest.approx(found.difference)
