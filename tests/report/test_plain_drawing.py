"""Built-in charts: same marks as the library, and well-formed SVG for all input."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.cli.reading import read_session, replay_inputs
from inspector.report.charts.drawing import MINUS, Scale, domain, number, plain_svg
from inspector.report.charts.specifications import LIGHT, PAGE, bill_chart, context_chart, report_charts
from inspector.report.document import ReportOptions
from inspector.report.session_report import report_of
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy
from tests.conftest import ROOT

if TYPE_CHECKING:
    from inspector.report.document import Report

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"
SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(rf"[${MINUS}-]?[\d,.]+[kM]?")


@cache
def reported() -> Report:
    plans = (Plan.of(strategy("tiered-stale")), Plan.of(strategy("token-budget", budget=60_000)))
    return report_of(replay_inputs(read_session(SAMPLE)), plans, ReportOptions(ledger=True, comparison=True))


def drawn(specification: dict[str, Any]) -> ET.Element:
    return ET.fromstring(plain_svg(specification))  # noqa: S314  our own


def words(picture: ET.Element) -> list[str]:
    return [text.text or "" for text in picture.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", ["context", "cost", "bill", "composition", "comparison"])
def test_every_chart_of_a_report_is_well_formed_and_within_its_frame(name: str) -> None:
    picture = drawn(report_charts(reported(), PAGE)[name])
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    assert len(words(picture)) > 5
    for element in picture.iter():
        for attribute in ("x", "x1", "x2", "cx", "width"):
            assert -200 <= float(element.attrib.get(attribute, 0)) <= width
        for attribute in ("y", "y1", "y2", "cy", "height"):
            assert -50 <= float(element.attrib.get(attribute, 0)) <= height
        assert not {"nan", "inf"} & set(re.findall("[a-z]+", element.attrib.get("d", "")))
        assert "style" not in element.attrib


@pytest.mark.parametrize("name", ["context", "cost", "bill", "composition"])
def test_axes_have_the_numbers_that_the_library_gives_them(name: str) -> None:
    library = pytest.importorskip("vl_convert")
    specification = report_charts(reported(), LIGHT)[name]
    by_library = words(ET.fromstring(library.vegalite_to_svg(specification)))  # noqa: S314
    own = words(drawn(specification))
    numbers = {text for text in by_library if NUMBER.fullmatch(text)}
    assert len(numbers & {text for text in own if NUMBER.fullmatch(text)}) >= 0.6 * len(numbers)
    assert {text for text in by_library if "plan" in text} <= set(own)


def test_what_can_be_pointed_at_tells_every_series() -> None:
    specification = context_chart(reported(), PAGE)
    assert specification is not None
    titles = [title.text or "" for title in drawn(specification).iter(f"{SVG}title")]
    assert any("plan A: " in title and "plan B: " in title and "call: 12" in title for title in titles)


def test_bars_of_a_call_are_one_upon_the_other() -> None:
    specification = bill_chart(reported(), PAGE)
    assert specification is not None
    group = drawn(specification).find(f"{SVG}g")
    assert group is not None
    first = [rect.attrib for rect in group.iter(f"{SVG}rect") if rect.attrib["x"] == "0"]
    assert len(first) == 4
    for below, above in pairwise(first):
        assert float(above["y"]) + float(above["height"]) == pytest.approx(float(below["y"]), abs=0.2)


def test_names_are_escaped() -> None:
    specification = report_charts(reported(), PAGE)["comparison"]
    rows = specification["data"]["values"]
    hostile = "<script>alert(1)</script>"
    renamed = [{**row, "strategy": hostile} if place == 0 else row for place, row in enumerate(rows)]
    sort = [row["strategy"] for row in renamed]
    layers = [
        {**layer, "encoding": {**layer["encoding"], "y": {**layer["encoding"]["y"], "sort": sort}}}
        for layer in specification["layer"]
    ]
    text = plain_svg({**specification, "data": {"values": renamed}, "layer": layers})
    assert "<script" not in text
    assert "&lt;script" in text


def test_a_histogram_counts_every_session_once() -> None:
    values = [{"percent": value} for value in (-12.0, 3.0, 4.0, 31.0, 31.5, 80.0)]
    field = {"field": "percent", "bin": {"maxbins": 20}, "type": "quantitative"}
    whole = {"format": ",~f", "labelExpr": "datum.value % 1 ? '' : datum.label"}
    condition = {"test": "datum.bin_maxbins_20_percent < 0", "value": "red"}
    specification = {
        "data": {"values": values},
        "width": 720,
        "height": 200,
        "mark": {"type": "bar"},
        "encoding": {
            "x": {**field, "title": "percent saved"},
            "y": {"aggregate": "count", "title": "sessions", "axis": whole},
            "color": {"condition": condition, "value": "blue"},
            "tooltip": [],
        },
        "config": report_charts(reported(), LIGHT)["cost"]["config"],
    }
    picture = drawn(specification)
    titles = [title.text or "" for title in picture.iter(f"{SVG}title")]
    assert sum(int(title.rpartition(" ")[2]) for title in titles) == len(values)
    assert [rect.attrib["fill"] for rect in picture.iter(f"{SVG}rect")][1:].count("red") == 1
    assert {"1", "2"} <= set(words(picture))


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (1_234_567, ",d", "1,234,567"),
        (150_000, "~s", "150k"),
        (1_500_000, "~s", "1.5M"),
        (0, "~s", "0"),
        (0.25, "$~f", "$0.25"),
        (-3, "$~f", f"{MINUS}$3"),
        (12_345.6, ",.3~r", "12,300"),
        (-0.0000001, "~f", "0"),
    ],
)
def test_numbers_are_written_as_d3_writes_them(value: float, form: str, text: str) -> None:
    assert number(value, form) == text


@given(st.lists(st.floats(-1e9, 1e9), max_size=20), st.booleans(), st.booleans(), st.integers(1, 12))
def test_ticks_lie_on_their_scale_and_all_values_do_too(
    values: list[float], with_zero: bool, is_nice: bool, count: int
) -> None:
    low, high = domain(values, with_zero=with_zero, is_nice=is_nice, least=None, most=None)
    scale = Scale(low, high, 0, 720)
    assert low < high
    for value in [*values, *scale.ticks(count)]:
        assert -1 <= scale.at(value) <= 721
    assert len(scale.ticks(count)) <= 3 * count + 2
