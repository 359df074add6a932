"""HTML pages read by the standard library, and sessions long enough to make them large."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


class Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.figures: list[tuple[str, str | None, str]] = []
        self.contents: dict[str, list[str]] = {}
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        self.contents.setdefault(tag, []).append("")
        if "data-figure" in attributes:
            self.figures.append((attributes["data-figure"] or "", attributes.get("data-value"), ""))
        if tag not in ("meta", "br", "img", "input", "link"):
            self._open.append((tag, attributes))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self._open:
            return
        tag, attributes = self._open[-1]
        self.contents[tag][-1] += data
        if "data-figure" in attributes:
            pointer, value, text = self.figures[-1]
            self.figures[-1] = (pointer, value, text + data)


def at(document: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document


def long_session(path: Path, messages: int) -> Path:
    """A session in the form of the Anthropic API: an agent that reads file after file, with usage on no call."""
    lines: list[dict[str, Any]] = []
    for index in range(messages // 2):
        call = {
            "type": "tool_use",
            "id": f"toolu_{index}",
            "name": f"tool_{index % 40}",
            "input": {"path": f"f{index}.py"},
        }
        result = {"type": "tool_result", "tool_use_id": f"toolu_{index}", "content": f"line {index}\n" * (index % 90)}
        lines += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    path.write_text(json.dumps({"model": "claude-opus-4-8", "messages": lines}), encoding="utf-8")
    return path
