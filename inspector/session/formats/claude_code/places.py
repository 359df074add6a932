"""What the place and the name of a file tell of its session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SUBAGENTS = "subagents"

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

COPIES = ("agent-acompact-", "agent-aside_question-", "agent-aprompt_suggestion-")
"""Beginnings of names of runs whose file is a copy of the parent's history, with a question behind it."""


def is_copy(path: Path) -> bool:
    """Whether a file is the run of a summary or a side question: a copy of its parent, counted there."""
    return path.name.startswith(COPIES)


def parent_file(path: Path) -> Path | None:
    """The session in whose folder of subagents a file lies; None where it lies in none."""
    for folder in path.parents:
        if folder.name == SUBAGENTS:
            session = folder.parent
            return session.with_name(f"{session.name}.jsonl")
    return None
