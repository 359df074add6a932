"""Kinds of blocks as plain numbers, for what is asked of every block of every call.

To look a member of an enumeration up takes longer than to do something with it, and so does a single number of a
column; these are compared with `History.kind_bytes`.
"""

from __future__ import annotations

from typing import Final

from inspector.session.model import BlockKind

SYSTEM_TEXT: Final = int(BlockKind.SYSTEM_TEXT)
USER_TEXT: Final = int(BlockKind.USER_TEXT)
ASSISTANT_TEXT: Final = int(BlockKind.ASSISTANT_TEXT)
THINKING: Final = int(BlockKind.THINKING)
TOOL_CALL: Final = int(BlockKind.TOOL_CALL)
TOOL_RESULT: Final = int(BlockKind.TOOL_RESULT)
MEDIA: Final = frozenset((int(BlockKind.IMAGE), int(BlockKind.DOCUMENT)))
ASSISTANT: Final = frozenset((ASSISTANT_TEXT, THINKING, TOOL_CALL))
"""What a model says."""
