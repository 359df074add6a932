"""`inspector screenshot`: pictures of the screen and of its chart, taken without a terminal."""

import json
import struct
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from platformdirs import user_state_path

from inspector.cli import main
from inspector.report.numbers import IN_TEXT
from tests.conftest import ROOT

SAMPLE = str(ROOT / "sample_sessions/coding-agent.jsonl")


def words(svg: str) -> str:
    return " ".join("".join(ElementTree.fromstring(svg).itertext()).replace("\xa0", " ").split())  # noqa: S314  our own


def test_keys_are_pressed_before_the_picture_is_taken(tmp_path: Path):
    target = tmp_path / "help.svg"
    assert main(["screenshot", SAMPLE, "--keys", "question_mark", "-o", str(target)]) == 0
    svg = target.read_text(encoding="utf-8")

    assert "esc close" in words(svg)
    assert "http" not in svg.replace('xmlns="http://www.w3.org/2000/svg"', "").replace("https://www.textualize.io", "")


def test_a_picture_is_the_same_again_and_leaves_the_session_as_the_user_left_it(tmp_path: Path):
    pictures = []
    for name in ("first.svg", "again.svg"):
        target = tmp_path / name
        assert main(["screenshot", SAMPLE, "--keys", "1 p down", "-o", str(target)]) == 0
        pictures.append(words(target.read_text(encoding="utf-8")))

    assert "plan A $" in pictures[0]
    assert pictures[0] == pictures[1]
    assert not [*user_state_path("inspector").glob("sessions/*")]


def test_a_png_is_as_large_as_the_screen_that_was_asked_for(tmp_path: Path):
    sizes = []
    for size in ("80x24", "120x24"):
        target = tmp_path / f"{size}.png"
        assert main(["screenshot", SAMPLE, "--size", size, "-o", str(target)]) == 0
        data = target.read_bytes()
        assert data.startswith(b"\x89PNG\r\n")
        sizes.append(struct.unpack(">II", data[16:24]))

    assert sizes[0][1] == sizes[1][1]
    assert sizes[0][0] < sizes[1][0]


def test_the_chart_alone_has_a_line_for_every_plan(tmp_path: Path):
    target = tmp_path / "chart.svg"
    plans = ["--strategy", "tiered-stale", "--strategy", "clear-old"]
    assert main(["screenshot", SAMPLE, "--chart", *plans, "-o", str(target)]) == 0

    shown = words(target.read_text(encoding="utf-8"))
    assert all(name in shown for name in ("without a plan", "plan A", "plan B"))


def test_the_screen_says_what_the_json_report_says(tmp_path: Path):
    picture, report = tmp_path / "screen.svg", tmp_path / "report.json"
    plan = ["--strategy", "tiered-stale"]
    assert main(["report", SAMPLE, *plan, "--format", "json", "-o", str(report)]) == 0
    strategies = json.loads(report.read_text(encoding="utf-8"))["plans"][0]["strategies"]
    # With every value written out, as the screen does not fit a plan it is given to the session once more.
    plan = ["--strategy", " + ".join(strategies)]
    assert main(["screenshot", SAMPLE, *plan, "--size", "180x50", "-o", str(picture)]) == 0
    shown = words(picture.read_text(encoding="utf-8"))
    found = json.loads(report.read_text(encoding="utf-8"))
    saved = found["plans"][0]["saved"]

    assert IN_TEXT.dollars(found["recorded"]["cost_usd"]) in shown
    assert IN_TEXT.dollars(found["plans"][0]["figures"]["cost_usd"]) in shown
    assert IN_TEXT.dollars(saved["usd"]) in shown
    assert f"{saved['percent']:.0f} %" in shown or f"{saved['percent']:.1f} %" in shown
    assert f"{found['session']['calls']:,} calls" in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "screen.gif"], ".svg or .png"),
        (["--size", "3x3", "-o", "screen.svg"], "40x10"),
        (["--theme", "nightfall", "-o", "screen.svg"], "nightfall"),
        (["-o", SAMPLE], "session"),
    ],
)
def test_what_cannot_come_to_a_picture_is_refused_in_a_line(options: list[str], said: str, capsys):
    assert main(["screenshot", SAMPLE, *options]) == 2
    assert said in capsys.readouterr().err


def test_without_the_detector_a_masked_picture_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys):
    monkeypatch.setitem(sys.modules, "detect_secrets.core.plugins.util", None)

    assert main(["screenshot", SAMPLE, "--mask", "-o", str(tmp_path / "screen.svg")]) == 1
    assert "pip install 'session-inspector[texts]'" in capsys.readouterr().err
    assert not (tmp_path / "screen.svg").exists()


def test_without_what_draws_a_png_it_is_stated_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys
):
    monkeypatch.setitem(sys.modules, "vl_convert", None)

    assert main(["screenshot", SAMPLE, "-o", str(tmp_path / "screen.png")]) == 1
    assert "pip install 'session-inspector[html]'" in capsys.readouterr().err
