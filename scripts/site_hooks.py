"""What the site of documentation needs beyond docs/: pages that lie elsewhere, and links that lead to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parent.parent

ELSEWHERE = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "sample_sessions/README.md": "samples.md",
}
"""Pages of the tree, and what they are called on the site."""

OUTSIDE = re.compile(r"https://unpkg\.com/[\w./-]+")
"""A script the theme's own would load."""

FENCES = re.compile(r"<!-- (?:begin|end) [a-z-]+ -->\n")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that lie elsewhere."""
    for source, name in ELSEWHERE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=_moved(text, Path(source).parent)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links out of docs/ to where those pages are on the site, and leave out the marks of generated parts."""
    for source, name in ELSEWHERE.items():
        markdown = markdown.replace(f"](../{source}", f"]({name}")
    return FENCES.sub("", markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Take out what the theme would load from elsewhere where a page is opened from a file."""
    for bundle in Path(config.site_dir).glob("assets/javascripts/bundle*.js"):
        text = bundle.read_text(encoding="utf-8")
        bundle.write_text(OUTSIDE.sub("data:text/javascript,", text), encoding="utf-8")


def _moved(text: str, folder: Path) -> str:
    """A page of `folder` with its links as a page in docs/ would have them."""
    return re.sub(r"\]\((?!\w+:|#)([^)#]+)", lambda link: f"]({_from_docs(folder, link[1])}", text)


def _from_docs(folder: Path, link: str) -> str:
    """A link of a page in `folder`, as a page in docs/ would have it."""
    parts: list[str] = []
    for part in (folder / link).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    whole = "/".join(parts)
    return ELSEWHERE.get(whole) or (whole.removeprefix("docs/") if whole.startswith("docs/") else f"../{whole}")
