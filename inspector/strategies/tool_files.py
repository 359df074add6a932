"""The names of files in which agents save what tools returned."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.strategies.operations import BlockSource

_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")


def file_for(pattern: str, source: BlockSource) -> str:
    """A file's name with the call's tool and id in place of `{tool}` and `{id}`, made safe as Gemini CLI does it."""
    tool, identifier = (_UNSAFE.sub("_", name).lower() for name in (source.tool_name, source.block.tool_call_id))
    return pattern.replace("{tool}", tool or "unknown_tool").replace("{id}", identifier)
