"""`inspector tune`: suggested settings, savings, certainty and risk; and plans that satisfy their constraints."""

import csv
import json
import shutil
import signal
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path

import msgspec
import pytest

from inspector.cli import main
from inspector.cli.output import ProgressLine
from inspector.fleet import executors, tuning
from inspector.fleet.session_tasks import SessionTask
from inspector.replay.quantity import quantities
from inspector.replay.tuning import search
from inspector.replay.tuning import search as fleet
from inspector.replay.tuning.trials import PreparedSession, Trial, TrialTerms
from inspector.report.charts.drawing import plain_svg
from inspector.report.charts.specifications import PAGE, tuning_charts
from inspector.report.forms import tune_written
from inspector.report.json_document import schema_text
from inspector.report.numbers import IN_TEXT
from inspector.report.pages.writers import html
from inspector.report.tuning import TunedPlan, TuneReport
from inspector.report.tuning_page import tune_content
from inspector.safe_text import cell_width
from inspector.strategies.plan import Plan
from tests.conftest import ROOT
from tests.program import run_here, run_program
from tests.report.pages import Page, at

SAMPLES = ROOT / "sample_sessions"
ROWS, COLUMNS = 24, 80
FEW = ("--strategy", "truncate-after-use", "--strategy", "last-observations")
"""A strategy that only saves beyond what has been tried in public, and one that has tried settings."""


