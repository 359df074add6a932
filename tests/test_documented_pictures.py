"""Pictures in the documents: one command draws them and lists stale ones. `.ci/run` redraws them."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from inspector.cli import main
from tests.conftest import ROOT
from tests.report.pages import Page

ENDINGS = {".svg", ".png", ".gif", ".jpg", ".webp"}

DRAWN = '<svg viewBox="0 0 9 9"><text x="1">saves</text><text x="2">$4.39</text></svg>\n'


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The command that draws, with the folder of scripts as when one of them is run."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import draw_pictures

    yield draw_pictures
    for name in ("draw_pictures", "drawing"):
        sys.modules.pop(name, None)


def test_every_picture_is_drawn_by_the_command_and_shown_on_a_page(pictures: ModuleType) -> None:
    there = {path.name for path in (ROOT / "docs").rglob("*") if path.suffix in ENDINGS}
    assert there == {name for name in pictures.PICTURES if not name.endswith(".html")}
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    names = [name for page in pages for name in re.findall(r"!\[[^\]]*\]\(([^)?]+)", page.read_text())]
    shown = {Path(name).name for name in names}
    assert shown == there


def test_a_picture_with_other_words_is_stale_and_the_first_of_them_are_reported(pictures: ModuleType) -> None:
    before, now = (pictures.signed(text, "textual") for text in (DRAWN, DRAWN.replace("$4.39", "$4.40")))
    assert pictures.difference(before, now) == "after “saves”: “$4.39” would become “$4.40”"
    assert pictures.difference(before, before) == ""


def test_other_colors_and_places_are_reported_the_same_releases_and_not_of_others(pictures: ModuleType) -> None:
    before, now = (pictures.signed(text, "textual") for text in (DRAWN, DRAWN.replace('x="2"', 'x="3"')))
    assert "other positions or colors" in pictures.difference(before, now)
    by_another = re.sub(r"textual [\d.]+", "textual 0.1", before)
    assert pictures.difference(by_another, now) == ""


def test_checking_names_the_stale_picture_and_changes_none(
    pictures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pictures, "DOCUMENTS", tmp_path)
    monkeypatch.setattr(pictures, "all_drawn", lambda names: dict.fromkeys(names, DRAWN))
    (tmp_path / "demo.svg").write_text(DRAWN)
    (tmp_path / "screen.svg").write_text(DRAWN.replace("saves", "costs"))
    assert pictures.main(["--check", "demo.svg"]) == 0
    assert pictures.main(["--check", "demo.svg", "screen.svg", "savings.svg"]) == 1
    said = capsys.readouterr().out
    assert "docs/demo.svg: current" in said
    assert "docs/screen.svg: stale" in said
    assert "docs/savings.svg: stale: file not found" in said
    assert "costs" in (tmp_path / "screen.svg").read_text()
    assert pictures.main(["screen.svg"]) == 0
    assert (tmp_path / "screen.svg").read_text() == DRAWN


def test_the_page_of_savings_is_current(pictures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    target = tmp_path / "savings.html"
    assert main(pictures.page_arguments(str(target))) == 0
    published = Page((ROOT / "docs" / pictures.PAGE).read_text(encoding="utf-8"))
    written = Page(target.read_text(encoding="utf-8"))
    # Pictures may differ with the release of the drawing library.
    for tag in ("h1", "h2", "p", "figcaption", "th", "td", "code"):
        assert published.contents[tag] == written.contents[tag], "run: python scripts/draw_pictures.py"
    assert published.figures == written.figures


def test_the_first_page_leads_to_the_report_by_its_picture(pictures: ModuleType) -> None:
    start = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    assert re.search(rf"\({pictures.CHART}\)\]\({pictures.PAGE}\)", start)
