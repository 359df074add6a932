"""Which sessions belong together: a subagent's log stands in a folder named after its parent, `chats/<parent>/`."""

from __future__ import annotations

import glob
from typing import TYPE_CHECKING, Any

from inspector.session.formats.gemini.records import CHATS
from inspector.session.json.codec import clean_text
from inspector.session.json.values import objects, string
from inspector.session.model import LinkKind, SessionLink

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.session.builder import SessionBuilder

LETTERS_OF_PARENT = 8
"""A session's file is named after the first letters of its id."""


def note_parent(path: Path, builder: SessionBuilder) -> None:
    """Take from a file's place which session it was started by."""
    if path.parent.parent.name == CHATS:
        builder.link(SessionLink(LinkKind.PARENT, path.parent.name))


def note_subagents(record: Mapping[str, Any], builder: SessionBuilder) -> None:
    """Take from a record which subagents its calls started."""
    for call in objects(record.get("toolCalls")):
        if agent := clean_text(string(call.get("agentId"))):
            title = clean_text(string(call.get("description")) or string(call.get("displayName")))
            identifier = clean_text(string(call.get("id")))
            builder.link(SessionLink(LinkKind.SUBAGENT, agent, None, identifier, title))


def locate(path: Path, identifier: str) -> Path | None:
    """Another session of the same folder of chats: a subagent by its id, or the parent of one."""
    if "/" in identifier or "\x00" in identifier:
        return None
    name = glob.escape(identifier)
    if path.parent.parent.name == CHATS and identifier == path.parent.name:
        found = path.parent.parent.glob(f"session-*-{glob.escape(identifier[:LETTERS_OF_PARENT])}.json*")
    else:
        found = path.parent.glob(f"*/{name}.json*" if path.parent.name == CHATS else f"{name}.json*")
    # A session that was migrated exists in both forms; the lines are the newer one.
    return max(found, key=lambda file: file.suffix, default=None)
