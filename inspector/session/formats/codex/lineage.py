"""Forks: a rollout that begins with another one's lines.

A fork, and a subagent that was given its parent's conversation, write their own header, then the parent's header and
everything after it, all within the instant of the fork; what follows is their own. A fork that names its origin and
writes no second header is told by that instant alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.formats.codex.kinds import EVENT, META
from inspector.session.values import string

if TYPE_CHECKING:
    from inspector.session.formats.codex.records import RolloutLine

PAUSE_SECONDS = 0.05
"""A longer pause between two lines is the end of what was copied: copies are written at once."""

START_SECONDS = 2.0
"""A turn that began within this time of the fork, or later, is the fork's own."""


class Lineage:
    """Tells copied lines from a rollout's own.

    Attributes:
        identifier: The rollout's own id, from its first header.
    """

    def __init__(self) -> None:
        self.identifier = ""
        self._has_header = False
        self._only_headers = True
        self._instant: float | None = None
        self._before: float | None = None
        self._forked: float | None = None

    def is_inherited(self, line: RolloutLine) -> bool:
        """Whether a line, the next one of the file, was copied."""
        if line.kind == META:
            identifier = string(line.payload.get("id"))
            if not self._has_header:
                self._has_header, self.identifier = True, identifier
                self._forked = line.time if string(line.payload.get("forked_from_id")) else None
                return False
            if self._only_headers and identifier != self.identifier and self._instant is None:
                self._instant = self._before = line.time if line.time is not None else 0.0
        elif self._only_headers and self._forked is not None and line.time == self._forked:
            self._instant = self._before = line.time
        self._only_headers = self._only_headers and line.kind == META
        if self._instant is not None and self._is_own(line):
            self._instant = None
        self._before = line.time if line.time is not None else self._before
        return self._instant is not None

    def _is_own(self, line: RolloutLine) -> bool:
        if line.time is not None and self._before is not None and line.time - self._before > PAUSE_SECONDS:
            return True
        if line.kind != EVENT or line.payload.get("type") not in ("task_started", "turn_started"):
            return False
        started = line.payload.get("started_at")
        if not isinstance(started, (int, float)) or self._instant is None:
            return False
        return bool(started >= self._instant - START_SECONDS)
