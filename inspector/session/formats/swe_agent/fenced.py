"""Commands that a model writes between fences into its answer, where it calls no tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

FENCE = re.compile(r"```(?:\w+)?[ \t]*\n(?P<command>.*?)\n?```", re.DOTALL)

TOOL = "bash"
"""What the one tool is called that runs such commands."""


def parts_of_answer(text: str, command: str | None = None, identifier: str = "") -> list[dict[str, Any]]:
    """An answer as content parts: what is said before the command, its call, and what is said behind it.

    Args:
        text: The answer.
        command: The command that was run, where that is recorded; only a fence that holds it is a call.
        identifier: The id that the call gets.
    """
    fences = list(FENCE.finditer(text))
    if command is None:
        found = fences[0] if len(fences) == 1 else None
    else:
        found = next((one for one in reversed(fences) if one["command"].strip() == command.strip()), None)
    if found is None:
        return [{"type": "text", "text": text}] if text else []
    call = {"type": "tool_use", "id": identifier, "name": TOOL, "input": {"command": found["command"]}}
    before, after = text[: found.start()].strip(), text[found.end() :].strip()
    said = [{"type": "text", "text": before}] if before else []
    return [*said, call, *([{"type": "text", "text": after}] if after else [])]


def has_call(parts: Sequence[object]) -> bool:
    """Whether a call is among content parts, which may be anything in a damaged file."""
    return any(isinstance(part, dict) and part.get("type") == "tool_use" for part in parts)
