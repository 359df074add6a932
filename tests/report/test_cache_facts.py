"""Causes of cache misses are equal in every form of a report on real sessions."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING

import msgspec
import pytest

from inspector.cli.reading import read_session, replay_inputs
from inspector.replay.analysis.alternatives import main_calls
from inspector.replay.analysis.cache_misses import cache_misses
from inspector.replay.assumptions import Assumptions
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.engine.replay import replay
from inspector.report.charts.specifications import PAGE, report_charts
from inspector.report.document import Report, ReportOptions
from inspector.report.forms import written
from inspector.report.numbers import IN_TEXT
from inspector.report.pages.opening import page_content
from inspector.report.pages.writers import escaped, html
from inspector.report.session_report import report_of
from inspector.report.text import switch_text
from inspector.report.why import why_text
from inspector.session.discovery import found_in
from inspector.strategies.plan import Plan
from tests.conftest import ROOT
from tests.hostile import DISTURBING, HOSTILE
from tests.report.pages import Page, at
from tests.session.claude_lines import Script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inspector.report.cache_document import CacheMissesFacts

AGENTS = (
    "claude-code",
    "cline",
    "codex",
    "copilot-cli",
    "gemini-cli",
    "inspect",
    "mini-swe-agent",
    "opencode",
    "openai-chat",
    "openhands-v0",
    "openhands-v1",
    "pi",
    "swe-agent",
)

MOST_SESSIONS = 20

SWITCH_TO = ("claude-haiku-4-5", "claude-opus-4-1")


def squeezed(text: str) -> str:
    return " ".join(text.split())


def reported(path: Path, cache: str | None = None) -> Report:
    inputs = replay_inputs(read_session(path), Assumptions(cache=cache))
    calls = main_calls(replay(inputs, Plan())).tolist()
    wanted = ReportOptions(
        ledger=True, switch_to=SWITCH_TO if calls else (), switch_at=calls[len(calls) // 2] if calls else 0
    )
    return report_of(inputs, (), wanted)


def misses_of(report: Report) -> CacheMissesFacts:
    assert report.cache_misses is not None
    return report.cache_misses


def sessions(folder: Path) -> Iterator[Path]:
    yield from (header.path for header in found_in(folder) if not header.problem)


def hold_together(report: Report) -> None:
    found = misses_of(report)
    document = msgspec.json.decode(written(report, "json"))
    assert msgspec.json.decode(written(report, "json"), type=Report, strict=True) == report
    assert found.unread_tokens is not None
    accounted = sum(each.tokens or 0 for each in found.causes) - (found.beyond_tokens or 0)
    accounted += (found.new_tokens or 0) + (found.noise_tokens or 0) + (found.uncompared_tokens or 0)
    assert found.unread_tokens == accounted
    unexpected = [row for row in found.causes if not row.expected]
    assert found.calls == sum(row.calls for row in unexpected) == sum(not miss.expected for miss in found.misses)
    assert found.tokens == sum(row.tokens or 0 for row in unexpected)

    text, markdown, why = (
        squeezed(each) for each in (written(report, "text"), written(report, "md"), why_text(report))
    )
    page = Page(html(page_content(report), report_charts(report, PAGE), is_interactive=False))
    shown = {pointer: (value, text) for pointer, value, text in page.figures}
    for index, row in enumerate(found.causes):
        how = row.known.get("extra_usd", "")
        usd, extra = (IN_TEXT.qualified(IN_TEXT.dollars(value), how) for value in (row.usd, row.extra_usd))
        calls, tokens = (
            IN_TEXT.qualified(IN_TEXT.whole(value), row.known[name])
            for name, value in (("calls", row.calls), ("tokens", row.tokens))
        )
        name = f"{row.short} (expected)" if row.expected else row.short
        assert f"{name} {calls} {tokens} {usd} {extra}" in text
        cells = (name, row.label, calls, tokens, usd, extra)
        assert f"| {' | '.join(escaped(cell) for cell in cells)} |" in markdown
        value, _ = shown[f"/cache_misses/causes/{index}/extra_usd"]
        assert (value is None and row.extra_usd is None) or float(value or "nan") == row.extra_usd
        if not row.expected and len(unexpected) > 1:
            assert f"{row.calls:,} {row.short}" in why
    for each in report.model_switches:
        assert switch_text(each) in text
        assert switch_text(each) in why
        assert escaped(switch_text(each)) in markdown
        saved = each.saved_usd
        assert saved is None or saved == pytest.approx((each.recorded_usd or 0.0) - (each.usd or 0.0), abs=1e-5)
    if report.session.calls:
        assert [each.model for each in report.model_switches] == list(SWITCH_TO)
    assert sum(row.calls for row in report.hours) == report.session.calls
    assert sum(row.misses for row in report.hours) == found.calls
    if report.baseline.cost_usd is not None:
        hours = sum(row.usd or 0.0 for row in report.hours)
        assert hours == pytest.approx(report.baseline.cost_usd, abs=1e-6 * len(report.hours) + 1e-6)
    if found.calls and found.extra_usd is not None:
        extra = IN_TEXT.qualified(IN_TEXT.dollars(found.extra_usd), found.known["extra_usd"])
        assert f"cache misses {extra} more than cache reads" in why
        assert f"{extra} more than cache reads".replace("$", "\\$").replace("~", "\\~") in markdown
        share = IN_TEXT.qualified(IN_TEXT.share(found.share), found.known["share"])
        assert f"{share} of the bill; " in why
        assert f"of the bill {share} " in text
    for pointer, (value, _) in shown.items():
        there = at(document, pointer)
        assert (value is None and there is None) or float(value or "nan") == there, pointer
    assert report.ledger is not None
    rows = list(csv.DictReader(StringIO(written(report, "csv"), newline=""), strict=True))
    named = {int(row["call"]): row["baseline_miss_cause"] for row in rows if row["baseline_miss_cause"]}
    assert named == {miss.call: miss.cause for miss in found.misses}
    assert not DISTURBING.search(why.replace("\n", ""))


def add_up(report: Report) -> None:
    """The parts of the cost are the cost, and the calls' parts are those parts."""
    assert report.ledger is not None
    if report.baseline.cost_usd is None:
        return
    assert report.cost is not None
    names = ("cache_read_usd", "cache_write_usd", "uncached_usd", "output_usd")
    parts = sum(getattr(report.cost, name) for name in names) + (report.cost.requests_usd or 0.0)
    assert parts == pytest.approx(report.baseline.cost_usd, abs=1e-4)
    for name in names:
        calls = sum(getattr(call.baseline, name) or 0.0 for call in report.ledger.calls)
        assert calls == pytest.approx(getattr(report.cost, name), abs=1e-6 * len(report.ledger.calls) + 1e-6)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.long
