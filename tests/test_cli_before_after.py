"""`inspector compare --before A --after B`: costs of two sets of sessions, and the certainty of their difference."""

import csv
import json
import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from inspector.cli import main
from inspector.report.before_after import (
    MEASURES,
    SETS,
    BeforeAfterReport,
    MeasureFacts,
    SessionPart,
    SetName,
    SetSession,
    before_after_report,
)
from inspector.report.catalogue import FigureSet
from inspector.report.folder import FolderReport, UnreadSession
from inspector.report.forms import before_after_written
from inspector.report.json_document import schema_text
from inspector.report.pages.writers import html
from inspector.report.sessions_page import before_after_content, before_after_text
from inspector.safe_text import cell_width
from tests.conftest import ROOT
from tests.program import run_here
from tests.report.pages import Page, at

SAMPLES = ROOT / "sample_sessions"
CORPUS = Path(os.environ.get("INSPECTOR_SHARED", "")) / "corpus" / "claude-code"
SONNET, OPUS = "claude-sonnet-4-5-20250929", "claude-opus-4-6"
CHANGED = datetime(2026, 11, 1, tzinfo=UTC)
COLUMNS = 80


def write_session(file: Path, number: int, began: datetime, factor: float = 1.0, **other: Any) -> None:
    draws = np.random.default_rng(number)
    models, version = other.get("models", (SONNET,)), other.get("version", "2.1.200")
    rows: list[dict[str, Any]] = []

    def add(seconds: float, **row: Any) -> None:
        time = (began + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
        parent = rows[-1]["uuid"] if rows else None
        own = {"uuid": f"{number}-{len(rows)}", "sessionId": f"session-{number}", "version": version}
        rows.append({"parentUuid": parent, "isSidechain": False, "timestamp": time, **own, **row})

    add(0, type="user", message={"role": "user", "content": f"task {number}"})
    read = 0
    for call in range(other.get("calls", 8)):
        written = 20_000 if not call else int(draws.integers(500, 1_500))
        usage = {
            "input_tokens": 0,
            "cache_creation_input_tokens": round(written * factor),
            "cache_read_input_tokens": round(read * factor),
            "output_tokens": round(int(draws.integers(100, 500)) * factor),
        }
        read += written
        identifier = f"toolu_{number}_{call}"
        asked = {"type": "tool_use", "id": identifier, "name": "Read", "input": {"file_path": f"/work/{call % 3}.py"}}
        answer = {
            "role": "assistant",
            "type": "message",
            "id": f"msg_{number}_{call}",
            "model": models[call % len(models)],
        }
        told = {**answer, "content": [asked], "usage": usage}
        add(20 + 20 * call, type="assistant", requestId=f"req_{number}_{call}", message=told)
        result = {"type": "tool_result", "tool_use_id": identifier, "content": f"text {number} {call} " * 20}
        add(30 + 20 * call, type="user", message={"role": "user", "content": [result]})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def write_sets(folder: Path, counts: tuple[int, int], factor: float, **after: Any) -> tuple[Path, Path]:
    """Two folders of sessions from before and after a change, which makes calls cost so many times as much."""
    for name, first, count, cost, more in (
        ("before", 0, counts[0], 1.0, {}),
        ("after", 500, counts[1], factor, after),
    ):
        for number in range(count):
            day = CHANGED + timedelta(days=number + 1 if first else -number - 1)
            write_session(folder / name / f"{number}.jsonl", first + number, day, cost, **more)
    return folder / "before", folder / "after"


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_sets(tmp_path_factory.mktemp("cheaper"), (9, 11), 0.8, version="2.1.230")


@pytest.fixture(scope="module")
def report(sets: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> BeforeAfterReport:
    target = tmp_path_factory.mktemp("report") / "report.json"
    return asked(target, "--before", sets[0], "--after", sets[1])


def asked(target: Path, *words: str | Path) -> BeforeAfterReport:
    assert main(["compare", *map(str, words), "--format", "json", "-o", str(target)]) == 0
    return msgspec.json.decode(target.read_bytes(), type=BeforeAfterReport, strict=True)


def folder_totals(target: Path, folder: Path) -> FolderReport:
    assert main(["report", str(folder), "--exact", "--format", "json", "-o", str(target)]) == 0
    return msgspec.json.decode(target.read_bytes(), type=FolderReport, strict=True)


def of(measures: Sequence[MeasureFacts], name: str) -> MeasureFacts:
    return next(each for each in measures if each.name == name)


def made_up(name: SetName, number: int, *parts: SessionPart, **other: Any) -> SetSession:
    """A session with these calls by model."""
    costs = [part.cost_usd for part in parts]
    figures = FigureSet(
        calls=sum(part.calls for part in parts),
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        peak_prompt_tokens=1_000,
        cache_read_tokens=sum(part.cache_read_tokens for part in parts),
        cache_write_tokens=0,
        uncached_tokens=0,
        output_tokens=sum(part.output_tokens for part in parts),
        cache_breaks=0,
        cost_usd=None if None in costs else sum(cost or 0 for cost in costs),
        known=other.pop("known", {}),
        at_least=other.pop("at_least", []),
    )
    own = {"agent": "Claude Code", "version": "Claude Code 2.1.200", "began": "2026-11-01T00:00:00Z", "subagents": 0}
    return SetSession(path=f"~/{name}/{number}.jsonl", set=name, figures=figures, parts=list(parts), **{**own, **other})


def part(number: int, model: str = SONNET, cost: float | None = 1.0, calls: int = 10) -> SessionPart:
    """Calls of a model that differ a little from session to session."""
    return SessionPart(
        model=model,
        calls=calls,
        cost_usd=None if cost is None else cost * (1 + 0.02 * (number % 5)),
        prompt_tokens=100_000,
        cache_read_tokens=90_000 + 100 * (number % 5),
        output_tokens=3_000,
        misses=number % 3,
        compactions=number % 2,
        rereads=number % 4,
    )


def compared(sessions: Sequence[SetSession], **other: Any) -> BeforeAfterReport:
    terms = {"at": "", "effect": 0.1, "left_out": [], "unread": [], "warnings": []}
    return before_after_report(sessions, paths=(["~/before"], ["~/after"]), **{**terms, **other})


def both(count: int, *, before: Sequence[SessionPart], after: Sequence[SessionPart]) -> list[SetSession]:
    return [
        made_up(name, number, *(msgspec.structs.replace(each, misses=number % 3) for each in parts))
        for name, parts in (("before", before), ("after", after))
        for number in range(count)
    ]


def test_a_cost_cut_by_a_fifth_is_recovered_and_said(report: BeforeAfterReport) -> None:
    cost = report.overall.measures[0]

    assert (report.before.sessions, report.after.sessions) == (9, 11)
    assert cost.told == "less"
    assert cost.percent is not None
    assert cost.percent_low is not None
    assert cost.percent_high is not None
    assert cost.percent_low < -20 < cost.percent_high < 0
    ends = f"({-cost.percent_high:.1f} to {-cost.percent_low:.1f} %)"
    assert report.answer == f"after costs {-cost.percent:.1f} % less per call {ends}"
    assert cost.known["before"] == "exact"


def test_swapping_the_sets_negates(report: BeforeAfterReport, sets: tuple[Path, Path], tmp_path: Path) -> None:
    swapped = asked(tmp_path / "swapped.json", "--before", sets[1], "--after", sets[0])

    assert swapped.before.figures == report.after.figures
    for mine, other in zip(report.overall.measures, swapped.overall.measures, strict=True):
        assert (mine.before, mine.after) == (other.after, other.before)
        ends = (mine.change, mine.change_low, mine.change_high)
        assert ends == pytest.approx((-other.change, -other.change_high, -other.change_low), abs=2e-6)
    assert swapped.overall.measures[0].told == "more"
    assert swapped.answer.startswith("after costs 2")
    assert " more per call (" in swapped.answer


def test_a_date_divides_a_folder_by_when_sessions_began(
    report: BeforeAfterReport, sets: tuple[Path, Path], tmp_path: Path
) -> None:
    divided = asked(tmp_path / "divided.json", "--at", "2026-11-01", sets[0].parent)

    assert divided.at == "2026-11-01T00:00:00Z"
    assert divided.overall == report.overall
    assert divided.models == report.models
    assert divided.answer == report.answer
    assert divided.before.last < divided.at <= divided.after.first


def test_a_session_that_straddles_the_date_belongs_where_it_began(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    write_session(folder / "over.jsonl", 1, CHANGED - timedelta(seconds=30), calls=12)
    write_session(folder / "later.jsonl", 2, CHANGED)
    divided = asked(tmp_path / "out.json", "--at", "2026-11-01", folder)
    moved = asked(tmp_path / "out.json", "--at", "2026-11-01T00:59:30+01:00", folder)

    assert {Path(each.path).name: each.set for each in divided.sessions} == {
        "over.jsonl": "before",
        "later.jsonl": "after",
    }
    assert {each.set for each in moved.sessions} == {"after"}


def test_totals_are_those_of_the_report_on_the_folder_to_the_cent(
    report: BeforeAfterReport, sets: tuple[Path, Path], tmp_path: Path
) -> None:
    for folder, found in zip(sets, (report.before, report.after), strict=True):
        assert found.figures == folder_totals(tmp_path / "folder.json", folder).baseline
    assert sum(part.cost_usd or 0 for each in report.sessions for part in each.parts) == pytest.approx(
        (report.before.figures.cost_usd or 0) + (report.after.figures.cost_usd or 0), abs=1e-4
    )


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the real sessions are not here")
@pytest.mark.long
def test_real_sessions_divided_by_a_date_add_up_to_the_report_on_their_folder(tmp_path: Path) -> None:
    divided = asked(tmp_path / "divided.json", "--at", "2026-03-01", CORPUS)
    folder = folder_totals(tmp_path / "folder.json", CORPUS)
    halves = (divided.before, divided.after)

    assert min(half.sessions for half in halves) > 0
    assert sum(half.sessions for half in halves) + len(divided.left_out) == len(folder.sessions)
    for name in ("calls", "prompt_tokens", "cache_read_tokens", "output_tokens"):
        assert sum(getattr(half.figures, name) for half in halves) == getattr(folder.baseline, name)
    cost = sum(half.figures.cost_usd or 0 for half in halves)
    assert cost == pytest.approx(folder.baseline.cost_usd, abs=0.005)
    assert sum(half.misses for half in halves) == folder.cache_misses.calls
    assert sum(half.compactions for half in halves) == (folder.compactions.compactions if folder.compactions else 0)
    parts = [part for each in divided.sessions for part in each.parts]
    assert sum(part.cost_usd or 0 for part in parts) == pytest.approx(cost, abs=0.005)


def test_too_few_sessions_are_refused_with_the_number_and_why() -> None:
    few = compared([*both(9, before=[part(0)], after=[])[:9], *(made_up("after", at, part(at)) for at in range(3))])
    said = " ".join(before_after_text(few).split())

    assert "too few sessions with a price to compare, 9 before and 3 after" in said
    assert "with fewer than 5 in each set, chance dominates" in said
    assert "2 more after needed" in said
    for measure in few.overall.measures:
        assert measure.told == "too few"
        assert measure.before is not None
        assert measure.change is measure.change_low is measure.percent is measure.percent_high is None


def test_where_none_can_be_reported_the_sessions_it_would_take_are_reported() -> None:
    varied = [made_up(name, at, part(0, cost=0.2 + 0.2 * at)) for name in SETS for at in range(10)]
    loose, tight = (compared(varied, effect=effect).overall.measures[0] for effect in (0.25, 0.05))

    assert loose.told == tight.told == "not told"
    assert 0 <= (loose.more_sessions or 0) < (tight.more_sessions or 0)
    assert f"about {tight.more_sessions:,} more sessions per set" in tight.answer
    assert tight.answer.endswith("are needed to detect a difference of 5 %")


def test_models_of_both_sets_are_compared_and_others_listed() -> None:
    found = compared(
        both(6, before=[part(0, OPUS, 4.0), part(0, SONNET, 1.0)], after=[part(0, OPUS, 2.0), part(0, "glm-5", None)])
    )
    (opus,) = found.models

    assert opus.model == OPUS
    assert (opus.before_sessions, opus.before_calls) == (6, 60)
    assert opus.measures[0].percent == pytest.approx(-50)
    assert {(each.model, each.set, each.calls) for each in found.other_models} == {
        (SONNET, "before", 60),
        ("glm-5", "after", 60),
    }
    assert any("without a price" in warning for warning in found.warnings)


def test_what_else_differs_is_named_with_its_shares() -> None:
    before = [made_up("before", at, part(0), subagents=1) for at in range(6)]
    after = [made_up("after", at, part(0, calls=30), version="Claude Code 2.1.230") for at in range(6)]
    said = compared([*before, *after]).differs

    assert "Claude Code 2.1.200, 100.0 % before and 0.0 % after" in said[0]
    assert "(whose calls are not in these figures), 100.0 % before and 0.0 % after" in said[1]
    assert said[2] == "session lengths differ: they are longer after, median 10 calls before, 30 after"
    assert compared(both(6, before=[part(0)], after=[part(0)])).differs == []


def test_a_figure_is_known_as_well_as_the_least_known_of_its_sessions() -> None:
    rows = both(6, before=[part(0)], after=[part(0)])
    rows[0] = made_up("before", 0, part(0), known={"cost_usd": "estimated"}, at_least=["cost_usd"])
    cost = compared(rows).overall.measures[0]

    assert (cost.known["before"], cost.known["after"], cost.known["change"]) == ("estimated", "exact", "estimated")
    assert cost.at_least == ["before"]


def test_sessions_without_a_time_without_a_call_and_those_that_cannot_be_read_are_left_out_visibly(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "sessions"
    write_session(folder / "own.jsonl", 1, CHANGED)
    shutil.copy(SAMPLES / "local-agent.json", folder)
    write_session(folder / "empty.jsonl", 2, CHANGED)
    lines = (folder / "empty.jsonl").read_text().splitlines()
    (folder / "empty.jsonl").write_text(f"{lines[0]}\n")
    (folder / "broken.jsonl").write_bytes(b"\x00\xff" * 400)
    found = asked(tmp_path / "out.json", "--at", "2026-11-01", folder)
    said = before_after_text(found)

    assert [Path(each.path).name for each in found.left_out] == ["empty.jsonl", "local-agent.json"]
    assert "no call to a model" in found.left_out[0].problem
    assert "has no times" in found.left_out[1].problem
    assert [Path(each.path).name for each in found.unread] == ["broken.jsonl"]
    assert "2 sessions left out" in " ".join(said.split())
    assert [Path(each.path).name for each in found.sessions] == ["own.jsonl"]


def test_a_session_in_both_sets_and_copies_of_one_count_once(tmp_path: Path) -> None:
    every, new = tmp_path / "all", tmp_path / "all" / "new"
    write_session(every / "1.jsonl", 1, CHANGED)
    write_session(new / "2.jsonl", 2, CHANGED)
    shutil.copy(every / "1.jsonl", new / "copy.jsonl")
    found = asked(tmp_path / "out.json", "--before", every, "--after", new)
    swapped = asked(tmp_path / "out.json", "--before", new, "--after", every)

    assert [(Path(each.path).name, each.set) for each in found.sessions] == [
        ("1.jsonl", "before"),
        ("2.jsonl", "after"),
    ]
    assert {(Path(each.path).name, each.set) for each in swapped.sessions} == {
        ("1.jsonl", "after"),
        ("2.jsonl", "before"),
    }
    assert [Path(each.path).name for each in found.left_out] == ["copy.jsonl"]
    assert any("in both sets" in warning for warning in found.warnings)


def test_files_may_be_named_and_options_repeated(sets: tuple[Path, Path], tmp_path: Path) -> None:
    files = sorted(sets[0].iterdir())
    found = asked(tmp_path / "out.json", "--before", files[0], "--before", files[1], "--after", sets[1])

    assert (found.before.sessions, found.after.sessions) == (2, 11)
    assert len(found.before.paths) == 2


def test_the_text_fits_a_terminal(report: BeforeAfterReport) -> None:
    mixed = compared(both(6, before=[part(0, OPUS, 4.0), part(0)], after=[part(0, OPUS, 2.0), part(0)]))
    for each in (report, mixed):
        lines = before_after_text(each).splitlines()
        assert max(map(cell_width, lines)) <= COLUMNS
        assert "observation, not an experiment" in " ".join(" ".join(lines).split())


def test_what_matters_most_of_one_model_fits_one_screen(
    sets: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--before", str(sets[0]), "--after", str(sets[1])]) == 0
    first = capsys.readouterr().out.splitlines()[:24]

    assert "sessions before" in first[0]
    assert first[1].startswith("  After costs")
    for said in ("  cost  ", "  cost, median", "  calls, median", "observation, not an experiment"):
        assert any(said in line for line in first), said


def test_a_screen_has_a_line_for_each_of_the_costliest_models_and_says_how_many_more_there_are() -> None:
    models = [part(0, f"model-{number}", cost=10.0 - number) for number in range(8)]
    lines = before_after_text(compared(both(6, before=models, after=models))).splitlines()

    assert [line.split()[0] for line in lines if line.startswith("  model-")] == [f"model-{at}" for at in range(5)]
    assert "    and 3 more models, listed in the other formats" in lines


def test_pages_and_sheets_show_the_figures_of_the_json(report: BeforeAfterReport) -> None:
    document = msgspec.to_builtins(report)
    page = Page(html(before_after_content(report), {}))

    assert len(page.figures) > 50
    for pointer, value, _ in page.figures:
        found = at(document, pointer)
        assert (value is None and found is None) or float(value or "nan") == found, pointer
    rows = list(csv.DictReader(StringIO(before_after_written(report, "csv"), newline=""), strict=True))
    assert sum(float(row["cost_usd"]) for row in rows if row["set"] == "after") == pytest.approx(
        report.after.figures.cost_usd, abs=1e-4
    )
    assert report.answer in before_after_written(report, "md").replace("\\", "").replace("After", "after")


def test_names_from_sessions_can_not_drive_a_terminal_or_a_page() -> None:
    evil = "evil\x1b[31m<script>|`model"
    rows = both(6, before=[part(0, evil), part(0, f"only{evil}")], after=[part(0, evil)])
    rows = [msgspec.structs.replace(row, version=evil if row.set == "after" else "") for row in rows]
    found = compared(rows, left_out=[UnreadSession(path=evil, problem=evil)])

    assert "\x1b" not in before_after_text(found)
    assert "<script>" not in before_after_written(found, "html").partition("</style>")[2]
    assert "\x1b" not in before_after_written(found, "md")
    assert "\x1b" not in before_after_written(found, "csv")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--before", "."), "add --after PATH"),
        (("--after", "."), "add --before PATH"),
        (("--before", ".", "--after", ".", "x.jsonl"), "in neither set"),
        (("--before", ".", "--at", "2026-11-01"), "use either --at"),
        (("--at", "2026-11-01"), "add the folder"),
        (("--at", "yesterday", "."), "is not a date"),
        (("--before", ".", "--after", ".", "--effect", "0"), "is not a size of difference"),
        (("--before", ".", "--after", ".", "--sort", "name"), "--sort is for one session"),
        (("--before", ".", "--after", ".", "--runs-per-day", "3"), "--runs-per-day is for one session"),
        (("x.jsonl", "--effect", "5%"), "--effect requires two sets"),
        (("x.jsonl", "--format", "html"), "requires two sets of sessions"),
        ((), "pass a session"),
    ],
)
def test_a_line_that_means_nothing_is_refused_before_anything_is_read(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = run_here(capsys, "compare", *words)

    assert outcome.code == 2
    assert told in outcome.complaint


def test_a_report_is_not_written_over_a_session(sets: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    session = next(sets[1].iterdir())
    held = session.read_bytes()
    outcome = run_here(capsys, "compare", "--before", sets[0], "--after", sets[1], "-o", session)

    assert outcome.code == 2
    assert session.read_bytes() == held


def test_a_folder_without_sessions_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run_here(capsys, "compare", "--before", SAMPLES, "--after", tmp_path)

    assert outcome.code == 1
    assert "no sessions in this directory" in outcome.complaint


def test_the_published_schema_is_that_of_the_types() -> None:
    published = (ROOT / "docs" / "before-after-report.schema.json").read_text(encoding="utf-8")

    said = "run: python -m inspector.report.json_document before-after > docs/…"
    assert published == schema_text(BeforeAfterReport), said


def test_every_measure_has_a_name_of_its_own() -> None:
    assert len({measure.name for measure in MEASURES}) == len(MEASURES)