def write_sessions(folder: Path, count: int, lines: int = 200) -> None:
    text = "".join((SAMPLES / "coding-agent.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:lines])
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        own = text.replace('"req_011', f'"req_{number}11').replace('"msg_01', f'"msg_{number}1')
        (folder / f"{number}.jsonl").write_text(own, encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def tried_once() -> Iterator[None]:
    """Sessions here differ in ids alone: a plan is tried on one of them, once for all tests."""
    trials, tried = PreparedSession.trials, {}

    def kept(session: PreparedSession, plans: Iterable[Plan], terms: TrialTerms) -> Iterator[Trial | None]:
        costs = repr(session.baseline.figures)
        for plan in plans:
            if (costs, plan, terms) not in tried:
                (tried[costs, plan, terms],) = trials(session, (plan,), terms)
            yield tried[costs, plan, terms]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PreparedSession, "trials", kept)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sessions")
    write_sessions(folder, 6)
    return folder


@pytest.fixture(scope="module")
def tuned(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[TuneReport, Path]:
    made = tmp_path_factory.mktemp("tuned")
    report, plan = made / "report.json", made / "tuned.toml"
    asked = ("--format", "json", "--report", str(report), "-o", str(plan), "--export", "anthropic", "--processes", "0")
    assert main(["tune", str(folder), *FEW, *asked]) == 0
    return msgspec.json.decode(report.read_bytes(), type=TuneReport, strict=True), plan


def test_the_answer_fits_a_screen(tuned: tuple[TuneReport, Path]) -> None:
    lines = tune_written(tuned[0], "text").splitlines()

    assert len(lines) <= ROWS
    assert max(map(cell_width, lines)) <= COLUMNS
    said = " ".join(" ".join(lines).split())
    assert "6 sessions of Claude Code with claude-opus-4-8" in said
    for word in ("set ", "saves ", "confidence ", "risks ", "to apply "):
        assert word in said


def test_the_plan_keeps_on_the_sessions_what_it_promised_to_the_cent(
    tuned: tuple[TuneReport, Path], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, file = tuned
    (group,) = report.groups
    assert group.verdict == "recommended"
    assert group.plan is not None
    assert Plan.from_toml(file.read_text(encoding="utf-8")).to_specs() == group.plan.strategies
    outcome = run_here(capsys, "report", folder, "--plan", file, "--format", "json")
    replayed = json.loads(outcome.out)

    assert replayed["plans"][0]["saved"]["usd"] == pytest.approx(group.plan.saved_usd, abs=1e-5)
    assert replayed["baseline"]["cost_usd"] == pytest.approx(group.cost_usd, abs=1e-5)
    needed = replayed["plans"][0]["needed_later"]
    assert needed["calls"] == group.plan.needed > 0
    assert needed["recoveries_usd"] == pytest.approx(group.plan.recovery_usd, abs=1e-4)
    assert needed["saved_at_least_usd"] <= group.plan.net_usd <= needed["saved_at_most_usd"]
    # The folder report adds the re-fetches of six sessions, each rounded to a tenth: 0.3 of about 5 at most.
    assert needed["break_even_recoveries"] == pytest.approx(group.plan.break_even, rel=0.08)
    assert needed["saved_at_least_usd"] == pytest.approx(group.plan.saved_at_least_usd, abs=1e-4)
    assert needed["saved_at_most_usd"] == pytest.approx(group.plan.saved_at_most_usd, abs=1e-4)
    assert needed["refetches"] == pytest.approx(group.plan.refetches, abs=0.35)
    assert (needed["evidence"], needed["evidence_reason"]) == ("tried", "")
    assert needed["calls"] == sum(row["plans"][0]["needed_later"]["calls"] for row in replayed["sessions"])
    said = " ".join(run_here(capsys, "report", folder, "--plan", file).out.split())
    assert f"{group.plan.needed} later calls needed cut text" in said
    assert f"break-even: {needed['break_even_recoveries']} re-fetches" in said


def test_a_group_shows_what_was_saved_chosen_without_a_session_regretted_and_redrawn(
    tuned: tuple[TuneReport, Path],
) -> None:
    (group,) = tuned[0].groups
    plan = group.plan
    assert plan is not None

    assert plan.net_usd == pytest.approx(plan.saved_usd - plan.recovery_usd, abs=1e-5)
    assert plan.low_percent <= plan.net_percent <= plan.high_percent
    assert plan.left_out_usd == pytest.approx(sum(row.left_out_usd for row in group.rows), abs=1e-4)
    assert plan.regret_usd == pytest.approx(sum(row.best_usd - (row.net_usd or 0) for row in group.rows), abs=1e-4)
    assert plan.helped + plan.worse == len(group.rows) == group.sessions == 6
    refetches = [point.refetches or 0.0 for point in group.front]
    assert refetches == sorted(refetches)
    assert {point.evidence for point in group.front} == {"tried"}
    assert group.is_complete
    assert any(point.value == curve.value for curve in group.curves for point in curve.points)


def test_a_long_plan_of_the_front_is_broken_after_its_commas(tuned: tuple[TuneReport, Path]) -> None:
    (group,) = tuned[0].groups
    spec = "tiered-stale:action=19,data=25,search=38,tool-set=coding,lists=true,batch-idle=300"
    point = msgspec.structs.replace(next(each for each in group.front if not each.is_chosen), strategies=[spec])
    kept = [each for each in group.front if each.is_chosen]
    said = tune_written(
        msgspec.structs.replace(tuned[0], groups=[msgspec.structs.replace(group, front=[*kept, point])]), "text"
    )
    lines = said.splitlines()
    at = next(place for place, line in enumerate(lines) if "action=19" in line)
    assert lines[at].endswith("search=38,")
    assert lines[at + 1].strip() == "tool-set=coding,lists=true,batch-idle=300"


def test_pages_and_sheets_show_the_figures_of_the_json(tuned: tuple[TuneReport, Path]) -> None:
    report = tuned[0]
    document = msgspec.to_builtins(report)
    page = Page(html(tune_content(report), tuning_charts(report, PAGE)))

    assert len(page.figures) > 40
    for pointer, value, _ in page.figures:
        found = at(document, pointer)
        assert (value is None and found is None) or float(value or "nan") == found, pointer
    rows = list(csv.DictReader(StringIO(tune_written(report, "csv"), newline=""), strict=True))
    assert [float(row["net_usd"]) for row in rows] == [row.net_usd for row in report.groups[0].rows]
    said = tune_written(report, "md")
    assert IN_TEXT.dollars(report.groups[0].plan.net_usd if report.groups[0].plan else None) in said.replace("\\", "")


def test_the_front_and_the_curves_are_drawn(tuned: tuple[TuneReport, Path]) -> None:
    drawn = tuning_charts(tuned[0], PAGE)
    group = tuned[0].groups[0]

    assert set(drawn) == {"front-1", *(f"curve-1-{index + 1}" for index in range(len(group.curves)))}
    assert len(drawn["front-1"]["data"]["values"]) == len(group.front)
    assert "<svg" in tune_written(tuned[0], "html", is_interactive=False)
    assert all(plain_svg(chart).count("<title>") > 1 for chart in drawn.values())


def test_untested_plans_are_listed_with_the_nearest_tried_setting_and_kept_on_request(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    asked = ("tune", folder, "--strategy", "truncate-after-use", "--format", "json")
    document = run_here(capsys, *asked).out
    (held,) = json.loads(document)["groups"]
    (beyond,) = json.loads(run_here(capsys, *asked, "--beyond").out)["groups"]
    page = " ".join(tune_written(msgspec.json.decode(document, type=TuneReport), "text").split())

    assert (held["verdict"], held["plan"], held["curves"]) == ("beyond", None, [])
    assert {each["evidence"] for each in held["beyond"]} == {"beyond"}
    assert all("tried: 20 calls" in each["evidence_reason"] for each in held["beyond"])
    assert "Only plans beyond what has been tried in public save: not recommended" in page
    assert held["beyond"][0]["evidence_reason"] in page
    assert beyond["beyond"] == []
    assert beyond["verdict"] == "recommended"
    assert beyond["plan"]["evidence"] == "beyond"
    assert "tried: 20 calls" in beyond["plan"]["evidence_reason"]


def test_the_agents_own_configuration_is_added(tuned: tuple[TuneReport, Path]) -> None:
    plan = tuned[0].groups[0].plan
    assert plan is not None
    assert plan.configuration is not None
    assert plan.configuration.target == "anthropic"
    assert plan.configuration.text or "supports nothing in this plan" in plan.configuration.notes[0]


def test_every_figure_of_a_plan_says_how_it_is_known(tuned: tuple[TuneReport, Path]) -> None:
    plan = tuned[0].groups[0].plan
    assert plan is not None
    counts = {"needed", "requests", "helped", "worse"}
    for name in quantities(TunedPlan):
        if getattr(plan, name) is not None and name not in counts | {"chosen_again_percent"}:
            assert name in plan.known, name


def test_too_few_sessions_are_refused_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    outcome = run_here(capsys, "tune", SAMPLES, "-o", tmp_path / "tuned.toml")
    said = " ".join(outcome.out.split())

    assert outcome.code == 0
    assert "2 sessions of Claude Code with claude-opus-4-8: 163 calls" in said
    assert "Not enough data for a recommendation" in said
    assert "163 calls, $11.26; 3 sessions more needed" in said
    assert "no plan is recommended" in outcome.err
    assert not (tmp_path / "tuned.toml").exists()


def test_what_cannot_be_done_is_reported_before_anything_is_read(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    session = tmp_path / "session.toml"
    shutil.copy(folder / "0.jsonl", session)
    for line, code, complaint in (
        (["-o", tmp_path / "plan.json"], 2, "-o is for the plan"),
        (["-o", session], 2, "session"),
        (["--export", "anthropc"], 2, "did you mean 'anthropic'?"),
        (["--max-needed", "-1"], 2, "is not a number; use 0 or more"),
        (["--strategy", "tiered"], 2, "did you mean 'tiered-stale'?"),
    ):
        outcome = run_here(capsys, "tune", folder, *line)
        assert outcome.code == code
        assert complaint in outcome.complaint
    (tmp_path / "empty").mkdir()
    outcome = run_here(capsys, "tune", tmp_path / "empty")
    assert outcome.code == 1
    assert "no sessions in this directory" in outcome.complaint


def test_a_search_that_is_interrupted_shows_what_it_found(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, tell = 0, ProgressLine.__call__

    def interrupted(self: ProgressLine, done: int, total: int) -> None:
        nonlocal told
        told += 1
        if told == 20:
            signal.raise_signal(signal.SIGINT)
        tell(self, done, total)

    monkeypatch.setattr(ProgressLine, "__call__", interrupted)
    outcome = run_here(capsys, "tune", folder, *FEW)

    assert outcome.code == 130
    assert "The search ended early (ctrl-c)" in outcome.out
    assert "6 sessions of Claude Code" in outcome.out


def test_very_many_sessions_are_searched_on_a_part_and_chosen_on_all(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "SAMPLED", 5)
    outcome = run_here(capsys, "tune", folder, "--strategy", "last-observations", "--format", "json")
    (group,) = json.loads(outcome.out)["groups"]

    assert (group["sampled"], group["sessions"], len(group["rows"])) == (5, 6, 6)
    assert 0 < group["tried"] < group["searched"]
    assert group["is_complete"]
    assert group["plan"]["helped"] == 6


COARSE_OF_FEW = 50
"""Plans that a coarse search of the strategies of `FEW` tries at least: each at every limit and kind of trigger."""


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock on which every trial of a plan on a session takes a second, and nothing else takes any."""
    now, tried = [0.0], tuning._tried

    def counted(task: SessionTask, plans: tuple[Plan, ...], terms: TrialTerms) -> object:
        now[0] += len(plans)
        return tried(task, plans, terms)

    monkeypatch.setattr(tuning, "_tried", counted)
    for module in (executors, tuning):
        monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def write_group(folder: Path, name: str, count: int, lines: int = 200) -> None:
    write_sessions(folder / name, count, lines)
    for file in (folder / name).iterdir():
        text = file.read_text(encoding="utf-8")
        text = (
            text.replace("claude-opus-4-8", name).replace('"req_', f'"req_{name[-3:]}').replace('"msg_', '"msg_' + name)
        )
        file.write_text(text, encoding="utf-8")


@pytest.mark.long
def test_no_group_is_starved_by_another_and_each_has_its_coarse_search(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, trials: list[float]
) -> None:
    write_group(tmp_path, "claude-opus-4-6", 30)
    write_group(tmp_path, "claude-haiku-4-5", 5, lines=120)
    minutes = 6_000 / 60
    asked = ("--processes", "0", "--no-kept-results", "--format", "json", "--minutes", str(minutes))
    large, small = json.loads(run_here(capsys, "tune", tmp_path, *FEW, *asked).out)["groups"]

    assert trials[0] < 6_000 + 100
    assert (large["sessions"], small["sessions"]) == (30, 5)
    assert min(large["searched"], small["searched"]) >= COARSE_OF_FEW
    assert small["is_complete"]
    assert small["left"] == []
    assert not large["is_complete"]
    assert large["left"]
    assert not {str(stage) for stage in search.COARSE}.intersection(large["left"])
    assert large["tried"] > 0, "what did best in the coarse search was tried on all thirty"
    assert large["verdict"] != "recommended"


@pytest.mark.long
def test_what_a_search_did_not_come_to_is_reported_each_group(
    capsys: pytest.CaptureFixture[str], folder: Path, trials: list[float]
) -> None:
    asked = ("--processes", "0", "--no-kept-results", "--minutes", str(1_200 / 60))
    page = " ".join(run_here(capsys, "tune", folder, *FEW, *asked).out.split())

    assert "Not reached before the time limit: " in page
    assert str(search.Stage.FINE) in page
    asked = ("--processes", "0", "--no-kept-results", "--minutes", str(16 / 60))
    page = " ".join(
        run_here(capsys, "tune", folder, "--strategy", "truncate-after-use:keep=100000", *asked).out.split()
    )
    assert "No plan tried so far saves 1 % of the cost after re-fetches, but the search is incomplete" in page


def test_where_nothing_saves_on_a_part_of_very_many_sessions_it_is_stated(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "SAMPLED", 5)
    outcome = run_here(capsys, "tune", folder, "--strategy", "summarize", "--format", "json")
    (group,) = json.loads(outcome.out)["groups"]

    assert (group["sampled"], group["sessions"]) == (5, 6)
    assert group["verdict"] == "nothing saves"
    assert group["is_complete"]


def test_a_search_without_time_says_that_nothing_was_tried(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    outcome = run_here(capsys, "tune", folder, *FEW, "--minutes", "0")

    assert outcome.code == 0
    assert "No plan was tried on all sessions before the time limit" in " ".join(outcome.out.split())


def test_without_a_path_the_sessions_of_this_machines_agents_are_tuned(tmp_path: Path) -> None:
    write_sessions(tmp_path / ".claude" / "projects" / "work", 5)
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    outcome = run_program("tune", "--strategy", "dedupe-reads", "--format", "json", "--processes", "0", env=home)
    (group,) = json.loads(outcome.out)["groups"]

    assert outcome.code == 0
    assert (group["sessions"], group["agent"]) == (5, "Claude Code")
    assert run_program("tune", env={**home, "HOME": str(tmp_path / "nobody")}).code == 1


@pytest.mark.long
def test_real_sessions_of_claude_code_have_a_plan_and_a_front(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run_here(capsys, "tune", corpus / "claude-code", *FEW, "--format", "json")
    report = msgspec.json.decode(outcome.out, type=TuneReport)
    (group,) = report.groups

    assert outcome.code == 0
    assert len(group.models) > 1
    assert group.sessions == 8
    assert group.front
    assert group.plan is not None
    assert group.plan.regret_usd >= 0
    assert group.plan.left_out_usd <= group.plan.net_usd + 1e-6


def test_the_published_schema_is_that_of_the_types() -> None:
    published = (ROOT / "docs" / "tune-report.schema.json").read_text(encoding="utf-8")

    assert published == schema_text(TuneReport), "run: python -m inspector.report.json_document tune > docs/…"


@pytest.mark.long
def test_a_plan_without_tool_results_is_untested_for_real_sessions_of_codex(
    corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`maf-tool-calls:keep=0` sends no tool result. The corpus has four sessions of Codex, one too few."""
    monkeypatch.setattr("inspector.replay.tuning.search.LEAST_SESSIONS", 4)
    plan = ["maf-tool-calls:keep=0"]
    asked = ("--strategy", *plan, "--may-forget", "--processes", "0", "--no-kept-results", "--format", "json")
    (group,) = json.loads(run_here(capsys, "tune", corpus / "codex", *asked).out)["groups"]
    (beyond,) = json.loads(run_here(capsys, "tune", corpus / "codex", *asked, "--beyond").out)["groups"]

    assert (group["sessions"], group["plan"], group["front"]) == (4, None, [])
    assert plan in [each["strategies"] for each in group["beyond"]]
    assert beyond["plan"]["strategies"] == plan, "only for lack of evidence"
