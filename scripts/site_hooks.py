"""Add to the documentation site the pages outside docs/, and lead links to them."""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import normpath, relpath
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent

ELSEWHERE = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "sample_sessions/README.md": "samples.md",
}
"""Pages outside docs/, with their names on the site."""

OUTSIDE = re.compile(r"https://unpkg\.com/[\w./-]+")
"""Addresses of scripts that the theme would load."""

FENCES = re.compile(r"<!-- (?:begin|end) [a-z0-9-]+ -->\n")

LINK = re.compile(r"\]\((?!\w+:|#)(?P<path>[^)#]+)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/."""
    for source, name in ELSEWHERE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=_moved(text, Path(source).parent.as_posix(), "docs")))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Adapt links that leave docs/, and remove the markers of generated parts."""
    if page.file.src_uri not in ELSEWHERE.values():
        folder = normpath(f"docs/{Path(page.file.src_uri).parent.as_posix()}")
        markdown = _moved(markdown, folder, folder)
    return FENCES.sub("", markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Remove addresses from which the theme would load scripts for pages opened as files."""
    for bundle in Path(config.site_dir).glob("assets/javascripts/bundle*.js"):
        text = bundle.read_text(encoding="utf-8")
        bundle.write_text(OUTSIDE.sub("data:text/javascript,", text), encoding="utf-8")


def _moved(text: str, folder: str, target: str) -> str:
    """Rewrite the links of a page in `folder` for a page in `target`; both are relative to the project."""

    def moved(link: re.Match[str]) -> str:
        whole = normpath(f"{folder}/{link['path']}")
        whole = f"docs/{ELSEWHERE[whole]}" if whole in ELSEWHERE else whole
        return f"]({relpath(whole, target)}"

    return LINK.sub(moved, text)
