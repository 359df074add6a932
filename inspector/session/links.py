"""How sessions belong together: which one started another, and which call did."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003  # a field's type is looked at when the class is made

from msgspec import Struct


class LinkKind(StrEnum):
    """What another session is to this one."""

    PARENT = "parent"
    """It started this one as its subagent."""
    SUBAGENT = "subagent"
    """A tool call of this one started it."""
    CONTINUED = "continued"
    """This one goes on from it: a fork, a resume, a compaction that began a new session."""


class SessionLink(Struct, frozen=True, gc=False):
    """Another session that belongs to this one. Each is counted on its own: neither holds the other's calls.

    Attributes:
        kind: What it is to this one.
        identifier: Its id, or the agent's.
        path: What opens it. It need not be there (any more), and is None where the record does not lead to a file.
        tool_call_id: The tool call that started the subagent; empty where that is not recorded.
        title: What it was started for, or the kind of agent it is; empty when unknown.
    """

    kind: LinkKind
    identifier: str
    path: Path | None = None
    tool_call_id: str = ""
    title: str = ""
