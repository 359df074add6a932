"""Content of HTML reports. Rendering is tested in `tests/browser`."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import sys
from functools import cache
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from inspector.cli import main
from inspector.cli.reading import read_session, replay_inputs
from inspector.replay.assumptions import RunsPerDay
from inspector.report.catalogue import ProjectionFacts
from inspector.report.charts.specifications import HEIGHT, PAGE, WORDS_HEIGHT, report_charts
from inspector.report.document import BestPlanFacts, ReportOptions, SavingPlanFacts
from inspector.report.numbers import IN_TEXT, MINUS
from inspector.report.pages.opening import page_content
from inspector.report.pages.writers import html
from inspector.report.sentences import (
    HOLDS,
    about,
    at_best,
    bands_of,
    between,
    daily_saving,
    monthly_saving,
    rounded_to,
)
from inspector.report.session_report import report_of
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy
from tests.conftest import ROOT
from tests.hostile import hostile_copy
from tests.report.pages import Page, at, long_session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inspector.report.document import Report

SAMPLE = ROOT / "sample_sessions/coding-agent.jsonl"
PLANS = ("--strategy", "tiered-stale", "--strategy", "token-budget + keep-recent", "--runs-per-day", "24")
pytestmark = pytest.mark.usefixtures("searched_once")


def saved(path: Path, output: Path, *options: str) -> str:
    assert main(["report", str(path), *options, "--format", "html", "-o", str(output)]) == 0
    return output.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sample_page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    @cache
    def made() -> str:
        return saved(SAMPLE, tmp_path_factory.mktemp("page") / "page.html", *PLANS, "--explain")

    return made


def test_every_figure_of_the_page_is_the_one_of_the_json_report(sample_page: Callable[[], str], tmp_path: Path):
    page = Page(sample_page())
    target = tmp_path / "report.json"
    assert main(["report", str(SAMPLE), *PLANS, "--explain", "--compare", "--format", "json", "-o", str(target)]) == 0
    report = json.loads(target.read_text(encoding="utf-8"))

    assert len(page.figures) > 500
    for pointer, value, text in page.figures:
        found = at(report, pointer)
        assert (value is None and found is None) or float(value) == found, pointer
        forms = (
            {written(found) for written in (IN_TEXT.whole, IN_TEXT.dollars, IN_TEXT.percent)}
            if found is not None
            else {"-", "never"}
        )
        if found is not None and "/explain/" not in pointer:
            forms |= {
                f"{found:g}",
                IN_TEXT.percent(100 * found),
                IN_TEXT.dollars(abs(found)),
                IN_TEXT.percent(abs(found)),
            }
            if "/projection/usd" in pointer:
                projection = ProjectionFacts(**at(report, pointer.rpartition("/")[0]))
                forms |= {
                    rounded_to(found, band, IN_TEXT, towards)
                    for band in bands_of(projection)
                    for towards in (math.floor, round, math.ceil)
                }
            # A cost with a plan adds up with its saving to the cost before.
            if re.fullmatch(r"/(plans|comparison)/\d+/figures/cost_usd", pointer):
                forms.add(IN_TEXT.dollars(IN_TEXT.cost_with_plan(report["baseline"]["cost_usd"], found)))
            if pointer.startswith("/cost/") and pointer.endswith("_usd"):  # adds up to a cost that is written in cents
                forms |= {f"${round(found, 2) + cent:,.2f}" for cent in (-0.01, 0, 0.01)}
            assert text.strip() in forms, (pointer, found)


def test_the_page_shows_how_every_figure_is_known(sample_page: Callable[[], str]):
    text = sample_page()

    assert '<abbr class="mark" title="estimated">~</abbr>' in text
    assert '<abbr class="mark" title="projected">~</abbr>' in text
    assert 'title="calibrated"' not in text
    assert "Figures without a mark are reported, or calibrated to reported usage. ~ " in text


def test_the_policy_names_the_digests_of_the_style_and_the_script_and_allows_nothing_else(
    sample_page: Callable[[], str],
):
    page = Page(sample_page())
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy") or ""
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    code = page.contents["script"][[each.get("type") for each in scripts].index("module")]
    assert rules == {
        "default-src": "'none'",
        "script-src": digest(code),
        "style-src": digest(page.contents["style"][0]),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_a_page_without_its_script_is_small_and_lets_none_run(tmp_path: Path):
    text = saved(SAMPLE, tmp_path / "page.html", *PLANS, "--no-script")
    page = Page(text)

    assert not [tag for tag, _ in page.elements if tag == "script"]
    assert [tag for tag, _ in page.elements].count("svg") == 5
    assert "script-src 'none'" in text.replace("&#39;", "'")
    assert len(text) < 340_000


def test_the_page_points_nowhere_but_into_itself(sample_page: Callable[[], str]):
    page = Page(sample_page())

    for _, attributes in page.elements:
        for name in ("src", "href", "action", "poster", "data", "srcset"):
            assert (attributes.get(name) or "#").startswith("#")
        assert not any(name.startswith("on") for name in attributes)


def test_ten_thousand_messages_make_a_page_of_less_than_two_megabytes(tmp_path: Path):
    inputs = replay_inputs(read_session(long_session(tmp_path / "long.json", 10_000)))
    plans = [Plan.from_specs([spec]) for spec in ("tiered-stale", "clear-old", "token-budget")]
    report = report_of(inputs, plans, ReportOptions(RunsPerDay(24), ledger=True))
    charts = report_charts(report, PAGE)
    page = html(page_content(report), charts)

    assert report.session.messages == 10_000
    assert set(charts) == {"context", "cost", "bill", "composition"}
    assert len(page.encode()) < 2_000_000


def test_a_page_without_a_comparison_replays_no_strategy_but_its_plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "inspector.report.session_report.plans_to_compare", lambda _: pytest.fail("compared all the same")
    )
    text = saved(SAMPLE, tmp_path / "page.html", *PLANS, "--no-compare", "--no-script")

    assert "Strategies compared" not in text
    assert "tiered-stale" in text


def test_what_may_go_wrong_says_how_it_is_known(sample_page: Callable[[], str], tmp_path: Path):
    target = tmp_path / "report.json"
    assert main(["report", str(SAMPLE), *PLANS, "--format", "json", "-o", str(target)]) == 0
    plans = json.loads(target.read_text(encoding="utf-8"))["plans"]
    assert all({"hazards", "needed_later"} <= set(plan["known"]) for plan in plans)
    counts = re.findall(
        r'data-figure="/plans/(\d+)/(hazards|needed_later)/([^"]*)"[^>]*>(<abbr class="mark" title=")?', sample_page()
    )

    assert {kind for _, kind, _, _ in counts} == {"hazards", "needed_later"}
    for plan, kind, name, mark in counts:
        if not plans[int(plan)][kind][name]:
            continue
        assert bool(mark) is (plans[int(plan)]["known"][kind] in ("estimated", "projected"))


def test_a_plan_that_does_nothing_is_shown_to_do_nothing(tmp_path: Path):
    text = saved(SAMPLE, tmp_path / "page.html", "--strategy", "token-budget:budget=900000", "--no-script")
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(SAMPLE.read_bytes().splitlines(keepends=True)[0])
    nothing = saved(empty, tmp_path / "nothing.html", "--strategy", "tiered-stale", "--no-script")

    assert "Plan A (token-budget) changes nothing in this session." in text
    assert "there is nothing to replay" in nothing


def test_hostile_texts_make_no_element(sample_page: Callable[[], str], tmp_path: Path):
    harmless = {tag for tag, _ in Page(sample_page()).elements}
    said = (
        "</script></style></title><script>x()</script><img src=x onerror=x()><svg onload=x()>\"'--><!--<![CDATA[{{7*7}}"
    )
    session = hostile_copy(SAMPLE, tmp_path / "hostile.jsonl", said)
    page = Page(saved(session, tmp_path / "hostile.html", *PLANS, "--include-text", "--no-script"))

    assert {tag for tag, _ in page.elements} <= harmless | {"abbr", "small"}
    assert len([tag for tag, _ in page.elements if tag in ("script", "style", "img")]) == 1
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_titles_and_the_home_folder_stay_home_unless_texts_are_asked_for(private_home: Path, tmp_path: Path):
    session = private_home / "project" / "session.jsonl"
    session.parent.mkdir()
    session.write_bytes(SAMPLE.read_bytes())
    without = saved(session, tmp_path / "without.html", "--no-script")
    with_texts = saved(session, tmp_path / "with.html", "--include-text", "--no-script")

    assert "Billing audit" not in without
    assert "Billing audit for March 2024" in with_texts
    for text in (without, with_texts):
        assert str(private_home) not in text
        assert "~/project/session.jsonl" in text


def test_without_what_draws_charts_they_are_drawn_plainly_and_the_page_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys
):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = Page(saved(SAMPLE, tmp_path / "page.html", *PLANS))

    assert capsys.readouterr().err == ""
    tags = [tag for tag, _ in page.elements]
    assert tags.count("svg") == 5
    assert tags.count("title") > 100  # the page title, and tooltips
    assert "script" not in tags
    assert "style" not in {name for _, attributes in page.elements for name in attributes}
    assert "charts are static" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_page_whose_charts_answer_the_pointer_does_not_say_that_they_are_plain(sample_page: Callable[[], str]):
    assert "charts are static" not in sample_page()


def test_no_table_says_figure_in_every_row_of_a_small_screen(sample_page: Callable[[], str]):
    assert "The next call</caption>" in sample_page()
    assert 'data-head="figure"' not in sample_page()


def test_what_is_less_or_fewer_is_never_negative() -> None:
    report = reported()
    found = report.cache_misses
    lifetime = structs.replace(found.lifetime, saved_usd=-0.5, write_usd=-0.79, misses=-1, miss_usd=-0.78)
    content = page_content(structs.replace(report, cache_misses=structs.replace(found, lifetime=lifetime)))

    section = next(each for each in content.sections if each.name == "cache-misses")
    table = next(part for part in section.parts if getattr(part, "caption", "") == "With a 1-hour cache")
    rows = {label.text: cell.shown for label, cell in table.rows}
    assert {name: rows[name] for name in rows if name.endswith(("more", "less", "misses"))} == {
        "costs more": "~$0.50",
        "writes cost less": "~$0.79",
        "more misses": "~1",
        "misses cost more": "~$0.78",
    }


def test_the_words_on_the_models_window_are_between_its_line_and_the_legend() -> None:
    report = report_of(replay_inputs(read_session(SAMPLE)), (), ReportOptions(ledger=True))
    near = structs.replace(report.ledger, window=100_000)
    chart = report_charts(structs.replace(report, ledger=near), PAGE)["context"]

    top = chart["layer"][0]["encoding"]["y"]["scale"]["domainMax"]
    assert HEIGHT * (top - 100_000) / top >= WORDS_HEIGHT


@cache
def reported() -> Report:
    options = ReportOptions(runs_per_day=RunsPerDay(24))
    return report_of(replay_inputs(read_session(SAMPLE)), (Plan.of(strategy("tiered-stale")),), options)


def compared(**percents: float) -> Report:
    report = reported()
    plan = report.plans[0]
    rows = [
        structs.replace(plan, name=name, saved=structs.replace(plan.saved, percent=percent))
        for name, percent in percents.items()
    ]
    return structs.replace(report, comparison=rows)


def test_losses_far_beyond_every_gain_end_early_and_say_where_they_would_end() -> None:
    chart = report_charts(compared(best=33.0, small=-12.0, worst=-197.4), PAGE)["comparison"]

    rows = {row["strategy"]: row for row in chart["data"]["values"]}
    assert (rows["best"]["shown"], rows["small"]["shown"]) == (33.0, -12.0)
    assert (rows["worst"]["shown"], rows["worst"]["percent"]) == (-40.0, -197.4)
    assert f"{MINUS}197.4 %" in rows["worst"]["cut"]
    assert [row["strategy"] for row in rows.values() if row["own"]] == ["plan A"]


def test_losses_no_larger_than_gains_are_drawn_whole() -> None:
    chart = report_charts(compared(best=33.0, worst=-35.0), PAGE)["comparison"]

    assert all(row["shown"] == row["percent"] and not row["cut"] for row in chart["data"]["values"])


def test_the_strategy_that_saves_most_is_named_with_its_risks() -> None:
    section = next(each for each in page_content(compared(best=33.0)).sections if each.name == "strategies")

    alternative = section.parts[0].alternative
    assert "The largest saving is 33.0 % with best." in alternative
    assert re.search(r"Risks: .+ \(\d+\)", alternative)


def test_the_page_names_the_best_plan_and_why_the_one_that_saves_most_is_not_it() -> None:
    report = compared(window=50.0, results=33.0)
    needed = report.plans[0].needed_later
    best, most = (
        SavingPlanFacts(
            name=name,
            strategies=[],
            saved=report.plans[0].saved,
            needed_later=structs.replace(
                needed,
                saved_at_least_usd=least,
                saved_at_most_usd=least + 0.25,
                refetches=2.0,
                refetches_low=1.0,
                refetches_high=3.0,
                evidence_reason="",
            ),
        )
        for name, least in (("results", 1.5), ("window", 2.0))
    )
    found = BestPlanFacts(best=best, most=most, tried=69, is_complete=True)

    def said(found: BestPlanFacts) -> str:
        content = page_content(structs.replace(report, best_plan=found))
        return next(each for each in content.sections if each.name == "strategies").parts[0].alternative

    best_words = "The best plan saves 33.0 % with results, the largest net saving among tried plans that retain"
    assert best_words in said(found)
    assert "net $1.50 to $1.75 after about 2 re-fetches (1 to 3)" in said(found)
    assert (
        "The largest saving is 50.0 % with window, but it leaves out user or assistant messages, "
        "or a provider would reject it." in said(found)
    )
    beyond = structs.replace(most, needed_later=structs.replace(most.needed_later, evidence_reason="cuts young reads"))
    assert "with window, but it is untested: cuts young reads." in said(structs.replace(found, most=beyond))
    less = structs.replace(most, needed_later=structs.replace(needed, saved_at_least_usd=1.0))
    assert "with window, but its net saving is smaller" in said(structs.replace(found, most=less))


def test_the_months_range_and_the_saving_are_at_the_top() -> None:
    report = reported()
    content, found = page_content(report), report.plans[0].projection

    day, month = bands_of(found)
    by_month = between(month, IN_TEXT)
    said = ["".join(cell.text for cell in line.cells) for line in content.lead]
    needed = report.plans[0].needed_later
    worst, best = (IN_TEXT.dollars(usd) for usd in (needed.saved_at_least_usd, needed.saved_at_most_usd))
    assert said[1].startswith(
        f"Risk: net {worst} to {best} (saves {IN_TEXT.dollars(report.plans[0].saved.usd)}) after "
    )
    assert f"; {needed.calls} later calls needed cut text; break-even: " in said[1]
    assert said[1].endswith(f" re-fetches. Beyond what has been tried: {needed.evidence_reason}.")
    assert said[2] == (
        f"At 24 runs a day, as set, it {daily_saving(day, IN_TEXT)}, {monthly_saving(month, IN_TEXT)}: {HOLDS}. The "
        f"best case, {at_best(month, IN_TEXT)}, assumes no re-fetches; the middle and the worst case include their "
        "cost."
    )
    tile = next(tile for tile in content.tiles if tile.title == "saved per month at 24 runs a day, as set")
    assert tile.cell.text == by_month
    assert "".join(cell.shown for cell in tile.note) == (
        f"about {about(month, IN_TEXT)}; runs vary, and only the upper end assumes no re-fetches"
    )


def test_a_month_of_runs_that_no_one_counted_is_shown_to_be_one_wherever_it_is() -> None:
    report = reported()
    plan = report.plans[0]
    projection = structs.replace(plan.projection, runs_are_assumed=True)
    content = page_content(structs.replace(report, plans=[structs.replace(plan, projection=projection)]))

    assert any(tile.title == "saved per month at 24 runs a day, assumed" for tile in content.tiles)
    assert "At 24 runs a day, assumed, it saves" in "".join(cell.text for cell in content.lead[2].cells)
    below = next(section for section in content.sections if section.title == "Projection").parts[-1]
    assert "a day is assumed: 24" in "".join(cell.text for cell in below.cells)


def test_what_was_recorded_is_a_column_of_its_own_and_explained_unless_the_baseline_says_the_same() -> None:
    report = reported()
    assert report.recorded is not None

    def totals(report: Report) -> tuple[list[str], tuple[str, ...]]:
        section = next(each for each in page_content(report).sections if each.name == "totals")
        *lines, table = section.parts
        return ["".join(cell.text for cell in line.cells) for line in lines], table.head

    assert totals(report) == ([], ("figure", "baseline", "plan A"))
    other = structs.replace(report.recorded, prompt_tokens=1)
    said, head = totals(structs.replace(report, recorded=other))
    assert head == ("figure", "recorded", "baseline", "plan A")
    assert "with estimates for unreported figures. Plans are compared with the baseline." in said[0]
