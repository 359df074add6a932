"""Build hook: the long description is README.md with absolute links.

Package indexes resolve no relative links. The repository's address is in `[project.urls]` of pyproject.toml.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!\w+:|#)(?P<path>[^)\s]+)\)")


def with_absolute_links(markdown: str, repository: str) -> str:
    """Return Markdown whose relative links lead into the main branch of a repository on GitHub."""
    raw = repository.replace("github.com", "raw.githubusercontent.com", 1) + "/main/"

    def absolute(found: re.Match[str]) -> str:
        picture, text, path = found.group("picture", "text", "path")
        # Without the parameter, GitHub serves an SVG file as plain text.
        target = f"{raw}{path}?sanitize=true" if picture else f"{repository}/blob/main/{path}"
        return f"{picture}[{text}]({target})"

    return RELATIVE.sub(absolute, markdown)


class LongDescription(MetadataHookInterface):
    """Set `readme` of the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        markdown = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = with_absolute_links(markdown, metadata["urls"]["Repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
