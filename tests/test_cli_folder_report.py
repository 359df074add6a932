"""`inspector report FOLDER`: the same figures as one session at a time, added up."""

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from pathlib import Path
from statistics import median

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.cli import main
from inspector.errors import SessionError
from inspector.fleet.reports import replayed, report_on_folder
from inspector.fleet.session_tasks import PlanRequest, SessionTask, SessionTerms
from inspector.replay.analysis.compactions import CompactionAftermath, WorkStretch, compaction_aftermaths
from inspector.replay.engine.recorded_calls import has_all_prompts, is_reported_in_full
from inspector.replay.pricing.prices import Pricing
from inspector.replay.sessions import replay_session
from inspector.report.charts.drawing import plain_svg
from inspector.report.charts.specifications import PAGE, folder_charts
from inspector.report.folder import (
    FolderReport,
    SessionRow,
    UnreadSession,
    folder_compactions,
    folder_report,
)
from inspector.report.forms import folder_csv
from inspector.report.json_document import schema_text
from inspector.report.numbers import IN_TEXT
from inspector.report.pages.writers import html, markdown
from inspector.report.sessions_page import folder_content, folder_text
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from inspector.tokens.model_names import typical_coefficients
from tests.conftest import ROOT
from tests.report.pages import Page, at

SAMPLES = ("coding-agent.jsonl", "terminal-agent.jsonl", "trading-desk.json")
PLANS = ("--strategy", "tiered-stale", "--strategy", "token-budget")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sessions")
    for name in SAMPLES:
        shutil.copy(ROOT / "sample_sessions" / name, folder)
    (folder / "notes.txt").write_text("no session", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def report(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> FolderReport:
    target = tmp_path_factory.mktemp("report") / "folder.json"
    assert main(["report", str(folder), *PLANS, "--format", "json", "-o", str(target)]) == 0
    return msgspec.json.decode(target.read_bytes(), type=FolderReport, strict=True)


def test_the_library_reports_the_same_without_output(
    report: FolderReport, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plans = (PlanRequest(spec="tiered-stale"), PlanRequest(spec="token-budget"))
    announced = []

    @contextmanager
    def progress(doing: str) -> Iterator[Callable[[int, int], object]]:
        yield lambda done, total: announced.append((doing, done / total))

    alike, missing = report_on_folder(folder, SessionTerms(Pricing.load(), plans=plans), progress=progress)

    assert (alike, missing) == (report, "")
    assert announced[-1] == ("replaying sessions", 1.0)
    assert capsys.readouterr() == ("", "")


def test_every_session_has_the_figures_of_the_report_on_it_alone(report: FolderReport, folder: Path, capsys):
    assert [row.path for row in report.sessions] == sorted(str(folder / name) for name in SAMPLES)
    for row in report.sessions:
        assert main(["report", row.path, *PLANS, "--format", "json"]) == 0
        alone = json.loads(capsys.readouterr().out)
        built = msgspec.to_builtins(row)
        assert built["baseline"] == alone["baseline"]
        assert built["recorded"] == alone["recorded"]
        for mine, plan in zip(built["plans"], alone["plans"], strict=True):
            assert mine["figures"] == plan["figures"]
            assert mine["saved"] == plan["saved"]
            assert mine["edits"] == plan["edits"]
            assert mine["hazards"] == sum(plan["hazards"].values())


def test_totals_are_the_sums_of_the_sessions(report: FolderReport):
    for name in ("calls", "prompt_tokens", "cache_read_tokens", "output_tokens"):
        assert getattr(report.baseline, name) == sum(getattr(row.baseline, name) for row in report.sessions)
    assert report.baseline.peak_prompt_tokens == max(row.baseline.peak_prompt_tokens or 0 for row in report.sessions)
    for index, plan in enumerate(report.plans):
        saved = [row.plans[index].saved for row in report.sessions]
        assert plan.saved.usd == pytest.approx(sum(each.usd or 0 for each in saved), abs=1e-5)
        assert plan.saved.tokens == sum(each.tokens or 0 for each in saved)
        assert plan.saved.percent == pytest.approx(
            100 * (plan.saved.usd or 0) / (report.baseline.cost_usd or 1), abs=1e-3
        )
        assert plan.helped + plan.unchanged + plan.worse == len(report.sessions)


def test_sessions_a_plan_costs_more_on_are_counted_and_come_last(report: FolderReport):
    budget = report.plans[1]
    dollars = [report.sessions[index].plans[1].saved.usd or 0 for index in budget.order]

    assert budget.worse == sum(each < 0 for each in dollars) > 0
    assert dollars == sorted(dollars, reverse=True)
    assert budget.percent is not None
    assert budget.percent.least < 0 < budget.percent.most
    assert f"costs more on {budget.worse}" in " ".join(folder_text(report).split())


@pytest.mark.long
def test_pages_and_sheets_show_the_figures_of_the_json(report: FolderReport):
    document = msgspec.to_builtins(report)
    page = Page(html(folder_content(report), folder_charts(report, PAGE)))

    assert len(page.figures) > 60
    assert all("<rect" in plain_svg(chart) for chart in folder_charts(report, PAGE).values())
    for pointer, value, _ in page.figures:
        found = at(document, pointer)
        assert (value is None and found is None) or float(value or "nan") == found, pointer
    rows = list(csv.DictReader(StringIO(folder_csv(report), newline=""), strict=True))
    assert [float(row["plan_2_saved_usd"]) for row in rows] == [row.plans[1].saved.usd for row in report.sessions]
    for row in report.sessions:
        assert row.path.rpartition("/")[2].replace("-", "-") in markdown(folder_content(report))


def test_what_could_not_be_read_is_named_and_part_of_no_figure(report: FolderReport):
    unread = [UnreadSession(path="~/broken.jsonl", problem="ends in the middle of a record")]
    again = folder_report(report.path, ["tiered-stale", "token-budget"], report.sessions, unread)

    assert again.baseline == report.baseline
    assert again.plans == report.plans
    assert "~/broken.jsonl" in folder_text(again)
    assert any("could not be read" in warning for warning in again.warnings)


def counted_row(task: SessionTask) -> bytes:
    """A session's row with all of its tokens counted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("inspector.fleet.reports.has_all_prompts", lambda session: False)
        return replayed(task).value


def test_without_a_plan_nothing_is_counted_where_all_was_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def count_session(*arguments: object, **options: object) -> None:
        raise AssertionError("counted")

    task = SessionTask(ROOT / "sample_sessions" / "coding-agent.jsonl", SessionTerms(Pricing.load()))
    counted = counted_row(task)
    monkeypatch.setattr("inspector.replay.sessions.count_session", count_session)
    assert replayed(task).value == counted
    with pytest.raises(AssertionError, match="counted"):
        replayed(replace(task, terms=replace(task.terms, cache="anthropic")))


def test_placeholders_are_estimated_from_characters_unless_exact_counts_are_requested(tmp_path: Path, capsys):
    from tests.session.claude_lines import Script

    used = {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 7}
    script = Script(version="2.1.20")
    script.prompt("Say it.")
    script.text("m1", "word " * 70, usage=used)
    path = script.write(tmp_path / "11111111-2222-4333-8444-555555555555.jsonl")

    assert main(["report", str(path), "--format", "json"]) == 0
    alone = json.loads(capsys.readouterr().out)["baseline"]
    outputs = {}
    for option in ([], ["--exact"]):
        assert main(["report", str(tmp_path), "--format", "json", *option]) == 0
        found = json.loads(capsys.readouterr().out)["baseline"]
        outputs[bool(option)] = found["output_tokens"]
        assert {**found, "output_tokens": 0, "cost_usd": 0, "known": {}} == {
            **alone,
            "output_tokens": 0,
            "cost_usd": 0,
            "known": {},
        }
        assert found["known"]["output_tokens"] == "estimated"
        assert main(["report", str(tmp_path), *option]) == 0
        assert f"~{found['output_tokens']:,}" in capsys.readouterr().out
    # Two tokens for seven of 350 characters, on the typical scale of the model.
    typical = typical_coefficients("claude-opus-4-8")
    assert outputs[False] == round(100 * typical.ratio + typical.per_block)
    assert outputs[True] == alone["output_tokens"] != outputs[False]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("prompt", "result", "boundary")),
        st.integers(0, 3),
        st.integers(1, 90_000),
        st.integers(0, 90_000),
        st.sampled_from(("claude-opus-4-8", "claude-haiku-4-5")),
    ),
    min_size=1,
    max_size=24,
)


@given(STEPS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_count_changes_the_row_of_a_session_that_reports_everything(
    tmp_path: Path, steps: list[tuple[str, int, int, int, str]]
) -> None:
    from tests.session.claude_lines import Script

    script = Script()
    script.prompt("Begin.")
    for number, (before, parts, written, read, model) in enumerate(steps):
        used = {"input_tokens": parts, "output_tokens": 400, "cache_read_input_tokens": read}
        usage = {**used, "cache_creation_input_tokens": written}
        if before == "boundary":
            script.boundary()
            script.summary()
        elif before == "prompt":
            script.prompt("Continue with " + "more " * parts)
        for part in range(parts):
            script.call(f"m{number}", f"t{number}.{part}", usage=usage)
        if not parts:
            script.text(f"m{number}", usage=usage)
        for part in range(parts):
            script.result(f"t{number}.{part}", "line\n" * (written // 100))
        for line in script.lines:
            if line["type"] == "assistant" and line["message"]["id"] == f"m{number}":
                line["message"]["model"] = model
    task = SessionTask(script.write(tmp_path / "made.jsonl"), SessionTerms(Pricing()))

    assert replayed(task).value == counted_row(task)


@pytest.mark.long
def test_a_real_session_has_the_same_row_counted_or_not_but_for_placeholders(shared: Path) -> None:
    terms = SessionTerms(Pricing.load())
    same = estimated = 0
    for path in [*(shared / "corpus").rglob("*.json*"), *(shared / "cases").rglob("*.json*")]:
        if not path.is_file() or path.stat().st_size > 5_000_000:
            continue
        try:
            session = open_session(path)
        except SessionError:
            continue
        task = SessionTask(path, terms)
        if not session.calls or not has_all_prompts(session):
            continue
        counted = counted_row(task)
        assert replayed(replace(task, terms=replace(terms, exact=True))).value == counted
        if is_reported_in_full(session):
            assert replayed(task).value == counted
            same += 1
        else:
            rows = [msgspec.json.decode(each, type=SessionRow) for each in (replayed(task).value, counted)]
            assert len({prompt_figures(row) for row in rows}) == 1
            outputs = [row.baseline.output_tokens or 0 for row in rows]
            assert outputs[0] == pytest.approx(outputs[1], rel=0.15)
            estimated += 1
    assert same >= 10
    assert estimated >= 4


def prompt_figures(row: SessionRow) -> tuple[object, ...]:
    """The figures of a session that no length of a response changes."""
    figures = row.baseline
    prompts = (figures.calls, figures.prompt_tokens, figures.cache_read_tokens, figures.cache_write_tokens)
    return (*prompts, figures.uncached_tokens, *((miss.call, miss.cause, miss.tokens) for miss in row.misses))


def test_what_only_one_session_has_is_refused_for_many(folder: Path, capsys):
    assert main(["report", str(folder), "--ledger"]) == 2
    assert "--ledger is for a single session" in capsys.readouterr().err


def test_the_published_schema_is_that_of_the_types():
    published = (ROOT / "docs" / "folder-report.schema.json").read_text(encoding="utf-8")

    assert published == schema_text(FolderReport), "run: python -m inspector.report.json_document folder > docs/…"


def test_calls_that_a_fork_copied_count_once(tmp_path: Path) -> None:
    from tests.session.claude_lines import Script

    used = {"input_tokens": 3, "output_tokens": 20, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 7}
    script = Script()
    for number in range(3):
        script.prompt(f"prompt {number}")
        script.text(f"m{number}", usage=used)
    folder = tmp_path / "sessions"
    folder.mkdir()
    script.write(folder / "11111111-2222-4333-8444-555555555555.jsonl")
    fork = "22222222-2222-4333-8444-555555555555"
    for line in script.lines:
        line["sessionId"] = fork
    script.prompt("another way", sessionId=fork)
    script.text("m9", usage=used, sessionId=fork)
    script.write(folder / f"{fork}.jsonl")
    target = tmp_path / "folder.json"
    assert main(["report", str(folder), "--strategy", "tiered-stale", "--format", "json", "-o", str(target)]) == 0
    report = msgspec.json.decode(target.read_bytes(), type=FolderReport, strict=True)
    assert [row.calls for row in report.sessions] == [3, 1]
    assert report.baseline.prompt_tokens == 4 * 1010


def test_a_binary_file_named_like_a_session_is_counted_with_what_is_wrong(folder: Path, tmp_path: Path, capsys):
    shutil.copy(folder / SAMPLES[1], tmp_path)
    (tmp_path / "damaged.jsonl").write_bytes(b"\x00\x01\x02" * 200)

    assert main(["report", str(tmp_path)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "damaged.jsonl" in told
    assert "an unknown binary file" in told


def test_cache_misses_are_those_of_the_sessions_and_add_up_however_they_are_grouped(report: FolderReport, capsys):
    found = report.cache_misses
    for row in report.sessions:
        assert main(["report", row.path, "--format", "json"]) == 0
        alone = json.loads(capsys.readouterr().out)["cache_misses"]
        mine = [(miss.call, miss.cause, miss.tokens, miss.extra_usd) for miss in row.misses]
        assert mine == [(miss["call"], miss["cause"], miss["tokens"], miss["extra_usd"]) for miss in alone["misses"]]
        assert msgspec.to_builtins(row.lifetime) == alone["lifetime"]
    every = [miss for row in report.sessions for miss in row.misses if not miss.expected]
    assert found.calls == len(every) > 0
    assert found.extra_usd == pytest.approx(sum(miss.extra_usd or 0.0 for miss in every), abs=1e-5)
    assert found.share == pytest.approx((found.extra_usd or 0.0) / (report.baseline.cost_usd or 1.0), abs=1e-5)
    for groups in (found.models, found.hours, found.gaps, [row for row in found.causes if not row.expected]):
        assert sum(row.calls for row in groups) == found.calls
        assert sum(row.tokens or 0 for row in groups) == found.tokens
        assert sum(row.extra_usd or 0.0 for row in groups) == pytest.approx(found.extra_usd, abs=1e-5)
    costs = [report.sessions[each.session].misses[each.miss].extra_usd or 0.0 for each in found.dearest]
    assert costs == sorted(costs, reverse=True)
    said = " ".join(folder_text(report).split())
    assert f"{found.calls} cache miss" in said
    for row in found.causes:
        calls = IN_TEXT.qualified(f"{row.calls:,}", row.known["calls"])
        assert f"{row.short}{' (expected)' if row.expected else ''} {calls} " in said
    for each in found.lifetimes:
        saved = sum(row.lifetime.saved_usd or 0.0 for row in report.sessions if row.lifetime is not None)
        assert each.saved_usd == pytest.approx(saved, abs=1e-5)


def test_a_miss_after_a_copied_conversation_counts_once_and_is_no_first_request(tmp_path: Path) -> None:
    from tests.session.claude_lines import Script

    def used(read: int, written: int) -> dict[str, int]:
        return {
            "input_tokens": 3,
            "output_tokens": 20,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
        }

    script = Script()
    script.prompt("first", timestamp="2026-03-01T10:00:00.000Z")
    script.text("m0", usage=used(0, 20_000), timestamp="2026-03-01T10:00:05.000Z")
    script.prompt("second", timestamp="2026-03-01T10:20:00.000Z")
    script.text("m1", usage=used(0, 21_000), timestamp="2026-03-01T10:20:05.000Z")
    folder = tmp_path / "sessions"
    folder.mkdir()
    script.write(folder / "11111111-2222-4333-8444-555555555555.jsonl")
    fork = "22222222-2222-4333-8444-555555555555"
    for line in script.lines:
        line["sessionId"] = fork
    script.prompt("another way", sessionId=fork, timestamp="2026-03-01T12:00:00.000Z")
    script.text("m9", usage=used(0, 22_000), sessionId=fork, timestamp="2026-03-01T12:00:05.000Z")
    script.write(folder / f"{fork}.jsonl")
    target = tmp_path / "folder.json"
    assert main(["report", str(folder), "--format", "json", "-o", str(target)]) == 0
    report = msgspec.json.decode(target.read_bytes(), type=FolderReport, strict=True)

    assert [[(miss.call, miss.expected) for miss in row.misses] for row in report.sessions] == [
        [(1, True), (2, False)],
        [(3, False)],
    ]
    assert report.cache_misses.calls == 2
    assert [(row.name, row.calls) for row in report.cache_misses.gaps] == [("5 to 60 minutes", 1), ("over an hour", 1)]
    assert [(row.name, row.calls) for row in report.cache_misses.hours] == [("10", 1), ("12", 1)]


@pytest.mark.parametrize("order", [1, -1])
def test_medians_over_compactions_are_known_as_well_as_the_least_known_of_them(order: int) -> None:
    known = ({"actions": "exact", "usd": "estimated"}, {"actions": "exact", "usd": "exact"})[::order]
    stretches = [WorkStretch(actions=1.0, tokens=10.0, usd=0.5, rereads=0.0, known=each) for each in known]
    found = folder_compactions(
        [
            CompactionAftermath(call=2, calls=1, reached=True, reads=0, after=each, windows=1, elsewhere=each)
            for each in stretches
        ]
        for _ in range(1)
    )
    assert found is not None
    assert found.after is not None
    assert found.after.known == {"actions": "exact", "usd": "estimated"}


def test_what_compactions_did_is_that_of_each_session_and_medians_of_all(report: FolderReport, folder: Path):
    for row in report.sessions:
        baseline = replay_session(open_session(row.path), Plan(), precise=False)
        found = compaction_aftermaths(baseline)
        assert [(each.call, each.calls, each.after.actions, each.windows) for each in row.compactions] == [
            (each.call, each.calls, each.after.actions, each.windows) for each in found
        ]
    mine = [each for row in report.sessions for each in row.compactions]
    together = report.compactions
    assert together is not None
    assert together.compactions == len(mine) > 0
    assert together.rereads == sum(each.after.rereads for each in mine)
    compared = [each for each in mine if each.elsewhere is not None]
    assert together.compared == len(compared)
    assert together.after is not None
    assert together.after.actions == median(each.after.actions for each in compared)
    text = folder_text(report)
    assert "Effect of recorded compactions" in text
    assert "actions are counted until the next edit" in " ".join(text.split())


NO_TIMES = ("9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00Z")


@pytest.mark.parametrize("stamp", NO_TIMES)
def test_a_time_in_no_year_of_the_calendar_is_unknown(stamp: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    lines = (ROOT / "sample_sessions" / SAMPLES[0]).read_text(encoding="utf-8").splitlines(keepends=True)
    bad = next(number for number, line in enumerate(lines) if '"role":"assistant"' in line)
    record = json.loads(lines[bad])
    assert "timestamp" in record
    lines[bad] = json.dumps({**record, "timestamp": stamp}) + "\n"
    session = tmp_path / "bad.jsonl"
    session.write_text("".join(lines), encoding="utf-8")
    shutil.copy(ROOT / "sample_sessions" / SAMPLES[1], tmp_path)
    for command in (["report", str(session)], ["why", str(session)], ["report", str(tmp_path)]):
        assert main(command) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["sessions"]) == 2
