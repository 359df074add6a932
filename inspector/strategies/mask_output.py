"""Putting a short preview in the place of a tool result, as Gemini CLI masks it.

The texts are those of Gemini CLI 0.61 (`packages/core/src/context/toolOutputMaskingService.ts`). What is previewed is
the JSON form of the result, of command output its lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.strategies import javascript
from inspector.strategies.estimators import gemini_result
from inspector.strategies.measures import sent_text
from inspector.strategies.rendition import Rendition
from inspector.strategies.tool_files import file_for

if TYPE_CHECKING:
    from inspector.strategies.operations import BlockSource

TAG = "tool_output_masked"
_ENDS = 250
_LINES = 10
_LINE_BEGINS = "(?:^|(?<=[\n\r\u2028\u2029]))"
_SECTION = re.compile(_LINE_BEGINS + "(Output|Error|Exit Code|Signal|Background PIDs|Process Group PGID): ")


@dataclass(frozen=True, slots=True)
class MaskOutput:
    """Send a preview of a result between tags, with the file that holds all of it; only if that saves tokens.

    Attributes:
        file: Where the whole is said to be.
        shell_tools: Tools whose output is previewed by lines.
    """

    file: str
    shell_tools: frozenset[str]

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Mask what is sent so far."""
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        failed = source.block.is_error
        if source.tool_name in self.shell_tools:
            # What failed is reported under another name than the one command output is looked for.
            preview = _simple_preview("") if failed else shell_preview(text)
        else:
            preview = _json_preview(text, "error" if failed else "output")
        file = file_for(self.file, source)
        masked = f"<{TAG}>\n{preview}\n\nOutput too large. Full output available at: {file}\n</{TAG}>"
        before = gemini_result(source.tool_name, javascript.json_length(text), error=failed)
        after = gemini_result(source.tool_name, javascript.json_length(masked), error=False)
        return Rendition.replaced(masked, rendition.kind) if before > after else rendition


def is_masked(text: str) -> bool:
    """Whether a result holds a mask already, which the agent takes for being one."""
    return f"<{TAG}" in text


def _json_preview(text: str, name: str) -> str:
    content = f'{{\n  "{name}": {javascript.json_string(text)}\n}}'
    if javascript.length(content) <= 2 * _ENDS:
        return content
    return f"{javascript.head(content, _ENDS)}\n... [TRUNCATED] ...\n{javascript.tail(content, _ENDS)}"


def shell_preview(text: str) -> str:
    """Command output by its sections, the first and last lines of each `Output`, others whole."""
    parts = _SECTION.split(text)
    if len(parts) < 3:
        return _simple_preview(text)
    before = parts[0].strip(javascript.WHITE_SPACE)
    previews = [_simple_preview(before)] if before else []
    for name, content in zip(parts[1::2], parts[2::2], strict=True):
        section = content.strip(javascript.WHITE_SPACE)
        previews.append(f"{name}: {_simple_preview(section) if name == 'Output' else section}")
    return "\n".join(previews)


def _simple_preview(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= 2 * _LINES:
        return text
    head, tail = "\n".join(lines[:_LINES]), "\n".join(lines[-_LINES:])
    return f"{head}\n\n... [{len(lines) - 2 * _LINES} lines omitted] ...\n\n{tail}"
