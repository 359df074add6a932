"""The page of savings in the documents says what the program says today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.cli import main
from scripts.savings_page import CHART, PAGE, arguments
from tests.conftest import ROOT
from tests.report.pages import Page

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_page_of_savings_is_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    target = tmp_path / "savings.html"
    assert main(arguments(str(target))) == 0
    published = Page((ROOT / PAGE).read_text(encoding="utf-8"))
    written = Page(target.read_text(encoding="utf-8"))

    # Pictures may differ with the release of what draws them.
    for tag in ("h1", "h2", "p", "figcaption", "th", "td", "code"):
        assert published.contents[tag] == written.contents[tag], "run: python scripts/savings_page.py"
    assert published.figures == written.figures


def test_the_readme_leads_to_the_page_by_its_picture():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert f"({CHART})]({PAGE})" in readme
    assert (ROOT / CHART).read_text(encoding="utf-8").startswith("<svg")
