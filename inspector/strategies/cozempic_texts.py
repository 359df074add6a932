"""What Cozempic makes of tool results: trimmed, minified, or a line that says what was there.

Source: cozempic 1.8.39 `strategies/standard.py`. It works on the session's file, and whatever does not make the JSON of
a record shorter is left undone. Limits are in bytes where they are compared and in characters where they cut.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.strategies.measures import Measure, sent_text
from inspector.strategies.rendition import Action, Rendition

if TYPE_CHECKING:
    from inspector.strategies.operations import BlockSource

JSON_BYTES = Measure(lambda text: len(json.dumps(text)))
"""Bytes of a text in a record's JSON, where characters beyond ASCII are escaped."""

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
_FILE_HEADERS = re.compile(r"^--- .*\n\+\+\+ ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TrimOutput:
    """Keep head and tail of a long text: of its lines if they are too many, else of its characters.

    Attributes:
        max_bytes: Longest text that stays.
        max_lines: Most lines that stay.
        only_shorter: Leave a text as it is where trimming would not make its JSON shorter.
    """

    max_bytes: int
    max_lines: int
    only_shorter: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Trim what is sent so far."""
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        length = len(text.encode("utf-8", "surrogatepass"))
        lines = text.count("\n") + 1
        is_string = source.block.plain_text
        if length <= self.max_bytes and not (is_string and lines > self.max_lines):
            return rendition
        if is_string and lines > self.max_lines:
            half = self.max_lines // 2
            head, tail = _lines_end(text, half), _last_lines_begin(text, half) if half else 0
            marker = f"\n\n... [{lines - self.max_lines} lines trimmed by cozempic] ...\n\n"
            marker = marker if half else marker[1:]
        else:
            half = self.max_bytes // 2
            head, tail = min(half, len(text)), max(len(text) - half, 0) if half else 0
            cut = f"... [{length - self.max_bytes} bytes trimmed by cozempic] ..." if is_string else _TRIMMED_PART
            marker = f"\n{cut}\n"
        pieces = (*rendition.between(0, head), marker, *rendition.between(tail, len(text)))
        trimmed = Rendition(pieces, Action.CUT, rendition.kind)
        return _shorter(rendition, trimmed, text, source) if self.only_shorter else trimmed


_TRIMMED_PART = "...[trimmed by cozempic]..."


def _lines_end(text: str, count: int) -> int:
    """Where the first `count` lines end, the last one's line end left out."""
    end = -1
    for _ in range(count):
        end = text.find("\n", end + 1)
    return max(end, 0)


def _last_lines_begin(text: str, count: int) -> int:
    """Where the last `count` lines begin."""
    begin = len(text)
    for _ in range(count):
        begin = text.rfind("\n", 0, begin)
    return begin + 1


@dataclass(frozen=True, slots=True)
class MinifyOutput:
    """Take the white space out of JSON, and the lines of context out of a difference.

    Attributes:
        only_shorter: Leave a text as it is where that would not make its JSON shorter.
    """

    only_shorter: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Minify what is sent so far."""
        text = sent_text(rendition, source)
        if text is None or len(text) < SHORTEST:
            return rendition
        minified = minify(text)
        if minified == text:
            return rendition
        replaced = Rendition((minified,), Action.CUT, rendition.kind)
        return _shorter(rendition, replaced, text, source) if self.only_shorter else replaced


@dataclass(frozen=True, slots=True)
class StubOutput:
    """Put a line that says what was there in place of a text.

    Attributes:
        label: The tool and what it was called with.
        only_shorter: Leave a text as it is where that would not make its JSON shorter.
    """

    label: str
    only_shorter: bool = True

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Replace what is sent so far."""
        text = sent_text(rendition, source)
        if text is None or len(text) < SHORTEST:
            return rendition
        stub = f"[cozempic{self.label} — {text.count(chr(10)) + 1} lines, {len(text) / 1024:.1f}KB]"
        replaced = Rendition.replaced(stub, rendition.kind)
        return _shorter(rendition, replaced, text, source) if self.only_shorter else replaced


SHORTEST = 100
"""Results of fewer characters are not worth ageing."""


def _shorter(rendition: Rendition, other: Rendition, text: str, source: BlockSource) -> Rendition:
    recorded = "" if all(isinstance(piece, str) for piece in other.pieces) else source.text()
    return other if JSON_BYTES.of_text(other.text(recorded)) < JSON_BYTES.of_text(text) else rendition


def minify(text: str) -> str:
    """JSON without white space where that saves 15 %; a unified difference without its context lines."""
    try:
        minified = json.dumps(json.loads(text), separators=(",", ":"))
    except (ValueError, RecursionError):
        minified = text
    if len(minified) < len(text) * 0.85:
        return minified
    return _without_context(text) if "\0" not in text and _is_difference(text) else text


def _is_difference(text: str) -> bool:
    if not _HUNK.search(text):
        return False
    return bool(_FILE_HEADERS.search(text)) or text.startswith("diff ") or "\ndiff " in text


def _without_context(text: str) -> str:
    kept: list[str] = []
    unchanged = 0
    in_hunk = False
    for line in text.split("\n"):
        if in_hunk and line.startswith(" "):
            unchanged += 1
            continue
        if unchanged:
            kept.append(f"  [...{unchanged} unchanged lines...]")
            unchanged = 0
        in_hunk = line.startswith("@@") or (in_hunk and line.startswith(("diff ", "---", "+++", "+", "-")))
        kept.append(line)
    if unchanged:
        kept.append(f"  [...{unchanged} unchanged lines...]")
    collapsed = "\n".join(kept)
    return collapsed if len(collapsed) < len(text) else text
