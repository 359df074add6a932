"""A report's page as a browser shows it: on a desk, on a phone, in the dark, on paper, and full of hostile texts."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe

from inspector.cli import main
from inspector.report.before_after import SETS, before_after_report
from inspector.report.folder import UnreadSession
from inspector.report.pages.writers import html
from inspector.report.sessions_page import before_after_content
from tests.browser.conftest import visiting
from tests.conftest import ROOT
from tests.hostile import hostile_copy
from tests.test_cli_before_after import made_up, part, write_sets

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

SAMPLE = ROOT / "sample_sessions/coding-agent.jsonl"
PLANS = ("--strategy", "tiered-stale", "--strategy", "token-budget + keep-recent", "--runs-per-day", "24")
CHARTS = 5
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
ON_BOTH = pytest.mark.parametrize(("window", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
LEAST_OF_LABEL = 90.0
UNFOLD = "document.querySelectorAll('details').forEach(each => { each.open = true })"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("page") / "page.html"
    assert main(["report", str(SAMPLE), *PLANS, "--format", "html", "-o", str(target)]) == 0
    return target


@ON_BOTH
def test_it_is_shown_whole_without_a_request_or_a_complaint(chromium: Browser, page_file: Path, window, scheme: str):
    with visiting(chromium, page_file.as_uri(), viewport=window, color_scheme=scheme) as visit:
        visit.page.evaluate(UNFOLD)
        visit.page.locator(".chart.vega-embed svg").nth(CHARTS - 1).wait_for()
        width, charts, cells = visit.page.evaluate(
            "[document.documentElement.scrollWidth,"
            " ...['.chart svg, .chart svg text', 'tbody th, td, caption, .large dd'].map(names =>"
            "  [...document.querySelectorAll(names)].map(each => each.getBoundingClientRect().right))]"
        )
        background = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")

        assert visit.requests == [page_file.as_uri()]
        assert visit.said == []
        assert width <= window["width"]
        assert max(charts) <= window["width"]
        assert max(cells) <= window["width"]
        labels = visit.page.evaluate(
            "[...document.querySelectorAll('tbody td[data-head]')].filter(each => each.textContent)"
            ".map(each => parseFloat(getComputedStyle(each, '::before').width))"
        )
        assert window is DESK or min(labels) >= LEAST_OF_LABEL
        assert (background == "rgb(255, 255, 255)") == (scheme == "light")


@pytest.mark.parametrize("window", [DESK, PHONE], ids=["desk", "phone"])
def test_the_first_screenful_shows_the_chart_and_on_a_desk_every_tile_whole(chromium: Browser, page_file: Path, window):
    with visiting(chromium, page_file.as_uri(), viewport=window) as visit:
        chart = visit.page.evaluate("document.querySelector('header .chart').getBoundingClientRect().bottom")
        tiles = visit.page.evaluate(
            "[...document.querySelectorAll('.large div')].map(each =>"
            "  [each.getBoundingClientRect().bottom, each.scrollWidth - each.clientWidth])"
        )

    assert len(tiles) == 3
    assert chart <= window["height"]
    assert window is PHONE or max(bottom for bottom, _ in tiles) <= window["height"]
    assert max(beyond for _, beyond in tiles) <= 0


@ON_BOTH
@pytest.mark.long
def test_axe_finds_nothing_serious(chromium: Browser, page_file: Path, window, scheme: str):
    with visiting(chromium, page_file.as_uri(), viewport=window, color_scheme=scheme) as visit:
        visit.page.wait_for_selector(".chart.vega-embed svg")
        visit.page.evaluate(UNFOLD)
        found = Axe().run(visit.page).response["violations"]

    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []


def test_the_pointer_finds_the_figures_of_a_call(chromium: Browser, page_file: Path, tmp_path: Path):
    target = tmp_path / "report.json"
    assert main(["report", str(SAMPLE), *PLANS, "--ledger", "--format", "json", "-o", str(target)]) == 0
    calls = json.loads(target.read_text(encoding="utf-8"))["ledger"]["calls"]
    with visiting(chromium, page_file.as_uri(), viewport=DESK) as visit:
        visit.page.wait_for_selector("[data-chart=context].vega-embed svg")
        visit.page.hover("[data-chart=context] svg")
        tip = visit.page.wait_for_selector("#vg-tooltip-element.visible")
        rows = dict(line.split("\t") for line in tip.inner_text().splitlines())

    call = calls[int(rows["call"]) - 1]
    assert rows["without a plan"] == f"{call['baseline']['prompt_tokens']:,}"
    assert rows["plan A"] == f"{call['plans'][0]['prompt_tokens']:,}"
    assert rows["plan B"] == f"{call['plans'][1]['prompt_tokens']:,}"


def test_on_paper_it_is_dark_on_white_and_as_wide_as_the_sheet(chromium: Browser, page_file: Path, tmp_path: Path):
    with visiting(chromium, page_file.as_uri(), viewport={"width": 690, "height": 1000}, color_scheme="dark") as visit:
        visit.page.wait_for_selector(".chart.vega-embed svg")
        visit.page.emulate_media(media="print", color_scheme="dark")
        paper, ink, width = visit.page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,"
            " document.documentElement.scrollWidth]"
        )
        printed = visit.page.pdf(format="A4")

    assert (paper, ink) == ("rgb(255, 255, 255)", "rgb(0, 0, 0)")
    assert width <= 690
    assert printed.startswith(b"%PDF-")


def test_the_receipt_of_two_sets_is_one_sheet_of_paper(chromium: Browser, tmp_path: Path):
    before, after = write_sets(tmp_path, (9, 11), 0.8)
    target = tmp_path / "receipt.html"
    asked = ("--before", str(before), "--after", str(after), "--format", "html", "-o", str(target))
    assert main(["compare", *asked]) == 0
    assert sheets_of(target, chromium) == {"A4": 1, "Letter": 1}


@pytest.mark.long
def test_the_receipt_of_sets_with_many_models_and_differences_is_one_sheet_too(
    chromium: Browser, corpus: Path, tmp_path: Path
):
    paths = sorted((corpus / "claude-code").glob("*.jsonl"))
    for at, path in enumerate(paths):
        folder = tmp_path / ("before", "after")[at % 2]
        folder.mkdir(exist_ok=True)
        shutil.copy(path, folder)
    target = tmp_path / "receipt.html"
    sets = ("--before", str(tmp_path / "before"), "--after", str(tmp_path / "after"))
    assert main(["compare", *sets, "--format", "html", "-o", str(target)]) == 0
    assert target.read_text(encoding="utf-8").count("<tr") > 30
    assert sheets_of(target, chromium) == {"A4": 1, "Letter": 1}


def test_the_receipt_of_sets_that_differ_in_everything_and_name_hundreds_of_files_is_one_sheet(
    chromium: Browser, tmp_path: Path
):
    shared = [part(0, f"a-model-with-a-long-name-{number}") for number in range(8)]
    sessions = []
    for name, calls in (("before", 10), ("after", 30)):
        own = [part(0, f"a-model-{name}-{number}", calls=calls) for number in range(8)]
        kinds = {"agent": f"an agent {name}", "version": f"An agent {name} 1.0", "subagents": int(name == "after")}
        sessions += [made_up(name, number, *shared, *own, **kinds) for number in range(6)]
    missing = [UnreadSession(path=f"~/sessions/{number}.jsonl", problem="it has no time") for number in range(20)]
    paths = tuple([f"~/sessions/of/a/project/{name}/{number}.jsonl" for number in range(200)] for name in SETS)
    terms = {"at": "", "effect": 0.1, "warnings": ["3 sessions were not read"]}
    report = before_after_report(sessions, paths=paths, left_out=missing, unread=missing, **terms)
    target = tmp_path / "receipt.html"
    target.write_text(html(before_after_content(report), {}), encoding="utf-8")
    assert sheets_of(target, chromium) == {"A4": 1, "Letter": 1}


def sheets_of(page: Path, chromium: Browser) -> dict[str, int]:
    with visiting(chromium, page.as_uri()) as visit:
        printed = {size: visit.page.pdf(format=size) for size in ("A4", "Letter")}
    return {size: int(*re.findall(rb"/Type /Pages\b[^>]*/Count (\d+)", each)) for size, each in printed.items()}


def test_where_scripts_do_not_run_the_charts_are_still_there(chromium: Browser, page_file: Path):
    with visiting(chromium, page_file.as_uri(), java_script_enabled=False) as visit:
        assert visit.page.locator(".chart > svg").count() == CHARTS
        assert visit.page.locator(".chart.vega-embed").count() == 0


@ON_BOTH
def test_a_chart_that_is_wider_than_its_place_says_so_in_the_ink_of_the_page(
    chromium: Browser, page_file: Path, window, scheme: str
):
    with visiting(
        chromium, page_file.as_uri(), viewport=window, color_scheme=scheme, java_script_enabled=False
    ) as visit:
        visit.page.evaluate(UNFOLD)
        figures = visit.page.locator("figure")
        for figure in figures.all():
            inner, whole = figure.locator(".scroll").evaluate("each => [each.clientWidth, each.scrollWidth]")
            assert figure.locator(".hint").is_visible() == (whole > inner) == (window is PHONE)
        ink = "each => getComputedStyle(each).color"
        assert visit.page.locator(".hint").first.evaluate(ink) == visit.page.locator("body").evaluate(ink)
        assert figures.count() == CHARTS


def test_a_chart_that_fits_its_place_does_not_ask_to_be_scrolled(chromium: Browser, page_file: Path):
    with visiting(chromium, page_file.as_uri(), viewport=PHONE) as visit:
        visit.page.evaluate(UNFOLD)
        visit.page.locator(".chart.vega-embed svg").nth(CHARTS - 1).wait_for()
        assert not any(hint.is_visible() for hint in visit.page.locator(".hint").all())


@pytest.mark.long
def test_where_scripts_do_not_run_the_words_of_charts_are_readable_on_a_small_screen(
    chromium: Browser, page_file: Path
):
    with visiting(chromium, page_file.as_uri(), viewport=PHONE, java_script_enabled=False) as visit:
        tall = [each.bounding_box()["height"] for each in visit.page.locator(".chart svg text").all()[:20]]
        page = visit.page.locator("body").bounding_box()
        places = [each.bounding_box() for each in visit.page.locator("figure > .scroll").all()]
    # Rotated words are taller than wide.
    assert min(tall) >= 10
    assert all(place["x"] + place["width"] <= page["width"] for place in places)


@pytest.mark.long
def test_in_a_hostile_session_nothing_executes_and_nothing_breaks(chromium: Browser, tmp_path: Path):
    said = (
        "<script>window.executed=1</script><img src=x onerror='window.executed=1'>\"'></title></style></script>"
        "<svg onload='window.executed=1'><!--{{constructor.constructor('window.executed=1')()}} javascript:alert(1) "
        "\x1b[31m\u202e"
    )
    session = hostile_copy(SAMPLE, tmp_path / "<img src=x onerror=alert(1)>.jsonl", said)
    target = tmp_path / "page.html"
    assert main(["report", str(session), *PLANS, "--include-text", "--format", "html", "-o", str(target)]) == 0
    with visiting(chromium, target.as_uri(), viewport=PHONE) as visit:
        # A model of no known name has no price, and so there are no charts of the cost and the calls.
        visit.page.evaluate(UNFOLD)
        visit.page.locator(".chart.vega-embed svg").nth(CHARTS - 3).wait_for()
        for chart in visit.page.locator(".chart svg").all():
            chart.hover()
        width = visit.page.evaluate("document.documentElement.scrollWidth")

        assert visit.page.evaluate("window.executed") is None
        assert visit.dialogs == []
        assert visit.said == []
        assert visit.requests == [target.as_uri()]
        assert visit.page.locator("img").count() == 0
        assert width <= PHONE["width"]
        assert "<script>window.executed=1</script>" in visit.page.locator("main").inner_text()