def test_every_form_says_the_same_of_why_caches_missed_in_a_real_session(corpus: Path, agent: str) -> None:
    paths = list(sessions(corpus / agent))

    assert paths
    # Test only some sessions of a file with dozens of similar ones.
    for path in paths[:: 1 + len(paths) // MOST_SESSIONS]:
        report = reported(path)
        hold_together(report)
        add_up(report)


def test_every_form_says_the_same_of_why_caches_missed_in_a_sample() -> None:
    paths = list(sessions(ROOT / "sample_sessions"))

    assert len(paths) == 7
    for path in paths:
        report = reported(path)
        hold_together(report)
        add_up(report)


def test_a_report_says_what_the_replay_found() -> None:
    inputs = replay_inputs(read_session(ROOT / "sample_sessions/coding-agent.jsonl"))
    found, facts = cache_misses(replay(inputs, Plan())), misses_of(report_of(inputs))

    assert [(miss.call, miss.cause) for miss in facts.misses] == [(miss.call + 1, miss.cause) for miss in found.all]
    assert facts.extra_usd == pytest.approx(found.total.extra_usd, abs=1e-6)
    (miss,) = (miss for miss in facts.misses if not miss.expected)
    assert (miss.call, miss.cause, miss.evidence.previous_call) == (18, "ttl_expired_5m", 17)
    assert miss.prevention == MissCause.TTL_EXPIRED_5M.prevention
    assert miss.evidence.text == "11 min 3 s after call 17"


def test_the_bill_of_the_calls_is_drawn_with_the_costliest_miss_by_name() -> None:
    report = reported(ROOT / "sample_sessions/coding-agent.jsonl")
    chart = report_charts(report, PAGE)["bill"]
    words = [layer["mark"]["text"] for layer in chart["layer"] if layer["mark"]["type"] == "text"]

    assert words == ["call 18: expired (5 min), $0.30"]
    for row in chart["data"]["values"]:
        (call,) = (each for each in report.ledger.calls if each.call == row["call"])  # type: ignore[union-attr]
        assert row["y4"] == pytest.approx(call.baseline.cost_usd, abs=1e-5)


def test_without_a_price_a_report_says_tokens_and_draws_no_bill(tmp_path: Path) -> None:
    report = reported(missing(tmp_path / "session.jsonl", model="nobody-knows-it"), cache="anthropic")
    found = misses_of(report)

    hold_together(report)
    assert (found.calls, found.extra_usd, found.share) == (1, None, None)
    assert found.tokens == pytest.approx(20_500, abs=10)
    assert "bill" not in report_charts(report, PAGE)
    said = squeezed(why_text(report))
    assert "cost unknown its model has no price" in said
    assert f"1 call, {IN_TEXT.qualified(f'{found.tokens:,}', found.known['tokens'])} tokens rewritten" in said


def test_of_a_model_whose_cache_no_one_knows_what_its_provider_reports_counts(tmp_path: Path) -> None:
    report = reported(missing(tmp_path / "session.jsonl", model="nobody-knows-it"))

    hold_together(report)
    assert [miss.cause for miss in misses_of(report).misses] == ["first_request", "likely_server_side"]
    assert "evicted (likely)" in squeezed(why_text(report))


def test_without_usage_estimates_are_marked_as_such() -> None:
    report = reported(ROOT / "sample_sessions/trading-desk.json")

    assert misses_of(report).known["tokens"] == "estimated"
    said = why_text(report)
    assert "cost ~$" in said
    assert "the file reports no usage" in squeezed(said)


def test_a_session_without_a_call_has_nothing_to_tell(tmp_path: Path) -> None:
    script = Script()
    script.prompt("is anybody there?")
    report = reported(script.write(tmp_path / "session.jsonl"))

    hold_together(report)
    assert misses_of(report).misses == []
    assert "the session contains no call to a model" in squeezed(why_text(report))


@pytest.mark.parametrize("model", [HOSTILE.replace("\ud800", ""), ""])
def test_a_model_with_a_name_that_disturbs_terminals_is_reported_safely(tmp_path: Path, model: str) -> None:
    report = reported(missing(tmp_path / "session.jsonl", model=model), cache="anthropic")

    page = html(page_content(report), report_charts(report, PAGE), is_interactive=False)
    for form in (why_text(report), written(report, "text"), written(report, "md"), page):
        assert not DISTURBING.search(form.replace("\n", ""))
    assert misses_of(report).calls == 1


def missing(path: Path, model: str) -> Path:
    script = Script()
    for number, (time, read, write) in enumerate((("10:00", 0, 20_000), ("10:01", 20_000, 500), ("10:12", 0, 21_000))):
        script.prompt(f"prompt {number}", timestamp=f"2026-03-01T{time}:00.000Z")
        usage = {"input_tokens": 3, "output_tokens": 20, "cache_read_input_tokens": read}
        usage |= {"cache_creation_input_tokens": write}
        script.text(f"m{number}", usage=usage, timestamp=f"2026-03-01T{time}:05.000Z")
        script.lines[-1]["message"]["model"] = model
    return script.write(path)


def test_the_documents_say_of_every_cause_what_it_means_and_what_prevents_it() -> None:
    text = (ROOT / "docs" / "cache-and-cost.md").read_text(encoding="utf-8")
    rows = {
        line.split("`")[1]: [cell.strip() for cell in line.split("|")]
        for line in text.splitlines()
        if line[:3] == "| `"
    }

    for cause in MissCause:
        *_, meaning, prevention, evidence, _ = rows[cause.value]
        assert evidence
        assert meaning == cause.label
        assert prevention.startswith(cause.prevention or "nothing")
        assert ("expected" in prevention) == cause.is_expected
